//! Java virtual machines: `tmp/hsperfdata_USER/PID` below the process's own root, named by the pid that it has there.
//! Their memory is never asked for anything; the file is theirs and so hostile, and so may be the file system that it is on:
//! a thread that does not come back from there is left behind.

mod perfdata;

use crate::rights::{self, Needs};
use crate::root::Local;
use crate::worker::Worker;
use crate::{Collector, Cx, Root};
use perfdata::{Jvm, MOST_BYTES};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use topotop_model::tables::jvm::Jvms;
use topotop_model::{Draft, Gaps, Reason, Slots, State, Table as _};

/// Time between two rounds, and to the second one, in ns.
const PERIOD_NS: u64 = 5_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// How long a complete reading waits.
const PATIENCE: Duration = Duration::from_millis(300);
/// After which a thread is left behind, and how many may be.
const LATE_NS: u64 = 10_000_000_000;
const LEFT_BEHIND: usize = 4;
/// Late answers about what is longer ago say nothing of now.
const FRESH_NS: u64 = 60_000_000_000;
/// The most virtual machines, and the most directories of users in one `/tmp`.
const MOST: usize = 256;
const MOST_USERS: usize = 64;
/// Where they are.
const PATTERN: &str = "proc/*/root/tmp/hsperfdata_*/*";

type Process = (u32, u64);

/// A process that may be one.
#[derive(Clone, Copy, Debug)]
struct Target {
    process: Process,
    /// Its pid in its own pid namespace.
    inner: Option<u64>,
}

/// When a process was looked at, and what became of it: a virtual machine, or why it could not be seen.
type Looked = (u64, Result<Jvm, Reason>);
/// The processes of a round.
type Seen = Vec<(Process, Looked)>;

type Asked = Worker<Vec<Target>, Seen>;
type At = Arc<Mutex<Option<Process>>>;

/// Looks for Java virtual machines.
#[derive(Debug, Default)]
pub(crate) struct JvmCollector {
    worker: Option<Asked>,
    /// The process that is looked at now.
    at: At,
    /// Threads left behind, with the processes that they are at: those are not asked meanwhile.
    stuck: Vec<(At, Asked)>,
    known: BTreeMap<Process, Looked>,
    /// True where a late answer is not published yet.
    late: bool,
    asked_ns: Option<u64>,
    rounds: u64,
    slots: Slots<Process>,
}

impl Collector for JvmCollector {
    fn name(&self) -> &'static str {
        "jvms"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        self.rescue(cx.now_ns);
        while let Some(seen) = self.worker.as_mut().and_then(Worker::take) {
            self.learn(seen);
            self.publish(cx, draft);
        }
        // Soon the next round publishes it, with rows of which rates can be made; unless none comes back in time.
        let section = &draft.jvms;
        let is_old = cx.now_ns.saturating_sub(section.read_at_ns) >= PERIOD_NS;
        if self.late && (is_old || section.data().rows().is_empty()) {
            self.publish(cx, draft);
        }
        let since = self.asked_ns.map(|asked| cx.now_ns.saturating_sub(asked));
        let wait = if self.rounds == 1 { SECOND_NS } else { PERIOD_NS };
        let due = since.is_none_or(|since| since >= wait) || cx.demand.complete;
        if self.is_busy() && since.is_some_and(|since| since >= LATE_NS) {
            let at = std::mem::take(&mut self.at);
            self.stuck.extend(self.worker.take().map(|worker| (at, worker)));
        }
        if !due || self.is_busy() {
            return;
        }
        self.asked_ns = Some(cx.now_ns);
        let mut targets = targets(draft);
        let hung = self.hung();
        targets.retain(|target| !self.is_full() && !hung.contains(&target.process));
        if targets.is_empty() {
            return self.publish(cx, draft);
        }
        if self.worker.is_none() {
            let (root, at) = (Arc::clone(cx.root), At::default());
            self.at = Arc::clone(&at);
            let mut homes = HashMap::new();
            self.worker =
                Worker::spawn("jvms", move |targets: Vec<Target>| round(&root, &targets, &mut homes, &at)).ok();
        }
        let Some(worker) = &mut self.worker else { return };
        worker.submit(targets);
        let patience = if cx.root.is_live() { PATIENCE } else { 10 * PATIENCE };
        if let Some(seen) = cx.demand.complete.then(|| worker.wait(patience)).flatten() {
            self.learn(seen);
            self.publish(cx, draft);
        }
    }
}

impl JvmCollector {
    fn is_busy(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.pending() > 0)
    }

    /// True while nobody may be left behind any more, and so nobody looks.
    fn is_full(&self) -> bool {
        self.stuck.len() >= LEFT_BEHIND
    }

    /// Processes whose file systems do not answer.
    fn hung(&self) -> Vec<Process> {
        self.stuck.iter().filter_map(|(at, _)| *at.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Takes late answers of threads that were left behind, which end then.
    fn rescue(&mut self, now_ns: u64) {
        let mut late = Vec::new();
        self.stuck.retain_mut(|(_, worker)| {
            late.extend(worker.take());
            worker.pending() > 0
        });
        for mut seen in late {
            seen.retain(|(_, (at_ns, _))| now_ns.saturating_sub(*at_ns) < FRESH_NS);
            self.late |= !seen.is_empty();
            self.learn(seen);
        }
    }

    /// Takes in what is newer than what is known.
    fn learn(&mut self, seen: Seen) {
        for (process, looked) in seen {
            if self.known.get(&process).is_none_or(|known| known.0 <= looked.0) {
                self.known.insert(process, looked);
            }
        }
    }

    /// Forgets processes that are gone or cannot be looked at; gives back how many cannot.
    fn forget(&mut self, draft: &Draft) -> u64 {
        let there: BTreeSet<Process> = targets(draft).into_iter().map(|target| target.process).collect();
        let (full, hung) = (self.is_full(), self.hung());
        let is_silent = |process: &Process| full || hung.contains(process);
        self.known.retain(|process, _| there.contains(process) && !is_silent(process));
        there.iter().filter(|process| is_silent(process)).count() as u64
    }

    fn publish(&mut self, cx: &Cx<'_>, draft: &mut Draft) {
        self.rounds += 1;
        self.late = false;
        let silent = self.forget(draft);
        let section = &mut draft.jvms;
        // Where there never was one there is nothing to say, sample by sample.
        let none = self.known.is_empty() && silent == 0;
        if none && section.state == State::Read && section.data().rows().is_empty() && section.gaps.is_empty() {
            return;
        }
        section.begin(cx.now_ns);
        let mut gaps = Gaps::default();
        let table = section.data_mut();
        self.slots.begin();
        for (process, (at_ns, found)) in &self.known {
            match found {
                Ok(jvm) => {
                    let (slot, _) = self.slots.slot(table, process);
                    put(table, slot, *process, *at_ns, jvm);
                }
                Err(reason @ Reason::PermissionDenied) => {
                    gaps.add(PATTERN, *reason, &rights::needs(cx.root, Needs::PtraceAndFiles));
                }
                Err(reason @ Reason::NotFound) => gaps.add(PATTERN, *reason, "a JVM started with -XX:+UsePerfData"),
                Err(reason) => gaps.add(PATTERN, *reason, ""),
            }
        }
        self.slots.finish(table, |_, _| {});
        if silent > 0 {
            gaps.add_many(PATTERN, Reason::TimedOut, "", silent);
        }
        section.gaps = gaps;
    }
}

fn put(table: &mut Jvms, slot: usize, process: Process, at_ns: u64, jvm: &Jvm) {
    table.pid.set(slot, u64::from(process.0));
    table.starttime.set(slot, process.1);
    table.read_at_ns.set(slot, at_ns);
    table.gc_time_ns.set_or_clear(slot, jvm.gc_time_ns);
    table.gc_count.set_or_clear(slot, jvm.gc_count);
    table.safepoint_time_ns.set_or_clear(slot, jvm.safepoint_time_ns);
    table.safepoints.set_or_clear(slot, jvm.safepoints);
    table.contended_locks.set_or_clear(slot, jvm.contended_locks);
    table.heap_used_bytes.set_or_clear(slot, jvm.heap_used);
    table.heap_capacity_bytes.set_or_clear(slot, jvm.heap_capacity);
    table.heap_max_bytes.set_or_clear(slot, jvm.heap_max);
    table.collectors.set(slot, &jvm.collectors);
    table.version.set(slot, &jvm.version);
}

/// Processes that look like Java: by their name, or by the program they started.
fn targets(draft: &Draft) -> Vec<Target> {
    let table = draft.processes.data();
    let is_java = |slot: usize| {
        let cmdline = table.cmdline.or_empty(slot);
        let program = cmdline.split(' ').next().unwrap_or_default();
        &*table.comm.or_empty(slot) == "java" || program.rsplit('/').next() == Some("java")
    };
    let target = |slot: usize| {
        let process = (table.pid.id(slot).value()?, table.starttime.value(slot).unwrap_or_default());
        Some(Target { process, inner: table.inner_pid.value(slot) })
    };
    table.rows().iter().filter(|&slot| is_java(slot)).filter_map(target).take(MOST).collect()
}

fn round(root: &Root, targets: &[Target], homes: &mut HashMap<Process, String>, at: &Mutex<Option<Process>>) -> Seen {
    homes.retain(|process, _| targets.iter().any(|target| target.process == *process));
    let mut buf = Vec::new();
    let mut seen = Vec::with_capacity(targets.len());
    let is_at = |process| *at.lock().unwrap_or_else(PoisonError::into_inner) = process;
    let top = root.local();
    for target in targets {
        is_at(Some(target.process));
        let inside = top.as_ref().map_err(|reason| *reason).and_then(|top| root.local_of(target.process.0, top));
        let found = inside.and_then(|inside| look(&inside, *target, homes, &mut buf));
        seen.push((target.process, (root.monotonic_ns(), found)));
    }
    is_at(None);
    seen
}

fn look(
    inside: &Local<'_>,
    target: Target,
    homes: &mut HashMap<Process, String>,
    buf: &mut Vec<u8>,
) -> Result<Jvm, Reason> {
    let read = |path: &str, buf: &mut Vec<u8>| -> Result<Jvm, Reason> {
        inside.read_start(path, buf, MOST_BYTES)?;
        let jvm = perfdata::parse(buf).ok_or(Reason::Malformed)?;
        inside.keep(path, || buf.clone());
        Ok(jvm)
    };
    if let Some(known) = homes.get(&target.process) {
        return read(known, buf);
    }
    let pid = target.inner.unwrap_or_else(|| u64::from(target.process.0));
    let users = inside.names_with("tmp", "hsperfdata_", MOST_USERS)?;
    let mut last = Reason::NotFound;
    for user in users {
        let path = format!("tmp/{user}/{pid}");
        match read(&path, buf) {
            Ok(jvm) => {
                homes.insert(target.process, path);
                return Ok(jvm);
            }
            Err(Reason::NotFound) => {}
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests;
