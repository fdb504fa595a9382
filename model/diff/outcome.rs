//! The verdict on a fix: did what it is meant to help get better, and nothing that matters worse?

use super::compare::Comparison;
use super::cost::{pairs, per_unit};
use super::decide::{ALONE, Answer, Decision};
use super::part::parts;
use super::reason::Reason;
use super::row::{Row, Verdict};
use super::side::Side;
use super::subject::Subject;
use super::window::End;
use crate::document::shown;
use serde::Serialize;

/// Throughput that is so much higher is an improvement, and so much lower is worse: the floor of the application's own
/// metrics, so that a comparison of the same windows says the same.
const MORE: f64 = 0.05;
/// Cost per unit of load that is so much lower is one, too.
const CHEAPER: f64 = 0.20;
/// "No change" says that none is larger than this part of the load.
const SAME: f64 = 0.10;

/// A metric of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Watch {
    /// Subject of the metric.
    #[serde(serialize_with = "shown")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub subject: Subject,
    /// The metric's id.
    pub metric: &'static str,
}

/// What a fix came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Better, and nothing guarded got worse.
    Improved {
        /// True where a unit of load costs less; else there is more of it.
        cheaper: bool,
    },
    /// Something guarded got worse, or the load itself fell.
    Worse {
        /// The rows that did, by their place in the comparison.
        rows: Vec<usize>,
    },
    /// No difference of the load larger than a small one.
    NoChange {
        /// That, as a part of the load before.
        bound: f64,
    },
    /// Not decided.
    Inconclusive {
        /// Why not.
        why: Reason,
    },
}

/// Both sides of a fix and what they differ in.
#[derive(Clone, Copy, Debug)]
pub struct Tried<'a> {
    /// Before it was applied.
    pub before: &'a Side,
    /// After.
    pub after: &'a Side,
    /// The two compared by the load.
    pub comparison: &'a Comparison,
}

/// Judges a change by what carries the load, what it costs, and what must not suffer.
///
/// Improved: the load is at least 5 % higher, or the cost per unit of it at least 20 % lower, and no guard got worse.
/// Worse: a guard did, or the load fell by 5 %. No change: the load changed by less than 10 %, whatever noise there is.
/// What biases one of them leaves it open. Else it is not decided.
///
/// These metrics were named before anything was measured, so that each is tested by itself: what may happen by chance
/// in thousands of others says nothing about them.
pub fn outcome(tried: Tried<'_>, load: Option<&Watch>, cost: Option<&Watch>, guards: &[Watch]) -> Outcome {
    let comparison = tried.comparison;
    let find = |watch: &Watch| comparison.row(&watch.subject, watch.metric);
    let Some((load, Some(row))) = load.map(|load| (load, find(load))) else {
        return Outcome::Inconclusive { why: Reason::NoLoad };
    };
    let measured = match measured(row, comparison) {
        Ok(measured) => measured,
        Err(why) => return Outcome::Inconclusive { why },
    };
    let open = |verdict| {
        // What came with the fix and left with its undo was not offered by chance.
        let fits = |reason: &Reason| !matches!(reason, Reason::Offered) || !tried.before.between;
        let bias = comparison.biases.iter().filter(|bias| fits(&bias.reason)).find(|bias| bias.against == verdict);
        bias.map(|bias| Outcome::Inconclusive { why: bias.reason.clone() })
    };
    let worse = worse(comparison, guards, (row, measured));
    if !worse.is_empty() {
        return open(Verdict::Worse).unwrap_or(Outcome::Worse { rows: worse });
    }
    let (answer, why) = row.alone(ALONE, false);
    let changed = answer.is_change();
    let cheaper = cost.and_then(|cost| find(cost).map(|paid| is_cheaper(tried, load, cost, paid)));
    if changed && measured >= 1.0 + MORE {
        return open(Verdict::Improved).unwrap_or(Outcome::Improved { cheaper: false });
    }
    if cheaper == Some(true) {
        return open(Verdict::Improved).unwrap_or(Outcome::Improved { cheaper: true });
    }
    let bound = row.decision.as_ref().map_or(0.0, |decision| decision.bound / row.before.map_or(1.0, |side| side.mean));
    let noise = || row.decision.as_ref().filter(|_| bound > SAME).map(Decision::noise);
    match why.or_else(noise) {
        Some(why) => Outcome::Inconclusive { why },
        None => open(Verdict::NoChange).unwrap_or(Outcome::NoChange { bound }),
    }
}

/// After as a multiple of before, or why that is unknown.
fn measured(row: &Row, comparison: &Comparison) -> Result<f64, Reason> {
    let before = row.before.ok_or(Reason::NoLoadOn { after: false })?;
    let after = row.after.ok_or(Reason::NoLoadOn { after: true })?;
    if row.decision.is_none() && row.verdict == Verdict::Inconclusive {
        let samples = before.samples.min(after.samples);
        return Err(row.reason.clone().unwrap_or(Reason::TooFew { samples }));
    }
    if before.mean <= 0.0 {
        return Err(if matches!(comparison.windows[0].end, End::Ended | End::Collapsed) {
            Reason::LoadEnded { after: false }
        } else {
            Reason::Idle
        });
    }
    Ok(after.mean / before.mean)
}

/// The guards that got worse, and the load itself where it fell.
fn worse(comparison: &Comparison, guards: &[Watch], (load, ratio): (&Row, f64)) -> Vec<usize> {
    let chance = ALONE / guards.len().max(1) as f64;
    let guarded = |row: &Row| guards.iter().any(|guard| guard.subject == row.subject && guard.metric == row.metric.id);
    let fell = |row: &Row| std::ptr::eq(row, load) && ratio <= 1.0 - MORE && row.alone(ALONE, false).0.is_change();
    let worse = |row: &Row| (guarded(row) && row.alone(chance, true).0 == Verdict::Worse) || fell(row);
    comparison.rows.iter().enumerate().filter(|(_, row)| worse(row)).map(|(at, _)| at).collect()
}

/// Whether a unit of load costs so much less, and not by chance: the cost itself fell and the load did not, or what it
/// is beside its due.
fn is_cheaper(tried: Tried<'_>, load: &Watch, cost: &Watch, row: &Row) -> bool {
    let parts = parts([tried.before, tried.after], Some(load), true);
    let paid = |side: usize| pairs(&parts[side].by_block(cost), &parts[side].by_block(load));
    let Some((decision, reason)) = per_unit(&paid(0), &paid(1), CHEAPER) else { return false };
    let cheaper = decision.ratio.is_some_and(|ratio| ratio[0] <= 1.0 - CHEAPER);
    let fell = row.alone(ALONE, false).0.is_change() && row.shift < 0.0;
    let by_unit = decision.answer == Answer::Changed && reason.is_none();
    cheaper && row.metric.better != super::metric::Better::Higher && (by_unit || fell)
}
