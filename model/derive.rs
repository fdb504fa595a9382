//! From two generations of raw counters to one frame: pure, once per tick, one file per subject.

mod accelerators;
mod cgroups;
mod cooling;
mod cpus;
mod disks;
mod host;
mod interrupt_threads;
mod irqs;
mod limits;
mod memory;
mod metrics;
mod nics;
mod off_cpu;
mod processes;
mod rates;
mod topology;
mod waits;

use crate::frame::{Frame, Topology};
use crate::{Gap, Reason, Section, Snapshot, Table, Visit, Window};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the user knows better than the kernel; it changes the frame and so goes into recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Configured capacity by interface, in Mbit/s.
    pub nic_capacity_mbps: Vec<(String, u64)>,
}

/// Derives frames; keeps the topology between them, since it hardly ever changes.
#[derive(Debug, Default)]
pub struct Deriver {
    settings: Settings,
    topology: Arc<Topology>,
    topology_read_at: (u64, u64, u64, u64),
    /// A frame that nobody needs any more.
    spare: Frame,
}

impl Deriver {
    /// A deriver with what the user configured.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes back a frame that nobody needs any more: the next one is made of what it has.
    pub fn recycle(&mut self, frame: Frame) {
        self.spare = frame;
    }

    /// The frame of a window: equal windows give equal frames.
    pub fn frame(&mut self, window: &Window) -> Frame {
        let now = &window.now;
        let read_at = (
            now.cpu_topology.read_at_ns,
            now.node_topology.read_at_ns,
            now.domains.read_at_ns,
            // Only which CPUs there are: where no topology was captured, the CPUs of /proc/stat stand in.
            now.cpu_times.data().rows().len() as u64,
        );
        if self.topology_read_at != read_at {
            self.topology = Arc::new(topology::derive(now));
            self.topology_read_at = read_at;
        }
        let mut frame = Frame {
            stamp: now.stamp,
            interval_seconds: rates::interval(window),
            topology: Arc::clone(&self.topology),
            gaps: gaps(now),
            unread: unread(now),
            sections: now.states(),
            ..Frame::default()
        };
        host::derive(window, &mut frame);
        cpus::derive(window, &mut frame);
        cooling::derive(window, &mut frame);
        memory::derive(window, &mut frame);
        irqs::derive(window, &mut frame);
        nics::derive(window, &self.settings, &mut frame);
        cgroups::derive(window, &mut frame);
        processes::derive(window, &mut self.spare, &mut frame);
        waits::derive(&mut frame);
        limits::derive(window, &mut frame);
        off_cpu::derive(window, &mut frame);
        disks::derive(window, &mut frame);
        accelerators::derive(window, &mut frame);
        metrics::derive(window, &mut frame);
        frame
    }
}

/// How many files could not be read, by section and reason.
fn unread(now: &Snapshot) -> BTreeMap<(&'static str, Reason), u64> {
    #[derive(Default)]
    struct Count(BTreeMap<(&'static str, Reason), u64>);
    impl Visit for Count {
        fn section<T: Table>(&mut self, name: &'static str, section: &Arc<Section<T>>) {
            for gap in &section.gaps {
                let count = self.0.entry((name, gap.reason)).or_default();
                *count = count.saturating_add(gap.count);
            }
        }
    }
    let mut count = Count::default();
    now.visit(&mut count);
    count.0
}

/// The gaps of all sections, one row per pattern and reason.
fn gaps(now: &Snapshot) -> Vec<Gap> {
    struct All(Vec<Gap>);
    impl Visit for All {
        fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
            for gap in &section.gaps {
                match self.0.iter_mut().find(|row| row.path == gap.path && row.reason == gap.reason) {
                    Some(row) => row.count = row.count.max(gap.count),
                    None => self.0.push(gap.clone()),
                }
            }
        }
    }
    let mut all = All(Vec::new());
    now.visit(&mut all);
    all.0.sort_by(|a, b| a.path.cmp(&b.path).then(a.reason.cmp(&b.reason)));
    all.0
}
