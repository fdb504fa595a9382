//! What TCP, UDP and connection tracking count, by network namespace, and tables of the kernel that can be full.

mod counters;

use crate::files::note;
use crate::parse::{fields, number};
use crate::root::Kept;
use crate::sockets::{inode, ports};
use crate::{CALM_NS, Collector, Cx};
use std::collections::HashMap;
use topotop_model::tables::network::NetStats;
use topotop_model::{Draft, Gaps, Num, Reason, Slots, State, Table as _};

/// How often it is read, in ns: of the own namespace three files, of each other one three more.
const PERIOD_NS: u64 = 2_000_000_000;
/// The most namespaces besides the own one: those of the processes that use CPUs most.
const MOST: usize = 8;

/// Connections of a namespace from which on they may be short of ports.
const CONNECTIONS: u64 = 400;

/// Reads `net/snmp`, `net/netstat` and `net/stat/nf_conntrack`.
#[derive(Debug, Default)]
pub(crate) struct NetstatCollector {
    slots: Slots<u64>,
    own: Option<u64>,
    ticks: HashMap<(u32, u64), u64>,
    kept: [Option<Kept>; 2],
}

impl Collector for NetstatCollector {
    fn name(&self) -> &'static str {
        "netstat"
    }

    fn period_ns(&self) -> u64 {
        PERIOD_NS
    }

    fn calm_period_ns(&self) -> u64 {
        CALM_NS
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        self.tables(cx, draft);
        let others = self.others(cx, draft);
        draft.net_stats.begin(cx.now_ns);
        self.slots.begin();
        let mut gaps = Gaps::default();
        let own = self.own.unwrap_or_default();
        let all = std::iter::once((own, None)).chain(others);
        for (netns, pid) in all {
            let values = match pid {
                None => counters::read(cx, "proc/net", &mut gaps),
                Some(pid) => counters::read(cx, &format!("proc/{pid}/net"), &mut gaps),
            };
            let Some(values) = values else { continue };
            let table = draft.net_stats.data_mut();
            let (slot, _) = self.slots.slot(table, &netns);
            table.netns.set(slot, netns);
            table.pid.set_or_none(slot, pid.map(u64::from));
            table.read_at_ns.set(slot, cx.root.monotonic_ns());
            let ports = ports(cx, netns, pid);
            table.ports.set_or_clear(slot, ports.map(|ports| ports.0));
            table.ports_limit.set_or_clear(slot, ports.map(|ports| ports.1));
            for (column, value) in columns(table).into_iter().zip(values) {
                column.set_or_clear(slot, value);
            }
        }
        self.slots.finish(draft.net_stats.data_mut(), |_, _| {});
        draft.net_stats.gaps = gaps;
        if draft.net_stats.data().rows().is_empty() {
            draft.net_stats.gaps.add("proc/net/netstat", Reason::NotFound, "");
            draft.net_stats.state = State::Missing;
        }
    }
}

impl NetstatCollector {
    /// Namespaces other than the own one with a process in each, those whose processes used CPUs most first.
    fn others(&mut self, cx: &Cx<'_>, draft: &Draft) -> Vec<(u64, Option<u32>)> {
        if self.own.is_none() && cx.root.is_live() {
            self.own = cx.root.link("proc/self/ns/net").ok().and_then(|link| inode(link.to_str()?, "net:["));
        }
        let (owners, processes) = (draft.socket_owners.data(), draft.processes.data());
        let mut ticks = HashMap::new();
        for slot in processes.rows().iter() {
            let (Some(pid), Some(start)) = (processes.pid.id(slot).value(), processes.starttime.value(slot)) else {
                continue;
            };
            let used = [&processes.utime, &processes.stime].map(|column| column.value(slot).unwrap_or(0));
            ticks.insert((pid, start), used[0].saturating_add(used[1]));
        }
        let mut found: HashMap<u64, (u64, u32)> = HashMap::new();
        for slot in owners.rows().iter() {
            let (Some(netns), Some(pid)) = (owners.netns.value(slot), owners.pid.id(slot).value()) else { continue };
            let process = (pid, owners.starttime.value(slot).unwrap_or_default());
            let Some(&now) = ticks.get(&process).filter(|_| Some(netns) != self.own) else { continue };
            let gained = self.ticks.get(&process).map_or(0, |before| now.saturating_sub(*before));
            let entry = found.entry(netns).or_insert((0, pid));
            *entry = (entry.0.saturating_add(gained), entry.1.min(pid));
        }
        self.ticks = ticks;
        let mut found: Vec<(u64, u64, u32)> =
            found.into_iter().map(|(netns, (used, pid))| (used, netns, pid)).collect();
        found.sort_unstable_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
        found.truncate(MOST);
        found.into_iter().map(|(_, netns, pid)| (netns, Some(pid))).collect()
    }

    /// `file-nr` and the table of tracked connections.
    fn tables(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let section = &mut draft.kernel_tables;
        section.begin(cx.now_ns);
        let slot = section.data_mut().only();
        section.data_mut().forget(slot);
        let [files, tracked] = &mut self.kept;
        let read = |kept: &mut Option<Kept>, path: &str, cx: &mut Cx<'_>, gaps: &mut Gaps| {
            let read = crate::files::read(kept, path, cx);
            if let Err(reason) = read {
                note(gaps, path, reason);
            }
            read.is_ok()
        };
        if read(files, "proc/sys/fs/file-nr", cx, &mut section.gaps) {
            let mut parts = fields(cx.buf.trim_ascii_end()).map(number);
            let used = parts.next().flatten();
            // Files that are allocated and free: none since Linux 2.6.
            let free = parts.next().flatten().unwrap_or(0);
            section.data_mut().files.set_or_clear(slot, used.map(|used| used.saturating_sub(free)));
            section.data_mut().files_limit.set_or_clear(slot, parts.next().flatten());
        }
        if read(tracked, "proc/sys/net/netfilter/nf_conntrack_count", cx, &mut section.gaps) {
            section.data_mut().conntrack.set_or_clear(slot, number(cx.buf.trim_ascii_end()));
            if cx.root.read("proc/sys/net/netfilter/nf_conntrack_max", cx.buf).is_ok() {
                section.data_mut().conntrack_limit.set_or_clear(slot, number(cx.buf.trim_ascii_end()));
            }
        }
    }
}

/// The ports that connections to one destination take, where they could run out; nothing is asked before.
fn ports(cx: &mut Cx<'_>, netns: u64, pid: Option<u32>) -> Option<ports::Ports> {
    let net = pid.map_or_else(|| "proc/net".to_owned(), |pid| format!("proc/{pid}/net"));
    cx.root.read(format!("{net}/sockstat"), cx.buf).ok()?;
    let connections = ports::connections(cx.buf).filter(|connections| *connections >= CONNECTIONS)?;
    let live = cx.root.is_live() && !cx.root.is_traced() && (netns != 0 || pid.is_none());
    live.then(|| ports::most(cx.root, pid, connections)).flatten()
}

/// The columns in the order of the counters.
fn columns(table: &mut NetStats) -> [&mut Num; counters::COUNT] {
    [
        &mut table.in_segs,
        &mut table.out_segs,
        &mut table.retrans_segs,
        &mut table.active_opens,
        &mut table.passive_opens,
        &mut table.attempt_fails,
        &mut table.established,
        &mut table.listen_overflows,
        &mut table.listen_drops,
        &mut table.timeouts,
        &mut table.syn_retrans,
        &mut table.backlog_drops,
        &mut table.rcvq_drops,
        &mut table.memory_pressures,
        &mut table.udp_in,
        &mut table.udp_rcvbuf_errors,
        &mut table.udp_sndbuf_errors,
        &mut table.conntrack_drops,
        &mut table.conntrack_early_drops,
        &mut table.conntrack_entries,
    ]
}

#[cfg(test)]
mod tests {
    use super::NetstatCollector;
    use crate::live::{Captured, Live};
    use crate::testing::put;
    use crate::{Collector as _, Cx, Demand, Root};
    use std::sync::Arc;
    use topotop_model::{Draft, State, Table as _};

    fn sample(dir: &std::path::Path, draft: &mut Draft) {
        let root = Arc::new(Root::at(dir).expect("opened"));
        let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&root) });
        let mut cx = Cx { root: &root, live: &live, now_ns: 1, demand: &Demand::default(), buf: &mut Vec::new() };
        NetstatCollector::default().collect(&mut cx, draft);
    }

    #[test]
    fn namespaces_of_processes_are_read_through_them() {
        let dir = tempfile::tempdir().expect("a directory");
        let tcp = |out| format!("Tcp: OutSegs RetransSegs\nTcp: {out} 3\n");
        put(dir.path(), "proc/net/snmp", tcp(100));
        put(dir.path(), "proc/77/net/snmp", tcp(200));
        put(dir.path(), "proc/77/net/netstat", "TcpExt: ListenOverflows ListenDrops\nTcpExt: 5 6\n");
        put(dir.path(), "proc/sys/fs/file-nr", "1984\t0\t9223372036854775807\n");
        put(dir.path(), "proc/sys/net/netfilter/nf_conntrack_count", "900\n");
        put(dir.path(), "proc/sys/net/netfilter/nf_conntrack_max", "1000\n");
        let mut draft = Draft::default();
        for pid in [77, 78] {
            let table = draft.processes.data_mut();
            let slot = table.insert();
            table.pid.set(slot, pid);
            table.starttime.set(slot, 1);
            let table = draft.socket_owners.data_mut();
            let slot = table.insert();
            table.pid.set(slot, pid);
            table.starttime.set(slot, 1);
            table.netns.set(slot, 4026);
        }
        sample(dir.path(), &mut draft);
        let table = draft.net_stats.data();
        let rows: Vec<_> = table.rows().iter().map(|row| (table.netns.value(row), table.pid.value(row))).collect();
        assert_eq!(rows, [(Some(0), None), (Some(4026), Some(77))], "one of two in the same");
        assert_eq!((table.out_segs.value(0), table.out_segs.value(1)), (Some(100), Some(200)));
        assert_eq!((table.listen_overflows.value(0), table.listen_overflows.value(1)), (None, Some(5)));
        let tables = draft.kernel_tables.data();
        assert_eq!((tables.files.value(0), tables.files_limit.value(0)), (Some(1984), Some(i64::MAX as u64)));
        assert_eq!((tables.conntrack.value(0), tables.conntrack_limit.value(0)), (Some(900), Some(1000)));
    }

    #[test]
    fn a_tree_without_them_says_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut draft = Draft::default();
        sample(dir.path(), &mut draft);
        assert_eq!(draft.net_stats.state, State::Missing);
        assert!(!draft.net_stats.gaps.is_empty());
    }
}
