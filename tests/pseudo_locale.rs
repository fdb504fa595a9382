//! What verbs print in a made-up language: no English is left but agreed terms and names that come from the machine.

use crate::common::pty::TOPOTOP;
use crate::common::synthetic::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use topotop_model::fix::ALL;
use topotop_model::judge::Settings;
use topotop_model::locale;
use topotop_model::rules::{self, PageTopic};
use topotop_model::testkit as demo;

/// Where the program finds its command line, a word a line.
const WORDS: &str = "TOPOTOP_TEST_WORDS";
/// What stands before its output.
const START: &str = "== output ==\n";

/// Machines, and tests of an application with findings and fixes.
const RECORDINGS: [&str; 3] =
    ["src/demo/server.rec", "tests/data/pairs/throttled.rec", "tests/data/pairs/unthrottled.rec"];

#[test]
#[ignore = "the program in the made-up language, which another test starts"]
#[expect(clippy::print_stdout, reason = "the program prints there as well")]
fn program() {
    let words = std::env::var(WORDS).expect("a command line");
    let words: Vec<OsString> = std::iter::once("topotop").chain(words.lines()).map(OsString::from).collect();
    // The harness writes to standard output too.
    print!("{START}");
    let _ = locale::with(demo::pseudo_locale(), || topotop::run(&words));
    std::process::exit(0);
}

/// Standard output and standard error of a verb.
fn printed(words: &[&str]) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "pseudo_locale::program", "--ignored", "--nocapture"]);
    command.env(WORDS, words.join("\n")).env("TZ", "UTC").env("LANG", "C.UTF-8").stdin(Stdio::null());
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let out = text(&output.stdout);
    let out = out.split_once(START).map(|(_, out)| out.to_owned()).unwrap_or_default();
    assert!(!out.is_empty() || !output.stderr.is_empty(), "{words:?} prints nothing");
    out + &text(&output.stderr)
}

/// Ids of fixes of a recording.
fn fixes(recording: &str) -> Vec<String> {
    let mut command = Command::new(TOPOTOP);
    let output = command.args(["fix", "list", "--format", "json", "--from", recording]).output().expect("it runs");
    let offers: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let offers = offers.as_array().expect("a list").iter();
    offers.map(|offer| offer["id"].as_str().expect("an id").to_owned()).collect()
}

/// The words of everything that a recording holds.
fn names(recording: &Path, names: &mut BTreeSet<String>) {
    let mut reader = topotop::recording::open(recording).expect("a recording");
    let mut take = |debug: &str| names.extend(demo::words_in_strings(debug).map(str::to_owned));
    take(&format!("{:?}", reader.about()));
    let mut number = 0u32;
    while let Some(sample) = reader.next_sample() {
        if number.is_multiple_of(10) {
            take(&format!("{:?}", sample.expect("a whole recording").1));
        }
        number += 1;
    }
}

/// What stays as it is: names in configuration and documents, and names of the machine that a test makes up.
fn agreed() -> BTreeSet<String> {
    let rules = rules::ALL
        .iter()
        .flat_map(|rule| rule.thresholds.iter().flat_map(|threshold| [threshold.name(), threshold.unit]));
    let fixes = ALL.iter().flat_map(|fix| fix.parameters.iter().map(|parameter| parameter.name));
    let ids = rules::ALL.iter().map(|rule| rule.id.as_str()).chain(ALL.iter().map(|fix| fix.id));
    let own = [
        "wide load work worker rxtx combined Combined Other ifindex nic hwloc Cached Shmem pgmajfault pgsteal swap fffd",
        "taskset migratepages numactl echo export plan fix apply eval",
    ];
    rules.chain(fixes).chain(ids).chain(own).flat_map(demo::english_words).map(str::to_owned).collect()
}

/// A page without its tags and style.
fn visible(page: &str) -> String {
    let body = page.split_once("</style>").map_or(page, |(_, body)| body);
    let pieces = body.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.collect::<Vec<_>>().join("\n")
}

/// Adds what is English of what a verb prints, with its line.
fn english(words: &[&str], known: &BTreeSet<String>, found: &mut BTreeMap<String, String>) {
    let text = printed(words);
    let text = if words.first() == Some(&"report") { visible(&text) } else { text };
    read(&words.join(" "), &text, known, found);
}

fn read(what: &str, text: &str, known: &BTreeSet<String>, found: &mut BTreeMap<String, String>) {
    // Paths, metrics, manual pages and options are what they are in every language.
    let typed = |word: &str| word.contains(['/', '=', '_', '`', '>', '&', '#', '.', '(']) || word.starts_with('-');
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['$', '[', '{'])) {
        for part in line.split(' ').filter(|part| !typed(part.trim_end_matches(['.', ')']))) {
            let is_known = |word: &&str| demo::AGREED.contains(word) || known.contains(*word);
            for word in demo::english_words(part).filter(|word| !is_known(word)) {
                found.entry(word.to_owned()).or_insert_with(|| format!("{what}: {line}"));
            }
        }
    }
}

#[test]
fn no_text_of_a_verb_bypasses_the_catalogue() {
    let (mut found, mut known) = (BTreeMap::new(), agreed());
    let recordings = RECORDINGS.map(|name| format!("{}/{name}", env!("CARGO_MANIFEST_DIR")));
    for path in &recordings {
        names(Path::new(path), &mut known);
    }
    for path in &recordings {
        for verb in [&["check"][..], &["fix", "list"], &["preflight"]] {
            let words: Vec<&str> = verb.iter().chain(&["--from", path]).copied().collect();
            english(&words, &known, &mut found);
        }
        for id in fixes(path) {
            english(&["fix", "show", &id, "--from", path], &known, &mut found);
        }
        english(&["report", path, "-o", "-"], &known, &mut found);
    }
    english(&["diff", &recordings[1], &recordings[2], "--all"], &known, &mut found);
    english(&["rules"], &known, &mut found);
    locale::with(demo::pseudo_locale(), || {
        for rule in rules::ALL {
            let page = rules::page(rule, &Settings::default());
            let lines = page.iter().filter(|(topic, _)| *topic != PageTopic::References).flat_map(|(_, lines)| lines);
            let lines: Vec<&str> = lines.map(String::as_str).collect();
            read(&format!("rules {}", rule.id), &lines.join("\n"), &known, &mut found);
        }
    });
    let dir = tempfile::tempdir().expect("a directory");
    Machine::SMALL.write(dir.path(), 0);
    let root = dir.path().to_str().expect("a path");
    for verb in ["doctor", "preflight", "check"] {
        english(&["--root", root, verb], &known, &mut found);
    }
    let list: Vec<String> = found.iter().map(|(word, line)| format!("{word:<16} {line}")).collect();
    assert!(list.is_empty(), "{}", list.join("\n"));
}
