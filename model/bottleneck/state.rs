//! What the decision remembers: the last ten samples of each resource, who was blocked, and the answer that stands.

use super::clock::HOT_NS;
use super::resource::Member;
use super::series::{self, Turns};
use super::{Outcome, ResourceKind};
use crate::Stamp;
use crate::frame::{Frame, Process, WaitClass};
use crate::rules::Subject;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Samples of what a process sleeps for that are enough to say what it does not.
const SEEN: u64 = 10;

/// Samples that decide.
pub(super) const OF: u32 = 10;
/// So many of them make a resource limiting.
pub(super) const ENTER: u32 = 8;
/// It stays so while more of them than this are.
const LEAVE: u32 = 2;
/// Time between two changes of the answer.
pub(super) const CHANGE_NS: u64 = 10_000_000_000;
/// Windows and processes that are remembered.
const MOST: usize = 1024;
/// Weight of the newest sample in a mean over about ten.
const NEWEST: f64 = 0.2;
/// A disk's latency without a queue rises again by so much per sample, so that one odd value does not stand for ever.
const FORGETS: f64 = 1.001;

/// The last samples of one resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// The newest lowest: set if it was saturated.
    pub(crate) bits: u16,
    pub(crate) limiting: bool,
    /// The first of the samples that made it limiting.
    pub(crate) since: Stamp,
}

impl Window {
    fn step(&mut self, saturated: bool, stamp: Stamp) {
        if self.bits & WINDOW == 0 && !self.limiting {
            self.since = stamp;
        }
        self.bits = (self.bits << 1 | u16::from(saturated)) & WINDOW;
        let count = self.bits.count_ones();
        self.limiting = if self.limiting { count > LEAVE } else { count >= ENTER };
    }

    fn is_over(&self) -> bool {
        self.bits == 0 && !self.limiting
    }
}

const WINDOW: u16 = (1 << OF) - 1;

/// The answer that stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    pub(crate) outcome: Outcome,
    pub(crate) resource: Option<(ResourceKind, Subject)>,
    /// The first sample with it.
    pub(crate) since: Stamp,
    /// When the answer last changed in a way that is an event; none if it never did.
    pub(crate) changed_ns: Option<u64>,
}

impl Held {
    /// True if it is about a resource: of threads whichever is full.
    pub(super) fn is_about(&self, resource: Option<&(ResourceKind, Subject)>) -> bool {
        let is_thread = |resource: Option<&(ResourceKind, Subject)>| {
            resource.is_some_and(|(kind, _)| *kind == ResourceKind::Thread)
        };
        self.resource.as_ref() == resource || is_thread(self.resource.as_ref()) && is_thread(resource)
    }

    /// True if one answer after the other is an event: the load that comes and goes is none.
    pub(crate) fn is_event(before: &Self, after: &Self) -> bool {
        let calm = |held: &Self| matches!(held.outcome, Outcome::Idle | Outcome::NotSaturated);
        !(calm(before) && calm(after))
    }
}

/// What the decision remembers between samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Samples with rates so far.
    pub(crate) samples: u64,
    pub(crate) windows: BTreeMap<(ResourceKind, Subject), Window>,
    /// Mean number of blocked threads, by pid and start.
    pub(crate) blocked: BTreeMap<(u32, u64), f64>,
    /// The same of the whole machine.
    pub(crate) blocked_host: f64,
    /// The least latency of each disk while it had no queue, in ms.
    pub(crate) quiet_ms: BTreeMap<Arc<str>, f64>,
    /// Mean share of interrupts on each CPU: the kernel counts them by ticks.
    pub(crate) interrupts: BTreeMap<u32, f64>,
    /// Mean pages per second that each group read again: kernels count them in steps of seconds.
    pub(crate) refaults: BTreeMap<Arc<str>, f64>,
    /// What comes and goes below each process, by pid and start.
    pub(crate) turns: BTreeMap<(u32, u64), Turns>,
    /// When heat last slowed each CPU down (CLOCK_MONOTONIC).
    pub(crate) hot: BTreeMap<u32, u64>,
    /// Whether the machine does something.
    pub(crate) busy: Window,
    /// Kinds that are unknown and could be what limits.
    pub(crate) suspects: BTreeMap<ResourceKind, Window>,
    pub(crate) held: Option<Held>,
}

impl State {
    /// Takes in who is blocked, what interrupts and reclaim do, and what disks do without a queue.
    pub(super) fn observe(&mut self, frame: &Frame) {
        self.samples = self.samples.saturating_add(1);
        // The first samples are a mean of so many, not of zeros before them.
        let newest = NEWEST.max(1.0 / self.samples as f64);
        let mean = |old: f64, new: f64| old + (new - old) * newest;
        self.blocked_host = mean(self.blocked_host, frame.host.blocked.value().unwrap_or(0) as f64);
        let mut next = BTreeMap::new();
        for process in frame.processes.iter().filter(|process| !process.kernel) {
            let key = (process.pid, process.starttime);
            let asleep = f64::from(process.blocked_threads.max(u32::from(process.state == 'D')));
            let now = if waits_for_no_disk(process, asleep) { 0.0 } else { asleep };
            let share = mean(self.blocked.get(&key).copied().unwrap_or(0.0), now);
            if share > 0.02 && next.len() < MOST {
                next.insert(key, share);
            }
        }
        self.blocked = next;
        let mut next = BTreeMap::new();
        for (id, shares) in frame.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.shares?))) {
            let now = shares.softirq + shares.irq;
            let share = mean(self.interrupts.get(&id).copied().unwrap_or(now), now);
            if share > 0.02 && next.len() < MOST {
                next.insert(id, share);
            }
        }
        self.interrupts = next;
        let mut next = BTreeMap::new();
        for group in &frame.cgroups {
            let now = group.memory.as_ref().and_then(|memory| memory.refault_file_per_second);
            let Some(now) = now.filter(|now| now.is_finite()) else { continue };
            let rate = mean(self.refaults.get(&group.path).copied().unwrap_or(now), now);
            if rate >= 1.0 && next.len() < MOST {
                next.insert(Arc::clone(&group.path), rate);
            }
        }
        self.refaults = next;
        series::observe(&mut self.turns, frame, newest);
        let now = frame.stamp.mono_ns;
        self.hot.extend(frame.cpus.iter().filter(|cpu| cpu.is_hot()).map(|cpu| (cpu.id, now)));
        self.hot.retain(|_, last| now.saturating_sub(*last) <= HOT_NS);
        self.observe_disks(frame);
    }

    /// Takes in what disks do without a queue.
    fn observe_disks(&mut self, frame: &Frame) {
        for disk in &frame.disks {
            let (Some(ms), Some(depth)) = (disk.await_ms.value(), disk.queue_depth) else { continue };
            let requests = disk.reads_per_second.unwrap_or(0.0) + disk.writes_per_second.unwrap_or(0.0);
            if depth > 1.2 || requests < 10.0 || ms <= 0.0 || !ms.is_finite() {
                continue;
            }
            if self.quiet_ms.len() < MOST || self.quiet_ms.contains_key(&disk.name) {
                let least = self.quiet_ms.entry(Arc::clone(&disk.name)).or_insert(ms);
                *least = (*least * FORGETS).min(ms);
            }
        }
    }

    /// Takes in whether the machine does something, and which unknown kinds could be what limits.
    pub(super) fn judge(&mut self, busy: bool, members: &[Member], stamp: Stamp) {
        self.busy.step(busy, stamp);
        for kind in ResourceKind::ALL {
            let unknown = |member: &&Member| member.resource.verdict == super::Verdict::Unknown && member.suspect;
            let here = members.iter().filter(unknown).any(|member| member.resource.kind == kind);
            if here || self.suspects.contains_key(&kind) {
                self.suspects.entry(kind).or_default().step(here, stamp);
            }
        }
        self.suspects.retain(|_, window| !window.is_over());
    }

    /// Mean number of threads of a process that are blocked.
    pub(super) fn blocked(&self, process: &Process) -> f64 {
        self.blocked.get(&(process.pid, process.starttime)).copied().unwrap_or(0.0)
    }

    /// Takes in which members are saturated, and gives back which limit.
    pub(super) fn step(&mut self, members: &mut [Member], stamp: Stamp) {
        let mut known = std::mem::take(&mut self.windows);
        for member in members.iter_mut().filter(|member| member.resource.verdict != super::Verdict::Unknown) {
            let key = member.window_key();
            let mut window = known.remove(&key).unwrap_or_default();
            window.step(member.is_saturated(window.limiting), stamp);
            member.resource.verdict = match (window.limiting, member.lasts) {
                (true, true) => super::Verdict::Full,
                (true, false) => super::Verdict::Limiting,
                (false, _) => member.state(),
            };
            member.resource.since = window.limiting.then_some(window.since);
            if !window.is_over() && self.windows.len() < MOST {
                self.windows.insert(key, window);
            }
        }
        // What was not measured in this sample was not saturated.
        for (key, mut window) in known {
            window.step(false, stamp);
            if !window.is_over() && self.windows.len() < MOST {
                self.windows.insert(key, window);
            }
        }
    }
}

/// True where enough was seen of what so many threads of a process sleep for, and none of it was a disk: a lock of the
/// kernel, another machine's file system, a child.
fn waits_for_no_disk(process: &Process, asleep: f64) -> bool {
    process.off_cpu.as_ref().is_some_and(|off_cpu| {
        let disk = off_cpu.share(WaitClass::Disk) + off_cpu.share(WaitClass::Unread);
        off_cpu.samples >= SEEN && off_cpu.threads as f64 >= asleep && disk <= 0.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_of_ten_enter_and_two_of_ten_leave() {
        let mut window = Window::default();
        let at = |seq| Stamp { seq, ..Stamp::default() };
        let mut states = Vec::new();
        for sample in 0..40u64 {
            window.step((5..25).contains(&sample), at(sample));
            states.push(window.limiting);
        }
        assert_eq!(states.iter().position(|state| *state), Some(12), "the eighth of them");
        assert_eq!(window.since.seq, 39, "it begins anew");
        assert_eq!(states.iter().rposition(|state| *state), Some(31), "until two of ten are left");
        // Every other sample is too few.
        let mut window = Window::default();
        (0..100).for_each(|sample| window.step(sample % 2 == 0, at(sample)));
        assert!(!window.limiting);
    }
}
