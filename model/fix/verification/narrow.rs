//! Reduces a frame to the measured subjects, so that windows of frames stay small.

use crate::diff::{Subject, Watch};
use crate::frame::{Disk, Frame, Nic, NicRates, Process};
use crate::{SectionStates, State};
use std::sync::Arc;

/// Processes of others that are kept.
const OTHERS: usize = 64;
/// Interfaces and disks that are kept beside the watched ones, from so many packets and bytes per second.
const DEVICES: usize = 16;
const PACKETS: f64 = 50.0;
const BYTES: f64 = 50_000.0;

/// The watched subjects of a frame, and the host.
pub(super) fn narrow(frame: &Frame, watches: &[Watch]) -> Frame {
    let any = |wanted: &dyn Fn(&Watch) -> bool| watches.iter().any(wanted);
    let irqs = any(&|watch| matches!(watch.subject, Subject::Irq(_)) || watch.metric == "host.irqs_on_one_cpu");
    let nodes = any(&|watch| matches!(watch.subject, Subject::Node(_)) || watch.metric == "host.node_imbalance");
    let softnet = any(&|watch| matches!(watch.subject, Subject::Cpu(_)));
    let nic = |name: &Arc<str>| {
        any(&|watch| match &watch.subject {
            Subject::Nic(nic) | Subject::Queue { nic, .. } => nic == name,
            _ => false,
        })
    };
    let disk = |name: &Arc<str>| any(&|watch| matches!(&watch.subject, Subject::Disk(disk) if disk == name));
    let group = |path: &Arc<str>| {
        any(&|watch| match &watch.subject {
            Subject::Cgroup(cgroup) | Subject::Process { cgroup, .. } => cgroup == path,
            _ => false,
        })
    };
    let process = |name: &Arc<str>, path: &Arc<str>| {
        any(&|watch| matches!(&watch.subject, Subject::Process { comm, cgroup } if comm == name && cgroup == path))
    };
    Frame {
        stamp: frame.stamp,
        interval_seconds: frame.interval_seconds,
        host: frame.host.clone(),
        topology: Arc::clone(&frame.topology),
        cpus: frame.cpus.clone(),
        memory: frame.memory.clone(),
        nodes: if nodes { frame.nodes.clone() } else { Vec::new() },
        irqs: if irqs { frame.irqs.clone() } else { Vec::new() },
        softirqs: frame.softirqs.clone(),
        softnet: if softnet { frame.softnet.clone() } else { Vec::new() },
        nics: nics(frame, nic),
        disks: disks(frame, disk),
        cgroups: frame.cgroups.iter().filter(|row| group(&row.path)).cloned().collect(),
        processes: processes(frame, process, group),
        pressure: frame.pressure.clone(),
        metrics: frame.metrics.clone(),
        sections: sections(frame),
        ..Frame::default()
    }
}

/// The watched interfaces whole; of others the traffic, which is a cost of the load or another load.
fn nics(frame: &Frame, watched: impl Fn(&Arc<str>) -> bool) -> Vec<Nic> {
    let rates = |rates: &NicRates| NicRates {
        bytes_per_second: rates.bytes_per_second,
        packets_per_second: rates.packets_per_second,
        ..NicRates::default()
    };
    let reduced = |row: &Nic| Nic {
        name: Arc::clone(&row.name),
        utilisation: row.utilisation,
        rx: rates(&row.rx),
        tx: rates(&row.tx),
        ..Nic::default()
    };
    let (watched, others): (Vec<&Nic>, Vec<&Nic>) = frame.nics.iter().partition(|row| watched(&row.name));
    let others = others.into_iter().filter(|row| {
        row.rx.packets_per_second.unwrap_or_default() + row.tx.packets_per_second.unwrap_or_default() >= PACKETS
    });
    watched.into_iter().cloned().chain(others.take(DEVICES).map(reduced)).collect()
}

/// The watched disks whole; of others the traffic.
fn disks(frame: &Frame, watched: impl Fn(&Arc<str>) -> bool) -> Vec<Disk> {
    let reduced = |row: &Disk| Disk {
        name: Arc::clone(&row.name),
        utilisation: row.utilisation,
        read_bytes_per_second: row.read_bytes_per_second,
        write_bytes_per_second: row.write_bytes_per_second,
        ..Disk::default()
    };
    let (watched, others): (Vec<&Disk>, Vec<&Disk>) = frame.disks.iter().partition(|row| watched(&row.name));
    let others = others.into_iter().filter(|row| {
        let bytes = row.read_bytes_per_second.unwrap_or_default() + row.write_bytes_per_second.unwrap_or_default();
        row.utilisation >= Some(0.1) || bytes >= BYTES
    });
    watched.into_iter().cloned().chain(others.take(DEVICES).map(reduced)).collect()
}

/// The watched processes whole; of others that use a CPU or disks only what tells whether another load came.
fn processes(
    frame: &Frame,
    watched: impl Fn(&Arc<str>, &Arc<str>) -> bool,
    group: impl Fn(&Arc<str>) -> bool,
) -> Vec<Process> {
    let busy = |row: &Process| {
        let bytes = row.read_bytes_per_second.unwrap_or_default() + row.write_bytes_per_second.unwrap_or_default();
        // In a group that the fix is for, who hardly writes any more may be held back by it.
        let least = if group(&row.cgroup) { f64::MIN_POSITIVE } else { 100_000.0 };
        !row.kernel && (row.cpu_cores >= Some(0.02) || bytes >= least)
    };
    let reduced = |row: &Process| Process {
        pid: row.pid,
        starttime: row.starttime,
        comm: Arc::clone(&row.comm),
        cgroup: Arc::clone(&row.cgroup),
        cpu_cores: row.cpu_cores,
        read_bytes_per_second: row.read_bytes_per_second,
        write_bytes_per_second: row.write_bytes_per_second,
        ..Process::default()
    };
    let (watched, others): (Vec<&Process>, Vec<&Process>) =
        frame.processes.iter().partition(|row| watched(&row.comm, &row.cgroup));
    let others = others.into_iter().filter(|row| busy(row)).take(OTHERS);
    watched.into_iter().cloned().chain(others.map(reduced)).collect()
}

/// What was read, so that who is not there any more counts as nothing, not as unknown.
fn sections(frame: &Frame) -> SectionStates {
    let sections = &frame.sections;
    let read = |state, rows: bool| if rows { State::Read } else { state };
    SectionStates {
        irqs: sections.irqs,
        nic_queues: sections.nic_queues,
        cgroups: read(sections.cgroups, !frame.cgroups.is_empty()),
        processes: read(sections.processes, !frame.processes.is_empty()),
        ..SectionStates::default()
    }
}
