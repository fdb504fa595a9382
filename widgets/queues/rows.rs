//! Which lines there are: interfaces by traffic, their queues, and one line for what is idle.

use super::Id;
use crate::parts::severity;
use crate::parts::table::{Table, matches};
use crate::{Cx, Subject};
use std::cmp::Reverse;
use std::sync::Arc;
use topotop_model::frame::{Irq, Nic, Queue};
use topotop_model::rules::Severity;

/// A line: places in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// Who an interface is.
    Nic(usize),
    /// What it moves.
    Rates(usize),
    /// A queue of it.
    Queue(usize, usize),
    /// How many of its queues are idle.
    IdleQueues(usize, usize),
    /// How many interfaces are idle.
    IdleNics(usize),
    /// An interrupt.
    Irq(usize),
}

pub(super) fn queue<'a>(cx: &Cx<'a>, nic: usize, queue: usize) -> Option<(&'a Nic, &'a Queue)> {
    let nic = cx.frame.nics.get(nic)?;
    Some((nic, nic.queues.get(queue)?))
}

pub(super) fn id(cx: &Cx<'_>, row: Row) -> Option<Id> {
    match row {
        Row::Nic(nic) => Some(Id::Nic(Arc::clone(&cx.frame.nics.get(nic)?.name))),
        Row::Queue(nic, at) => {
            let (nic, queue) = queue(cx, nic, at)?;
            Some(Id::Queue(Arc::clone(&nic.name), Arc::clone(&queue.direction), queue.queue))
        }
        Row::Irq(at) => Some(Id::Irq(cx.frame.irqs.get(at)?.irq)),
        Row::Rates(_) | Row::IdleQueues(..) | Row::IdleNics(_) => None,
    }
}

pub(super) fn is(cx: &Cx<'_>, row: Row, id: &Id) -> bool {
    match (row, id) {
        (Row::Nic(nic), Id::Nic(name)) => cx.frame.nics.get(nic).is_some_and(|nic| nic.name == *name),
        (Row::Queue(nic, at), Id::Queue(name, direction, number)) => queue(cx, nic, at)
            .is_some_and(|(nic, queue)| nic.name == *name && queue.direction == *direction && queue.queue == *number),
        (Row::Irq(at), Id::Irq(number)) => cx.frame.irqs.get(at).is_some_and(|irq| irq.irq == *number),
        _ => false,
    }
}

/// True if a queue or interrupt goes to the CPU or node that is selected elsewhere, or is that interrupt.
pub(super) fn relates(cx: &Cx<'_>, row: Row, subject: &Subject) -> bool {
    match row {
        Row::Queue(nic, at) => queue(cx, nic, at).is_some_and(|(_, queue)| match subject {
            Subject::Cpu(cpu) => queue.cpus.as_ref().is_some_and(|cpus| cpus.contains(*cpu)),
            Subject::Node(node) => queue.node.value() == Some(*node),
            Subject::Irq(irq) => queue.irq.value() == Some(*irq),
            _ => false,
        }),
        Row::Irq(at) => cx.frame.irqs.get(at).is_some_and(|irq| match subject {
            Subject::Cpu(cpu) => irq.per_cpu_per_second.iter().any(|entry| entry.0 == *cpu),
            Subject::Nic(name) => irq.device == *name,
            _ => false,
        }),
        Row::Nic(at) => match subject {
            Subject::Node(node) => cx.frame.nics.get(at).and_then(|nic| nic.node.value()) == Some(*node),
            _ => false,
        },
        Row::Rates(_) | Row::IdleQueues(..) | Row::IdleNics(_) => false,
    }
}

/// The worst that is found about an interface, an interrupt, or the CPU that a queue's packets go to.
pub(super) fn flag(cx: &Cx<'_>, row: Row) -> Option<Severity> {
    match row {
        Row::Nic(at) => severity::worst(cx, &Subject::Nic(Arc::clone(&cx.frame.nics.get(at)?.name))),
        Row::Queue(nic, at) => queue_flag(cx, queue(cx, nic, at)?.1),
        Row::Irq(at) => severity::worst(cx, &Subject::Irq(cx.frame.irqs.get(at)?.irq)),
        Row::Rates(_) | Row::IdleQueues(..) | Row::IdleNics(_) => None,
    }
}

/// The worst that is found about a queue's interrupt, or the one CPU that serves it.
pub(super) fn queue_flag(cx: &Cx<'_>, queue: &Queue) -> Option<Severity> {
    // What is found about the interface stands at the interface's row.
    let of_irq = |irq| severity::all(cx.judgement).filter(move |finding| finding.subject == Subject::Irq(irq));
    let irq = queue.irq.value().and_then(|irq| of_irq(irq).map(|finding| finding.severity).max());
    let cpu = queue.cpus.as_ref().and_then(|cpus| cpus.single());
    let cpu = cpu.filter(|_| !is_idle_queue(queue)).and_then(|cpu| severity::worst_cpu(cx, &[cpu]));
    irq.max(cpu)
}

/// What a queue does per second: packets where the driver counts them, else interrupts.
pub(super) fn work(queue: &Queue) -> Option<f64> {
    queue.packets_per_second.or(queue.per_second)
}

/// True if it is known to do nothing; with one sample, if it never did. Some drivers (igb, ixgbe) raise every queue's
/// interrupt each second or two to see whether it is alive.
pub(super) fn is_idle_queue(queue: &Queue) -> bool {
    let pokes = if queue.packets_per_second.is_some() { 2.5 } else { 0.5 };
    match work(queue) {
        Some(rate) => rate < 0.5 && queue.per_second.is_none_or(|rate| rate < pokes),
        None => queue.total.value() == Some(0),
    }
}

/// Packets per second in both directions, in whole ones: an order for interfaces.
pub(super) fn traffic(nic: &Nic) -> u64 {
    let rates = [nic.rx.packets_per_second, nic.tx.packets_per_second];
    rates.into_iter().flatten().sum::<f64>() as u64
}

pub(super) fn is_idle_nic(nic: &Nic) -> bool {
    let moved = match (nic.rx.packets_per_second, nic.tx.packets_per_second) {
        (None, None) => [nic.rx.packets, nic.tx.packets].iter().any(|count| count.value() != Some(0)),
        _ => traffic(nic) > 0,
    };
    &*nic.kind != "physical" && !moved
}

pub(super) fn passes(cx: &Cx<'_>, nic: &Nic) -> bool {
    let filter = cx.filter;
    filter.is_empty()
        || matches(filter, &nic.name)
        || matches(filter, &nic.driver)
        || filter.parse().is_ok_and(|irq: u32| nic.queues.iter().any(|queue| queue.irq.value() == Some(irq)))
}

/// Interfaces in the order of interest: hardware first, the busiest first.
pub(super) fn ranked(cx: &Cx<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cx.frame.nics.len()).collect();
    order.retain(|&at| cx.frame.nics.get(at).is_some_and(|nic| passes(cx, nic)));
    order.sort_by_key(|&at| cx.frame.nics.get(at).map(|nic| (&*nic.kind != "physical", Reverse(traffic(nic)))));
    order
}

/// How many lines all queues of hardware take, and the ends of the others.
pub(super) fn all(cx: &Cx<'_>) -> usize {
    let hardware = cx.frame.nics.iter().filter(|nic| !is_idle_nic(nic));
    hardware.map(|nic| 2 + nic.queues.len()).sum::<usize>() + 1
}

/// The lines of the chain, without idle virtual interfaces and without idle queues, or with them.
pub(super) fn chain(cx: &Cx<'_>, table: &Table<Row, Id>, hide_nics: bool, hide: bool) -> Vec<Row> {
    let (hide_nics, hide) = (hide_nics && cx.filter.is_empty(), hide && cx.filter.is_empty());
    let (mut rows, mut idle_nics) = (Vec::new(), 0);
    for at in ranked(cx) {
        let Some(nic) = cx.frame.nics.get(at) else { continue };
        if hide_nics && is_idle_nic(nic) {
            idle_nics += 1;
            continue;
        }
        rows.push(Row::Nic(at));
        rows.push(Row::Rates(at));
        let busy = nic.queues.iter().enumerate().filter(|(_, queue)| !hide || !is_idle_queue(queue));
        let mut queues: Vec<Row> = busy.map(|(index, _)| Row::Queue(at, index)).collect();
        table.sort_rows(cx, &mut queues);
        let idle = nic.queues.len() - queues.len();
        rows.extend(queues);
        if idle > 0 {
            rows.push(Row::IdleQueues(at, idle));
        }
    }
    if idle_nics > 0 {
        rows.push(Row::IdleNics(idle_nics));
    }
    rows
}

/// The lines of the matrix; without rates those that counted most since boot come first.
pub(super) fn irqs(cx: &Cx<'_>, hide: bool) -> Vec<Row> {
    let filter = cx.filter;
    let passes = move |irq: &Irq| {
        filter.is_empty() || matches(filter, &irq.name) || matches(filter, &irq.device) || filter.parse() == Ok(irq.irq)
    };
    let idle = |irq: &Irq| match irq.per_second {
        Some(rate) => rate < 0.05,
        None => irq.total.value() == Some(0),
    };
    let hide = hide && filter.is_empty();
    let shown = cx.frame.irqs.iter().enumerate().filter(move |(_, irq)| passes(irq) && !(hide && idle(irq)));
    let mut shown: Vec<(usize, &Irq)> = shown.collect();
    if cx.frame.interval_seconds.is_none() {
        shown.sort_by_key(|(_, irq)| Reverse(irq.total.value()));
    }
    shown.into_iter().map(|(at, _)| Row::Irq(at)).collect()
}
