use super::{CALM_NS, CgroupCollector, GROWN};
use crate::live::{Kernel, Live};
use crate::{Collector, Cx, Demand, Root};
use proptest::prelude::*;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use topotop_model::{Draft, IdSet, Known, Reason, Table};

/// A machine in a directory of its own.
struct Machine {
    dir: tempfile::TempDir,
    collector: CgroupCollector,
    draft: Draft,
    now_ns: u64,
}

impl Machine {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let machine = Self { dir, collector: CgroupCollector::default(), draft: Draft::default(), now_ns: 0 };
        for (path, text) in files {
            machine.write(path, text.as_bytes());
        }
        machine
    }

    fn write(&self, path: impl AsRef<Path>, text: &[u8]) {
        crate::testing::put(self.dir.path(), path, text);
    }

    /// Reads everything, `seconds` after the last time.
    fn sample(&mut self, seconds: u64, complete: bool) -> &Draft {
        self.now_ns += seconds * 1_000_000_000;
        let root = Arc::new(Root::at(self.dir.path()).expect("opened"));
        let live: Arc<dyn Live> = Arc::new(Kernel);
        let demand = Demand { complete, ..Demand::default() };
        let mut buf = Vec::new();
        let mut cx = Cx { root: &root, live: &live, now_ns: self.now_ns, demand: &demand, buf: &mut buf };
        self.collector.collect(&mut cx, &mut self.draft);
        &self.draft
    }
}

fn slot(draft: &Draft, path: &str) -> usize {
    let table = draft.cgroups.data();
    let found = table.rows().iter().find(|&slot| table.path.get(slot).is_some_and(|text| &**text == path));
    found.unwrap_or_else(|| panic!("{path} is missing"))
}

fn paths(draft: &Draft) -> Vec<String> {
    let table = draft.cgroups.data();
    let mut paths: Vec<String> = table.rows().iter().map(|slot| table.path.or_empty(slot).to_string()).collect();
    paths.sort();
    paths
}

const STALL: &str =
    "some avg10=2.50 avg60=0.63 avg300=0.13 total=521335\nfull avg10=1.00 avg60=0.63 avg300=0.13 total=500000\n";

const V2: &[(&str, &str)] = &[
    ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory\n"),
    ("sys/fs/cgroup/cpu.stat", "usage_usec 900\nuser_usec 400\nsystem_usec 500\n"),
    ("sys/fs/cgroup/memory.stat", "anon 10\nfile 20\n"),
    ("sys/fs/cgroup/cgroup.procs", "1\n2\n"),
    ("sys/fs/cgroup/a.slice/memory.current", "4096\n"),
    ("sys/fs/cgroup/a.slice/memory.max", "8192\n"),
    ("sys/fs/cgroup/a.slice/memory.high", "max\n"),
    ("sys/fs/cgroup/a.slice/memory.swap.max", "max\n"),
    ("sys/fs/cgroup/a.slice/memory.peak", "5000\n"),
    (
        "sys/fs/cgroup/a.slice/memory.stat",
        "zeta 1\nfile 2000\nanon 1000\nkernel 300\nshmem 7\nfile_dirty 3\nworkingset_refault_file 12\npgscan_direct 13\nslab_reclaimable 14\n",
    ),
    ("sys/fs/cgroup/a.slice/memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 0\n"),
    ("sys/fs/cgroup/a.slice/memory.numa_stat", "anon N0=1000 N2=0\nfile N0=500 N2=1500\nkernel_stack N0=1 N2=1\n"),
    ("sys/fs/cgroup/a.slice/memory.pressure", STALL),
    ("sys/fs/cgroup/a.slice/cpu.stat", "usage_usec 100\nnr_periods 40\nnr_throttled 38\nthrottled_usec 7\n"),
    ("sys/fs/cgroup/a.slice/cpu.max", "20000 100000\n"),
    ("sys/fs/cgroup/a.slice/cpu.weight", "100\n"),
    ("sys/fs/cgroup/a.slice/cpuset.cpus.effective", "0-3,8\n"),
    ("sys/fs/cgroup/a.slice/cpuset.cpus.partition", "isolated\n"),
    ("sys/fs/cgroup/a.slice/io.stat", "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n253:1 \n"),
    (
        "sys/fs/cgroup/a.slice/io.max",
        "8:0 rbps=2097152 wbps=max riops=max wiops=120\n8:16 rbps=max wbps=5 riops=max wiops=max\n",
    ),
    ("sys/fs/cgroup/a.slice/pids.current", "17\n"),
    ("sys/fs/cgroup/a.slice/pids.max", "20\n"),
    ("sys/fs/cgroup/a.slice/pids.events", "max 3\n"),
    ("sys/fs/cgroup/a.slice/cgroup.procs", "77\n"),
    ("sys/fs/cgroup/a.slice/b.scope/memory.current", "1\n"),
];

#[test]
fn reads_version_2() {
    let mut machine = Machine::new(V2);
    let draft = machine.sample(1, true);
    assert_eq!(paths(draft), ["/", "/a.slice", "/a.slice/b.scope"]);
    let (table, a, top) = (draft.cgroups.data(), slot(draft, "/a.slice"), slot(draft, "/"));
    assert_eq!(table.version.value(a), Some(2));
    assert_eq!(table.memory_current_bytes.value(a), Some(4096));
    assert_eq!(table.memory_current_bytes.get(top), Known::Missing, "the top has no such file");
    assert_eq!(table.file_bytes.value(top), Some(20));
    assert_eq!((table.memory_limit_bytes.value(a), table.memory_high_bytes.get(a)), (Some(8192), Known::None));
    assert_eq!((table.anon_bytes.value(a), table.file_bytes.value(a)), (Some(1000), Some(2000)));
    assert_eq!((table.kernel_bytes.value(a), table.refault_file.value(a)), (Some(300), Some(12)));
    assert_eq!((table.writeback_bytes.get(a), table.dirty_bytes.value(a)), (Known::Missing, Some(3)));
    assert_eq!((table.events_max.value(a), table.events_oom_kill.value(a)), (Some(2), Some(4)));
    assert_eq!(table.file_by_node.get(a), Some(&[(0, 500), (2, 1500)][..]));
    assert_eq!((table.memory_some_us.value(a), table.memory_full_avg10.value(a)), (Some(521_335), Some(100)));
    assert_eq!((table.cpu_usage_us.value(a), table.cpu_throttled.value(a)), (Some(100), Some(38)));
    assert_eq!((table.cpu_quota_us.value(a), table.cpu_period_us.value(a)), (Some(20_000), Some(100_000)));
    assert_eq!(table.cpuset_cpus.get(a).map(ToString::to_string).as_deref(), Some("0-3,8"));
    assert_eq!(table.cpuset_partition.get(a).map(|text| &**text), Some("isolated"));
    assert_eq!((table.processes.value(a), table.only_pid.value(a)), (Some(1), Some(77)));
    assert_eq!((table.processes.value(top), table.only_pid.get(top)), (Some(2), Known::None));
    let mounts = draft.cgroup_mounts.data();
    assert_eq!((mounts.dir.or_empty(0).to_string(), mounts.version.value(0)), ("/sys/fs/cgroup".to_owned(), Some(2)));
    let io = draft.cgroup_io.data();
    let rows: Vec<_> = io.rows().iter().map(|slot| (io.path.or_empty(slot).to_string(), io.dev.value(slot))).collect();
    assert_eq!(
        rows,
        [8 << 20, 8 << 20 | 16].map(|dev| ("/a.slice".to_owned(), Some(dev))),
        "one has a limit and no I/O"
    );
    assert_eq!((io.read_bytes.value(0), io.writes.value(0)), (Some(1), Some(4)));
    assert_eq!((io.read_bytes_limit.value(0), io.writes_limit.value(0)), (Some(2_097_152), Some(120)));
    assert_eq!((io.write_bytes_limit.get(0), io.write_bytes_limit.value(1)), (Known::None, Some(5)));
    assert_eq!((table.pids_current.value(a), table.pids_limit.value(a)), (Some(17), Some(20)));
    assert_eq!(table.pids_events_max.value(a), Some(3));
}

const V1: &[(&str, &str)] = &[
    ("sys/fs/cgroup/memory/memory.usage_in_bytes", "9000\n"),
    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
    ("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "5000\n"),
    ("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "8192\n"),
    ("sys/fs/cgroup/memory/docker/x/memory.memsw.limit_in_bytes", "10240\n"),
    ("sys/fs/cgroup/memory/docker/x/memory.failcnt", "6\n"),
    (
        "sys/fs/cgroup/memory/docker/x/memory.stat",
        "cache 1\nrss 2\nshmem 3\nhierarchical_memory_limit 8192\ntotal_cache 11\ntotal_rss 12\ntotal_shmem 13\ntotal_swap 4\n",
    ),
    ("sys/fs/cgroup/memory/docker/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 1\noom_kill 5\n"),
    (
        "sys/fs/cgroup/memory/docker/x/memory.numa_stat",
        "total=9 N0=9 N1=0\nfile=1 N0=1 N1=0\nhierarchical_total=9 N0=9 N1=0\nhierarchical_file=3 N0=1 N1=2\nhierarchical_anon=1 N0=1 N1=0\n",
    ),
    ("sys/fs/cgroup/memory/docker/x/cgroup.procs", "5\n6\n7\n"),
    ("sys/fs/cgroup/cpu,cpuacct/cpu.shares", "1024\n"),
    ("sys/fs/cgroup/cpu,cpuacct/docker/x/cpuacct.usage", "5000999\n"),
    ("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n"),
    ("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n"),
    ("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.stat", "nr_periods 3\nnr_throttled 2\nthrottled_time 7000\n"),
    ("sys/fs/cgroup/cpu,cpuacct/docker/x/io.pressure", STALL),
    ("sys/fs/cgroup/cpuset/docker/x/cpuset.cpus", "0-1\n"),
    (
        "sys/fs/cgroup/blkio/docker/x/blkio.throttle.io_service_bytes",
        "8:0 Read 10\n8:0 Write 20\n8:0 Total 30\nTotal 30\n",
    ),
    ("sys/fs/cgroup/blkio/docker/x/blkio.throttle.io_serviced", "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n"),
    ("sys/fs/cgroup/blkio/docker/x/blkio.throttle.read_iops_device", "8:0 100\n"),
    ("sys/fs/cgroup/blkio/docker/x/blkio.throttle.write_bps_device", "8:0 7x\n8:16 900\n"),
    ("sys/fs/cgroup/unified/cgroup.controllers", "\n"),
    ("sys/fs/cgroup/unified/docker/x/memory.pressure", STALL),
    ("sys/fs/cgroup/unified/docker/x/cpu.stat", "usage_usec 1\n"),
    ("sys/fs/cgroup/unified/only/cgroup.procs", "1\n"),
];

#[test]
fn joins_version_1_and_the_unified_tree() {
    let mut machine = Machine::new(V1);
    let draft = machine.sample(1, true);
    assert_eq!(paths(draft), ["/", "/docker", "/docker/x", "/only"]);
    let (table, x) = (draft.cgroups.data(), slot(draft, "/docker/x"));
    assert_eq!(table.version.value(x), Some(1));
    assert_eq!(table.memory_limit_bytes.get(slot(draft, "/")), Known::None);
    assert_eq!((table.memory_limit_bytes.value(x), table.swap_limit_bytes.value(x)), (Some(8192), Some(2048)));
    assert_eq!((table.file_bytes.value(x), table.anon_bytes.value(x)), (Some(11), Some(12)));
    assert_eq!((table.shmem_bytes.value(x), table.dirty_bytes.get(x)), (Some(13), Known::Missing));
    assert_eq!((table.events_max.value(x), table.events_oom_kill.value(x)), (Some(6), Some(5)));
    assert_eq!(table.under_oom.value(x), Some(1));
    assert_eq!(table.memory_hierarchical_limit_bytes.value(x), Some(8192));
    let page = rustix::param::page_size() as u64;
    assert_eq!(table.file_by_node.get(x), Some(&[(0, page), (1, 2 * page)][..]));
    assert_eq!((table.cpu_usage_us.value(x), table.cpu_throttled_us.value(x)), (Some(5000), Some(7)));
    assert_eq!((table.cpu_quota_us.get(x), table.cpu_periods.value(x)), (Known::None, Some(3)));
    assert_eq!(table.cpuset_cpus.get(x).map(|set| (**set).clone()), IdSet::parse_list("0-1"));
    assert_eq!((table.processes.value(x), table.memory_some_us.value(x)), (Some(3), Some(521_335)));
    assert_eq!(table.io_some_us.value(x), Some(521_335), "as kernels of vendors have it");
    let io = draft.cgroup_io.data();
    assert_eq!((io.read_bytes.value(0), io.write_bytes.value(0)), (Some(10), Some(20)));
    assert_eq!((io.reads.value(0), io.writes.value(0)), (Some(1), Some(2)));
    assert_eq!((io.reads_limit.value(0), io.write_bytes_limit.get(0)), (Some(100), Known::None));
    assert_eq!((io.dev.value(1), io.write_bytes_limit.value(1)), (Some(8 << 20 | 16), Some(900)));
}

#[test]
fn a_limit_on_io_comes_and_goes() {
    let mut machine = Machine::new(V2);
    let devices = |draft: &Draft| draft.cgroup_io.data().rows().len();
    assert_eq!(devices(machine.sample(1, true)), 2);
    machine.write("sys/fs/cgroup/a.slice/io.max", b"8:0 rbps=max wbps=max riops=9 wiops=max\n");
    machine.sample(1, true);
    let draft = machine.sample(1, true);
    assert_eq!(devices(draft), 1, "without limit and I/O there is nothing to tell");
    let io = draft.cgroup_io.data();
    assert_eq!((io.read_bytes_limit.get(0), io.reads_limit.value(0)), (Known::None, Some(9)));
    machine.write("sys/fs/cgroup/a.slice/io.max", b"");
    assert_eq!(machine.sample(1, true).cgroup_io.data().reads_limit.get(0), Known::None);
}

#[test]
fn a_group_that_grows_towards_its_limit_is_followed_on_a_calm_machine() {
    let mut machine = Machine::new(V2);
    machine.write("sys/fs/cgroup/a.slice/memory.max", b"1000000\n");
    let after = |machine: &mut Machine, bytes: &str| {
        machine.write("sys/fs/cgroup/a.slice/memory.current", bytes.as_bytes());
        machine.sample(4, false);
        machine.collector.calm_period_ns()
    };
    assert_eq!(after(&mut machine, "100000\n"), CALM_NS, "how it came there is not known");
    assert_eq!(after(&mut machine, "101900\n"), CALM_NS, "less than 2000 bytes in 4 s");
    assert_eq!(after(&mut machine, "104000\n"), 0);
    for _ in 1..GROWN {
        assert_eq!(after(&mut machine, "104000\n"), 0);
    }
    assert_eq!(after(&mut machine, "104000\n"), CALM_NS);
}

#[test]
fn groups_come_and_go() {
    let mut machine = Machine::new(V2);
    machine.sample(1, false);
    let (a, b) = (slot(&machine.draft, "/a.slice"), slot(&machine.draft, "/a.slice/b.scope"));
    let serial = machine.draft.cgroups.data().rows().serial(b);
    machine.write("sys/fs/cgroup/a.slice/c/memory.current", b"5\n");
    machine.write("sys/fs/cgroup/a.slice/memory.current", b"4100\n");
    let draft = machine.sample(2, false);
    assert_eq!(draft.cgroups.data().memory_current_bytes.value(a), Some(4100));
    assert_eq!(draft.cgroups.data().memory_current_bytes.value(slot(draft, "/a.slice/c")), Some(5));
    std::fs::remove_dir_all(machine.dir.path().join("sys/fs/cgroup/a.slice")).expect("removed");
    let draft = machine.sample(2, false);
    assert_eq!(paths(draft), ["/"]);
    assert!(draft.cgroup_io.data().rows().is_empty());
    machine.write("sys/fs/cgroup/a.slice/b.scope/memory.current", b"6\n");
    let draft = machine.sample(2, false);
    let again = slot(draft, "/a.slice/b.scope");
    assert_ne!(draft.cgroups.data().rows().serial(again), serial, "another group of the same name is another row");
}

#[test]
fn names_may_hold_anything() {
    let mut machine = Machine::new(&[("sys/fs/cgroup/cgroup.controllers", "memory\n")]);
    let dir = Path::new("sys/fs/cgroup");
    let names: [&[u8]; 4] = [b"a\xff", b"a\\xff", b"line\nbreak\x1b[2J", "\u{202e}bidi".as_bytes()];
    for (index, name) in names.iter().enumerate() {
        let name = std::ffi::OsStr::from_bytes(name);
        machine.write(dir.join(name).join("memory.current"), format!("{}\n", index + 1).as_bytes());
    }
    let draft = machine.sample(1, true);
    let table = draft.cgroups.data();
    let mut values: Vec<_> = table.rows().iter().filter_map(|slot| table.memory_current_bytes.value(slot)).collect();
    values.sort_unstable();
    assert_eq!(values, [1, 2, 3, 4]);
    let distinct: std::collections::BTreeSet<_> = paths(draft).into_iter().collect();
    assert_eq!(distinct.len(), 5, "two names that differ are two rows with two texts");
}

#[test]
fn damage_costs_only_itself() {
    let mut machine = Machine::new(V2);
    machine.write("sys/fs/cgroup/a.slice/memory.stat", b"anon 1000\nfile 20");
    machine.write("sys/fs/cgroup/a.slice/memory.max", b"\xff\x00garbage");
    let fifo = machine.dir.path().join("sys/fs/cgroup/a.slice/memory.events");
    std::fs::remove_file(&fifo).expect("removed");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).expect("made");
    let draft = machine.sample(1, true);
    let (table, a) = (draft.cgroups.data(), slot(draft, "/a.slice"));
    assert_eq!((table.anon_bytes.value(a), table.file_bytes.get(a)), (Some(1000), Known::Missing));
    assert_eq!(table.memory_limit_bytes.get(a), Known::Missing);
    assert_eq!(table.memory_current_bytes.value(a), Some(4096));
    let malformed = draft.cgroups.gaps.iter().filter(|gap| gap.reason == Reason::Malformed).count();
    assert_eq!(malformed, 2);
}

#[test]
fn without_groups_there_is_a_gap() {
    let mut machine = Machine::new(&[("proc/stat", "cpu 1\n")]);
    let draft = machine.sample(1, true);
    assert!(draft.cgroups.value().is_none());
    assert!(draft.cgroups.gaps.iter().any(|gap| gap.reason == Reason::NotFound));
}

/// The row that one file's text gives.
fn alone(def: &super::files::FileDef, bytes: &[u8]) -> (topotop_model::tables::cgroups::Cgroups, bool) {
    let mut draft = Draft::default();
    let slot = draft.cgroups.data_mut().insert();
    let mut rows = Vec::new();
    let io = super::take::Io { table: draft.cgroup_io.data_mut(), rows: &mut rows, path: &"/x".into() };
    let table = draft.cgroups.data_mut();
    let whole = (def.take)(bytes, &mut super::take::Cells { table, slot, io, page: 4096 });
    (std::mem::take(draft.cgroups.data_mut()), whole)
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        for def in super::v1::FILES.iter().chain(&super::v2::FILES) {
            alone(def, &bytes);
        }
    }

    #[test]
    fn a_cut_file_never_gives_a_wrong_number(cut in 0usize..400, which in 0usize..V1.len() + V2.len()) {
        let (path, text) = V1.iter().chain(V2).nth(which).copied().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        let cut = cut % text.len();
        // A lone number has no second line that would tell; a file that ends after a whole line is no damage.
        prop_assume!(text.lines().count() > 1 && cut > 0 && !text[..cut].ends_with('\n'));
        let files = if which < V1.len() { super::v1::FILES.as_slice() } else { super::v2::FILES.as_slice() };
        for def in files.iter().filter(|def| def.names.contains(&name)) {
            let (table, whole) = alone(def, &text.as_bytes()[..cut]);
            let (expected, _) = alone(def, text.as_bytes());
            prop_assert!(!whole);
            for index in 0..topotop_model::tables::cgroups::Cgroups::COLUMNS.len() {
                let (Some(topotop_model::Column::Num(got)), Some(topotop_model::Column::Num(want))) =
                    (table.column(index), expected.column(index)) else { continue };
                prop_assert!(got.get(0).is_missing() || got.get(0) == want.get(0));
            }
            let nodes = |table: &topotop_model::tables::cgroups::Cgroups| {
                [&table.anon_by_node, &table.file_by_node].map(|column| column.get(0).map(<[_]>::to_vec))
            };
            for (got, want) in nodes(&table).into_iter().zip(nodes(&expected)) {
                prop_assert!(got.is_none() || got == want);
            }
        }
    }
}
