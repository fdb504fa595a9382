//! Who writes to a disk: control groups, which the kernel counts by device, else processes.

use super::Stack;
use crate::frame::{Cgroup, Disk, Frame, Writer, WriterId};
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, Default)]
struct Written {
    bytes: f64,
    ops: f64,
}

/// Names the writers of each disk. Where only the root group wrote, its processes tell more.
pub(super) fn attribute(disks: &mut [Disk], stack: &Stack<'_>, frame: &Frame) {
    let groups = by_group(&frame.cgroups, stack);
    let named = groups.iter().any(|(_, path, _)| &**path != "/");
    if !named && by_process(disks, stack, frame) {
        return;
    }
    for disk in disks {
        let of_disk = groups.iter().filter(|(slot, ..)| *slot == disk.slot);
        let rows = of_disk.map(|(_, path, written)| (WriterId::Cgroup(Arc::clone(path)), *written));
        disk.writers = writers(disk, rows.collect(), true);
    }
}

/// What each group itself wrote to each whole device: the kernel's counts include the groups below it.
fn by_group(cgroups: &[Cgroup], stack: &Stack<'_>) -> Vec<(usize, Arc<str>, Written)> {
    let mut all: HashMap<(&str, u64), Written> = HashMap::new();
    for cgroup in cgroups {
        for io in &cgroup.io {
            let written = Written { bytes: io.write_bytes_per_second, ops: io.writes_per_second };
            all.insert((&cgroup.path, io.dev), written);
        }
    }
    let mut below: HashMap<(&str, u64), Written> = HashMap::new();
    for (&(path, dev), written) in &all {
        let above = ancestors(path).find(|above| all.contains_key(&(above, dev)));
        if let Some(above) = above {
            let sum = below.entry((above, dev)).or_default();
            *sum = Written { bytes: sum.bytes + written.bytes, ops: sum.ops + written.ops };
        }
    }
    let mut rows = Vec::new();
    for cgroup in cgroups {
        for dev in cgroup.io.iter().map(|io| io.dev) {
            let key = (&*cgroup.path, dev);
            let (whole, below) = (all.get(&key).copied().unwrap_or_default(), below.get(&key).copied());
            let own = own(whole, below.unwrap_or_default(), cgroup.version == 2);
            if let Some(slot) = stack.whole(dev).filter(|_| own.bytes > 0.0) {
                rows.push((slot, Arc::clone(&cgroup.path), own));
            }
        }
    }
    rows
}

/// Old kernels do not count what is below: then the groups below wrote more than the group. Version 2 always does; there
/// it only means that the groups below were read a moment later.
fn own(whole: Written, below: Written, counts_below: bool) -> Written {
    if !counts_below && below.bytes > whole.bytes * 1.05 + 1.0 {
        return whole;
    }
    Written { bytes: (whole.bytes - below.bytes).max(0.0), ops: (whole.ops - below.ops).max(0.0) }
}

/// `/a/b/c`: `/a/b`, `/a`, `/`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path).filter(|path| *path != "/");
    std::iter::from_fn(move || {
        let at = rest?.rfind('/')?;
        let above = rest?.get(..at)?;
        rest = Some(above).filter(|above| !above.is_empty());
        Some(if above.is_empty() { "/" } else { above })
    })
}

/// A process's writes are counted for all disks together, so they name a disk only where one alone was written to.
fn by_process(disks: &mut [Disk], stack: &Stack<'_>, frame: &Frame) -> bool {
    let wrote = |disk: &Disk| disk.write_bytes_per_second.is_some_and(|rate| rate > 0.0);
    let is_upper = |disk: &Disk| matches!(&*disk.kind, "dm" | "md");
    let mut lower = disks.iter().filter(|disk| wrote(disk) && !is_upper(disk) && &*disk.kind != "loop");
    let (Some(only), None) = (lower.next().map(|disk| disk.slot), lower.next()) else { return false };
    let mut upper = disks.iter().filter(|disk| wrote(disk) && is_upper(disk));
    let above = match (upper.next(), upper.next()) {
        (Some(disk), None) if stack.below(disk.slot).contains(&only) => Some(disk.slot),
        _ => None,
    };
    let rows: Vec<(WriterId, Written)> = frame
        .processes
        .iter()
        .filter_map(|process| {
            let bytes = process.write_bytes_per_second.filter(|&rate| rate > 0.0)?;
            Some((WriterId::Process(process.pid), Written { bytes, ops: 0.0 }))
        })
        .collect();
    for disk in disks.iter_mut().filter(|disk| disk.slot == only || Some(disk.slot) == above) {
        disk.writers = writers(disk, rows.clone(), false);
    }
    !rows.is_empty()
}

/// Most first. Shares are of what was written: by the disk's count or the writers', whichever is more, since neither
/// knows all (writes wait in the page cache, and not everybody may be looked at).
fn writers(disk: &Disk, mut rows: Vec<(WriterId, Written)>, by_ops: bool) -> Vec<Writer> {
    let sum = |of: fn(&Written) -> f64| rows.iter().map(|(_, written)| of(written)).sum::<f64>();
    let bytes = sum(|written| written.bytes).max(disk.write_bytes_per_second.unwrap_or(0.0));
    let ops = sum(|written| written.ops).max(disk.writes_per_second.unwrap_or(0.0));
    rows.sort_by(|a, b| b.1.bytes.total_cmp(&a.1.bytes));
    rows.into_iter()
        .map(|(who, written)| Writer {
            who,
            bytes_share: (bytes > 0.0).then(|| written.bytes / bytes),
            ops_share: (by_ops && ops > 0.0).then(|| written.ops / ops),
            bytes_per_second: written.bytes,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Written, ancestors, own};

    #[test]
    fn groups_above() {
        assert_eq!(ancestors("/a/b/c").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
        assert_eq!(ancestors("/a").collect::<Vec<_>>(), ["/"]);
        assert_eq!(ancestors("/").count(), 0);
        assert_eq!(ancestors("odd").count(), 0);
    }

    #[test]
    fn a_group_without_what_is_below() {
        let written = |bytes| Written { bytes, ops: bytes };
        assert!((own(written(100.0), written(40.0), false).bytes - 60.0).abs() < 1e-9);
        assert!((own(written(100.0), written(400.0), false).bytes - 100.0).abs() < 1e-9, "not counted recursively");
        assert!(own(written(100.0), written(110.0), true).bytes.abs() < 1e-9, "read a moment later");
    }
}
