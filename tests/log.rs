//! What the log gives back equals what was seen live, sample by sample, frame by frame.

use crate::common::load::{Load, Unplugged};
use topotop_collectors::{Options, Root, Sampler};
use topotop_model::derive::Deriver;
use topotop_model::judge::{Judge, Judgement, Settings};
use topotop_model::ring::{KEY_EVERY, Log, Ring};
use topotop_model::{Snapshot, Table as _, Window};

/// Samples of this machine under load; a CPU goes away for the samples from one to another.
fn samples(count: usize, unplugged: std::ops::Range<usize>) -> Vec<Snapshot> {
    let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
    let (mut load, mut cpu) = (Load::start(), None);
    (0..count)
        .map(|index| {
            load.step();
            if index == unplugged.start && !unplugged.is_empty() {
                cpu = Unplugged::cpu(1);
            }
            if index == unplugged.end {
                cpu = None;
            }
            std::thread::sleep(std::time::Duration::from_millis(3));
            sampler.sample()
        })
        .collect()
}

#[test]
fn stepping_back_shows_what_was_shown() {
    agree(&samples(KEY_EVERY * 2 + 20, 0..0));
}

/// Takes a CPU of this machine away for a moment: for machines that are nobody's.
#[test]
#[ignore = "takes a CPU of this machine away for a moment"]
fn stepping_back_over_a_cpu_that_was_away_shows_what_was_shown() {
    let samples = samples(KEY_EVERY + 20, KEY_EVERY - 5..KEY_EVERY + 5);
    let online = |at: usize| samples[at].cpu_times.data().rows().len();
    assert!(online(KEY_EVERY) < online(0), "it was not taken away: it takes root and more than one CPU");
    assert_eq!(online(KEY_EVERY + 10), online(0));
    agree(&samples);
}

/// Asserts that the log of some samples gives them back, and frames as they were live.
fn agree(samples: &[Snapshot]) {
    let mut ring = Ring::new(64 << 20);
    let (mut live, mut deriver) = (Window::default(), Deriver::default());
    let mut windows = Vec::new();
    let (mut frames, mut judge, mut judgements, mut states) = (Vec::new(), judge(), Vec::new(), Vec::new());
    for sample in samples {
        ring.append(sample).expect("encoded");
        live.push(sample.clone());
        let frame = deriver.frame(&live);
        states.push(judge.save());
        judgements.push(said(&judge.step(&frame)));
        frames.push(format!("{frame:?}"));
        windows.push(live.clone());
    }
    assert!(judgements.iter().any(|said| said.contains("Firing")), "nothing was found: the test shows nothing");
    assert_eq!(ring.len(), samples.len());
    // In order, as a recording is played: every frame equal.
    let (mut window, mut again, mut place) = (Window::default(), Deriver::default(), Snapshot::default());
    let mut replayed = self::judge();
    for (index, record) in ring.records().enumerate() {
        topotop_model::codec::decode_into(&mut place, record).expect("decoded");
        assert_eq!(place, samples[index], "sample {index}");
        window.push(place.clone());
        let frame = again.frame(&window);
        let judged = said(&replayed.step(&frame));
        assert!(judged == judgements[index], "judgement {index}: {}", difference(&judged, &judgements[index]));
        let frame = format!("{frame:?}");
        assert!(frame == frames[index], "frame {index} differs: {}", difference(&frame, &frames[index]));
    }
    // By jumping: the same sample, from a key frame before it, and what came before it.
    for index in [0, 1, KEY_EVERY - 1, KEY_EVERY, KEY_EVERY + 1, samples.len() - 1] {
        let window = ring.window_at(index).expect("decoded");
        assert_eq!(window.now, samples[index], "sample {index} by jumping");
        let before = &windows[index].before;
        assert_eq!(window.before.processes, before.processes, "before sample {index}");
        assert_eq!(window.before.cpu_times, before.cpu_times, "before sample {index}");
        assert_eq!(window.before.irqs, before.irqs, "before sample {index}");
    }
    // From the state before a key frame on, as seeking does.
    for key in (KEY_EVERY..samples.len()).step_by(KEY_EVERY) {
        let settings = settings();
        let mut restored = Judge::restore(&settings, &states[key]).expect("a state");
        let (mut window, mut again) = (ring.window_at(key).expect("decoded"), Deriver::default());
        for (index, sample) in samples.iter().enumerate().skip(key) {
            if index > key {
                window.push(sample.clone());
            }
            let judged = said(&restored.step(&again.frame(&window)));
            assert!(judged == judgements[index], "sample {index}: {}", difference(&judged, &judgements[index]));
        }
    }
}

/// Limits that a machine under some load is beyond, so that there is something to be found.
fn settings() -> Settings {
    let limits =
        [("CPU-01", "busy", 0.02), ("CPU-03", "busy", 0.05), ("IRQ-01", "softirq", 0.0), ("IRQ-01", "others", 1.0)];
    let thresholds = limits.into_iter().map(|(rule, name, value)| ((rule.to_owned(), name.to_owned()), value));
    Settings { thresholds: thresholds.collect() }
}

fn judge() -> Judge {
    Judge::new(settings())
}

/// All of a judgement but what the rules themselves are.
fn said(judgement: &Judgement) -> String {
    let titles: Vec<String> = judgement.all().iter().map(|finding| finding.title()).collect();
    format!("{titles:?} {judgement:?}")
}

#[test]
fn the_ring_keeps_to_its_cap_and_stays_decodable() {
    let samples = samples(KEY_EVERY * 3, 0..0);
    let mut whole = Ring::new(usize::MAX);
    for sample in &samples {
        whole.append(sample).expect("encoded");
    }
    let cap = whole.bytes() / 2;
    let mut ring = Ring::new(cap);
    for sample in &samples {
        ring.append(sample).expect("encoded");
    }
    assert!(ring.bytes() <= cap, "{} of {cap} bytes", ring.bytes());
    assert_eq!(ring.dropped() as usize + ring.len(), samples.len());
    let oldest = ring.window_at(0).expect("decoded");
    assert_eq!(oldest.now, samples[ring.dropped() as usize]);
    let newest = ring.window_at(ring.len() - 1).expect("decoded");
    assert_eq!(&newest.now, samples.last().expect("samples"));
}

/// The first place where two texts differ.
fn difference(left: &str, right: &str) -> String {
    let at = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
    let cut = |text: &str| text.get(at.saturating_sub(80)..(at + 80).min(text.len())).unwrap_or("…").to_owned();
    format!("`{}` against `{}`", cut(left), cut(right))
}
