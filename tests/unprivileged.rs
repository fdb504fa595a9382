//! Less than root on a whole machine: another user, hidden processes, a container's view, files that vanish.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use topotop_collectors::{Options, Root, Sampler};

/// A copy of the program where every user can run it.
fn program() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::Builder::new().prefix("topotop").tempdir_in("/tmp").expect("a temporary folder");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = dir.path().join("topotop");
    fs::copy(env!("CARGO_BIN_EXE_topotop"), &path).expect("a copy of the program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    (dir, path)
}

/// Runs a shell line with `$1` set to the program; none where this machine does not let us.
fn run(needs: &str, line: &str) -> Option<serde_json::Value> {
    let able = Command::new("sh").args(["-c", needs]).output().is_ok_and(|output| output.status.success());
    if !able {
        crate::common::not_tested(&format!("this machine does not allow `{needs}`"));
        return None;
    }
    let (_dir, program) = program();
    let shell = || -> Output { Command::new("sh").args(["-c", line, "sh"]).arg(&program).output().expect("sh runs") };
    // What another test starts meanwhile has the copy open for writing until it executes its own program.
    let is_busy = |output: &Output| String::from_utf8_lossy(&output.stderr).contains("Text file busy");
    let mut output = shell();
    for _ in 0..10 {
        if !is_busy(&output) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        output = shell();
    }
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

const SNAPSHOT: &str = "snapshot --format json --interval 200ms";
const OTHER: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

#[test]
fn another_user_sees_what_it_may_and_is_told_the_rest() {
    let Some(json) = run(&format!("{OTHER} true"), &format!("{OTHER} \"$1\" {SNAPSHOT}")) else { return };
    let gaps = json["gaps"].as_array().cloned().unwrap_or_default();
    let denied: Vec<_> = gaps.iter().filter(|gap| gap["reason"] == "permission_denied").collect();
    assert!(!denied.is_empty(), "{gaps:?}");
    for gap in denied {
        assert!(gap["needs"].as_str().is_some_and(|needs| !needs.is_empty()), "nothing said would fill {gap}");
    }
    assert!(json["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()));
    assert!(json["processes"].as_array().is_some_and(|processes| !processes.is_empty()));
}

/// Every verb in a folder of root's with a recording that everybody reads: status, and what its one line of standard error
/// says. None where it has nothing to say.
const VERBS: &[(&str, &[i32], Option<&str>)] = &[
    ("", &[2], Some("not a terminal")),
    ("snapshot --interval 200ms", &[0], None),
    ("snapshot --from d.rec --format svg", &[0], None),
    ("snapshot --interval 200ms -o a.svg", &[2], Some("a.svg: Permission denied")),
    ("record -o a.rec --for 1s", &[2], Some("a.rec: Permission denied")),
    ("record -o - --for 500ms --interval 100ms", &[0], None),
    ("record -o a.rec -- true", &[125], Some("a.rec: Permission denied")),
    ("record info d.rec", &[0], None),
    ("record cut d.rec@0s-1s -o a.rec", &[2], Some("a.rec: Permission denied")),
    ("record merge d.rec d.rec -o a.rec", &[2], Some("a.rec: Permission denied")),
    ("mark here", &[2], Some("no recording by this user")),
    ("replay d.rec", &[2], Some("not a terminal")),
    ("replay d.rec --format jsonl", &[0], None),
    ("capture a.tar.zst", &[2], Some("a.tar.zst: Permission denied")),
    ("capture -", &[0], Some("missing or unreadable")),
    ("demo", &[2], Some("not a terminal")),
    ("demo -o -", &[0], None),
    ("demo -o a.rec", &[2], Some("a.rec: Permission denied")),
    ("diff d.rec d.rec", &[0], None),
    ("diff d.rec d.rec -o a.html", &[2], Some("a.html: Permission denied")),
    ("check --for 1s --interval 200ms", &[0, 1, 2], None),
    ("check --from d.rec", &[0, 1, 2], None),
    ("preflight --for 1s", &[0, 1, 2], None),
    ("doctor --for 1s", &[0], None),
    ("serve --listen 127.0.0.1:80", &[2], Some("127.0.0.1:80: Permission denied")),
    ("serve --socket a.sock", &[2], Some("a.sock: Permission denied")),
    ("serve --listen 127.0.0.1:0 --token-file secret", &[2], Some("secret: Permission denied")),
    ("plan numa --instances 2 -- /bin/true", &[0], None),
    ("rules", &[0], None),
    ("fix list --for 1s", &[0], None),
    ("fix show NIC-01/nic%3Aabsent/F-CHAN --for 1s", &[1], Some("NIC-01 was not detected")),
    ("fix apply NIC-01/nic%3Aabsent/F-CHAN --for 1s --yes", &[1], Some("NIC-01 was not detected")),
    ("fix undo", &[1], Some("no fix is in effect")),
    ("fix undo --state-dir secret-folder", &[2], Some("secret-folder")),
    ("fix journal", &[0], None),
    ("fix journal --state-dir secret-folder", &[1, 2], Some("secret-folder")),
    ("fix confirm 1", &[1], Some("not in the journal")),
    ("report d.rec", &[0], None),
    ("report d.rec -o a.html", &[2], Some("a.html: Permission denied")),
    ("export d.rec -s cpu_times", &[0], None),
    ("export d.rec -o folder", &[2], Some("folder: Permission denied")),
    ("completions bash", &[0], None),
    ("man", &[0], None),
    ("--help", &[0], None),
    ("--print-config", &[0], None),
    ("rules --config secret", &[2], Some("secret: Permission denied")),
    ("record info secret", &[2], Some("secret: Permission denied")),
];

#[test]
fn every_verb_works_or_says_in_a_line_what_is_missing() {
    if !Command::new("sh").args(["-c", &format!("{OTHER} true")]).status().is_ok_and(|status| status.success()) {
        crate::common::not_tested("only root becomes somebody else");
        return;
    }
    let (dir, program) = program();
    let place = dir.path().join("place");
    fs::create_dir_all(place.join("secret-folder")).expect("made");
    let made = Command::new(&program).args(["demo", "-o"]).arg(place.join("d.rec")).status().expect("it runs");
    assert!(made.success());
    fs::write(place.join("secret"), "0123456789abcdef").expect("written");
    let modes = [("", 0o755), ("d.rec", 0o644), ("secret", 0o600), ("secret-folder", 0o700)];
    for (name, bits) in modes {
        fs::set_permissions(place.join(name), fs::Permissions::from_mode(bits)).expect("permissions");
    }
    for (line, statuses, expected) in VERBS {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60"]).args(OTHER.split(' ')).arg(&program).args(line.split_whitespace());
        command.env_clear().envs([("HOME", "/nonexistent"), ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")]);
        let output = command.current_dir(&place).stdin(std::process::Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code().is_some_and(|code| statuses.contains(&code)),
            "{line}: {:?} {said}",
            output.status
        );
        assert_eq!(said.lines().count(), usize::from(expected.is_some()), "{line}: {said}");
        assert!(said.contains(expected.unwrap_or_default()) && !said.contains("os error"), "{line}: {said}");
        assert!(expected.is_some() || !output.stdout.is_empty(), "{line}: nothing");
    }
    assert_eq!(fs::read_dir(&place).expect("read").count(), 3, "nothing was written");
}

#[test]
fn hidden_processes_leave_the_rest_whole() {
    let mount = "mount -t proc -o hidepid=2 proc /proc";
    let needs = format!("unshare -m sh -c '{mount} && {OTHER} true'");
    let line = format!("unshare -m sh -c '{mount} && exec {OTHER} \"$1\" {SNAPSHOT}' sh \"$1\"");
    let Some(json) = run(&needs, &line) else { return };
    // Other tests run as the same user: its processes are seen, and nobody else's.
    let processes = json["processes"].as_array().cloned().unwrap_or_default();
    let others: Vec<_> = processes.iter().filter(|process| process["uid"] != 65534).collect();
    assert!(!processes.is_empty() && others.is_empty(), "{others:?}");
    assert!(json["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()));
}

#[test]
fn a_container_like_view_works() {
    let inside = "unshare --user --map-root-user --pid --fork --mount-proc --net --cgroup";
    let Some(json) = run(&format!("{inside} true"), &format!("{inside} \"$1\" {SNAPSHOT}")) else { return };
    assert!(json["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()));
    let processes = json["processes"].as_array().expect("processes");
    let names: Vec<&str> = processes.iter().filter_map(|process| process["comm"].as_str()).collect();
    assert_eq!(names, ["topotop", "topotop-output"], "only itself is in its pid namespace");
}

#[test]
fn processes_that_come_and_go_cost_nothing_else() {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = Command::new("true").status();
            }
        });
        let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
        for _ in 0..150 {
            let snapshot = sampler.sample();
            assert!(snapshot.cpu_times.value().is_some());
            let processes = snapshot.processes.value().expect("processes");
            let own = u64::from(std::process::id());
            let mut pids: Vec<_> =
                topotop_model::Table::rows(processes).iter().filter_map(|slot| processes.pid.value(slot)).collect();
            assert!(pids.contains(&own));
            pids.sort_unstable();
            let all = pids.len();
            pids.dedup();
            assert_eq!(pids.len(), all, "a pid is there twice");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        stop.store(true, Ordering::Relaxed);
    });
}
