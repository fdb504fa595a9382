//! Tables of the kernel and of groups that can be full: tracked connections, open files, tasks.

use super::member_names::{group_name, process_name};
use super::resource::{Member, Waits};
use super::{Inputs, ResourceKind};
use crate::Known;
use crate::Total as _;
use crate::frame::{NetNamespace, Nic, Process};
use crate::locale::resource::note;
use crate::rules::Subject;
use std::sync::Arc;

/// Share of the open files that a process may have, at which it is at its limit, and still at it.
const FILES: (f64, f64) = (0.95, 0.90);
/// Open files and connections that wait, as a multiple of the open files that a process may have.
const QUEUED: f64 = 1.25;
/// What it is taken to lose by that, in cores: less than a thread that is full.
const FILES_DEMAND: f64 = 0.5;

pub(super) fn conntrack(inputs: &Inputs<'_>) -> Vec<Member> {
    let tables = &inputs.frame.kernel_tables;
    let clouds = inputs.frame.nics.iter().filter_map(tracked_by_cloud);
    let Some(mut member) = against(ResourceKind::Conntrack, tables.conntrack, tables.conntrack_limit) else {
        return clouds.chain([Member::absent(ResourceKind::Conntrack, note::NO_CONNTRACK)]).collect();
    };
    let lost = inputs.frame.net_namespaces.iter().filter_map(|namespace| namespace.conntrack_drops_per_second);
    let lost = lost.reduce(|sum, lost| sum + lost);
    // A full table whose drops nobody counted may turn connections away.
    member.suspect = true;
    let wait = lost.map(|lost| if lost > 0.0 { 1.0 } else { 0.0 });
    let member = member.waits(wait, 1.0, Waits { what: "drops", value: lost.unwrap_or(0.0), unit: "1/s" });
    clouds.chain([member]).collect()
}

/// Connections that a cloud tracks outside the machine, where it turns some away.
fn tracked_by_cloud(nic: &Nic) -> Option<Member> {
    let exceeded = nic.allowance_connections_per_second.filter(|exceeded| *exceeded > 0.0)?;
    let mut member = Member::absent(ResourceKind::Conntrack, note::ALLOWANCE_EXCEEDED);
    (member.enters, member.stays, member.alone, member.proxy) = (exceeded >= 1.0, true, true, true);
    let waits = Waits { what: "allowance_exceeded", value: exceeded, unit: "1/s" };
    Some(member.about(Subject::Nic(Arc::clone(&nic.name)), &nic.name).waits(Some(1.0), 1.0, waits))
}

/// Ports stay taken for a minute after their connection: where all are, each new one waits for the oldest.
pub(super) fn ports(inputs: &Inputs<'_>) -> Vec<Member> {
    let of_namespace = |namespace: &NetNamespace| {
        let mut member = against(ResourceKind::Ports, namespace.ports, namespace.ports_limit)?;
        (member.alone, member.proxy) = (true, true);
        let process = namespace.pid.value().and_then(|pid| inputs.frame.process(pid));
        let waits = Waits { what: "refused", value: 0.0, unit: "1/s" };
        let member = member.waits(Some(0.0), 1.0, waits);
        Some(match process {
            Some(process) => {
                let subject = Subject::Process(process.pid, process.starttime);
                member.about(subject, &process_name(inputs.frame, process.pid))
            }
            None => member,
        })
    };
    let members: Vec<Member> = inputs.frame.net_namespaces.iter().filter_map(of_namespace).collect();
    match () {
        () if !members.is_empty() => members,
        () if inputs.frame.net_namespaces.is_empty() => {
            vec![Member::unknown(ResourceKind::Ports, note::NOT_READABLE, false)]
        }
        () => vec![Member::absent(ResourceKind::Ports, note::FEW_CONNECTIONS)],
    }
}

/// More than any machine opens: the kernel's highest number stands for no limit.
const UNLIMITED: u64 = 1 << 53;

pub(super) fn files(inputs: &Inputs<'_>) -> Vec<Member> {
    let tables = &inputs.frame.kernel_tables;
    let member = against(ResourceKind::Files, tables.files, tables.files_limit);
    // Refusals are not counted: at the limit each open fails.
    let refused = |mut member: Member| {
        (member.alone, member.proxy) = (member.resource.share >= Some(0.999), true);
        member.waits(Some(0.0), 1.0, Waits { what: "refused", value: 0.0, unit: "1/s" })
    };
    let is_unlimited = tables.files_limit.value().is_some_and(|limit| limit >= UNLIMITED);
    let host = match member {
        Some(_) if is_unlimited => Member::absent(ResourceKind::Files, note::NO_FILE_LIMIT),
        Some(member) => refused(member),
        None => Member::unknown(ResourceKind::Files, note::NOT_READABLE, false),
    };
    inputs.frame.processes.iter().filter_map(of_process).chain([host]).collect()
}

/// A process that has almost all open files that it may have, or could not have those of all connections that wait for it:
/// one that meets its limit stops accepting, and is seldom seen at it.
fn of_process(process: &Process) -> Option<Member> {
    let listeners = process.listen.iter().flatten().chain(&process.listen_local);
    let queued = listeners.filter_map(|listener| listener.queued).total();
    let wanted = |files: u64, limit: u64| files as f64 + queued as f64 >= QUEUED * limit as f64;
    let (files, limit) = (process.open_files.value()?, process.open_files_limit.value()?);
    // A queue that would just fit waits for something else.
    let queued = if wanted(files, limit) { queued } else { 0 };
    let counted = Known::Value(files.saturating_add(queued));
    let mut member = against(ResourceKind::Files, counted, process.open_files_limit)?;
    let share = member.resource.share.filter(|share| *share >= FILES.1 && !process.kernel)?;
    // Descriptors are closed and opened again between refusals, which nobody counts: it is a guess.
    (member.enters, member.stays) = (share >= FILES.0, true);
    (member.alone, member.proxy, member.resource.limit_at) = (true, true, FILES.0);
    let subject = Subject::Process(process.pid, process.starttime);
    let waits = Waits { what: "connections", value: queued as f64, unit: "connections" };
    let member = if queued > 0 { member.note(note::CONNECTIONS_WAIT) } else { member };
    Some(member.about(subject, &process.comm).waits(Some(0.0), FILES_DEMAND, waits))
}

pub(super) fn pids(inputs: &Inputs<'_>) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::new();
    for group in &inputs.frame.cgroups {
        let Some(mut member) = against(ResourceKind::Pids, group.pids, group.pids_limit) else { continue };
        let refused = group.pids_refused_per_second;
        // Some of them end again before they are counted.
        member.enters |= refused.is_some_and(|refused| refused > 0.0);
        let wait = refused.map(|refused| if refused > 0.0 { 1.0 } else { 0.0 });
        let waits = Waits { what: "refused", value: refused.unwrap_or(0.0), unit: "1/s" };
        members
            .push(member.about(Subject::Cgroup(Arc::clone(&group.path)), &group_name(group)).waits(wait, 1.0, waits));
    }
    let tables = &inputs.frame.kernel_tables;
    let host = against(ResourceKind::Pids, tables.tasks, tables.tasks_limit);
    let waits = Waits { what: "refused", value: 0.0, unit: "1/s" };
    members.extend(host.map(|mut member| {
        (member.alone, member.proxy) = (member.resource.share >= Some(0.999), true);
        member.waits(Some(0.0), 1.0, waits)
    }));
    if members.is_empty() {
        members.push(Member::unknown(ResourceKind::Pids, note::NOT_READABLE, false));
    }
    members
}

/// A table against its size.
fn against(kind: ResourceKind, used: Known<u64>, limit: Known<u64>) -> Option<Member> {
    let (used, limit) = (used.value()? as f64, limit.value().filter(|limit| *limit > 0)? as f64);
    let mut member = Member::measured(kind, used / limit).about(Subject::Host, &Arc::from(note::HOST.as_str()));
    // Entries do not grow with the load alone: time until it is full, no factor.
    member.scales = false;
    Some(member.of(Some(used), Some(limit), "entries"))
}
