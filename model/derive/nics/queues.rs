//! The queues of an interface, each with the interrupt that serves it and the CPUs that takes.

use super::names::Way;
use super::vectors::Served;
use crate::derive::rates::Pair;
use crate::frame::{Frame, Irq, Queue};
use crate::tables::nics::NicQueues;
use crate::{IdSet, Known, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The rows of an interface in the table of queues.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Slots by number.
    pub(super) rx: BTreeMap<u32, usize>,
    /// Slots by number.
    pub(super) tx: BTreeMap<u32, usize>,
}

/// The rows of every interface, by name.
pub(super) fn by_nic(pair: Option<&Pair<'_, NicQueues>>) -> BTreeMap<Arc<str>, Rows> {
    let mut all: BTreeMap<Arc<str>, Rows> = BTreeMap::new();
    let Some(pair) = pair else { return all };
    for slot in pair.now.rows().iter() {
        let (Some(nic), Some(queue)) = (pair.now.nic.get(slot), pair.now.queue.id(slot).value()) else { continue };
        let rows = all.entry(Arc::clone(nic)).or_default();
        match pair.now.direction.get(slot).map(|direction| &**direction) {
            Some("rx") => rows.rx.insert(queue, slot),
            Some("tx") => rows.tx.insert(queue, slot),
            _ => None,
        };
    }
    all
}

/// Builds queues from rows and vectors.
#[derive(Clone, Copy)]
pub(super) struct Builder<'a> {
    pub(super) frame: &'a Frame,
    pub(super) pair: Option<&'a Pair<'a, NicQueues>>,
    pub(super) served: &'a Served,
}

impl Builder<'_> {
    /// The queues, receiving ones first, by number.
    pub(super) fn build(&self, rows: Option<&Rows>) -> Vec<Queue> {
        let none = Rows::default();
        let rows = rows.unwrap_or(&none);
        let known = !rows.rx.is_empty() || !rows.tx.is_empty();
        let numbers = |rows: &BTreeMap<u32, usize>, way: Way| -> BTreeSet<u32> {
            if known {
                return rows.keys().copied().collect();
            }
            let ways = self.served.queues.keys().filter(|(found, _)| *found == way || *found == Way::Both);
            ways.map(|(_, number)| *number).collect()
        };
        let (rx, tx) = (numbers(&rows.rx, Way::Rx), numbers(&rows.tx, Way::Tx));
        let mut queues = Vec::new();
        let mut sending = Vec::new();
        for &number in rx.union(&tx) {
            let receives = rx.contains(&number).then(|| self.one(Way::Rx, number, rows.rx.get(&number).copied()));
            let sends = tx.contains(&number).then(|| self.one(Way::Tx, number, rows.tx.get(&number).copied()));
            match (receives, sends) {
                (Some(receives), Some(sends)) if same(&receives, &sends) => queues.push(merged(receives, sends)),
                (receives, sends) => {
                    queues.extend(receives);
                    sending.extend(sends);
                }
            }
        }
        queues.append(&mut sending);
        if queues.is_empty() && self.served.all.is_some() {
            let one = self.one(Way::Rx, 0, None);
            queues.push(Queue { direction: "rxtx".into(), ..one });
        }
        queues
    }

    fn one(&self, way: Way, number: u32, slot: Option<usize>) -> Queue {
        let queues = &self.served.queues;
        let own = queues.get(&(way, number)).or_else(|| queues.get(&(Way::Both, number)));
        let found = own.copied().or(self.served.all);
        let irq = found.and_then(|(at, _)| self.frame.irqs.get(at));
        let mut queue = Queue {
            queue: number,
            direction: if way == Way::Tx { "tx" } else { "rx" }.into(),
            irq: irq.map_or(Known::Missing, |irq| Known::Value(irq.irq)),
            irq_source: found.map_or("", |found| found.1),
            ..Queue::default()
        };
        if let Some(irq) = irq {
            self.interrupt(irq, &mut queue);
        }
        if let (Some(pair), Some(slot)) = (self.pair, slot) {
            queue.packets_per_second = pair.rate(slot, |table| &table.packets);
            queue.rps_cpus = pair.now.rps_cpus.get(slot).cloned();
            queue.xps_cpus = pair.now.xps_cpus.get(slot).cloned();
            if let Some(cpu) = pair.now.channel_cpu.id(slot).value() {
                // Hyper-V's channels share one interrupt of the hypervisor: the channel says the CPU.
                queue.irq = Known::None;
                queue.irq_source = "channel";
                queue.cpus = Some(Arc::new(IdSet::from_ids([cpu])));
                queue.softirq = self.softirq([cpu]);
            }
        }
        let first = queue.cpus.as_ref().and_then(|cpus| cpus.first());
        queue.node = first.map_or(Known::Missing, |cpu| Known::or_missing(self.frame.topology.node_of(cpu)));
        queue
    }

    fn interrupt(&self, irq: &Irq, queue: &mut Queue) {
        queue.total = irq.total;
        queue.per_second = irq.per_second;
        let effective = irq.effective_affinity.as_ref().filter(|set| !set.is_empty());
        let allowed = || {
            let set = irq.affinity.as_ref()?;
            let online = &self.frame.topology.cpus_online;
            if online.is_empty() { Some(Arc::clone(set)) } else { Some(Arc::new(set.intersection(online))) }
        };
        queue.cpus = effective.cloned().or_else(allowed);
        queue.softirq = match effective {
            Some(cpus) => self.softirq(cpus.iter()),
            // Where it may go says little of where it goes: what its counters say.
            None => self.softirq(irq.per_cpu_per_second.iter().map(|rate| rate.0)),
        };
    }

    /// Softirq share of the busiest of some CPUs.
    fn softirq(&self, cpus: impl IntoIterator<Item = u32>) -> Option<f64> {
        let shares = cpus.into_iter().filter_map(|cpu| self.frame.cpu(cpu)?.shares);
        shares.map(|shares| shares.softirq).max_by(f64::total_cmp)
    }
}

/// True if both directions are served by one interrupt or channel.
fn same(receives: &Queue, sends: &Queue) -> bool {
    match (receives.irq, sends.irq) {
        (Known::Value(a), Known::Value(b)) => a == b,
        (Known::None, Known::None) => receives.cpus == sends.cpus,
        _ => false,
    }
}

fn merged(receives: Queue, sends: Queue) -> Queue {
    let packets = match (receives.packets_per_second, sends.packets_per_second) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    Queue { direction: "rxtx".into(), packets_per_second: packets, xps_cpus: sends.xps_cpus, ..receives }
}
