//! One round: whose descriptors are sockets, what sockets there are in each network namespace, and both together.

use super::diag::{self, Found};
use super::line::Connection;
use super::message::Socket;
use super::owners::{Owners, Target, cpu_ns, inode};
use super::peers::{Key, Ledger, Process, Sum};
use super::text;
use crate::Root;
use crate::rights::{self, Needs};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use topotop_model::{Gaps, Reason};

/// The most network namespaces that are visited in a round.
const MOST_NAMESPACES: usize = 64;
/// Sockets of a kind read in one of them, at most.
const MOST_SOCKETS: usize = 16_384;
/// Listening sockets, peers, and peers of one process that are reported, at most.
const MOST_LISTENERS: usize = 4096;
/// Unix sockets among them, at most, and processes that share one.
const MOST_LOCAL: usize = 1024;
const MOST_HOLDERS: usize = 4;
const MOST_PEERS: usize = 256;
const MOST_PEERS_EACH: usize = 8;
/// The most connections that are listed one by one.
const MOST_CONNECTIONS: usize = 2048;

/// What to read.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) targets: Vec<Target>,
    pub(super) now_ns: u64,
    /// CPU time for descriptors.
    pub(super) purse_ns: u64,
    /// True where no later round reads the rest.
    pub(super) complete: bool,
}

/// A process whose descriptors were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub(super) process: Process,
    pub(super) netns: Option<u64>,
    pub(super) sockets: usize,
    pub(super) since_ns: u64,
}

/// Where a socket listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ListenAddress {
    Tcp(IpAddr, u16),
    Udp(IpAddr, u16),
    /// The path of a Unix socket.
    Unix(Arc<str>),
}

/// A listening socket.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    pub(super) process: Option<Process>,
    pub(super) netns: u64,
    pub(super) inode: u64,
    pub(super) address: ListenAddress,
    /// Pending connections and the backlog.
    pub(super) queues: Option<(u64, u64)>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) at_ns: u64,
    pub(super) owners: Vec<Owned>,
    /// None where no namespace could be read.
    pub(super) listeners: Option<Vec<Listener>>,
    pub(super) peers: Vec<(Key, Sum)>,
    /// How many of the listening sockets are Unix sockets.
    pub(super) local: usize,
    /// Connections whose processes are known.
    pub(super) connections: Vec<Connection>,
    pub(super) gaps: Gaps,
    pub(super) cpu_ns: u64,
}

/// Looks, and remembers what it saw.
#[derive(Debug)]
pub(super) struct Asker {
    root: Arc<Root>,
    owners: Owners,
    ledger: Ledger,
    shown: HashSet<Key>,
    buf: Vec<u8>,
}

/// Adds the listening sockets of a namespace for each process that has them; false where there are too many.
fn list(netns: u64, found: &Found, by_inode: &HashMap<u64, Vec<Process>>, answer: &mut Answer) -> bool {
    let listeners = answer.listeners.get_or_insert_default();
    for (inode, address, queues) in listening(found) {
        let owners = by_inode.get(&inode).filter(|owners| !owners.is_empty());
        let local = matches!(address, ListenAddress::Unix(_));
        let owners: Vec<_> = match owners {
            Some(owners) => owners.iter().copied().map(Some).collect(),
            // Unix sockets without an owner are dropped: they take no port.
            None if local => continue,
            None => vec![None],
        };
        for process in owners.into_iter().take(if local { MOST_HOLDERS } else { usize::MAX }) {
            if listeners.len() < MOST_LISTENERS && !(local && answer.local >= MOST_LOCAL) {
                listeners.push(Listener { process, netns, inode, address: address.clone(), queues });
                answer.local += usize::from(local);
            }
        }
    }
    listeners.len() < MOST_LISTENERS && answer.local < MOST_LOCAL
}

/// Every listening socket: its inode, where it listens, and its queues.
fn listening(found: &Found) -> impl Iterator<Item = (u64, ListenAddress, Option<(u64, u64)>)> {
    let tcp = |socket: &Socket| (socket.inode, ListenAddress::Tcp(socket.local.0, socket.local.1), Some(socket.queues));
    let udp = |socket: &Socket| (socket.inode, ListenAddress::Udp(socket.local.0, socket.local.1), None);
    // A socket without a port receives nothing.
    let bound = found.udp.iter().filter(|socket| socket.local.1 > 0);
    let local =
        found.local.iter().map(|local| (local.inode, ListenAddress::Unix(Arc::clone(&local.path)), Some(local.queues)));
    found.listeners.iter().map(tcp).chain(bound.map(udp)).chain(local)
}

impl Asker {
    pub(super) fn new(root: Arc<Root>) -> Self {
        let (owners, ledger) = (Owners::default(), Ledger::default());
        Self { root, owners, ledger, shown: HashSet::new(), buf: Vec::new() }
    }

    pub(super) fn round(&mut self, job: &Job) -> Answer {
        let begun = cpu_ns();
        self.owners.look(&self.root, &job.targets, job.now_ns, job.purse_ns);
        let mut answer = Answer { at_ns: self.root.monotonic_ns(), ..Answer::default() };
        let mut by_inode: HashMap<u64, Vec<Process>> = HashMap::new();
        for (process, owner) in self.owners.iter() {
            for &inode in &owner.inodes {
                by_inode.entry(inode).or_default().push(process);
            }
            if owner.listed == Some(Ok(())) {
                let (netns, since_ns) = (owner.netns, owner.since_ns);
                answer.owners.push(Owned { process, netns, sockets: owner.inodes.len(), since_ns });
            }
        }
        for owners in by_inode.values_mut() {
            owners.sort_unstable();
        }
        self.tell_gaps(job, &mut answer.gaps);
        self.ledger.begin();
        for (netns, pid) in self.namespaces(&mut answer.gaps) {
            if let Some(found) = self.sockets(netns, pid, &mut answer.gaps) {
                self.take((netns, pid), &found, &by_inode, &mut answer);
            }
        }
        self.ledger.finish(|process| self.owners.has(process));
        answer.peers = self.ledger.busiest(MOST_PEERS, MOST_PEERS_EACH, &self.shown);
        self.shown = answer.peers.iter().map(|peer| peer.0).collect();
        answer.cpu_ns = cpu_ns().saturating_sub(begun);
        answer
    }

    /// Network namespaces with a process in each that can be reached through: the own one first, zero where nothing is
    /// known of any.
    fn namespaces(&self, gaps: &mut Gaps) -> Vec<(u64, Option<u32>)> {
        let mut known: BTreeMap<u64, u32> = BTreeMap::new();
        for (process, owner) in self.owners.iter() {
            if let Some(netns) = owner.netns {
                let pid = known.entry(netns).or_insert(process.0);
                *pid = process.0.min(*pid);
            }
        }
        let own = self.own_namespace();
        let mut all: Vec<(u64, Option<u32>)> = own.map(|own| (own, None)).into_iter().collect();
        all.extend(known.into_iter().filter(|(netns, _)| Some(*netns) != own).map(|(netns, pid)| (netns, Some(pid))));
        if all.is_empty() {
            all.push((0, None));
        }
        if all.len() > MOST_NAMESPACES {
            let left = all.len() - MOST_NAMESPACES;
            gaps.add_many(
                "proc/*/ns/net",
                Reason::TimedOut,
                topotop_model::locale::needs::FEWER_NAMESPACES.english(),
                left as u64,
            );
            all.truncate(MOST_NAMESPACES);
        }
        all
    }

    /// The namespace that this program is in, of a running machine.
    fn own_namespace(&self) -> Option<u64> {
        let own = self.root.is_live() && !self.root.is_traced();
        let link = own.then(|| std::fs::read_link("/proc/self/ns/net").ok()).flatten()?;
        inode(link.to_str()?, "net:[")
    }

    fn sockets(&mut self, netns: u64, pid: Option<u32>, gaps: &mut Gaps) -> Option<Found> {
        if self.root.is_live() && !self.root.is_traced() {
            let asked = match pid {
                None => diag::here(MOST_SOCKETS),
                Some(pid) => self.root.open(format!("proc/{pid}/ns/net")).and_then(|file| {
                    let namespace = file.as_fd().try_clone_to_owned().map_err(|_| Reason::Exhausted)?;
                    diag::there(namespace, MOST_SOCKETS)
                }),
            };
            match asked {
                Ok(found) => return Some(found),
                // The last process in it has ended.
                Err(Reason::Vanished | Reason::NotFound) => return None,
                Err(reason) => {
                    let denied;
                    let needs = match (reason, pid) {
                        (Reason::PermissionDenied, Some(_)) => {
                            denied = rights::needs(&self.root, Needs::Namespaces);
                            &denied
                        }
                        (Reason::NotSupported, _) => "CONFIG_INET_DIAG, the modules tcp_diag and udp_diag",
                        _ => "",
                    };
                    let whose = if pid.is_some() { "INET_DIAG in other network namespaces" } else { "INET_DIAG" };
                    gaps.add(whose, reason, needs);
                }
            }
        }
        let directory = match pid {
            Some(pid) => format!("proc/{pid}/net"),
            None => "proc/net".to_owned(),
        };
        match text::read(&self.root, &directory, MOST_SOCKETS, &mut self.buf) {
            Ok(found) => Some(found),
            Err(reason) => {
                let needs = if netns == 0 && !self.root.is_live() {
                    topotop_model::locale::needs::CAPTURE_INCLUDES.english()
                } else {
                    ""
                };
                gaps.add("proc/*/net/tcp", reason, needs);
                None
            }
        }
    }

    fn take(
        &mut self,
        (netns, through): (u64, Option<u32>),
        found: &Found,
        by_inode: &HashMap<u64, Vec<Process>>,
        answer: &mut Answer,
    ) {
        let complete = list(netns, found, by_inode, answer);
        let ports: HashSet<u16> = found.listeners.iter().map(|socket| socket.local.1).collect();
        self.ledger.add(netns, &found.connections, found.cut, |port| ports.contains(&port), by_inode);
        connected((netns, through), found, &ports, by_inode, &mut answer.connections);
        if found.cut || found.local_cut || !complete {
            answer.gaps.add(
                "sockets beyond the first",
                Reason::TimedOut,
                topotop_model::locale::needs::SOCKETS.english(),
            );
        }
        if let Some(reason) = found.udp_failed {
            answer.gaps.add("INET_DIAG of UDP", reason, topotop_model::locale::needs::UDP_DIAG.english());
        }
        if let Some(reason) = found.local_failed {
            answer.gaps.add("UNIX_DIAG", reason, topotop_model::locale::needs::UNIX_DIAG.english());
        }
    }

    fn tell_gaps(&self, job: &Job, gaps: &mut Gaps) {
        for (_, owner) in self.owners.iter() {
            match owner.listed {
                // What is gone by now is no gap.
                Some(Err(Reason::NotFound | Reason::Vanished)) if self.root.is_live() => {}
                Some(Err(Reason::NotFound)) => {
                    gaps.add("proc/*/fd", Reason::NotFound, topotop_model::locale::needs::CAPTURE_INCLUDES.english());
                }
                Some(Err(reason)) => {
                    gaps.add("proc/*/fd", reason, &rights::needs(&self.root, Needs::PtraceAndFiles));
                }
                _ => {}
            }
        }
        let unseen = self.owners.unseen() as u64;
        if job.complete && unseen > 0 {
            gaps.add_many("proc/*/fd", Reason::TimedOut, "more time (processes are read in rotation)", unseen);
        }
        if self.owners.cut {
            gaps.add(
                "proc/*/fd beyond the first",
                Reason::TimedOut,
                topotop_model::locale::needs::FEWER_DESCRIPTORS.english(),
            );
        }
    }
}

/// The connections of a namespace with their processes.
fn connected(
    (netns, through): (u64, Option<u32>),
    found: &Found,
    ports: &HashSet<u16>,
    by_inode: &HashMap<u64, Vec<Process>>,
    connections: &mut Vec<Connection>,
) {
    for socket in &found.connections {
        for &process in by_inode.get(&socket.inode).into_iter().flatten() {
            if connections.len() >= MOST_CONNECTIONS {
                return;
            }
            let inbound = ports.contains(&socket.local.1);
            let name = socket.remote.0.to_string().into();
            let (inode, local, remote) = (socket.inode, socket.local, socket.remote);
            connections.push(Connection { process, netns, through, inode, local, remote, inbound, name });
        }
    }
}
