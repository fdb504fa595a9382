//! `topotop fix`: the fixes without the screen.

mod apply;
mod ask;
mod list;
mod past;
mod undo;
mod verdict;

use super::args::{FixArgs, Look, Verb, Which};
use super::look::{Seen, Watch, recorded};
use crate::source::live::Plan as Sampling;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use topotop_collectors::{Root, state, surroundings};
use topotop_model::fix::{self, Case, Plan, Surroundings};

/// Done.
const DONE: u8 = 0;
/// Refused, failed, or worse.
const REFUSED: u8 = 1;

/// What commands have in common.
#[derive(Debug)]
pub(crate) struct Context {
    /// How to sample.
    pub(crate) sampling: Sampling,
    /// Where to read: asked for again by the sampler.
    pub(crate) root: PathBuf,
    /// True where that is this machine.
    pub(crate) live: bool,
    /// Nothing is to be written, whatever is asked.
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
        state::directory(self.state_dir.as_deref())
            .ok_or_else(|| "neither XDG_STATE_HOME nor HOME says where the journal is: give --state-dir".to_owned())
    }

    /// Why nothing may be written; none where it may.
    fn refusal(&self) -> Option<&'static str> {
        match () {
            () if !self.live => Some("--root: a captured machine is shown only; nothing is applied"),
            () if self.read_only => Some("--read-only: nothing is applied"),
            () => None,
        }
    }

    /// The application's own number that carries the load.
    fn metric(&self) -> Option<&str> {
        self.sampling.options.metrics.iter().find(|metric| metric.gates).map(|metric| metric.name.as_str())
    }
}

/// Does it and gives the exit status: 0 done, 1 refused, failed or worse.
pub(crate) fn run(context: &Context, args: &FixArgs) -> Result<u8, String> {
    match &args.verb {
        Verb::List { look, format } => list::run(context, look, format),
        Verb::Show(which) => apply::show(context, which),
        Verb::Apply(args) => apply::run(context, args),
        Verb::Undo { id, force, dry_run, format } => {
            undo::run(context, id.as_deref(), &undo::How { force: *force, dry_run: *dry_run, format })
        }
        Verb::Journal { id, format } => past::run(context, id.as_deref(), format),
        Verb::Confirm { id } => undo::confirm(context, id),
    }
}

/// What was looked at: this machine goes on being watched.
struct Looked {
    watch: Option<Watch>,
    recorded: Seen,
    surroundings: Surroundings,
    /// Why findings of this recording are none to apply here.
    foreign: Option<String>,
}

impl Looked {
    fn with<T>(&self, take: impl FnOnce(&Seen) -> T) -> T {
        match &self.watch {
            Some(watch) => take(&watch.seen()),
            None => take(&self.recorded),
        }
    }
}

/// Watches, or reads a recording.
fn look(context: &Context, look: &Look) -> Result<Looked, String> {
    let root = context.open()?;
    let surroundings = surroundings::read(&root);
    let mut looked = Looked { watch: None, recorded: Seen::default(), surroundings, foreign: None };
    if let Some(path) = &look.from {
        let (seen, boot_id) = recorded(path, &context.sampling)?;
        let now = root.read_text("proc/sys/kernel/random/boot_id").unwrap_or_default();
        if boot_id.is_empty() || boot_id != now.trim() {
            looked.foreign =
                Some(format!("{} is of another machine or of an earlier boot: shown only", path.display()));
        }
        looked.recorded = seen;
    } else {
        let watch = Watch::start(root, &context.sampling)?;
        watch.wait(look.watch, &AtomicBool::new(false), |_| false);
        looked.watch = Some(watch);
    }
    if looked.with(|seen| seen.frames.is_empty()) {
        return Err("nothing was sampled: give it more time with --for".to_owned());
    }
    Ok(looked)
}

/// The plan that an id names, or why there is none.
fn planned(context: &Context, looked: &Looked, which: &Which) -> Result<Result<Plan, String>, String> {
    let unknown = || format!("{}: no id of a fix: `topotop fix list` has them", which.id);
    let (rule, subject, _) = fix::parse_id(&which.id).ok_or_else(unknown)?;
    let set: BTreeMap<String, String> = which.set.iter().cloned().collect();
    looked.with(|seen| {
        let Some((finding, fix)) = fix::finding(&which.id, &seen.findings) else {
            return Ok(Err(format!(
                "{rule} was not found of {subject} in {} samples: watch longer with --for",
                seen.samples
            )));
        };
        if let Some(unknown) = fix.unknown(&set) {
            return Err(format!("--set {unknown}"));
        }
        let Some(frame) = seen.frames.back() else { return Ok(Err("nothing was sampled".to_owned())) };
        let case = Case { finding, frame, set: &set, surroundings: &looked.surroundings, metric: context.metric() };
        Ok((fix.plan)(&case).map_err(|refusal| refusal.words(fix, rule, &subject)))
    })
}

/// Writes; whoever has read enough may go.
fn print(text: &str) -> Result<(), String> {
    match io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

fn document(value: &serde_json::Value) -> Result<(), String> {
    let text = serde_json::to_string_pretty(value).map_err(|error| format!("the document: {error}"))?;
    print(&(text + "\n"))
}

/// Says why not, and is the exit status.
fn refuse(why: &str) -> u8 {
    crate::run::warn(why);
    REFUSED
}
