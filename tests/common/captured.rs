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
    /// True where it was sampled twice, so that its rates are its own.
    pub(crate) measured: bool,
    /// It going on.
    pub(crate) series: Series,
}

/// All of them; nothing, and a line that says so, where there are none. They are read once for all tests.
pub(crate) fn all() -> &'static [Captured] {
    static ALL: OnceLock<Vec<Captured>> = OnceLock::new();
    ALL.get_or_init(|| crate::machines::folder().map(|folder| read(&folder)).unwrap_or_default())
}

fn read(folder: &Path) -> Vec<Captured> {
    // Many small files: in memory where that can be had.
    let memory = Path::new("/dev/shm");
    let out = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let out = out.expect("a temporary folder");
    let archives = |place: &str| listed(&folder.join(place)).into_iter().filter(|path| name(path).contains(".tar."));
    let mut found = Vec::new();
    for archive in archives("roots").chain(archives("guest")) {
        let to = out.path().join(name(&archive));
        std::fs::create_dir(&to).expect("a directory");
        let tar = Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&to).status();
        assert!(tar.is_ok_and(|status| status.success()), "tar and xz unpack {}", archive.display());
        let name = name(&archive).split(".tar.").next().unwrap_or_default().to_owned();
        if to.join("t0/proc").is_dir() {
            found.extend(two(&to).map(|series| Captured { name, measured: true, series }));
        } else if archive.starts_with(folder.join("roots")) {
            found.push(Captured { name, measured: false, series: Series::of_one(&sampler(&top(&to)).sample()) });
        }
        std::fs::remove_dir_all(&to).expect("a removed directory");
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
