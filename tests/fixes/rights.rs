//! Every fix without the rights that it takes: the refusal names them, nothing is written, and there is no journal.

use super::everywhere::{fix, offered, path, subject};
use super::made::{self, On};
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Nobody.
const OTHER: u32 = 65_534;

/// A process of ours.
struct Sleeper(Child);

impl Sleeper {
    fn of(uid: u32) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &uid.to_string(), "--clear-groups", "sleep", "600"]).stdin(Stdio::null());
        let sleeper = Self(command.spawn().expect("setpriv runs"));
        for _ in 0..200 {
            let comm = std::fs::read_to_string(format!("/proc/{}/comm", sleeper.0.id())).unwrap_or_default();
            if comm.trim() == "sleep" {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        sleeper
    }

    fn identity(&self) -> (u32, u64) {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("a process");
        let started = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19)).expect("a field");
        (self.0.id(), started.parse().expect("a number"))
    }

    /// Where it may run and how it is served.
    fn state(&self) -> String {
        let pid = self.0.id().to_string();
        let said = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().expect("it runs");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        said("taskset", &["-pc", &pid]) + &said("ionice", &["-p", &pid])
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `topotop fix` with fewer rights than the test has.
fn lesser(rights: &[&str], arguments: &[&str], state: &Path) -> Output {
    let mut command = Command::new("setpriv");
    command.args(rights).arg(env!("CARGO_BIN_EXE_topotop")).arg("fix").args(arguments);
    command.arg("--state-dir").arg(state).env("PATH", path(state)).stdin(Stdio::null());
    command.output().expect("setpriv runs")
}

fn is_root() -> bool {
    let is = rustix::process::geteuid().is_root();
    if !is {
        crate::common::not_tested("only root can drop rights");
    }
    is
}

/// Control groups of ours of version 1, one in each hierarchy that fixes write to.
struct Groups(String);

impl Groups {
    const ABOVE: [(&'static str, &'static str); 3] =
        [("/sys/fs/cgroup/memory", "memory"), ("/sys/fs/cgroup/cpu", "cpu"), ("/sys/fs/cgroup/blkio", "blkio")];

    fn new(name: &str) -> Option<Self> {
        let groups = Self(format!("/topotop-{name}-{}", std::process::id()));
        let made = groups.places().into_iter().all(|place| std::fs::create_dir(place).is_ok());
        if !made {
            crate::common::not_tested("no control group of version 1 can be made here");
        }
        made.then_some(groups)
    }

    fn places(&self) -> [PathBuf; 3] {
        Self::ABOVE.map(|(above, _)| PathBuf::from(format!("{above}{}", self.0)))
    }

    /// Gives the files of the groups to somebody.
    fn given_to(&self, uid: u32) {
        let files = self.places().map(|place| std::fs::read_dir(place).expect("a group"));
        for file in files.into_iter().flatten().flatten() {
            std::os::unix::fs::chown(file.path(), Some(uid), None).expect("given");
        }
    }

    fn state(&self) -> String {
        let [memory, cpu, blkio] = self.places();
        let files = [
            memory.join("memory.limit_in_bytes"),
            cpu.join("cpu.cfs_quota_us"),
            blkio.join("blkio.throttle.write_iops_device"),
        ];
        files.map(|file| std::fs::read_to_string(file).unwrap_or_default()).concat()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for place in self.places() {
            let _ = std::fs::remove_dir(place);
        }
    }
}

/// A place for recordings and journals that everybody may use, and what findings are about.
struct Desk {
    dir: tempfile::TempDir,
    on: On,
}

impl Desk {
    fn new(process: &Sleeper, uid: u32, groups: Option<&Groups>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).expect("open to all");
        let mut on = On { process: process.identity(), uid, nic: ("lo".to_owned(), 1), ..On::default() };
        if let Some(groups) = groups {
            let inode = std::fs::metadata(&groups.places()[0]).expect("a group").ino();
            on.group = (groups.0.clone(), inode);
            on.mounts = Groups::ABOVE.map(|(dir, controller)| (dir.to_owned(), 1, controller)).to_vec();
        }
        if let Some(disk) = disk() {
            on.disk = disk;
        }
        Self { dir, on }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    /// Asks for a fix with fewer rights.
    fn apply(&self, name: &str, rights: &[&str], more: &[&str]) -> Output {
        let made = made::ALL.iter().find(|made| made.fix == name).expect("a fix");
        let recording = self.dir.path().join(format!("{name}.ttr"));
        made.record(&self.on, &recording);
        let recording = recording.display().to_string();
        let id = offered(made, &recording, &self.state()).expect("an offer");
        let subject = subject(&id);
        let apply = ["apply", &id, "--from", &recording, "--yes", "--confirm-subject", &subject, "--no-wait"];
        lesser(rights, &[&apply[..], more].concat(), &self.state())
    }

    /// Asks for a fix, which is refused with these words.
    fn refused(&self, name: &str, rights: &[&str], words: &[&str]) {
        let output = self.apply(name, rights, &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name} {rights:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{name} {rights:?}: {said}");
        assert!(!self.state().exists(), "{name} {rights:?}: a journal was made");
    }
}

/// A disk of this machine and its number.
fn disk() -> Option<(String, u64)> {
    std::fs::read_dir("/sys/block").ok()?.flatten().find_map(|block| {
        let number = std::fs::read_to_string(block.path().join("dev")).ok()?;
        let (major, minor) = number.trim().split_once(':')?;
        let number = (major.parse::<u64>().ok()? << 20) | minor.parse::<u64>().ok()?;
        Some((block.file_name().to_string_lossy().into_owned(), number))
    })
}

const NOBODY: [&str; 5] = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// Root, but for a capability.
fn without(capability: &str) -> [String; 2] {
    ["--bounding-set", "--inh-caps"].map(|set| format!("{set}=-{capability}"))
}

/// What each fix takes; those of one's own process or group take nothing.
#[test]
fn every_fix_says_what_it_takes() {
    let dir = tempfile::tempdir().expect("a directory");
    // Of somebody else, whoever runs this.
    let on = On { uid: 4_000_000_001, ..On::default() };
    for made in made::ALL {
        let recording = dir.path().join(format!("{}.ttr", made.fix));
        made.record(&on, &recording);
        let recording = recording.display().to_string();
        let id = offered(made, &recording, &dir.path().join("state")).expect("an offer");
        let shown = fix(&["show", &id, "--from", &recording, "--format", "json"], &dir.path().join("state"));
        let plan: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("a plan");
        let needs = plan["needs"].as_array().expect("needs");
        let is_named = |need: &serde_json::Value| {
            let text = |key: &str| need[key].as_str().unwrap_or_default().to_owned();
            text("capability").starts_with("CAP_") || text("what").contains("root")
        };
        assert!(!needs.is_empty() && needs.iter().all(is_named), "{id}: {needs:?}");
    }
}

#[test]
fn whoever_has_no_rights_is_told_which_and_nothing_is_written() {
    if !is_root() {
        return;
    }
    let (sleeper, groups) = (Sleeper::of(0), Groups::new("nobody"));
    let desk = Desk::new(&sleeper, 0, groups.as_ref());
    let before = (sleeper.state(), groups.as_ref().map(Groups::state));
    for nic in ["F-CHAN", "F-RING", "F-RSS", "F-RPS"] {
        desk.refused(nic, &NOBODY, &["requires CAP_NET_ADMIN to set"]);
    }
    for process in ["F-AFF", "F-IONICE"] {
        desk.refused(process, &NOBODY, &["requires CAP_SYS_NICE"]);
    }
    for pages in ["F-CPUSET", "F-MIGRATE"] {
        desk.refused(pages, &NOBODY, &["requires CAP_SYS_NICE", "CAP_SYS_PTRACE to locate pages"]);
    }
    desk.refused("F-IRQBAL", &NOBODY, &["requires root"]);
    let settings = [
        ("F-NETSYSCTL", "/proc/sys/net/core/netdev_budget"),
        ("F-DIRTY", "/proc/sys/vm/dirty_background_bytes"),
        ("F-SYSCTL", "/proc/sys/vm/zone_reclaim_mode"),
    ];
    for (setting, path) in settings.into_iter().filter(|(_, path)| Path::new(path).exists()) {
        desk.refused(setting, &NOBODY, &[path, "is not writable", "requires root"]);
    }
    for group in
        ["F-LIMIT", "F-FORCE-EMPTY", "F-CPUQUOTA", "F-IOMAX", "F-IORAISE"].into_iter().filter(|_| groups.is_some())
    {
        desk.refused(group, &NOBODY, &["is not writable", "root, or the owner of the cgroup's files"]);
    }
    assert_eq!((sleeper.state(), groups.as_ref().map(Groups::state)), before);
}

#[test]
fn root_without_a_capability_is_told_which_and_nothing_is_written() {
    if !is_root() {
        return;
    }
    let (sleeper, groups) = (Sleeper::of(OTHER), Groups::new("capability"));
    let desk = Desk::new(&sleeper, OTHER, groups.as_ref());
    let before = (sleeper.state(), groups.as_ref().map(Groups::state));
    let refused = |name: &str, capability: &str, words: &[&str]| {
        let rights = without(capability);
        desk.refused(name, &rights.each_ref().map(String::as_str), words);
    };
    for nic in ["F-CHAN", "F-RING", "F-RSS", "F-RPS"] {
        refused(nic, "net_admin", &["requires CAP_NET_ADMIN to set"]);
    }
    for process in ["F-AFF", "F-IONICE", "F-CPUSET", "F-MIGRATE"] {
        refused(process, "sys_nice", &["requires CAP_SYS_NICE"]);
    }
    for pages in ["F-CPUSET", "F-MIGRATE"] {
        refused(pages, "sys_ptrace", &["requires CAP_SYS_PTRACE to locate pages"]);
    }
    if let Some(groups) = &groups {
        groups.given_to(OTHER);
        for group in ["F-LIMIT", "F-FORCE-EMPTY", "F-CPUQUOTA", "F-IOMAX", "F-IORAISE"] {
            refused(group, "dac_override", &["is not writable", "root, or the owner of the cgroup's files"]);
        }
    }
    assert_eq!((sleeper.state(), groups.as_ref().map(Groups::state)), before);
}

/// What a fix says it takes is enough.
#[test]
fn nothing_more_is_needed_than_is_named() {
    if !is_root() {
        return;
    }
    let sleeper = Sleeper::of(OTHER);
    let applied = |desk: &Desk, name: &str, rights: &[&str], more: &[&str]| {
        let before = sleeper.state();
        let output = desk.apply(name, rights, more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{name} {rights:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
        let undone = lesser(rights, &["undo"], &desk.state());
        assert!(undone.status.success(), "{name}: {}", String::from_utf8_lossy(&undone.stderr));
        assert_eq!(sleeper.state(), before);
    };
    let alone = ["--bounding-set=-all,+sys_nice", "--inh-caps=-all"];
    let desk = Desk::new(&sleeper, OTHER, None);
    applied(&desk, "F-AFF", &alone, &["--set", "cpus=0"]);
    applied(&desk, "F-IONICE", &alone, &[]);
    // One's own process, and a group that was given away, take nothing.
    let own = Desk::new(&sleeper, OTHER, None);
    applied(&own, "F-AFF", &NOBODY, &["--set", "cpus=0"]);
    applied(&own, "F-IONICE", &NOBODY, &[]);
    if let Some(groups) = Groups::new("owner") {
        groups.given_to(OTHER);
        let delegated = Desk::new(&sleeper, OTHER, Some(&groups));
        let before = groups.state();
        applied(&delegated, "F-IOMAX", &NOBODY, &[]);
        applied(&delegated, "F-IORAISE", &NOBODY, &[]);
        applied(&delegated, "F-LIMIT", &NOBODY, &[]);
        assert_eq!(groups.state(), before);
    }
}
