//! NIC-01: an interface uses fewer channels than available, and softirq saturates its CPU.

use super::rss_skew;
use super::{
    Cell, Finding, Grid, Hit, Input, Pace, Page, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold,
    parts, softirq_saturated,
};
use super::{core_saturated, irq_crowding, nic_rx_drops, softirq_budget};
use crate::Known;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Nic};
use crate::locale::evidence;
use crate::locale::rule::nic_channels as text;
use crate::locale::table;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("NIC-01");
pub(crate) const PACKETS: Threshold = ID.threshold(text::threshold::PACKETS, 5000.0, "1/s");
pub(crate) const ENOUGH: Threshold = ID.threshold(text::threshold::ENOUGH, 8.0, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    advises: None,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Softirq],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Nics],
    sources: &["ethtool -l", "/proc/stat", "/proc/irq/N/effective_affinity_list"],
    thresholds: &[PACKETS, ENOUGH],
    references: &["ethtool(8)", "Documentation/networking/scaling.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    tables: &[Page { title: text::TABLE_TITLE, rows: text::TABLE }],
    preflight: Some(Preflight { name: text::PREFLIGHT, says: channel_counts }),
    judge,
    title,
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let hot = parts::hot_cpus(context);
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let Some((kind, current, max)) = channels(nic) else {
            if nic.carrier.value() == Some(true) && matches!(nic.channels.combined.max, Known::Missing) {
                context.unchecked(subject, &text::UNCHECKED_CHANNELS, &text::NEEDS_DRIVER);
            }
            continue;
        };
        let wanted = max.min(cores(frame, nic));
        // One flow stays on one queue, however many there are: that is NIC-04.
        if current >= wanted || rss_skew::is_one_flow(nic) {
            continue;
        }
        let serving = |hot: &&parts::HotCpu| parts::queues_on(nic, hot.id).next().is_some();
        let hottest = hot.iter().filter(serving).max_by(|a, b| a.share.total_cmp(&b.share));
        let packets = nic.rx.packets_per_second;
        let hurts =
            hottest.is_some_and(|hot| hot.enters) && packets.is_some_and(|packets| packets >= context.limit(&PACKETS));
        if !hurts && current as f64 >= context.limit(&ENOUGH) {
            continue;
        }
        let severity = match hottest {
            Some(hot) if hurts && hot.share >= context.limit(&softirq_saturated::CRITICAL) => Severity::Critical,
            _ if hurts => Severity::Warning,
            _ => Severity::Info,
        };
        let mut hit = with_tables(Hit::new(subject.clone(), 0.95), nic)
            .severity(severity)
            .number(evidence::CURRENT, current as f64, "", "ethtool -l")
            .number(evidence::MAX, max as f64, "", "ethtool -l")
            .number(evidence::RECOMMENDED, wanted as f64, "", "ethtool -l")
            .text(evidence::KIND, kind, "ethtool -l")
            .known(evidence::PACKETS, packets, "1/s", "/proc/net/dev")
            .known(evidence::UTILISATION, nic.utilisation, "fraction", "/proc/net/dev")
            .covers(irq_crowding::ID, subject);
        if let Some(hot) = hottest {
            let idle = parts::idle_cpus(context, None, 0.5);
            hit = hit
                .number(evidence::CPU, f64::from(hot.id), "", "/proc/irq/N/effective_affinity_list")
                .number(evidence::SOFTIRQ, hot.share, "fraction", "/proc/stat")
                .text(evidence::FREE_CPUS, idle.to_string(), "/proc/stat")
                .covers(softirq_saturated::ID, Subject::Cpu(hot.id))
                .covers(nic_rx_drops::ID, Subject::Nic(Arc::clone(&nic.name)))
                .covers(core_saturated::ID, Subject::Cpu(hot.id))
                .covers(softirq_budget::ID, Subject::Cpu(hot.id));
        }
        context.hit(hit);
    }
}

/// Adds the channels and their chain from queue to CPU.
fn with_tables(hit: Hit, nic: &Nic) -> Hit {
    hit.table(evidence::ETHTOOL_L, ethtool_l(nic), "ethtool -l")
        .table(evidence::QUEUES, queues(nic), "/proc/interrupts, /proc/irq/N/effective_affinity_list")
        .would_hurt()
}

/// The rows of `ethtool -l`; channels that the driver does not have are not applicable.
fn ethtool_l(nic: &Nic) -> Grid {
    let rows = [
        ("RX", nic.channels.rx),
        ("TX", nic.channels.tx),
        ("Other", nic.channels.other),
        ("Combined", nic.channels.combined),
    ];
    let grid = Grid::new([(table::MAXIMUM.as_str(), ""), (table::CURRENT.as_str(), "")]);
    rows.into_iter()
        .fold(grid, |grid, (name, channel)| grid.row(name, [Cell::count(channel.max), Cell::count(channel.current)]))
}

/// Maximum number of queues in the table.
const MAX_QUEUES: usize = 16;

/// The chain from a queue to the CPU that serves it.
fn queues(nic: &Nic) -> Grid {
    let columns = [
        (table::IRQ.as_str(), ""),
        (table::CPUS.as_str(), ""),
        (table::NUMA_NODE.as_str(), ""),
        (table::SOFTIRQ.as_str(), "fraction"),
        (table::PACKETS.as_str(), "1/s"),
    ];
    let mut grid = Grid::new(columns);
    for queue in nic.queues.iter().filter(|queue| &*queue.direction != "tx").take(MAX_QUEUES) {
        let id = |known: Known<u32>| Cell::count(known.map(u64::from));
        let cpus = queue.cpus.as_ref().map_or(Cell::Unknown, |cpus| Cell::text(cpus.to_string()));
        let cells = [id(queue.irq), cpus, id(queue.node), Cell::of(queue.softirq), Cell::of(queue.packets_per_second)];
        grid.push(format!("{} {}", queue.direction, queue.queue), cells);
    }
    grid
}

/// Current and maximum channels of each interface.
fn channel_counts(frame: &Frame) -> String {
    let nics = frame.nics.iter().filter(|nic| parts::is_physical(nic));
    let counts = nics.filter_map(|nic| {
        let (kind, current, max) = channels(nic)?;
        Some(text::PreflightNic { nic: &nic.name, current: &current, max: &max, kind: &kind }.to_string())
    });
    let counts = parts::list(counts, 6);
    if counts.is_empty() { text::PREFLIGHT_NONE.to_string() } else { counts }
}

/// The receiving channels: kind, current and maximum number. A driver that could combine them and has none combined uses
/// separate ones.
fn channels(nic: &Nic) -> Option<(&'static str, u64, u64)> {
    let kinds =
        [("combined", nic.channels.combined), ("rx", nic.channels.rx)].into_iter().filter_map(|(kind, channel)| {
            Some((kind, channel.current.value()?, channel.max.value()?)).filter(|(_, _, max)| *max > 0)
        });
    let kinds: Vec<_> = kinds.collect();
    kinds.iter().find(|kind| kind.1 > 0).or(kinds.first()).copied()
}

/// Cores that can use a channel: those of the node of the interface, else all.
fn cores(frame: &Frame, nic: &Nic) -> u64 {
    let local = nic.node.value().and_then(|node| frame.topology.node(node)).map(|node| &node.cpus);
    let kept = parts::kept_alone(frame);
    let online = frame.topology.cpus.iter().filter(|cpu| cpu.online && !kept.contains(cpu.id));
    let near = online.filter(|cpu| local.is_none_or(|local| local.is_empty() || local.contains(cpu.id)));
    let cores: BTreeSet<u32> =
        near.map(|cpu| cpu.smt_siblings.as_ref().and_then(|cpus| cpus.iter().next()).unwrap_or(cpu.id)).collect();
    cores.len() as u64
}

fn title(finding: &Finding) -> String {
    let count = |name| parts::count(finding.number(name));
    let (subject, kind) = (&finding.subject.named(), &finding.text(evidence::KIND));
    let (current, max) = (&count(evidence::CURRENT), &count(evidence::MAX));
    match finding.number(evidence::CPU) {
        Some(cpu) => {
            let share = &parts::percent(finding.number(evidence::SOFTIRQ));
            text::TitleSoftirq { subject, current, max, kind, cpu: &cpu, share }.to_string()
        }
        None => text::Title { subject, current, max, kind }.to_string(),
    }
}
