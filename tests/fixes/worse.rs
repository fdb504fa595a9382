//! What makes things worse by the application's own number: undone by itself, or kept where that was asked for.

use super::everywhere::fix;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the group may use of a CPU.
const QUOTA: &str = "20000";

/// A control group of ours that wants more CPU than its quota allows.
pub(super) struct Held {
    group: PathBuf,
    quota: PathBuf,
    pub(super) before: String,
    burner: Child,
}

impl Held {
    fn new(name: &str) -> Option<Self> {
        Self::running(name, "echo $$ > \"$0\"; while :; do :; done", Path::new(""))
    }

    /// A shell script in it, which gets the list of its processes and a file. None where this user makes no control groups.
    pub(super) fn running(name: &str, script: &str, file: &Path) -> Option<Self> {
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let (above, limit, value) = if v1.join("cpu.cfs_quota_us").exists() || v1.join("cpu.shares").exists() {
            (v1, "cpu.cfs_quota_us", QUOTA.to_owned())
        } else {
            (Path::new("/sys/fs/cgroup"), "cpu.max", format!("{QUOTA} 100000"))
        };
        let group = above.join(format!("topotop-{name}-{}", std::process::id()));
        let quota = group.join(limit);
        if std::fs::create_dir(&group).is_err() || std::fs::write(&quota, &value).is_err() {
            let _ = std::fs::remove_dir(&group);
            crate::common::not_tested("no control group with a quota can be made here");
            return None;
        }
        let burner = Command::new("sh")
            .args(["-c", script])
            .arg(group.join("cgroup.procs"))
            .arg(file)
            .stdin(Stdio::null())
            .spawn()
            .expect("a shell");
        Some(Self { group, quota, before: value, burner })
    }

    pub(super) fn quota(&self) -> String {
        std::fs::read_to_string(&self.quota).expect("a quota").trim().to_owned()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.burner.kill();
        let _ = self.burner.wait();
        for _ in 0..50 {
            if std::fs::remove_dir(&self.group).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// An application that tells how much it gets done, in a file.
struct Application {
    file: PathBuf,
    slow: std::sync::Arc<AtomicBool>,
    end: std::sync::Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Application {
    fn new(dir: &Path) -> Self {
        let (slow, end) = (std::sync::Arc::<AtomicBool>::default(), std::sync::Arc::<AtomicBool>::default());
        let file = dir.join("tps");
        let (theirs, is_slow, is_over) = (file.clone(), slow.clone(), end.clone());
        std::fs::write(&file, "1000\n").expect("written");
        let thread = std::thread::spawn(move || {
            for count in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let tps = if is_slow.load(Ordering::Relaxed) { 820 } else { 1000 } + count % 5;
                // Whoever reads it sees the old number or the new one.
                let next = theirs.with_extension("next");
                std::fs::write(&next, format!("{tps}\n"))
                    .and_then(|()| std::fs::rename(&next, &theirs))
                    .expect("written");
                std::thread::sleep(Duration::from_millis(150));
            }
        });
        Self { file, slow, end, thread: Some(thread) }
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Times that are tried on a machine where other load comes and goes: then nothing is decided, which is right.
pub(super) const TRIES: usize = 3;

/// Applies a fix that the application does not like, again where other load came meanwhile.
fn applied(name: &str, more: &[&str]) -> Option<(Held, PathBuf, tempfile::TempDir, std::process::Output)> {
    for _ in 1..TRIES {
        let tried = applied_once(name, more)?;
        let why = document(&tried.3)["why"].as_str().unwrap_or_default().to_owned();
        if !why.starts_with("another workload") && !why.starts_with("steal time") {
            return Some(tried);
        }
        let (held, state, ..) = tried;
        assert!(fix(&["undo"], &state).status.success());
        assert_eq!(held.quota(), held.before);
    }
    applied_once(name, more)
}

/// Applies it; its quota while it was in force, and afterwards, and what was said.
fn applied_once(name: &str, more: &[&str]) -> Option<(Held, PathBuf, tempfile::TempDir, std::process::Output)> {
    let held = Held::new(name)?;
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("state");
    let application = Application::new(dir.path());
    let id = topotop_model::fix::id("CPU-05", &subject(&held), "F-CPUQUOTA");
    let metric = format!("tps=file:{}", application.file.display());
    let quick = ["--for", "15s", "--interval", "300ms", "--yes", "--set", "cores=0.22", "--metric", &metric];
    let raised = std::thread::scope(|scope| {
        let (limit, slow) = (held.quota.clone(), application.slow.clone());
        let before = held.quota();
        let watch = scope.spawn(move || {
            for _ in 0..600 {
                let now = std::fs::read_to_string(&limit).unwrap_or_default();
                if now.trim() != before {
                    slow.store(true, Ordering::Relaxed);
                    return now.trim().to_owned();
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            before
        });
        let output = fix(&[&["apply", &id, "--format", "json"], &quick[..], more].concat(), &state);
        (watch.join().expect("watched"), output)
    });
    let (was, output) = raised;
    assert!(was.starts_with("22000"), "{was}: {}", String::from_utf8_lossy(&output.stderr));
    Some((held, state, dir, output))
}

pub(super) fn subject(held: &Held) -> topotop_model::rules::Subject {
    let name = held.group.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    topotop_model::rules::Subject::Cgroup(format!("/{name}").into())
}

pub(super) fn document(output: &std::process::Output) -> Value {
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said()))
}

#[test]
fn what_makes_it_worse_is_taken_back_by_itself() {
    let Some((held, state, _dir, output)) = applied("worse", &[]) else { return };
    let done = document(&output);
    assert_eq!((output.status.code(), &done["verdict"]), (Some(1), &Value::from("worse")), "{done}");
    assert_eq!((&done["state"], &done["undone"]), (&Value::from("applied"), &Value::from(true)), "{done}");
    assert_eq!(held.quota(), held.before);
    let journal = document(&fix(&["journal", "--format", "json"], &state));
    assert_eq!((&journal[0]["state"], &journal[0]["verdict"]), (&Value::from("reverted"), &Value::from("worse")));
    // The metric of the application decided it.
    let load = done["table"].as_array().into_iter().flatten().find(|row| row["role"] == "load").expect("a load");
    assert!(load["subject"].as_str().is_some_and(|subject| subject.contains("tps")), "{done}");
}

#[test]
fn what_makes_it_worse_stays_where_that_is_asked_for() {
    let Some((held, state, _dir, output)) = applied("kept", &["--undo-if-worse=false"]) else { return };
    let done = document(&output);
    assert_eq!((output.status.code(), &done["verdict"]), (Some(1), &Value::from("worse")), "{done}");
    assert_eq!(done["undone"], Value::Null, "{done}");
    assert!(held.quota().starts_with("22000"), "{}", held.quota());
    let undone = fix(&["undo"], &state);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(held.quota(), held.before);
}
