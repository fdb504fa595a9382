//! The verdict on a fix: did what it is meant to help get better, and nothing that matters worse?

use super::compare::{Comparison, Row, Verdict};
use super::metric::Better;
use super::subject::Subject;

/// Throughput that is so much higher is an improvement.
const MORE: f64 = 0.10;
/// Cost per unit of load that is so much lower is one, too.
const CHEAPER: f64 = 0.20;
/// A load that fell by more than this was no fair test.
const LOAD_FELL: f64 = 0.25;

/// A metric of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Of what.
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

/// Judges a change by what carries the load, what it costs, and what must not suffer.
///
/// Improved: the load's metric is at least 10 % higher, or the cost per unit of load at least 20 % lower, and no guard
/// got worse. Inconclusive: there is no load metric, or the load fell by more than a quarter.
pub fn outcome(comparison: &Comparison, load: Option<&Watch>, cost: Option<&Watch>, guards: &[Watch]) -> Outcome {
    let find = |watch: &Watch| comparison.row(&watch.subject, watch.metric);
    let Some((load, (before, after))) = load.and_then(find).and_then(|row| Some((row, means(row)?))) else {
        return Outcome::Inconclusive { why: "nothing measures the load" };
    };
    if load.verdict == Verdict::Inconclusive {
        return Outcome::Inconclusive { why: "too few valid samples of the load" };
    }
    if before <= 0.0 {
        return Outcome::Inconclusive { why: "there was no load before" };
    }
    let fell = after < before * (1.0 - LOAD_FELL);
    let guarded = |row: &Row| guards.iter().any(|guard| guard.subject == row.subject && guard.metric == row.metric.id);
    let worse = |row: &Row| row.verdict == Verdict::Worse && guarded(row);
    let worse: Vec<usize> =
        comparison.rows.iter().enumerate().filter(|(_, row)| worse(row)).map(|(at, _)| at).collect();
    if fell {
        return Outcome::Inconclusive { why: "the load fell by more than a quarter" };
    }
    if !worse.is_empty() {
        return Outcome::Worse { rows: worse };
    }
    let more = load.verdict.is_change() && after >= before * (1.0 + MORE);
    let cheaper = cost.and_then(find).is_some_and(|row| {
        let lower = row.verdict.is_change() || load.verdict.is_change();
        lower
            && row.metric.better != Better::Higher
            && means(row)
                .is_some_and(|(one, other)| one > 0.0 && after > 0.0 && other / after <= one / before * (1.0 - CHEAPER))
    });
    if more || cheaper { Outcome::Improved } else { Outcome::NoChange }
}

fn means(row: &Row) -> Option<(f64, f64)> {
    Some((row.before?.mean, row.after?.mean))
}
