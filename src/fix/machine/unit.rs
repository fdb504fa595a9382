//! Properties of systemd's units, set until the next boot.

use super::{Trouble, limit};
use topotop_collectors::Root;
use topotop_collectors::probe::unit::systemctl;

/// Has systemd set a property; nothing takes it away.
pub(super) fn write(root: &Root, unit: &str, property: &str, value: &str) -> Result<(), Trouble> {
    if property == "MemoryMax" {
        may_fall(root, unit, value)?;
    }
    systemctl(&arguments(unit, property, value)).map(|_| ()).map_err(Trouble::because)
}

/// A list is taken away before its entries are set: else they would be added to what there is.
fn arguments(unit: &str, property: &str, value: &str) -> Vec<String> {
    let mut arguments = ["set-property", "--runtime", "--", unit].map(str::to_owned).to_vec();
    if value.is_empty() || property.starts_with("IORead") || property.starts_with("IOWrite") {
        arguments.push(format!("{property}="));
    }
    arguments.extend(value.split(" ; ").filter(|entry| !entry.is_empty()).map(|entry| format!("{property}={entry}")));
    arguments
}

/// A limit below what cannot be reclaimed would kill.
fn may_fall(root: &Root, unit: &str, value: &str) -> Result<(), Trouble> {
    let group = ["show", "--property=ControlGroup", "--value", "--", unit].map(str::to_owned);
    let group = systemctl(&group).map_err(Trouble::because)?;
    let group = group.trim();
    let files =
        [format!("/sys/fs/cgroup{group}/memory.max"), format!("/sys/fs/cgroup/memory{group}/memory.limit_in_bytes")];
    let file = files.iter().find(|file| !group.is_empty() && root.exists(file));
    file.map_or(Ok(()), |file| limit::check(root, file, value))
}

#[cfg(test)]
mod tests {
    use super::arguments;

    #[test]
    fn what_systemctl_is_told() {
        let told = |property: &str, value: &str| arguments("a.service", property, value).join(" ");
        assert_eq!(told("MemoryMax", "infinity"), "set-property --runtime -- a.service MemoryMax=infinity");
        assert_eq!(told("CPUQuota", ""), "set-property --runtime -- a.service CPUQuota=");
        assert_eq!(
            told("IOWriteIOPSMax", "/dev/sdb 30 ; /dev/sdc 9"),
            "set-property --runtime -- a.service IOWriteIOPSMax= IOWriteIOPSMax=/dev/sdb 30 IOWriteIOPSMax=/dev/sdc 9"
        );
    }
}
