//! What single disks, interfaces, queues and groups did at one sample, for charts of one of them.

use crate::frame::{Cgroup, CpuShares, Disk, Frame, Nic, Process, Queue};
use std::hash::Hasher as _;

/// Disks, and interfaces, that are retained: the busiest.
const FEW: usize = 32;
/// Queues that are retained, the busiest; groups and processes, half of them the busiest, half those with most memory.
const MANY: usize = 64;
/// Machines with more CPUs have their busy shares only: memory is for what is shown.
pub const DETAILED_CPUS: usize = 256;

/// A disk at one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskPoint {
    key: u64,
    /// Share of the interval with a request on its way.
    pub busy: Option<f32>,
    /// Mean time of a request; none without requests.
    pub await_ms: Option<f32>,
    /// Bytes read per second.
    pub read: Option<f32>,
    /// Bytes written per second.
    pub written: Option<f32>,
    /// Requests per second.
    pub requests: Option<f32>,
    /// Mean number of requests on their way.
    pub depth: Option<f32>,
}

/// An interface at one sample, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NicPoint {
    key: u64,
    /// Packets received.
    pub rx_packets: Option<f32>,
    /// Packets sent.
    pub tx_packets: Option<f32>,
    /// Bytes received.
    pub rx_bytes: Option<f32>,
    /// Bytes sent.
    pub tx_bytes: Option<f32>,
    /// Packets dropped on receipt.
    pub drops: Option<f32>,
}

/// A queue at one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueuePoint {
    key: u64,
    /// Packets per second.
    pub packets: Option<f32>,
    /// Interrupts per second.
    pub interrupts: Option<f32>,
    /// Softirq share of the busiest CPU that serves it.
    pub softirq: Option<f32>,
}

/// A control group at one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupPoint {
    key: u64,
    /// Bytes in use.
    pub memory: Option<f32>,
    /// Cores in use.
    pub cores: Option<f32>,
    /// Share of periods in which it was throttled.
    pub throttled: Option<f32>,
    /// Share of time in which some task waited for memory.
    pub stalled: Option<f32>,
}

/// A process at one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessPoint {
    key: u64,
    /// Cores in use.
    pub cores: Option<f32>,
    /// Cores' worth of tasks that waited for a CPU.
    pub waited: Option<f32>,
    /// Resident bytes.
    pub memory: Option<f32>,
    /// Bytes written per second.
    pub written: Option<f32>,
    /// Bytes read per second.
    pub read: Option<f32>,
}

/// User, system, interrupts, iowait and steal of a CPU, in 1/255.
pub type Modes = [u8; 5];

/// Everything that has a chart of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    disks: Vec<DiskPoint>,
    nics: Vec<NicPoint>,
    queues: Vec<QueuePoint>,
    groups: Vec<GroupPoint>,
    processes: Vec<ProcessPoint>,
    /// Of each online CPU by ascending id; none where its shares were not read.
    modes: Vec<Option<Modes>>,
}

/// Something as a number: names are as long as others made them.
fn key(what: impl std::hash::Hash) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// A disk's place in [`Points`].
pub fn disk_key(disk: &Disk) -> u64 {
    key((&*disk.name, disk.dev))
}

/// An interface's place in [`Points`].
pub fn nic_key(nic: &Nic) -> u64 {
    key((&*nic.name, nic.ifindex))
}

/// A queue's place in [`Points`].
pub fn queue_key(nic: &Nic, queue: &Queue) -> u64 {
    key((nic_key(nic), &*queue.direction, queue.queue))
}

/// A group by path and inode: one of the same name that was made later is another one.
pub fn group_key(cgroup: &Cgroup) -> u64 {
    key((&*cgroup.path, cgroup.inode.value()))
}

/// A process by id and start: one of the same id that started later is another one.
pub fn process_key(process: &Process) -> u64 {
    key((process.pid, process.starttime))
}

impl Points {
    /// The points of a frame.
    pub(super) fn of(frame: &Frame) -> Self {
        let busiest: [Order<DiskPoint>; 1] = [|disk| disk.busy];
        let loudest: [Order<NicPoint>; 1] = [|nic| Some(nic.rx_bytes? + nic.tx_bytes.unwrap_or(0.0))];
        let fullest: [Order<QueuePoint>; 1] = [QueuePoint::work];
        let largest: [Order<GroupPoint>; 2] = [|group| group.memory, |group| group.cores];
        let hardest: [Order<ProcessPoint>; 2] = [|process| process.cores, |process| process.memory];
        let queues = frame.nics.iter().flat_map(|nic| nic.queues.iter().map(move |queue| of_queue(nic, queue)));
        let groups = frame.cgroups.iter().filter(|cgroup| &*cgroup.path != "/");
        Self {
            disks: retained(frame.disks.iter().map(of_disk), FEW, &busiest),
            nics: retained(frame.nics.iter().map(of_nic), FEW, &loudest),
            queues: retained(queues, MANY, &fullest),
            groups: retained(groups.map(of_group), MANY, &largest),
            processes: retained(frame.processes.iter().map(of_process), MANY, &hardest),
            modes: modes(frame),
        }
    }

    /// A disk, by [`disk_key`].
    pub fn disk(&self, key: u64) -> Option<&DiskPoint> {
        self.disks.iter().find(|point| point.key == key)
    }

    /// An interface, by [`nic_key`].
    pub fn nic(&self, key: u64) -> Option<&NicPoint> {
        self.nics.iter().find(|point| point.key == key)
    }

    /// A queue, by [`queue_key`].
    pub fn queue(&self, key: u64) -> Option<&QueuePoint> {
        self.queues.iter().find(|point| point.key == key)
    }

    /// The work of all queues, by [`queue_key`].
    pub fn work_of_queues(&self) -> impl Iterator<Item = (u64, f64)> {
        self.queues.iter().filter_map(|queue| Some((queue.key, f64::from(queue.work()?))))
    }

    /// The packets of all interfaces, by [`nic_key`].
    pub fn packets_of_nics(&self) -> impl Iterator<Item = (u64, f64)> {
        self.nics.iter().filter_map(|nic| Some((nic.key, f64::from(nic.rx_packets? + nic.tx_packets?))))
    }

    /// A group, by [`group_key`].
    pub fn group(&self, key: u64) -> Option<&GroupPoint> {
        self.groups.iter().find(|point| point.key == key)
    }

    /// A process, by [`process_key`].
    pub fn process(&self, key: u64) -> Option<&ProcessPoint> {
        self.processes.iter().find(|point| point.key == key)
    }

    /// The CPU at a place among so many online ones. Where CPUs came or went in between, nobody knows which value was
    /// whose.
    pub fn modes(&self, at: usize, online: usize) -> Option<&Modes> {
        if self.modes.len() == online { self.modes.get(at)?.as_ref() } else { None }
    }
}

/// What points are ordered by.
type Order<P> = fn(&P) -> Option<f32>;

/// A point of something that has a name.
trait Keyed: Copy {
    fn key(&self) -> u64;
}

macro_rules! keyed {
    ($($point:ty),*) => {
        $(impl Keyed for $point {
            fn key(&self) -> u64 {
                self.key
            }
        })*
    };
}

keyed!(DiskPoint, NicPoint, QueuePoint, GroupPoint, ProcessPoint);

impl QueuePoint {
    /// Packets per second, or interrupts where the driver does not count packets.
    fn work(&self) -> Option<f32> {
        self.packets.or(self.interrupts)
    }
}

/// At most so many points: the same number by each order, the largest first. Of equal ones those with the lower key stay,
/// whatever place they have in a sample: a chart of one of them has no holes.
fn retained<P: Keyed>(points: impl Iterator<Item = P>, most: usize, orders: &[Order<P>]) -> Vec<P> {
    let mut points: Vec<P> = points.collect();
    if points.len() > most {
        let each = most / orders.len().max(1);
        for (place, order) in orders.iter().enumerate() {
            let value = |point: &P| order(point).unwrap_or(-1.0);
            let rest = points.get_mut(place * each..).unwrap_or_default();
            if each < rest.len() {
                rest.select_nth_unstable_by(each, |a, b| value(b).total_cmp(&value(a)).then(a.key().cmp(&b.key())));
            }
        }
        points.truncate(most);
    }
    points.shrink_to_fit();
    points
}

/// A chart has fewer rows than a single-precision number has digits.
fn short(value: Option<f64>) -> Option<f32> {
    value.map(|value| value as f32).filter(|value| value.is_finite())
}

fn of_disk(disk: &Disk) -> DiskPoint {
    let requests = disk.reads_per_second.zip(disk.writes_per_second).map(|(reads, writes)| reads + writes);
    DiskPoint {
        key: disk_key(disk),
        busy: short(disk.utilisation),
        await_ms: short(disk.await_ms.value()),
        read: short(disk.read_bytes_per_second),
        written: short(disk.write_bytes_per_second),
        requests: short(requests),
        depth: short(disk.queue_depth),
    }
}

fn of_nic(nic: &Nic) -> NicPoint {
    NicPoint {
        key: nic_key(nic),
        rx_packets: short(nic.rx.packets_per_second),
        tx_packets: short(nic.tx.packets_per_second),
        rx_bytes: short(nic.rx.bytes_per_second),
        tx_bytes: short(nic.tx.bytes_per_second),
        drops: short(nic.rx.drops_per_second),
    }
}

fn of_queue(nic: &Nic, queue: &Queue) -> QueuePoint {
    QueuePoint {
        key: queue_key(nic, queue),
        packets: short(queue.packets_per_second),
        interrupts: short(queue.per_second),
        softirq: short(queue.softirq),
    }
}

fn of_group(cgroup: &Cgroup) -> GroupPoint {
    let current = cgroup.memory.as_ref().and_then(|memory| memory.current_bytes.value());
    GroupPoint {
        key: group_key(cgroup),
        memory: short(current.map(|bytes| bytes as f64)),
        cores: short(cgroup.cpu.usage_cores),
        throttled: short(cgroup.cpu.throttled_ratio),
        stalled: short(cgroup.pressure.memory.and_then(|stall| stall.some_ratio)),
    }
}

fn of_process(process: &Process) -> ProcessPoint {
    ProcessPoint {
        key: process_key(process),
        cores: short(process.cpu_cores),
        waited: short(process.run_wait_cores),
        memory: short(process.rss_bytes.value().map(|bytes| bytes as f64)),
        written: short(process.write_bytes_per_second),
        read: short(process.read_bytes_per_second),
    }
}

fn modes(frame: &Frame) -> Vec<Option<Modes>> {
    let online = || frame.cpus.iter().filter(|cpu| cpu.online);
    if online().all(|cpu| cpu.shares.is_none()) || online().count() > DETAILED_CPUS {
        return Vec::new();
    }
    let byte = |share: f64| (share.clamp(0.0, 1.0) * 255.0) as u8;
    let of = |shares: &CpuShares| {
        [shares.user, shares.system, shares.irq + shares.softirq, shares.iowait, shares.steal].map(byte)
    };
    online().map(|cpu| cpu.shares.as_ref().map(of)).collect()
}

#[cfg(test)]
mod tests;
