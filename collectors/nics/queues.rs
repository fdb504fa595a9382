//! Queues of an interface from `queues/rx-N` and `queues/tx-N`, and Hyper-V's channels.

use crate::files::{Files, note, numbered_entries, parse_map};
use crate::parse::number;
use topotop_model::{Gaps, IdSet, Reason};

/// Queues of one direction that are taken at most.
const MAX_QUEUES: usize = 4096;

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Queue {
    /// True for one that sends.
    pub(super) sends: bool,
    /// Its number.
    pub(super) number: u32,
    /// CPUs that it steers packets to.
    pub(super) rps_cpus: Option<IdSet>,
    /// Flow table entries.
    pub(super) rps_flow_count: Option<u64>,
    /// CPUs that send through it.
    pub(super) xps_cpus: Option<IdSet>,
    /// Hyper-V: the CPU that serves its channel.
    pub(super) channel_cpu: Option<u64>,
}

/// The queues, receiving ones first, by number.
pub(super) fn read(files: &mut Files<'_>, dir: &str, gaps: &mut Gaps) -> Vec<Queue> {
    let channels = channels(files, dir);
    let mut queues = Vec::new();
    for (sends, prefix) in [(false, "rx-"), (true, "tx-")] {
        let numbers = numbered_entries(files.root, &format!("{dir}/queues"), prefix).unwrap_or_default();
        for queue in numbers.into_iter().take(MAX_QUEUES) {
            let path = format!("{dir}/queues/{prefix}{queue}");
            let mut found = Queue { sends, number: queue, ..Queue::default() };
            if sends {
                let pattern = "sys/class/net/*/queues/tx-*/xps_cpus";
                found.xps_cpus = map(files, &format!("{path}/xps_cpus"), pattern, gaps);
            } else {
                let pattern = "sys/class/net/*/queues/rx-*/rps_cpus";
                found.rps_cpus = map(files, &format!("{path}/rps_cpus"), pattern, gaps);
                let pattern = "sys/class/net/*/queues/rx-*/rps_flow_cnt";
                found.rps_flow_count = files.number(&format!("{path}/rps_flow_cnt"), pattern, gaps);
            }
            found.channel_cpu = channels.iter().find(|channel| channel.0 == u64::from(queue)).map(|channel| channel.1);
            queues.push(found);
        }
    }
    queues
}

/// A map of CPUs; an interface with one queue only has no xps_cpus and returns ENOENT or EOPNOTSUPP.
fn map(files: &mut Files<'_>, path: &str, pattern: &str, gaps: &mut Gaps) -> Option<IdSet> {
    if let Err(reason) = files.root.read(path, files.buffer()) {
        if reason != Reason::NotSupported {
            note(gaps, pattern, reason);
        }
        return None;
    }
    if files.buffer().is_empty() {
        return None;
    }
    let set = parse_map(files.buffer());
    if set.is_none() {
        gaps.add(pattern, Reason::Malformed, "");
    }
    set
}

/// Hyper-V's channels as (subchannel, CPU): queue N is served by subchannel N.
fn channels(files: &mut Files<'_>, dir: &str) -> Vec<(u64, u64)> {
    let dir = format!("{dir}/device/channels");
    let Ok(names) = files.root.names(&dir) else { return Vec::new() };
    let mut value = |name: &str, file: &str| files.bytes(&format!("{dir}/{name}/{file}")).ok().and_then(number);
    let pair = |name: &String| Some((value(name, "subchannel_id")?, value(name, "cpu")?));
    names.iter().take(MAX_QUEUES).filter_map(pair).collect()
}
