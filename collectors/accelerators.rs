//! GPUs and other accelerators: what sysfs says of them, and what processes that hold one open use of it.

mod clients;

use crate::files::{Files, note, put};
use crate::parse::{lines, number, text, trim};
use crate::topology::is_address;
use crate::{Collector, Cx};
use std::collections::HashMap;
use topotop_model::{Draft, Gaps, Known, Reason, Slots, State};

/// Devices at most.
const DEVICES: usize = 256;
/// How long a machine without one is left alone, in ns.
const REST_NS: u64 = 60_000_000_000;
const NVIDIA: &str = "proc/driver/nvidia/gpus";
const GAP: &str = "sys/class/drm/*/device";

/// A device as it was found.
#[derive(Debug, Default)]
struct Device {
    name: String,
    address: String,
    driver: String,
    id: Option<String>,
    node: Known<u64>,
    busy_percent: Option<u64>,
    busy_ns: Option<u64>,
    used: Option<u64>,
    total: Option<u64>,
    /// What processes open.
    paths: Vec<String>,
}

/// Reads `/sys/class/drm`, `/sys/class/accel` and what the driver of NVIDIA says.
#[derive(Debug, Default)]
pub(crate) struct AcceleratorCollector {
    /// When to look again whether there is one.
    due_ns: u64,
    slots: Slots<String>,
    clients: clients::Clients,
}

impl Collector for AcceleratorCollector {
    fn name(&self) -> &'static str {
        "accelerators"
    }

    fn period_ns(&self) -> u64 {
        2_000_000_000
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if cx.now_ns < self.due_ns {
            return;
        }
        let section = &mut draft.accelerators;
        section.begin(cx.now_ns);
        let devices = devices(&mut Files::new(cx), &mut section.gaps);
        self.due_ns = if devices.is_empty() { cx.now_ns.saturating_add(REST_NS) } else { 0 };
        section.state = if devices.is_empty() { State::Missing } else { section.state };
        self.slots.begin();
        let table = section.data_mut();
        for device in &devices {
            let (slot, _) = self.slots.slot(table, &device.name);
            table.name.set(slot, &device.name);
            table.address.set(slot, &device.address);
            table.driver.set(slot, &device.driver);
            table.id.set(slot, device.id.as_deref().unwrap_or_default());
            put(&mut table.node, slot, device.node);
            table.busy_percent.set_or_clear(slot, device.busy_percent);
            table.busy_ns.set_or_clear(slot, device.busy_ns);
            table.memory_used_bytes.set_or_clear(slot, device.used);
            table.memory_total_bytes.set_or_clear(slot, device.total);
        }
        self.slots.finish(table, |_, _| {});
        let by_path = |device: &Device| device.paths.iter().map(|path| (path.clone(), device.name.clone())).collect();
        let mut names: HashMap<String, String> =
            devices.iter().flat_map(|device| -> Vec<_> { by_path(device) }).collect();
        let addressed = devices.iter().filter(|device| !device.address.is_empty());
        names.extend(addressed.map(|device| (device.address.clone(), device.name.clone())));
        self.clients.collect(cx, &names, draft);
    }
}

fn devices(files: &mut Files<'_>, gaps: &mut Gaps) -> Vec<Device> {
    let mut all = Vec::new();
    for (class, prefix) in [("drm", "card"), ("accel", "accel")] {
        let dir = format!("sys/class/{class}");
        let names = files.root.names(&dir).unwrap_or_else(|reason| {
            note(gaps, &dir, reason);
            Vec::new()
        });
        let own = |name: &&String| name.strip_prefix(prefix).is_some_and(|id| id.parse::<u16>().is_ok());
        for name in names.iter().filter(own).take(DEVICES) {
            all.extend(device(files, &format!("{dir}/{name}/device"), class, name, gaps));
        }
    }
    for address in files.root.names(NVIDIA).unwrap_or_default().iter().filter(|name| is_address(name)).take(DEVICES) {
        nvidia(files, address, &mut all, gaps);
    }
    all
}

/// What sysfs says; none of a display that cannot render, such as that of a management controller.
fn device(files: &mut Files<'_>, dir: &str, class: &str, name: &str, gaps: &mut Gaps) -> Option<Device> {
    let mut paths = vec![format!("/dev/accel/{name}")];
    if class == "drm" {
        let nodes = files.root.names(format!("{dir}/drm")).ok()?;
        nodes.iter().find(|node| node.starts_with("renderD"))?;
        paths = nodes.iter().map(|node| format!("/dev/dri/{node}")).collect();
    }
    let last = |files: &Files<'_>, path: &str| {
        let link = files.root.link(path).ok()?;
        Some(text(link.file_name()?.as_encoded_bytes()).into_owned())
    };
    let mut hex = |file: &str| {
        let bytes = files.bytes(&format!("{dir}/{file}")).ok()?.strip_prefix(b"0x")?;
        crate::parse::hex(bytes).filter(|id| *id <= 0xffff)
    };
    let id = hex("vendor").zip(hex("device")).map(|(vendor, device)| format!("{vendor:04x}:{device:04x}"));
    let mut figure = |file: &str| files.number(&format!("{dir}/{file}"), GAP, gaps);
    let busy_percent = figure("gpu_busy_percent").filter(|percent| *percent <= 100);
    let busy_ns = figure("npu_busy_time_us").and_then(|micros| micros.checked_mul(1000));
    let (used, total) = (figure("mem_info_vram_used"), figure("mem_info_vram_total"));
    let node = files.id(&format!("{dir}/numa_node"), GAP, gaps);
    let address = last(files, dir).filter(|name| is_address(name)).unwrap_or_default();
    let driver = last(files, &format!("{dir}/driver")).unwrap_or_default();
    Some(Device { name: name.to_owned(), address, driver, id, node, busy_percent, busy_ns, used, total, paths })
}

/// What the driver of NVIDIA says: no use, which NVML alone has.
fn nvidia(files: &mut Files<'_>, address: &str, all: &mut Vec<Device>, gaps: &mut Gaps) {
    let Ok(bytes) = files.bytes(&format!("{NVIDIA}/{address}/information")) else { return };
    let minor = lines(bytes).find_map(|line| line.strip_prefix(b"Device Minor:")).and_then(|rest| number(trim(rest)));
    gaps.add("proc/driver/nvidia/gpus/*", Reason::NotSupported, "nvidia-smi (NVML)");
    let path = minor.map(|minor| format!("/dev/nvidia{minor}"));
    if let Some(known) = all.iter_mut().find(|device| device.address == address) {
        known.paths.extend(path);
        return;
    }
    let pattern = "sys/bus/pci/devices/*/numa_node";
    let node = files.id(&format!("sys/bus/pci/devices/{address}/numa_node"), pattern, gaps);
    let name = path.as_deref().and_then(|path| path.strip_prefix("/dev/")).unwrap_or(address).to_owned();
    let (address, driver) = (address.to_owned(), "nvidia".to_owned());
    all.push(Device { name, address, driver, node, paths: path.into_iter().collect(), ..Device::default() });
}

#[cfg(test)]
mod tests;
