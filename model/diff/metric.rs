//! What a metric is: its unit, which way is better, what is too little to speak of, and how a frame is read.

use super::stat::Noise;
use crate::frame::{Cgroup, Cpu, Disk, Frame, Irq, Nic, Node, Process, Queue, Softirq, SoftnetRow};
use crate::locale::Text;
use serde::Serialize;

/// What a metric's numbers measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A fraction 0..1.
    Share,
    /// Cores' worth of time.
    Cores,
    /// Events per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// Megahertz.
    Megahertz,
    /// Things.
    Count,
    /// Whatever the user says.
    Number,
}

impl Measure {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Share => "share",
            Self::Cores => "cores",
            Self::PerSecond => "per_second",
            Self::BytesPerSecond => "bytes_per_second",
            Self::Bytes => "bytes",
            Self::Milliseconds => "milliseconds",
            Self::Megahertz => "megahertz",
            Self::Count => "count",
            Self::Number => "number",
        }
    }
}

/// Which direction is better, all else being equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less.
    Lower,
    /// More.
    Higher,
    /// Neither direction is better.
    Neither,
}

impl Better {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "neither",
        }
    }
}

/// What a change has to exceed before anybody wants to hear of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Floor {
    /// So much in the metric's own unit.
    Absolute(f64),
    /// So much, and such a fraction of the larger value.
    Both(f64, f64),
    /// A hundredth of the machine's memory, at least 64 MiB, and a tenth of the larger value.
    Memory,
}

impl Floor {
    /// The floor between two values on a machine with so much memory.
    pub fn between(self, before: f64, after: f64, memory_bytes: f64) -> f64 {
        let larger = before.abs().max(after.abs());
        match self {
            Self::Absolute(least) => least,
            Self::Both(least, fraction) => least.max(fraction * larger),
            Self::Memory => (memory_bytes / 100.0).max(64.0 * 1024.0 * 1024.0).max(larger / 10.0),
        }
    }
}

/// How several rows of one subject become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Sum,
    Mean,
}

/// What it means that a subject is not there or has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// It used none.
    Zero,
    /// Nobody knows.
    Unknown,
}

/// How a frame is read.
#[derive(Clone, Copy)]
pub(super) enum Read {
    Host(fn(&Frame) -> Option<f64>),
    Cpu(fn(&Cpu) -> Option<f64>),
    Softnet(fn(&SoftnetRow) -> Option<f64>),
    Node(fn(&Node) -> Option<f64>),
    Irq(fn(&Irq) -> Option<f64>),
    Softirq(fn(&Softirq) -> Option<f64>),
    Nic(fn(&Nic) -> Option<f64>),
    Queue(fn(&Queue) -> Option<f64>),
    Pressure(fn(&crate::frame::PressureStall) -> Option<f64>),
    Cgroup(fn(&Cgroup) -> Option<f64>),
    Disk(fn(&Disk) -> Option<f64>),
    Process(fn(&Process) -> Option<f64>),
    Metric(fn(&crate::frame::Metric) -> Option<f64>),
}

/// One metric of one kind of subject.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Its id for ever: `cpu.busy`.
    pub id: &'static str,
    /// What it is called under its subject.
    pub name: Text,
    /// What its numbers measure.
    pub measure: Measure,
    /// Which way is better.
    pub better: Better,
    /// The smallest change worth a word.
    pub floor: Floor,
    /// How it behaves when nothing changes.
    pub noise: Noise,
    pub(super) join: Join,
    pub(super) absent: Absent,
    pub(super) read: Read,
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Metric {
    /// A metric that swings about a mean and is unknown where there is no value.
    pub(super) const fn new(
        id: &'static str,
        name: Text,
        measure: Measure,
        better: Better,
        floor: Floor,
        read: Read,
    ) -> Self {
        let (noise, join, absent) = (Noise::Stationary, Join::Sum, Absent::Unknown);
        Self { id, name, measure, better, floor, noise, join, absent, read }
    }

    /// It drifts, as what is in use does.
    pub(super) const fn drifting(mut self) -> Self {
        self.noise = Noise::Drifting;
        self
    }

    /// Who is not there uses none.
    pub(super) const fn or_zero(mut self) -> Self {
        self.absent = Absent::Zero;
        self
    }

    /// Rows of one subject are averaged.
    pub(super) const fn mean(mut self) -> Self {
        self.join = Join::Mean;
        self
    }
}
