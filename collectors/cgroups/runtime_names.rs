//! Names of containers from the state files of their runtimes: plain files, never a socket.

use crate::Root;
use crate::root::Local;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;
use topotop_model::Known;

/// The most bytes of one file: a container's configuration carries its environment.
pub(super) const MOST_BYTES: usize = 4 << 20;
/// The most namespaces of containerd that are searched.
const NAMESPACES: usize = 16;
/// The most ids that are looked up at a time: each costs some twenty paths that are not there.
const MOST_IDS: usize = 1024;

/// Names that a runtime has for a container; unknown ones are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub container: String,
    pub pod: String,
    pub namespace: String,
}

/// What was read in one look: groups that share an id, and ids that share a list, do not have it read again.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    known: HashMap<String, Option<Names>>,
    stored: Option<HashMap<String, String>>,
}

impl Lookup {
    /// Names of a container by its id, from docker, podman and CRI-O (containers/storage) or containerd. Missing
    /// where so many ids were looked up that the others wait for the next look.
    pub(super) fn of(&mut self, root: &Root, top: &Local<'_>, id: &str) -> Known<Names> {
        if let Some(known) = self.known.get(id) {
            return known.clone().map_or(Known::None, Known::Value);
        }
        if self.known.len() >= MOST_IDS {
            return Known::Missing;
        }
        let names = docker(top, id).or_else(|| self.storage(top, id)).or_else(|| bundle(root, top, id));
        self.known.insert(id.to_owned(), names.clone());
        names.map_or(Known::None, Known::Value)
    }

    fn storage(&mut self, top: &Local<'_>, id: &str) -> Option<Names> {
        of_name(self.stored.get_or_insert_with(|| stored(top)).get(id)?)
    }
}

#[derive(Deserialize)]
struct DockerConfig {
    #[serde(rename = "Name")]
    name: String,
}

fn docker(top: &Local<'_>, id: &str) -> Option<Names> {
    let path = Path::new("var/lib/docker/containers").join(id).join("config.v2.json");
    let name = docker_name(&text(top, &path)?)?;
    top.keep(&path, || docker_file(&name));
    of_name(&name)
}

/// What a capture has of docker's `config.v2.json`: not the environment, which has passwords in it.
fn docker_file(name: &str) -> Vec<u8> {
    serde_json::json!({ "Name": format!("/{name}") }).to_string().into_bytes()
}

/// The name in docker's `config.v2.json`.
pub(super) fn docker_name(text: &[u8]) -> Option<String> {
    let config: DockerConfig = serde_json::from_slice(text).ok()?;
    Some(config.name.trim_start_matches('/').to_owned())
}

#[derive(Deserialize)]
struct Stored {
    id: String,
    #[serde(default)]
    names: Vec<String>,
}

/// The first name of each container by its id.
fn stored(top: &Local<'_>) -> HashMap<String, String> {
    let lists = ["overlay", "btrfs", "vfs", "zfs"].iter().filter_map(|driver| {
        let path = format!("var/lib/containers/storage/{driver}-containers/containers.json");
        let stored = stored_names(&text(top, Path::new(&path))?);
        top.keep(&path, || stored_file(&stored));
        Some(stored)
    });
    lists.flatten().collect()
}

/// What a capture has of a `containers.json`.
fn stored_file(stored: &[(String, String)]) -> Vec<u8> {
    let list = stored.iter().map(|(id, name)| serde_json::json!({ "id": id, "names": [name] }));
    serde_json::Value::Array(list.collect()).to_string().into_bytes()
}

/// The first name of each container in a `containers.json` of containers/storage.
pub(super) fn stored_names(text: &[u8]) -> Vec<(String, String)> {
    let list: Vec<Stored> = serde_json::from_slice(text).unwrap_or_default();
    list.into_iter().filter_map(|stored| Some((stored.id, stored.names.into_iter().next()?))).collect()
}

/// Annotations with the names of a container, its pod and its namespace.
const CONTAINER: &[&str] = &["io.kubernetes.cri.container-name", "io.kubernetes.container.name", "nerdctl/name"];
const POD: &[&str] = &["io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"];
const NAMESPACE: &[&str] = &["io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"];
const KEYS: [&[&str]; 3] = [CONTAINER, POD, NAMESPACE];

#[derive(Deserialize)]
struct Bundle {
    #[serde(default)]
    annotations: HashMap<String, String>,
}

/// The OCI configuration that a runtime keeps while the container runs.
fn bundle(root: &Root, top: &Local<'_>, id: &str) -> Option<Names> {
    let tasks = Path::new("run/containerd/io.containerd.runtime.v2.task");
    let namespaces = root.names(tasks).unwrap_or_default();
    let of_containerd = namespaces.iter().take(NAMESPACES).map(|namespace| tasks.join(namespace).join(id));
    let of_crio = Path::new("run/containers/storage/overlay-containers").join(id).join("userdata");
    let (path, mut bundle) = of_containerd.chain([of_crio]).find_map(|directory| {
        let path = directory.join("config.json");
        // One that is longer than the bound does not parse.
        let bundle: Bundle = serde_json::from_slice(&text(top, &path)?).ok()?;
        Some((path, bundle))
    })?;
    // Not the environment, which has passwords in it, nor what else is noted.
    bundle.annotations.retain(|key, _| KEYS.iter().copied().flatten().any(|known| known == key));
    top.keep(&path, || serde_json::json!({ "annotations": bundle.annotations }).to_string().into_bytes());
    let first = |keys: &[&str]| {
        let value = keys.iter().find_map(|key| bundle.annotations.get(*key));
        value.filter(|value| is_name(value)).cloned().unwrap_or_default()
    };
    let names = Names { container: first(CONTAINER), pod: first(POD), namespace: first(NAMESPACE) };
    (names != Names::default()).then_some(names)
}

/// Reads a plain name, or kubelet's `k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT`.
fn of_name(name: &str) -> Option<Names> {
    if !is_name(name) {
        return None;
    }
    let parts: Vec<&str> = name.split('_').collect();
    if let ["k8s", container, pod, namespace, ..] = parts.as_slice() {
        let owned = |text: &str| text.to_owned();
        return Some(Names { container: owned(container), pod: owned(pod), namespace: owned(namespace) });
    }
    Some(Names { container: name.to_owned(), ..Names::default() })
}

/// The characters that runtimes allow in a name; anything else is refused.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=253).contains(&name.len()) && name.bytes().all(plain)
}

/// The beginning of a file.
fn text(top: &Local<'_>, path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    top.read_start(path, &mut text, MOST_BYTES).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{Lookup, MOST_IDS, Names};
    use crate::Root;
    use crate::testing::put;
    use topotop_model::Known;

    const ID: &str = "1d3d308a7d48a27814a68bf33a44acf4441c9c02463ca0bc1cdfdc8c0b4a8496";

    fn found(path: &str, text: &str) -> Option<Names> {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), path, text);
        let root = Root::at(dir.path()).unwrap();
        Lookup::default().of(&root, &root.local().unwrap(), ID).value()
    }

    fn named(container: &str, pod: &str, namespace: &str) -> Names {
        Names { container: container.into(), pod: pod.into(), namespace: namespace.into() }
    }

    #[test]
    fn every_runtime_keeps_its_names_elsewhere() {
        let docker = format!("var/lib/docker/containers/{ID}/config.v2.json");
        let label = r#"{"Config":{"Labels":{"a":"\"Name\":\"/x\""}},"Mounts":[{"Name":"data"}],"Name":"/mq-1"}"#;
        assert_eq!(found(&docker, label), Some(named("mq-1", "", "")));
        let long =
            format!(r#"{{"Config":{{"Env":["A={}"]}},"Name":"/k8s_broker_mq-0_shop_8a1c_2"}}"#, "x".repeat(1 << 17));
        assert_eq!(found(&docker, &long), Some(named("broker", "mq-0", "shop")));
        let stored = "var/lib/containers/storage/overlay-containers/containers.json";
        let podman =
            format!(r#"[{{"id":"{}","names":["other"]}},{{"id":"{ID}","names":["db"],"layer":"x"}}]"#, "0".repeat(64));
        assert_eq!(found(stored, &podman), Some(named("db", "", "")));
        let task = format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json");
        let cri = r#"{"ociVersion":"1.0","annotations":{"io.kubernetes.cri.container-name":"web",
            "io.kubernetes.cri.sandbox-name":"web-0","io.kubernetes.cri.sandbox-namespace":"shop"}}"#;
        assert_eq!(found(&task, cri), Some(named("web", "web-0", "shop")));
        let crio = format!("run/containers/storage/overlay-containers/{ID}/userdata/config.json");
        let pod = r#"{"annotations":{"io.kubernetes.container.name":"web","io.kubernetes.pod.name":"web-0"}}"#;
        assert_eq!(found(&crio, pod), Some(named("web", "web-0", "")));
    }

    /// Any user who may make control groups can make ten thousand that are called like containers.
    #[test]
    fn one_look_reads_a_list_once_and_ends() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path()).unwrap();
        let path = "var/lib/containers/storage/overlay-containers/containers.json";
        put(dir.path(), path, format!(r#"[{{"id":"{ID}","names":["db"]}}]"#));
        let top = root.local().unwrap();
        let mut lookup = Lookup::default();
        let ids: Vec<String> = (0..2 * MOST_IDS).map(|number| format!("{number:064x}")).collect();
        assert_eq!(lookup.of(&root, &top, &ids[0]), Known::None);
        std::fs::remove_file(dir.path().join(path)).unwrap();
        assert_eq!(lookup.of(&root, &top, ID), Known::Value(named("db", "", "")), "the list is not read again");
        let looked_up = ids.iter().filter(|id| !lookup.of(&root, &top, id).is_missing()).count();
        assert_eq!(looked_up, MOST_IDS - 1, "the others wait");
        assert!(!Lookup::default().of(&root, &top, &ids[MOST_IDS]).is_missing());
    }

    #[test]
    fn what_is_no_name_is_left_out() {
        let docker = format!("var/lib/docker/containers/{ID}/config.v2.json");
        let nested = "[".repeat(100_000);
        for text in [r#"{"Name":"/a\u001b[2J"}"#, r#"{"Name":""}"#, r#"{"Name":7}"#, r#"{"Name":"/cut"#, "", &nested] {
            assert_eq!(found(&docker, text), None, "{text:.30}");
        }
    }
}
