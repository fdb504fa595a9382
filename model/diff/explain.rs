//! What follows from what: changes that another one makes stand under it, not beside it.

use super::row::{Row, Verdict};
use super::subject::Subject;
use crate::frame::Topology;
use std::collections::HashMap;

/// A part explains a whole when it makes up so much of it.
const MOST: f64 = 0.7;

/// Puts each changed row that follows from another under it. Only rows without a parent get one, and only heads that
/// keep standing become parents, so that nothing is under itself.
pub(super) fn explain(rows: &mut [Row], topology: &Topology) {
    nodes(rows, topology);
    same_subject(rows);
    host(rows, topology);
    alike(rows);
    network(rows);
    groups(rows);
    work(rows, topology);
    flatten(rows);
}

/// Rows that changed, by their place.
fn changed(rows: &[Row]) -> impl Iterator<Item = (usize, &Row)> {
    rows.iter().enumerate().filter(|(_, row)| row.verdict.is_change())
}

fn put_under(rows: &mut [Row], child: usize, parent: usize) {
    // The parent's own line must not lead back to the child.
    let mut above = Some(parent);
    while let Some(at) = above {
        if at == child {
            return;
        }
        above = rows.get(at).and_then(|row| row.under);
    }
    if let Some(row) = rows.get_mut(child).filter(|row| row.under.is_none()) {
        row.under = Some(parent);
    }
}

fn same_way(one: f64, other: f64) -> bool {
    (one > 0.0) == (other > 0.0)
}

/// The heaviest of rows that pass.
fn heaviest(rows: &[Row], pass: impl Fn(&Row) -> bool) -> Option<usize> {
    let found = changed(rows).filter(|(_, row)| pass(row));
    found.max_by(|a, b| a.1.weight.total_cmp(&b.1.weight)).map(|(at, _)| at)
}

/// A node's mean follows from its CPUs; where most of its CPUs changed alike, they follow from the node.
fn nodes(rows: &mut [Row], topology: &Topology) {
    let node_of = |cpu: u32| topology.node_of(cpu);
    let found: Vec<(usize, u32, &str, f64)> = changed(rows)
        .filter_map(|(at, row)| match row.subject {
            Subject::Node(node) => Some((at, node, row.metric.id.strip_prefix("node.")?, row.shift)),
            _ => None,
        })
        .collect();
    for (at, node, metric, shift) in found {
        let of_node = |row: &Row| match row.subject {
            Subject::Cpu(cpu) => node_of(cpu) == Some(node) && row.metric.id.strip_prefix("cpu.") == Some(metric),
            _ => false,
        };
        let parts: Vec<usize> =
            changed(rows).filter(|(_, row)| of_node(row) && same_way(row.shift, shift)).map(|(at, _)| at).collect();
        let online = topology.cpus.iter().filter(|cpu| cpu.online && cpu.node.value() == Some(node)).count();
        if parts.len() >= 3 && parts.len() * 2 >= online {
            for part in parts {
                put_under(rows, part, at);
            }
        } else if let Some(parent) = explained(rows, &parts, shift * online as f64) {
            put_under(rows, at, parent);
        }
    }
}

/// The heaviest of parts that together make up most of a whole.
fn explained(rows: &[Row], parts: &[usize], whole: f64) -> Option<usize> {
    let shift = |at: &usize| rows.get(*at).map_or(0.0, |row| row.shift);
    let sum: f64 = parts.iter().map(shift).sum();
    let heaviest = parts.iter().max_by(|a, b| shift(a).abs().total_cmp(&shift(b).abs()))?;
    (same_way(sum, whole) && sum.abs() >= MOST * whole.abs()).then_some(*heaviest)
}

/// Of each subject the heaviest row stands for the others.
fn same_subject(rows: &mut [Row]) {
    let mut heads: HashMap<Subject, usize> = HashMap::new();
    for (at, row) in changed(rows).filter(|(_, row)| row.subject != Subject::Host) {
        // Of two that weigh alike the one that is better or worse says more.
        let reported = |row: &Row| if row.verdict == Verdict::Changed { 1.0 } else { 1.25 };
        let weight = |at: usize| rows.get(at).map_or(0.0, |row| row.weight * reported(row));
        let head = heads.entry(row.subject.clone()).or_insert(at);
        // One that stands under another subject already brings the rest along.
        let rank = |at: usize| (rows.get(at).is_some_and(|row| row.under.is_some()), weight(at));
        if rank(at) > rank(*head) {
            *head = at;
        }
    }
    let found: Vec<(usize, usize)> =
        changed(rows).filter_map(|(at, row)| Some((at, *heads.get(&row.subject)?))).collect();
    found.into_iter().filter(|(at, head)| at != head).for_each(|(at, head)| put_under(rows, at, head));
}

/// Metrics of the machine that are made of its CPUs'.
const OF_CPUS: [(&str, &[&str]); 9] = [
    ("host.busy", &["cpu.busy", "node.busy"]),
    ("host.user", &["cpu.user", "cpu.busy", "node.busy"]),
    ("host.system", &["cpu.system", "cpu.busy", "node.busy"]),
    ("host.softirq", &["cpu.softirq", "node.softirq"]),
    ("host.iowait", &["cpu.iowait", "node.iowait"]),
    ("host.steal", &["cpu.steal"]),
    ("host.busiest_cpu", &["cpu.busy", "node.busy"]),
    ("host.busiest_softirq", &["cpu.softirq", "node.softirq"]),
    ("host.node_imbalance", &["node.busy", "cpu.busy"]),
];

/// What the machine's mean does follows from the CPUs that do it; where there are none, its own rows stand together.
fn host(rows: &mut [Row], topology: &Topology) {
    let found: Vec<(usize, &str, f64)> = changed(rows)
        .filter(|(_, row)| row.subject == Subject::Host)
        .map(|(at, row)| (at, row.metric.id, row.shift))
        .collect();
    let online = topology.cpus_online.len() as f64;
    for &(at, id, shift) in &found {
        let Some((_, parts)) = OF_CPUS.iter().find(|entry| entry.0 == id) else { continue };
        let is_part =
            |row: &Row| parts.contains(&row.metric.id) && (same_way(row.shift, shift) || id == "host.node_imbalance");
        let cpus: Vec<usize> = changed(rows)
            .filter(|(_, row)| is_part(row) && matches!(row.subject, Subject::Cpu(_)) && row.metric.id == parts[0])
            .map(|(at, _)| at)
            .collect();
        let is_mean = !id.contains("busiest") && id != "host.node_imbalance";
        let parent = if is_mean && !cpus.is_empty() && online > 0.0 {
            explained(rows, &cpus, shift * online)
        } else {
            heaviest(rows, is_part)
        };
        if let Some(parent) = parent {
            put_under(rows, at, parent);
        }
    }
    let busy = found.iter().find(|entry| entry.1 == "host.busy").map(|entry| entry.0);
    for &(at, id, _) in &found {
        if let Some(busy) = busy.filter(|&busy| busy != at && OF_CPUS.iter().any(|entry| entry.0 == id)) {
            put_under(rows, at, busy);
        }
    }
}

/// CPUs, queues and interrupts of which several changed alike stand under the one that changed most.
fn alike(rows: &mut [Row]) {
    const SEVERAL: usize = 3;
    let mut families: HashMap<(&str, Verdict), Vec<usize>> = HashMap::new();
    for (at, row) in changed(rows).filter(|(_, row)| row.under.is_none()) {
        if matches!(row.subject, Subject::Cpu(_) | Subject::Node(_) | Subject::Queue { .. } | Subject::Irq(_)) {
            // What grew in one and shrank in another did not change alike.
            let verdict =
                if row.verdict == Verdict::Changed && row.shift < 0.0 { Verdict::NoChange } else { row.verdict };
            families.entry((row.metric.id, verdict)).or_default().push(at);
        }
    }
    let weight = |at: &usize| rows.get(*at).map_or(0.0, |row| row.weight);
    let mut found = Vec::new();
    for family in families.values().filter(|family| family.len() >= SEVERAL) {
        let Some(&head) = family.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)).then(b.cmp(a))) else { continue };
        // One that changed far more than the others is a matter of its own.
        let fellows = family.iter().filter(|&at| *at != head && weight(at) * 2.0 >= weight(&head));
        found.extend(fellows.map(|&at| (at, head)));
    }
    for (at, head) in found {
        put_under(rows, at, head);
    }
}

/// Queues, interrupts, soft interrupts and the backlog follow from the traffic of an interface.
fn network(rows: &mut [Row]) {
    let found: Vec<usize> = changed(rows).filter(|(_, row)| row.under.is_none()).map(|(at, _)| at).collect();
    for at in found {
        let Some(row) = rows.get(at) else { continue };
        let shift = row.shift;
        let nic = match &row.subject {
            Subject::Queue { nic, .. } => Some(Subject::Nic(nic.clone())),
            Subject::Irq(_) => row.owner.clone(),
            _ => None,
        };
        let packets = matches!(&row.subject, Subject::Softirq(name) if name.starts_with("NET_"))
            || (row.metric.id.starts_with("cpu.packets") || row.metric.id == "cpu.received_rps");
        let traffic = |other: &Row| {
            ["nic.rx_packets", "nic.tx_packets"].contains(&other.metric.id) && same_way(other.shift, shift)
        };
        let parent = match &nic {
            Some(nic) => heaviest(rows, |other| other.subject == *nic),
            None if packets => heaviest(rows, |other| traffic(other) && other.shift.abs() >= shift.abs() / 3.0),
            None => None,
        };
        if let Some(parent) = parent {
            put_under(rows, at, parent);
        }
    }
}

/// What a group does follows from the group below it, or the process in it, that does most of it.
fn groups(rows: &mut [Row]) {
    let found: Vec<(usize, String, &str, f64)> = changed(rows)
        .filter_map(|(at, row)| match &row.subject {
            Subject::Cgroup(path) => Some((at, path.trim_end_matches('/').to_owned(), row.metric.id, row.shift)),
            _ => None,
        })
        .collect();
    for (at, path, id, shift) in found {
        let part = |row: &Row| {
            let inside =
                |other: &str| other == path || other.strip_prefix(&*path).is_some_and(|rest| rest.starts_with('/'));
            let same = match &row.subject {
                Subject::Cgroup(other) => *row.metric.id == *id && **other != *path && inside(other),
                Subject::Process { cgroup, .. } => {
                    let alike = [
                        ("cgroup.cores", "process.cores"),
                        ("cgroup.memory", "process.rss"),
                        ("cgroup.unreclaimable", "process.rss"),
                    ];
                    inside(cgroup) && alike.contains(&(id, row.metric.id))
                }
                _ => false,
            };
            same && same_way(row.shift, shift) && row.shift.abs() >= MOST * shift.abs()
        };
        let deepest = |row: &Row| match &row.subject {
            Subject::Cgroup(path) => path.len(),
            _ => usize::MAX,
        };
        let found = changed(rows).filter(|(other, row)| *other != at && part(row)).max_by_key(|(_, row)| deepest(row));
        if let Some((parent, _)) = found {
            put_under(rows, at, parent);
        }
    }
}

/// What rises and falls with the work that is done.
const WITH_WORK: [&str; 8] = [
    "host.running",
    "host.context_switches",
    "host.interrupts",
    "host.irqs_on_one_cpu",
    "softirq.rate",
    "pressure.some",
    "pressure.full",
    "cgroup.cpu_pressure",
];

/// Processes and groups that run more or less make CPUs busier or idler; waiting, switching and timers come with it.
fn work(rows: &mut [Row], topology: &Topology) {
    let busy = |row: &Row| matches!(row.metric.id, "cpu.busy" | "cpu.user" | "cpu.system" | "node.busy" | "host.busy");
    let Some(head) = heaviest(rows, busy) else { return };
    let Some(shift) = rows.get(head).map(|row| row.shift) else { return };
    let cores: f64 = changed(rows).filter(|(_, row)| row.metric.id == "cpu.busy").map(|(_, row)| row.shift).sum();
    let cores = if cores == 0.0 { shift * topology.cpus_online.len() as f64 } else { cores };
    let follows = |row: &Row| match row.metric.id {
        "process.cores" | "cgroup.cores" => same_way(row.shift, cores) && row.shift.abs() <= 1.3 * cores.abs(),
        "pressure.some" | "pressure.full" => {
            row.subject == Subject::Pressure("cpu".into()) && same_way(row.shift, shift)
        }
        id => WITH_WORK.contains(&id) && same_way(row.shift, shift),
    };
    let found: Vec<usize> =
        changed(rows).filter(|(_, row)| row.under.is_none() && follows(row)).map(|(at, _)| at).collect();
    for at in found {
        put_under(rows, at, head);
    }
}

/// One level is enough: everything below a head stands right under it.
fn flatten(rows: &mut [Row]) {
    for at in 0..rows.len() {
        let mut top = at;
        while let Some(above) = rows.get(top).and_then(|row| row.under) {
            top = above;
        }
        if let Some(row) = rows.get_mut(at).filter(|row| row.under.is_some()) {
            row.under = (row.verdict != Verdict::NoChange && top != at).then_some(top);
        }
    }
}
