//! The columns of the chain and of the matrix.

use super::cells::{self, with, with_irq};
use super::rows::{self, Row};
use super::strip;
use crate::parts::table::{Column, Key, Width};
use crate::parts::{mark, units};
use crate::{Cx, Role};
use topotop_model::frame::{Irq, Queue};
use topotop_model::locale::Text;
use topotop_model::locale::screen::queues as text;

fn key<'a>(cx: &Cx<'a>, row: Row, value: impl FnOnce(&'a Queue) -> Option<f64>) -> Key<'a> {
    let Row::Queue(nic, at) = row else { return Key::None };
    Key::some(rows::queue(cx, nic, at).and_then(|(_, queue)| value(queue)))
}

fn irq_key<'a>(cx: &Cx<'a>, row: Row, value: impl FnOnce(&'a Irq) -> Option<f64>) -> Key<'a> {
    let Row::Irq(at) = row else { return Key::None };
    Key::some(cx.frame.irqs.get(at).and_then(value))
}

fn nodes(cx: &Cx<'_>) -> bool {
    cx.frame.topology.nodes.len() > 1
}

/// Counts since boot are shown where there are no rates.
fn count_width(cx: &Cx<'_>) -> Width {
    if cx.frame.interval_seconds.is_none() { Width::fixed(10) } else { Width::HIDDEN }
}

/// Rates need two samples.
fn rate_width(cx: &Cx<'_>) -> Width {
    if cx.frame.interval_seconds.is_none() { Width::HIDDEN } else { Width::fixed(5) }
}

/// The column that the matrix is sorted by at first.
pub(super) fn by_rate() -> Option<usize> {
    MATRIX.iter().position(|column| column.title == text::IRQ_RATE_HEAD)
}

pub(super) static CHAIN: &[Column<Row>] = &[
    Column::left(
        text::QUEUE_HEAD,
        0,
        |_| Width::fixed(7),
        |cx, row, pen| with(cx, row, |_, queue| cells::name(queue, pen)),
    )
    .lowest(|cx, row| key(cx, row, |queue| Some(f64::from(queue.queue)))),
    Column::right(
        text::IRQ_HEAD,
        0,
        |_| Width::fixed(5),
        |cx, row, pen| with(cx, row, |_, queue| cells::irq(queue, pen)),
    )
    .lowest(|cx, row| key(cx, row, |queue| queue.irq.value().map(f64::from))),
    Column::left(
        text::CPU_HEAD,
        0,
        |_| Width::range(7, 10),
        |cx, row, pen| {
            with(cx, row, |nic, queue| cells::cpu(cx, nic, queue, pen));
        },
    )
    .lowest(|cx, row| key(cx, row, |queue| queue.cpus.as_ref()?.first().map(f64::from))),
    Column::left(
        text::NODE_HEAD,
        0,
        |cx| if nodes(cx) { Width::fixed(7) } else { Width::HIDDEN },
        |cx, row, pen| {
            with(cx, row, |nic, queue| cells::node(cx, nic, queue, pen));
        },
    ),
    Column::left(
        text::CACHE_HEAD,
        6,
        |cx| {
            if cx.frame.topology.cpus.iter().any(|cpu| cpu.l3.value().is_some()) {
                Width::fixed(4)
            } else {
                Width::HIDDEN
            }
        },
        |cx, row, pen| with(cx, row, |_, queue| cells::l3(cx, queue, pen)),
    ),
    Column::right(text::PACKET_HEAD, 0, rate_width, |cx, row, pen| {
        with(cx, row, |_, queue| {
            pen.some(queue.packets_per_second, "queue statistics", |rate| (units::count(rate), Role::Text));
        });
    })
    .highest(|cx, row| key(cx, row, |queue| queue.packets_per_second)),
    Column::right(text::IRQ_RATE_HEAD, 1, rate_width, |cx, row, pen| {
        with(cx, row, |_, queue| {
            if queue.irq == topotop_model::Known::None {
                pen.text(Role::Absent, mark::dash(cx.charset));
            } else {
                pen.some(queue.per_second, "proc/interrupts", |rate| (units::count(rate), Role::Text));
            }
        });
    })
    .highest(|cx, row| key(cx, row, |queue| queue.per_second)),
    Column::right(text::BOOT_HEAD, 1, count_width, |cx, row, pen| {
        with(cx, row, |_, queue| {
            pen.value(queue.total, mark::dash(cx.charset), "proc/interrupts", |count| (units::full(count), Role::Text));
        });
    })
    .highest(|cx, row| key(cx, row, |queue| queue.total.value().map(|count| count as f64))),
    Column::left(
        text::SHARE_HEAD,
        1,
        |_| Width::flex(10, 18, 2),
        |cx, row, pen| {
            with(cx, row, |nic, queue| cells::share(nic, queue, pen));
        },
    ),
    Column::left(
        text::SOFTIRQ_HEAD,
        1,
        |_| Width::flex(5, 18, 2),
        |cx, row, pen| {
            with(cx, row, |_, queue| cells::softirq(queue, pen));
        },
    )
    .highest(|cx, row| key(cx, row, |queue| queue.softirq)),
    Column::left(
        text::RPS_HEAD,
        3,
        |_| Width::range(6, 10),
        |cx, row, pen| {
            with(cx, row, |_, queue| match &*queue.direction {
                "tx" => cells::absent(cx, pen),
                _ => cells::steering(queue.rps_cpus.as_deref(), "rps_cpus", pen),
            });
        },
    ),
    Column::left(
        text::XPS_HEAD,
        4,
        |_| Width::range(6, 10),
        |cx, row, pen| {
            with(cx, row, |_, queue| match &*queue.direction {
                "rx" => cells::absent(cx, pen),
                _ => cells::steering(queue.xps_cpus.as_deref(), "xps_cpus", pen),
            });
        },
    ),
    Column::left(
        text::SOURCE_HEAD,
        7,
        |_| Width::fixed(8),
        |cx, row, pen| {
            with(cx, row, |_, queue| {
                pen.text(
                    Role::Dim,
                    if queue.irq_source.is_empty() { mark::dash(cx.charset) } else { queue.irq_source },
                );
            });
        },
    ),
];

pub(super) static MATRIX: &[Column<Row>] = &[
    Column::right(
        text::IRQ_HEAD,
        0,
        |_| Width::fixed(5),
        |cx, row, pen| {
            with_irq(cx, row, |irq| {
                pen.text(Role::Text, units::full(u64::from(irq.irq)).as_str());
            });
        },
    )
    .lowest(|cx, row| irq_key(cx, row, |irq| Some(f64::from(irq.irq)))),
    Column::left(
        text::NAME_HEAD,
        1,
        |_| Width::range(10, 20),
        |cx, row, pen| {
            with_irq(cx, row, |irq| cells::irq_name(irq, pen));
        },
    )
    .lowest(|cx, row| match row {
        Row::Irq(at) => cx.frame.irqs.get(at).map_or(Key::None, |irq| Key::Text(&irq.name)),
        _ => Key::None,
    }),
    Column::left(
        text::CPU_HEAD,
        2,
        |_| Width::range(5, 8),
        |cx, row, pen| {
            with_irq(cx, row, |irq| cells::irq_target(cx, irq, pen));
        },
    ),
    Column::left(
        text::NODE_HEAD,
        4,
        |cx| if nodes(cx) { Width::fixed(7) } else { Width::HIDDEN },
        |cx, row, pen| with_irq(cx, row, |irq| cells::irq_node(cx, irq, pen)),
    ),
    Column::left(
        Text::EMPTY,
        5,
        |cx| {
            if cx.frame.irqs.iter().any(|irq| irq.managed == topotop_model::Known::Value(true)) {
                Width::fixed(7)
            } else {
                Width::HIDDEN
            }
        },
        |cx, row, pen| {
            with_irq(cx, row, |irq| cells::managed(cx, irq, pen));
        },
    ),
    Column::right(text::IRQ_RATE_HEAD, 1, rate_width, |cx, row, pen| {
        with_irq(cx, row, |irq| {
            pen.some(irq.per_second, "proc/interrupts", |rate| {
                (units::count(rate), if rate > 0.0 { Role::Text } else { Role::Dim })
            });
        });
    })
    .highest(|cx, row| irq_key(cx, row, |irq| irq.per_second)),
    Column::right(text::BOOT_HEAD, 1, count_width, |cx, row, pen| {
        with_irq(cx, row, |irq| {
            pen.value(irq.total, mark::dash(cx.charset), "proc/interrupts", |count| (units::full(count), Role::Text));
        });
    })
    .highest(|cx, row| irq_key(cx, row, |irq| irq.total.value().map(|count| count as f64))),
    Column::left(
        text::BY_CPU_HEAD,
        1,
        |cx| Width::flex(16, strip::wanted(cx), 9),
        |cx, row, pen| {
            with_irq(cx, row, |irq| cells::matrix(cx, irq, pen));
        },
    ),
];
