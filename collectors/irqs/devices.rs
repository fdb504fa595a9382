//! Which PCI function owns an interrupt: the `msi_irqs` directories, read again when the set of interrupts changes.

use crate::parse::number;
use crate::topology::is_address;
use crate::{Cx, Root};
use std::collections::HashMap;
use std::sync::Arc;
use topotop_model::tables::irqs::Irqs;
use topotop_model::{Gaps, Reason, Section, Table};

const DEVICES: &str = "sys/bus/pci/devices";
const PATTERN: &str = "sys/bus/pci/devices/*/msi_irqs";
/// Depth of bridges below a host bridge that is followed in a tree without bus links.
const MAX_DEPTH: usize = 16;
/// Devices to search.
const MAX_DEVICES: usize = 1 << 16;
/// Directories that are listed in a tree without bus links: links in it may lead in circles.
const MAX_LISTED: usize = 1 << 14;

/// Owner and rank of each interrupt.
#[derive(Debug, Default)]
pub(super) struct Devices {
    owners: HashMap<u32, (Arc<str>, u64)>,
    known_rows: Option<u64>,
    gaps: Gaps,
}

impl Devices {
    /// Fills `device` and `vector`.
    pub(super) fn update(&mut self, cx: &mut Cx<'_>, section: &mut Section<Irqs>) {
        let rows = fingerprint(section.data());
        if self.known_rows != Some(rows) || cx.demand.complete {
            self.known_rows = Some(rows);
            self.read(cx.root);
            self.write(section.data_mut());
        }
        for gap in &self.gaps {
            section.gaps.add_many(&gap.path, gap.reason, &gap.needs, gap.count);
        }
    }

    fn read(&mut self, root: &Root) {
        self.owners.clear();
        self.gaps.clear();
        let mut found = Vec::new();
        match root.names(DEVICES) {
            Ok(names) => found.extend(names.into_iter().map(|name| (format!("{DEVICES}/{name}"), name))),
            Err(Reason::NotFound) => below(root, "sys/devices", 0, &mut { MAX_LISTED }, &mut found),
            Err(reason) => self.gaps.add(DEVICES, reason, ""),
        }
        for (dir, address) in found.iter().filter(|(_, address)| is_address(address)).take(MAX_DEVICES) {
            self.device(root, dir, address);
        }
    }

    fn device(&mut self, root: &Root, dir: &str, address: &str) {
        let names = match root.list(format!("{dir}/msi_irqs")) {
            Ok(names) => names,
            Err(Reason::NotFound | Reason::Vanished) => return,
            Err(reason) => return self.gaps.add(PATTERN, reason, ""),
        };
        let ids = names.iter().filter_map(|name| u32::try_from(number(name.as_encoded_bytes())?).ok());
        let mut ids: Vec<u32> = ids.collect();
        ids.sort_unstable();
        let address: Arc<str> = address.into();
        for (rank, irq) in ids.into_iter().enumerate() {
            self.owners.insert(irq, (Arc::clone(&address), rank as u64));
        }
    }

    fn write(&self, table: &mut Irqs) {
        let slots: Vec<usize> = table.rows().iter().collect();
        for slot in slots {
            let irq = table.irq.id(slot).value();
            if let Some((device, rank)) = irq.and_then(|irq| self.owners.get(&irq)) {
                table.device.set(slot, device);
                table.vector.set(slot, *rank);
            } else {
                table.device.clear(slot);
                table.vector.clear(slot);
            }
        }
    }
}

/// Changes when an interrupt appears, disappears or changes its owner.
fn fingerprint(table: &Irqs) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::hash::DefaultHasher::new();
    for slot in table.rows().iter() {
        (table.rows().serial(slot), table.irq.raw(slot), table.name.get(slot)).hash(&mut hasher);
    }
    hasher.finish()
}

/// Collects the PCI functions below a directory of /sys/devices.
fn below(root: &Root, dir: &str, depth: usize, left: &mut usize, found: &mut Vec<(String, String)>) {
    let Some(rest) = left.checked_sub(1) else { return };
    *left = rest;
    let Ok(names) = root.names(dir) else { return };
    for name in names {
        let path = format!("{dir}/{name}");
        let function = is_address(&name);
        if function || name.starts_with("pci") || (depth == 0 && name == "platform") {
            if function && found.len() < MAX_DEVICES {
                found.push((path.clone(), name));
            }
            if depth < MAX_DEPTH {
                below(root, &path, depth + 1, left, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Root;

    #[test]
    fn links_in_circles_end() {
        let dir = tempfile::tempdir().expect("a folder");
        let function = "sys/devices/pci0000:00/0000:00:01.0";
        std::fs::create_dir_all(dir.path().join(function)).expect("made");
        for name in 0..10 {
            std::os::unix::fs::symlink(".", dir.path().join(format!("sys/devices/pci0000:00/pci{name}")))
                .expect("made");
        }
        let mut found = Vec::new();
        let mut left = 1000;
        super::below(&Root::at(dir.path()).expect("a root"), "sys/devices", 0, &mut left, &mut found);
        assert_eq!(left, 0);
        assert!(found.iter().any(|(path, _)| path == function));
    }
}
