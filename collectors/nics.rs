//! Interfaces and their queues: counters from `/proc/net/dev` each sample; everything else from a worker, since much of
//! it takes rtnl and so waits for whoever reconfigures an interface.

mod ask;
mod dev;
mod place;
mod queues;
mod statistics;
mod write;

use crate::files::read;
use crate::parse::{lines, text, whole_lines};
use crate::root::Kept;
use crate::worker::Worker;
use crate::{Collector, Cx};
use ask::{Answer, Asker, Job};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use topotop_model::tables::nics::Nics;
use topotop_model::{Draft, Gaps, Reason, Slots, State, Table};
use write::QueueRows;

/// How often all facts are read, in ns; immediately when a link changed, or an interface came or went.
const PERIOD_NS: u64 = 30_000_000_000;
/// How long a first or single sample waits for the worker.
const WAIT: Duration = Duration::from_millis(300);
/// When the worker counts as stuck, in ns.
const OVERDUE_NS: u64 = 5_000_000_000;
/// The worker may use a hundredth of a core.
const DUTY: u64 = 100;
/// Packets since the last look from which on drivers are asked in each sample what went through which queue; else
/// now and then, in ns.
const BUSY_PACKETS: u64 = 100;
const IDLE_NS: u64 = 10_000_000_000;

/// Reads interfaces.
#[derive(Debug, Default)]
pub(crate) struct NicCollector {
    dev: Option<Kept>,
    slots: Slots<String>,
    name: String,
    worker: Option<Worker<Job, Answer>>,
    submitted_ns: u64,
    everything_ns: Option<u64>,
    next_ns: u64,
    /// Packets of all interfaces at the last reading of drivers.
    packets: u64,
    /// Interfaces that sysfs has: the only ones there are where /proc/net/dev cannot be read.
    in_sysfs: Vec<String>,
    /// Interfaces whose drivers count by queue.
    counting: Vec<String>,
    /// True where packets of some interface are shaped.
    shaped: bool,
    named: usize,
    missed: HashMap<String, Option<[Kept; 2]>>,
    gaps: Gaps,
    queues: QueueRows,
    stuck: bool,
}

impl Collector for NicCollector {
    fn name(&self) -> &'static str {
        "nics"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let first = self.everything_ns.is_none();
        draft.nics.begin(cx.now_ns);
        let dev = read(&mut self.dev, "proc/net/dev", cx);
        let mut answers = Vec::new();
        while let Some(answer) = self.worker.as_mut().and_then(Worker::take) {
            answers.push(answer);
        }
        // The time of a captured machine does not wait for a worker.
        if first || cx.demand.complete || !cx.root.is_live() {
            answers.extend(self.ask_now(cx, dev.is_ok()));
        }
        for answer in &answers {
            self.note(answer, cx.now_ns);
        }
        self.slots.begin();
        match dev {
            Ok(()) => self.counters(cx, draft),
            Err(reason) => draft.nics.gaps.add("proc/net/dev", reason, ""),
        }
        if dev.is_err() || !cx.root.is_live() {
            for name in &self.in_sysfs {
                let (slot, _) = self.slots.slot(draft.nics.data_mut(), name);
                draft.nics.data_mut().name.set(slot, name);
            }
        }
        self.slots.finish(draft.nics.data_mut(), |_, _| {});
        for answer in answers {
            let at = answer.at_ns.min(cx.now_ns);
            write::answer(answer, dev.is_ok(), &self.slots, draft);
            self.queues.write(at, draft);
        }
        self.missed(cx, draft.nics.data_mut());
        self.schedule(cx, draft);
        self.report(cx, draft);
    }
}

impl NicCollector {
    /// Asks for everything and waits a little.
    fn ask_now(&mut self, cx: &mut Cx<'_>, dev: bool) -> Vec<Answer> {
        let names = if dev { names(cx.buf) } else { Vec::new() };
        self.named = names.len();
        self.everything_ns = Some(cx.now_ns);
        let job = Job::Everything(names);
        let asker = || Asker { root: Arc::clone(cx.root), live: Arc::clone(cx.live), buf: Vec::new() };
        if self.worker.is_none() && cx.root.is_live() {
            let mut asker = asker();
            self.worker = Worker::spawn("nics", move |job| asker.answer(job)).ok();
        }
        let Some(worker) = &mut self.worker else { return vec![asker().answer(job)] };
        worker.submit(job);
        self.submitted_ns = cx.now_ns;
        let mut answers = Vec::new();
        while let Some(answer) = worker.wait(WAIT) {
            answers.push(answer);
        }
        answers
    }

    /// Keeps what a reply means for later readings.
    fn note(&mut self, answer: &Answer, now_ns: u64) {
        self.stuck = false;
        self.next_ns = now_ns.saturating_add(answer.spent_ns.saturating_mul(DUTY));
        if let Some(nics) = &answer.nics {
            self.gaps.clone_from(&answer.gaps);
            self.in_sysfs = nics.iter().map(|nic| nic.name.clone()).collect();
            self.counting = answer.statistics.iter().map(|(name, _)| name.clone()).collect();
            self.shaped = answer.shapers.as_ref().is_some_and(|shapers| !shapers.is_empty());
            self.queues.learn(nics);
            let physical: BTreeSet<&str> =
                nics.iter().filter(|nic| nic.kind == "physical").map(|nic| nic.name.as_str()).collect();
            self.missed.retain(|name, _| physical.contains(name.as_str()));
            for name in physical {
                if !self.missed.contains_key(name) {
                    self.missed.insert(name.to_owned(), None);
                }
            }
        }
        self.queues.count(&answer.statistics);
    }

    /// One row per line of /proc/net/dev.
    fn counters(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let (bytes, cut) = whole_lines(cx.buf);
        let mut bad = u64::from(cut);
        let mut count = 0;
        for line in lines(bytes).filter(|line| !dev::is_header(line)) {
            let Some((name, values)) = dev::row(line).filter(|_| count < place::MAX_NICS) else {
                bad += 1;
                continue;
            };
            count += 1;
            self.name.clear();
            self.name.push_str(&text(name));
            let table = draft.nics.data_mut();
            let (slot, new) = self.slots.slot(table, &self.name);
            if new {
                table.name.set(slot, &self.name);
                if self.name == "lo" {
                    table.kind.set(slot, "loopback");
                }
                self.everything_ns = self.everything_ns.map(|_| 0);
            }
            write::counters(table, slot, &values.map(Some));
        }
        if bad > 0 {
            draft.nics.gaps.add_many("proc/net/dev", Reason::Malformed, "", bad);
        }
    }

    /// Packets that the hardware missed, and how often the link came or went, of interfaces with hardware.
    fn missed(&mut self, cx: &mut Cx<'_>, table: &mut Nics) {
        for (name, kept) in &mut self.missed {
            let Some(slot) = self.slots.find(name) else { continue };
            if kept.is_none() {
                let dir = format!("sys/class/net/{name}");
                let files = cx.root.open(format!("{dir}/statistics/rx_missed_errors"));
                let changes = cx.root.open(format!("{dir}/carrier_changes"));
                *kept = files.ok().zip(changes.ok()).map(|(missed, changes)| [missed, changes]);
            }
            let Some(files) = kept else { continue };
            let [missed, changes] = &*files;
            let (mut gone, mut changed) = (false, false);
            for (file, column) in [(missed, &mut table.rx_missed), (changes, &mut table.carrier_changes)] {
                let value = file.read(cx.buf).ok().and_then(|()| crate::parse::number(cx.buf.trim_ascii()));
                gone |= value.is_none();
                changed |= std::ptr::eq(file, changes) && column.value(slot).is_some_and(|old| value != Some(old));
                column.set_or_clear(slot, value);
            }
            if gone {
                *kept = None;
            }
            if gone || changed {
                self.everything_ns = self.everything_ns.map(|_| 0);
            }
        }
    }

    /// Gives the worker its next job.
    fn schedule(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let idle = self.is_idle(cx.now_ns, draft.nics.data());
        let Some(worker) = &mut self.worker else { return };
        if worker.pending() > 0 {
            let late = cx.now_ns.saturating_sub(self.submitted_ns) > OVERDUE_NS;
            if late && !self.stuck {
                // No rate may come from counters that are no longer read.
                self.queues.forget();
                self.queues.write(cx.now_ns, draft);
            }
            self.stuck = late;
            return;
        }
        if cx.demand.complete || self.submitted_ns == cx.now_ns || cx.now_ns < self.next_ns {
            return;
        }
        let due = self.everything_ns.is_none_or(|last| cx.now_ns.saturating_sub(last) >= PERIOD_NS);
        let table = draft.nics.data();
        let job = if due {
            let names = table.rows().iter().filter_map(|slot| table.name.get(slot));
            Job::Everything(names.map(ToString::to_string).collect())
        } else if self.counting.is_empty() && !self.shaped || idle {
            return;
        } else {
            Job::Counters(self.counting.clone(), self.shaped)
        };
        if worker.submit(job) {
            (self.submitted_ns, self.packets) = (cx.now_ns, packets(table));
            if due {
                self.everything_ns = Some(cx.now_ns);
            }
        }
    }

    /// True where the queues are idle since drivers were read, and that is not long ago.
    fn is_idle(&self, now_ns: u64, table: &Nics) -> bool {
        let moved = packets(table).abs_diff(self.packets);
        moved < BUSY_PACKETS && now_ns.saturating_sub(self.submitted_ns) + 1_000_000 < IDLE_NS
    }

    fn report(&self, cx: &Cx<'_>, draft: &mut Draft) {
        let section = &mut draft.nics;
        for gap in &self.gaps {
            section.gaps.add_many(&gap.path, gap.reason, &gap.needs, gap.count);
        }
        let waiting = self.worker.as_ref().is_some_and(|worker| worker.pending() > 0);
        if self.stuck || (waiting && cx.demand.complete) {
            section.gaps.add("sys/class/net/*", Reason::TimedOut, topotop_model::locale::needs::NETWORK_LOCK.english());
        }
        if section.data().rows().is_empty() && !section.gaps.is_empty() {
            section.state = State::Missing;
        }
    }
}

/// Packets of all interfaces since boot.
fn packets(table: &Nics) -> u64 {
    let of = |slot| table.rx_packets.value(slot).unwrap_or(0).wrapping_add(table.tx_packets.value(slot).unwrap_or(0));
    table.rows().iter().map(of).fold(0, u64::wrapping_add)
}

/// The names in /proc/net/dev.
fn names(bytes: &[u8]) -> Vec<String> {
    let rows = lines(whole_lines(bytes).0).filter(|line| !dev::is_header(line)).filter_map(dev::row);
    rows.map(|(name, _)| text(name).into_owned()).take(place::MAX_NICS).collect()
}

#[cfg(test)]
mod tests;
