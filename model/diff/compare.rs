//! From two sides to rows: one per metric and subject, each with its verdict.

use super::align::Alignment;
use super::bias::{self, Bias};
use super::cost::{CostChange, costs};
use super::explain;
use super::facts::{self, FactChange};
use super::outcome::Watch;
use super::part::{Part, Window, parts};
use super::reason::Reason;
use super::row::{Row, Verdict, spread};
use super::side::{Entry, Kind, Side};
use super::stat::{self, FEWEST, Family};
use super::subject::Subject;
use std::collections::HashMap;
use std::sync::Arc;

/// Of a hundred findings in thousands of metrics at most one is a false one.
const FALSE_RATE: f64 = 0.01;
/// Lengths of a span that a drift is followed over at most.
const FARTHEST: f64 = 16.0;

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
    /// What measures the work that is done; none where nothing does.
    pub load: Option<Watch>,
    /// Which part of each side was measured.
    pub windows: [Window; 2],
    /// Costs per unit of the load.
    pub costs: Vec<CostChange>,
    /// What else differed and speaks against an answer in one direction.
    pub biases: Vec<Bias>,
    /// Subjects that were left out of either side because there were too many.
    pub left_out: u64,
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

    /// The application's own metrics that both sides have, load first, then as they are named.
    pub fn own(&self) -> Vec<usize> {
        let own = self.rows.iter().enumerate().filter(|(_, row)| row.is_own());
        let mut own: Vec<(bool, usize)> = own.map(|(at, row)| (!self.is_load(row), at)).collect();
        own.sort_unstable();
        own.into_iter().map(|(_, at)| at).collect()
    }

    /// True if a row is of the load.
    pub fn is_load(&self, row: &Row) -> bool {
        self.load.as_ref().is_some_and(|load| load.subject == row.subject && load.metric == row.metric.id)
    }

    /// How many rows are not decided although there are enough samples.
    pub fn noisy(&self) -> usize {
        let noisy = |row: &&Row| row.verdict == Verdict::Inconclusive && row.decision.is_some();
        self.rows.iter().filter(noisy).count()
    }

    fn by_weight(&self, mut rows: Vec<usize>) -> Vec<usize> {
        let weight = |at: &usize| self.rows.get(*at).map_or(0.0, |row| row.weight);
        // What the application itself says is what the rest is about.
        let is_own = |at: &usize| self.rows.get(*at).is_some_and(|row| matches!(row.subject, Subject::Metric(_)));
        rows.sort_by(|a, b| is_own(b).cmp(&is_own(a)).then_with(|| weight(b).total_cmp(&weight(a))));
        rows
    }
}

/// The line on which a trend leads from one side to the other: seconds between two values of each, and between their
/// middles.
pub(super) type Line = ([f64; 2], f64);

/// Compares two sides; the application's own metric of work is the load where there is one.
pub fn compare(before: &Side, after: &Side) -> Comparison {
    compared([before, after], None, same_boot(before, after), false)
}

/// Compares two sides of one boot by a load that runs on at the end of both.
pub fn compare_by(before: &Side, after: &Side, load: Option<&Watch>) -> Comparison {
    compared([before, after], load, true, true)
}

fn compared([before, after]: [&Side; 2], load: Option<&Watch>, same_boot: bool, runs_on: bool) -> Comparison {
    let alignment = Alignment::of(before.topology(), after.topology(), same_boot);
    let apart = apart(before, after, same_boot);
    let load = load.cloned().or_else(|| own_load(before, after));
    let parts = parts([before, after], load.as_ref(), runs_on);
    let memory = before.memory_bytes().max(after.memory_bytes());
    let mut rows = Vec::new();
    for pair in pairs(before, after, &alignment) {
        for at in 0..pair.kind.table().len() {
            rows.extend(pair.row(&parts, at, memory));
        }
    }
    test(&mut rows, same_boot.then(|| line(&parts)).flatten(), apart);
    let mut ps: Vec<f64> = rows.iter().filter(|row| !row.is_own()).map(|row| row.p).filter(|&p| p < 1.0).collect();
    let tested = ps.len();
    let threshold = stat::threshold(&mut ps, FALSE_RATE);
    for row in &mut rows {
        row.judge(threshold);
    }
    let mut costs = load.as_ref().map_or_else(Vec::new, |load| costs(&parts, load));
    let biases = bias::biases(&rows, &costs, &parts, load.as_ref());
    bias::apply(&biases, &mut rows, &mut costs);
    explain::explain(&mut rows, after.topology());
    let (facts, moved_irqs) = facts::changes(before, after);
    let left_out = before.left_out() + after.left_out();
    let windows = parts.map(|part| part.window());
    Comparison { alignment, rows, facts, moved_irqs, tested, load, windows, costs, biases, left_out }
}

/// The application's own metric of work that both sides have most values of.
fn own_load(before: &Side, after: &Side) -> Option<Watch> {
    let watch = |entry: &Entry| Watch { subject: entry.subject.clone(), metric: "metric.work" };
    let count = |side: &Side, watch: &Watch| side.by_block(watch).iter().flatten().count();
    let own = before.entries.iter().filter(|entry| entry.kind == Kind::Metric).map(watch);
    let counted = own.map(|watch| (count(before, &watch).min(count(after, &watch)), watch));
    let most = counted
        .filter(|(count, _)| *count > 0)
        .max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.subject.cmp(&a.1.subject)));
    most.map(|(_, watch)| watch)
}

/// The line between two parts of one boot.
fn line(parts: &[Part<'_>; 2]) -> Option<Line> {
    let [one, other] = parts;
    if one.side.between {
        return None;
    }
    let distance = (other.middle_seconds()? - one.middle_seconds()?).abs();
    Some(([one.block_seconds()?, other.block_seconds()?], distance))
}

/// Tests every row that varied, each beside its fellows of the same metric.
fn test(rows: &mut [Row], line: Option<Line>, apart: f64) {
    let mut families: HashMap<&str, Family> = HashMap::new();
    for row in rows.iter() {
        families.entry(row.metric.id).or_insert_with(|| {
            let fellows = rows.iter().filter(|other| other.metric.id == row.metric.id);
            Family::of(fellows.filter_map(|other| other.groups.as_ref()?.alike()))
        });
    }
    for row in rows {
        let family = families.get(row.metric.id).copied().unwrap_or_default();
        row.test(family, line, apart);
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
    fn row(&self, parts: &[Part<'_>; 2], at: usize, memory: f64) -> Option<Row> {
        let metric = self.kind.table().get(at)?;
        let (one, one_samples) = parts[0].values(self.before, self.kind, at, metric);
        let (other, other_samples) = parts[1].values(self.after, self.kind, at, metric);
        let gone = |entry: Option<&Entry>| entry.is_none();
        let mut row = Row {
            subject: self.subject.clone(),
            subject_after: self.subject_after.clone(),
            metric,
            unit: self.after.or(self.before).map_or_else(|| "".into(), |entry| Arc::clone(&entry.unit)),
            before: spread(&one, one_samples),
            after: spread(&other, other_samples),
            shift: 0.0,
            error: 0.0,
            p: 1.0,
            weight: 0.0,
            floor: 0.0,
            verdict: Verdict::Inconclusive,
            reason: None,
            decision: None,
            under: None,
            owner: self.before.or(self.after).and_then(|entry| entry.owner.clone()),
            kernel: self.before.or(self.after).is_some_and(|entry| entry.kernel),
            separated: false,
            groups: None,
            values: [Vec::new(), Vec::new()],
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
            row.reason = Some(Self::too_few(parts, one_samples.min(other_samples)));
            return Some(row);
        }
        row.prepare([one, other], memory);
        Some(row)
    }

    /// Why there are too few values.
    fn too_few(parts: &[Part<'_>; 2], samples: u64) -> Reason {
        match parts.iter().position(Part::ended_early) {
            Some(side) => Reason::LoadEnded { after: side == 1 },
            None => Reason::TooFew { samples },
        }
    }
}
