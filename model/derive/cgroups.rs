//! Control groups: what their memory is made of and limited by, CPU against quota, pressure, I/O.

mod memory;
mod version_1;

use super::rates::{Pair, is_old};
use crate::counter::per_second;
use crate::frame::{
    Cgroup, CgroupCpu, CgroupIoRate, CgroupMount, CgroupPressure, Container, Frame, IoLimits, PressureStall,
};
use crate::tables::cgroups::{CgroupIo, Cgroups};
use crate::{Known, Num, Table, Window};

type Rates<'a> = Pair<'a, Cgroups>;
type Column = fn(&Cgroups) -> &Num;

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    frame.cgroup_mounts = mounts(window);
    let Some(pair) = Pair::new(&window.now.cgroups, &window.before.cgroups) else { return };
    let table = pair.now;
    let slab_share = version_1::slab_share(&window.now);
    let path = |slot: usize| table.path.get(slot).map(|path| &**path).unwrap_or_default();
    let mut slots: Vec<usize> = table.rows().iter().collect();
    slots.sort_unstable_by(|&a, &b| path(a).cmp(path(b)).then(a.cmp(&b)));
    frame.cgroups = slots.iter().map(|&slot| cgroup(&pair, slot, slab_share)).collect();
    memory::effective_limits(table, &window.now, &mut frame.cgroups);
    let old = is_old(window, &window.now.cgroups);
    for cgroup in &mut frame.cgroups {
        memory::time_to_limit(cgroup);
        if let Some(memory) = cgroup.memory.as_mut().filter(|_| old) {
            // Counted once, when it was read.
            memory.oom_kills_gained = memory.oom_kills_gained.map(|_| 0);
        }
    }
    if let Some(io) = Pair::new(&window.now.cgroup_io, &window.before.cgroup_io) {
        io_rates(&io, &mut frame.cgroups);
    }
    version_1::estimate(frame);
}

fn mounts(window: &Window) -> Vec<CgroupMount> {
    let Some(table) = window.now.cgroup_mounts.value() else { return Vec::new() };
    let mount = |slot| CgroupMount {
        dir: table.dir.or_empty(slot),
        version: table.version.id(slot).value().unwrap_or_default(),
        controllers: table.controllers.or_empty(slot),
    };
    table.rows().iter().map(mount).collect()
}

fn cgroup(pair: &Rates<'_>, slot: usize, slab_share: Option<f64>) -> Cgroup {
    let table = pair.now;
    Cgroup {
        slot,
        path: table.path.or_empty(slot),
        version: table.version.id(slot).value().unwrap_or_default(),
        inode: table.inode.get(slot),
        container: container(table, slot),
        memory: memory::derive(pair, slot, slab_share),
        cpu: cpu(pair, slot),
        pressure: pressure(pair, slot),
        io: Vec::new(),
        processes: table.processes.get(slot),
        pids: table.pids_current.get(slot),
        pids_limit: table.pids_limit.get(slot),
        pids_refused_per_second: pair.rate(slot, |table| &table.pids_events_max),
        run_wait_cores: None,
        blocked_threads: 0,
        cpuset_cpus: table.cpuset_cpus.get(slot).cloned(),
        cpuset_busy: None,
        cpuset_partition: table.cpuset_partition.or_empty(slot),
        cpuset_mems: table.cpuset_mems.get(slot).cloned(),
    }
}

fn container(table: &Cgroups, slot: usize) -> Option<Container> {
    table.name_source.get(slot)?;
    Some(Container {
        namespace: table.namespace.or_empty(slot),
        pod_name: table.pod_name.or_empty(slot),
        pod_uid: table.pod_uid.or_empty(slot),
        container_name: table.container_name.or_empty(slot),
        id: table.container_id.or_empty(slot),
        runtime: table.runtime.or_empty(slot),
        name_source: table.name_source.or_empty(slot),
        cpu_request_cores: table.cpu_request_milli.value(slot).map(|milli| milli as f64 / 1000.0),
        memory_request_bytes: table.memory_request_bytes.value(slot),
    })
}

fn cpu(pair: &Rates<'_>, slot: usize) -> CgroupCpu {
    let table = pair.now;
    let periods = pair.gain(slot, |table| &table.cpu_periods);
    let throttled = pair.gain(slot, |table| &table.cpu_throttled);
    // A group may be throttled twice in a period when its quota is changed.
    let ratio = periods.zip(throttled).filter(|(periods, _)| *periods > 0);
    let quota = match (table.cpu_quota_us.get(slot), table.cpu_period_us.value(slot).filter(|&period| period > 0)) {
        (Known::Value(quota), Some(period)) => Known::Value(quota as f64 / period as f64),
        (Known::None, _) => Known::None,
        // The top has no quota, and in version 2 no file that would say so.
        (Known::Missing, _) if table.path.get(slot).is_some_and(|path| &**path == "/") => Known::None,
        _ => Known::Missing,
    };
    CgroupCpu {
        // Microseconds per second.
        usage_cores: pair.rate(slot, |table| &table.cpu_usage_us).map(|rate| rate / 1e6),
        quota_cores: quota,
        period_us: table.cpu_period_us.get(slot),
        throttled_ratio: ratio.map(|(periods, throttled)| (throttled as f64 / periods as f64).min(1.0)),
        periods,
        period_seconds: table.cpu_period_us.value(slot).map(|period| period as f64 / 1e6),
    }
}

fn pressure(pair: &Rates<'_>, slot: usize) -> CgroupPressure {
    let memory: [Column; 4] =
        [|t| &t.memory_some_us, |t| &t.memory_full_us, |t| &t.memory_some_avg10, |t| &t.memory_full_avg10];
    CgroupPressure {
        cpu: stall(pair, slot, [|t| &t.cpu_some_us, |t| &t.cpu_full_us, |t| &t.cpu_some_avg10, |t| &t.cpu_full_avg10]),
        memory: stall(pair, slot, memory),
        io: stall(pair, slot, [|t| &t.io_some_us, |t| &t.io_full_us, |t| &t.io_some_avg10, |t| &t.io_full_avg10]),
    }
}

/// Totals of some and full, then their averages.
fn stall(pair: &Rates<'_>, slot: usize, columns: [Column; 4]) -> Option<PressureStall> {
    let [some, full, some_avg10, full_avg10] = columns;
    if columns.iter().all(|column| column(pair.now).get(slot).is_missing()) {
        return None;
    }
    let ratio = |column: Column| {
        let gained = pair.gain(slot, column)?;
        // Microseconds per nanoseconds; totals are brought up to date in steps, so that one interval may get more.
        per_second(gained, pair.elapsed_ns()).map(|rate| (rate / 1e6).clamp(0.0, 1.0))
    };
    let percent = |column: Column| column(pair.now).get(slot).map(|value| value as f64 / 100.0);
    Some(PressureStall {
        some_ratio: ratio(some),
        full_ratio: ratio(full),
        some_avg10_percent: percent(some_avg10),
        full_avg10_percent: percent(full_avg10),
    })
}

fn io_rates(pair: &Pair<'_, CgroupIo>, cgroups: &mut [Cgroup]) {
    for slot in pair.now.rows().iter() {
        let Some(path) = pair.now.path.get(slot) else { continue };
        let Ok(at) = cgroups.binary_search_by(|cgroup| cgroup.path.cmp(path)) else { continue };
        let rate = |column: fn(&CgroupIo) -> &Num| pair.rate(slot, column);
        let (Some(dev), Some(cgroup)) = (pair.now.dev.value(slot), cgroups.get_mut(at)) else { continue };
        let now = pair.now;
        let limits = IoLimits {
            read_bytes: now.read_bytes_limit.get(slot),
            write_bytes: now.write_bytes_limit.get(slot),
            reads: now.reads_limit.get(slot),
            writes: now.writes_limit.get(slot),
        };
        let limited = [limits.read_bytes, limits.write_bytes, limits.reads, limits.writes];
        let (read, write) = (rate(|table| &table.read_bytes), rate(|table| &table.write_bytes));
        // What has a limit and was never used has no counters yet.
        let idle = now.read_bytes.get(slot).is_missing() && now.write_bytes.get(slot).is_missing();
        let (read, write) = match (read, write) {
            (Some(read), Some(write)) => (read, write),
            _ if idle && limited.iter().any(|limit| limit.value().is_some()) => (0.0, 0.0),
            _ => continue,
        };
        cgroup.io.push(CgroupIoRate {
            dev,
            read_bytes_per_second: read,
            write_bytes_per_second: write,
            reads_per_second: rate(|table| &table.reads).unwrap_or(0.0),
            writes_per_second: rate(|table| &table.writes).unwrap_or(0.0),
            limits,
            seconds: pair.elapsed_ns() as f64 / 1e9,
        });
    }
    for cgroup in cgroups {
        cgroup.io.sort_unstable_by_key(|row| row.dev);
    }
}

/// Everything above a path: `/a/b/c` has `/a/b`, `/a` and `/`.
pub(super) fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/') {
        Some(("", "")) | None => None,
        Some(("", _)) => Some("/"),
        Some((above, _)) => Some(above),
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::Deriver;
    use crate::frame::{CgroupMount, Frame};
    use crate::{Known, Snapshot, Table, Window};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    /// One group and one device at a second: everything that counts has grown by `steps`.
    fn snapshot(second: u64, steps: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.stamp.mono_ns = second * SECOND;
        let cgroups = Arc::make_mut(&mut snapshot.cgroups);
        cgroups.begin(second * SECOND);
        let table = cgroups.data_mut();
        let slot = table.insert();
        table.path.set(slot, "/job");
        table.cpu_usage_us.set(slot, 7 + steps * 500_000);
        table.cpu_quota_us.set(slot, 20_000);
        table.cpu_period_us.set(slot, 100_000);
        table.cpu_periods.set(slot, 3 + steps * 10);
        table.cpu_throttled.set(slot, 1 + steps * 8);
        table.io_some_us.set(slot, 5 + steps * 250_000);
        table.io_full_us.set(slot, steps * 3_000_000);
        table.io_some_avg10.set(slot, 1250);
        let io = Arc::make_mut(&mut snapshot.cgroup_io);
        io.begin(second * SECOND);
        let slot = io.data_mut().insert();
        io.data_mut().path.set(slot, "/job");
        io.data_mut().dev.set(slot, 8 << 20);
        io.data_mut().read_bytes.set(slot, steps * 4096);
        io.data_mut().write_bytes.set(slot, 9);
        io.data_mut().read_bytes_limit.set(slot, 5000);
        io.data_mut().reads_limit.set(slot, 10);
        let slot = io.data_mut().insert();
        io.data_mut().path.set(slot, "/job");
        io.data_mut().dev.set(slot, 8 << 20 | 16);
        io.data_mut().writes_limit.set(slot, 7);
        snapshot
    }

    #[test]
    fn only_the_top_has_no_quota_without_a_file() {
        let mut snapshot = Snapshot::default();
        let cgroups = Arc::make_mut(&mut snapshot.cgroups);
        cgroups.begin(SECOND);
        for path in ["/", "/job"] {
            let slot = cgroups.data_mut().insert();
            cgroups.data_mut().path.set(slot, path);
        }
        let mut window = Window::default();
        window.push(snapshot);
        let frame = Deriver::default().frame(&window);
        let quotas: Vec<_> = frame.cgroups.iter().map(|group| group.cpu.quota_cores).collect();
        assert_eq!(quotas, [Known::None, Known::Missing]);
    }

    #[test]
    fn rates_are_of_the_interval() {
        let mut window = Window::default();
        window.push(snapshot(1, 0));
        let first = Deriver::default().frame(&window);
        assert_eq!(first.cgroups[0].cpu.usage_cores, None, "one sample has no rates");
        assert!(first.cgroups[0].memory.is_none() && first.cgroups[0].pressure.memory.is_none());
        window.push(snapshot(3, 2));
        let frame = Deriver::default().frame(&window);
        let group = &frame.cgroups[0];
        assert_eq!(group.cpu.usage_cores, Some(0.5));
        assert_eq!(group.cpu.quota_cores, Known::Value(0.2));
        assert_eq!((group.cpu.periods, group.cpu.throttled_ratio), (Some(20), Some(0.8)));
        let io = group.pressure.io.unwrap_or_default();
        assert_eq!((io.some_ratio, io.full_ratio), (Some(0.25), Some(1.0)));
        assert_eq!((io.some_avg10_percent, io.full_avg10_percent), (Known::Value(12.5), Known::Missing));
        assert_eq!((group.io[0].read_bytes_per_second, group.io[0].write_bytes_per_second), (4096.0, 0.0));
        let nearest = group.io[0].throttle().expect("it has limits");
        assert_eq!((nearest.what, nearest.rate, nearest.limit), ("read_bytes", 4096.0, 5000.0));
        let idle = group.io[1].throttle().expect("it has a limit");
        assert_eq!((idle.what, idle.share()), ("writes", 0.0));
    }

    #[test]
    fn directories_are_of_the_hierarchy_that_has_the_controller() {
        let mount = |dir: &str, version, controllers: &str| CgroupMount {
            dir: dir.into(),
            version,
            controllers: controllers.into(),
        };
        let two = mount("/sys/fs/cgroup", 2, "");
        let mut frame = Frame { cgroup_mounts: vec![two], ..Frame::default() };
        let at = |frame: &Frame, path, controller| frame.cgroup_directory(path, controller);
        assert_eq!(at(&frame, "/a/b", "memory"), Some((2, "/sys/fs/cgroup/a/b".to_owned())));
        assert_eq!(at(&frame, "/", "memory"), Some((2, "/sys/fs/cgroup".to_owned())));
        frame.cgroup_mounts.push(mount("/sys/fs/cgroup/cpu,cpuacct", 1, "cpu,cpuacct"));
        assert_eq!(at(&frame, "/a", "cpu"), Some((1, "/sys/fs/cgroup/cpu,cpuacct/a".to_owned())));
        assert_eq!(at(&frame, "/a", "memory").map(|found| found.0), Some(2));
        frame.cgroup_mounts.remove(0);
        assert_eq!(at(&frame, "/a", "memory"), None);
    }

    #[test]
    fn parents_of_paths() {
        let above = |path| super::parent(path);
        assert_eq!([above("/a/b"), above("/a"), above("/")], [Some("/a"), Some("/"), None]);
    }
}
