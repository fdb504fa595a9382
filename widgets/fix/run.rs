//! What goes on after the yes: item by item, then what is measured, the verdict, and what is short next.

use super::{Dialog, Doing, Run, table};
use crate::parts::number;
use crate::parts::pane::Doc;
use crate::parts::severity::wrapped;
use crate::{Charset, Cx, Role};
use topotop_model::bottleneck::{Resources, Verdict as Stands};
use topotop_model::fix::Verdict;
use topotop_model::fix::verification::Phase;
use topotop_model::journal::{Applied, Because, Outcome};
use topotop_model::text::printable;

/// Items that failed that are listed at most.
const MOST: usize = 64;
/// Items that were written that are listed at most.
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
        bar(cx, &mut doc, share, &format!("{done} of {of} {unit}"), width);
    }
    undone(cx, &mut doc, run, width);
    outcome(cx, &mut doc, run, width);
    table(cx, &mut doc, run, width);
    if run.deadline_ns.is_some_and(|deadline| deadline <= dialog.now_ns) {
        text(&mut doc, Role::Warn, "it was not confirmed: it is being taken back", width);
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

/// How applying came out, in a line.
fn state(cx: &Cx<'_>, doc: &mut Doc, run: &Run) {
    let (well, text) = match (run.doing, run.state) {
        (Doing::Applying, _) if run.aborting => (true, "stopping after this item"),
        (Doing::Applying, _) => (true, "applying"),
        (_, Some(Applied::Applied)) => (true, "applied, and read back as it should be"),
        (_, Some(Applied::Partial)) => (false, "applied in part: what follows was written, the rest was not"),
        (_, Some(Applied::Failed)) => (false, "not applied: nothing was changed"),
        (_, None) => return,
    };
    let number = run.number.map_or_else(String::new, |number| format!("  (journal {number})"));
    let (sign, role) = sign(cx, well);
    doc.line(vec![(sign, role), (text.to_owned(), role), (number, Role::Dim)]);
}

/// What came of each item; all of what failed, and some of what did not.
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
        let said = match &item.error {
            Some(error) => format!("{target}{key}: {error}; it is {now}"),
            None => format!("{target}{key}: {old} {arrow} {now}"),
        };
        let (sign, role) = sign(cx, item.error.is_none());
        let role_of_text = if item.error.is_some() { role } else { Role::Text };
        for (at, line) in wrapped(&printable(&said), width.saturating_sub(4)).into_iter().enumerate() {
            let sign = if at == 0 { format!("  {sign}") } else { "    ".to_owned() };
            doc.line(vec![(sign, role), (line, role_of_text)]);
        }
    }
    for (items, most, word) in [(&failed, MOST, "failed"), (&written, WRITTEN, "written")] {
        let more = items.len().saturating_sub(most);
        if more > 0 {
            doc.line(vec![(format!("    and {more} more {word}"), Role::Dim)]);
        }
    }
}

fn undone(cx: &Cx<'_>, doc: &mut Doc, run: &Run, width: u16) {
    let Some(undone) = &run.undone else { return };
    doc.gap();
    let (sign, role) = sign(cx, undone.whole);
    let said = if undone.whole {
        "undone: everything that can be restored reads as before"
    } else {
        "undone in part: what follows is not as it was"
    };
    let why = if undone.why == Because::Asked { String::new() } else { format!(" ({})", undone.why) };
    doc.line(vec![(sign, role), (format!("{said}{why}"), role)]);
    for item in undone.items.iter().filter(|item| item.error.is_some()).take(MOST) {
        let target = run.resolved.plan.steps.get(item.step).map_or_else(String::new, |step| step.target.to_string());
        let error = item.error.clone().unwrap_or_default();
        text(doc, Role::Critical, &format!("  {target} {}: {error}", item.key), width);
    }
    for lost in &run.resolved.plan.lost {
        text(doc, Role::Dim, &format!("  does not come back: {lost}"), width);
    }
}

/// The verdict with what is short next, or how long it is until then.
fn outcome(cx: &Cx<'_>, doc: &mut Doc, run: &Run, width: u16) {
    let Some(verification) = run.verification.as_ref().filter(|_| run.state.is_some()) else { return };
    let progress = verification.progress();
    doc.gap();
    match &run.verdict {
        Some(verdict) => {
            verdict_lines(cx, doc, verdict, width);
            if run.undone.is_none() {
                next(cx, doc, width);
            }
        }
        None if run.undone.is_some() || run.state == Some(Applied::Failed) => {
            doc.line(vec![("no verdict: it is not in force".to_owned(), Role::Dim)]);
        }
        None => {
            let left = progress.left_seconds.unwrap_or_default();
            let said = match progress.phase {
                Phase::Before => "waiting for samples".to_owned(),
                phase => format!("{}, verdict in {}", phase.name(), number::seconds(left.ceil())),
            };
            bar(cx, doc, progress.done, &said, width);
            let then = if run.keeps {
                "if it got worse it stays all the same"
            } else {
                "if it got worse it is undone by itself"
            };
            text(doc, Role::Dim, then, width);
        }
    }
}

/// The table that fills while one looks at it.
fn table(cx: &Cx<'_>, doc: &mut Doc, run: &Run, width: u16) {
    let measured = run.state.is_some_and(|state| state != Applied::Failed);
    if !measured || run.verification.is_none() {
        return;
    }
    doc.gap();
    match &run.verdict {
        Some(verdict) => table::lines(cx, doc, &verdict.table, "after", width),
        None => table::lines(cx, doc, &run.table, "now", width),
    }
}

fn verdict_lines(cx: &Cx<'_>, doc: &mut Doc, verdict: &Verdict, width: u16) {
    let (sign, role) = match verdict.name {
        "improved" => (if cx.charset == Charset::Unicode { "✓" } else { "+" }, Role::Ok),
        "worse" => (if cx.charset == Charset::Unicode { "✗" } else { "!" }, Role::Critical),
        "inconclusive" => ("?", Role::Warn),
        _ => ("=", Role::Info),
    };
    let head = format!("{sign} Verdict: {}  ", verdict.words());
    let why = if verdict.why.is_empty() { String::new() } else { format!("({})", verdict.why) };
    doc.line(vec![(head, role)]);
    text(doc, Role::Text, &why, width);
}

fn bar(cx: &Cx<'_>, doc: &mut Doc, share: f64, said: &str, width: u16) {
    let columns = usize::from(width.saturating_sub(said.len() as u16 + 2).min(40));
    let full = (share.clamp(0.0, 1.0) * columns as f64).round() as usize;
    let (on, off) = if cx.charset == Charset::Unicode { ("█", "░") } else { ("#", ".") };
    let line =
        vec![(on.repeat(full), Role::Info), (off.repeat(columns - full), Role::Dim), (format!("  {said}"), Role::Text)];
    doc.line(line);
}

/// What holds the machine up now, and how far the next one is.
fn next(cx: &Cx<'_>, doc: &mut Doc, width: u16) {
    let resources = Resources::of(cx.frame, &cx.judgement.findings, cx.settings);
    match resources.bottleneck() {
        Some(resource) => {
            let rule = resource.rule.map_or_else(String::new, |(rule, _)| format!(" ({rule})"));
            text(doc, Role::Warn, &format!("Bottleneck now: {}{rule}", resource.summary()), width);
        }
        None => text(doc, Role::Ok, "No bottleneck now, as far as measured", width),
    }
    if let Some((resource, room)) = resources.next().and_then(|resource| Some((resource, resource.headroom()?))) {
        text(doc, Role::Text, &format!("Next: {}, headroom ≈ {room:.1}×", resource.summary()), width);
    }
    let unknown: Vec<&str> = resources
        .iter()
        .filter(|resource| resource.verdict == Stands::Unknown)
        .map(|resource| resource.kind.label().as_str())
        .collect();
    if !unknown.is_empty() {
        text(doc, Role::Dim, &format!("Unknown: {}", unknown.join(", ")), width);
    }
}
