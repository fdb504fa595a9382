//! Asks the kernel for the sockets of a network namespace (INET_DIAG): a socket stays in the namespace that its maker was in.

use super::local::{self, Local};
use super::message::{self, CLOSE, ESTABLISHED, FAMILIES, LISTEN, Socket, TCP, UDP};
use crate::sys::netlink::{self, Failure};
use rustix::io::Errno;
use rustix::net::netlink::SOCK_DIAG;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::time::Duration;
use topotop_model::Reason;

/// The longest that one answer may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// The sockets of a namespace.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Listening sockets of TCP.
    pub(super) listeners: Vec<Socket>,
    /// Sockets of UDP without another end.
    pub(super) udp: Vec<Socket>,
    /// Connections.
    pub(super) connections: Vec<Socket>,
    /// True when there are more TCP and UDP sockets than were read.
    pub(super) cut: bool,
    /// True when there are more listening Unix sockets than were read.
    pub(super) local_cut: bool,
    /// Listening Unix sockets.
    pub(super) local: Vec<Local>,
    /// Why UDP and Unix sockets are not known: a kernel may lack that part.
    pub(super) udp_failed: Option<Reason>,
    pub(super) local_failed: Option<Reason>,
}

/// The sockets of the namespace that this thread is in.
pub(super) fn here(most: usize) -> Result<Found, Reason> {
    let mut found = Found::default();
    for family in FAMILIES {
        let left = |list: &Vec<Socket>| most.saturating_sub(list.len());
        let room = left(&found.listeners);
        found.cut |= dump((family, TCP, LISTEN, false), room, &mut found.listeners)?;
        let room = left(&found.udp);
        match dump((family, UDP, CLOSE, false), room, &mut found.udp) {
            Ok(cut) => found.cut |= cut,
            Err(reason) => found.udp_failed = Some(reason),
        }
        let room = left(&found.connections);
        found.cut |= dump((family, TCP, ESTABLISHED, true), room, &mut found.connections)?;
    }
    let take = |body: &[u8]| Some(Some(local::socket(body)?).filter(|socket| !socket.path.is_empty()));
    match answers(&local::request(), most, &mut found.local, take) {
        Ok(cut) => found.local_cut = cut,
        Err(reason) => found.local_failed = Some(reason),
    }
    Ok(found)
}

/// The sockets of another namespace, by a thread of its own that goes there.
pub(super) fn there(namespace: OwnedFd, most: usize) -> Result<Found, Reason> {
    netlink::within(namespace, move || here(most))
}

/// What asks in the namespace that this thread is in.
pub(super) fn open() -> Result<OwnedFd, Reason> {
    netlink::open(SOCK_DIAG, Some(PATIENCE)).map_err(unsupported)
}

/// Asks for sockets of a family, protocol and state; true when there are more than `most`.
fn dump(
    (family, protocol, state, info): (u8, u8, u8, bool),
    most: usize,
    into: &mut Vec<Socket>,
) -> Result<bool, Reason> {
    let request = message::request(family, protocol, 1 << state, info);
    answers(&request, most, into, |body| Some(Some(message::socket(body)?).filter(|socket| socket.state == state)))
}

/// Adds what the replies to a request are, at most so many; true when there are more.
fn answers<T, I: IntoIterator<Item = T>>(
    request: &[u8],
    most: usize,
    into: &mut Vec<T>,
    read: impl Fn(&[u8]) -> Option<I>,
) -> Result<bool, Reason> {
    // What is left of a cut answer dies with its socket.
    let asks = open()?;
    let (end, mut cut) = (into.len().saturating_add(most), false);
    let take = |body: &[u8]| {
        let sockets = read(body).ok_or(Reason::Malformed)?;
        cut |= into.len() >= end;
        if cut {
            return Ok(ControlFlow::Break(()));
        }
        into.extend(sockets);
        Ok(ControlFlow::Continue(()))
    };
    match netlink::ask(&asks, request, message::BY_FAMILY, take) {
        Ok(()) => Ok(cut),
        Err(Failure::Refused(errno)) => Err(unsupported(errno)),
        Err(Failure::Cut(reason)) => Err(reason),
    }
}

/// A kernel without this part of INET_DIAG returns one of several errors.
fn unsupported(errno: Errno) -> Reason {
    match errno {
        Errno::NOENT | Errno::INVAL | Errno::PROTONOSUPPORT | Errno::AFNOSUPPORT => Reason::NotSupported,
        errno => crate::root::reason(errno),
    }
}
