//! What a rule sees while it judges a frame.

use crate::frame::{Cpu, Frame};
use crate::judge::Memory;
use crate::rules::{Hit, Overrides, Rule, RuleId, Subject, Threshold};

/// Something that a rule could not look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// What of; the host where it is about everything.
    pub subject: Subject,
    /// Why not.
    pub reason: String,
    /// What would let it: a permission, a kernel feature.
    pub needs: String,
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
    /// Rules and subjects that were open at the sample before, in order.
    pub(crate) open: &'a [(RuleId, Subject)],
    pub(crate) hits: Vec<Hit>,
    pub(crate) unchecked: Vec<Unchecked>,
}

impl<'a> RuleContext<'a> {
    /// The frame.
    pub fn frame(&self) -> &'a Frame {
        self.frame
    }

    /// A threshold as configured: the rule's own, or another rule's where both must mean the same by a word.
    pub fn limit(&self, threshold: &Threshold) -> f64 {
        threshold.configured(self.overrides)
    }

    /// True while the machine is under load: what costs performance costs it then.
    pub fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// True where only what is configured is looked at, before a test: what would hurt under load is told, although it
    /// would be noise on a machine that works.
    pub fn is_before_test(&self) -> bool {
        self.before_test
    }

    /// True if a finding of another rule was open at the sample before.
    pub fn is_open(&self, rule: RuleId) -> bool {
        let at = self.open.partition_point(|(open, _)| *open < rule);
        self.open.get(at).is_some_and(|(open, _)| *open == rule)
    }

    /// True if a finding of another rule about a subject was open at the sample before.
    pub fn is_open_at(&self, rule: RuleId, subject: &Subject) -> bool {
        self.open.binary_search_by(|(open, about)| (*open).cmp(&rule).then_with(|| about.cmp(subject))).is_ok()
    }

    /// Says what was found.
    pub fn hit(&mut self, hit: Hit) {
        self.hits.push(hit);
    }

    /// Says what could not be looked at.
    pub fn unchecked(&mut self, subject: Subject, reason: &str, needs: &str) {
        self.unchecked.push(Unchecked { subject, reason: reason.to_owned(), needs: needs.to_owned() });
    }

    /// Remembers a value of a subject and gives back the newest ones that are remembered of it, so many at most, oldest
    /// first: monotonic seconds and values.
    pub fn remember_newest(&mut self, subject: &Subject, value: f64, most: usize) -> Vec<(f64, f64)> {
        self.memory.remember(self.rule.id, subject, self.frame.stamp.mono_ns, value, most)
    }

    /// Remembers a value of a subject and gives back what is remembered of it, oldest first: monotonic seconds and
    /// values, at most ten minutes.
    pub fn remember(&mut self, subject: &Subject, value: f64) -> Vec<(f64, f64)> {
        self.remember_newest(subject, value, usize::MAX)
    }

    /// What was remembered of a subject last.
    pub fn recall(&self, subject: &Subject) -> Option<(f64, f64)> {
        self.memory.recall(self.rule.id, subject)
    }

    /// What is remembered of a subject, oldest first, without adding to it.
    pub fn remembered(&self, subject: &Subject) -> Vec<(f64, f64)> {
        self.remembered_newest(subject, usize::MAX)
    }

    /// The newest of those, so many at most.
    pub fn remembered_newest(&self, subject: &Subject, most: usize) -> Vec<(f64, f64)> {
        self.memory.newest(self.rule.id, subject, most)
    }

    /// Online CPUs that the scheduler may use freely, with their shares.
    pub fn cpus(&self) -> impl Iterator<Item = (&'a Cpu, crate::frame::CpuShares)> + use<'a> {
        self.frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated).filter_map(|cpu| Some((cpu, cpu.shares?)))
    }

    /// How many of those there are.
    pub fn cpu_count(&self) -> usize {
        self.cpus().count()
    }

    /// Each of those CPUs with a share and the mean of that share over the others; nothing where one stands alone.
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
