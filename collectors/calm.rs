//! Whether the machine is idle: sections that would only show trouble are read less often meanwhile.

use topotop_model::Table;
use topotop_model::tables::cpu::CpuTimes;

/// The machine is calm from the second sample on in which its CPUs together are busy for less than this part of the
/// time of one; waiting for disks is being busy here.
const PART: u64 = 20;
/// A clock tick, 10 ms wherever the kernel reports ticks to programs.
const TICK_NS: u64 = 10_000_000;

/// CPU time at the last reading.
#[derive(Debug, Default)]
pub(crate) struct Calm {
    busy_ticks: u64,
    at_ns: Option<u64>,
    /// Whether that was next to nothing.
    still: bool,
    answer: bool,
}

impl Calm {
    /// Looks at the times of the CPUs, where they are of another sample than the last ones.
    pub(crate) fn look(&mut self, times: &CpuTimes, read_at_ns: u64) -> bool {
        if self.at_ns == Some(read_at_ns) {
            return self.answer;
        }
        let busy = busy_ticks(times);
        let since_ns = self.at_ns.map(|at| read_at_ns.saturating_sub(at));
        // Times that step back say nothing.
        let used = busy.checked_sub(self.busy_ticks);
        let still = match (since_ns, used) {
            (Some(since), Some(used)) => used.saturating_mul(TICK_NS) < since / PART,
            _ => false,
        };
        // What was done until now is read once more, so that nothing stays on the screen that is over.
        let was_still = std::mem::replace(&mut self.still, still);
        self.answer = still && was_still;
        (self.busy_ticks, self.at_ns) = (busy, Some(read_at_ns));
        self.answer
    }
}

fn busy_ticks(times: &CpuTimes) -> u64 {
    let columns = [&times.user, &times.nice, &times.system, &times.iowait, &times.irq, &times.softirq, &times.steal];
    let of = |slot| columns.iter().filter_map(|column| column.value(slot)).fold(0, u64::wrapping_add);
    times.rows().iter().map(of).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::Calm;
    use topotop_model::Table;
    use topotop_model::tables::cpu::CpuTimes;

    const SECOND_NS: u64 = 1_000_000_000;

    fn times(ticks: [(u64, u64); 2]) -> CpuTimes {
        let mut times = CpuTimes::default();
        for (user, iowait) in ticks {
            let slot = times.insert();
            times.user.set(slot, user);
            times.iowait.set(slot, iowait);
        }
        times
    }

    #[test]
    fn less_than_a_twentieth_of_one_cpu_is_calm() {
        let mut calm = Calm::default();
        assert!(!calm.look(&times([(100, 0), (900, 7)]), SECOND_NS), "nothing is known yet");
        assert!(!calm.look(&times([(102, 0), (902, 7)]), 2 * SECOND_NS), "for the first time");
        assert!(calm.look(&times([(104, 0), (904, 7)]), 3 * SECOND_NS));
        assert!(calm.look(&times([(104, 0), (904, 7)]), 3 * SECOND_NS), "the same sample");
        assert!(!calm.look(&times([(106, 0), (907, 7)]), 4 * SECOND_NS));
        assert!(!calm.look(&times([(106, 0), (907, 8)]), 5 * SECOND_NS), "what was done is read once more");
        assert!(calm.look(&times([(106, 0), (907, 8)]), 6 * SECOND_NS));
        assert!(!calm.look(&times([(106, 0), (907, 58)]), 7 * SECOND_NS), "somebody waits for a disk");
        assert!(!calm.look(&times([(0, 0), (0, 0)]), 8 * SECOND_NS), "counters stepped back");
        assert!(!calm.look(&times([(1, 0), (0, 0)]), 9 * SECOND_NS));
        assert!(calm.look(&times([(1, 0), (0, 0)]), 10 * SECOND_NS));
    }
}
