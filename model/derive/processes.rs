//! Processes: cores by node, waiting, memory by node, pins. Rows are read in turns, so each has its own interval.

mod beam;
mod children;
mod jvm;
mod memory;
mod sockets;
mod threads;

use super::rates::Pair;
use crate::counter::{gain, per_second};
use crate::frame::{AffinityGroup, Frame, Process, Thread};
use crate::tables::processes::Processes;
use crate::{IdSet, Known, Num, Table, Window};
use std::mem::take;
use std::sync::Arc;

/// Ticks per second of utime and stime (USER_HZ).
const USER_HZ: f64 = 100.0;
/// Pid, start time and slot of a process.
type Id = (u32, u64, usize);

/// PF_KTHREAD: a kernel thread.
const PF_KTHREAD: u64 = 0x0020_0000;

/// `spare` is an earlier frame, of whatever window: what its rows have room for and share is used again.
pub(super) fn derive(window: &Window, spare: &mut Frame, frame: &mut Frame) {
    frame.threads = threads::derive(window, frame);
    let Some(pair) = Pair::new(&window.now.processes, &window.before.processes) else { return };
    let table = pair.now;
    let (mut sockets, machines) = (sockets::Sockets::new(window), jvm::Machines::new(window));
    let id = |slot| Some((table.pid.id(slot).value()?, table.starttime.value(slot).unwrap_or_default(), slot));
    let mut ids: Vec<Id> = table.rows().iter().filter_map(id).collect();
    ids.sort_unstable();
    let (topology, rows) = (Arc::clone(&frame.topology), take(&mut spare.processes));
    let mut masks = Masks::new(&topology.cpus_online, Arc::ptr_eq(&topology, &spare.topology));
    let memory = memory::Rows::new(window, &topology);
    let mut processes = matched(rows, &ids);
    for (process, &id) in processes.iter_mut().zip(&ids) {
        let threads = threads_of(&frame.threads, id.0);
        let was = Place::of(process);
        let unseen = threads.is_empty() && threads_of(&spare.threads, id.0).is_empty();
        fill(process, pair, id, &mut masks);
        if !(unseen && masks.same_online && was.is_still(process)) {
            place(process, threads, frame);
        }
        memory.fill(process, id.2, table, frame.stamp.mono_ns);
        process.beam = beam::derive(process, (table, id.2), threads);
        process.jvm = machines.of(process);
        process.off_cpu = None;
        sockets.add_to(process);
    }
    children::derive(pair, &ids, &mut processes);
    frame.unowned_listeners = sockets::unowned(window, &processes);
    frame.processes = processes;
}

/// A row for each, of the same process where there was one.
fn matched(rows: Vec<Process>, ids: &[Id]) -> Vec<Process> {
    if rows.iter().map(|process| process.pid).eq(ids.iter().map(|id| id.0)) {
        return rows;
    }
    let mut matched = Vec::with_capacity(ids.len());
    let mut rows = rows.into_iter().peekable();
    for &(pid, ..) in ids {
        while rows.next_if(|process| process.pid < pid).is_some() {}
        matched.push(rows.next_if(|process| process.pid == pid).unwrap_or_default());
    }
    matched
}

fn threads_of(threads: &[Thread], pid: u32) -> &[Thread] {
    let start = threads.partition_point(|thread| thread.pid < pid);
    let end = threads.partition_point(|thread| thread.pid <= pid);
    threads.get(start..end).unwrap_or_default()
}

/// Everything that a row of the table tells by itself; nothing of what was there before is left in it.
fn fill(process: &mut Process, pair: Pair<'_, Processes>, (pid, starttime, slot): Id, masks: &mut Masks<'_>) {
    let table = pair.now;
    let flags = table.flags.value(slot).unwrap_or_default();
    let by_stat = Span::since_quiet(pair, slot, |table| &table.read_at_ns, |table| &table.quiet_at_ns);
    let by_counters = Span::new(pair, slot, |table| &table.counters_at_ns);
    let user = by_stat.and_then(|span| span.gain(|table| &table.utime));
    let system = by_stat.and_then(|span| span.gain(|table| &table.stime));
    let run = by_counters.and_then(|span| span.gain(|table| &table.run_ns));
    let wait = by_counters.and_then(|span| span.gain(|table| &table.wait_ns));
    (process.pid, process.starttime) = (pid, starttime);
    process.ppid = table.ppid.id(slot);
    text(&mut process.comm, table.comm.get(slot));
    text(&mut process.cmdline, table.cmdline.get(slot));
    text(&mut process.cgroup, table.cgroup.get(slot));
    text(&mut process.cpu_cgroup, table.cpu_cgroup.get(slot));
    text(&mut process.cpuset_cgroup, table.cpuset_cgroup.get(slot));
    text(&mut process.io_cgroup, table.io_cgroup.get(slot));
    process.state = table.state.value(slot).and_then(|code| char::from_u32(code as u32)).unwrap_or('?');
    process.kernel = flags & PF_KTHREAD != 0;
    process.flags = flags;
    process.uid = table.uid.id(slot);
    text(&mut process.user, table.user.get(slot));
    process.cpu_seconds = table
        .utime
        .value(slot)
        .zip(table.stime.value(slot))
        .map(|(user, system)| user.saturating_add(system) as f64 / USER_HZ);
    process.threads = table.threads.get(slot);
    process.cpu_cores = cores(user, system, by_stat)
        .or_else(|| stood_still(pair, slot, |table| &table.read_at_ns, |table| &table.quiet_at_ns));
    process.wait_share = wait_share(run, wait);
    process.run_wait_cores =
        wait.zip(by_counters).map(|(wait, span)| wait as f64 / span.elapsed_ns as f64).filter(|_| is_single(process));
    process.io_delay_cores = cores(by_stat.and_then(|span| span.gain(|table| &table.io_delay)), None, by_stat)
        .filter(|_| is_single(process));
    process.blocked_threads = u32::from(process.state == 'D');
    process.has_schedstat = table.run_ns.value(slot).is_some();
    process.has_io = table.read_bytes.value(slot).is_some();
    process.context_switches_per_second = by_counters.and_then(|span| span.rate(|table| &table.slices));
    scheduling(process, table, slot);
    process.open_files = table.open_files.get(slot);
    process.open_files_limit = table.open_files_limit.get(slot);
    process.last_cpu = table.last_cpu.id(slot);
    masks.fill(&mut process.affinity, table.affinity.get(slot));
    shared(&mut process.mems_allowed, table.mems_allowed.get(slot));
    memory_of(process, table, slot);
    process.read_bytes_per_second = by_counters.and_then(|span| span.rate(|table| &table.read_bytes));
    process.write_bytes_per_second = by_counters.and_then(|span| span.rate(|table| &table.write_bytes));
    process.majflt_per_second = by_stat.and_then(|span| span.rate(|table| &table.majflt));
}

fn memory_of(process: &mut Process, table: &Processes, slot: usize) {
    process.rss_bytes = table.rss_bytes.get(slot);
    process.rss_anon_bytes = table.rss_anon_bytes.get(slot);
    process.rss_file_bytes = table.rss_file_bytes.get(slot);
    process.swap_bytes = table.swap_bytes.get(slot);
}

/// How the scheduler treats its main thread.
fn scheduling(process: &mut Process, table: &Processes, slot: usize) {
    process.scheduling = table.policy.get(slot);
    process.rt_priority = table.rt_priority.get(slot);
    process.nice = table.nice_plus_20.get(slot).map(|value| value.min(39) as i32 - 20);
}

/// What its main thread does is what it does.
fn is_single(process: &Process) -> bool {
    process.threads == Known::Value(1)
}

/// Shares a text, unless it is shared already.
fn text(cell: &mut Arc<str>, now: Option<&Arc<str>>) {
    match now {
        Some(now) if Arc::ptr_eq(cell, now) => {}
        Some(now) => *cell = Arc::clone(now),
        None if cell.is_empty() => {}
        None => *cell = Arc::default(),
    }
}

/// Shares a set, unless it is shared already.
fn shared(cell: &mut Option<Arc<IdSet>>, now: Option<&Arc<IdSet>>) {
    let same = match (&*cell, now) {
        (Some(cell), Some(now)) => Arc::ptr_eq(cell, now),
        (None, None) => true,
        _ => false,
    };
    if !same {
        *cell = now.cloned();
    }
}

/// What place depends on besides the topology where no threads are looked at: without following what it points to.
struct Place {
    cpu_cores: Option<f64>,
    last_cpu: Known<u32>,
    threads: Known<u64>,
    affinity: Option<*const IdSet>,
}

impl Place {
    fn of(process: &Process) -> Self {
        let (cpu_cores, last_cpu, threads) = (process.cpu_cores, process.last_cpu, process.threads);
        Self { cpu_cores, last_cpu, threads, affinity: process.affinity.as_ref().map(Arc::as_ptr) }
    }

    fn is_still(&self, process: &Process) -> bool {
        let now = Self::of(process);
        (self.cpu_cores, self.last_cpu, self.threads) == (now.cpu_cores, now.last_cpu, now.threads)
            && self.affinity == now.affinity
    }
}

/// Where it runs, by its threads where they are looked at, else by its main thread.
fn place(process: &mut Process, threads: &[Thread], frame: &Frame) {
    let (mut nodes, mut affinities) = (take(&mut process.cpu_by_node), take(&mut process.thread_affinities));
    by_node(process, threads, frame, &mut nodes);
    groups(process, threads, &mut affinities);
    (process.cpu_by_node, process.thread_affinities) = (nodes, affinities);
    let looked_at = threads.iter().filter_map(|thread| Some((thread.cpu_cores?, thread.demand_cores?)));
    let (ran, wanted) = looked_at.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    if threads.len() > 1 {
        // Threads that started and ended in between were not seen: what is left must make up most of the whole.
        let covered = wanted > 0.0 && process.cpu_cores.is_none_or(|cores| ran >= cores / 2.0);
        process.wait_share = covered.then(|| (1.0 - ran / wanted).clamp(0.0, 1.0));
    }
}

/// Cores by node, scaled so that they sum to the process's own figure: threads ended or were not read in between.
fn by_node(process: &Process, threads: &[Thread], frame: &Frame, nodes: &mut Vec<(u32, f64)>) {
    nodes.clear();
    let Some(cores) = process.cpu_cores else { return };
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
        nodes.extend(node.map(|node| (node, cores)));
        return;
    }
    for pair in nodes.iter_mut() {
        pair.1 *= cores / seen;
    }
    nodes.sort_unstable_by_key(|pair| pair.0);
}

/// Threads by the CPUs they may run on, most threads first.
fn groups(process: &Process, threads: &[Thread], groups: &mut Vec<AffinityGroup>) {
    if let (Some(cpus), [group], []) = (&process.affinity, &**groups, threads)
        && Arc::ptr_eq(cpus, &group.cpus)
        && (group.count, process.threads) == (1, Known::Value(1))
    {
        return;
    }
    groups.clear();
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
}

/// The parts of masks that are online; masks keep bits of CPUs that are not there.
#[derive(Debug)]
struct Masks<'a> {
    online: &'a IdSet,
    /// True where the cells that are filled had been filled with the same CPUs online.
    same_online: bool,
    /// The last mask with a part that is not there, and the rest: nearly all have the same.
    last: Option<(Arc<IdSet>, Arc<IdSet>)>,
}

impl<'a> Masks<'a> {
    fn new(online: &'a IdSet, same_online: bool) -> Self {
        Self { online, same_online, last: None }
    }

    fn fill(&mut self, cell: &mut Option<Arc<IdSet>>, now: Option<&Arc<IdSet>>) {
        let same = cell.as_ref().zip(now).is_some_and(|(cell, now)| Arc::ptr_eq(cell, now));
        if !(same && self.same_online) {
            *cell = now.map(|cpus| self.online_only(cpus));
        }
    }

    fn online_only(&mut self, cpus: &Arc<IdSet>) -> Arc<IdSet> {
        // Nearly all are: without making a set of each.
        if self.online.is_empty() || cpus.is_within(self.online) {
            return Arc::clone(cpus);
        }
        if let Some((_, there)) = self.last.as_ref().filter(|(last, _)| last == cpus) {
            return Arc::clone(there);
        }
        let there = cpus.intersection(self.online);
        if there.is_empty() {
            return Arc::clone(cpus);
        }
        let there = Arc::new(there);
        self.last = Some((Arc::clone(cpus), Arc::clone(&there)));
        there
    }
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
pub(super) struct Span<'a, T> {
    now: &'a T,
    before: &'a T,
    slot: usize,
    pub(super) elapsed_ns: u64,
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
    pub(super) fn since_quiet(
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

    pub(super) fn gain(&self, column: impl Fn(&T) -> &Num) -> Option<u64> {
        gain(column(self.before).value(self.slot)?, column(self.now).value(self.slot)?)
    }

    fn rate(&self, column: impl Fn(&T) -> &Num) -> Option<f64> {
        per_second(self.gain(column)?, self.elapsed_ns)
    }
}

#[cfg(test)]
mod tests;
