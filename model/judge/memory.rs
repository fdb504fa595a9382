//! Time series of rules: bounded, and dropped when unused.

use crate::rules::RuleId;
use crate::rules::Subject;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

/// How long a value is retained, in ns.
const DEPTH_NS: u64 = 600_000_000_000;
/// Maximum values of one series: at short intervals only some are retained.
const MAX_VALUES: usize = 600;
/// Maximum series of all rules.
const MAX_SERIES: usize = 4096;

/// Times and values, oldest first.
type Series = VecDeque<(u64, f64)>;

/// Series by rule and subject: hashed, since each rule looks up the same ones in every frame.
#[derive(Clone, Default)]
pub struct Memory {
    series: BTreeMap<RuleId, HashMap<Subject, Series>>,
    count: usize,
}

/// Sorted, so that equal ones print equal.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sorted: BTreeMap<_, _> = self.series().map(|(rule, subject, values)| ((rule, subject), values)).collect();
        f.debug_map().entries(sorted).finish()
    }
}

impl Memory {
    pub(crate) fn remember(
        &mut self,
        rule: RuleId,
        subject: &Subject,
        mono_ns: u64,
        value: f64,
        most: usize,
    ) -> Vec<(f64, f64)> {
        let series = match self.series.entry(rule).or_default().entry(subject.clone()) {
            Entry::Vacant(_) if self.count >= MAX_SERIES => return Vec::new(),
            Entry::Vacant(entry) => {
                self.count += 1;
                entry.insert(Series::new())
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        let spacing = DEPTH_NS / MAX_VALUES as u64;
        let before_last = series.len().checked_sub(2).and_then(|at| series.get(at));
        if before_last.is_some_and(|before| mono_ns.saturating_sub(before.0) < spacing) {
            series.pop_back();
        }
        series.push_back((mono_ns, value));
        while series.front().is_some_and(|first| mono_ns.saturating_sub(first.0) > DEPTH_NS) {
            series.pop_front();
        }
        newest(series, most)
    }

    /// The newest values of a series, at most `most`, oldest first.
    pub(crate) fn newest(&self, rule: RuleId, subject: &Subject, most: usize) -> Vec<(f64, f64)> {
        self.of(rule, subject).map(|series| newest(series, most)).unwrap_or_default()
    }

    /// The newest value of a series.
    pub(crate) fn recall(&self, rule: RuleId, subject: &Subject) -> Option<(f64, f64)> {
        let (at, value) = self.of(rule, subject)?.back()?;
        Some((*at as f64 / 1e9, *value))
    }

    fn of(&self, rule: RuleId, subject: &Subject) -> Option<&Series> {
        self.series.get(&rule)?.get(subject)
    }

    /// Every series with its rule and subject, unsorted.
    pub(crate) fn series(&self) -> impl Iterator<Item = (RuleId, &Subject, &Series)> {
        let of_rule = |(rule, series): (&RuleId, _)| (*rule, series);
        self.series.iter().map(of_rule).flat_map(|(rule, series): (_, &HashMap<_, _>)| {
            series.iter().map(move |(subject, values)| (rule, subject, values))
        })
    }

    /// Inserts a series.
    pub(crate) fn put(&mut self, rule: RuleId, subject: Subject, mut values: Series) {
        values.truncate(MAX_VALUES);
        if self.count < MAX_SERIES && self.series.entry(rule).or_default().insert(subject, values).is_none() {
            self.count += 1;
        }
    }

    /// Drops series without a new value for a minute.
    pub(crate) fn forget(&mut self, mono_ns: u64) {
        let fresh = |last: &(u64, f64)| mono_ns.saturating_sub(last.0) <= 60_000_000_000;
        self.count = 0;
        for series in self.series.values_mut() {
            series.retain(|_, series| series.back().is_some_and(fresh));
            self.count += series.len();
        }
    }
}

/// The newest values, at most `most`, in seconds.
fn newest(series: &Series, most: usize) -> Vec<(f64, f64)> {
    let seconds = |(at, value): &(u64, f64)| (*at as f64 / 1e9, *value);
    series.range(series.len().saturating_sub(most)..).map(seconds).collect()
}
