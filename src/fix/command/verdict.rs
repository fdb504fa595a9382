//! Waits for what a fix came to, keeps it in the journal, and takes a fix back that made things worse.

use super::super::applier::{Applier, Proposal};
use super::super::journal::{self, File, Ledger as _};
use super::super::look::Watch;
use super::super::machine::Kernel;
use super::{Context, Looked, ask, undo};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use topotop_model::bottleneck::Resources;
use topotop_model::fix::verification::{Verdict, Verification};
use topotop_model::journal::{Because, Entry, Measured};

/// How it is waited.
pub(super) struct How<'a> {
    /// Where the journal is.
    pub(super) directory: &'a Path,
    pub(super) number: u64,
    pub(super) undo_if_worse: bool,
    /// It takes itself back unless it is confirmed.
    pub(super) is_armed: bool,
    pub(super) stop: &'a AtomicBool,
    pub(super) note: &'a dyn Fn(&str),
}

/// What it came to.
pub(super) struct Watched {
    pub(super) verdict: Verdict,
    /// Whether the undo was whole, where it was undone.
    pub(super) undone: Option<bool>,
}

pub(super) fn wait(context: &Context, looked: Looked, proposal: &Proposal, how: &How<'_>) -> Result<Watched, String> {
    let verify = &proposal.resolved.plan.verify;
    let mut verification = Verification::new(verify, context.metric());
    looked.with(|seen| {
        for frame in &seen.frames {
            verification.push(frame);
        }
    });
    verification.applied(topotop_collectors::now().mono_ns);
    let watch = match looked.watch {
        Some(watch) => watch,
        None => Watch::start(context.open()?, &context.sampling)?,
    };
    let seconds = u64::from(verify.settle_seconds) + u64::from(verify.after_seconds);
    (how.note)(&format!("watching for {seconds} s"));
    if how.is_armed {
        (how.note)("still there? type yes to keep it");
    }
    let ended = follow(&watch, &mut verification, Duration::from_secs(5 * seconds + 30), how);
    let (verdict, why) = match (&ended, verification.tripped(), verification.verdict()) {
        (_, Some(tripped), _) => {
            (Verdict { name: "worse", why: tripped.text(), table: verification.table() }, Because::Pressure)
        }
        (Ended::Gone, ..) => (Verdict::unmeasured("it was taken back before it could be measured"), Because::Worse),
        (_, None, Some(verdict)) => (verdict, Because::Worse),
        (Ended::Stopped, None, None) => (Verdict::unmeasured("stopped before it was measured"), Because::Worse),
        (Ended::Over, None, None) => (verification.so_far(), Because::Worse),
    };
    conclude(&watch, verdict, &why, how)
}

/// Why waiting was over.
enum Ended {
    /// There is a verdict, a limit was exceeded, or time was up.
    Over,
    /// Somebody said stop.
    Stopped,
    /// It was taken back.
    Gone,
}

fn follow(watch: &Watch, verification: &mut Verification, most: Duration, how: &How<'_>) -> Ended {
    let start = Instant::now();
    let (mut samples, mut confirmed) = (watch.seen().samples, !how.is_armed);
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
        if !confirmed && ask::said_yes() {
            confirmed = keep(how);
        }
        // Somebody else, or the dead-man switch, may have taken it back.
        if looked.elapsed() > Duration::from_secs(1) {
            looked = Instant::now();
            if !is_in_force(how) {
                return Ended::Gone;
            }
        }
        if verification.tripped().is_some() || verification.verdict().is_some() {
            return Ended::Over;
        }
    }
    Ended::Over
}

fn keep(how: &How<'_>) -> bool {
    let kept = File::open(how.directory).and_then(|mut ledger| ledger.append(how.number, &Entry::Confirmed, true));
    match kept {
        Ok(()) => {
            (how.note)("confirmed: it stays");
            true
        }
        Err(why) => {
            (how.note)(&format!("not confirmed: {why}"));
            false
        }
    }
}

fn is_in_force(how: &How<'_>) -> bool {
    // A journal that cannot be read just now says nothing.
    let Ok(journal) = journal::read(how.directory) else { return true };
    let application = journal.applications.iter().find(|application| application.number == how.number);
    application.is_none_or(topotop_model::journal::Application::is_in_force)
}

/// Tells the verdict and acts on it.
fn conclude(watch: &Watch, verdict: Verdict, why: &Because, how: &How<'_>) -> Result<Watched, String> {
    let entry =
        Entry::Verdict { verdict: verdict.name.to_owned(), why: verdict.why.clone(), table: verdict.table.clone() };
    let mut ledger = File::open(how.directory)?;
    if let Err(error) = ledger.append(how.number, &entry, true) {
        crate::run::warn(&format!("{error}: the verdict is not in the journal"));
    }
    let mut said = format!("verdict: {}", verdict.words());
    if !verdict.why.is_empty() {
        said = format!("{said}: {}", verdict.why);
    }
    (how.note)(&said);
    verdict.table.iter().for_each(|row| (how.note)(&measured(row)));
    let undone = if verdict.is_worse() && how.undo_if_worse { take_back(&mut ledger, why, how)? } else { None };
    resources(watch, how);
    Ok(Watched { verdict, undone })
}

/// Undoes it; whether that was whole, none where it is not in force any more.
fn take_back(ledger: &mut File, why: &Because, how: &How<'_>) -> Result<Option<bool>, String> {
    let journal = ledger.read()?;
    let application = journal.applications.iter().find(|application| application.number == how.number);
    let Some(application) = application.filter(|application| application.is_in_force()) else { return Ok(None) };
    let root = topotop_collectors::Root::live().map_err(|error| format!("/: {error}"))?;
    let mut machine = Kernel::new(Arc::new(root));
    let mut tell = |told| {
        undo::say(application, &told, how.note);
        ControlFlow::Continue(())
    };
    match Applier::new(&mut machine, ledger, &mut tell).undo(application, why, false) {
        Ok(returned) => {
            (how.note)(if returned.whole { "undone" } else { "undone in part: see what was said above" });
            Ok(Some(returned.whole))
        }
        Err(refused) => {
            crate::run::warn(&format!("not undone: {refused}"));
            Ok(Some(false))
        }
    }
}

/// A row of the table.
fn measured(row: &Measured) -> String {
    let window = |window: &Option<[f64; 3]>| match window {
        Some([mean, low, high]) => format!("{} ({} to {})", short(*mean), short(*low), short(*high)),
        None => "?".to_owned(),
    };
    format!(
        "  {:<6} {} of {}: {} -> {}, {}",
        row.role,
        row.metric,
        row.subject,
        window(&row.before),
        window(&row.after),
        row.verdict.replace('_', " ")
    )
}

fn short(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// What is short next, and how much room there is.
fn resources(watch: &Watch, how: &How<'_>) {
    let seen = watch.seen();
    let Some(frame) = seen.frames.back() else { return };
    let resources = Resources::of(frame, &seen.findings, &topotop_model::judge::Settings::default());
    if let Some(resource) = resources.bottleneck() {
        (how.note)(&format!("bottleneck now: {}", resource.summary()));
    }
    if let Some((resource, room)) = resources.next().and_then(|resource| Some((resource, resource.headroom()?))) {
        (how.note)(&format!("next: {}, headroom ≈ {room:.1}×", resource.summary()));
    }
}
