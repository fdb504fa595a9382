//! What a step writes: a setting of the machine with an old and a new value.

use crate::IdSet;
use crate::locale::fix::target as text;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A setting that is read and written. Values are texts; a setting may have several items, each with its own value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "in", rename_all = "snake_case")]
pub enum Target {
    /// A file that holds one value: `/proc/irq/141/smp_affinity_list`, a sysctl, `memory.high`.
    File {
        /// Where.
        path: String,
    },
    /// A line of a file that holds several, by its first word: `8:16` of `io.max`. Unset lines read as an empty value.
    Line {
        /// Where.
        path: String,
        /// The first word.
        key: String,
    },
    /// How many channels an interface has: `combined 4`, `rx 2 tx 2`.
    Channels {
        /// The interface.
        nic: String,
    },
    /// Entries of an interface's rings: `rx 1024 tx 1024`.
    Rings {
        /// The interface.
        nic: String,
    },
    /// The receive queues that an interface's RSS table spreads over: `equal 4`, `default`, or the table itself as
    /// `queue*entries` in order: `0*32 1*32`.
    RssTable {
        /// The interface.
        nic: String,
    },
    /// CPUs that an interrupt may go to, as a list. Drivers give their interrupts other numbers when queues come and go:
    /// where the number is another one's now, it is found again by its actions.
    Interrupt {
        /// Its number.
        irq: u32,
        /// Its actions, as /proc/interrupts has them; hostile.
        actions: String,
    },
    /// CPUs that each thread of a process may run on, as a list; an item is a thread, `tid@starttime`.
    Affinity {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// The I/O class and level of each thread of a process: `best-effort 7`, `none 0`; an item is a thread.
    IoPriority {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// The nice value of each thread of a process; an item is a thread.
    Nice {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// One thread of a place whose items are threads.
    Thread {
        /// The thread.
        tid: u32,
        /// The place of the whole process.
        of: Box<Target>,
    },
    /// Whether a process is `stopped` or `running`: SIGSTOP and SIGCONT.
    Stopped {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// A signal to a process, by its name without SIG: an action that leaves no value.
    Signal {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// The control group of a process in one hierarchy, as a path below its mount.
    Member {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
        /// A controller of the hierarchy; empty for version 2.
        controller: String,
        /// Where it is mounted.
        mount: String,
    },
    /// Nodes that a process's pages are on. Written as the list of nodes to move them to; read as bytes by node:
    /// `0:1048576 3:4096`.
    Pages {
        /// The process.
        pid: u32,
        /// Ticks since boot when it started.
        starttime: u64,
    },
    /// A property of a systemd unit until the next boot, set by `systemctl set-property --runtime`.
    UnitProperty {
        /// `rabbitmq.service`.
        unit: String,
        /// `MemoryHigh`.
        property: String,
    },
    /// The drop-in that `systemctl set-property --runtime` writes for a property of a unit: its text, or nothing where there
    /// is none.
    UnitDropIn {
        /// `rabbitmq.service`.
        unit: String,
        /// `MemoryHigh`.
        property: String,
    },
    /// Whether a daemon runs: `stopped`, `running`, or `running, banned IRQs 24,26` where it leaves interrupts alone; known
    /// by its process, not by an exit status.
    Service {
        /// `irqbalance`.
        name: String,
    },
    /// How much dirty memory there may be, before writers are held or before it is written back: `bytes 1073741824` or
    /// `ratio 20`, whichever of the two settings is in force; the kernel sets the other one to zero.
    DirtyLimit {
        /// True for the one from which on it is written back.
        background: bool,
    },
    /// Memory to be given back by a control group: bytes, asked for in steps.
    Reclaim {
        /// `memory.reclaim` of the group.
        path: String,
    },
    /// Empties a control group of version 1 of its page cache.
    ForceEmpty {
        /// `memory.force_empty` of the group.
        path: String,
    },
}

impl Target {
    /// A file.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File { path: path.into() }
    }

    /// False where writing triggers an action and there is no value to restore.
    pub fn holds_a_value(&self) -> bool {
        !matches!(self, Self::Reclaim { .. } | Self::ForceEmpty { .. } | Self::Signal { .. })
    }

    /// True where its items are threads, which may end at any time.
    pub fn is_of_threads(&self) -> bool {
        matches!(self, Self::Affinity { .. } | Self::IoPriority { .. } | Self::Nice { .. } | Self::Thread { .. })
    }

    /// True where it ends with its process, and nothing is left to restore.
    pub fn ends_with_process(&self) -> bool {
        self.is_of_threads() || matches!(self, Self::Stopped { .. } | Self::Member { .. } | Self::Pages { .. })
    }

    /// True where a value that was read equals the wanted one in the notation of its interface: kernels format sets and
    /// masks their own way, and report more than was written.
    pub fn agrees(&self, wanted: &str, value: &str) -> bool {
        match self {
            Self::File { path } => is_same(path, wanted, value),
            Self::Channels { .. } | Self::Rings { .. } => {
                let pairs: Vec<_> = pairs_of(value).collect();
                !pairs.is_empty() && pairs_of(wanted).all(|pair| pairs.contains(&pair))
            }
            Self::RssTable { .. } => wanted == value || (wanted == "default" && value.starts_with("equal ")),
            Self::Pages { .. } => are_there(wanted, value),
            Self::Thread { of, .. } => of.agrees(wanted, value),
            Self::Line { path, .. } if path.ends_with("/io.max") => has_limits(wanted, value),
            Self::Interrupt { .. } | Self::Affinity { .. } => is_same("_list", wanted, value),
            _ => is_same("", wanted, value),
        }
    }
}

/// Where systemd keeps a property that was set until the next boot, below the root: with a transient unit, if it is one.
pub fn drop_in(unit: &str, property: &str, transient: bool) -> String {
    let place = if transient { "transient" } else { "system.control" };
    format!("run/systemd/{place}/{unit}.d/50-{property}.conf")
}

/// The file that a transient unit has, such as one of `systemd-run`.
pub fn transient_unit(unit: &str) -> String {
    format!("run/systemd/transient/{unit}")
}

/// Bytes by node as they are wanted of so many in all: `0:1048576 3:4096`, or a list of nodes that share them alike.
pub fn node_bytes(text: &str, total: u64) -> Option<Vec<(u32, u64)>> {
    if !text.contains(':') {
        let nodes = IdSet::parse_list(text).filter(|nodes| !nodes.is_empty() && nodes.len() <= 4096)?;
        return Some(nodes.iter().map(|node| (node, total / nodes.len())).collect());
    }
    let pair = |word: &str| {
        let (node, bytes) = word.split_once(':')?;
        Some((node.parse().ok()?, bytes.parse().ok()?))
    };
    text.split_whitespace().map(pair).collect()
}

/// True where nearly all pages are on the target nodes: some pages are pinned or shared.
fn are_there(wanted: &str, value: &str) -> bool {
    let Some(now) = node_bytes(value, 0).filter(|now| !now.is_empty()) else { return false };
    let sum = |list: &[(u32, u64)]| list.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let total = sum(&now);
    let Some(wanted) = node_bytes(wanted, total) else { return false };
    let all = sum(&wanted).max(1) as f64;
    let off = |(node, bytes): &(u32, u64)| {
        let wants = wanted.iter().find(|(id, _)| id == node).map_or(0.0, |(_, wants)| *wants as f64 / all);
        (*bytes as f64 / total.max(1) as f64 - wants).max(0.0)
    };
    now.iter().map(off).sum::<f64>() <= 0.1
}

/// True where the named limits have the wanted values; a limit that is absent counts as `max`.
fn has_limits(wanted: &str, value: &str) -> bool {
    let of = |text: &str, key: &str| {
        let found = text.split_whitespace().filter_map(|word| word.split_once('=')).find(|(known, _)| *known == key);
        found.map_or("max", |(_, limit)| limit).to_owned()
    };
    if wanted.is_empty() {
        return ["rbps", "wbps", "riops", "wiops"].iter().all(|key| of(value, key) == "max");
    }
    wanted.split_whitespace().all(|word| word.split_once('=').is_some_and(|(key, limit)| of(value, key) == limit))
}

/// `rx 2`, `tx 2` of `rx 2 tx 2`.
fn pairs_of(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut words = text.split_whitespace();
    std::iter::from_fn(move || Some((words.next()?, words.next().unwrap_or_default())))
}

/// True for equal texts but for blanks, and for equal masks and sets where the file, by its name, holds such.
pub(crate) fn is_same(path: &str, wanted: &str, value: &str) -> bool {
    let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
    let equal = |parse: fn(&str) -> Option<IdSet>| {
        parse(wanted).zip(parse(value)).is_some_and(|(wanted, value)| wanted == value)
    };
    wanted.split_whitespace().eq(value.split_whitespace())
        || (ends(&["rps_cpus", "xps_cpus", "smp_affinity"]) && equal(IdSet::parse_map))
        || (ends(&["_list", ".cpus", ".mems", "_cpulist"]) && equal(IdSet::parse_list))
}

/// Its name in journals, dialogs and findings; paths in it are hostile.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } | Self::Reclaim { path } | Self::ForceEmpty { path } => f.write_str(path),
            Self::Line { path, key } => text::Line { path, key }.fmt(f),
            Self::Channels { nic } => text::Channels { nic }.fmt(f),
            Self::Rings { nic } => text::Rings { nic }.fmt(f),
            Self::RssTable { nic } => text::RssTable { nic }.fmt(f),
            // FIX-01 findings identify IRQs by this path.
            Self::Interrupt { irq, .. } => write!(f, "/proc/irq/{irq}/smp_affinity_list"),
            Self::Affinity { pid, .. } => text::Affinity { pid }.fmt(f),
            Self::IoPriority { pid, .. } => text::IoPriority { pid }.fmt(f),
            Self::Nice { pid, .. } => text::Nice { pid }.fmt(f),
            Self::Thread { tid, of } => text::Thread { of, tid }.fmt(f),
            Self::Stopped { pid, .. } => text::State { pid }.fmt(f),
            Self::Signal { pid, .. } => text::Signal { pid }.fmt(f),
            Self::Member { pid, controller, .. } if controller.is_empty() => text::Cgroup { pid }.fmt(f),
            Self::Member { pid, controller, .. } => text::CgroupOf { pid, controller }.fmt(f),
            Self::Pages { pid, .. } => text::Pages { pid }.fmt(f),
            Self::UnitProperty { unit, property } => text::Property { property, unit }.fmt(f),
            Self::UnitDropIn { unit, property } => write!(f, "/{}", drop_in(unit, property, false)),
            Self::DirtyLimit { background: true } => text::DIRTY_BACKGROUND.fmt(f),
            Self::DirtyLimit { background: false } => text::DIRTY.fmt(f),
            Self::Service { name } => f.write_str(name),
        }
    }
}

/// The names of settings for a list: one name for all IRQs.
#[must_use]
pub fn together(places: &[Target]) -> Vec<String> {
    let irqs = IdSet::from_ids(places.iter().filter_map(irq));
    let first = places.iter().position(|place| irq(place).is_some());
    let mut names = Vec::new();
    for (at, place) in places.iter().enumerate() {
        match irq(place) {
            None => names.push(place.to_string()),
            Some(_) if first == Some(at) && irqs.len() > 1 => {
                names.push(format!("/proc/irq/{{{irqs}}}/smp_affinity_list"));
            }
            Some(_) if first == Some(at) => names.push(place.to_string()),
            Some(_) => {}
        }
    }
    names
}

fn irq(place: &Target) -> Option<u32> {
    match place {
        Target::Interrupt { irq, .. } => Some(*irq),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, together};
    use proptest::prelude::*;

    #[test]
    fn interrupts_are_told_in_one_word() {
        let irq = |irq| Target::Interrupt { irq, actions: "eth0-rx".to_owned() };
        let rings = || Target::Rings { nic: "eth0".to_owned() };
        assert_eq!(together(&[irq(7), rings()]), ["/proc/irq/7/smp_affinity_list", "rings of eth0"]);
        assert_eq!(
            together(&[rings(), irq(9), irq(7), irq(8)]),
            ["rings of eth0", "/proc/irq/{7-9}/smp_affinity_list"]
        );
    }

    #[test]
    fn kernels_have_their_own_words() {
        let nic = || "eth0".to_owned();
        let io_max = || Target::Line { path: "/sys/fs/cgroup/a/io.max".to_owned(), key: "8:16".to_owned() };
        let rps = Target::file("/sys/class/net/eth0/queues/rx-0/rps_cpus");
        let list = Target::Interrupt { irq: 4, actions: "eth0-rx-0".to_owned() };
        let same = [
            (Target::Channels { nic: nic() }, "combined 4", "combined 4"),
            (Target::Channels { nic: nic() }, "rx 2", "rx 2 tx 1"),
            (Target::RssTable { nic: nic() }, "default", "equal 4"),
            (rps.clone(), "e", "0000000e"),
            (rps.clone(), "1,00000000", "00000001,00000000"),
            (list.clone(), "0,1,2", "0-2"),
            (Target::file("/proc/sys/net/ipv4/tcp_rmem"), "1 2 3", "1\t2\t3"),
            (io_max(), "wiops=30", "rbps=max wbps=max riops=max wiops=30"),
            (io_max(), "rbps=max wbps=9 riops=max wiops=max", "rbps=max wbps=9 riops=max wiops=max"),
            (io_max(), "", ""),
            (io_max(), "wiops=max", ""),
        ];
        for (target, wanted, value) in same {
            assert!(target.agrees(wanted, value), "{target}: {wanted} {value}");
        }
        let pages = || Target::Pages { pid: 1, starttime: 1 };
        assert!(pages().agrees("0", "0:95 3:5") && !pages().agrees("0", "0:80 3:20") && !pages().agrees("0", ""));
        assert!(pages().agrees("0:20 3:80", "0:28 3:82") && !pages().agrees("0:20 3:80", "0:80 3:20"));
        let other = [
            (Target::Channels { nic: nic() }, "combined 4", "combined 1"),
            (Target::Channels { nic: nic() }, "combined 4", ""),
            (Target::RssTable { nic: nic() }, "equal 2", "equal 4"),
            (rps, "e", "0000000f"),
            (list, "0", "1"),
            (Target::file("/proc/sys/vm/swappiness"), "10", "010"),
            (io_max(), "wiops=30", ""),
            (io_max(), "", "rbps=max wbps=max riops=max wiops=30"),
            (io_max(), "rbps=max wbps=max riops=max wiops=max", "wiops=30"),
            (io_max(), "30", "30"),
        ];
        for (target, wanted, value) in other {
            assert!(!target.agrees(wanted, value), "{target}: {wanted} {value}");
        }
    }

    proptest! {
        #[test]
        fn no_value_panics(wanted in ".{0,30}", value in ".{0,30}") {
            for target in [Target::file("/a_list"), Target::file("/rps_cpus"), Target::Rings { nic: String::new() }] {
                let _ = target.agrees(&wanted, &value);
            }
        }
    }
}
