//! Names of pods and containers from the directories of logs that kubelet keeps, else from the files of the runtime.

use super::runtime_names::{Lookup, is_name};
use super::user_names::UserNames;
use crate::Root;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use topotop_model::tables::cgroups::Cgroups;
use topotop_model::{Known, Table, Text};

/// Between two looks at the directories while a name is missing.
const LOOK_NS: u64 = 10_000_000_000;
/// Tries for one name: the container that holds a pod's network has none.
const TRIES: u8 = 3;
/// The most names that are kept.
const MOST: usize = 1 << 14;

/// Names by pod uid and container id.
#[derive(Debug, Default)]
pub(super) struct LogNames {
    looked_ns: Option<u64>,
    pods: HashMap<String, Pod>,
    containers: HashMap<String, String>,
    tried: HashMap<String, u8>,
    /// Groups that a user made and named like a container, with the user.
    foreign: HashMap<usize, u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pod {
    namespace: String,
    name: String,
}

impl LogNames {
    /// Records the owner of a new group that a user made: root's files do not name it.
    pub(super) fn note(&mut self, slot: usize, owner: Option<u32>) {
        match owner {
            Some(owner) => self.foreign.insert(slot, owner),
            None => self.foreign.remove(&slot),
        };
    }

    /// Fills in names of rows that have a pod or container but no name: of new ones at once, of others from time to
    /// time, since the directories come after the groups.
    pub(super) fn take(&mut self, root: &Root, now_ns: u64, table: &mut Cgroups, born: &[usize]) {
        let due = crate::cgroups::due(self.looked_ns, now_ns, LOOK_NS);
        let any = if due { table.rows().iter().any(|slot| self.is_wanted(table, slot)) } else { false };
        if !any && !born.iter().any(|&slot| self.is_wanted(table, slot)) {
            return;
        }
        self.looked_ns = Some(now_ns);
        self.look(root);
        let slots: Vec<usize> = table.rows().iter().filter(|&slot| self.is_wanted(table, slot)).collect();
        let (mut missed, mut lookup, mut users) = (HashSet::new(), Lookup::default(), UserNames::default());
        for slot in slots {
            let tried = if let Some(&owner) = self.foreign.get(&slot) {
                from_user(root, &mut users, (table, slot), owner);
                true
            } else {
                self.name(table, slot);
                !is_nameless(table, slot) || from_runtime(root, &mut lookup, table, slot)
            };
            missed.extend(id(table, slot).filter(|_| tried && is_nameless(table, slot)));
        }
        if self.tried.len() >= MOST {
            self.tried.clear();
        }
        // Groups within a container share its id. A look before its turn does not count as a try.
        for id in missed.into_iter().filter(|_| due) {
            *self.tried.entry(id).or_default() += 1;
        }
    }

    /// True if a name is missing that may still come.
    fn is_wanted(&self, table: &Cgroups, slot: usize) -> bool {
        is_nameless(table, slot)
            && id(table, slot).is_some_and(|id| self.tried.get(&id).is_none_or(|&tries| tries < TRIES))
    }

    fn name(&self, table: &mut Cgroups, slot: usize) {
        let pod = table.pod_uid.get(slot).and_then(|uid| self.pods.get(&**uid));
        let container = table.container_id.get(slot).and_then(|id| self.containers.get(&**id));
        if pod.is_some() || container.is_some() {
            table.name_source.set(slot, "log_dir");
        }
        if let Some(pod) = pod {
            table.pod_name.set(slot, &pod.name);
            table.namespace.set(slot, &pod.namespace);
        }
        if let Some(container) = container {
            table.container_name.set(slot, container);
        }
    }

    fn look(&mut self, root: &Root) {
        self.pods.clear();
        self.containers.clear();
        for name in root.names("var/log/pods").unwrap_or_default().into_iter().take(MOST) {
            if let Some((uid, pod)) = pod_directory(&name) {
                self.pods.insert(uid, pod);
            }
        }
        for name in root.names("var/log/containers").unwrap_or_default().into_iter().take(MOST) {
            if let Some((id, container)) = container_link(&name) {
                self.containers.insert(id, container);
            }
        }
        if self.containers.is_empty() {
            self.links(root);
        }
    }

    /// Docker's logs are links from POD/CONTAINER/N.log to a file named by the container's id.
    fn links(&mut self, root: &Root) {
        let pods = Path::new("var/log/pods");
        for pod in root.names(pods).unwrap_or_default().into_iter().take(MOST) {
            for container in root.names(pods.join(&pod)).unwrap_or_default().into_iter().take(64) {
                let dir = pods.join(&pod).join(&container);
                let logs = root.names(&dir).unwrap_or_default();
                for target in logs.iter().take(16).filter_map(|log| root.link(dir.join(log)).ok()) {
                    let id = target.iter().filter_map(|part| part.to_str()).find(|part| is_id(part));
                    if let Some(id) = id {
                        self.containers.insert(id.to_owned(), container.clone());
                    }
                }
            }
        }
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

/// Fills in the name of a user's own container.
fn from_user(root: &Root, users: &mut UserNames, (table, slot): (&mut Cgroups, usize), owner: u32) {
    let id = table.container_id.get(slot).filter(|id| is_id(id)).cloned();
    let name = id.and_then(|id| users.of(root, owner, &id)).filter(|name| is_name(name));
    if let Some(name) = name {
        table.container_name.set(slot, &name);
        table.name_source.set(slot, "user_dir");
    }
}

/// Fills in missing names from the state files of the runtime; false where that has to wait.
fn from_runtime(root: &Root, lookup: &mut Lookup, table: &mut Cgroups, slot: usize) -> bool {
    let Some(id) = table.container_id.get(slot).filter(|id| is_id(id)).cloned() else { return true };
    let names = match lookup.of(root, &id) {
        Known::Value(names) => names,
        Known::None => return true,
        Known::Missing => return false,
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

/// `NAMESPACE_POD_UID`; neither namespaces nor pods have underscores in their names.
fn pod_directory(name: &str) -> Option<(String, Pod)> {
    let mut parts = name.splitn(3, '_');
    let (namespace, pod, uid) = (parts.next()?, parts.next()?, parts.next()?);
    let named = !namespace.is_empty() && !pod.is_empty() && !uid.is_empty();
    named.then(|| (uid.to_owned(), Pod { namespace: namespace.to_owned(), name: pod.to_owned() }))
}

/// `POD_NAMESPACE_CONTAINER-ID.log`.
fn container_link(name: &str) -> Option<(String, String)> {
    let (front, id) = name.strip_suffix(".log")?.rsplit_once('-')?;
    let container = front.splitn(3, '_').nth(2).filter(|container| !container.is_empty())?;
    is_id(id).then(|| (id.to_owned(), container.to_owned()))
}

fn is_nameless(table: &Cgroups, slot: usize) -> bool {
    let lacks = |known: &Text, name: &Text| known.get(slot).is_some() && name.get(slot).is_none();
    lacks(&table.pod_uid, &table.pod_name) || lacks(&table.container_id, &table.container_name)
}

fn id(table: &Cgroups, slot: usize) -> Option<String> {
    table.container_id.get(slot).or_else(|| table.pod_uid.get(slot)).map(ToString::to_string)
}

fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{Pod, container_link, foreign_owner, pod_directory};
    use crate::Root;
    use proptest::prelude::*;
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

    #[test]
    fn splits_the_names_that_kubelet_makes() {
        let id = "0123456789abcdef".repeat(4);
        let pod = Pod { namespace: "mq".to_owned(), name: "broker-0".to_owned() };
        assert_eq!(pod_directory("mq_broker-0_8a1c-77"), Some(("8a1c-77".to_owned(), pod)));
        assert_eq!(pod_directory("lost+found"), None);
        let link = format!("broker-0_mq_side-car-{id}.log");
        assert_eq!(container_link(&link), Some((id, "side-car".to_owned())));
        assert_eq!(container_link("broker-0_mq_side-car-12.log"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(name: String) {
            pod_directory(&name);
            container_link(&name);
        }
    }
}
