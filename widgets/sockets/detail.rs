//! One row in full.

use super::{Id, Socket, end, fullness, id, loss, whole};
use crate::parts::pane::Doc;
use crate::parts::{names, units};
use crate::{Cx, Role};
use topotop_model::frame::{Listener, Peer};
use topotop_model::locale::screen::sockets as text;

/// All that is known of one row.
pub(super) fn doc(cx: &Cx<'_>, known: &Id) -> Doc {
    let mut doc = Doc::default();
    let process = cx.frame.process(known.process.0).filter(|process| process.starttime == known.process.1);
    let Some(process) = process else {
        doc.head(text::GONE);
        return doc;
    };
    let room = 60;
    doc.pair(&text::PROCESS, format!("{} {}", names::clean(&process.comm, room), process.pid), Role::Text);
    if !process.cgroup.is_empty() {
        doc.pair(&text::CGROUP, names::clean(&names::cgroup(cx, &process.cgroup), room), Role::Text);
    }
    let listeners = super::listeners(process).map(Socket::Listener);
    let socket = process.peers.iter().map(Socket::Peer).chain(listeners).find(|socket| id(process, socket) == *known);
    match socket {
        None => doc.head(text::GONE),
        Some(Socket::Listener(listener)) => of_listener(cx, &mut doc, listener),
        Some(Socket::Peer(peer)) => of_connections(&mut doc, peer),
    }
    doc
}

fn of_listener(cx: &Cx<'_>, doc: &mut Doc, listener: &Listener) {
    let count = |value: Option<u64>| value.map_or_else(|| "?".to_owned(), whole);
    doc.pair(&text::LISTENS_AT, format!("{} {}", names::clean(&listener.end(), 60), listener.protocol), Role::Text);
    let role = fullness(listener).map_or(Role::Text, Role::heat);
    doc.pair(
        &text::WAITING,
        text::OfBacklog { queued: &count(listener.queued), backlog: &count(listener.backlog) }.to_string(),
        role,
    );
    // The kernel counts them for TCP alone.
    let namespaces = cx.frame.net_namespaces.iter().filter(|_| &*listener.protocol == "tcp");
    let counted = { namespaces }.find(|row| row.netns == listener.netns);
    if let Some(row) = counted {
        let rate = |value: Option<f64>| units::or_unknown(value, units::count).as_str().to_owned();
        doc.pair(
            &text::OVERFLOWS,
            text::PerSecond { rate: &rate(row.listen_overflows_per_second) }.to_string(),
            Role::Text,
        );
        doc.pair(&text::DROPS, text::PerSecond { rate: &rate(row.listen_drops_per_second) }.to_string(), Role::Text);
    }
}

fn of_connections(doc: &mut Doc, peer: &Peer) {
    let rate = |value: Option<f64>| units::or_unknown(value, units::count).as_str().to_owned();
    let bytes = |value: Option<f64>| units::or_unknown(value, units::bytes).as_str().to_owned();
    let both = |format: &dyn Fn(Option<f64>) -> String, inward, out| {
        text::InAndOut { inward: &format(inward), out: &format(out) }.to_string()
    };
    let millis = |us: Option<u64>| units::or_unknown(us, |us| units::millis(us as f64 / 1e3)).as_str().to_owned();
    doc.pair(&text::PEER, names::clean(&end(&Socket::Peer(peer)), 60), Role::Text);
    doc.pair(&text::CONNECTIONS, units::count(peer.connections as f64).as_str(), Role::Text);
    let awaited = units::or_unknown(peer.awaited, |count| units::count(count as f64));
    doc.pair(&text::AWAITED, awaited.as_str(), Role::Text);
    let round = text::RoundTrips { mean: &millis(peer.rtt_us.value()), least: &millis(peer.min_rtt_us.value()) };
    doc.pair(&text::ROUND_TRIP, round.to_string(), Role::Text);
    doc.pair(&text::BYTES, both(&bytes, peer.bytes_in_per_second, peer.bytes_out_per_second), Role::Text);
    doc.pair(&text::SEGMENTS, both(&rate, peer.segs_in_per_second, peer.segs_out_per_second), Role::Text);
    doc.pair(&text::WITH_DATA, both(&rate, peer.data_segs_in_per_second, peer.data_segs_out_per_second), Role::Text);
    let size = peer.bytes_per_segment.map_or_else(|| "?".to_owned(), units::bytes_in_text);
    doc.pair(&text::SEGMENT_SIZE, size, Role::Text);
    let busy = units::or_unknown(peer.busy_ratio, units::percent);
    doc.pair(&text::IN_FLIGHT, busy.as_str(), peer.busy_ratio.map_or(Role::Absent, Role::heat));
    if let Some(share) = peer.retransmit_ratio() {
        let (lost, role) = loss(share);
        doc.pair(&text::RETRANSMITTED, lost.as_str(), role);
    }
}
