//! What is mounted from block devices, and how full it is.

use super::mountinfo::{Mounted, mountinfo, mounts};
use super::space::Asker;
use crate::parse::text;
use crate::{Collector, Cx};
use std::collections::{HashMap, HashSet};
use topotop_model::tables::disks::{Disks, Mounts};
use topotop_model::{Draft, Reason, Slots, State, Table};

/// How often mounts and their space are read.
const PERIOD_NS: u64 = 10_000_000_000;
/// The most mount points that are kept.
const MOST: usize = 4096;
/// This process's mounts; init's where a captured tree has no `self`; the older file.
const FILES: [&str; 3] = ["proc/self/mountinfo", "proc/1/mountinfo", "proc/mounts"];

/// Reads mountinfo and asks statvfs through a worker.
#[derive(Debug, Default)]
pub(crate) struct MountsCollector {
    asker: Asker,
    slots: Slots<Box<[u8]>>,
    read_ns: Option<u64>,
    seen: Vec<Mounted>,
    /// The file that they were read from and its contents.
    said: (usize, Vec<u8>),
    damage: Option<(&'static str, Reason, u64)>,
}

impl Collector for MountsCollector {
    fn name(&self) -> &'static str {
        "mounts"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let due = self.read_ns.is_none_or(|last| cx.now_ns.saturating_sub(last) >= PERIOD_NS) || cx.demand.complete;
        if due {
            self.read_ns = Some(cx.now_ns);
            self.read(cx, draft.disks.data());
            self.asker.ask(representatives(&self.seen).into_iter());
        }
        let answered = self.asker.turn(cx);
        if due || answered {
            draft.mounts.begin(cx.now_ns);
            self.write(draft);
        }
    }
}

impl MountsCollector {
    fn read(&mut self, cx: &mut Cx<'_>, disks: &Disks) {
        if !self.seen.is_empty() && self.says_the_same(cx) {
            return;
        }
        self.damage = Some((FILES[0], Reason::NotFound, 1));
        self.seen.clear();
        for (index, path) in FILES.into_iter().enumerate() {
            match cx.root.read(path, cx.buf) {
                Ok(()) => {
                    let (seen, bad) = if index < 2 { mountinfo(cx.buf) } else { mounts(cx.buf) };
                    self.damage = (bad > 0).then_some((path, Reason::Malformed, bad));
                    self.seen = seen;
                    self.said = (index, cx.buf.clone());
                    break;
                }
                Err(Reason::NotFound) => {}
                Err(reason) => self.damage = Some((path, reason, 1)),
            }
        }
        self.seen.truncate(MOST);
        if self.seen.iter().any(|mounted| mounted.dev.is_none()) {
            let by_name = devices(disks);
            for mounted in self.seen.iter_mut().filter(|mounted| mounted.dev.is_none()) {
                mounted.dev = mounted.source.strip_prefix(b"/dev/").and_then(|name| by_name.get(name).copied());
            }
        }
    }

    fn says_the_same(&self, cx: &mut Cx<'_>) -> bool {
        let (index, text) = &self.said;
        // A name is looked up among disks, which come and go.
        let by_name = *index == 2;
        FILES.get(*index).is_some_and(|path| !by_name && cx.root.read(path, cx.buf).is_ok() && cx.buf == text)
    }

    fn write(&mut self, draft: &mut Draft) {
        self.slots.begin();
        let section = &mut draft.mounts;
        if let Some((path, reason, count)) = self.damage {
            section.gaps.add_many(path, reason, "", count);
            if reason != Reason::Malformed {
                section.state = State::Missing;
            }
        }
        let asked = representatives_by_device(&self.seen);
        let mut silent: HashMap<Reason, HashSet<&[u8]>> = HashMap::new();
        let table = section.data_mut();
        for mounted in &self.seen {
            let (slot, _) = self.slots.slot(table, &mounted.path.clone().into_boxed_slice());
            table.dev.set_or_none(slot, mounted.dev);
            table.path.set(slot, &text(&mounted.path));
            table.fs.set(slot, &text(&mounted.fs));
            table.source.set(slot, &text(&mounted.source));
            let path = mounted.dev.and_then(|dev| asked.get(&dev).copied()).unwrap_or(&mounted.path);
            let answer = self.asker.answer(path);
            if let Some(Err(reason)) = answer {
                silent.entry(reason).or_default().insert(path);
            }
            put(answer.and_then(Result::ok), table, slot);
        }
        self.slots.finish(table, |_, _| {});
        for (reason, paths) in silent {
            section.gaps.add_many("statvfs", reason, "", paths.len() as u64);
        }
    }
}

fn put(space: Option<crate::live::Space>, table: &mut Mounts, slot: usize) {
    let number = |of: fn(&crate::live::Space) -> u64| space.as_ref().map(of);
    table.total_bytes.set_or_clear(slot, number(|space| space.total_bytes));
    table.free_bytes.set_or_clear(slot, number(|space| space.free_bytes));
    table.inodes_total.set_or_clear(slot, number(|space| space.inodes_total));
    table.inodes_free.set_or_clear(slot, number(|space| space.inodes_free));
    table.used_bytes.set_or_clear(slot, space.and_then(|space| space.used_bytes));
}

/// The mount point to ask for each device: the first one; bind mounts of one file system are equally full.
fn representatives_by_device(seen: &[Mounted]) -> HashMap<u64, &[u8]> {
    let mut first = HashMap::new();
    for mounted in seen {
        if let Some(dev) = mounted.dev {
            first.entry(dev).or_insert(mounted.path.as_slice());
        }
    }
    first
}

fn representatives(seen: &[Mounted]) -> Vec<Vec<u8>> {
    let by_device = representatives_by_device(seen);
    let asked = seen.iter().filter(|mounted| {
        mounted.dev.is_none_or(|dev| by_device.get(&dev).is_some_and(|path| *path == mounted.path.as_slice()))
    });
    asked.map(|mounted| mounted.path.clone()).collect()
}

/// Device numbers by what stands behind `/dev/`: the kernel's names, and those of device mapper.
fn devices(disks: &Disks) -> HashMap<Vec<u8>, u64> {
    let mut by_name = HashMap::new();
    for slot in disks.rows().iter() {
        let (Some(dev), Some(name)) = (disks.dev.value(slot), disks.name.get(slot)) else { continue };
        by_name.insert(name.as_bytes().to_vec(), dev);
        if let Some(mapped) = disks.model.get(slot).filter(|_| disks.kind.get(slot).is_some_and(|kind| &**kind == "dm"))
        {
            by_name.insert(format!("mapper/{mapped}").into_bytes(), dev);
        }
    }
    by_name
}
