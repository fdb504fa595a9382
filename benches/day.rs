//! A recording of a day, 86,400 samples of this machine one second apart: opening it, seeking in it, reading its
//! timeline and its events. Prints times, the memory that reading took, and ratios to reading the file once.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its figures and fails as tests do")]

use std::path::Path;
use std::time::{Duration, Instant};
use topotop::app::transport::Order;
use topotop::recording::{Target, Writer, open};
use topotop::source::replay::{self, Start};
use topotop::source::{Sample, Source as _};
use topotop_collectors::{Options, Root, Sampler};
use topotop_model::Snapshot;
use topotop_model::derive::Settings;
use topotop_model::recording::{About, Event, Limits, What};

/// Samples of a day.
const DAY: u64 = 86_400;
/// Different samples, over and over.
const REAL: usize = 240;
const SECOND: u64 = 1_000_000_000;

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("day.rec");
    let wrote = write(&path);
    let bytes = std::fs::metadata(&path).expect("the recording").len();
    println!("{DAY} samples, {bytes} bytes, {} a sample, written in {wrote:.1?}", bytes / DAY);
    let once = timed(|| std::fs::read(&path).expect("the recording").len());
    println!("reading the file once: {once:.1?}");
    let before = resident();
    let opened = timed(|| open(&path).expect("a recording").len());
    println!("open: {opened:.1?}, {:.3} of reading it", ratio(opened, once));
    let mut reader = open(&path).expect("a recording");
    assert_eq!(reader.len(), DAY);
    let mut seeks: Vec<Duration> = (0..200u64)
        .map(|n| {
            let wall_ns = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % DAY * SECOND) as i64;
            timed(|| {
                let number = reader.locate(wall_ns).expect("a sample");
                assert_eq!(number, wall_ns as u64 / SECOND);
                reader.window_at(number).expect("a window")
            })
        })
        .collect();
    seeks.sort();
    println!("seek: median {:.1?}, 99 of 100 within {:.1?}, worst {:.1?}", seeks[100], seeks[197], seeks[199]);
    let timeline = timed(|| assert!(reader.timeline().len() >= 1440));
    let events = timed(|| assert_eq!(reader.events().len(), 24));
    println!("timeline: {timeline:.1?}, events: {events:.1?}");
    pictures(&path);
    println!("memory for all that: {} KiB", resident().saturating_sub(before));
}

/// From a key to the frame that the screen gets, and how long the history before it takes.
fn pictures(path: &Path) {
    let (wake, woken) = std::sync::mpsc::sync_channel(64);
    let opened = timed(|| replay::open(&[path.to_owned()]).map(drop).expect("a recording"));
    let source = replay::open(&[path.to_owned()]).expect("a recording");
    let start = Start { paused: true, ..Start::default() };
    let wake = move || {
        let _ = wake.try_send(());
    };
    let began = Instant::now();
    let mut source =
        source.start(&Settings::default(), &topotop_model::judge::Settings::default(), start, wake).expect("threads");
    let until = |source: &mut replay::Replay, wanted: &dyn Fn(&Sample) -> bool| loop {
        if source.take().is_some_and(|sample| wanted(&sample)) {
            return;
        }
        let _ = woken.recv_timeout(Duration::from_millis(1));
    };
    until(&mut source, &Sample::is_there);
    println!("replay: opened in {opened:.1?}, first picture after {:.1?}", began.elapsed());
    let mut waits: Vec<Duration> = (1..100u64)
        .map(|n| {
            let sample = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % DAY;
            let began = Instant::now();
            source.order(Order::Sample(sample));
            until(&mut source, &|shown| shown.frame.stamp.mono_ns == sample * SECOND);
            began.elapsed()
        })
        .collect();
    waits.sort();
    println!("a jump to its picture: median {:.1?}, worst {:.1?}", waits[49], waits[98]);
    let began = Instant::now();
    source.order(Order::Sample(DAY / 2));
    until(&mut source, &|shown| shown.frame.stamp.mono_ns == DAY / 2 * SECOND && shown.history.len() == 600);
    println!("ten minutes of history before it: {:.1?}", began.elapsed());
    for _ in 0..9 {
        source.order(Order::Faster);
    }
    source.order(Order::Start);
    source.order(Order::Toggle);
    let (began, mut pictures) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(5) {
        pictures += usize::from(source.take().is_some());
        let _ = woken.recv_timeout(Duration::from_millis(1));
    }
    let reached = source.playback().map_or(0, |playback| playback.sample);
    println!("1000 times as fast, for 5 s: {reached} samples, {pictures} pictures");
}

/// A day of this machine's samples, repeated with new stamps.
fn write(path: &Path) -> Duration {
    let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
    let real: Vec<Snapshot> = (0..REAL)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            sampler.sample()
        })
        .collect();
    let limits = Limits { cap_bytes: 0, max_age_ns: 0 };
    let target = Target::File { path: path.to_owned(), limits };
    let mut writer = Writer::start(&target, About::default()).expect("a new file");
    let start = Instant::now();
    for second in 0..DAY {
        let mut sample = real[second as usize % REAL].clone();
        sample.stamp.seq = second + 1;
        sample.stamp.wall_ns = (second * SECOND) as i64;
        (sample.stamp.mono_ns, sample.stamp.boot_ns) = (second * SECOND, second * SECOND);
        if second % 3600 == 1800 {
            let what = What::Mark { text: format!("hour {}", second / 3600) };
            writer.event(Event { wall_ns: sample.stamp.wall_ns, mono_ns: sample.stamp.mono_ns, what });
        }
        let written = writer.status().samples;
        writer.append(&sample);
        // As fast as the disk takes it, and no faster: nothing is to be skipped here.
        while second.saturating_sub(written) > 2000 && writer.status().samples + 1000 < second {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let status = writer.close();
    assert_eq!((status.samples, status.skipped, status.trouble), (DAY, 0, None));
    start.elapsed()
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = work();
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

fn ratio(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64()
}

/// Memory of this process in KiB (VmRSS).
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
