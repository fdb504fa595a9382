//! What is shipped beside the program: units, manifests and packages name flags and files that there are.

use crate::common::pty::TOPOTOP;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of all flags that a verb takes.
fn help(verb: &str) -> String {
    let output = Command::new(TOPOTOP).args([verb, "--help"]).env_clear().output().expect("it runs");
    assert!(output.status.success(), "there is no `topotop {verb}`");
    String::from_utf8(output.stdout).expect("text")
}

fn is_known(verb: &str, words: &[&str], place: &Path) {
    let help = help(verb);
    for flag in words.iter().filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap_or(word)) {
        let found = help.split([' ', '\n', ',', '[']).any(|word| word == flag);
        assert!(found, "{}: `topotop {verb}` has no {flag}", place.display());
    }
}

#[test]
fn units_start_what_there_is() {
    for path in files(&top().join("dist")) {
        if path.extension().is_none_or(|extension| extension != "service") {
            continue;
        }
        let text = read(&path);
        let start = text.split_once("/usr/bin/topotop ").expect("a unit starts topotop").1;
        let words: Vec<&str> = start.lines().next().unwrap_or_default().split_whitespace().collect();
        let (verb, rest) = words.split_first().expect("a verb");
        is_known(verb, rest, &path);
    }
}

#[test]
fn the_manifests_are_whole_and_start_what_there_is() {
    let folder = top().join("dist/kubernetes");
    let kustomization = read(&folder.join("kustomization.yaml"));
    let named: Vec<&str> =
        kustomization.lines().filter_map(|line| line.strip_prefix("  - ")?.strip_suffix(".yaml")).collect();
    assert!(named.len() >= 3, "{kustomization}");
    for name in &named {
        let text = read(&folder.join(format!("{name}.yaml")));
        assert!(
            ["apiVersion: ", "kind: ", "metadata:", "  name: topotop"].iter().all(|part| text.contains(part)),
            "{name}"
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    assert!(kustomization.contains(&format!("newTag: {version}")), "the image has the version of the program");
    let set = read(&folder.join("daemonset.yaml"));
    let arguments = set.split_once("args: [").and_then(|(_, rest)| rest.split_once("]\n")).expect("arguments").0;
    let words: Vec<&str> = arguments.split(", ").map(|word| word.trim_matches('"')).collect();
    let (verb, rest) = words.split_first().expect("a verb");
    is_known(verb, rest, &folder);
    assert!(rest.contains(&"--token-file"), "{rest:?}");
    // The least rights: what it keeps for itself is what the manifest gives.
    for right in [
        "drop: [\"ALL\"]",
        "add: [\"DAC_READ_SEARCH\", \"SYS_PTRACE\"]",
        "privileged: false",
        "readOnlyRootFilesystem: true",
    ] {
        assert!(set.contains(right), "{right}");
    }
    assert_eq!(
        set.matches("readOnly: true").count(),
        set.matches("mountPath:").count(),
        "nothing is mounted to be written"
    );
    for volume in set.split("volumeMounts:").nth(1).expect("mounts").split("volumes:").next().expect("mounts").lines() {
        if let Some(name) = volume.trim().strip_prefix("- name: ") {
            let volumes = set.rsplit("volumes:").next().expect("volumes");
            assert!(volumes.contains(&format!("- name: {name}\n")), "{name}");
        }
    }
}

#[test]
fn an_installation_has_everything_and_nothing_of_this_machine() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = Command::new(top().join("scripts/install.sh"))
        .env("BIN", TOPOTOP)
        .env("PREFIX", "/opt/topotop")
        .env("DESTDIR", dir.path())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let root = dir.path().join("opt/topotop");
    for file in [
        "bin/topotop",
        "share/man/man1/topotop.1.gz",
        "share/bash-completion/completions/topotop",
        "share/zsh/site-functions/_topotop",
        "share/fish/vendor_completions.d/topotop.fish",
        "share/doc/topotop/LICENSE-MIT",
        "share/doc/topotop/LICENSE-APACHE",
        "share/doc/topotop/CHANGELOG.md",
        "share/doc/topotop/docs/fleet.md",
        "share/topotop/kubernetes/daemonset.yaml",
        "lib/systemd/system/topotop-record.service",
    ] {
        assert!(root.join(file).metadata().is_ok_and(|facts| facts.len() > 0), "{file}");
    }
    for path in files(&root.join("lib/systemd/system")) {
        assert!(
            read(&path).contains("/opt/topotop/bin/topotop") || path.extension().is_some_and(|end| end == "socket")
        );
    }
    // All that dist/ ships is there; the packages' own scripts are not.
    let shipped = files(&top().join("dist")).into_iter().filter(|path| !path.starts_with(top().join("dist/deb")));
    let installed = files(&root);
    for path in shipped {
        let name = path.file_name().expect("a name");
        assert!(installed.iter().any(|file| file.file_name() == Some(name)), "{} is not installed", path.display());
    }
}

/// Queries of docs/many-recordings.md, by name.
fn queries() -> Vec<(String, String)> {
    let text = read(&top().join("docs/many-recordings.md"));
    let parts = text.split("<!-- query: ").skip(1);
    let query = |part: &str| {
        let (name, rest) = part.split_once(" -->").expect("a name");
        let sql = rest.split_once("```sql\n").expect("SQL").1.split_once("```").expect("an end").0;
        (name.to_owned(), sql.to_owned())
    };
    parts.map(query).collect()
}

const ASK: &str = "
import duckdb, json, sys
duckdb.execute(\"SET TimeZone = 'UTC'\")
for name, sql in json.load(sys.stdin):
    if name == 'parquet':
        duckdb.execute(sql)
    else:
        duckdb.execute('CREATE TABLE ' + name + ' AS ' + sql)
        print(name, duckdb.execute('SELECT to_json(t) FROM ' + name + ' t').fetchall())
";

/// Wants DuckDB for Python, which `make setup-test` installs where there is pip.
#[test]
fn the_queries_of_the_documentation_answer() {
    let queries = queries();
    assert_eq!(queries.len(), 3);
    let python = || {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", top().join("target/tools/python"));
        command
    };
    let there = python().args(["-c", "import duckdb"]).output();
    if !there.is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: no DuckDB for Python");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let run = |arguments: &[&str]| {
        let status = Command::new(TOPOTOP).args(arguments).current_dir(dir.path()).status();
        assert!(status.expect("it runs").success(), "{arguments:?}");
    };
    run(&["demo", "-o", "mq-3.rec"]);
    let other = top().join("tests/data/recording-2.rec");
    run(&["export", "mq-3.rec", other.to_str().expect("a path"), "-o", "csv"]);
    fs::write(dir.path().join("queries"), serde_json::to_string(&queries).expect("JSON")).expect("written");
    let mut command = python();
    command.args(["-c", ASK]).stdin(fs::File::open(dir.path().join("queries")).expect("opened"));
    let output = command.current_dir(dir.path()).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(r#"{"host":"mq-3","name":"eth0","channels":1,"possible":8,"#), "{text}");
    assert!(text.contains(r#"{"host":"mq-3","cpu":17,"#), "{text}");
    assert!(dir.path().join("nics.parquet").is_file());
}
