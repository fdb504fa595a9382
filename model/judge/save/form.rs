//! What a state has in it, as JSON arrays: zstd packs them.

use super::limits::LimitsForm;
use crate::Stamp;
use crate::bottleneck;
use crate::judge::memory::Memory;
use crate::judge::state::{Key, State};
use crate::judge::{Judge, Settings};
use crate::rules::{self, Cell, Column, Evidence, Figure, Grid, Hit, Severity, Strength, Subject};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Words of evidence that are known from states: rules have some hundreds.
const MAX_WORDS: usize = 4096;
/// The longest of them, in bytes.
const MAX_WORD: usize = 256;
const SEVERITIES: [Severity; 3] = [Severity::Info, Severity::Warning, Severity::Critical];

/// Samples with rates, states, series, what limits if anything was seen.
#[derive(Serialize, Deserialize)]
struct JudgeForm(u64, Vec<StateForm>, Vec<SeriesForm>, Vec<LimitsForm>);

/// Rule, subject, times, and what the rule found.
#[derive(Serialize, Deserialize)]
struct StateForm(String, String, Times, Option<HitForm>);

#[derive(Serialize, Deserialize)]
struct Times {
    met: u32,
    clear: u32,
    severities: [u32; 3],
    since: Option<(u64, i64, u64, u64)>,
    open: bool,
    opened: Option<u64>,
    last_met: u64,
    now: u64,
}

#[derive(Serialize, Deserialize)]
struct HitForm {
    would_hurt: bool,
    stays: bool,
    severity: usize,
    confidence: Number,
    evidence: Vec<EvidenceForm>,
    covers: Vec<(String, String)>,
}

/// Name, unit, source, value.
#[derive(Serialize, Deserialize)]
struct EvidenceForm(String, String, String, FigureForm);

#[derive(Serialize, Deserialize)]
enum FigureForm {
    Number(Number),
    Text(String),
    /// Columns with names and units, and rows with names.
    Table(Vec<(String, String)>, Vec<(String, Vec<CellForm>)>),
}

#[derive(Serialize, Deserialize)]
enum CellForm {
    Unknown,
    None,
    Number(Number),
    Text(String),
}

/// Rule, subject, and values, each with the change of the time that passed before it.
#[derive(Serialize, Deserialize)]
struct SeriesForm(String, String, Vec<(i64, Number)>);

/// A number; what JSON does not have by its bits.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Finite(f64),
    Bits([u64; 1]),
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Finite(value) } else { Self::Bits([value.to_bits()]) }
    }
}

impl From<Number> for f64 {
    fn from(number: Number) -> Self {
        match number {
            Number::Finite(value) => value,
            Number::Bits([bits]) => Self::from_bits(bits),
        }
    }
}

pub(super) fn write(judge: &Judge) -> Vec<u8> {
    let states = judge.states.iter().map(|(key, state)| state_form(key, state)).collect();
    let mut series: Vec<_> = judge.memory.series().collect();
    series.sort_by_key(|(rule, subject, _)| (*rule, *subject));
    let series = series.into_iter().map(|(rule, subject, values)| {
        let (mut at, mut step) = (0u64, 0u64);
        let values = values.iter().map(|&(time, value)| {
            let next = time.wrapping_sub(at);
            let change = next.wrapping_sub(step) as i64;
            (at, step) = (time, next);
            (change, value.into())
        });
        SeriesForm(rule.to_string(), subject.to_string(), values.collect())
    });
    // Writing numbers and texts to memory cannot fail.
    serde_json::to_vec(&JudgeForm(
        judge.samples,
        states,
        series.collect(),
        LimitsForm::of(&judge.limits).into_iter().collect(),
    ))
    .unwrap_or_default()
}

pub(super) fn read(settings: &Settings, text: &[u8]) -> Option<Judge> {
    let JudgeForm(samples, states, series, limits) = serde_json::from_slice(text).ok()?;
    let samples = samples.min(u64::MAX / 2);
    let limits = match limits.into_iter().next() {
        Some(limits) => limits.state()?,
        None => bottleneck::State::default(),
    };
    let mut judge = Judge { settings: settings.clone(), samples, limits, ..Judge::default() };
    for form in states {
        let (key, state) = state(form)?;
        judge.states.insert(key, state);
    }
    let mut memory = Memory::default();
    for SeriesForm(rule, subject, values) in series {
        let (mut at, mut step) = (0u64, 0u64);
        let values = values.into_iter().map(|(change, value)| {
            step = step.wrapping_add(change as u64);
            at = at.wrapping_add(step);
            (at, value.into())
        });
        let values: VecDeque<(u64, f64)> = values.collect();
        memory.put(rules::find(&rule)?.id, Subject::parse(&subject)?, values);
    }
    judge.memory = memory;
    Some(judge)
}

fn state_form(key: &Key, state: &State) -> StateForm {
    let State { rule: _, met, clear, since, open, opened_ns, last_met_ns, now_ns, hit, severities } = state;
    let times = Times {
        met: *met,
        clear: *clear,
        severities: *severities,
        since: since.map(|Stamp { seq, wall_ns, mono_ns, boot_ns }| (seq, wall_ns, mono_ns, boot_ns)),
        open: *open,
        opened: *opened_ns,
        last_met: *last_met_ns,
        now: *now_ns,
    };
    StateForm(key.0.to_string(), key.1.to_string(), times, hit.as_ref().map(hit_form))
}

fn state(StateForm(rule, subject, times, hit_form): StateForm) -> Option<(Key, State)> {
    let (rule, subject) = (rules::find(&rule)?, Subject::parse(&subject)?);
    let hit = match hit_form {
        Some(form) => Some(hit(form, subject.clone())?),
        None => None,
    };
    let stamp = |(seq, wall_ns, mono_ns, boot_ns)| Stamp { seq, wall_ns, mono_ns, boot_ns };
    let state = State {
        rule: Some(rule),
        met: times.met,
        clear: times.clear,
        since: times.since.map(stamp),
        open: times.open,
        opened_ns: times.opened,
        last_met_ns: times.last_met,
        now_ns: times.now,
        hit,
        severities: times.severities,
    };
    Some((Key(rule.id, subject), state))
}

fn hit_form(hit: &Hit) -> HitForm {
    let Hit { subject: _, strength, severity, confidence, evidence, covers, would_hurt } = hit;
    HitForm {
        would_hurt: *would_hurt,
        stays: *strength == Strength::Stay,
        severity: *severity as usize,
        confidence: (*confidence).into(),
        evidence: evidence.iter().map(evidence_form).collect(),
        covers: covers.iter().map(|(rule, subject)| (rule.to_string(), subject.to_string())).collect(),
    }
}

fn hit(form: HitForm, subject: Subject) -> Option<Hit> {
    let cover = |(rule, subject): (String, String)| Some((rules::find(&rule)?.id, Subject::parse(&subject)?));
    Some(Hit {
        subject,
        strength: if form.stays { Strength::Stay } else { Strength::Enter },
        severity: *SEVERITIES.get(form.severity)?,
        confidence: form.confidence.into(),
        evidence: form.evidence.into_iter().map(evidence).collect::<Option<_>>()?,
        covers: form.covers.into_iter().map(cover).collect::<Option<_>>()?,
        would_hurt: form.would_hurt,
    })
}

fn evidence_form(Evidence { name, value, unit, source }: &Evidence) -> EvidenceForm {
    let value = match value {
        Figure::Number(value) => FigureForm::Number((*value).into()),
        Figure::Text(text) => FigureForm::Text(text.to_string()),
        Figure::Table(grid) => {
            let column = |column: &Column| (column.name.to_string(), column.unit.to_owned());
            let row = |(name, cells): &(Arc<str>, Vec<Cell>)| (name.to_string(), cells.iter().map(cell_form).collect());
            FigureForm::Table(grid.columns.iter().map(column).collect(), grid.rows.iter().map(row).collect())
        }
    };
    let [name, unit, source] = [name, unit, source].map(|text| (*text).to_owned());
    EvidenceForm(name, unit, source, value)
}

fn evidence(EvidenceForm(name, unit, source, value): EvidenceForm) -> Option<Evidence> {
    let value = match value {
        FigureForm::Number(value) => Figure::Number(value.into()),
        FigureForm::Text(text) => Figure::Text(text.into()),
        FigureForm::Table(columns, rows) => {
            let column = |(name, unit): (String, String)| Some(Column { name: name.into(), unit: word(&unit)? });
            let row = |(name, cells): (String, Vec<CellForm>)| (name.into(), cells.into_iter().map(cell).collect());
            let columns = columns.into_iter().map(column).collect::<Option<_>>()?;
            Figure::Table(Arc::new(Grid { columns, rows: rows.into_iter().map(row).collect() }))
        }
    };
    Some(Evidence { name: word(&name)?, value, unit: word(&unit)?, source: word(&source)? })
}

fn cell_form(cell: &Cell) -> CellForm {
    match cell {
        Cell::Unknown => CellForm::Unknown,
        Cell::None => CellForm::None,
        Cell::Number(value) => CellForm::Number((*value).into()),
        Cell::Text(text) => CellForm::Text(text.to_string()),
    }
}

fn cell(form: CellForm) -> Cell {
    match form {
        CellForm::Unknown => Cell::Unknown,
        CellForm::None => Cell::None,
        CellForm::Number(value) => Cell::Number(value.into()),
        CellForm::Text(text) => Cell::Text(text.into()),
    }
}

/// A word of evidence, which lives as long as the program: those of rules are few. None beyond as many as there may be.
pub(crate) fn word(text: &str) -> Option<&'static str> {
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text) {
        return Some(known);
    }
    if words.len() >= MAX_WORDS || text.len() > MAX_WORD {
        return None;
    }
    let new: &'static str = Box::leak(text.into());
    words.insert(new);
    Some(new)
}
