//! The run of a fix: its items, the measurement, the verdict, and the next bottleneck.

use super::{Dialog, Doing, Run, table};
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::parts::{names, number};
use crate::{Charset, Cx, Role};
use topotop_model::bottleneck::Verdict as Stands;
use topotop_model::fix::Verdict;
use topotop_model::fix::verification::{Phase, Progress};
use topotop_model::journal::{Applied, Because, Outcome};
use topotop_model::locale::dialog::fix as text;
use topotop_model::locale::{aside, join, pair, translated};
use topotop_model::text::printable;

/// Failed items listed, at most.
const MOST: usize = 64;
/// Written items listed, at most.
const WRITTEN: usize = 4;

pub(super) fn doc(cx: &Cx<'_>, dialog: &Dialog, run: &Run, width: u16) -> Doc {
    let mut doc = Doc::default();
    text(&mut doc, Role::Title, &run.resolved.plan.title, width);
    if let Some(trouble) = &run.trouble {
        text(&mut doc, Role::Critical, trouble, width);
    }
    state(cx, &mut doc, run);
    items(cx, &mut doc, run, width);
    if let Some((done, of, unit)) = run.progress.filter(|_| run.doing == Doing::Applying) {
        let share = done as f64 / (of.max(1)) as f64;
        let unit = translated(&["unit."], unit);
        bar(cx, &mut doc, share, &text::Progress { done: &done, total: &of, unit: &unit }.to_string(), width);
    }
    undone(cx, &mut doc, run, width);
    outcome(cx, &mut doc, run, width);
    table(cx, &mut doc, run, width);
    if run.deadline_ns.is_some_and(|deadline| deadline <= dialog.now_ns) {
        text(&mut doc, Role::Warn, text::NOT_CONFIRMED.as_str(), width);
    }
    doc
}

fn text(doc: &mut Doc, role: Role, text: &str, width: u16) {
    for line in wrapped(&printable(text), width) {
        doc.line(vec![(line, role)]);
    }
}

fn sign(cx: &Cx<'_>, well: bool) -> (String, Role) {
    match (well, cx.charset) {
        (true, Charset::Unicode) => ("✓ ".to_owned(), Role::Ok),
        (true, Charset::Ascii) => ("+ ".to_owned(), Role::Ok),
        (false, Charset::Unicode) => ("✗ ".to_owned(), Role::Critical),
        (false, Charset::Ascii) => ("! ".to_owned(), Role::Critical),
    }
}

/// The result of applying, in a line.
fn state(cx: &Cx<'_>, doc: &mut Doc, run: &Run) {
    let (well, text) = match (run.doing, run.state) {
        (Doing::Applying, _) if run.aborting => (true, text::STATE_STOPPING),
        (Doing::Applying, _) => (true, text::STATE_APPLYING),
        (_, Some(Applied::Applied)) => (true, text::STATE_APPLIED),
        (_, Some(Applied::Partial)) => (false, text::STATE_PARTIAL),
        (_, Some(Applied::Failed)) => (false, text::STATE_FAILED),
        (_, None) => return,
    };
    let number = run.number.map_or_else(String::new, |number| aside(" ", text::JournalNumber { number: &number }));
    let (sign, role) = sign(cx, well);
    doc.line(vec![(sign, role), (text.to_string(), role), (number, Role::Dim)]);
}

/// The outcome of items: all failed ones, some written ones.
fn items(cx: &Cx<'_>, doc: &mut Doc, run: &Run, width: u16) {
    let plan = &run.resolved.plan;
    let (failed, written): (Vec<&Outcome>, Vec<&Outcome>) = run.items.iter().partition(|item| item.error.is_some());
    let arrow = if cx.charset == Charset::Unicode { "→" } else { "->" };
    for item in failed.iter().take(MOST).chain(written.iter().take(WRITTEN)) {
        let target = plan.steps.get(item.step).map_or_else(String::new, |step| step.target.to_string());
        let key = if item.key.is_empty() { String::new() } else { format!(" {}", item.key) };
        let list = run.resolved.items.get(item.step);
        let old = list.and_then(|list| list.iter().find(|one| one.key == item.key)).and_then(|one| one.old.clone());
        let old = old.unwrap_or_else(|| "?".to_owned());
        let now = item.value.clone().unwrap_or_else(|| "?".to_owned());
        let line = match &item.error {
            Some(error) => {
                text::ItemFailed { target: &format!("{target}{key}"), error: &error, value: &now }.to_string()
            }
            None => pair(format_args!("{target}{key}"), format_args!("{old} {arrow} {now}")),
        };
        let (sign, role) = sign(cx, item.error.is_none());
        let role_of_text = if item.error.is_some() { role } else { Role::Text };
        for (at, line) in wrapped(&printable(&line), width.saturating_sub(4)).into_iter().enumerate() {
            let sign = if at == 0 { format!("  {sign}") } else { "    ".to_owned() };
            doc.line(vec![(sign, role), (line, role_of_text)]);
        }
    }
    let hidden = |items: &[&Outcome], most: usize| items.len().saturating_sub(most) as u64;
    let lines = [
        (hidden(&failed, MOST), text::MoreFailed { count: hidden(&failed, MOST) }.to_string()),
        (hidden(&written, WRITTEN), text::MoreWritten { count: hidden(&written, WRITTEN) }.to_string()),
    ];
    for (count, line) in lines {
        if count > 0 {
            doc.line(vec![(format!("    {line}"), Role::Dim)]);
        }
    }
}

fn undone(cx: &Cx<'_>, doc: &mut Doc, run: &Run, width: u16) {
    let Some(undone) = &run.undone else { return };
    doc.gap();
    let (sign, role) = sign(cx, undone.whole);
    let state = if undone.whole { text::UNDONE } else { text::UNDONE_PARTLY };
    let line =
        if undone.why == Because::Asked { state.to_string() } else { aside(state, printable(undone.why.label())) };
    doc.line(vec![(sign, role), (line, role)]);
    for item in undone.items.iter().filter(|item| item.error.is_some()).take(MOST) {
        let target = run.resolved.plan.steps.get(item.step).map_or_else(String::new, |step| step.target.to_string());
        let error = item.error.clone().unwrap_or_default();
        text(doc, Role::Critical, &pair(format_args!("  {target} {}", item.key), error), width);
    }
    for lost in &run.resolved.plan.lost {
        text(doc, Role::Dim, &format!("  {}", text::NotRestored { value: &lost }), width);
    }
}

/// The verdict with the next bottleneck, or the time until the verdict.
fn outcome(cx: &Cx<'_>, doc: &mut Doc, run: &Run, width: u16) {
    let Some(verification) = run.verification.as_ref().filter(|_| run.state.is_some()) else { return };
    let progress = verification.progress();
    doc.gap();
    match &run.verdict {
        Some(verdict) => {
            verdict_lines(cx, doc, verdict, width);
            if run.compares() {
                measuring(cx, doc, &progress, width);
            } else if run.undo_decides() {
                text(doc, Role::Info, &text::UNDO_DECIDES, width);
            }
            if run.undone.is_none() {
                next(cx, doc, width);
            }
        }
        None if run.undone.is_some() || run.state == Some(Applied::Failed) => {
            doc.line(vec![(text::NO_VERDICT.to_string(), Role::Dim)]);
        }
        None => {
            measuring(cx, doc, &progress, width);
            let then = if run.keeps { text::KEEP_IF_WORSE } else { text::UNDO_IF_WORSE };
            text(doc, Role::Dim, &then, width);
        }
    }
}

/// The phase of the measurement and the time until the verdict.
fn measuring(cx: &Cx<'_>, doc: &mut Doc, progress: &Progress, width: u16) {
    let left = progress.left_seconds.unwrap_or_default();
    let line = match progress.phase {
        Phase::Before => text::WAITING.to_string(),
        phase => text::VerdictIn { phase: &phase.name(), time: &number::seconds(left.ceil()) }.to_string(),
    };
    bar(cx, doc, progress.done, &line, width);
}

/// The table of measurements, filled as samples arrive.
fn table(cx: &Cx<'_>, doc: &mut Doc, run: &Run, width: u16) {
    let measured = run.state.is_some_and(|state| state != Applied::Failed);
    if !measured || run.verification.is_none() {
        return;
    }
    doc.gap();
    match &run.verdict {
        Some(verdict) => table::lines(cx, doc, &verdict.table, &text::COLUMN_AFTER, width),
        None => table::lines(cx, doc, &run.table, &text::COLUMN_NOW, width),
    }
}

fn verdict_lines(cx: &Cx<'_>, doc: &mut Doc, verdict: &Verdict, width: u16) {
    let (sign, role) = match verdict.name {
        "improved" => (if cx.charset == Charset::Unicode { "✓" } else { "+" }, Role::Ok),
        "worse" => (if cx.charset == Charset::Unicode { "✗" } else { "!" }, Role::Critical),
        "inconclusive" => ("?", Role::Warn),
        _ => ("=", Role::Info),
    };
    let head = format!("{sign} {}  ", text::Verdict { verdict: &verdict.label() });
    let why = if verdict.why.is_empty() { String::new() } else { format!("({})", verdict.why) };
    doc.line(vec![(head, role)]);
    text(doc, Role::Text, &why, width);
}

fn bar(cx: &Cx<'_>, doc: &mut Doc, share: f64, label: &str, width: u16) {
    let columns = usize::from(width.saturating_sub(names::width(label) + 2).min(40));
    let full = (share.clamp(0.0, 1.0) * columns as f64).round() as usize;
    let (on, off) = if cx.charset == Charset::Unicode { ("█", "┈") } else { ("#", ".") };
    let line = vec![
        (on.repeat(full), Role::Info),
        (off.repeat(columns - full), Role::Dim),
        (format!("  {label}"), Role::Text),
    ];
    doc.line(line);
}

/// The bottleneck now, and the headroom of the next one.
fn next(cx: &Cx<'_>, doc: &mut Doc, width: u16) {
    let (answer, resources) = (&cx.judgement.bottleneck, &cx.judgement.resources);
    if !answer.is_collecting() {
        let role = if answer.is_limit() { Role::Warn } else { Role::Ok };
        text(doc, role, &text::Bottleneck { answer: &printable(&answer.line()) }.to_string(), width);
    }
    let unknown: Vec<&str> = resources
        .iter()
        .filter(|resource| resource.verdict == Stands::Unknown)
        .map(|resource| resource.kind.label().as_str())
        .collect();
    if !unknown.is_empty() {
        text(doc, Role::Dim, &text::Unknown { resources: &unknown.join(&join::ITEMS) }.to_string(), width);
    }
}
