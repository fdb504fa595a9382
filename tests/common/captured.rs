//! Captured machines as samples: the project's own and those beside the project.

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

/// All of them, read once for all tests.
pub(crate) fn all() -> &'static [Captured] {
    static ALL: OnceLock<Vec<Captured>> = OnceLock::new();
    ALL.get_or_init(|| archives().iter().filter_map(|archive| read(archive)).collect())
}

/// Archives of this project's own captures, then those beside the project (`TOPOTOP_MACHINES`) where there are any.
pub(crate) fn archives() -> Vec<PathBuf> {
    let beside =
        crate::machines::folder().into_iter().flat_map(|folder| ["roots", "guest"].map(|name| folder.join(name)));
    let folders = std::iter::once(OWN.into()).chain(beside);
    folders.flat_map(|folder: PathBuf| listed(&folder)).filter(|path| name(path).contains(".tar.")).collect()
}

/// The captures of this project: `tests/data/machines/README.md` says of what.
pub(crate) const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/machines");

/// The files of an archive, in memory where there is room: thousands of small files take a disk minutes.
pub(crate) fn unpacked(archive: &Path) -> tempfile::TempDir {
    let unpack = |dir: &Path| {
        if archive.extension().is_some_and(|end| end == "zst") {
            let file = std::fs::File::open(archive).expect("an archive");
            return tar::Archive::new(zstd::Decoder::new(file).expect("a frame")).unpack(dir).is_ok();
        }
        let mut tar = Command::new("tar");
        tar.arg("-xf").arg(archive).arg("-C").arg(dir).stderr(std::process::Stdio::null());
        tar.status().is_ok_and(|status| status.success())
    };
    let places = [tempfile::tempdir_in("/dev/shm"), tempfile::tempdir()];
    let dir = places.into_iter().filter_map(Result::ok).find(|dir| unpack(dir.path()));
    dir.unwrap_or_else(|| panic!("{} cannot be unpacked", archive.display()))
}

/// A machine of two samples as a measured one, of one sample as it was since its boot.
fn read(archive: &Path) -> Option<Captured> {
    let dir = unpacked(archive);
    let name = name(archive).split(".tar.").next().unwrap_or_default().to_owned();
    let top = top(dir.path());
    let pairs = [(top.clone(), top.join("t1")), (dir.path().join("t0"), dir.path().join("t1"))];
    if let Some((first, second)) =
        pairs.iter().find(|(first, second)| [first, second].iter().all(|at| at.join("proc").is_dir()))
    {
        return two(first, second).map(|series| Captured { name, measured: true, series });
    }
    let is_root = top.join("proc").is_dir() || top.join("sys").is_dir();
    is_root.then(|| Captured { name, measured: false, series: Series::of_one(&sampler(&top).sample()) })
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
pub(crate) fn top(dir: &Path) -> PathBuf {
    match listed(dir).as_slice() {
        [only] if !["proc", "sys", "cgroup"].contains(&&*name(only)) => only.clone(),
        _ => dir.to_owned(),
    }
}

/// Two samples of a tree and what had changed in the second, one after the other below one root.
fn two(first: &Path, second: &Path) -> Option<Series> {
    let seconds = uptime(second)? - uptime(first)?;
    let mut sampler = sampler(first);
    let before = sampler.sample();
    replace(second, first);
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
