//! The series of one subject.

use crate::diff::metric::Join;
use crate::diff::metrics::{self, Table};
use crate::diff::series::Series;
use crate::diff::subject::Subject;
use std::sync::Arc;

/// Kinds of subject, in the order of [`metrics::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::diff) enum Kind {
    Host,
    Cpu,
    Node,
    Pressure,
    Nic,
    Queue,
    Irq,
    Softirq,
    Cgroup,
    Disk,
    Process,
    Metric,
}

impl Kind {
    pub(in crate::diff) fn table(self) -> Table {
        metrics::ALL.get(self as usize).copied().unwrap_or_default()
    }

    /// Subjects of one kind that are followed at most: names are hostile, and a day has many processes.
    pub(super) fn most(self) -> usize {
        match self {
            Self::Cpu | Self::Node | Self::Host => usize::MAX,
            Self::Process | Self::Cgroup | Self::Irq | Self::Queue => 4096,
            Self::Pressure | Self::Nic | Self::Softirq | Self::Disk | Self::Metric => 1024,
        }
    }
}

/// The series of one subject.
#[derive(Debug)]
pub(in crate::diff) struct Entry {
    pub(in crate::diff) kind: Kind,
    pub(in crate::diff) subject: Subject,
    /// What it belongs to where its name does not say: the interface of an interrupt.
    pub(in crate::diff) owner: Option<Subject>,
    /// True of kernel threads.
    pub(in crate::diff) kernel: bool,
    /// The unit that its user gave it; hostile.
    pub(in crate::diff) unit: Arc<str>,
    /// By the place of the metric in the kind's table.
    pub(in crate::diff) series: Vec<Series>,
    pub(super) now: Vec<(f64, u32)>,
}

impl Entry {
    pub(super) fn new(kind: Kind, subject: Subject) -> Self {
        let count = kind.table().len();
        Self {
            kind,
            subject,
            owner: None,
            kernel: false,
            unit: "".into(),
            series: vec![Series::default(); count],
            now: vec![(0.0, 0); count],
        }
    }

    pub(super) fn finish(&mut self, block: usize) {
        for ((metric, series), now) in self.kind.table().iter().zip(&mut self.series).zip(&mut self.now) {
            let (sum, count) = std::mem::take(now);
            if count > 0 {
                series.add(block, if metric.join == Join::Mean { sum / f64::from(count) } else { sum });
            }
        }
    }
}
