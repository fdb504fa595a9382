//! What a recording waits for and reports: signals, the end of the command, trouble with the file.

use super::child::{self, Held, Running};
use super::sampling::Sink;
use super::{Failure, RecordArgs, signals};
use crate::recording::Status;
use std::collections::VecDeque;
use std::io::{IsTerminal as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use topotop_model::locale::{output, pair, recording as text};
use topotop_model::recording::What;
use topotop_model::text::printable;

/// How long a command is recorded after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last sample may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the status of the writer is checked.
const LOOK: Duration = Duration::from_secs(1);

/// An event from a thread.
#[derive(Debug)]
pub(super) enum Event {
    /// A signal came.
    Signal(i32),
    /// The command has ended.
    Ended,
    /// The sampler has taken its last sample.
    Sampled,
}

/// Holds a recording open.
pub(super) struct Recorder {
    /// The file, or none for a stream.
    path: Option<PathBuf>,
    name: String,
    sink: Sink,
    /// Reports its size also where standard error is no terminal.
    verbose: bool,
    trouble: Option<String>,
    begun: Instant,
    /// The command.
    running: Option<Running>,
    /// Events that arrived while the last sample was awaited.
    later: VecDeque<Event>,
    /// True once there will be no more samples.
    sampled: bool,
    /// The status to leave with where there is no command.
    status: u8,
}

impl Recorder {
    pub(super) fn new(args: &RecordArgs, sink: Sink, verbose: bool) -> Self {
        let path = (!args.streams()).then(|| args.output.clone());
        let shown =
            path.as_ref().map_or_else(|| output::STANDARD_OUTPUT.to_string(), |path| path.display().to_string());
        let name = printable(&shown).into_owned();
        let verbose = verbose || (path.is_some() && std::io::stderr().is_terminal());
        let (later, begun) = (VecDeque::new(), Instant::now());
        Self { path, name, sink, verbose, trouble: None, begun, running: None, later, sampled: false, status: 0 }
    }

    /// Starts the command, which is recorded as `recorded_as`.
    pub(super) fn bracket(&mut self, held: Held, recorded_as: Vec<String>, tell: Sender<Event>) -> Result<(), Failure> {
        self.sink.event(What::Start { command: recorded_as });
        // A recorder that is gone needs no news.
        let started = child::start(held, move || drop(tell.send(Event::Ended)));
        self.running = Some(started.inspect_err(|_| self.discard())?);
        Ok(())
    }

    /// Takes back a recording that cannot become one.
    pub(super) fn discard(&self) {
        let writer = self.sink.lock().take();
        drop(writer.map(crate::recording::Writer::close));
        if let Some(path) = &self.path {
            // It was made here a moment ago.
            let _ = crate::folder::remove(path);
        }
    }

    /// Waits until there is nothing more to record, closes it and gives the status to leave with.
    pub(super) fn until_the_end(
        mut self,
        events: &Receiver<Event>,
        end: &Sender<()>,
        mut deadline: Option<Instant>,
    ) -> u8 {
        let mut asked = false;
        loop {
            let wait = deadline.map_or(LOOK, |deadline| deadline.saturating_duration_since(Instant::now()).min(LOOK));
            let event = self.later.pop_front().map_or_else(|| events.recv_timeout(wait), Ok);
            match event {
                Ok(Event::Signal(signal)) if self.running.is_some() => {
                    self.pass_on(signal);
                    if signals::ends(signal) && !signals::is_of_the_terminal(signal) {
                        // A second signal ends the recording too.
                        let grace = if asked { Duration::ZERO } else { GRACE };
                        let latest = Instant::now() + grace;
                        deadline = Some(deadline.map_or(latest, |deadline| deadline.min(latest)));
                        asked = true;
                    }
                }
                Ok(Event::Signal(signal)) if !signals::ends(signal) => {}
                Ok(Event::Ended) => {
                    let ended = self.running.take().and_then(|mut running| running.reap().ok());
                    self.close(ended, events, end);
                    // A command that did well does not hide that its recording did not.
                    return match ended.map_or(super::OWN, child::status) {
                        0 if self.status != 0 => super::OWN,
                        status => status,
                    };
                }
                Ok(Event::Sampled) => {
                    self.sampled = true;
                    if self.running.is_none() {
                        break;
                    }
                }
                Ok(Event::Signal(_)) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let gone = self.check();
            if gone || deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                // A command goes on, to its end.
                deadline = None;
                self.close(None, events, end);
                if self.running.is_none() {
                    return self.status;
                }
            }
        }
        self.close(None, events, end);
        self.status
    }

    fn pass_on(&self, signal: i32) {
        if let Some(running) = self.running.as_ref().filter(|_| !signals::is_of_the_terminal(signal)) {
            running.signal(signal);
        }
    }

    /// Reports the start and the end of trouble; true once the reader of the stream has gone.
    fn check(&mut self) -> bool {
        let Some(status) = self.sink.lock().as_ref().map(crate::recording::Writer::status) else { return false };
        self.report(&status);
        status.gone
    }

    fn report(&mut self, status: &Status) {
        let trouble = status.trouble.clone();
        match (&self.trouble, &trouble) {
            (None, Some(trouble)) => {
                report_line(&text::SamplesSkipped { name: &self.name, error: trouble }.to_string());
            }
            (Some(_), None) => {
                report_line(&text::Resumed { name: &self.name, count: status.skipped }.to_string());
            }
            _ => {}
        }
        self.trouble = trouble;
    }

    /// Takes the last sample and closes the recording well, once.
    fn close(&mut self, ended: Option<ExitStatus>, events: &Receiver<Event>, end: &Sender<()>) {
        if self.sink.lock().is_none() {
            return;
        }
        if let Some(ended) = ended {
            self.sink.event(What::Exit { status: ended.code(), signal: ended.signal() });
        }
        let latest = Instant::now() + PATIENCE;
        // A sampler that is gone has taken its last one; one that hangs holds up nothing but itself.
        self.sampled |= end.send(()).is_err();
        while !self.sampled {
            match events.recv_timeout(latest.saturating_duration_since(Instant::now())) {
                Ok(Event::Sampled) => self.sampled = true,
                Ok(event) => self.later.push_back(event),
                Err(_) => break,
            }
        }
        let Some(writer) = self.sink.lock().take() else { return };
        let status = writer.close();
        let trouble = status.trouble.as_ref().filter(|_| !status.gone);
        if let Some(path) = self.path.as_ref().filter(|_| trouble.is_some() && status.samples == 0) {
            // Not one sample got into it.
            let _ = crate::folder::remove(path);
        }
        if let Some(error) = &status.broken {
            self.status = 2;
            report_line(&output::Broken { name: &self.name, error: &error }.to_string());
            return;
        }
        if trouble.is_some() {
            self.status = 2;
        }
        match trouble {
            Some(trouble) => report_line(&pair(summary(&self.name, &status, self.begun.elapsed()), trouble)),
            None if status.gone => {}
            None => {
                self.report(&status);
                if self.verbose {
                    report_line(&summary(&self.name, &status, self.begun.elapsed()));
                }
            }
        }
    }
}

/// What a recording has become.
pub(crate) fn summary(name: &str, status: &Status, over: Duration) -> String {
    let size = topotop_widgets::parts::number::bytes(status.bytes as f64);
    let (samples, missing) = (status.samples, status.skipped);
    let time = crate::units::span(over.as_secs_f64().round() as u64);
    if missing > 0 {
        text::SummaryMissing { name: &name, samples: &samples, missing: &missing, size: &size, time: &time }.to_string()
    } else {
        text::Summary { name: &name, samples: &samples, size: &size, time: &time }.to_string()
    }
}

fn report_line(text: &str) {
    // Without standard error there is no place for it.
    let _ = writeln!(std::io::stderr(), "topotop: {}", printable(&text.replace('\n', " ")));
}
