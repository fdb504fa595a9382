//! What the CPUs of the made-up machines do.

use super::machine::{Shape, Story};
use super::noise;
use crate::Known;
use crate::frame::{Cpu, CpuPlace, CpuShares, Topology};

pub(super) fn cpus(shape: &Shape, topology: &Topology, second: u64) -> Vec<Cpu> {
    topology.cpus.iter().map(|place| cpu(shape, place, second)).collect()
}

fn cpu(shape: &Shape, place: &CpuPlace, second: u64) -> Cpu {
    let node = place.node.value().unwrap_or_default();
    let shares = match shape.story {
        Story::Server => server(place.id, node, shape.trouble(second), second),
        Story::Wide => wide(place.id, node, second),
        Story::Tiny => shares(0.12 + 0.2 * noise(second, u64::from(place.id)), 0.05, 0.01, 0.04, 0.02),
    };
    Cpu {
        id: place.id,
        node: Known::Value(node),
        online: place.online,
        isolated: place.isolated,
        shares: place.online.then_some(shares),
        mhz: place.online.then_some(2_100.0 + 1_300.0 * shares.busy),
        ..Cpu::default()
    }
}

/// Brokers pinned to the first CPUs of node 0, the interface's only queue on CPU 17, the rest nearly idle.
fn server(id: u32, node: u32, trouble: f64, second: u64) -> CpuShares {
    let n = noise(second, u64::from(id));
    match (id, node) {
        (17, _) => shares(0.01, 0.01 + 0.01 * n, 0.08 + 0.88 * trouble, 0.0, 0.0),
        (30 | 31, _) => shares(0.0, 0.0, 0.0, 0.0, 0.0),
        (0..=3, _) => shares(0.55 + 0.33 * trouble + 0.04 * n, 0.05, 0.01, 0.0, 0.0),
        (_, 0) => shares(0.28 + 0.4 * n, 0.08, 0.01, 0.02, 0.0),
        (8 | 9, _) => shares(0.05, 0.1, 0.0, 0.1 + 0.6 * trouble, 0.0),
        (_, 1) => shares(0.05 + 0.16 * n, 0.03, 0.0, 0.03, 0.0),
        _ => shares(0.06 * n, 0.01, 0.0, 0.0, 0.0),
    }
}

fn wide(id: u32, node: u32, second: u64) -> CpuShares {
    let n = noise(second, u64::from(id));
    match node {
        3 => shares(0.5 + 0.45 * n, 0.05, 0.0, 0.0, 0.0),
        7 if id % 64 == 33 => shares(0.02, 0.03, 0.9, 0.0, 0.0),
        _ => shares(0.15 * n * n, 0.01, 0.0, 0.0, 0.0),
    }
}

fn shares(user: f64, system: f64, softirq: f64, iowait: f64, steal: f64) -> CpuShares {
    let irq = softirq * 0.02;
    let busy = (user + system + softirq + irq).min(1.0);
    CpuShares { busy, user, system, irq, softirq, iowait, idle: (1.0 - busy - iowait - steal).max(0.0), steal }
}
