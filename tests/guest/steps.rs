//! Steps as shell commands for the guest, and what has to come of them.

use crate::parts::Parts;
use crate::scenario::{Apply, Bound, Improves, Keys, Measure, Outcome, Refuse, Rights, Scenario, Step, holds};
use serde_json::Value;

/// The shell commands of all steps of a scenario.
pub(crate) fn script(scenario: &Scenario) -> String {
    let mut lines: Vec<String> = scenario.steps.iter().map(line).collect();
    if scenario.steps.iter().any(|step| matches!(step, Step::Apply(_))) {
        lines.push("fix journal journal --format json".to_owned());
    }
    lines.join("\n")
}

fn line(step: &Step) -> String {
    match step {
        Step::Shell(text) => (*text).to_owned(),
        Step::Offers(_) => "fix offers list --for ${patience}s --format json".to_owned(),
        Step::Apply(Apply { name, id, options, state, observe, undo, .. }) => {
            format!("apply_fix {name} '{state}' '{observe}' {undo} {id} {options}")
        }
        Step::Keys(Keys { name, rule, fix, set, state, login, .. }) => {
            format!("use_keys {name} '{state}' {rule} {fix} '{set}' '{login}'")
        }
        Step::Refuse(Refuse { name, id, options, rights, state, .. }) => {
            let rights = match rights {
                Rights::Root => "as_root",
                Rights::RootWithoutNetAdmin => "without_net_admin",
                Rights::Nobody => "as_nobody",
            };
            format!("refuse_fix {name} '{state}' {rights} {id} {options}")
        }
        Step::Measure(Measure { id, options, figure, load, rounds, .. }) => {
            format!("measure_fix {rounds} '{load}' '{figure}' {id} {options}")
        }
        Step::Improves(Improves { id, options, load, rounds }) => {
            format!("judge_fix {rounds} '{load}' {id} {options}")
        }
    }
}

/// What came of all steps.
pub(crate) fn judge(scenario: &Scenario, parts: &Parts) -> Outcome {
    let mut shown = Vec::new();
    let mut applied = 0;
    for step in scenario.steps {
        match step {
            Step::Shell(_) => {}
            Step::Offers(fixes) => offers(parts, fixes)?,
            Step::Apply(apply) => {
                shown.push(applied_and_undone(parts, apply, applied)?);
                applied += 1;
            }
            Step::Keys(keys) => shown.push(by_keys(parts, keys)?),
            Step::Refuse(refuse) => refused(parts, refuse)?,
            Step::Measure(measure) => shown.push(measured(parts, measure)?),
            Step::Improves(improves) => shown.push(improved(parts, improves)?),
        }
    }
    Ok(shown.join(", "))
}

fn offers(parts: &Parts, fixes: &[&str]) -> Result<(), String> {
    let document = parts.json("offers")?;
    let offered: Vec<&str> = document.as_array().into_iter().flatten().filter_map(|fix| fix["id"].as_str()).collect();
    let places: Vec<Option<usize>> = fixes.iter().map(|id| offered.iter().position(|offer| offer == id)).collect();
    holds(places.iter().all(Option::is_some) && places.is_sorted(), format!("not {fixes:?} but {offered:?}"))
}

fn last_word(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

/// A command of the program succeeded, the state changed as it had to, the journal has it, and the undo restored all.
fn applied_and_undone(parts: &Parts, apply: &Apply, row: usize) -> Outcome {
    let name = apply.name;
    let part = |what: &str| format!("{name}.{what}");
    let fix = last_word(apply.id);
    parts.ended(&part("applied"), "0")?;
    let document = parts.json(&part("applied"))?;
    holds(document["state"] == "applied", format!("{name}: {fix} is not applied: {document}"))?;
    holds(items_are_written(&document["items"]), format!("{name}: {fix} was not written whole: {document}"))?;
    parts.contains(&part("during"), apply.sets)?;
    let journal = parts.journal()?;
    let entry = journal.get(row).ok_or_else(|| format!("{name}: no row {row} in the journal: {journal:?}"))?;
    holds(entry["id"].as_str().is_some_and(|id| last_word(id) == fix), format!("{name}: not {fix} but {entry}"))?;
    let commands = entry["commands"].to_string();
    let missing = apply.commands.iter().find(|command| !commands.contains(**command));
    holds(missing.is_none(), format!("{name}: {missing:?} is not among the commands: {commands}"))?;
    if !apply.undo {
        holds(entry["state"] == "applied", format!("{name}: the journal has {entry}"))?;
        return Ok(format!("{fix} applied"));
    }
    parts.ended(&part("undone"), "0")?;
    holds(entry["state"] == "undone", format!("{name}: the journal has {entry}"))?;
    parts.equal(&part("before"), &part("after"))?;
    Ok(format!("{fix} applied and undone"))
}

fn items_are_written(items: &Value) -> bool {
    items.as_array().is_some_and(|items| items.iter().all(|item| item["error"].is_null()))
}

/// The same by keys; the program that presses them has waited for each state in the journal.
fn by_keys(parts: &Parts, keys: &Keys) -> Outcome {
    let Keys { name, fix, .. } = keys;
    let part = |what: &str| format!("{name}.{what}");
    parts.ended(&part("keys"), "0")?;
    let journal = parts.json(&part("journal"))?;
    let entry = journal.as_array().and_then(|rows| rows.last()).cloned().unwrap_or_default();
    let is_entry = entry["state"] == "undone" && entry["id"].as_str().is_some_and(|id| last_word(id) == *fix);
    holds(is_entry, format!("{name}: {fix} is not undone in the journal: {entry}"))?;
    let text = entry.to_string();
    let missing = keys.journal.iter().find(|wanted| !text.contains(**wanted));
    holds(missing.is_none(), format!("{name}: the journal has no {missing:?}: {text}"))?;
    parts.equal(&part("before"), &part("after"))?;
    Ok(format!("{fix} by keys"))
}

fn refused(parts: &Parts, refuse: &Refuse) -> Result<(), String> {
    let part = |what: &str| format!("{}.{what}", refuse.name);
    parts.ended(&part("refused"), "1")?;
    let output = parts.output(&part("refused"))?;
    let missing = refuse.says.iter().find(|wanted| !output.contains(**wanted));
    holds(missing.is_none(), format!("{}: the refusal has no {missing:?}: {output}", refuse.name))?;
    parts.equal(&part("before"), &part("after"))
}

/// The figures of all rounds, and whether they show the effect.
fn measured(parts: &Parts, measure: &Measure) -> Outcome {
    for status in parts.text("statuses")?.lines() {
        holds(status == "0 0", format!("apply and undo ended with {status}: {}", parts.output("last")?))?;
    }
    let pair = |line: &str| {
        let (without, with) = line.split_once(' ')?;
        Some((without.parse::<f64>().ok()?, with.parse::<f64>().ok()?))
    };
    let figures: Option<Vec<(f64, f64)>> = parts.text("figures")?.lines().map(pair).collect();
    let figures = figures.ok_or_else(|| format!("no numbers: {:?}", parts.text("figures")))?;
    let mut ratios: Vec<f64> = figures.iter().map(|(without, with)| with / without).collect();
    ratios.sort_by(f64::total_cmp);
    let rounds = figures.len();
    let median = ratios.get(rounds / 2).copied().unwrap_or(f64::NAN);
    let text: Vec<String> = figures.iter().map(|(without, with)| format!("{without} → {with}")).collect();
    let (reached, wanted) = match measure.bound {
        Bound::AtMost(most) => (median <= most && ratios.iter().all(|ratio| *ratio < 1.0), format!("at most {most}")),
        Bound::AtLeast(least) => {
            (median >= least && ratios.iter().all(|ratio| *ratio > 1.0), format!("at least {least}"))
        }
    };
    let line = format!("{}: {}; median ratio {median:.2}, wanted {wanted}", measure.what, text.join(", "));
    holds(rounds == measure.rounds, format!("{rounds} rounds, not {}: {line}", measure.rounds))?;
    holds(reached, line.clone())?;
    Ok(line)
}

/// The verdicts of all rounds with what they rest on; each has to be `improved`.
fn improved(parts: &Parts, improves: &Improves) -> Outcome {
    let rounds: Result<Vec<String>, String> = (1..=improves.rounds).map(|round| improved_in(parts, round)).collect();
    Ok(format!("{} improved: {}", last_word(improves.id), rounds?.join("; ")))
}

fn improved_in(parts: &Parts, round: usize) -> Outcome {
    let name = format!("verdict.{round}");
    parts.ended(&name, "0")?;
    let document = parts.json(&name)?;
    holds(document["verdict"] == "improved", format!("round {round}: {}: {document}", document["verdict"]))?;
    parts.ended(&format!("undone.{round}"), "0")?;
    let rows = document["table"].as_array().map_or(&[][..], Vec::as_slice);
    // More of a load has no better direction of its own.
    let decides = |row: &&Value| row["verdict"] == "improved" || (row["verdict"] == "changed" && row["role"] == "load");
    let decisive: Vec<String> = rows.iter().filter(decides).filter_map(effect).collect();
    holds(!decisive.is_empty(), format!("round {round}: no interval without zero: {document}"))?;
    Ok(decisive.join(", "))
}

/// A row's metric with both levels and the interval of the difference, where that excludes no difference.
fn effect(row: &Value) -> Option<String> {
    let number = |list: &str, at: usize| row[list][at].as_f64();
    let (low, high) = (number("interval", 0)?, number("interval", 1)?);
    let (before, after) = (number("before", 0)?, number("after", 0)?);
    let metric = row["metric"].as_str()?;
    (low * high > 0.0).then(|| format!("{metric} {before:.4} → {after:.4} [{low:.4} to {high:.4}]"))
}
