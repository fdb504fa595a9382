//! Processes: cores by node, waiting, memory by node, pins. Rows are read in turns, so each has its own interval.

mod beam;
mod jvm;
mod memory;
mod sockets;
mod threads;

use super::rates::Pair;
use crate::counter::{gain, per_second};
use crate::frame::{AffinityGroup, Frame, Process, Thread};
use crate::tables::processes::Processes;
use crate::{IdSet, Known, Num, Table, Window};
use std::sync::Arc;

/// Ticks per second of utime and stime (USER_HZ).
const USER_HZ: f64 = 100.0;
/// PF_KTHREAD: a kernel thread.
const PF_KTHREAD: u64 = 0x0020_0000;
/// PF_NO_SETAFFINITY: userland may not change its affinity.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    frame.threads = threads::derive(window, frame);
    let Some(pair) = Pair::new(&window.now.processes, &window.before.processes) else { return };
    let memory = memory::Rows::new(window);
    let (mut sockets, machines) = (sockets::Sockets::new(window), jvm::Machines::new(window));
    let mut processes: Vec<Process> = pair.now.rows().iter().filter_map(|slot| one(pair, slot, frame)).collect();
    processes.sort_unstable_by_key(|process| (process.pid, process.starttime));
    for process in &mut processes {
        let threads = threads_of(&frame.threads, process.pid);
        place(process, threads, frame);
        process.memory = memory.of(process, pair.now, frame);
        process.policy = memory.policy(process);
        process.beam = beam::derive(process, pair.now, threads);
        process.jvm = machines.of(process);
        sockets.add_to(process);
    }
    frame.processes = processes;
}

fn threads_of(threads: &[Thread], pid: u32) -> &[Thread] {
    let start = threads.partition_point(|thread| thread.pid < pid);
    let end = threads.partition_point(|thread| thread.pid <= pid);
    threads.get(start..end).unwrap_or_default()
}

fn one(pair: Pair<'_, Processes>, slot: usize, frame: &Frame) -> Option<Process> {
    let table = pair.now;
    let online = &frame.topology.cpus_online;
    let flags = table.flags.value(slot).unwrap_or_default();
    let by_stat = Span::since_quiet(pair, slot, |table| &table.read_at_ns, |table| &table.quiet_at_ns);
    let by_counters = Span::new(pair, slot, |table| &table.counters_at_ns);
    let user = by_stat.and_then(|span| span.gain(|table| &table.utime));
    let system = by_stat.and_then(|span| span.gain(|table| &table.stime));
    let run = by_counters.and_then(|span| span.gain(|table| &table.run_ns));
    let wait = by_counters.and_then(|span| span.gain(|table| &table.wait_ns));
    let written = |span: Span<'_, Processes>| span.rate(|table| &table.write_bytes);
    Some(Process {
        slot,
        pid: table.pid.id(slot).value()?,
        starttime: table.starttime.value(slot).unwrap_or_default(),
        comm: table.comm.or_empty(slot),
        cmdline: table.cmdline.or_empty(slot),
        cgroup: table.cgroup.or_empty(slot),
        cpu_cgroup: table.cpu_cgroup.or_empty(slot),
        cpuset_cgroup: table.cpuset_cgroup.or_empty(slot),
        state: table.state.value(slot).and_then(|code| char::from_u32(code as u32)).unwrap_or('?'),
        kernel: flags & PF_KTHREAD != 0,
        uid: table.uid.id(slot),
        threads: table.threads.get(slot),
        cpu_cores: cores(user, system, by_stat)
            .or_else(|| stood_still(pair, slot, |table| &table.read_at_ns, |table| &table.quiet_at_ns)),
        wait_share: wait_share(run, wait),
        last_cpu: table.last_cpu.id(slot),
        affinity: table.affinity.get(slot).map(|cpus| online_only(cpus, online)),
        mems_allowed: table.mems_allowed.get(slot).cloned(),
        rss_bytes: table.rss_bytes.get(slot),
        rss_anon_bytes: table.rss_anon_bytes.get(slot),
        rss_file_bytes: table.rss_file_bytes.get(slot),
        read_bytes_per_second: by_counters.and_then(|span| span.rate(|table| &table.read_bytes)),
        write_bytes_per_second: by_counters.and_then(written),
        majflt_per_second: by_stat.and_then(|span| span.rate(|table| &table.majflt)),
        ..Process::default()
    })
}

/// Where it runs, by its threads where they are looked at, else by its main thread.
fn place(process: &mut Process, threads: &[Thread], frame: &Frame) {
    process.cpu_by_node = by_node(process, threads, frame);
    process.thread_affinities = groups(process, threads);
    let looked_at = threads.iter().filter_map(|thread| Some((thread.cpu_cores?, thread.demand_cores?)));
    let (ran, wanted) = looked_at.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    if threads.len() > 1 {
        // Threads that came and went in between were not seen: what is left must make up most of the whole.
        let covered = wanted > 0.0 && process.cpu_cores.is_none_or(|cores| ran >= cores / 2.0);
        process.wait_share = covered.then(|| (1.0 - ran / wanted).clamp(0.0, 1.0));
    }
}

/// Cores by node, scaled so that they sum to the process's own figure: threads ended or were not read in between.
fn by_node(process: &Process, threads: &[Thread], frame: &Frame) -> Vec<(u32, f64)> {
    let Some(cores) = process.cpu_cores else { return Vec::new() };
    let mut nodes: Vec<(u32, f64)> = Vec::new();
    let mut seen = 0.0;
    for thread in threads {
        let node = thread.last_cpu.value().and_then(|cpu| frame.topology.node_of(cpu));
        let (Some(node), Some(used)) = (node, thread.cpu_cores.filter(|&used| used > 0.0)) else { continue };
        seen += used;
        match nodes.iter_mut().find(|pair| pair.0 == node) {
            Some(pair) => pair.1 += used,
            None => nodes.push((node, used)),
        }
    }
    if nodes.is_empty() {
        let node = process.last_cpu.value().and_then(|cpu| frame.topology.node_of(cpu));
        return node.map(|node| (node, cores)).into_iter().collect();
    }
    for pair in &mut nodes {
        pair.1 *= cores / seen;
    }
    nodes.sort_unstable_by_key(|pair| pair.0);
    nodes
}

/// Threads by the CPUs they may run on, most threads first.
fn groups(process: &Process, threads: &[Thread]) -> Vec<AffinityGroup> {
    let mut groups: Vec<AffinityGroup> = Vec::new();
    for cpus in threads.iter().filter_map(|thread| thread.affinity.as_ref()) {
        match groups.iter_mut().find(|group| Arc::ptr_eq(&group.cpus, cpus) || group.cpus == *cpus) {
            Some(group) => group.count += 1,
            None => groups.push(AffinityGroup { cpus: Arc::clone(cpus), count: 1 }),
        }
    }
    if groups.is_empty() && process.threads == Known::Value(1) {
        groups.extend(process.affinity.as_ref().map(|cpus| AffinityGroup { cpus: Arc::clone(cpus), count: 1 }));
    }
    groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cpus.cmp(&b.cpus)));
    groups
}

/// The part of a mask that is online; masks keep bits of CPUs that are not there.
fn online_only(cpus: &Arc<IdSet>, online: &IdSet) -> Arc<IdSet> {
    // Nearly all are: without making a set of each.
    if online.is_empty() || cpus.is_within(online) {
        return Arc::clone(cpus);
    }
    let there = cpus.intersection(online);
    if there.is_empty() || there == **cpus { Arc::clone(cpus) } else { Arc::new(there) }
}

/// Cores used, of the ticks in user and kernel mode. One of them may step back while the kernel scales them: it counts
/// as zero then.
fn cores<T>(user: Option<u64>, system: Option<u64>, span: Option<Span<'_, T>>) -> Option<f64> {
    if user.is_none() && system.is_none() {
        return None;
    }
    let ticks = user.unwrap_or(0).saturating_add(system.unwrap_or(0));
    Some(ticks as f64 / USER_HZ / (span?.elapsed_ns as f64 / 1e9))
}

/// Waiting for a CPU, of the time it ran or waited; nothing is known of one that did neither.
fn wait_share(run: Option<u64>, wait: Option<u64>) -> Option<f64> {
    let (run, wait) = (run?, wait?);
    let whole = run.saturating_add(wait);
    (whole > 0).then(|| wait as f64 / whole as f64)
}

/// No cores, for one that was not read again because it is known to have stood still.
fn stood_still<T: Table>(pair: Pair<'_, T>, slot: usize, read: fn(&T) -> &Num, quiet: fn(&T) -> &Num) -> Option<f64> {
    let before = pair.before(slot)?;
    let same = read(before).value(slot)? == read(pair.now).value(slot)?;
    let quiet_at = quiet(pair.now).value(slot)?;
    (same && quiet(before).value(slot).is_none_or(|earlier| earlier < quiet_at)).then_some(0.0)
}

/// One row in two readings of its own.
#[derive(Debug)]
struct Span<'a, T> {
    now: &'a T,
    before: &'a T,
    slot: usize,
    elapsed_ns: u64,
}

impl<T> Clone for Span<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<'_, T> {}

impl<'a, T: Table> Span<'a, T> {
    /// The two readings; none when the row was not read again, by the clock in a column of its own.
    fn new(pair: Pair<'a, T>, slot: usize, clock: impl Fn(&T) -> &Num) -> Option<Self> {
        let before = pair.before(slot)?;
        let elapsed_ns = gain(clock(before).value(slot)?, clock(pair.now).value(slot)?)?;
        (elapsed_ns > 0).then_some(Self { now: pair.now, before, slot, elapsed_ns })
    }

    /// The same where a row that stood still was not read: what it gained, it gained since that was last known.
    fn since_quiet(
        pair: Pair<'a, T>,
        slot: usize,
        clock: impl Fn(&T) -> &Num,
        quiet: impl Fn(&T) -> &Num,
    ) -> Option<Self> {
        let span = Self::new(pair, slot, &clock)?;
        let quiet_at = quiet(span.before).value(slot).unwrap_or_default();
        let elapsed_ns = gain(quiet_at, clock(pair.now).value(slot)?).filter(|&elapsed| elapsed > 0);
        Some(Self { elapsed_ns: elapsed_ns.map_or(span.elapsed_ns, |elapsed| elapsed.min(span.elapsed_ns)), ..span })
    }

    fn gain(&self, column: impl Fn(&T) -> &Num) -> Option<u64> {
        gain(column(self.before).value(self.slot)?, column(self.now).value(self.slot)?)
    }

    fn rate(&self, column: impl Fn(&T) -> &Num) -> Option<f64> {
        per_second(self.gain(column)?, self.elapsed_ns)
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::{Deriver, Settings};
    use crate::frame::Frame;
    use crate::tables::processes::{Processes, Threads};
    use crate::{Draft, IdSet, Snapshot, Stamp, Table, Window};

    const SECOND: u64 = 1_000_000_000;

    fn topology(draft: &mut Draft) {
        draft.cpu_topology.begin(1);
        draft.node_topology.begin(1);
        for node in 0..2 {
            let table = draft.node_topology.data_mut();
            let slot = table.insert();
            table.node.set(slot, node);
            table.cpus.set(slot, IdSet::from_ids([node as u32 * 2, node as u32 * 2 + 1]));
            table.has_cpus.set(slot, 1);
            table.has_memory.set(slot, 1);
        }
        for cpu in 0..4 {
            let table = draft.cpu_topology.data_mut();
            let slot = table.insert();
            table.cpu.set(slot, cpu);
            table.node.set(slot, cpu / 2);
            table.online.set(slot, u64::from(cpu != 3));
        }
    }

    fn process(table: &mut Processes, slot: usize, at_ns: u64, ticks: u64) {
        table.pid.set(slot, 77);
        table.starttime.set(slot, 5);
        table.comm.set(slot, "beam.smp");
        table.beam_bind_type.set(slot, "db");
        table.state.set(slot, u64::from(b'S'));
        table.threads.set(slot, 2);
        table.read_at_ns.set(slot, at_ns);
        table.utime.set(slot, ticks);
        table.stime.set(slot, 10);
        table.last_cpu.set(slot, 0);
        table.affinity.set(slot, IdSet::from_ids(0..64));
    }

    fn thread(table: &mut Threads, slot: usize, tid: u64, at_ns: u64, (run, wait): (u64, u64)) {
        let scheduler = tid != 77;
        table.tid.set(slot, tid);
        table.pid.set(slot, 77);
        table.comm.set(slot, if scheduler { "1_scheduler" } else { "beam.smp" });
        table.read_at_ns.set(slot, at_ns);
        table.run_ns.set(slot, run);
        table.wait_ns.set(slot, wait);
        table.last_cpu.set(slot, if scheduler { 2 } else { 0 });
        // CPU 3 is offline: a mask of 2 and 3 is a pin to 2.
        table.affinity.set(slot, if scheduler { IdSet::from_ids([2, 3]) } else { IdSet::from_ids(0..64) });
    }

    fn frame(samples: u64) -> Frame {
        let mut draft = Draft::default();
        topology(&mut draft);
        let memory = draft.process_memory.data_mut();
        let slot = memory.insert();
        memory.pid.set(slot, 77);
        memory.starttime.set(slot, 5);
        memory.source.set(slot, "sampled");
        memory.error.set(slot, 290);
        memory.read_at_ns.set(slot, SECOND / 2);
        memory.anon_by_node.set(slot, [(0, 750), (1, 250)]);
        draft.process_memory.begin(1);
        let (slot, main) = (draft.processes.data_mut().insert(), draft.threads.data_mut().insert());
        let scheduler = draft.threads.data_mut().insert();
        let (mut window, mut last) = (Window::default(), Snapshot::default());
        for seq in 1..=samples {
            let at_ns = seq * SECOND;
            draft.processes.begin(at_ns);
            draft.threads.begin(at_ns);
            // Read twice over two seconds: 120 ticks are 0.6 cores.
            process(draft.processes.data_mut(), slot, seq * 2 * SECOND, 100 + seq * 120);
            let spent = seq * SECOND;
            thread(draft.threads.data_mut(), main, 77, at_ns, (spent / 10, 0));
            thread(draft.threads.data_mut(), scheduler, 78, at_ns, (spent / 10 * 3, spent / 2));
            let stamp = Stamp { seq, mono_ns: at_ns, ..Stamp::default() };
            let next = draft.publish(stamp, &last);
            last = next.clone();
            window.push(next);
        }
        Deriver::new(Settings::default()).frame(&window)
    }

    #[test]
    fn one_sample_has_no_rates() {
        let frame = frame(1);
        let process = frame.process(77).expect("a process");
        assert_eq!((process.cpu_cores, process.wait_share), (None, None));
        assert!(process.cpu_by_node.is_empty());
        assert_eq!(process.memory.as_ref().and_then(|memory| memory.remote_ratio), None);
    }

    #[test]
    fn rates_are_of_the_rows_own_interval_and_nodes_of_its_threads() {
        let frame = frame(3);
        let process = frame.process(77).expect("a process");
        assert_eq!(process.cpu_cores, Some(0.6));
        let nodes: Vec<_> = process.cpu_by_node.iter().map(|pair| (pair.0, (pair.1 * 1e6).round())).collect();
        assert_eq!(nodes, [(0, 150_000.0), (1, 450_000.0)], "a quarter ran on node 0, scaled to the whole");
        let wait = process.wait_share.expect("threads were looked at");
        assert!((wait - 0.5 / 0.9).abs() < 1e-9, "{wait}");
        let memory = process.memory.as_ref().expect("asked");
        let remote = memory.remote_ratio.expect("it ran");
        assert!((remote - (0.25 * 0.25 + 0.75 * 0.75)).abs() < 1e-9, "{remote}");
        assert!((memory.error - 0.029).abs() < 1e-9);
    }

    #[test]
    fn pins_count_online_cpus_only() {
        let frame = frame(2);
        let process = frame.process(77).expect("a process");
        let groups: Vec<_> = process.thread_affinities.iter().map(|group| group.cpus.to_string()).collect();
        assert_eq!(groups, ["0-2", "2"]);
        let beam = process.beam.as_ref().expect("a BEAM");
        assert_eq!(beam.pinned, [(2, 1)]);
        assert_eq!(
            (beam.bound_now.value(), beam.schedulers.value(), beam.schedulers_active),
            (Some(true), Some(1), Some(1))
        );
        assert_eq!(beam.bind_type_configured.as_ref().value().map(|told| &**told), Some("db"));
        let scheduler = frame.threads_of(77).last().expect("threads");
        assert_eq!(scheduler.demand_cores.map(|cores| (cores * 1e6).round()), Some(800_000.0));
    }
    #[test]
    fn what_stood_still_unread_used_nothing_and_what_it_uses_then_is_of_since_then() {
        let mut draft = Draft::default();
        let (slot, main) = (draft.processes.data_mut().insert(), draft.threads.data_mut().insert());
        let (mut window, mut last) = (Window::default(), Snapshot::default());
        let mut deriver = Deriver::new(Settings::default());
        let mut sample = |seq: u64, read: Option<u64>| {
            let at_ns = seq * SECOND;
            draft.processes.begin(at_ns);
            draft.threads.begin(at_ns);
            if let Some(tenths) = read {
                process(draft.processes.data_mut(), slot, at_ns, tenths * 10);
                thread(draft.threads.data_mut(), main, 77, at_ns, (tenths * SECOND / 10, 0));
            } else {
                draft.processes.data_mut().quiet_at_ns.set(slot, at_ns);
                draft.threads.data_mut().quiet_at_ns.set(main, at_ns);
            }
            let next = draft.publish(Stamp { seq, mono_ns: at_ns, ..Stamp::default() }, &last);
            last = next.clone();
            window.push(next);
            let frame = deriver.frame(&window);
            (frame.process(77).and_then(|process| process.cpu_cores), frame.threads_of(77)[0].cpu_cores)
        };
        assert_eq!(sample(1, Some(1)), (None, None));
        assert_eq!(sample(2, Some(3)), (Some(0.2), Some(0.2)));
        assert_eq!(sample(3, None), (Some(0.0), Some(0.0)));
        assert_eq!(sample(4, None), (Some(0.0), Some(0.0)));
        assert_eq!(sample(5, Some(8)), (Some(0.5), Some(0.5)), "in the last second, not in the last three");
        assert_eq!(sample(6, Some(9)), (Some(0.1), Some(0.1)));
    }
}
