//! Connections by process and peer: the increments since the last reading are added up, so that a sum only grows.

use super::message::{COUNTERS, Socket};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;

/// The counters of a connection, as far as they are known.
type Counters = [Option<u64>; COUNTERS];

/// A process by pid and start.
pub(super) type Process = (u32, u64);

/// The most sums that are remembered.
const MOST_SUMS: usize = 4096;
/// Which of the counters are segments with data, sent and received.
const DATA_OUT: usize = 5;
const DATA_IN: usize = 6;
/// Processes that share one connection, at most: children inherit them.
const MOST_OWNERS: usize = 4;

/// Whose connections with whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) process: Process,
    pub(super) address: IpAddr,
    pub(super) port: u16,
    pub(super) inbound: bool,
}

/// What is known of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) connections: u64,
    pub(super) rtt_us: Option<u64>,
    pub(super) min_rtt_us: Option<u64>,
    pub(super) unacked: Option<u64>,
    pub(super) awaited: Option<u64>,
    pub(super) counters: [Option<u64>; COUNTERS],
    /// Segments, or bytes where these are not known, since the last reading.
    pub(super) gained: u64,
    told: u64,
    rtts: u64,
    /// The reading that it began with.
    born: u64,
}

/// Adds up over looks.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Counters of each connection by namespace and inode, and the reading that saw it last.
    last: HashMap<(u64, u64), (Counters, u64)>,
    /// Namespaces whose connections were all seen at the last reading.
    whole: HashSet<u64>,
    sums: BTreeMap<Key, Sum>,
    look: u64,
}

impl Ledger {
    /// Begins a reading: the current values are dropped, the sums stay.
    pub(super) fn begin(&mut self) {
        self.look += 1;
        for sum in self.sums.values_mut() {
            *sum = Sum { counters: sum.counters, born: sum.born, ..Sum::default() };
        }
    }

    /// Takes in the connections of a namespace.
    pub(super) fn add(
        &mut self,
        netns: u64,
        connections: &[Socket],
        cut: bool,
        listens: impl Fn(u16) -> bool,
        owners: &HashMap<u64, Vec<Process>>,
    ) {
        let was_whole = self.whole.remove(&netns);
        for socket in connections {
            let now = socket.info.map(|info| info.counters).unwrap_or_default();
            let known = self.last.insert((netns, socket.inode), (now, self.look)).map(|last| last.0);
            let inbound = listens(socket.local.1);
            let port = if inbound { socket.local.1 } else { socket.remote.1 };
            for &process in owners.get(&socket.inode).into_iter().flatten().take(MOST_OWNERS) {
                let key = Key { process, address: socket.remote.0, port, inbound };
                if self.sums.len() >= MOST_SUMS && !self.sums.contains_key(&key) {
                    continue;
                }
                // Of the first look all counts: a sum has to begin somewhere. Later a connection that is new did all
                // that it did since, unless it may have been overlooked.
                let sum = self.sums.entry(key).or_insert(Sum { born: self.look, ..Sum::default() });
                let all = sum.born == self.look || was_whole;
                sum.add(socket, now, known, all);
            }
        }
        if !cut {
            self.whole.insert(netns);
        }
    }

    /// Drops what was not seen in this reading, and sums of processes that ended.
    pub(super) fn finish(&mut self, is_there: impl Fn(Process) -> bool) {
        let look = self.look;
        self.last.retain(|_, last| last.1 == look);
        self.sums.retain(|key, _| is_there(key.process));
        for sum in self.sums.values_mut() {
            sum.rtt_us = sum.rtts.checked_div(sum.told);
        }
    }

    /// The sums of which there is a connection, those that gained most first; what was shown before goes before what is as
    /// busy.
    pub(super) fn busiest(&self, most: usize, of_each: usize, shown: &HashSet<Key>) -> Vec<(Key, Sum)> {
        let mut all: Vec<(&Key, &Sum)> = self.sums.iter().filter(|(_, sum)| sum.connections > 0).collect();
        let worth = |key: &Key, sum: &Sum| sum.gained.saturating_mul(if shown.contains(key) { 2 } else { 1 });
        all.sort_by_key(|(key, sum)| (std::cmp::Reverse(worth(key, sum)), **key));
        let mut taken: HashMap<Process, usize> = HashMap::new();
        all.retain(|(key, _)| {
            let count = taken.entry(key.process).or_default();
            *count += 1;
            *count <= of_each
        });
        all.truncate(most);
        all.into_iter().map(|(key, sum)| (*key, *sum)).collect()
    }
}

impl Sum {
    fn add(
        &mut self,
        socket: &Socket,
        now: [Option<u64>; COUNTERS],
        known: Option<[Option<u64>; COUNTERS]>,
        all: bool,
    ) {
        self.connections += 1;
        let Some(info) = socket.info else { return };
        self.unacked = Some(self.unacked.unwrap_or(0).saturating_add(info.unacked));
        if let Some((sent_ms, received_ms)) = info.sent_ms.zip(info.received_ms) {
            // Who has received nothing yet tells when the connection was made.
            let more = now.get(DATA_OUT).zip(now.get(DATA_IN)).is_some_and(|(sent, received)| sent > received);
            let awaits = sent_ms < received_ms || sent_ms == received_ms && more;
            self.awaited = Some(self.awaited.unwrap_or(0).saturating_add(u64::from(awaits)));
        }
        self.told += 1;
        self.rtts = self.rtts.saturating_add(info.rtt_us);
        self.min_rtt_us = [self.min_rtt_us, info.min_rtt_us].into_iter().flatten().min();
        for (at, (sum, now)) in self.counters.iter_mut().zip(now).enumerate() {
            let before = known.map(|known| known.get(at).copied().flatten());
            let gained = match (now, before) {
                (Some(now), Some(Some(before))) => now.saturating_sub(before),
                (Some(now), None) if all => now,
                (Some(_), _) => 0,
                (None, _) => continue,
            };
            *sum = Some(sum.unwrap_or(0).saturating_add(gained));
            // Segments out and in.
            if at == 3 || at == 4 {
                self.gained = self.gained.saturating_add(gained);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::{ESTABLISHED, Info, Socket};
    use super::{Key, Ledger};
    use std::collections::{HashMap, HashSet};
    use std::net::{IpAddr, Ipv4Addr};

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

    fn connection(inode: u64, local: u16, remote: u16, segments: u64, rtt_us: u64) -> Socket {
        let info =
            Info { rtt_us, min_rtt_us: Some(rtt_us), unacked: 1, counters: [Some(segments); 8], ..Info::default() };
        let (local, remote) = ((HERE, local), (THERE, remote));
        Socket { state: ESTABLISHED, local, remote, inode, queues: (0, 0), info: Some(info) }
    }

    fn look(ledger: &mut Ledger, connections: &[Socket], cut: bool) -> Vec<(Key, super::Sum)> {
        let owners: HashMap<u64, Vec<(u32, u64)>> = (1..10).map(|inode| (inode, vec![(7, 70)])).collect();
        ledger.begin();
        ledger.add(1, connections, cut, |port| port == 5672, &owners);
        ledger.finish(|process| process == (7, 70));
        ledger.busiest(10, 10, &HashSet::new())
    }

    #[test]
    fn sums_only_grow_whoever_comes_and_goes() {
        let mut ledger = Ledger::default();
        let found =
            look(&mut ledger, &[connection(1, 40_000, 5432, 100, 200), connection(2, 40_001, 5432, 50, 400)], false);
        assert_eq!(found.len(), 1);
        let (key, sum) = found[0];
        assert_eq!((key.port, key.inbound, sum.connections, sum.rtt_us), (5432, false, 2, Some(300)));
        assert_eq!((sum.counters[3], sum.min_rtt_us, sum.unacked), (Some(150), Some(200), Some(2)));
        // One is gone, one went on, one is new.
        let found =
            look(&mut ledger, &[connection(1, 40_000, 5432, 130, 200), connection(3, 40_002, 5432, 5, 200)], false);
        assert_eq!((found[0].1.counters[3], found[0].1.connections, found[0].1.gained), (Some(185), 2, 70));
        assert!(look(&mut ledger, &[], false).is_empty());
        let found = look(&mut ledger, &[connection(4, 40_002, 5432, 5, 200)], false);
        assert_eq!(found[0].1.counters[3], Some(190), "it did not begin again");
    }

    #[test]
    fn what_may_have_been_overlooked_is_not_new() {
        let mut ledger = Ledger::default();
        look(&mut ledger, &[connection(1, 40_000, 5432, 100, 200)], true);
        let found =
            look(&mut ledger, &[connection(1, 40_000, 5432, 101, 200), connection(2, 1, 5432, 1_000_000, 1)], false);
        assert_eq!(found[0].1.counters[3], Some(101));
    }

    #[test]
    fn accepted_connections_go_by_the_own_port() {
        let mut ledger = Ledger::default();
        let both =
            [connection(1, 5672, 33_000, 9, 1), connection(2, 5672, 33_001, 9, 1), connection(3, 33_002, 80, 1, 1)];
        let found = look(&mut ledger, &both, false);
        let told: Vec<_> = found.iter().map(|(key, sum)| (key.port, key.inbound, sum.connections)).collect();
        assert_eq!(told, [(5672, true, 2), (80, false, 1)], "the busiest first");
    }
}
