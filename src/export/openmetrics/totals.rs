//! Sums over frames, for what a frame knows as shares and rates only: a scrape every 15 s would miss most of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use topotop_model::frame::{CpuShares, Frame};

/// Modes of CPU time, as labels.
pub(super) const MODES: [&str; 7] = ["user", "system", "irq", "softirq", "iowait", "steal", "idle"];

/// Sums since the monitor began, of what is there now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Seconds by node and mode.
    pub(super) cpu: BTreeMap<u32, [f64; MODES.len()]>,
    /// Bytes read and written, by disk.
    pub(super) disks: BTreeMap<Arc<str>, [f64; 2]>,
    /// Seconds in which some and all tasks waited, by resource.
    pub(super) pressure: BTreeMap<Arc<str>, [Option<f64>; 2]>,
    /// CPU seconds of the monitor; none where they are not known, as in recordings of others.
    pub(super) monitor: Option<f64>,
}

fn modes(shares: &CpuShares) -> [f64; MODES.len()] {
    [shares.user, shares.system, shares.irq, shares.softirq, shares.iowait, shares.steal, shares.idle]
}

impl Totals {
    /// Adds what went on since the frame before.
    pub fn take(&mut self, frame: &Frame) {
        self.monitor = frame.cost.cpu_ms.map(|ms| self.monitor.unwrap_or(0.0) + ms / 1e3).or(self.monitor);
        let Some(seconds) = frame.interval_seconds else { return };
        for cpu in &frame.cpus {
            if let (Some(shares), Some(node)) = (&cpu.shares, node(frame, cpu.id)) {
                let sums = self.cpu.entry(node).or_default();
                sums.iter_mut().zip(modes(shares)).for_each(|(sum, share)| *sum += share * seconds);
            }
        }
        for disk in &frame.disks {
            if let (Some(read), Some(written)) = (disk.read_bytes_per_second, disk.write_bytes_per_second) {
                let sums = self.disks.entry(Arc::clone(&disk.name)).or_default();
                sums.iter_mut().zip([read, written]).for_each(|(sum, rate)| *sum += rate * seconds);
            }
        }
        // What went away begins at zero when it comes back.
        self.disks.retain(|name, _| frame.disks.iter().any(|disk| disk.name == *name));
        for row in &frame.pressure {
            let sums = self.pressure.entry(Arc::clone(&row.resource)).or_default();
            for (sum, ratio) in sums.iter_mut().zip([row.stall.some_ratio, row.stall.full_ratio]) {
                *sum = ratio.map(|ratio| sum.unwrap_or(0.0) + ratio * seconds).or(*sum);
            }
        }
    }
}

/// The node of a CPU; 0 on machines without nodes.
pub(super) fn node(frame: &Frame, cpu: u32) -> Option<u32> {
    if frame.topology.nodes.is_empty() { Some(0) } else { frame.topology.node_of(cpu) }
}
