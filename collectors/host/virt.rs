//! Which hypervisor is underneath, from what firmware and CPU say.

use super::cpuinfo_value;
use crate::files::Files;
use crate::parse::{fields, lines, text, trim};

/// The hypervisor, `none`, or nothing where that is not known.
pub(super) fn detect(files: &mut Files<'_>, cpuinfo: Option<&[u8]>) -> Option<String> {
    let flag = cpuinfo.and_then(hypervisor_flag);
    if flag == Some(false) {
        return Some("none".to_owned());
    }
    let mut dmi = |name: &str| {
        let bytes = files.bytes(&format!("sys/class/dmi/id/{name}")).ok()?;
        Some(text(bytes).into_owned())
    };
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    let from_firmware = known(vendor.as_deref().unwrap_or_default(), product.as_deref().unwrap_or_default());
    if let Some(name) = from_firmware {
        return Some(name.to_owned());
    }
    if let Some(kind) = files.bytes("sys/hypervisor/type").ok().map(|bytes| text(bytes).into_owned()) {
        let control = files.bytes("proc/xen/capabilities").is_ok_and(|bytes| bytes.starts_with(b"control_d"));
        return Some(if control { "none".to_owned() } else { kind });
    }
    if let Some(program) = files.bytes("proc/sysinfo").ok().and_then(control_program) {
        return Some(program);
    }
    match (flag, vendor) {
        (Some(true), _) => Some("virtual machine".to_owned()),
        (_, Some(_)) => Some("none".to_owned()),
        _ => None,
    }
}

/// Whether an x86 CPU has the flag of virtual CPUs; none on architectures without flags.
fn hypervisor_flag(cpuinfo: &[u8]) -> Option<bool> {
    cpuinfo_value(cpuinfo, "flags").map(|flags| fields(flags).any(|flag| flag == b"hypervisor"))
}

/// Hypervisors by the vendor and product that their firmware names.
fn known(vendor: &str, product: &str) -> Option<&'static str> {
    const VENDORS: [(&str, &str); 12] = [
        ("QEMU", "kvm"),
        ("VMware", "vmware"),
        ("innotek", "virtualbox"),
        ("Xen", "xen"),
        ("Alibaba Cloud", "alibaba"),
        ("OpenStack", "openstack"),
        ("Parallels", "parallels"),
        ("BHYVE", "bhyve"),
        ("Bochs", "bochs"),
        ("Nutanix", "nutanix"),
        ("DigitalOcean", "digitalocean"),
        ("Google", "google"),
    ];
    match (vendor, product) {
        (_, product) if product.contains("KVM") => Some("kvm"),
        (_, product) if product.starts_with("VirtualBox") => Some("virtualbox"),
        (_, product) if product.starts_with("Apple Virtualization") => Some("apple"),
        ("Microsoft Corporation", product) if product.starts_with("Virtual Machine") => Some("hyper-v"),
        // `c5.metal` runs on the machine itself.
        ("Amazon EC2", product) => (product.rsplit('.').next() != Some("metal")).then_some("amazon"),
        (vendor, _) => VENDORS.iter().find(|(start, _)| vendor.starts_with(start)).map(|(_, name)| *name),
    }
}

/// `VM00 Control Program: KVM/Linux` of an s390's /proc/sysinfo.
fn control_program(bytes: &[u8]) -> Option<String> {
    let line = lines(bytes).find_map(|line| line.strip_prefix(b"VM00 Control Program:"))?;
    let name = text(trim(line)).split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{control_program, hypervisor_flag, known};
    use proptest::prelude::*;

    #[test]
    fn knows_firmware_and_flags() {
        assert_eq!(known("QEMU", "Standard PC (Q35 + ICH9, 2009)"), Some("kvm"));
        assert_eq!(known("Amazon EC2", "c5.metal"), None);
        assert_eq!(known("Amazon EC2", "c5.large"), Some("amazon"));
        assert_eq!(known("Dell Inc.", "PowerEdge R740"), None);
        assert_eq!(hypervisor_flag(b"flags\t\t: fpu vme hypervisor\n"), Some(true));
        assert_eq!(hypervisor_flag(b"flags\t\t: fpu vme\n"), Some(false));
        assert_eq!(hypervisor_flag(b"features\t: esan3\n"), None);
        assert_eq!(control_program(b"VM00 Control Program: KVM/Linux       \n").as_deref(), Some("KVM/Linux"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, vendor in ".*", product in ".*") {
            let _ = (hypervisor_flag(&bytes), control_program(&bytes), known(&vendor, &product));
        }
    }
}
