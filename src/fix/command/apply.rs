//! `topotop fix show` and `apply`.

use super::super::applier::{Applier, Done, Proposal, Refused, Told, resolve};
use super::super::args::{ApplyArgs, Which};
use super::super::deadman;
use super::super::journal::File;
use super::super::look::Seen;
use super::super::machine::Kernel;
use super::super::show;
use super::{Context, DONE, Looked, REFUSED, ask, document, look, planned, refuse, verdict};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use topotop_model::fix::verification::FEWEST;
use topotop_model::fix::{Plan, Restore, Risk};
use topotop_model::journal::{Applied, Outcome};
use topotop_model::text::printable;

/// What was said yes to and done, for the document.
pub(super) struct Written {
    pub(super) done: Done,
    pub(super) deadline: Option<deadman::Armed>,
}

pub(super) fn show(context: &Context, which: &Which) -> Result<u8, String> {
    let looked = look(context, &which.look)?;
    let plan = match planned(context, &looked, which)? {
        Ok(plan) => plan,
        Err(why) => return Ok(refuse(&why)),
    };
    let proposal = resolve(&Kernel::new(Arc::new(context.open()?)), &plan);
    told(&proposal, &which.format, &mut io::stdout().lock())?;
    Ok(DONE)
}

fn told(proposal: &Proposal, format: &str, out: &mut dyn Write) -> Result<(), String> {
    if format == "json" {
        return document(&Value::Object(show::json(proposal)));
    }
    match show::text(proposal, out) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

pub(super) fn run(context: &Context, args: &ApplyArgs) -> Result<u8, String> {
    let which = &args.which;
    if !args.dry_run && !args.yes && context.refusal().is_none() && !ask::can_ask() {
        return Ok(refuse("nobody can be asked here: give --yes, or --dry-run to see what it would do"));
    }
    let looked = look(context, &which.look)?;
    let plan = match planned(context, &looked, which)? {
        Ok(plan) => plan,
        Err(why) => return Ok(refuse(&why)),
    };
    let mut machine = Kernel::new(Arc::new(context.open()?));
    let proposal = resolve(&machine, &plan);
    if args.dry_run {
        told(&proposal, &which.format, &mut io::stdout().lock())?;
        return Ok(DONE);
    }
    // A document on standard output is of what was done: what is asked about goes to the terminal.
    if which.format == "json" {
        told(&proposal, "text", &mut io::stderr().lock())?;
    } else {
        told(&proposal, "text", &mut io::stdout().lock())?;
    }
    if let Some(why) = refusal(context, args, &looked, &plan).or_else(|| proposal.refused.clone()) {
        return Ok(refuse(&why));
    }
    if !args.no_wait {
        watch_on(context, &looked);
    }
    if !args.yes && !ask::yes(&plan) {
        return Ok(refuse("cancelled: nothing was written"));
    }
    let stop = stopping()?;
    let directory = context.directory()?;
    let applied = match write(&mut machine, &directory, &proposal, &stop, which.format == "json") {
        Ok(applied) => applied,
        Err(why) => return Ok(refuse(&why)),
    };
    finish(context, args, looked, &proposal, &directory, &applied, &stop)
}

/// Goes on watching where a verdict would have too little before the change to compare with.
fn watch_on(context: &Context, looked: &Looked) {
    let Some(watch) = &looked.watch else { return };
    // The first sample has no rates.
    let enough = |seen: &Seen| seen.samples > FEWEST as u64;
    let left = (FEWEST as u64 + 1).saturating_sub(watch.seen().samples) as u32;
    if left > 0 {
        crate::run::warn(&format!("watching for {left} samples more: a verdict compares with {FEWEST} before"));
        watch.wait(2 * left * context.sampling.interval, &AtomicBool::new(false), enough);
    }
}

/// Why a plan that was made is not to be applied.
fn refusal(context: &Context, args: &ApplyArgs, looked: &Looked, plan: &Plan) -> Option<String> {
    if !plan.is_executable() {
        return Some("it is advice: it is shown, never executed".to_owned());
    }
    if let Some(why) = context.refusal() {
        return Some(why.to_owned());
    }
    if let Some(why) = &looked.foreign {
        return Some(why.clone());
    }
    let named = args.confirm_subject.as_deref();
    match named {
        Some(name) if !ask::is_name(plan, name) => {
            Some(format!("--confirm-subject {name}: it is about {}", plan.name()))
        }
        None if args.yes && plan.risk == Risk::Dangerous => {
            Some(format!("it is dangerous: --yes needs --confirm-subject {}", plan.name()))
        }
        _ => None,
    }
}

/// From here on a signal puts back instead of ending; a terminal that goes away ends nothing.
fn stopping() -> Result<Arc<AtomicBool>, String> {
    let stop = Arc::new(AtomicBool::new(false));
    let register = |signal, flag: &Arc<AtomicBool>| signal_hook::flag::register(signal, Arc::clone(flag)).map(drop);
    let gone = Arc::new(AtomicBool::new(false));
    register(signal_hook::consts::SIGINT, &stop)
        .and_then(|()| register(signal_hook::consts::SIGTERM, &stop))
        .and_then(|()| register(signal_hook::consts::SIGHUP, &gone))
        .map_err(|error| format!("signals: {error}"))?;
    Ok(stop)
}

fn write(
    machine: &mut Kernel,
    directory: &Path,
    proposal: &Proposal,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<Written, String> {
    let plan = &proposal.resolved.plan;
    let reverts = (!plan.cuts_off.is_empty()).then_some(deadman::SECONDS);
    let mut ledger = File::open(directory)?;
    let (mut armed, mut unarmed) = (None, None);
    let mut tell = |told: Told| {
        if let (Told::Begun(number), Some(seconds)) = (&told, reverts) {
            match deadman::arm_this(directory, *number, seconds) {
                Ok(by) => armed = Some(by),
                Err(why) => unarmed = Some(why),
            }
        }
        say(plan, &told, quiet);
        let is_over = unarmed.is_some() || (stop.load(Ordering::Relaxed) && !matches!(told, Told::PutBack(_)));
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let done = Applier::new(machine, &mut ledger, &mut tell).apply(proposal, &ask::who(), reverts);
    let done = done.map_err(|Refused(why)| why)?;
    match unarmed {
        Some(why) => Err(format!("nothing was written: {why}")),
        None => Ok(Written { done, deadline: armed }),
    }
}

/// What happens, as it happens.
fn say(plan: &Plan, told: &Told, quiet: bool) {
    let what = |outcome: &Outcome| {
        let step = plan.steps.get(outcome.step).map(|step| step.target.to_string());
        let place =
            step.or_else(|| plan.kept.get(outcome.step.checked_sub(plan.steps.len())?).map(ToString::to_string));
        let key = if outcome.key.is_empty() { String::new() } else { format!(", {}", outcome.key) };
        format!("{}{key}", place.unwrap_or_default())
    };
    let line = match told {
        Told::Wrote(outcome) => format!("  {}", came(&what(outcome), outcome)),
        Told::PutBack(outcome) => format!("  put back: {}", came(&what(outcome), outcome)),
        Told::Begun(_) | Told::Writing { .. } | Told::Far(_) => return,
    };
    let text = format!("{}\n", printable(&line));
    // Whoever listened may be gone: the journal has it.
    let _ = if quiet { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) };
}

/// What came of an item, in a line.
pub(super) fn came(what: &str, outcome: &Outcome) -> String {
    match (&outcome.error, &outcome.value) {
        (Some(error), _) => format!("{what}: {error}"),
        (None, Some(value)) => format!("{what}: {}", if value.is_empty() { "nothing" } else { value }),
        (None, None) => format!("{what}: done"),
    }
}

/// How it came out, and whether anything can be put back.
fn state_in_words(proposal: &Proposal, done: &Done) -> String {
    let mut steps = proposal.resolved.plan.steps.iter();
    let back = if steps.all(|step| step.restore == Restore::Never) {
        "nothing of it can be put back".to_owned()
    } else {
        format!("topotop fix undo {} takes it back", done.number)
    };
    match done.state {
        Applied::Applied => format!("applied as {}; {back}", done.number),
        Applied::Partial => format!("applied in part as {}; {back}", done.number),
        Applied::Failed => "not applied: what was written was put back".to_owned(),
    }
}

fn finish(
    context: &Context,
    args: &ApplyArgs,
    looked: Looked,
    proposal: &Proposal,
    directory: &Path,
    applied: &Written,
    stop: &AtomicBool,
) -> Result<u8, String> {
    let done = &applied.done;
    let json = args.which.format == "json";
    let mut lines = Vec::new();
    if let Some(trouble) = &done.trouble {
        crate::run::warn(&format!("{trouble}: the journal does not have all of it"));
    }
    lines.push(state_in_words(proposal, done));
    if let Some(by) = applied.deadline.filter(|_| done.state != Applied::Failed) {
        lines.push(format!(
            "{} takes it back in {} s unless: topotop fix confirm {}",
            by.words(),
            deadman::SECONDS,
            done.number
        ));
    }
    let note = |text: &str| {
        let text = format!("{}\n", printable(text));
        let _ = if json { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) };
    };
    for line in &lines {
        note(line);
    }
    let watched = if done.state == Applied::Failed || args.no_wait {
        None
    } else {
        Some(verdict::wait(
            context,
            looked,
            proposal,
            &verdict::How {
                directory,
                number: done.number,
                undo_if_worse: args.undo_if_worse,
                is_armed: applied.deadline.is_some(),
                stop,
                note: &note,
            },
        )?)
    };
    if json {
        document(&applied_document(proposal, done, watched.as_ref()))?;
    }
    let is_worse = watched.as_ref().is_some_and(|watched| watched.verdict.is_worse() || watched.undone.is_some());
    Ok(if done.state == Applied::Applied && !is_worse && done.trouble.is_none() { DONE } else { REFUSED })
}

fn applied_document(proposal: &Proposal, done: &Done, watched: Option<&verdict::Watched>) -> Value {
    let plan = &proposal.resolved.plan;
    let outcome = |outcome: &Outcome| {
        json!({
            "target": plan.steps.get(outcome.step).map(|step| show::safe(&step.target.to_string())),
            "key": show::safe(&outcome.key),
            "value": outcome.value.as_deref().map(show::safe),
            "error": outcome.error.as_deref().map(show::safe),
        })
    };
    let written = done.outcomes.iter().filter(|outcome| outcome.step < plan.steps.len());
    json!({
        "id": plan.id(),
        "number": done.number,
        "title": show::safe(&plan.title),
        "state": match done.state {
            Applied::Applied => "applied",
            Applied::Partial => "partial",
            Applied::Failed => "failed",
        },
        "items": written.map(outcome).collect::<Vec<_>>(),
        "put_back": done.put_back.iter().map(outcome).collect::<Vec<_>>(),
        "verdict": watched.map(|watched| watched.verdict.name),
        "why": watched.map(|watched| show::safe(&watched.verdict.why)),
        "table": watched.map(|watched| json!(watched.verdict.table)),
        "undone": watched.and_then(|watched| watched.undone),
    })
}
