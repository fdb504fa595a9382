//! Threads that are looked at.

use super::{Masks, PF_KTHREAD, Pair, Span, cores, stood_still, wait_share};
use crate::frame::{Frame, PF_NO_SETAFFINITY, Thread};
use crate::tables::processes::Threads;
use crate::{Table, Window};

pub(super) fn derive(window: &Window, frame: &Frame) -> Vec<Thread> {
    let Some(pair) = Pair::new(&window.now.threads, &window.before.threads) else { return Vec::new() };
    let mut masks = Masks::new(&frame.topology.cpus_online, false);
    let rows = pair.now.rows().iter();
    let mut threads: Vec<Thread> = rows.filter_map(|slot| one(pair, slot, &mut masks)).collect();
    threads.sort_unstable_by_key(|thread| (thread.pid, thread.tid));
    threads
}

fn one(pair: Pair<'_, Threads>, slot: usize, masks: &mut Masks<'_>) -> Option<Thread> {
    let table = pair.now;
    let span = Span::since_quiet(pair, slot, |table| &table.read_at_ns, |table| &table.quiet_at_ns);
    let gain = |column: fn(&Threads) -> &crate::Num| span.and_then(|span| span.gain(column));
    let (run, wait) = (gain(|table| &table.run_ns), gain(|table| &table.wait_ns));
    let share = |ns: u64| span.map(|span| ns as f64 / span.elapsed_ns as f64);
    // A thread cannot use more than one core; the two clocks are read a little apart.
    let ran = run.and_then(share).or_else(|| cores(gain(|table| &table.utime), gain(|table| &table.stime), span));
    let still = || stood_still(pair, slot, |table| &table.read_at_ns, |table| &table.quiet_at_ns);
    let ran = ran.map(|cores| cores.min(1.0)).or_else(still);
    Some(Thread {
        tid: table.tid.id(slot).value()?,
        pid: table.pid.id(slot).value()?,
        comm: table.comm.or_empty(slot),
        cpu_cores: ran,
        has_schedstat: table.run_ns.value(slot).is_some(),
        run_ns: table.run_ns.get(slot),
        wait_share: wait_share(run, wait),
        demand_cores: ran.zip(wait.and_then(share)).map(|(ran, waited)| ran + waited),
        state: table.state.value(slot).and_then(|code| char::from_u32(code as u32)).unwrap_or('?'),
        io_delay_cores: cores(gain(|table| &table.io_delay), None, span),
        slices_per_second: span.and_then(|span| span.rate(|table| &table.slices)),
        last_cpu: table.last_cpu.id(slot),
        affinity: table.affinity.get(slot).map(|cpus| masks.online_only(cpus)),
        fixed: table.flags.value(slot).is_some_and(|flags| flags & (PF_KTHREAD | PF_NO_SETAFFINITY) != 0),
        policy: table.policy.get(slot),
    })
}
