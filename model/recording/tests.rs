//! Written and read back, whole, capped, cut and damaged.

use super::*;
use crate::{Draft, Snapshot, Stamp, Table};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// A file that grows while it is read.
#[derive(Clone, Debug, Default)]
struct Growing(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl ReadAt for Growing {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a file").read_at(offset, buf)
    }

    fn size(&self) -> std::io::Result<u64> {
        self.0.lock().expect("a file").size()
    }
}

/// A machine of a few interrupts that come and go; texts make samples as large as wanted.
fn samples(count: u64, weight: usize) -> Vec<Snapshot> {
    let mut draft = Draft::default();
    let mut last = Snapshot::default();
    (0..count)
        .map(|at| {
            draft.irqs.begin(at + 1);
            let irqs = draft.irqs.data_mut();
            let slot = irqs.insert();
            let noise = |n: u64| ((at * 31 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11).to_string();
            irqs.name.set(slot, &(0..weight as u64).map(noise).collect::<String>());
            irqs.total.set(slot, at * 100);
            if at > 3 {
                irqs.remove(at as usize % 3);
            }
            let stamp =
                Stamp { seq: at + 1, wall_ns: (at * SECOND) as i64, mono_ns: at * SECOND, boot_ns: at * SECOND };
            last = draft.publish(stamp, &last);
            last.clone()
        })
        .collect()
}

fn apply(image: &mut Vec<u8>, chunk: &Chunk) {
    for (offset, bytes) in &chunk.writes {
        let end = *offset as usize + bytes.len();
        if image.len() < end {
            image.resize(end, 0);
        }
        image[*offset as usize..end].copy_from_slice(bytes);
    }
}

fn mark(text: &str, at: u64) -> Event {
    Event { wall_ns: (at * SECOND) as i64, mono_ns: at * SECOND, what: What::Mark { text: text.to_owned() } }
}

fn recorded(samples: &[Snapshot], limits: Option<Limits>, finish: bool) -> Vec<u8> {
    let mut composer = Composer::new(About { host: "a".to_owned(), ..About::default() }, limits);
    let mut image = Vec::new();
    for (at, sample) in samples.iter().enumerate() {
        if at % 50 == 0
            && let Some(chunk) = composer.event(mark(&at.to_string(), at as u64))
        {
            apply(&mut image, &chunk);
        }
        apply(&mut image, &composer.sample(sample).expect("a chunk"));
    }
    if let Some(chunk) = composer.finish().filter(|_| finish) {
        apply(&mut image, &chunk);
    }
    image
}

fn all(reader: &mut Reader<Vec<u8>>) -> Vec<(u64, Snapshot)> {
    std::iter::from_fn(|| reader.next_sample()).filter_map(Result::ok).collect()
}

#[test]
fn what_was_recorded_is_read_back() {
    let samples = samples(500, 40);
    for limits in [None, Some(Limits::default())] {
        for finish in [true, false] {
            let image = recorded(&samples, limits, finish);
            let mut reader = Reader::open(image).expect("a recording");
            assert_eq!((reader.len(), reader.is_closed()), (500, finish));
            let read: Vec<Snapshot> = all(&mut reader).into_iter().map(|sample| sample.1).collect();
            assert!(read == samples);
            for number in [0, 1, 59, 60, 61, 119, 121, 300, 499] {
                assert!(reader.window_at(number).expect("a window").now == samples[number as usize], "{number}");
            }
            assert!(reader.next_sample().is_none());
            assert_eq!(reader.locate((123 * SECOND + 400_000_000) as i64), Some(123));
            assert_eq!(reader.when(7).map(|when| when.mono_ns), Some(7 * SECOND));
            let events = reader.events();
            let texts: Vec<String> = events.iter().map(|event| event.1.what.text()).collect();
            assert_eq!(texts, ["0", "50", "100", "150", "200", "250", "300", "350", "400", "450"]);
            assert_eq!((events[3].0, reader.timeline().len()), (150, 9));
            assert_eq!(reader.cut_short(), None);
            assert_eq!(reader.damage(), []);
        }
    }
}

/// Everything that comes out of a stream.
fn streamed(image: &[u8]) -> (Vec<Snapshot>, usize, usize) {
    let mut stream = Stream::open(image).expect("a stream");
    let (mut samples, mut events, mut damage) = (Vec::new(), 0, 0);
    while let Some(item) = stream.next_item().expect("readable") {
        match item {
            Item::Sample(sample) => samples.push(sample),
            Item::Event(_) => events += 1,
            Item::Damage(_) => damage += 1,
        }
    }
    (samples, events, damage)
}

#[test]
fn a_stream_gives_what_was_recorded_and_goes_on_after_damage() {
    let samples = samples(500, 40);
    for limits in [None, Some(Limits { cap_bytes: 4 << 20, max_age_ns: 0 })] {
        let mut image = recorded(&samples, limits, true);
        assert!(streamed(&image) == (samples.clone(), 10, 0));
        let middle = image.len() / 3;
        image[middle..middle + 50].fill(0);
        let (read, _, damage) = streamed(&image);
        assert!(damage > 0 && read.len() >= 400 && read.len() < 500, "{} {damage}", read.len());
        assert!(read.iter().all(|sample| samples[sample.stamp.seq as usize - 1] == *sample));
    }
}

#[test]
fn a_cap_keeps_the_newest_in_one_file() {
    let samples = samples(3000, 60);
    let cap_bytes = 600 << 10;
    let limits = Limits { cap_bytes, max_age_ns: 0 };
    let whole = recorded(&samples, Some(Limits::default()), true).len();
    let image = recorded(&samples, Some(limits), false);
    assert!(image.len() as u64 <= cap_bytes && whole > image.len() * 2, "{} of {whole}", image.len());
    let mut reader = Reader::open(image).expect("a recording");
    let numbers = reader.numbers().expect("samples");
    assert_eq!(*numbers.end(), 2999);
    let share = reader.len() as f64 / 3000.0 / (cap_bytes as f64 / whole as f64);
    assert!(share > 0.7, "{share} of what there is room for is kept");
    for (number, sample) in all(&mut reader) {
        assert!(sample == samples[number as usize], "{number}");
    }
    assert_eq!(reader.damage(), []);
    let (first, last) = (reader.timeline()[0].0, reader.span().expect("a span").1);
    assert_eq!((first.mono_ns, last.mono_ns), (numbers.start() * SECOND, 2999 * SECOND));
    assert!(reader.events().iter().all(|event| numbers.contains(&event.0)));
}

#[test]
fn an_age_keeps_the_newest() {
    let samples = samples(4000, 5);
    let limits = Limits { cap_bytes: 512 << 20, max_age_ns: 400 * SECOND };
    let mut reader = Reader::open(recorded(&samples, Some(limits), false)).expect("a recording");
    let kept = reader.len();
    assert!((400..=520).contains(&kept), "{kept}");
    assert!(all(&mut reader).iter().all(|(number, sample)| *sample == samples[*number as usize]));
}

#[test]
fn a_growing_file_is_followed() {
    let samples = samples(200, 20);
    let mut composer = Composer::new(About::default(), Some(Limits::default()));
    let file = Growing::default();
    apply(&mut file.0.lock().expect("a file"), &composer.sample(&samples[0]).expect("a chunk"));
    let mut reader = Reader::open(file.clone()).expect("a recording");
    assert!(reader.next_sample().is_some_and(|sample| sample.is_ok()));
    for (number, sample) in samples.iter().enumerate().skip(1) {
        assert!(reader.next_sample().is_none());
        apply(&mut file.0.lock().expect("a file"), &composer.sample(sample).expect("a chunk"));
        assert!(reader.refresh().expect("readable"));
        assert_eq!(reader.next_sample().expect("one more").expect("whole"), (number as u64, sample.clone()));
    }
}

#[test]
fn what_could_not_be_written_leaves_no_hole_in_the_file() {
    let samples = samples(300, 20);
    let mut composer = Composer::new(About::default(), Some(Limits { cap_bytes: 1 << 20, max_age_ns: 0 }));
    let (mut image, mut lost) = (Vec::new(), None);
    let mut kept = Vec::new();
    for (at, sample) in samples.iter().enumerate() {
        if at == 150 {
            composer.restart(lost.take().expect("a lost chunk"));
        }
        let chunk = composer.sample(sample).expect("a chunk");
        if (100..150).contains(&at) {
            lost.get_or_insert(chunk.place);
        } else {
            apply(&mut image, &chunk);
            kept.push(sample.clone());
        }
    }
    let mut reader = Reader::open(image).expect("a recording");
    let read: Vec<Snapshot> = all(&mut reader).into_iter().map(|sample| sample.1).collect();
    assert!(read == kept);
}

#[test]
fn a_machine_that_does_not_fit_is_refused() {
    let limits = Some(Limits { cap_bytes: 300 << 10, max_age_ns: 0 });
    let mut composer = Composer::new(About::default(), limits);
    let samples = samples(1, 100_000);
    assert!(matches!(composer.sample(&samples[0]), Err(Error::TooLarge(_))));
}

#[test]
fn damage_is_told_and_played_past() {
    let samples = samples(400, 40);
    let image = recorded(&samples, Some(Limits::default()), true);
    let third = image.len() / 3;
    for (from, to) in [(third, third + 1), (third, third + 3000), (HEADER_BYTES, HEADER_BYTES + 200)] {
        let mut image = image.clone();
        image[from..to].iter_mut().for_each(|byte| *byte ^= 0x5a);
        let mut reader = Reader::open(image).expect("a recording");
        let read = all(&mut reader);
        assert!(read.len() >= 400 - 61 - 60 && read.len() < 400, "{}", read.len());
        assert!(read.iter().all(|(number, sample)| *sample == samples[*number as usize]));
        assert!(!reader.damage().is_empty());
        let distance = reader.damage().iter().map(|damage| damage.offset.abs_diff(from as u64)).min();
        assert!(distance.is_some_and(|distance| distance < 4096), "{distance:?}");
    }
    let mut cut = Reader::open(image[..image.len() / 2].to_vec()).expect("a recording");
    assert!(all(&mut cut).len() > 150 && cut.cut_short().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_damage_panics_hangs_or_gives_a_wrong_sample(
        hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        keep in any::<prop::sample::Index>(),
        stream: bool,
    ) {
        let samples = samples(150, 8);
        let limits = (!stream).then_some(Limits { cap_bytes: 1 << 20, max_age_ns: 0 });
        let mut image = recorded(&samples, limits, true);
        image.truncate(keep.index(image.len()) + 1);
        for (at, to) in hits {
            let at = at.index(image.len());
            image[at] = to;
        }
        if let Ok(mut stream) = Stream::open(&image[..]) {
            while let Ok(Some(_)) = stream.next_item() {}
        }
        if let Ok(mut reader) = Reader::open(image) {
            for (number, sample) in all(&mut reader) {
                prop_assert!(sample == samples[number as usize]);
            }
            reader.events();
            reader.timeline();
            reader.cut_short();
            for number in 0..200 {
                let _ = reader.window_at(number);
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, records in prop::collection::vec((0u8..6, 0u32..3, 0u32..9, any::<Vec<u8>>()), 0..20), segment_bytes in prop_oneof![Just(0u64), Just(32 << 10), any::<u64>()]) {
        let mut image = Header { segment_bytes, about: About::default() }.encode();
        for (kind, segment, number, body) in records {
            let kind = [Kind::Key, Kind::Delta, Kind::Event, Kind::Index, Kind::End][usize::from(kind) % 5];
            image.extend(Head::record(kind, segment, number, (number.into(), number.into()), &body));
        }
        image.extend(bytes);
        if let Ok(mut stream) = Stream::open(&image[..]) {
            while let Ok(Some(_)) = stream.next_item() {}
        }
        if let Ok(mut reader) = Reader::open(image) {
            while reader.next_sample().is_some() {}
            reader.events();
            reader.timeline();
            for number in 0..10 {
                let _ = reader.window_at(number);
            }
        }
    }
}
