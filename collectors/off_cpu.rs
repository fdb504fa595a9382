//! Where threads are while they run on no CPU: those of the busiest processes are looked at five times a second by a
//! worker, within a budget. What they wait for follows from the system call, in uninterruptible sleep from the kernel
//! function; of connections it is asked whether an answer is outstanding.

mod call;
mod choose;
mod datagrams;
mod look;
mod peers;

use crate::Root;
use crate::rights::{self, Needs};
use crate::sockets::Connections;
use crate::worker::Worker;
use crate::{Collector, Cx};
use choose::{Chooser, Process};
use look::{Answer, At, Count, Job, Looker, Total};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use topotop_model::tables::off_cpu::{OffCpu, Waits};
use topotop_model::{Draft, Reason, Slots};

/// The most threads that are looked at.
const MOST: usize = 100;
/// At least so many, whatever they cost.
const LEAST: usize = 10;
/// Looks in a round and the time before each, so that a round is over before the next sample.
const LOOKS: u64 = 5;
const GAP: Duration = Duration::from_millis(165);
/// CPU time that a round may cost, in ns: 0.25 % of a core where there is one each second.
const BUDGET_NS: u64 = 2_500_000;
/// How long what was found counts, in ns.
const WINDOW_NS: u64 = 10_000_000_000;

/// Samples what threads wait for.
#[derive(Debug)]
pub(crate) struct OffCpuCollector {
    connections: Connections,
    worker: Option<Worker<Job, Answer>>,
    chooser: Chooser,
    rounds: VecDeque<(u64, Answer)>,
    most: usize,
    owners: Slots<Process>,
    waits: Slots<At>,
}

impl OffCpuCollector {
    /// One that knows connections from the collector of sockets.
    pub(crate) fn new(connections: Connections) -> Self {
        Self {
            connections,
            worker: None,
            chooser: Chooser::default(),
            rounds: VecDeque::new(),
            most: MOST,
            owners: Slots::default(),
            waits: Slots::default(),
        }
    }
}

impl Collector for OffCpuCollector {
    fn name(&self) -> &'static str {
        "off_cpu"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        // A captured machine stands still.
        if !cx.root.is_live() || cx.root.is_traced() {
            return;
        }
        let mut changed = false;
        while let Some(answer) = self.worker.as_mut().and_then(Worker::take) {
            self.spend(&answer);
            self.rounds.push_back((cx.now_ns, answer));
            changed = true;
        }
        while self.rounds.front().is_some_and(|(at, _)| cx.now_ns.saturating_sub(*at) >= WINDOW_NS) {
            self.rounds.pop_front();
            changed = true;
        }
        if changed {
            self.publish(cx.root, cx.now_ns, draft);
        }
        let targets = self.chooser.choose(draft, cx.now_ns, self.most, std::process::id());
        if targets.is_empty() || self.worker.as_ref().is_some_and(|worker| worker.pending() > 0) {
            return;
        }
        if self.worker.is_none() {
            let mut looker = Looker::new(Arc::clone(cx.root));
            self.worker = Worker::spawn("off-cpu", move |job: Job| looker.round(&job)).ok();
        }
        if let Some(worker) = &mut self.worker {
            worker.submit(Job { targets, connections: self.connections.get(), looks: LOOKS, gap: GAP });
        }
    }
}

impl OffCpuCollector {
    /// Looks at as many threads as the budget pays for.
    fn spend(&mut self, answer: &Answer) {
        let samples: u64 = answer.processes.values().map(|total| total.samples).sum();
        if let Some(each) = answer.cpu_ns.checked_div(samples).filter(|&each| each > 0) {
            let affordable = usize::try_from(BUDGET_NS / each / LOOKS).unwrap_or(MOST);
            // Half way there each time: a single round may be dear by chance.
            self.most = usize::midpoint(self.most, affordable).clamp(LEAST, MOST);
        }
    }

    fn publish(&mut self, root: &Root, now_ns: u64, draft: &mut Draft) {
        let mut totals: HashMap<Process, Total> = HashMap::new();
        let mut found: HashMap<&At, Count> = HashMap::new();
        for (_, answer) in &self.rounds {
            for (process, total) in &answer.processes {
                let sum = totals.entry(*process).or_default();
                sum.samples += total.samples;
                sum.denied += total.denied;
                sum.threads = sum.threads.max(total.threads);
            }
            for (at, count) in &answer.found {
                let sum = found.entry(at).or_default();
                sum.samples += count.samples;
                sum.threads = sum.threads.max(count.threads);
                sum.together = sum.together.max(count.together);
            }
        }
        let span_ns = self.rounds.front().map_or(0, |(first, _)| now_ns.saturating_sub(*first));
        draft.off_cpu.begin(now_ns);
        draft.waits.begin(now_ns);
        let denied: u64 = totals.values().map(|total| u64::from(total.denied > 0)).sum();
        if denied > 0 {
            let needs = rights::needs(root, Needs::Ptrace);
            draft.waits.gaps.add_many("proc/*/task/*/syscall", Reason::PermissionDenied, &needs, denied);
        }
        self.owners.begin();
        for (process, total) in &totals {
            put_total(draft.off_cpu.data_mut(), &mut self.owners, (process, total), (now_ns, span_ns));
        }
        self.owners.finish(draft.off_cpu.data_mut(), |_, _| {});
        self.waits.begin();
        for (at, count) in found {
            put(draft.waits.data_mut(), &mut self.waits, at, count);
        }
        self.waits.finish(draft.waits.data_mut(), |_, _| {});
    }
}

fn put_total(
    table: &mut OffCpu,
    slots: &mut Slots<Process>,
    (process, total): (&Process, &Total),
    (now_ns, span_ns): (u64, u64),
) {
    let (slot, _) = slots.slot(table, process);
    table.pid.set(slot, u64::from(process.0));
    table.starttime.set(slot, process.1);
    table.read_at_ns.set(slot, now_ns);
    table.samples.set(slot, total.samples);
    table.denied.set(slot, total.denied);
    table.threads.set(slot, total.threads);
    table.span_ns.set(slot, span_ns);
}

fn put(table: &mut Waits, slots: &mut Slots<At>, at: &At, count: Count) {
    let (slot, fresh) = slots.slot(table, at);
    if fresh {
        table.pid.set(slot, u64::from(at.process.0));
        table.starttime.set(slot, at.process.1);
        table.state.set(slot, u64::from(at.state));
        let texts = [
            (&mut table.call, at.call),
            (&mut table.wchan, at.wchan.as_deref()),
            (&mut table.target, Some(at.target)),
            (&mut table.peer, at.peer.as_ref().map(|peer| &*peer.0)),
        ];
        for (column, text) in texts {
            match text {
                Some(text) => column.set(slot, text),
                None => column.clear(slot),
            }
        }
        table.port.set_or_clear(slot, at.peer.as_ref().map(|peer| u64::from(peer.1)));
        table.object.set_or_clear(slot, at.object);
        table.operation.set_or_clear(slot, at.operation);
        table.timed.set(slot, u64::from(at.timed));
        table.outstanding.set_or_clear(slot, at.outstanding.map(u64::from));
    }
    table.samples.set(slot, count.samples);
    table.threads.set(slot, count.threads);
    table.together.set(slot, count.together);
}

#[cfg(test)]
mod tests;
