//! PCI devices of the classes that a load test meets: network, storage, display and accelerators.

use crate::files::{Files, note, put};
use crate::parse::{hex, text};
use topotop_model::tables::topology::PciDevices;
use topotop_model::{Reason, Section, Slots};

const DEVICES: &str = "sys/bus/pci/devices";

/// Base classes (the class code's upper byte): storage, network, display, co-processor, processing accelerator.
const CLASSES: [u64; 5] = [0x01, 0x02, 0x03, 0x0b, 0x12];

/// Fills the rows.
pub(super) fn read(files: &mut Files<'_>, section: &mut Section<PciDevices>, slots: &mut Slots<String>) {
    slots.begin();
    match files.root.names(DEVICES) {
        Ok(names) => {
            for address in names.iter().filter(|name| is_address(name)) {
                device(files, section, slots, address);
            }
        }
        Err(reason) => note(&mut section.gaps, DEVICES, reason),
    }
    slots.finish(section.data_mut(), |_, _| {});
}

/// True for `0000:3b:00.0`; domains of virtual bridges have up to eight digits.
pub(crate) fn is_address(name: &str) -> bool {
    let hexes = |part: &str, len: std::ops::RangeInclusive<usize>| {
        len.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let mut parts = name.splitn(3, ':');
    let (Some(domain), Some(bus), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return false };
    let Some((device, function)) = rest.split_once('.') else { return false };
    hexes(domain, 4..=8) && hexes(bus, 2..=2) && hexes(device, 2..=2) && hexes(function, 1..=1)
}

fn device(files: &mut Files<'_>, section: &mut Section<PciDevices>, slots: &mut Slots<String>, address: &str) {
    let dir = format!("{DEVICES}/{address}");
    let gaps = &mut section.gaps;
    let class = files.parsed(&format!("{dir}/class"), "sys/bus/pci/devices/*/class", gaps, prefixed);
    let Some(class) = class.filter(|class| CLASSES.contains(&(class >> 16))) else { return };
    let node = files.id(&format!("{dir}/numa_node"), "sys/bus/pci/devices/*/numa_node", gaps);
    let pattern = "sys/bus/pci/devices/*/local_cpulist";
    let cpus = files.set(&format!("{dir}/local_cpulist"), &format!("{dir}/local_cpus"), pattern, gaps);
    let ids = [files.bytes(&format!("{dir}/vendor")).ok().and_then(prefixed), {
        files.bytes(&format!("{dir}/device")).ok().and_then(prefixed)
    }];
    let driver = match files.root.link(format!("{dir}/driver")) {
        Ok(link) => link.file_name().map(|name| text(name.as_encoded_bytes()).into_owned()),
        // No driver is bound.
        Err(Reason::NotFound) => Some(String::new()),
        Err(_) => None,
    };
    let name = name(files, &dir);
    let (slot, _) = slots.slot(section.data_mut(), &address.to_owned());
    let table = section.data_mut();
    table.address.set(slot, address);
    table.class.set(slot, class);
    put(&mut table.node, slot, node);
    match cpus {
        Some(set) => table.local_cpus.set(slot, set),
        None => table.local_cpus.clear(slot),
    }
    match driver {
        Some(driver) => table.driver.set(slot, &driver),
        None => table.driver.clear(slot),
    }
    table.name.set(slot, &name);
    match ids {
        [Some(vendor), Some(device)] => table.id.set(slot, &format!("{vendor:04x}:{device:04x}")),
        _ => table.id.clear(slot),
    }
}

/// The name of the interface, disk or card behind a device; empty when it has none. Files of one device that are not
/// there are no gap: each kind of device has others.
fn name(files: &Files<'_>, dir: &str) -> String {
    let first = |path: String| files.root.names(path).ok().and_then(|names| names.into_iter().next());
    let class = |dir: &str| ["net", "block", "nvme"].iter().find_map(|class| first(format!("{dir}/{class}")));
    let found = class(dir).or_else(|| {
        let children = files.root.names(dir).ok()?;
        let virtio = children.iter().find(|name| name.starts_with("virtio"));
        if let Some(virtio) = virtio {
            return class(&format!("{dir}/{virtio}"));
        }
        let cards = children.iter().any(|name| name == "drm").then(|| files.root.names(format!("{dir}/drm")).ok());
        cards.flatten()?.into_iter().find(|name| name.starts_with("card"))
    });
    found.map(|name| text(name.as_bytes()).into_owned()).unwrap_or_default()
}

/// `0x020000`.
fn prefixed(bytes: &[u8]) -> Option<u64> {
    hex(bytes.strip_prefix(b"0x")?)
}

#[cfg(test)]
mod tests {
    use super::{is_address, prefixed};
    use proptest::prelude::*;

    #[test]
    fn addresses_and_classes() {
        assert!(is_address("0000:3b:00.0"));
        assert!(is_address("10000:e1:00.0"));
        assert!(!is_address("0000:3b:00"));
        assert!(!is_address("../../../etc"));
        assert_eq!(prefixed(b"0x020000"), Some(0x02_0000));
        assert_eq!(prefixed(b"020000"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, name in ".*") {
            let _ = (prefixed(&bytes), is_address(&name));
        }
    }
}
