//! What containers of pods request, as kubelet has allocated it: `/var/lib/kubelet/allocated_pods_state`, which kubelet
//! keeps since Kubernetes 1.33 (pkg/kubelet/allocation).

use crate::Root;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use topotop_model::tables::cgroups::Cgroups;
use topotop_model::{Reason, Table};

/// The file.
pub(super) const FILE: &str = "var/lib/kubelet/allocated_pods_state";
/// The most bytes of it: later versions have whole pods in it.
const MOST_BYTES: usize = 16 << 20;
/// Between two looks at it.
const LOOK_NS: u64 = 10_000_000_000;

/// Requests by pod uid.
#[derive(Debug, Default)]
pub(super) struct PodRequests {
    looked_ns: Option<u64>,
    /// Hash of the file as it was last parsed.
    parsed: u64,
    pods: HashMap<String, Pod>,
    /// Why the file could not be read at the last look, where it is there.
    pub(super) failed: Option<Reason>,
}

/// Quantities by resource: `cpu`, `memory`.
type Quantities = HashMap<String, serde_json::Value>;

#[derive(Debug, Default, Deserialize, Serialize)]
struct Pod {
    #[serde(rename = "ContainerResources", default)]
    containers: HashMap<String, Resources>,
    #[serde(rename = "PodLevelResources", default)]
    whole: Option<Resources>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct Resources {
    #[serde(default)]
    requests: Quantities,
}

#[derive(Deserialize)]
struct Checkpoint {
    data: String,
}

#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    entries: HashMap<String, Pod>,
}

/// Millicores and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Request {
    cpu_milli: Option<u64>,
    memory_bytes: Option<u64>,
}

impl PodRequests {
    /// Fills in requests of pods and containers.
    pub(super) fn take(&mut self, root: &Root, now_ns: u64, table: &mut Cgroups) {
        let of_pods: Vec<usize> = table.rows().iter().filter(|slot| table.pod_uid.get(*slot).is_some()).collect();
        if of_pods.is_empty() {
            return;
        }
        if crate::cgroups::due(self.looked_ns, now_ns, LOOK_NS) {
            self.looked_ns = Some(now_ns);
            self.failed = self.read(root).err();
        }
        let mut sums: HashMap<String, Request> = HashMap::new();
        let is_container = |table: &Cgroups, slot: usize| table.container_id.get(slot).is_some();
        let (inner, outer): (Vec<usize>, Vec<usize>) = of_pods.into_iter().partition(|slot| is_container(table, *slot));
        for slot in inner {
            let uid = table.pod_uid.or_empty(slot);
            let name = table.container_name.or_empty(slot);
            let container = self.pods.get(&*uid).and_then(|pod| pod.containers.get(&*name));
            let request = container.map(|resources| request(&resources.requests)).unwrap_or_default();
            put(table, slot, request);
            let sum = sums.entry(uid.to_string()).or_default();
            sum.cpu_milli = added(sum.cpu_milli, request.cpu_milli);
            sum.memory_bytes = added(sum.memory_bytes, request.memory_bytes);
        }
        for slot in outer {
            let uid = table.pod_uid.or_empty(slot);
            let whole = self.pods.get(&*uid).and_then(|pod| pod.whole.as_ref());
            // Init containers that have ended request nothing: only running containers are summed up.
            let request = whole.map(|resources| request(&resources.requests));
            put(table, slot, request.or_else(|| sums.get(&*uid).copied()).unwrap_or_default());
        }
    }

    /// Reads the file, and parses it where it has changed: it may have megabytes.
    fn read(&mut self, root: &Root) -> Result<(), Reason> {
        let mut text = Vec::new();
        let read = root.local().and_then(|top| {
            top.read_start(FILE, &mut text, MOST_BYTES)?;
            Ok(top)
        });
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        if read.is_ok() && hasher.finish() == self.parsed {
            return self.failed.map_or(Ok(()), Err);
        }
        self.parsed = hasher.finish();
        self.pods.clear();
        match read {
            Err(Reason::NotFound) => Ok(()),
            Err(reason) => Err(reason),
            Ok(top) => {
                self.pods = parse(&text).ok_or(Reason::Malformed)?;
                top.keep(FILE, || file(&self.pods));
                Ok(())
            }
        }
    }
}

fn added(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
        (one, other) => one.or(other),
    }
}

fn put(table: &mut Cgroups, slot: usize, request: Request) {
    table.cpu_request_milli.set_or_clear(slot, request.cpu_milli);
    table.memory_request_bytes.set_or_clear(slot, request.memory_bytes);
}

fn parse(text: &[u8]) -> Option<HashMap<String, Pod>> {
    let checkpoint: Checkpoint = serde_json::from_slice(text).ok()?;
    let data: Data = serde_json::from_str(&checkpoint.data).ok()?;
    Some(data.entries)
}

/// What a capture has of the file: not whole pods, which have an environment with passwords in it.
fn file(pods: &HashMap<String, Pod>) -> Vec<u8> {
    let data = serde_json::json!({ "entries": pods }).to_string();
    serde_json::json!({ "data": data }).to_string().into_bytes()
}

fn request(quantities: &Quantities) -> Request {
    let of = |name: &str| quantities.get(name).and_then(|value| quantity(value.as_str()?));
    let whole = |value: f64| (value.is_finite() && (0.0..1e18).contains(&value)).then_some(value.round() as u64);
    Request { cpu_milli: of("cpu").and_then(|cores| whole(cores * 1000.0)), memory_bytes: of("memory").and_then(whole) }
}

/// A quantity of Kubernetes: `500m`, `128Mi`, `1e3`, `0.5`.
fn quantity(text: &str) -> Option<f64> {
    let at = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(at)?;
    let times = match suffix {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024_f64.powi(2),
        "Gi" => 1024_f64.powi(3),
        "Ti" => 1024_f64.powi(4),
        "Pi" => 1024_f64.powi(5),
        "Ei" => 1024_f64.powi(6),
        exponent => 10_f64.powi(exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    Some(number.parse::<f64>().ok()? * times)
}

#[cfg(test)]
mod tests {
    use super::{FILE, PodRequests, quantity};
    use crate::Root;
    use crate::testing::put;
    use proptest::prelude::*;
    use topotop_model::tables::cgroups::Cgroups;
    use topotop_model::{Reason, Table as _};

    const UID: &str = "8a1c0000-1111-2222-3333-444455556666";

    fn filled(text: &str) -> (Vec<[Option<u64>; 2]>, Option<Reason>) {
        let dir = tempfile::tempdir().expect("a directory");
        put(dir.path(), FILE, text);
        let mut table = Cgroups::default();
        for container in ["", "broker", "side-car"] {
            let slot = table.insert();
            table.pod_uid.set(slot, UID);
            if !container.is_empty() {
                table.container_id.set(slot, &"ab".repeat(32));
                table.container_name.set(slot, container);
            }
        }
        let root = Root::at(dir.path()).expect("a root");
        let mut requests = PodRequests::default();
        requests.take(&root, 1, &mut table);
        let values = |slot| [table.cpu_request_milli.value(slot), table.memory_request_bytes.value(slot)];
        (table.rows().iter().map(values).collect(), requests.failed)
    }

    fn state(pod: &str) -> String {
        let data = format!(r#"{{"entries":{{"{UID}":{pod}}}}}"#);
        serde_json::json!({ "data": data, "checksum": 1_178_570_812u64 }).to_string()
    }

    #[test]
    fn requests_are_those_that_kubelet_allocated() {
        let containers = r#""ContainerResources":{"broker":{"requests":{"cpu":"1500m","memory":"2Gi"},"limits":{"cpu":"2"}},
            "side-car":{"requests":{"cpu":"0.1"}},"before":{"requests":{"cpu":"4"}}}"#;
        let (rows, failed) = filled(&state(&format!("{{{containers}}}")));
        let gib = 1u64 << 30;
        assert_eq!(rows, [[Some(1600), Some(2 * gib)], [Some(1500), Some(2 * gib)], [Some(100), None]]);
        assert_eq!(failed, None);
        let whole = format!(r#"{{{containers},"PodLevelResources":{{"requests":{{"cpu":"3","memory":"4Gi"}}}}}}"#);
        assert_eq!(filled(&state(&whole)).0[0], [Some(3000), Some(4 * gib)]);
    }

    #[test]
    fn what_is_no_state_is_a_gap_and_no_request() {
        for text in ["", "{}", r#"{"data":"{"}"#, r#"{"data":7}"#, &"[".repeat(10_000)] {
            let (rows, failed) = filled(text);
            assert!(rows.iter().flatten().all(Option::is_none) && failed == Some(Reason::Malformed), "{text:.20}");
        }
        let odd = state(r#"{"ContainerResources":{"broker":{"requests":{"cpu":"-1","memory":"1e400","x":{}}}}}"#);
        assert!(filled(&odd).0.iter().flatten().all(Option::is_none));
    }

    #[test]
    fn quantities_have_suffixes() {
        let all = [("500m", 0.5), ("128Mi", 134_217_728.0), ("1e3", 1000.0), ("2E", 2e18), ("1E3", 1000.0), ("7", 7.0)];
        assert!(all.into_iter().all(|(text, value)| quantity(text) == Some(value)));
        assert!(["", "m", "1x", "1.2.3", "e3"].into_iter().all(|text| quantity(text).is_none()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,20}") {
            let _ = quantity(&text);
        }
    }
}
