//! Names of pods and containers from the directories of logs that kubelet keeps, else from the files of the runtime.

use super::look::{Found, Looker, MOST, Pod, Wanted, is_id};
use crate::Root;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use topotop_model::tables::cgroups::Cgroups;
use topotop_model::{Table, Text};

/// Between two looks at the directories while a name is missing.
const LOOK_NS: u64 = 10_000_000_000;
/// Tries for one name: the container that holds a pod's network has none.
const TRIES: u8 = 3;

/// Names by pod uid and container id.
#[derive(Debug, Default)]
pub(super) struct LogNames {
    looker: Looker,
    looked_ns: Option<u64>,
    /// True where somebody still looked when there was a new group.
    again: bool,
    tried: HashMap<String, u8>,
    /// Groups that a user made and named like a container, with the user.
    foreign: HashMap<usize, u32>,
}

impl LogNames {
    /// Records the owner of a new group that a user made: root's files do not name it.
    pub(super) fn note(&mut self, slot: usize, owner: Option<u32>) {
        match owner {
            Some(owner) => self.foreign.insert(slot, owner),
            None => self.foreign.remove(&slot),
        };
    }

    /// Where files do not answer, and how many look there.
    pub(super) fn silent(&self, complete: bool) -> impl Iterator<Item = (&'static str, u64)> {
        self.looker.silent(complete)
    }

    /// Fills in names of rows that have a pod or container but no name: of new ones at once, of others from time to
    /// time, since the directories come after the groups.
    pub(super) fn take(&mut self, root: &Arc<Root>, at: (u64, bool), table: &mut Cgroups, born: &[usize]) {
        let (now_ns, complete) = at;
        for found in self.looker.late(now_ns) {
            self.fill(&found, table);
        }
        let due = crate::cgroups::due(self.looked_ns, now_ns, LOOK_NS);
        let any = (due || self.again) && table.rows().iter().any(|slot| self.is_wanted(table, slot));
        if !any && !born.iter().any(|&slot| self.is_wanted(table, slot)) {
            return;
        }
        self.again = self.looker.is_busy();
        if self.again {
            return;
        }
        self.looked_ns = Some(now_ns);
        let wanted = self.wanted(table, due);
        if let Some(found) = self.looker.look(root, now_ns, complete, wanted) {
            self.fill(&found, table);
        }
    }

    fn wanted(&self, table: &Cgroups, counts: bool) -> Wanted {
        let mut wanted = Wanted { counts, ..Wanted::default() };
        for slot in table.rows().iter().filter(|&slot| self.is_wanted(table, slot)) {
            let Some(id) = id(table, slot) else { continue };
            match self.foreign.get(&slot) {
                Some(&owner) => wanted.foreign.insert((owner, id)),
                None => wanted.containers.insert(id),
            };
        }
        wanted
    }

    fn fill(&mut self, found: &Found, table: &mut Cgroups) {
        let mut missed = HashSet::new();
        let slots: Vec<usize> = table.rows().iter().filter(|&slot| self.is_wanted(table, slot)).collect();
        for slot in slots {
            let tried = if let Some(&owner) = self.foreign.get(&slot) {
                from_user(found, (table, slot), owner)
            } else {
                from_logs(found, table, slot);
                !is_nameless(table, slot) || from_runtime(found, table, slot)
            };
            missed.extend(id(table, slot).filter(|_| tried && is_nameless(table, slot)));
        }
        if self.tried.len() >= MOST {
            self.tried.clear();
        }
        // Groups within a container share its id. A look before its turn does not count as a try.
        for id in missed.into_iter().filter(|_| found.counts) {
            *self.tried.entry(id).or_default() += 1;
        }
    }

    /// True if a name is missing that may still come.
    fn is_wanted(&self, table: &Cgroups, slot: usize) -> bool {
        is_nameless(table, slot)
            && id(table, slot).is_some_and(|id| self.tried.get(&id).is_none_or(|&tries| tries < TRIES))
    }
}

fn from_logs(found: &Found, table: &mut Cgroups, slot: usize) {
    let pod = table.pod_uid.get(slot).and_then(|uid| found.pods.get(&**uid));
    let container = table.container_id.get(slot).and_then(|id| found.containers.get(&**id));
    if pod.is_some() || container.is_some() {
        table.name_source.set(slot, "log_dir");
    }
    if let Some(Pod { namespace, name }) = pod {
        table.pod_name.set(slot, name);
        table.namespace.set(slot, namespace);
    }
    if let Some(container) = container {
        table.container_name.set(slot, container);
    }
}

/// The owner of a group named like a container in a directory of another user, who may choose any name: it must not pass
/// for one of root's.
pub(super) fn foreign_owner(root: &Root, top: &Path, path: &Path, table: &Cgroups, slot: usize) -> Option<u32> {
    let (id, uid) = (table.container_id.or_empty(slot), table.pod_uid.or_empty(slot));
    // Owners of a captured tree are not those of its machine.
    if !root.is_live() || (id.is_empty() && uid.is_empty()) {
        return None;
    }
    let in_slices = uid.replace('-', "_");
    let names = [&*id, &*uid, &in_slices];
    let is_called = |part: &&OsStr| {
        let part = part.to_string_lossy();
        names.iter().any(|name| !name.is_empty() && part.contains(name))
    };
    let above: PathBuf = path.iter().take_while(|part| !is_called(part)).collect();
    root.directory_stat(top.join(above)).ok().map(|stat| stat.uid).filter(|owner| *owner != 0)
}

/// Fills in the name of a user's own container; false where nobody looked for it.
fn from_user(found: &Found, (table, slot): (&mut Cgroups, usize), owner: u32) -> bool {
    let Some(id) = id(table, slot) else { return true };
    let of_user = (owner, id);
    if let Some(name) = found.users.get(&of_user) {
        table.container_name.set(slot, name);
        table.name_source.set(slot, "user_dir");
    }
    found.foreign.contains(&of_user)
}

/// Fills in missing names from the state files of the runtime; false where that has to wait.
fn from_runtime(found: &Found, table: &mut Cgroups, slot: usize) -> bool {
    let Some(id) = table.container_id.get(slot).filter(|id| is_id(id)) else { return true };
    let names = match found.runtime.get(&**id) {
        Some(Some(names)) => names,
        Some(None) => return true,
        // Logs name it: nobody asked the runtime.
        None => return found.containers.contains_key(&**id),
    };
    let texts = [
        (&mut table.container_name, &names.container),
        (&mut table.pod_name, &names.pod),
        (&mut table.namespace, &names.namespace),
    ];
    for (column, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        if column.get(slot).is_none() {
            column.set(slot, text);
        }
    }
    table.name_source.set(slot, "runtime_dir");
    true
}

fn is_nameless(table: &Cgroups, slot: usize) -> bool {
    let lacks = |known: &Text, name: &Text| known.get(slot).is_some() && name.get(slot).is_none();
    lacks(&table.pod_uid, &table.pod_name) || lacks(&table.container_id, &table.container_name)
}

fn id(table: &Cgroups, slot: usize) -> Option<String> {
    table.container_id.get(slot).or_else(|| table.pod_uid.get(slot)).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::foreign_owner;
    use crate::Root;
    use std::path::Path;
    use topotop_model::Table as _;
    use topotop_model::tables::cgroups::Cgroups;

    #[test]
    fn a_users_group_does_not_pass_for_a_container_of_root() {
        let top = tempfile::tempdir().expect("a directory");
        let root = Root::live().expect("this machine");
        let id = "0123456789abcdef".repeat(4);
        let group = format!("user.slice/own.slice/docker-{id}.scope/inner");
        std::fs::create_dir_all(top.path().join(&group)).expect("made");
        let mut table = Cgroups::default();
        let slot = table.insert();
        let foreign = |table: &Cgroups| foreign_owner(&root, top.path(), Path::new(&group), table, slot).is_some();
        assert!(!foreign(&table), "no container");
        table.container_id.set(slot, &id);
        let given = |part: &str, user| std::os::unix::fs::chown(top.path().join(part), Some(user), None).is_ok();
        if !given("user.slice/own.slice", 54_321) {
            assert!(foreign(&table), "the test's own user made it");
            return;
        }
        assert!(foreign(&table));
        // A runtime gives the container's own directory to its user.
        assert!(given("user.slice/own.slice", 0) && given(&group, 54_321));
        assert!(given(&format!("user.slice/own.slice/docker-{id}.scope"), 54_321) && !foreign(&table));
        let captured = Root::at(top.path()).expect("a root");
        assert_eq!(foreign_owner(&captured, Path::new(""), Path::new(&group), &table, slot), None);
    }
}
