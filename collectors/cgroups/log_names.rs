//! Names of pods and containers from the directories that kubelet and docker keep: plain files, never a socket.

use crate::Root;
use std::collections::HashMap;
use std::path::Path;
use topotop_model::tables::cgroups::Cgroups;
use topotop_model::{Table, Text};

/// Between two looks at the directories while a name is missing.
const LOOK_NS: u64 = 10_000_000_000;
/// The most names that are kept.
const MOST: usize = 1 << 14;

/// Names by pod uid and container id.
#[derive(Debug, Default)]
pub(super) struct LogNames {
    looked_ns: Option<u64>,
    pods: HashMap<String, Pod>,
    containers: HashMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pod {
    namespace: String,
    name: String,
}

impl LogNames {
    /// Fills in names of rows that have a pod or container but no name: of new ones at once, of others from time to
    /// time, since the directories come after the groups.
    pub(super) fn take(&mut self, root: &Root, now_ns: u64, table: &mut Cgroups, born: &[usize]) {
        let nameless = |table: &Cgroups, slot: usize| {
            let lacks = |known: &Text, name: &Text| known.get(slot).is_some() && name.get(slot).is_none();
            lacks(&table.pod_uid, &table.pod_name) || lacks(&table.container_id, &table.container_name)
        };
        let due = crate::cgroups::due(self.looked_ns, now_ns, LOOK_NS);
        let any = if due { table.rows().iter().any(|slot| nameless(table, slot)) } else { false };
        if any || born.iter().any(|&slot| nameless(table, slot)) {
            self.looked_ns = Some(now_ns);
            self.look(root);
            let slots: Vec<usize> = table.rows().iter().filter(|&slot| nameless(table, slot)).collect();
            for slot in slots {
                self.name(table, slot);
                from_docker(root, table, slot);
            }
        }
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

/// Takes a container's name from docker's own directory, if nothing else has one.
fn from_docker(root: &Root, table: &mut Cgroups, slot: usize) {
    let Some(id) = table.container_id.get(slot).filter(|id| is_id(id) && table.container_name.get(slot).is_none())
    else {
        return;
    };
    let mut text = Vec::new();
    let read = root.open(Path::new("var/lib/docker/containers").join(&**id).join("config.v2.json"));
    if read.and_then(|file| file.read_start(&mut text, 1 << 16)).is_ok()
        && let Some(name) = docker_name(&text)
    {
        table.container_name.set(slot, &name);
        table.name_source.set(slot, "runtime_dir");
    }
}

/// The one name with a slash before it; volumes and policies have theirs without.
fn docker_name(json: &[u8]) -> Option<String> {
    const KEY: &[u8] = b"\"Name\":\"/";
    let start = json.windows(KEY.len()).position(|window| window == KEY)? + KEY.len();
    let name = json.get(start..)?.split(|&byte| byte == b'"').next()?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let whole = json.len() > start + name.len() && !name.is_empty() && name.iter().all(plain);
    whole.then(|| topotop_model::text::from_bytes(name).into_owned())
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

fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{Pod, container_link, docker_name, pod_directory};
    use proptest::prelude::*;

    #[test]
    fn splits_the_names_that_kubelet_makes() {
        let id = "0123456789abcdef".repeat(4);
        let pod = Pod { namespace: "mq".to_owned(), name: "broker-0".to_owned() };
        assert_eq!(pod_directory("mq_broker-0_8a1c-77"), Some(("8a1c-77".to_owned(), pod)));
        assert_eq!(pod_directory("lost+found"), None);
        let link = format!("broker-0_mq_side-car-{id}.log");
        assert_eq!(container_link(&link), Some((id, "side-car".to_owned())));
        assert_eq!(container_link("broker-0_mq_side-car-12.log"), None);
        let json = br#"{"State":{},"Volumes":{"Name":"data"},"Name":"/mq-1","Driver":"overlay2"}"#;
        assert_eq!(docker_name(json).as_deref(), Some("mq-1"));
        let cut = json.windows(4).position(|window| window == b"mq-1").map_or(0, |at| at + 3);
        assert_eq!(docker_name(&json[..cut]), None, "cut within the name");
    }

    proptest! {
        #[test]
        fn no_text_panics(name: String) {
            pod_directory(&name);
            container_link(&name);
            docker_name(name.as_bytes());
        }
    }
}
