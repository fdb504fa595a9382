//! File systems: what `df` says of them is what is said here, and a finding stays while one fills up unevenly.

use super::devices::Disk;
use super::machine::{Machine, Ticks};
use super::{Case, directory, documents, hold, phases};

const CASES: &[Case] = &[
    Case {
        name: "a file system with reserved blocks that is mounted twice",
        machine: || mounted(&format!("{} {} 6000000 5000000 {}\n", 100 * GIB, 5 * GIB, 80 * GIB)),
        finds: &[("IO-06", "warning", "/ (sda) is 94% full, 5.0 GiB free")],
        says: &[
            ("/disks/0/mounts/0/path", "/"),
            ("/disks/0/mounts/0/free_bytes", "5368709120"),
            ("/disks/0/mounts/1", "nothing"),
            ("/resources", "\"name\":\"/\",\"resource\":\"file_system\",\"share\":0.941"),
        ],
        lacks: &[("/findings", "/srv")],
        ..Case::QUIET
    },
    Case {
        name: "a file system whose reserved blocks are all that is free",
        machine: || mounted(&format!("{} {} 6000000 5000000 {}\n", 100 * GIB, 0, 85 * GIB)),
        finds: &[("IO-06", "critical", "/ (sda) is 100% full, 0 B free")],
        ..Case::QUIET
    },
    Case {
        name: "a file system with room",
        machine: || mounted(&format!("{} {} 6000000 5000000 {}\n", 100 * GIB, 40 * GIB, 55 * GIB)),
        silent: &["IO-06"],
        ..Case::QUIET
    },
];

#[test]
fn a_file_system_is_as_full_as_df_says() {
    hold(CASES);
}

/// Where files come and some go again, a file system that is full in some hours stays a finding.
#[test]
fn growth_that_varies_does_not_flap() {
    let rates = [9, 8, 9, 7, 8, 9, 8, 9, 7, 9, 8, 40, -30, 28, -25, 30, -20, 26, -22, 9, 8, 30, -12, 9, 8, 9];
    let phases = rates.map(|rate: i64| {
        let (less, more) = if rate < 0 { ('+', '-') } else { ('-', '+') };
        let rate = rate.unsigned_abs() << 20;
        let (free, used) = (60 * GIB, 35 * GIB);
        let space = format!("{} {{{free}{less}{rate}}} 6000000 5000000 {{{used}{more}{rate}}}\n", 100 * GIB);
        (mounted(&space), 10)
    });
    let dir = directory();
    phases::write(phases.into(), dir.path());
    let lines = documents("growth that varies", dir.path(), 259);
    let samples = lines.iter().filter_map(|line| line["findings"].as_array());
    let found: Vec<bool> = samples.map(|findings| findings.iter().any(|finding| finding["rule"] == "IO-06")).collect();
    let changes = found.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(found.last() == Some(&true) && changes == 1, "{found:?}");
}

const GIB: u64 = 1 << 30;

/// A disk whose file system is mounted twice, with what statvfs says of it.
fn mounted(space: &str) -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 5, system: 3, ..Ticks::default() });
    machine
        .disk(&Disk { writes: (80, 80 * 65_536, 0.5), busy_ms: 40, ..Disk::SATA })
        .with(|machine| MOUNTS.clone_into(&mut machine.mounts))
        .file("topotop/space/%2F", space)
}

const MOUNTS: &str = "\
21 1 8:0 / / rw,relatime shared:1 - ext4 /dev/sda rw
22 21 0:20 / /sys rw,nosuid shared:2 - sysfs sysfs rw
23 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
24 21 8:0 /srv /srv rw,relatime shared:1 - ext4 /dev/sda rw
";
