//! `topotop fix journal`.

use super::super::journal;
use super::{Context, DONE, apply, print, print_json, refuse};
use std::fmt::Write as _;
use topotop_model::document;
use topotop_model::fix::verification;
use topotop_model::journal::{Application, Judged};
use topotop_model::locale::cli::fix as text;
use topotop_model::locale::{in_english, join, pair};
use topotop_model::text::printable;

pub(super) fn run(context: &Context, id: Option<&str>, format: &str) -> Result<u8, String> {
    let directory = context.directory()?;
    let journal = journal::read(&directory)?;
    if let Some(lost) = journal::lost(&directory, &journal) {
        crate::stderr::warn(&lost);
    }
    let one = match id.map(|id| journal.find(id).ok_or(id)) {
        Some(Err(id)) => return Ok(refuse(&text::NotInJournal { id: &id }.to_string())),
        Some(Ok(one)) => Some(one),
        None => None,
    };
    let boot = context.open()?.read_text("proc/sys/kernel/random/boot_id").unwrap_or_default();
    let boot = boot.trim();
    if format == "json" {
        let of = |application| document::Application::of(application, boot);
        match one {
            Some(one) => print_json(&in_english(|| of(one)))?,
            None => print_json(&in_english(|| journal.applications.iter().map(of).collect::<Vec<_>>()))?,
        }
        return Ok(DONE);
    }
    let mut text = String::new();
    for application in &journal.applications {
        if one.is_none_or(|one| one.number == application.number) {
            line(application, boot, &mut text);
        }
    }
    if let Some(one) = one {
        items(one, &mut text);
    }
    if text.is_empty() {
        text = format!("{}\n", text::JOURNAL_EMPTY);
    }
    print(&text)?;
    Ok(DONE)
}

/// The words for a verdict of the journal, with the bound of its load.
fn label(judged: &Judged) -> String {
    let load = judged.table.iter().find(|row| row.role == "load");
    let bound = load.and_then(|row| Some(row.bound? / row.before?[0].abs())).filter(|bound| bound.is_finite());
    verification::label(&judged.verdict, bound)
}

/// An application in two lines: the fix; the time and the user.
fn line(application: &Application, boot: &str, text: &mut String) {
    let verdict =
        application.judged.as_ref().map_or_else(String::new, |judged| format!("{}{}", join::ITEMS, label(judged)));
    let before =
        if application.boot_id == boot { String::new() } else { format!("{}{}", join::ITEMS, text::EARLIER_BOOT) };
    let waits = if application.waits_for_confirmation() && before.is_empty() {
        format!("{}{}", join::ITEMS, text::WAITS)
    } else {
        String::new()
    };
    let state = application.state().name();
    // A text takes whatever is written to it.
    let _ = writeln!(
        text,
        "{:<4} {state}{verdict}{before}{waits}  {}",
        application.number,
        printable(&application.intent.title)
    );
    let _ = writeln!(
        text,
        "     {}  {}",
        printable(&application.intent.fix),
        printable(&format!("{}, {}", application.at, application.intent.who))
    );
    if let Some(undo) = application.undo.as_ref() {
        let forced = if undo.forced { format!("{}{}", join::ITEMS, text::FORCED) } else { String::new() };
        let _ = writeln!(
            text,
            "     {}{forced}",
            pair(text::UndoneAt { time: &printable(&undo.at) }, printable(undo.why.label()))
        );
    }
}

fn items(application: &Application, text: &mut String) {
    for command in &application.intent.commands {
        let _ = writeln!(text, "     $ {}", printable(command));
    }
    for (_, written, items) in application.places() {
        for item in items {
            let key = if item.item.key.is_empty() { String::new() } else { format!(", {}", item.item.key) };
            let was = item.item.old.as_deref().unwrap_or("?");
            let line = text::Was { item: &format!("{}{key}", written.target), value: &was }.to_string();
            let _ = writeln!(text, "     {}", printable(&line));
            let came = |what: &str, outcome: &topotop_model::journal::Outcome| {
                format!("       {}", apply::came(what, outcome))
            };
            for line in item
                .wrote
                .iter()
                .map(|outcome| came(text::ITEM_WRITTEN.as_str(), outcome))
                .chain(item.put_back.iter().map(|outcome| came(text::ITEM_RESTORED.as_str(), outcome)))
            {
                let _ = writeln!(text, "{}", printable(&line));
            }
        }
    }
    if let Some(judged) = &application.judged {
        let _ = writeln!(text, "     {}: {}", text::Verdict { verdict: &label(judged) }, printable(&judged.why));
    }
}
