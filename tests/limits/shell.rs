//! The steps of a scenario: commands in a shell, in a folder and groups of its own, of which nothing is left.

use crate::scenario::{Scenario, folder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Set by a signal that ends this process.
static STOPPED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Lets signals end it in order, so that nothing is left.
pub(crate) fn end_with_signals() -> Result<(), String> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&STOPPED)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// True after such a signal.
pub(crate) fn is_stopped() -> bool {
    STOPPED.load(Ordering::Relaxed)
}

/// A run that was killed left its programs, which would be part of every load.
pub(crate) fn refuse_left_overs() -> Result<(), String> {
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        if variables.any(|variable| variable.starts_with(b"TREE=topotop-limits-")) {
            return Err(format!(
                "process {} is left from a run that was killed: end it first",
                entry.file_name().display()
            ));
        }
    }
    Ok(())
}

/// A scenario's folder, groups and processes.
pub(crate) struct Shell {
    folder: tempfile::TempDir,
    cache: PathBuf,
    tree: String,
    define: String,
    clean: String,
}

/// Installs what scenarios use, where a package manager can; Debian starts no service of it.
pub(crate) fn install(scenarios: &[Scenario]) -> Result<(), String> {
    let packages: BTreeSet<&str> = scenarios.iter().flat_map(|one| &one.packages).map(String::as_str).collect();
    let missing: Vec<&str> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    println!("limits: installing {missing:?}");
    let policy = Path::new("/usr/sbin/policy-rc.d");
    let is_ours = !policy.exists() && fs::write(policy, "#!/bin/sh\nexit 101\n").is_ok() && open(policy).is_ok();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/packages.sh");
    let status = Command::new("sh").arg(script).args(&missing).status();
    if is_ours {
        fs::remove_file(policy).map_err(|error| format!("{}: {error}", policy.display()))?;
    }
    status.map_err(|error| format!("packages.sh: {error}"))?;
    match missing.iter().find(|package| !is_installed(package)) {
        Some(package) => Err(format!("{package} is not installed")),
        None => Ok(()),
    }
}

fn is_installed(package: &str) -> bool {
    let output = Command::new("dpkg-query").args(["-W", "-f", "${Status}", package]).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("ok installed"))
}

impl Shell {
    pub(crate) fn new(scenario: &Scenario, cache: &Path) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("topotop-limits-").tempdir();
        let folder = folder.map_err(|error| format!("a temporary folder: {error}"))?;
        open(folder.path())?;
        Ok(Self {
            folder,
            cache: cache.to_owned(),
            tree: format!("topotop-limits-{}", std::process::id()),
            define: scenario.define.clone(),
            clean: scenario.clean.clone(),
        })
    }

    /// Output of programs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// What `check` prints.
    pub(crate) fn output(&self) -> PathBuf {
        self.folder.path().join("check")
    }

    /// Runs a step to its end; its output, or why it failed.
    pub(crate) fn run(&self, step: &str) -> Result<String, String> {
        let script = format!(". {}/lib.sh\n{}\n{step}", folder().display(), self.define);
        let errors = self.folder.path().join("errors");
        let file = fs::File::create(&errors).map_err(|error| error.to_string())?;
        let output = Command::new("bash")
            .args(["-c", &script])
            .env("DIR", self.folder.path())
            .env("CACHE", &self.cache)
            .env("TREE", &self.tree)
            .env("HERE", folder())
            .stdin(Stdio::null())
            .stderr(file)
            .output()
            .map_err(|error| format!("bash: {error}"))?;
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(out);
        }
        let errors = fs::read_to_string(&errors).unwrap_or_default();
        let last: Vec<&str> = errors.lines().rev().take(3).collect();
        Err(format!("`{}` ended with {}: {}", step.trim(), output.status, last.join(" | ")))
    }

    /// The end of what programs printed: why a load did not start.
    pub(crate) fn last_words(&self) -> String {
        let logs = fs::read_dir(self.logs()).into_iter().flatten().flatten();
        let words = logs.filter_map(|entry| {
            let text = fs::read_to_string(entry.path()).ok()?;
            let last = text.lines().rev().find(|line| !line.trim().is_empty())?.to_owned();
            Some(format!("{}: {last}", entry.file_name().display()))
        });
        words.collect::<Vec<_>>().join(" | ")
    }
}

/// Other users (a database's) go through a folder, anybody runs a script.
pub(crate) fn open(folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", folder.display()))
}

impl Drop for Shell {
    fn drop(&mut self) {
        if let Err(why) = self.run("finish") {
            println!("limits: at the end: {why}");
        }
        end_all();
        if !self.clean.is_empty()
            && let Err(why) = self.run(&self.clean)
        {
            println!("limits: at the end: {why}");
        }
        let root = Path::new("/sys/fs/cgroup");
        let hierarchies = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
        for hierarchy in hierarchies.chain([root.to_owned()]) {
            let tree = hierarchy.join(&self.tree);
            let end = Instant::now() + Duration::from_secs(2);
            while tree.exists() && !remove(&tree) && Instant::now() < end {
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// Removes a group and those in it.
fn remove(group: &Path) -> bool {
    for child in fs::read_dir(group).into_iter().flatten().flatten() {
        if child.path().is_dir() {
            remove(&child.path());
        }
    }
    fs::remove_dir(group).is_ok()
}

/// Ends all that came from this process: whoever lost its parent has this one for it.
fn end_all() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
        let end = Instant::now() + Duration::from_millis(1500);
        while Instant::now() < end {
            while let Ok(Some(_)) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {}
            let left = descendants();
            if left.is_empty() {
                return;
            }
            for pid in left {
                let _ = rustix::process::kill_process(pid, signal);
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn descendants() -> Vec<rustix::process::Pid> {
    let own = std::process::id();
    let mut pairs = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        let mut fields = after.split(' ');
        let is_gone = fields.next() == Some("Z");
        if let Some(parent) = fields.next().and_then(|field| field.parse::<u32>().ok())
            && !is_gone
        {
            pairs.push((pid, parent));
        }
    }
    let mut found = vec![own];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(pairs.iter().filter(|pair| pair.1 == parent).map(|pair| pair.0));
        at += 1;
    }
    let pids = found.into_iter().skip(1).filter_map(|pid| i32::try_from(pid).ok());
    pids.filter_map(rustix::process::Pid::from_raw).collect()
}
