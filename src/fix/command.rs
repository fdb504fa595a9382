//! `topotop fix`: fixes on the command line.

mod apply;
mod ask;
mod list;
mod past;
mod undo;
mod verdict;

use super::args::{FixArgs, Source, Verb, Which};
use super::observer::{Observed, Observer, recorded};
use super::order::Wanted;
use super::session::MachineWriter;
use crate::privilege::{Task, restrict};
use crate::source::live::Plan as Sampling;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use topotop_collectors::{Root, state};
use topotop_model::fix::{self, Case, Surroundings};
use topotop_model::locale::Text;
use topotop_model::locale::cli::fix as text;
use topotop_model::recording::RecordedFinding;
use topotop_model::rules::Subject;

/// Done.
const DONE: u8 = 0;
/// Refused, failed or worse.
const REFUSED: u8 = 1;

/// Shared by all actions.
#[derive(Debug)]
pub(crate) struct Context {
    /// How to sample.
    pub(crate) sampling: Sampling,
    /// The root to read from.
    pub(crate) root: PathBuf,
    /// True where the root is this machine.
    pub(crate) live: bool,
    /// True where nothing may be written.
    pub(crate) read_only: bool,
    /// `--state-dir`.
    pub(crate) state_dir: Option<PathBuf>,
}

impl Context {
    fn open(&self) -> Result<Root, String> {
        let root = if self.live { Root::live() } else { Root::at(&self.root) };
        root.map_err(|error| format!("{}: {error}", self.root.display()))
    }

    fn directory(&self) -> Result<PathBuf, String> {
        state::directory(self.state_dir.as_deref()).ok_or_else(|| text::NO_STATE_DIR.to_string())
    }

    /// Why nothing may be written; none where it may.
    fn refusal(&self) -> Option<Text> {
        match () {
            () if !self.live => Some(text::CAPTURED),
            () if self.read_only => Some(text::READ_ONLY),
            () => None,
        }
    }

    /// The application's own load metric.
    fn metric(&self) -> Option<&str> {
        self.sampling.options.metrics.iter().find(|metric| metric.gates).map(|metric| metric.name.as_str())
    }
}

/// Runs an action; the exit status is 0 when done, 1 when refused, failed or worse.
pub(crate) fn run(context: &Context, args: &FixArgs, machine: &mut dyn MachineWriter) -> Result<u8, String> {
    match &args.verb {
        Verb::List { source, format } => list::run(context, source, format, machine),
        Verb::Show(which) => apply::show(context, which, machine),
        Verb::Apply(args) => apply::run(context, args, machine),
        Verb::Undo { id, force, dry_run, format, .. } => {
            undo::run(context, id.as_deref(), &undo::How { force: *force, dry_run: *dry_run, format })
        }
        Verb::Journal { id, format } => past::run(context, id.as_deref(), format),
        Verb::Confirm { id } => undo::confirm(context, id),
    }
}

/// The source of findings: this machine, observed on, or a recording.
struct Observation {
    watch: Option<Observer>,
    recorded: Observed,
    surroundings: Surroundings,
    /// Why findings of this recording cannot be applied here.
    foreign: Option<String>,
}

impl Observation {
    fn with<T>(&self, take: impl FnOnce(&Observed) -> T) -> T {
        match &self.watch {
            Some(watch) => take(&watch.seen()),
            None => take(&self.recorded),
        }
    }
}

/// Observes the machine, or reads a recording.
fn observe(context: &Context, source: &Source, machine: &mut dyn MachineWriter) -> Result<Observation, String> {
    let root = context.open()?;
    let surroundings = machine.look();
    let mut observation = Observation { watch: None, recorded: Observed::default(), surroundings, foreign: None };
    if let Some(path) = &source.from {
        let (seen, boot_id) = confined(|| recorded(path, &context.sampling))?;
        let now = root.read_text("proc/sys/kernel/random/boot_id").unwrap_or_default();
        if boot_id.is_empty() || boot_id != now.trim() {
            observation.foreign = Some(text::Foreign { file: &path.display() }.to_string());
        }
        observation.recorded = seen;
    } else {
        let watch = Observer::start(root, &context.sampling)?;
        watch.wait(source.watch, &AtomicBool::new(false), |_| false);
        observation.watch = Some(watch);
    }
    if observation.with(|seen| seen.frames.is_empty()) {
        return Err(text::NO_SAMPLES.to_string());
    }
    Ok(observation)
}

/// Decodes on a thread that can write nothing, whatever is wrong in a recording.
fn confined<T: Send>(decode: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    let decode = || restrict(Task::Decode, None).and_then(|()| decode());
    let decoded = std::thread::scope(|scope| scope.spawn(decode).join());
    decoded.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The plan of a fix id with what it is planned from, or why there is none.
fn planned(context: &Context, observation: &Observation, which: &Which) -> Result<Result<Wanted, String>, String> {
    let unknown = || text::NotAnId { id: &which.id }.to_string();
    let id = match which.pid {
        Some(pid) => match of_process(observation, pid, &which.id) {
            Some(id) => id,
            None => return Ok(Err(text::NoProcess { pid: &pid }.to_string())),
        },
        None => which.id.clone(),
    };
    let (rule, subject, fix) = fix::parse_id(&id).ok_or_else(unknown)?;
    let of_row = rule == fix::row::ID.as_str();
    if of_row && !fix::of_rule(rule).any(|known| known.id == fix.id) {
        return Err(unknown());
    }
    let chosen = fix::row::chosen(subject.clone());
    let set: BTreeMap<String, String> = which.set.iter().cloned().collect();
    observation.with(|seen| {
        let found = if of_row { Some((&chosen, fix)) } else { fix::finding(&id, &seen.findings) };
        let Some((finding, fix)) = found else {
            return Ok(Err(text::NotDetected { rule: &rule, subject: &subject, count: &seen.samples }.to_string()));
        };
        if let Some(unknown) = fix.unknown(&set) {
            return Err(format!("--set {unknown}"));
        }
        let Some(frame) = seen.frames.back() else { return Ok(Err(text::NO_SAMPLES.to_string())) };
        let case =
            Case { finding, frame, set: &set, surroundings: &observation.surroundings, metric: context.metric() };
        let findings = std::iter::once(finding).chain(&finding.children).map(RecordedFinding::of).collect();
        let planned = (fix.plan)(&case).map(|plan| Wanted { plan, set: set.clone(), findings });
        Ok(planned.map_err(|refusal| refusal.text(fix, rule, &subject)))
    })
}

/// The id of an action on a process.
fn of_process(observation: &Observation, pid: u32, fix: &str) -> Option<String> {
    let starttime = observation.with(|seen| Some(seen.frames.back()?.process(pid)?.starttime))?;
    Some(fix::id(fix::row::ID.as_str(), &Subject::Process(pid, starttime), fix))
}

/// Writes to standard output; a closed pipe is not an error.
fn print(text: &str) -> Result<(), String> {
    crate::output::print(text.as_bytes())
}

fn print_json(value: &impl serde::Serialize) -> Result<(), String> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| text::DocumentFailed { error: &error }.to_string())?;
    print(&(text + "\n"))
}

/// Reports why not; returns the exit status.
fn refuse(why: &str) -> u8 {
    crate::stderr::warn(why);
    REFUSED
}
