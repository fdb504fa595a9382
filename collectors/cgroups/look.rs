//! Looks for names of pods and containers: in the directories of logs that kubelet keeps, in the files of runtimes and in
//! the homes of users. Some of these may stand on what does not answer, so a thread looks, and one that does not come back
//! is left behind.

use super::runtime_names::{Lookup, Names, is_name};
use super::user_names::UserNames;
use crate::Root;
use crate::worker::Worker;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use topotop_model::Known;

/// How long a sample waits for names, and a complete one.
const WAIT: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(1);
/// After which it is left behind.
const LATE_NS: u64 = 5_000_000_000;
/// How many may be left behind.
const LEFT_BEHIND: usize = 4;
/// The most names that are kept.
pub(super) const MOST: usize = 1 << 14;

/// What has no name yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Containers that root's files name, by id.
    pub(super) containers: BTreeSet<String>,
    /// Those that a user's files name.
    pub(super) foreign: BTreeSet<(u32, String)>,
    /// False for a look before its turn: what it misses may still come.
    pub(super) counts: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) pods: HashMap<String, Pod>,
    pub(super) containers: HashMap<String, String>,
    /// Containers that runtimes were asked for.
    pub(super) runtime: HashMap<String, Option<Names>>,
    pub(super) users: HashMap<(u32, String), String>,
    /// Those that users' files were to name.
    pub(super) foreign: BTreeSet<(u32, String)>,
    pub(super) counts: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
}

/// The user whose files are looked at now.
type At = Arc<Mutex<Option<u32>>>;

/// The thread that looks.
#[derive(Debug, Default)]
pub(super) struct Looker {
    worker: Option<Worker<Wanted, Found>>,
    at: At,
    since_ns: u64,
    /// Threads left behind, with the users that they are at: their files are not looked at meanwhile.
    stuck: Vec<(At, Worker<Wanted, Found>)>,
}

impl Looker {
    /// What earlier looks found, if it comes only now, the oldest first.
    pub(super) fn late(&mut self, now_ns: u64) -> Vec<Found> {
        let mut late = Vec::new();
        self.stuck.retain_mut(|(_, worker)| {
            late.extend(worker.take());
            worker.pending() > 0
        });
        late.extend(self.worker.as_mut().and_then(Worker::take));
        if self.is_busy() && now_ns.saturating_sub(self.since_ns) >= LATE_NS {
            let at = std::mem::take(&mut self.at);
            self.stuck.extend(self.worker.take().map(|worker| (at, worker)));
        }
        late
    }

    /// True while it still looks.
    pub(super) fn is_busy(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.pending() > 0)
    }

    /// Users whose files do not answer.
    fn hung(&self) -> HashSet<u32> {
        self.stuck.iter().filter_map(|(at, _)| *at.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// True while nobody may be left behind any more, and so nobody looks.
    fn is_full(&self) -> bool {
        self.stuck.len() >= LEFT_BEHIND
    }

    /// Where files do not answer: of users, of root, or too slowly for a sample that has to be complete. While nobody looks,
    /// those of root are not looked at either.
    pub(super) fn silent(&self, complete: bool) -> impl Iterator<Item = (&'static str, u64)> {
        let hung = self.hung().len();
        let stuck = self.stuck.len().saturating_sub(hung).max(usize::from(self.is_full()));
        let late = usize::from(complete && self.is_busy());
        let all = [("home/*/.local/share/*/containers", hung), ("var/lib/*/containers", stuck + late)];
        all.into_iter().filter(|(_, count)| *count > 0).map(|(place, count)| (place, count as u64))
    }

    /// Looks for names; nothing where that takes too long, somebody still looks, or only files that do not answer have them.
    pub(super) fn look(&mut self, root: &Arc<Root>, now_ns: u64, complete: bool, mut wanted: Wanted) -> Option<Found> {
        if !root.is_live() {
            return Some(look(root, &wanted, &self.at));
        }
        let hung = self.hung();
        wanted.foreign.retain(|(owner, _)| !hung.contains(owner));
        let nothing = wanted.containers.is_empty() && wanted.foreign.is_empty();
        if nothing || self.is_full() || self.is_busy() {
            return None;
        }
        if self.worker.is_none() {
            let (root, at) = (Arc::clone(root), At::default());
            self.at = Arc::clone(&at);
            self.worker = Worker::spawn("names", move |wanted: Wanted| look(&root, &wanted, &at)).ok();
        }
        let worker = self.worker.as_mut()?;
        self.since_ns = now_ns;
        worker.submit(wanted);
        worker.wait(if complete { PATIENCE } else { WAIT })
    }
}

fn look(root: &Root, wanted: &Wanted, at: &Mutex<Option<u32>>) -> Found {
    let mut found = Found { counts: wanted.counts, foreign: wanted.foreign.clone(), ..Found::default() };
    if !wanted.containers.is_empty() {
        logs(root, &mut found);
    }
    let Ok(top) = root.local() else { return found };
    let mut lookup = Lookup::default();
    for id in wanted.containers.iter().filter(|id| is_id(id)) {
        if found.containers.contains_key(id) && !found.pods.is_empty() {
            continue;
        }
        match lookup.of(root, &top, id) {
            Known::Value(names) => found.runtime.insert(id.clone(), Some(names)),
            Known::None => found.runtime.insert(id.clone(), None),
            Known::Missing => break,
        };
    }
    // Homes are nobody's business in a capture.
    if root.is_traced() {
        return found;
    }
    let mut users = UserNames::default();
    for (owner, id) in wanted.foreign.iter().filter(|(_, id)| is_id(id)) {
        let said = |user| *at.lock().unwrap_or_else(PoisonError::into_inner) = user;
        said(Some(*owner));
        if let Some(name) = users.of((root, &top), *owner, id).filter(|name| is_name(name)) {
            found.users.insert((*owner, id.clone()), name);
        }
        said(None);
    }
    found
}

/// Names from the directories of logs.
fn logs(root: &Root, found: &mut Found) {
    for name in root.names("var/log/pods").unwrap_or_default().into_iter().take(MOST) {
        if let Some((uid, pod)) = pod_directory(&name) {
            found.pods.insert(uid, pod);
        }
    }
    for name in root.names("var/log/containers").unwrap_or_default().into_iter().take(MOST) {
        if let Some((id, container)) = container_link(&name) {
            found.containers.insert(id, container);
        }
    }
    if found.containers.is_empty() {
        links(root, found);
    }
}

/// Docker's logs are links from POD/CONTAINER/N.log to a file named by the container's id.
fn links(root: &Root, found: &mut Found) {
    let pods = Path::new("var/log/pods");
    for pod in root.names(pods).unwrap_or_default().into_iter().take(MOST) {
        for container in root.names(pods.join(&pod)).unwrap_or_default().into_iter().take(64) {
            let dir = pods.join(&pod).join(&container);
            let logs = root.names(&dir).unwrap_or_default();
            for target in logs.iter().take(16).filter_map(|log| root.link(dir.join(log)).ok()) {
                let id = target.iter().filter_map(|part| part.to_str()).find(|part| is_id(part));
                if let Some(id) = id {
                    found.containers.insert(id.to_owned(), container.clone());
                }
            }
        }
    }
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

/// The ids of containers, in full.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{At, Found, LATE_NS, LEFT_BEHIND, Looker, Pod, Wanted, container_link, pod_directory};
    use crate::Root;
    use crate::worker::Worker;
    use proptest::prelude::*;
    use std::sync::Arc;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    const HOMES: &str = "home/*/.local/share/*/containers";
    const ROOTS: &str = "var/lib/*/containers";

    fn id() -> String {
        "0123456789abcdef".repeat(4)
    }

    /// What is wanted of the files of some users.
    fn of(users: &[u32]) -> Wanted {
        Wanted { foreign: users.iter().map(|user| (*user, id())).collect(), counts: true, ..Wanted::default() }
    }

    /// A thread that hangs at a user's files until the sender is dropped, and knows his container's name then.
    fn hanging(user: u32) -> (Sender<()>, At, Worker<Wanted, Found>) {
        let ((back, waits), at) = (channel::<()>(), At::default());
        let place = Arc::clone(&at);
        let hangs = move |_: Wanted| {
            *place.lock().expect("no panic") = Some(user);
            let _ = waits.recv();
            Found { users: [((user, id()), "web".to_owned())].into(), ..Found::default() }
        };
        let mut worker = Worker::spawn("test", hangs).expect("started");
        assert!(worker.submit(Wanted::default()));
        while at.lock().expect("no panic").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        (back, at, worker)
    }

    /// What comes once no thread is stuck.
    fn rescued(looker: &mut Looker) -> Vec<Found> {
        let mut late = Vec::new();
        while !looker.stuck.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
            late.extend(looker.late(LATE_NS));
        }
        late
    }

    #[test]
    fn a_look_that_does_not_come_back_is_left_behind_with_its_user() {
        let mut looker = Looker::default();
        let (back, at, worker) = hanging(7);
        (looker.worker, looker.at) = (Some(worker), at);
        assert!(looker.late(LATE_NS - 1).is_empty() && looker.is_busy());
        assert!(looker.late(LATE_NS).is_empty() && !looker.is_busy());
        assert_eq!(looker.silent(false).collect::<Vec<_>>(), [(HOMES, 1)]);
        let root = Arc::new(Root::live().expect("this machine"));
        assert!(looker.look(&root, LATE_NS, true, of(&[7])).is_none() && looker.worker.is_none());
        let found = looker.look(&root, LATE_NS, true, of(&[7, 54_321])).expect("another thread looks");
        assert_eq!(found.foreign, of(&[54_321]).foreign, "he is not asked, and not taken for asked");
        drop(back);
        let late = rescued(&mut looker);
        assert_eq!(late.iter().map(|found| found.users.len()).collect::<Vec<_>>(), [1], "what he says late counts");
        assert_eq!(looker.silent(false).count(), 0);
        assert!(!looker.hung().contains(&7), "he is asked again");
    }

    #[test]
    fn while_as_many_hang_as_may_nobody_looks() {
        let mut looker = Looker::default();
        let mut backs = Vec::new();
        for user in 0..LEFT_BEHIND as u32 {
            let (back, at, worker) = hanging(user);
            looker.stuck.push((at, worker));
            backs.push(back);
        }
        let root = Arc::new(Root::live().expect("this machine"));
        for _ in 0..2 {
            assert!(looker.late(LATE_NS).is_empty());
            assert!(looker.look(&root, LATE_NS, true, of(&[54_321])).is_none() && looker.worker.is_none());
            assert_eq!(looker.silent(false).collect::<Vec<_>>(), [(HOMES, LEFT_BEHIND as u64), (ROOTS, 1)]);
        }
        drop(backs);
        assert_eq!(rescued(&mut looker).len(), LEFT_BEHIND);
        assert!(looker.look(&root, LATE_NS, true, of(&[54_321])).is_some());
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
