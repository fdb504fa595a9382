//! What a program prints, within a time: it is run as it is, without a shell.

use crate::sys::child::{dies_with_parent, with_own_limit};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{ErrorKind, PipeReader, PipeWriter, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use topotop_model::Reason;

/// The longest that it may run.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most that is taken of what it prints.
const MOST_BYTES: usize = 1 << 20;

/// Starts programs of metrics, with the rights that this program was started with.
pub trait Starter: Send + Sync + std::fmt::Debug {
    /// Starts the program of the metric of a name; what it prints goes to `output`.
    fn start(&self, name: &str, output: PipeWriter) -> Result<Box<dyn Started>, Reason>;
}

/// A program that was started. Dropping it ends it with all that it started, and waits until it has ended.
pub trait Started: Send {
    /// Whether it ended well; none while it runs.
    fn ended(&mut self, wait: Duration) -> Option<bool>;
}

/// Gives what a program prints; one that fails or takes too long is ended with all that it started.
pub(super) fn output(start: &dyn Fn(PipeWriter) -> Result<Box<dyn Started>, Reason>) -> Result<String, Reason> {
    within(start, PATIENCE)
}

fn within(
    start: &dyn Fn(PipeWriter) -> Result<Box<dyn Started>, Reason>,
    patience: Duration,
) -> Result<String, Reason> {
    let (mut reader, writer) = std::io::pipe().map_err(|_| Reason::Exhausted)?;
    let mut program = start(writer)?;
    let deadline = Instant::now() + patience;
    let bytes = printed(&mut reader, deadline)?;
    match program.ended(deadline.saturating_duration_since(Instant::now())) {
        Some(true) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        // A status that is not 0 is no answer.
        Some(false) => Err(Reason::NotSupported),
        None => Err(Reason::TimedOut),
    }
}

fn printed(out: &mut PipeReader, deadline: Instant) -> Result<Vec<u8>, Reason> {
    let (mut bytes, mut buf) = (Vec::new(), [0; 8192]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(out, PollFlags::IN)], Some(&wait)) {
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

/// Starts a program in a process group of its own, which ends when the thread that started it does.
pub fn start(words: &[String], output: PipeWriter) -> Result<OwnChild, Reason> {
    let (program, arguments) = words.split_first().ok_or(Reason::NotFound)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).stdout(output).process_group(0);
    dies_with_parent(&mut command);
    let child = with_own_limit(&mut command).spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Reason::NotFound,
        ErrorKind::PermissionDenied => Reason::PermissionDenied,
        _ => Reason::Exhausted,
    })?;
    Ok(OwnChild { child })
}

/// A program that this process started.
#[derive(Debug)]
pub struct OwnChild {
    child: Child,
}

impl OwnChild {
    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id() as i32)
    }

    /// True once it ended. It is not reaped, so that the number of its group stays its own.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        self.pid().is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), options), Ok(None)))
    }
}

impl Started for OwnChild {
    fn ended(&mut self, wait: Duration) -> Option<bool> {
        let deadline = Instant::now() + wait;
        while !self.has_ended() {
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        // What it left running goes with it.
        if let Some(group) = self.pid() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        Some(self.child.wait().is_ok_and(|status| status.success()))
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        // One that was reaped has taken its group with it.
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        if let Some(group) = self.pid() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{Started, start, within};
    use std::time::{Duration, Instant};
    use topotop_model::Reason;

    fn run(words: &[&str], patience: u64) -> Result<String, Reason> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let begin = |output| start(&words, output).map(|child| Box::new(child) as Box<dyn Started>);
        within(&begin, Duration::from_millis(patience))
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

    #[test]
    fn what_it_leaves_running_ends_with_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let mark = dir.path().join("mark").display().to_string();
        let script = format!("(sleep 2; echo > {mark}) > /dev/null & echo 5");
        assert_eq!(run(&["sh", "-c", &script], 9000).as_deref(), Ok("5\n"));
        std::thread::sleep(Duration::from_secs(3));
        assert!(!std::path::Path::new(&mark).exists());
    }
}
