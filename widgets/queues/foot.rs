//! What the interfaces' work does to CPUs: receive softirqs by CPU, the backlog where it suffers, irqbalance.

use super::strip::{self, Strip};
use crate::parts::{Pen, names, pane, units};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::SoftnetRow;
use topotop_model::locale::join;
use topotop_model::locale::screen::queues as text;

/// Lines that it would like to have.
pub(super) fn height(cx: &Cx<'_>) -> u16 {
    let bad = cx.frame.softnet.iter().filter(|row| suffers(row)).count().max(1) as u16;
    3 + bad.min(8)
}

fn suffers(row: &SoftnetRow) -> bool {
    [row.dropped_per_second, row.time_squeeze_per_second].into_iter().flatten().any(|rate| rate > 0.0)
}

/// Draws as many of the lines as fit.
pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if area.height < 3 {
        return;
    }
    let inner = pane::frame(cx, area, &text::FOOT_TITLE, "", buf);
    net_rx(cx, &mut line(cx, inner, 0, buf));
    let last = inner.height - 1;
    let bad = backlog(cx, inner, last.saturating_sub(1), buf);
    irqbalance(cx, &mut line(cx, inner, (1 + bad).min(last), buf));
}

fn line<'a>(cx: &'a Cx<'a>, area: Rect, row: u16, buf: &'a mut Buffer) -> Pen<'a> {
    let mut pen = Pen::new(cx, area, row, buf);
    pen.skip(1);
    pen
}

fn net_rx(cx: &Cx<'_>, pen: &mut Pen<'_>) {
    pen.text(Role::Dim, "NET_RX   ");
    let Some(softirq) = cx.frame.softirqs.iter().find(|softirq| &*softirq.name == "NET_RX") else {
        pen.unread("proc/softirqs");
        return;
    };
    pen.rate(Role::Text, 5, softirq.per_second, units::count).text(Role::Dim, "/s ");
    if softirq.per_second.is_none() {
        return;
    }
    let scale = strip::scale(strip::most(std::iter::once(softirq.per_cpu_per_second.as_slice())));
    let room = pen.left().saturating_sub(names::width(&scale) + 1);
    let strip = Strip::new(cx, room);
    let most = strip::most(std::iter::once(softirq.per_cpu_per_second.as_slice()));
    strip::draw(&strip, &softirq.per_cpu_per_second, most, None, &mut pen.sub(strip.width));
    pen.skip(1).text(Role::Dim, &scale);
}

/// CPUs that dropped packets or ran out of budget, the worst first; gives how many lines it took.
fn backlog(cx: &Cx<'_>, area: Rect, rows: u16, buf: &mut Buffer) -> u16 {
    let softnet = &cx.frame.softnet;
    let mut bad: Vec<&SoftnetRow> = softnet.iter().filter(|row| suffers(row)).collect();
    let rank = |row: &SoftnetRow| (row.dropped_per_second.unwrap_or(0.0), row.time_squeeze_per_second.unwrap_or(0.0));
    bad.sort_by(|a, b| rank(b).0.total_cmp(&rank(a).0).then(rank(b).1.total_cmp(&rank(a).1)));
    if bad.is_empty() || rows == 0 {
        let mut pen = line(cx, area, 1, buf);
        pen.field(Role::Dim, 9, &text::BACKLOG);
        if softnet.is_empty() {
            pen.unread("softnet_stat");
        } else if softnet.iter().all(|row| row.dropped_per_second.is_none()) {
            totals(softnet, &mut pen);
        } else {
            pen.text(Role::Ok, &text::BACKLOG_FINE);
        }
        return 1;
    }
    for (at, row) in bad.iter().take(usize::from(rows)).enumerate() {
        let mut pen = line(cx, area, 1 + at as u16, buf);
        pen.field(Role::Dim, 9, if at == 0 { text::BACKLOG.as_str() } else { "" });
        pen.field(Role::Text, 6, units::cpu(row.cpu).as_str());
        pen.rate(Role::Text, 5, row.processed_per_second, units::count)
            .skip(1)
            .text(Role::Dim, &text::PACKETS_DROPPED)
            .skip(1);
        pen.some(row.dropped_per_second, "softnet_stat", |rate| {
            (units::count(rate), if rate > 0.0 { Role::Critical } else { Role::Dim })
        });
        pen.text(Role::Dim, "/s").text(Role::Dim, &join::ITEMS).text(Role::Dim, &text::SQUEEZED).skip(1);
        pen.some(row.time_squeeze_per_second, "softnet_stat", |rate| {
            (units::count(rate), if rate >= 10.0 { Role::Warn } else { Role::Text })
        });
        pen.text(Role::Dim, "/s").text(Role::Dim, &join::ITEMS).text(Role::Dim, &text::BACKLOG).skip(1);
        pen.value(row.backlog, "—", "softnet_stat", |count| (units::full(count), Role::Text));
        let more = bad.len() - usize::from(rows).min(bad.len());
        if more > 0 && at + 1 == usize::from(rows) {
            pen.text(Role::Dim, &format!("  {}", text::MoreCpus { count: more as u64 }));
        }
    }
    (bad.len() as u16).min(rows)
}

/// Counts since boot, where there is one sample only.
fn totals(softnet: &[SoftnetRow], pen: &mut Pen<'_>) {
    let sum = |of: fn(&SoftnetRow) -> Option<u64>| softnet.iter().filter_map(of).fold(0u64, u64::saturating_add);
    let dropped = sum(|row| row.dropped.value());
    let squeezed = sum(|row| row.time_squeeze.value());
    pen.text(Role::Text, &text::BacklogTotals { drops: &dropped, squeezed: &squeezed }.to_string());
}

/// The state of irqbalance on screens.
fn state(state: &str) -> String {
    match state {
        "running" => text::RUNNING.to_string(),
        "oneshot" => text::ONESHOT.to_string(),
        "absent" => text::NOT_RUNNING.to_string(),
        "failed" => text::FAILED.to_string(),
        other => other.to_owned(),
    }
}

fn irqbalance(cx: &Cx<'_>, pen: &mut Pen<'_>) {
    pen.text(Role::Dim, "irqbalance ");
    let Some(balance) = &cx.frame.irqbalance else {
        pen.text(Role::Absent, "?");
        return;
    };
    let role = match &*balance.state {
        "running" => Role::Ok,
        "oneshot" => Role::Info,
        _ => Role::Warn,
    };
    pen.text(role, &state(&balance.state));
    if let Some(pid) = balance.pid.value() {
        pen.text(Role::Dim, &format!(" PID {pid}"));
    }
    if let Some(cpus) = balance.banned_cpus.as_ref().filter(|cpus| !cpus.is_empty()) {
        pen.skip(2).text(Role::Dim, &text::BANNED_CPUS).skip(1).text(Role::Text, &units::id_list(cpus, 24));
    }
    if let Some(irqs) = balance.banned_irqs.as_ref().filter(|irqs| !irqs.is_empty()) {
        pen.skip(2).text(Role::Dim, &text::BANNED_IRQS).skip(1).text(Role::Text, &units::id_list(irqs, 24));
    }
}
