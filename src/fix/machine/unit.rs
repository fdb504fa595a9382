//! Properties of systemd's units, set until the next boot.

use super::{Trouble, limit};
use std::fs;
use std::path::Path;
use topotop_collectors::Root;
use topotop_collectors::systemctl::systemctl;
use topotop_model::fix::{drop_in, transient_unit};

/// Has systemd set a property; nothing takes it away.
pub(super) fn write(root: &Root, unit: &str, property: &str, value: &str) -> Result<(), Trouble> {
    // An empty word would be an option's end, a dash its start.
    if !is_known(property) || unit.is_empty() || unit.starts_with('-') {
        return Err(Trouble::invalid(format!("{property} ({unit})")));
    }
    if property == "MemoryMax" {
        may_fall(root, unit, value)?;
    }
    systemctl(&arguments(unit, property, value)).map(|_| ()).map_err(Trouble::because)
}

/// Puts the drop-in of a property back, or takes it away; systemd reads it again.
pub(super) fn write_drop_in(top: &Path, unit: &str, property: &str, text: &str) -> Result<(), Trouble> {
    if put_drop_in(top, unit, property, text)? {
        systemctl(&["daemon-reload".to_owned()]).map_err(Trouble::because)?;
    }
    Ok(())
}

/// The same in the file system only, with the directory that came with it; false where nothing changes.
fn put_drop_in(top: &Path, unit: &str, property: &str, text: &str) -> Result<bool, Trouble> {
    let is_word = |word: &str| !word.is_empty() && !word.contains('/') && !word.starts_with('.');
    if !is_word(unit) || !is_known(property) || !says_only(text, property) {
        return Err(Trouble::invalid(format!("{property} ({unit})")));
    }
    let path = top.join(drop_in(unit, property, top.join(transient_unit(unit)).exists()));
    let failed = |error: std::io::Error| Trouble::because(format!("{}: {error}", path.display()));
    if text.is_empty() {
        match fs::remove_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            removed => removed.map_err(failed)?,
        }
        // Other properties may have drop-ins there.
        let _ = path.parent().map(fs::remove_dir);
    } else {
        super::own_file(&path, &format!("{text}\n")).map_err(failed)?;
    }
    Ok(true)
}

/// The properties that fixes set.
const PROPERTIES: [&str; 10] = [
    "AllowedCPUs",
    "AllowedMemoryNodes",
    "CPUQuota",
    "IOReadBandwidthMax",
    "IOReadIOPSMax",
    "IOWeight",
    "IOWriteBandwidthMax",
    "IOWriteIOPSMax",
    "MemoryHigh",
    "MemoryMax",
];

fn is_known(property: &str) -> bool {
    PROPERTIES.contains(&property)
}

/// True for sections, comments and values of one property: a drop-in could have systemd run anything.
fn says_only(text: &str, property: &str) -> bool {
    // For systemd a line ends at more than at line feeds.
    let is_plain = !text.chars().any(|c| c.is_control() && c != '\n');
    is_plain
        && text.lines().all(|line| {
            let line = line.trim();
            let is_own = || line.strip_prefix(property).is_some_and(|rest| rest.trim_start().starts_with('='));
            !line.ends_with('\\') && (line.is_empty() || line.starts_with(['#', ';', '[']) || is_own())
        })
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
    use super::{arguments, put_drop_in};
    use topotop_model::fix::{drop_in, transient_unit};

    #[test]
    fn a_drop_in_is_taken_away_with_its_directory() {
        let top = tempfile::tempdir().expect("a directory");
        let path = top.path().join(drop_in("a.service", "CPUQuota", false));
        let folder = path.parent().expect("a folder");
        std::fs::create_dir_all(folder).expect("made");
        std::fs::write(&path, "[Service]\nCPUQuota=\n").expect("written");
        let put = |unit: &str, text: &str| put_drop_in(top.path(), unit, "CPUQuota", text);
        assert_eq!(put("a.service", "[Service]\nCPUQuota=50%"), Ok(true));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "[Service]\nCPUQuota=50%\n");
        assert_eq!(put("a.service", ""), Ok(true));
        assert!(!folder.exists());
        assert_eq!(put("a.service", ""), Ok(false), "there is none");
        assert!(put("../a", "").is_err());
        for text in [
            "[Service]\nCPUQuota=5%\rExecStartPre=/bin/x",
            "#\0ExecStart=x",
            "[Service]\nExecStartPre=/bin/x",
            "[Service]\nCPUQuota=5%\nUser=root",
            "CPUQuota=\\\nExecStart=x",
        ] {
            assert!(put("a.service", text).is_err(), "{text}");
        }
        assert!(put_drop_in(top.path(), "a.service", "ExecStart", "[Service]\nExecStart=x").is_err());
    }

    #[test]
    fn a_transient_unit_has_its_drop_ins_beside_it() {
        let top = tempfile::tempdir().expect("a directory");
        let path = top.path().join(drop_in("run-7.service", "CPUQuota", true));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(top.path().join(transient_unit("run-7.service")), "[Service]\n").expect("written");
        std::fs::write(&path, "[Service]\nCPUQuota=300%\n").expect("written");
        assert_eq!(put_drop_in(top.path(), "run-7.service", "CPUQuota", ""), Ok(true));
        assert!(!path.exists());
    }

    #[test]
    fn what_systemctl_is_told() {
        let reported = |property: &str, value: &str| arguments("a.service", property, value).join(" ");
        assert_eq!(reported("MemoryMax", "infinity"), "set-property --runtime -- a.service MemoryMax=infinity");
        assert_eq!(reported("CPUQuota", ""), "set-property --runtime -- a.service CPUQuota=");
        assert_eq!(
            reported("IOWriteIOPSMax", "/dev/sdb 30 ; /dev/sdc 9"),
            "set-property --runtime -- a.service IOWriteIOPSMax= IOWriteIOPSMax=/dev/sdb 30 IOWriteIOPSMax=/dev/sdc 9"
        );
    }
}
