//! The exact files, directories and links that the collectors read, as a tree that `--root` accepts.
//!
//! A sampler runs over a root that remembers every path; then each is looked at again and handed on, one entry at a
//! time, so that a capture of any size needs little memory. What has no file goes below `topotop/`.

mod names;
mod plan;

use crate::live::{File, Kernel, capture_nics, capture_space, space_path};
use crate::root::{SAMPLES, SECOND};
use crate::sampler::stamp;
use crate::worker::Worker;
use crate::{Demand, Options, Root, Sampler};
use names::Names;
use plan::{Plan, What};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use topotop_model::{Snapshot, Stamp};

/// How long the kernel may take to answer what has no file.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a capture holds.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time to the second sample; without one there is only one, and no rates.
    pub second_after: Option<Duration>,
    /// Replaces names of hosts, processes, control groups and addresses by others, the same by the same.
    pub anonymise: bool,
}

/// One entry of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Directory,
    /// A symbolic link and its target.
    Link(PathBuf),
    /// A file and its bytes.
    File(Vec<u8>),
}

/// What was captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that were written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that were gone or refused at the second reading.
    pub lost: u64,
}

/// Where entries go: parents come before what is in them.
pub type Put<'a> = &'a mut dyn FnMut(&Path, &Entry) -> io::Result<()>;

/// Captures a machine: this one if `root` is live.
pub fn capture(root: Root, settings: Settings, put: Put<'_>) -> io::Result<Report> {
    let live = root.is_live();
    let mut sampler = Sampler::new(root.traced(), &Options::default());
    sampler.demand(Demand { complete: true, process: None });
    let snapshot = sampler.sample();
    let mut report = Report::default();
    let mut index = String::new();
    let names = settings.anonymise.then(Names::default);
    let first = sample(&sampler, None, names.as_ref(), &mut report, put)?;
    index_line(&mut index, ".", &first);
    if let Some(interval) = settings.second_after {
        std::thread::sleep(interval);
        // For processes that are new: their files are to be known.
        sampler.sample();
        let second = sample(&sampler, Some(Path::new(SECOND)), names.as_ref(), &mut report, put)?;
        index_line(&mut index, SECOND, &second);
    }
    let mut extra = if live { live_facts(&snapshot, names.as_ref()) } else { Vec::new() };
    extra.extend(crate::host::capture(sampler.root()));
    extra.push((SAMPLES.into(), index.into_bytes()));
    extra.sort();
    directories(&extra, put)?;
    for (path, bytes) in extra {
        report.files += 1;
        report.bytes += bytes.len() as u64;
        put(&path, &Entry::File(bytes))?;
    }
    Ok(report)
}

fn index_line(index: &mut String, directory: &str, stamp: &Stamp) {
    // Writing to a String cannot fail.
    let _ = std::fmt::Write::write_fmt(
        index,
        format_args!("{directory} {} {} {}\n", stamp.wall_ns, stamp.mono_ns, stamp.boot_ns),
    );
}

/// Passes on everything read up to now; returns when that began.
fn sample(
    sampler: &Sampler,
    below: Option<&Path>,
    names: Option<&Names>,
    report: &mut Report,
    put: Put<'_>,
) -> io::Result<Stamp> {
    let root = sampler.root();
    let plan = Plan::new(root, &root.trace());
    let begun = stamp(0);
    report.lost += plan.lost;
    let mut buf = Vec::new();
    if let Some(below) = below {
        put(below, &Entry::Directory)?;
    }
    for (path, what) in &plan.entries {
        // Only these change: the rest is there once.
        if below.is_some() && !(path.starts_with("proc") || path.starts_with("sys")) {
            continue;
        }
        if names.is_some() && !names::is_known(path) {
            continue;
        }
        let Some(entry) = entry(root, (path, what), names, &mut buf) else {
            report.lost += 1;
            continue;
        };
        let place = names.map_or_else(|| path.clone(), |names| names.place(path, entry == Entry::Directory));
        if let Entry::File(bytes) = &entry {
            report.files += 1;
            report.bytes += bytes.len() as u64;
        }
        match below {
            Some(below) => put(&below.join(place), &entry)?,
            None => put(&place, &entry)?,
        }
        if let Entry::File(bytes) = entry {
            buf = bytes;
        }
    }
    Ok(begun)
}

/// What goes into the tree; nothing where it is gone or refused by now.
fn entry(root: &Root, (path, what): (&Path, &What), names: Option<&Names>, buf: &mut Vec<u8>) -> Option<Entry> {
    Some(match what {
        What::Directory => Entry::Directory,
        // Links below proc lead to programs and directories of processes.
        What::Link(target) if target.is_absolute() && path.starts_with("proc") => {
            Entry::Link(names.map_or_else(|| target.clone(), |names| names.target(target)))
        }
        What::Link(target) => Entry::Link(target.clone()),
        What::Named => Entry::File(Vec::new()),
        What::Bytes(bytes) => Entry::File(names.map_or_else(|| bytes.clone(), |names| names.contents(path, bytes))),
        What::File(source) => {
            root.read(source, buf).ok()?;
            Entry::File(match names {
                Some(names) => names.contents(path, buf),
                None => std::mem::take(buf),
            })
        }
    })
}

/// What the kernel answers: it may wait for locks and for file servers, so a worker asks and may be left behind.
fn live_facts(snapshot: &Snapshot, names: Option<&Names>) -> Vec<File> {
    let mut files = asked(snapshot, |snapshot| capture_nics(&Kernel, snapshot.nics.data()));
    let spaces = asked(snapshot, |snapshot| capture_space(&Kernel, snapshot.mounts.data()));
    let own = |mount: &str| names.map_or_else(|| mount.to_owned(), |names| names.mount_point(mount));
    files.extend(spaces.into_iter().map(|(mount, bytes)| (space_path(&own(&mount)).into(), bytes)));
    files
}

fn asked<T: Send + 'static>(snapshot: &Snapshot, job: fn(&Snapshot) -> Vec<T>) -> Vec<T> {
    let Ok(mut worker) = Worker::spawn("capture", move |snapshot: Snapshot| job(&snapshot)) else { return Vec::new() };
    worker.submit(snapshot.clone());
    worker.wait(PATIENCE).unwrap_or_default()
}

/// Hands on the directories above files.
fn directories(files: &[File], put: Put<'_>) -> io::Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for (path, _) in files {
        seen.extend(path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).map(Path::to_path_buf));
    }
    seen.iter().try_for_each(|path| put(path, &Entry::Directory))
}

#[cfg(test)]
mod tests {
    use super::{Entry, Settings, capture};
    use crate::{Demand, Options, Root, Sampler};
    use std::path::Path;
    use topotop_model::derive::Deriver;
    use topotop_model::{Snapshot, Window};

    fn written(root: Root, settings: Settings) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut put = |path: &Path, entry: &Entry| {
            let path = dir.path().join(path);
            match entry {
                Entry::Directory => std::fs::create_dir_all(path),
                Entry::Link(target) => std::os::unix::fs::symlink(target, path),
                Entry::File(bytes) => std::fs::write(path, bytes),
            }
        };
        capture(root, settings, &mut put).expect("captured");
        dir
    }

    fn sampled(root: Root) -> Snapshot {
        let mut sampler = Sampler::new(root, &Options::default());
        sampler.demand(Demand { complete: true, process: None });
        sampler.sample()
    }

    #[test]
    fn the_tree_says_what_the_machine_says() {
        let before = sampled(Root::live().expect("a root"));
        let dir = written(Root::live().expect("a root"), Settings { second_after: None, anonymise: false });
        let after = sampled(Root::at(dir.path()).expect("a root"));
        assert_eq!(after.cpu_topology.data(), before.cpu_topology.data());
        assert_eq!(after.node_topology.data(), before.node_topology.data());
        assert_eq!(after.domains.data(), before.domains.data());
        assert_eq!(after.pci_devices.data(), before.pci_devices.data());
        assert_eq!(after.sysctls.data(), before.sysctls.data());
        let (host, was) = (after.host.data(), before.host.data());
        for (now, then) in [
            (&host.name, &was.name),
            (&host.kernel, &was.kernel),
            (&host.arch, &was.arch),
            (&host.os, &was.os),
            (&host.cpu_model, &was.cpu_model),
            (&host.virtualization, &was.virtualization),
        ] {
            assert_eq!(now, then);
        }
        assert_eq!(host.in_container, was.in_container);
        assert_eq!(host.page_bytes, was.page_bytes);
        assert_eq!(after.nics.data().name, before.nics.data().name);
        assert_eq!(after.disks.data().name, before.disks.data().name);
        // What is captured is all that is read: a capture of the tree is the tree again.
        let copy = written(Root::at(dir.path()).expect("a root"), Settings { second_after: None, anonymise: false });
        let (once, twice) = (after, sampled(Root::at(copy.path()).expect("a root")));
        assert_eq!(once.cpu_times.data(), twice.cpu_times.data());
        assert_eq!(once.cpu_topology.data(), twice.cpu_topology.data());
        assert_eq!(once.irqs.data(), twice.irqs.data());
        assert_eq!(once.memory.data(), twice.memory.data());
    }

    const ID: &str = "1d3d308a7d48a27814a68bf33a44acf4441c9c02463ca0bc1cdfdc8c0b4a8496";

    /// A machine with a container of docker's, in a pod, that has a password in its environment.
    fn with_a_container() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        let put = |path: &str, text: &str| crate::testing::put(dir.path(), path, text);
        put("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        put("sys/fs/cgroup/cgroup.controllers", "cpu\n");
        put("sys/fs/cgroup/cgroup.procs", "");
        put(&format!("sys/fs/cgroup/system.slice/docker-{ID}.scope/cpu.stat"), "usage_usec 1\n");
        let config = r#"{"Config":{"Env":["PASSWORD=hunter2"]},"Name":"/shopfront"}"#;
        put(&format!("var/lib/docker/containers/{ID}/config.v2.json"), config);
        put("var/log/pods/shopns_shoppod-0_8a1c/x/0.log", "");
        put("secret", "hunter2");
        dir
    }

    fn everything(dir: &Path, into: &mut String) {
        for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
            let path = entry.path();
            into.push_str(&path.display().to_string());
            if entry.file_type().expect("a kind").is_dir() {
                everything(&path, into);
            } else {
                into.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()));
            }
        }
    }

    fn names_of_containers(snapshot: &Snapshot) -> Vec<String> {
        let table = snapshot.cgroups.data();
        let names = topotop_model::Table::rows(table).iter().filter_map(|slot| table.container_name.get(slot));
        names.map(ToString::to_string).collect()
    }

    #[test]
    fn a_container_is_captured_by_its_name_and_not_by_its_environment() {
        let dir = with_a_container();
        let root = || Root::at(dir.path()).expect("a root");
        assert_eq!(names_of_containers(&sampled(root())), ["shopfront"]);
        let copy = written(root(), Settings { second_after: None, anonymise: false });
        assert_eq!(names_of_containers(&sampled(Root::at(copy.path()).expect("a root"))), ["shopfront"]);
        let mut all = String::new();
        everything(copy.path(), &mut all);
        assert!(all.contains("shopfront") && !all.contains("hunter2"), "{all}");
        let copy = written(root(), Settings { second_after: None, anonymise: true });
        let mut all = String::new();
        everything(copy.path(), &mut all);
        assert!(!all.contains("shop") && !all.contains("hunter2") && all.contains("cpu.stat"), "{all}");
    }

    /// Whoever may write to a directory puts a link in place of a file once it was read.
    #[test]
    fn what_was_read_is_captured_and_not_what_has_its_name_by_then() {
        let dir = with_a_container();
        let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root").traced(), &Options::default());
        sampler.demand(Demand { complete: true, process: None });
        sampler.sample();
        let config = dir.path().join(format!("var/lib/docker/containers/{ID}/config.v2.json"));
        std::fs::remove_file(&config).expect("removed");
        std::os::unix::fs::symlink("/secret", &config).expect("linked");
        let (mut all, mut named) = (Vec::new(), false);
        let mut put = |path: &Path, entry: &Entry| {
            named |= path.ends_with("config.v2.json") && matches!(entry, Entry::File(bytes) if bytes.len() > 10);
            all.push(format!("{} {entry:?}", path.display()));
            Ok(())
        };
        super::sample(&sampler, None, None, &mut super::Report::default(), &mut put).expect("handed on");
        let secret = format!("{:?}", b"hunter2".to_vec());
        assert!(named && !all.iter().any(|line| line.starts_with("secret ") || line.contains(&secret)), "{all:?}");
    }

    #[test]
    fn two_samples_give_rates() {
        let machine = tempfile::tempdir().expect("a temporary directory");
        let stat = machine.path().join("proc/stat");
        std::fs::create_dir_all(machine.path().join("proc/7")).expect("made");
        std::fs::write(&stat, "cpu0 10 0 0 100\nctxt 5\n").expect("written");
        let process = |ticks: u32| {
            let text = format!(
                "7 (x) S 1 7 7 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 9 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 0 0 0\n"
            );
            std::fs::write(machine.path().join("proc/7/stat"), text)
        };
        process(100).expect("written");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut put = |path: &Path, entry: &Entry| {
            if path == Path::new(super::SECOND) {
                std::fs::write(&stat, "cpu0 60 0 0 150\nctxt 8\n")?;
                process(102)?;
            }
            match entry {
                Entry::Directory => std::fs::create_dir_all(dir.path().join(path)),
                Entry::Link(target) => std::os::unix::fs::symlink(target, dir.path().join(path)),
                Entry::File(bytes) => std::fs::write(dir.path().join(path), bytes),
            }
        };
        let settings = Settings { second_after: Some(std::time::Duration::from_millis(20)), anonymise: false };
        capture(Root::at(machine.path()).expect("a root"), settings, &mut put).expect("captured");
        let root = Root::at(dir.path()).expect("a root");
        let stamps = root.stamps().to_vec();
        assert_eq!(stamps.len(), 2);
        let mut sampler = Sampler::new(root, &Options::default());
        sampler.demand(Demand { complete: true, process: None });
        let mut window = Window::default();
        window.push(sampler.sample());
        window.push(sampler.sample());
        let frame = Deriver::default().frame(&window);
        assert_eq!(frame.stamp, *stamps.get(1).expect("two"), "the time of the capture, not of the reading");
        assert!(frame.interval_seconds.is_some_and(|seconds| (0.02..5.0).contains(&seconds)));
        assert_eq!(frame.cpu(0).and_then(topotop_model::frame::Cpu::busy), Some(0.5));
        let expected = frame.interval_seconds.map(|seconds| 0.02 / seconds);
        let cores = frame.process(7).and_then(|process| process.cpu_cores);
        assert!(cores.zip(expected).is_some_and(|(a, b)| (a - b).abs() < 1e-6), "{cores:?} instead of {expected:?}");
        assert_eq!(sampler.sample(), window.now, "there is no third one");
    }
}
