//! Erlang virtual machines: how they are configured, and where the kernel says that their schedulers are bound.

use crate::Known;
use crate::frame::{Beam, Process, Thread};
use crate::tables::processes::Processes;
use std::sync::Arc;

/// Less CPU time than this, and a scheduler has done nothing but start: the emulator keeps it offline.
const STARTED_NS: u64 = 5_000_000;

pub(super) fn derive(process: &Process, (table, slot): (&Processes, usize), threads: &[Thread]) -> Option<Beam> {
    let reported = table.beam_bind_type.get(slot);
    if reported.is_none() && !(*process.comm == *"beam" || process.comm.starts_with("beam.")) {
        return None;
    }
    let schedulers: Vec<&Thread> = threads.iter().filter(|thread| is_scheduler(&thread.comm)).collect();
    let seen = !schedulers.is_empty();
    let mut pinned: Vec<(u32, u32)> = Vec::new();
    // Where the whole process may run on one CPU only, a scheduler on it is not bound by the emulator.
    let alone = process.affinity.as_ref().and_then(|cpus| cpus.single());
    let mut bound = false;
    for cpu in schedulers.iter().filter_map(|thread| thread.affinity.as_ref()?.single()) {
        bound |= alone != Some(cpu);
        match pinned.iter_mut().find(|pair| pair.0 == cpu) {
            Some(pair) => pair.1 += 1,
            None => pinned.push((cpu, 1)),
        }
    }
    pinned.sort_unstable();
    let known = schedulers.iter().any(|thread| thread.affinity.is_some());
    let rates = schedulers.iter().filter_map(|thread| thread.cpu_cores);
    Some(Beam {
        bind_type_configured: match reported {
            None => Known::Missing,
            Some(reported) => Known::or_none((!reported.is_empty()).then(|| Arc::clone(reported))),
        },
        bound_now: Known::or_missing(known.then_some(bound)),
        schedulers: Known::or_missing(seen.then_some(schedulers.len() as u64)),
        schedulers_online: online(&schedulers),
        schedulers_active: rates.clone().next().is_some().then(|| rates.filter(|&used| used > 0.0).count() as u64),
        pinned,
    })
}

/// The schedulers that ever did more than start; unknown if the kernel does not count the CPU time of one of them.
fn online(schedulers: &[&Thread]) -> Known<u64> {
    let all: Option<Vec<u64>> = schedulers.iter().map(|thread| thread.run_ns.value()).collect();
    let all = all.filter(|all| !all.is_empty());
    Known::or_missing(all.map(|all| all.iter().filter(|ran| **ran >= STARTED_NS).count() as u64))
}

/// Normal schedulers are named `1_scheduler` up to OTP 25 and `erts_sched_1` since; dirty ones have other names.
fn is_scheduler(comm: &str) -> bool {
    let number = comm.strip_suffix("_scheduler").or_else(|| comm.strip_prefix("erts_sched_"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_scheduler;

    #[test]
    fn tells_normal_schedulers_from_others() {
        for name in ["1_scheduler", "128_scheduler", "erts_sched_1", "erts_sched_1024"] {
            assert!(is_scheduler(name), "{name}");
        }
        for name in ["1_dirty_cpu_sch", "1_dirty_io_sche", "erts_dcpus_1", "_scheduler", "erts_sched_", "x_scheduler"] {
            assert!(!is_scheduler(name), "{name}");
        }
    }
}
