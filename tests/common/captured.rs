//! Captured machines as samples, where they lie beside the project.

use super::series::Series;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use topotop_collectors::{Demand, Options, Root, Sampler};

/// A captured machine.
pub(crate) struct Captured {
    /// What its file is called.
    pub(crate) name: String,
    /// It going on.
    pub(crate) series: Series,
}

/// All of them; nothing, and a line that says so, where there are none. They are read once for all tests.
pub(crate) fn all() -> &'static [Captured] {
    static ALL: OnceLock<Vec<Captured>> = OnceLock::new();
    ALL.get_or_init(|| crate::machines::folder().map(|folder| read(&folder)).unwrap_or_default())
}

/// Unpacks each archive into a directory of its name, and the later sample of a machine that has two into `t1` beside.
const UNPACK: &str = r#"
import os, shutil, sys, tarfile, subprocess
folder, out = sys.argv[1:]
for name in sorted(os.listdir(os.path.join(folder, "roots"))):
    if name.endswith(".tar.xz"):
        to = os.path.join(out, name[:-len(".tar.xz")])
        with tarfile.open(os.path.join(folder, "roots", name)) as tar: tar.extractall(to, filter="tar")
"#;

fn read(folder: &Path) -> Vec<Captured> {
    let out = tempfile::tempdir().expect("a temporary folder");
    let run = Command::new("python3").args(["-c", UNPACK]).arg(folder).arg(out.path()).output().expect("python3 runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let mut found: Vec<Captured> = listed(out.path())
        .into_iter()
        .map(|dir| Captured { name: name(&dir), series: Series::of_one(&sampler(&top(&dir)).sample()) })
        .collect();
    let guest = folder.join("guest");
    for archive in listed(&guest).iter().filter(|path| name(path).ends_with(".tar.zst")) {
        let to = out.path().join(name(archive));
        let file = std::fs::File::open(archive).expect("an archive");
        let tar = zstd::Decoder::new(file).expect("zstd");
        tar::Archive::new(tar).unpack(&to).expect("a tree");
        found.extend(two(&to).map(|series| Captured { name: name(archive), series }));
    }
    found
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn listed(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The directory that proc and sys are in.
fn top(dir: &Path) -> PathBuf {
    match listed(dir).as_slice() {
        [only] if !["proc", "sys", "cgroup"].contains(&&*name(only)) => only.clone(),
        _ => dir.to_owned(),
    }
}

/// Two samples of a tree `t0` and what had changed in `t1`, one after the other below one root.
fn two(dir: &Path) -> Option<Series> {
    let (first, second) = (dir.join("t0"), dir.join("t1"));
    let seconds = uptime(&second)? - uptime(&first)?;
    let mut sampler = sampler(&first);
    let before = sampler.sample();
    replace(&second, &first);
    sampler.demand(Demand { complete: true, process: None });
    Some(Series::of_two(&before, &sampler.sample(), seconds))
}

/// Writes files over those of the same name, whose descriptors may be kept.
fn replace(from: &Path, to: &Path) {
    for path in listed(from) {
        let there = to.join(name(&path));
        if path.is_dir() && !path.is_symlink() {
            replace(&path, &there);
        } else if let Ok(bytes) = std::fs::read(&path) {
            let _ = std::fs::write(there, bytes);
        }
    }
}

fn uptime(dir: &Path) -> Option<f64> {
    std::fs::read_to_string(dir.join("proc/uptime")).ok()?.split_whitespace().next()?.parse().ok()
}

fn sampler(dir: &Path) -> Sampler {
    let mut sampler = Sampler::new(Root::at(dir).expect("a root"), &Options::default());
    sampler.demand(Demand { complete: true, process: None });
    sampler
}
