//! `topotop fix show` and `apply`.

use super::super::args::{ApplyArgs, Which};
use super::super::deadman;
use super::super::observer::Observed;
use super::super::order::{Reply, Wanted};
use super::super::session::MachineWriter;
use super::super::show;
use super::{Context, DONE, Observation, REFUSED, ask, observe, planned, print_json, refuse, verdict};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use topotop_model::document::{self, OrNull};
use topotop_model::fix::verification::FEWEST;
use topotop_model::fix::{Plan, Resolved, Restore, Risk};
use topotop_model::journal::{Applied, Outcome};
use topotop_model::locale::cli::fix as text;
use topotop_model::locale::error::Signals;
use topotop_model::text::printable;

/// What came of a confirmed application.
#[derive(Default)]
struct Written {
    number: u64,
    state: Option<Applied>,
    deadline: Option<deadman::Armed>,
    outcomes: Vec<Outcome>,
    put_back: Vec<Outcome>,
    trouble: Option<String>,
}

/// A plan with current values, and why it cannot be applied.
struct Shown {
    resolved: Resolved,
    refused: Option<String>,
}

pub(super) fn show(context: &Context, which: &Which, machine: &mut dyn MachineWriter) -> Result<u8, String> {
    let observation = observe(context, &which.source, machine)?;
    let wanted = match planned(context, &observation, which)? {
        Ok(wanted) => wanted,
        Err(why) => return Ok(refuse(&why)),
    };
    present(&resolve(machine, &wanted), &which.format, &mut io::stdout().lock())?;
    Ok(DONE)
}

fn resolve(machine: &mut dyn MachineWriter, wanted: &Wanted) -> Shown {
    match machine.resolve(wanted) {
        Reply::Resolved(resolved, refused, _) => Shown { resolved: *resolved, refused },
        other => {
            let plan = wanted.plan.clone();
            let resolved = Resolved { plan, items: Vec::new(), kept: Vec::new(), unread: Vec::new() };
            Shown { resolved, refused: Some(why_of(other)) }
        }
    }
}

/// What went wrong, of a reply that is not the one waited for.
pub(super) fn why_of(reply: Reply) -> String {
    match reply {
        Reply::Refused(why) | Reply::Trouble(why) => why,
        _ => String::new(),
    }
}

fn present(shown: &Shown, format: &str, out: &mut dyn Write) -> Result<(), String> {
    if format == "json" {
        return print_json(&document::Plan::of(&shown.resolved, shown.refused.as_deref()));
    }
    match show::text(&shown.resolved, shown.refused.as_deref(), out) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(topotop_model::locale::error::StdoutFailed { error: &crate::trust::said(&error) }.to_string())
        }
        _ => Ok(()),
    }
}

pub(super) fn run(context: &Context, args: &ApplyArgs, machine: &mut dyn MachineWriter) -> Result<u8, String> {
    let which = &args.which;
    if !args.dry_run && !args.yes && context.refusal().is_none() && !ask::can_ask() {
        return Ok(refuse(&text::NO_TERMINAL));
    }
    let observation = observe(context, &which.source, machine)?;
    let wanted = match planned(context, &observation, which)? {
        Ok(wanted) => wanted,
        Err(why) => return Ok(refuse(&why)),
    };
    let shown = resolve(machine, &wanted);
    if args.dry_run {
        present(&shown, &which.format, &mut io::stdout().lock())?;
        return Ok(DONE);
    }
    // Standard output is reserved for the JSON document: the plan goes to standard error.
    if which.format == "json" {
        present(&shown, "text", &mut io::stderr().lock())?;
    } else {
        present(&shown, "text", &mut io::stdout().lock())?;
    }
    let plan = &shown.resolved.plan;
    if let Some(why) = refusal(context, args, &observation, plan).or_else(|| shown.refused.clone()) {
        return Ok(refuse(&why));
    }
    if !args.no_wait {
        watch_on(context, &observation);
    }
    if !args.yes && !ask::yes(plan) {
        return Ok(refuse(&text::CANCELLED));
    }
    let stop = stopping()?;
    let applied = match write(machine, plan, &stop, which.format == "json") {
        Ok(applied) => applied,
        Err(why) => return Ok(refuse(&why)),
    };
    finish(context, args, observation, plan, machine, &applied, &stop)
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
        .map_err(|error| Signals { error: &error }.to_string())?;
    Ok(stop)
}

fn write(machine: &mut dyn MachineWriter, plan: &Plan, stop: &AtomicBool, quiet: bool) -> Result<Written, String> {
    let mut written = Written::default();
    let mut tell = |event: Reply| {
        match event {
            Reply::Armed(armed) => written.deadline = Some(armed),
            Reply::Wrote(outcome) => {
                report(&format!("  {}", of_plan(plan, &outcome)), quiet);
                written.outcomes.push(outcome);
            }
            Reply::PutBack(outcome) => {
                report(&put_back(plan, &outcome), quiet);
                written.put_back.push(outcome);
            }
            _ => {}
        }
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match machine.apply(&mut tell) {
        Reply::Applied { number, state, trouble, .. } => Ok(Written { number, state: Some(state), trouble, ..written }),
        other => Err(why_of(other)),
    }
}

/// Reports a line of an application.
fn report(line: &str, quiet: bool) {
    let text = format!("{}\n", printable(line));
    // A closed pipe does not matter: the journal has it.
    let _ = if quiet { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) };
}

/// The outcome of an item of a plan.
fn of_plan(plan: &Plan, outcome: &Outcome) -> String {
    let step = plan.steps.get(outcome.step).map(|step| step.target.to_string());
    let place = step.or_else(|| plan.kept.get(outcome.step.checked_sub(plan.steps.len())?).map(ToString::to_string));
    let key = if outcome.key.is_empty() { String::new() } else { format!(", {}", outcome.key) };
    came(&format!("{}{key}", place.unwrap_or_default()), outcome)
}

/// The same of one that was restored.
pub(super) fn put_back(plan: &Plan, outcome: &Outcome) -> String {
    format!("  {}", text::Restored { item: &of_plan(plan, outcome) })
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
fn result_line(plan: &Plan, done: &Written) -> String {
    let mut steps = plan.steps.iter();
    let number = done.number;
    match (done.state, steps.all(|step| step.restore == Restore::Never)) {
        (Some(Applied::Applied), true) => text::AppliedForGood { number: &number }.to_string(),
        (Some(Applied::Applied), false) => text::Applied { number: &number }.to_string(),
        (Some(Applied::Partial), true) => text::PartlyAppliedForGood { number: &number }.to_string(),
        (Some(Applied::Partial), false) => text::PartlyApplied { number: &number }.to_string(),
        (Some(Applied::Failed) | None, _) => text::NOT_APPLIED.to_string(),
    }
}

fn finish(
    context: &Context,
    args: &ApplyArgs,
    observation: Observation,
    plan: &Plan,
    machine: &mut dyn MachineWriter,
    done: &Written,
    stop: &AtomicBool,
) -> Result<u8, String> {
    let is_failed = done.state.is_none_or(|state| state == Applied::Failed);
    let json = args.which.format == "json";
    let mut lines = Vec::new();
    if let Some(trouble) = &done.trouble {
        crate::stderr::warn(&text::JournalIncomplete { error: &trouble }.to_string());
    }
    lines.push(result_line(plan, done));
    if let Some(by) = done.deadline.filter(|_| !is_failed) {
        lines.push(text::Rollback { seconds: &deadman::SECONDS, agent: &by.label(), number: &done.number }.to_string());
    }
    let note = |text: &str| {
        let text = format!("{}\n", printable(text));
        let _ = if json { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) };
    };
    for line in &lines {
        note(line);
    }
    let watched = if is_failed || args.no_wait {
        None
    } else {
        Some(verdict::wait(
            context,
            observation,
            machine,
            &verdict::How {
                directory: &context.directory()?,
                plan,
                number: done.number,
                undo_if_worse: args.undo_if_worse,
                undo_to_compare: args.undo_to_compare,
                asks: !args.yes && ask::can_ask(),
                is_armed: done.deadline.is_some(),
                stop,
                note: &note,
            },
        )?)
    };
    if json {
        print_json(&applied_document(plan, done, watched.as_ref()))?;
    }
    let failed = |watched: &verdict::Watched| match watched.undone {
        Some(whole) if watched.compared => !whole,
        undone => undone.is_some(),
    };
    let is_worse = watched.as_ref().is_some_and(|watched| watched.verdict.is_worse() || failed(watched));
    Ok(if done.state == Some(Applied::Applied) && !is_worse && done.trouble.is_none() { DONE } else { REFUSED })
}

fn applied_document(plan: &Plan, done: &Written, watched: Option<&verdict::Watched>) -> document::Done {
    let outcome =
        |outcome: &Outcome| document::Outcome::of(outcome, plan.steps.get(outcome.step).map(|step| &step.target));
    let written = done.outcomes.iter().filter(|outcome| outcome.step < plan.steps.len());
    document::Done {
        id: plan.id(),
        number: done.number,
        title: document::safe(&plan.title),
        state: done.state.unwrap_or(Applied::Failed),
        items: written.map(outcome).collect(),
        put_back: done.put_back.iter().map(outcome).collect(),
        verdict: OrNull(watched.map(|watched| watched.verdict.name)),
        why: OrNull(watched.map(|watched| document::safe(&watched.verdict.why))),
        table: OrNull(watched.map(|watched| watched.verdict.table.clone())),
        undone: OrNull(watched.and_then(|watched| watched.undone)),
    }
}
