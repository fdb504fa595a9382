//! The headlines around what is shown, by sample, and how hot each sample was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;
use topotop_model::history::{DEPTH, Headline, History};
use topotop_model::recording::{Summary, When};
use topotop_widgets::parts::timebar::Bar;

/// Headlines in memory: those furthest from what is shown are dropped first.
const RETAINED: usize = DEPTH * 5;
/// Samples whose heat is stored one by one.
const HEATED: usize = 1 << 16;
/// Parts of a bar: more than any terminal has columns to spare for.
const PARTS: usize = 512;

/// What was derived of a recording so far.
#[derive(Debug, Default)]
pub(super) struct Headlines {
    known: BTreeMap<u64, Arc<Headline>>,
    /// None where the sample was read and its heat is unknown.
    heat: BTreeMap<u64, Option<u8>>,
    /// Samples that are lost.
    absent: BTreeSet<u64>,
    /// What whole minutes were like, by the sample at their end.
    pub(super) minutes: Vec<(u64, When, Summary)>,
}

impl Headlines {
    /// Takes in the headline of a sample; `shown` is the sample on the screen.
    pub(super) fn insert(&mut self, sample: u64, headline: Arc<Headline>, shown: u64) {
        self.heat.insert(sample, headline.heat().map(|heat| (heat.clamp(0.0, 1.0) * 255.0) as u8));
        if self.heat.len() > HEATED {
            self.heat.pop_first();
        }
        self.known.insert(sample, headline);
        while self.known.len() > RETAINED {
            let first = self.known.keys().next().map_or(0, |first| shown.abs_diff(*first));
            let last = self.known.keys().next_back().map_or(0, |last| shown.abs_diff(*last));
            if first > last {
                self.known.pop_first()
            } else {
                self.known.pop_last()
            };
        }
    }

    /// True if a sample was read.
    pub(super) fn knows(&self, sample: u64) -> bool {
        self.heat.contains_key(&sample)
    }

    /// Takes in what was found of the samples of a range: those that are not there are lost.
    pub(super) fn fill(&mut self, range: RangeInclusive<u64>, headlines: Vec<(u64, Arc<Headline>)>, shown: u64) {
        let there: BTreeSet<u64> = headlines.iter().map(|headline| headline.0).collect();
        for (sample, headline) in headlines {
            self.insert(sample, headline, shown);
        }
        for sample in range.filter(|sample| !there.contains(sample)).take(HEATED) {
            self.absent.insert(sample);
            self.heat.insert(sample, None);
        }
    }

    /// What is no longer in the recording.
    pub(super) fn forget_before(&mut self, first: u64) {
        if self.heat.keys().next().is_some_and(|&oldest| oldest < first) {
            self.heat = self.heat.split_off(&first);
            self.known = self.known.split_off(&first);
            self.absent = self.absent.split_off(&first);
        }
    }

    /// The headlines up to a sample, about equally far apart: where only some samples were looked at, since it played
    /// fast, the chart has a longer time instead of a crooked one.
    pub(super) fn history(&self, sample: u64) -> History {
        let mut taken: Vec<Arc<Headline>> = Vec::new();
        let (mut at, mut stride) = (None, None);
        for (&number, headline) in self.known.range(..=sample).rev() {
            let Some(newer) = at else {
                taken.push(Arc::clone(headline));
                at = Some(number);
                continue;
            };
            let distance = newer - number;
            let usual = *stride.get_or_insert(distance);
            if distance * 2 < usual {
                continue;
            }
            if distance > usual * 2 || taken.len() == DEPTH {
                break;
            }
            taken.push(Arc::clone(headline));
            at = Some(number);
        }
        taken.into_iter().rev().collect()
    }

    /// The newest sample at or before one whose headline is not known, and that the history of `sample` should have.
    pub(super) fn missing(&self, sample: u64, first: u64) -> Option<u64> {
        let oldest = sample.saturating_sub(DEPTH as u64 - 1).max(first);
        let there = |sample: &u64| !self.known.contains_key(sample) && !self.absent.contains(sample);
        (oldest..=sample).rev().find(there)
    }

    /// The oldest sample of a range that was not read.
    pub(super) fn cold(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let mut wanted = *range.start();
        for (&sample, _) in self.heat.range(range.clone()) {
            if sample != wanted {
                break;
            }
            wanted += 1;
        }
        range.contains(&wanted).then_some(wanted)
    }

    /// Heat in equal parts from one sample to another: of each sample where that is known, else of its minute.
    pub(super) fn heat(&self, first: u64, last: u64) -> Vec<Option<u8>> {
        let count = last.saturating_sub(first).saturating_add(1);
        let parts = PARTS.min(usize::try_from(count).unwrap_or(PARTS));
        let mut heat = vec![None; parts];
        let part = |sample: u64| (u128::from(sample - first) * parts as u128 / u128::from(count)) as usize;
        let mut start = None;
        for (end, _, summary) in &self.minutes {
            let from = start.replace(*end).unwrap_or(*end).max(first);
            let Some(value) = of_summary(summary).filter(|_| *end >= first && *end <= last && from <= *end) else {
                continue;
            };
            for cell in heat.iter_mut().take(part(*end) + 1).skip(part(from)) {
                *cell = (*cell).max(Some(value));
            }
        }
        // Samples are finer than minutes: a part that has any shows them.
        let mut samples: Vec<Option<u8>> = vec![None; parts];
        for (&sample, &value) in self.heat.range(first..=last) {
            if let Some(cell) = samples.get_mut(part(sample)) {
                *cell = (*cell).max(value);
            }
        }
        let dense = self.heat.len() as u64 * 2 > count;
        for (cell, sample) in heat.iter_mut().zip(samples) {
            *cell = if dense { sample.or(*cell) } else { sample.max(*cell) };
        }
        heat
    }
}

fn of_summary(summary: &Summary) -> Option<u8> {
    let Summary { hottest_cpu, hottest_softirq, disk, nic, memory_pressure, io_pressure, .. } = summary;
    let shares = [hottest_cpu, hottest_softirq, disk, nic, memory_pressure, io_pressure];
    let hottest = shares.into_iter().flatten().max_by(|a, b| a.total_cmp(b))?;
    Some((hottest.clamp(0.0, 1.0) * 255.0) as u8)
}

/// What a bar has besides heat, as it was found in the background.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    /// Marks by sample.
    pub(super) marks: Vec<(u64, String)>,
    /// First samples after holes.
    pub(super) holes: Vec<u64>,
    /// First samples after damage.
    pub(super) damage: Vec<u64>,
    /// Times on the axis.
    pub(super) times: Vec<(u64, String)>,
}

impl Survey {
    /// A bar of it all.
    pub(super) fn bar(&self, headlines: &Headlines, (first, last): (u64, u64)) -> Bar {
        let inside = |samples: &[u64]| samples.iter().copied().filter(|at| (first..=last).contains(at)).collect();
        let within = |texts: &[(u64, String)]| {
            texts.iter().filter(|text| (first..=last.saturating_add(1)).contains(&text.0)).cloned().collect()
        };
        Bar {
            first,
            last,
            heat: headlines.heat(first, last),
            marks: within(&self.marks),
            holes: inside(&self.holes),
            damage: inside(&self.damage),
            times: within(&self.times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Headlines;
    use std::sync::Arc;
    use topotop_model::history::{DEPTH, Headline};
    use topotop_model::recording::{Summary, When};

    fn headline(sample: u64, share: f64) -> Arc<Headline> {
        Arc::new(Headline { mono_ns: sample, disk: Some(share), ..Headline::default() })
    }

    #[test]
    fn the_history_of_a_sample_is_even() {
        let mut headlines = Headlines::default();
        (0..1000).for_each(|sample| headlines.insert(sample, headline(sample, 0.1), sample));
        let history = headlines.history(900);
        assert_eq!((history.len(), history.iter().next().map(|first| first.mono_ns)), (DEPTH, Some(301)));
        assert_eq!(headlines.missing(900, 0), None);
        // A hole ends it; missing samples are requested from the newest on.
        (1010..1020).for_each(|sample| headlines.insert(sample, headline(sample, 0.1), sample));
        assert_eq!(headlines.history(1019).len(), 10);
        assert_eq!(headlines.missing(1019, 0), Some(1009));
        assert_eq!(headlines.missing(1019, 1010), None);
        // At a high speed every fiftieth is read.
        (1..40).for_each(|step| headlines.insert(1019 + step * 50, headline(1019 + step * 50, 0.1), 3000));
        assert_eq!(headlines.history(2969).iter().next_back().map(|last| last.mono_ns), Some(2969));
        assert!(headlines.history(2969).len() >= 40);
    }

    #[test]
    fn it_stays_small_and_near_what_is_shown() {
        let mut headlines = Headlines::default();
        (0..20_000).for_each(|sample| headlines.insert(sample, headline(sample, 0.1), 500));
        assert!(headlines.known.len() <= super::RETAINED);
        assert_eq!(headlines.history(500).len(), 501);
    }

    #[test]
    fn heat_comes_from_samples_else_from_minutes() {
        let mut headlines = Headlines::default();
        let summary = |share| Summary { disk: Some(share), ..Summary::default() };
        headlines.minutes =
            (0..10).map(|at| (at * 60, When::default(), summary(if at == 5 { 1.0 } else { 0.2 }))).collect();
        let heat = headlines.heat(0, 599);
        assert_eq!((heat.len(), heat[0], heat[heat.len() - 1]), (512, Some(51), None));
        assert_eq!(heat.iter().filter(|part| **part == Some(255)).count(), 53);
        (0..600).for_each(|sample| {
            headlines.insert(sample, headline(sample, if sample == 270 { 1.0 } else { 0.0 }), 0);
        });
        assert_eq!(headlines.heat(0, 599).iter().filter(|part| **part == Some(255)).count(), 1);
        assert_eq!(headlines.heat(0, 0).len(), 1);
    }
}
