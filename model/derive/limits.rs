//! What network namespaces count, and tables of the kernel that can be full.

use super::rates::Pair;
use crate::counter::{gain, per_second};
use crate::frame::{Frame, KernelTables, NetNamespace, Shaper};
use crate::tables::network::{NetStats, Shapers};
use crate::{Known, Num, Table, Window};

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    frame.kernel_tables = tables(window, frame);
    let Some(pair) = Pair::new(&window.now.net_stats, &window.before.net_stats) else { return };
    let shapers = Pair::new(&window.now.shapers, &window.before.shapers);
    let of = |slot| {
        let mut namespace = namespace(pair, slot);
        namespace.shapers = shapers.map(|pair| shaped(pair, namespace.netns)).unwrap_or_default();
        namespace
    };
    frame.net_namespaces = pair.now.rows().iter().map(of).collect();
    frame.net_namespaces.sort_by_key(|row| (row.pid.value().is_some(), row.netns));
}

fn namespace(pair: Pair<'_, NetStats>, slot: usize) -> NetNamespace {
    let table = pair.now;
    let elapsed = pair.before(slot).and_then(|before| {
        gain(before.read_at_ns.value(slot)?, table.read_at_ns.value(slot)?).filter(|&elapsed| elapsed > 0)
    });
    let rate = |column: fn(&NetStats) -> &Num| per_second(pair.gain(slot, column)?, elapsed?);
    let sum = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    };
    NetNamespace {
        netns: table.netns.value(slot).unwrap_or_default(),
        pid: table.pid.id(slot),
        established: table.established.get(slot),
        in_segs_per_second: rate(|table| &table.in_segs),
        out_segs_per_second: rate(|table| &table.out_segs),
        retrans_segs_per_second: rate(|table| &table.retrans_segs),
        active_opens_per_second: rate(|table| &table.active_opens),
        passive_opens_per_second: rate(|table| &table.passive_opens),
        listen_overflows_per_second: rate(|table| &table.listen_overflows),
        listen_drops_per_second: rate(|table| &table.listen_drops),
        timeouts_per_second: rate(|table| &table.timeouts),
        syn_retrans_per_second: rate(|table| &table.syn_retrans),
        socket_drops_per_second: sum(rate(|table| &table.backlog_drops), rate(|table| &table.rcvq_drops)),
        udp_in_per_second: rate(|table| &table.udp_in),
        udp_rcvbuf_errors_per_second: rate(|table| &table.udp_rcvbuf_errors),
        conntrack_drops_per_second: sum(
            rate(|table| &table.conntrack_drops),
            rate(|table| &table.conntrack_early_drops),
        ),
        conntrack_entries: table.conntrack_entries.get(slot),
        ports: table.ports.get(slot),
        ports_limit: table.ports_limit.get(slot),
        shapers: Vec::new(),
    }
}

/// The interfaces of a namespace that are shaped.
fn shaped(pair: Pair<'_, Shapers>, netns: u64) -> Vec<Shaper> {
    let table = pair.now;
    let shaper = |slot| {
        let rate = |column: fn(&Shapers) -> &Num| {
            let before = pair.before(slot)?;
            let elapsed = gain(before.read_at_ns.value(slot)?, table.read_at_ns.value(slot)?)?;
            per_second(pair.gain(slot, column)?, Some(elapsed).filter(|&elapsed| elapsed > 0)?)
        };
        Shaper {
            name: table.name.or_empty(slot),
            kind: table.kind.or_empty(slot),
            bytes_per_second: rate(|table| &table.bytes),
            rate_bytes_per_second: table.rate.value(slot),
            backlog_bytes: table.backlog.value(slot),
            overlimits_per_second: rate(|table| &table.overlimits),
            drops_per_second: rate(|table| &table.drops),
        }
    };
    table.rows().iter().filter(|&slot| table.netns.value(slot) == Some(netns)).map(shaper).collect()
}

fn tables(window: &Window, frame: &Frame) -> KernelTables {
    let setting = |name: &str| {
        let found = frame.sysctls.iter().find(|(known, _)| **known == *name);
        found.and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let limits = [setting("kernel.threads-max"), setting("kernel.pid_max")];
    let mut tables = KernelTables {
        tasks: frame.host.tasks,
        tasks_limit: Known::or_missing(limits.into_iter().flatten().min()),
        ..KernelTables::default()
    };
    if let Some((table, slot)) = window.now.kernel_tables.value().and_then(|table| Some((table, table.first()?))) {
        tables.files = table.files.get(slot);
        tables.files_limit = table.files_limit.get(slot);
        tables.conntrack = table.conntrack.get(slot);
        tables.conntrack_limit = table.conntrack_limit.get(slot);
    }
    tables
}

#[cfg(test)]
mod tests {
    use crate::derive::Deriver;
    use crate::{Known, Snapshot, Table, Window};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    fn snapshot(second: u64, steps: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.stamp.mono_ns = second * SECOND;
        let section = Arc::make_mut(&mut snapshot.net_stats);
        section.begin(second * SECOND);
        for (netns, pid) in [(7, Some(70)), (1, None)] {
            let slot = section.data_mut().insert();
            let table = section.data_mut();
            table.netns.set(slot, netns);
            table.pid.set_or_none(slot, pid);
            table.read_at_ns.set(slot, second * SECOND + 5);
            table.out_segs.set(slot, 10 + steps * 1000);
            table.retrans_segs.set(slot, steps * 20);
            table.listen_overflows.set(slot, 3 + steps * 4);
            table.conntrack_drops.set(slot, steps * 2);
        }
        let section = Arc::make_mut(&mut snapshot.kernel_tables);
        section.begin(second * SECOND);
        let slot = section.data_mut().only();
        section.data_mut().conntrack.set(slot, 9);
        let section = Arc::make_mut(&mut snapshot.sysctls);
        section.begin(SECOND);
        for (name, value) in [("kernel.pid_max", "32768"), ("kernel.threads-max", "190000")] {
            let slot = section.data_mut().insert();
            section.data_mut().name.set(slot, name);
            section.data_mut().value.set(slot, value);
        }
        snapshot
    }

    #[test]
    fn rates_are_of_each_namespace() {
        let mut window = Window::default();
        window.push(snapshot(1, 0));
        window.push(snapshot(3, 1));
        let frame = Deriver::default().frame(&window);
        let [own, other] = &*frame.net_namespaces else { panic!("two namespaces") };
        assert_eq!((own.netns, own.pid, other.pid), (1, Known::None, Known::Value(70)));
        assert_eq!((own.listen_overflows_per_second, own.listen_drops_per_second), (Some(2.0), None));
        assert_eq!((other.retransmit_ratio(), other.conntrack_drops_per_second), (Some(0.02), Some(1.0)));
        let tables = &frame.kernel_tables;
        assert_eq!((tables.conntrack, tables.conntrack_limit), (Known::Value(9), Known::Missing));
        assert_eq!(tables.tasks_limit, Known::Value(32_768));
    }
}
