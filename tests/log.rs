//! What the log gives back equals what was seen live, sample by sample, frame by frame.

use topotop_collectors::{Options, Root, Sampler};
use topotop_model::derive::Deriver;
use topotop_model::ring::{KEY_EVERY, Log, Ring};
use topotop_model::{Snapshot, Window};

/// Samples of this machine with something going on: processes come and go, counters move.
fn samples(count: usize) -> Vec<Snapshot> {
    let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
    (0..count)
        .map(|index| {
            if index % 7 == 0 {
                let _ = std::process::Command::new("true").status();
            }
            std::thread::sleep(std::time::Duration::from_millis(3));
            sampler.sample()
        })
        .collect()
}

#[test]
fn stepping_back_shows_what_was_shown() {
    let samples = samples(KEY_EVERY * 2 + 20);
    let mut ring = Ring::new(64 << 20);
    let (mut live, mut deriver) = (Window::default(), Deriver::default());
    let mut frames = Vec::new();
    for sample in &samples {
        ring.append(sample).expect("encoded");
        live.push(sample.clone());
        frames.push(format!("{:?}", deriver.frame(&live)));
    }
    assert_eq!(ring.len(), samples.len());
    // In order, as a recording is played: every frame equal.
    let (mut window, mut again, mut base) = (Window::default(), Deriver::default(), None);
    for (index, record) in ring.records().enumerate() {
        let snapshot = topotop_model::codec::decode(base.as_ref(), record).expect("decoded");
        assert_eq!(snapshot, samples[index], "sample {index}");
        window.push(snapshot.clone());
        let frame = format!("{:?}", again.frame(&window));
        assert!(frame == frames[index], "frame {index} differs: {}", difference(&frame, &frames[index]));
        base = Some(snapshot);
    }
    // By jumping: the same sample, from a key frame before it.
    for index in [0, 1, KEY_EVERY - 1, KEY_EVERY, KEY_EVERY + 1, samples.len() - 1] {
        let window = ring.window_at(index).expect("decoded");
        assert_eq!(window.now, samples[index], "sample {index} by jumping");
    }
}

#[test]
fn the_ring_keeps_to_its_cap_and_stays_decodable() {
    let samples = samples(KEY_EVERY * 3);
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
