//! The pin map: how many threads may run on one CPU only.

use topotop_model::IdSet;
use topotop_model::frame::{Frame, Process, Thread};

/// Pinned threads by CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Pins {
    counts: Vec<(u32, u32)>,
}

/// The CPU of a set of one, on a machine where that is a restriction.
fn only(frame: &Frame, cpus: &IdSet) -> Option<u32> {
    if frame.topology.cpus_online.len() < 2 { None } else { cpus.single() }
}

/// The CPU that a thread was pinned to; kernel threads that belong to one are not pinned by anybody.
pub(super) fn pinned(frame: &Frame, thread: &Thread) -> Option<u32> {
    if thread.fixed { None } else { only(frame, thread.affinity.as_ref()?) }
}

/// A process's pinned threads by CPU, where all of its threads were looked at.
pub(super) fn groups<'a>(frame: &'a Frame, process: &'a Process) -> impl Iterator<Item = (u32, u32)> + 'a {
    let user = !process.kernel;
    let groups = process.thread_affinities.iter().filter(move |_| user);
    groups.filter_map(|group| Some((only(frame, &group.cpus)?, group.count)))
}

impl Pins {
    /// Counts them anew.
    pub(super) fn count(&mut self, frame: &Frame) {
        self.counts.clear();
        for process in &frame.processes {
            if process.thread_affinities.is_empty() {
                for thread in frame.threads_of(process.pid) {
                    self.counts.extend(pinned(frame, thread).map(|cpu| (cpu, 1)));
                }
            } else {
                self.counts.extend(groups(frame, process));
            }
        }
        self.counts.sort_unstable();
        self.counts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
    }

    /// How many threads are pinned to a CPU.
    pub(super) fn on(&self, cpu: u32) -> u32 {
        let at = self.counts.binary_search_by_key(&cpu, |count| count.0);
        at.ok().and_then(|at| self.counts.get(at)).map_or(0, |count| count.1)
    }

    /// CPUs that have pinned threads, with their number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.counts.iter().copied()
    }
}
