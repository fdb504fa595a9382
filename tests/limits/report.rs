//! How scenarios came out: a line each at once, a table at the end, the same table in the documentation.

use crate::answer::Outcome as Answered;
use crate::number::number;
use crate::run::Outcome;
use crate::{Options, scenario};
use std::fmt::Write as _;
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
    let Some(truth) = &outcome.truth else { return "no relief tried".to_owned() };
    let gains = truth.gains.iter().map(|gain| {
        let mark = if gain.is_real { "**" } else { "" };
        format!("{} {mark}×{:.2}{mark}", gain.name, gain.times)
    });
    let mut text = format!("{:.0}/s; {}", truth.baseline, gains.collect::<Vec<_>>().join(", "));
    if let Some(why) = &truth.broken {
        let _ = write!(text, "; {why}");
    }
    text
}

/// Prints all of them; true where no answer was wrong, no scenario broken, and nine of ten were answered.
pub(crate) fn summary(all: &[Outcome], options: &Options, start: Instant) -> bool {
    let mut table = "| Scenario | Result | Answer | Tried |\n| --- | --- | --- | --- |\n".to_owned();
    for outcome in all {
        let cells = [said(outcome), tried(outcome)].map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        let _ = writeln!(table, "| {} | {} | {} | {} |", outcome.name, result(outcome), cells[0], cells[1]);
    }
    let count = |name: &str| all.iter().filter(|outcome| result(outcome) == name).count();
    let of = |answered: Answered| count(answered.name());
    let (hits, missed) = (of(Answered::Hit), of(Answered::Miss));
    let (open, wrong) = (of(Answered::Inconclusive), of(Answered::FalseClaim));
    let (broken, failed) = (count("broken scenario"), count("failed"));
    let idle = all.iter().filter(|outcome| outcome.nothing).count();
    let line = format!(
        "{} scenarios, {idle} of which limit nothing on the machine: {hits} hits, {missed} misses, {wrong} false claims, \
         {open} inconclusive, {broken} broken, {failed} failed",
        all.len()
    );
    println!("\n{table}\nlimits: {line}, {} s", start.elapsed().as_secs());
    if options.write_docs
        && let Err(why) = write(&line, &table, all)
    {
        println!("limits: FAILED: {why}");
        return false;
    }
    wrong + missed + broken + failed == 0 && number(hits) >= 0.9 * number(all.len())
}

/// Puts the table into docs/limits.md.
fn write(line: &str, table: &str, all: &[Outcome]) -> Result<(), String> {
    let path = scenario::folder().join("../../docs/limits.md");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (head, rest) = text.split_once(START).ok_or("docs/limits.md has no place for results")?;
    let (_, tail) = rest.split_once(END).ok_or("docs/limits.md has no end of results")?;
    let mut proved = "| Scenario | What it shows |\n| --- | --- |\n".to_owned();
    for outcome in all {
        let _ = writeln!(proved, "| {} | {} |", outcome.name, outcome.proves);
    }
    let text = format!("{head}{START}{line}.\n\n{table}\n{proved}{END}{tail}");
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}
