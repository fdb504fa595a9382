//! The groups that there are: births, deaths and what each is called.

use super::files::Held;
use super::mounts::Hierarchy;
use super::take::Device;
use super::{v1, v2};
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use topotop_model::Table;
use topotop_model::tables::cgroups::{CgroupIo, Cgroups};

/// A directory of a group in one hierarchy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dir {
    /// Which one.
    pub(super) hierarchy: u8,
    inode: u64,
    /// Links when its entries were listed last; zero before.
    pub(super) links: u64,
}

/// A group.
#[derive(Debug)]
pub(super) struct Group {
    /// Its path below the mount, as bytes; empty for the top.
    pub(super) path: PathBuf,
    /// The same as text.
    pub(super) text: Arc<str>,
    /// The groups just below it.
    pub(super) children: Vec<usize>,
    /// Its files.
    pub(super) files: Vec<Held>,
    /// The devices it did I/O on.
    pub(super) io: Vec<Device>,
    /// Samples in which it is still read completely though nothing moved.
    pub(super) warm: u8,
    /// When the seldom read files are due.
    pub(super) seldom_ns: u64,
    /// When files that could not be read are tried again.
    pub(super) retry_ns: u64,
    parent: Option<usize>,
    pub(super) depth: usize,
    dirs: Vec<Dir>,
}

/// All groups, by the slots of their rows.
#[derive(Debug, Default)]
pub(super) struct Tree {
    groups: Vec<Option<Group>>,
    by_path: HashMap<PathBuf, usize>,
    texts: HashSet<Arc<str>>,
    /// Groups made since `take_born`.
    born: Vec<usize>,
    /// How many groups were made, taken out or got another directory.
    changes: u64,
}

/// The tables that rows are made in.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    pub(super) groups: &'a mut Cgroups,
    pub(super) io: &'a mut CgroupIo,
}

impl Tree {
    /// The top group.
    pub(super) fn top(&self) -> Option<usize> {
        self.by_path.get(Path::new("")).copied()
    }

    pub(super) fn get(&self, slot: usize) -> Option<&Group> {
        self.groups.get(slot)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Group> {
        self.groups.get_mut(slot)?.as_mut()
    }

    /// One past the highest slot.
    pub(super) fn bound(&self) -> usize {
        self.groups.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().flatten()
    }

    /// Counts groups made, taken out or given another directory.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.by_path.len()
    }

    /// The groups made since the last call.
    pub(super) fn take_born(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.born)
    }

    /// Takes the groups below `slot` out that this hierarchy has no longer.
    pub(super) fn drop_unseen(
        &mut self,
        slot: usize,
        index: u8,
        seen: &HashSet<usize>,
        hierarchies: &[Hierarchy],
        tables: &mut Tables<'_>,
    ) {
        let children = self.get(slot).map(|group| group.children.clone()).unwrap_or_default();
        for child in children.into_iter().filter(|child| !seen.contains(child)) {
            let Some(group) = self.get_mut(child).filter(|group| group.dir(index).is_some()) else { continue };
            group.dirs.retain(|dir| dir.hierarchy != index);
            if group.dirs.is_empty() {
                self.remove(child, tables);
            } else {
                self.equip(child, hierarchies, tables);
            }
        }
    }

    /// Finds or makes the group of a directory.
    pub(super) fn place(
        &mut self,
        parent: Option<usize>,
        name: &Path,
        index: u8,
        inode: u64,
        hierarchies: &[Hierarchy],
        tables: &mut Tables<'_>,
    ) -> Option<usize> {
        let path = match parent {
            Some(parent) => self.get(parent)?.path.join(name),
            None => PathBuf::new(),
        };
        if let Some(&slot) = self.by_path.get(&path) {
            match self.get(slot)?.dir(index) {
                Some(dir) if dir.inode == inode => return Some(slot),
                // Another directory of the same name: another group.
                Some(_) => self.remove(slot, tables),
                None => {
                    self.get_mut(slot)?.dirs.push(Dir { hierarchy: index, inode, links: 0 });
                    self.equip(slot, hierarchies, tables);
                    return Some(slot);
                }
            }
        }
        let slot = tables.groups.insert();
        let text = self.text(parent, name, inode);
        tables.groups.path.set_shared(slot, &text);
        let depth = parent.and_then(|parent| self.get(parent)).map_or(0, |parent| parent.depth + 1);
        let group = Group {
            path: path.clone(),
            text,
            children: Vec::new(),
            files: Vec::new(),
            io: Vec::new(),
            warm: 0,
            seldom_ns: 0,
            retry_ns: 0,
            parent,
            depth,
            dirs: vec![Dir { hierarchy: index, inode, links: 0 }],
        };
        if self.groups.len() <= slot {
            self.groups.resize_with(slot + 1, || None);
        }
        *self.groups.get_mut(slot)? = Some(group);
        self.by_path.insert(path, slot);
        if let Some(parent) = parent.and_then(|parent| self.get_mut(parent)) {
            parent.children.push(slot);
        }
        self.equip(slot, hierarchies, tables);
        self.born.push(slot);
        Some(slot)
    }

    /// The text of a path; two paths that differ only in bytes that cannot be shown get different ones.
    fn text(&mut self, parent: Option<usize>, name: &Path, inode: u64) -> Arc<str> {
        let above = parent.and_then(|parent| self.get(parent)).map_or("", |parent| parent.text.trim_end_matches('/'));
        let name = topotop_model::text::from_bytes(name.as_os_str().as_bytes());
        let mut text = format!("{above}/{name}");
        if self.texts.contains(text.as_str()) {
            text = format!("{text}~{inode}");
        }
        let text: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&text));
        text
    }

    /// Decides which files a group has, and what its row says about its directories.
    fn equip(&mut self, slot: usize, hierarchies: &[Hierarchy], tables: &mut Tables<'_>) {
        self.changes += 1;
        let Some(group) = self.get_mut(slot) else { return };
        group.files = files(&group.dirs, hierarchies);
        group.seldom_ns = 0;
        let table = &mut *tables.groups;
        // The hierarchy of its memory, else of its CPU time, else any.
        let best = group.dirs.iter().filter_map(|dir| Some((dir, hierarchies.get(usize::from(dir.hierarchy))?)));
        let best = best.max_by_key(|(_, hierarchy)| rank(hierarchy));
        if let Some((dir, hierarchy)) = best {
            table.version.set(slot, u64::from(hierarchy.version));
            table.inode.set(slot, dir.inode);
            // Version 1 has no throttling at memory.high and counts no failed reclaim.
            if hierarchy.version == 1 && hierarchy.has & super::mounts::controller::MEMORY != 0 {
                table.memory_high_bytes.set_none(slot);
                table.events_high.set_none(slot);
                table.events_oom.set_none(slot);
            }
        }
    }

    /// Takes a group and all below it out.
    pub(super) fn remove(&mut self, slot: usize, tables: &mut Tables<'_>) {
        self.changes += 1;
        if let Some(parent) = self.get(slot).and_then(|group| group.parent).and_then(|parent| self.get_mut(parent)) {
            parent.children.retain(|&child| child != slot);
            // List it again: its links may be the same by then.
            parent.dirs.iter_mut().for_each(|dir| dir.links = 0);
        }
        let mut todo = vec![slot];
        while let Some(slot) = todo.pop() {
            let Some(group) = self.groups.get_mut(slot).and_then(Option::take) else { continue };
            todo.extend(&group.children);
            self.by_path.remove(&group.path);
            self.texts.remove(&group.text);
            group.io.iter().for_each(|row| tables.io.remove(row.slot));
            tables.groups.remove(slot);
        }
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self, tables: &mut Tables<'_>) {
        if let Some(top) = self.top() {
            self.remove(top, tables);
        }
    }
}

impl Group {
    /// Its directory in a hierarchy.
    pub(super) fn dir(&self, hierarchy: u8) -> Option<&Dir> {
        self.dirs.iter().find(|dir| dir.hierarchy == hierarchy)
    }

    /// Where the hierarchy that it was found in is mounted.
    pub(super) fn top<'a>(&self, hierarchies: &'a [Hierarchy]) -> Option<&'a Path> {
        let first = self.dirs.first()?;
        hierarchies.get(usize::from(first.hierarchy)).map(|hierarchy| hierarchy.dir.as_path())
    }

    /// The same, to write to.
    pub(super) fn dir_mut(&mut self, hierarchy: u8) -> Option<&mut Dir> {
        self.dirs.iter_mut().find(|dir| dir.hierarchy == hierarchy)
    }
}

/// How much a hierarchy reports about a group.
pub(super) fn rank(hierarchy: &Hierarchy) -> u8 {
    use super::mounts::controller::{CPU, CPUACCT, MEMORY};
    match (hierarchy.version, hierarchy.has) {
        (1, has) if has & MEMORY != 0 => 4,
        (1, has) if has & (CPU | CPUACCT) != 0 => 3,
        (2, _) => 2,
        _ => 1,
    }
}

/// The files of a group that has these directories: those of version 2 unless a version 1 controller tells the same.
fn files(dirs: &[Dir], hierarchies: &[Hierarchy]) -> Vec<Held> {
    let known = || dirs.iter().filter_map(|dir| Some((dir.hierarchy, hierarchies.get(usize::from(dir.hierarchy))?)));
    let has_v1 = known().filter(|(_, one)| one.version == 1).fold(0, |bits, (_, one)| bits | one.has);
    let main = known().max_by_key(|(_, hierarchy)| rank(hierarchy)).map(|(index, _)| index);
    let mut files = Vec::new();
    for (index, hierarchy) in known() {
        let defs = if hierarchy.version == 2 { v2::FILES.as_slice() } else { v1::FILES.as_slice() };
        let wanted = defs.iter().filter(|def| match (def.of, hierarchy.version) {
            // Processes are counted in one hierarchy; pressure of version 2 is in every group.
            (0, _) => !def.names.contains(&"cgroup.procs") || main == Some(index),
            (of, 2) => of & has_v1 == 0,
            (of, _) => of & hierarchy.has != 0,
        });
        files.extend(wanted.map(|def| Held::new(def, index)));
    }
    files
}
