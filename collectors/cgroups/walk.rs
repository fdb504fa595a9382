//! Compares the tree with the directories.

use super::mounts::Hierarchy;
use super::tree::{Tables, Tree, rank};
use crate::Root;
use std::collections::HashSet;
use std::path::Path;
use topotop_model::{Gaps, Reason};

/// The most groups; a captured tree may be anything.
const MOST_GROUPS: usize = 1 << 16;
/// The deepest group: the kernel has no limit of its own, a captured tree needs one.
const MOST_DEPTH: usize = 128;

/// One comparison.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub(super) root: &'a Root,
    pub(super) hierarchies: &'a [Hierarchy],
    /// List directories whose link count is what it was: one may have gone and another come.
    pub(super) thorough: bool,
    pub(super) tables: Tables<'a>,
    pub(super) gaps: &'a mut Gaps,
}

impl Walk<'_> {
    /// Walks the hierarchy that tells most; the others where that has changed, or `all`. Groups are made in all of them
    /// at once as a rule.
    pub(super) fn run(&mut self, tree: &mut Tree, all: bool) {
        let before = tree.changes();
        let best = self.hierarchies.iter().map(rank).max();
        let is_best = |hierarchy: &&Hierarchy| Some(rank(hierarchy)) == best;
        let main = self.hierarchies.iter().position(|hierarchy| is_best(&hierarchy));
        if let Some(main) = main {
            self.hierarchy(tree, main as u8);
        }
        if all || tree.changes() != before {
            for index in (0..self.hierarchies.len()).filter(|&index| Some(index) != main) {
                self.hierarchy(tree, index as u8);
            }
        }
    }

    fn hierarchy(&mut self, tree: &mut Tree, index: u8) {
        let Some(hierarchy) = self.hierarchies.get(usize::from(index)) else { return };
        let Ok(stat) = self.root.directory_stat(&hierarchy.dir) else {
            return self.gaps.add(&hierarchy.dir.to_string_lossy(), Reason::NotFound, "");
        };
        let inode = self.inode(Path::new(""), stat.inode);
        let top = tree.place(None, Path::new(""), index, inode, self.hierarchies, &mut self.tables);
        let mut todo: Vec<usize> = top.into_iter().collect();
        while let Some(slot) = todo.pop() {
            self.enter(tree, slot, index, hierarchy);
            let children = tree.get(slot).map(|group| group.children.as_slice()).unwrap_or_default();
            todo.extend(
                children.iter().filter(|slot| tree.get(**slot).is_some_and(|group| group.dir(index).is_some())),
            );
        }
    }

    /// What tells a group from an earlier one of the same path. The files of a captured tree have other inodes in each
    /// sample: there a path is one group.
    fn inode(&self, path: &Path, inode: u64) -> u64 {
        if self.root.is_live() {
            return inode;
        }
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        path.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325, mix) >> 32
    }

    /// Looks into one directory of a group.
    fn enter(&mut self, tree: &mut Tree, slot: usize, index: u8, hierarchy: &Hierarchy) {
        let Some(group) = tree.get(slot) else { return };
        let (depth, known) = (group.depth, group.dir(index).map_or(0, |dir| dir.links));
        let dir = hierarchy.dir.join(&group.path);
        let links = self.root.directory_stat(&dir).map_or(0, |stat| stat.links);
        // The kernel's own file systems count two links and one per directory inside; others need not.
        let counted = self.root.is_live() && links >= 2;
        if counted && links == known && !self.thorough {
            return;
        }
        // A group without groups in it, the most common one, needs no listing.
        let entries = if counted && links == 2 { Ok(Vec::new()) } else { self.root.entries(&dir) };
        let pattern = || format!("{}/*", hierarchy.dir.to_string_lossy());
        let entries = match entries {
            Ok(entries) => entries,
            // Gone since its parent was listed; a later walk takes it out.
            Err(Reason::NotFound | Reason::Vanished) => return,
            Err(reason) => return self.gaps.add(&pattern(), reason, "root"),
        };
        let mut seen = HashSet::new();
        for entry in entries.iter().filter(|entry| entry.is_directory) {
            if depth == 0 && hierarchy.not_its_own.contains(&entry.name) {
                continue;
            }
            if depth >= MOST_DEPTH || tree.len() >= MOST_GROUPS {
                self.gaps.add(&pattern(), Reason::Malformed, topotop_model::locale::needs::FEWER_GROUPS.english());
                break;
            }
            let name = Path::new(&entry.name);
            let inode = self.inode(&dir.join(name), entry.inode);
            seen.extend(tree.place(Some(slot), name, index, inode, self.hierarchies, &mut self.tables));
        }
        tree.drop_unseen(slot, index, &seen, self.hierarchies, &mut self.tables);
        if let Some(dir) = tree.get_mut(slot).and_then(|group| group.dir_mut(index)) {
            dir.links = links;
        }
    }
}
