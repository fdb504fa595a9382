//! `topotop.diff/1`: what changed between two recordings or spans.

mod measured;

use super::{OrNull, safe};
use crate::diff::stat::rounded;
use crate::diff::{Better, Comparison, FactChange, Found, FoundChanges, Reason, Row, Spread, Verdict};
use crate::recording::RecordedFix;
use crate::rules::{RuleId, Severity};
use measured::{BiasNote, UnitCost, Windows, rounded_spread};
use serde::Serialize;
use serde_with::apply;

/// Name and version of the document; it changes only if a key changes its meaning.
pub const DIFF: &str = "topotop.diff/1";

/// A comparison as a document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Diff {
    schema: &'static str,
    /// The application metrics, the load first.
    application: Vec<Change>,
    /// The metric that measures the work that `costs` are divided by; null where there is none.
    work: OrNull<String>,
    /// Costs per unit of work.
    costs: Vec<UnitCost>,
    /// What else differed between the sides and leaves a verdict undecided.
    biases: Vec<BiasNote>,
    before: Side,
    after: Side,
    /// Which part of each side was measured.
    windows: Windows,
    /// How CPUs and nodes were paired: by number (`by_id`), by package, node and core (`by_place`), or only as a whole
    /// (`aggregated`).
    alignment: &'static str,
    /// True if a metric, a setting or a finding changed; --exit-code reports it by the exit status.
    changed: bool,
    summary: String,
    counts: Counts,
    findings: Findings,
    settings: Vec<Setting>,
    /// Largest first, each with its effects.
    changes: Vec<Change>,
    /// With --all: every metric, changed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<Change>>,
    /// Settings of interrupts that differ because irqbalance ran on both sides.
    irq_settings_moved_by_irqbalance: usize,
    /// Rows of processes, groups, interrupts and queues beyond 4,096 of a kind.
    left_out: u64,
    /// Fixes applied or undone between the start of the first span and the end of the last, as the recordings report.
    fixes: Vec<FixEvent>,
}

/// One side of a comparison.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Side {
    /// The recording.
    pub file: String,
    /// Its machine.
    pub host: String,
    /// Its kernel.
    pub kernel: String,
    /// Boot ID of the recording.
    pub boot_id: String,
    /// What was compared, in words.
    pub span: String,
    /// RFC 3339, UTC.
    pub from: String,
    /// RFC 3339, UTC.
    pub to: String,
    /// Its length.
    pub seconds: f64,
    /// Its samples.
    pub samples: u64,
    /// Quartiles and medians are taken over means of this many samples.
    pub samples_per_block: u64,
    /// Places that could not be read.
    pub damaged_places: u64,
}

/// How many settings and metrics of each verdict there are.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Counts {
    settings: usize,
    improved: usize,
    worse: usize,
    changed: usize,
    only_before: usize,
    only_after: usize,
    no_change: usize,
    /// Not decided: too few valid samples, or too much noise.
    inconclusive: usize,
    /// Metrics that varied enough to be tested for a change.
    tested: usize,
}

/// The findings of each side, evaluated again over its span with the rules and thresholds of this run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Findings {
    /// Before only.
    gone: Vec<Finding>,
    /// After only.
    new: Vec<Finding>,
    /// Open on both sides; described as on the side after.
    both: Vec<Finding>,
    /// On one side; its rule could not be checked on the other.
    unknown: Vec<Finding>,
}

/// A finding of a side.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "DiffFinding"))]
struct Finding {
    /// `topotop rules` lists them.
    rule: RuleId,
    /// Its highest severity.
    severity: Severity,
    /// What it is about; processes and interrupts by their names.
    subject: String,
    title: String,
    /// Samples in which it was open.
    samples: u64,
    /// Samples of the side.
    of: u64,
}

/// A setting that differs; null where there was no such setting.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Setting {
    subject: String,
    name: String,
    before: OrNull<String>,
    after: OrNull<String>,
    changed_within_a_side: bool,
}

/// A metric of a subject.
#[apply(Option => #[serde(skip_serializing_if = "Option::is_none")])]
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Change {
    /// Containers by pod and name, processes by name and group, interrupts by their actions.
    subject: String,
    /// Its subject after, if its number differs.
    subject_after: Option<String>,
    metric: &'static str,
    name: &'static str,
    unit: &'static str,
    /// The unit that the user gave the application metric.
    own_unit: Option<String>,
    better: Better,
    verdict: Verdict,
    /// Why it is inconclusive.
    reason: Option<&'static str>,
    before: Option<Spread>,
    after: Option<Spread>,
    /// Difference of the means.
    shift: Option<f64>,
    /// The smallest change that counts.
    floor: Option<f64>,
    /// The shift as a multiple of the floor.
    weight: Option<f64>,
    /// Standard error of the shift; autocorrelation and drift included.
    standard_error: Option<f64>,
    /// Chance of such a shift without a change; all but the application metrics share one false discovery rate of 1 %.
    p: Option<f64>,
    /// 95 % interval of the shift.
    interval: Option<[f64; 2]>,
    /// No difference is larger than this.
    bound: Option<f64>,
    /// After as a multiple of before, and its 95 % interval.
    ratio: Option<[f64; 3]>,
    /// Samples before and after that were used.
    samples_used: Option<[u64; 2]>,
    /// Changes that follow from this one.
    follows: Option<Vec<Change>>,
}

/// A fix that was applied or undone.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FixEvent {
    at: String,
    /// RULE/SUBJECT/FIX.
    id: String,
    title: String,
    /// `applied`, `partial` or `undone`.
    state: &'static str,
}

impl FixEvent {
    /// An event of a recording with its time.
    pub fn of(at: String, fix: &RecordedFix) -> Self {
        Self { at, id: safe(&fix.id), title: safe(&fix.title), state: fix.state.into() }
    }
}

impl Diff {
    /// What two sides differ in; `all` adds every metric.
    pub fn of((before, after): (Side, Side), comparison: &Comparison, findings: &FoundChanges, all: bool) -> Self {
        let list = |list: &[Found]| list.iter().map(Finding::from).collect();
        let rows = |places: Vec<usize>| places.into_iter().filter_map(|at| comparison.rows.get(at)).map(Change::from);
        let change = |head| {
            let row = comparison.rows.get(head)?;
            Some(Change { follows: Some(rows(comparison.under(head)).collect()), ..Change::from(row) })
        };
        Self {
            schema: DIFF,
            application: rows(comparison.own()).collect(),
            work: OrNull(comparison.load.as_ref().map(|load| safe(load.subject.to_string()))),
            costs: comparison.costs.iter().map(UnitCost::from).collect(),
            biases: comparison.biases.iter().map(BiasNote::from).collect(),
            windows: Windows::from(&comparison.windows),
            before,
            after,
            alignment: comparison.alignment.name(),
            changed: comparison.is_change() || findings.is_change(),
            summary: String::new(),
            counts: Counts::of(comparison),
            findings: Findings {
                gone: list(&findings.gone),
                new: list(&findings.new),
                both: list(&findings.both),
                unknown: list(&findings.unknown),
            },
            settings: comparison.facts.iter().map(Setting::from).collect(),
            changes: comparison.heads().into_iter().filter_map(change).collect(),
            metrics: all.then(|| comparison.rows.iter().map(Change::from).collect()),
            irq_settings_moved_by_irqbalance: comparison.moved_irqs,
            left_out: comparison.left_out,
            fixes: Vec::new(),
        }
    }

    /// The same with a summary in one line and the fixes of the time.
    #[must_use]
    pub fn with(self, summary: String, fixes: Vec<FixEvent>) -> Self {
        Self { summary, fixes, ..self }
    }
}

impl Counts {
    fn of(comparison: &Comparison) -> Self {
        Self {
            settings: comparison.facts.len(),
            improved: comparison.count(Verdict::Improved),
            worse: comparison.count(Verdict::Worse),
            changed: comparison.count(Verdict::Changed),
            only_before: comparison.count(Verdict::OnlyBefore),
            only_after: comparison.count(Verdict::OnlyAfter),
            no_change: comparison.count(Verdict::NoChange),
            inconclusive: comparison.count(Verdict::Inconclusive),
            tested: comparison.tested,
        }
    }
}

impl From<&Found> for Finding {
    fn from(found: &Found) -> Self {
        Self {
            rule: found.rule.id,
            severity: found.severity,
            subject: safe(&found.subject),
            title: safe(&found.title),
            samples: found.samples,
            of: found.of,
        }
    }
}

impl From<&FactChange> for Setting {
    fn from(fact: &FactChange) -> Self {
        Self {
            subject: safe(fact.subject.to_string()),
            name: safe(&fact.name),
            before: OrNull::text(fact.before.as_deref()),
            after: OrNull::text(fact.after.as_deref()),
            changed_within_a_side: fact.within,
        }
    }
}

impl From<&Row> for Change {
    fn from(row: &Row) -> Self {
        let decision = row.decision.as_ref();
        let judged = row.verdict != Verdict::Inconclusive || decision.is_some();
        let known = |value: f64| judged.then(|| rounded(value));
        // What varied too little to be tested has neither.
        let tested = |value: f64| (judged && row.p < 1.0).then(|| rounded(value));
        Self {
            subject: safe(row.subject.to_string()),
            subject_after: row.subject_after.as_ref().map(|after| safe(after.to_string())),
            metric: row.metric.id,
            name: row.metric.name.english(),
            unit: row.metric.measure.name(),
            own_unit: (!row.unit.is_empty()).then(|| safe(&row.unit)),
            better: row.metric.better,
            verdict: row.verdict,
            reason: row.reason.as_ref().map(Reason::name),
            before: row.before.map(rounded_spread),
            after: row.after.map(rounded_spread),
            shift: known(row.shift),
            floor: known(row.floor),
            weight: known(row.weight),
            standard_error: tested(row.error),
            p: tested(row.p),
            interval: decision.map(|decision| decision.interval.map(rounded)),
            bound: decision.map(|decision| rounded(decision.bound)),
            ratio: decision.and_then(|decision| decision.ratio).map(|ratio| ratio.map(rounded)),
            samples_used: row.before.zip(row.after).map(|(before, after)| [before.samples, after.samples]),
            follows: None,
        }
    }
}
