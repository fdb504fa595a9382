//! The place of an interface: the path of its directory in /sys/devices.

use crate::Root;
use crate::topology::is_address;
use topotop_model::Reason;

/// Interfaces that are taken at most.
pub(super) const MAX_NICS: usize = 1 << 14;
const CLASS: &str = "sys/class/net";
/// Depth that is searched in a tree without class links.
const MAX_DEPTH: usize = 24;
/// Directories that are searched in a tree without class links.
const MAX_DIRS: usize = 1 << 16;

/// An interface's name and directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its name.
    pub(super) name: String,
    /// Its directory, below the root.
    pub(super) dir: String,
}

/// The interfaces of /sys/class/net, or, in a tree that lacks it, those below /sys/devices.
pub(super) fn find(root: &Root) -> Result<Vec<Found>, Reason> {
    let mut found = Vec::new();
    match root.names(CLASS) {
        Ok(names) => {
            for name in names.into_iter().take(MAX_NICS) {
                let dir = format!("{CLASS}/{name}");
                // bonding_masters is a file among the interfaces.
                if root.list(&dir).is_ok() || root.link(&dir).is_ok() {
                    found.push(Found { name, dir });
                }
            }
            Ok(found)
        }
        Err(Reason::NotFound) if !root.is_live() => {
            let mut left = MAX_DIRS;
            search(root, "sys/devices", MAX_DEPTH, &mut left, &mut found);
            found.sort_by(|a, b| a.name.cmp(&b.name));
            found.dedup_by(|a, b| a.name == b.name);
            if found.is_empty() { Err(Reason::NotFound) } else { Ok(found) }
        }
        Err(reason) => Err(reason),
    }
}

fn search(root: &Root, dir: &str, depth: usize, left: &mut usize, found: &mut Vec<Found>) {
    let Ok(names) = root.names(dir) else { return };
    for name in names {
        let path = format!("{dir}/{name}");
        if root.link(&path).is_ok() {
            continue;
        }
        if name == "net" {
            let names = root.names(&path).unwrap_or_default();
            let nics = names.into_iter().map(|name| Found { dir: format!("{path}/{name}"), name });
            found.extend(nics.filter(|nic| root.list(&nic.dir).is_ok()).take(MAX_NICS.saturating_sub(found.len())));
        } else if depth > 0 && *left > 0 {
            *left -= 1;
            search(root, &path, depth - 1, left, found);
        }
    }
}

/// The place in a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The PCI function, if it hangs on one.
    pub(super) pci: Option<String>,
    /// The directory of the device that has `numa_node` and `msi_irqs`.
    pub(super) device: Option<String>,
    /// The virtio device, if it is one.
    pub(super) virtio: Option<String>,
    /// True below /sys/devices/virtual, false elsewhere below /sys/devices.
    pub(super) is_virtual: Option<bool>,
}

/// The place of an interface.
pub(super) fn place(root: &Root, dir: &str) -> Place {
    let path = root.resolve(dir).ok().and_then(|path| path.into_os_string().into_string().ok());
    match path.filter(|path| path.starts_with("sys/devices/")) {
        Some(path) => of_path(&path),
        // The link may lead out of the capture, and still names its target.
        None => root.link(dir).ok().and_then(|link| of_link(link.to_str()?)).unwrap_or_default(),
    }
}

fn of_link(link: &str) -> Option<Place> {
    let at = link.find("devices/")?;
    Some(of_path(&format!("sys/{}", link.get(at..)?)))
}

fn of_path(path: &str) -> Place {
    let mut place = Place { is_virtual: Some(path.starts_with("sys/devices/virtual/")), ..Place::default() };
    let mut here = String::new();
    for part in path.split('/') {
        if part == "net" {
            break;
        }
        if !here.is_empty() {
            here.push('/');
        }
        here.push_str(part);
        let virtio = part.strip_prefix("virtio");
        if is_address(part) {
            place.pci = Some(part.to_owned());
            place.device = Some(here.clone());
        } else if virtio.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())) {
            place.virtio = Some(part.to_owned());
        }
    }
    if place.device.is_none() && place.is_virtual == Some(false) {
        place.device = Some(here);
    }
    place
}

#[cfg(test)]
mod tests {
    use super::{of_link, of_path};
    use proptest::prelude::*;

    #[test]
    fn paths_tell_the_device() {
        let place = of_path("sys/devices/pci0000:40/0000:40:00.0/0000:41:00.0/virtio6/net/eth0");
        assert_eq!(place.pci.as_deref(), Some("0000:41:00.0"));
        assert_eq!(place.device.as_deref(), Some("sys/devices/pci0000:40/0000:40:00.0/0000:41:00.0"));
        assert_eq!((place.virtio.as_deref(), place.is_virtual), (Some("virtio6"), Some(false)));
        let place = of_path("sys/devices/virtual/net/lo");
        assert_eq!((place.pci, place.device, place.is_virtual), (None, None, Some(true)));
        let place = of_path("sys/devices/LNXSYSTM:00/VMBUS:00/00155d00-0401/net/eth0");
        assert_eq!(place.device.as_deref(), Some("sys/devices/LNXSYSTM:00/VMBUS:00/00155d00-0401"));
        let place = of_link("../../devices/pci0000:00/0000:00:03.0/net/ens3");
        assert_eq!(place.and_then(|place| place.pci).as_deref(), Some("0000:00:03.0"));
    }

    proptest! {
        #[test]
        fn no_text_panics(path in ".*") {
            let _ = (of_path(&path), of_link(&path));
        }
    }
}
