//! IO-07: a service waits for serialised network round trips while the machine is idle.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::frame::{Disk, Frame, Peer, Process, WriterId};
use crate::locale::evidence;
use crate::locale::rule::round_trips as text;
use crate::waiting::{Chain, one_by_one, server};
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
    sources: &["INET_DIAG tcp_info", "/proc/PID/task/TID/syscall", "/proc/stat", "/proc/diskstats", "/proc/net/dev"],
    thresholds: &[SHARE, EXIT, REQUESTS, BYTES, BUSY, DISK, LINK, PRESSURE],
    references: &["https://www.rabbitmq.com/docs/confirms", "tcp(7) TCP_INFO"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let idle = is_idle(context, frame);
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let answers = one_by_one(process).filter(|chain| chain.requests >= context.limit(&REQUESTS));
        let (hit, share) = match answers.filter(|_| has_time(context, frame)) {
            Some(chain) => (answers_awaited(frame, process, &chain), chain.share),
            None if idle => {
                let waits = process.peers.iter().filter_map(|peer| Some((peer, waits(context, peer)?)));
                let Some((peer, share)) = waits.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
                (about(process, peer, share).severity(Severity::Info), share)
            }
            None => continue,
        };
        context.hit(hit.enters(share >= context.limit(&SHARE)));
    }
}

fn about(process: &Process, peer: &Peer, share: f64) -> Hit {
    let broker = ["rabbit", "beam"].iter().any(|name| process.comm.contains(name)) || [5671, 5672].contains(&peer.port);
    Hit::new(Subject::Process(process.pid, process.starttime), 0.5)
        .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm")
        .text(evidence::PEER, format!("{}:{}", peer.address, peer.port), "INET_DIAG")
        .text(
            evidence::SERVICE,
            if broker { text::BROKER.as_str() } else { text::UNKNOWN_SERVICE.as_str() },
            "INET_DIAG",
        )
        .number(evidence::SHARE, share.min(1.0), "fraction", "INET_DIAG tcpi_rtt, tcpi_data_segs_out")
        .number(evidence::CONNECTIONS, peer.connections as f64, "", "INET_DIAG")
        .known(evidence::REQUESTS, requests(peer), "1/s", "INET_DIAG tcpi_data_segs_out")
        .known(evidence::ROUND_TRIP, peer.rtt_us.value().map(|us| us as f64 / 1000.0), "ms", "INET_DIAG tcpi_rtt")
        .known(evidence::BYTES_PER_SEGMENT, peer.bytes_per_segment, "bytes", "INET_DIAG tcpi_bytes_acked")
}

/// Requests whose time is not the network's: the peer takes it. Where the peer runs here and its disk flushes for each of
/// them, that is what they wait for.
fn answers_awaited(frame: &Frame, process: &Process, chain: &Chain<'_>) -> Hit {
    let hit = about(process, chain.peer, chain.share).number(
        evidence::ANSWER_TIME,
        chain.ms,
        "ms",
        "/proc/PID/task/TID/syscall, INET_DIAG tcpi_last_data_sent",
    );
    let Some(server) = server(frame, process, chain.peer) else { return hit.severity(Severity::Info) };
    let hit = hit.text(evidence::ANSWERED_BY, format!("{} ({})", server.comm, server.pid), "INET_DIAG");
    let requests = requests(chain.peer).unwrap_or(0.0);
    let flushes = |disk: &&Disk| disk.flushes_per_second.is_some_and(|flushes| flushes >= FLUSHES * requests);
    let written =
        |disk: &&Disk| disk.writers.is_empty() || disk.writers.iter().any(|writer| is_of(&writer.who, server));
    // Of requests one by one, the disk is busy for the part of the time that they spend there.
    let busy = |disk: &&Disk| disk.utilisation.is_some_and(|busy| busy >= FLUSHES * chain.share);
    let disks = frame.disks.iter().filter(|disk| parts::is_judged(disk)).filter(written).filter(flushes).filter(busy);
    let rate = |disk: &Disk| disk.flushes_per_second.unwrap_or(0.0);
    let Some(disk) = disks.max_by(|a, b| rate(a).total_cmp(&rate(b))) else { return hit.severity(Severity::Info) };
    let hit = Hit { confidence: 0.8, ..hit };
    hit.text(evidence::DISK, Arc::clone(&disk.name), "/proc/diskstats")
        .number(evidence::FLUSHES, rate(disk), "1/s", "/proc/diskstats")
        .known(evidence::FLUSH_TIME, disk.flush_share.map(|share| share * 1000.0 / rate(disk)), "ms", "/proc/diskstats")
}

/// Flushes for each request, and the disk's part of its time, from which on it waits for the flush.
const FLUSHES: f64 = 0.5;

fn is_of(who: &WriterId, process: &Process) -> bool {
    match who {
        WriterId::Process(pid) => *pid == process.pid,
        // Writes of version 1 may be counted further up than memory is.
        WriterId::Cgroup(path) => {
            let group = process.io_group();
            path == group || &**path != "/" && parts::is_below(group, path)
        }
    }
}

/// False where CPUs or a link are full: those hold requests up as well.
fn has_time(context: &RuleContext<'_>, frame: &Frame) -> bool {
    let (sum, count) = context.cpus().fold((0.0, 0u32), |(sum, count), (_, shares)| (sum + shares.busy, count + 1));
    let link = frame.nics.iter().filter_map(|nic| nic.utilisation).any(|share| share >= context.limit(&LINK));
    sum < context.limit(&BUSY) * f64::from(count) && !link
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
    let (comm, subject, peer) =
        (&finding.text(evidence::COMM), &finding.subject.named(), &finding.text(evidence::PEER));
    let requests = &parts::count(finding.number(evidence::REQUESTS).map(f64::round));
    let ms = |name| parts::two_digits(finding.number(name).unwrap_or(0.0));
    if finding.number(evidence::ANSWER_TIME).is_none() {
        let share = &parts::percent(finding.number(evidence::SHARE));
        let latency = &format!("{:.2}", finding.number(evidence::ROUND_TRIP).unwrap_or(0.0));
        return text::Title { comm, subject, share, peer, requests, latency }.to_string();
    }
    let time = &ms(evidence::ANSWER_TIME);
    match (&finding.text(evidence::ANSWERED_BY), &finding.text(evidence::DISK)) {
        (server, disk) if !disk.is_empty() => {
            let flushes = &parts::count(finding.number(evidence::FLUSHES).map(f64::round));
            text::TitleFlushes { comm, subject, peer, requests, time, server, disk, flushes }.to_string()
        }
        _ => text::TitleAnswers { comm, subject, peer, requests, time }.to_string(),
    }
}
