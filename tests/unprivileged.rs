//! Less than root on a whole machine: another user, hidden processes, a container's view, files that vanish.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
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
    let output: Output = Command::new("sh").args(["-c", line, "sh"]).arg(program).output().expect("sh runs");
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

#[test]
fn hidden_processes_leave_the_rest_whole() {
    let mount = "mount -t proc -o hidepid=2 proc /proc";
    let needs = format!("unshare -m sh -c '{mount} && {OTHER} true'");
    let line = format!("unshare -m sh -c '{mount} && exec {OTHER} \"$1\" {SNAPSHOT}' sh \"$1\"");
    let Some(json) = run(&needs, &line) else { return };
    let pids = json["processes"].as_array().map_or(0, Vec::len);
    assert!(pids < 5, "{pids} processes are seen");
    assert!(json["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()));
}

#[test]
fn a_container_like_view_works() {
    let inside = "unshare --user --map-root-user --pid --fork --mount-proc --net --cgroup";
    let Some(json) = run(&format!("{inside} true"), &format!("{inside} \"$1\" {SNAPSHOT}")) else { return };
    assert!(json["cpus"].as_array().is_some_and(|cpus| !cpus.is_empty()));
    assert_eq!(json["processes"].as_array().map(Vec::len), Some(1), "only itself is in its pid namespace");
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
