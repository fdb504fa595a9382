//! The limiting machine of two recordings is named on either machine's screen.

use crate::common::synthetic_recording::{SyntheticRecording, quiet};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use topotop::app::transport::Order;
use topotop::source::Source;
use topotop::source::playback::Playback;
use topotop::source::replay::{self, Replay, Start};
use topotop_model::derive::Settings;
use topotop_model::judge;

const PATIENCE: Duration = Duration::from_secs(30);

/// A third at first; every CPU is full after ten seconds.
fn full(second: u64, cpu: u32) -> u64 {
    if second > 10 { 98 } else { quiet(second, cpu) }
}

fn until(replay: &mut Replay, what: &str, wanted: impl Fn(&Playback) -> bool) -> Playback {
    let start = Instant::now();
    loop {
        let playback = replay.playback().unwrap_or_default();
        if wanted(&playback) {
            return playback;
        }
        assert!(start.elapsed() < PATIENCE, "{what} did not come: {:?}", playback.short);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_bottleneck_is_named_on_either_screen() {
    let dir = tempfile::tempdir().expect("a directory");
    let (server, client) = (dir.path().join("server.rec"), dir.path().join("client.rec"));
    let boot_id = "22222222-2222-4333-8444-555555555555";
    SyntheticRecording { boot_id, seconds: 61, ..SyntheticRecording::default() }.write(&server);
    SyntheticRecording { host: "load-3", busy: full, seconds: 31, ..SyntheticRecording::default() }.write(&client);
    let opened = replay::open(&[server, client]).expect("recordings");
    let (wake, _woken) = sync_channel(1);
    let wake = move || {
        let _ = wake.try_send(());
    };
    let start = Start { paused: true, ..Start::default() };
    let mut replay = opened.start(&Settings::default(), &judge::Settings::default(), start, wake).expect("threads");
    until(&mut replay, "the start", |playback| playback.machines.len() == 2 && playback.short.is_empty());
    replay.order(Order::Sample(20));
    let server = until(&mut replay, "the client's CPUs", |playback| !playback.short.is_empty());
    assert_eq!((server.machine, server.short.as_str()), (0, "load-3: limited by the machine's CPUs at 98%"));
    replay.order(Order::Machine);
    let client = until(&mut replay, "the other screen", |playback| playback.machine == 1);
    assert_eq!(client.short, server.short);
    // Where the client was not recorded any more it is short of nothing.
    replay.order(Order::Machine);
    replay.order(Order::Sample(55));
    until(&mut replay, "the time after", |playback| playback.sample == 55 && playback.short.is_empty());
}
