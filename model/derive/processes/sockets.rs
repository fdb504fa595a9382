//! Sockets of processes: where they listen, and how their connections go.

use super::{Pair, Span};
use crate::frame::{Listener, Peer, Process};
use crate::tables::sockets::{Listeners, Peers, SocketOwners};
use crate::{Table, Window};
use std::vec::IntoIter;

type Key = (u32, u64);

/// Rows by process, ascending.
type ByProcess<T> = IntoIter<(Key, T)>;

/// What is left for the processes to come.
#[derive(Debug, Default)]
pub(super) struct Sockets<'a> {
    /// Processes whose descriptors were seen.
    owners: ByProcess<()>,
    listeners: ByProcess<Listener>,
    peers: ByProcess<usize>,
    pair: Option<Pair<'a, Peers>>,
}

impl<'a> Sockets<'a> {
    pub(super) fn new(window: &'a Window) -> Self {
        let mut sockets = Self::default();
        let now = &window.now;
        // Without a list of sockets nothing is known of processes whose descriptors were seen.
        if let (Some(owners), Some(listeners)) = (now.socket_owners.value(), now.listeners.value()) {
            sockets.listen(owners, listeners);
        }
        if let Some(pair) = Pair::new(&now.peers, &window.before.peers) {
            let key = |slot| Some((pair.now.pid.id(slot).value().zip(pair.now.starttime.value(slot))?, slot));
            sockets.peers = sorted(pair.now.rows().iter().filter_map(key).collect());
            sockets.pair = Some(pair);
        }
        sockets
    }

    fn listen(&mut self, owners: &SocketOwners, table: &Listeners) {
        let key = |slot| Some((owners.pid.id(slot).value().zip(owners.starttime.value(slot))?, ()));
        self.owners = sorted(owners.rows().iter().filter_map(key).collect());
        let listener = |slot| listener(table, slot).zip(table.pid.id(slot).value().zip(table.starttime.value(slot)));
        self.listeners =
            sorted(table.rows().iter().filter_map(listener).map(|(listener, key)| (key, listener)).collect());
    }

    /// Adds what is known of a process; they come in the order of their pids and start times.
    pub(super) fn add_to(&mut self, process: &mut Process) {
        let key = (process.pid, process.starttime);
        let seen = of(&mut self.owners, key).count() > 0;
        let all = of(&mut self.listeners, key);
        let (local, listeners): (Vec<Listener>, Vec<Listener>) = all.partition(Listener::is_local);
        process.listen_local = local;
        process.listen = (seen || !listeners.is_empty()).then_some(listeners);
        process.peers.clear();
        let Some(pair) = self.pair else { return };
        let mut peers: Vec<Peer> = of(&mut self.peers, key).filter_map(|slot| peer(pair, slot)).collect();
        let traffic = |peer: &Peer| peer.segs_out_per_second.unwrap_or(0.0) + peer.segs_in_per_second.unwrap_or(0.0);
        peers.sort_by(|a, b| {
            let names = |peer: &Peer| (peer.inbound, peer.port);
            traffic(b)
                .total_cmp(&traffic(a))
                .then_with(|| names(a).cmp(&names(b)))
                .then_with(|| a.address.cmp(&b.address))
        });
        process.peers = peers;
    }
}

/// Listening sockets of no process that is there.
pub(super) fn unowned(window: &Window, processes: &[Process]) -> Vec<Listener> {
    let Some(table) = window.now.listeners.value() else { return Vec::new() };
    let owned = |pid: u32| processes.binary_search_by_key(&pid, |process| process.pid).is_ok();
    let rows = table.rows().iter().filter(|slot| !table.pid.id(*slot).value().is_some_and(owned));
    rows.filter_map(|slot| listener(table, slot)).collect()
}

fn listener(table: &Listeners, slot: usize) -> Option<Listener> {
    let path = table.path.get(slot);
    let port = table.port.value(slot).and_then(|port| u16::try_from(port).ok());
    Some(Listener {
        port: port.or_else(|| path.map(|_| 0))?,
        protocol: table.protocol.or_empty(slot),
        address: path.cloned().unwrap_or_else(|| table.address.or_empty(slot)),
        netns: table.netns.value(slot).unwrap_or_default(),
        queued: table.queued.value(slot),
        backlog: table.backlog.value(slot),
    })
}

fn sorted<T: Ord>(mut rows: Vec<(Key, T)>) -> ByProcess<T> {
    rows.sort_unstable();
    rows.dedup();
    rows.into_iter()
}

/// Those of a process; those of the ones before it are dropped.
fn of<T>(rows: &mut ByProcess<T>, key: Key) -> impl Iterator<Item = T> + '_ {
    while rows.as_slice().first().is_some_and(|row| row.0 < key) {
        rows.next();
    }
    let count = rows.as_slice().iter().take_while(|row| row.0 == key).count();
    rows.take(count).map(|row| row.1)
}

fn peer(pair: Pair<'_, Peers>, slot: usize) -> Option<Peer> {
    let table = pair.now;
    let span = Span::new(pair, slot, |table| &table.read_at_ns);
    let rate = |column: fn(&Peers) -> &crate::Num| span.and_then(|span| span.rate(column));
    let (bytes_out, bytes_in) = (rate(|table| &table.bytes_out), rate(|table| &table.bytes_in));
    let (data_out, data_in) = (rate(|table| &table.data_segs_out), rate(|table| &table.data_segs_in));
    let connections = table.connections.value(slot).unwrap_or_default();
    let whole = |pair: (Option<f64>, Option<f64>)| Some(pair.0? + pair.1?);
    let (bytes, segments) = (whole((bytes_out, bytes_in)), whole((data_out, data_in)));
    let busy = rate(|table| &table.busy_us).filter(|_| connections > 0);
    Some(Peer {
        address: table.address.or_empty(slot),
        port: table.port.value(slot).and_then(|port| u16::try_from(port).ok())?,
        inbound: table.inbound.value(slot) == Some(1),
        connections,
        rtt_us: table.rtt_us.get(slot),
        min_rtt_us: table.min_rtt_us.get(slot),
        segs_out_per_second: rate(|table| &table.segs_out),
        segs_in_per_second: rate(|table| &table.segs_in),
        data_segs_out_per_second: data_out,
        data_segs_in_per_second: data_in,
        bytes_out_per_second: bytes_out,
        bytes_in_per_second: bytes_in,
        bytes_per_segment: bytes.zip(segments).filter(|pair| pair.1 > 0.0).map(|(bytes, segments)| bytes / segments),
        retransmits_per_second: rate(|table| &table.retransmits),
        busy_ratio: busy.map(|us| (us / 1e6 / connections as f64).clamp(0.0, 1.0)),
        unacked: table.unacked.get(slot).value().unwrap_or_default(),
        awaited: table.awaited.value(slot),
    })
}
