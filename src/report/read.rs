//! Reads a recording for the page: judges it once, then compares phase by phase.

use super::bins::{Axis, Series};
use super::phases::{Key, Phase, Runs, phases};
use super::totals::Totals;
use crate::recording::{self, Reader};
use crate::span::{self, Given, Span};
use std::collections::BTreeMap;
use std::path::Path;
use topotop_model::Window;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::diff::{Comparison, FactChange, Side, compare};
use topotop_model::fix::{Offered, Surroundings, offered};
use topotop_model::frame::Frame;
use topotop_model::history::Headline;
use topotop_model::judge::timeline::{At, changes};
use topotop_model::judge::{self, Judge, Judgement, Timeline};
use topotop_model::recording::{Event, What};
use topotop_model::rules::{Finding, RuleId, Subject};
use topotop_model::text::printable;

/// Maximum application metrics shown.
const METRICS: usize = 8;
/// Maximum findings retained.
const FINDINGS: usize = 256;
/// Samples between two updates of the fixes of an open finding.
const FIXES: u64 = 30;

/// A finding over the recording.
#[derive(Debug)]
pub(super) struct Seen {
    /// Its last state.
    pub(super) finding: Finding,
    pub(super) fixes: Vec<Offered>,
    /// Samples with it.
    pub(super) samples: u64,
}

/// Content of the page.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) file: String,
    pub(super) host: String,
    pub(super) kernel: String,
    pub(super) program: String,
    pub(super) what: String,
    pub(super) samples: u64,
    pub(super) damaged: u64,
    pub(super) axis: Axis,
    /// Wall time in ns by bin; none where no sample of it could be read.
    pub(super) times: Vec<Option<i64>>,
    pub(super) span: (i64, i64),
    pub(super) events: Vec<(u64, Event)>,
    pub(super) runs: Runs,
    pub(super) phases: Vec<Phase>,
    /// When each phase began and ended.
    pub(super) walls: Vec<(i64, i64)>,
    /// Between each phase and the next.
    pub(super) comparisons: Vec<Comparison>,
    /// Settings that changed in a phase, by the phase.
    pub(super) settings: Vec<(usize, FactChange)>,
    /// The application's metrics: name, unit, values.
    pub(super) metrics: BTreeMap<String, (String, Series)>,
    pub(super) resources: [Series; 6],
    pub(super) cpus: BTreeMap<u32, (Option<u32>, Series)>,
    pub(super) totals: Totals,
    pub(super) findings: Vec<Seen>,
    pub(super) timeline: Timeline,
    pub(super) last: Judgement,
    pub(super) frame: Frame,
}

/// Reads a recording, or a span of it.
pub(super) fn read(given: &Given, judge: &judge::Settings) -> Result<Report, String> {
    let name = printable(&given.path.display().to_string()).into_owned();
    let mut reader = recording::open(&given.path)?;
    let part = given.part.as_deref().or(Some("all"));
    let span = span::resolve(&mut reader, part).map_err(|error| format!("{name}: {error}"))?;
    read_span(&mut reader, &given.path, span, judge)
}

/// Reads a span of an open recording.
pub(super) fn read_span(
    reader: &mut Reader,
    path: &Path,
    span: Span,
    judge: &judge::Settings,
) -> Result<Report, String> {
    let ends = (span.first, span.last);
    let about = reader.about().clone();
    let mut report = Report {
        file: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        host: about.host,
        kernel: about.kernel,
        program: about.program,
        what: span.what,
        axis: Axis::new(ends),
        ..Report::default()
    };
    report.times = vec![None; report.axis.bins()];
    let inside = |event: &(u64, Event)| event.0 >= ends.0 && event.0 <= ends.1 + 1;
    report.events = reader.events().into_iter().filter(inside).collect();
    let settings = Settings { nic_capacity_mbps: about.nic_capacity_mbps };
    report.judge(reader, ends, Deriver::new(settings.clone()), Judge::new(judge.clone()));
    if report.samples == 0 {
        let name = path.display().to_string();
        return Err(format!("{}: {}", printable(&name), topotop_model::locale::error::NO_SAMPLES));
    }
    let causes: Vec<(u64, String)> =
        report.events.iter().filter_map(|(sample, event)| Some((*sample, cause(&event.what)?))).collect();
    report.phases = phases(&report.runs, &causes, ends);
    report.compare(reader, ends, Deriver::new(settings));
    Ok(report)
}

/// An event that begins a phase.
fn cause(what: &What) -> Option<String> {
    use topotop_model::recording::FixState;
    let begins = match what {
        What::Mark { .. } | What::Start { .. } | What::Exit { .. } => true,
        What::Fix(fix) => matches!(fix.state, FixState::Applied | FixState::Partial | FixState::Undone),
        _ => false,
    };
    begins.then(|| what.text())
}

impl Report {
    /// Reads every sample: answers, findings, values.
    fn judge(&mut self, reader: &mut Reader, ends: (u64, u64), mut deriver: Deriver, mut judge: Judge) {
        let mut window = Window::default();
        let mut changed = Vec::new();
        let mut seen: BTreeMap<(RuleId, Subject), Seen> = BTreeMap::new();
        self.damaged = span::samples(reader, ends, |sample, snapshot| {
            window.push(snapshot);
            let frame = deriver.frame(&window);
            let judgement = judge.step(&frame);
            let stamp = frame.stamp;
            let at = At { sample, wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns };
            changed.extend(changes(&self.last, &judgement, at));
            self.span = (if self.samples == 0 { stamp.wall_ns } else { self.span.0 }, stamp.wall_ns);
            self.samples += 1;
            if let Some(time) = self.times.get_mut(self.axis.bin(sample)) {
                time.get_or_insert(stamp.wall_ns);
            }
            self.runs.push(sample, Key::of(&judgement.bottleneck), &judgement.bottleneck);
            note_findings(&mut seen, &frame, &judgement);
            self.values(sample, &frame);
            self.totals.push(&frame);
            (self.last, self.frame) = (judgement, frame);
            true
        });
        self.timeline = Timeline::of(changed);
        self.findings = seen.into_values().collect();
        self.findings.sort_by_key(|seen| std::cmp::Reverse((seen.finding.severity, seen.samples)));
    }

    fn values(&mut self, sample: u64, frame: &Frame) {
        let Some(interval) = frame.interval_seconds else { return };
        let headline = Headline::of(frame);
        let shares = [
            headline.busy,
            headline.hottest_cpu.map(|cpu| cpu.1),
            headline.disk,
            headline.nic,
            headline.memory,
            headline.io_pressure,
        ];
        for (series, share) in self.resources.iter_mut().zip(shares) {
            if let Some(share) = share {
                series.add(self.axis, sample, share);
            }
        }
        for metric in &frame.metrics {
            let name = metric.name.to_string();
            let fresh = metric.value.filter(|_| metric.age_seconds.is_none_or(|age| age < interval));
            if let Some(value) = fresh.filter(|_| self.metrics.len() < METRICS || self.metrics.contains_key(&name)) {
                let (unit, series) = self.metrics.entry(name).or_default();
                *unit = metric.unit.to_string();
                series.add(self.axis, sample, value);
            }
        }
        for cpu in &frame.cpus {
            if let Some(busy) = cpu.busy() {
                let (node, series) = self.cpus.entry(cpu.id).or_default();
                *node = cpu.node.value();
                series.add(self.axis, sample, busy);
            }
        }
    }

    /// Reads the samples again, a side for each phase, and compares neighbours.
    fn compare(&mut self, reader: &mut Reader, ends: (u64, u64), mut deriver: Deriver) {
        let mut window = Window::default();
        let mut sides: Vec<Side> = self.phases.iter().map(|_| Side::new()).collect();
        // Settings at the beginning, and at the end of each phase.
        let mut points: Vec<Side> = Vec::new();
        let mut walls = vec![(0, 0); self.phases.len()];
        let mut newest: Option<(usize, Frame)> = None;
        span::samples(reader, ends, |sample, snapshot| {
            window.push(snapshot);
            let frame = deriver.frame(&window);
            let Some(at) = self.phases.iter().rposition(|phase| phase.first <= sample) else { return true };
            if let Some((before, last)) = newest.take().filter(|newest| newest.0 != at) {
                points.resize_with(before + 2, || point(&last));
            }
            // Slow data is present from the second sample on.
            if points.is_empty() && frame.interval_seconds.is_some() {
                points.push(point(&frame));
            }
            if let Some(wall) = walls.get_mut(at) {
                let wall_ns = frame.stamp.wall_ns;
                *wall = (if wall.0 == 0 { wall_ns } else { wall.0 }, wall_ns);
            }
            let compared = self.phases.get(at).is_some_and(|phase| sample <= phase.compared);
            if let Some(side) = sides.get_mut(at).filter(|_| compared) {
                side.push(&frame);
            }
            newest = Some((at, frame));
            true
        });
        if let Some((at, last)) = newest {
            points.resize_with(at + 2, || point(&last));
        }
        self.walls = walls;
        self.comparisons = sides.iter().zip(sides.iter().skip(1)).map(|(one, other)| compare(one, other)).collect();
        let pairs = points.iter().zip(points.iter().skip(1)).enumerate();
        self.settings = pairs
            .flat_map(|(at, (one, other))| compare(one, other).facts.into_iter().map(move |fact| (at, fact)))
            .collect();
    }
}

/// A side with the settings of a moment.
fn point(frame: &Frame) -> Side {
    let mut side = Side::new();
    side.push(frame);
    side.note_settings(frame);
    side
}

fn note_findings(seen: &mut BTreeMap<(RuleId, Subject), Seen>, frame: &Frame, judgement: &Judgement) {
    for finding in judgement.all() {
        let key = (finding.rule.id, finding.subject.clone());
        let full = seen.len() >= FINDINGS;
        match seen.get_mut(&key) {
            Some(known) => {
                let worst = known.finding.severity.max(finding.severity);
                known.finding = finding.clone();
                (known.finding.severity, known.samples) = (worst, known.samples + 1);
                if known.samples % FIXES == 0 {
                    known.fixes = offered(finding, frame, &Surroundings::default()).0;
                }
            }
            None if full => {}
            None => {
                let fixes = offered(finding, frame, &Surroundings::default()).0;
                seen.insert(key, Seen { finding: finding.clone(), fixes, samples: 1 });
            }
        }
    }
}
