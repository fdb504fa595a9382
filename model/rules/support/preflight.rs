//! How a machine is configured, in a few words: what the list of checks before a test says where all is well.

use crate::IdSet;
use crate::frame::{Cgroup, Frame};
use crate::rules::parts;

pub(in crate::rules) fn irqbalance(frame: &Frame) -> String {
    match &frame.irqbalance {
        _ if frame.topology.cpus_online.len() < 2 => "one CPU: nothing to balance".to_owned(),
        Some(irqbalance) if &*irqbalance.state == "running" => "running".to_owned(),
        Some(irqbalance) => format!("{}, and no queues crowd", irqbalance.state),
        None => String::new(),
    }
}

pub(in crate::rules) fn steering(frame: &Frame) -> String {
    let nics = frame.nics.iter().filter(|nic| parts::is_physical(nic));
    let told = nics.map(|nic| {
        let receiving = nic.queues.iter().filter(|queue| &*queue.direction != "tx");
        let steered = receiving.clone().any(|queue| queue.rps_cpus.as_ref().is_some_and(|cpus| !cpus.is_empty()));
        format!("{} {} receive queues{}", nic.name, receiving.count(), if steered { ", RPS on" } else { "" })
    });
    parts::list(told, 4)
}

pub(in crate::rules) fn schedulers(frame: &Frame) -> String {
    let told = frame.processes.iter().filter_map(|process| {
        let schedulers = process.beam.as_ref()?.schedulers.value()?;
        let quota = parts::quota_cores(frame, process.quota_group());
        let quota = quota.map_or_else(|| "no quota".to_owned(), |quota| format!("{} cores", parts::count(Some(quota))));
        Some(format!("{} ({}) {schedulers} on {quota}", process.comm, process.pid))
    });
    let told = parts::list(told, 4);
    if told.is_empty() { "no Erlang VM runs".to_owned() } else { told }
}

pub(in crate::rules) fn quotas(frame: &Frame) -> String {
    let limited = frame.cgroups.iter().filter_map(|group| Some((group, group.cpu.quota_cores.value()?)));
    let told = limited.map(|(group, quota)| format!("{} {} cores", end(group), parts::count(Some(quota))));
    let told = parts::list(told, 4);
    if told.is_empty() { "no quota".to_owned() } else { told }
}

pub(in crate::rules) fn memory_limits(frame: &Frame) -> String {
    let fills = frame.cgroups.iter().filter(|group| parts::has_own_limit(group)).filter_map(|group| {
        let memory = group.memory.as_ref()?;
        let limit = memory.limit_bytes.value().filter(|limit| *limit > 0)? as f64;
        Some((memory.unreclaimable_bytes.value()? as f64 / limit, limit, group))
    });
    fills.max_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(
        || "no group has a limit".to_owned(),
        |(full, limit, group)| {
            format!("fullest: {} {} of {}", end(group), parts::percent(Some(full)), parts::bytes(Some(limit)))
        },
    )
}

pub(in crate::rules) fn reclaim(frame: &Frame) -> String {
    let setting = |name: &str| frame.sysctls.iter().find(|(known, _)| &**known == name).map(|(_, value)| value);
    match (setting("vm.cache_reclaim_enable"), setting("vm.cache_reclaim_s"), setting("vm.cache_reclaim_weight")) {
        (Some(enable), Some(period), Some(weight)) => format!("enable {enable}, every {period} s, weight {weight}"),
        _ => "not in this kernel".to_owned(),
    }
}

pub(in crate::rules) fn zone_reclaim(frame: &Frame) -> String {
    let mode = frame.sysctls.iter().find(|(name, _)| &**name == "vm.zone_reclaim_mode");
    mode.map_or_else(|| "one node".to_owned(), |(_, mode)| format!("vm.zone_reclaim_mode {mode}"))
}

pub(in crate::rules) fn nodes(frame: &Frame) -> String {
    let nodes = frame.topology.cpu_nodes().count();
    match nodes {
        0 | 1 => "one node".to_owned(),
        nodes => format!("{nodes} nodes with CPUs: as many instances"),
    }
}

pub(in crate::rules) fn policies(frame: &Frame) -> String {
    let memory = frame.topology.nodes.iter().filter(|node| node.has_memory).count();
    let bound = frame.processes.iter().filter(|process| process.policy.starts_with("bind"));
    match (memory, bound.count()) {
        (0 | 1, _) => "one node".to_owned(),
        (_, 0) => "nothing is bound to a node's memory".to_owned(),
        (_, bound) => format!("{bound} processes are bound, all beside their CPUs"),
    }
}

pub(in crate::rules) fn isolated(frame: &Frame) -> String {
    let marked = |cpu: &&crate::frame::CpuPlace| cpu.online && (cpu.isolated || cpu.nohz_full);
    let cpus = IdSet::from_ids(frame.topology.cpus.iter().filter(marked).map(|cpu| cpu.id));
    if cpus.is_empty() { "none".to_owned() } else { format!("CPUs {cpus}, free of device interrupts") }
}

pub(in crate::rules) fn space(frame: &Frame) -> String {
    let mounts = frame.disks.iter().flat_map(|disk| &disk.mounts).filter_map(|mount| {
        let total = mount.total_bytes.value().filter(|total| *total > 0)?;
        let free = mount.free_bytes.value()?.min(total);
        Some((1.0 - free as f64 / total as f64, free, mount))
    });
    let writable = mounts.filter(|(_, _, mount)| !["squashfs", "iso9660", "erofs"].contains(&&*mount.fs));
    writable.max_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(String::new, |(full, free, mount)| {
        let (full, free) = (parts::percent(Some(full)), parts::bytes(Some(free as f64)));
        format!("fullest: {} {full}, {free} free", mount.path)
    })
}

/// The end of a group's path, which tells it from others.
fn end(group: &Cgroup) -> &str {
    group.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&group.path)
}
