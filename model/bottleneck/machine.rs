//! Cores, threads, interrupts, disks and remote memory.

use super::{Inputs, Resource, ResourceKind, Verdict};
use crate::frame::{Cpu, CpuShares, Disk, Process};
use crate::locale::Text;
use crate::locale::resource::note;
use crate::rules;
use crate::rules::{Subject, parts};
use crate::{Known, State};
use std::sync::Arc;

/// The CPUs without isolated ones: pollers run there on purpose.
fn cpus<'a>(inputs: &Inputs<'a>) -> impl Iterator<Item = (&'a Cpu, CpuShares)> + use<'a> {
    let all = inputs.frame.cpus.iter().filter(|cpu| cpu.online && !cpu.isolated);
    all.filter_map(|cpu| Some((cpu, cpu.shares?)))
}

/// The CPU with the highest share; a subject of an open finding first.
fn hottest(inputs: &Inputs<'_>, kind: ResourceKind, share: fn(&CpuShares) -> f64) -> Option<(u32, CpuShares)> {
    let all = cpus(inputs).map(|(cpu, shares)| (inputs.is_blamed(kind, &Subject::Cpu(cpu.id)), cpu.id, shares));
    let best = all.max_by(|a, b| a.0.cmp(&b.0).then(share(&a.2).total_cmp(&share(&b.2))));
    best.map(|(_, id, shares)| (id, shares))
}

fn unmeasured(inputs: &Inputs<'_>, kind: ResourceKind, state: State) -> Resource {
    let note = if state.is_read() { inputs.no_rates().unwrap_or(note::NOT_MEASURED) } else { note::NOT_READABLE };
    Resource::unknown(kind, note)
}

pub(super) fn core(inputs: &Inputs<'_>) -> Resource {
    // Stolen time is not available: busy and steal together fill a CPU.
    let full = |shares: &CpuShares| shares.busy + shares.steal;
    let Some((id, shares)) = hottest(inputs, ResourceKind::Core, full) else {
        return unmeasured(inputs, ResourceKind::Core, inputs.frame.sections.cpu_times);
    };
    let resource =
        Resource::measured(ResourceKind::Core, full(&shares).min(1.0), inputs.limit(&rules::core_saturated::BUSY));
    let note = if shares.steal >= 0.1 { note::STEAL } else { Text::EMPTY };
    Resource { note, subject: Some(Subject::Cpu(id)), ..resource }
}

pub(super) fn softirq(inputs: &Inputs<'_>) -> Resource {
    let share = |shares: &CpuShares| shares.softirq + shares.irq;
    let Some((id, shares)) = hottest(inputs, ResourceKind::Softirq, share) else {
        return unmeasured(inputs, ResourceKind::Softirq, inputs.frame.sections.cpu_times);
    };
    let resource =
        Resource::measured(ResourceKind::Softirq, share(&shares), inputs.limit(&rules::softirq_saturated::SOFTIRQ));
    Resource { subject: Some(Subject::Cpu(id)), ..resource }
}

pub(super) fn thread(inputs: &Inputs<'_>) -> Resource {
    let frame = inputs.frame;
    let at = inputs.limit(&rules::single_thread_limit::THREAD);
    let user = |pid: u32| frame.process(pid).filter(|process| !process.kernel);
    let sampled = frame.threads.iter().filter_map(|thread| {
        let process = user(thread.pid).filter(|_| !thread.fixed)?;
        Some((thread.cpu_cores?, &thread.comm, thread.tid, process))
    });
    // A single-threaded process is its thread.
    let single = frame.processes.iter().filter(|process| !process.kernel && process.threads.value() == Some(1));
    let single = single.filter_map(|process| Some((process.cpu_cores?, &process.comm, process.pid, process)));
    let hottest = sampled.chain(single).max_by(|a, b| a.0.total_cmp(&b.0));
    // A busy process without sampled threads may hide a full one.
    let hides = |process: &&Process| {
        let several = process.threads.value().is_none_or(|threads| threads > 1);
        several && process.cpu_cores.is_some_and(|cores| cores >= at) && frame.threads_of(process.pid).is_empty()
    };
    let hidden = frame.processes.iter().filter(|process| !process.kernel).any(|process| hides(&process));
    match hottest {
        Some((cores, comm, tid, process)) if cores >= at || !hidden => {
            let resource = Resource::measured(ResourceKind::Thread, cores.min(1.0), at);
            let resource = resource.about(Subject::Process(process.pid, process.starttime), comm);
            Resource { tid: Some(tid), ..resource }
        }
        _ if hidden => Resource::unknown(ResourceKind::Thread, note::THREADS_UNREAD),
        _ => unmeasured(inputs, ResourceKind::Thread, frame.sections.processes),
    }
}

pub(super) fn disk(inputs: &Inputs<'_>) -> Resource {
    let frame = inputs.frame;
    let judged = || frame.disks.iter().filter(|disk| parts::is_judged(disk));
    let pain = |disk: &Disk| parts::disk_pain(&inputs.settings.thresholds, disk).0;
    let key = |disk: &Disk| (inputs.is_blamed(ResourceKind::Disk, &Subject::Disk(Arc::clone(&disk.name))), pain(disk));
    let busiest = judged().filter_map(|disk| Some((key(disk), disk.utilisation?, disk)));
    let Some((_, share, disk)) = busiest.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))) else {
        if frame.sections.disks.is_read() && judged().next().is_none() {
            return Resource::absent(ResourceKind::Disk, note::NO_DISK);
        }
        return unmeasured(inputs, ResourceKind::Disk, frame.sections.disks);
    };
    let resource = Resource::measured(ResourceKind::Disk, share, inputs.limit(&rules::disk_saturated::UTILISATION));
    // Devices that serve requests in parallel may be always busy: queueing decides.
    let (verdict, note) = match resource.verdict {
        Verdict::Limiting if pain(disk) => (Verdict::Limiting, Text::EMPTY),
        Verdict::Limiting if disk.await_ms.value().is_some() || disk.queue_depth.is_some() => {
            (Verdict::HasHeadroom, note::NOT_QUEUEING)
        }
        Verdict::Limiting => (Verdict::Unknown, note::QUEUEING_UNKNOWN),
        verdict => (verdict, Text::EMPTY),
    };
    let used = disk.await_ms.value().map(|ms| (ms, "ms"));
    Resource { verdict, used, note, ..resource.about(Subject::Disk(Arc::clone(&disk.name)), &disk.name) }
}

pub(super) fn remote(inputs: &Inputs<'_>) -> Resource {
    let frame = inputs.frame;
    if !frame.sections.node_topology.is_read() && frame.topology.nodes.is_empty() {
        return Resource::unknown(ResourceKind::Remote, note::NODES_UNREAD);
    }
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return Resource::absent(ResourceKind::Remote, note::ONE_NODE);
    }
    if let Some(note) = inputs.no_rates() {
        return Resource::unknown(ResourceKind::Remote, note);
    }
    let (least, busy) = (inputs.limit(&rules::remote_memory::MEMORY), inputs.limit(&rules::remote_memory::CPU));
    let at = inputs.limit(&rules::remote_memory::REMOTE);
    let matters = |process: &&Process| {
        let large = process.rss_bytes.value().is_none_or(|rss| rss as f64 >= least);
        let interleaved = process.policy.starts_with("interleave") || process.policy.starts_with("weighted");
        large && !process.kernel && !interleaved && process.cpu_cores.is_some_and(|cores| cores >= busy)
    };
    let ratio = |process: &'_ Process| process.memory.as_ref().and_then(|memory| memory.remote_ratio);
    let key =
        |process: &Process| inputs.is_blamed(ResourceKind::Remote, &Subject::Process(process.pid, process.starttime));
    let candidates = || frame.processes.iter().filter(matters);
    let worst = candidates().filter_map(|process| Some((key(process), ratio(process)?, process)));
    let worst = worst.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let unread = candidates().any(|process| ratio(process).is_none());
    match worst {
        Some((_, share, process)) if share >= at || !unread => {
            let error = process.memory.as_ref().map_or(0.0, |memory| memory.error);
            let resource = Resource::measured(ResourceKind::Remote, share, at);
            let resource = resource.about(Subject::Process(process.pid, process.starttime), &process.comm);
            match resource.verdict {
                Verdict::Limiting if parts::is_spread(frame, process) => {
                    Resource { verdict: Verdict::HasHeadroom, note: note::SPREAD, ..resource }
                }
                Verdict::Limiting if share - error < at => {
                    Resource { verdict: Verdict::Unknown, note: note::FEW_PAGES, ..resource }
                }
                _ => resource,
            }
        }
        _ if unread => Resource::unknown(ResourceKind::Remote, note::MEMORY_UNSAMPLED),
        _ if frame.sections.processes.is_read() => Resource::absent(ResourceKind::Remote, note::NO_LARGE_PROCESS),
        _ => Resource::unknown(ResourceKind::Remote, note::NOT_READABLE),
    }
}

/// The value, if it is known and positive.
pub(super) fn positive(value: &Known<u64>) -> Option<f64> {
    value.value().filter(|value| *value > 0).map(|value| value as f64)
}
