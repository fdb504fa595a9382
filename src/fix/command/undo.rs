//! `topotop fix undo` and `confirm`.

use super::super::applier::{Applier, Told};
use super::super::journal::{self, File, Ledger as _};
use super::super::machine::Kernel;
use super::super::show::safe;
use super::{Context, DONE, REFUSED, apply, document, print, refuse};
use serde_json::json;
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use topotop_model::journal::{Application, Because, Entry, Journal};
use topotop_model::text::printable;

/// How it is undone.
pub(super) struct How<'a> {
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) format: &'a str,
}

fn find<'a>(journal: &'a Journal, id: Option<&str>) -> Result<&'a Application, String> {
    if let Some(id) = id {
        return journal.find(id).ok_or_else(|| format!("{id}: not in the journal: `topotop fix journal` lists it"));
    }
    let newest = journal.applications.iter().rev().find(|application| application.is_in_force());
    newest.ok_or_else(|| "nothing is in force".to_owned())
}

pub(super) fn run(context: &Context, id: Option<&str>, how: &How<'_>) -> Result<u8, String> {
    if let Some(why) = context.refusal().filter(|_| !how.dry_run) {
        return Ok(refuse(why));
    }
    let directory = context.directory()?;
    if how.dry_run {
        let journal = journal::read(&directory)?;
        return match find(&journal, id) {
            Ok(application) => would(application).map(|()| DONE),
            Err(why) => Ok(refuse(&why)),
        };
    }
    // Looked up first: an undo of nothing makes no journal.
    if let Err(why) = find(&journal::read(&directory)?, id) {
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
    let mut tell = |told| {
        say(application, &told, &note);
        ControlFlow::Continue(())
    };
    let returned =
        match Applier::new(&mut machine, &mut ledger, &mut tell).undo(application, &Because::Asked, how.force) {
            Ok(returned) => returned,
            Err(refused) => return Ok(refuse(&refused.0)),
        };
    if let Some(trouble) = &returned.trouble {
        crate::run::warn(&format!("{trouble}: the journal does not have all of it"));
    }
    if json {
        let items = returned.outcomes.iter().map(|outcome| {
            json!({"key": safe(&outcome.key), "value": outcome.value.as_deref().map(safe), "error": outcome.error.as_deref().map(safe)})
        });
        document(
            &json!({"id": application.intent.fix, "number": application.number, "whole": returned.whole, "items": items.collect::<Vec<_>>()}),
        )?;
    } else {
        print(&format!("{} {}\n", application.number, if returned.whole { "undone" } else { "undone in part" }))?;
    }
    Ok(if returned.whole && returned.trouble.is_none() { DONE } else { REFUSED })
}

/// What would be put back.
fn would(application: &Application) -> Result<(), String> {
    let mut text = format!("{} {}\n", application.number, printable(&application.intent.title));
    for (_, written, items) in application.places() {
        for item in items {
            let old = item.item.old.as_deref().unwrap_or("?");
            let line = format!("  {} {}: back to {old}", written.target, item.item.key);
            text.push_str(&printable(&line));
            text.push('\n');
        }
    }
    print(&text)
}

/// What happens to an item.
pub(super) fn say(application: &Application, told: &Told, note: &dyn Fn(&str)) {
    if let Told::PutBack(outcome) = told {
        let place = application.places().nth(outcome.step).map(|(_, written, _)| written.target.to_string());
        let key = if outcome.key.is_empty() { String::new() } else { format!(", {}", outcome.key) };
        note(&format!("  {}", apply::came(&format!("{}{key}", place.unwrap_or_default()), outcome)));
    }
}

/// Keeps a fix that takes itself back otherwise.
pub(super) fn confirm(context: &Context, id: &str) -> Result<u8, String> {
    if let Some(why) = context.refusal() {
        return Ok(refuse(why));
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
        return Ok(refuse(&format!("{number} is {}: there is nothing to keep", application.state().name())));
    }
    if application.confirmed || application.intent.revert_after_seconds.is_none() {
        print(&format!("{number} stays already\n"))?;
        return Ok(DONE);
    }
    ledger.append(number, &Entry::Confirmed, true)?;
    print(&format!("{number} stays; topotop fix undo {number} takes it back\n"))?;
    Ok(DONE)
}
