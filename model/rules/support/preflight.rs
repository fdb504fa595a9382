//! The configuration of a machine in a few words: the status of a preflight check that passes.

use crate::IdSet;
use crate::frame::{Cgroup, Frame};
use crate::locale::preflight::status as text;
use crate::rules::{file_system_full, parts};

pub(in crate::rules) fn irqbalance(frame: &Frame) -> String {
    match &frame.irqbalance {
        _ if frame.topology.cpus_online.len() < 2 => text::ONE_CPU.to_string(),
        Some(irqbalance) if &*irqbalance.state == "running" => text::IRQBALANCE_RUNNING.to_string(),
        Some(irqbalance) => text::Irqbalance { state: &irqbalance.state }.to_string(),
        None => String::new(),
    }
}

pub(in crate::rules) fn steering(frame: &Frame) -> String {
    let nics = frame.nics.iter().filter(|nic| parts::is_physical(nic));
    let status = nics.map(|nic| {
        let receiving = nic.queues.iter().filter(|queue| &*queue.direction != "tx");
        let steered = receiving.clone().any(|queue| queue.rps_cpus.as_ref().is_some_and(|cpus| !cpus.is_empty()));
        let (nic, count) = (&nic.name, receiving.count() as u64);
        if steered { text::SteeringRps { count, nic }.to_string() } else { text::Steering { count, nic }.to_string() }
    });
    parts::list(status, 4)
}

pub(in crate::rules) fn schedulers(frame: &Frame) -> String {
    let status = frame.processes.iter().filter_map(|process| {
        let beam = process.beam.as_ref()?;
        let schedulers = &beam.schedulers_online.value().or(beam.schedulers.value())?;
        let (comm, pid) = (&process.comm, &process.pid);
        Some(match parts::quota_cores(frame, process.quota_group()) {
            Some(quota) => text::Schedulers { comm, pid, schedulers, quota: &parts::count(Some(quota)) }.to_string(),
            None => text::SchedulersNoQuota { comm, pid, schedulers }.to_string(),
        })
    });
    some(parts::clauses(status, 4), &text::NO_ERLANG)
}

pub(in crate::rules) fn quotas(frame: &Frame) -> String {
    let limited = frame.cgroups.iter().filter_map(|group| Some((group, group.cpu.quota_cores.value()?)));
    let status =
        limited.map(|(group, quota)| text::Quota { group: &end(group), quota: &parts::count(Some(quota)) }.to_string());
    some(parts::list(status, 4), &text::NO_QUOTA)
}

/// The text, or another one if it is empty.
fn some(text: String, otherwise: &str) -> String {
    if text.is_empty() { otherwise.to_owned() } else { text }
}

pub(in crate::rules) fn memory_limits(frame: &Frame) -> String {
    let fills = frame.cgroups.iter().filter(|group| parts::has_own_limit(group)).filter_map(|group| {
        let memory = group.memory.as_ref()?;
        let limit = memory.limit_bytes.value().filter(|limit| *limit > 0)? as f64;
        Some((memory.unreclaimable_bytes.value()? as f64 / limit, limit, group))
    });
    fills.max_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(
        || text::NO_MEMORY_LIMIT.to_string(),
        |(full, limit, group)| {
            let (full, limit) = (&parts::percent(Some(full)), &parts::bytes(Some(limit)));
            text::MemoryLimit { group: &end(group), full, limit }.to_string()
        },
    )
}

pub(in crate::rules) fn reclaim(frame: &Frame) -> String {
    let setting = |name: &str| frame.sysctls.iter().find(|(known, _)| &**known == name).map(|(_, value)| value);
    match (setting("vm.cache_reclaim_enable"), setting("vm.cache_reclaim_s"), setting("vm.cache_reclaim_weight")) {
        (Some(enable), Some(period), Some(weight)) => text::Reclaim { enable, period, weight }.to_string(),
        _ => text::NO_RECLAIM.to_string(),
    }
}

pub(in crate::rules) fn zone_reclaim(frame: &Frame) -> String {
    let mode = frame.sysctls.iter().find(|(name, _)| &**name == "vm.zone_reclaim_mode");
    mode.map_or_else(|| text::ONE_NODE.to_string(), |(_, mode)| text::ZoneReclaim { mode }.to_string())
}

pub(in crate::rules) fn nodes(frame: &Frame) -> String {
    match &frame.topology.cpu_nodes().count() {
        0 | 1 => text::ONE_NODE.to_string(),
        nodes => text::Nodes { nodes }.to_string(),
    }
}

pub(in crate::rules) fn policies(frame: &Frame) -> String {
    let memory = frame.topology.nodes.iter().filter(|node| node.has_memory).count();
    let bound = frame.processes.iter().filter(|process| process.policy.starts_with("bind"));
    match (memory, bound.count() as u64) {
        (0 | 1, _) => text::ONE_NODE.to_string(),
        (_, 0) => text::NO_BINDING.to_string(),
        (_, count) => text::Bound { count }.to_string(),
    }
}

pub(in crate::rules) fn isolated(frame: &Frame) -> String {
    let marked = |cpu: &&crate::frame::CpuPlace| cpu.online && (cpu.isolated || cpu.nohz_full);
    let cpus = IdSet::from_ids(frame.topology.cpus.iter().filter(marked).map(|cpu| cpu.id));
    if cpus.is_empty() { text::NO_ISOLATED.to_string() } else { text::Isolated { cpus: &cpus }.to_string() }
}

pub(in crate::rules) fn space(frame: &Frame) -> String {
    let mounts = frame
        .disks
        .iter()
        .flat_map(|disk| &disk.mounts)
        .filter_map(|mount| Some((mount.full()?, mount.free_bytes.value()?, mount)));
    let writable = mounts.filter(|(_, _, mount)| !file_system_full::is_made_full(&mount.fs));
    let fullest = writable.max_by(|a, b| a.0.total_cmp(&b.0));
    fullest.map_or_else(
        || text::NO_SPACE.to_string(),
        |(full, free, mount)| {
            let (full, free) = (&parts::percent(Some(full)), &parts::bytes(Some(free as f64)));
            text::Space { mount: &mount.path, full, free }.to_string()
        },
    )
}

/// The last part of the path of a control group.
fn end(group: &Cgroup) -> &str {
    group.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&group.path)
}
