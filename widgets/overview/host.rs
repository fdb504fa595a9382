//! The machine as a whole, in the order of `top`: uptime, users, load averages, run queue, memory, swap; then what the
//! load waits for.

use crate::answer::shown;
use crate::parts::{Pen, names, number};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::Known;
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
    for (at, item) in fitting(items(cx), area.width).into_iter().enumerate() {
        pen.skip(if at == 0 { 0 } else { GAP });
        if !item.label.is_empty() {
            pen.text(Role::Dim, &item.label).skip(1);
        }
        pen.text(Role::Text, &item.value);
    }
    if let Some(sentence) = sentence(cx) {
        Pen::new(cx, area, 1, buf).text(Role::Info, &sentence);
    }
}

/// Columns between two items.
const GAP: u16 = 2;

/// A label and its value.
struct Item {
    label: Text,
    value: String,
    /// What does not fit goes by it, the highest first.
    rank: u8,
    /// The value in fewer columns, and when it gives way to that.
    short: Option<(u8, String)>,
}

impl Item {
    fn width(&self) -> u16 {
        let label = names::width(&self.label);
        label + u16::from(label > 0) + names::width(&self.value) + GAP
    }
}

/// The items that fit, whole or not at all.
fn fitting(mut items: Vec<Item>, width: u16) -> Vec<Item> {
    while items.iter().map(Item::width).sum::<u16>() > width.saturating_add(GAP) {
        let Some(last) = items.iter().map(|item| item.rank).max() else { break };
        let short = |item: &mut Item| item.short.take_if(|short| short.0 > last);
        match items.iter_mut().find_map(|item| short(item).map(|short| (item, short))) {
            Some((item, (_, value))) => item.value = value,
            None => items.retain(|item| item.rank < last),
        }
    }
    items
}

/// In the order of `top`; what was not read is a question mark.
fn items(cx: &Cx<'_>) -> Vec<Item> {
    let (host, memory) = (&cx.frame.host, &cx.frame.memory);
    let load = host.load.map(|load| load.map(|average| format!("{average:.2}")).join(" "));
    let count = |value: Option<u64>| value.map(|value| number::whole(value).to_string());
    let runnable = count(host.running.value());
    // What waited on average over the interval says more than what is runnable at one moment.
    let waiting = runnable
        .as_ref()
        .zip(host.run_wait_cores)
        .map(|(runnable, waiting)| text::Waiting { runnable, waiting: &number::cores(waiting) }.to_string());
    let of = |total: Option<u64>, free: Option<u64>| {
        let (total, free) = (total?, free?);
        let used = number::whole_bytes(total.saturating_sub(free));
        Some(if total == 0 { "0".to_owned() } else { format!("{used}/{}", number::whole_bytes(total)) })
    };
    let used = of(memory.total_bytes.value(), memory.available_bytes.value());
    let swap = of(memory.swap_total_bytes.value(), memory.swap_free_bytes.value());
    let up = host.uptime_seconds.value().map(|seconds| number::seconds(seconds as f64).to_string());
    let users = match host.users {
        Known::Value(users) => (Text::EMPTY, Some(text::Users { count: users }.to_string())),
        _ => (text::USERS_UNKNOWN, None),
    };
    let item = |rank, label, value: Option<String>| {
        let value = value.unwrap_or_else(|| "?".to_owned());
        Item { label, value, rank, short: None }
    };
    let short = runnable.clone().filter(|_| waiting.is_some()).map(|short| (5, short));
    let queue = Item { short, ..item(1, text::RUN_QUEUE, waiting.or(runnable)) };
    let users = (host.users != Known::None).then(|| item(4, users.0, users.1));
    [Some(item(3, text::UP, up)), users, Some(item(0, text::LOAD, load)), Some(queue)]
        .into_iter()
        .flatten()
        .chain([
            item(6, text::BLOCKED, count(host.blocked.value())),
            item(7, text::HOST_MEMORY, used),
            item(2, text::SWAP, swap),
            item(8, text::TASKS, count(host.tasks.value())),
        ])
        .collect()
}
