//! NIC-01: an interface runs fewer channels than it could, and its CPU drowns.

use super::{Cell, Finding, Grid, Hit, Input, Look, Pace, Page, Preflight, Rule, Severity, Subject, Threshold, irq_01, parts};
use crate::Known;
use crate::frame::{Frame, Nic};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "NIC-01",
    name: "an interface runs fewer channels than it could",
    why: "A network card can hand packets to several CPUs, one for each channel. Left on one, a single core does all the receiving, and the machine is as fast as that core.",
    reads: &[Input::CpuTimes, Input::Nics],
    looks_at: &["ethtool -l", "/proc/stat", "/proc/irq/N/effective_affinity_list"],
    thresholds: &[
        Threshold { name: "packets", value: 5000.0, unit: "1/s", about: "packets received, at least, for a warning" },
        Threshold { name: "enough", value: 8.0, unit: "", about: "channels that are enough where no CPU is hot" },
    ],
    guards: &["bonds, bridges and VLANs: their lower interfaces are judged", "as many channels as CPUs", "without load it is only told", "no more channels than cores: hyper-threads add nothing"],
    advice: &["ethtool -L NIC combined N", "The load generator needs it too: look at both ends, one end alone may gain nothing", "Keep it: [Link] CombinedChannels=max in a systemd .link file"],
    references: &["ethtool(8)", "Documentation/networking/scaling.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    tables: &[Page {
        title: "the rows of ethtool -l",
        columns: &["row", "what it counts"],
        rows: &[
            &["RX", "channels that only receive"],
            &["TX", "channels that only send"],
            &["Other", "channels for the link itself and for the coordination of virtual functions"],
            &["Combined", "channels that do both: with most cards those to raise"],
        ],
    }],
    gained: &[
        "One report of pgbench -S with 192 clients: from 288 935 to 467 220 transactions/s, mean latency from 0.66 to 0.40 ms, its deviation from 0.13 to 0.52 ms. Queues were raised on the client (to 4) and the server (to 8) together: one end alone may gain nothing.",
        "It was a load of small packets: what is limited by bandwidth gains nothing of that kind.",
    ],
    preflight: Some(Preflight { name: "NIC channels", says }),
    judge,
    title,
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let hot = parts::hot_cpus(look);
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let Some((kind, current, max)) = channels(nic) else {
            if nic.carrier.value() == Some(true) && matches!(nic.combined.max, Known::Missing) {
                let needs = "a driver that tells them (ethtool -l)";
                look.unchecked(subject, "its channels could not be read", needs);
            }
            continue;
        };
        let wanted = max.min(cores(frame, nic));
        if current >= wanted {
            continue;
        }
        let serving = |hot: &&parts::HotCpu| parts::queues_on(nic, hot.id).next().is_some();
        let hottest = hot.iter().filter(serving).max_by(|a, b| a.share.total_cmp(&b.share));
        let packets = nic.rx.packets_per_second;
        let hurts = hottest.is_some_and(|hot| hot.enters) && packets.is_some_and(|packets| packets >= look.limit("packets"));
        if !hurts && current as f64 >= look.limit("enough") {
            continue;
        }
        let severity = match hottest {
            Some(hot) if hurts && hot.share >= look.limit_of(&irq_01::RULE, "critical") => Severity::Critical,
            _ if hurts => Severity::Warning,
            _ => Severity::Info,
        };
        let mut hit = tables(Hit::new(subject.clone(), 0.95), nic)
            .severity(severity)
            .number("current", current as f64, "", "ethtool -l")
            .number("max", max as f64, "", "ethtool -l")
            .number("wanted", wanted as f64, "", "ethtool -l")
            .text("kind", kind, "ethtool -l")
            .known("packets", packets, "1/s", "/proc/net/dev")
            .known("utilisation", nic.utilisation, "fraction", "/proc/net/dev")
            .covers("IRQ-03", subject);
        if let Some(hot) = hottest {
            let idle = parts::idle_cpus(look, None, 0.5);
            hit = hit
                .number("cpu", f64::from(hot.id), "", "/proc/irq/N/effective_affinity_list")
                .number("softirq", hot.share, "fraction", "/proc/stat")
                .text("idle", idle.to_string(), "/proc/stat")
                .covers("IRQ-01", Subject::Cpu(hot.id))
                .covers("NIC-06", Subject::Nic(Arc::clone(&nic.name)))
                .covers("CPU-01", Subject::Cpu(hot.id))
                .covers("NIC-03", Subject::Cpu(hot.id));
        }
        look.hit(hit);
    }
}

/// With its channels and the chain behind them.
fn tables(hit: Hit, nic: &Nic) -> Hit {
    hit.table("ethtool_l", ethtool_l(nic), "ethtool -l")
        .table("queues", queues(nic), "/proc/interrupts, /proc/irq/N/effective_affinity_list")
        .would_hurt()
}

/// The rows of `ethtool -l`; what the driver does not have is not applicable.
fn ethtool_l(nic: &Nic) -> Grid {
    let rows = [
        ("RX", nic.rx_channels),
        ("TX", nic.tx_channels),
        ("Other", nic.other_channels),
        ("Combined", nic.combined),
    ];
    let grid = Grid::new([("maximum", ""), ("current", "")]);
    rows.into_iter().fold(grid, |grid, (name, channel)| {
        grid.row(name, [Cell::count(channel.max), Cell::count(channel.current)])
    })
}

/// Queues that are told at most.
const MOST: usize = 16;

/// The chain from a queue to the CPU that serves it.
fn queues(nic: &Nic) -> Grid {
    let columns = [("irq", ""), ("cpus", ""), ("node", ""), ("softirq", "fraction"), ("packets", "1/s")];
    let mut grid = Grid::new(columns);
    for queue in nic.queues.iter().filter(|queue| &*queue.direction != "tx").take(MOST) {
        let id = |known: Known<u32>| Cell::count(known.map(u64::from));
        let cpus = queue.cpus.as_ref().map_or(Cell::Unknown, |cpus| Cell::text(cpus.to_string()));
        let cells =
            [id(queue.irq), cpus, id(queue.node), Cell::of(queue.softirq), Cell::of(queue.packets_per_second)];
        grid.push(format!("{} {}", queue.direction, queue.queue), cells);
    }
    grid
}

/// Channels as they are, before a test.
fn says(frame: &Frame) -> String {
    let nics = frame.nics.iter().filter(|nic| parts::is_physical(nic));
    let told = nics.filter_map(|nic| {
        let (kind, current, max) = channels(nic)?;
        Some(format!("{} {current} of {max} {kind}", nic.name))
    });
    let told = parts::list(told, 6);
    if told.is_empty() { "no interface with channels".to_owned() } else { told }
}

/// The channels that receive: their kind, how many there are and may be.
fn channels(nic: &Nic) -> Option<(&'static str, u64, u64)> {
    [("combined", nic.combined), ("rx", nic.rx_channels)].into_iter().find_map(|(kind, channel)| {
        Some((kind, channel.current.value()?, channel.max.value()?)).filter(|(_, _, max)| *max > 0)
    })
}

/// Cores that channels are worth having for: those next to the interface, or all.
fn cores(frame: &Frame, nic: &Nic) -> u64 {
    let local = nic.node.value().and_then(|node| frame.topology.node(node)).map(|node| &node.cpus);
    let online = frame.topology.cpus.iter().filter(|cpu| cpu.online);
    let near = online.filter(|cpu| local.is_none_or(|local| local.is_empty() || local.contains(cpu.id)));
    let cores: BTreeSet<u32> = near.map(|cpu| cpu.smt_siblings.as_ref().and_then(|cpus| cpus.iter().next()).unwrap_or(cpu.id)).collect();
    cores.len() as u64
}

fn title(finding: &Finding) -> String {
    let figure = |name| parts::count(finding.number(name));
    let runs = format!("{} runs {} of {} {} channels", finding.subject, figure("current"), figure("max"), finding.text("kind"));
    match finding.number("cpu") {
        Some(cpu) => format!("{runs}; cpu {cpu} spends {} in interrupts", parts::percent(finding.number("softirq"))),
        None => runs,
    }
}
