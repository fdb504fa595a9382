//! Which threads are sampled: of the processes that want CPUs or disks most, those that were given a CPU lately.

use std::collections::HashMap;
use topotop_model::tables::processes::{Processes, Threads};
use topotop_model::{Draft, Table as _};

/// A process by pid and start.
pub(super) type Process = (u32, u64);

/// A thread of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) process: Process,
    pub(super) tid: u32,
    /// True for a program that says in its title that it waits for a lock.
    pub(super) titled: bool,
}

/// Programs that do.
const TITLED: [&str; 2] = ["postgres", "postmaster"];

/// The most threads of one process.
const MOST_EACH: usize = 32;
/// A thread counts as active for so long after it was last given a CPU, in ns.
const ACTIVE_NS: u64 = 6_000_000_000;
/// PF_KTHREAD: kernel threads have no system calls.
const PF_KTHREAD: u64 = 0x0020_0000;

/// What is remembered of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    slices: u64,
    ran: u64,
    active_until_ns: u64,
    round: u64,
}

/// What is remembered of a process: how much it wanted lately, in ns per round, older rounds counting less.
#[derive(Clone, Copy, Debug, Default)]
struct Want {
    ns: u64,
    round: u64,
}

/// Chooses.
#[derive(Debug, Default)]
pub(super) struct Chooser {
    threads: HashMap<(u32, u32, u64), Seen>,
    wants: HashMap<Process, Want>,
    round: u64,
}

/// What a thread's row says.
struct Row {
    process: Process,
    tid: u32,
    start: u64,
    slices: u64,
    ran: u64,
    blocked: bool,
    titled: bool,
}

impl Chooser {
    /// The threads, those of the process that wants most first, at most so many. Never those of `own`.
    pub(super) fn choose(&mut self, draft: &Draft, now_ns: u64, most: usize, own: u32) -> Vec<Target> {
        self.round += 1;
        let round = self.round;
        let mut active: HashMap<Process, Vec<Target>> = HashMap::new();
        for row in rows(draft).into_iter().filter(|row| row.process.0 != own) {
            let seen = self.threads.entry((row.process.0, row.tid, row.start)).or_insert(Seen {
                slices: row.slices,
                ran: row.ran,
                ..Seen::default()
            });
            let gained = row.ran.saturating_sub(seen.ran);
            if row.slices > seen.slices || row.blocked {
                seen.active_until_ns = now_ns.saturating_add(ACTIVE_NS);
            }
            (seen.slices, seen.ran, seen.round) = (row.slices, row.ran, round);
            if seen.active_until_ns > now_ns {
                let target = Target { process: row.process, tid: row.tid, titled: row.titled };
                active.entry(row.process).or_default().push(target);
                let want = self.wants.entry(row.process).or_default();
                // What waits for a disk wants as much as what runs.
                want.ns = want.ns.saturating_add(gained).saturating_add(if row.blocked { 200_000_000 } else { 0 });
                want.round = round;
            }
        }
        self.threads.retain(|_, seen| seen.round == round);
        self.wants.retain(|_, want| want.round == round);
        let mut order: Vec<(Process, u64)> = self.wants.iter().map(|(process, want)| (*process, want.ns)).collect();
        order.sort_unstable_by_key(|(process, ns)| (std::cmp::Reverse(*ns), *process));
        for want in self.wants.values_mut() {
            want.ns -= want.ns / 4;
        }
        let mut chosen = Vec::new();
        for (process, _) in order {
            let Some(targets) = active.get_mut(&process) else { continue };
            // Of many those whose turn it is.
            let turn = |tid: u32| u64::from(tid).wrapping_mul(0x9e37_79b9).wrapping_add(round) % 16;
            targets.sort_unstable_by_key(|target| (turn(target.tid), target.tid));
            let room = most.saturating_sub(chosen.len()).min(MOST_EACH);
            chosen.extend(targets.iter().take(room));
        }
        chosen
    }
}

/// Threads that are looked at, and processes of one thread.
fn rows(draft: &Draft) -> Vec<Row> {
    let (processes, threads) = (draft.processes.data(), draft.threads.data());
    let mut starts: HashMap<u32, u64> = HashMap::new();
    let mut rows = Vec::new();
    for slot in processes.rows().iter() {
        let kernel = processes.flags.value(slot).is_some_and(|flags| flags & PF_KTHREAD != 0);
        let Some(pid) = processes.pid.id(slot).value().filter(|_| !kernel) else { continue };
        let start = processes.starttime.value(slot).unwrap_or_default();
        starts.insert(pid, start);
        if processes.threads.value(slot) == Some(1) {
            rows.extend(single(processes, slot, (pid, start)));
        }
    }
    for slot in threads.rows().iter() {
        let (Some(pid), Some(tid)) = (threads.pid.id(slot).value(), threads.tid.id(slot).value()) else { continue };
        let Some(&start) = starts.get(&pid) else { continue };
        rows.extend(thread(threads, slot, ((pid, start), tid)));
    }
    rows
}

fn single(table: &Processes, slot: usize, process: Process) -> Option<Row> {
    Some(Row {
        process,
        tid: process.0,
        start: process.1,
        slices: table.slices.value(slot)?,
        ran: table.run_ns.value(slot)?.saturating_add(table.wait_ns.value(slot)?),
        blocked: table.state.value(slot) == Some(u64::from(b'D')),
        titled: table.comm.get(slot).is_some_and(|comm| TITLED.contains(&&**comm)),
    })
}

fn thread(table: &Threads, slot: usize, (process, tid): (Process, u32)) -> Option<Row> {
    Some(Row {
        process,
        tid,
        start: table.starttime.value(slot)?,
        slices: table.slices.value(slot)?,
        ran: table.run_ns.value(slot)?.saturating_add(table.wait_ns.value(slot)?),
        blocked: table.state.value(slot) == Some(u64::from(b'D')),
        titled: false,
    })
}

#[cfg(test)]
mod tests {
    use super::{Chooser, Target};
    use topotop_model::{Draft, Table as _};

    fn draft(rows: &[(u64, u64, u64)]) -> Draft {
        let mut draft = Draft::default();
        let table = draft.processes.data_mut();
        for &(pid, slices, ran) in rows {
            let slot = table.insert();
            table.pid.set(slot, pid);
            table.starttime.set(slot, 1);
            table.threads.set(slot, 1);
            table.slices.set(slot, slices);
            table.run_ns.set(slot, ran);
            table.wait_ns.set(slot, 0);
            table.flags.set(slot, if pid == 2 { super::PF_KTHREAD } else { 0 });
        }
        draft
    }

    #[test]
    fn what_was_given_a_cpu_is_sampled_for_a_while() {
        let mut chooser = Chooser::default();
        let first = [(2, 5, 5), (7, 5, 100), (8, 5, 100), (9, 5, 100), (99, 5, 100)];
        assert!(chooser.choose(&draft(&first), 1, 10, 99).is_empty(), "nobody knows who is active");
        let next = [(2, 6, 50), (7, 6, 200), (8, 6, 900), (9, 5, 100), (99, 9, 9000)];
        let chosen = chooser.choose(&draft(&next), 1_000_000_000, 10, 99);
        let target = |pid| Target { process: (pid, 1), tid: pid, titled: false };
        assert_eq!(chosen, [target(8), target(7)], "what wants most first, neither kernel threads nor itself");
        assert_eq!(chooser.choose(&draft(&next), 2_000_000_000, 1, 99), [target(8)]);
        assert!(chooser.choose(&draft(&next), 9_000_000_000, 10, 99).is_empty());
    }

    #[test]
    fn a_process_of_many_threads_leaves_room_for_others() {
        let mut draft = draft(&[(7, 1, 1), (8, 1, 1)]);
        draft.processes.data_mut().threads.set(0, 100);
        for tid in 100..200 {
            let table = draft.threads.data_mut();
            let slot = table.insert();
            table.pid.set(slot, 7);
            table.tid.set(slot, tid);
            table.starttime.set(slot, 1);
            table.slices.set(slot, 1);
            table.run_ns.set(slot, 1);
            table.wait_ns.set(slot, 1);
        }
        let mut chooser = Chooser::default();
        chooser.choose(&draft, 1, 100, 0);
        for slot in 0..100 {
            draft.threads.data_mut().slices.set(slot, 2);
            draft.threads.data_mut().run_ns.set(slot, 1000);
        }
        draft.processes.data_mut().slices.set(1, 2);
        let chosen = chooser.choose(&draft, 2, 100, 0);
        assert_eq!(chosen.len(), 33);
        let again = chooser.choose(&draft, 3, 100, 0);
        assert_ne!(chosen, again, "others have their turn");
    }
}
