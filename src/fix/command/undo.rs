//! `topotop fix undo` and `confirm`.

use super::super::applier::{Applier, ApplyEvent, Returned};
use super::super::journal::{self, File, Ledger as _};
use super::super::machine::Kernel;
use super::{Context, DONE, REFUSED, apply, print, print_json, refuse};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use topotop_model::document::{Outcome, Undone};
use topotop_model::journal::{Application, Because, Entry, Journal};
use topotop_model::locale::cli::fix as text;
use topotop_model::text::printable;

/// Options of undo.
pub(super) struct How<'a> {
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) format: &'a str,
}

fn find<'a>(journal: &'a Journal, id: Option<&str>) -> Result<&'a Application, String> {
    if let Some(id) = id {
        return journal.find(id).ok_or_else(|| text::NotInJournal { id: &id }.to_string());
    }
    let newest = journal.applications.iter().rev().find(|application| application.is_in_force());
    newest.ok_or_else(|| text::NONE_IN_EFFECT.to_string())
}

pub(super) fn run(context: &Context, id: Option<&str>, how: &How<'_>) -> Result<u8, String> {
    if let Some(why) = context.refusal().filter(|_| !how.dry_run) {
        return Ok(refuse(&why));
    }
    let directory = context.directory()?;
    let journal = journal::read(&directory)?;
    // What is left of it is undone; what is lost is said.
    if let Some(lost) = journal::lost(&directory, &journal) {
        crate::stderr::warn(&lost);
    }
    if how.dry_run {
        return match find(&journal, id) {
            Ok(application) => would(application).map(|()| DONE),
            Err(why) => Ok(refuse(&why)),
        };
    }
    // An undo of nothing must not create a journal.
    if let Err(why) = find(&journal, id) {
        return Ok(refuse(&why));
    }
    let mut ledger = File::open(&directory)?;
    let journal = ledger.read()?;
    let application = match find(&journal, id) {
        Ok(application) => application,
        Err(why) => return Ok(refuse(&why)),
    };
    let json = how.format == "json";
    let note = |text: &str| {
        let text = format!("{}\n", printable(text));
        let _ = if json { io::stderr().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) };
    };
    let mut machine = Kernel::new(Arc::new(context.open()?));
    let mut tell = |event| {
        report(application, &event, &note);
        ControlFlow::Continue(())
    };
    let returned =
        match Applier::new(&mut machine, &mut ledger, &mut tell).undo(application, &Because::Asked, how.force) {
            Ok(returned) => returned,
            Err(refused) => return Ok(refuse(&refused.0)),
        };
    ended(application, &returned, json, &note)
}

/// Says what came of it; the exit status.
fn ended(application: &Application, returned: &Returned, json: bool, note: &dyn Fn(&str)) -> Result<u8, String> {
    if let Some(trouble) = &returned.trouble {
        crate::stderr::warn(&text::JournalIncomplete { error: &trouble }.to_string());
    }
    if json {
        if returned.exited {
            note(&format!("{} {}", application.number, text::NOTHING_LEFT));
        }
        result_document(application, returned)?;
    } else {
        let result = match () {
            () if returned.exited => text::NOTHING_LEFT,
            () if returned.whole => text::UNDONE,
            () => text::PARTLY_UNDONE,
        };
        print(&format!("{} {result}\n", application.number))?;
    }
    Ok(if returned.whole && returned.trouble.is_none() { DONE } else { REFUSED })
}

/// The result of an undo for programs.
fn result_document(application: &Application, returned: &Returned) -> Result<(), String> {
    let target = |step| application.places().nth(step).map(|(_, written, _)| &written.target);
    print_json(&Undone {
        id: application.intent.fix.clone(),
        number: application.number,
        whole: returned.whole,
        items: returned.outcomes.iter().map(|outcome| Outcome::of(outcome, target(outcome.step))).collect(),
    })
}

/// Shows what undo would restore.
fn would(application: &Application) -> Result<(), String> {
    let mut text = format!("{} {}\n", application.number, printable(&application.intent.title));
    for (_, written, items) in application.places() {
        for item in items {
            let old = item.item.old.as_deref().unwrap_or("?");
            let line = format!(
                "  {}",
                text::WouldRestore { item: &format!("{} {}", written.target, item.item.key), value: &old }
            );
            text.push_str(&printable(&line));
            text.push('\n');
        }
    }
    print(&text)
}

/// Reports a restored item.
pub(super) fn report(application: &Application, event: &ApplyEvent, note: &dyn Fn(&str)) {
    if let ApplyEvent::PutBack(outcome) = event {
        let place = application.places().nth(outcome.step).map(|(_, written, _)| written.target.to_string());
        let key = if outcome.key.is_empty() { String::new() } else { format!(", {}", outcome.key) };
        note(&format!("  {}", apply::came(&format!("{}{key}", place.unwrap_or_default()), outcome)));
    }
}

/// Cancels the automatic rollback of a fix.
pub(super) fn confirm(context: &Context, id: &str) -> Result<u8, String> {
    if let Some(why) = context.refusal() {
        return Ok(refuse(&why));
    }
    let directory = context.directory()?;
    if let Err(why) = find(&journal::read(&directory)?, Some(id)) {
        return Ok(refuse(&why));
    }
    let mut ledger = File::open(&directory)?;
    let journal = ledger.read()?;
    let application = match find(&journal, Some(id)) {
        Ok(application) => application,
        Err(why) => return Ok(refuse(&why)),
    };
    let number = application.number;
    if !application.is_in_force() {
        return Ok(refuse(&text::NothingToKeep { number: &number, state: &application.state().name() }.to_string()));
    }
    if application.confirmed || application.intent.revert_after_seconds.is_none() {
        print(&format!("{}\n", text::AlreadyKept { number: &number }))?;
        return Ok(DONE);
    }
    ledger.append(number, &Entry::Confirmed, true)?;
    print(&format!("{}\n", text::Kept { number: &number }))?;
    Ok(DONE)
}
