//! How scenarios came out: a line each at once, a table at the end, the same table in the documentation.

use crate::answer::Outcome as Answered;
use crate::number::number;
use crate::run::Outcome;
use crate::{Options, scenario};
use std::fs;
use std::time::Instant;

/// What the table stands between, in docs/limits.md.
const START: &str = "<!-- results -->\n";
const END: &str = "<!-- end of results -->\n";

/// Prints one.
pub(crate) fn one(outcome: &Outcome) {
    let Outcome { name, seconds, .. } = outcome;
    println!("limits: {name}: {}, {seconds} s: {}; {}", result(outcome), said(outcome), tried(outcome));
}

/// In a word or two.
fn result(outcome: &Outcome) -> &'static str {
    let is_broken = outcome.truth.as_ref().is_some_and(|truth| truth.broken.is_some());
    match &outcome.answer {
        _ if outcome.failed.is_some() => "failed",
        _ if is_broken => "broken scenario",
        Some(answer) => answer.outcome.name(),
        None => "failed",
    }
}

/// The headline.
fn said(outcome: &Outcome) -> String {
    match (&outcome.answer, &outcome.failed) {
        (Some(answer), _) => {
            let from = answer.right_from.map(|at| format!(", from sample {at}")).unwrap_or_default();
            let changes = if answer.changes > 1 { format!(", {} changes", answer.changes) } else { String::new() };
            format!("{}{from}{changes}", answer.headline.words())
        }
        (None, why) => why.clone().unwrap_or_default(),
    }
}

/// What reliefs did.
fn tried(outcome: &Outcome) -> String {
    let Some(truth) = &outcome.truth else { return "no remedy tried".to_owned() };
    let gains = truth.gains.iter().map(|gain| {
        let mark = if gain.is_real { "**" } else { "" };
        format!("{} {mark}×{:.2}{mark}", gain.name, gain.times)
    });
    let mut text = format!("{:.0}/s; {}", truth.baseline, gains.collect::<Vec<_>>().join(", "));
    if let Some(why) = &truth.broken {
        text = format!("{text}; {why}");
    }
    text
}

/// Prints all of them; true where no answer was wrong, no scenario broken, and nine of ten were answered.
pub(crate) fn summary(all: &[Outcome], options: &Options, start: Instant) -> bool {
    let rows: Vec<(String, String)> = all.iter().map(|outcome| (outcome.name.clone(), row(outcome))).collect();
    let idle = all.iter().filter(|outcome| outcome.nothing).count();
    println!("\n{HEAD}{}", joined(&rows));
    println!("limits: {}; {idle} limit nothing on the machine; {} s", tally(&rows), start.elapsed().as_secs());
    if options.write_docs
        && let Err(why) = write(rows.clone(), all)
    {
        println!("limits: FAILED: {why}");
        return false;
    }
    let hits = count(&rows, Answered::Hit.name());
    let open = count(&rows, Answered::Inconclusive.name());
    hits + open == rows.len() && number(hits) >= 0.9 * number(rows.len())
}

/// The head of the table.
const HEAD: &str = "| Scenario | Result | Answer | Tried |\n| --- | --- | --- | --- |\n";

fn row(outcome: &Outcome) -> String {
    let cells = [said(outcome), tried(outcome)].map(|cell| cell.replace('|', "\\|").replace('\n', " "));
    format!("| {} | {} | {} | {} |\n", outcome.name, result(outcome), cells[0], cells[1])
}

fn joined(rows: &[(String, String)]) -> String {
    rows.iter().map(|(_, row)| row.as_str()).collect()
}

/// Rows with a result.
fn count(rows: &[(String, String)], result: &str) -> usize {
    rows.iter().filter(|(_, row)| row.split('|').nth(2).is_some_and(|cell| cell.trim() == result)).count()
}

fn tally(rows: &[(String, String)]) -> String {
    let of = |answered: Answered| count(rows, answered.name());
    format!(
        "{} scenarios: {} hits, {} misses, {} false claims, {} inconclusive, {} broken, {} failed",
        rows.len(),
        of(Answered::Hit),
        of(Answered::Miss),
        of(Answered::FalseClaim),
        of(Answered::Inconclusive),
        count(rows, "broken scenario"),
        count(rows, "failed"),
    )
}

/// Puts the table into docs/limits.md, where the rows of scenarios that were not run stay.
fn write(mut rows: Vec<(String, String)>, all: &[Outcome]) -> Result<(), String> {
    let path = scenario::folder().join("../../docs/limits.md");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (head, rest) = text.split_once(START).ok_or("docs/limits.md has no place for results")?;
    let (old, tail) = rest.split_once(END).ok_or("docs/limits.md has no end of results")?;
    let proved =
        all.iter().map(|outcome| (outcome.name.clone(), format!("| {} | {} |\n", outcome.name, outcome.proves)));
    let mut proved: Vec<(String, String)> = proved.collect();
    let (old_rows, old_proved) = old.split_once(PROVED).unwrap_or_default();
    merge(&mut rows, old_rows);
    merge(&mut proved, old_proved);
    let (line, table, proved) = (tally(&rows), joined(&rows), joined(&proved));
    let text = format!("{head}{START}{line}.\n\n{HEAD}{table}\n{PROVED}{proved}{END}{tail}");
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// The head of the table of what scenarios show.
const PROVED: &str = "| Scenario | What it shows |\n| --- | --- |\n";

/// Adds the rows of a table for which there is no new one, in the order of the table.
fn merge(rows: &mut Vec<(String, String)>, table: &str) {
    let name = |row: &str| row.strip_prefix("| ").and_then(|rest| rest.split(" |").next()).map(str::to_owned);
    let old = table.lines().filter(|line| !line.starts_with("| ---") && !line.starts_with("| Scenario"));
    let mut merged = Vec::new();
    for (name, line) in old.filter_map(|line| Some((name(line)?, line))) {
        let at = rows.iter().position(|(known, _)| *known == name);
        merged.push(at.map_or_else(|| (name, format!("{line}\n")), |at| rows.remove(at)));
    }
    merged.append(rows);
    *rows = merged;
}
