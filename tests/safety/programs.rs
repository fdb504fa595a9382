//! Programs of metrics end with the monitor, whatever ends it, and a hung one is never started twice.

use crate::common::pty::TOPOTOP;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A length of sleep that no other process has.
fn mark() -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{}.{number}7", 600_000 + std::process::id())
}

/// Processes that sleep so long.
fn sleepers(mark: &str) -> usize {
    let wanted = format!("sleep\0{mark}\0");
    let entries = std::fs::read_dir("/proc").expect("processes");
    entries
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|cmdline| *cmdline == wanted.as_bytes())
        .count()
}

fn start(arguments: &[&str], mark: &str) -> Child {
    let metric = format!("x=command:sh -c 'sleep {mark} & sleep {mark}'");
    let mut command = Command::new(TOPOTOP);
    command.args(arguments).args(["--no-hwloc", "--interval", "200ms", "--metric", &metric]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs")
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let (begun, patience) = (Instant::now(), Duration::from_secs(20));
    while !done() {
        assert!(begun.elapsed() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn they_end_with_it_whatever_ends_it() {
    for signal in ["KILL", "TERM", "INT"] {
        let mark = mark();
        let mut child = start(&["check", "--for", "60s"], &mark);
        until("it was not started", || sleepers(&mark) == 2);
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs").success());
        child.wait().expect("it ended");
        until(&format!("it outlived SIG{signal}"), || sleepers(&mark) == 0);
    }
    let mark = mark();
    let mut child = start(&["check", "--for", "1s"], &mark);
    until("it was not started", || sleepers(&mark) == 2);
    child.wait().expect("it ended");
    until("it outlived the end of the time", || sleepers(&mark) == 0);
}

/// A session of its own leaves the process group, and a program that has ended is no parent any more.
#[test]
fn what_they_leave_in_other_sessions_ends_with_it() {
    for signal in ["KILL", "TERM"] {
        let mark = mark();
        let metric = format!("x=command:sh -c 'setsid sh -c \"sleep {mark} & sleep {mark}\" > /dev/null & echo 1'");
        let mut command = Command::new(TOPOTOP);
        command.args(["check", "--for", "60s", "--no-hwloc", "--interval", "200ms", "--metric", &metric]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        until("they were not started", || sleepers(&mark) > 3);
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs").success());
        child.wait().expect("it ended");
        until(&format!("they outlived SIG{signal}"), || sleepers(&mark) == 0);
    }
}

#[test]
fn one_that_hangs_is_never_doubled() {
    let mark = mark();
    let mut child = start(&["check", "--for", "8s"], &mark);
    let mut most = 0;
    while child.try_wait().expect("a status").is_none() {
        most = most.max(sleepers(&mark));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(most, 2);
    until("it outlived the monitor", || sleepers(&mark) == 0);
}
