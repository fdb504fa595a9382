//! Processes: where they run, where their memory is, and what pins them.

use super::{Jvm, Listener, OffCpu, Peer};
use crate::document::{Absent, ById, Text, absent, known_text};
use crate::{IdSet, Known};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// PF_NO_SETAFFINITY: userland may not change its affinity.
pub(crate) const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// A process in this interval.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Ticks since boot when it started.
    pub starttime: u64,
    /// Its parent.
    #[serde(skip)]
    pub ppid: Known<u32>,
    /// Name; hostile.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub comm: Arc<str>,
    /// Arguments; hostile.
    pub cmdline: Arc<str>,
    /// Control group; hostile.
    pub cgroup: Arc<str>,
    /// Control group of the cpu controller where it differs (v1), else empty; hostile.
    pub cpu_cgroup: Arc<str>,
    /// Control group of the cpuset controller where it differs (v1), else empty; hostile.
    pub cpuset_cgroup: Arc<str>,
    /// Control group of the blkio controller where it differs (v1), else empty; hostile.
    pub io_cgroup: Arc<str>,
    /// State letter.
    #[serde_with(skip_apply)]
    #[serde(skip_serializing_if = "is_no_letter")]
    #[cfg_attr(test, schemars(with = "Text"))]
    pub state: char,
    /// True for kernel threads.
    pub kernel: bool,
    /// User.
    pub uid: Known<u32>,
    /// Name of the user; empty if unknown. Untrusted text.
    pub user: Arc<str>,
    /// CPU time used since it started.
    pub cpu_seconds: Option<f64>,
    /// Threads.
    pub threads: Known<u64>,
    /// Cores used in its own interval.
    pub cpu_cores: Option<f64>,
    /// CPU use of children that started or exited in the interval, and of their descendants, such as programs of a script that
    /// exit before they are seen twice. Absent if their time is unknown.
    pub children_cores: Option<f64>,
    /// Cores used by node, summing to `cpu_cores`; empty when unknown.
    #[serde_with(skip_apply)]
    #[serde(with = "ById::<f64>", skip_serializing_if = "Vec::is_empty")]
    pub cpu_by_node: Vec<(u32, f64)>,
    /// Time spent waiting for a CPU, as a share of the time that it ran or waited.
    pub wait_share: Option<f64>,
    /// Time its threads waited for a CPU, in cores (`schedstat`, throttled time included); absent if not all of it is
    /// known.
    pub run_wait_cores: Option<f64>,
    /// Time its threads waited for disks, in cores (field 42 of `stat`); absent while delay accounting is off.
    pub io_delay_cores: Option<f64>,
    /// Its threads in uninterruptible sleep (D) when they were read; of a process whose threads are not sampled, its
    /// main thread.
    pub blocked_threads: u32,
    /// True when the kernel tells how long its main thread ran and waited (CONFIG_SCHED_INFO).
    #[serde(skip)]
    pub has_schedstat: bool,
    /// True when its I/O counters were read: without a rate, a second reading is to come.
    #[serde(skip)]
    pub has_io: bool,
    /// Kernel flags of its main thread (PF_*); zero if unknown.
    #[serde(skip)]
    pub flags: u64,
    /// Scheduling policy of its main thread (SCHED_*): 0 is other, 1 FIFO, 2 RR, 3 batch, 5 idle, 6 deadline.
    #[serde(rename = "scheduling_policy")]
    pub scheduling: Known<u64>,
    /// Real-time priority of its main thread, 1 to 99; 0 for other policies.
    pub rt_priority: Known<u64>,
    /// Times per second that its threads were given a CPU; of a process whose threads are not sampled, its main thread.
    pub context_switches_per_second: Option<f64>,
    /// Nice value of its main thread, -20 to 19.
    pub nice: Known<i32>,
    /// Open files.
    pub open_files: Known<u64>,
    /// Maximum number of open files (RLIMIT_NOFILE).
    pub open_files_limit: Known<u64>,
    /// CPU that its main thread ran on last.
    pub last_cpu: Known<u32>,
    /// CPUs that its main thread may run on.
    pub affinity: Option<Arc<IdSet>>,
    /// Its threads grouped by affinity mask, largest group first; empty when not read.
    #[serde_with(skip_apply)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<Vec<AffinityGroup>>"))]
    pub thread_affinities: Vec<AffinityGroup>,
    /// Nodes that its cpuset allows.
    pub mems_allowed: Option<Arc<IdSet>>,
    /// Memory policy; empty when unknown.
    pub policy: Arc<str>,
    /// Resident memory.
    pub rss_bytes: Known<u64>,
    /// Anonymous part of the resident memory.
    pub rss_anon_bytes: Known<u64>,
    /// Mapped file pages in the resident memory.
    pub rss_file_bytes: Known<u64>,
    /// Memory in swap.
    pub swap_bytes: Known<u64>,
    /// Where its memory is; none when nobody asked yet.
    #[serde(flatten)]
    pub memory: Option<ProcessMemory>,
    /// Bytes read from disks per second.
    pub read_bytes_per_second: Option<f64>,
    /// Bytes written to disks per second.
    pub write_bytes_per_second: Option<f64>,
    /// Major faults per second.
    pub majflt_per_second: Option<f64>,
    /// Details of an Erlang VM (BEAM).
    pub beam: Option<Beam>,
    /// Its listening sockets; absent if its sockets were not read.
    pub listen: Option<Vec<Listener>>,
    /// Its listening Unix sockets, as far as they were read.
    pub listen_local: Vec<Listener>,
    /// Its connections by peer, the busiest first; empty if unknown.
    #[serde_with(skip_apply)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Option<Vec<Peer>>"))]
    pub peers: Vec<Peer>,
    /// Details of a Java virtual machine; absent for other processes or if unreadable.
    pub jvm: Option<Jvm>,
    /// Where its time goes; absent if its threads were not sampled.
    pub off_cpu: Option<OffCpu>,
}

impl Process {
    /// Time its threads ran or wanted to run, in cores; none where either is unknown.
    pub fn demand_cores(&self) -> Option<f64> {
        Some(self.cpu_cores? + self.run_wait_cores?)
    }

    /// True for systemd, which holds the sockets of other programs and starts these at the first connection.
    pub fn activates(&self) -> bool {
        &*self.comm == "systemd"
    }

    /// True if the kernel keeps the affinity of its main thread as it is, as of a thread that belongs to one CPU.
    pub fn is_bound(&self) -> bool {
        self.flags & PF_NO_SETAFFINITY != 0
    }
}

impl Process {
    /// The group whose quota is its.
    pub fn quota_group(&self) -> &Arc<str> {
        if self.cpu_cgroup.is_empty() { &self.cgroup } else { &self.cpu_cgroup }
    }

    /// The group whose CPUs are its.
    pub fn cpuset_group(&self) -> &Arc<str> {
        if self.cpuset_cgroup.is_empty() { &self.cgroup } else { &self.cpuset_cgroup }
    }

    /// The group that its I/O is counted and limited in.
    pub fn io_group(&self) -> &Arc<str> {
        if self.io_cgroup.is_empty() { &self.cgroup } else { &self.io_cgroup }
    }

    /// The groups that it is in: version 1 has one for each controller, often the same.
    pub fn groups(&self) -> [&Arc<str>; 4] {
        [&self.cgroup, self.quota_group(), self.cpuset_group(), self.io_group()]
    }
}

/// Threads that may run on the same CPUs.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AffinityGroup {
    /// The CPUs.
    pub cpus: Arc<IdSet>,
    /// How many threads.
    pub count: u32,
}

/// Source of the memory by node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    /// memory.numa_stat of a control group that holds this process alone.
    Cgroup,
    /// A random sample of resident pages.
    #[default]
    Sampled,
    /// Every page.
    NumaMaps,
    /// The machine has one node with memory: no query is needed.
    OneNode,
}

impl MemorySource {
    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Sampled => "sampled",
            Self::NumaMaps => "numa_maps",
            Self::OneNode => "one_node",
        }
    }
}

/// Where a process's memory is.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProcessMemory {
    /// Anonymous and shared bytes by node.
    #[serde_with(skip_apply)]
    #[serde(rename = "memory_by_node", with = "ById::<u64>")]
    pub by_node: Vec<(u32, u64)>,
    /// File pages by node; empty when unread.
    #[serde_with(skip_apply)]
    #[serde(with = "ById::<u64>", skip_serializing_if = "Vec::is_empty")]
    pub file_by_node: Vec<(u32, u64)>,
    /// Source of the memory by node.
    #[serde(rename = "memory_source")]
    pub source: MemorySource,
    /// Half the width of the 95 % interval of a node's share; zero when exact.
    #[serde(rename = "memory_error")]
    pub error: f64,
    /// Age of the memory-by-node sample.
    #[serde(rename = "memory_age_seconds")]
    pub age_seconds: f64,
    /// Share of accesses that would be remote if they followed CPU time: Σ cpu share(n) × (1 − memory share(n)).
    pub remote_ratio: Option<f64>,
}

/// A thread that is looked at.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Thread id.
    pub tid: u32,
    /// Its process.
    pub pid: u32,
    /// Name; hostile.
    pub comm: Arc<str>,
    /// Cores used.
    pub cpu_cores: Option<f64>,
    /// Time spent waiting for a CPU, as a share of the time that it ran or waited.
    pub wait_share: Option<f64>,
    /// Time it ran or wanted to run, in cores.
    pub demand_cores: Option<f64>,
    /// State letter.
    pub state: char,
    /// Time it waited for disks, in cores; none while delay accounting is off.
    pub io_delay_cores: Option<f64>,
    /// Times it was given a CPU, per second.
    pub slices_per_second: Option<f64>,
    /// True when the kernel tells how long it ran and waited (CONFIG_SCHED_INFO).
    pub has_schedstat: bool,
    /// CPU time since its start.
    pub run_ns: Known<u64>,
    /// CPU that it ran on last.
    pub last_cpu: Known<u32>,
    /// CPUs that it may run on.
    pub affinity: Option<Arc<IdSet>>,
    /// True for kernel threads and others whose affinity is fixed (PF_NO_SETAFFINITY).
    pub fixed: bool,
    /// Scheduling policy (SCHED_*).
    pub policy: Known<u64>,
}

/// An Erlang virtual machine.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Beam {
    /// Bind type on the command line: `db`, `u`, …; null if it sets none.
    #[serde(serialize_with = "known_text")]
    pub bind_type_configured: Known<Arc<str>>,
    /// True when scheduler threads are bound now, whatever the command line says.
    pub bound_now: Known<bool>,
    /// Normal scheduler threads.
    pub schedulers: Known<u64>,
    /// Those that are online; a thread that has never run counts as offline.
    pub schedulers_online: Known<u64>,
    /// Those that ran in the interval.
    pub schedulers_active: Option<u64>,
    /// Scheduler threads by the CPU that they are pinned to.
    #[serde_with(skip_apply)]
    #[serde(with = "ById::<u32>")]
    pub pinned: Vec<(u32, u32)>,
}

impl Absent for MemorySource {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_no_letter(state: &char) -> bool {
    !state.is_ascii_alphabetic()
}
