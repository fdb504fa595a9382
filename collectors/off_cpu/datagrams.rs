//! UDP sockets of processes that are looked at: where no TCP connection tells what they wait for.

use super::choose::Process;
use super::look::{End, LINK_FOR};
use crate::Root;
use crate::sockets::{datagrams, inode};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most descriptors of a process that are looked through.
const MOST: usize = 512;

/// A UDP socket: its other end, if it is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Datagram(pub(super) Option<End>);

/// A process's sockets, and when they were looked up.
#[derive(Debug)]
struct Own {
    sockets: HashMap<u64, Datagram>,
    look: u64,
}

/// Remembers them.
#[derive(Debug, Default)]
pub(super) struct Datagrams(HashMap<Process, Own>);

impl Datagrams {
    /// Forgets the sockets of other processes, and what was looked up long ago.
    pub(super) fn begin(&mut self, look: u64, processes: &HashSet<Process>) {
        self.0.retain(|process, own| processes.contains(process) && look < own.look + LINK_FOR);
    }

    /// A socket of a process, if it is one of UDP.
    pub(super) fn of_socket(&mut self, root: &Root, process: Process, inode: u64, look: u64) -> Option<Datagram> {
        self.of(root, process, look).get(&inode).cloned()
    }

    /// The socket of a process that waits for any of its descriptors, a connected one first.
    pub(super) fn of_process(&mut self, root: &Root, process: Process, look: u64) -> Option<Datagram> {
        let sockets = self.of(root, process, look);
        sockets.values().find(|socket| socket.0.is_some()).or_else(|| sockets.values().next()).cloned()
    }

    fn of(&mut self, root: &Root, process: Process, look: u64) -> &HashMap<u64, Datagram> {
        &self.0.entry(process).or_insert_with(|| Own { sockets: sockets(root, process.0), look }).sockets
    }
}

fn sockets(root: &Root, pid: u32) -> HashMap<u64, Datagram> {
    let own: HashSet<u64> = descriptors(root, pid);
    if own.is_empty() {
        return HashMap::new();
    }
    let all = datagrams(root, &format!("proc/{pid}/net"), &mut Vec::new());
    let end = |(address, port): (std::net::IpAddr, u16)| (Arc::from(address.to_string()), port);
    all.into_iter()
        .filter(|(inode, _)| own.contains(inode))
        .map(|(inode, other)| (inode, Datagram(other.map(end))))
        .collect()
}

/// Inodes of its sockets.
fn descriptors(root: &Root, pid: u32) -> HashSet<u64> {
    let Ok(entries) = std::fs::read_dir(root.path().join(format!("proc/{pid}/fd"))) else { return HashSet::new() };
    let links = entries.take(MOST).filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    links.filter_map(|link| inode(link.to_str()?, "socket:[")).collect()
}

#[cfg(test)]
mod tests {
    use super::Datagrams;
    use crate::Root;
    use std::net::UdpSocket;

    #[test]
    fn connected_sockets_have_another_end() {
        let root = Root::live().expect("a root");
        let own = (std::process::id(), 1);
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let client = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = server.local_addr().expect("bound");
        client.connect(address).expect("connected");
        let found = Datagrams::default().of_process(&root, own, 1);
        let (name, _) = found.and_then(|socket| socket.0).expect("one is connected");
        assert_eq!(&*name, "127.0.0.1");
        let gone = Datagrams::default().of_process(&root, (u32::MAX, 1), 1);
        assert_eq!(gone, None);
    }
}
