//! `topotop.snapshot/1`: one frame with its findings.

use super::{Bottleneck, Finding, OrNull, Resource, RuleState, absent};
use crate::frame::{
    Accelerator, ArchIrq, Cgroup, Cost, Cpu, Disk, Frame, Host, Irq, Irqbalance, KernelTables, Memory, MemoryBandwidth,
    Metric, NetNamespace, Nic, Node, PressureStall, Process, Softirq, SoftnetRow, Topology,
};
use crate::text::printable;
use crate::{Gap, State};
use serde::{Serialize, Serializer};
use serde_with::apply;
use std::borrow::Cow;

/// Name and version of the document; it changes only if a key changes its meaning.
pub const SNAPSHOT: &str = "topotop.snapshot/1";

/// One frame as a document.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Snapshot<'a> {
    /// Name and version of the document.
    pub schema: &'a str,
    /// RFC 3339, UTC.
    pub taken_at: String,
    /// Between the two samples; null when there is only one.
    pub interval_seconds: OrNull<f64>,
    /// True if processes or control groups were left out on request.
    pub truncated: bool,
    /// Identity of the machine.
    pub host: &'a Host,
    /// Where CPUs, caches and memory are, by the kernel's numbers.
    pub topology: &'a Topology,
    /// Online CPUs by number, and where their time went.
    pub cpus: Vec<&'a Cpu>,
    /// Memory of the machine.
    pub memory: &'a Memory,
    /// NUMA nodes.
    pub nodes: &'a [Node],
    /// Device interrupts.
    pub irqs: Option<&'a [Irq]>,
    /// The architecture's own interrupts.
    pub irqs_arch: Option<&'a [ArchIrq]>,
    /// irqbalance.
    pub irqbalance: Option<&'a Irqbalance>,
    /// By name: NET_RX, TIMER, …
    pub softirqs: Option<Named<'a, &'a Softirq>>,
    /// Packet backlog by CPU.
    pub softnet: Option<&'a [SoftnetRow]>,
    /// Network interfaces by index.
    pub nics: Option<&'a [Nic]>,
    /// Control groups by path.
    pub cgroups: Option<Vec<&'a Cgroup>>,
    /// Block devices other than partitions, by name.
    pub disks: Option<&'a [Disk]>,
    /// Processes by pid.
    pub processes: Option<Vec<&'a Process>>,
    /// Counters of TCP, UDP and connection tracking, by network namespace: topotop's own and those of busy processes.
    pub net_namespaces: Option<Vec<Namespace<'a>>>,
    /// Kernel tables that can fill up.
    pub kernel_tables: &'a KernelTables,
    /// How long tasks waited, by resource: cpu, memory, io, irq.
    pub pressure: Option<Named<'a, &'a PressureStall>>,
    /// Memory bandwidth by L3 (resctrl); its capacity is not known.
    pub memory_bandwidth: Option<&'a [MemoryBandwidth]>,
    /// GPUs and other accelerators, by name.
    pub accelerators: Option<&'a [Accelerator]>,
    /// Settings that rules read, by name.
    pub sysctls: Option<Named<'a, Cow<'a, str>>>,
    /// The application metrics of --metric.
    pub metrics: Option<Vec<ApplicationMetric<'a>>>,
    /// Every rule, so that "no findings" is never mistaken for an all-clear.
    pub rules: Option<Vec<RuleState>>,
    /// The open findings.
    pub findings: Option<Vec<Finding>>,
    /// What limits the machine.
    pub bottleneck: Option<Bottleneck>,
    /// Resources that may limit the machine.
    pub resources: Option<Vec<Resource>>,
    /// What was tried and could not be read.
    pub gaps: &'a [Gap],
    /// Overhead of topotop itself.
    pub cost: &'a Cost,
}

impl<'a> Snapshot<'a> {
    /// A frame without findings, taken at a time, with the processes and control groups that are shown.
    pub fn of(frame: &'a Frame, taken_at: String, processes: Vec<&'a Process>, cgroups: Vec<&'a Cgroup>) -> Self {
        let read = &frame.sections;
        let softirqs = frame.softirqs.iter().map(|row| (&*row.name, row));
        let sysctls = frame.sysctls.iter().map(|(name, value)| (&**name, printable(value)));
        let pressure = frame.pressure.iter().map(|row| (&*row.resource, &row.stall));
        let metrics = frame.metrics.iter().map(|metric| ApplicationMetric { metric, shows_load: metric.shows_load() });
        let namespaces =
            frame.net_namespaces.iter().map(|row| Namespace { row, retransmit_ratio: row.retransmit_ratio() });
        Self {
            schema: SNAPSHOT,
            taken_at,
            interval_seconds: OrNull(frame.interval_seconds),
            truncated: processes.len() < frame.processes.len() || cgroups.len() < frame.cgroups.len(),
            host: &frame.host,
            topology: &frame.topology,
            cpus: frame.cpus.iter().filter(|cpu| cpu.online).collect(),
            memory: &frame.memory,
            nodes: &frame.nodes,
            irqs: rows(read.irqs, &frame.irqs),
            irqs_arch: rows(read.irqs_arch, &frame.irqs_arch),
            irqbalance: frame.irqbalance.as_ref(),
            softirqs: is_known(read.softirqs, &frame.softirqs).then(|| Named(softirqs.collect())),
            softnet: rows(read.softnet, &frame.softnet),
            nics: rows(read.nics, &frame.nics),
            cgroups: is_known(read.cgroups, &cgroups).then_some(cgroups),
            disks: rows(read.disks, &frame.disks),
            processes: is_known(read.processes, &processes).then_some(processes),
            net_namespaces: (!frame.net_namespaces.is_empty()).then(|| namespaces.collect()),
            kernel_tables: &frame.kernel_tables,
            pressure: (!frame.pressure.is_empty()).then(|| Named(pressure.collect())),
            memory_bandwidth: (!frame.memory_bandwidth.is_empty()).then_some(&frame.memory_bandwidth),
            accelerators: (!frame.accelerators.is_empty()).then_some(&frame.accelerators),
            sysctls: is_known(read.sysctls, &frame.sysctls).then(|| Named(sysctls.collect())),
            metrics: is_known(read.metrics, &frame.metrics).then(|| metrics.collect()),
            rules: None,
            findings: None,
            bottleneck: None,
            resources: None,
            gaps: &frame.gaps,
            cost: &frame.cost,
        }
    }
}

/// A list without rows says "none" only where its section was read.
fn is_known<T>(state: State, rows: &[T]) -> bool {
    state.is_read() || !rows.is_empty()
}

fn rows<T>(state: State, rows: &[T]) -> Option<&[T]> {
    is_known(state, rows).then_some(rows)
}

/// A network namespace.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Namespace<'a> {
    #[serde(flatten)]
    row: &'a NetNamespace,
    /// Retransmitted share of the segments sent.
    retransmit_ratio: Option<f64>,
}

/// An application metric.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ApplicationMetric<'a> {
    #[serde(flatten)]
    metric: &'a Metric,
    /// Whether it shows load; absent if unknown, or if the metric is not a measure of load.
    shows_load: Option<bool>,
}

/// Values by name; names are the machine's.
#[derive(Debug)]
pub struct Named<'a, T>(pub Vec<(&'a str, T)>);

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (printable(name), value)))
    }
}
