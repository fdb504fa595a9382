//! What the application itself measures, and what a unit of its work costs: it comes first.

use super::number;
use topotop_model::diff::window::End;
use topotop_model::diff::{Comparison, CostChange, Row, Spread, Verdict, Window};
use topotop_model::locale::{diff as text, join};
use topotop_model::text::printable;

/// A line: verdict, name, before, after, the change with its interval, and why it is not decided.
pub(crate) struct Line {
    pub(crate) verdict: Verdict,
    pub(crate) name: String,
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) change: String,
    pub(crate) note: String,
    /// By how much it rose; none where that has no meaning.
    pub(crate) ratio: Option<f64>,
}

/// A line per metric of the application.
pub(crate) fn lines(comparison: &Comparison, minus: &str) -> Vec<Line> {
    let rows = comparison.own().into_iter().filter_map(|at| comparison.rows.get(at));
    rows.filter(|row| row.before.is_some() || row.after.is_some()).map(|row| line(row, minus)).collect()
}

/// A line per cost of a unit.
pub(super) fn costs(comparison: &Comparison, minus: &str) -> Vec<Line> {
    comparison.costs.iter().map(|cost| cost_line(cost, minus)).collect()
}

/// The name of the load metric.
pub(super) fn load(comparison: &Comparison) -> Option<String> {
    let load = comparison.load.as_ref()?;
    Some(printable(name(&load.subject.to_string())).into_owned())
}

fn name(subject: &str) -> &str {
    subject.strip_prefix("metric:").unwrap_or(subject)
}

fn line(row: &Row, minus: &str) -> Line {
    let unit = printable(&row.unit);
    let mean = |spread: Option<Spread>| spread.map_or("-".to_owned(), |spread| number::own(spread.mean, &unit));
    let both = row.before.zip(row.after);
    let change = match (&row.decision, both) {
        (Some(decision), _) => match decision.ratio {
            Some(ratio) => interval(ratio, minus),
            None => number::own(decision.shift, &unit),
        },
        (None, Some((before, after))) if before.mean > 0.0 => number::ratio(after.mean / before.mean, minus),
        (None, _) => String::new(),
    };
    let level = row.before.map_or(0.0, |before| before.mean.abs());
    let part = |size: f64| if level > 0.0 { number::part(size / level) } else { number::own(size, &unit) };
    let answer = match (row.verdict, &row.reason, &row.decision) {
        (Verdict::Inconclusive, Some(reason), _) => text::NotDecided { reason: &reason.text(part) }.to_string(),
        (Verdict::NoChange, _, Some(decision)) => text::NoLarger { bound: &part(decision.bound) }.to_string(),
        _ => String::new(),
    };
    let samples =
        both.map(|(before, after)| text::SamplesUsed { before: &before.samples, after: &after.samples }.to_string());
    let note = [answer, samples.unwrap_or_default()].into_iter().filter(|part| !part.is_empty());
    let note = note.collect::<Vec<String>>().join(&join::CLAUSES);
    let name = printable(name(&row.subject.to_string())).into_owned();
    let ratio = both.filter(|both| both.0.mean > 0.0).map(|(before, after)| after.mean / before.mean);
    Line { verdict: row.verdict, name, before: mean(row.before), after: mean(row.after), change, note, ratio }
}

fn cost_line(cost: &CostChange, minus: &str) -> Line {
    let value = |value: f64| number::cost(cost.cost, value);
    let part = |size: f64| number::part(size / cost.before);
    let verdict = cost.verdict();
    let note = match (&cost.reason, verdict) {
        (Some(reason), _) => text::NotDecided { reason: &reason.text(part) }.to_string(),
        (None, Verdict::NoChange) => text::NoLarger { bound: &part(cost.decision.bound) }.to_string(),
        _ => String::new(),
    };
    let change = cost.decision.ratio.map_or_else(String::new, |ratio| interval(ratio, minus));
    let name = cost.cost.label().to_string();
    let ratio = cost.decision.ratio.map(|ratio| ratio[0]);
    Line { verdict, name, before: value(cost.before), after: value(cost.after), change, note, ratio }
}

fn interval([ratio, low, high]: [f64; 3], minus: &str) -> String {
    let [ratio, low, high] = [ratio, low, high].map(|ratio| number::ratio(ratio, minus));
    text::Interval { change: &ratio, low: &low, high: &high }.to_string()
}

/// What of each side was left out, and what else differed.
pub(super) fn notes(comparison: &Comparison) -> Vec<String> {
    let windows = ["A", "B"].into_iter().zip(&comparison.windows);
    let mut notes: Vec<String> = windows.flat_map(|(side, window)| left_out(side, window)).collect();
    let bias = |reason: &topotop_model::diff::Reason| {
        text::Biased { reason: &reason.text(|value| format!("{value:.3}")) }.to_string()
    };
    notes.extend(comparison.biases.iter().map(|one| bias(&one.reason)));
    notes
}

fn left_out(side: &str, window: &Window) -> Vec<String> {
    let seconds = |samples: u64| format!("{:.0}", samples as f64 * window.interval_seconds);
    let ramp = (window.ramp > 0).then(|| text::RampLeftOut { side: &side, seconds: &seconds(window.ramp) }.to_string());
    let tail = (window.tail > 0).then(|| match window.end {
        End::Ended | End::Collapsed => text::EndLeftOut { side: &side, seconds: &seconds(window.tail) }.to_string(),
        End::Steady | End::Tail => text::TailLeftOut { side: &side, seconds: &seconds(window.tail) }.to_string(),
    });
    ramp.into_iter().chain(tail).collect()
}
