//! Cells of queues and interrupts.

use super::rows::{self, Row};
use super::strip::{self, Strip};
use crate::parts::units;
use crate::parts::{Pen, mark};
use crate::{Charset, Cx, Role};
use topotop_model::frame::{Irq, Nic, Queue};
use topotop_model::locale::screen::queues as text;
use topotop_model::locale::screen::shared;
use topotop_model::{IdSet, Known};

pub(super) fn name(queue: &Queue, pen: &mut Pen<'_>) {
    let short = match &*queue.direction {
        "rxtx" => "q",
        other => other,
    };
    pen.skip(1).text(Role::Text, short).text(Role::Text, if short == "q" { "" } else { " " });
    pen.text(Role::Text, units::full(u64::from(queue.queue)).as_str());
}

pub(super) fn irq(queue: &Queue, pen: &mut Pen<'_>) {
    pen.value(queue.irq, &shared::NONE, "/msi_irqs", |irq| (units::full(u64::from(irq)), Role::Text));
}

/// The CPU that does its work, and how many queues of this interface share it.
pub(super) fn cpu(cx: &Cx<'_>, nic: &Nic, queue: &Queue, pen: &mut Pen<'_>) {
    let Some(cpus) = &queue.cpus else {
        if queue.irq == Known::None {
            pen.text(Role::Absent, mark::dash(cx.charset));
        } else {
            pen.unread("/effective_affinity_list");
        }
        return;
    };
    let Some(cpu) = cpus.single() else {
        pen.text(Role::Text, &units::id_list(cpus, usize::from(pen.left())));
        return;
    };
    pen.text(Role::Text, units::cpu(cpu).as_str());
    let sharing = sharing(nic, cpu);
    if sharing > 1 {
        pen.skip(1).text(Role::Warn, &format!("×{sharing}"));
    }
}

/// How many busy queues of an interface go to a CPU; receive and send side of one number count once.
pub(super) fn sharing(nic: &Nic, cpu: u32) -> usize {
    let here = |queue: &&Queue| {
        &*queue.direction != "tx"
            && !rows::is_idle_queue(queue)
            && queue.cpus.as_ref().and_then(|cpus| cpus.single()) == Some(cpu)
    };
    nic.queues.iter().filter(here).count()
}

/// The node of its CPU, marked where it is not the interface's own.
pub(super) fn node(cx: &Cx<'_>, nic: &Nic, queue: &Queue, pen: &mut Pen<'_>) {
    served(cx, queue.node, nic.node, pen);
}

/// The node of the CPUs that an interrupt goes to; none where they are of several.
pub(super) fn irq_node(cx: &Cx<'_>, irq: &Irq, pen: &mut Pen<'_>) {
    let of = |cpu| cx.frame.topology.cpu(cpu).map_or(Known::Missing, |place| place.node);
    let at = match irq.effective_affinity.as_ref().or(irq.affinity.as_ref()) {
        Some(cpus) => {
            let first = cpus.first().map_or(Known::Missing, of);
            if cpus.iter().all(|cpu| of(cpu) == first) { first } else { Known::None }
        }
        None => Known::Missing,
    };
    served(cx, at, irq.node, pen);
}

/// The node that serves, and that of the device where it is another one.
fn served(cx: &Cx<'_>, at: Known<u32>, home: Known<u32>, pen: &mut Pen<'_>) {
    let many = cx.frame.topology.nodes.len() > 1;
    match (at, home) {
        (Known::Value(at), Known::Value(home)) if at != home && many => {
            pen.text(Role::node(at), &format!("n{at}")).text(Role::Warn, &format!(" ≠n{home}"));
        }
        (Known::Value(at), _) => {
            pen.text(Role::node(at), &format!("n{at}"));
        }
        (Known::None, _) => {
            pen.text(Role::Absent, mark::dash(cx.charset));
        }
        (Known::Missing, _) => {
            pen.text(Role::Absent, "?");
        }
    }
}

pub(super) fn l3(cx: &Cx<'_>, queue: &Queue, pen: &mut Pen<'_>) {
    let place = queue.cpus.as_ref().and_then(|cpus| cpus.first()).and_then(|cpu| cx.frame.topology.cpu(cpu));
    match place.map(|place| place.l3) {
        Some(Known::Value(id)) => pen.text(Role::Dim, &format!("#{id}")),
        Some(Known::None) => pen.text(Role::Absent, mark::dash(cx.charset)),
        Some(Known::Missing) | None => pen.text(Role::Absent, "?"),
    };
}

/// Its part of what the interface's queues do in its direction, as a bar of the whole: equal bars are a balanced one.
pub(super) fn share(nic: &Nic, queue: &Queue, pen: &mut Pen<'_>) {
    let same = |other: &&Queue| other.direction == queue.direction;
    let all = nic.queues.iter().filter(same).filter_map(rows::work);
    let total = all.sum::<f64>();
    let Some(work) = rows::work(queue) else {
        pen.text(Role::Absent, "?");
        return;
    };
    let share = if total > 0.0 { work / total } else { 0.0 };
    let width = pen.left().saturating_sub(5);
    let fair = 1.0 / nic.queues.iter().filter(same).count().max(1) as f64;
    let role = if share > 4.0 * fair || (fair > 0.99 && share > 0.0) { Role::Warn } else { Role::Info };
    pen.bar_as(role, width, Some(share)).skip(1).number(Role::Text, 4, &units::percent(share));
}

/// Softirq share of the CPU behind it, in heat.
pub(super) fn softirq(queue: &Queue, pen: &mut Pen<'_>) {
    let width = pen.left().saturating_sub(5);
    let Some(share) = queue.softirq else {
        pen.text(Role::Absent, "?");
        return;
    };
    if width >= 3 {
        pen.bar(width, Some(share)).skip(1);
    }
    pen.number(Role::heat(share), 4, &units::percent(share));
}

pub(super) fn steering(set: Option<&IdSet>, file: &str, pen: &mut Pen<'_>) {
    match set {
        Some(set) if set.is_empty() => pen.text(Role::Dim, &text::OFF),
        Some(set) => {
            let room = usize::from(pen.left());
            pen.text(Role::Info, &units::id_list(set, room))
        }
        None => pen.unread(file),
    };
}

/// What a queue of this direction has not.
pub(super) fn absent(cx: &Cx<'_>, pen: &mut Pen<'_>) {
    pen.text(Role::Absent, mark::dash(cx.charset));
}

pub(super) fn irq_name(irq: &Irq, pen: &mut Pen<'_>) {
    pen.text(Role::Text, if irq.name.is_empty() { "?" } else { &irq.name });
}

pub(super) fn irq_target(cx: &Cx<'_>, irq: &Irq, pen: &mut Pen<'_>) {
    let room = usize::from(pen.left());
    match irq.effective_affinity.as_ref().or(irq.affinity.as_ref()) {
        Some(cpus) => match cpus.single() {
            Some(cpu) => pen.text(Role::Text, units::cpu(cpu).as_str()),
            None if cx.frame.topology.cpus_online.is_subset(cpus) => pen.text(Role::Dim, &shared::ALL),
            None => pen.text(Role::Text, &units::id_list(cpus, room)),
        },
        None => pen.unread("affinity_list"),
    };
}

/// Its rate on every CPU; with one sample, its counts since boot.
pub(super) fn matrix(cx: &Cx<'_>, irq: &Irq, pen: &mut Pen<'_>) {
    let strip = Strip::new(cx, pen.left());
    let allowed = irq.effective_affinity.as_deref().or(irq.affinity.as_deref());
    if cx.frame.interval_seconds.is_none() {
        let Some(counts) = &irq.per_cpu else {
            pen.unread("proc/interrupts");
            return;
        };
        let floats = |counts: &[(u32, u64)]| -> Vec<(u32, f64)> {
            counts.iter().map(|&(cpu, count)| (cpu, count as f64)).collect()
        };
        let all = cx.frame.irqs.iter().filter_map(|irq| irq.per_cpu.as_ref()).flat_map(|counts| &counts.0);
        let most = all.map(|entry| entry.1).max().unwrap_or(0) as f64;
        strip::draw(&strip, &floats(&counts.0), most, allowed, pen);
        return;
    }
    if irq.per_second.is_none() && irq.per_cpu_per_second.is_empty() {
        pen.unread("proc/interrupts");
        return;
    }
    let most = strip::most(cx.frame.irqs.iter().map(|irq| irq.per_cpu_per_second.as_slice()));
    strip::draw(&strip, &irq.per_cpu_per_second, most, allowed, pen);
}

/// The sign of managed interrupts: the kernel refuses to move them.
pub(super) fn managed(cx: &Cx<'_>, irq: &Irq, pen: &mut Pen<'_>) {
    match irq.managed {
        Known::Value(true) => pen.text(Role::Info, &text::MANAGED),
        Known::Value(false) => pen.text(Role::Dim, if cx.charset == Charset::Unicode { "·" } else { "." }),
        Known::None | Known::Missing => pen.text(Role::Absent, "?"),
    };
}

/// The row's queue, for columns.
pub(super) fn with(cx: &Cx<'_>, row: Row, draw: impl FnOnce(&Nic, &Queue)) {
    if let Row::Queue(nic, at) = row
        && let Some((nic, queue)) = rows::queue(cx, nic, at)
    {
        draw(nic, queue);
    }
}

/// The row's interrupt, for columns.
pub(super) fn with_irq(cx: &Cx<'_>, row: Row, draw: impl FnOnce(&Irq)) {
    if let Row::Irq(at) = row
        && let Some(irq) = cx.frame.irqs.get(at)
    {
        draw(irq);
    }
}
