//! All sections of one instant, and the working copy that collectors write.

use crate::tables::{
    accelerators, applied, cgroups, cooling, cost, cpu, disks, host, irqs, jvm, memory, metrics, network, nics,
    off_cpu, pressure, processes, sockets, topology,
};
use crate::{Section, Stamp, State, Table};
use std::sync::{Arc, OnceLock};

/// Something done to every section of a snapshot, in the order of the list.
pub trait Visit {
    /// Called once per section.
    fn section<T: Table>(&mut self, name: &'static str, section: &Arc<Section<T>>);
}

/// Something done to every section of a snapshot that may replace it.
pub trait VisitMut {
    /// Called once per section.
    fn section<T: Table>(&mut self, name: &'static str, section: &mut Arc<Section<T>>);
}

macro_rules! sections {
    ($($(#[$doc:meta])* $field:ident: $table:ty),+ $(,)?) => {
        /// Raw facts of one instant: a stamp and one shared section per table.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Snapshot {
            /// When.
            pub stamp: Stamp,
            $($(#[$doc])* pub $field: Arc<Section<$table>>,)+
        }

        impl Default for Snapshot {
            /// Nothing collected: the same empty sections each time, so that it costs no memory.
            fn default() -> Self {
                static EMPTY: OnceLock<Snapshot> = OnceLock::new();
                EMPTY.get_or_init(|| Self { stamp: Stamp::default(), $($field: Arc::default(),)+ }).clone()
            }
        }

        /// Whether each section was read.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct SectionStates {
            $($(#[$doc])* pub $field: State,)+
        }

        impl SectionStates {
            /// All sections in one state.
            pub fn all(state: State) -> Self {
                Self { $($field: state,)+ }
            }
        }

        impl Snapshot {
            /// Whether each section was read.
            pub(crate) fn states(&self) -> SectionStates {
                SectionStates { $($field: self.$field.state,)+ }
            }

            /// Shows every section to a visitor.
            pub fn visit(&self, visitor: &mut impl Visit) {
                $(visitor.section(stringify!($field), &self.$field);)+
            }

            /// Lets a visitor replace sections.
            pub fn visit_mut(&mut self, visitor: &mut impl VisitMut) {
                $(visitor.section(stringify!($field), &mut self.$field);)+
            }
        }

        /// The sections that collectors write in place; their slots and buffers outlive the samples.
        #[derive(Debug, Default)]
        pub struct Draft {
            $($(#[$doc])* pub $field: Section<$table>,)+
            retired: Snapshot,
        }

        impl Draft {
            /// The snapshot of what is there: sections not read since `last` stay the same shared ones.
            pub fn publish(&mut self, stamp: Stamp, last: &Snapshot) -> Snapshot {
                let mut next = Snapshot { stamp, ..last.clone() };
                $(if self.$field.read_at_ns != last.$field.read_at_ns {
                    next.$field = renew(&self.$field, &mut self.retired.$field);
                })+
                next
            }

            /// Hands a snapshot back that nobody needs any more, so that its buffers are used again.
            pub fn retire(&mut self, snapshot: Snapshot) {
                self.retired = snapshot;
            }
        }

        /// The last two different generations of every section: what rates are made from.
        #[derive(Clone, Debug, Default)]
        pub struct Window {
            /// The newest sections.
            pub now: Snapshot,
            /// The sections before those; not collected until there were two.
            pub before: Snapshot,
        }

        impl Window {
            /// Takes in the next snapshot.
            pub fn push(&mut self, next: Snapshot) {
                $(if next.$field.read_at_ns != self.now.$field.read_at_ns {
                    self.before.$field = std::mem::replace(&mut self.now.$field, Arc::clone(&next.$field));
                })+
                self.before.stamp = self.now.stamp;
                self.now = next;
            }

            /// Changes the newest snapshot in place. What it was before is kept of `all` sections, or of those that
            /// are not read every time: to keep it costs a copy.
            pub(crate) fn step<E>(
                &mut self,
                tracks: &mut Tracks,
                all: bool,
                change: impl FnOnce(&mut Snapshot) -> Result<(), E>,
            ) -> Result<(), E> {
                let (mut held, stamp) = (Snapshot::default(), self.now.stamp);
                let mut track = tracks.0.iter_mut();
                $(if let Some(track) = track.next() {
                    track.read_at_ns = self.now.$field.read_at_ns;
                    track.kept = all || track.streak < STREAK;
                    if track.kept {
                        held.$field = Arc::clone(&self.now.$field);
                    }
                })+
                change(&mut self.now)?;
                let mut track = tracks.0.iter_mut();
                $(if let Some(track) = track.next() {
                    if track.changed(self.now.$field.read_at_ns) {
                        self.before.$field = held.$field;
                    }
                })+
                self.before.stamp = stamp;
                Ok(())
            }
        }

        /// What [`Window::step`] remembers of every section.
        #[derive(Debug)]
        pub(crate) struct Tracks([Track; [$(stringify!($field)),+].len()]);

        impl Default for Tracks {
            fn default() -> Self {
                Self([const { Track { read_at_ns: 0, kept: false, streak: 0, stale: false } }; _])
            }
        }
    };
}

/// A section that was read so many times in a row is expected to be read again, so what it was is not kept yet.
const STREAK: u32 = 2;

/// How a section went so far.
#[derive(Debug)]
struct Track {
    read_at_ns: u64,
    kept: bool,
    streak: u32,
    /// It changed without having been kept.
    stale: bool,
}

impl Track {
    /// Takes in its generation; true if what it was before is to be set.
    fn changed(&mut self, read_at_ns: u64) -> bool {
        let changed = read_at_ns != self.read_at_ns;
        self.streak = if changed { self.streak.saturating_add(1) } else { 0 };
        if changed {
            self.stale = !self.kept;
        }
        changed && self.kept
    }
}

impl Tracks {
    /// True if every section's state before its last change was kept.
    pub(crate) fn are_whole(&self) -> bool {
        self.0.iter().all(|track| !track.stale)
    }
}

sections! {
    /// Identity of the machine.
    host: host::Host,
    /// Its load.
    load: host::Load,
    /// Settings that rules read.
    sysctls: host::Sysctls,
    /// CPUs.
    cpu_topology: topology::CpuTopology,
    /// Nodes.
    node_topology: topology::NodeTopology,
    /// Caches and groups.
    domains: topology::Domains,
    /// PCI devices.
    pci_devices: topology::PciDevices,
    /// Time by CPU.
    cpu_times: cpu::CpuTimes,
    /// Memory of the machine.
    memory: memory::Memory,
    /// Memory by node.
    node_memory: memory::NodeMemory,
    /// Memory bandwidth by L3.
    memory_bandwidth: memory::MemoryBandwidth,
    /// GPUs and other accelerators.
    accelerators: accelerators::Accelerators,
    /// Who holds an accelerator open.
    accelerator_clients: accelerators::AcceleratorClients,
    /// What cools CPUs at the cost of their speed.
    cooling_devices: cooling::CoolingDevices,
    /// Processes that the OOM killer killed.
    oom_kills: memory::OomKills,
    /// Device interrupts.
    irqs: irqs::Irqs,
    /// The architecture's interrupts.
    irqs_arch: irqs::ArchIrqs,
    /// Softirq.
    softirqs: irqs::Softirqs,
    /// Packet backlog.
    softnet: irqs::Softnet,
    /// irqbalance.
    irqbalance: irqs::Irqbalance,
    /// Interfaces.
    nics: nics::Nics,
    /// Queues.
    nic_queues: nics::NicQueues,
    /// Protocols by network namespace.
    net_stats: network::NetStats,
    /// Shapers in other network namespaces.
    shapers: network::Shapers,
    /// Tables of the kernel that can be full.
    kernel_tables: network::KernelTables,
    /// Pressure.
    pressure: pressure::Pressure,
    /// Control groups.
    cgroups: cgroups::Cgroups,
    /// I/O by control group.
    cgroup_io: cgroups::CgroupIo,
    /// Where control groups are mounted.
    cgroup_mounts: cgroups::CgroupMounts,
    /// Block devices.
    disks: disks::Disks,
    /// Mount points.
    mounts: disks::Mounts,
    /// Processes.
    processes: processes::Processes,
    /// Threads.
    threads: processes::Threads,
    /// Memory by process and node.
    process_memory: processes::ProcessMemory,
    /// Processes whose sockets were looked at.
    socket_owners: sockets::SocketOwners,
    /// Listening sockets.
    listeners: sockets::Listeners,
    /// Connections by process and other end.
    peers: sockets::Peers,
    /// Processes whose threads are sampled.
    off_cpu: off_cpu::OffCpu,
    /// What those wait for.
    waits: off_cpu::Waits,
    /// Java virtual machines.
    jvms: jvm::Jvms,
    /// The application's own numbers.
    metrics: metrics::Metrics,
    /// The monitor's own cost.
    cost: cost::Cost,
    /// What fixes have written.
    applied: applied::Applied,
}

/// A copy of a section, in the buffers of one that retired if nobody else holds that.
fn renew<T: Table>(draft: &Section<T>, retired: &mut Arc<Section<T>>) -> Arc<Section<T>> {
    match Arc::get_mut(retired) {
        Some(section) => section.copy_from(draft),
        None => *retired = Arc::new(draft.clone()),
    }
    Arc::clone(retired)
}
