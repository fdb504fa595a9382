use super::{Points, disk_key, group_key, nic_key, process_key, queue_key};
use crate::frame::Disk;
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
