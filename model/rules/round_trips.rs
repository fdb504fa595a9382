//! IO-07: a service waits for serialised network round trips while the machine is idle.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::frame::{Frame, Peer};
use crate::locale::evidence;
use crate::locale::rule::round_trips as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("IO-07");
pub(crate) const SHARE: Threshold = ID.threshold(text::threshold::SHARE, 0.7, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.5, "fraction");
pub(crate) const REQUESTS: Threshold = ID.threshold(text::threshold::REQUESTS, 10.0, "1/s");
pub(crate) const BYTES: Threshold = ID.threshold(text::threshold::BYTES, 512.0, "bytes");
pub(crate) const BUSY: Threshold = ID.threshold(text::threshold::BUSY, 0.7, "fraction");
pub(crate) const DISK: Threshold = ID.threshold(text::threshold::DISK, 0.6, "fraction");
pub(crate) const LINK: Threshold = ID.threshold(text::threshold::LINK, 0.5, "fraction");
pub(crate) const PRESSURE: Threshold = ID.threshold(text::threshold::PRESSURE, 0.1, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    reads: &[Input::CpuTimes, Input::Disks, Input::Nics, Input::Peers],
    sources: &["INET_DIAG tcp_info", "/proc/stat", "/proc/diskstats", "/proc/net/dev"],
    thresholds: &[SHARE, EXIT, REQUESTS, BYTES, BUSY, DISK, LINK, PRESSURE],
    references: &["https://www.rabbitmq.com/docs/confirms", "tcp(7) TCP_INFO"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if !is_idle(context, frame) {
        return;
    }
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let waits = process.peers.iter().filter_map(|peer| Some((peer, waits(context, peer)?)));
        let Some((peer, share)) = waits.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let requests = requests(peer);
        let broker =
            ["rabbit", "beam"].iter().any(|name| process.comm.contains(name)) || [5671, 5672].contains(&peer.port);
        let hit = Hit::new(Subject::Process(process.pid, process.starttime), 0.5)
            .enters(share >= context.limit(&SHARE))
            .severity(Severity::Info)
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm")
            .text(evidence::PEER, format!("{}:{}", peer.address, peer.port), "INET_DIAG")
            .text(
                evidence::SERVICE,
                if broker { text::BROKER.as_str() } else { text::UNKNOWN_SERVICE.as_str() },
                "INET_DIAG",
            )
            .number(evidence::SHARE, share.min(1.0), "fraction", "INET_DIAG tcpi_rtt, tcpi_data_segs_out")
            .number(evidence::CONNECTIONS, peer.connections as f64, "", "INET_DIAG")
            .known(evidence::REQUESTS, requests, "1/s", "INET_DIAG tcpi_data_segs_out")
            .known(evidence::ROUND_TRIP, peer.rtt_us.value().map(|us| us as f64 / 1000.0), "ms", "INET_DIAG tcpi_rtt")
            .known(evidence::BYTES_PER_SEGMENT, peer.bytes_per_segment, "bytes", "INET_DIAG tcpi_bytes_acked");
        context.hit(hit);
    }
}

/// Requests with a response: the rate of the slower direction.
fn requests(peer: &Peer) -> Option<f64> {
    Some(peer.data_segs_out_per_second?.min(peer.data_segs_in_per_second?))
}

/// Share of time in which the connections to a peer wait for round trips, if they transfer little else.
fn waits(context: &RuleContext<'_>, peer: &Peer) -> Option<f64> {
    let share = peer.round_trip_share()?;
    let each = requests(peer)? / peer.connections.max(1) as f64;
    let small = peer.bytes_per_segment.is_some_and(|bytes| bytes <= context.limit(&BYTES));
    (share >= context.limit(&EXIT) && each >= context.limit(&REQUESTS) && small).then_some(share)
}

/// True if no resource that the kernel measures is the limit.
fn is_idle(context: &RuleContext<'_>, frame: &Frame) -> bool {
    let busy = context.cpus().any(|(_, shares)| shares.busy >= context.limit(&BUSY));
    let disk = frame.disks.iter().filter_map(|disk| disk.utilisation).any(|share| share >= context.limit(&DISK));
    let link = frame.nics.iter().filter_map(|nic| nic.utilisation).any(|share| share >= context.limit(&LINK));
    let waits = |resource: &str| {
        let ratio = frame.pressure(resource).and_then(|row| row.stall.some_ratio);
        ratio.is_some_and(|ratio| ratio >= context.limit(&PRESSURE))
    };
    !busy && !disk && !link && !waits("io") && !waits("memory")
}

fn title(finding: &Finding) -> String {
    text::Title {
        comm: &finding.text(evidence::COMM),
        subject: &finding.subject,
        share: &parts::percent(finding.number(evidence::SHARE)),
        peer: &finding.text(evidence::PEER),
        requests: &parts::count(finding.number(evidence::REQUESTS).map(f64::round)),
        latency: &format!("{:.2}", finding.number(evidence::ROUND_TRIP).unwrap_or(0.0)),
    }
    .to_string()
}
