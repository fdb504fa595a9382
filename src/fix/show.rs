//! A plan with its values as text.

use std::io::{self, Write};
use topotop_model::fix::{Item, Plan, Resolved, Snippet, together};
use topotop_model::locale::Text;
use topotop_model::locale::cli::fix as text;
use topotop_model::locale::{join, pair};
use topotop_model::text::{padded, printable};

/// Items of a step listed, at most.
const ITEMS: usize = 24;

/// Everything to know before confirming.
pub(crate) fn text(resolved: &Resolved, refused: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let plan = &resolved.plan;
    let mut line = |indent: &str, text: &str| writeln!(out, "{indent}{}", printable(text));
    line("", &format!("{}  {}", plan.id(), plan.risk.label()))?;
    line("", &plan.title)?;
    for who in &plan.identity {
        line(&label(text::LABEL_TARGET), &who.to_string())?;
    }
    for command in &plan.commands {
        line("  $ ", command)?;
    }
    changes(resolved, &mut line)?;
    if !plan.kept.is_empty() {
        line(
            &label(text::LABEL_SAVED),
            &text::Saved { settings: &together(&plan.kept).join(&join::ITEMS) }.to_string(),
        )?;
    }
    let parts: [(Text, &[String]); 4] = [
        (text::LABEL_EFFECTS, &plan.breaks),
        (text::LABEL_SESSION, &plan.cuts_off),
        (text::LABEL_REVERTERS, &plan.reverters),
        (text::LABEL_LOST, &plan.lost),
    ];
    for (what, lines) in parts {
        for text in lines {
            line(&label(what), text)?;
        }
    }
    for need in &plan.needs {
        line(&label(text::LABEL_REQUIRES), format!("{} {}", need.capability, need.what).trim())?;
    }
    if !plan.undo.is_empty() {
        line(&label(text::LABEL_UNDO), &plan.undo)?;
    }
    if plan.is_executable() {
        line(&label(text::LABEL_VERIFICATION), &watched(plan))?;
    }
    let snippets = plan.snippets.iter().map(|advice| (text::KIND_ADVICE, advice));
    for (what, text) in snippets.chain(plan.persistent.iter().map(|lasting| (text::LABEL_PERMANENT, lasting))) {
        snippet(what, text, out)?;
    }
    refused.map_or(Ok(()), |why| writeln!(out, "  {}{}", padded(&text::LABEL_REFUSED, 14), printable(why)))
}

/// A line's label.
fn label(label: Text) -> String {
    format!("  {}", padded(&label, 14))
}

/// What each step writes, and what could not be read of it.
fn changes(resolved: &Resolved, line: &mut dyn FnMut(&str, &str) -> io::Result<()>) -> io::Result<()> {
    let plan = &resolved.plan;
    for (index, step) in plan.steps.iter().enumerate() {
        line(&label(text::LABEL_CHANGES), &pair(&step.what, &step.target))?;
        for text in items(resolved.items.get(index).map_or(&[][..], Vec::as_slice), &step.new) {
            line(&" ".repeat(16), &text)?;
        }
    }
    for (step, why) in &resolved.unread {
        let what = if *step < plan.steps.len() { text::LABEL_UNREAD } else { text::LABEL_NOT_SAVED };
        line(&label(what), why)?;
    }
    Ok(())
}

fn snippet(what: Text, snippet: &Snippet, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {}{}", padded(&what, 14), printable(&snippet.place))?;
    for line in snippet.text.lines() {
        writeln!(out, "{:16}{}", "", printable(line))?;
    }
    Ok(())
}

/// Old and new value of each item; equal items on one line.
fn items(items: &[Item], new: &str) -> Vec<String> {
    let old = |item: &Item| item.old.clone().unwrap_or_else(|| "?".to_owned());
    let blank = |value: String| if value.is_empty() { text::UNSET.to_string() } else { value };
    let alike = items.first().is_some_and(|first| items.iter().all(|item| item.old == first.old));
    match items {
        [] => vec![format!("-> {new}")],
        [one] => vec![format!("{} -> {}", blank(old(one)), blank(one.new.clone()))],
        [first, ..] if alike => {
            vec![text::EqualItems { old: &blank(old(first)), new: &new, count: &items.len() }.to_string()]
        }
        many => {
            // Items that change alike are one line.
            let mut groups: Vec<(&Item, u64)> = Vec::new();
            for item in many {
                match groups.iter_mut().find(|(first, _)| (&first.old, &first.new) == (&item.old, &item.new)) {
                    Some(group) => group.1 += 1,
                    None => groups.push((item, 1)),
                }
            }
            let shown = groups.iter().take(ITEMS).map(|(item, count)| match count {
                1 => pair(&item.key, format_args!("{} -> {}", blank(old(item)), item.new)),
                count => text::EqualItems { old: &blank(old(item)), new: &item.new, count }.to_string(),
            });
            let more = groups.len().saturating_sub(ITEMS);
            shown.chain((more > 0).then(|| text::MoreItems { count: &more }.to_string())).collect()
        }
    }
}

/// The measured metrics and the windows.
fn watched(plan: &Plan) -> String {
    let verify = &plan.verify;
    let named = |watch: &topotop_model::diff::Watch| format!("{} ({})", watch.metric, watch.subject);
    let mut parts = Vec::new();
    parts.extend(verify.load.iter().map(|load| text::WatchLoad { metric: &named(load) }.to_string()));
    parts.extend(verify.cost.iter().map(|cost| text::WatchCost { metric: &named(cost) }.to_string()));
    parts.extend(verify.guards.iter().map(|guard| text::WatchGuard { metric: &named(guard) }.to_string()));
    let times = text::WatchWindows { settle: &verify.settle_seconds, after: &verify.after_seconds }.to_string();
    parts.push(times);
    parts.join(&join::ITEMS)
}
