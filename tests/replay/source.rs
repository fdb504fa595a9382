//! The source by itself: frames are those of live, wherever one goes; what came before is filled in.

use super::{damage, recorded};
use crate::common::synthetic_recording::{START_NS, SyntheticRecording};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use topotop::app::transport::Order;
use topotop::export::{Options, json};
use topotop::moment::Moment;
use topotop::recording::{Target, Writer, open};
use topotop::source::replay::{self, Replay, Start};
use topotop::source::{Sample, Source};
use topotop_collectors::{Options as Sampling, Root, Sampler};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::judge;
use topotop_model::recording::{About, Limits, What};
use topotop_model::{Stamp, Window};

const PATIENCE: Duration = Duration::from_secs(30);
const SECOND_NS: i64 = 1_000_000_000;

/// A player and what it shows.
pub(super) struct Shown {
    pub(super) replay: Replay,
    woken: Receiver<()>,
    pub(super) sample: Sample,
}

impl Shown {
    pub(super) fn start(files: &[&Path], start: Start) -> Self {
        let files: Vec<_> = files.iter().map(|path| path.to_path_buf()).collect();
        let (wake, woken) = sync_channel(64);
        let opened = replay::open(&files).expect("recordings");
        let wake = move || {
            let _ = wake.try_send(());
        };
        let replay = opened.start(&Settings::default(), &judge::Settings::default(), start, wake).expect("threads");
        Self { replay, woken, sample: Sample::default() }
    }

    /// Waits until what is shown is as wanted.
    pub(super) fn until(&mut self, what: &str, wanted: impl Fn(&Sample, &mut Replay) -> bool) {
        let start = Instant::now();
        loop {
            if let Some(sample) = self.replay.take() {
                self.sample = sample;
            }
            if wanted(&self.sample, &mut self.replay) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{what} did not come: {:?}", self.sample.frame.stamp);
            let _ = self.woken.recv_timeout(Duration::from_millis(20));
        }
    }

    pub(super) fn go(&mut self, order: Order, wall_ns: i64) {
        self.replay.order(order);
        self.until("the sample", |sample, _| sample.frame.stamp.wall_ns == wall_ns);
    }

    fn document(&self) -> String {
        document(&self.sample.frame)
    }
}

fn document(frame: &topotop_model::frame::Frame) -> String {
    let mut out = Vec::new();
    json::write(frame, &Options::default(), &mut out).expect("memory takes it");
    String::from_utf8(out).expect("text")
}

pub(super) fn paused() -> Start {
    Start { paused: true, ..Start::default() }
}

/// The documents of a recording, derived one after the other, and their stamps.
fn derived(path: &Path) -> Vec<(Stamp, String)> {
    let (mut reader, mut window, mut deriver) =
        (open(path).expect("a recording"), Window::default(), Deriver::default());
    std::iter::from_fn(|| reader.next_sample())
        .map(|next| {
            window.push(next.expect("whole").1);
            let frame = deriver.frame(&window);
            (frame.stamp, document(&frame))
        })
        .collect()
}

#[test]
fn wherever_one_goes_the_frame_is_that_of_live() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("real.rec");
    let target = Target::File { path: path.clone(), limits: Limits { cap_bytes: 0, max_age_ns: 0 } };
    let mut writer = Writer::start(&target, About::default()).expect("a new file");
    let mut sampler = Sampler::new(Root::live().expect("this machine"), &Sampling::default());
    for at in 0..150 {
        if at % 9 == 0 {
            let _ = std::process::Command::new("true").status();
        }
        std::thread::sleep(Duration::from_millis(2));
        writer.append(&sampler.sample());
    }
    assert_eq!(writer.close().samples, 150);
    let live = derived(&path);
    let mut shown = Shown::start(&[&path], paused());
    shown.until("the first sample", |sample, _| sample.is_there());
    // Back and forth, near and far; steps over and between key frames.
    let mut random = 7u64;
    let jumps = std::iter::from_fn(|| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Some(Order::Sample((random >> 33) % 150))
    });
    let steps = [1, 1, -1, 1, 1, 1, -2, 7].map(Order::Step);
    for order in jumps.take(25).chain(steps).chain([Order::End, Order::Step(-1), Order::Start, Order::Step(1)]) {
        shown.replay.order(order.clone());
        let before = shown.sample.frame.stamp;
        let sought = Instant::now();
        shown.until("another sample", |sample, _| {
            sample.frame.stamp != before || sought.elapsed() > Duration::from_millis(300)
        });
        let stamp = shown.sample.frame.stamp;
        let same = live.iter().find(|(at, _)| *at == stamp).expect("a sample of the recording");
        assert!(same.1 == shown.document(), "{order:?} shows something else than live");
    }
}

#[test]
fn what_came_before_is_filled_in() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 1500);
    let mut shown = Shown::start(&[&path], paused());
    shown.go(Order::Go(Moment::FromStart(1200 * SECOND_NS)), START_NS + 1200 * SECOND_NS);
    shown.until("ten minutes of history", |sample, _| sample.history.len() == 600);
    let walls: Vec<u64> = shown.sample.history.iter().map(|headline| headline.mono_ns).collect();
    assert!(walls.windows(2).all(|pair| pair[1] - pair[0] == SECOND_NS as u64));
    // The line over the whole: each part is known, marks are where they were made.
    shown.until("heat everywhere", |_, replay| {
        replay.playback().is_some_and(|playback| {
            let known = playback.bar.heat.iter().flatten().count();
            known + 2 >= playback.bar.heat.len() && playback.bar.marks.len() == 15
        })
    });
    let playback = shown.replay.playback().expect("it plays");
    assert_eq!(playback.bar.marks[2], (250, "step 3".to_owned()));
    assert_eq!((playback.position_seconds(), playback.length_seconds()), (1200, 1499));
    shown.go(Order::Mark { next: true }, START_NS + 1250 * SECOND_NS);
}

#[test]
fn holes_are_on_the_line_and_no_marks() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    let skipped = What::Skipped { samples: 12, reason: "the disk was too slow".to_owned() };
    let events = vec![(80, skipped), (90, What::Start { command: vec!["pgbench".to_owned(), "-c8".to_owned()] })];
    SyntheticRecording { seconds: 200, events, ..SyntheticRecording::default() }.write(&path);
    let mut shown = Shown::start(&[&path], paused());
    shown.until("the survey", |_, replay| {
        replay.playback().is_some_and(|playback| {
            playback.bar.holes == [80] && playback.bar.marks == [(90, "started: pgbench -c8".to_owned())]
        })
    });
}

#[test]
fn a_thousand_times_as_fast_it_plays_to_the_end_and_stops() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 6000);
    let mut shown = Shown::start(&[&path], Start { speed: 1000.0, ..Start::default() });
    shown.until("the beginning", |sample, _| sample.is_there());
    shown.until("the end", |sample, _| sample.frame.stamp.wall_ns == START_NS + 5999 * SECOND_NS);
    assert!(shown.replay.playback().is_some_and(|playback| !playback.playing));
}

#[test]
fn damage_is_played_over_and_stepped_over() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 400);
    let offset = damage(&path, 0.5, 300);
    let mut shown = Shown::start(&[&path], Start { speed: 50.0, ..Start::default() });
    let mut said = Vec::new();
    let start = Instant::now();
    while shown.sample.frame.stamp.wall_ns != START_NS + 399 * SECOND_NS {
        said.extend(shown.replay.trouble());
        shown.until("more", |_, _| true);
        std::thread::sleep(Duration::from_millis(5));
        assert!(start.elapsed() < PATIENCE, "it stopped at {:?}", shown.sample.frame.stamp);
    }
    let reported = said.iter().find(|text| text.contains("damaged at byte")).expect("told");
    let byte: u64 =
        reported.split_whitespace().nth(3).and_then(|word| word.trim_end_matches(':').parse().ok()).expect(reported);
    assert!(byte.abs_diff(offset) < 4096 && reported.contains("lost"), "{reported}, not {offset}");
    // And back over it, step by step, without standing still.
    let mut before = i64::MAX;
    loop {
        shown.replay.order(Order::Step(-1));
        let now = shown.sample.frame.stamp.wall_ns;
        shown.until("an earlier sample", |sample, _| sample.frame.stamp.wall_ns < now);
        let wall = shown.sample.frame.stamp.wall_ns;
        assert!(wall < before);
        before = wall;
        if wall < START_NS + 150 * SECOND_NS {
            break;
        }
    }
    let playback = shown.replay.playback().expect("it plays");
    assert!(!playback.bar.damage.is_empty());
}

#[test]
fn two_recordings_of_one_boot_share_a_clock() {
    let dir = tempfile::tempdir().expect("a directory");
    let (server, client) = (dir.path().join("server.rec"), dir.path().join("client.rec"));
    SyntheticRecording { host: "server", seconds: 200, busy: waves_of(0), ..SyntheticRecording::default() }
        .write(&server);
    SyntheticRecording { host: "client", seconds: 200, from: 40, busy: waves_of(0), ..SyntheticRecording::default() }
        .write(&client);
    let mut shown = Shown::start(&[&server, &client], paused());
    shown.go(Order::Sample(100), START_NS + 100 * SECOND_NS);
    shown.replay.order(Order::Machine);
    shown.until("the other machine", |sample, _| &*sample.frame.host.name == "client");
    let playback = shown.replay.playback().expect("it plays");
    assert_eq!((playback.clocks.as_str(), playback.machine), ("same clock (same boot)", 1));
    assert_eq!(shown.sample.frame.stamp.wall_ns, START_NS + 100 * SECOND_NS);
    // Before the client was recorded, the nearest sample of it stands in, and that is said.
    shown.replay.order(Order::Machine);
    shown.until("the first machine", |sample, _| &*sample.frame.host.name == "server");
    shown.go(Order::Sample(5), START_NS + 5 * SECOND_NS);
    shown.replay.order(Order::Machine);
    shown.until("the other machine", |sample, _| sample.frame.stamp.wall_ns == START_NS + 40 * SECOND_NS);
    assert!(shown.replay.trouble().is_some_and(|said| said.contains("35s later")));
}

fn waves_of(_: u64) -> fn(u64, u32) -> u64 {
    |second, cpu| {
        let mixed = (second / 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let level = (mixed ^ (mixed >> 31)) % 90;
        level + (second * 5 + u64::from(cpu)) % 8
    }
}

#[test]
fn clocks_of_two_machines_are_matched_by_what_they_did() {
    let dir = tempfile::tempdir().expect("a directory");
    let (server, client) = (dir.path().join("server.rec"), dir.path().join("client.rec"));
    SyntheticRecording { host: "server", seconds: 400, busy: waves_of(0), ..SyntheticRecording::default() }
        .write(&server);
    // The client saw the same load, and its clock was 47 s ahead.
    let ahead: fn(u64, u32) -> u64 = |second, cpu| waves_of(0)(second - 47, cpu);
    SyntheticRecording {
        host: "client",
        boot_id: "other",
        seconds: 400,
        from: 47,
        busy: ahead,
        ..SyntheticRecording::default()
    }
    .write(&client);
    let mut shown = Shown::start(&[&server, &client], paused());
    shown
        .until("clocks", |_, replay| replay.playback().is_some_and(|playback| playback.clocks.contains("by CPU load")));
    shown.go(Order::Sample(200), START_NS + 200 * SECOND_NS);
    shown.replay.order(Order::Machine);
    shown.until("the same instant", |sample, _| {
        &*sample.frame.host.name == "client" && sample.frame.stamp.wall_ns == START_NS + 247 * SECOND_NS
    });
}
