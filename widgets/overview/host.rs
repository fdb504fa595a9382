//! The machine as a whole, in the order of `top`: load averages, run queue, memory, swap; then what the load waits for.

use crate::answer::shown;
use crate::parts::{Pen, names, number};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::Text;
use topotop_model::locale::screen::overview as text;
use topotop_model::waiting;

/// From this height on there is room for it.
const TALL: u16 = 20;

/// The rows that it takes on a screen so high.
pub(super) fn rows(cx: &Cx<'_>, height: u16) -> u16 {
    if height < TALL { 0 } else { 1 + u16::from(sentence(cx).is_some()) }
}

/// What the load waits for where nothing limits.
fn sentence(cx: &Cx<'_>) -> Option<String> {
    Some(shown(&waiting::beside(cx.frame, &cx.judgement.bottleneck)?.sentence(), cx.charset))
}

pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let mut pen = Pen::new(cx, area, 0, buf);
    let mut first = true;
    for (label, value) in items(cx) {
        let gap = if first { 0 } else { 3 };
        // Whole or not at all.
        if names::width(&label) + 1 + names::width(&value) + gap > pen.left() {
            break;
        }
        first = false;
        pen.skip(gap).text(Role::Dim, &label).skip(1).text(Role::Text, &value);
    }
    if let Some(sentence) = sentence(cx) {
        Pen::new(cx, area, 1, buf).text(Role::Info, &sentence);
    }
}

/// Labels and values, the most important first; what was not read is a question mark.
fn items(cx: &Cx<'_>) -> Vec<(Text, String)> {
    let (host, memory) = (&cx.frame.host, &cx.frame.memory);
    let load = host.load.map(|load| load.map(|average| format!("{average:.2}")).join(" "));
    let count = |value: Option<u64>| value.map(|value| number::whole(value).to_string());
    // What waited on average over the interval says more than what is runnable at one moment.
    let queue = count(host.running.value()).map(|runnable| match host.run_wait_cores {
        Some(waiting) => text::Waiting { runnable: &runnable, waiting: &number::cores(waiting) }.to_string(),
        None => runnable,
    });
    let of = |total: Option<u64>, free: Option<u64>| {
        let (total, free) = (total?, free?);
        let used = number::whole_bytes(total.saturating_sub(free));
        Some(if total == 0 { "0".to_owned() } else { format!("{used}/{}", number::whole_bytes(total)) })
    };
    let used = of(memory.total_bytes.value(), memory.available_bytes.value());
    let swap = of(memory.swap_total_bytes.value(), memory.swap_free_bytes.value());
    let all = [
        (text::LOAD, load),
        (text::RUN_QUEUE, queue),
        (text::BLOCKED, count(host.blocked.value())),
        (text::SERIES_MEMORY, used),
        (text::SWAP, swap),
        (text::TASKS, count(host.tasks.value())),
    ];
    all.into_iter().map(|(label, value)| (label, value.unwrap_or_else(|| "?".to_owned()))).collect()
}
