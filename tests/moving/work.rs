//! Processes and control groups of a moving machine.

use super::machine::Machine;
use std::fmt::Write as _;

const MIB: u64 = 1 << 20;

/// A thread of a process.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) comm: &'static str,
    pub(crate) cpu: u32,
    /// CPUs that it uses and waits for: 0.9 and 0.1 is a thread that waits a tenth of its time.
    pub(crate) run: f64,
    pub(crate) wait: f64,
    /// CPUs that it may run on; none for all.
    pub(crate) affinity: Option<&'static str>,
    pub(crate) state: char,
}

impl Thread {
    /// A thread that may run everywhere.
    pub(crate) const FREE: Self = Self { comm: "worker", cpu: 0, run: 0.0, wait: 0.0, affinity: None, state: 'S' };
}

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) comm: &'static str,
    pub(crate) cmdline: &'static str,
    /// Its control group; `/` for none of its own.
    pub(crate) group: &'static str,
    /// Its threads; the first one has its pid.
    pub(crate) threads: Vec<Thread>,
    pub(crate) rss_mib: u64,
    pub(crate) kernel: bool,
    pub(crate) parent: u32,
    /// CPUs that its children use, each for a moment.
    pub(crate) children: f64,
    /// Bytes a second.
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    /// /proc/PID/numa_maps; empty for none.
    pub(crate) numa_maps: String,
    /// Nodes that it may have memory of; none for all.
    pub(crate) mems: Option<&'static str>,
}

impl Process {
    /// A process that sleeps.
    pub(crate) fn new(pid: u32, comm: &'static str) -> Self {
        Self {
            pid,
            comm,
            cmdline: comm,
            group: "/",
            threads: vec![Thread { comm, ..Thread::FREE }],
            rss_mib: 100,
            kernel: false,
            parent: 1,
            children: 0.0,
            reads: 0,
            writes: 0,
            numa_maps: String::new(),
            mems: None,
        }
    }
}

/// A control group of version 2.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) path: &'static str,
    /// Files and what is in them; what is not here is as in a group without limits and load.
    pub(crate) files: Vec<(&'static str, String)>,
}

impl Group {
    /// A group with a memory limit, so much anonymous memory and page cache, in MiB.
    pub(crate) fn memory(path: &'static str, limit: u64, anon: u64, file: u64) -> Self {
        let (anon, file, limit) = (anon * MIB, file * MIB, limit * MIB);
        let half = file / 2;
        let stat = format!(
            "anon {anon}\nfile {file}\nkernel 0\nshmem 0\nfile_dirty 0\nfile_writeback 0\ninactive_file {half}\n\
             active_file {half}\nunevictable 0\nslab_reclaimable 0\nslab_unreclaimable 0\nworkingset_refault_file 0\n\
             pgscan_direct 0\npgsteal_direct 0\npgmajfault 0\n"
        );
        let files = vec![
            ("memory.current", format!("{}\n", anon + file)),
            ("memory.max", format!("{limit}\n")),
            ("memory.stat", stat),
        ];
        Self { path, files }
    }

    /// A file of it, instead of what would be there.
    pub(crate) fn file(mut self, name: &'static str, text: &str) -> Self {
        self.files.retain(|file| file.0 != name);
        self.files.push((name, text.to_owned()));
        self
    }
}

impl Machine {
    /// A machine with a process and a group that do nothing: what is read of those is known.
    pub(crate) fn calm() -> Self {
        Self::small().process(&Process::new(300, "sleepd")).group(&Group { path: "/app.slice", files: Vec::new() })
    }

    /// A process.
    #[expect(clippy::too_many_lines, reason = "one file of /proc after another")]
    pub(crate) fn process(mut self, process: &Process) -> Self {
        let (pid, base) = (process.pid, format!("proc/{}", process.pid));
        let all = self.cpu_list();
        let nodes = format!("0-{}", self.nodes.len().max(1) - 1);
        let mems = process.mems.unwrap_or(&nodes);
        let run: f64 = process.threads.iter().map(|thread| thread.run).sum();
        let wait: f64 = process.threads.iter().map(|thread| thread.wait).sum();
        let count = process.threads.len();
        let flags = if process.kernel { 0x0020_8040 } else { 0x0040_0000 };
        let stat = |id: u32, thread: &Thread, run: f64| {
            let ticks = format!("{{100+{}}}", run * 100.0);
            let (user, system) = if process.kernel { ("0", ticks.as_str()) } else { (ticks.as_str(), "50") };
            let (parent, children) = (process.parent, format!("{{70+{}}}", process.children * 100.0));
            format!(
                "{id} ({}) {} {parent} {pid} {pid} 0 -1 {flags} 1 0 2 0 {user} {system} {children} 9 20 0 {count} 0 {} 104857600 {} \
                 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 {} 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                thread.comm,
                thread.state,
                500 + pid,
                process.rss_mib * 256,
                thread.cpu
            )
        };
        let status = |id: u32, thread: &Thread| {
            let affinity = thread.affinity.unwrap_or(&all);
            format!(
                "Name:\t{}\nUmask:\t0022\nState:\t{} (x)\nTgid:\t{pid}\nPid:\t{id}\nPPid:\t1\nUid:\t0\t0\t0\t0\n\
                 NSpid:\t{id}\nVmRSS:\t{} kB\nThreads:\t{count}\nCpus_allowed_list:\t{affinity}\n\
                 Mems_allowed_list:\t{mems}\nvoluntary_ctxt_switches:\t{{9~100}}\nnonvoluntary_ctxt_switches:\t{{9~10}}\n",
                thread.comm,
                thread.state,
                process.rss_mib * 1024
            )
        };
        let schedstat =
            |run: f64, wait: f64| format!("{{1000000+{}}} {{500000+{}}} {{20~100}}\n", run * 1e9, wait * 1e9);
        for (id, thread) in (pid..).zip(&process.threads) {
            let task = format!("{base}/task/{id}");
            self = self
                .file(&format!("{task}/stat"), &stat(id, thread, thread.run))
                .file(&format!("{task}/status"), &status(id, thread))
                .file(&format!("{task}/schedstat"), &schedstat(thread.run, thread.wait));
        }
        let first = process.threads.first().cloned().unwrap_or(Thread::FREE);
        let whole = Thread { comm: process.comm, ..first };
        let mut io = String::new();
        let _ = writeln!(io, "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0");
        let _ = writeln!(io, "read_bytes: {{4096~{}}}\nwrite_bytes: {{4096~{}}}", process.reads, process.writes);
        io.push_str("cancelled_write_bytes: 0\n");
        let machine = self
            .file(&format!("{base}/stat"), &stat(pid, &whole, run))
            .file(&format!("{base}/status"), &status(pid, &whole))
            .file(&format!("{base}/schedstat"), &schedstat(run, wait))
            .file(&format!("{base}/cgroup"), &format!("0::{}\n", process.group))
            .file(&format!("{base}/io"), &io);
        let machine = if process.kernel {
            machine.file(&format!("{base}/cmdline"), "")
        } else {
            machine.file(&format!("{base}/cmdline"), &(process.cmdline.replace(' ', "\0") + "\0"))
        };
        if process.numa_maps.is_empty() {
            machine
        } else {
            machine.file(&format!("{base}/numa_maps"), &process.numa_maps)
        }
    }

    /// A control group, and those above it.
    pub(crate) fn group(mut self, group: &Group) -> Self {
        self = self.group_files("", &[]);
        for (at, _) in group.path.match_indices('/').skip(1) {
            self = self.group_files(&group.path[..at], &[]);
        }
        self.group_files(group.path, &group.files)
    }

    fn group_files(mut self, path: &str, own: &[(&'static str, String)]) -> Self {
        let base = format!("sys/fs/cgroup{path}");
        let defaults = [
            ("cgroup.controllers", "cpuset cpu io memory pids\n"),
            ("cgroup.procs", ""),
            ("cpu.stat", "usage_usec {9000+1000}\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
            ("memory.stat", "anon 1\nfile 1\n"),
        ];
        let below = [
            ("memory.current", "1000000\n"),
            ("memory.max", "max\n"),
            ("memory.high", "max\n"),
            ("memory.swap.max", "max\n"),
            ("memory.swap.current", "0\n"),
            ("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"),
            ("cpu.max", "max 100000\n"),
            ("io.stat", ""),
        ];
        let below = below.iter().filter(|_| !path.is_empty());
        for (name, text) in defaults.iter().chain(below) {
            let path = format!("{base}/{name}");
            if !self.files.contains_key(&path) {
                self = self.file(&path, text);
            }
        }
        for (name, text) in own {
            self = self.file(&format!("{base}/{name}"), text);
        }
        self
    }
}
