//! Safe to run as root on somebody's server: what others can put before it neither runs, nor is overwritten, nor hangs it.

mod attack;
mod config;
mod extremes;
mod mounts;
mod names;
mod output;
mod programs;
mod recordings;
mod rights;
mod short_verbs;
mod terminal;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A user that owns nothing here.
const STRANGER: u32 = 54_321;

/// Runs the program in an environment of its own.
fn run(arguments: &[&str], environment: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(crate::common::pty::TOPOTOP);
    command.args(arguments).stdin(Stdio::null()).env_remove("XDG_CONFIG_HOME").env("HOME", "/nonexistent");
    command.envs(environment.iter().copied());
    command.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Gives a file to somebody else; false where only root may.
fn give_away(path: &Path) -> bool {
    let given = std::os::unix::fs::chown(path, Some(STRANGER), Some(STRANGER)).is_ok();
    if !given {
        crate::common::not_tested("only root gives files away");
    }
    given
}

/// The output, and that it came within a time.
fn within(patience: Duration, run: impl FnOnce() -> Output) -> Output {
    let begun = Instant::now();
    let output = run();
    assert!(begun.elapsed() < patience, "took {:?}", begun.elapsed());
    output
}

/// A recording of this machine, some samples long.
fn recording() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec").display().to_string();
    let output = run(&["record", "--no-hwloc", "-o", &path, "--for", "700ms", "--interval", "100ms"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    (dir, path)
}
