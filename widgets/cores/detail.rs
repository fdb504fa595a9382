//! One CPU in full: where it stands, what it does, who runs on it, which interrupts go to it, who is pinned to it.

use super::pins::{self, Pins};
use topotop_model::locale::screen::cores as text;
use topotop_model::locale::screen::shared;

use crate::parts::chart::{self, Chart, Unit};
use crate::parts::{Pen, number, panel, severity, split};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;
use topotop_model::Known;
use topotop_model::frame::{Cpu, CpuPlace, Irq};
use topotop_model::history::points::DETAILED_CPUS;
use topotop_model::history::{Headline, Share};

/// Draws one of the lists of a CPU.
type List = fn(&Cx<'_>, &Pins, u32, Rect, &mut Buffer);

/// Lists have this many rows before there is a chart below them.
const LIST_ROWS: u16 = 7;

/// The columns of a list.
const LIST: u16 = 26;

pub(super) fn draw(cx: &Cx<'_>, pins: &Pins, cpu: u32, area: Rect, buf: &mut Buffer) {
    let selected = matches!(cx.selected, Some(crate::Subject::Cpu(_)));
    let rates = cx.frame.cpus.iter().any(|cpu| cpu.shares.is_some());
    let title = if !selected && rates {
        text::BusiestCpu { id: &cpu }.to_string()
    } else {
        shared::Cpu { id: &cpu }.to_string()
    };
    let inner = panel::titled(cx, area, &title, "", false, buf);
    place(&mut Pen::new(cx, panel::inset(inner), 0, buf), cx.frame.cpu(cpu), cx.frame.topology.cpu(cpu));
    let found = found(cx, cpu, panel::inset(panel::below(inner, 1)), buf);
    let rest = panel::inset(panel::below(inner, 1 + found));
    let columns = (rest.width / LIST).clamp(1, 4);
    // Who is pinned here says more than the rest, where there is room for three.
    let lists: [List; 4] = if columns == 3 && pins.on(cpu) > 0 {
        [shares, threads, pinned, interrupts]
    } else {
        [shares, threads, interrupts, pinned]
    };
    let width = rest.width / columns;
    // Below the lists, where there is room for both: what it did over time.
    let used = LIST_ROWS.max(list_rows(cx, cpu).min(rest.height / 2));
    let chart = rest.height.saturating_sub(used + 1);
    let shown = chart >= chart::LEAST && history(cx, cpu, panel::below(rest, used + 1), buf);
    let rest = if shown { Rect { height: used, ..rest } } else { rest };
    for (at, list) in (0..columns).zip(lists) {
        let place = Rect { x: rest.x + at * width, width: width.saturating_sub(2), ..rest };
        list(cx, pins, cpu, place, buf);
    }
}

/// What is found about it, a line each; gives how many.
fn found(cx: &Cx<'_>, cpu: u32, area: Rect, buf: &mut Buffer) -> u16 {
    let subject = crate::Subject::Cpu(cpu);
    let most = if area.height >= 8 { 3 } else { 1 };
    let mut row = 0;
    for finding in severity::about(cx, &subject).take(most) {
        let mut pen = Pen::new(cx, area, row, buf);
        pen.severity(finding.severity).skip(1).text(severity::role(finding.severity), finding.rule.id.as_str()).skip(2);
        pen.text(Role::Text, &severity::title(cx, finding));
        row += 1;
    }
    row
}

/// The rows of its longest list.
fn list_rows(cx: &Cx<'_>, cpu: u32) -> u16 {
    let interrupts = interrupts_here(cx, cpu).iter().filter(|row| row.0 > 0.0).count() + 3;
    (threads_here(cx, cpu).len() + 1).max(interrupts).min(usize::from(u16::MAX)) as u16
}

/// Draws what it did over time, by kind where that is retained; false where nothing is known.
fn history(cx: &Cx<'_>, cpu: u32, area: Rect, buf: &mut Buffer) -> bool {
    let online = || cx.frame.cpus.iter().filter(|cpu| cpu.online);
    let (at, count) = (online().position(|row| row.id == cpu), online().count());
    let Some(at) = at.filter(|_| chart::has_shape(cx)) else { return false };
    let share = |byte: u8| f64::from(byte) / 255.0;
    let kinds = |sample: &Headline| sample.points.modes(at, count).map(|modes| modes.map(share));
    if cx.history.iter().any(|sample| kinds(sample).is_some()) {
        let mut pen = Pen::new(cx, area, 0, buf);
        pen.text(Role::Head, &text::HISTORY).skip(2);
        panel::legend(&mut pen, &chart::signs_of_kinds(cx));
        chart::kinds(cx, kinds, area, buf);
        return true;
    }
    // Where CPUs came or went in between, nobody knows which value was whose.
    let busy = move |sample: &Headline| {
        (sample.cpus.len() == count).then(|| sample.cpus.get(at).copied().flatten().map(Share::value)).flatten()
    };
    let known = cx.history.iter().any(|sample| busy(sample).is_some());
    if known {
        let note =
            if count > DETAILED_CPUS { text::NoKinds { count: &DETAILED_CPUS }.to_string() } else { String::new() };
        let chart = Chart::new(text::HISTORY, Unit::Share, busy).noted(note);
        chart::grid(cx, vec![chart], |_| Vec::new(), area, buf);
    }
    known
}

/// Package, node, cache, core, siblings, clock.
fn place(pen: &mut Pen<'_>, cpu: Option<&Cpu>, place: Option<&CpuPlace>) {
    let dot = if pen.cx().charset == Charset::Ascii { "-" } else { "·" };
    let mut first = true;
    let mut item = |pen: &mut Pen<'_>, name: &str, value: Known<u32>| {
        if !std::mem::take(&mut first) {
            pen.skip(1).text(Role::Border, dot).skip(1);
        }
        pen.text(Role::Dim, name).skip(1);
        match value {
            Known::Value(value) => pen.text(Role::Text, number::id(value).as_str()),
            Known::None => pen.none(1),
            Known::Missing => pen.missing(1, None),
        };
    };
    let known = |of: fn(&CpuPlace) -> Known<u32>| place.map_or(Known::Missing, of);
    item(pen, &text::PACKAGE, known(|place| place.package));
    item(pen, &text::NODE, known(|place| place.node));
    item(pen, "L3", known(|place| place.l3));
    item(pen, &text::CORE, known(|place| place.core));
    let word = |pen: &mut Pen<'_>, name: &str, value: &str| {
        pen.skip(1).text(Role::Border, dot).skip(1).text(Role::Dim, name).text(Role::Text, value);
    };
    if let Some(siblings) = place.and_then(|place| place.smt_siblings.as_ref()).filter(|siblings| siblings.len() > 1) {
        let mut list = String::new();
        // Writing to a String cannot fail.
        let _ = write!(list, "{siblings}");
        word(pen, "", &text::Siblings { list: &list }.to_string());
    }
    if let Some(mhz) = cpu.and_then(|cpu| cpu.mhz) {
        word(pen, "", number::mhz(mhz).as_str());
        pen.text(Role::Text, "Hz");
    }
    if place.is_some_and(|place| place.isolated) {
        word(pen, "", &text::ISOLATED);
    }
    if place.is_some_and(|place| !place.online) {
        word(pen, "", &text::OFFLINE);
    }
}

/// Where its time went, a row each.
fn shares(cx: &Cx<'_>, _: &Pins, cpu: u32, area: Rect, buf: &mut Buffer) {
    Pen::new(cx, area, 0, buf).text(Role::Head, &text::TIME);
    let Some(shares) = cx.frame.cpu(cpu).and_then(|cpu| cpu.shares) else {
        Pen::new(cx, area, 1, buf).missing(1, None);
        return;
    };
    for ((row, sign), value) in (1..).zip(split::SIGNS).zip(split::values(&shares)) {
        let mut pen = Pen::new(cx, area, row, buf);
        let role = if value >= 0.005 { Role::Text } else { Role::Absent };
        pen.field(Role::Dim, 9, &sign.label);
        let bar = pen.left().saturating_sub(5).min(18);
        pen.bar_as(sign.role, bar, Some(value)).number(role, 5, &number::percent(value));
    }
}

/// The threads that ran here last, the busiest first; processes of one thread are threads too.
fn threads_here<'a>(cx: &Cx<'a>, cpu: u32) -> Vec<(f64, &'a str, u32)> {
    let here = |last: Known<u32>| last == Known::Value(cpu);
    let threads = cx.frame.threads.iter().filter(|thread| here(thread.last_cpu));
    let mut rows: Vec<(f64, &str, u32)> =
        threads.filter_map(|thread| Some((thread.cpu_cores?, &*thread.comm, thread.tid))).collect();
    let looked_at = |pid| !cx.frame.threads_of(pid).is_empty();
    let single = cx
        .frame
        .processes
        .iter()
        .filter(|process| process.threads == Known::Value(1) && here(process.last_cpu) && !looked_at(process.pid));
    rows.extend(single.filter_map(|process| Some((process.cpu_cores?, &*process.comm, process.pid))));
    rows.retain(|row| row.0 >= 0.0005);
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
    rows
}

fn threads(cx: &Cx<'_>, _: &Pins, cpu: u32, area: Rect, buf: &mut Buffer) {
    let rows = threads_here(cx, cpu);
    Pen::new(cx, area, 0, buf).text(Role::Head, &text::THREADS);
    for (row, (cores, comm, tid)) in (1..area.height).zip(&rows) {
        let mut pen = Pen::new(cx, area, row, buf);
        let tid = number::id(*tid);
        pen.share(4, Some(*cores)).skip(1);
        let name = pen.left().saturating_sub(tid.width() + 1).min(16);
        pen.field(Role::Text, name, comm).skip(1).text(Role::Dim, tid.as_str());
    }
    if rows.is_empty() {
        Pen::new(cx, area, 1, buf).none(1);
    }
}

/// Interrupts that arrive here, the most frequent first.
fn interrupts_here<'a>(cx: &Cx<'a>, cpu: u32) -> Vec<(f64, &'a Irq)> {
    let rate = |irq: &Irq| irq.per_cpu_per_second.iter().find(|(at, _)| *at == cpu).map(|(_, rate)| *rate);
    let goes_here = |irq: &Irq| irq.effective_affinity.as_ref().is_some_and(|set| set.contains(cpu) && set.len() <= 4);
    let mut rows: Vec<(f64, &Irq)> = cx
        .frame
        .irqs
        .iter()
        .filter_map(|irq| rate(irq).or_else(|| goes_here(irq).then_some(0.0)).map(|rate| (rate, irq)))
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.irq.cmp(&b.1.irq)));
    rows
}

/// The same, and the packets that they bring.
fn interrupts(cx: &Cx<'_>, _: &Pins, cpu: u32, area: Rect, buf: &mut Buffer) {
    let rows = interrupts_here(cx, cpu);
    Pen::new(cx, area, 0, buf).text(Role::Head, &text::INTERRUPTS);
    let mut row = 1;
    if let Some(softnet) = cx.frame.softnet.iter().find(|softnet| softnet.cpu == cpu) {
        let mut pen = Pen::new(cx, area, row, buf);
        pen.rate(Role::Text, 4, softnet.processed_per_second, number::count)
            .text(Role::Dim, "/s ")
            .text(Role::Dim, &text::PACKETS);
        row += 1;
        if softnet.time_squeeze_per_second.is_some_and(|rate| rate > 0.0) {
            let mut pen = Pen::new(cx, area, row, buf);
            pen.rate(Role::Warn, 4, softnet.time_squeeze_per_second, number::count)
                .text(Role::Dim, "/s ")
                .text(Role::Dim, &text::SQUEEZED);
            row += 1;
        }
    }
    for (row, (rate, irq)) in (row..area.height).zip(&rows) {
        let mut pen = Pen::new(cx, area, row, buf);
        // Nobody knows a rate from one sample.
        let rate = cx.frame.interval_seconds.map(|_| *rate);
        pen.rate(Role::Text, 4, rate, number::count).text(Role::Dim, "/s ");
        pen.field(Role::Dim, 5, number::id(irq.irq).as_str()).text(Role::Text, &irq.name);
    }
    if rows.is_empty() {
        Pen::new(cx, area, row, buf).none(1);
    }
}

/// Who may run here only; then the CPUs with most pinned threads.
fn pinned(cx: &Cx<'_>, pins: &Pins, cpu: u32, area: Rect, buf: &mut Buffer) {
    Pen::new(cx, area, 0, buf).text(Role::Head, &text::PINNED_HERE);
    let mut row = 1;
    for process in &cx.frame.processes {
        let count: u32 = if process.thread_affinities.is_empty() {
            let threads = cx.frame.threads_of(process.pid).iter();
            threads.filter(|thread| pins::pinned(cx.frame, thread) == Some(cpu)).count() as u32
        } else {
            pins::groups(cx.frame, process).filter(|(on, _)| *on == cpu).map(|(_, count)| count).sum()
        };
        if count > 0 && row < area.height {
            let mut pen = Pen::new(cx, area, row, buf);
            pen.number(Role::Warn, 4, &number::whole(count.into())).skip(1);
            let pid = number::id(process.pid);
            let name = pen.left().saturating_sub(pid.width() + 1).min(16);
            pen.field(Role::Text, name, &process.comm).skip(1).text(Role::Dim, pid.as_str());
            row += 1;
        }
    }
    if row == 1 {
        Pen::new(cx, area, row, buf).none(1);
    }
    let mut pen = Pen::new(cx, area, row + 1, buf);
    if pins.iter().next().is_some() {
        pen.text(Role::Dim, &text::PINNED_ON);
    }
    for (on, count) in pins.iter() {
        let text = number::Short::from_display(format_args!(" c{on}×{count}"));
        pen.text(if count > 1 { Role::Warn } else { Role::Text }, text.as_str());
    }
}
