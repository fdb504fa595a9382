//! The last frame as a page of metrics, in OpenMetrics and in the text format of Prometheus.
//!
//! One table of families ([`all`]) feeds the pages, the dashboards, the alert rules and the list in docs/fleet.md.

mod dashboards;
mod encode;
mod families;
mod family;
mod fleet;
mod rows;
mod totals;

pub use dashboards::dashboards;
pub use encode::{Format, write};
pub use families::all;
pub use family::{Family, Kind, Section};
pub use fleet::{alert_rules, list, recording_rules};
pub use totals::Totals;

use topotop_model::frame::Frame;
use topotop_model::judge::Judgement;

/// Input of a page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The last frame.
    pub frame: &'a Frame,
    /// Its judgement.
    pub judgement: &'a Judgement,
    /// Totals over the frames so far.
    pub totals: &'a Totals,
    /// Time of the sample, in ns since 1970.
    pub taken_ns: i64,
    /// Whether subjects of findings are named.
    pub names: bool,
}

#[cfg(test)]
mod tests;
