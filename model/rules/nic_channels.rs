//! NIC-01: an interface runs fewer channels than it could, and its CPU drowns.

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
use std::collections::BTreeSet;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("NIC-01");
pub(crate) const PACKETS: Threshold = ID.threshold(text::threshold::PACKETS, 5000.0, "1/s");
pub(crate) const ENOUGH: Threshold = ID.threshold(text::threshold::ENOUGH, 8.0, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Softirq],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Nics],
    sources: &["ethtool -l", "/proc/stat", "/proc/irq/N/effective_affinity_list"],
    thresholds: &[PACKETS, ENOUGH],
    references: &["ethtool(8)", "Documentation/networking/scaling.rst"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    tables: &[Page { title: text::TABLE_TITLE, rows: text::TABLE }],
    preflight: Some(Preflight { name: text::PREFLIGHT, says }),
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let hot = parts::hot_cpus(context);
    for nic in frame.nics.iter().filter(|nic| parts::is_physical(nic)) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        let Some((kind, current, max)) = channels(nic) else {
            if nic.carrier.value() == Some(true) && matches!(nic.combined.max, Known::Missing) {
                let needs = "a driver that tells them (ethtool -l)";
                context.unchecked(subject, "its channels could not be read", needs);
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
        let mut hit = tables(Hit::new(subject.clone(), 0.95), nic)
            .severity(severity)
            .number(evidence::CURRENT, current as f64, "", "ethtool -l")
            .number(evidence::MAX, max as f64, "", "ethtool -l")
            .number(evidence::WANTED, wanted as f64, "", "ethtool -l")
            .text(evidence::KIND, kind, "ethtool -l")
            .known(evidence::PACKETS, packets, "1/s", "/proc/net/dev")
            .known(evidence::UTILISATION, nic.utilisation, "fraction", "/proc/net/dev")
            .covers(irq_crowding::ID, subject);
        if let Some(hot) = hottest {
            let idle = parts::idle_cpus(context, None, 0.5);
            hit = hit
                .number(evidence::CPU, f64::from(hot.id), "", "/proc/irq/N/effective_affinity_list")
                .number(evidence::SOFTIRQ, hot.share, "fraction", "/proc/stat")
                .text(evidence::IDLE, idle.to_string(), "/proc/stat")
                .covers(softirq_saturated::ID, Subject::Cpu(hot.id))
                .covers(nic_rx_drops::ID, Subject::Nic(Arc::clone(&nic.name)))
                .covers(core_saturated::ID, Subject::Cpu(hot.id))
                .covers(softirq_budget::ID, Subject::Cpu(hot.id));
        }
        context.hit(hit);
    }
}

/// With its channels and the chain behind them.
fn tables(hit: Hit, nic: &Nic) -> Hit {
    hit.table(evidence::ETHTOOL_L, ethtool_l(nic), "ethtool -l")
        .table(evidence::QUEUES, queues(nic), "/proc/interrupts, /proc/irq/N/effective_affinity_list")
        .would_hurt()
}

/// The rows of `ethtool -l`; what the driver does not have is not applicable.
fn ethtool_l(nic: &Nic) -> Grid {
    let rows =
        [("RX", nic.rx_channels), ("TX", nic.tx_channels), ("Other", nic.other_channels), ("Combined", nic.combined)];
    let grid = Grid::new([("maximum", ""), ("current", "")]);
    rows.into_iter()
        .fold(grid, |grid, (name, channel)| grid.row(name, [Cell::count(channel.max), Cell::count(channel.current)]))
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
        let cells = [id(queue.irq), cpus, id(queue.node), Cell::of(queue.softirq), Cell::of(queue.packets_per_second)];
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
    let cores: BTreeSet<u32> =
        near.map(|cpu| cpu.smt_siblings.as_ref().and_then(|cpus| cpus.iter().next()).unwrap_or(cpu.id)).collect();
    cores.len() as u64
}

fn title(finding: &Finding) -> String {
    let figure = |name| parts::count(finding.number(name));
    let runs = format!(
        "{} runs {} of {} {} channels",
        finding.subject,
        figure(evidence::CURRENT),
        figure(evidence::MAX),
        finding.text(evidence::KIND)
    );
    match finding.number(evidence::CPU) {
        Some(cpu) => {
            format!("{runs}; cpu {cpu} spends {} in interrupts", parts::percent(finding.number(evidence::SOFTIRQ)))
        }
        None => runs,
    }
}
