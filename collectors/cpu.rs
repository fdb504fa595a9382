//! Time by CPU from `/proc/stat`, and the counters of the whole machine that stand in the same file; clocks of CPUs.

mod clock;
mod queue;

use crate::files::read;
use crate::parse::{fields, hundredths, lines, number, whole_lines};
use crate::root::Kept;
use crate::{Collector, Cx};
use clock::Clocks;
use queue::Queues;
use topotop_model::tables::cpu::CpuTimes;
use topotop_model::{Draft, Num, Reason, Slots, State, Table};

/// Reads `/proc/stat`, `/proc/schedstat` and `/proc/loadavg`.
#[derive(Debug, Default)]
pub(crate) struct CpuCollector {
    stat: Option<Kept>,
    loadavg: Option<Kept>,
    slots: Slots<u32>,
    clocks: Clocks,
    queues: Queues,
}

impl Collector for CpuCollector {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.cpu_times.begin(cx.now_ns);
        draft.load.begin(cx.now_ns);
        // A value that a file no longer holds does not keep its last one.
        let load = draft.load.data_mut();
        let only = load.only();
        load.forget(only);
        match read(&mut self.stat, "proc/stat", cx) {
            Ok(()) => self.stat(cx.buf, draft),
            Err(reason) => {
                draft.cpu_times.gaps.add("proc/stat", reason, "");
                draft.cpu_times.state = State::Missing;
            }
        }
        self.clocks.read(cx, &mut draft.cpu_times);
        self.queues.read(cx, &mut draft.cpu_times, &self.slots);
        match read(&mut self.loadavg, "proc/loadavg", cx) {
            Ok(()) => loadavg(cx.buf, draft),
            Err(reason) => draft.load.gaps.add("proc/loadavg", reason, ""),
        }
    }
}

impl CpuCollector {
    fn stat(&mut self, bytes: &[u8], draft: &mut Draft) {
        self.slots.begin();
        let load = draft.load.data_mut();
        let only = load.only();
        let (bytes, cut) = whole_lines(bytes);
        let mut bad = u64::from(cut);
        for line in lines(bytes) {
            let mut parts = fields(line);
            let Some(key) = parts.next() else { continue };
            let first = fields(line).nth(1).and_then(number);
            match key {
                b"cpu" => {}
                b"ctxt" => load.context_switches.set_or_clear(only, first),
                b"processes" => load.forks.set_or_clear(only, first),
                b"procs_running" => load.running.set_or_clear(only, first),
                b"procs_blocked" => load.blocked.set_or_clear(only, first),
                b"intr" => load.interrupts.set_or_clear(only, first),
                key => {
                    let id = key.strip_prefix(b"cpu").and_then(number).and_then(|id| u32::try_from(id).ok());
                    let id = id.filter(|&id| id <= crate::files::MAX_ID);
                    let times = draft.cpu_times.data_mut();
                    bad += u64::from(id.is_some_and(|id| !cpu_line(id, parts, times, &mut self.slots)));
                }
            }
        }
        self.slots.finish(draft.cpu_times.data_mut(), |_, _| {});
        if bad > 0 {
            draft.cpu_times.gaps.add_many("proc/stat", Reason::Malformed, "", bad);
        }
    }
}

/// Takes one `cpuN` line; false when it is not what the kernel prints: then the CPU has no row.
fn cpu_line<'a>(id: u32, parts: impl Iterator<Item = &'a [u8]>, times: &mut CpuTimes, slots: &mut Slots<u32>) -> bool {
    let mut values = [None; 10];
    let mut count = 0;
    for (cell, part) in values.iter_mut().zip(parts) {
        *cell = number(part);
        if cell.is_none() {
            return false;
        }
        count += 1;
    }
    // user, nice, system and idle have been there since Linux 2.4.
    if count < 4 {
        return false;
    }
    let (slot, _) = slots.slot(times, &id);
    times.cpu.set(slot, u64::from(id));
    let columns: [&mut Num; 10] = [
        &mut times.user,
        &mut times.nice,
        &mut times.system,
        &mut times.idle,
        &mut times.iowait,
        &mut times.irq,
        &mut times.softirq,
        &mut times.steal,
        &mut times.guest,
        &mut times.guest_nice,
    ];
    for (column, value) in columns.into_iter().zip(values) {
        column.set_or_clear(slot, value);
    }
    true
}

fn loadavg(bytes: &[u8], draft: &mut Draft) {
    let mut parts = fields(bytes.trim_ascii_end());
    let load = draft.load.data_mut();
    let only = load.only();
    for column in [&mut load.load1, &mut load.load5, &mut load.load15] {
        column.set_or_clear(only, parts.next().and_then(hundredths));
    }
    let tasks = parts.next().and_then(|field| field.split(|&byte| byte == b'/').nth(1)).and_then(number);
    load.tasks.set_or_clear(only, tasks);
}

#[cfg(test)]
mod tests {
    use super::CpuCollector;
    use crate::{Options, Root, Sampler};
    use proptest::prelude::*;
    use topotop_model::{Draft, Table};

    fn parsed(bytes: &[u8]) -> Draft {
        let mut draft = Draft::default();
        draft.cpu_times.begin(1);
        CpuCollector::default().stat(bytes, &mut draft);
        draft
    }

    #[test]
    fn takes_sparse_ids_and_leaves_damage_out() {
        let draft = parsed(b"cpu  1 2 3 4\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu3 1 2 3 4\ncpu7 1 x 3 4\ncpu9 1\nctxt 5\n");
        let times = draft.cpu_times.data();
        let ids: Vec<_> = times.rows().iter().filter_map(|slot| times.cpu.value(slot)).collect();
        assert_eq!(ids, [0, 3]);
        assert_eq!(times.guest_nice.value(0), Some(10));
        assert_eq!(times.iowait.value(1), None);
        assert_eq!(draft.cpu_times.gaps.iter().map(|gap| gap.count).sum::<u64>(), 2);
        assert_eq!(draft.load.data().context_switches.value(0), Some(5));
    }

    #[test]
    fn what_can_no_longer_be_read_is_not_what_it_was() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("proc")).expect("made");
        let write = |text: &str| std::fs::write(dir.path().join("proc/stat"), text).expect("written");
        write("cpu0 1 2 3 4\nctxt 5\nprocesses 7\n");
        let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
        let load = |snapshot: &topotop_model::Snapshot| {
            let load = snapshot.load.data();
            (load.context_switches.value(0), load.forks.value(0))
        };
        assert_eq!(load(&sampler.sample()), (Some(5), Some(7)));
        write("cpu0 1 2 3 4\nctxt 6\n");
        assert_eq!(load(&sampler.sample()), (Some(6), None));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            parsed(&bytes);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..80) {
            let whole = b"cpu0 11 12 13 14 15 16 17 18 19 20\ncpu1 21 22 23 24 25 26 27 28 29 30\n";
            let draft = parsed(&whole[..cut.min(whole.len())]);
            let times = draft.cpu_times.data();
            for slot in times.rows().iter() {
                let id = times.cpu.value(slot);
                let expected = if id == Some(0) { (11, 20) } else { (21, 30) };
                prop_assert_eq!(times.user.value(slot), Some(expected.0));
                prop_assert_eq!(times.guest_nice.value(slot), Some(expected.1));
            }
        }
    }
}
