//! What stands on what: partitions on disks, device mapper and RAID on either, and the mounts of all of them.

use crate::Table;
use crate::frame::Mount;
use crate::tables::disks::{Disks, Mounts};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The devices of a table and how they stand on each other.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    table: &'a Disks,
    by_name: HashMap<Arc<str>, usize>,
    by_dev: HashMap<u64, usize>,
    mounts: Option<&'a Mounts>,
}

impl<'a> Stack<'a> {
    pub(super) fn new(table: &'a Disks, mounts: Option<&'a Mounts>) -> Self {
        let rows = || table.rows().iter();
        Self {
            table,
            mounts,
            by_name: rows().map(|slot| (table.name.or_empty(slot), slot)).collect(),
            by_dev: rows().filter_map(|slot| Some((table.dev.value(slot)?, slot))).collect(),
        }
    }

    /// The whole device of a device number: a partition's disk, else the device itself.
    pub(super) fn whole(&self, dev: u64) -> Option<usize> {
        self.by_dev.get(&dev).map(|&slot| self.disk_of(slot))
    }

    fn disk_of(&self, slot: usize) -> usize {
        let parent = self.table.parent.get(slot).and_then(|parent| self.by_name.get(parent));
        parent.copied().unwrap_or(slot)
    }

    /// The names of what a device stands on, as the kernel gives them; of a loop device what its file is on.
    pub(super) fn lower_names(&self, slot: usize) -> Vec<Arc<str>> {
        let lower = self.table.lower.or_empty(slot);
        if &*self.table.kind.or_empty(slot) == "loop" {
            let holder = self.holder(&lower).and_then(|dev| self.by_dev.get(&dev));
            return holder.map(|&slot| self.table.name.or_empty(slot)).into_iter().collect();
        }
        lower.split(' ').filter(|name| !name.is_empty()).map(Arc::from).collect()
    }

    /// The device of the file system that a file is in: of the longest mount point above it.
    fn holder(&self, file: &str) -> Option<u64> {
        let mounts = self.mounts?;
        let above = mounts.rows().iter().filter_map(|row| {
            let path = mounts.path.get(row)?.trim_end_matches('/');
            file.strip_prefix(path).filter(|rest| rest.starts_with('/'))?;
            Some((path.len(), mounts.dev.value(row)))
        });
        above.max_by_key(|(length, _)| *length)?.1
    }

    /// The whole devices below a device mapper or RAID device, at any depth, itself not included. A loop device's
    /// writes go through a file system, so it does not count as standing on a disk.
    pub(super) fn below(&self, slot: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut todo = vec![slot];
        while let Some(slot) = todo.pop() {
            if !matches!(&*self.table.kind.or_empty(slot), "dm" | "md") {
                continue;
            }
            for name in self.table.lower.or_empty(slot).split(' ') {
                if let Some(&lower) = self.by_name.get(name) {
                    let disk = self.disk_of(lower);
                    if found.insert(disk) {
                        todo.push(disk);
                    }
                }
            }
        }
        found.remove(&slot);
        found
    }

    /// The mounts of each whole device: its own, its partitions' and those of what stands on it, by path. Each file system
    /// once, where its path is shortest: bind mounts of it are equally full.
    pub(super) fn mounts(&self) -> HashMap<usize, Vec<Mount>> {
        let mut by_disk: HashMap<usize, BTreeMap<Arc<str>, Mount>> = HashMap::new();
        let Some(mounts) = self.mounts else { return HashMap::new() };
        let mut shortest: HashMap<u64, (usize, Arc<str>, usize)> = HashMap::new();
        for row in mounts.rows().iter() {
            let Some(dev) = mounts.dev.value(row) else { continue };
            let path = mounts.path.or_empty(row);
            let here = (path.len(), path, row);
            shortest.entry(dev).and_modify(|known| *known = here.clone().min(known.clone())).or_insert(here);
        }
        for (dev, (.., row)) in shortest {
            let Some(owner) = self.whole(dev) else { continue };
            let mount = Mount {
                path: mounts.path.or_empty(row),
                fs: mounts.fs.or_empty(row),
                total_bytes: mounts.total_bytes.get(row),
                free_bytes: mounts.free_bytes.get(row),
                used_bytes: mounts.used_bytes.get(row),
                inodes_total: mounts.inodes_total.get(row),
                inodes_free: mounts.inodes_free.get(row),
            };
            for disk in self.below(owner).into_iter().chain([owner]) {
                by_disk.entry(disk).or_default().insert(Arc::clone(&mount.path), mount.clone());
            }
        }
        by_disk.into_iter().map(|(disk, mounts)| (disk, mounts.into_values().collect())).collect()
    }
}
