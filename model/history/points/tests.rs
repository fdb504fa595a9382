use super::{Points, disk_key, group_key, nic_key, process_key, queue_key};
use crate::frame::{Cgroup, CgroupCpu, CgroupMemory, Disk, Frame, Process};
use crate::history::Headline;
use crate::testkit;

#[test]
fn what_a_frame_has_is_found_again() {
    let frame = testkit::server();
    let points = Points::of(&frame);
    for disk in &frame.disks {
        let point = points.disk(disk_key(disk)).expect("a disk");
        assert_eq!(point.busy, disk.utilisation.map(|share| share as f32), "{}", disk.name);
    }
    for nic in &frame.nics {
        let point = points.nic(nic_key(nic)).expect("an interface");
        assert_eq!(point.rx_packets, nic.rx.packets_per_second.map(|rate| rate as f32), "{}", nic.name);
        for queue in &nic.queues {
            let point = points.queue(queue_key(nic, queue)).expect("a queue");
            assert_eq!(point.softirq, queue.softirq.map(|share| share as f32), "{} {}", nic.name, queue.queue);
        }
    }
    for cgroup in frame.cgroups.iter().filter(|cgroup| &*cgroup.path != "/") {
        let point = points.group(group_key(cgroup)).expect("a group");
        let current = cgroup.memory.as_ref().and_then(|memory| memory.current_bytes.value());
        assert_eq!(point.memory, current.map(|bytes| bytes as f32), "{}", cgroup.path);
    }
    for process in &frame.processes {
        let point = points.process(process_key(process)).expect("a process");
        assert_eq!(point.cores, process.cpu_cores.map(|cores| cores as f32), "{}", process.comm);
    }
    let online = frame.cpus.iter().filter(|cpu| cpu.online).count();
    let modes = points.modes(17, online).expect("a CPU");
    assert!(modes[2] > 200, "CPU 17 handles interrupts: {modes:?}");
    assert_eq!(points.modes(17, online + 1), None);
}

#[test]
fn many_disks_leave_the_busiest() {
    let mut frame = testkit::server();
    let disk = |at: u64| Disk {
        name: format!("sd{at}").into(),
        dev: at,
        utilisation: Some(at as f64 / 1000.0),
        ..Disk::default()
    };
    frame.disks = (0..500).map(disk).collect();
    let points = Points::of(&frame);
    assert_eq!(points.disks.len(), super::FEW);
    assert!(points.disk(disk_key(&frame.disks[499])).is_some() && points.disk(disk_key(&frame.disks[0])).is_none());
    assert!(Points::of(&testkit::wide()).modes.is_empty());
}

#[test]
fn a_cpu_that_was_not_read_has_a_gap() {
    let mut frame = testkit::server();
    frame.cpus.iter_mut().find(|cpu| cpu.id == 17).expect("CPU 17").shares = None;
    let online: Vec<u32> = frame.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    let headline = Headline::of(&frame);
    for (at, id) in online.iter().enumerate() {
        assert_eq!(headline.points.modes(at, online.len()).is_none(), *id == 17, "CPU {id}");
        assert_eq!(headline.cpus[at].is_none(), *id == 17, "CPU {id}");
    }
}

/// A process that uses so many cores and bytes.
fn process(pid: u32, cores: f64, bytes: u64) -> Process {
    Process { pid, starttime: 7, cpu_cores: Some(cores), rss_bytes: bytes.into(), ..Process::default() }
}

#[test]
fn the_busiest_and_the_largest_stay() {
    let mut frame = testkit::server();
    // The busiest ones have no memory, the largest ones no CPU time.
    frame.processes = (0..1000).map(|pid| process(pid, f64::from(pid), 1000 - u64::from(pid))).collect();
    let group = |at: u32| Cgroup {
        path: format!("/{at}").into(),
        cpu: CgroupCpu { usage_cores: Some(f64::from(at)), ..CgroupCpu::default() },
        memory: Some(CgroupMemory { current_bytes: u64::from(1000 - at).into(), ..CgroupMemory::default() }),
        ..Cgroup::default()
    };
    frame.cgroups = (0..1000).map(group).collect();
    let points = Points::of(&frame);
    for at in 0..1000 {
        let expected = !(32..968).contains(&at);
        assert_eq!(points.process(process_key(&frame.processes[at])).is_some(), expected, "process {at}");
        assert_eq!(points.group(group_key(&frame.cgroups[at])).is_some(), expected, "group {at}");
    }
    assert_eq!((points.processes.len(), points.groups.len()), (super::MANY, super::MANY));
}

#[test]
fn of_equal_ones_the_same_stay_in_every_sample() {
    let mut frame = testkit::server();
    frame.processes = (0..1000).map(|pid| process(pid, 0.0, 4096)).collect();
    let retained = |frame: &Frame| {
        let mut keys: Vec<u64> = Points::of(frame).processes.iter().map(|point| point.key).collect();
        keys.sort_unstable();
        keys
    };
    let before = retained(&frame);
    for turn in [1, 313, 500, 999] {
        frame.processes.rotate_left(turn);
        assert_eq!(retained(&frame), before, "{turn}");
    }
}
