//! Compares the two windows: the verdict and its table.

use super::super::Verify;
use crate::diff::stat::rounded;
use crate::diff::window::{End, Ends, steady};
use crate::diff::{
    self, ALONE, Comparison, Outcome, Reason, Row, Side, Spread, Tried, Verdict as Change, Watch, compare_by, stat,
};
use crate::frame::Frame;
use crate::journal::{Measured, called};
use crate::locale::fix::verification as text;
use crate::locale::join;
use std::collections::VecDeque;

/// Below this part of what it was, a load is gone.
const GONE: f64 = 0.1;
/// Samples without a reading after which a load has ended.
const SILENT: usize = 5;
/// An effect below this is worth comparing with an undone window, too.
const SMALL: f64 = 0.20;

/// The verdict on a fix.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// `improved`, `no_change`, `worse`, `inconclusive`.
    pub name: &'static str,
    /// The decisive changes, or why it is inconclusive; names in it are hostile.
    pub why: String,
    /// The measurements, load first.
    pub table: Vec<Measured>,
    /// Of the load: no difference is larger than this part.
    pub bound: Option<f64>,
    /// True where comparing with the time after an undo, too, would decide or make sure.
    pub undo_decides: bool,
}

impl Verdict {
    /// Nothing was measured.
    pub fn unmeasured(why: impl Into<String>) -> Self {
        Self { name: "inconclusive", why: why.into(), table: Vec::new(), bound: None, undo_decides: false }
    }

    /// A limit was exceeded.
    pub fn tripped(why: impl Into<String>, table: Vec<Measured>) -> Self {
        Self { name: "worse", table, ..Self::unmeasured(why) }
    }

    /// True where the fix should be undone.
    pub fn is_worse(&self) -> bool {
        self.name == "worse"
    }

    /// True where it helped.
    pub fn is_improved(&self) -> bool {
        self.name == "improved"
    }

    /// Its words on screens.
    pub fn label(&self) -> String {
        label(self.name, self.bound)
    }
}

/// The words for a verdict; `bound` is the part of the load that no difference is larger than.
pub fn label(name: &str, bound: Option<f64>) -> String {
    match (name, bound) {
        ("improved", _) => text::IMPROVED.to_string(),
        ("worse", _) => text::WORSE.to_string(),
        ("no_change", Some(bound)) => text::NoLarger { bound: &percent(bound) }.to_string(),
        ("no_change", None) => text::NO_CHANGE.to_string(),
        _ => text::INCONCLUSIVE.to_string(),
    }
}

/// Both windows compared, with the names of subjects in them.
struct Compared {
    comparison: Comparison,
    before: Side,
    after: Side,
}

impl Compared {
    fn of<'a>(
        verify: &Verify,
        metric: Option<&Watch>,
        before: impl IntoIterator<Item = &'a Frame>,
        (after, undone): (&[Frame], &[Frame]),
    ) -> Self {
        let fold = |frames: &mut dyn Iterator<Item = &Frame>| {
            // Also a group that hardly does anything, where the fix is for that one.
            let mut side = Side::of_few();
            frames.for_each(|frame| side.push(frame));
            side
        };
        let mut before = fold(&mut before.into_iter().map(|frame| frame as &Frame));
        let after = fold(&mut after.iter());
        if !undone.is_empty() {
            before = before.around(&fold(&mut undone.iter()), &after);
        }
        let own = metric.filter(|watch| [&before, &after].into_iter().all(|side| side.measures(watch)));
        let load = own.or(verify.load.as_ref());
        Self { comparison: compare_by(&before, &after, load), before, after }
    }

    /// A watch with the subject as the comparison names it.
    fn known(&self, watch: &Watch) -> Watch {
        Watch { subject: self.before.called(&watch.subject), metric: watch.metric }
    }

    fn row(&self, watch: &Watch) -> Option<&Row> {
        self.comparison.row(&self.known(watch).subject, watch.metric)
    }

    fn watch(&self, at: usize) -> Option<Watch> {
        let row = self.comparison.rows.get(at)?;
        Some(Watch { subject: row.subject.clone(), metric: row.metric.id })
    }

    /// The load metric: the application's own one where measured before and after.
    fn load<'a>(&self, verify: &'a Verify, metric: Option<&'a Watch>) -> Option<&'a Watch> {
        let is_there = |watch: &&Watch| self.row(watch).is_some_and(|row| row.before.is_some() && row.after.is_some());
        metric.filter(is_there).or(verify.load.as_ref())
    }
}

/// The windows of a verdict: before, after, and after an undo where there was one.
pub(super) struct Windows<'a> {
    pub(super) before: &'a VecDeque<Frame>,
    pub(super) after: &'a [Frame],
    pub(super) undone: &'a [Frame],
    /// True where the load ran on for a while after the fix.
    pub(super) ran_on: bool,
}

impl Windows<'_> {
    /// The window after the undo without what came after the end of the load; too little of it says nothing.
    fn undone_under_load(&self, load: Option<&Watch>) -> &[Frame] {
        let Some(load) = load else { return self.undone };
        let level = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let before: Vec<f64> = self.before.iter().filter_map(|frame| diff::reading(frame, load)).collect();
        let undone: Vec<Option<f64>> = self.undone.iter().map(|frame| diff::reading(frame, load)).collect();
        let part = steady(&undone, Ends::within_load(SILENT));
        let ended = matches!(part.end, End::Ended | End::Collapsed);
        let last = if ended { part.last } else { undone.len() };
        let measured: Vec<f64> = undone.iter().take(last).flatten().copied().collect();
        let ended = measured.len() < stat::FEWEST || level(&measured) < level(&before) * GONE;
        if ended { &[] } else { self.undone.get(..last).unwrap_or_default() }
    }
}

pub(super) fn judge(verify: &Verify, metric: Option<&Watch>, windows: &Windows<'_>) -> Verdict {
    let is_read = |watch: &&Watch| windows.before.back().is_some_and(|frame| diff::reading(frame, watch).is_some());
    let undone = windows.undone_under_load(metric.filter(is_read).or(verify.load.as_ref()));
    // As long as the other neighbour, so that what drifts is the same in the mean of both.
    let longer = windows.before.len().saturating_sub(undone.len());
    let skipped = if undone.is_empty() { 0 } else { longer };
    let before = windows.before.iter().skip(skipped);
    let compared = Compared::of(verify, metric, before, (windows.after, undone));
    let load = compared.load(verify, metric).map(|load| compared.known(load));
    let cost = verify.cost.as_ref().map(|cost| compared.known(cost));
    let guards: Vec<Watch> = verify.guards.iter().map(|guard| compared.known(guard)).collect();
    let tried = Tried { before: &compared.before, after: &compared.after, comparison: &compared.comparison };
    let mut outcome = diff::outcome(tried, load.as_ref(), cost.as_ref(), &guards);
    let row = |watch: &Option<Watch>| watch.as_ref().and_then(|watch| compared.row(watch));
    let (load, cost) = (row(&load), row(&cost));
    // It was there after the fix and is not any more: that says nothing of the fix.
    if windows.ran_on && load.is_some_and(is_gone) {
        outcome = Outcome::Inconclusive { why: Reason::LoadEnded { after: true } };
    }
    if undone.is_empty() && !windows.undone.is_empty() {
        outcome = Outcome::Inconclusive { why: Reason::EndedUndone };
    }
    let (name, why) = match &outcome {
        Outcome::Improved { .. } => {
            ("improved", [load, cost].into_iter().flatten().map(change).collect::<Vec<_>>().join(&join::ITEMS))
        }
        Outcome::Worse { rows } => {
            let rows = rows.iter().filter_map(|row| compared.comparison.rows.get(*row));
            ("worse", rows.map(change).collect::<Vec<_>>().join(&join::ITEMS))
        }
        Outcome::NoChange { .. } => ("no_change", load.map(change).unwrap_or_default()),
        Outcome::Inconclusive { why } => ("inconclusive", reason(why, load)),
    };
    let parts = std::iter::once(why).chain(costs(&compared.comparison)).chain(left_out(&compared.comparison));
    let parts = parts.filter(|part| !part.is_empty());
    let why = parts.collect::<Vec<_>>().join(&join::ITEMS);
    let why = if undone.is_empty() { why } else { text::WithUndone { why: &why }.to_string() };
    let bound = if let Outcome::NoChange { bound } = outcome { Some(bound) } else { None };
    let undo_decides = windows.undone.is_empty() && undo_decides(&outcome, load);
    Verdict { name, why, table: rows(&compared, verify, metric), bound, undo_decides }
}

pub(super) fn table(
    verify: &Verify,
    metric: Option<&Watch>,
    before: &VecDeque<Frame>,
    after: &[Frame],
) -> Vec<Measured> {
    rows(&Compared::of(verify, metric, before, (after, &[])), verify, metric)
}

/// True where hardly anything is left of the load.
fn is_gone(row: &Row) -> bool {
    let before = row.before.map_or(0.0, |side| side.mean);
    row.after.is_none_or(|after| after.mean < before * GONE)
}

/// True where the same window compared with its neighbours on both sides tells more: a trend, noise, a small effect.
fn undo_decides(outcome: &Outcome, load: Option<&Row>) -> bool {
    let ratio = load.and_then(|row| row.decision.as_ref()?.ratio).map_or(1.0, |ratio| ratio[0]);
    match outcome {
        Outcome::Inconclusive { why } => {
            matches!(why, Reason::Trend | Reason::Noise { .. } | Reason::LevelShift | Reason::Offered)
        }
        Outcome::Improved { cheaper } => !cheaper && ratio < 1.0 + SMALL,
        Outcome::Worse { .. } | Outcome::NoChange { .. } => false,
    }
}

/// Samples at the beginning of either window in which the load was not steady yet.
fn left_out(comparison: &Comparison) -> Option<String> {
    let [before, after] = comparison.windows.map(|window| window.ramp);
    (before + after > 0).then(|| text::LeftOut { before: &before, after: &after }.to_string())
}

/// A reason in words, its numbers as parts of the load.
fn reason(why: &Reason, load: Option<&Row>) -> String {
    let level = load.and_then(|row| row.before).map_or(0.0, |side| side.mean.abs());
    why.text(|value| if level > 0.0 { percent(value / level) } else { format!("{value:.3}") })
}

/// What a unit of the application's own work costs: CPU time, and whatever else changed.
fn costs(comparison: &Comparison) -> Vec<String> {
    let Some(load) = comparison.load.as_ref().filter(|load| matches!(load.subject, diff::Subject::Metric(_))) else {
        return Vec::new();
    };
    let changed = |cost: &&diff::CostChange| cost.verdict().is_change();
    let text = |cost: &diff::CostChange| {
        let change = cost.after / cost.before - 1.0;
        let (label, change) = (cost.cost.label(), format!("{:+.0}%", change * 100.0));
        let load = called(&load.subject.to_string(), load.metric);
        text::CostPerUnit { cost: &label, load: &load, change: &change }.to_string()
    };
    comparison.costs.iter().filter(changed).map(text).collect()
}

/// `4.2 %`.
fn percent(part: f64) -> String {
    if part < 0.1 { format!("{:.1} %", part * 100.0) } else { format!("{:.0} %", part * 100.0) }
}

/// `packets received (nic:eth0) +18%`.
fn change(row: &Row) -> String {
    let name = called(&row.subject.to_string(), row.metric.id);
    match (row.before, row.after) {
        (Some(before), Some(after)) if before.mean.abs() > 0.0 => {
            let change = format!("{:+.0}%", (after.mean / before.mean - 1.0) * 100.0);
            let interval = row.decision.as_ref().and_then(|decision| decision.ratio);
            let interval = interval.map(|[_, low, high]| {
                let (low, high) = (format!("{:+.0}", (low - 1.0) * 100.0), format!("{:+.0}%", (high - 1.0) * 100.0));
                text::Interval { low: &low, high: &high }.to_string()
            });
            let change = interval.map_or(change.clone(), |interval| format!("{change} {interval}"));
            text::Change { name: &name, change: &change }.to_string()
        }
        (Some(_), Some(after)) if after.mean.abs() > 0.0 => text::ChangeFromZero { name: &name }.to_string(),
        _ => text::ChangeNone { name: &name }.to_string(),
    }
}

/// The measured rows, each once, in the order of their roles.
fn rows(compared: &Compared, verify: &Verify, metric: Option<&Watch>) -> Vec<Measured> {
    let load = compared.load(verify, metric);
    let mut seen: Vec<&Watch> = Vec::new();
    let mut table = Vec::new();
    let named = load.map(|watch| (watch, "load")).into_iter().chain(verify.cost.iter().map(|watch| (watch, "cost")));
    let named = named.chain(verify.guards.iter().map(|watch| (watch, "guard")));
    // The application's other metrics; where one of its own is the load, the fix's one is still shown.
    let own: Vec<Watch> = compared.comparison.own().into_iter().filter_map(|at| compared.watch(at)).collect();
    let named = named.chain(own.iter().chain(&verify.load).chain(&verify.shown).map(|watch| (watch, "shown")));
    for (watch, role) in named {
        if !seen.contains(&watch) {
            seen.push(watch);
            table.push(measured(compared, watch, role, verify.guards.len()));
        }
    }
    table
}

fn measured(compared: &Compared, watch: &Watch, role: &str, guards: usize) -> Measured {
    let row = compared.row(watch);
    let spread = |spread: Option<Spread>| spread.map(|spread| [spread.mean, spread.low, spread.high].map(rounded));
    let samples = |row: &Row| Some([row.before?.samples, row.after?.samples]);
    let guard = role == "guard";
    let chance = if guard { ALONE / guards.max(1) as f64 } else { ALONE };
    let (verdict, reason) = row.map_or((Change::Inconclusive, None), |row| row.alone(chance, guard));
    let decision = row.and_then(|row| row.decision.as_ref());
    Measured {
        subject: watch.subject.to_string(),
        metric: watch.metric.to_owned(),
        role: role.to_owned(),
        before: row.and_then(|row| spread(row.before)),
        after: row.and_then(|row| spread(row.after)),
        verdict: verdict.name().to_owned(),
        interval: decision.map(|decision| decision.interval.map(rounded)),
        bound: decision.map(|decision| rounded(decision.bound)),
        reason: reason.map(|reason| reason.name().to_owned()),
        samples_used: row.and_then(samples),
    }
}
