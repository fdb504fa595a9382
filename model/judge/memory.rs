//! What rules remember of values: bounded, and gone when nobody asks any more.

use crate::rules::Subject;
use std::collections::{BTreeMap, VecDeque};

/// How long a value is remembered, in ns.
const DEPTH_NS: u64 = 600_000_000_000;
/// The values of one series at most: at short intervals only some of them are kept.
const MAX_VALUES: usize = 600;
/// The series of all rules at most.
const MAX_SERIES: usize = 4096;

/// Series by rule and subject.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    series: BTreeMap<(&'static str, Subject), VecDeque<(u64, f64)>>,
}

impl Memory {
    pub(crate) fn remember(
        &mut self,
        rule: &'static str,
        subject: &Subject,
        mono_ns: u64,
        value: f64,
        most: usize,
    ) -> Vec<(f64, f64)> {
        let known = self.series.len();
        let series = match self.series.entry((rule, subject.clone())) {
            std::collections::btree_map::Entry::Vacant(_) if known >= MAX_SERIES => return Vec::new(),
            entry => entry.or_default(),
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
        let newest = series.len().saturating_sub(most);
        series.iter().skip(newest).map(|(at, value)| (*at as f64 / 1e9, *value)).collect()
    }

    /// The newest values of a series, so many at most, oldest first.
    pub(crate) fn newest(&self, rule: &'static str, subject: &Subject, most: usize) -> Vec<(f64, f64)> {
        let Some(series) = self.series.get(&(rule, subject.clone())) else { return Vec::new() };
        let newest = series.iter().skip(series.len().saturating_sub(most));
        newest.map(|(at, value)| (*at as f64 / 1e9, *value)).collect()
    }

    /// The newest value of a series.
    pub(crate) fn recall(&self, rule: &'static str, subject: &Subject) -> Option<(f64, f64)> {
        if self.series.is_empty() {
            return None;
        }
        let (at, value) = self.series.get(&(rule, subject.clone()))?.back()?;
        Some((*at as f64 / 1e9, *value))
    }

    /// Every series with its rule and subject.
    pub(crate) fn series(&self) -> impl Iterator<Item = (&'static str, &Subject, &VecDeque<(u64, f64)>)> {
        self.series.iter().map(|((rule, subject), values)| (*rule, subject, values))
    }

    /// Takes a series over.
    pub(crate) fn put(&mut self, rule: &'static str, subject: Subject, mut values: VecDeque<(u64, f64)>) {
        values.truncate(MAX_VALUES);
        if self.series.len() < MAX_SERIES {
            self.series.insert((rule, subject), values);
        }
    }

    /// Drops series that nothing was added to for a minute.
    pub(crate) fn forget(&mut self, mono_ns: u64) {
        let fresh = |last: &(u64, f64)| mono_ns.saturating_sub(last.0) <= 60_000_000_000;
        self.series.retain(|_, series| series.back().is_some_and(fresh));
    }
}
