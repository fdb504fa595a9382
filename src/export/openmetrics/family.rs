//! A family of metrics: one row of the table.

use super::Page;
use super::rows::Rows;

/// The prefix of every name.
const PREFIX: &str = "topotop_";

/// What a value means over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A gauge.
    Gauge,
    /// A counter: grows until a restart.
    Counter,
    /// An info: its labels carry the information, the value is 1.
    Info,
}

impl Kind {
    /// Its name in OpenMetrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Info => "info",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Gauge => "",
            Self::Counter => "_total",
            Self::Info => "_info",
        }
    }
}

/// What a family is about: a row of panels on the dashboards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What limits the machine.
    Answer,
    /// What is wrong.
    Findings,
    /// CPUs and nodes.
    Cpu,
    /// Memory by node.
    Memory,
    /// NICs and their queues.
    Network,
    /// Disks.
    Disk,
    /// Pressure.
    Pressure,
    /// The application's own numbers.
    Application,
    /// The monitor itself.
    Monitor,
}

/// A family of metrics.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name without prefix and suffix; with its unit.
    pub name: &'static str,
    /// What its values mean over time.
    pub kind: Kind,
    /// `seconds`, `bytes`, `ratio`; empty for counts.
    pub unit: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Labels that tell its series apart.
    pub labels: &'static [&'static str],
    /// What it is about.
    pub section: Section,
    /// Reads its series from a page.
    pub(super) read: fn(&Page<'_>, &mut Rows<'_>),
}

impl Family {
    /// The name of the family as OpenMetrics has it.
    pub fn full_name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    /// The name of its series.
    pub fn series(&self) -> String {
        format!("{PREFIX}{}{}", self.name, self.kind.suffix())
    }
}
