//! The judgements of the samples in memory, so that stepping back shows the findings as they were.

use std::collections::VecDeque;
use std::sync::Arc;
use topotop_model::Stamp;
use topotop_model::bottleneck::{Bottleneck, Resource, Resources};
use topotop_model::judge::timeline::{At, changes};
use topotop_model::judge::{Basis, Judgement, Standing, Timeline};
use topotop_model::recording::{Event, finding_events};
use topotop_model::rules::{Figure, Finding, Rule};

/// Memory for judgements, in bytes: beyond it every second one of the older half goes, unless something came or went.
const MOST: usize = 4 << 20;

/// The standings of all rules: they stay the same for minutes and are shared.
type Standings = Arc<Vec<(&'static Rule, Standing)>>;

/// What was judged of a sample.
#[derive(Debug)]
struct JudgedSample {
    stamp: Stamp,
    findings: Vec<Finding>,
    rules: Standings,
    limits: Arc<(Resources, Bottleneck)>,
    bytes: usize,
    /// True where something came or went.
    change: bool,
}

/// The judgements of the samples that can be gone back to.
#[derive(Debug, Default)]
pub(super) struct Judgements {
    kept: VecDeque<JudgedSample>,
    bytes: usize,
    timeline: Arc<Timeline>,
    last: Arc<Judgement>,
    /// The judge's state before the key frames of the ring, by the sample.
    states: VecDeque<(u64, Vec<u8>)>,
}

/// What a recording that begins with the past contains of it.
#[derive(Debug, Default)]
pub(super) struct RecordedPast {
    /// Findings that appeared and cleared, by the sample, oldest first.
    pub(super) events: VecDeque<(u64, Event)>,
    /// The judge's states, by the sample.
    pub(super) states: VecDeque<(u64, Vec<u8>)>,
}

impl Judgements {
    /// Takes in what was judged of the next sample; gives findings that appeared and cleared.
    pub(super) fn push(&mut self, stamp: Stamp, judgement: Judgement) -> Vec<Event> {
        let Stamp { seq: sample, wall_ns, mono_ns, .. } = stamp;
        let changes = changes(&self.last, &judgement, At { sample, wall_ns, mono_ns });
        let change = !changes.is_empty();
        let events = if change { finding_events(&self.last, &judgement, stamp) } else { Vec::new() };
        if change {
            Arc::make_mut(&mut self.timeline).extend(changes);
        }
        let same = self.kept.back().filter(|kept| are_same(&kept.rules, &judgement.rules));
        let rules = same.map_or_else(|| Arc::new(judgement.rules.clone()), |kept| Arc::clone(&kept.rules));
        let own = if same.is_some() { 0 } else { rules.len() * size_of::<(&Rule, Standing)>() };
        let findings = judgement.findings.clone();
        let bytes = size_of::<JudgedSample>() + own + findings.iter().map(bytes).sum::<usize>();
        let limits = Arc::new((judgement.resources.clone(), judgement.bottleneck.clone()));
        let bytes = bytes + size_of::<(Resources, Bottleneck)>() + limits.0.iter().count() * size_of::<Resource>();
        self.bytes += bytes;
        self.kept.push_back(JudgedSample { stamp, findings, rules, limits, bytes, change });
        self.last = Arc::new(judgement);
        if self.bytes > MOST {
            self.thin();
        }
        events
    }

    /// Keeps the judge's state before a sample.
    pub(super) fn save(&mut self, seq: u64, state: Vec<u8>) {
        self.states.push_back((seq, state));
    }

    /// The events of all samples from one on: findings that are open at first start with it.
    pub(super) fn events_from(&self, seq: u64) -> RecordedPast {
        let mut recorded = RecordedPast { states: self.states.clone(), ..RecordedPast::default() };
        let mut last = Judgement::default();
        for kept in self.kept.iter().filter(|kept| kept.change || kept.stamp.seq <= seq) {
            let judgement = Judgement { findings: kept.findings.clone(), ..Judgement::default() };
            let events = finding_events(&last, &judgement, kept.stamp);
            recorded.events.extend(events.into_iter().map(|event| (kept.stamp.seq.max(seq), event)));
            last = judgement;
        }
        recorded
    }

    /// Forgets what cannot be gone back to any more.
    pub(super) fn forget_before(&mut self, seq: u64) {
        // The last one before applies until the next one.
        while self.kept.get(1).is_some_and(|second| second.stamp.seq <= seq) {
            self.bytes -= self.kept.pop_front().map_or(0, |kept| kept.bytes);
        }
        while self.states.front().is_some_and(|state| state.0 < seq) {
            self.states.pop_front();
        }
        if self.timeline.changes().first().is_some_and(|change| change.sample < seq) {
            Arc::make_mut(&mut self.timeline).forget_before(seq);
        }
    }

    /// The newest judgement.
    pub(super) fn last(&self) -> Arc<Judgement> {
        Arc::clone(&self.last)
    }

    /// Findings that appeared and cleared.
    pub(super) fn timeline(&self) -> Arc<Timeline> {
        Arc::clone(&self.timeline)
    }

    /// The judgement of a sample; if only one before it is in memory, the findings are the same, the numbers older.
    pub(super) fn at(&self, seq: u64) -> Judgement {
        let at = self.kept.partition_point(|kept| kept.stamp.seq <= seq).checked_sub(1);
        let Some(kept) = at.and_then(|at| self.kept.get(at)) else {
            return Judgement { basis: Basis::Pending, ..Judgement::default() };
        };
        let basis = if kept.stamp.seq == seq { Basis::Judged } else { Basis::Noted };
        let (resources, bottleneck) = (*kept.limits).clone();
        let (findings, rules) = (kept.findings.clone(), kept.rules.to_vec());
        Judgement { findings, rules, bottleneck, resources, basis, ..Judgement::default() }
    }

    fn thin(&mut self) {
        let older = self.kept.len() / 2;
        let mut place = 0;
        self.kept.retain(|kept| {
            place += 1;
            kept.change || place > older || place % 2 == 0
        });
        // Where even that is too much, the oldest go.
        while self.bytes() > MOST {
            self.kept.pop_front();
        }
        self.bytes = self.bytes();
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.bytes).sum()
    }
}

fn are_same(a: &[(&'static Rule, Standing)], b: &[(&'static Rule, Standing)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| std::ptr::eq(a.0, b.0) && a.1 == b.1)
}

fn bytes(finding: &Finding) -> usize {
    let text = |value: &Figure| if let Figure::Text(text) = value { text.len() } else { 0 };
    let evidence = finding.evidence.iter().map(|evidence| size_of_val(evidence) + text(&evidence.value));
    size_of::<Finding>() + evidence.sum::<usize>() + finding.children.iter().map(bytes).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::{Judgements, MOST};
    use topotop_model::Stamp;
    use topotop_model::judge::{Basis, Judgement, Standing};
    use topotop_model::recording::What;
    use topotop_model::rules::{self, Finding, Hit, Severity, Subject};

    fn judged(sample: u64, findings: usize) -> Judgement {
        let finding = |at| {
            let hit = Hit::new(Subject::Cpu(at as u32), 0.9).number(
                topotop_model::locale::evidence::BUSY,
                sample as f64,
                "fraction",
                "/proc/stat",
            );
            Finding {
                rule: rules::ALL[0],
                subject: hit.subject,
                severity: Severity::Warning,
                confidence: 0.9,
                since: Stamp::default(),
                evidence: hit.evidence,
                children: Vec::new(),
            }
        };
        let rules = rules::ALL.iter().map(|rule| (*rule, Standing::Quiet)).collect();
        Judgement { findings: (0..findings).map(finding).collect(), rules, ..Judgement::default() }
    }

    fn stamp(seq: u64) -> Stamp {
        Stamp { seq, mono_ns: seq, ..Stamp::default() }
    }

    #[test]
    fn it_is_as_it_was_and_stays_small() {
        let mut past = Judgements::default();
        let findings = |seq: u64| if seq % 100 < 50 { 3 } else { 0 };
        for seq in 1..=20_000 {
            past.push(stamp(seq), judged(seq, findings(seq)));
            assert!(past.bytes <= MOST, "{} bytes", past.bytes);
            assert!(seq % 1000 > 0 || past.bytes == past.bytes());
        }
        let newest = past.at(20_000);
        assert_eq!(
            (newest.findings[0].number(topotop_model::locale::evidence::BUSY), newest.basis),
            (Some(20_000.0), Basis::Judged)
        );
        assert_eq!(newest.rules.len(), rules::ALL.len());
        let oldest = past.kept.front().map_or(0, |kept| kept.stamp.seq);
        for seq in (oldest..=20_000).step_by(7) {
            let judgement = past.at(seq);
            assert_eq!(judgement.findings.len(), findings(seq), "{seq}");
        }
        assert_eq!(past.at(0).basis, Basis::Pending);
        let told = past.events_from(oldest).events;
        let came = told.iter().filter(|(_, event)| matches!(event.what, What::FindingOpened(_))).count();
        assert!(came > 100 && told.iter().all(|told| told.0 >= oldest), "{came}");
        past.forget_before(19_900);
        assert_eq!(past.at(19_900).findings.len(), 3);
        assert!(past.timeline().changes().iter().all(|change| change.sample >= 19_900));
    }
}
