//! Recordings made to hurt: holes of gigabytes, slots without end, damage by the thousand.

use super::{recording, run, text, within};
use crate::common::pty::Session;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A recording with a hole of gigabytes behind it: a stream, or a file of small slots.
fn huge(dir: &Path, stream: bool) -> PathBuf {
    let (_keep, source) = recording();
    let path = dir.join(if stream { "stream.rec" } else { "slots.rec" });
    if stream {
        let mut command = std::process::Command::new(crate::common::pty::TOPOTOP);
        command.args(["record", "-o", "-", "--no-hwloc", "--for", "300ms", "--interval", "100ms"]);
        command.stdout(File::create(&path).expect("made")).status().expect("it runs");
    } else {
        std::fs::copy(&source, &path).expect("copied");
    }
    let file = File::options().write(true).open(&path).expect("opened");
    let end = file.metadata().expect("there").len();
    // Something in the hole that begins as a record does, here and there.
    for at in 1..=64 {
        file.write_all_at(&[0xf7; 4096], end + (at << 27)).expect("written");
    }
    file.set_len(10 << 30).expect("sparse");
    path
}

#[test]
fn holes_cost_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    for stream in [true, false] {
        let path = huge(dir.path(), stream);
        let shown = path.display().to_string();
        for arguments in
            [&["record", "info", &shown][..], &["check", "--from", &shown], &["snapshot", "--from", &shown]]
        {
            let output = within(Duration::from_secs(10), || run(arguments, &[]));
            let said = text(&output.stderr);
            assert!(output.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {said}");
            assert!(said.lines().count() <= 1, "{arguments:?}: {said}");
        }
    }
}

/// The same with nothing but noise in the hole, for each size of slots.
fn noisy(dir: &Path, stream: bool) -> PathBuf {
    let path = huge(dir, stream);
    let file = File::options().write(true).open(&path).expect("opened");
    let noise: Vec<u8> = (0..1u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for at in 0..192 {
        file.write_all_at(&noise, (1 << 28) + (at << 20)).expect("written");
    }
    path
}

/// Reads of a scan that is answered meanwhile; all of it takes thousands.
const FEW_READS: usize = 1000;

#[test]
fn a_key_is_answered_before_the_scan_ends() {
    if !std::process::Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        crate::common::not_tested("no strace");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (path, log) = (noisy(dir.path(), false), dir.path().join("strace").display().to_string());
    // Every read after the first ones takes a tenth of a second, all of them minutes.
    let slow = ["-e", "trace=pread64,read", "-e", "inject=pread64:delay_exit=100000:when=50+"];
    let program = [crate::common::pty::TOPOTOP, "replay", path.to_str().expect("a path")];
    let arguments = [&["-f", "-qq", "-o", &log][..], &slow, &program].concat();
    let mut session = Session::start("strace", &arguments, (120, 40), &[]);
    session.entered();
    let reads = || std::fs::read_to_string(&log).unwrap_or_default().matches("pread64(").count();
    session.until("the scan", |_| reads() > 60);
    session.keys("q");
    assert_eq!(session.ends(), 0);
    assert!(reads() < FEW_READS, "the scan had ended: {}", reads());
}

#[test]
fn quitting_never_waits_for_a_scan() {
    let dir = tempfile::tempdir().expect("a directory");
    // In slots of the smallest size and in a stream.
    for stream in [true, false] {
        let path = noisy(dir.path(), stream);
        let mut session = Session::topotop(&["replay", path.to_str().expect("a path")], (120, 40));
        session.entered();
        session.keys("q");
        assert_eq!(session.ends(), 0);
        std::fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn damage_is_one_line() {
    let (dir, source) = recording();
    let bytes = std::fs::read(&source).expect("read");
    let path = dir.path().join("damaged.rec");
    let mut damaged = bytes.clone();
    // Every few bytes of all records.
    for at in (5000..damaged.len()).step_by(997) {
        damaged[at] ^= 0xff;
    }
    std::fs::write(&path, &damaged).expect("written");
    let shown = path.display().to_string();
    for arguments in [
        &["check", "--from", &shown][..],
        &["preflight", "--from", &shown],
        &["replay", &shown, "--format", "jsonl"],
        &["fix", "list", "--from", &shown],
        &["export", &shown, "-s", "cpu_times"],
    ] {
        let output = within(Duration::from_secs(30), || run(arguments, &[]));
        let said = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code <= 2), "{arguments:?}: {said}");
        assert!(said.lines().count() <= 2, "{arguments:?}: {said}");
    }
}
