//! Requests to a peer that go one by one, and who answers them.

use super::{LEAST, SAMPLES};
use crate::frame::{Frame, Peer, Process, WaitClass};

/// An answer takes so many times the round trip where the network is but a small part of it.
const GAPS: f64 = 4.0;
/// The least share of its time that a process waits for answers that take long.
const HALF: f64 = 0.5;
/// Of the time in which a process waits for anything, the least part that it waits for a peer: who has several requests
/// outstanding also waits just after an answer has come.
const ALWAYS: f64 = 0.75;

/// Requests to a peer that go one by one: each waits for the answer to the one before.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a> {
    /// The peer.
    pub peer: &'a Peer,
    /// Share of the time in which an answer is outstanding.
    pub share: f64,
    /// Requests a second of each connection.
    pub requests: f64,
    /// The time of each.
    pub ms: f64,
}

/// The requests of a process to the peer that it waits for most, if they go one by one. Threads that wait for others of the
/// process count for nothing.
pub(super) fn serial(process: &Process) -> Option<Chain<'_>> {
    let off_cpu = process.off_cpu.as_ref().filter(|off_cpu| off_cpu.samples >= SAMPLES)?;
    let wait = off_cpu.shares.iter().find(|share| share.class == WaitClass::Peer)?;
    let peer = peer(process, &wait.what)?;
    let of_work = 1.0 - off_cpu.share(WaitClass::Thread);
    let beside = [WaitClass::Running, WaitClass::RunQueue, WaitClass::Quota, WaitClass::Lock];
    let waits = of_work - beside.iter().map(|class| off_cpu.share(*class)).sum::<f64>();
    let share = wait.share / of_work.max(wait.share);
    let (requests, ms) = single_flight(peer, share).filter(|_| wait.share >= ALWAYS * waits)?;
    Some(Chain { peer, share, requests, ms })
}

/// Of those the ones that spend most of their time waiting, while the round trip is but a small part of each answer's time.
pub fn one_by_one(process: &Process) -> Option<Chain<'_>> {
    serial(process).filter(|chain| {
        let rtt_ms = round_trip_ms(chain.peer).unwrap_or(f64::INFINITY);
        chain.share >= HALF && chain.ms >= GAPS * rtt_ms
    })
}

/// The peer of a process by the name that waits have: `10.0.0.5:5432`.
pub(super) fn peer<'a>(process: &'a Process, name: &str) -> Option<&'a Peer> {
    let is_meant = |peer: &&Peer| {
        let address = if peer.address.contains(':') { format!("[{}]", peer.address) } else { peer.address.to_string() };
        format!("{address}:{}", peer.port) == *name
    };
    process.peers.iter().find(is_meant)
}

/// The process of this machine that answers: it accepted connections to that port and receives as much there.
pub fn server<'a>(frame: &'a Frame, client: &Process, peer: &Peer) -> Option<&'a Process> {
    let asked = peer.data_segs_out_per_second?;
    let answers = |other: &Peer| {
        other.inbound
            && other.port == peer.port
            && other.data_segs_in_per_second.is_some_and(|received| received >= asked / 2.0)
    };
    frame.processes.iter().find(|process| process.pid != client.pid && process.peers.iter().any(answers))
}

/// Requests a second of each connection and their time in milliseconds where they go one by one: one message goes for each
/// that comes, and no more of them than round trips fit into the time.
pub(super) fn single_flight(peer: &Peer, waits: f64) -> Option<(f64, f64)> {
    let (sent, received) = (peer.data_segs_out_per_second?, peer.data_segs_in_per_second?);
    let each = sent.min(received) / peer.connections.max(1) as f64;
    let even = each > 0.0 && sent.max(received) <= 3.0 * sent.min(received);
    let fits = 1000.0 / each >= round_trip_ms(peer)?;
    (even && fits && !peer.inbound && waits >= LEAST && each >= 5.0).then_some((each, waits * 1000.0 / each))
}

/// The least round trip: where acknowledgements come with answers, the mean has the time of these in it.
fn round_trip_ms(peer: &Peer) -> Option<f64> {
    let us = peer.min_rtt_us.value().or_else(|| peer.rtt_us.value())?;
    Some(us as f64 / 1000.0)
}
