//! What `check` and `preflight` see while they look.

use super::numbers::{self, Number};
use super::{FailOn, report};
use crate::export::{Options, json};
use crate::recording;
use crate::source::live::Plan;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use topotop_collectors::{Demand, Root, Sampler};
use topotop_model::bottleneck::{Outcome, Tally};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::document;
use topotop_model::fix::{Offered, Surroundings, offered};
use topotop_model::frame::Frame;
use topotop_model::history::History;
use topotop_model::judge::{self, Judge, Judgement, Undecided};
use topotop_model::locale::error::Signals;
use topotop_model::locale::in_english;
use topotop_model::rules::{Finding, RuleId, Severity, Subject};
use topotop_model::{Snapshot, Window, waiting};

/// Where samples come from: a capture and a recording have those that they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    #[default]
    Live,
    Captured,
    Recorded,
}

/// What was seen while watching.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Which recording, where there are several.
    pub(super) name: String,
    pub(super) samples: u64,
    pub(super) complete: bool,
    pub(super) seconds: f64,
    /// When the first and the last sample were taken, in ns since 1970.
    pub(super) span: (i64, i64),
    /// Every finding that was open at any time, as it was last.
    pub(super) findings: Vec<Finding>,
    /// What can be done about each of them, as of the last frame that it was open in.
    fixes: HashMap<(RuleId, Subject), Vec<Offered>>,
    /// What is known of the place that fixes would be applied from.
    pub(super) surroundings: Surroundings,
    pub(super) last: Judgement,
    /// Nobody reads the documents any more.
    ended_by_reader: bool,
    pub(super) source: Source,
    /// The application's own numbers.
    pub(super) numbers: Vec<Number>,
    /// What limited.
    pub(super) tally: Tally,
    /// What the load waited for when nothing did, as it was last.
    pub(super) waiting: Option<document::Waiting>,
}

impl Seen {
    fn take(&mut self, frame: &Frame, judgement: Judgement, first: &mut Option<u64>) {
        self.samples += 1;
        let wall = frame.stamp.wall_ns;
        self.span = if self.samples == 1 { (wall, wall) } else { (self.span.0, wall) };
        numbers::take(&mut self.numbers, frame);
        self.tally.take(&judgement.bottleneck, &judgement.resources);
        let waiting = waiting::beside(frame, &judgement.bottleneck).map(document::Waiting::from);
        self.waiting = waiting.or_else(|| self.waiting.take().filter(|_| !judgement.bottleneck.is_limit()));
        let start = *first.get_or_insert(frame.stamp.mono_ns);
        self.seconds = frame.stamp.mono_ns.saturating_sub(start) as f64 / 1e9;
        for finding in &judgement.findings {
            let key = (finding.rule.id, finding.subject.clone());
            self.fixes.insert(key, offered(finding, frame, &self.surroundings).0);
            let same = |known: &&mut Finding| (known.rule.id, &known.subject) == (finding.rule.id, &finding.subject);
            match self.findings.iter_mut().find(same) {
                Some(known) => {
                    let worst = known.severity.max(finding.severity);
                    *known = finding.clone();
                    known.severity = worst;
                }
                None => self.findings.push(finding.clone()),
            }
        }
        // A finding that is the effect of another is grouped below it.
        let children: Vec<(RuleId, Subject)> = judgement
            .findings
            .iter()
            .flat_map(|finding| &finding.children)
            .map(|child| (child.rule.id, child.subject.clone()))
            .collect();
        self.findings.retain(|known| !children.contains(&(known.rule.id, known.subject.clone())));
        self.last = judgement;
    }

    /// What can be done about a finding.
    pub(super) fn fixes(&self, finding: &Finding) -> &[Offered] {
        self.fixes.get(&(finding.rule.id, finding.subject.clone())).map_or(&[], Vec::as_slice)
    }

    /// True where there were fewer samples than an answer needs.
    pub(super) fn is_too_short(&self) -> bool {
        self.tally.last().is_collecting() && self.source != Source::Captured && !self.ended_by_reader
    }

    /// How long so many samples with rates take at this pace, in whole seconds.
    pub(super) fn time_for(&self, samples: u64) -> u64 {
        let each = self.seconds / self.samples.saturating_sub(1).max(1) as f64;
        (if each > 0.0 { each } else { 1.0 } * (samples + 2) as f64).ceil() as u64
    }

    /// Rules without findings that saw too few samples to exclude one of at least this severity.
    pub(super) fn undecided(&self, least: Severity) -> impl Iterator<Item = &Undecided> {
        let counts = self.source != Source::Captured && !self.ended_by_reader;
        self.last.undecided.iter().filter(move |row| counts && row.severity >= least)
    }

    pub(super) fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// 0 without findings that matter, 1 with some, 2 when that is unknown.
    pub(super) fn status(&self, fail_on: FailOn, strict: bool) -> u8 {
        let found = self.worst().is_some_and(|worst| worst >= fail_on.severity());
        let found = found || fail_on == FailOn::Limited && self.tally.was_limited();
        let answer = self.tally.last();
        let open = report::not_checked(self).next().is_some() || answer.verdict == Outcome::Inconclusive;
        let is_undecided = self.undecided(fail_on.severity()).next().is_some();
        let unjudged = strict && open || self.is_too_short() || is_undecided;
        match (found, self.complete && !unjudged) {
            (true, _) => 1,
            (false, true) => 0,
            (false, false) => 2,
        }
    }
}

/// What becomes of samples: they are judged, and written where every one is wanted.
pub(super) struct Watch<'a> {
    window: Window,
    deriver: Deriver,
    judge: Judge,
    history: History,
    pub(super) seen: Seen,
    first: Option<u64>,
    /// Where a document per sample goes.
    lines: Option<&'a mut dyn Write>,
    /// What was seen becomes a document, which is English.
    pub(super) is_document: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(judge: judge::Settings, settings: &Settings, lines: Option<&'a mut dyn Write>) -> Self {
        Self {
            window: Window::default(),
            deriver: Deriver::new(settings.clone()),
            judge: Judge::new(judge),
            history: History::default(),
            seen: Seen { complete: true, ..Seen::default() },
            first: None,
            lines,
            is_document: false,
        }
    }

    /// False when nobody reads any more.
    pub(super) fn take(&mut self, snapshot: Snapshot) -> bool {
        self.window.push(snapshot);
        let mut frame = self.deriver.frame(&self.window);
        let judgement = self.judge.step(&frame);
        if self.lines.is_some() {
            self.history.push(&frame);
            self.history.put_forecasts(&mut frame);
        }
        let settings = Some(self.judge.settings());
        let options = Options { judgement: Some(&judgement), settings, ..Options::default() };
        let reported = self.lines.as_mut().map(|out| json::write(&frame, &options, out).and_then(|()| out.flush()));
        let (seen, first) = (&mut self.seen, &mut self.first);
        if self.is_document {
            in_english(|| seen.take(&frame, judgement, first));
        } else {
            seen.take(&frame, judgement, first);
        }
        self.seen.ended_by_reader = matches!(reported, Some(Err(_)));
        !self.seen.ended_by_reader
    }

    /// Takes a whole recording, and says of which host it is.
    pub(super) fn recording(&mut self, path: &Path) -> Result<String, String> {
        let mut reader = recording::open(path)?;
        self.seen.source = Source::Recorded;
        let host = reader.about().host.clone();
        let recorded = reader.about().nic_capacity_mbps.clone();
        if !recorded.is_empty() {
            self.deriver = Deriver::new(Settings { nic_capacity_mbps: recorded });
        }
        let mut damaged = recording::Damaged::default();
        while let Some(next) = reader.next_sample() {
            match next {
                Ok((_, snapshot)) => {
                    if !self.take(snapshot) {
                        break;
                    }
                }
                Err(damage) => damaged.add(damage),
            }
        }
        damaged.report(path);
        Ok(host)
    }
}

/// Samples until the time is over; false if it was ended before.
pub(crate) fn sample(
    root: Root,
    plan: &Plan,
    time: Duration,
    mut take: impl FnMut(Snapshot) -> bool,
) -> Result<bool, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Signals { error: &error }.to_string())?;
    }
    let (live, captured) = (root.is_live(), root.stamps().len());
    let mut sampler = Sampler::new(root, &plan.options);
    sampler.demand(Demand { complete: true, process: None });
    let start = Instant::now();
    let mut due = start;
    for sample in 0.. {
        if !take(sampler.sample()) {
            return Ok(true);
        }
        if !live && sample + 1 >= captured.max(1) {
            return Ok(true);
        }
        sampler.demand(Demand::default());
        due = (due + plan.interval).max(Instant::now());
        // A sample that was late makes none fewer.
        if live && due > start + time + plan.interval / 2 {
            break;
        }
        while live && Instant::now() < due {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::{FailOn, Seen};
    use topotop_model::bottleneck::{Bottleneck, Confidence, Outcome, Resources};
    use topotop_model::judge::{Judgement, Standing, Undecided};
    use topotop_model::rules::{self, Severity};

    /// Every rule was checked and quiet over so many samples, and this was the answer.
    fn seen(verdict: Outcome, confidence: Confidence, samples: u64) -> Seen {
        let mut seen = Seen { complete: true, samples: samples + 1, seconds: samples as f64, ..Seen::default() };
        let answer = Bottleneck { verdict, confidence, samples, ..Bottleneck::default() };
        seen.tally.take(&answer, &Resources::default());
        let rules = rules::ALL.iter().map(|rule| (*rule, Standing::Quiet)).collect();
        seen.last = Judgement { rules, ..Judgement::default() };
        seen
    }

    const WARNING: FailOn = FailOn::Severity(Severity::Warning);

    #[test]
    fn an_inconclusive_answer_fails_where_it_has_to_be_one() {
        let status = |verdict, strict| seen(verdict, Confidence::High, 60).status(WARNING, strict);
        assert_eq!((status(Outcome::Inconclusive, false), status(Outcome::Inconclusive, true)), (0, 2));
        assert_eq!((status(Outcome::NotSaturated, false), status(Outcome::NotSaturated, true)), (0, 0));
    }

    #[test]
    fn what_limits_by_elimination_alone_fails_nothing() {
        let status = |confidence| seen(Outcome::Limited, confidence, 60).status(FailOn::Limited, false);
        assert_eq!((status(Confidence::Low), status(Confidence::Medium), status(Confidence::High)), (0, 1, 1));
    }

    #[test]
    fn a_time_too_short_for_a_rule_that_would_fail_it_is_no_success() {
        let status = |severity, fails_from| {
            let mut seen = seen(Outcome::NotSaturated, Confidence::High, 12);
            let rule = rules::find("MEM-03").expect("a rule");
            seen.last.undecided = vec![Undecided { rule, needed: 17, severity }];
            seen.status(FailOn::Severity(fails_from), false)
        };
        assert_eq!(status(Severity::Warning, Severity::Warning), 2);
        assert_eq!(status(Severity::Info, Severity::Warning), 0, "a note would fail nothing");
        assert_eq!(status(Severity::Info, Severity::Info), 2);
        let quiet = seen(Outcome::NotSaturated, Confidence::High, 12);
        assert_eq!((quiet.status(WARNING, false), quiet.time_for(17)), (0, 19));
        let few = seen(Outcome::Inconclusive, Confidence::Low, 5);
        assert_eq!(few.status(WARNING, false), 2, "too few samples for an answer");
    }
}
