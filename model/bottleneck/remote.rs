//! Remote memory: it costs, but it has no capacity of its own, so it never limits.

use super::resource::Member;
use super::{Inputs, ResourceKind, Verdict, sections};
use crate::frame::Process;
use crate::locale::resource::note;
use crate::rules::{Subject, parts, remote_memory};

pub(super) fn remote(inputs: &Inputs<'_>) -> Vec<Member> {
    vec![one(inputs)]
}

fn one(inputs: &Inputs<'_>) -> Member {
    let frame = inputs.frame;
    let kind = ResourceKind::Remote;
    if !sections::nodes(frame) && frame.topology.nodes.is_empty() {
        return Member::unknown(kind, note::NODES_UNREAD, false);
    }
    if frame.topology.nodes.iter().filter(|node| node.has_memory).count() < 2 {
        return Member::absent(kind, note::ONE_NODE);
    }
    if let Some(note) = inputs.no_rates() {
        return Member::unknown(kind, note, false);
    }
    let (least, busy) = (inputs.limit(&remote_memory::MEMORY), inputs.limit(&remote_memory::CPU));
    let at = inputs.limit(&remote_memory::REMOTE);
    let matters = |process: &&Process| {
        let large = process.rss_bytes.value().is_none_or(|rss| rss as f64 >= least);
        let interleaved = process.policy.starts_with("interleave") || process.policy.starts_with("weighted");
        large && !process.kernel && !interleaved && process.cpu_cores.is_some_and(|cores| cores >= busy)
    };
    let ratio = |process: &Process| process.memory.as_ref().and_then(|memory| memory.remote_ratio);
    let candidates = || frame.processes.iter().filter(matters);
    let worst = candidates().filter_map(|process| Some((ratio(process)?, process)));
    let worst = worst.max_by(|a, b| a.0.total_cmp(&b.0));
    let unread = candidates().any(|process| ratio(process).is_none());
    match worst {
        Some((share, process)) if share >= at || !unread => {
            let error = process.memory.as_ref().map_or(0.0, |memory| memory.error);
            let mut member = Member::between(kind, share, at, at);
            (member.enters, member.stays, member.scales) = (false, false, false);
            let subject = Subject::Process(process.pid, process.starttime);
            let mut member = member.about(subject, &process.comm);
            match () {
                () if share < at => {}
                () if parts::is_spread(frame, process) => member.resource.note = note::SPREAD,
                () if share - error < at => {
                    (member.resource.verdict, member.resource.note) = (Verdict::Unknown, note::FEW_PAGES);
                }
                () => member.resource.wait = Some(share),
            }
            member
        }
        _ if unread => Member::unknown(kind, note::MEMORY_UNSAMPLED, false),
        _ if sections::processes(frame) => Member::absent(kind, note::NO_LARGE_PROCESS),
        _ => Member::unknown(kind, note::NOT_READABLE, false),
    }
}
