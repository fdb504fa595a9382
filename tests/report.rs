//! `topotop report`: a whole page of a test run, safe against the names on it.

use crate::common::pty::TOPOTOP;
use crate::common::synthetic_recording::{SyntheticRecording, quiet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use topotop_model::judge::Settings;
use topotop_model::recording::{FixState, RecordedFix, What};

fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(TOPOTOP);
    command.args(arguments).env_clear().env("LANG", "C.UTF-8").env("TZ", "UTC").current_dir(dir).stdin(Stdio::null());
    command.output().expect("it runs")
}

fn page(dir: &Path, arguments: &[&str]) -> String {
    let output = run(dir, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(dir.join("page.html")).expect("a page")
}

/// Two CPUs of four are full until second 60.
fn half(second: u64, cpu: u32) -> u64 {
    if second < 60 { 99 } else { quiet(second, cpu) }
}

fn recording(dir: &Path) {
    let mark = What::Mark { text: "lifted</p><script>alert(1)</script>\u{1b}[2J".to_owned() };
    let title = "eth0: combined 1 -> <b>8".to_owned();
    let fix = RecordedFix { title, state: FixState::Applied, ..RecordedFix::default() };
    let recording = SyntheticRecording {
        host: "<img src=x>",
        seconds: 120,
        busy: half,
        judged: Some(Settings::default()),
        events: vec![(60, mark), (100, What::Fix(Box::new(fix)))],
        ..SyntheticRecording::default()
    };
    recording.write(&dir.join("test.rec"));
}

#[test]
fn a_test_run_is_one_page_in_phases() {
    let dir = tempfile::tempdir().expect("a directory");
    recording(dir.path());
    let page = page(dir.path(), &["report", "test.rec", "-o", "page.html"]);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for external in ["http", "src=x>", "<script", "<img", "url(", "@import", "<b>8", "\u{1b}"] {
        assert!(!page.contains(external), "{external}");
    }
    assert!(page.contains("1. 10:00:00 to 10:00:59") && page.contains("2. 10:01:00 to 10:01:39"), "{page}");
    assert!(page.contains("begins with: lifted") && page.contains("3. 10:01:40"), "{page}");
    let (before, after) = page.split_once("2. 10:01:00").expect("a second phase");
    assert!(before.contains("CPUs at 99%") && after.contains("inconclusive: thread"), "{page}");
    let headings = page.matches("<h2>").count();
    assert_eq!(headings, 11, "every section is there");
}

#[test]
fn a_throttle_that_was_lifted_half_way_is_the_answer_before_and_the_rise_after() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/throttle-lifted.rec");
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::copy(recorded, dir.path().join("test.rec")).expect("copied");
    let page = page(dir.path(), &["report", "test.rec", "-o", "page.html"]);
    let (answer, phases) = page.split_once("<h2>").expect("a heading");
    assert!(answer.contains("limited by I/O throttle app at 98% of 60/s"), "{answer}");
    let (before, after) = phases.split_once("2. 01:05:49").expect("a second phase");
    assert!(before.contains("1. 01:05:16") && before.contains("limited by I/O throttle app"), "{before}");
    assert!(before.contains("tps rose from 33.3 to 4.62k: 139\u{d7} (134\u{d7} to 143\u{d7})"), "{before}");
    assert!(!before.contains("138.9"), "one number for one change");
    assert!(after.contains("nothing at its limit") && after.contains("the machine&#39;s CPUs at 77%"), "{after}");
}

#[test]
fn the_page_is_chinese_where_it_is_asked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    recording(dir.path());
    let page = page(dir.path(), &["--lang", "zh-CN", "report", "test.rec@all", "-o", "page.html"]);
    assert!(
        page.contains("<html lang=\"zh-CN\">") && page.contains("压测的瓶颈") && page.contains("无法判定"),
        "{page}"
    );
    // Between phases nothing was modified: their numbers are the heads.
    assert!(!page.contains("修改前"), "{page}");
}

#[test]
fn the_number_of_the_application_is_on_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let pairs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pairs/throttled.rec");
    let page = page(dir.path(), &["report", pairs.to_str().expect("a path"), "-o", "page.html"]);
    assert!(page.contains("<b>tps</b>") && page.contains("class=\"curve\" d=\"M"), "{page}");
}

#[test]
fn what_is_no_recording_is_refused_in_a_line() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("text.rec"), "hello\n").expect("a file");
    for file in ["text.rec", "none.rec"] {
        let output = run(dir.path(), &["report", file, "-o", "page.html"]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(file) && error.lines().count() == 1, "{error}");
        assert!(!dir.path().join("page.html").exists());
    }
}
