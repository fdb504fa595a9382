//! What was measured of each side, what a unit of work costs, and what leaves a verdict open.

use super::super::{OrNull, safe};
use crate::diff::stat::rounded;
use crate::diff::window::End;
use crate::diff::{Bias, CostChange, Reason, Spread, Verdict, Window};
use serde::Serialize;

/// Which part of each side was measured.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Windows {
    before: UsedWindow,
    after: UsedWindow,
}

impl From<&[Window; 2]> for Windows {
    fn from([before, after]: &[Window; 2]) -> Self {
        Self { before: before.into(), after: after.into() }
    }
}

/// The steady part of a side.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UsedWindow {
    samples_used: u64,
    /// Left out while the load ramped up.
    ramp_samples: u64,
    /// Left out at the end.
    tail_samples: u64,
    /// True if the load ended within the side.
    load_ended: bool,
}

impl From<&Window> for UsedWindow {
    fn from(window: &Window) -> Self {
        let load_ended = matches!(window.end, End::Ended | End::Collapsed);
        Self { samples_used: window.samples, ramp_samples: window.ramp, tail_samples: window.tail, load_ended }
    }
}

/// What a unit of work costs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct UnitCost {
    /// `cpu_seconds`, `packets`, `network_bytes`, `disk_bytes` or `waiting_seconds`.
    cost: &'static str,
    before: f64,
    after: f64,
    verdict: Verdict,
    /// 95 % interval of the difference.
    interval: [f64; 2],
    /// No difference is larger than this.
    bound: f64,
    /// Why it is not decided.
    reason: OrNull<&'static str>,
    /// Samples before and after.
    samples_used: [u64; 2],
}

impl From<&CostChange> for UnitCost {
    fn from(change: &CostChange) -> Self {
        Self {
            cost: change.cost.name(),
            before: rounded(change.before),
            after: rounded(change.after),
            verdict: change.verdict(),
            interval: change.decision.interval.map(rounded),
            bound: rounded(change.decision.bound),
            reason: OrNull(change.reason.as_ref().map(Reason::name)),
            samples_used: change.samples,
        }
    }
}

/// Something else that differed between the sides.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BiasNote {
    reason: &'static str,
    text: String,
    /// The verdict that it leaves undecided.
    against: Verdict,
}

impl From<&Bias> for BiasNote {
    fn from(bias: &Bias) -> Self {
        let text = safe(bias.reason.text(|value| format!("{value:.3}")));
        Self { reason: bias.reason.name(), text, against: bias.against }
    }
}

pub(super) fn rounded_spread(spread: Spread) -> Spread {
    let Spread { median, low, high, mean, samples } = spread;
    let [median, low, high, mean] = [median, low, high, mean].map(rounded);
    Spread { median, low, high, mean, samples }
}
