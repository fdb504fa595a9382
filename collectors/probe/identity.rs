//! Whether a name still means what it meant: numbers and names are given again, to others.

use crate::Root;
use crate::parse::{number, trim};
use crate::processes::stat;
use std::collections::BTreeSet;
use topotop_model::Reason;
use topotop_model::fix::Identity;
use topotop_model::locale::fix::machine as text;
use topotop_model::text::from_bytes;

pub(super) fn same(root: &Root, identity: &Identity) -> Result<(), String> {
    match identity {
        Identity::Host => Ok(()),
        Identity::Process { pid, starttime, .. } => process(root, *pid, *starttime),
        Identity::Nic { name, ifindex, address } => nic(root, name, *ifindex, address),
        Identity::Irq { irq, actions } => interrupt(root, *irq, actions),
        Identity::Cgroup { directory, inode } => cgroup(root, directory, *inode),
        Identity::Disk { name, number } => disk(root, name, number),
    }
}

pub(super) fn filled(root: &Root, identity: &Identity) -> Identity {
    let mut filled = identity.clone();
    match &mut filled {
        Identity::Nic { name, address, .. } if address.is_empty() => {
            *address = hardware_address(root, name).unwrap_or_default();
        }
        Identity::Cgroup { directory, inode } if *inode == 0 => {
            *inode = root.directory_stat(&*directory).map_or(0, |stat| stat.inode);
        }
        _ => {}
    }
    filled
}

/// A zombie has its number still, but there is nothing left to change.
fn process(root: &Root, pid: u32, starttime: u64) -> Result<(), String> {
    let mut bytes = Vec::new();
    let read = root.read(format!("proc/{pid}/stat"), &mut bytes);
    read.map_err(|reason| match reason {
        Reason::NotFound | Reason::Vanished => text::ProcessExited { pid: &pid }.to_string(),
        other => text::OfProcess { pid: &pid, why: &other.text() }.to_string(),
    })?;
    let stat = stat::parse(&bytes).ok_or_else(|| text::NoStartTime { pid: &pid }.to_string())?;
    if stat.starttime != starttime {
        return Err(text::PidReused { pid: &pid, name: &from_bytes(stat.comm) }.to_string());
    }
    if matches!(stat.state, b'Z' | b'X') {
        return Err(text::ProcessExited { pid: &pid }.to_string());
    }
    Ok(())
}

/// True where nobody has its number, another process has it, or it is a zombie.
pub(super) fn has_exited(root: &Root, identity: &Identity) -> bool {
    let Identity::Process { pid, starttime, .. } = identity else { return false };
    let mut bytes = Vec::new();
    match root.read(format!("proc/{pid}/stat"), &mut bytes) {
        // Mounted with hidepid, /proc leaves out what is there.
        Err(Reason::NotFound | Reason::Vanished) => !root.is_live() || !is_there(*pid),
        Err(_) => false,
        Ok(()) => {
            stat::parse(&bytes).is_some_and(|stat| stat.starttime != *starttime || matches!(stat.state, b'Z' | b'X'))
        }
    }
}

fn is_there(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn nic(root: &Root, name: &str, ifindex: u32, address: &str) -> Result<(), String> {
    if !is_one_name(name) {
        return Err(text::NotInterface { name: &name }.to_string());
    }
    let mut bytes = Vec::new();
    let read = root.read(format!("sys/class/net/{name}/ifindex"), &mut bytes);
    read.map_err(|reason| match reason {
        Reason::NotFound | Reason::Vanished => text::Gone { name: &name }.to_string(),
        other => format!("{name}: {}", other.text()),
    })?;
    let now = number(trim(&bytes));
    if ifindex != 0 && now != Some(u64::from(ifindex)) {
        let now = now.map_or_else(|| "?".to_owned(), |now| now.to_string());
        return Err(text::OtherIndex { name: &name, now: &now, old: &ifindex }.to_string());
    }
    let now = hardware_address(root, name).unwrap_or_default();
    if !address.is_empty() && now != address {
        return Err(text::OtherAddress { name: &name, now: &now, old: &address }.to_string());
    }
    Ok(())
}

fn hardware_address(root: &Root, name: &str) -> Option<String> {
    let text = is_one_name(name).then(|| root.read_text(format!("sys/class/net/{name}/address")).ok())??;
    Some(text.trim().to_owned())
}

/// The names of an interrupt's actions, separated by commas; none where it is gone.
pub(super) fn actions_of(root: &Root, irq: u32) -> Option<String> {
    if let Ok(text) = root.read_text(format!("sys/kernel/irq/{irq}/actions")) {
        return Some(text);
    }
    // Kernels without it: each action has a directory.
    let entries = root.entries(format!("proc/irq/{irq}")).ok()?;
    let names = entries.into_iter().filter(|entry| entry.is_directory);
    Some(names.map(|entry| entry.name.to_string_lossy().into_owned()).collect::<Vec<_>>().join(","))
}

fn interrupt(root: &Root, irq: u32, actions: &str) -> Result<(), String> {
    let now = actions_of(root, irq).ok_or_else(|| text::Gone { name: &format_args!("IRQ {irq}") }.to_string())?;
    let (was, is) = (names(actions), names(&now));
    if was == is {
        return Ok(());
    }
    let now = if is.is_empty() { text::NO_DEVICE.to_string() } else { is.into_iter().collect::<Vec<_>>().join(", ") };
    Err(text::IrqOfOther { irq: &irq, now: &now, old: &actions }.to_string())
}

/// Names of actions in no order: kernels separate them by a comma, /proc/interrupts by a comma and a blank.
fn names(actions: &str) -> BTreeSet<&str> {
    actions.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

fn cgroup(root: &Root, directory: &str, inode: u64) -> Result<(), String> {
    let stat = root.directory_stat(directory).map_err(|reason| match reason {
        Reason::NotFound | Reason::Vanished => text::Gone { name: &directory }.to_string(),
        other => format!("{directory}: {}", other.text()),
    })?;
    if inode != 0 && stat.inode != inode {
        return Err(text::Recreated { path: &directory }.to_string());
    }
    Ok(())
}

fn disk(root: &Root, name: &str, number: &str) -> Result<(), String> {
    if !is_one_name(name) {
        return Err(text::NotDisk { name: &name }.to_string());
    }
    // Names of partitions and of cciss disks have an exclamation mark for each slash, as sysfs writes them.
    let path = format!("sys/class/block/{}/dev", name.replace('/', "!"));
    let now = root.read_text(path).map_err(|_| text::Gone { name: &name }.to_string())?;
    if now.trim() == number {
        Ok(())
    } else {
        Err(text::OtherDisk { name: &name, now: &now.trim(), old: &number }.to_string())
    }
}

/// One component of a path.
fn is_one_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

#[cfg(test)]
mod tests {
    use super::super::{filled, same};
    use crate::Root;
    use crate::testing::put;
    use std::path::Path;
    use topotop_model::fix::Identity;

    fn machine(at: &Path) -> Root {
        put(at, "proc/7/stat", "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 880 1 1 1 1\n");
        put(at, "proc/8/stat", "8 (z) Z 1 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 880 1 1 1 1\n");
        put(at, "sys/class/net/eth0/ifindex", "2\n");
        put(at, "sys/class/net/eth0/address", "52:54:00:00:00:01\n");
        put(at, "sys/kernel/irq/28/actions", "eth0-rx-0,eth0-tx-0\n");
        put(at, "proc/irq/29/smp_affinity_list", "0\n");
        std::fs::create_dir_all(at.join("proc/irq/29/virtio0-input.0")).expect("made");
        put(at, "sys/class/block/sdb/dev", "8:16\n");
        put(at, "sys/fs/cgroup/a/memory.max", "max\n");
        Root::at(at).expect("a root")
    }

    #[test]
    fn others_that_bear_a_name_are_told_from_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = machine(dir.path());
        let process = |pid, starttime| Identity::Process { pid, starttime, comm: "x".to_owned() };
        let nic =
            |name: &str, ifindex, address: &str| Identity::Nic { name: name.into(), ifindex, address: address.into() };
        let irq = |irq, actions: &str| Identity::Irq { irq, actions: actions.into() };
        let disk = |name: &str, number: &str| Identity::Disk { name: name.into(), number: number.into() };
        let group = Identity::Cgroup { directory: "/sys/fs/cgroup/a".into(), inode: 0 };
        let group = filled(&root, &group);
        assert!(matches!(group, Identity::Cgroup { inode, .. } if inode != 0));
        let reported = |identity: &Identity| same(&root, identity).err();
        for identity in [
            process(7, 880),
            nic("eth0", 2, "52:54:00:00:00:01"),
            nic("eth0", 2, ""),
            irq(28, "eth0-tx-0, eth0-rx-0"),
            irq(29, "virtio0-input.0"),
            disk("sdb", "8:16"),
            group.clone(),
            Identity::Host,
        ] {
            assert_eq!(reported(&identity), None, "{identity}");
        }
        let others = [
            (process(7, 881), "process 7 has exited; its PID now belongs to a) b"),
            (process(8, 880), "process 8 has exited"),
            (process(9, 880), "process 9 has exited"),
            (nic("eth0", 3, ""), "eth0 is a different interface now: index 2, was 3"),
            (nic("eth0", 2, "x"), "eth0 is a different interface now: address 52:54:00:00:00:01, was x"),
            (nic("../net/eth0", 2, ""), "../net/eth0 is not an interface name"),
            (nic("eth1", 2, ""), "eth1 is gone"),
            (irq(28, "eth0-rx-0"), "IRQ 28 belongs to eth0-rx-0, eth0-tx-0 now, was eth0-rx-0"),
            (irq(30, "x"), "IRQ 30 is gone"),
            (disk("sdb", "8:32"), "sdb is 8:16 now, was 8:32"),
            (disk("sdc", "8:32"), "sdc is gone"),
        ];
        for (identity, text) in others {
            assert_eq!(reported(&identity).as_deref(), Some(text));
        }
        let again = Identity::Cgroup { directory: "/sys/fs/cgroup/a".into(), inode: 1 };
        assert_eq!(reported(&again).as_deref(), Some("/sys/fs/cgroup/a was removed and created again"));
    }
}
