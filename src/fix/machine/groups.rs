//! Groups of version 1 of this test's own, really written to, read back and put back; where there are none to be had, a
//! line says so.
#![expect(clippy::print_stderr, reason = "tests say what they could not try")]

use super::{Kernel, Machine, Trouble};
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use topotop_collectors::Root;
use topotop_model::fix::Target;

/// A group, removed with everybody in it.
pub(super) struct Group {
    pub(super) dir: PathBuf,
    members: Vec<Child>,
}

impl Group {
    pub(super) fn new(controller: &str, name: &str) -> Option<Self> {
        let dir =
            Path::new("/sys/fs/cgroup").join(controller).join(format!("topotop-fix-{}-{name}", std::process::id()));
        let made = dir.parent().is_some_and(|parent| parent.join("tasks").exists()) && fs::create_dir(&dir).is_ok();
        if !made {
            eprintln!("skipped: no group of version 1 with {controller} can be made here");
        }
        made.then_some(Self { dir, members: Vec::new() })
    }

    pub(super) fn path(&self, file: &str) -> String {
        self.dir.join(file).display().to_string()
    }

    fn number(&self, file: &str) -> u64 {
        fs::read_to_string(self.dir.join(file)).expect("read").trim().parse().expect("a number")
    }

    /// A shell script in it; waits until it says `ready`.
    fn run(&mut self, script: &str) {
        let script = format!("echo $$ > {} && {script}", self.path("cgroup.procs"));
        let mut child =
            Command::new("sh").process_group(0).args(["-c", &script]).stdout(Stdio::piped()).spawn().expect("a shell");
        let mut said = [0; 6];
        let out = child.stdout.as_mut().expect("a pipe");
        std::io::Read::read_exact(out, &mut said).expect("it gets ready");
        self.members.push(child);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for child in &mut self.members {
            // A shell's own children are in its process group.
            if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = child.wait();
        }
        for _ in 0..100 {
            if fs::remove_dir(&self.dir).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        eprintln!("{} could not be removed", self.dir.display());
    }
}

fn kernel() -> Kernel {
    Kernel::new(Arc::new(Root::live().expect("a root")))
}

fn write(machine: &mut Kernel, target: &Target, value: &str) -> Result<(), Trouble> {
    machine.write(target, "", value, &mut |_| ControlFlow::Continue(()))
}

fn value(machine: &Kernel, target: &Target) -> String {
    machine.values(target).expect("a value").remove(0).1
}

/// Writes, reads back, puts back and compares.
fn there_and_back(target: &Target, new: &str) {
    let mut machine = kernel();
    let before = value(&machine, target);
    assert!(!target.agrees(new, &before), "{target} is {before} already");
    write(&mut machine, target, new).unwrap_or_else(|trouble| panic!("{target}: {trouble}"));
    let now = value(&machine, target);
    assert!(target.agrees(new, &now), "{target}: {now}, not {new}");
    write(&mut machine, target, &before).unwrap_or_else(|trouble| panic!("{target}: {trouble}"));
    assert_eq!(value(&machine, target), before, "{target}");
}

#[test]
fn a_limit_goes_up_and_down_but_never_below_what_stays() {
    let Some(mut group) = Group::new("memory", "limit") else { return };
    let limit = Target::file(group.path("memory.limit_in_bytes"));
    write(&mut kernel(), &limit, &(64u64 << 20).to_string()).expect("a limit");
    there_and_back(&limit, &(128u64 << 20).to_string());
    // Twenty MiB of a shell's own memory.
    group.run("x=$(head -c 20971520 /dev/zero | tr '\\0' x); echo ready; sleep 60; echo ${#x}");
    let refused = write(&mut kernel(), &limit, &(4u64 << 20).to_string()).expect_err("it would kill");
    assert!(refused.message.contains("cannot be reclaimed, and a limit of 4194304 would kill"), "{refused}");
    assert_eq!(group.number("memory.limit_in_bytes"), 64 << 20);
}

#[test]
fn a_group_is_emptied_of_its_page_cache() {
    let Some(mut group) = Group::new("memory", "empty") else { return };
    let dir = tempfile::tempdir_in("/var/tmp").expect("a directory on a disk");
    let file = dir.path().join("f").display().to_string();
    group.run(&format!("dd if=/dev/zero of={file} bs=1M count=24 conv=fsync 2>/dev/null; echo ready; sleep 60"));
    let before = group.number("memory.usage_in_bytes");
    assert!(before > 16 << 20, "{before} bytes are no page cache");
    let target = Target::ForceEmpty { path: group.path("memory.force_empty") };
    write(&mut kernel(), &target, "0").expect("emptied");
    let after = group.number("memory.usage_in_bytes");
    assert!(after < before / 4, "{before} -> {after}");
}

#[test]
fn quotas_and_throttles_are_put_back() {
    if let Some(group) = Group::new("cpu", "quota") {
        there_and_back(&Target::file(group.path("cpu.cfs_quota_us")), "150000");
    }
    let Some(group) = Group::new("blkio", "throttle") else { return };
    let disk = fs::read_dir("/sys/block").into_iter().flatten().flatten().find_map(|disk| {
        let ordinary = disk.path().join("device").exists();
        ordinary.then(|| fs::read_to_string(disk.path().join("dev")).ok()).flatten()
    });
    let Some(number) = disk else {
        eprintln!("skipped: no disk here");
        return;
    };
    let path = group.path("blkio.throttle.write_iops_device");
    there_and_back(&Target::Line { path, key: number.trim().to_owned() }, "50");
}

#[test]
fn a_process_is_moved_and_goes_back() {
    let (Some(mut from), Some(to)) = (Group::new("cpu", "from"), Group::new("cpu", "to")) else { return };
    from.run("echo ready.; sleep 60");
    let pid = from.members[0].id();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("read");
    let starttime = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).expect("a field");
    let starttime = starttime.parse().expect("a number");
    let mount = "/sys/fs/cgroup/cpu".to_owned();
    let name = |group: &Group| format!("/{}", group.dir.file_name().expect("a name").to_string_lossy());
    let target = Target::Member { pid, starttime, controller: "cpu".to_owned(), mount: mount.clone() };
    assert_eq!(value(&kernel(), &target), name(&from));
    there_and_back(&target, &name(&to));
    assert!(write(&mut kernel(), &target, "/../etc").is_err() && write(&mut kernel(), &target, "/none-of-it").is_err());
    let another = Target::Member { pid, starttime: 1, controller: "cpu".to_owned(), mount };
    assert!(write(&mut kernel(), &another, &name(&to)).is_err(), "another one of its number");
    // Members end before their groups.
    drop(from);
}
