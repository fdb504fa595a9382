//! What each network namespace counts: a line each.

use super::loss;
use crate::parts::{Pen, names, pane, units};
use crate::{Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::NetNamespace;
use topotop_model::locale::screen::sockets as text;

/// The most namespaces below the list.
pub(super) const MOST: u16 = 6;

/// Draws them below their headings.
pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    if area.height < 3 {
        return;
    }
    let all = &cx.frame.net_namespaces;
    let note = if all.len() > usize::from(MOST) { all.len().to_string() } else { String::new() };
    let inner = pane::frame(cx, area, &text::NAMESPACES, &note, buf);
    let heads = [
        text::ESTABLISHED_HEAD,
        text::SEGMENTS_IN_HEAD,
        text::SEGMENTS_OUT_HEAD,
        text::LOSS_HEAD,
        text::OVERFLOWS_HEAD,
        text::DROPS_HEAD,
        text::UDP_DROPS_HEAD,
    ];
    let mut pen = Pen::new(cx, inner, 0, buf);
    pen.skip(1).field(Role::Head, NAME, &text::NAMESPACE_HEAD);
    for head in heads {
        pen.skip(1).text(Role::Head, &names::flush_right(&head, NUMBER));
    }
    for (at, row) in all.iter().take(usize::from(MOST)).enumerate() {
        namespace(cx, row, &mut Pen::new(cx, inner, 1 + at as u16, buf));
    }
}

/// Columns of a namespace's name, and of each of its numbers.
const NAME: u16 = 20;
const NUMBER: u16 = 7;

fn namespace(cx: &Cx<'_>, row: &NetNamespace, pen: &mut Pen<'_>) {
    let owner = row.pid.value().and_then(|pid| cx.frame.process(pid));
    let name = match (owner, row.pid.value()) {
        (Some(process), _) => format!("{} {}", process.comm, process.pid),
        (None, Some(pid)) => pid.to_string(),
        (None, None) => text::OWN.to_string(),
    };
    pen.skip(1).field(Role::Text, NAME, &name);
    let count =
        |value: Option<f64>| (units::or_unknown(value, units::count), value.map_or(Role::Absent, |_| Role::Text));
    let bad = |value: Option<f64>| {
        let role = value.map_or(Role::Absent, |value| if value > 0.0 { Role::Warn } else { Role::Dim });
        (units::or_unknown(value, units::count), role)
    };
    let lost = row.retransmit_ratio().map_or_else(|| (units::or_unknown(None, units::count), Role::Absent), loss);
    let numbers = [
        count(row.established.value().map(|count| count as f64)),
        count(row.in_segs_per_second),
        count(row.out_segs_per_second),
        lost,
        bad(row.listen_overflows_per_second),
        bad(row.socket_drops_per_second),
        bad(row.udp_rcvbuf_errors_per_second),
    ];
    for (text, role) in numbers {
        pen.skip(1).number(role, NUMBER, &text);
    }
}
