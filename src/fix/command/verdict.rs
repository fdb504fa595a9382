//! Waits for the verdict on a fix, writes it to the journal, and undoes a fix that made things worse.

use super::super::journal;
use super::super::observer::Observer;
use super::super::order::Reply;
use super::super::session::MachineWriter;
use super::{Context, Observation, apply, ask};
use crate::diff::number;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use topotop_model::diff::{Measure, metrics};
use topotop_model::fix::Plan;
use topotop_model::fix::verification::{Verdict, Verification};
use topotop_model::journal::{Because, Measured, called};
use topotop_model::locale::cli::fix as text;
use topotop_model::locale::dialog::fix as words;
use topotop_model::text::padded;

/// Options of the wait.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(super) struct How<'a> {
    /// Where the journal is.
    pub(super) directory: &'a Path,
    pub(super) plan: &'a Plan,
    pub(super) number: u64,
    pub(super) undo_if_worse: bool,
    /// Undo without a question where that decides.
    pub(super) undo_to_compare: bool,
    /// True where somebody can be asked.
    pub(super) asks: bool,
    /// True where it rolls back unless confirmed.
    pub(super) is_armed: bool,
    pub(super) stop: &'a AtomicBool,
    pub(super) note: &'a dyn Fn(&str),
}

/// The verdict and its consequence.
pub(super) struct Watched {
    pub(super) verdict: Verdict,
    /// Whether the undo was complete, where undone.
    pub(super) undone: Option<bool>,
    /// True where it was undone to compare.
    pub(super) compared: bool,
}

pub(super) fn wait(
    context: &Context,
    observation: Observation,
    machine: &mut dyn MachineWriter,
    how: &How<'_>,
) -> Result<Watched, String> {
    let verify = &how.plan.verify;
    let mut verification = Verification::new(verify, context.metric());
    observation.with(|seen| {
        for frame in &seen.frames {
            verification.push(frame);
        }
    });
    verification.applied(topotop_collectors::now().mono_ns);
    let watch = match observation.watch {
        Some(watch) => watch,
        None => Observer::start(context.open()?, &context.sampling)?,
    };
    let seconds = u64::from(verify.settle_seconds) + u64::from(verify.after_seconds);
    (how.note)(&text::Measuring { seconds: &seconds }.to_string());
    if how.is_armed {
        (how.note)(&text::KEEP_QUESTION);
    }
    let most = Duration::from_secs(5 * seconds + 30);
    let ended = follow(&watch, &mut verification, most, Verification::verdict, machine, how);
    let (verdict, why) = match (&ended, verification.tripped(), verification.verdict()) {
        (_, Some(tripped), _) => (Verdict::tripped(tripped.text(), verification.table()), Because::Pressure),
        (Ended::Gone, ..) => (Verdict::unmeasured(text::ROLLED_BACK.to_string()), Because::Worse),
        (_, None, Some(verdict)) => (verdict, Because::Worse),
        (Ended::Stopped, None, None) => (Verdict::unmeasured(text::STOPPED.to_string()), Because::Worse),
        (Ended::Over, None, None) => (verification.so_far(), Because::Worse),
    };
    let mut watched = conclude(verdict, &why, machine, how);
    if watched.verdict.undo_decides && how.plan.can_be_undone() && offers_undo(how) {
        watched = compare(&watch, &mut verification, watched, most, machine, how);
    }
    resources(&watch, how);
    Ok(watched)
}

/// True where the fix may be undone to compare: on the option, or on a yes.
fn offers_undo(how: &How<'_>) -> bool {
    if how.undo_to_compare {
        return true;
    }
    if !how.asks {
        (how.note)(&text::UNDO_WOULD_DECIDE);
        return false;
    }
    ask::agreed(&text::ASK_TO_COMPARE, how.stop)
}

/// Undoes the fix, measures on, and compares the time with it with the times without it together.
fn compare(
    watch: &Observer,
    verification: &mut Verification,
    watched: Watched,
    most: Duration,
    machine: &mut dyn MachineWriter,
    how: &How<'_>,
) -> Watched {
    let undone = take_back(machine, &Because::ToCompare, how);
    if undone != Some(true) {
        return Watched { undone, ..watched };
    }
    verification.undone(topotop_collectors::now().mono_ns);
    let seconds = verification.progress().left_seconds.unwrap_or_default().ceil() as u64;
    (how.note)(&text::Measuring { seconds: &seconds }.to_string());
    follow(watch, verification, most, Verification::compared, machine, how);
    let Some(verdict) = verification.compared() else {
        (how.note)(&text::STOPPED);
        return Watched { undone, compared: true, ..watched };
    };
    let is_improved = verdict.is_improved();
    let watched = conclude(Verdict { undo_decides: false, ..verdict }, &Because::Worse, machine, how);
    if is_improved {
        (how.note)(&text::APPLY_AGAIN);
    }
    Watched { undone, compared: true, ..watched }
}

/// Why the wait ended.
enum Ended {
    /// A verdict, an exceeded limit, or a timeout.
    Over,
    /// A signal.
    Stopped,
    /// Another process undid the fix.
    Gone,
}

fn follow(
    watch: &Observer,
    verification: &mut Verification,
    most: Duration,
    decided: fn(&Verification) -> Option<Verdict>,
    machine: &mut dyn MachineWriter,
    how: &How<'_>,
) -> Ended {
    let start = Instant::now();
    let is_there = is_in_force(how);
    let (mut samples, mut confirmed) = (watch.seen().samples, !how.is_armed || !is_there);
    let mut looked = Instant::now();
    while start.elapsed() < most {
        watch.wait(Duration::from_millis(200), how.stop, |seen| seen.samples > samples);
        if how.stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        {
            let seen = watch.seen();
            samples = seen.samples;
            for frame in &seen.frames {
                verification.push(frame);
            }
            if seen.over {
                return Ended::Over;
            }
        }
        if !confirmed && ask::has_confirmed() {
            confirmed = keep(machine, how);
        }
        // Another process, or the automatic rollback, may have undone it.
        if looked.elapsed() > Duration::from_secs(1) {
            looked = Instant::now();
            if is_there && !is_in_force(how) {
                return Ended::Gone;
            }
        }
        if (is_there && verification.tripped().is_some()) || decided(verification).is_some() {
            return Ended::Over;
        }
    }
    Ended::Over
}

fn keep(machine: &mut dyn MachineWriter, how: &How<'_>) -> bool {
    match machine.confirm(how.number) {
        Ok(()) => {
            (how.note)(&text::CONFIRMED);
            true
        }
        Err(why) => {
            (how.note)(&text::NotConfirmed { why: &why }.to_string());
            false
        }
    }
}

fn is_in_force(how: &How<'_>) -> bool {
    // An unreadable journal is not evidence of an undo.
    let Ok(journal) = journal::read(how.directory) else { return true };
    let application = journal.applications.iter().find(|application| application.number == how.number);
    application.is_none_or(topotop_model::journal::Application::is_in_force)
}

/// Reports the verdict and acts on it.
fn conclude(verdict: Verdict, why: &Because, machine: &mut dyn MachineWriter, how: &How<'_>) -> Watched {
    if let Err(error) = machine.verdict(how.number, &verdict) {
        crate::stderr::warn(&text::VerdictNotSaved { error: &error }.to_string());
    }
    let mut line = text::Verdict { verdict: &verdict.label() }.to_string();
    if !verdict.why.is_empty() {
        line = format!("{line}: {}", verdict.why);
    }
    (how.note)(&line);
    verdict.table.iter().for_each(|row| (how.note)(&measured(row)));
    let undone = if verdict.is_worse() && how.undo_if_worse { take_back(machine, why, how) } else { None };
    Watched { verdict, undone, compared: false }
}

/// Undoes it; whether completely, none where it is no longer in effect.
fn take_back(machine: &mut dyn MachineWriter, why: &Because, how: &How<'_>) -> Option<bool> {
    if !is_in_force(how) {
        return None;
    }
    match machine.undo(how.number, why) {
        Reply::Undone { whole, items, .. } => {
            for outcome in &items {
                (how.note)(&apply::put_back(how.plan, outcome));
            }
            (how.note)(if whole { text::UNDONE.as_str() } else { text::PARTLY_UNDONE_ABOVE.as_str() });
            Some(whole)
        }
        other => {
            crate::stderr::warn(&text::NotUndone { why: &apply::why_of(other) }.to_string());
            Some(false)
        }
    }
}

/// A row of the table.
fn measured(row: &Measured) -> String {
    let measure = metrics::named(&row.metric).map_or(Measure::Number, |metric| metric.measure);
    let mean = |window: Option<[f64; 3]>| window.map_or("?".to_owned(), |[mean, ..]| number::value(measure, mean));
    let (before, after, verdict) = (mean(row.before), mean(row.after), word(&row.verdict));
    let name = called(&row.subject, &row.metric);
    let line = match within(row) {
        Some([low, high]) => {
            let (name, before, after, verdict) = (&name, &before, &after, &verdict);
            text::MeasuredWithin { name, before, after, low: &low, high: &high, verdict }.to_string()
        }
        None => text::MeasuredRow { name: &name, before: &before, after: &after, verdict: &verdict }.to_string(),
    };
    let line = row.samples_used.map_or(line.clone(), |[before, after]| {
        text::MeasuredSamples { row: &line, before: &before, after: &after }.to_string()
    });
    let role = match row.role.as_str() {
        "load" => words::ROLE_LOAD.as_str(),
        "cost" => words::ROLE_COST.as_str(),
        "guard" => words::ROLE_GUARD.as_str(),
        other => other,
    };
    format!("  {} {line}", padded(role, 6))
}

/// The 95 % interval of the difference in parts of what was before.
fn within(row: &Measured) -> Option<[String; 2]> {
    let [before, ..] = row.before.filter(|[before, ..]| *before > 0.0)?;
    Some(row.interval?.map(|end| format!("{:+.0}%", end / before * 100.0)))
}

/// The verdict of a row as the screens have it.
fn word(verdict: &str) -> String {
    let word = match verdict {
        "improved" => words::BETTER,
        "worse" => words::WORSE,
        "changed" => words::CHANGED,
        "no_change" => words::UNCHANGED,
        "only_before" => words::GONE,
        "only_after" => words::NEW,
        _ => words::UNCERTAIN,
    };
    word.to_string()
}

/// What limits now, and what would next.
fn resources(watch: &Observer, how: &How<'_>) {
    let seen = watch.seen();
    if !seen.bottleneck.is_collecting() {
        (how.note)(&text::Bottleneck { answer: &seen.bottleneck.line() }.to_string());
    }
}
