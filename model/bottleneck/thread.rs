//! Threads: one cannot use more than one core.

use super::demand::BEARS;
use super::resource::{Member, Waits};
use super::run_queue::peers;
use super::series::{self, Script};
use super::{Inputs, ResourceKind, cpus};
use crate::IdSet;
use crate::frame::Process;
use crate::locale::resource::note;
use crate::rules::{Subject, parts};
use std::collections::HashSet;
use std::sync::Arc;

/// Share of a core at which a thread is at its limit, and still at it.
const FULL: (f64, f64) = (0.90, 0.80);

/// The same of a script with its programs: between two of them nothing runs (measured: an eighth of the time where each
/// takes a millisecond).
const SCRIPT: (f64, f64) = (0.85, 0.75);

/// Cores from which on a thread of the kernel is one that could be full.
const WORKS: f64 = 0.5;

/// Share of interrupts from which on most of a core is theirs. A thread is charged with those that it is interrupted by.
pub(super) const INTERRUPTS: f64 = 0.5;

struct Hot<'a> {
    cores: f64,
    /// Cores' worth of waiting for a CPU.
    wait: f64,
    name: &'a Arc<str>,
    /// None for a script with all its programs.
    tid: Option<u32>,
    process: &'a Process,
}

impl Hot<'_> {
    fn subject(&self) -> Subject {
        Subject::Process(self.process.pid, self.process.starttime)
    }

    /// Cores at which it is at its limit, and still at it.
    fn full(&self) -> (f64, f64) {
        if self.tid.is_none() { SCRIPT } else { FULL }
    }
}

pub(super) fn thread<'a>(inputs: &Inputs<'a>) -> Vec<Member> {
    let frame = inputs.frame;
    let user = |pid: u32| frame.process(pid).filter(|process| !process.kernel);
    // A poller on a CPU of its own is always busy, on purpose.
    let alone = parts::kept_alone(frame);
    let polls = |cpu: Option<u32>| cpu.is_some_and(|cpu| alone.contains(cpu));
    let sampled = frame.threads.iter().filter_map(|thread| {
        let process = user(thread.pid).filter(|_| !thread.fixed && !polls(thread.last_cpu.value()))?;
        if parts::is_poller(&thread.comm) {
            return None;
        }
        let cores = thread.cpu_cores?;
        let wait = thread.demand_cores.map_or(0.0, |demand| (demand - cores).max(0.0));
        Some(Hot { cores, wait, name: &thread.comm, tid: Some(thread.tid), process })
    });
    // A single-threaded process is its thread.
    let alone = |process: &&Process| if process.kernel { works(process) } else { process.threads.value() == Some(1) };
    let single = frame.processes.iter().filter(alone).filter(|process| !polls(process.last_cpu.value()));
    let single = single.filter(|process| !parts::is_poller(&process.comm));
    let single = single.filter_map(|process| {
        let (cores, wait) = (process.cpu_cores?, process.run_wait_cores.unwrap_or(0.0));
        Some(Hot { cores, wait, name: &process.comm, tid: Some(process.pid), process })
    });
    // What a script runs for a moment is not what it waits for alone.
    let (scripts, below) = series::scripts(inputs, SCRIPT);
    let script = |script: &Script<'a>| {
        let process = script.process;
        Hot { cores: script.cores, wait: 0.0, name: &process.comm, tid: None, process }
    };
    let threads = sampled.chain(single).filter(|hot| !below.contains(&hot.process.pid));
    let bearing: HashSet<u32> = inputs.demand.bearing().map(|task| task.process.pid).collect();
    let bears = |hot: &Hot<'_>| match hot.tid {
        None => hot.cores >= BEARS * inputs.demand.total,
        Some(_) => hot.process.kernel || bearing.contains(&hot.process.pid),
    };
    // The one that the answer names already, so that of several that are full it is always the same.
    let rank = |hot: &Hot<'_>| {
        let counts = hot.cores >= hot.full().1 && bears(hot);
        (counts, counts && inputs.full.as_ref() == Some(&hot.subject()))
    };
    let hottest = threads.chain(scripts.iter().map(script)).filter(|hot| hot.cores.is_finite());
    let hottest = hottest.max_by(|a, b| rank(a).cmp(&rank(b)).then(a.cores.total_cmp(&b.cores)));
    let hidden = frame.processes.iter().any(|process| hides(inputs, process));
    let fresh = frame.processes.iter().any(|process| !process.kernel && is_fresh(inputs, process));
    match hottest {
        Some(hot) if hot.cores >= hot.full().1 || !(hidden || fresh) => vec![one(inputs, &hot, bears(&hot))],
        // The next sample knows their time.
        _ if fresh && !hidden => vec![Member::unknown(ResourceKind::Thread, note::THREADS_FRESH, false)],
        _ if hidden => vec![Member::unknown(ResourceKind::Thread, note::THREADS_UNREAD, true)],
        _ => {
            let read = super::sections::processes(frame);
            vec![inputs.unmeasured(ResourceKind::Thread, read, !read || inputs.demand.total >= FULL.0)]
        }
    }
}

/// True for a busy thread of the kernel that works for the load and that no other resource counts.
fn works(process: &Process) -> bool {
    const COUNTED: [&str; 8] =
        ["ksoftirqd/", "napi/", "irq/", "kswapd", "kcompactd", "khugepaged", "ksmd", "migration/"];
    let counted = COUNTED.iter().any(|name| process.comm.starts_with(name));
    !counted && process.cpu_cores.is_some_and(|cores| cores >= WORKS)
}

/// True for a busy process whose threads are not looked at: one of them may be full.
fn hides(inputs: &Inputs<'_>, process: &Process) -> bool {
    let several = process.threads.value().is_none_or(|threads| threads > 1);
    let busy = process.cpu_cores.is_some_and(|cores| cores >= FULL.0);
    !process.kernel && several && busy && inputs.frame.threads_of(process.pid).is_empty()
}

/// True where threads whose time is not known yet used most of a core: one of them may be full.
fn is_fresh(inputs: &Inputs<'_>, process: &Process) -> bool {
    let threads = inputs.frame.threads_of(process.pid);
    let known: f64 = threads.iter().filter_map(|thread| thread.cpu_cores).sum();
    let started = threads.iter().any(|thread| thread.cpu_cores.is_none());
    started && process.cpu_cores.is_some_and(|cores| cores - known >= FULL.1)
}

fn one(inputs: &Inputs<'_>, hot: &Hot<'_>, bears: bool) -> Member {
    let subject = hot.subject();
    let (enter, leave) = hot.full();
    let mut member = Member::between(ResourceKind::Thread, hot.cores.min(1.0), enter, leave);
    // What it waits for a turn, and what the hypervisor takes meanwhile, is not its own.
    let wants = (hot.cores + hot.wait) / cpus::reachable(inputs.frame).max(FULL.1);
    (member.enters, member.stays) = (wants >= enter && hot.cores >= leave, wants >= leave);
    member.resource.tid = hot.tid;
    // How long its programs wait for a CPU is not known.
    member.proxy = hot.tid.is_none();
    // Where every CPU is full, another thread would not help; a thread without load limits nothing.
    let idle = !cpus::are_full(inputs.frame);
    // Most of the time that it is charged with are interrupts: those limit.
    let interrupted =
        hot.tid.is_some() && hot.process.last_cpu.value().is_some_and(|cpu| inputs.interrupts(cpu) >= INTERRUPTS);
    member.alone = bears && idle && !interrupted;
    member.peers = peers(inputs.frame, None, &IdSet::new());
    let waits = Waits { what: "run_queue", value: 0.0, unit: "tasks" };
    let member = if hot.tid.is_none() { member.note(note::IN_TURN) } else { member };
    member.about(subject, hot.name).waits(Some(0.0), 1.0, waits).of(Some(hot.cores.min(1.0)), Some(1.0), "cores")
}
