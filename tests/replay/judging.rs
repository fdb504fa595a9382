//! What was wrong: the same as it was judged live, wherever one goes, and said as what it is until that is known.

use super::source::{Shown, paused};
use crate::common::synthetic_recording::{START_NS, SyntheticRecording};
use std::path::{Path, PathBuf};
use topotop::app::transport::Order;
use topotop::recording::open;
use topotop::source::Source as _;
use topotop_model::Window;
use topotop_model::derive::Deriver;
use topotop_model::judge::{Basis, Judge, Judgement, Settings};

const SECOND_NS: i64 = 1_000_000_000;
const SECONDS: u64 = 400;

/// CPU 3 drowns in soft interrupts for two minutes out of four.
fn flood(second: u64, cpu: u32) -> u64 {
    let noise = second * 7 % 5;
    if cpu == 3 && (100..220).contains(&(second % 250)) { 90 + noise } else { noise }
}

fn reel(path: &Path, judged: Option<Settings>) {
    SyntheticRecording {
        seconds: SECONDS,
        busy: |second, cpu| flood(second, cpu) + 2,
        softirq: flood,
        judged,
        ..SyntheticRecording::default()
    }
    .write(path);
}

fn recorded(judged: Option<Settings>) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.rec");
    reel(&path, judged);
    (dir, path)
}

/// What was judged, all of it.
fn said(judgement: &Judgement) -> String {
    format!("{judgement:?}")
}

/// One judgement after the other.
fn judged(path: &Path) -> Vec<String> {
    let (mut reader, mut window) = (open(path).expect("a recording"), Window::default());
    let (mut deriver, mut judge) = (Deriver::default(), Judge::default());
    std::iter::from_fn(|| reader.next_sample())
        .map(|next| {
            window.push(next.expect("whole").1);
            said(&judge.step(&deriver.frame(&window)))
        })
        .collect()
}

fn wall(sample: u64) -> i64 {
    START_NS + sample as i64 * SECOND_NS
}

/// Samples all over it, near and far, over key frames and beside them.
fn jumps() -> impl Iterator<Item = u64> {
    [0, 1, 59, 60, 61, 119, 120, 121, 105, 106, 107, 350, 20, 399, 240, 239, 180, 228, 229, 231, 130].into_iter()
}

#[test]
fn wherever_one_goes_it_is_judged_as_it_was_live() {
    let (_dir, path) = recorded(Some(Settings::default()));
    let live = judged(&path);
    assert!(live.iter().any(|said| said.contains("IRQ-01")));
    let mut shown = Shown::start(&[&path], paused());
    shown.until("the first sample", |sample, _| sample.is_there());
    for sample in jumps() {
        shown.go(Order::Sample(sample), wall(sample));
        shown.until("its judgement", |shown, _| said(&shown.judgement) == live[sample as usize]);
    }
    // One after the other, also over key frames.
    shown.go(Order::Sample(90), wall(90));
    for sample in 91..140 {
        shown.go(Order::Step(1), wall(sample));
        shown.until("its judgement", |shown, _| said(&shown.judgement) == live[sample as usize]);
    }
}

#[test]
fn what_came_and_went_is_gone_to() {
    let (_dir, path) = recorded(Some(Settings::default()));
    let mut shown = Shown::start(&[&path], paused());
    shown.until("the timeline", |sample, _| sample.timeline.changes().len() >= 3);
    let changes: Vec<(u64, bool)> = shown.sample.timeline.changes().iter().map(|it| (it.sample, it.came)).collect();
    for &(sample, _) in &changes {
        shown.go(Order::Finding { next: true }, wall(sample));
        shown.until("what it is", |_, replay| replay.trouble().is_some_and(|said| said.contains("change ")));
    }
    for &(sample, _) in changes.iter().rev().skip(1) {
        shown.go(Order::Finding { next: false }, wall(sample));
    }
    // It comes and goes where it was judged to: with the first sample that has it, and the first that has not.
    let live = judged(&path);
    for (sample, came) in changes {
        let there = |sample: u64| live[sample as usize].contains("findings: [Finding");
        assert_eq!((there(sample), there(sample - 1)), (came, !came), "{sample}");
    }
}

#[test]
fn what_was_never_judged_is_judged_now() {
    let (_dir, path) = recorded(None);
    let live = judged(&path);
    let mut shown = Shown::start(&[&path], paused());
    shown.until("the timeline", |sample, _| sample.timeline.changes().len() >= 3);
    for sample in jumps() {
        shown.go(Order::Sample(sample), wall(sample));
        shown.until("its judgement", |shown, _| said(&shown.judgement) == live[sample as usize]);
    }
}

#[test]
fn what_other_limits_found_stands_in_until_it_is_judged() {
    // By these limits it was wrong all the time.
    let thresholds =
        [(("IRQ-01".to_owned(), "softirq".to_owned()), 0.0), (("IRQ-01".to_owned(), "others".to_owned()), 1.0)];
    let (_dir, path) = recorded(Some(Settings { thresholds: thresholds.into_iter().collect() }));
    let live = judged(&path);
    let mut shown = Shown::start(&[&path], paused());
    shown.until("the first sample", |sample, _| sample.is_there());
    shown.go(Order::Sample(350), wall(350));
    shown.until("its judgement", |shown, _| {
        let known = said(&shown.judgement) == live[350];
        assert!(known || shown.judgement.basis != Basis::Judged, "{:?}", shown.judgement);
        known
    });
    assert!(shown.sample.judgement.findings.is_empty());
    shown.until("the timeline", |sample, _| {
        let first = sample.timeline.changes().iter().find(|change| &*change.rule == "IRQ-01");
        first.is_some_and(|change| change.sample > 90)
    });
}
