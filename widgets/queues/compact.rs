//! The busiest queues for the overview.

use super::{cells, nic, rows};
use crate::parts::{Pen, pane, severity, units};
use crate::{Cx, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::frame::{Nic, Queue};
use topotop_model::locale::screen::queues as text;

/// Draws hardware interfaces by traffic, each with its busiest queues: `q0 irq 141 → c17 n2  94k pps ████ 96%`. The first
/// column is for signs.
pub fn compact(cx: &Cx<'_>, whole: Rect, buf: &mut Buffer) {
    let area = severity::gutter(whole);
    let order = rows::ranked(cx);
    let nics: Vec<&Nic> = order.iter().filter_map(|&at| cx.frame.nics.get(at)).filter(|nic| hardware(nic)).collect();
    if nics.is_empty() {
        let total = cx.frame.nics.iter().filter(|nic| hardware(nic)).count();
        let why = pane::nothing(cx, &text::INTERFACES, total, &text::NO_INTERFACES);
        Pen::new(cx, area, 0, buf).text(Role::Dim, &why);
        return;
    }
    let plan = plan(&nics, usize::from(area.height));
    let mut row = 0;
    for (nic, queues) in nics.into_iter().zip(plan) {
        if row >= area.height {
            break;
        }
        head(nic, &mut Pen::new(cx, area, row, buf));
        severity::beside(cx, whole, row, severity::worst(cx, &Subject::Nic(Arc::clone(&nic.name))), buf);
        row += 1;
        for queue in busiest(nic).into_iter().take(queues) {
            line(cx, nic, queue, &mut Pen::new(cx, area, row, buf));
            severity::beside(cx, whole, row, rows::queue_flag(cx, queue), buf);
            row += 1;
        }
    }
}

/// How many interfaces it shows in so many rows, and how many there are.
pub fn compact_counts(cx: &Cx<'_>, rows: u16) -> (usize, usize) {
    let nics = rows::ranked(cx).into_iter().filter_map(|at| cx.frame.nics.get(at)).filter(|nic| hardware(nic));
    let nics: Vec<&Nic> = nics.collect();
    let mut left = usize::from(rows);
    let plan = plan(&nics, left);
    let fits = |queues: &&usize| {
        let fits = left > 0;
        left = left.saturating_sub(1 + **queues);
        fits
    };
    (plan.iter().take_while(fits).count(), nics.len())
}

/// The rows that it could use.
pub fn compact_rows(cx: &Cx<'_>) -> usize {
    let shown = cx.frame.nics.iter().filter(|nic| hardware(nic));
    shown.map(|nic| 1 + nic.queues.iter().filter(|queue| !rows::is_idle_queue(queue)).count().min(8)).sum()
}

/// True for what has work on CPUs of its own: devices, and whatever has queues that do something.
fn hardware(nic: &Nic) -> bool {
    &*nic.kind == "physical" || (nic.kind.is_empty() && !nic.queues.is_empty())
}

/// Queue lines per interface: every interface gets its head, the busiest one the lines that are left, and one in any
/// case: which CPU does the work says more than an interface without any.
fn plan(nics: &[&Nic], rows: usize) -> Vec<usize> {
    let mut left = rows.saturating_sub(nics.len().min(rows)).max(rows.saturating_sub(1).min(1));
    let mut plan = vec![0; nics.len()];
    for (slot, nic) in plan.iter_mut().zip(nics) {
        let busy = nic.queues.iter().filter(|queue| !rows::is_idle_queue(queue)).count();
        *slot = busy.min(left);
        left -= *slot;
    }
    plan
}

fn busiest(nic: &Nic) -> Vec<&Queue> {
    let mut queues: Vec<&Queue> = nic.queues.iter().filter(|queue| !rows::is_idle_queue(queue)).collect();
    let rank = |queue: &Queue| (queue.softirq.unwrap_or(0.0) * 100.0).round();
    queues.sort_by(|a, b| {
        let work = |queue: &Queue| rows::work(queue).unwrap_or(-1.0);
        work(b).total_cmp(&work(a)).then(rank(b).total_cmp(&rank(a)))
    });
    queues
}

fn head(nic: &Nic, pen: &mut Pen<'_>) {
    let width = nic::name_width(std::iter::once(nic));
    pen.field(Role::Title, width, &nic.name).skip(1);
    nic::speed(nic, pen);
    if let Some(node) = nic.node.value() {
        pen.text(Role::node(node), &format!("n{node}")).skip(1);
    }
    if !nic.channels.combined.current.is_missing() {
        let (channels, role) = nic::channel_text(nic.channels.combined, true);
        pen.text(Role::Dim, &text::CHANNELS_SHORT).skip(1).text(role, &channels).skip(1);
    }
    // One sample has no rates, which the title says once.
    if nic.rx.packets_per_second.is_none() && pen.cx().frame.interval_seconds.is_none() {
        return;
    }
    let rate = |rate: Option<f64>| units::or_unknown(rate, units::count);
    pen.text(Role::Dim, "rx ").text(Role::Text, rate(nic.rx.packets_per_second).as_str()).text(Role::Dim, " tx ");
    pen.text(Role::Text, rate(nic.tx.packets_per_second).as_str()).skip(1).text(Role::Dim, &text::PACKET_RATE).skip(1);
    if let Some(share) = nic.utilisation {
        pen.text(Role::heat(share), units::percent(share).as_str());
    }
    let drops = nic.rx.drops_per_second.unwrap_or(0.0) + nic.rx_missed_per_second.unwrap_or(0.0);
    if drops > 0.0 {
        pen.skip(1).text(Role::Warn, &text::DropRate { rate: &units::count(drops) }.to_string());
    }
}

fn line(cx: &Cx<'_>, nic: &Nic, queue: &Queue, pen: &mut Pen<'_>) {
    pen.skip(1);
    cells::name(queue, &mut pen.sub(6));
    if pen.left() > 40 {
        pen.text(Role::Dim, "IRQ ");
    }
    cells::irq(queue, &mut pen.sub(5));
    pen.text(Role::Dim, "→");
    cells::cpu(cx, nic, queue, &mut pen.sub(8));
    if cx.frame.topology.nodes.len() > 1 {
        cells::node(cx, nic, queue, &mut pen.sub(6));
        pen.skip(1);
    }
    if cx.frame.interval_seconds.is_none() {
        return;
    }
    pen.rate(Role::Text, 4, rows::work(queue), units::count);
    pen.skip(1)
        .text(Role::Dim, &if queue.packets_per_second.is_some() { text::PACKET_RATE } else { text::IRQ_RATE })
        .skip(1);
    cells::softirq(queue, &mut pen.sub(40));
}
