//! The command that a recording brackets.

use super::Failure;
use super::forward::{self, Forwarder};
use crate::starter::Gate;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use topotop_collectors::metrics::{Metric, Stream, Tap};
use topotop_model::locale::error as errors;

/// A running command. It is not reaped before [`Running::reap`], so that its number stays its own.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    forwarder: Option<Forwarder>,
}

/// A command that waits for its recording to begin.
pub(super) struct Held {
    gate: Gate,
    program: String,
    streaming: bool,
    on_output: Vec<Arc<Tap>>,
    on_error: Vec<Arc<Tap>>,
}

impl Held {
    /// The number of what waits, and of the command later.
    pub(super) fn pid(&self) -> u32 {
        self.gate.pid()
    }
}

/// Prepares a command with this program's own standard streams and rights. Where samples go to standard output, what the
/// command prints goes to standard error. Streams that numbers are read out of are pipes, and passed on.
pub(super) fn hold(words: &[String], streaming: bool, metrics: &[Metric]) -> Result<Held, Failure> {
    let Some(program) = words.first().cloned() else {
        return Err(Failure { status: 127, text: errors::NO_COMMAND.to_string() });
    };
    let (on_output, on_error) = (forward::taps(metrics, Stream::Output), forward::taps(metrics, Stream::Error));
    let streams = |command: &mut Command| {
        if !on_output.is_empty() {
            command.stdout(Stdio::piped());
        } else if streaming {
            let error = std::io::stderr().as_fd().try_clone_to_owned();
            command.stdout(error.map_or_else(|_| Stdio::null(), Stdio::from));
        }
        if !on_error.is_empty() {
            command.stderr(Stdio::piped());
        }
    };
    let gate = Gate::hold(words, streams).map_err(|error| {
        let text = errors::CommandFailed { command: &program, error: &error }.to_string();
        Failure { status: 126, text }
    })?;
    Ok(Held { gate, program, streaming, on_output, on_error })
}

/// Starts it, and tells when it has ended; 126 and 127 as a shell says that it could not.
pub(super) fn start(held: Held, ended: impl FnOnce() + Send + 'static) -> Result<Running, Failure> {
    let Held { gate, program, streaming, on_output, on_error } = held;
    let mut child = gate.open().map_err(|error| {
        let status = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
        Failure { status, text: errors::CommandFailed { command: &program, error: &error }.to_string() }
    })?;
    let forwarder = pass_on(&mut child, streaming, on_output, on_error)
        .map_err(|error| Failure { status: 125, text: errors::CommandOutput { error: &error }.to_string() })?;
    let running = Running { child, forwarder };
    let pid = running.pid();
    let wait = move || {
        // Its end is looked at and left there: whoever holds the child takes it.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Some(pid) = pid {
            match rustix::process::waitid(WaitId::Pid(pid), options) {
                Err(rustix::io::Errno::INTR) => {}
                _ => break,
            }
        }
        ended();
    };
    std::thread::Builder::new()
        .name("command".to_owned())
        .spawn(wait)
        .map_err(|error| Failure { status: 125, text: errors::NoThread { error: &error }.to_string() })?;
    Ok(running)
}

/// Passes the streams on that are pipes.
fn pass_on(
    child: &mut Child,
    streaming: bool,
    on_output: Vec<Arc<Tap>>,
    on_error: Vec<Arc<Tap>>,
) -> std::io::Result<Option<Forwarder>> {
    let (output, error) = (child.stdout.take(), child.stderr.take());
    if output.is_none() && error.is_none() {
        return Ok(None);
    }
    let forwarder = Forwarder::new();
    let own_error = || std::io::stderr().as_fd().try_clone_to_owned();
    if let Some(output) = output {
        let to = if streaming { own_error()? } else { std::io::stdout().as_fd().try_clone_to_owned()? };
        forwarder.start(output, to, on_output)?;
    }
    if let Some(error) = error {
        forwarder.start(error, own_error()?, on_error)?;
    }
    Ok(Some(forwarder))
}

impl Running {
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Passes a signal on.
    pub(super) fn signal(&self, signal: i32) {
        if let (Some(pid), Some(signal)) = (self.pid(), Signal::from_named_raw(signal)) {
            // It may have ended just now.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// How it ended; waits for it, and for what it printed to be passed on.
    pub(super) fn reap(&mut self) -> std::io::Result<ExitStatus> {
        let ended = self.child.wait();
        if let Some(forwarder) = self.forwarder.take() {
            forwarder.finish();
        }
        ended
    }
}

/// The status to leave with after a command ended: its own, 128 and the signal that killed it.
pub(super) fn status(ended: ExitStatus) -> u8 {
    let status = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal));
    status.map_or(125, |status| status as u8)
}
