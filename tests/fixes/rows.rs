//! Actions on a process by command: CPUs and control groups of a child of this test's, undone, and after its end.

use super::everywhere::fix;
use serde_json::Value;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

/// A process that waits, ended with this.
struct Waits(Child);

impl Waits {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("a process"))
    }

    fn line(&self, file: &str, start: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/{file}", self.0.id())).expect("read");
        let line = text.lines().find(|line| line.contains(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.rsplit([':', '\t']).next().expect("a value").to_owned()
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.end();
    }
}

fn apply(id: &str, process: &Waits, set: &str, state: &Path) -> Output {
    let pid = process.0.id().to_string();
    let quick = ["--for", "1s", "--interval", "300ms", "--no-wait", "--yes", "--format", "json"];
    fix(&[&["apply", id, "--pid", &pid, "--set", set], &quick[..]].concat(), state)
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn journal(state: &Path) -> Value {
    let output = fix(&["journal", "--format", "json"], state);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(&output)))
}

#[test]
fn a_process_is_pinned_by_command_and_undone() {
    let dir = tempfile::tempdir().expect("a directory");
    let (state, process) = (dir.path().join("state"), Waits::new());
    let before = process.line("status", "Cpus_allowed_list:");
    let allowed = topotop_model::IdSet::parse_list(&before).expect("CPUs");
    let one = allowed.iter().next().expect("a CPU").to_string();
    if allowed.len() < 2 {
        return crate::common::not_tested("one CPU only");
    }
    let done = apply("F-PIN", &process, &format!("cpus={one}"), &state);
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(process.line("status", "Cpus_allowed_list:"), one);
    let undone = fix(&["undo"], &state);
    assert!(undone.status.success(), "{}", said(&undone));
    assert_eq!(process.line("status", "Cpus_allowed_list:"), before);
    // What it is not: a process, an action on one, CPUs.
    for (id, set) in [("F-CHAN", "combined=2"), ("F-NONE", "x=1"), ("F-PIN", "cpus=99999")] {
        let refused = apply(id, &process, set, &state);
        assert!(matches!(refused.status.code(), Some(1 | 2)), "{id}: {}", said(&refused));
    }
    assert_eq!(journal(&state).as_array().map(Vec::len), Some(1));
}

#[test]
fn nothing_is_left_to_restore_of_a_process_that_has_exited() {
    let dir = tempfile::tempdir().expect("a directory");
    let (state, mut process) = (dir.path().join("state"), Waits::new());
    let done = apply("F-NICE", &process, "nice=15", &state);
    assert!(done.status.success(), "{}", said(&done));
    process.end();
    let undone = fix(&["undo", "--format", "json"], &state);
    assert_eq!(undone.status.code(), Some(0), "{}", said(&undone));
    assert!(said(&undone).contains("nothing left to restore: the process has exited"), "{}", said(&undone));
    assert_eq!(journal(&state)[0]["state"], "undone");
    let again = fix(&["undo"], &state);
    assert_eq!(again.status.code(), Some(1), "{}", said(&again));
}

#[test]
fn a_process_goes_to_another_group_and_back() {
    let v1 = Path::new("/sys/fs/cgroup/cpu");
    let (above, controllers) = if v1.join("tasks").exists() { (v1, "cpu") } else { (Path::new("/sys/fs/cgroup"), "") };
    let name = format!("topotop-move-{}", std::process::id());
    let group: PathBuf = above.join(&name);
    if std::fs::create_dir(&group).is_err() {
        return crate::common::not_tested("no control group can be made here");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (state, process) = (dir.path().join("state"), Waits::new());
    let of = if controllers.is_empty() { "0::" } else { "cpu" };
    let member = || {
        let text = std::fs::read_to_string(format!("/proc/{}/cgroup", process.0.id())).expect("read");
        let own = |line: &&str| {
            line.starts_with(of) || line.split(':').nth(1).is_some_and(|names| names.split(',').any(|name| name == of))
        };
        text.lines().find(own).and_then(|line| line.splitn(3, ':').nth(2)).expect("a group").to_owned()
    };
    let before = member();
    let done = apply("F-CGMOVE", &process, &format!("group=/{name}"), &state);
    let there = member();
    let undone = fix(&["undo"], &state);
    let back = member();
    drop(process);
    let _ = std::fs::remove_dir(&group);
    assert!(done.status.success(), "{}", said(&done));
    assert!(undone.status.success(), "{}", said(&undone));
    assert_eq!((there, back), (format!("/{name}"), before));
}

/// A user with no rights, where this one may become it.
#[test]
fn a_user_changes_their_own_processes_only() {
    if !rustix::process::geteuid().is_root() {
        return crate::common::not_tested("only root becomes another user");
    }
    let dir = tempfile::tempdir_in("/tmp").expect("a directory");
    std::os::unix::fs::chown(dir.path(), Some(65534), Some(65534)).expect("given away");
    let topotop = dir.path().join("topotop");
    std::fs::copy(env!("CARGO_BIN_EXE_topotop"), &topotop).expect("copied");
    let run = |pid: u32, set: &str| {
        let pid = pid.to_string();
        let quick = ["--for", "1s", "--interval", "300ms", "--no-wait", "--yes", "--state-dir", "state"];
        let mut command = Command::new(&topotop);
        command.args(["fix", "apply", "F-NICE", "--pid", &pid, "--set", set]).args(quick).current_dir(dir.path());
        command.uid(65534).gid(65534).env("HOME", dir.path()).output().expect("the program runs")
    };
    let own = Waits(Command::new("sleep").arg("600").uid(65534).gid(65534).spawn().expect("a process"));
    let done = run(own.0.id(), "nice=15");
    assert!(done.status.success(), "{}", said(&done));
    assert_eq!(rustix::process::getpriority_process(rustix::process::Pid::from_raw(own.0.id() as i32)), Ok(15));
    let other = Waits::new();
    let refused = run(other.0.id(), "nice=15");
    assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
    assert!(said(&refused).contains("CAP_SYS_NICE"), "{}", said(&refused));
}
