//! What devices are: interrupts that nobody can move, and disks whose figures are their own.

use crate::frame::{Disk, Frame, Irq};

/// True for an interrupt whose CPU the kernel chooses and nobody else can set. Where debugfs does not say, by the names of
/// drivers that spread their queues so.
pub(crate) fn is_managed(irq: &Irq) -> bool {
    irq.managed.value().unwrap_or_else(|| is_placed(&irq.name))
}

/// True for names of queues that the kernel places: of NVMe drives all but the first, of virtio disks, of SAS controllers.
fn is_placed(name: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().ok();
    let nvme = |action: &str| {
        let queue = action.strip_prefix("nvme").and_then(|rest| rest.split_once('q'));
        queue.and_then(|(drive, queue)| number(drive).and(number(queue))).is_some_and(|queue| queue > 0)
    };
    let virtio = |action: &str| {
        action.starts_with("virtio") && action.split_once("-req.").is_some_and(|(_, queue)| number(queue).is_some())
    };
    let sas = |action: &str| ["megasas", "mpt3sas", "hisi_sas"].iter().any(|driver| action.starts_with(driver));
    name.split(',').map(str::trim).all(|action| nvme(action) || virtio(action) || sas(action))
}

/// False for memory disks, for the paths of a multipath NVMe drive, and for devices on top of others, whose figures are
/// not their own.
pub(crate) fn is_judged(disk: &Disk) -> bool {
    !["zram", "ram"].contains(&&*disk.kind) && disk.lower.is_empty() && !is_path(&disk.name)
}

/// True for `nvme0c1n1`, a path to the drive `nvme0n1`, which counts the same requests.
fn is_path(name: &str) -> bool {
    crate::frame::drive_of_path(name).is_some()
}

/// True for a device on top of others in which requests wait that those below do not have: encryption, a thin pool, a
/// delay.
pub(crate) fn holds_requests(frame: &Frame, disk: &Disk) -> bool {
    let below = || frame.disks.iter().filter(|other| disk.lower.contains(&other.name));
    let slowest = |disk: &Disk| {
        let both = [disk.read_await_ms, disk.write_await_ms];
        both.iter().filter_map(|ms| ms.value()).max_by(f64::total_cmp)
    };
    let depth: f64 = below().filter_map(|disk| disk.queue_depth).sum();
    let legs = below().filter_map(slowest).max_by(f64::total_cmp);
    let moves = disk.reads_per_second.unwrap_or(0.0) + disk.writes_per_second.unwrap_or(0.0) >= 1.0;
    let deeper = disk.queue_depth.is_some_and(|own| own >= 1.0 && own >= 2.0 * depth);
    let slower = slowest(disk).zip(legs).is_some_and(|(own, legs)| own >= 2.0 * legs);
    below().next().is_some() && moves && deeper && slower
}
