//! Recordings made for tests: this machine's samples under new stamps.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use topotop::recording::{Target, Writer};
use topotop_collectors::{Options, Root, Sampler};
use topotop_model::recording::{About, Event, Limits, What};
use topotop_model::{Section, Snapshot, Table, VisitMut};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// 2026-03-01 14:00:00 UTC.
pub(crate) const START_NS: i64 = 1_772_373_600 * SECOND as i64;
/// The machine's own clock then.
const OWN_NS: u64 = 5_000 * SECOND;

/// Samples as they are recorded, a second apart.
pub(crate) struct Samples {
    real: Vec<Snapshot>,
}

impl Samples {
    /// Takes so many samples of this machine, so far apart; calls before each.
    pub(crate) fn take(count: u64, apart: Duration, mut each: impl FnMut(u64)) -> Self {
        let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
        let real = (0..count)
            .map(|at| {
                each(at);
                std::thread::sleep(apart);
                sampler.sample()
            })
            .collect();
        Self { real }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.real.len() as u64
    }

    /// Sample `at` as if it were taken `at` seconds after the start, its sections with it.
    pub(crate) fn get(&self, at: u64) -> Snapshot {
        struct Shift {
            real: u64,
            told: u64,
            first: u64,
            span: u64,
        }
        impl VisitMut for Shift {
            fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
                if section.read_at_ns == 0 {
                    return;
                }
                let mut copy = Section::<T>::clone(section);
                // The same share of the time from the first sample to this one.
                let since = section.read_at_ns.saturating_sub(self.first);
                let part = since as f64 / (self.real - self.first).max(1) as f64;
                copy.read_at_ns = self.told - self.span + (part * self.span as f64) as u64;
                *section = Arc::new(copy);
            }
        }
        let mut sample = self.real[at as usize].clone();
        let told = OWN_NS + at * SECOND;
        let first = self.real[0].stamp.mono_ns;
        let mut shift = Shift { real: sample.stamp.mono_ns, told, first, span: at * SECOND };
        sample.visit_mut(&mut shift);
        sample.stamp.seq = at + 1;
        sample.stamp.wall_ns = START_NS + (at * SECOND) as i64;
        (sample.stamp.mono_ns, sample.stamp.boot_ns) = (told, told);
        sample
    }
}

/// What tests say of a recorded machine.
pub(crate) fn about(host: &str, boot_id: &str) -> About {
    About {
        program: "topotop".to_owned(),
        host: host.to_owned(),
        boot_id: boot_id.to_owned(),
        interval_ns: SECOND,
        started_wall_ns: START_NS,
        ..About::default()
    }
}

/// A writer of a new file without limits.
pub(crate) fn writer(path: &Path, about: About) -> Writer {
    let limits = Limits { cap_bytes: 0, max_age_ns: 0 };
    Writer::start(&Target::File { path: path.to_owned(), limits }, about).expect("a new file")
}

/// A mark before the sample `at`.
pub(crate) fn mark(text: &str, at: u64) -> Event {
    let what = What::Mark { text: text.to_owned() };
    Event { wall_ns: START_NS + (at * SECOND) as i64, mono_ns: OWN_NS + at * SECOND, what }
}

/// Records all samples with a mark at every hundredth, but those of which `lost` is true.
pub(crate) fn record(path: &Path, samples: &Samples, about: About, lost: impl Fn(u64) -> bool) {
    let mut writer = writer(path, about);
    for at in (0..samples.len()).filter(|&at| !lost(at)) {
        if at % 100 == 50 {
            writer.event(mark(&format!("step {}", at / 100 + 1), at));
        }
        writer.append(&samples.get(at));
    }
    let status = writer.close();
    assert_eq!((status.skipped, status.trouble), (0, None));
}
