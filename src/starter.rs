//! Programs of metrics are started by a process of their own, which keeps the rights that topotop was started with and ends
//! them when topotop ends, however that ends. It takes the name of a metric, never a command: what to run it knows from the
//! same command line and configuration.

mod gate;
mod helper;
mod orphans;
mod side;

pub(crate) use gate::{Gate, VERB as GATE, run as gate};
pub(crate) use helper::{VERB, run as helper};
pub(crate) use side::side_process;

use rustix::io::FdFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{IoSlice, PipeWriter, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use topotop_collectors::metrics::{Started, Starter};
use topotop_model::Reason;
use topotop_model::locale::error::HelperFailed;

/// How a helper's answer says what came of a program.
const STARTED: u8 = b's';
const NOT_FOUND: u8 = b'n';
const DENIED: u8 = b'd';
const EXHAUSTED: u8 = b'x';
const WELL: u8 = b'0';
const BADLY: u8 = b'1';

/// This program's own file, also where another one has its name now.
pub(crate) const OWN: &str = "/proc/self/exe";

/// The helper as this process knows it.
#[derive(Debug)]
struct Helper {
    socket: Mutex<UnixStream>,
}

/// Starts the helper; before this process gives rights away.
pub(crate) fn spawn() -> Result<Arc<dyn Starter>, String> {
    let wrong = |error: std::io::Error| HelperFailed { error: &error }.to_string();
    let (own, theirs) = UnixStream::pair().map_err(wrong)?;
    let mut command = Command::new(OWN);
    command.arg0("topotop").args([VERB, &theirs.as_raw_fd().to_string()]).args(std::env::args_os().skip(1));
    // What ends the group of this process leaves it the time to end its programs.
    command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
    inherited(&theirs, || command.spawn()).map_err(wrong)?;
    Ok(Arc::new(Helper { socket: Mutex::new(own) }))
}

/// Spawns something that has one descriptor more. No other thread runs yet that could start something else.
pub(crate) fn inherited<T>(
    fd: &impl std::os::fd::AsFd,
    spawn: impl FnOnce() -> std::io::Result<T>,
) -> std::io::Result<T> {
    rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
    let spawned = spawn();
    rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    spawned
}

impl Starter for Helper {
    fn start(&self, name: &str, output: PipeWriter) -> Result<Box<dyn Started>, Reason> {
        let (control, theirs) = UnixStream::pair().map_err(|_| Reason::Exhausted)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fds = [output.as_fd(), theirs.as_fd()];
        if !ancillary.push(SendAncillaryMessage::ScmRights(&fds)) {
            return Err(Reason::Exhausted);
        }
        let name = [&[u8::try_from(name.len()).map_err(|_| Reason::Malformed)?], name.as_bytes()].concat();
        {
            let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
            let sent = sendmsg(&*socket, &[IoSlice::new(&name)], &mut ancillary, SendFlags::NOSIGNAL);
            if sent != Ok(name.len()) {
                return Err(Reason::Vanished);
            }
        }
        drop((output, theirs));
        let mut program = Running { control };
        match program.answer(None) {
            Some(STARTED) => Ok(Box::new(program)),
            Some(NOT_FOUND) => Err(Reason::NotFound),
            Some(DENIED) => Err(Reason::PermissionDenied),
            Some(EXHAUSTED) => Err(Reason::Exhausted),
            _ => Err(Reason::Vanished),
        }
    }
}

/// A program that the helper started.
struct Running {
    control: UnixStream,
}

impl Running {
    fn answer(&mut self, wait: Option<Duration>) -> Option<u8> {
        // A time of zero would be none at all.
        let wait = wait.map(|wait| wait.max(Duration::from_millis(1)));
        self.control.set_read_timeout(wait).ok()?;
        let mut byte = [0];
        self.control.read_exact(&mut byte).ok()?;
        Some(byte[0])
    }
}

impl Started for Running {
    fn ended(&mut self, wait: Duration) -> Option<bool> {
        match self.answer(Some(wait)) {
            Some(WELL) => Some(true),
            Some(BADLY) => Some(false),
            _ => None,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The helper ends it, and closes its side when it has ended: one that hangs is never started twice.
        let _ = self.control.shutdown(std::net::Shutdown::Write);
        while self.answer(None).is_some() {}
    }
}
