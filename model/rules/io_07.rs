//! IO-07: a service waits for one answer after the other while the machine has nothing to do.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::{Frame, Peer};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "IO-07",
    name: "a chain of round trips",
    why: "Where every message waits for the answer to the one before it, the network's round trip is the limit and everything else idles: CPUs, disks and links look well and throughput is low. A transaction of a message broker costs such round trips, each with a flush: a test of 100,000 messages took 321 s with transactions and 10 s without.",
    reads: &[Input::CpuTimes, Input::Disks, Input::Nics, Input::Peers],
    looks_at: &["INET_DIAG tcp_info", "/proc/stat", "/proc/diskstats", "/proc/net/dev"],
    thresholds: &[
        Threshold { name: "share", value: 0.7, unit: "fraction", about: "of the time that a connection waits for round trips" },
        Threshold { name: "exit", value: 0.5, unit: "fraction", about: "over below this" },
        Threshold { name: "requests", value: 10.0, unit: "1/s", about: "requests on each connection, at least" },
        Threshold { name: "bytes", value: 512.0, unit: "bytes", about: "for each segment that carries some, at most" },
        Threshold { name: "busy", value: 0.7, unit: "fraction", about: "the hottest CPU: above it that is the limit" },
        Threshold { name: "disk", value: 0.6, unit: "fraction", about: "the busiest disk: above it that is the limit" },
        Threshold { name: "link", value: 0.5, unit: "fraction", about: "the fullest link: above it that is the limit" },
        Threshold { name: "pressure", value: 0.1, unit: "fraction", about: "of the time that tasks wait for memory or disks: above it that is the limit" },
    ],
    guards: &[
        "a machine that works: something else is the limit",
        "connections that carry bulk",
        "a hint and no proof: what the answers wait for on the other side is not seen here",
    ],
    advice: &[
        "RabbitMQ: publisher confirms instead of transactions (channelTransacted=false). Keep the transaction where the producer's database commit must be seen first: events that are read back (a change log); commands can do with confirms",
        "Several messages under way: batches, pipelining, more connections or channels",
        "rabbitmqctl list_channels name transactional messages_uncommitted tells which channels use transactions",
    ],
    references: &["https://www.rabbitmq.com/docs/confirms", "tcp(7) TCP_INFO"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if !is_idle(look, frame) {
        return;
    }
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let waits = process.peers.iter().filter_map(|peer| Some((peer, waits(look, peer)?)));
        let Some((peer, share)) = waits.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let requests = requests(peer);
        let broker = ["rabbit", "beam"].iter().any(|name| process.comm.contains(name)) || [5671, 5672].contains(&peer.port);
        let hit = Hit::new(Subject::Process(process.pid, process.starttime), 0.5)
            .enters(share >= look.limit("share"))
            .severity(Severity::Info)
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm")
            .text("peer", format!("{}:{}", peer.address, peer.port), "INET_DIAG")
            .text("service", if broker { "a message broker: transactions would look like this" } else { "unknown" }, "INET_DIAG")
            .number("share", share.min(1.0), "fraction", "INET_DIAG tcpi_rtt, tcpi_data_segs_out")
            .number("connections", peer.connections as f64, "", "INET_DIAG")
            .known("requests", requests, "1/s", "INET_DIAG tcpi_data_segs_out")
            .known("round_trip", peer.rtt_us.value().map(|us| us as f64 / 1000.0), "ms", "INET_DIAG tcpi_rtt")
            .known("bytes_per_segment", peer.bytes_per_segment, "bytes", "INET_DIAG tcpi_bytes_acked");
        look.hit(hit);
    }
}

/// The slower direction tells of requests that were answered.
fn requests(peer: &Peer) -> Option<f64> {
    Some(peer.data_segs_out_per_second?.min(peer.data_segs_in_per_second?))
}

/// The share of the time in which the connections to a peer wait for round trips, where they carry little else.
fn waits(look: &Look<'_>, peer: &Peer) -> Option<f64> {
    let share = peer.round_trip_share()?;
    let each = requests(peer)? / peer.connections.max(1) as f64;
    let small = peer.bytes_per_segment.is_some_and(|bytes| bytes <= look.limit("bytes"));
    (share >= look.limit("exit") && each >= look.limit("requests") && small).then_some(share)
}

/// True where nothing that the kernel counts is the limit.
fn is_idle(look: &Look<'_>, frame: &Frame) -> bool {
    let busy = look.cpus().any(|(_, shares)| shares.busy >= look.limit("busy"));
    let disk = frame.disks.iter().filter_map(|disk| disk.utilisation).any(|share| share >= look.limit("disk"));
    let link = frame.nics.iter().filter_map(|nic| nic.utilisation).any(|share| share >= look.limit("link"));
    let waits = |resource: &str| {
        let ratio = frame.pressure(resource).and_then(|row| row.stall.some_ratio);
        ratio.is_some_and(|ratio| ratio >= look.limit("pressure"))
    };
    !busy && !disk && !link && !waits("io") && !waits("memory")
}

fn title(finding: &Finding) -> String {
    let share = parts::percent(finding.number("share"));
    let (requests, trip) = (parts::count(finding.number("requests").map(f64::round)), finding.number("round_trip").unwrap_or(0.0));
    format!(
        "{} ({}) waits {share} of the time for round trips to {}: {requests} requests/s, {trip:.2} ms each, while the machine idles",
        finding.text("comm"),
        finding.subject,
        finding.text("peer"),
    )
}
