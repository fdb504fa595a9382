//! From two sides to rows: one per metric and subject, each with its verdict.

use super::align::Alignment;
use super::explain;
use super::facts::{self, FactChange};
use super::metric::{Better, Metric};
use super::side::{Entry, Kind, Side};
use super::stat::{self, FEWEST, Family, Groups, Noise};
use super::subject::Subject;
use serde::Serialize;
use std::collections::HashMap;

/// Of a hundred findings in thousands of metrics at most one is a false one.
const FALSE_RATE: f64 = 0.01;
/// A metric that is asked about by itself is that unlikely to have changed by chance.
pub(super) const ALONE: f64 = 0.01;
/// Lengths of a span that a drift is followed over at most.
const FARTHEST: f64 = 16.0;
/// The weight of a change that could hardly be larger.
const HEAVIEST: f64 = 1000.0;
/// Tested, however likely it is by chance.
const UNLIKELY_LEAST: f64 = 0.999_999;

/// What is said of one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, schemars(rename = "DiffVerdict"))]
pub enum Verdict {
    /// It changed for the better.
    Improved,
    /// It changed for the worse.
    Worse,
    /// It changed, and nobody knows which way is better.
    Changed,
    /// No change beyond its own noise.
    NoChange,
    /// Too few valid samples on a side.
    Inconclusive,
    /// There is such a subject before only.
    OnlyBefore,
    /// There is such a subject after only.
    OnlyAfter,
}

impl Verdict {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Improved => "improved",
            Self::Worse => "worse",
            Self::Changed => "changed",
            Self::NoChange => "no_change",
            Self::Inconclusive => "inconclusive",
            Self::OnlyBefore => "only_before",
            Self::OnlyAfter => "only_after",
        }
    }

    /// True if something is different.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::NoChange | Self::Inconclusive)
    }
}

/// Where the values of a side lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spread {
    /// Half of the values are below.
    pub median: f64,
    /// A quarter of the values are below.
    #[serde(rename = "low_quartile")]
    pub low: f64,
    /// A quarter of the values are above.
    #[serde(rename = "high_quartile")]
    pub high: f64,
    /// Their mean.
    pub mean: f64,
    /// Valid samples.
    pub samples: u64,
}

/// One metric of one subject.
#[derive(Clone, Debug)]
pub struct Row {
    /// Of what, as it is called before.
    pub subject: Subject,
    /// As it is called after, where that is something else.
    pub subject_after: Option<Subject>,
    /// What.
    pub metric: &'static Metric,
    /// Before; none without valid samples.
    pub before: Option<Spread>,
    /// After.
    pub after: Option<Spread>,
    /// Difference of the means.
    pub shift: f64,
    /// Standard error of that.
    pub error: f64,
    /// Chance of such a shift without a change; 1 where none was worth testing.
    pub p: f64,
    /// The shift in floors of the metric: how much it matters.
    pub weight: f64,
    /// The smallest change of it that is worth a word, in its own unit.
    pub floor: f64,
    /// What is said of it.
    pub verdict: Verdict,
    /// The row that it follows from.
    pub under: Option<usize>,
    pub(super) owner: Option<Subject>,
    separated: bool,
    one_sided: Option<Verdict>,
    groups: Option<Groups>,
}

/// Everything that two sides differ in, and everything in which they do not.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// How CPUs and nodes were paired.
    pub alignment: Alignment,
    /// Every metric that either side has.
    pub rows: Vec<Row>,
    /// Settings that differ.
    pub facts: Vec<FactChange>,
    /// Interrupts whose CPUs differ because irqbalance moved them.
    pub moved_irqs: usize,
    /// Metrics that varied enough to be tested.
    pub tested: usize,
    /// Subjects that were left out of either side because there were too many.
    pub left_out: u64,
    /// The time between the middles of the two sides, in lengths of one.
    pub(super) apart: f64,
}

impl Comparison {
    /// The rows that changed and follow from no other, by weight.
    pub fn heads(&self) -> Vec<usize> {
        let head = |(at, row): (usize, &Row)| (row.verdict.is_change() && row.under.is_none()).then_some(at);
        self.by_weight(self.rows.iter().enumerate().filter_map(head).collect())
    }

    /// The rows that follow from a row, by weight.
    pub fn under(&self, head: usize) -> Vec<usize> {
        let below = |(at, row): (usize, &Row)| (row.under == Some(head)).then_some(at);
        self.by_weight(self.rows.iter().enumerate().filter_map(below).collect())
    }

    /// True if a metric or a setting changed.
    pub fn is_change(&self) -> bool {
        !self.facts.is_empty() || self.rows.iter().any(|row| row.verdict.is_change())
    }

    /// How many rows have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// A metric of a subject.
    pub fn row(&self, subject: &Subject, metric: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.metric.id == metric && row.subject == *subject)
    }

    fn by_weight(&self, mut rows: Vec<usize>) -> Vec<usize> {
        let weight = |at: &usize| self.rows.get(*at).map_or(0.0, |row| row.weight);
        // What the application itself says is what the rest is about.
        let is_own = |at: &usize| self.rows.get(*at).is_some_and(|row| matches!(row.subject, Subject::Metric(_)));
        rows.sort_by(|a, b| is_own(b).cmp(&is_own(a)).then_with(|| weight(b).total_cmp(&weight(a))));
        rows
    }
}

/// Compares two sides.
pub fn compare(before: &Side, after: &Side) -> Comparison {
    let same_boot = same_boot(before, after);
    let alignment = Alignment::of(before.topology(), after.topology(), same_boot);
    let apart = apart(before, after, same_boot);
    let memory = before.memory_bytes().max(after.memory_bytes());
    let mut rows = Vec::new();
    for pair in pairs(before, after, &alignment) {
        for at in 0..pair.kind.table().len() {
            rows.extend(pair.row(before, after, at, memory));
        }
    }
    test(&mut rows, apart);
    let mut ps: Vec<f64> = rows.iter().map(|row| row.p).filter(|&p| p < 1.0).collect();
    let tested = ps.len();
    let threshold = stat::threshold(&mut ps, FALSE_RATE);
    for row in &mut rows {
        row.judge(threshold);
    }
    explain::explain(&mut rows, after.topology());
    let (facts, moved_irqs) = facts::changes(before, after);
    let left_out = before.left_out() + after.left_out();
    Comparison { alignment, rows, facts, moved_irqs, tested, left_out, apart }
}

/// Tests every row that varied, each beside its fellows of the same metric.
fn test(rows: &mut [Row], apart: f64) {
    let mut families: HashMap<&str, Family> = HashMap::new();
    for row in rows.iter() {
        families.entry(row.metric.id).or_insert_with(|| {
            let fellows = rows.iter().filter(|other| other.metric.id == row.metric.id);
            Family::of(fellows.filter_map(|other| other.groups.as_ref()?.alike()))
        });
    }
    for row in rows {
        let family = families.get(row.metric.id).copied().unwrap_or_default();
        row.test(family, apart);
    }
}

/// True if both are of one boot of one machine.
fn same_boot(before: &Side, after: &Side) -> bool {
    !before.boot_id().is_empty() && before.boot_id() == after.boot_id()
}

/// The time between the middles of two sides, in lengths of one; one where nothing tells.
fn apart(before: &Side, after: &Side, same_boot: bool) -> f64 {
    let (Some(one), Some(other)) = (before.span(), after.span()) else { return 1.0 };
    let middle = |span: (crate::Stamp, crate::Stamp)| f64::midpoint(span.0.mono_ns as f64, span.1.mono_ns as f64);
    let length = |span: (crate::Stamp, crate::Stamp)| span.1.mono_ns as f64 - span.0.mono_ns as f64;
    let mean = f64::midpoint(length(one), length(other));
    if !same_boot || mean <= 0.0 {
        return 1.0;
    }
    ((middle(other) - middle(one)).abs() / mean).min(FARTHEST)
}

/// A subject of either side, or of both.
struct Pair<'a> {
    kind: Kind,
    subject: Subject,
    subject_after: Option<Subject>,
    before: Option<&'a Entry>,
    after: Option<&'a Entry>,
}

fn pairs<'a>(before: &'a Side, after: &'a Side, alignment: &Alignment) -> Vec<Pair<'a>> {
    let mut other: HashMap<Subject, &Entry> = HashMap::new();
    for entry in &after.entries {
        let subject = match entry.subject {
            Subject::Cpu(cpu) => alignment.cpu(cpu).map(Subject::Cpu),
            Subject::Node(node) => alignment.node(node).map(Subject::Node),
            _ => Some(entry.subject.clone()),
        };
        other.extend(subject.map(|subject| (subject, entry)));
    }
    let one_by_one =
        |entry: &&Entry| *alignment != Alignment::Aggregated || !matches!(entry.kind, Kind::Cpu | Kind::Node);
    let mut pairs: Vec<Pair<'a>> = Vec::new();
    for entry in before.entries.iter().filter(one_by_one) {
        let after = other.remove(&entry.subject);
        let subject_after = after.map(|after| after.subject.clone()).filter(|subject| *subject != entry.subject);
        pairs.push(Pair {
            kind: entry.kind,
            subject: entry.subject.clone(),
            subject_after,
            before: Some(entry),
            after,
        });
    }
    let new = other.into_iter().map(|(subject, entry)| Pair {
        kind: entry.kind,
        subject,
        subject_after: None,
        before: None,
        after: Some(entry),
    });
    pairs.extend(new);
    pairs.sort_by(|a, b| (a.kind as usize, &a.subject).cmp(&(b.kind as usize, &b.subject)));
    pairs
}

impl Pair<'_> {
    fn row(&self, before: &Side, after: &Side, at: usize, memory: f64) -> Option<Row> {
        let metric = self.kind.table().get(at)?;
        let (one, one_samples) = before.values(self.before, self.kind, at, metric);
        let (other, other_samples) = after.values(self.after, self.kind, at, metric);
        let gone = |entry: Option<&Entry>| entry.is_none();
        let mut row = Row {
            subject: self.subject.clone(),
            subject_after: self.subject_after.clone(),
            metric,
            before: spread(&one, one_samples),
            after: spread(&other, other_samples),
            shift: 0.0,
            error: 0.0,
            p: 1.0,
            weight: 0.0,
            floor: 0.0,
            verdict: Verdict::Inconclusive,
            under: None,
            owner: self.before.or(self.after).and_then(|entry| entry.owner.clone()),
            separated: false,
            groups: None,
            one_sided: match (gone(self.before), gone(self.after)) {
                (true, _) => Some(Verdict::OnlyAfter),
                (_, true) => Some(Verdict::OnlyBefore),
                _ => None,
            },
        };
        if one.is_empty() && other.is_empty() {
            return None;
        }
        if one.len().min(other.len()) < FEWEST {
            return Some(row);
        }
        row.prepare(&one, &other, memory);
        Some(row)
    }
}

impl Row {
    /// What the test needs of the values of the two sides; none where they never left a floor's width: such a metric
    /// cannot have changed by as much, and costs the others nothing.
    fn prepare(&mut self, before: &[f64], after: &[f64], memory: f64) {
        self.verdict = Verdict::NoChange;
        let (Some(one), Some(other)) = (self.before, self.after) else { return };
        self.floor = self.metric.floor.between(one.mean, other.mean, memory);
        let all = || before.iter().chain(after).copied();
        let range = all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min);
        self.shift = other.mean - one.mean;
        self.weight = (self.shift.abs() / self.floor).min(HEAVIEST);
        self.groups = (range >= self.floor).then(|| Groups::new(before, after));
    }

    /// Tests the two sides; the verdict waits for the other tests.
    fn test(&mut self, family: Family, apart: f64) {
        let (Some(groups), Some(one), Some(other)) = (self.groups.take(), self.before, self.after) else { return };
        let test = groups.test(family, self.metric.noise, apart);
        self.error = test.error;
        self.p = test.p.min(UNLIKELY_LEAST);
        let median = other.median - one.median;
        // A shift that only a few moments make is none of what happens most of the time.
        let lasts = median.signum() == test.shift.signum() && median.abs() >= self.floor / 2.0;
        self.separated = lasts && test.separated();
    }

    fn judge(&mut self, threshold: f64) {
        if self.verdict == Verdict::NoChange && self.separated && self.weight >= 1.0 && self.p <= threshold {
            self.verdict = self.way();
        }
    }

    /// What is said of it where it is asked about by itself, not found among thousands: then neither those count, nor
    /// has it to be another one nearly all the time, unless that is wanted.
    pub fn alone(&self, throughout: bool) -> Verdict {
        match self.verdict {
            Verdict::Inconclusive => Verdict::Inconclusive,
            _ if self.weight < 1.0 || self.p > ALONE || (throughout && !self.separated) => Verdict::NoChange,
            _ => self.way(),
        }
    }

    /// Which way a change of it goes.
    fn way(&self) -> Verdict {
        match (self.one_sided, self.metric.better) {
            (Some(verdict), _) => verdict,
            (None, Better::Neither) => Verdict::Changed,
            (None, Better::Higher) if self.shift > 0.0 => Verdict::Improved,
            (None, Better::Lower) if self.shift < 0.0 => Verdict::Improved,
            (None, Better::Higher | Better::Lower) => Verdict::Worse,
        }
    }

    /// True if it drifts: its level is history.
    pub fn drifts(&self) -> bool {
        self.metric.noise == Noise::Drifting
    }
}

fn spread(values: &[f64], samples: u64) -> Option<Spread> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| {
        let place = share * (sorted.len().checked_sub(1)?) as f64;
        let (low, high) = (*sorted.get(place.floor() as usize)?, *sorted.get(place.ceil() as usize)?);
        Some(low + (high - low) * place.fract())
    };
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    Some(Spread { median: quantile(0.5)?, low: quantile(0.25)?, high: quantile(0.75)?, mean, samples })
}
