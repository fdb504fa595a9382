//! A test run in phases: from one answer, mark, fix or command to the next.

use topotop_model::bottleneck::{Bottleneck, Outcome, ResourceKind};
use topotop_model::rules::Subject;

/// Samples that the answer needs to change: those before a change belong to neither side.
const LAG: u64 = 12;
/// A shorter phase is part of the one before it.
const SHORTEST: u64 = 8;
/// Maximum phases.
const MOST: usize = 12;
/// Maximum runs of one answer.
const MOST_RUNS: usize = 4096;

/// Identity of an answer: load changes below every limit do not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Collecting,
    Calm,
    Unknown,
    Limit(ResourceKind, Option<Subject>),
}

impl Key {
    pub(super) fn of(answer: &Bottleneck) -> Self {
        match (&answer.resource, answer.verdict) {
            _ if answer.is_collecting() => Self::Collecting,
            (Some(resource), Outcome::Limited | Outcome::Imbalance) => {
                Self::Limit(resource.kind, resource.subject.clone())
            }
            (_, Outcome::Idle | Outcome::NotSaturated) => Self::Calm,
            _ => Self::Unknown,
        }
    }
}

/// Samples with one answer.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) key: Key,
    pub(super) first: u64,
    pub(super) last: u64,
    /// The answer near the middle of the run.
    answer: Bottleneck,
    taken: u64,
}

/// The answers of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(pub(super) Vec<Run>);

impl Runs {
    /// Adds the answer of the next sample.
    pub(super) fn push(&mut self, sample: u64, key: Key, answer: &Bottleneck) {
        let full = self.0.len() >= MOST_RUNS;
        match self.0.last_mut() {
            Some(run) if run.key == key || full => {
                run.last = sample;
                // At each doubling of the run: the retained answer is near its middle.
                if sample - run.first >= 2 * (run.taken - run.first).max(4) {
                    (run.answer, run.taken) = (answer.clone(), sample);
                }
            }
            _ => self.0.push(Run { key, first: sample, last: sample, answer: answer.clone(), taken: sample }),
        }
    }

    /// The answer that stood for most of the samples from one to another.
    fn longest(&self, first: u64, last: u64) -> Option<&Run> {
        let within = |run: &Run| (run.last.min(last) + 1).saturating_sub(run.first.max(first));
        let known = self.0.iter().filter(|run| run.key != Key::Collecting && within(run) > 0);
        known.max_by_key(|run| within(run)).or_else(|| self.0.iter().find(|run| within(run) > 0))
    }
}

/// A part of the recording.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) first: u64,
    pub(super) last: u64,
    /// The last sample that is compared.
    pub(super) compared: u64,
    /// The event that began it, if any.
    pub(super) cause: String,
    pub(super) key: Key,
    pub(super) answer: Bottleneck,
}

/// The phases between the first and the last sample, by answers and by events with the sample after each.
pub(super) fn phases(runs: &Runs, events: &[(u64, String)], (first, last): (u64, u64)) -> Vec<Phase> {
    let mut starts: Vec<(u64, String)> = vec![(first, String::new())];
    for (sample, cause) in events.iter().filter(|event| event.0 > first && event.0 <= last) {
        starts.push((*sample, cause.clone()));
    }
    let mut before: Option<&Key> = None;
    for run in runs.0.iter().filter(|run| run.key != Key::Collecting && run.last - run.first + 1 >= SHORTEST) {
        let follows = events.iter().any(|event| (event.0..=event.0 + LAG).contains(&run.first));
        if before.is_some_and(|key| *key != run.key) && !follows {
            starts.push((run.first, String::new()));
        }
        before = Some(&run.key);
    }
    starts.sort_by_key(|start| start.0);
    merge(&mut starts, last);
    let ends: Vec<u64> = starts.iter().skip(1).map(|start| start.0 - 1).chain([last]).collect();
    let causes = starts.iter().skip(1).map(|start| !start.1.is_empty()).chain([true]).collect::<Vec<_>>();
    let all = starts.into_iter().zip(ends).zip(causes);
    all.filter_map(|(((first, cause), last), at_event)| {
        let late = LAG.min((last - first) / 2);
        let run = runs.longest(first + if cause.is_empty() { 0 } else { late }, last)?;
        let compared = if at_event { last } else { last - late };
        Some(Phase { first, last, compared, cause, key: run.key.clone(), answer: run.answer.clone() })
    })
    .collect()
}

/// Merges phases that are too short, and the shortest of too many; causes that are events are kept.
fn merge(starts: &mut Vec<(u64, String)>, last: u64) {
    let length = |starts: &[(u64, String)], at: usize| {
        let end = starts.get(at + 1).map_or(last + 1, |next| next.0);
        starts.get(at).map_or(0, |start| end - start.0)
    };
    loop {
        let shortest = (0..starts.len()).min_by_key(|at| length(starts, *at));
        let Some(at) = shortest.filter(|_| starts.len() > 1) else { return };
        if length(starts, at) >= SHORTEST && starts.len() <= MOST {
            return;
        }
        if at == 0 {
            // The next phase takes over its start, with its own cause.
            let first = starts.remove(0).0;
            if let Some(next) = starts.first_mut() {
                next.0 = first;
            }
        } else {
            starts.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, Phase, Runs, phases};
    use topotop_model::bottleneck::{Bottleneck, ResourceKind};

    fn of(kinds: &[(u64, Option<ResourceKind>)], events: &[(u64, &str)]) -> Vec<Phase> {
        let mut runs = Runs::default();
        let mut sample = 0;
        for (count, kind) in kinds {
            for _ in 0..*count {
                let key = kind.map_or(Key::Calm, |kind| Key::Limit(kind, None));
                runs.push(sample, key, &Bottleneck::default());
                sample += 1;
            }
        }
        let events: Vec<(u64, String)> = events.iter().map(|(at, text)| (*at, (*text).to_owned())).collect();
        phases(&runs, &events, (0, sample - 1))
    }

    #[test]
    fn a_change_of_the_answer_belongs_to_the_mark_before_it() {
        let kinds = [(68, Some(ResourceKind::IoThrottle)), (52, None)];
        let alone = of(&kinds, &[]);
        assert_eq!((alone.len(), alone[0].last, alone[0].compared, alone[1].first), (2, 67, 55, 68));
        let marked = of(&kinds, &[(60, "lifted")]);
        assert_eq!((marked.len(), marked[0].last, marked[0].compared), (2, 59, 59));
        assert_eq!((marked[1].cause.as_str(), &marked[1].key), ("lifted", &Key::Calm));
    }

    #[test]
    fn short_answers_and_too_many_events_make_no_phases() {
        let flicker = [(40, None), (3, Some(ResourceKind::Disk)), (40, None)];
        assert_eq!(of(&flicker, &[]).len(), 1);
        let events: Vec<(u64, &str)> = (1..40).map(|at| (at * 10, "mark")).collect();
        assert_eq!(of(&[(400, None)], &events).len(), 12);
        assert_eq!(of(&[(1, None)], &[]).len(), 1);
    }
}
