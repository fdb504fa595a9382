//! Files of the kernel that take one value in one write.

use super::{Trouble, whose};
use rustix::fs::{CWD, OFlags};
use rustix::io::Errno;
use std::path::{Component, Path};
use topotop_model::fix::{Identity, SYSCTLS, sysctl};
use topotop_model::locale::fix::machine as text;

/// Where values are, a name of any for `*`: nothing else is ever opened for writing, whatever a journal says.
const PLACES: [&str; 5] = [
    "/proc/irq/*/",
    "/sys/fs/cgroup/",
    "/sys/class/net/*/queues/",
    "/sys/devices/system/cpu/*/cpufreq/",
    "/sys/devices/system/clocksource/",
];

/// File systems that the kernel makes up (linux/magic.h): procfs, sysfs, cgroup and cgroup2.
const KERNELS: [u64; 4] = [0x9fa0, 0x6265_6572, 0x0027_e0eb, 0x6367_7270];

/// Writes a value as `echo` does, in one call: the kernel takes each write as a whole. A file of one of those in `of`
/// is written where it is still that one's.
pub(super) fn write(path: &str, value: &str, of: &[Identity]) -> Result<(), Trouble> {
    let file = open(path, of)?;
    let value = format!("{value}\n");
    loop {
        match rustix::io::write(&file, value.as_bytes()) {
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Trouble::errno(errno)),
            Ok(taken) if taken + 1 < value.len() => {
                return Err(Trouble::because(
                    text::Took { path: &path, taken: &taken, total: &value.len() }.to_string(),
                ));
            }
            Ok(_) => return Ok(()),
        }
    }
}

/// Opens for writing what is below one of the places and the kernel's own. Links of the kernel lead to other names of it
/// (`/sys/class/net/eth0`); the last name may be none.
pub(super) fn open(path: &str, of: &[Identity]) -> Result<std::os::fd::OwnedFd, Trouble> {
    if !is_in_place(path) {
        return Err(Trouble::because(text::NotASetting { path: &path }.to_string()));
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = match whose::directory(path, of)? {
        Some((directory, rest)) => whose::open(directory, rest, flags),
        None => whose::open(CWD, Path::new(path), flags),
    };
    let file = file.map_err(Trouble::errno)?;
    let magic = rustix::fs::fstatfs(&file).map_err(Trouble::errno)?.f_type;
    if KERNELS.contains(&(magic as u64 & 0xffff_ffff)) {
        Ok(file)
    } else {
        Err(Trouble::because(text::NotOfTheKernel { path: &path }.to_string()))
    }
}

fn is_in_place(path: &str) -> bool {
    let path = Path::new(path);
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let names: Vec<&str> = path.to_str().unwrap_or_default().split('/').collect();
    let is_below = |place: &str| {
        let wanted: Vec<&str> = place.trim_end_matches('/').split('/').collect();
        names.len() > wanted.len() && wanted.iter().zip(&names).all(|(wanted, name)| *wanted == "*" || wanted == name)
    };
    let is_setting = || SYSCTLS.iter().any(|name| path == Path::new(&sysctl(name)));
    plain && (PLACES.iter().any(|place| is_below(place)) || is_setting())
}

#[cfg(test)]
mod tests {
    use super::{is_in_place, open};

    #[test]
    fn only_settings_are_opened() {
        for path in [
            "/proc/sys/vm/swappiness",
            "/proc/irq/9/smp_affinity_list",
            "/sys/fs/cgroup/a/memory.high",
            "/sys/class/net/eth0/queues/rx-0/rps_cpus",
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        ] {
            assert!(is_in_place(path), "{path}");
        }
        for path in [
            "/etc/passwd",
            "/proc/1/oom_score_adj",
            "/proc/sysrq-trigger",
            "/proc/sys/../sysrq-trigger",
            "/sys/../etc/passwd",
            "proc/sys/vm/swappiness",
            "/system",
            "/sys",
            "",
            "/proc/irq",
            "/proc/irq/9",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/domainname",
            "/sys/kernel/uevent_helper",
            "/sys/class/net/eth0/device/reset",
            "/sys/class/net/eth0/queues",
        ] {
            assert!(!is_in_place(path), "{path}");
            assert!(open(path, &[]).is_err(), "{path}");
        }
    }
}
