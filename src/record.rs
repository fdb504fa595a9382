//! `topotop record`: samples to a file or a pipe, without a screen; with a command, from its start to its end.

mod child;
mod forward;
mod judged_writer;
pub(crate) mod marks;
pub(crate) mod missing;
mod recorder;
mod sampling;
mod signals;

use crate::output::broker::Places;
use crate::privilege::{self, Task};
use crate::recording::{Target, Writer};
use crate::source::live::Plan;
use crate::units;
use judged_writer::JudgedWriter;
pub(crate) use recorder::summary;
use recorder::{Event, Recorder};
use sampling::{Sampling, Sink};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};
use topotop_collectors::{Root, Sampler};
use topotop_model::anonymise::{Anonymiser, Names};
use topotop_model::derive::Settings;
use topotop_model::locale::{error as errors, pair};
use topotop_model::recording::{About, Limits};
use topotop_model::{Snapshot, Table as _};

/// What `record` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct RecordArgs {
    /// The recording to write, a file that does not exist yet; - is standard output, for a pipe.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Stop after this time: 10s, 5m, 2h.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration)]
    pub duration: Option<Duration>,
    /// Keep the newest samples, in a file of at most this size; 0 keeps all.
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = units::bytes)]
    pub max_size: u64,
    /// Keep the samples of at most this time; 0 keeps all.
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = units::duration)]
    pub max_time: Duration,
    /// Replace names of hosts, processes, control groups and addresses by others, the same ones by the same.
    #[arg(long)]
    pub anonymise: bool,
    /// A command to record from its start to its end; its exit status is passed on.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The status of what went wrong here and not in the command.
const OWN: u8 = 125;

/// An error and the exit status for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Exit status.
    pub(crate) status: u8,
    /// One line.
    pub(crate) text: String,
}

impl RecordArgs {
    /// A failure of topotop itself; with a command, its exit status differs from the command's.
    pub(crate) fn failure(&self, text: String) -> Failure {
        Failure { status: if self.command.is_empty() { 2 } else { OWN }, text }
    }

    fn streams(&self) -> bool {
        self.output == Path::new("-")
    }

    /// What cannot go well, before anything is touched.
    fn check(&self, root: &Root) -> Result<(), String> {
        if self.streams() && std::io::stdout().is_terminal() {
            return Err(errors::STREAMS_TO_TERMINAL.to_string());
        }
        if !self.command.is_empty() && !root.is_live() {
            return Err(errors::COMMAND_ON_CAPTURE.to_string());
        }
        // Before the first sample, which costs time; creating the file checks again.
        if !self.streams() && self.output.symlink_metadata().is_ok() {
            return Err(errors::FileExists { path: &self.output.display() }.to_string());
        }
        Ok(())
    }

    fn target(&self) -> Target {
        if self.streams() {
            return Target::Stdout;
        }
        let max_age_ns = u64::try_from(self.max_time.as_nanos()).unwrap_or(u64::MAX);
        Target::File { path: self.output.clone(), limits: Limits { cap_bytes: self.max_size, max_age_ns } }
    }
}

/// Gives away what recording does not need; signals still go to the command.
fn restrict(live: bool, output: &Path, held: Option<&child::Held>) -> Result<(), String> {
    let task = if live { Task::Observe } else { Task::Captured };
    privilege::restrict_beside(task, Places::of(Some(output)), held.map(child::Held::pid))
}

/// Records; gives the status to leave with.
pub(crate) fn run(root: Root, plan: &Plan, args: &RecordArgs, verbose: bool) -> Result<u8, Failure> {
    let own = |text: String| args.failure(text);
    args.check(&root).map_err(own)?;
    // With the rights of the caller, before this program gives its own away.
    let command = Some(&args.command).filter(|command| !command.is_empty());
    let held = command.map(|command| child::hold(command, args.streams(), &plan.options.metrics)).transpose()?;
    let live = root.is_live();
    restrict(live, &args.output, held.as_ref()).map_err(own)?;
    let (tell, events) = channel();
    let (stopped, signals) = (Arc::new(AtomicBool::new(false)), tell.clone());
    let watched = signals::watch(!args.command.is_empty(), move |signal| signals.send(Event::Signal(signal)).is_ok())
        // Before the sampler can run again.
        .and_then(|()| signal_hook::flag::register(signal_hook::consts::SIGCONT, Arc::clone(&stopped)));
    watched.map_err(|error| own(errors::Signals { error: &error }.to_string()))?;

    let begun = Instant::now();
    let mut sampler = Sampler::new(root, &plan.options);
    let mut anonymiser = args.anonymise.then(|| Anonymiser::new(Names::new(std::hash::RandomState::new())));
    let mut first = sampler.sample();
    if let Some(anonymiser) = &mut anonymiser {
        anonymiser.apply(&mut first);
    }
    let about = about(&first, plan.interval, &plan.settings, anonymiser.as_ref());
    // Derived with the settings of the header, as replaying does.
    let derived = Settings { nic_capacity_mbps: about.nic_capacity_mbps.clone() };
    let mut judge = JudgedWriter::new(derived, plan.judge.clone());
    let mut writer = Writer::start(&args.target(), about).map_err(own)?;
    judge.put(&first, &mut writer);
    let refusal = writer.refusal().map(|refusal| pair(format_args!("-o {}", args.output.display()), refusal));
    let sink = Sink::new(writer);
    let mut recorder = Recorder::new(args, sink.clone(), verbose);
    if let Some(refusal) = refusal {
        recorder.discard();
        return Err(own(refusal));
    }
    if let Some(held) = held {
        let recorded_as =
            anonymiser.as_ref().map_or_else(|| args.command.clone(), |names| names.command(&args.command));
        recorder.bracket(held, recorded_as, tell.clone())?;
    }
    marks::listen((!args.streams()).then_some(args.output.as_path()), sink.clone());
    let deadline = args.duration.map(|duration| begun + duration);
    let (end, ending) = channel();
    let sampling = Sampling { sampler, anonymiser, judge, interval: plan.interval, sink, last: first.stamp, stopped };
    let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(move || {
        if live {
            sampling.run(begun, &ending);
        } else {
            sampling.rest();
        }
        // Whoever waited for it may have stopped waiting.
        let _ = tell.send(Event::Sampled);
    });
    thread.map_err(|error| own(errors::NoThread { error: &error }.to_string()))?;
    Ok(recorder.until_the_end(&events, &end, deadline))
}

/// The header of a recording that begins with a snapshot.
pub(crate) fn about(
    first: &Snapshot,
    interval: Duration,
    settings: &Settings,
    anonymiser: Option<&Anonymiser>,
) -> About {
    let host = first.host.data();
    let slot = host.first().unwrap_or_default();
    let text = |column: &topotop_model::Text| column.or_empty(slot).to_string();
    let capacity = |(nic, mbps): &(String, u64)| {
        let nic = anonymiser.map_or_else(|| nic.clone(), |anonymiser| anonymiser.names().interface(nic));
        (nic, *mbps)
    };
    About {
        program: concat!("topotop ", env!("CARGO_PKG_VERSION")).to_owned(),
        host: text(&host.name),
        kernel: text(&host.kernel),
        arch: text(&host.arch),
        boot_id: text(&host.boot_id),
        interval_ns: u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX),
        started_wall_ns: first.stamp.wall_ns,
        anonymised: anonymiser.is_some(),
        nic_capacity_mbps: settings.nic_capacity_mbps.iter().map(capacity).collect(),
    }
}
