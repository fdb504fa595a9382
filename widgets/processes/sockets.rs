//! Where a process listens, whom it talks with, and what a Java virtual machine says of its collections.

use crate::parts::pane::Doc;
use crate::parts::{mark, names, units};
use crate::{Cx, Role};
use topotop_model::Known;
use topotop_model::frame::{Jvm, Listener, Peer, Process};
use topotop_model::locale::screen::processes as text;
use topotop_model::locale::screen::shared;

/// The most ports and other ends that are listed.
const MOST: usize = 32;

/// Ports and the busiest other ends.
pub(super) fn lines(cx: &Cx<'_>, doc: &mut Doc, process: &Process, room: usize) {
    if process.kernel || (process.listen.is_none() && process.peers.is_empty()) {
        return;
    }
    doc.gap();
    doc.head(text::SOCKETS);
    let list: Vec<&Listener> = process.listen.iter().flatten().chain(&process.listen_local).collect();
    match list.as_slice() {
        [] if process.listen.is_none() => doc.unread(cx, &text::LISTENS, "/fd"),
        [] => doc.pair(&text::LISTENS, shared::NONE, Role::Absent),
        list => {
            for listener in list.iter().take(MOST) {
                let end = names::clean(&listener.end(), room);
                doc.pair(&text::LISTENS, format!("{end} {}", listener.protocol), Role::Text);
            }
            if list.len() > MOST {
                doc.pair("", shared::AndMore { count: &(list.len() - MOST) }.to_string(), Role::Dim);
            }
        }
    }
    if process.peers.is_empty() {
        return;
    }
    let numbers = [
        (text::CONNECTIONS_HEAD, 5),
        (text::RTT_HEAD, 7),
        (text::OUT_HEAD, 6),
        (text::IN_HEAD, 6),
        (text::SEGMENT_HEAD, 6),
        (text::PEER_BUSY_HEAD, 5),
    ];
    let mut head = names::padded(&text::PEER_HEAD, 28);
    for (title, width) in numbers {
        head.push(' ');
        head.push_str(&names::flush_right(&title, width));
    }
    doc.head(head);
    for peer in process.peers.iter().take(MOST) {
        doc.line(peer_line(cx, peer));
    }
}

fn peer_line(cx: &Cx<'_>, peer: &Peer) -> Vec<(String, Role)> {
    let arrow = if peer.inbound { "<" } else { ">" };
    let end = names::clean(&format!("{arrow} {}:{}", peer.address, peer.port), 28);
    let end = format!("{end}{}", " ".repeat(28usize.saturating_sub(usize::from(names::width(&end)))));
    let rtt = match peer.rtt_us {
        Known::Value(us) => units::millis(us as f64 / 1e3),
        _ => units::Short::from_display(format_args!("{}", mark::dash(cx.charset))),
    };
    let rate = |value: Option<f64>| units::or_unknown(value, units::count);
    let waits = units::or_unknown(peer.busy_ratio, units::percent);
    let (out, inward) = (rate(peer.segs_out_per_second), rate(peer.segs_in_per_second));
    let bytes = rate(peer.bytes_per_segment);
    vec![
        (end, Role::Text),
        (format!(" {:>5} {rtt:>7} {out:>6} {inward:>6} {bytes:>6}", peer.connections), Role::Text),
        (format!(" {waits:>5}"), peer.busy_ratio.map_or(Role::Absent, Role::heat)),
    ]
}

/// What a virtual machine says of itself.
pub(super) fn jvm(cx: &Cx<'_>, doc: &mut Doc, jvm: &Jvm, room: usize) {
    doc.gap();
    doc.head(text::JAVA);
    let share = |ratio: Option<f64>| units::or_unknown(ratio, units::fine_percent);
    let rate = units::or_unknown(jvm.gc_per_second, units::count);
    let role = jvm.gc_time_ratio.map_or(Role::Absent, |ratio| if ratio >= 0.1 { Role::Warn } else { Role::Text });
    let collections = text::CollectionsText { share: &share(jvm.gc_time_ratio), rate: &rate };
    doc.pair(&text::COLLECTIONS, collections.to_string(), role);
    let stopped = text::SafepointsText { share: &share(jvm.safepoint_ratio) };
    doc.pair(&text::SAFEPOINTS, stopped.to_string(), Role::Text);
    let bytes = |value: Known<u64>| value.value().map(|bytes| units::bytes_in_text(bytes as f64));
    let heap = [bytes(jvm.heap_used_bytes), bytes(jvm.heap_capacity_bytes), bytes(jvm.heap_max_bytes)];
    let [used, capacity, most] = heap.map(|text| text.unwrap_or_else(|| mark::dash(cx.charset).to_owned()));
    let heap = text::HeapText { used: &used, capacity: &capacity, limit: &most };
    doc.pair(&text::HEAP, heap.to_string(), Role::Text);
    if !jvm.collectors.is_empty() {
        doc.pair(&text::COLLECTORS, names::clean(&jvm.collectors, room.max(20)), Role::Text);
    }
}

#[cfg(test)]
mod tests {
    use super::{jvm, lines};
    use crate::parts::pane::Doc;
    use crate::testing::with_cx;
    use crate::{Charset, demo};
    use topotop_model::Known;
    use topotop_model::frame::{Jvm, Listener, Peer, Process};

    #[test]
    fn ports_other_ends_and_collections_are_told() {
        let listener = |address: &str, port| Listener {
            address: address.into(),
            port,
            protocol: "tcp".into(),
            netns: 1,
            queued: None,
            backlog: None,
        };
        let peer = Peer {
            address: "10.0.0.2\u{1b}[2J".into(),
            port: 5432,
            connections: 3,
            rtt_us: Known::Value(1278),
            segs_out_per_second: Some(857.0),
            bytes_per_segment: Some(4.5),
            busy_ratio: Some(0.99),
            ..Peer::default()
        };
        let listen = Some(vec![listener("0.0.0.0", 8080), listener("::", 9060)]);
        let process = Process { listen, peers: vec![peer], ..Process::default() };
        let machine = Jvm { gc_time_ratio: Some(0.77), heap_used_bytes: Known::Value(64 << 20), ..Jvm::default() };
        with_cx(&demo::server(), Charset::Unicode, |cx| {
            let mut doc = Doc::default();
            lines(cx, &mut doc, &process, 60);
            jvm(cx, &mut doc, &machine, 60);
            lines(cx, &mut doc, &Process { listen: Some(Vec::new()), ..Process::default() }, 60);
            let text = doc.text();
            for part in ["0.0.0.0:8080 tcp", "[::]:9060 tcp", "> 10.0.0.2", "857", "99%", "77%", "64.0 MiB", "none"] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert!(!text.contains('\u{1b}'));
        });
        let before = Doc::default().len();
        with_cx(&demo::server(), Charset::Unicode, |cx| {
            let mut doc = Doc::default();
            lines(cx, &mut doc, &Process::default(), 60);
            assert_eq!(doc.len(), before, "nobody looked");
        });
    }
}
