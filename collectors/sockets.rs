//! Sockets: who listens where, and with whom processes talk. Rarely, by a worker, and within a budget: on a machine with
//! many sockets less often.

mod ask;
mod diag;
mod line;
mod local;
mod message;
mod owners;
mod peers;
pub(crate) mod ports;
mod text;

use crate::worker::Worker;
use crate::{Collector, Cx};
use ask::{Answer, Asker, Job, ListenAddress, Listener};
pub(crate) use line::{Connection, Connections, Line};
use message::COUNTERS;
use owners::Target;
pub(crate) use owners::{cpu_ns, inode};
use peers::{Key, Process};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use text::datagrams;
use topotop_model::tables::sockets::Peers;
use topotop_model::{Draft, Num, Reason, Slots, State, Table as _};

/// The second round comes early, so that there are rates; the others as far apart as this, or as a budget of one core's
/// hundredth needs, in ns.
const SECOND_NS: u64 = 2_000_000_000;
const PERIOD_NS: u64 = 5_000_000_000;
const LONGEST_NS: u64 = 60_000_000_000;
/// While no other process uses this part of a CPU, connections are of little interest: the time between rounds, in ns.
const CALM_NS: u64 = 60_000_000_000;
const CALM_PART: u64 = 100;
/// A tick of a process's times in ns: USER_HZ is 100 wherever the kernel runs.
const TICK_NS: u64 = 10_000_000;
const BUDGET: u64 = 100;
/// CPU time for descriptors in a round, in one that is complete and in others, in ns.
const COMPLETE_PURSE_NS: u64 = 250_000_000;
const PURSE_NS: u64 = 20_000_000;
/// How long a complete reading waits.
const PATIENCE: Duration = Duration::from_millis(300);
/// A round that takes longer is overdue, in ns.
const OVERDUE_NS: u64 = 10_000_000_000;
/// PF_KTHREAD: kernel threads have no descriptors.
const PF_KTHREAD: u64 = 0x0020_0000;

/// Which row of listening sockets.
type ListenerKey = (Option<Process>, u64, u64, ListenAddress);

/// Looks at sockets.
#[derive(Debug, Default)]
pub(crate) struct SocketCollector {
    worker: Option<Worker<Job, Answer>>,
    asked_ns: Option<u64>,
    rounds: u64,
    wait_ns: u64,
    connections: Connections,
    ticks: HashMap<Process, u64>,
    owners: Slots<Process>,
    listeners: Slots<ListenerKey>,
    peers: Slots<Key>,
}

impl Collector for SocketCollector {
    fn name(&self) -> &'static str {
        "sockets"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        while let Some(answer) = self.worker.as_mut().and_then(Worker::take) {
            self.publish(&answer, cx.now_ns, draft);
        }
        let since = self.asked_ns.map(|asked| cx.now_ns.saturating_sub(asked));
        if self.worker.as_ref().is_some_and(|worker| worker.pending() > 0) {
            if since.is_some_and(|since| since > OVERDUE_NS) {
                late(draft, cx.now_ns);
            }
            return;
        }
        if since.is_some_and(|since| since < self.wait_ns) && !cx.demand.complete {
            return;
        }
        let targets = self.targets(draft);
        let others = targets.iter().filter(|target| target.process.0 != std::process::id());
        let most = others.map(|target| target.ticks).max().unwrap_or_default().saturating_mul(TICK_NS);
        let calm = self.rounds > 1 && since.is_some_and(|since| since < CALM_NS && most < since / CALM_PART);
        if calm && !cx.demand.complete {
            // Looked at again soon: ticks count from the last round on.
            self.wait_ns = since.unwrap_or_default().saturating_add(SECOND_NS);
            return;
        }
        self.used_until_now(draft);
        if self.worker.is_none() {
            let mut asker = Asker::new(Arc::clone(cx.root));
            self.worker = Worker::spawn("sockets", move |job: Job| asker.round(&job)).ok();
        }
        let job = Job {
            targets,
            now_ns: cx.now_ns,
            purse_ns: if cx.demand.complete { COMPLETE_PURSE_NS } else { PURSE_NS },
            complete: cx.demand.complete,
        };
        let Some(worker) = &mut self.worker else { return };
        worker.submit(job);
        self.asked_ns = Some(cx.now_ns);
        self.wait_ns = PERIOD_NS;
        // What is captured or asked for once has to be there at once; a captured machine runs nothing meanwhile.
        let patience = if cx.root.is_live() && !cx.root.is_traced() { PATIENCE } else { 10 * PATIENCE };
        if let Some(answer) = cx.demand.complete.then(|| worker.wait(patience)).flatten() {
            self.publish(&answer, cx.now_ns, draft);
        }
    }
}

/// The worker hangs: what there is is old.
fn late(draft: &mut Draft, now_ns: u64) {
    if draft.listeners.state != State::Missing {
        draft.listeners.begin(now_ns);
        draft.listeners.gaps.add("INET_DIAG", Reason::TimedOut, "");
        draft.listeners.state = State::Missing;
        draft.peers.begin(now_ns);
        draft.peers.state = State::Missing;
    }
}

/// Processes that may have sockets, with the ticks that they have used.
fn owners_to_be(draft: &Draft) -> impl Iterator<Item = (Process, u64)> {
    let table = draft.processes.data();
    table.rows().iter().filter_map(|slot| {
        let kernel = table.flags.value(slot).is_some_and(|flags| flags & PF_KTHREAD != 0);
        let pid = table.pid.id(slot).value().filter(|_| !kernel)?;
        let ticks = table.utime.value(slot).unwrap_or(0).saturating_add(table.stime.value(slot).unwrap_or(0));
        Some(((pid, table.starttime.value(slot).unwrap_or_default()), ticks))
    })
}

impl SocketCollector {
    /// One that tells others of the connections that it found.
    pub(crate) fn new(connections: Connections) -> Self {
        Self { connections, ..Self::default() }
    }

    /// Every process that may have sockets, with what it used of CPUs since the last round.
    fn targets(&self, draft: &Draft) -> Vec<Target> {
        let used = |(process, ticks): (Process, u64)| {
            let ticks = self.ticks.get(&process).map_or(ticks, |before| ticks.saturating_sub(*before));
            Target { process, ticks }
        };
        owners_to_be(draft).map(used).collect()
    }

    /// From here on counts what processes use.
    fn used_until_now(&mut self, draft: &Draft) {
        self.ticks.clear();
        self.ticks.extend(owners_to_be(draft));
    }

    fn publish(&mut self, answer: &Answer, now_ns: u64, draft: &mut Draft) {
        self.rounds += 1;
        let least = if self.rounds == 1 { SECOND_NS } else { PERIOD_NS };
        self.wait_ns = answer.cpu_ns.saturating_mul(BUDGET).clamp(least, LONGEST_NS);
        self.put_owners(answer, now_ns, draft);
        draft.listeners.begin(now_ns);
        draft.listeners.gaps = answer.gaps.clone();
        draft.peers.begin(now_ns);
        if let Some(listeners) = &answer.listeners {
            self.put_listeners(listeners, draft);
        } else {
            (draft.listeners.state, draft.peers.state) = (State::Missing, State::Missing);
        }
        self.put_peers(answer, draft.peers.data_mut());
        self.connections.set(answer.connections.clone());
    }

    fn put_owners(&mut self, answer: &Answer, now_ns: u64, draft: &mut Draft) {
        draft.socket_owners.begin(now_ns);
        let table = draft.socket_owners.data_mut();
        self.owners.begin();
        for owned in &answer.owners {
            let (slot, _) = self.owners.slot(table, &owned.process);
            table.pid.set(slot, u64::from(owned.process.0));
            table.starttime.set(slot, owned.process.1);
            table.read_at_ns.set(slot, owned.since_ns);
            table.netns.set_or_clear(slot, owned.netns);
            table.sockets.set(slot, owned.sockets as u64);
        }
        self.owners.finish(table, |_, _| {});
    }

    fn put_listeners(&mut self, listeners: &[Listener], draft: &mut Draft) {
        let table = draft.listeners.data_mut();
        self.listeners.begin();
        for listener in listeners {
            let key = (listener.process, listener.netns, listener.inode, listener.address.clone());
            let (slot, fresh) = self.listeners.slot(table, &key);
            if fresh {
                table.inode.set(slot, listener.inode);
                table.netns.set(slot, listener.netns);
                let protocol = match &listener.address {
                    ListenAddress::Tcp(address, port) | ListenAddress::Udp(address, port) => {
                        table.address.set(slot, &address.to_string());
                        table.port.set(slot, u64::from(*port));
                        if matches!(listener.address, ListenAddress::Udp(..)) { "udp" } else { "tcp" }
                    }
                    ListenAddress::Unix(path) => {
                        table.path.set(slot, path);
                        "unix"
                    }
                };
                table.protocol.set(slot, protocol);
                if let Some((pid, starttime)) = listener.process {
                    table.pid.set(slot, u64::from(pid));
                    table.starttime.set(slot, starttime);
                }
            }
            if let Some((queued, backlog)) = listener.queues {
                table.queued.set(slot, queued);
                table.backlog.set(slot, backlog);
            }
        }
        self.listeners.finish(table, |_, _| {});
    }

    fn put_peers(&mut self, answer: &Answer, table: &mut Peers) {
        self.peers.begin();
        for (key, sum) in &answer.peers {
            let (slot, fresh) = self.peers.slot(table, key);
            if fresh {
                table.pid.set(slot, u64::from(key.process.0));
                table.starttime.set(slot, key.process.1);
                table.address.set(slot, &key.address.to_string());
                table.port.set(slot, u64::from(key.port));
                table.inbound.set(slot, u64::from(key.inbound));
            }
            table.read_at_ns.set(slot, answer.at_ns);
            table.connections.set(slot, sum.connections);
            table.rtt_us.set_or_clear(slot, sum.rtt_us);
            table.min_rtt_us.set_or_clear(slot, sum.min_rtt_us);
            table.unacked.set_or_clear(slot, sum.unacked);
            table.awaited.set_or_clear(slot, sum.awaited);
            for (column, value) in counters(table).into_iter().zip(sum.counters) {
                column.set_or_clear(slot, value);
            }
        }
        self.peers.finish(table, |_, _| {});
    }
}

/// The columns in the order of a connection's counters.
fn counters(table: &mut Peers) -> [&mut Num; COUNTERS] {
    [
        &mut table.retransmits,
        &mut table.bytes_out,
        &mut table.bytes_in,
        &mut table.segs_out,
        &mut table.segs_in,
        &mut table.data_segs_out,
        &mut table.data_segs_in,
        &mut table.busy_us,
    ]
}

#[cfg(test)]
mod tests;
