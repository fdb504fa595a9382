//! A finding for every fix that writes, as a recording of this boot: on what there is not, or on what a test has made.

use crate::common::edit::{Cell, Edit, Nic, put};
use crate::machines::sick;
use crate::negatives;
use std::path::Path;
use std::sync::Arc;
use topotop_model::{Column, ColumnMut, Section, Snapshot, Table, VisitMut};

/// What findings are about. Without anything of a test's own it is what no machine has.
#[derive(Clone, Debug)]
pub(crate) struct On {
    /// A process by its number and when it started.
    pub(crate) process: (u32, u64),
    /// Its user.
    pub(crate) uid: u32,
    /// A control group and its inode.
    pub(crate) group: (String, u64),
    /// Where control groups of which version are mounted, with the controllers of version 1.
    pub(crate) mounts: Vec<(String, u32, &'static str)>,
    /// A disk and its number.
    pub(crate) disk: (String, u64),
    /// An interface and its index.
    pub(crate) nic: (String, u32),
    /// True where its driver has channels of either direction, one of four.
    pub(crate) splits: bool,
}

impl Default for On {
    fn default() -> Self {
        Self {
            process: (4_190_001, 77),
            uid: 0,
            group: ("/sick".to_owned(), 99),
            mounts: vec![("/sys/fs/cgroup".to_owned(), 2, "")],
            disk: ("sickdisk".to_owned(), sick::DEV),
            nic: ("net7".to_owned(), 7),
            splits: false,
        }
    }
}

/// How a fix's finding comes about.
pub(crate) struct Made {
    pub(crate) fix: &'static str,
    /// What is wrong; names are those of the machines with a fault.
    sick: fn(&mut Edit<'_>),
}

impl Made {
    /// Records it.
    pub(crate) fn record(&self, on: &On, path: &Path) {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
        negatives::record_of(boot.trim(), path, 24, |edit| {
            mounted(edit, on);
            (self.sick)(edit);
            if on.splits {
                split(edit);
            }
            renamed(edit.now, on);
        });
    }
}

/// One for each fix that is applied.
pub(crate) const ALL: &[Made] = &[
    Made { fix: "F-CHAN", sick: |edit| fault("NIC-01", edit) },
    Made { fix: "F-RING", sick: lost_in_the_ring },
    Made { fix: "F-RSS", sick: skewed },
    Made { fix: "F-IRQBAL", sick: |edit| fault("IRQ-02", edit) },
    Made { fix: "F-IRQAFF", sick: |edit| fault("IRQ-03", edit) },
    Made { fix: "F-RPS", sick: |edit| fault("NIC-05", edit) },
    Made {
        fix: "F-NETSYSCTL",
        sick: |edit| {
            fault("NIC-03", edit);
            edit.sysctl("net.core.netdev_budget", "300");
            edit.sysctl("net.core.netdev_budget_usecs", "2000");
        },
    },
    Made { fix: "F-AFF", sick: |edit| fault("CPU-03", edit) },
    Made { fix: "F-CPUSET", sick: |edit| fault("NUMA-01", edit) },
    Made {
        fix: "F-MIGRATE",
        sick: |edit| {
            fault("NUMA-06", edit);
            edit.thread((9_001, 9_001), "java", 0, (0.1, 0.0), &[("affinity", "0-3".into())]);
        },
    },
    Made { fix: "F-LIMIT", sick: |edit| fault("MEM-01", edit) },
    Made { fix: "F-RECLAIM", sick: |edit| fault("MEM-02", edit) },
    Made {
        fix: "F-HIGH",
        sick: |edit| {
            fault("MEM-02", edit);
            edit.group("/sick", &[("unevictable_bytes", 0u64.into())], &[]);
        },
    },
    Made { fix: "F-OEULER", sick: |edit| fault("MEM-07", edit) },
    Made { fix: "F-CPUQUOTA", sick: |edit| fault("CPU-05", edit) },
    Made { fix: "F-FORCE-EMPTY", sick: full_of_cache_of_one },
    Made { fix: "F-DIRTY", sick: dirty },
    Made { fix: "F-IOMAX", sick: shared_disk },
    Made { fix: "F-IORAISE", sick: throttled },
    Made { fix: "F-IOWEIGHT", sick: shared_disk },
    Made { fix: "F-IONICE", sick: shared_disk },
    Made { fix: "F-SYSCTL", sick: |edit| fault("NUMA-07", edit) },
    Made { fix: "F-GOV", sick: saving },
    Made { fix: "F-CLOCK", sick: |edit| fault("CPU-11", edit) },
];

fn fault(rule: &str, edit: &mut Edit<'_>) {
    let (_, fault) = sick::FAULTS.iter().find(|(known, _)| *known == rule).expect("a fault");
    assert!(fault(edit), "{rule}: the machine cannot have that");
}

fn lost_in_the_ring(edit: &mut Edit<'_>) {
    edit.nic(&Nic { cpus: &[0, 1, 2, 3], packets: 90_000.0, bytes: 9e6, ..Nic::QUIET });
    let cells = [
        ("rx_ring", 256u64.into()),
        ("rx_ring_max", 4096u64.into()),
        ("rx_drops", edit.grown(900.0)),
        ("rx_missed", edit.grown(900.0)),
    ];
    put(&mut edit.now.nics, edit.now.stamp.mono_ns, &[("name", "net7".into())], &cells);
}

/// Nearly everything comes in by one queue, as the table says.
fn skewed(edit: &mut Edit<'_>) {
    edit.every_cpu(&[("user", 5.0)]);
    edit.cpu(1, &[("softirq", 95.0)]);
    edit.nic(&Nic { cpus: &[1, 0, 2, 3], packets: 90_000.0, bytes: 9e6, ..Nic::QUIET });
    let table = vec![(0u32, 122u64), (1, 2), (2, 2), (3, 2)];
    put(
        &mut edit.now.nics,
        edit.now.stamp.mono_ns,
        &[("name", "net7".into())],
        &[("rss_indirection", Cell::Pairs(table))],
    );
    for queue in 0..4u64 {
        let packets = edit.grown(if queue == 0 { 87_000.0 } else { 1_000.0 });
        for direction in ["rx", "tx"] {
            let keys = [("nic", "net7".into()), ("direction", direction.into()), ("queue", queue.into())];
            put(&mut edit.now.nic_queues, edit.now.stamp.mono_ns, &keys, &[("packets", packets.clone())]);
        }
    }
}

/// A group of version 1 that is full of page cache which others want.
fn full_of_cache_of_one(edit: &mut Edit<'_>) {
    fault("MEM-02", edit);
    edit.group("/sick", &[("version", 1u64.into())], &[]);
    let mount = [("version", 1u64.into()), ("controllers", "memory".into())];
    put(&mut edit.now.cgroup_mounts, 1, &[("dir", "/sys/fs/cgroup/memory".into())], &mount);
}

fn dirty(edit: &mut Edit<'_>) {
    let cells = [("dirty_bytes", (9u64 << 30).into()), ("dirty_threshold_bytes", (10u64 << 30).into())];
    put(&mut edit.now.memory, edit.now.stamp.mono_ns, &[], &cells);
    edit.pressure("io", 0.6, 0.3);
}

/// Two services on one disk with a scheduler that looks at priorities and weights.
fn shared_disk(edit: &mut Edit<'_>) {
    fault("IO-02", edit);
    put(&mut edit.now.disks, edit.now.stamp.mono_ns, &[("name", "sickdisk".into())], &[("scheduler", "bfq".into())]);
    edit.writes("/sick", sick::DEV, 4_000_000.0, 500.0);
    edit.group("/sick", &[], &[]);
    let written = edit.grown(4_000_000.0);
    let cells = [("cgroup", "/sick".into()), ("write_bytes", written)];
    edit.process(9_001, "archive", (0.1, 0.0), &cells);
}

/// A group writes as much as it may to a disk that is idle, and waits.
fn throttled(edit: &mut Edit<'_>) {
    edit.disk("sickdisk", sick::DEV, &[("writes", 50.0), ("write_bytes", 400_000.0), ("io_ms", 20.0)]);
    edit.group("/sick", &[], &[]);
    edit.writes("/sick", sick::DEV, 400_000.0, 50.0);
    let keys = [("path", "/sick".into()), ("dev", sick::DEV.into())];
    put(&mut edit.now.cgroup_io, edit.now.stamp.mono_ns, &keys, &[("write_bytes_limit", 400_000u64.into())]);
    let cells = [("cgroup", "/sick".into()), ("state", u64::from('D').into())];
    edit.process(9_001, "archive", (0.1, 0.0), &cells);
}

fn saving(edit: &mut Edit<'_>) {
    edit.cpu(2, &[("user", 99.0)]);
    let cells = [
        ("governor", "powersave".into()),
        ("cpufreq_driver", "acpi-cpufreq".into()),
        ("max_khz", 3_500_000u64.into()),
        ("limit_khz", 3_500_000u64.into()),
    ];
    put(&mut edit.now.cpu_topology, 1, &[("cpu", 2u64.into())], &cells);
    put(&mut edit.now.cpu_times, edit.now.stamp.mono_ns, &[("cpu", 2u64.into())], &[("khz", 1_200_000u64.into())]);
}

fn split(edit: &mut Edit<'_>) {
    let mut cells = vec![("combined", Cell::None), ("combined_max", Cell::None)];
    cells.extend(["rx_channels", "tx_channels"].map(|name| (name, Cell::Number(1))));
    cells.extend(["rx_channels_max", "tx_channels_max"].map(|name| (name, Cell::Number(4))));
    put(&mut edit.now.nics, edit.now.stamp.mono_ns, &[("name", "net7".into())], &cells);
}

fn mounted(edit: &mut Edit<'_>, on: &On) {
    for (dir, version, controllers) in &on.mounts {
        let cells = [("version", Cell::Number(u64::from(*version))), ("controllers", (*controllers).into())];
        put(&mut edit.now.cgroup_mounts, 1, &[("dir", dir.as_str().into())], &cells);
    }
}

/// Gives the injected fault the names of its subject.
fn renamed(now: &mut Snapshot, on: &On) {
    now.visit_mut(&mut Rename(on));
}

struct Rename<'a>(&'a On);

/// Its name on the machines with a fault.
const PID: u64 = 9_001;

impl VisitMut for Rename<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        let on = self.0;
        let table = Arc::make_mut(section).data_mut();
        let at = |name: &str| T::COLUMNS.iter().position(|column| column.name == name);
        for slot in table.rows().iter().collect::<Vec<_>>() {
            let mut own = Vec::new();
            let names =
                [("cgroup", "/sick", &on.group.0), ("path", "/sick", &on.group.0), ("name", "sickdisk", &on.disk.0)];
            for (column, from, to) in names.into_iter().chain([("name", "net7", &on.nic.0), ("nic", "net7", &on.nic.0)])
            {
                let Some(ColumnMut::Text(texts)) = at(column).and_then(|at| table.column_mut(at)) else { continue };
                if texts.get(slot).is_some_and(|text| &**text == from) {
                    texts.set(slot, to);
                    own.push(column);
                }
            }
            let is = |table: &T, column: &str, value: u64| match at(column).and_then(|at| table.column(at)) {
                Some(Column::Num(numbers)) => numbers.value(slot) == Some(value),
                _ => false,
            };
            let mut numbers = Vec::new();
            if is(table, "pid", PID) {
                numbers =
                    vec![("pid", u64::from(on.process.0)), ("starttime", on.process.1), ("uid", u64::from(on.uid))];
                let thread = (1..64).find(|number| is(table, "tid", PID + number)).unwrap_or(0);
                numbers.push(("tid", u64::from(on.process.0) + thread));
            }
            if is(table, "dev", sick::DEV) {
                numbers.push(("dev", on.disk.1));
            }
            if own.contains(&"path") {
                numbers.push(("inode", on.group.1));
            }
            if own.contains(&"name") || own.contains(&"nic") {
                numbers.push(("ifindex", u64::from(on.nic.1)));
            }
            for (column, value) in numbers {
                if let Some(ColumnMut::Num(cells)) = at(column).and_then(|at| table.column_mut(at)) {
                    cells.set(slot, value);
                }
            }
        }
    }
}
