//! What a rule sees while it judges a frame.

use crate::frame::{Cpu, Frame};
use crate::judge::Memory;
use crate::locale::translated;
use crate::rules::{Hit, Overrides, Pace, Rule, RuleId, Severity, Subject, Threshold};
use std::borrow::Cow;
use std::cmp::Reverse;

/// What reasons are made of.
const TEXTS: [&str; 4] = ["input.", "judge.", "rule.", "needs."];

/// Something that a rule could not check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// The subject; the host if it is about everything.
    pub subject: Subject,
    /// Why not.
    pub reason: String,
    /// What it requires: a permission, a kernel feature.
    pub needs: String,
}

impl Unchecked {
    /// The reason in the language of the reader.
    pub fn shown_reason(&self) -> Cow<'_, str> {
        translated(&TEXTS, &self.reason)
    }

    /// What it requires in the language of the reader.
    pub fn shown_needs(&self) -> Cow<'_, str> {
        translated(&TEXTS, &self.needs)
    }
}

/// One rule's context at one frame.
#[derive(Debug)]
pub struct RuleContext<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) frame: &'a Frame,
    pub(crate) overrides: &'a Overrides,
    pub(crate) memory: &'a mut Memory,
    pub(crate) loaded: bool,
    pub(crate) before_test: bool,
    /// Rules and subjects with an open finding at the previous sample, sorted, and when it opened: CLOCK_MONOTONIC in ns.
    pub(crate) open: &'a [(RuleId, Subject, u64)],
    pub(crate) hits: Vec<Hit>,
    pub(crate) unchecked: Vec<Unchecked>,
    /// See [`RuleContext::gathers`].
    pub(crate) gathering: Option<(u64, Severity)>,
}

impl<'a> RuleContext<'a> {
    /// The frame.
    pub fn frame(&self) -> &'a Frame {
        self.frame
    }

    /// A threshold as configured: the rule's own, or another rule's where both must agree.
    pub fn limit(&self, threshold: &Threshold) -> f64 {
        threshold.configured(self.overrides)
    }

    /// When findings of the rule open.
    pub fn pace(&self) -> Pace {
        self.rule.pace
    }

    /// True while the machine is under load.
    pub fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// True for a preflight, which checks the configuration only: it reports what would hurt under load, although that
    /// would be noise on a working machine.
    pub fn is_before_test(&self) -> bool {
        self.before_test
    }

    /// True if another rule had an open finding at the previous sample.
    pub fn is_open(&self, rule: RuleId) -> bool {
        let at = self.open.partition_point(|(open, _, _)| *open < rule);
        self.open.get(at).is_some_and(|(open, _, _)| *open == rule)
    }

    /// True if another rule had an open finding about a subject at the previous sample.
    pub fn is_open_at(&self, rule: RuleId, subject: &Subject) -> bool {
        self.opened_ns(rule, subject).is_some()
    }

    /// When the finding about a subject that was open at the previous sample opened: CLOCK_MONOTONIC in ns.
    pub fn opened_ns(&self, rule: RuleId, subject: &Subject) -> Option<u64> {
        let place = |(open, about, _): &(RuleId, Subject, u64)| (*open).cmp(&rule).then_with(|| about.cmp(subject));
        self.open.binary_search_by(place).ok().and_then(|at| self.open.get(at)).map(|(_, _, opened)| *opened)
    }

    /// Reports a hit, with the file names of the version of control groups that it was read from.
    pub fn hit(&mut self, hit: Hit) {
        let version = version(self.frame, &hit.subject);
        self.hits.push(hit.in_version(version));
    }

    /// Reports what could not be checked.
    pub fn unchecked(&mut self, subject: Subject, reason: &str, needs: &str) {
        self.unchecked.push(Unchecked { subject, reason: reason.to_owned(), needs: needs.to_owned() });
    }

    /// Reports that its condition holds so far, and that so many samples are missing to be sure.
    pub fn gathers(&mut self, missing: u64, severity: Severity) {
        let replaces = |(least, worst)| (severity, Reverse(missing)) > (worst, Reverse(least));
        if self.gathering.is_none_or(replaces) {
            self.gathering = Some((missing, severity));
        }
    }

    /// Appends a value to the series of a subject and returns its newest points, at most `most`, oldest first: monotonic
    /// seconds and values.
    pub fn remember_newest(&mut self, subject: &Subject, value: f64, most: usize) -> Vec<(f64, f64)> {
        self.memory.remember(self.rule.id, subject, self.frame.stamp.mono_ns, value, most)
    }

    /// Appends a value to the series of a subject and returns the series, oldest first: monotonic seconds and values of
    /// at most ten minutes.
    pub fn remember(&mut self, subject: &Subject, value: f64) -> Vec<(f64, f64)> {
        self.remember_newest(subject, value, usize::MAX)
    }

    /// The newest point of the series of a subject.
    pub fn recall(&self, subject: &Subject) -> Option<(f64, f64)> {
        self.memory.recall(self.rule.id, subject)
    }

    /// The series of a subject, oldest first.
    pub fn remembered(&self, subject: &Subject) -> Vec<(f64, f64)> {
        self.remembered_newest(subject, usize::MAX)
    }

    /// The newest points of that series, at most `most`.
    pub fn remembered_newest(&self, subject: &Subject, most: usize) -> Vec<(f64, f64)> {
        self.memory.newest(self.rule.id, subject, most)
    }

    /// Online CPUs that the scheduler may use freely, with their shares.
    pub fn cpus(&self) -> impl Iterator<Item = (&'a Cpu, crate::frame::CpuShares)> + use<'a> {
        self.frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated).filter_map(|cpu| Some((cpu, cpu.shares?)))
    }

    /// The number of those CPUs.
    pub fn cpu_count(&self) -> usize {
        self.cpus().count()
    }

    /// Each of those CPUs with its share and the mean share of the others; nothing for a single CPU.
    pub fn against_others(
        &self,
        share: fn(&crate::frame::CpuShares) -> f64,
    ) -> impl Iterator<Item = (&'a Cpu, f64, f64)> {
        let (sum, count) = self.cpus().fold((0.0, 0u32), |(sum, count), (_, shares)| (sum + share(&shares), count + 1));
        let others = f64::from(count.max(2) - 1);
        self.cpus().filter(move |_| count > 1).map(move |(cpu, shares)| {
            let own = share(&shares);
            (cpu, own, ((sum - own) / others).max(0.0))
        })
    }
}

/// The version of control groups that evidence about a subject was read from: its own group's, else the machine's.
fn version(frame: &Frame, subject: &Subject) -> u32 {
    let path = match subject {
        Subject::Cgroup(path) => Some(path),
        Subject::Process(pid, _) => frame.process(*pid).map(crate::frame::Process::quota_group),
        _ => None,
    };
    let own = path.and_then(|path| frame.cgroup(path)).map(|group| group.version);
    let only_first = || !frame.cgroups.is_empty() && frame.cgroups.iter().all(|group| group.version == 1);
    own.unwrap_or_else(|| if only_first() { 1 } else { 2 })
}
