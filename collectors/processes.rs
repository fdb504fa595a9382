//! Processes: `stat` of each in every sample, the rest at birth, after exec and in turns.

mod cgroup;
mod cmdline;
mod details;
mod file;
mod gaps;
mod open_files;
mod population;
mod quiet;
pub(crate) mod stat;
pub(crate) mod status;
mod threads;
mod users;

use crate::parse::text;
use crate::{Collector, Cx, Root};
use cgroup::Mounts;
use details::Details;
use file::ProcFile;
use gaps::{Counts, Failed, File};
use population::Population;
use quiet::{Quiet, is_turn};
use stat::{PF_KTHREAD, Stat};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::OnceLock;
use threads::Threads;
use topotop_model::tables::processes::Processes;
use topotop_model::{Draft, Reason, State, Table};

/// The most `stat` files of processes that are kept open.
const MOST_KEPT: usize = 4096;
/// For how many samples a process that used a CPU counts as hot.
const HOT_FOR: u64 = 8;

/// The most threads of processes that are taken for hot ones at first.
const MOST_FORESEEN: u64 = 256;

/// Reads `/proc/PID/*`.
#[derive(Debug, Default)]
pub(crate) struct ProcessCollector {
    procs: HashMap<u32, Proc>,
    pids: Vec<u32>,
    population: Population,
    round: u64,
    kept: usize,
    page_bytes: Option<u64>,
    mounts: Option<Mounts>,
    details: Details,
    threads: Threads,
    quiet: Quiet,
    cold: Vec<u32>,
}

/// What is remembered of a process between samples.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a process, not states")]
struct Proc {
    slot: usize,
    starttime: u64,
    seen: u64,
    stat: ProcFile,
    schedstat: ProcFile,
    io: ProcFile,
    ticks: u64,
    /// The round in which it was last seen to have used a CPU.
    ran: u64,
    born: u64,
    read: u64,
    rss_pages: u64,
    threads: u64,
    /// The round in which its threads were last read, and how many there were.
    threads_read: (u64, u64),
    hot_until: u64,
    kernel: bool,
    beam: bool,
    pinned: bool,
    detailed: bool,
    failed: Failed,
}

impl Proc {
    fn is_hot(&self, round: u64) -> bool {
        self.hot_until >= round
    }

    /// True if it was read in this round and neither used a tick of a CPU nor got or lost threads since these were
    /// looked at; not for long, since what a thread uses is counted in finer steps.
    fn stands_still(&self, round: u64) -> bool {
        let (at, threads) = self.threads_read;
        self.read == round && self.ran <= at && threads == self.threads && round < at + HOT_FOR / 2
    }

    /// True for one that was read for a while and stood still.
    fn is_cold(&self, round: u64) -> bool {
        self.read > 0 && round > self.born + HOT_FOR && !self.is_hot(round)
    }
}

impl Collector for ProcessCollector {
    fn name(&self) -> &'static str {
        "processes"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        self.round += 1;
        draft.processes.begin(cx.now_ns);
        self.list(cx, draft);
        let mut counts = Counts::default();
        self.quiet.update(draft);
        let table = draft.processes.data_mut();
        self.sweep(cx, table, &mut counts);
        if self.round == 1 {
            self.foresee();
        }
        self.drop_gone(table);
        let online = draft.cpu_times.data().rows().len();
        self.detail(cx, draft.processes.data_mut(), online);
        self.threads.collect(cx, self.round, &mut self.procs, draft);
        for (&pid, proc) in &self.procs {
            counts.add(pid, proc.failed);
        }
        counts.write(&mut draft.processes.gaps, cx.root);
        self.details.overdue(cx.now_ns, &mut draft.processes.gaps);
        if cx.root.is_live() && !self.procs.is_empty() && !self.procs.contains_key(&1) {
            let needs = "root, or proc mounted without hidepid";
            draft.processes.gaps.add("proc/*", Reason::PermissionDenied, needs);
        }
        if self.procs.is_empty() {
            draft.processes.state = State::Missing;
            draft.threads.state = State::Missing;
        }
    }
}

impl ProcessCollector {
    /// Lists the processes, unless none can have come or gone since they were listed last.
    fn list(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if self.population.stands(cx, draft) {
            return;
        }
        self.pids.clear();
        if let Err(reason) = cx.root.numbers("proc", &mut self.pids) {
            self.population.forget();
            draft.processes.gaps.add("proc", reason, "");
        }
    }

    /// Reads `stat` of every process that is there, except those that cannot have used a CPU.
    fn sweep(&mut self, cx: &mut Cx<'_>, table: &mut Processes, counts: &mut Counts) {
        let live = cx.root.is_live();
        if self.page_bytes.is_none() && live {
            self.page_bytes = Some(rustix::param::page_size() as u64);
        }
        let (pids, mut cold) = (std::mem::take(&mut self.pids), std::mem::take(&mut self.cold));
        let round = self.round;
        let mut gained = 0u64;
        cold.clear();
        for &pid in &pids {
            let may_wait = live && !cx.demand.complete && !is_turn(pid, round);
            if may_wait && self.procs.get(&pid).is_some_and(|proc| proc.is_cold(round)) {
                cold.push(pid);
            } else {
                gained = gained.saturating_add(self.look(pid, cx, table, counts));
            }
        }
        let excluded = self.quiet.excludes(gained);
        for &pid in &cold {
            match self.procs.get_mut(&pid).filter(|_| excluded) {
                Some(proc) => {
                    proc.seen = round;
                    table.quiet_at_ns.set(proc.slot, cx.now_ns);
                }
                None => _ = self.look(pid, cx, table, counts),
            }
        }
        (self.pids, self.cold) = (pids, cold);
    }

    /// Reads `stat` of one process; returns the ticks it gained since the last sample, if it was read then too.
    fn look(&mut self, pid: u32, cx: &mut Cx<'_>, table: &mut Processes, counts: &mut Counts) -> u64 {
        let live = cx.root.is_live();
        let before = self.procs.get(&pid).filter(|proc| proc.read + 1 == self.round).map(|proc| proc.ticks);
        let read = self.read_stat(pid, cx);
        match read.and_then(|()| stat::parse(cx.buf).ok_or(Reason::Malformed)) {
            Ok(stat) => {
                self.take(pid, &stat, cx.root.monotonic_ns(), table);
                let ticks = stat.utime.saturating_add(stat.stime);
                return before.map_or(0, |before| ticks.saturating_sub(before));
            }
            // What is gone by now is no gap; a captured tree may lack `stat` and have the rest.
            Err(Reason::NotFound | Reason::Vanished) if live => {}
            Err(reason) => {
                counts.one(File::Stat, pid, reason);
                if !live {
                    self.row(pid, 0, table);
                }
            }
        }
        0
    }

    /// Takes the processes that used most of all CPUs so far for hot ones, as far as they have few threads: how long
    /// their threads wait takes two readings to tell, and what is hot shows in the second one only.
    fn foresee(&mut self) {
        let many = |proc: &Proc| proc.threads > 1 && !proc.kernel && proc.ticks > 0;
        let mut most: Vec<&mut Proc> = self.procs.values_mut().filter(|proc| many(proc)).collect();
        most.sort_unstable_by_key(|proc| std::cmp::Reverse(proc.ticks));
        let mut room = MOST_FORESEEN;
        for proc in most {
            if let Some(left) = room.checked_sub(proc.threads) {
                room = left;
                proc.hot_until = self.round + HOT_FOR;
            }
        }
    }

    fn read_stat(&mut self, pid: u32, cx: &mut Cx<'_>) -> Result<(), Reason> {
        let path = format_args!("proc/{pid}/stat");
        let Some(proc) = self.procs.get_mut(&pid) else {
            return ProcFile::default().read(cx.root, path, false, cx.buf);
        };
        let was_kept = proc.stat.is_kept();
        let keep = self.kept < MOST_KEPT || was_kept || proc.is_hot(self.round);
        let read = proc.stat.read(cx.root, path, keep, cx.buf);
        self.kept = self.kept + usize::from(proc.stat.is_kept()) - usize::from(was_kept);
        read
    }

    /// The row of a process: a new one when the pid is another process's by now.
    fn row(&mut self, pid: u32, starttime: u64, table: &mut Processes) -> &mut Proc {
        let round = self.round;
        let fresh = |table: &mut Processes, stat: ProcFile| {
            let slot = table.insert();
            table.pid.set(slot, u64::from(pid));
            Proc { slot, starttime, stat, born: round, ..Proc::default() }
        };
        let proc = match self.procs.entry(pid) {
            Entry::Vacant(entry) => entry.insert(fresh(table, ProcFile::default())),
            Entry::Occupied(entry) => {
                let proc = entry.into_mut();
                if proc.starttime != starttime {
                    table.remove(proc.slot);
                    *proc = fresh(table, std::mem::take(&mut proc.stat));
                }
                proc
            }
        };
        proc.seen = round;
        proc
    }

    fn take(&mut self, pid: u32, stat: &Stat<'_>, at_ns: u64, table: &mut Processes) {
        let (round, page_bytes) = (self.round, self.page_bytes);
        let proc = self.row(pid, stat.starttime, table);
        let slot = proc.slot;
        let ticks = stat.utime.saturating_add(stat.stime);
        let known = table.read_at_ns.value(slot).is_some();
        // A process in uninterruptible sleep waits for a disk: its I/O is of interest although it uses no CPU.
        if known && ticks > proc.ticks {
            proc.ran = round;
        }
        if known && (ticks > proc.ticks || stat.state == b'D' || stat.state == b'R') {
            proc.hot_until = round + HOT_FOR;
        }
        let comm = text(stat.comm);
        if table.comm.get(slot).is_none_or(|old| **old != *comm) {
            table.comm.set(slot, &comm);
            proc.detailed = false;
            proc.beam = cmdline::is_beam(stat.comm);
        }
        (proc.ticks, proc.rss_pages, proc.threads) = (ticks, stat.rss_pages, stat.threads);
        proc.read = round;
        proc.kernel = stat.flags & PF_KTHREAD != 0;
        table.starttime.set(slot, stat.starttime);
        table.read_at_ns.set(slot, at_ns);
        table.state.set(slot, u64::from(stat.state));
        table.ppid.set(slot, stat.ppid);
        table.flags.set(slot, stat.flags);
        table.utime.set(slot, stat.utime);
        table.stime.set(slot, stat.stime);
        table.children_utime.set(slot, stat.children_utime);
        table.children_stime.set(slot, stat.children_stime);
        table.threads.set(slot, stat.threads);
        table.vsize_bytes.set(slot, stat.vsize);
        if let Some(bytes) = page_bytes {
            table.rss_bytes.set(slot, stat.rss_pages.saturating_mul(bytes));
        }
        table.last_cpu.set_or_clear(slot, stat.processor);
        table.policy.set_or_clear(slot, stat.policy);
        table.nice_plus_20.set_or_clear(slot, stat.nice_plus_20);
        table.rt_priority.set_or_clear(slot, stat.rt_priority);
        table.io_delay.set_or_clear(slot, stat.io_delay);
        table.majflt.set(slot, stat.majflt);
    }

    /// Drops the rows of processes that were not seen in this round.
    fn drop_gone(&mut self, table: &mut Processes) {
        let (round, kept) = (self.round, &mut self.kept);
        self.procs.retain(|_, proc| {
            if proc.seen == round {
                return true;
            }
            table.remove(proc.slot);
            *kept -= usize::from(proc.stat.is_kept());
            false
        });
        // Past the cap hot processes keep theirs at the cost of cold ones.
        for proc in self.procs.values_mut() {
            if *kept <= MOST_KEPT {
                break;
            }
            if proc.stat.is_kept() && !proc.is_hot(round) {
                proc.stat.close();
                *kept -= 1;
            }
        }
    }

    fn detail(&mut self, cx: &mut Cx<'_>, table: &mut Processes, online: usize) {
        let mounts = self.mounts.get_or_insert_with(|| Mounts::read(cx.root, cx.buf));
        self.details.collect(cx, self.round, &mut self.procs, mounts, table, online);
    }
}

/// True if pids in `/proc` are those of system calls: it may be mounted from another pid namespace.
pub(crate) fn own_pid_namespace(root: &Root) -> bool {
    static OWN: OnceLock<bool> = OnceLock::new();
    let own = || root.link("proc/self").is_ok_and(|pid| pid.as_os_str() == std::process::id().to_string().as_str());
    *OWN.get_or_init(own)
}

#[cfg(test)]
mod tests {
    use super::ProcessCollector;
    use crate::live::{Captured, Live};
    use crate::{Collector, Cx, Demand, Root};
    use std::path::Path;
    use std::sync::Arc;
    use topotop_model::{Draft, Reason, State, Table};

    struct Bench {
        dir: tempfile::TempDir,
        root: Arc<Root>,
        collector: ProcessCollector,
        draft: Draft,
    }

    impl Bench {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let root = Arc::new(Root::at(dir.path()).expect("opened"));
            Self { dir, root, collector: ProcessCollector::default(), draft: Draft::default() }
        }

        fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
            crate::testing::put(self.dir.path(), path, bytes);
        }

        fn process(&self, pid: u32, comm: &str, starttime: u64) {
            self.write(&format!("proc/{pid}/stat"), stat(pid, comm, 10, starttime));
            self.write(
                &format!("proc/{pid}/status"),
                "Name:\tx\nUid:\t7\t7\t7\t7\nVmRSS:\t8 kB\nCpus_allowed_list:\t0-3\n",
            );
            self.write(&format!("proc/{pid}/cgroup"), "0::/a.slice\n");
        }

        fn sample(&mut self, now_ns: u64) -> Vec<(u64, String)> {
            self.sample_for(now_ns, &Demand { complete: true, process: None })
        }

        fn sample_for(&mut self, now_ns: u64, demand: &Demand) -> Vec<(u64, String)> {
            let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&self.root) });
            let mut buf = Vec::new();
            let mut cx = Cx { root: &self.root, live: &live, now_ns, demand, buf: &mut buf };
            self.collector.collect(&mut cx, &mut self.draft);
            let table = self.draft.processes.data();
            let name = |slot| Some((table.pid.value(slot)?, table.comm.or_empty(slot).to_string()));
            let mut rows: Vec<_> = table.rows().iter().filter_map(name).collect();
            rows.sort();
            rows
        }

        fn gap(&self, path: &str, reason: Reason) -> u64 {
            let all = self.draft.processes.gaps.iter();
            all.filter(|gap| *gap.path == *path && gap.reason == reason).map(|gap| gap.count).sum()
        }
    }

    fn stat(pid: u32, comm: &str, utime: u64, starttime: u64) -> String {
        format!(
            "{pid} ({comm}) S 1 1 1 0 -1 0 0 0 3 0 {utime} 5 0 0 20 0 2 0 {starttime} 4096 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 2 0 0\n"
        )
    }

    fn fifo(path: &Path) {
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("made");
    }

    #[test]
    fn rows_live_and_die_with_their_processes() {
        let mut bench = Bench::new();
        bench.process(1, "init", 5);
        bench.process(7, "a) S 1 (\u{1b}[2J", 50);
        assert_eq!(bench.sample(1), [(1, "init".to_owned()), (7, "a) S 1 (\u{1b}[2J".to_owned())]);
        let table = bench.draft.processes.data();
        let slot = table.rows().iter().find(|&slot| table.pid.value(slot) == Some(7)).expect("a row");
        assert_eq!((table.uid.value(slot), table.last_cpu.value(slot)), (Some(7), Some(2)));
        assert_eq!(table.rss_bytes.value(slot), Some(8192), "pages of a captured machine have a size of their own");
        assert_eq!(table.cgroup.or_empty(slot).as_ref(), "/a.slice");
        let serial = table.rows().serial(slot);
        // The pid comes back as another process's.
        bench.process(7, "other", 60);
        assert_eq!(bench.sample(2).last(), Some(&(7, "other".to_owned())));
        let table = bench.draft.processes.data();
        let slot = table.rows().iter().find(|&slot| table.pid.value(slot) == Some(7)).expect("a row");
        assert_ne!(table.rows().serial(slot), serial, "no rate between two processes");
        std::fs::remove_dir_all(bench.dir.path().join("proc/7")).expect("removed");
        assert_eq!(bench.sample(3), [(1, "init".to_owned())]);
    }

    #[test]
    fn hostile_files_cost_their_own_process() {
        let mut bench = Bench::new();
        bench.process(1, "init", 5);
        bench.process(2, "cut", 5);
        bench.write("proc/2/stat", "2 (cut) S 1 1");
        bench.process(3, "binary", 5);
        bench.write("proc/3/stat", [0xff; 9000]);
        bench.process(4, "fifo", 5);
        std::fs::remove_file(bench.dir.path().join("proc/4/stat")).expect("removed");
        fifo(&bench.dir.path().join("proc/4/stat"));
        bench.write("proc/4/cgroup", "");
        bench.write("proc/99999999999/stat", "1 (no pid) S 1\n");
        let rows = bench.sample(1);
        // What has no `stat` is known by its `status`.
        let names: Vec<_> = rows.iter().map(|row| (row.0, row.1.as_str())).collect();
        assert_eq!(names, [(1, "init"), (2, "x"), (3, "x"), (4, "x")]);
        assert_eq!(bench.gap("proc/*/stat", Reason::Malformed), 2);
        assert_eq!(bench.gap("proc/*/stat", Reason::NotSupported), 1);
        assert_eq!(bench.gap("proc/*/io", Reason::NotFound), 4);
    }

    #[test]
    fn schedulers_hide_behind_an_unpinned_main_thread() {
        let mut bench = Bench::new();
        bench.process(9, "beam.smp", 5);
        bench.write("proc/9/cmdline", "/usr/lib/erlang/bin/beam.smp\0-sbt\0db\0--\0-root\0/\0");
        for (tid, comm, cpus) in [(9, "beam.smp", "0-3"), (10, "1_scheduler", "2")] {
            bench.write(&format!("proc/9/task/{tid}/stat"), stat(tid, comm, 10, 5));
            bench.write(&format!("proc/9/task/{tid}/status"), format!("Name:\tx\nCpus_allowed_list:\t{cpus}\n"));
            bench.write(&format!("proc/9/task/{tid}/schedstat"), "100 200 3\n");
        }
        bench.sample(1);
        let processes = bench.draft.processes.data();
        let slot = processes.first().expect("a row");
        assert_eq!(processes.beam_bind_type.or_empty(slot).as_ref(), "db");
        assert_eq!(processes.threads_watched.value(slot), Some(1));
        let threads = bench.draft.threads.data();
        let pins = threads.rows().iter().filter_map(|slot| threads.affinity.get(slot)?.single()).collect::<Vec<_>>();
        assert_eq!(pins, [2]);
    }

    #[test]
    fn threads_of_what_does_little_are_read_now_and_then() {
        let mut bench = Bench::new();
        let mut at = |seconds: u64, used: u64, asked: Option<u32>| {
            for task in ["", "task/7/", "task/8/"] {
                bench.write(&format!("proc/7/{task}stat"), stat(7, "java", used, 5));
            }
            let now_ns = seconds * 1_000_000_000;
            bench.draft.load.begin(now_ns);
            bench.sample_for(now_ns, &Demand { complete: false, process: asked });
            let threads = &bench.draft.threads;
            assert_eq!((threads.data().rows().len(), threads.value().is_some()), (2, true), "after {seconds} s");
            now_ns == threads.read_at_ns
        };
        assert!(at(1, 10, None), "the first time");
        assert!(!at(2, 13, None), "three hundredths of a CPU");
        assert!(at(3, 113, None), "a whole one");
        assert!(!at(4, 114, None));
        assert!(at(5, 114, Some(7)), "asked for");
        assert!(at(6, 114, None), "not any more");
        assert!(!at(7, 115, None) && !at(8, 116, None) && !at(9, 117, None));
        assert!(at(10, 118, None), "in its turn");
        bench.write("proc/7/task/9/stat", stat(9, "java", 1, 5));
        bench.write("proc/7/stat", stat(7, "java", 118, 5).replace(" 0 2 0 5 ", " 0 3 0 5 "));
        bench.sample_for(11_000_000_000, &Demand::default());
        assert_eq!(bench.draft.threads.data().rows().len(), 3, "born");
    }

    #[test]
    fn a_machine_without_processes_says_so() {
        let mut bench = Bench::new();
        assert!(bench.sample(1).is_empty());
        assert_eq!(bench.draft.processes.state, State::Missing);
        assert_eq!(bench.gap("proc", Reason::NotFound), 1);
    }
}
