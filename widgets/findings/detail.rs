//! One finding in full: since when, by which numbers from which files, what to do, why it matters, what it is not.

use super::evidence;
use super::page::{item, paragraph};
use crate::parts::number::Short;
use crate::parts::pane::Doc;
use crate::parts::{names, severity, units};
use crate::{Charset, Cx, Role};
use topotop_model::bottleneck::{exclusions, sentence};
use topotop_model::fix::{Offered, Risk, offered};
use topotop_model::judge::Basis;
use topotop_model::locale::Text;
use topotop_model::locale::screen::findings as text;
use topotop_model::locale::screen::shared;
use topotop_model::locale::{join, pair};
use topotop_model::rules::Finding;
use topotop_model::text::{printable, short_ids};

pub(super) fn doc(cx: &Cx<'_>, finding: &Finding, width: u16) -> Doc {
    page(cx, finding, width, false)
}

/// The detail; `whole` where nothing may be cut: commands and values of evidence.
fn page(cx: &Cx<'_>, finding: &Finding, width: u16, whole: bool) -> Doc {
    let mut doc = Doc::default();
    let role = severity::role(finding.severity);
    let sign = severity::glyph(finding.severity, cx.charset);
    for (at, line) in severity::wrapped(&severity::title(cx, finding), width.saturating_sub(2)).into_iter().enumerate()
    {
        let sign = if at == 0 { format!("{sign} ") } else { "  ".to_owned() };
        doc.line(vec![(sign, role), (line, Role::Title)]);
    }
    when(cx, &mut doc, finding);
    related(cx, &mut doc, finding, width);
    // What helps is looked for first.
    remedies(cx, &mut doc, finding, (width, whole));
    evidence::lines(cx, &mut doc, finding, (width, whole));
    beside(cx, &mut doc, finding, width);
    doc.gap();
    doc.head(text::WHY);
    for line in severity::wrapped(finding.rule.why.as_str(), width.saturating_sub(2).min(100)) {
        doc.line(vec![(format!("  {line}"), Role::Text)]);
    }
    list(cx, &mut doc, &text::EXCEPTIONS, finding.rule.guards.iter(), width);
    list(cx, &mut doc, &text::GAINED, finding.rule.gained.iter(), width);
    list(cx, &mut doc, &text::REFERENCES, finding.rule.references, width);
    doc
}

/// All of it as text: prose in lines that are easy to read, commands and values in one line each.
pub fn text_of(cx: &Cx<'_>, finding: &Finding) -> String {
    page(cx, finding, 100, true).text()
}

/// Severity, subject, since when and how sure.
fn when(cx: &Cx<'_>, doc: &mut Doc, finding: &Finding) {
    let since = since(cx, finding).map_or_else(|| "?".to_owned(), |since| since.to_string());
    let zone = units::zone_name(finding.since.wall_ns, cx.zone);
    let since = match lasted(cx, finding) {
        Some(seconds) => text::SinceFor { time: &since, zone: &zone, duration: &units::lasted(seconds) }.to_string(),
        None => text::Since { time: &since, zone: &zone }.to_string(),
    };
    let dot = if cx.charset == Charset::Unicode { " · " } else { " - " };
    doc.line(vec![
        (format!("  {}", severity::label(finding.severity)), severity::role(finding.severity)),
        (dot.to_owned(), Role::Border),
        (short_ids(&printable(&finding.subject.to_string())).into_owned(), Role::Focus),
        (dot.to_owned(), Role::Border),
        (since, Role::Text),
        (dot.to_owned(), Role::Border),
        (text::Confidence { share: &units::percent(finding.confidence) }.to_string(), Role::Text),
    ]);
    if cx.judgement.basis == Basis::Noted {
        doc.line(vec![(format!("  {}", text::RECORDED), Role::Replay)]);
    }
}

/// What causes it, and what it causes.
fn related(cx: &Cx<'_>, doc: &mut Doc, finding: &Finding, width: u16) {
    let is = |other: &Finding| other.rule.id == finding.rule.id && other.subject == finding.subject;
    let cause = severity::all(cx.judgement).find(|other| other.children.iter().any(is));
    let rows = cause.map(|cause| (text::CAUSED_BY, cause, 1)).into_iter();
    // Those of one rule are alike: the first of them, and how many there are.
    let mut children: Vec<(&Finding, usize)> = Vec::new();
    for child in &finding.children {
        match children.iter_mut().find(|(known, _)| known.rule.id == child.rule.id) {
            Some((_, count)) => *count += 1,
            None => children.push((child, 1)),
        }
    }
    let times = if cx.charset == Charset::Unicode { "×" } else { "x" };
    for (word, other, count) in rows.chain(children.into_iter().map(|(child, count)| (text::CAUSES, child, count))) {
        let word = names::padded(&format!("  {word}"), 12);
        let head = format!("{} {:<8} ", severity::glyph(other.severity, cx.charset), other.rule.id);
        let columns = usize::from(names::width(&word) + names::width(&head));
        let room = width.saturating_sub(columns as u16);
        let title = severity::title(cx, other);
        let title = if count > 1 { format!("{count}{times} {title}") } else { title };
        for (at, line) in severity::wrapped(&title, room).into_iter().enumerate() {
            let mut pieces = match at {
                0 => vec![(word.clone(), Role::Dim), (head.clone(), severity::role(other.severity))],
                _ => vec![(" ".repeat(columns), Role::Text)],
            };
            pieces.push((line, Role::Text));
            doc.line(pieces);
        }
    }
}

/// What was measured beside it and is not the limit.
fn beside(cx: &Cx<'_>, doc: &mut Doc, finding: &Finding, width: u16) {
    let exclusion = sentence(&exclusions(finding, &cx.judgement.resources));
    if !exclusion.is_empty() {
        doc.gap();
        doc.head(text::EXCLUSION);
        paragraph(doc, &format!("  {}", printable(&exclusion)), width);
    }
}

/// What to do, the best first. What can be applied from here stands before the advice: its id, its command and its risk.
fn remedies(cx: &Cx<'_>, doc: &mut Doc, finding: &Finding, (width, whole): (u16, bool)) {
    doc.gap();
    doc.head(text::REMEDIES);
    let (fixes, refused) = offered(finding, cx.frame, cx.surroundings);
    for fix in &fixes {
        remedy(cx, doc, fix, (width, whole));
    }
    for fix in &refused {
        let needs = if fix.needs.is_empty() {
            String::new()
        } else {
            format!("{}{}", join::CLAUSES, shared::Needs { what: &fix.needs })
        };
        let text = pair(fix.name, &fix.why) + &needs;
        item(doc, &format!("{:<14}", fix.fix), &printable(&text), Role::Dim, width);
    }
    if !fixes.is_empty() || !refused.is_empty() {
        doc.gap();
    }
    for (at, advice) in finding.advice().iter().enumerate() {
        item(doc, &format!("{}  ", at + 1), advice.as_str(), Role::Text, width);
    }
    if finding.advice().is_empty() {
        paragraph(doc, &format!("  {}", text::NO_REMEDY), width);
    }
}

/// What can be done from here: `f  F-CHAN  ethtool -L eth0 combined 8   disruptive`.
fn remedy(cx: &Cx<'_>, doc: &mut Doc, fix: &Offered, (width, whole): (u16, bool)) {
    let key = if fix.executable { "f " } else { "  " };
    let (risk, role) =
        if fix.executable { (risk_label(fix.risk), risk_role(fix.risk)) } else { (text::ADVICE, Role::Dim) };
    let head = format!("  {key} {:<13}", fix.fix);
    let room = usize::from(width).saturating_sub(head.chars().count() + usize::from(names::width(&risk)) + 2);
    let line = printable(if fix.executable { fix.line() } else { &fix.title });
    let line = if !whole && usize::from(names::width(&line)) > room {
        let mark = if cx.charset == Charset::Unicode { "…" } else { "~" };
        names::clean(&line, room.saturating_sub(1)) + mark
    } else {
        line.into_owned()
    };
    let gap = " ".repeat(room.saturating_sub(usize::from(names::width(&line))) + 2);
    let pieces = vec![(head, Role::Info), (line, Role::Text), (gap, Role::Text), (risk.to_string(), role)];
    doc.line(pieces);
}

/// The name of a risk on screens.
pub(crate) fn risk_label(risk: Risk) -> Text {
    match risk {
        Risk::Safe => text::SAFE,
        Risk::Disruptive => text::DISRUPTIVE,
        Risk::Dangerous => text::DANGEROUS,
    }
}

/// How a risk looks.
pub(crate) fn risk_role(risk: Risk) -> Role {
    match risk {
        Risk::Safe => Role::Ok,
        Risk::Disruptive => Role::Warn,
        Risk::Dangerous => Role::Critical,
    }
}

fn list(cx: &Cx<'_>, doc: &mut Doc, title: &str, items: impl IntoIterator<Item = impl AsRef<str>>, width: u16) {
    let mut items = items.into_iter().peekable();
    if items.peek().is_none() {
        return;
    }
    doc.gap();
    doc.head(title);
    let mark = if cx.charset == Charset::Unicode { "· " } else { "- " };
    for text in items {
        item(doc, mark, text.as_ref(), Role::Text, width);
    }
}

/// When it began; none where that is not known.
pub(super) fn since(cx: &Cx<'_>, finding: &Finding) -> Option<Short> {
    (finding.since.wall_ns != 0).then(|| units::time_of_day(finding.since.wall_ns, cx.zone))
}

/// How long it has lasted at the frame, in seconds.
pub(super) fn lasted(cx: &Cx<'_>, finding: &Finding) -> Option<f64> {
    let (now, since) = (cx.frame.stamp.boot_ns, finding.since.boot_ns);
    (finding.since.wall_ns != 0).then(|| now.checked_sub(since)).flatten().map(|ns| ns as f64 / 1e9)
}
