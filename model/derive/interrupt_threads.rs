//! Softirq and interrupt work that runs in threads: `napi/*` (threaded NAPI) and `irq/*` (PREEMPT_RT, `threadirqs`).
//! /proc/stat counts it as system time, which hides what fills a CPU; `ksoftirqd` it counts as softirq itself.

use super::processes::Span;
use super::rates::Pair;
use crate::frame::Cpu;
use crate::tables::processes::Processes;
use crate::{Section, Table, Window};
use std::sync::Arc;

/// Ticks per second of utime and stime (USER_HZ).
const USER_HZ: f64 = 100.0;
/// PF_KTHREAD: any process may call itself `napi/x`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// Moves the CPU time of these threads from `system` to what it is; CPUs are sorted by id.
pub(super) fn reassign(window: &Window, cpus: &mut [Cpu]) {
    for (id, kind, cores) in threads(&window.now.processes, &window.before.processes) {
        let Ok(at) = cpus.binary_search_by_key(&id, |cpu| cpu.id) else { continue };
        let Some(shares) = cpus.get_mut(at).and_then(|cpu| cpu.shares.as_mut()) else { continue };
        match kind {
            Kind::Napi => {
                let moved = cores.min(shares.system);
                (shares.system, shares.softirq) = (shares.system - moved, shares.softirq + moved);
            }
            Kind::Interrupt => {
                // What such a thread does with softirqs the kernel counts as softirq already.
                let moved = (cores - shares.softirq).clamp(0.0, shares.system);
                (shares.system, shares.irq) = (shares.system - moved, shares.irq + moved);
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Napi,
    Interrupt,
}

/// Such threads with the CPU that each runs on and what it uses of it.
fn threads(now: &Arc<Section<Processes>>, before: &Arc<Section<Processes>>) -> Vec<(u32, Kind, f64)> {
    let Some(pair) = Pair::new(now, before) else { return Vec::new() };
    let table = pair.now;
    let one = |slot: usize| {
        let comm = table.comm.get(slot)?;
        let kind = match () {
            () if comm.starts_with("napi/") => Kind::Napi,
            () if comm.starts_with("irq/") => Kind::Interrupt,
            () => return None,
        };
        (table.flags.value(slot)? & PF_KTHREAD != 0).then_some(())?;
        let span = Span::since_quiet(pair, slot, |table| &table.read_at_ns, |table| &table.quiet_at_ns)?;
        let ticks = span.gain(|table| &table.stime)?;
        let cores = ticks as f64 / USER_HZ / (span.elapsed_ns as f64 / 1e9);
        Some((table.last_cpu.id(slot).value()?, kind, cores)).filter(|_| cores > 0.0)
    };
    table.rows().iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use crate::derive::Deriver;
    use crate::frame::CpuShares;
    use crate::{Snapshot, Table, Window};
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    /// Shares of CPU 0, on which a thread of this name and flags used 60 of 100 ticks.
    fn shares(comm: &str, flags: u64) -> CpuShares {
        let at = |second: u64| {
            let mut snapshot = Snapshot::default();
            snapshot.stamp.mono_ns = second * SECOND;
            let times = Arc::make_mut(&mut snapshot.cpu_times);
            times.begin(second * SECOND);
            let table = times.data_mut();
            let slot = table.insert();
            table.cpu.set(slot, 0);
            table.user.set(slot, 0);
            table.system.set(slot, 70 * second);
            table.softirq.set(slot, 10 * second);
            table.idle.set(slot, 20 * second);
            let processes = Arc::make_mut(&mut snapshot.processes);
            processes.begin(second * SECOND);
            let table = processes.data_mut();
            let slot = table.insert();
            table.pid.set(slot, 40);
            table.starttime.set(slot, 5);
            table.comm.set(slot, comm);
            table.flags.set(slot, flags);
            table.stime.set(slot, 60 * second);
            table.last_cpu.set(slot, 0);
            table.read_at_ns.set(slot, second * SECOND);
            snapshot
        };
        let mut window = Window::default();
        window.push(at(1));
        window.push(at(2));
        Deriver::default().frame(&window).cpus[0].shares.expect("shares")
    }

    #[test]
    fn packets_that_threads_take_are_softirq_work() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let napi = shares("napi/eth0-8193", 0x0020_8040);
        assert!(near(napi.softirq, 0.7) && near(napi.system, 0.1) && near(napi.busy, 0.8), "{napi:?}");
        let irq = shares("irq/41-eth0-TxR", 0x0020_8040);
        assert!(near(irq.irq, 0.5) && near(irq.system, 0.2) && near(irq.softirq, 0.1), "{irq:?}");
        for (comm, flags) in [("napi/eth0-8193", 0x0040_0000), ("kworker/0:1", 0x0020_8040)] {
            let others = shares(comm, flags);
            assert!(near(others.softirq, 0.1) && near(others.system, 0.7), "{comm} {others:?}");
        }
    }
}
