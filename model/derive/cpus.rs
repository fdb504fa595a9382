//! Shares of each CPU's time.

use super::rates::Pair;
use crate::frame::{Cpu, CpuShares, Frame, Topology};
use crate::tables::cpu::CpuTimes;
use crate::{Num, Table, Window};
use std::collections::BTreeMap;

/// Ticks per second of /proc/stat (USER_HZ).
const USER_HZ: f64 = 100.0;

/// Share of the ticks expected that must have come.
const LEAST_TICKS: f64 = 0.1;

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let pair = Pair::new(&window.now.cpu_times, &window.before.cpu_times);
    let mut slots: Vec<(u32, usize)> = pair.map_or_else(Vec::new, |pair| {
        let ids = pair.now.rows().iter();
        ids.filter_map(|slot| Some((pair.now.cpu.id(slot).value()?, slot))).collect()
    });
    slots.sort_unstable();
    let topology = std::sync::Arc::clone(&frame.topology);
    if let Some(pair) = pair.filter(|_| !slots.is_empty()) {
        frame.host.reports_steal = Some(slots.iter().any(|(_, slot)| pair.now.steal.value(*slot).is_some()));
    }
    let packages = pair.map(|pair| packages(&pair, &slots, &topology)).unwrap_or_default();
    frame.cpus = slots
        .iter()
        .map(|&(id, slot)| {
            let place = topology.cpu(id);
            let package = place.and_then(|place| packages.get(&place.package.value()?)).copied().unwrap_or_default();
            Cpu {
                id,
                node: place.map(|place| place.node).unwrap_or_default(),
                // /proc/stat prints online CPUs only; a captured one may be of another moment than the topology.
                online: place.is_none_or(|place| place.online),
                isolated: place.is_some_and(|place| place.isolated),
                shares: pair.and_then(|pair| shares(&pair, slot)),
                mhz: pair.and_then(|pair| pair.now.khz.value(slot)).map(|khz| khz as f64 / 1000.0),
                throttles_gained: pair.and_then(|pair| pair.gain(slot, |times| &times.throttles)),
                package_throttles_gained: package.0,
                throttled_ms_gained: pair.and_then(|pair| pair.gain(slot, |times| &times.throttled_ms)).max(package.1),
                // Nanoseconds per second.
                run_wait_cores: pair.and_then(|pair| pair.rate(slot, |times| &times.run_delay_ns)).map(|ns| ns / 1e9),
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
    super::interrupt_threads::reassign(window, &mut frame.cpus);
}

type Gain = Option<u64>;

/// How often and how long each package was slowed down for heat, as one of its CPUs says.
fn packages(pair: &Pair<'_, CpuTimes>, slots: &[(u32, usize)], topology: &Topology) -> BTreeMap<u32, (Gain, Gain)> {
    let mut packages: BTreeMap<u32, (Gain, Gain)> = BTreeMap::new();
    for &(id, slot) in slots {
        let times = pair.gain(slot, |times| &times.package_throttles);
        let ms = pair.gain(slot, |times| &times.package_throttled_ms);
        if let Some(package) =
            topology.cpu(id).and_then(|place| place.package.value()).filter(|_| times.max(ms).is_some())
        {
            let known = packages.entry(package).or_default();
            *known = (known.0.max(times), known.1.max(ms));
        }
    }
    packages
}

/// Shares of the ticks that passed. Single counters may step back (iowait and idle do, proc(5)): they count as zero.
/// What runs on a hypervisor that does not tell steal loses ticks, the more the busier it is: shares of the ticks that it
/// got are what a guest knows. A sum that is next to nothing says that the CPU came or went: then nothing is known.
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
    if sum <= 0.0 || sum < expected * LEAST_TICKS - 2.0 {
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

#[cfg(test)]
mod tests {
    use crate::derive::Deriver;
    use crate::frame::CpuShares;
    use crate::{Snapshot, Table, Window};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    /// Shares of a CPU whose counters gained this much in a second.
    fn shares(user: u64, idle: u64) -> Option<CpuShares> {
        let at = |second, user, idle| {
            let mut snapshot = Snapshot::default();
            snapshot.stamp.mono_ns = second * SECOND;
            let times = Arc::make_mut(&mut snapshot.cpu_times);
            times.begin(second * SECOND);
            let table = times.data_mut();
            let slot = table.insert();
            table.cpu.set(slot, 7);
            table.user.set(slot, user);
            table.system.set(slot, 50);
            table.idle.set(slot, idle);
            snapshot
        };
        let mut window = Window::default();
        window.push(at(1, 1000, 5000));
        window.push(at(2, 1000 + user, 5000 + idle));
        Deriver::default().frame(&window).cpus.first().and_then(|cpu| cpu.shares)
    }

    #[test]
    fn lost_ticks_leave_shares_and_no_ticks_leave_none() {
        assert_eq!(shares(25, 75).map(|shares| shares.busy), Some(0.25));
        assert_eq!(shares(30, 0).map(|shares| shares.busy), Some(1.0), "the host ran others for the rest");
        assert_eq!(shares(3, 0), None, "it was there for a moment");
        assert_eq!(shares(0, 0), None);
    }
}
