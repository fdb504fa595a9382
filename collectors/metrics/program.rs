//! What a program prints, within a time: it is run as it is, without a shell.

use crate::sys::child::with_own_limit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{ErrorKind, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use topotop_model::Reason;

/// The longest that it may run.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that is taken of what it prints.
const MOST_BYTES: usize = 1 << 20;

/// Runs a program and gives what it printed; one that fails or takes too long is ended with all that it started.
pub(super) fn output(words: &[String]) -> Result<String, Reason> {
    within(words, PATIENCE)
}

fn within(words: &[String], patience: Duration) -> Result<String, Reason> {
    let (program, arguments) = words.split_first().ok_or(Reason::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped()).process_group(0);
    let mut child = with_own_limit(&mut command).spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Reason::NotFound,
        ErrorKind::PermissionDenied => Reason::PermissionDenied,
        _ => Reason::Exhausted,
    })?;
    let deadline = Instant::now() + patience;
    let printed = printed(&mut child, deadline).and_then(|bytes| ended(&mut child, deadline).map(|()| bytes));
    if printed.is_err() {
        if let Some(group) = Pid::from_raw(child.id() as i32) {
            // It may be gone by now.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
    }
    printed.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn printed(child: &mut Child, deadline: Instant) -> Result<Vec<u8>, Reason> {
    let mut out = child.stdout.take().ok_or(Reason::Vanished)?;
    let (mut bytes, mut buf) = (Vec::new(), [0; 8192]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(&out, PollFlags::IN)], Some(&wait)) {
            Ok(0) => return Err(Reason::TimedOut),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return Err(Reason::Vanished),
        }
        match out.read(&mut buf) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(buf.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err(Reason::Vanished),
        }
        if bytes.len() > MOST_BYTES {
            return Err(Reason::Malformed);
        }
    }
}

/// Waits for its end; a status that is not 0 is no answer.
fn ended(child: &mut Child, deadline: Instant) -> Result<(), Reason> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(_)) => return Err(Reason::NotSupported),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => return Err(Reason::TimedOut),
            Err(_) => return Err(Reason::Vanished),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::within;
    use std::time::{Duration, Instant};
    use topotop_model::Reason;

    fn run(words: &[&str], patience: u64) -> Result<String, Reason> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        within(&words, Duration::from_millis(patience))
    }

    #[test]
    fn a_program_is_run_as_it_is() {
        assert_eq!(run(&["echo", "$HOME", "7"], 9000).as_deref(), Ok("$HOME 7\n"));
        assert_eq!(run(&["sh", "-c", "echo 3; exit 1"], 9000), Err(Reason::NotSupported));
        assert_eq!(run(&["/nothing/of/this/name"], 9000), Err(Reason::NotFound));
        assert_eq!(run(&["sh", "-c", "yes"], 9000), Err(Reason::Malformed), "no end of it");
        assert_eq!(run(&["cat"], 9000).as_deref(), Ok(""), "nothing comes in");
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_started() {
        let dir = tempfile::tempdir().expect("a directory");
        let pid = dir.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; sleep 600", pid.display());
        assert_eq!(run(&["sh", "-c", &script], 2000), Err(Reason::TimedOut));
        let pid = std::fs::read_to_string(pid).expect("a pid");
        // One that has ended and waits for its parent has no command line any more.
        let command = format!("/proc/{}/cmdline", pid.trim());
        let is_gone = || std::fs::read(&command).unwrap_or_default().is_empty();
        let (start, patience) = (Instant::now(), Duration::from_secs(20));
        while !is_gone() {
            assert!(start.elapsed() < patience, "it goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
