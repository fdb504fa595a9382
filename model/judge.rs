//! Hits become findings: one fold over frames, whose state is plain data.
//!
//! A condition has to hold for a while, and to be gone for a while; a finding that closed is not opened again within a
//! minute of its opening, so that what swings around a threshold does not flicker. What has a cause that is found
//! itself is told under it.

mod fold;
mod load;
mod memory;
pub mod save;
mod state;
mod survey;
pub mod timeline;

pub use memory::Memory;
pub use survey::{Check, Mark, survey};
pub use timeline::{Change, Timeline};

use crate::frame::Frame;
use crate::rules::RuleId;
use crate::rules::{self, Finding, Hit, Rule, RuleContext, Severity, Strength, Subject, Unchecked};
use state::{Key, State};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Below this a hit is a hint and no finding.
const LEAST_CONFIDENCE: f64 = 0.5;
/// How sure one may be of what a host that takes CPUs away looks like.
const STOLEN_CONFIDENCE: f64 = 0.6;

/// What the judge may be told.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Thresholds by rule and name that are not the rule's own.
    pub thresholds: BTreeMap<(String, String), f64>,
}

/// How a rule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It looked and found nothing.
    Quiet,
    /// It has findings.
    Firing,
    /// It could not look, at all or at some things.
    NotChecked(Vec<Unchecked>),
}

/// What a judgement rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// Every sample up to the one it is of, by the rules as they are.
    #[default]
    Judged,
    /// What was noted then: the findings are those of the sample, as they were judged then, their numbers may be those
    /// of their coming, and how the rules stood is not known.
    Noted,
    /// Nothing yet: that there are no findings says nothing.
    Pending,
}

/// What is known after a frame.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// Every rule with how it stands and, while it fires, what it could not look at besides.
    pub rules: Vec<(&'static Rule, Standing)>,
    /// What it rests on.
    pub basis: Basis,
}

impl Judgement {
    /// The worst severity; none without findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The findings with those that are told under them.
    pub fn all(&self) -> Vec<&Finding> {
        fn add<'a>(findings: &'a [Finding], all: &mut Vec<&'a Finding>) {
            for finding in findings {
                all.push(finding);
                add(&finding.children, all);
            }
        }
        let mut all = Vec::new();
        add(&self.findings, &mut all);
        all
    }
}

/// Folds frames into findings.
#[derive(Clone, Debug, Default)]
pub struct Judge {
    settings: Settings,
    states: BTreeMap<Key, State>,
    memory: Memory,
    /// Valid samples seen.
    samples: u64,
}

impl Judge {
    /// A judge that has seen nothing.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// What it was told.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes in the next frame.
    pub fn step(&mut self, frame: &Frame) -> Judgement {
        self.step_with(frame, rules::ALL)
    }

    fn step_with(&mut self, frame: &Frame, all: &[&'static Rule]) -> Judgement {
        let rates = frame.interval_seconds.is_some();
        self.samples += u64::from(rates);
        let open: Vec<(RuleId, Subject)> =
            self.states.iter().filter(|(_, state)| state.is_open()).map(|(key, _)| (key.0, key.1.clone())).collect();
        let sight = Sight { loaded: load::is_loaded(frame), stolen: is_stolen(frame), open };
        let mut standings = Vec::with_capacity(all.len());
        for rule in all {
            let standing = match obstacle(rule, frame, rates) {
                Some(unchecked) => Standing::NotChecked(vec![unchecked]),
                None => match (self.apply(rule, frame, &sight), self.too_early(rule)) {
                    (Standing::Quiet, Some(unchecked)) => Standing::NotChecked(vec![unchecked]),
                    (standing, _) => standing,
                },
            };
            standings.push((*rule, standing));
        }
        self.forget(frame);
        let findings = self.findings();
        let mut firing = BTreeSet::new();
        fires(&findings, &mut firing);
        for (rule, standing) in &mut standings {
            if firing.contains(&rule.id) {
                *standing = Standing::Firing;
            }
        }
        Judgement { findings, rules: standings, basis: Basis::Judged }
    }

    /// Why a rule that found nothing cannot say that there is nothing yet.
    fn too_early(&self, rule: &Rule) -> Option<Unchecked> {
        let at_first_sight = rule.pace.at_once && rule.pace.enter <= 1;
        let needed = if at_first_sight { 0 } else { u64::from(rule.pace.enter.max(rule.pace.warm_up)) };
        let reason = format!("{} of {needed} samples with rates", self.samples);
        (self.samples < needed).then(|| Unchecked { subject: Subject::Host, reason, needs: String::new() })
    }

    /// One rule on one frame; a rule that panics costs itself alone.
    fn apply(&mut self, rule: &'static Rule, frame: &Frame, sight: &Sight) -> Standing {
        let (hits, unchecked) = {
            let mut look = RuleContext {
                rule,
                frame,
                overrides: &self.settings.thresholds,
                memory: &mut self.memory,
                loaded: sight.loaded,
                open: &sight.open,
                before_test: false,
                hits: Vec::new(),
                unchecked: Vec::new(),
            };
            if catch_unwind(AssertUnwindSafe(|| (rule.judge)(&mut look))).is_err() {
                let reason = "a defect in the rule: please report it".to_owned();
                look.unchecked = vec![Unchecked { subject: Subject::Host, reason, needs: String::new() }];
                return Standing::NotChecked(look.unchecked);
            }
            (look.hits, look.unchecked)
        };
        self.fold(rule, frame, hits, sight.stolen);
        if unchecked.is_empty() { Standing::Quiet } else { Standing::NotChecked(unchecked) }
    }

    fn fold(&mut self, rule: &'static Rule, frame: &Frame, hits: Vec<Hit>, stolen: bool) {
        let mut met: BTreeSet<Subject> = BTreeSet::new();
        for hit in hits {
            let mut hit = load::gate(rule, frame, hit);
            if stolen && rule.id.starts_with("CPU") && rule.id != rules::steal_time::ID {
                hit.confidence = hit.confidence.min(STOLEN_CONFIDENCE);
            }
            if hit.confidence < LEAST_CONFIDENCE || met.contains(&hit.subject) {
                continue;
            }
            met.insert(hit.subject.clone());
            let enters = hit.strength == Strength::Enter;
            let key = Key(rule.id, hit.subject.clone());
            if enters || self.states.contains_key(&key) {
                self.states.entry(key).or_default().step(rule, frame.stamp, Some(hit));
            }
        }
        let own = self.states.range_mut(Key(rule.id, Subject::Host)..).take_while(|(key, _)| key.0 == rule.id);
        for (key, state) in own {
            if !met.contains(&key.1) {
                state.step(rule, frame.stamp, None);
            }
        }
    }

    /// Drops what is over and what is gone for good.
    fn forget(&mut self, frame: &Frame) {
        let now = frame.stamp.mono_ns;
        self.states.retain(|key, state| !(state.is_idle(now) || (is_gone(&key.1, frame) && !state.is_latched(now))));
        self.memory.forget(now);
    }

    fn findings(&self) -> Vec<Finding> {
        let found = self.states.iter().filter_map(|(key, state)| state.finding(state.rule()?, &key.1)).collect();
        let mut findings = fold::under_causes(found);
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.confidence.total_cmp(&a.confidence)));
        findings
    }
}

/// What every rule of a frame is told alike.
struct Sight {
    loaded: bool,
    stolen: bool,
    open: Vec<(RuleId, Subject)>,
}

/// True where the host takes much of some CPU away.
fn is_stolen(frame: &Frame) -> bool {
    frame.cpus.iter().filter_map(|cpu| cpu.shares).any(|shares| shares.steal > 0.1)
}

/// Why a rule cannot look at a frame at all.
fn obstacle(rule: &Rule, frame: &Frame, rates: bool) -> Option<Unchecked> {
    let about = |(reason, needs): (&str, &str)| {
        let (reason, needs) = (reason.to_owned(), needs.to_owned());
        Unchecked { subject: Subject::Host, reason, needs }
    };
    let missing = rule.reads.iter().find_map(|input| input.missing(frame));
    let pending = (!rates && !rule.pace.at_once).then_some(("rates need two samples", ""));
    missing.or(pending).map(about)
}

/// The rules of findings and of those below them.
fn fires(findings: &[Finding], rules: &mut BTreeSet<RuleId>) {
    for finding in findings {
        rules.insert(finding.rule.id);
        fires(&finding.children, rules);
    }
}

/// True if a subject is no longer there.
pub(crate) fn is_gone(subject: &Subject, frame: &Frame) -> bool {
    match subject {
        Subject::Host => false,
        Subject::Cpu(id) => frame.cpu(*id).is_none_or(|cpu| !cpu.online),
        Subject::Node(id) => frame.node(*id).is_none(),
        Subject::Irq(irq) => frame.irq(*irq).is_none(),
        Subject::Nic(name) => frame.nic(name).is_none(),
        Subject::Disk(name) => !frame.disks.iter().any(|disk| disk.name == *name),
        Subject::Cgroup(path) => frame.cgroup(path).is_none(),
        Subject::Process(pid, starttime) => frame.process(*pid).is_none_or(|process| process.starttime != *starttime),
    }
}

#[cfg(test)]
mod tests;
