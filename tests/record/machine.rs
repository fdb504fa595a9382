//! Machines that change while they are recorded, and names that are not to be recorded.

use super::{Background, Read, begun, place, read, run, text};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use topotop_model::{Column, Section, Snapshot, Table, Visit};

/// A name that nobody has.
const SECRET: &str = "zebrafish";

/// Every text of a snapshot, and of its gaps.
#[derive(Default)]
struct Texts(Vec<(&'static str, String)>);

impl Visit for Texts {
    fn section<T: Table>(&mut self, name: &'static str, section: &Arc<Section<T>>) {
        for index in 0..T::COLUMNS.len() {
            if let Some(Column::Text(column)) = section.data().column(index) {
                let rows = section.data().rows().iter();
                self.0.extend(rows.filter_map(|slot| Some((name, column.get(slot)?.to_string()))));
            }
        }
        self.0.extend(section.gaps.iter().map(|gap| (name, gap.path.to_string())));
    }
}

/// Sections in which a word stands.
fn reported(read: &Read, word: &str) -> Vec<&'static str> {
    let mut found: Vec<_> = texts_with(read, word).into_iter().map(|found| found.0).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Texts with a word, each once, with their sections.
fn texts_with(read: &Read, word: &str) -> Vec<(&'static str, String)> {
    let mut texts = Texts::default();
    read.samples.iter().for_each(|(_, snapshot)| snapshot.visit(&mut texts));
    let mut found: Vec<_> = texts.0.into_iter().filter(|(_, text)| text.contains(word)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// A control group that is removed when it is done with.
struct Group(Option<PathBuf>);

impl Group {
    fn new() -> Self {
        // Where v1 has the memory controller its groups are what is read.
        let hierarchy = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].into_iter().find(|dir| Path::new(dir).is_dir());
        let path = Path::new(hierarchy.unwrap_or("/sys/fs/cgroup")).join(format!("{SECRET}-{}", std::process::id()));
        let made = std::fs::create_dir(&path).is_ok();
        if !made {
            eprintln!("no control group: this machine does not allow to make {}", path.display());
        }
        Self(made.then_some(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_dir(path);
        }
    }
}

#[test]
fn no_planted_name_gets_into_an_anonymised_recording() {
    let (dir, path, shown) = place("a.rec");
    let program = dir.path().join(SECRET);
    std::fs::copy("/bin/sleep", &program).expect("a copy");
    let program = program.to_str().expect("a path");
    let group = Group::new();
    let bracket = |shown: &str, flags: &[&str]| {
        let arguments = [&["-o", shown, "--interval", "200ms"], flags, &["--", program, "1.5"]].concat();
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    };
    bracket(&shown, &["--anonymise"]);
    let hidden = read(&path);
    assert_eq!(texts_with(&hidden, SECRET), []);
    assert!(!format!("{:?}", hidden.events).contains(SECRET), "{:?}", hidden.events);
    let bytes = std::fs::read(&path).expect("a file");
    assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    let about = topotop::recording::open(&path).expect("a recording").about().clone();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    assert!(about.anonymised && about.host != host.trim(), "{about:?}");
    // Without the flag it is there: the test would find it.
    let open = dir.path().join("b.rec");
    bracket(open.to_str().expect("a path"), &[]);
    let open = read(&open);
    let expected = if group.0.is_some() { vec!["cgroups", "processes"] } else { vec!["processes"] };
    let found = reported(&open, SECRET);
    assert!(expected.iter().all(|section| found.contains(section)), "{found:?}");
    // What diagnosis needs is the same.
    let kernel = |read: &Read| {
        let (_, last) = read.samples.last().expect("samples");
        last.host.data().kernel.or_empty(0)
    };
    assert_eq!(kernel(&hidden), kernel(&open));
    assert_eq!(reported(&hidden, "kthreadd").is_empty(), reported(&open, "kthreadd").is_empty());
}

/// An interface that comes and goes in a network of its own.
const INTERFACE: &str = r#"
mount -t sysfs sysfs /sys || exit 9
"$2" record --no-hwloc --interval 200ms -o "$1/a.rec" & pid=$!
sleep 1.5
ip link add plug0 type dummy || ip link add plug0 type veth peer name plug1 || { kill $pid; exit 8; }
sleep 2
ip link del plug0
sleep 2
kill -TERM $pid
wait $pid
"#;

#[test]
fn interfaces_come_and_go() {
    let needs = "unshare -m -n sh -c 'mount -t sysfs sysfs /sys && ip link add plug0 type veth peer name plug1'";
    if !Command::new("sh").args(["-c", needs]).output().is_ok_and(|output| output.status.success()) {
        crate::common::not_tested(&format!("this machine does not allow `{needs}`"));
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("unshare");
    command.args(["-m", "-n", "sh", "-c", INTERFACE, "sh"]).arg(dir.path()).arg(crate::common::pty::TOPOTOP);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = read(&dir.path().join("a.rec"));
    let has = |snapshot: &Snapshot| {
        let nics = snapshot.nics.data();
        nics.rows().iter().any(|slot| nics.name.get(slot).is_some_and(|name| &**name == "plug0"))
    };
    comes_and_goes(&read, has);
}

/// Offline for two seconds.
const CPU: &str = r#"
cpu=/sys/devices/system/cpu/cpu1/online
"$2" record --no-hwloc --interval 200ms -o "$1/a.rec" & pid=$!
sleep 1
echo 0 > $cpu
sleep 2
echo 1 > $cpu
sleep 2
kill -TERM $pid
wait $pid
"#;

#[test]
#[ignore = "takes a CPU away from everybody: make soak"]
fn cpus_go_and_come() {
    let online = "/sys/devices/system/cpu/cpu1/online";
    if std::fs::OpenOptions::new().write(true).open(online).is_err() {
        crate::common::not_tested(&format!("{online} is not writable here"));
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("sh");
    let output = command.args(["-c", CPU, "sh"]).arg(dir.path()).arg(crate::common::pty::TOPOTOP).output();
    let output = output.expect("it runs");
    let _ = std::fs::write(online, "1");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = read(&dir.path().join("a.rec"));
    let offline = |snapshot: &Snapshot| {
        let cpus = snapshot.cpu_topology.data();
        cpus.rows().iter().any(|slot| cpus.cpu.value(slot) == Some(1) && cpus.online.value(slot) == Some(0))
    };
    comes_and_goes(&read, offline);
}

/// Nothing at first, then something, then nothing again; each sample in its place.
fn comes_and_goes(read: &Read, has: impl Fn(&Snapshot) -> bool) {
    let states: Vec<bool> = read.samples.iter().map(|(_, snapshot)| has(snapshot)).collect();
    let changes: Vec<bool> = states.iter().copied().fold(Vec::new(), |mut changes, state| {
        if changes.last() != Some(&state) {
            changes.push(state);
        }
        changes
    });
    assert_eq!(changes, [false, true, false], "{states:?}");
    assert!(read.closed);
}

/// The shipped unit, with this program in it.
fn unit() -> String {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/dist/topotop-record.service");
    std::fs::read_to_string(unit).expect("the unit").replace("/usr/bin/topotop", crate::common::pty::TOPOTOP)
}

#[test]
fn the_unit_is_one() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        crate::common::not_tested("no systemd-analyze (systemd)");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("topotop-record.service");
    std::fs::write(&path, unit()).expect("written");
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output().expect("it runs");
    let said = text(&output.stderr);
    assert!(output.status.success() && !said.contains("topotop-record"), "{said}");
    let mut analyze = Command::new("systemd-analyze");
    let output = analyze.args(["security", "--offline=true", "--no-pager", "--threshold=30"]).arg(&path).output();
    let output = output.expect("it runs");
    // Versions before 250 analyze no files.
    let unknown = text(&output.stderr).contains("unrecognized option");
    assert!(unknown || output.status.success(), "more exposed than 3.0: {}", text(&output.stdout));
}

#[test]
fn the_units_lines_keep_three_recordings() {
    let unit = unit();
    let line = |key: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(key)).expect("a line").replace("%%", "%");
        line.trim_start_matches("/bin/sh -c ").trim_matches('\'').to_owned()
    };
    let dir = tempfile::tempdir().expect("a directory");
    for number in 0..5 {
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command
                .args(["-c", line])
                .env("STATE_DIRECTORY", dir.path())
                .env("INVOCATION_ID", format!("start{number}"));
            command
        };
        assert!(shell(&line("ExecStartPre=-")).status().expect("sh runs").success());
        let mut recording = Background(shell(&line("ExecStart=")).spawn().expect("sh runs"));
        let newest = || {
            let files = std::fs::read_dir(dir.path()).expect("a directory").flatten().map(|entry| entry.path());
            files.into_iter().find(|path| path.to_string_lossy().contains(&format!("start{number}")))
        };
        let start = std::time::Instant::now();
        while newest().is_none() {
            assert!(start.elapsed() < super::PATIENCE, "no file comes");
            std::thread::sleep(Duration::from_millis(10));
        }
        begun(&newest().expect("a file"));
        recording.signal("TERM");
        assert_eq!(recording.ends(), Some(0));
    }
    let files: Vec<_> = std::fs::read_dir(dir.path()).expect("a directory").flatten().collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        assert!(read(&file.path()).closed);
        assert!(["start2", "start3", "start4"].iter().any(|start| file.path().to_string_lossy().contains(start)));
    }
}

#[test]
fn a_recording_is_there_while_it_is_written() {
    let (_dir, path, shown) = place("a.rec");
    let mut recording = Background::start(&["-o", &shown, "--interval", "100ms"]);
    begun(&path);
    let mut reader = topotop::recording::open(&path).expect("a recording");
    let before = reader.len();
    let start = std::time::Instant::now();
    while reader.len() == before {
        reader.refresh().expect("read");
        assert!(start.elapsed() < super::PATIENCE, "it does not grow");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!reader.is_closed());
    recording.signal("TERM");
    assert_eq!(recording.ends(), Some(0));
    assert!(reader.refresh().expect("read"));
    assert!(reader.is_closed());
}
