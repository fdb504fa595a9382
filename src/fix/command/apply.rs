//! `topotop fix show` and `apply`.

use super::super::applier::{Applier, ApplyEvent, Done, Proposal, Refused, resolve};
use super::super::args::{ApplyArgs, Which};
use super::super::deadman;
use super::super::journal::File;
use super::super::machine::Kernel;
use super::super::observer::Observed;
use super::super::show;
use super::{Context, DONE, Observation, REFUSED, ask, observe, planned, print_json, refuse, verdict};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use topotop_model::document::{self, OrNull};
use topotop_model::fix::verification::FEWEST;
use topotop_model::fix::{Plan, Restore, Risk};
use topotop_model::journal::{Applied, Outcome};
use topotop_model::locale::cli::fix as text;
use topotop_model::text::printable;

/// A confirmed application.
pub(super) struct Written {
    pub(super) done: Done,
    pub(super) deadline: Option<deadman::Armed>,
}

pub(super) fn show(context: &Context, which: &Which) -> Result<u8, String> {
    let observation = observe(context, &which.source)?;
    let plan = match planned(context, &observation, which)? {
        Ok(plan) => plan,
        Err(why) => return Ok(refuse(&why)),
    };
    let proposal = resolve(&Kernel::new(Arc::new(context.open()?)), &plan);
    present(&proposal, &which.format, &mut io::stdout().lock())?;
    Ok(DONE)
}

fn present(proposal: &Proposal, format: &str, out: &mut dyn Write) -> Result<(), String> {
    if format == "json" {
        return print_json(&document::Plan::of(&proposal.resolved, proposal.refused.as_deref()));
    }
    match show::text(proposal, out) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

pub(super) fn run(context: &Context, args: &ApplyArgs) -> Result<u8, String> {
    let which = &args.which;
    if !args.dry_run && !args.yes && context.refusal().is_none() && !ask::can_ask() {
        return Ok(refuse(&text::NO_TERMINAL));
    }
    let observation = observe(context, &which.source)?;
    let plan = match planned(context, &observation, which)? {
        Ok(plan) => plan,
        Err(why) => return Ok(refuse(&why)),
    };
    let mut machine = Kernel::new(Arc::new(context.open()?));
    let proposal = resolve(&machine, &plan);
    if args.dry_run {
        present(&proposal, &which.format, &mut io::stdout().lock())?;
        return Ok(DONE);
    }
    // Standard output is reserved for the JSON document: the plan goes to standard error.
    if which.format == "json" {
        present(&proposal, "text", &mut io::stderr().lock())?;
    } else {
        present(&proposal, "text", &mut io::stdout().lock())?;
    }
    if let Some(why) = refusal(context, args, &observation, &plan).or_else(|| proposal.refused.clone()) {
        return Ok(refuse(&why));
    }
    if !args.no_wait {
        watch_on(context, &observation);
    }
    if !args.yes && !ask::yes(&plan) {
        return Ok(refuse(&text::CANCELLED));
    }
    let stop = stopping()?;
    let directory = context.directory()?;
    let applied = match write(&mut machine, &directory, &proposal, &stop, which.format == "json") {
        Ok(applied) => applied,
        Err(why) => return Ok(refuse(&why)),
    };
    finish(context, args, observation, &proposal, &directory, &applied, &stop)
}

/// Observes longer where the window before is too short for a verdict.
fn watch_on(context: &Context, observation: &Observation) {
    let Some(watch) = &observation.watch else { return };
    // The first sample has no rates.
    let enough = |seen: &Observed| seen.samples > FEWEST as u64;
    let left = (FEWEST as u64 + 1).saturating_sub(watch.seen().samples) as u32;
    if left > 0 {
        crate::stderr::warn(&text::MoreSamples { count: &left, least: &FEWEST }.to_string());
        watch.wait(2 * left * context.sampling.interval, &AtomicBool::new(false), enough);
    }
}

/// Why a plan must not be applied.
fn refusal(context: &Context, args: &ApplyArgs, observation: &Observation, plan: &Plan) -> Option<String> {
    if !plan.is_executable() {
        return Some(text::ADVICE.to_string());
    }
    if let Some(why) = context.refusal() {
        return Some(why.to_string());
    }
    if let Some(why) = &observation.foreign {
        return Some(why.clone());
    }
    let named = args.confirm_subject.as_deref();
    match named {
        Some(name) if !ask::is_name(plan, name) => {
            Some(text::WrongSubject { name: &name, subject: &plan.name() }.to_string())
        }
        None if args.yes && plan.risk == Risk::Dangerous => {
            Some(text::NeedsSubject { subject: &plan.name() }.to_string())
        }
        _ => None,
    }
}

/// Makes signals trigger a rollback instead of ending the process; SIGHUP is ignored.
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
    let mut tell = |event: ApplyEvent| {
        if let (ApplyEvent::Begun(number), Some(seconds)) = (&event, reverts) {
            match deadman::arm_this(directory, *number, seconds) {
                Ok(by) => armed = Some(by),
                Err(why) => unarmed = Some(why),
            }
        }
        report(plan, &event, quiet);
        let is_over = unarmed.is_some() || (stop.load(Ordering::Relaxed) && !matches!(event, ApplyEvent::PutBack(_)));
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let done = Applier::new(machine, &mut ledger, &mut tell).apply(proposal, &ask::who(), reverts);
    let done = done.map_err(|Refused(why)| why)?;
    match unarmed {
        Some(why) => Err(text::NothingWritten { why: &why }.to_string()),
        None => Ok(Written { done, deadline: armed }),
    }
}

/// Reports the outcome of an item.
fn report(plan: &Plan, event: &ApplyEvent, quiet: bool) {
    let what = |outcome: &Outcome| {
        let step = plan.steps.get(outcome.step).map(|step| step.target.to_string());
        let place =
            step.or_else(|| plan.kept.get(outcome.step.checked_sub(plan.steps.len())?).map(ToString::to_string));
        let key = if outcome.key.is_empty() { String::new() } else { format!(", {}", outcome.key) };
        format!("{}{key}", place.unwrap_or_default())
    };
    let line = match event {
        ApplyEvent::Wrote(outcome) => format!("  {}", came(&what(outcome), outcome)),
        ApplyEvent::PutBack(outcome) => format!("  {}", text::Restored { item: &came(&what(outcome), outcome) }),
        ApplyEvent::Begun(_) | ApplyEvent::Writing { .. } | ApplyEvent::Far(_) => return,
    };
    let text = format!("{}\n", printable(&line));
    // A closed pipe does not matter: the journal has it.
    let _ = if quiet { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) };
}

/// The outcome of an item, in a line.
pub(super) fn came(what: &str, outcome: &Outcome) -> String {
    match (&outcome.error, &outcome.value) {
        (Some(error), _) => format!("{what}: {error}"),
        (None, Some(value)) => format!("{what}: {}", if value.is_empty() { text::UNSET.as_str() } else { value }),
        (None, None) => text::Done { item: &what }.to_string(),
    }
}

/// The result, and how to undo it.
fn result_line(proposal: &Proposal, done: &Done) -> String {
    let mut steps = proposal.resolved.plan.steps.iter();
    let number = done.number;
    match (done.state, steps.all(|step| step.restore == Restore::Never)) {
        (Applied::Applied, true) => text::AppliedForGood { number: &number }.to_string(),
        (Applied::Applied, false) => text::Applied { number: &number }.to_string(),
        (Applied::Partial, true) => text::PartlyAppliedForGood { number: &number }.to_string(),
        (Applied::Partial, false) => text::PartlyApplied { number: &number }.to_string(),
        (Applied::Failed, _) => text::NOT_APPLIED.to_string(),
    }
}

fn finish(
    context: &Context,
    args: &ApplyArgs,
    observation: Observation,
    proposal: &Proposal,
    directory: &Path,
    applied: &Written,
    stop: &AtomicBool,
) -> Result<u8, String> {
    let done = &applied.done;
    let json = args.which.format == "json";
    let mut lines = Vec::new();
    if let Some(trouble) = &done.trouble {
        crate::stderr::warn(&text::JournalIncomplete { error: &trouble }.to_string());
    }
    lines.push(result_line(proposal, done));
    if let Some(by) = applied.deadline.filter(|_| done.state != Applied::Failed) {
        lines.push(text::Rollback { seconds: &deadman::SECONDS, agent: &by.label(), number: &done.number }.to_string());
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
            observation,
            proposal,
            &verdict::How {
                directory,
                number: done.number,
                undo_if_worse: args.undo_if_worse,
                undo_to_compare: args.undo_to_compare,
                asks: !args.yes && ask::can_ask(),
                is_armed: applied.deadline.is_some(),
                stop,
                note: &note,
            },
        )?)
    };
    if json {
        print_json(&applied_document(proposal, done, watched.as_ref()))?;
    }
    let failed = |watched: &verdict::Watched| match watched.undone {
        Some(whole) if watched.compared => !whole,
        undone => undone.is_some(),
    };
    let is_worse = watched.as_ref().is_some_and(|watched| watched.verdict.is_worse() || failed(watched));
    Ok(if done.state == Applied::Applied && !is_worse && done.trouble.is_none() { DONE } else { REFUSED })
}

fn applied_document(proposal: &Proposal, done: &Done, watched: Option<&verdict::Watched>) -> document::Done {
    let plan = &proposal.resolved.plan;
    let outcome =
        |outcome: &Outcome| document::Outcome::of(outcome, plan.steps.get(outcome.step).map(|step| &step.target));
    let written = done.outcomes.iter().filter(|outcome| outcome.step < plan.steps.len());
    document::Done {
        id: plan.id(),
        number: done.number,
        title: document::safe(&plan.title),
        state: done.state,
        items: written.map(outcome).collect(),
        put_back: done.put_back.iter().map(outcome).collect(),
        verdict: OrNull(watched.map(|watched| watched.verdict.name)),
        why: OrNull(watched.map(|watched| document::safe(&watched.verdict.why))),
        table: OrNull(watched.map(|watched| watched.verdict.table.clone())),
        undone: OrNull(watched.and_then(|watched| watched.undone)),
    }
}
