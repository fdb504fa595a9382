//! What shapes packets in other network namespaces, such as those of containers.

use crate::sys::netlink::within;
use crate::sys::qdisc::{self, Qdisc};
use crate::worker::Worker;
use crate::{CALM_NS, Collector, Cx, Root};
use rustix::net::netdevice::index_to_name;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use topotop_model::tables::network::Shapers;
use topotop_model::{Draft, Reason, Slots, Table as _};

/// How often they are asked, in ns.
const PERIOD_NS: u64 = 2_000_000_000;
/// Interfaces of one namespace at most.
const MOST_EACH: usize = 16;

/// A namespace and the process that it is reached through.
type Namespace = (u64, u32);

/// An interface that is shaped.
#[derive(Debug)]
struct Shaped {
    namespace: Namespace,
    read_at_ns: u64,
    name: String,
    qdisc: Qdisc,
}

/// Asks in the namespaces that the collector of protocols reads.
#[derive(Debug, Default)]
pub(crate) struct ShaperCollector {
    worker: Option<Worker<Vec<Namespace>, Vec<Shaped>>>,
    slots: Slots<(u64, u64)>,
}

impl Collector for ShaperCollector {
    fn name(&self) -> &'static str {
        "shapers"
    }

    fn period_ns(&self) -> u64 {
        PERIOD_NS
    }

    fn calm_period_ns(&self) -> u64 {
        CALM_NS
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if !cx.root.is_live() || cx.root.is_traced() {
            return;
        }
        while let Some(found) = self.worker.as_mut().and_then(Worker::take) {
            draft.shapers.begin(cx.now_ns);
            write(&mut self.slots, draft.shapers.data_mut(), &found);
        }
        let others = namespaces(draft);
        let is_waiting = self.worker.as_ref().is_some_and(|worker| worker.pending() > 0);
        if is_waiting || (others.is_empty() && draft.shapers.data().rows().is_empty()) {
            return;
        }
        if self.worker.is_none() {
            let mut asker = Asker { root: Arc::clone(cx.root), sockets: HashMap::new() };
            self.worker = Worker::spawn("shapers", move |all: Vec<Namespace>| asker.answer(&all)).ok();
        }
        if let Some(worker) = &mut self.worker {
            worker.submit(others);
        }
    }
}

fn namespaces(draft: &Draft) -> Vec<Namespace> {
    let table = draft.net_stats.data();
    table.rows().iter().filter_map(|slot| Some((table.netns.value(slot)?, table.pid.id(slot).value()?))).collect()
}

fn write(slots: &mut Slots<(u64, u64)>, table: &mut Shapers, found: &[Shaped]) {
    slots.begin();
    for Shaped { namespace: (netns, pid), read_at_ns, name, qdisc } in found {
        let (slot, _) = slots.slot(table, &(*netns, qdisc.ifindex));
        table.netns.set(slot, *netns);
        table.ifindex.set(slot, qdisc.ifindex);
        table.pid.set(slot, u64::from(*pid));
        table.read_at_ns.set(slot, *read_at_ns);
        table.name.set(slot, name);
        table.kind.set(slot, &qdisc.kind);
        table.rate.set_or_clear(slot, qdisc.rate);
        table.bytes.set(slot, qdisc.bytes);
        table.backlog.set(slot, qdisc.backlog);
        table.overlimits.set(slot, qdisc.overlimits);
        table.drops.set(slot, qdisc.drops);
    }
    slots.finish(table, |_, _| {});
}

/// The worker's side: what is asked takes a lock of the kernel.
#[derive(Debug)]
struct Asker {
    root: Arc<Root>,
    /// A socket stays in the namespace that it was made in; none where that cannot be entered.
    sockets: HashMap<u64, Option<OwnedFd>>,
}

impl Asker {
    fn answer(&mut self, all: &[Namespace]) -> Vec<Shaped> {
        self.sockets.retain(|netns, _| all.iter().any(|one| one.0 == *netns));
        all.iter().flat_map(|namespace| self.ask(*namespace)).collect()
    }

    fn ask(&mut self, namespace: Namespace) -> Vec<Shaped> {
        let (root, (netns, pid)) = (&self.root, namespace);
        let kept = self.sockets.entry(netns).or_insert_with(|| enter(root, netns, pid).ok());
        let Some(socket) = kept else { return Vec::new() };
        let read_at_ns = root.monotonic_ns();
        let Ok(found) = qdisc::shapers_by(socket) else {
            // The answer to this may come as that to the next question.
            *kept = None;
            return Vec::new();
        };
        let name = |qdisc: &Qdisc| index_to_name(&socket, u32::try_from(qdisc.ifindex).ok()?).ok();
        let named = found.into_iter().take(MOST_EACH).filter_map(|qdisc| Some((name(&qdisc)?, qdisc)));
        named.map(|(name, qdisc)| Shaped { namespace, read_at_ns, name, qdisc }).collect()
    }
}

fn enter(root: &Root, netns: u64, pid: u32) -> Result<OwnedFd, Reason> {
    let file = root.open(format!("proc/{pid}/ns/net"))?;
    let namespace = file.as_fd().try_clone_to_owned().map_err(|_| Reason::Exhausted)?;
    // The pid may be another process's by now.
    let is_same = rustix::fs::fstat(&namespace).is_ok_and(|stat| stat.st_ino == netns);
    if is_same { within(namespace, qdisc::open) } else { Err(Reason::Vanished) }
}

#[cfg(test)]
mod tests {
    use super::{Shaped, write};
    use crate::sys::qdisc::Qdisc;
    use topotop_model::tables::network::Shapers;
    use topotop_model::{Slots, Table as _};

    #[test]
    fn a_row_stands_for_an_interface_of_a_namespace_while_it_is_shaped() {
        let (mut slots, mut table) = (Slots::default(), Shapers::default());
        let shaped = |netns, bytes| {
            let mut qdisc = Qdisc::default();
            (qdisc.ifindex, qdisc.bytes) = (2, bytes);
            Shaped { namespace: (netns, 40), read_at_ns: 5, name: "eth0".to_owned(), qdisc }
        };
        write(&mut slots, &mut table, &[shaped(7, 100), shaped(8, 200)]);
        let slots_of = |table: &Shapers| table.rows().iter().collect::<Vec<_>>();
        let bytes = |table: &Shapers| slots_of(table).iter().map(|&slot| table.bytes.value(slot)).collect::<Vec<_>>();
        assert_eq!(bytes(&table), [Some(100), Some(200)]);
        write(&mut slots, &mut table, &[shaped(8, 300)]);
        assert_eq!(bytes(&table), [Some(300)]);
    }
}
