//! Which CPUs have to do with what is selected, on whatever screen that was.

use super::names;
use crate::{Cx, Subject};
use topotop_model::IdSet;
use topotop_model::frame::{Process, WriterId};

/// True if what is selected has to do with one of the CPUs.
pub fn related(cx: &Cx<'_>, cpus: &[u32]) -> bool {
    let any = |set: &IdSet| cpus.iter().any(|&id| set.contains(id));
    match cx.selected {
        Some(Subject::Cpu(id)) => cpus.contains(id),
        Some(Subject::Node(node)) => cpus.iter().any(|&id| cx.frame.topology.node_of(id) == Some(*node)),
        Some(Subject::Irq(irq)) => cx
            .frame
            .irq(*irq)
            .is_some_and(|irq| irq.effective_affinity.as_ref().or(irq.affinity.as_ref()).is_some_and(|set| any(set))),
        Some(Subject::Nic(name)) => cx
            .frame
            .nic(name)
            .is_some_and(|nic| nic.queues.iter().any(|queue| queue.cpus.as_ref().is_some_and(|set| any(set)))),
        Some(Subject::Process(pid, _)) => cx.frame.process(*pid).is_some_and(|process| process_on(cx, process, &any)),
        Some(Subject::Cgroup(path)) => {
            let inside = |process: &&Process| process.groups().iter().any(|group| names::is_below(group, path));
            cx.frame.processes.iter().filter(inside).any(|process| process_on(cx, process, &any))
        }
        Some(Subject::Disk(name)) => cx
            .frame
            .irqs
            .iter()
            .filter(|irq| serves(&irq.name, name))
            .any(|irq| irq.effective_affinity.as_ref().or(irq.affinity.as_ref()).is_some_and(|set| any(set))),
        Some(device @ Subject::Accelerator(_)) => {
            let mut holders = cx.frame.processes.iter().filter(|process| uses(cx, process, device));
            holders.any(|process| process_on(cx, process, &any))
        }
        Some(Subject::Host) | None => false,
    }
}

/// True if a process holds an accelerator open, or if it or its group writes to a disk.
pub fn uses(cx: &Cx<'_>, process: &Process, device: &Subject) -> bool {
    let is_own = |who: &WriterId| match who {
        WriterId::Process(pid) => *pid == process.pid,
        WriterId::Cgroup(path) => path == process.io_group(),
    };
    match device {
        Subject::Disk(name) => {
            let mut disks = cx.frame.disks.iter().filter(|disk| disk.name == *name);
            disks.any(|disk| disk.writers.iter().any(|writer| is_own(&writer.who)))
        }
        Subject::Accelerator(name) => {
            let mut rows = cx.frame.accelerators.iter().filter(|row| row.name == *name);
            rows.any(|row| row.clients.iter().any(|client| client.pid == process.pid))
        }
        _ => false,
    }
}

/// True for an interrupt of an NVMe controller's queue, `nvme0q3`, and a disk of it, `nvme0n1`.
fn serves(irq: &str, disk: &str) -> bool {
    let controller = disk.rsplit_once('n').map(|(controller, _)| controller).filter(|name| name.starts_with("nvme"));
    controller.and_then(|name| irq.strip_prefix(name)).is_some_and(|rest| rest.starts_with('q'))
}

/// A process is on the CPUs that its threads are bound to, or on all that it may use if that is not all there are.
fn process_on(cx: &Cx<'_>, process: &Process, any: &impl Fn(&IdSet) -> bool) -> bool {
    let all = &cx.frame.topology.cpus_online;
    let confined = |set: &IdSet| !all.is_subset(set);
    process
        .thread_affinities
        .iter()
        .map(|group| &group.cpus)
        .chain(&process.affinity)
        .any(|set| confined(set) && any(set))
}
