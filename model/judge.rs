//! Hits become findings: one fold over frames, whose state is plain data.
//!
//! A condition must hold for a while to open a finding, and be gone for a while to close it. A closed finding does not
//! open again within a minute of its opening, so that a value around a threshold does not flicker. Effects are grouped
//! below their cause.

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

use crate::bottleneck::{self, Bottleneck, Resources};
use crate::frame::Frame;
use crate::locale::{in_english, judge as text};
use crate::rules::RuleId;
use crate::rules::{self, Finding, Hit, Rule, RuleContext, Severity, Strength, Subject, Unchecked};
use state::{Key, State};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Minimum confidence of a finding.
const LEAST_CONFIDENCE: f64 = 0.5;
/// Maximum confidence of CPU findings under high steal time.
const STOLEN_CONFIDENCE: f64 = 0.6;

/// The configuration of the judge.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Configured thresholds by rule and name.
    pub thresholds: BTreeMap<(String, String), f64>,
}

/// The state of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was checked and has no findings.
    Quiet,
    /// It has findings.
    Firing,
    /// It could not be checked, entirely or for some subjects.
    NotChecked(Vec<Unchecked>),
}

/// A rule without findings whose condition was met from the start, in too few samples to open one.
#[derive(Clone, Copy, Debug)]
pub struct Undecided {
    /// The rule.
    pub rule: &'static Rule,
    /// The samples after which a finding would open.
    pub needed: u64,
    /// Its severity.
    pub severity: Severity,
}

/// What a judgement is based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// Every sample up to this one, by the current rules.
    #[default]
    Judged,
    /// Findings noted in the recording: as judged then, possibly with the numbers of when they opened, and without the
    /// state of the rules.
    Noted,
    /// Nothing yet: the absence of findings says nothing.
    Pending,
}

/// The findings and rule states after a frame.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// The findings: the one that explains the bottleneck, then the worst first.
    pub findings: Vec<Finding>,
    /// Every rule with its state.
    pub rules: Vec<(&'static Rule, Standing)>,
    /// Those that need more samples: what they have seen so far may become a finding.
    pub undecided: Vec<Undecided>,
    /// What limits the machine.
    pub bottleneck: Bottleneck,
    /// The resources of the machine; none where they were not judged.
    pub resources: Resources,
    /// What it is based on.
    pub basis: Basis,
}

impl Judgement {
    /// The worst severity; none without findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// The findings with those grouped below them.
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
    limits: bottleneck::State,
    /// Valid samples seen.
    samples: u64,
}

impl Judge {
    /// A judge without any samples.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Its configuration.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes in the next frame. Values of evidence and reasons are English, in whatever language they are shown.
    pub fn step(&mut self, frame: &Frame) -> Judgement {
        in_english(|| self.step_with(frame, rules::ALL))
    }

    fn step_with(&mut self, frame: &Frame, all: &[&'static Rule]) -> Judgement {
        let rates = frame.interval_seconds.is_some();
        self.samples += u64::from(rates);
        let opened = |(key, state): (&Key, &State)| Some((key.0, key.1.clone(), state.opened()?));
        let open: Vec<(RuleId, Subject, u64)> = self.states.iter().filter_map(opened).collect();
        let conditions = Conditions { loaded: load::is_loaded(frame), stolen: is_stolen(frame), open };
        let mut standings = Vec::with_capacity(all.len());
        let mut undecided = Vec::new();
        for rule in all {
            let (standing, may_open) = match obstacle(rule, frame, rates) {
                Some(unchecked) => (Standing::NotChecked(vec![unchecked]), None),
                None => self.apply(rule, frame, &conditions),
            };
            undecided.extend(may_open);
            standings.push((*rule, standing));
        }
        self.forget(frame);
        let mut findings = self.findings();
        let (resources, bottleneck) = self.limits.judge_frame(frame, &findings, &self.settings);
        explaining_first(&mut findings, &bottleneck);
        let mut firing = BTreeSet::new();
        firing_rules(&findings, &mut firing);
        for (rule, standing) in &mut standings {
            if firing.contains(&rule.id) {
                *standing = Standing::Firing;
            }
        }
        undecided.retain(|row| !firing.contains(&row.rule.id));
        Judgement { findings, rules: standings, undecided, bottleneck, resources, basis: Basis::Judged }
    }

    /// Why a rule without findings has too few samples to exclude any: nothing is excluded before there is an answer, and
    /// later only what was not met from the start.
    fn too_early(&self, rule: &Rule, may_open: Option<Undecided>) -> Option<Unchecked> {
        let needs_one = rule.pace.at_once && rule.pace.enter <= 1;
        let least = if needs_one { 0 } else { u64::from(rule.pace.enter).min(bottleneck::SAMPLES) };
        let usual = || (self.samples < least).then(|| u64::from(rule.pace.enter.max(rule.pace.warm_up)));
        let needed = may_open.map(|row| row.needed).or_else(usual)?;
        let reason = text::FewSamples { count: &self.samples, needed: &needed }.to_string();
        Some(Unchecked { subject: Subject::Host, reason, needs: String::new() })
    }

    /// Whether a finding of a rule would still open among its first samples, and when first.
    fn may_open(&self, rule: &'static Rule, gathering: Option<(u64, Severity)>) -> Option<Undecided> {
        let own = self.states.range(Key(rule.id, Subject::Host)..).take_while(|(key, _)| key.0 == rule.id);
        let met = own.filter_map(|(_, state)| state.opens_at(self.samples));
        let gathered = gathering.map(|(left, severity)| (self.samples + left, severity));
        let last = u64::from(rule.pace.of.max(rule.pace.warm_up));
        let open = met.chain(gathered).filter(|(needed, _)| *needed > self.samples && *needed <= last);
        let (needed, severity) = open.max_by_key(|(needed, severity)| (*severity, std::cmp::Reverse(*needed)))?;
        Some(Undecided { rule, needed, severity })
    }

    /// One rule on one frame; a rule that panics loses only itself.
    fn apply(&mut self, rule: &'static Rule, frame: &Frame, conditions: &Conditions) -> (Standing, Option<Undecided>) {
        let (hits, unchecked, gathering) = {
            let mut context = RuleContext {
                rule,
                frame,
                overrides: &self.settings.thresholds,
                memory: &mut self.memory,
                loaded: conditions.loaded,
                open: &conditions.open,
                before_test: false,
                hits: Vec::new(),
                unchecked: Vec::new(),
                gathering: None,
            };
            if catch_unwind(AssertUnwindSafe(|| (rule.judge)(&mut context))).is_err() {
                let reason = text::RULE_ERROR.to_string();
                context.unchecked = vec![Unchecked { subject: Subject::Host, reason, needs: String::new() }];
                return (Standing::NotChecked(context.unchecked), None);
            }
            (context.hits, context.unchecked, context.gathering)
        };
        self.fold(rule, frame, hits, conditions.stolen);
        let may_open = self.may_open(rule, gathering);
        let too_early = || self.too_early(rule, may_open).map(|row| vec![row]);
        let unchecked = if unchecked.is_empty() { too_early() } else { Some(unchecked) };
        (unchecked.map_or(Standing::Quiet, Standing::NotChecked), may_open)
    }

    fn fold(&mut self, rule: &'static Rule, frame: &Frame, hits: Vec<Hit>, stolen: bool) {
        let mut met: BTreeSet<Subject> = BTreeSet::new();
        // As the answer was: it does not change from sample to sample.
        let is_idle = self.limits.held.as_ref().is_some_and(|held| held.outcome == bottleneck::Outcome::Idle);
        for hit in hits {
            let mut hit = load::gate(rule, frame, is_idle, hit);
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

    /// Drops states that are over and subjects that are gone.
    fn forget(&mut self, frame: &Frame) {
        let now = frame.stamp.mono_ns;
        self.states.retain(|key, state| !(state.is_idle(now) || (is_gone(&key.1, frame) && !state.is_latched(now))));
        self.memory.forget(now);
    }

    fn findings(&self) -> Vec<Finding> {
        let open = self.states.iter().filter_map(|(key, state)| state.finding(state.rule()?, &key.1)).collect();
        let mut findings = fold::under_causes(open);
        findings.sort_by(|a, b| b.severity.cmp(&a.severity).then(b.confidence.total_cmp(&a.confidence)));
        findings
    }
}

/// Moves the finding that explains the bottleneck to the front.
fn explaining_first(findings: &mut [Finding], bottleneck: &Bottleneck) {
    let Some((rule, subject)) = &bottleneck.finding else { return };
    let at = findings.iter().position(|finding| finding.rule.id == *rule && finding.subject == *subject);
    if let Some(first) = at.and_then(|at| findings.get_mut(..=at)) {
        first.rotate_right(1);
    }
}

/// What every rule of a frame shares.
struct Conditions {
    loaded: bool,
    stolen: bool,
    open: Vec<(RuleId, Subject, u64)>,
}

/// True if some CPU has high steal time.
fn is_stolen(frame: &Frame) -> bool {
    frame.cpus.iter().filter_map(|cpu| cpu.shares).any(|shares| shares.steal > 0.1)
}

/// Why a rule cannot be checked on a frame at all.
fn obstacle(rule: &Rule, frame: &Frame, rates: bool) -> Option<Unchecked> {
    let about = |(reason, needs): (String, &str)| Unchecked { subject: Subject::Host, reason, needs: needs.to_owned() };
    let missing = rule.reads.iter().find_map(|input| input.missing(frame));
    let pending = || (!rates && !rule.pace.at_once).then(|| (text::NO_RATES.to_string(), ""));
    missing.or_else(pending).map(about)
}

/// The rules of findings and of those grouped below them.
fn firing_rules(findings: &[Finding], rules: &mut BTreeSet<RuleId>) {
    for finding in findings {
        rules.insert(finding.rule.id);
        firing_rules(&finding.children, rules);
    }
}

/// True if a subject is gone.
pub(crate) fn is_gone(subject: &Subject, frame: &Frame) -> bool {
    match subject {
        Subject::Host => false,
        // No machine is without CPUs and nodes: an empty list was not read.
        Subject::Cpu(id) => frame.cpu(*id).map_or(!frame.cpus.is_empty(), |cpu| !cpu.online),
        Subject::Node(id) => frame.node(*id).is_none() && !frame.nodes.is_empty(),
        Subject::Irq(irq) => frame.irq(*irq).is_none(),
        Subject::Nic(name) => frame.nic(name).is_none(),
        Subject::Disk(name) => !frame.disks.iter().any(|disk| disk.name == *name),
        Subject::Accelerator(name) => !frame.accelerators.iter().any(|row| row.name == *name),
        Subject::Cgroup(path) => frame.cgroup(path).is_none(),
        Subject::Process(pid, starttime) => frame.process(*pid).is_none_or(|process| process.starttime != *starttime),
    }
}

#[cfg(test)]
mod tests;
