//! Shares of each CPU's time.

use super::rates::Pair;
use crate::frame::{Cpu, CpuShares, Frame};
use crate::tables::cpu::CpuTimes;
use crate::{Num, Table, Window};

/// Ticks per second of /proc/stat (USER_HZ).
const USER_HZ: f64 = 100.0;

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let pair = Pair::new(&window.now.cpu_times, &window.before.cpu_times);
    let mut slots: Vec<(u32, usize)> = pair.map_or_else(Vec::new, |pair| {
        let ids = pair.now.rows().iter();
        ids.filter_map(|slot| Some((pair.now.cpu.id(slot).value()?, slot))).collect()
    });
    slots.sort_unstable();
    let topology = std::sync::Arc::clone(&frame.topology);
    frame.cpus = slots
        .iter()
        .map(|&(id, slot)| {
            let place = topology.cpu(id);
            Cpu {
                id,
                node: place.map(|place| place.node).unwrap_or_default(),
                // /proc/stat prints online CPUs only; a captured one may be of another moment than the topology.
                online: place.is_none_or(|place| place.online),
                isolated: place.is_some_and(|place| place.isolated),
                shares: pair.and_then(|pair| shares(&pair, slot)),
                mhz: pair.and_then(|pair| pair.now.khz.value(slot)).map(|khz| khz as f64 / 1000.0),
            }
        })
        .collect();
    for place in topology.cpus.iter().filter(|place| slots.binary_search_by_key(&place.id, |slot| slot.0).is_err()) {
        frame.cpus.push(Cpu {
            id: place.id,
            node: place.node,
            online: place.online,
            isolated: place.isolated,
            ..Cpu::default()
        });
    }
    frame.cpus.sort_unstable_by_key(|cpu| cpu.id);
}

/// Shares of the ticks that passed. Single counters may step back (iowait and idle do, proc(5)): they count as zero.
/// A sum far from the elapsed time says that the CPU came or went in between: then nothing is known.
fn shares(pair: &Pair<'_, CpuTimes>, slot: usize) -> Option<CpuShares> {
    let gained = |column: fn(&CpuTimes) -> &Num| -> Option<f64> {
        let before = pair.before(slot)?;
        let (old, new) = (column(before).value(slot), column(pair.now).value(slot)?);
        Some(new.saturating_sub(old.unwrap_or(new)) as f64)
    };
    // Kernels before 2.6.24 lack the later columns: absent ones are zero of the sum.
    let ticks = |column| gained(column).unwrap_or(0.0);
    let user = gained(|times| &times.user)? + ticks(|times| &times.nice);
    let (system, irq, softirq) =
        (gained(|times| &times.system)?, ticks(|times| &times.irq), ticks(|times| &times.softirq));
    let (idle, iowait, steal) =
        (gained(|times| &times.idle)?, ticks(|times| &times.iowait), ticks(|times| &times.steal));
    let sum = user + system + irq + softirq + idle + iowait + steal;
    let expected = pair.elapsed_ns() as f64 * USER_HZ / 1e9;
    if sum <= 0.0 || sum < expected * 0.5 - 2.0 {
        return None;
    }
    Some(CpuShares {
        busy: (user + system + irq + softirq) / sum,
        user: user / sum,
        system: system / sum,
        irq: irq / sum,
        softirq: softirq / sum,
        iowait: iowait / sum,
        idle: idle / sum,
        steal: steal / sum,
    })
}
