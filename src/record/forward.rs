//! What a command prints, passed on untouched while numbers are read out of it.

use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{ErrorKind, Read, Write as _};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use topotop_collectors::metrics::{Metric, Stream, Tap};

/// How long what is left in a pipe is waited for when the command has ended: what it left running may hold it open.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whoever wants lines of one stream.
pub(super) fn taps(metrics: &[Metric], stream: Stream) -> Vec<Arc<Tap>> {
    metrics.iter().filter_map(|metric| metric.tap(stream)).cloned().collect()
}

/// The threads that pass something on; each holds an end of the channel until it is done.
#[derive(Debug)]
pub(super) struct Forwarder {
    done: Receiver<()>,
    threads: Sender<()>,
}

impl Forwarder {
    pub(super) fn new() -> Self {
        let (threads, done) = channel();
        Self { done, threads }
    }

    /// Passes on what comes from `from`, to whom it was meant.
    pub(super) fn start(
        &self,
        from: impl Read + Send + 'static,
        to: OwnedFd,
        taps: Vec<Arc<Tap>>,
    ) -> std::io::Result<()> {
        let held = self.threads.clone();
        let thread = std::thread::Builder::new().name("output".to_owned());
        thread.spawn(move || {
            // If the receiver has gone, the command's next write finds its pipe closed, as without topotop.
            let _ = pass(from, File::from(to), &taps);
            drop(held);
        })?;
        Ok(())
    }

    /// Waits until all is passed on, not for long.
    pub(super) fn finish(self) {
        let Self { done, threads } = self;
        drop(threads);
        let latest = Instant::now() + PATIENCE;
        while let Ok(()) | Err(RecvTimeoutError::Timeout) =
            done.recv_timeout(latest.saturating_duration_since(Instant::now()))
        {
            if Instant::now() >= latest {
                return;
            }
        }
    }
}

fn pass(mut from: impl Read, mut to: File, taps: &[Arc<Tap>]) -> std::io::Result<()> {
    let mut buf = vec![0; 64 << 10];
    loop {
        let read = match from.read(&mut buf) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut left = buf.get(..read).unwrap_or_default();
        let now_ns = topotop_collectors::now().mono_ns;
        for tap in taps {
            tap.feed(left, now_ns);
        }
        while !left.is_empty() {
            match to.write(left) {
                Ok(written) => left = left.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Somebody made it so that it does not wait.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&to, PollFlags::OUT)], None)?;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
