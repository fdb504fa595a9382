//! The state of one rule for one subject over time.

use crate::Stamp;
use crate::rules::{Finding, Hit, Rule, RuleId, Severity, Strength, Subject};

/// Minimum time between two openings of a finding, in ns.
const REOPEN_NS: u64 = 60_000_000_000;

/// Rule and subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(pub(super) RuleId, pub(super) Subject);

/// Its state.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) rule: Option<&'static Rule>,
    /// The last samples as bits, the newest lowest: set if the condition was met.
    pub(super) met: u32,
    /// Samples in a row in which it was neither met nor kept open.
    pub(super) clear: u32,
    /// First sample of the current run.
    pub(super) since: Option<Stamp>,
    pub(super) open: bool,
    pub(super) opened_ns: Option<u64>,
    pub(super) last_met_ns: u64,
    pub(super) now_ns: u64,
    /// The newest hit that met it, with the worst severity of the last samples.
    pub(super) hit: Option<Hit>,
    pub(super) severities: [u32; 3],
}

impl State {
    pub(super) fn rule(&self) -> Option<&'static Rule> {
        self.rule
    }

    /// When it opened, while it is open: CLOCK_MONOTONIC in ns.
    pub(super) fn opened(&self) -> Option<u64> {
        self.open.then(|| self.opened_ns.unwrap_or_default())
    }

    /// The sample at which it would open if its condition stayed met, of those since the first, and how severe.
    pub(super) fn opens_at(&self, samples: u64) -> Option<(u64, Severity)> {
        let (rule, hit) = (self.rule?, self.hit.as_ref()?);
        let missed = samples.saturating_sub(u64::from(self.met.count_ones()));
        (!self.open && self.met != 0).then_some((u64::from(rule.pace.enter) + missed, hit.severity))
    }

    /// Takes in one valid sample.
    pub(super) fn step(&mut self, rule: &'static Rule, stamp: Stamp, hit: Option<Hit>) {
        self.rule = Some(rule);
        self.now_ns = stamp.mono_ns;
        let met = hit.as_ref().is_some_and(|hit| hit.strength == Strength::Enter);
        self.met = self.met << 1 | u32::from(met);
        self.clear = if hit.is_some() { 0 } else { self.clear.saturating_add(1) };
        for (level, bits) in
            [Severity::Info, Severity::Warning, Severity::Critical].into_iter().zip(&mut self.severities)
        {
            let here = hit.as_ref().is_some_and(|hit| met && hit.severity == level);
            *bits = *bits << 1 | u32::from(here);
        }
        if met {
            self.since.get_or_insert(stamp);
            self.last_met_ns = stamp.mono_ns;
            self.hit = hit;
        }
        let window = 1u32.checked_shl(rule.pace.of).map_or(u32::MAX, |bit| bit - 1);
        let count = (self.met & window).count_ones();
        if self.met & window == 0 && !self.open {
            self.since = None;
        }
        let cooled = self.opened_ns.is_none_or(|opened| stamp.mono_ns.saturating_sub(opened) >= REOPEN_NS);
        if !self.open && count >= rule.pace.enter && cooled {
            self.open = true;
            self.opened_ns = Some(stamp.mono_ns);
        }
        if self.open && self.clear >= rule.pace.exit && !self.is_latched(stamp.mono_ns) {
            self.open = false;
            self.since = None;
        }
    }

    /// True while it is kept open although the condition is gone.
    pub(super) fn is_latched(&self, now_ns: u64) -> bool {
        let latch = self.rule.map_or(0, |rule| u64::from(rule.pace.latch_seconds) * 1_000_000_000);
        self.open && now_ns.saturating_sub(self.last_met_ns) < latch
    }

    /// True if the state can be dropped.
    pub(super) fn is_idle(&self, now_ns: u64) -> bool {
        let cooled = self.opened_ns.is_none_or(|opened| now_ns.saturating_sub(opened) >= REOPEN_NS);
        !self.open && self.met == 0 && cooled
    }

    /// The finding, while it is open, with the severity that enough of the last samples had, so that one sample beyond a
    /// threshold does not make it flicker.
    pub(super) fn finding(&self, rule: &'static Rule, subject: &Subject) -> Option<(Finding, &[(RuleId, Subject)])> {
        let hit = self.hit.as_ref().filter(|_| self.open)?;
        let [_, warning, critical] = self.severities.map(|bits| (bits & 0x3ff).count_ones());
        let needed = rule.pace.enter.div_ceil(2).clamp(1, 5);
        let severity = match () {
            () if critical >= needed => Severity::Critical,
            () if warning + critical >= needed => Severity::Warning,
            () if self.met.trailing_zeros() >= 10 => hit.severity,
            () => Severity::Info,
        };
        let finding = Finding {
            rule,
            subject: subject.clone(),
            severity,
            confidence: hit.confidence,
            since: self.since.unwrap_or_default(),
            evidence: hit.evidence.clone(),
            children: Vec::new(),
        };
        Some((finding, &hit.covers))
    }
}
