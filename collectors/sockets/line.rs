//! One connection asked by itself: what was sent and received last. Cheap enough to ask several times a second.

use super::diag;
use super::message::{self, Socket};
use super::peers::Process;
use crate::Root;
use crate::sys::netlink::{self, Failure};
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use topotop_model::Reason;

/// A connection of a process.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// By pid and start.
    pub(crate) process: Process,
    /// Inode of its network namespace.
    pub(crate) netns: u64,
    /// A process in that; none for the own one.
    pub(crate) through: Option<u32>,
    /// Inode of the socket.
    pub(crate) inode: u64,
    /// Its own end.
    pub(crate) local: (IpAddr, u16),
    /// The other end.
    pub(crate) remote: (IpAddr, u16),
    /// True for one that was accepted.
    pub(crate) inbound: bool,
    /// The other end's address as text.
    pub(crate) name: Arc<str>,
}

impl Connection {
    /// The port of the service.
    pub(crate) fn port(&self) -> u16 {
        if self.inbound { self.local.1 } else { self.remote.1 }
    }
}

/// The connections of the last round, for whoever asks about single ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections(Arc<Mutex<Arc<Vec<Connection>>>>);

impl Connections {
    /// What there is.
    pub(crate) fn get(&self) -> Arc<Vec<Connection>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces them.
    pub(super) fn set(&self, connections: Vec<Connection>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(connections);
    }
}

/// Asks in one network namespace.
#[derive(Debug)]
pub(crate) struct Line(OwnedFd);

impl Line {
    /// A line in the namespace of a process, or in the own one.
    pub(crate) fn open(root: &Root, through: Option<u32>) -> Result<Self, Reason> {
        let Some(pid) = through else { return diag::open().map(Self) };
        let file = root.open(format!("proc/{pid}/ns/net"))?;
        let namespace = file.as_fd().try_clone_to_owned().map_err(|_| Reason::Exhausted)?;
        netlink::within(namespace, diag::open).map(Self)
    }

    /// Milliseconds since something was sent and received; none of a connection that is gone, or where the kernel does
    /// not tell.
    pub(crate) fn recent(&self, connection: &Connection) -> Result<Option<(u64, u64)>, Reason> {
        let Some(request) = message::one(connection.local, connection.remote) else { return Ok(None) };
        let mut found: Option<Socket> = None;
        let take = |body: &[u8]| {
            found = Some(message::socket(body).ok_or(Reason::Malformed)?);
            Ok(ControlFlow::Break(()))
        };
        match netlink::ask(&self.0, &request, message::BY_FAMILY, take) {
            Err(Failure::Cut(reason)) => Err(reason),
            Err(Failure::Refused(_)) => Ok(None),
            Ok(()) => {
                // Another connection may have the same ends by now.
                let same = found.filter(|socket| socket.inode == connection.inode);
                Ok(same.and_then(|socket| socket.info).and_then(|info| Some((info.sent_ms?, info.received_ms?))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, Line};
    use crate::Root;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    /// Asks this machine's kernel about a connection of this process; one that does not speak of sockets says nothing.
    #[test]
    fn an_answer_that_is_outstanding_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut client = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (mut server, _) = listener.accept().expect("accepted");
        let link = std::fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&client)));
        let inode = link.ok().and_then(|link| super::super::inode(link.to_str()?, "socket:[")).expect("a socket");
        let ends = [client.local_addr(), client.peer_addr()].map(|end| end.expect("an address"));
        let [local, remote] = ends.map(|end| (end.ip(), end.port()));
        let name = "x".into();
        let connection =
            Connection { process: (1, 1), netns: 0, through: None, inode, local, remote, inbound: false, name };
        let Ok(line) = Line::open(&Root::live().expect("a root"), None) else { return };
        // Before anything is received the kernel counts from when it was connected.
        std::thread::sleep(Duration::from_millis(30));
        client.write_all(b"question").expect("sent");
        std::thread::sleep(Duration::from_millis(30));
        let Ok(Some((sent, received))) = line.recent(&connection) else { return };
        assert!(sent < received, "asked {sent} ms ago, heard {received} ms ago");
        let mut buf = [0; 8];
        server.read_exact(&mut buf).expect("received");
        std::thread::sleep(Duration::from_millis(30));
        server.write_all(b"answer").expect("sent");
        client.read_exact(&mut buf[..6]).expect("received");
        let (sent, received) = line.recent(&connection).ok().flatten().expect("told");
        assert!(sent > received);
        let gone = Connection { inode: inode + 1, ..connection };
        assert_eq!(line.recent(&gone), Ok(None));
    }
}
