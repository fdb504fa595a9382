//! What processes and control groups used over a whole recording.

use std::collections::BTreeMap;
use std::sync::Arc;
use topotop_model::frame::{Cgroup, Frame, Process};
use topotop_widgets::parts::names;

/// Maximum processes and groups counted.
const MOST: usize = 4096;
/// Rows shown.
const SHOWN: usize = 12;

/// Usage of one of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Total {
    pub(super) name: String,
    /// Process id; none for a group.
    pub(super) pid: Option<u32>,
    pub(super) cgroup: String,
    pub(super) cpu_seconds: f64,
    pub(super) peak_cores: f64,
    /// Peak memory.
    pub(super) memory: u64,
    pub(super) memory_limit: Option<u64>,
    pub(super) read: f64,
    pub(super) written: f64,
}

impl Total {
    /// Its weight: CPU time, or bytes on disks.
    fn weight(&self) -> f64 {
        self.cpu_seconds + (self.read + self.written) / 100e6
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    processes: BTreeMap<(u32, u64), Total>,
    groups: BTreeMap<Arc<str>, Total>,
}

impl Totals {
    /// Adds the next frame.
    pub(super) fn push(&mut self, frame: &Frame) {
        let Some(seconds) = frame.interval_seconds else { return };
        for process in &frame.processes {
            self.process(process, frame, seconds);
        }
        for group in frame.cgroups.iter().filter(|group| !group.path.trim_matches('/').is_empty()) {
            self.group(group, seconds);
        }
    }

    fn process(&mut self, process: &Process, frame: &Frame, seconds: f64) {
        let cores = process.cpu_cores.unwrap_or(0.0);
        let bytes = (process.read_bytes_per_second.unwrap_or(0.0), process.write_bytes_per_second.unwrap_or(0.0));
        if cores < 0.001 && bytes.0 + bytes.1 < 1.0 {
            return;
        }
        let Some(total) = entry(&mut self.processes, (process.pid, process.starttime)) else { return };
        if total.name.is_empty() {
            total.cgroup = frame.cgroup(&process.cgroup).map_or_else(|| process.cgroup.to_string(), names::short);
        }
        (total.name, total.pid) = (process.comm.to_string(), Some(process.pid));
        add(total, cores, bytes, seconds);
        total.memory = total.memory.max(process.rss_bytes.value().unwrap_or(0));
    }

    fn group(&mut self, group: &Cgroup, seconds: f64) {
        let cores = group.cpu.usage_cores.unwrap_or(0.0);
        let read = group.io.iter().map(|io| io.read_bytes_per_second).sum();
        let written = group.io.iter().map(|io| io.write_bytes_per_second).sum();
        let memory = group.memory.as_ref();
        let Some(total) = entry(&mut self.groups, Arc::clone(&group.path)) else { return };
        (total.name, total.cgroup) = (names::short(group), group.path.to_string());
        add(total, cores, (read, written), seconds);
        total.memory = total.memory.max(memory.and_then(|memory| memory.current_bytes.value()).unwrap_or(0));
        total.memory_limit = memory.and_then(|memory| memory.limit_bytes.value());
    }

    /// The processes that used most.
    pub(super) fn processes(&self) -> Vec<&Total> {
        most(self.processes.values())
    }

    /// The groups that used most.
    pub(super) fn groups(&self) -> Vec<&Total> {
        most(self.groups.values())
    }
}

fn add(total: &mut Total, cores: f64, bytes: (f64, f64), seconds: f64) {
    total.cpu_seconds += cores * seconds;
    total.peak_cores = total.peak_cores.max(cores);
    (total.read, total.written) = (total.read + bytes.0 * seconds, total.written + bytes.1 * seconds);
}

/// The entry of a key; drops the smaller half first when there are too many.
fn entry<K: Ord>(all: &mut BTreeMap<K, Total>, key: K) -> Option<&mut Total> {
    if all.len() >= MOST && !all.contains_key(&key) {
        let mut weights: Vec<f64> = all.values().map(Total::weight).collect();
        weights.sort_unstable_by(f64::total_cmp);
        let middle = weights.get(weights.len() / 2).copied()?;
        all.retain(|_, total| total.weight() > middle);
    }
    Some(all.entry(key).or_default())
}

fn most<'a>(all: impl Iterator<Item = &'a Total>) -> Vec<&'a Total> {
    let mut all: Vec<&Total> = all.filter(|total| total.weight() > 0.01).collect();
    all.sort_by(|a, b| b.weight().total_cmp(&a.weight()));
    all.truncate(SHOWN);
    all
}
