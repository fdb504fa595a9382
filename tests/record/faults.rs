//! What ends a recording that nobody closed: kills, full disks, caps.

use super::{Background, begun, place, read, text};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use topotop::recording::{Target, Writer, open};
use topotop_collectors::{Options, Root, Sampler};
use topotop_model::Snapshot;
use topotop_model::recording::{About, Limits};

/// Numbers that are different each time.
struct Chance(u64);

impl Chance {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock");
        Self(now.as_nanos() as u64 | 1)
    }

    /// A number below a bound (xorshift).
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Kills a recording at a random moment; gives how long before that its last sample is and the longest time between two
/// samples of it, in seconds.
fn killed(chance: &mut Chance) -> (f64, f64) {
    let (_dir, path, shown) = place("a.rec");
    let mut recording = Background::start(&["-o", &shown, "--interval", "100ms"]);
    begun(&path);
    let wait = Duration::from_micros(chance.below(1_500_000));
    let start = Instant::now();
    std::thread::sleep(wait);
    recording.signal("KILL");
    // What this program was kept from running, that one was too.
    let late = start.elapsed().saturating_sub(wait).as_secs_f64();
    let killed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock").as_nanos() as i64;
    assert_eq!(recording.ends(), None);
    // Every sample but perhaps one that was being written is there, in order and whole.
    let read = read(&path);
    assert!(!read.closed);
    let (_, last) = read.samples.last().expect("samples");
    let cut = open(&path).expect("a recording").cut_short();
    assert!(cut.is_none_or(|cut| cut.bytes < 1 << 20), "killed after {wait:?}");
    ((killed - last.stamp.wall_ns) as f64 / 1e9, read.steps().into_iter().fold(0.1, f64::max) + late)
}

/// Kills recordings; gives how many lost more than the sample that was due next and what the machine was late with.
fn kill_often(times: usize) -> usize {
    let mut chance = Chance::new();
    let seed = chance.0;
    let ages: Vec<(f64, f64)> = (0..times).map(|_| killed(&mut chance)).collect();
    let oldest = ages.iter().fold(0.0, |oldest: f64, age| oldest.max(age.0));
    let lost = ages.iter().filter(|(age, longest)| *age > 2.0 * longest + 0.2).count();
    eprintln!("seed {seed}: the last sample was at most {oldest:.3} s old, {lost} lost more than one");
    lost
}

#[test]
fn a_kill_costs_the_last_sample_at_most() {
    // One may be killed while an overloaded machine keeps it from its sample.
    assert!(kill_often(6) <= 1);
}

#[test]
#[ignore = "takes minutes: make soak"]
fn two_hundred_kills_cost_the_last_sample_at_most() {
    assert!(kill_often(200) <= 4);
}

/// A small file system of its own: filled, and given room again.
const FULL: &str = r#"
mount -t tmpfs -o size=384k tmpfs "$1/disk" || exit 9
"$2" record --no-hwloc --interval 100ms -o "$1/disk/a.rec" 2> "$1/said" & pid=$!
sleep 2
dd if=/dev/zero of="$1/disk/fill" bs=1k 2> /dev/null
sleep 2
# What happens while nothing can be written is reported afterwards.
kill -STOP $pid
sleep 1
kill -CONT $pid
sleep 2
rm "$1/disk/fill"
sleep 4
kill -TERM $pid
wait $pid
status=$?
cp "$1/disk/a.rec" "$1/a.rec"
exit $status
"#;

#[test]
fn a_full_disk_is_said_and_recording_goes_on_when_there_is_room() {
    let needs = "unshare -m sh -c 'mount -t tmpfs tmpfs /tmp'";
    if !Command::new("sh").args(["-c", needs]).output().is_ok_and(|output| output.status.success()) {
        crate::common::not_tested(&format!("this machine does not allow `{needs}`"));
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(dir.path().join("disk")).expect("a directory");
    let program = crate::common::pty::TOPOTOP;
    let mut command = Command::new("unshare");
    let output = command.args(["-m", "sh", "-c", FULL, "sh"]).arg(dir.path()).arg(program).output().expect("it runs");
    let said = std::fs::read_to_string(dir.path().join("said")).expect("what it said");
    assert_eq!(output.status.code(), Some(0), "{}{said}", text(&output.stderr));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines[0].contains("No space left on device") && lines[0].contains("samples are skipped"), "{said}");
    assert!(lines[1].contains("recording resumed"), "{said}");
    let read = read(&dir.path().join("a.rec"));
    assert!(read.closed);
    let hole = read.events.iter().find(|(_, event)| event.what.text().contains("No space left on device"));
    let (at, _) = hole.unwrap_or_else(|| panic!("{:?}", read.said()));
    let (before, after): (Vec<_>, Vec<_>) = read.samples.iter().partition(|(number, _)| number < at);
    assert!(before.len() >= 2 && after.len() >= 2, "{} before, {} after", before.len(), after.len());
    assert!(read.said().iter().any(|said| said.contains("was stopped")), "{:?}", read.said());
    let whole = read.steps().iter().sum::<f64>() / 0.1;
    let known = (read.samples.len() as u64 - 1 + read.skipped()) as f64;
    // A late sample is counted as the one that was nearest.
    let most = 2.0 + 0.5 * read.events.len() as f64;
    assert!((whole - known).abs() <= most, "{whole:.1} intervals, {known} samples: {:?}", read.said());
}

/// A file system without room from the start.
const FULL_FROM_THE_START: &str = r#"
mount -t tmpfs -o size=16k tmpfs "$1/disk" || exit 9
dd if=/dev/zero of="$1/disk/fill" bs=1k 2> /dev/null
"$2" record --no-hwloc --interval 200ms -o "$1/disk/a.rec" $3
echo status $?
ls "$1/disk"
"#;

#[test]
fn a_recording_without_a_sample_is_none() {
    let needs = "unshare -m sh -c 'mount -t tmpfs tmpfs /tmp'";
    if !Command::new("sh").args(["-c", needs]).output().is_ok_and(|output| output.status.success()) {
        crate::common::not_tested(&format!("this machine does not allow `{needs}`"));
        return;
    }
    for (arguments, status) in [("--for 500ms", 2), ("-- sleep 0.5", 125)] {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("disk")).expect("a directory");
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", FULL_FROM_THE_START, "sh"]).arg(dir.path()).arg(crate::common::pty::TOPOTOP);
        let output = command.arg(arguments).output().expect("it runs");
        assert_eq!(text(&output.stdout), format!("status {status}\nfill\n"), "{}", text(&output.stderr));
        let said = text(&output.stderr);
        assert!(said.contains("0 samples") && said.contains("No space left on device"), "{said}");
    }
}

/// Writes samples of this machine as fast as they come, their times set one second apart, until there is enough.
fn fast(path: &Path, limits: Limits, enough: impl Fn(usize, u64) -> bool) -> Vec<Snapshot> {
    let target = Target::File { path: path.to_path_buf(), limits };
    let mut writer = Writer::start(&target, About::default()).expect("a new file");
    let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
    let mut samples = Vec::new();
    while !enough(samples.len(), writer.status().bytes) {
        let mut snapshot = sampler.sample();
        snapshot.stamp.mono_ns = (samples.len() as u64 + 1) * 1_000_000_000;
        snapshot.stamp.boot_ns = snapshot.stamp.mono_ns;
        snapshot.stamp.wall_ns = snapshot.stamp.mono_ns as i64;
        writer.append(&snapshot);
        samples.push(snapshot);
    }
    let status = writer.close();
    assert_eq!((status.skipped, status.trouble), (0, None));
    samples
}

#[test]
fn a_size_cap_keeps_the_newest_within_it() {
    let (_dir, path, _) = place("a.rec");
    let cap = 600 << 10;
    // Once it is nearly full, half as much again.
    let full = std::cell::Cell::new(usize::MAX);
    let samples = fast(&path, Limits { cap_bytes: cap, max_age_ns: 0 }, |samples, bytes| {
        if bytes > cap - (100 << 10) {
            full.set(full.get().min(samples));
        }
        samples > full.get().saturating_add(full.get() / 2)
    });
    let bytes = std::fs::metadata(&path).expect("a file").len();
    assert!(bytes <= cap, "{bytes} of {cap} bytes");
    let read = read(&path);
    assert!(read.samples.len() < samples.len() && read.samples.len() > 60, "{} samples", read.samples.len());
    let newest = &samples[samples.len() - read.samples.len()..];
    assert!(read.samples.iter().map(|sample| &sample.1).eq(newest), "they are not the newest ones");
}

#[test]
fn a_time_cap_lets_old_samples_go() {
    let (_dir, path, _) = place("a.rec");
    let samples = fast(&path, Limits { cap_bytes: 0, max_age_ns: 200_000_000_000 }, |samples, _| samples >= 700);
    let read = read(&path);
    let span = read.steps().iter().sum::<f64>();
    // A segment, an eighth of the time, goes when the youngest sample in it is too old.
    assert!((200.0..=260.0).contains(&span), "{span} s");
    assert_eq!(read.samples.last().map(|sample| &sample.1), samples.last());
}
