//! Threads of processes that matter: selected, emulators, pinned ones, hot ones with more than one thread.

use super::details::schedstat;
use super::file::{ProcFile, read_once};
use super::{HOT_FOR, Proc, stat, status};
use crate::parse::text;
use crate::sys::affinity::affinity;
use crate::{Cx, Root};
use std::collections::HashMap;
use topotop_model::tables::processes::Threads as ThreadTable;
use topotop_model::{Draft, IdSet, Reason, Table};

/// The most threads that are in the table.
const MOST: usize = 4096;
/// Threads of one process that are searched for pinned ones, at most.
const MOST_SCANNED: usize = 1024;
/// Up to so many threads of a process are read each time, of more only hot and pinned ones and an eighth of the rest.
const FEW: usize = 64;
/// How often the affinity of a thread is read where that takes a file.
const AFFINITY_NS: u64 = 30_000_000_000;
/// How often threads are read while none of their processes does much.
const CALM_NS: u64 = 4_000_000_000;
/// Ticks (100 a second) of a process per second that are not much: less than a twentieth of a CPU.
const CALM_TICKS: u64 = 5;

/// Reads `/proc/PID/task/TID/*`.
#[derive(Debug, Default)]
pub(super) struct Threads {
    rows: HashMap<u32, Row>,
    tids: Vec<u32>,
    watched: Vec<(u8, u64, u32)>,
    /// The same when threads were last read, by pid: rank, ticks and how many threads it had.
    looked: HashMap<u32, (u8, u64, u64)>,
    looked_at_ns: u64,
    /// How often threads were read: what rounds are to processes.
    looks: u64,
    quiet: Vec<u32>,
}

/// What is remembered of a thread between samples.
#[derive(Debug, Default)]
struct Row {
    slot: usize,
    pid: u32,
    starttime: u64,
    seen: u64,
    stat: ProcFile,
    schedstat: ProcFile,
    ticks: u64,
    hot_until: u64,
    pinned: bool,
    affinity_at_ns: u64,
}

impl Threads {
    pub(super) fn collect(&mut self, cx: &mut Cx<'_>, round: u64, procs: &mut HashMap<u32, Proc>, draft: &mut Draft) {
        self.choose(cx, round, procs);
        if self.is_calm(cx, procs) {
            // The section stays what it was, with the rates of the time between its last two readings.
            return;
        }
        (self.looked_at_ns, self.looks) = (cx.now_ns, self.looks + 1);
        self.looked.clear();
        draft.threads.begin(cx.now_ns);
        let (mut taken, mut cut) = (0, 0);
        let one_cpu = draft.cpu_times.data().rows().len() == 1;
        let watched = std::mem::take(&mut self.watched);
        for proc in procs.values() {
            draft.processes.data_mut().threads_watched.set(proc.slot, 0);
        }
        for &(rank, _, pid) in &watched {
            let Some(proc) = procs.get_mut(&pid) else { continue };
            self.looked.insert(pid, (rank, proc.ticks, proc.threads));
            if rank == 0 && !cx.demand.complete && proc.stands_still(round) {
                self.quiet.push(pid);
                draft.processes.data_mut().threads_watched.set(proc.slot, 1);
                continue;
            }
            proc.threads_read = (round, proc.threads);
            self.tids.clear();
            if cx.root.numbers(format!("proc/{pid}/task"), &mut self.tids).is_err() {
                continue;
            }
            let room = MOST.saturating_sub(taken);
            cut += self.tids.len().saturating_sub(room);
            self.tids.truncate(room);
            taken += self.tids.len();
            draft.processes.data_mut().threads_watched.set(proc.slot, 1);
            let every = self.tids.len() <= FEW || rank == ASKED || cx.demand.complete;
            let pinned = self.process(cx, pid, every, draft.threads.data_mut());
            proc.pinned |= pinned && !proc.kernel && !one_cpu;
        }
        self.watched = watched;
        self.keep_quiet(cx.now_ns, draft.threads.data_mut());
        self.drop_gone(draft.threads.data_mut());
        if cut > 0 {
            let needs = topotop_model::locale::needs::ONE_PROCESS.english();
            draft.threads.gaps.add_many("proc/*/task/*", Reason::TimedOut, needs, cut as u64);
        }
    }

    /// Puts the processes whose threads matter into `watched`, those that matter most first.
    fn choose(&mut self, cx: &Cx<'_>, round: u64, procs: &HashMap<u32, Proc>) {
        self.watched.clear();
        // A captured machine is read once: nothing is hot in one sample.
        let captured = cx.demand.complete && !cx.root.is_live();
        for (&pid, proc) in procs {
            let rank = if cx.demand.process == Some(pid) {
                ASKED
            } else if proc.beam {
                2
            } else if proc.pinned {
                1
            } else if proc.threads > 1 && !proc.kernel && (captured || proc.is_hot(round)) {
                0
            } else {
                continue;
            };
            self.watched.push((rank, proc.ticks, pid));
        }
        self.watched.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// True if the same processes as in the last reading are watched, and none of them did much or got or lost threads.
    fn is_calm(&self, cx: &Cx<'_>, procs: &HashMap<u32, Proc>) -> bool {
        let since_ns = cx.now_ns.saturating_sub(self.looked_at_ns);
        if cx.demand.complete || since_ns >= CALM_NS || self.watched.len() != self.looked.len() {
            return false;
        }
        // One tick more may have been begun before.
        let most = 1 + CALM_TICKS * since_ns / 1_000_000_000;
        self.watched.iter().all(|&(rank, ticks, pid)| {
            let threads = procs.get(&pid).map(|proc| proc.threads);
            let same = |&(was, before, many): &(u8, u64, u64)| {
                was == rank && threads == Some(many) && ticks.saturating_sub(before) <= most
            };
            rank != ASKED && self.looked.get(&pid).is_some_and(same)
        })
    }

    /// Reads the threads in `tids`; true if one of them may run on one CPU only.
    fn process(&mut self, cx: &mut Cx<'_>, pid: u32, every: bool, table: &mut ThreadTable) -> bool {
        let (tids, look) = (std::mem::take(&mut self.tids), self.looks);
        let mut pinned = false;
        for &tid in &tids {
            let row = self.rows.entry(tid).or_default();
            let due = every || row.hot_until >= look || row.pinned || row.pid != pid || u64::from(tid) % 8 == look % 8;
            if due && row.read(cx, look, (pid, tid), table).is_err() {
                continue;
            }
            row.seen = look;
            pinned |= row.pinned;
        }
        self.tids = tids;
        pinned
    }

    /// Keeps the rows of processes that used no CPU: none of their threads did.
    fn keep_quiet(&mut self, now_ns: u64, table: &mut ThreadTable) {
        let look = self.looks;
        self.quiet.sort_unstable();
        let (quiet, rows) = (&self.quiet, self.rows.values_mut());
        for row in rows.filter(|row| row.seen + 1 == look && quiet.binary_search(&row.pid).is_ok()) {
            row.seen = look;
            table.quiet_at_ns.set(row.slot, now_ns);
        }
        self.quiet.clear();
    }

    fn drop_gone(&mut self, table: &mut ThreadTable) {
        let look = self.looks;
        self.rows.retain(|_, row| {
            if row.seen != look && row.pid != 0 {
                table.remove(row.slot);
            }
            row.seen == look
        });
    }
}

/// Rank of the selected process.
const ASKED: u8 = 3;

impl Row {
    fn read(
        &mut self,
        cx: &mut Cx<'_>,
        look: u64,
        (pid, tid): (u32, u32),
        table: &mut ThreadTable,
    ) -> Result<(), Reason> {
        self.stat.read(cx.root, format_args!("proc/{pid}/task/{tid}/stat"), true, cx.buf)?;
        let stat = stat::parse(cx.buf).ok_or(Reason::Malformed)?;
        let known = self.pid == pid && self.starttime == stat.starttime;
        if !known {
            if self.pid != 0 {
                table.remove(self.slot);
            }
            let slot = table.insert();
            *self =
                Self { slot, pid, starttime: stat.starttime, stat: std::mem::take(&mut self.stat), ..Self::default() };
        }
        let slot = self.slot;
        let ticks = stat.utime.saturating_add(stat.stime);
        if known && ticks > self.ticks {
            self.hot_until = look + HOT_FOR;
        }
        self.ticks = ticks;
        let now_ns = cx.root.monotonic_ns();
        table.tid.set(slot, u64::from(tid));
        table.pid.set(slot, u64::from(pid));
        table.starttime.set(slot, stat.starttime);
        table.read_at_ns.set(slot, now_ns);
        table.comm.set(slot, &text(stat.comm));
        table.state.set(slot, u64::from(stat.state));
        table.flags.set(slot, stat.flags);
        table.utime.set(slot, stat.utime);
        table.stime.set(slot, stat.stime);
        table.last_cpu.set_or_clear(slot, stat.processor);
        table.policy.set_or_clear(slot, stat.policy);
        table.io_delay.set_or_clear(slot, stat.io_delay);
        let waits = self.schedstat.read(cx.root, format_args!("proc/{pid}/task/{tid}/schedstat"), true, cx.buf);
        let found = waits.ok().and_then(|()| schedstat(cx.buf));
        table.run_ns.set_or_clear(slot, found.map(|found| found[0]));
        table.wait_ns.set_or_clear(slot, found.map(|found| found[1]));
        table.slices.set_or_clear(slot, found.map(|found| found[2]));
        let by_call = asks_kernel(cx.root);
        if by_call || !known || now_ns.saturating_sub(self.affinity_at_ns) > AFFINITY_NS {
            self.affinity_at_ns = now_ns;
            self.affinity(cx, (pid, tid), table);
        }
        Ok(())
    }

    fn affinity(&mut self, cx: &mut Cx<'_>, ids: (u32, u32), table: &mut ThreadTable) {
        match thread_affinity(cx, ids) {
            Ok(cpus) => {
                self.pinned = cpus.single().is_some();
                table.affinity.set(self.slot, cpus);
            }
            Err(_) => table.affinity.clear(self.slot),
        }
    }
}

/// True if some thread of a process may run on one CPU only: schedulers of an emulator are pinned while its main
/// thread is not.
pub(super) fn has_pinned(cx: &mut Cx<'_>, pid: u32) -> Result<bool, Reason> {
    let mut tids = Vec::new();
    cx.root.numbers(format!("proc/{pid}/task"), &mut tids)?;
    tids.truncate(MOST_SCANNED);
    let mut pinned = |&tid: &u32| thread_affinity(cx, (pid, tid)).is_ok_and(|cpus| cpus.single().is_some());
    Ok(tids.iter().any(&mut pinned))
}

/// By system call on this machine, out of `status` in a captured tree and while a capture wants to see the file.
fn thread_affinity(cx: &mut Cx<'_>, (pid, tid): (u32, u32)) -> Result<IdSet, Reason> {
    if asks_kernel(cx.root) {
        return affinity(tid);
    }
    read_once(cx.root, format_args!("proc/{pid}/task/{tid}/status"), cx.buf)?;
    status::parse(cx.buf).cpus.ok_or(Reason::Malformed)
}

fn asks_kernel(root: &Root) -> bool {
    root.is_live() && !root.is_traced() && super::own_pid_namespace(root)
}
