//! Rules about the code itself: who may know whom, how long a file may be, that every file is registered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a file without its tests.
const MAX_LINES: usize = 400;

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Source files below a folder, build output left out.
fn sources(folder: &str) -> Vec<PathBuf> {
    files(folder).into_iter().filter(|path| !is_test(path)).collect()
}

/// All Rust files below a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![top().join(folder)];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).expect("a source folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A file of tests only: a crate's `tests/`, or a module that is declared under `#[cfg(test)]` or is part of such a one.
fn is_test(path: &Path) -> bool {
    let in_folder = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "tests");
    let declared = |stem: &str| {
        let parent = path.parent().map(|folder| folder.with_extension("rs"))?;
        let text = fs::read_to_string(parent).ok()?;
        Some(text.contains(&format!("#[cfg(test)]\nmod {stem};")))
    };
    let part_of_one = path.parent().map(|folder| folder.with_extension("rs")).filter(|parent| parent.is_file());
    in_folder
        || path.file_stem().and_then(|stem| declared(stem.to_str()?)).unwrap_or(false)
        || part_of_one.is_some_and(|parent| is_test(&parent))
}

/// The text of a file without the tests at its end.
fn without_tests(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source file");
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// The file without its tests and without comments.
fn code(path: &Path) -> String {
    without_tests(path).lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn must_not_hold(folder: &str, forbidden: &[&str], except: &[&str]) {
    for path in sources(folder) {
        let name = path.strip_prefix(top()).unwrap_or(&path).display().to_string();
        if except.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        let code = code(&path);
        for word in forbidden {
            assert!(!code.contains(word), "{name} must not know `{word}`");
        }
    }
}

const CLOCKS: &[&str] = &["Instant::now", "SystemTime::now", "clock_gettime"];
const FILES: &[&str] = &["std::fs", "File::open", "std::process", "std::net"];

#[test]
fn the_model_knows_no_io_no_clock_no_terminal() {
    must_not_hold("model", CLOCKS, &[]);
    must_not_hold("model", FILES, &[]);
    must_not_hold("model", &["ratatui", "crossterm", "topotop_collectors", "rustix"], &[]);
}

#[test]
fn widgets_know_frames_and_buffers_only() {
    must_not_hold("widgets", CLOCKS, &[]);
    must_not_hold("widgets", FILES, &[]);
    must_not_hold("widgets", &["crossterm::", "topotop_collectors", "rustix"], &[]);
}

#[test]
fn collectors_know_no_screen() {
    must_not_hold("collectors", &["ratatui", "crossterm", "topotop_widgets", "model::derive", "model::frame"], &[]);
}

#[test]
fn exporters_know_the_frame_only() {
    must_not_hold("src/export", CLOCKS, &[]);
    must_not_hold("src/export", FILES, &[]);
    must_not_hold("src/export", &["topotop_collectors", "crossterm::event"], &[]);
}

#[test]
fn the_hwloc_library_is_used_in_one_file() {
    must_not_hold("collectors", &["hwlocality"], &["collectors/hwloc"]);
    must_not_hold("src", &["hwlocality"], &[]);
}

#[test]
fn unsafe_code_is_in_sys_only() {
    for folder in ["model", "widgets", "src", "collectors"] {
        must_not_hold(folder, &["unsafe {", "unsafe fn", "unsafe impl"], &["collectors/sys", "src/sys"]);
    }
}

#[test]
fn only_the_applier_changes_the_machine() {
    let calls = ["set_affinity(", "set_ioprio(", "move_pages(", "set_channels(", "set_rings(", "set_indirection("];
    let setters = [calls.as_slice(), &["setpriority_process(", "pidfd_send_signal("]].concat();
    must_not_hold("collectors", &setters, &["collectors/sys"]);
    must_not_hold("src", &setters, &["src/fix/machine"]);
}

/// The modules at the top of a crate, each with those that its files name as `crate::…`.
fn imports(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(folder) {
        let below = path.strip_prefix(top().join(folder)).expect("a source file").with_extension("");
        let module = below.iter().next().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        if ["lib", "main"].contains(&module.as_str()) {
            continue;
        }
        let code = code(&path);
        let named = code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
            Some(group) => members(group),
            None => vec![rest],
        });
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let named = named.map(word).filter(|name| *name != module).collect::<Vec<_>>();
        imports.entry(module).or_default().extend(named);
    }
    imports
}

/// The members of a group in braces, without those of groups in it.
fn members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match (c, depth) {
            ('}', 0) => {
                members.push(group[start..at].trim());
                break;
            }
            (',', 0) => {
                members.push(group[start..at].trim());
                start = at + 1;
            }
            ('{', _) => depth += 1,
            ('}', _) => depth -= 1,
            _ => {}
        }
    }
    members
}

/// The modules that import each other, directly or not, each with itself.
fn circles(folder: &str) -> BTreeSet<String> {
    let imports = imports(folder);
    let reached = |from: &str| {
        let (mut reached, mut todo) = (BTreeSet::new(), vec![from]);
        while let Some(module) = todo.pop() {
            for next in imports.get(module).into_iter().flatten() {
                if reached.insert(next.as_str()) {
                    todo.push(next);
                }
            }
        }
        reached.contains(from)
    };
    imports.keys().filter(|module| reached(module)).cloned().collect()
}

#[test]
fn collectors_do_not_import_in_circles() {
    assert_eq!(circles("collectors"), BTreeSet::new());
}

#[test]
fn the_command_line_is_in_no_import_circle() {
    let circles = circles("src");
    for module in ["args", "cli", "run", "startup", "stderr"] {
        assert!(!circles.contains(module), "{module} is imported by what it imports: {circles:?}");
    }
}

#[test]
fn files_are_short() {
    for folder in ["model", "widgets", "src", "collectors"] {
        for path in sources(folder) {
            let lines = without_tests(&path).lines().count();
            assert!(lines <= MAX_LINES, "{} has {lines} lines without tests", path.display());
        }
    }
}

/// The file that declares a module: `a/b.rs` is declared in `a.rs`, or in the root of its crate.
fn parent_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(path);
    [folder.with_extension("rs"), folder.join("lib.rs")].into_iter().find(|file| file.is_file()).expect("a parent")
}

#[test]
fn every_file_is_declared() {
    for folder in ["model", "widgets", "src", "collectors"] {
        for path in sources(folder) {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            // What a macro declares, rustfmt does not see.
            let declared = |text: &str| text.lines().any(|line| line.ends_with(&format!("mod {stem};")));
            if !["lib", "main", "build"].contains(&stem) {
                let parent = parent_of(&path);
                let text = fs::read_to_string(&parent).expect("a source file");
                assert!(declared(&text), "{} is not declared in {}", path.display(), parent.display());
            }
        }
    }
}

#[test]
fn every_rule_and_fix_is_registered() {
    for (folder, item) in [("model/fix", "FIX"), ("model/rules", "RULE")] {
        let list = fs::read_to_string(top().join(folder).with_extension("rs")).expect("a list");
        for path in sources(folder) {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if code(&path).contains(&format!(" const {item}: ")) {
                assert!(list.contains(&format!("&{stem}::{item},")), "{} is not in {folder}.rs", path.display());
            }
        }
    }
}

/// The table "Adding something" of the README: files by what is added.
fn additions() -> BTreeMap<String, Vec<String>> {
    let readme = fs::read_to_string(top().join("README.md")).expect("a README");
    let table =
        readme.split("### Adding something").nth(1).and_then(|rest| rest.split("\n###").next()).expect("a table");
    let rows = table.lines().filter(|line| line.starts_with("| a ") || line.starts_with("| an "));
    let file = |word: &str| (word.contains('/') && !word.contains(' ')).then(|| word.to_owned());
    rows.map(|row| {
        let what = row.split('|').nth(1).unwrap_or_default().trim().to_owned();
        (what, row.split('`').skip(1).step_by(2).filter_map(file).collect())
    })
    .collect()
}

#[test]
fn what_is_added_takes_few_files_and_they_exist() {
    let additions = additions();
    for (what, most) in [("a rule", 4), ("a value of a known subject", 6)] {
        let files: BTreeSet<&String> = additions.get(what).expect(what).iter().collect();
        assert!((2..=most).contains(&files.len()), "{what}: {files:?}");
    }
    for (what, files) in additions {
        for file in files {
            // A file of a new name goes into a folder that exists.
            let named = file.replace("CODE", "NAME");
            let place = named.split("NAME").next().unwrap_or_default();
            assert!(top().join(place).exists(), "{what}: {file}");
        }
    }
    // What a rule is made of beside its file and its cases.
    let registry = fs::read_to_string(top().join("model/rules.rs")).expect("the registry");
    let texts = fs::read_to_string(top().join("model/locale/en.toml")).expect("the catalogue");
    for rule in registry.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')) {
        let lines =
            registry.lines().filter(|line| line.contains(&format!(" {rule};")) || line.contains(&format!("&{rule}::")));
        assert_eq!(lines.count(), 2, "{rule} takes two lines in model/rules.rs");
        assert!(texts.contains(&format!("[rule.{rule}]")), "{rule} has no texts");
    }
}

#[test]
fn the_test_kit_is_not_shipped() {
    for manifest in ["Cargo.toml", "collectors/Cargo.toml", "widgets/Cargo.toml"] {
        let text = fs::read_to_string(top().join(manifest)).expect("a manifest");
        for section in text.split("\n[").filter(|section| !section.starts_with("dev-dependencies]")) {
            assert!(!section.contains("testkit"), "{manifest} ships the test kit: [{section}");
        }
    }
}

/// Statements that assert, each in one line.
fn assertions(text: &str) -> Vec<String> {
    let starts = text.match_indices("assert").map(|(at, _)| text.get(at..).unwrap_or_default());
    let statements = starts.filter_map(|rest| rest.split_once(";\n").map(|(statement, _)| statement));
    let macros = statements.filter(|statement| statement.lines().next().is_some_and(|line| line.contains("!(")));
    macros.map(|statement| statement.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// A loaded machine is slow, not wrong: time is measured by benches. A limit on waiting for what has to come is called
/// patience.
#[test]
fn no_test_asserts_on_wall_clock_time() {
    let clocks = ["elapsed()", "Instant::now()", "SystemTime::now()", "took <", "took >"];
    for folder in ["model", "collectors", "widgets", "src", "tests"] {
        for path in files(folder) {
            let text = fs::read_to_string(&path).expect("a source file");
            for statement in assertions(&text) {
                let waits = statement.to_ascii_lowercase().contains("patience");
                let reported = clocks.iter().find(|clock| statement.contains(*clock));
                assert!(waits || reported.is_none(), "{}: {statement}", path.display());
            }
        }
    }
}

#[test]
fn no_file_says_later() {
    for folder in ["model", "widgets", "src", "collectors"] {
        for path in sources(folder) {
            let text = fs::read_to_string(&path).expect("a source file");
            for word in ["TODO", "FIXME", "XXX", "todo!(", "unimplemented!("] {
                assert!(!text.contains(word), "{} says {word}", path.display());
            }
        }
    }
}

/// A crate that is written in C, a pre-release or close to the kernel is upgraded by somebody who looked at it.
#[test]
fn crates_that_deserve_a_second_look_are_those_of_the_lock_file() {
    let lock = fs::read_to_string(top().join("Cargo.lock")).expect("a lock file");
    let field = |package: &str, name: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        value.and_then(|value| value.strip_suffix('"')).unwrap_or_default().to_owned()
    };
    let locked: BTreeMap<String, String> = lock
        .split("[[package]]")
        .map(|package| {
            let checksum: String = field(package, "checksum").chars().take(12).collect();
            (field(package, "name"), format!("{} {checksum}", field(package, "version")))
        })
        .collect();
    let text = fs::read_to_string(top().join("docs/crates.md")).expect("a list");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    assert!(rows.len() > 5);
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [names, versions] = [1, 2].map(|at| cells[at].split(", ").collect::<Vec<_>>());
        assert_eq!(names.len(), versions.len(), "{row}");
        for (name, version) in names.iter().zip(versions) {
            assert_eq!(locked[name.trim_matches('`')], version, "{name} in docs/crates.md");
        }
    }
}
