//! The columns of the list of sockets.

use super::{FILE, Row, Socket, end, fullness, get, listener, loss, peer, whole};
use crate::parts::table::{Column, Key, Width};
use crate::parts::units::{self, Short};
use crate::parts::{Pen, names};
use crate::{Cx, Role};
use topotop_model::bottleneck::QUEUE_NEAR_BACKLOG;
use topotop_model::frame::{Listener, Peer};
use topotop_model::locale::Text;
use topotop_model::locale::screen::sockets as text;

/// Share of its backlog at which an accept queue fills up.
const FILLING: f64 = 0.5;

fn side(socket: &Socket<'_>) -> Text {
    match socket {
        Socket::Listener(_) => text::LISTEN,
        Socket::Peer(peer) if peer.inbound => text::INBOUND,
        Socket::Peer(_) => text::OUTBOUND,
    }
}

/// A number of connections; a listener has none.
fn of_peer(cx: &Cx<'_>, row: Row, pen: &mut Pen<'_>, value: fn(&Peer) -> Option<f64>, show: fn(f64) -> (Short, Role)) {
    if let Some(peer) = peer(cx, row) {
        pen.some(value(peer), FILE, show);
    }
}

fn rate(format: fn(f64) -> Short, value: f64) -> (Short, Role) {
    (format(value), if value > 0.0 { Role::Text } else { Role::Dim })
}

fn queue(listener: &Listener, pen: &mut Pen<'_>) {
    let role = match fullness(listener) {
        Some(share) if share >= QUEUE_NEAR_BACKLOG => Role::Critical,
        Some(share) if share >= FILLING => Role::Warn,
        _ if listener.queued.is_some_and(|queued| queued > 0) => Role::Text,
        _ => Role::Dim,
    };
    let Some(queued) = listener.queued else { return };
    match listener.backlog {
        Some(backlog) => pen.text(role, &format!("{}/{}", whole(queued), whole(backlog))),
        None => pen.text(role, &whole(queued)),
    };
}

pub(super) static COLUMNS: &[Column<Row>] = &[
    Column::left(
        text::PROCESS_HEAD,
        0,
        |_| Width::flex(13, 20, 1),
        |cx, row, pen| {
            if let Some((process, _)) = get(cx, row) {
                let pid = process.pid.to_string();
                let room = pen.left().saturating_sub(names::width(&pid) + 1);
                pen.sub(room.min(names::width(&process.comm))).text(Role::Text, &process.comm);
                pen.skip(1).text(Role::Dim, &pid);
            }
        },
    )
    .lowest(|cx, row| get(cx, row).map_or(Key::None, |(process, _)| Key::Text(&process.comm))),
    Column::left(
        text::SIDE_HEAD,
        0,
        |_| Width::fixed(6),
        |cx, row, pen| {
            if let Some((_, socket)) = get(cx, row) {
                pen.text(Role::Dim, &side(&socket));
            }
        },
    ),
    Column::left(
        text::END_HEAD,
        0,
        |_| Width::flex(20, 30, 2),
        |cx, row, pen| {
            if let Some((_, socket)) = get(cx, row) {
                pen.text(Role::Text, &end(&socket));
            }
        },
    )
    .lowest(|cx, row| {
        let port = listener(cx, row).map(|row| row.port).or_else(|| peer(cx, row).map(|row| row.port));
        Key::some(port.map(f64::from))
    }),
    Column::right(
        text::QUEUE_HEAD,
        1,
        |_| Width::fixed(8),
        |cx, row, pen| {
            if let Some(listener) = listener(cx, row) {
                queue(listener, pen);
            }
        },
    )
    .highest(|cx, row| Key::some(listener(cx, row).and_then(fullness))),
    Column::right(
        text::CONNECTIONS_HEAD,
        1,
        |_| Width::fixed(5),
        |cx, row, pen| {
            of_peer(cx, row, pen, |peer| Some(peer.connections as f64), |count| rate(units::count, count));
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).map(|peer| peer.connections as f64))),
    Column::right(
        text::RTT_HEAD,
        2,
        |_| Width::fixed(6),
        |cx, row, pen| {
            if let Some(peer) = peer(cx, row) {
                pen.value(peer.rtt_us, "—", FILE, |us| (units::millis(us as f64 / 1e3), Role::Text));
            }
        },
    )
    .highest(|cx, row| peer(cx, row).map_or(Key::None, |peer| Key::known(peer.rtt_us))),
    Column::right(
        text::IN_HEAD,
        1,
        |_| Width::fixed(6),
        |cx, row, pen| {
            of_peer(cx, row, pen, |peer| peer.bytes_in_per_second, |bytes| rate(units::bytes, bytes));
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).and_then(|peer| peer.bytes_in_per_second))),
    Column::right(
        text::OUT_HEAD,
        1,
        |_| Width::fixed(6),
        |cx, row, pen| {
            of_peer(cx, row, pen, |peer| peer.bytes_out_per_second, |bytes| rate(units::bytes, bytes));
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).and_then(|peer| peer.bytes_out_per_second))),
    Column::right(
        text::BUSY_HEAD,
        3,
        |_| Width::fixed(4),
        |cx, row, pen| {
            of_peer(cx, row, pen, |peer| peer.busy_ratio, |share| (units::percent(share), Role::heat(share)));
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).and_then(|peer| peer.busy_ratio))),
    Column::right(
        text::AWAIT_HEAD,
        3,
        |_| Width::fixed(5),
        |cx, row, pen| {
            of_peer(cx, row, pen, |peer| peer.awaited.map(|count| count as f64), |count| rate(units::count, count));
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).and_then(|peer| peer.awaited).map(|count| count as f64))),
    Column::right(
        text::LOSS_HEAD,
        4,
        |_| Width::fixed(6),
        |cx, row, pen| {
            // Where nothing was sent there is no share.
            if let Some(share) = peer(cx, row).and_then(Peer::retransmit_ratio) {
                let (text, role) = loss(share);
                pen.text(role, text.as_str());
            }
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).and_then(Peer::retransmit_ratio))),
    Column::right(
        text::SEGMENTS_IN_HEAD,
        5,
        |_| Width::fixed(6),
        |cx, row, pen| {
            of_peer(cx, row, pen, |peer| peer.segs_in_per_second, |count| rate(units::count, count));
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).and_then(|peer| peer.segs_in_per_second))),
    Column::right(
        text::SEGMENTS_OUT_HEAD,
        5,
        |_| Width::fixed(6),
        |cx, row, pen| {
            of_peer(cx, row, pen, |peer| peer.segs_out_per_second, |count| rate(units::count, count));
        },
    )
    .highest(|cx, row| Key::some(peer(cx, row).and_then(|peer| peer.segs_out_per_second))),
];
