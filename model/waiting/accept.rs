//! Accept queues: connections that wait while those who serve are all taken.

use super::{Waiting, peer};
use crate::frame::{Frame, Listener, Peer, Process, WaitClass, is_loopback};

/// Connections that wait at a listening socket from which on those that serve are all taken.
const QUEUED: u64 = 8;

/// The listening socket at which most connections wait.
pub(super) fn queue(frame: &Frame) -> Option<Waiting<'_>> {
    let sockets = frame.processes.iter().flat_map(|process| {
        let listeners = process.listen.iter().flatten().chain(&process.listen_local);
        listeners.filter(|listener| listener.queued >= Some(QUEUED)).map(move |listener| (process, listener))
    });
    // Of several that have the same one, the first is the parent; systemd hands its sockets on.
    let most = sockets.rev().max_by_key(|(process, listener)| (listener.queued, !process.activates()));
    most.map(|(process, queue)| Waiting {
        process,
        processes: 1,
        class: WaitClass::Accept,
        what: "",
        share: 0.0,
        wants: 0.0,
        server: None,
        queue: Some(queue),
    })
}

impl Waiting<'_> {
    /// True for a client on this machine whose requests wait in this accept queue.
    pub(super) fn is_behind(&self, queue: &Waiting<'_>) -> bool {
        let peer = peer(self.process, self.what).filter(|peer| self.class == WaitClass::Peer && !peer.inbound);
        let (Some(peer), Some(listener)) = (peer, queue.queue) else { return false };
        match self.server {
            _ if self.is_of(queue.process) => false,
            Some(server) => queue.is_of(server) || asks(server, peer, listener),
            None => is_at(listener, peer),
        }
    }
}

/// True for connections to a port of this machine.
fn is_at(listener: &Listener, peer: &Peer) -> bool {
    let is_here = is_loopback(&peer.address) || listener.address == peer.address;
    !listener.is_local() && listener.port == peer.port && is_here
}

/// True if a server asks who listens there: at a port, or at a path where about as many wait as await its answer.
fn asks(server: &Process, client: &Peer, listener: &Listener) -> bool {
    if listener.is_local() {
        let awaited = client.awaited.filter(|awaited| *awaited > 0);
        return awaited.zip(listener.queued).is_some_and(|(awaited, queued)| (awaited / 2..=awaited).contains(&queued));
    }
    server.peers.iter().any(|own| !own.inbound && is_at(listener, own))
}
