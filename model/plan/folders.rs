//! Files and directories of the command line that instances must not share: data, logs, PID files, configuration.

use super::Program;
use crate::fix::shell::quoted;
use crate::locale::plan as text;
use serde::Serialize;

/// A path of the command line and its replacements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Folder {
    /// Its option; empty where it has none; `working directory`.
    pub option: String,
    /// `own`: each instance has its own; `copy`: each has a copy, to be edited; `shared`: all use it.
    pub kind: &'static str,
    /// The path.
    pub old: String,
    /// The path of each instance; empty where it is shared.
    pub new: Vec<String>,
}

/// Words in options of programs and libraries, which are shared.
const SHARED: &[&str] = &[
    "cp",
    "classpath",
    "class.path",
    "jar",
    "javaagent",
    "agentpath",
    "module-path",
    "lib",
    "library",
    "endorsed",
    "plugin",
    "modules",
];
/// Words in options of what belongs to one instance.
const OWN: &[&str] = &[
    "data",
    "dir",
    "home",
    "base",
    "store",
    "log",
    "tmp",
    "temp",
    "pid",
    "sock",
    "lock",
    "out",
    "work",
    "mnesia",
    "cache",
    "dump",
    "wal",
    "spool",
    "errorfile",
];
const CONFIG: &[&str] = &["conf", "cfg", "properties", "settings", "args_file", "ini"];
/// Extensions of files; others are parts of names.
const EXTENSIONS: &[&str] = &[
    "pid",
    "log",
    "sock",
    "socket",
    "conf",
    "config",
    "cfg",
    "cnf",
    "ini",
    "yml",
    "yaml",
    "xml",
    "properties",
    "json",
    "toml",
    "txt",
    "out",
    "err",
    "lock",
    "args",
];
const CONFIG_EXTENSIONS: &[&str] =
    &["conf", "config", "cfg", "cnf", "ini", "yml", "yaml", "xml", "properties", "toml", "args"];
/// Directories that are no program's own.
const SYSTEM: &[&str] =
    &["/", "/root", "/home", "/tmp", "/var", "/etc", "/usr", "/opt", "/srv", "/run", "/bin", "/proc", "/sys", "/dev"];
/// Paths that are looked at, at most.
const MOST: usize = 256;

pub(super) const DIRECTORY: &str = "working directory";

pub(super) fn plan(program: &Program, labels: &[&str], notes: &mut Vec<String>) -> Vec<Folder> {
    let mut folders: Vec<Folder> = Vec::new();
    let own = is_own(&program.directory);
    if own {
        folders.push(moved(DIRECTORY, "copy", &program.directory, labels));
    } else if !program.directory.is_empty() {
        notes.push(text::SharedDirectory { directory: &program.directory }.to_string());
    }
    for (option, path) in paths(&program.argv) {
        if folders.len() >= MOST || folders.iter().any(|folder| folder.old == path) {
            continue;
        }
        match kind(&option, &path) {
            "shared" => folders.push(Folder { option, kind: "shared", old: path, new: Vec::new() }),
            kind => folders.push(moved(&option, kind, &path, labels)),
        }
    }
    nest(&mut folders, labels.len());
    let named = |words: &[&str]| folders.iter().any(|folder| folder.kind == "own" && has_word(&folder.option, words));
    let lacks: Vec<&str> =
        [("data", &["data", "store", "home", "base", "mnesia", "wal", "-d"][..]), ("log", &["log"]), ("pid", &["pid"])]
            .into_iter()
            .filter(|(_, words)| !named(words))
            .map(|(name, _)| name)
            .collect();
    if !lacks.is_empty() {
        notes.push(text::MissingPaths { kinds: &lacks.join(", ") }.to_string());
    }
    folders
}

/// Paths below a folder that is moved go with it.
fn nest(folders: &mut [Folder], count: usize) {
    let bases: Vec<(String, Vec<String>)> = folders
        .iter()
        .filter(|folder| folder.new.len() == count)
        .map(|folder| (folder.old.clone(), folder.new.clone()))
        .collect();
    for folder in folders.iter_mut().filter(|folder| folder.kind != "shared") {
        let above = |base: &&(String, Vec<String>)| {
            folder.old.strip_prefix(base.0.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        // The nearest to the root: folders above it may be moved in turn, and are by then.
        let Some((base, moved)) = bases.iter().filter(above).min_by_key(|base| base.0.len()) else { continue };
        let rest = folder.old.get(base.len()..).unwrap_or_default().to_owned();
        folder.new = moved.iter().map(|moved| format!("{moved}{rest}")).collect();
    }
}

fn moved(option: &str, kind: &'static str, path: &str, labels: &[&str]) -> Folder {
    let new = labels.iter().map(|label| suffixed(path, label)).collect();
    Folder { option: option.to_owned(), kind, old: path.to_owned(), new }
}

/// `/run/app.pid` and `n0` make `/run/app-n0.pid`.
fn suffixed(path: &str, label: &str) -> String {
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    let (stem, extension) = path.rsplit_once('.').unwrap_or((path, ""));
    if !stem.is_empty() && !stem.ends_with('/') && EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()) {
        return format!("{stem}-{label}.{extension}");
    }
    format!("{path}-{label}")
}

fn is_own(directory: &str) -> bool {
    let path = directory.trim_end_matches('/');
    !path.is_empty()
        && !SYSTEM.contains(&path)
        && !["/usr/", "/proc/", "/sys/", "/dev/", "/bin/"].iter().any(|base| path.starts_with(base))
}

/// Paths with the options that they stand behind.
fn paths(argv: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut before = "";
    for word in argv.iter().skip(1) {
        let (option, value) =
            word.split_once('=').unwrap_or(if word.starts_with('-') { (word, "") } else { (before, word) });
        if is_path(value) {
            found.push((option.to_owned(), value.to_owned()));
        }
        before = if word.starts_with('-') && !word.contains('=') { word } else { "" };
    }
    found
}

/// One absolute path: relative ones go with the working directory.
fn is_path(value: &str) -> bool {
    value.len() > 1 && value.starts_with('/') && !value.starts_with("//") && !value.contains([':', '\n', '*', ','])
}

fn kind(option: &str, path: &str) -> &'static str {
    let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let name = option.trim_start_matches('-').trim_start_matches('D');
    if has_word(name, SHARED) || ["jar", "so", "war"].contains(&extension.as_str()) {
        "shared"
    } else if has_word(name, CONFIG) || CONFIG_EXTENSIONS.contains(&extension.as_str()) {
        "copy"
    } else if option == "-D"
        || option == "-d"
        || has_word(name, OWN)
        || ["pid", "log", "sock", "lock"].contains(&extension.as_str())
    {
        "own"
    } else {
        "shared"
    }
}

fn has_word(option: &str, words: &[&str]) -> bool {
    let option = option.to_ascii_lowercase();
    let parts: Vec<&str> = option.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    // Short words have to be a part of their own: `lib` is no part of `calibrate`.
    words.iter().any(|word| {
        if word.len() <= 3 {
            parts.iter().any(|part| part == word || part.ends_with(word))
        } else {
            option.contains(word)
        }
    })
}

/// What has to be there before the first start.
pub(super) fn prepare(program: &Program, folders: &[Folder]) -> Vec<String> {
    let mut lines = Vec::new();
    let below_copied = |path: &str| {
        folders.iter().any(|folder| {
            folder.kind == "copy"
                && folder.old != path
                && path.strip_prefix(folder.old.as_str()).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    for folder in folders.iter().filter(|folder| folder.kind != "shared" && !below_copied(&folder.old)) {
        for new in &folder.new {
            if folder.kind == "copy" {
                lines.push(format!("cp -a {} {}", quoted(&folder.old), quoted(new)));
                continue;
            }
            let is_file = folder
                .old
                .rsplit('/')
                .next()
                .is_some_and(|name| EXTENSIONS.iter().any(|extension| name.ends_with(&format!(".{extension}"))));
            let made = if is_file { new.rsplit_once('/').map_or("/", |(above, _)| above) } else { new };
            lines.push(format!("mkdir -p {}", quoted(made)));
            if !program.user.is_empty() && program.user != "root" && !is_file {
                lines.push(format!("chown {} {}", quoted(&program.user), quoted(made)));
            }
        }
    }
    lines.dedup();
    lines
}

/// Where an instance is started.
pub(super) fn directory(program: &Program, folders: &[Folder], at: usize) -> String {
    let own = folders.iter().find(|folder| folder.option == DIRECTORY).and_then(|folder| folder.new.get(at));
    own.cloned().unwrap_or_else(|| program.directory.clone())
}
