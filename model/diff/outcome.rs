//! The verdict on a fix: did what it is meant to help get better, and nothing that matters worse?

use super::compare::{ALONE, Comparison, Row, Verdict};
use super::metric::Better;
use super::side::Side;
use super::stat::{FEWEST, Family, Groups};
use super::subject::Subject;
use crate::document::shown;
use serde::Serialize;

/// Throughput that is so much higher is an improvement.
const MORE: f64 = 0.10;
/// Cost per unit of load that is so much lower is one, too.
const CHEAPER: f64 = 0.20;
/// A load that fell by more than this was no fair test.
const LOAD_FELL: f64 = 0.25;

/// A metric of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Watch {
    /// Of what.
    #[serde(serialize_with = "shown")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub subject: Subject,
    /// The metric's id.
    pub metric: &'static str,
}

/// What a fix came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Better, and nothing guarded got worse.
    Improved,
    /// Something guarded got worse, or the load's metric itself did.
    Worse {
        /// The rows that did, by their place in the comparison.
        rows: Vec<usize>,
    },
    /// Neither.
    NoChange,
    /// Nobody can tell.
    Inconclusive {
        /// Why not.
        why: &'static str,
    },
}

/// Both sides of a fix and what they differ in.
#[derive(Clone, Copy, Debug)]
pub struct Tried<'a> {
    /// Before it was applied.
    pub before: &'a Side,
    /// After.
    pub after: &'a Side,
    /// The two compared.
    pub comparison: &'a Comparison,
}

/// Judges a change by what carries the load, what it costs, and what must not suffer.
///
/// Improved: the load's metric is at least 10 % higher, or the cost per unit of load at least 20 % lower, and no guard
/// got worse. Inconclusive: there is no load metric, or the load fell by more than a quarter.
///
/// These metrics were named before anything was measured, so that each is tested by itself: what may happen by chance
/// in thousands of others says nothing about them.
pub fn outcome(tried: Tried<'_>, load: Option<&Watch>, cost: Option<&Watch>, guards: &[Watch]) -> Outcome {
    let comparison = tried.comparison;
    let find = |watch: &Watch| comparison.row(&watch.subject, watch.metric);
    let Some((load, row)) = load.and_then(|load| Some((load, find(load)?))) else {
        return Outcome::Inconclusive { why: "nothing measures the load" };
    };
    let Some((before, after)) = means(row) else {
        return Outcome::Inconclusive { why: "nothing measures the load" };
    };
    if row.verdict == Verdict::Inconclusive {
        return Outcome::Inconclusive { why: "too few valid samples of the load" };
    }
    if before <= 0.0 {
        return Outcome::Inconclusive { why: "there was no load before" };
    }
    if after < before * (1.0 - LOAD_FELL) {
        return Outcome::Inconclusive { why: "the load fell by more than a quarter" };
    }
    let guarded = |row: &Row| guards.iter().any(|guard| guard.subject == row.subject && guard.metric == row.metric.id);
    let worse = |row: &Row| guarded(row) && row.alone(true) == Verdict::Worse;
    let worse: Vec<usize> =
        comparison.rows.iter().enumerate().filter(|(_, row)| worse(row)).map(|(at, _)| at).collect();
    if !worse.is_empty() {
        return Outcome::Worse { rows: worse };
    }
    let more = row.p <= ALONE && after >= before * (1.0 + MORE);
    let cheaper =
        |cost: &Watch| find(cost).is_some_and(|paid| is_cheaper(tried, (load, (before, after)), (cost, paid)));
    if more || cost.is_some_and(cheaper) { Outcome::Improved } else { Outcome::NoChange }
}

/// Whether a unit of load costs so much less, and not by chance: the cost itself fell, or what it is above or below
/// its due, which is the same part of the load before and after unless something changed.
fn is_cheaper(tried: Tried<'_>, load: (&Watch, (f64, f64)), cost: (&Watch, &Row)) -> bool {
    let ((load, (before, after)), (cost, row)) = (load, cost);
    let Some((one, other)) = means(row) else { return false };
    let lower = one > 0.0 && after > 0.0 && other / after <= one / before * (1.0 - CHEAPER);
    if row.metric.better == Better::Higher || !lower {
        return false;
    }
    (row.p <= ALONE && other < one) || per_load(tried, load, cost, row).is_some_and(|p| p <= ALONE)
}

/// Chance of such a difference of the cost per unit of load without a change. The ratio itself would be ruled by the
/// moments with hardly any load.
fn per_load(tried: Tried<'_>, load: &Watch, cost: &Watch, row: &Row) -> Option<f64> {
    let pairs = |side: &Side| {
        let pairs = side.by_block(cost).into_iter().zip(side.by_block(load));
        pairs.filter_map(|(cost, load)| cost.zip(load)).collect::<Vec<(f64, f64)>>()
    };
    let (before, after) = (pairs(tried.before), pairs(tried.after));
    if before.len().min(after.len()) < FEWEST {
        return None;
    }
    let all = || before.iter().chain(&after);
    let due = all().map(|pair| pair.0).sum::<f64>() / all().map(|pair| pair.1).sum::<f64>();
    if !due.is_finite() {
        return None;
    }
    let beside = |pairs: &[(f64, f64)]| pairs.iter().map(|(cost, load)| cost - due * load).collect::<Vec<f64>>();
    let groups = Groups::new(&beside(&before), &beside(&after));
    Some(groups.test(Family::default(), row.metric.noise, tried.comparison.apart).p)
}

fn means(row: &Row) -> Option<(f64, f64)> {
    Some((row.before?.mean, row.after?.mean))
}
