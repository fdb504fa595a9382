//! What changes rarely or costs more than `stat`: at birth, after exec, in turns; counters of hot processes each time.

use super::cgroup::{Mounts, paths};
use super::cmdline::{self, Answer, Job};
use super::file::read_once;
use super::gaps::File;
use super::users::Users;
use super::{Proc, open_files, status};
use crate::parse::{fields, lines, number, text, whole_lines};
use crate::processes::threads::has_pinned;
use crate::worker::Worker;
use crate::{Cx, Root};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use topotop_model::tables::processes::Processes;
use topotop_model::{Gaps, Reason};

/// New processes read in detail per sample: the first sample of thousands has to stay fast.
const BIRTHS: usize = 256;
/// Every working process has its turn within this many samples.
const TURN: u64 = 30;
/// The same for those that stand still.
const STILL_TURN: u64 = 120;
/// The same for kernel threads: they hardly ever change.
const KERNEL_TURN: u64 = 240;
/// Open files are counted within this many samples.
const FILES_TURN: u64 = 4;
/// The command line is read again once in this many turns: some processes change it.
const CMDLINE_TURNS: u64 = 4;
/// Processes per job of the worker.
const BATCH: usize = 64;
/// Jobs that wait in line.
const LINE: usize = 48;
/// How long a complete reading waits for the worker.
const PATIENCE: Duration = Duration::from_millis(300);
/// A reply counts as overdue after this time.
const OVERDUE_NS: u64 = 3_000_000_000;

/// Reads details of processes.
#[derive(Debug, Default)]
pub(super) struct Details {
    worker: Option<Worker<Job, Answer>>,
    asked_at_ns: u64,
    ask: Job,
    late: usize,
    todo: Vec<(bool, u64, u32)>,
    users: Users,
}

impl Details {
    pub(super) fn collect(
        &mut self,
        cx: &mut Cx<'_>,
        round: u64,
        procs: &mut HashMap<u32, Proc>,
        mounts: &Mounts,
        table: &mut Processes,
        online: usize,
    ) {
        self.choose(cx.demand.complete, round, procs);
        let complete = cx.demand.complete;
        let mut reader = Reader { cx, mounts, table, online, users: &mut self.users };
        for &(_, _, pid) in &self.todo {
            if let Some(proc) = procs.get_mut(&pid) {
                let known = proc.detailed && !complete;
                reader.one(pid, proc);
                let again = !known || is_turn(pid, every(proc, round) * CMDLINE_TURNS, round);
                if !proc.kernel && again {
                    self.ask.push((pid, proc.starttime));
                }
            }
        }
        for (&pid, proc) in procs.iter_mut().filter(|(_, proc)| proc.is_hot(round) && proc.detailed) {
            reader.counters(pid, proc, true);
        }
        // Who has none left does little.
        let is_due = |pid: u32, proc: &Proc| proc.is_hot(round) || is_turn(pid, FILES_TURN, round);
        for (&pid, proc) in procs.iter().filter(|(pid, proc)| !proc.kernel && proc.detailed && is_due(**pid, proc)) {
            open_files::count(cx, pid, proc.slot, &mut table.open_files, &table.open_files_limit);
        }
        self.cmdlines(cx, procs, table);
    }

    /// Puts the processes whose turn it is into `todo`: new ones first, of those emulators, then busy and big ones.
    fn choose(&mut self, complete: bool, round: u64, procs: &HashMap<u32, Proc>) {
        self.todo.clear();
        let fresh = procs.iter().filter(|(_, proc)| complete || !proc.detailed);
        self.todo.extend(fresh.map(|(&pid, proc)| (proc.beam, proc.ticks.saturating_add(proc.rss_pages), pid)));
        if complete {
            return;
        }
        self.todo.sort_unstable_by(|a, b| b.cmp(a));
        self.todo.truncate(BIRTHS);
        let turn = procs.iter().filter(|&(&pid, proc)| proc.detailed && is_turn(pid, every(proc, round), round));
        self.todo.extend(turn.map(|(&pid, _)| (false, 0, pid)));
    }

    fn cmdlines(&mut self, cx: &mut Cx<'_>, procs: &mut HashMap<u32, Proc>, table: &mut Processes) {
        if self.worker.is_none() {
            let root: Arc<Root> = Arc::clone(cx.root);
            self.worker = Worker::spawn("cmdline", move |job: Job| cmdline::read(&root, &job)).ok();
        }
        let Some(worker) = &mut self.worker else { return };
        while let Some(answer) = worker.take() {
            answered(answer, procs, table);
        }
        if worker.pending() == 0 {
            self.asked_at_ns = cx.now_ns;
        }
        let patience = if cx.demand.complete { PATIENCE } else { Duration::ZERO };
        let deadline = crate::clock::monotonic_ns() + patience.as_nanos() as u64;
        let mut wait = |worker: &mut Worker<Job, Answer>| {
            let left = Duration::from_nanos(deadline.saturating_sub(crate::clock::monotonic_ns()));
            let answer = if left.is_zero() { None } else { worker.wait(left) };
            answer.map(|answer| answered(answer, procs, table))
        };
        while !self.ask.is_empty() {
            if worker.pending() >= LINE && wait(worker).is_none() {
                break;
            }
            let rest = self.ask.split_off(self.ask.len().min(BATCH));
            let job = std::mem::replace(&mut self.ask, rest);
            if !worker.submit(job) {
                break;
            }
        }
        while wait(worker).is_some() {}
        self.late = if cx.demand.complete { self.ask.len() + worker.pending() * BATCH } else { 0 };
        // Who found no place in the line gets another turn.
        self.ask.clear();
    }

    /// Says so when the worker has been waiting for some process for long.
    pub(super) fn overdue(&self, now_ns: u64, gaps: &mut Gaps) {
        let pending = self.worker.as_ref().map_or(0, Worker::pending);
        let overdue = pending > 0 && now_ns.saturating_sub(self.asked_at_ns) > OVERDUE_NS;
        let late = if overdue { self.late.max(1) } else { self.late };
        if late > 0 {
            let needs = topotop_model::locale::needs::MMAP_LOCK.english();
            gaps.add_many("proc/*/cmdline", Reason::TimedOut, needs, late as u64);
        }
    }
}

/// Samples from one turn of a process to the next.
fn every(proc: &Proc, round: u64) -> u64 {
    match () {
        () if proc.kernel => KERNEL_TURN,
        () if proc.is_cold(round) => STILL_TURN,
        () => TURN,
    }
}

/// True when it is the turn of a process; pids spread them evenly enough.
fn is_turn(pid: u32, every: u64, round: u64) -> bool {
    u64::from(pid) % every == round % every
}

fn answered(answer: Answer, procs: &mut HashMap<u32, Proc>, table: &mut Processes) {
    for (pid, starttime, read) in answer {
        let Some(proc) = procs.get_mut(&pid).filter(|proc| proc.starttime == starttime) else { continue };
        let slot = proc.slot;
        let Some(cmdline) = proc.failed.note(File::Cmdline, read) else {
            table.cmdline.clear(slot);
            continue;
        };
        table.cmdline.set(slot, &cmdline.text);
        proc.beam = cmdline.beam || table.comm.get(slot).is_some_and(|comm| cmdline::is_beam(comm.as_bytes()));
        if proc.beam {
            table.beam_bind_type.set(slot, cmdline.bind_type);
        } else {
            table.beam_bind_type.clear(slot);
        }
    }
}

/// Reads the files of one process into its row.
struct Reader<'a, 'b> {
    cx: &'a mut Cx<'b>,
    mounts: &'a Mounts,
    table: &'a mut Processes,
    online: usize,
    users: &'a mut Users,
}

impl Reader<'_, '_> {
    fn one(&mut self, pid: u32, proc: &mut Proc) {
        proc.detailed = true;
        self.status(pid, proc);
        self.cgroup(pid, proc);
        self.counters(pid, proc, false);
        if proc.threads > 1 && !proc.kernel && self.online != 1 {
            let found = has_pinned(self.cx, pid);
            proc.pinned |= proc.failed.note(File::Task, found).unwrap_or_default();
        }
        if !proc.kernel {
            let limit = open_files::limit(self.cx, pid);
            self.table.open_files_limit.set_or_clear(proc.slot, limit);
            open_files::count(self.cx, pid, proc.slot, &mut self.table.open_files, &self.table.open_files_limit);
        }
        self.table.details_at_ns.set(proc.slot, self.cx.root.monotonic_ns());
    }

    fn status(&mut self, pid: u32, proc: &mut Proc) {
        let read = read_once(self.cx.root, format_args!("proc/{pid}/status"), self.cx.buf);
        let read = self.gone_or(pid, read);
        if proc.failed.note(File::Status, read).is_none() {
            self.cx.buf.clear();
        }
        let status = status::parse(self.cx.buf);
        let (table, slot) = (&mut *self.table, proc.slot);
        if table.read_at_ns.value(slot).is_none() {
            stand_in(&status, slot, table, proc);
        }
        table.uid.set_or_clear(slot, status.uid);
        match status.uid.and_then(|uid| self.users.name(self.cx.root, uid)) {
            Some(name) => table.user.set(slot, name),
            None => table.user.clear(slot),
        }
        table.inner_pid.set_or_clear(slot, status.inner_pid);
        table.rss_anon_bytes.set_or_clear(slot, status.rss_anon);
        table.rss_file_bytes.set_or_clear(slot, status.rss_file);
        table.rss_shmem_bytes.set_or_clear(slot, status.rss_shmem);
        table.hugetlb_bytes.set_or_clear(slot, status.hugetlb);
        table.swap_bytes.set_or_clear(slot, status.swap);
        proc.pinned =
            status.cpus.as_ref().is_some_and(|cpus| cpus.single().is_some()) && !proc.kernel && self.online != 1;
        match status.cpus {
            Some(cpus) => table.affinity.set(slot, cpus),
            None => table.affinity.clear(slot),
        }
        match status.mems {
            Some(mems) => table.mems_allowed.set(slot, mems),
            None => table.mems_allowed.clear(slot),
        }
        if table.rss_bytes.value(slot).is_none() {
            table.rss_bytes.set_or_clear(slot, status.vm_rss);
        }
    }

    fn cgroup(&mut self, pid: u32, proc: &mut Proc) {
        let read = read_once(self.cx.root, format_args!("proc/{pid}/cgroup"), self.cx.buf);
        let read = self.gone_or(pid, read);
        let found = read.and_then(|()| paths(self.cx.buf, self.mounts).ok_or(Reason::Malformed));
        let found = proc.failed.note(File::Cgroup, found);
        let table = &mut *self.table;
        let paths = [
            (&mut table.cgroup, found.map(|paths| paths.main)),
            (&mut table.cpu_cgroup, found.and_then(|paths| paths.cpu)),
            (&mut table.cpuset_cgroup, found.and_then(|paths| paths.cpuset)),
            (&mut table.io_cgroup, found.and_then(|paths| paths.io)),
        ];
        for (column, path) in paths {
            match path {
                Some(path) => column.set(proc.slot, &text(path)),
                None => column.clear(proc.slot),
            }
        }
    }

    /// Waiting time and I/O; of hot processes each time, through kept descriptors.
    fn counters(&mut self, pid: u32, proc: &mut Proc, keep: bool) {
        let (table, slot) = (&mut *self.table, proc.slot);
        table.counters_at_ns.set(slot, self.cx.root.monotonic_ns());
        let read = proc.schedstat.read(self.cx.root, format_args!("proc/{pid}/schedstat"), keep, self.cx.buf);
        let read = gone_or(self.cx.root, pid, read);
        let found = read.and_then(|()| schedstat(self.cx.buf).ok_or(Reason::Malformed));
        let found = proc.failed.note(File::Schedstat, found);
        table.run_ns.set_or_clear(slot, found.map(|found| found[0]));
        table.wait_ns.set_or_clear(slot, found.map(|found| found[1]));
        table.slices.set_or_clear(slot, found.map(|found| found[2]));
        // A kernel thread's I/O is charged to whoever caused it; what was denied once is tried again in its turn.
        if proc.kernel || keep && proc.failed.why(File::Io) == Some(Reason::PermissionDenied) {
            return;
        }
        let read = proc.io.read(self.cx.root, format_args!("proc/{pid}/io"), keep, self.cx.buf);
        let read = gone_or(self.cx.root, pid, read);
        let bytes = if proc.failed.note(File::Io, read).is_some() { self.cx.buf.as_slice() } else { &[] };
        let io = io(bytes);
        table.read_bytes.set_or_clear(slot, io[0]);
        table.write_bytes.set_or_clear(slot, io[1]);
        table.cancelled_write_bytes.set_or_clear(slot, io[2]);
        table.write_calls.set_or_clear(slot, io[3]);
    }

    fn gone_or(&self, pid: u32, read: Result<(), Reason>) -> Result<(), Reason> {
        gone_or(self.cx.root, pid, read)
    }
}

/// Tells a file that this kernel lacks from a process that is gone.
fn gone_or<T>(root: &Root, pid: u32, read: Result<T, Reason>) -> Result<T, Reason> {
    match read {
        Err(Reason::NotFound) if root.is_live() && !root.exists(format!("proc/{pid}")) => Err(Reason::Vanished),
        read => read,
    }
}

/// Where a captured tree has no `stat`, `status` has some of it.
fn stand_in(status: &status::Status<'_>, slot: usize, table: &mut Processes, proc: &mut Proc) {
    if let Some(name) = status.name {
        table.comm.set(slot, &text(name));
        proc.beam = cmdline::is_beam(name);
    }
    proc.threads = status.threads.unwrap_or_default();
    table.state.set_or_clear(slot, status.state.map(u64::from));
    table.ppid.set_or_clear(slot, status.ppid);
    table.threads.set_or_clear(slot, status.threads);
    table.vsize_bytes.set_or_clear(slot, status.vm_size);
}

/// Time on a CPU, time waiting for one, and how often it was given one, of `schedstat` (sched-stats.rst).
pub(super) fn schedstat(bytes: &[u8]) -> Option<[u64; 3]> {
    let line = bytes.strip_suffix(b"\n")?;
    let mut parts = fields(line).map(number);
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// read_bytes, write_bytes, cancelled_write_bytes and syscw of `io` (proc_pid_io(5)).
fn io(bytes: &[u8]) -> [Option<u64>; 4] {
    let mut values = [None; 4];
    for line in lines(whole_lines(bytes).0) {
        let mut parts = line.splitn(2, |&byte| byte == b':');
        let index = match parts.next() {
            Some(b"read_bytes") => 0,
            Some(b"write_bytes") => 1,
            Some(b"cancelled_write_bytes") => 2,
            Some(b"syscw") => 3,
            _ => continue,
        };
        values[index] = parts.next().map(<[u8]>::trim_ascii).and_then(number);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::{KERNEL_TURN, STILL_TURN, TURN, io, schedstat};
    use proptest::prelude::*;

    const IO: &[u8] = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4711\nread_bytes: 4096\nwrite_bytes: 8192\n\
        cancelled_write_bytes: 1024\n";

    #[test]
    fn every_process_has_its_turn() {
        for pid in 0..500 {
            let turns = |every| (720..960).filter(|&round| super::is_turn(pid, every, round)).count();
            assert_eq!([TURN, STILL_TURN, KERNEL_TURN].map(turns), [8, 2, 1]);
        }
    }

    #[test]
    fn counters_as_kernels_print_them() {
        assert_eq!(io(IO), [Some(4096), Some(8192), Some(1024), Some(4711)]);
        assert_eq!(schedstat(b"981 1220 7\n"), Some([981, 1220, 7]));
        assert_eq!(schedstat(b"981 1220\n"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (io(&bytes), schedstat(&bytes));
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..120) {
            let whole = io(IO);
            for (part, whole) in io(&IO[..cut.min(IO.len())]).into_iter().zip(whole) {
                prop_assert!(part.is_none() || part == whole);
            }
            let line = b"9812345 122012345 734\n";
            let part = schedstat(&line[..cut.min(line.len())]);
            prop_assert!(part.is_none() || part == Some([9_812_345, 122_012_345, 734]));
        }
    }
}
