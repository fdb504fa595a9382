//! Processes that used no CPU, found by exclusion: what `/proc/stat` gained is what the processes that were read gained,
//! so the others need not be read. On an idle machine that saves most of a sample's cost.

use topotop_model::{Draft, Table};

/// Ticks that may be unaccounted for: `/proc/stat` is sampled by the tick, the times of processes are exact.
const SLACK: u64 = 3;
/// Every process is read once in this many samples.
const TURNS: u64 = 16;

/// What all CPUs did in user and system mode since the last sample.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    ticks: Option<u64>,
    busy: Option<u64>,
}

impl Quiet {
    /// Takes in this sample's times; nothing can be excluded after counters stepped back, or while tasks are blocked.
    pub(super) fn update(&mut self, draft: &Draft) {
        let times = draft.cpu_times.value();
        let sum = times.map(|times| {
            let columns = [&times.user, &times.nice, &times.system];
            let cells = times.rows().iter().flat_map(|slot| columns.map(|column| column.value(slot).unwrap_or(0)));
            cells.fold(0, u64::saturating_add)
        });
        let load = draft.load.data();
        let blocked = load.first().and_then(|slot| load.blocked.value(slot)).is_none_or(|tasks| tasks > 0);
        self.busy = sum.zip(self.ticks).and_then(|(now, before)| now.checked_sub(before)).filter(|_| !blocked);
        self.ticks = sum;
    }

    /// True if processes that were not read cannot have used a CPU when those that were read gained so many ticks.
    pub(super) fn excludes(&self, gained: u64) -> bool {
        self.busy.is_some_and(|busy| busy <= gained.saturating_add(SLACK))
    }
}

/// True when it is the turn of a process to be read although it stood still.
pub(super) fn is_turn(pid: u32, round: u64) -> bool {
    u64::from(pid) % TURNS == round % TURNS
}

#[cfg(test)]
mod tests {
    use super::{Quiet, is_turn};
    use topotop_model::{Draft, Table};

    fn sample(quiet: &mut Quiet, draft: &mut Draft, user: u64, blocked: u64) {
        draft.cpu_times.begin(user);
        let slot = draft.cpu_times.data_mut().only();
        draft.cpu_times.data_mut().user.set(slot, user);
        let load = draft.load.data_mut();
        let only = load.only();
        load.blocked.set(only, blocked);
        quiet.update(draft);
    }

    #[test]
    fn excludes_only_what_the_sum_allows() {
        let (mut quiet, mut draft) = (Quiet::default(), Draft::default());
        sample(&mut quiet, &mut draft, 1000, 0);
        assert!(!quiet.excludes(u64::MAX), "one sample says nothing");
        sample(&mut quiet, &mut draft, 1090, 0);
        assert!(quiet.excludes(88));
        assert!(!quiet.excludes(50), "40 ticks are somebody's");
        sample(&mut quiet, &mut draft, 1090, 1);
        assert!(!quiet.excludes(0), "a blocked task is of interest without using a CPU");
        sample(&mut quiet, &mut draft, 900, 0);
        assert!(!quiet.excludes(u64::MAX), "the counters stepped back");
    }

    #[test]
    fn every_process_has_its_turn() {
        for pid in 0..64 {
            assert_eq!((96..112).filter(|&round| is_turn(pid, round)).count(), 1);
        }
    }
}
