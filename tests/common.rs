//! What several tests share.

pub(crate) mod captured;
pub(crate) mod edit;
pub(crate) mod load;
pub(crate) mod pty;
pub(crate) mod schema;
pub(crate) mod series;
pub(crate) mod synthetic;
pub(crate) mod synthetic_recording;

use std::path::Path;

/// Notes a test that this machine cannot run; in CI, where no test may pass by not running, it fails.
pub(crate) fn not_tested(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "not tested: {why}");
    eprintln!("not tested: {why}");
}

/// A small machine on which names try to steer whatever shows them.
pub(crate) fn hostile_names(dir: &Path) {
    synthetic::Machine::SMALL.write(dir, 0);
    let evil = "evil\x1b]0;title\x07\x1b[31;5m\u{202e}";
    hostile_devices(dir, evil);
    let group = format!("load.slice/{evil}\nnewline");
    let from = dir.join("sys/fs/cgroup/load.slice/work-0000.scope");
    std::fs::rename(from, dir.join("sys/fs/cgroup").join(&group)).expect("a name");
    for pid in 1..=6 {
        for file in [format!("proc/{pid}/stat"), format!("proc/{pid}/task/{pid}/stat")] {
            let path = dir.join(file);
            let text = std::fs::read_to_string(&path).expect("a stat");
            let tail = text.rsplit_once(')').expect("a comm").1;
            std::fs::write(path, format!("{pid} ({evil}){tail}")).expect("a stat");
        }
        let escaped = group.replace('\n', "\\012");
        std::fs::write(dir.join(format!("proc/{pid}/cgroup")), format!("0::/{escaped}\n")).expect("a cgroup");
        std::fs::write(dir.join(format!("proc/{pid}/cmdline")), format!("{evil}\0-x\0")).expect("a cmdline");
    }
}

/// Interfaces, disks, mounts and containers whose names are what any user with a device mapper, a loop device, a network
/// namespace or a systemd of his own may choose.
fn hostile_devices(dir: &Path, evil: &str) {
    let put = |path: &str, text: &str| synthetic::put(dir, path, text);
    let replace = |path: &str, from: &str, to: &str| {
        put(path, &std::fs::read_to_string(dir.join(path)).expect("a file").replace(from, to));
    };
    // At most 15 bytes.
    let nic = "e\x1b[31;5m\x07\u{202e}";
    let (at, class) = ("devices/pci0000:3a/0000:3b:00.0/net", dir.join("sys/class/net"));
    std::fs::rename(dir.join("sys").join(at).join("eth0"), dir.join("sys").join(at).join(nic)).expect("a name");
    std::fs::remove_file(class.join("eth0")).expect("a link");
    std::os::unix::fs::symlink(format!("../../{at}/{nic}"), class.join(nic)).expect("a link");
    replace("proc/net/dev", "eth0", nic);
    replace("proc/interrupts", "eth0", nic);
    replace("proc/diskstats", " sda1 ", &format!(" {evil} "));
    let disks = std::fs::read_to_string(dir.join("proc/diskstats")).expect("a file");
    let row = |number: &str, name: &str| format!(" {number} {name} 100 0 800 50 200 0 1600 100 1 150 100\n");
    put("proc/diskstats", &(disks + &row("253 0", "dm-0") + &row("7 0", "loop0")));
    for (name, number, fact) in [("dm-0", "253:0", "dm/name"), ("loop0", "7:0", "loop/backing_file")] {
        put(&format!("sys/block/{name}/dev"), &format!("{number}\n"));
        put(&format!("sys/block/{name}/size"), "1000000\n");
        put(&format!("sys/block/{name}/{fact}"), &format!("/{evil}\n"));
    }
    put("sys/block/sda/device/model", &format!("{evil}\n"));
    let mounts = std::fs::read_to_string(dir.join("proc/self/mountinfo")).expect("a file");
    put("proc/self/mountinfo", &format!("{mounts}24 21 253:0 / /{evil} rw - ext4 /dev/mapper/{evil} rw\n"));
    // systemd's own escapes, which are taken back for the name of a container.
    let group = "sys/fs/cgroup/machine.slice/machine-\\x1b\\x5b31\\x3b5mevil.scope";
    for (file, text) in [("memory.current", "4096\n"), ("cgroup.procs", ""), ("cpu.stat", "usage_usec 9000\n")] {
        put(&format!("{group}/{file}"), text);
    }
    for file in ["proc/sys/kernel/hostname", "proc/sys/kernel/osrelease", "proc/1/wchan"] {
        put(file, &format!("{evil}\n"));
    }
    put("proc/cpuinfo", &format!("processor\t: 0\nmodel name\t: {evil}\n\n"));
    put("etc/os-release", &format!("PRETTY_NAME=\"{evil}\"\n"));
}
