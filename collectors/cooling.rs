//! What cools CPUs at the cost of their speed, from `/sys/class/thermal` (Documentation/driver-api/thermal/sysfs-api.rst).

use crate::files::{Files, note, numbered_entries};
use crate::parse::{number, signed, text};
use crate::{Collector, Cx};
use topotop_model::{Draft, Gaps, Reason, Slots, State};

const ROOT: &str = "sys/class/thermal";
/// Devices at most: ACPI makes one for each CPU.
const MOST: usize = 4096;
/// How long a machine without any is left alone, in ns.
const REST_NS: u64 = 60_000_000_000;
/// Beginnings of the types of devices that slow CPUs down or keep them idle.
const KINDS: [&str; 6] = ["Processor", "intel_powerclamp", "cpufreq-", "thermal-cpufreq-", "idle-", "thermal-idle-"];

/// What does not change of a device.
#[derive(Debug)]
struct Device {
    id: u32,
    kind: String,
    most: Option<u64>,
    /// The CPU that it belongs to.
    cpu: Option<u32>,
}

/// Reads cooling devices of CPUs.
#[derive(Debug, Default)]
pub(crate) struct CoolingCollector {
    devices: Vec<Device>,
    /// When to look for devices again.
    due_ns: u64,
    slots: Slots<u32>,
}

impl Collector for CoolingCollector {
    fn name(&self) -> &'static str {
        "cooling"
    }

    fn period_ns(&self) -> u64 {
        2_000_000_000
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let look = cx.now_ns >= self.due_ns || cx.demand.complete;
        if !look && self.devices.is_empty() {
            return;
        }
        let section = &mut draft.cooling_devices;
        section.begin(cx.now_ns);
        let now_ns = cx.now_ns;
        let mut files = Files::new(cx);
        if look {
            self.due_ns = now_ns.saturating_add(REST_NS);
            self.devices = find(&mut files, &mut section.gaps);
        }
        if self.devices.is_empty() {
            section.state = State::Missing;
        }
        self.slots.begin();
        for device in &self.devices {
            let state = match files.bytes(&format!("{ROOT}/cooling_device{}/cur_state", device.id)) {
                // Idle injection that is off answers -1.
                Ok(bytes) => signed(bytes).map(|state| u64::try_from(state).unwrap_or(0)),
                Err(reason) => {
                    note(&mut section.gaps, "sys/class/thermal/cooling_device*/cur_state", reason);
                    None
                }
            };
            let table = section.data_mut();
            let (slot, _) = self.slots.slot(table, &device.id);
            table.name.set(slot, &format!("cooling_device{}", device.id));
            table.kind.set(slot, &device.kind);
            table.state.set_or_clear(slot, state);
            table.max_state.set_or_clear(slot, device.most);
            table.cpu.set_or_clear(slot, device.cpu.map(u64::from));
        }
        self.slots.finish(section.data_mut(), |_, _| {});
    }
}

/// Those that act on CPUs.
fn find(files: &mut Files<'_>, gaps: &mut Gaps) -> Vec<Device> {
    let ids = match numbered_entries(files.root, ROOT, "cooling_device") {
        Ok(ids) => ids,
        Err(reason) => {
            if !matches!(reason, Reason::NotFound | Reason::Vanished) {
                gaps.add("sys/class/thermal/cooling_device*", reason, "");
            }
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for id in ids.into_iter().take(MOST) {
        let path = format!("{ROOT}/cooling_device{id}");
        let kind = files.bytes(&format!("{path}/type")).map(|bytes| text(bytes).into_owned());
        let Some(kind) = kind.ok().filter(|kind| KINDS.iter().any(|known| kind.starts_with(known))) else { continue };
        let most = files.bytes(&format!("{path}/max_state")).ok().and_then(number);
        let cpu = cpu(files, &path, &kind);
        found.push(Device { id, kind, most, cpu });
    }
    found
}

/// The CPU that a device belongs to: cpufreq and idle injection name it, ACPI's lead to it. Kernels before Linux 5.12 number
/// their devices in the order in which they came (`thermal-cpufreq-0`).
fn cpu(files: &Files<'_>, path: &str, kind: &str) -> Option<u32> {
    if let Some(number) = ["cpufreq-cpu", "idle-cpu"].iter().find_map(|front| kind.strip_prefix(front)) {
        return number.parse().ok();
    }
    if kind != "Processor" {
        return None;
    }
    let node = files.root.link(format!("{path}/device/physical_node")).ok()?;
    node.file_name()?.to_str()?.strip_prefix("cpu")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::CoolingCollector;
    use crate::live::{Captured, Live};
    use crate::testing::put;
    use crate::{Collector, Cx, Demand, Root};
    use std::sync::Arc;
    use topotop_model::{Draft, State, Table};

    #[test]
    fn what_slows_cpus_is_read_and_fans_are_not() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (id, kind, state) in
            [(0, "Fan", "1"), (1, "Processor", "3"), (2, "intel_powerclamp", "-1"), (3, "cpufreq-cpu4", "")]
        {
            for (file, text) in [("type", kind), ("cur_state", state), ("max_state", "10")] {
                put(dir.path(), format!("sys/class/thermal/cooling_device{id}/{file}"), format!("{text}\n"));
            }
        }
        let acpi = dir.path().join("sys/devices/LNXCPU:01");
        std::fs::create_dir_all(&acpi).expect("made");
        std::os::unix::fs::symlink("../system/cpu/cpu5", acpi.join("physical_node")).expect("linked");
        let device = dir.path().join("sys/class/thermal/cooling_device1/device");
        std::os::unix::fs::symlink("../../../devices/LNXCPU:01", device).expect("linked");
        let root = Arc::new(Root::at(dir.path()).expect("opened"));
        let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&root) });
        let (mut draft, mut buf, demand) = (Draft::default(), Vec::new(), Demand { complete: true, process: None });
        let mut cx = Cx { root: &root, live: &live, now_ns: 1, demand: &demand, buf: &mut buf };
        CoolingCollector::default().collect(&mut cx, &mut draft);
        let table = draft.cooling_devices.data();
        let rows = table.rows().iter();
        let rows: Vec<_> = rows
            .map(|slot| {
                let figures = (table.state.value(slot), table.max_state.value(slot), table.cpu.value(slot));
                (table.kind.or_empty(slot).to_string(), figures)
            })
            .collect();
        let row = |kind: &str, state, cpu| (kind.to_owned(), (state, Some(10), cpu));
        let clamp = row("intel_powerclamp", Some(0), None);
        assert_eq!(rows, [row("Processor", Some(3), Some(5)), clamp, row("cpufreq-cpu4", None, Some(4))]);
        std::fs::remove_dir_all(dir.path().join("sys")).expect("removed");
        let mut draft = Draft::default();
        let mut cx = Cx { root: &root, live: &live, now_ns: 2, demand: &demand, buf: &mut buf };
        CoolingCollector::default().collect(&mut cx, &mut draft);
        assert_eq!((draft.cooling_devices.state, draft.cooling_devices.gaps.is_empty()), (State::Missing, true));
    }
}
