//! CPU-02: a process goes as fast as one of its threads.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::{Frame, Process, Thread};
use crate::tables::processes::{Processes, Threads};
use crate::{Known, Num, Section, Table};
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "CPU-02",
    name: "a process is limited by one thread",
    why: "A thread that uses a whole core and waits for nobody cannot go faster on this machine, however many CPUs are idle. More CPUs, another placement or pinning change nothing; only the program can share the work out.",
    reads: &[Input::CpuTimes, Input::Processes, Input::Threads],
    looks_at: &["/proc/PID/task/TID/stat", "/proc/PID/task/TID/schedstat"],
    thresholds: &[
        Threshold { name: "thread", value: 0.9, unit: "cores", about: "what the thread uses, at least" },
        Threshold { name: "exit", value: 0.8, unit: "cores", about: "over below this" },
        Threshold { name: "wait", value: 0.1, unit: "fraction", about: "share of its time that it waits for a CPU, at most" },
        Threshold { name: "rest", value: 0.2, unit: "cores", about: "what the other threads of the process use together, at most" },
    ],
    guards: &["kernel threads", "realtime threads and isolated CPUs: pollers that are meant to spin", "a thread that waits for its CPU: that is placement (CPU-01, CPU-03)", "bursts, as of garbage collection: it has to last"],
    advice: &["Share the work out: shards, partitions, more workers or schedulers of the program's own", "A faster core helps: look at its clock (CPU-10) and at what else runs on it"],
    references: &["proc_pid_stat(5)", "Documentation/scheduler/sched-stats.rst"],
    pace: Pace { enter: 20, of: 25, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

/// The thread of a process that uses most, or the process where it has one only.
struct Busiest<'a> {
    name: &'a str,
    tid: u32,
    cores: f64,
    wait: Option<f64>,
    last_cpu: Known<u32>,
    policy: Known<u64>,
    /// False where the kernel does not tell how long anything waits.
    told: bool,
}

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let least = look.limit("exit");
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let Some(cores) = process.cpu_cores.filter(|cores| *cores >= least) else { continue };
        let subject = Subject::Process(process.pid, process.starttime);
        let Some(thread) = busiest(frame, process, cores) else {
            if frame.threads_of(process.pid).is_empty() && !frame.raw.threads.gaps.is_empty() {
                look.unchecked(subject, "its threads are not looked at: others have too many", "the process selected");
            }
            continue;
        };
        if thread.cores < least || is_meant_to_spin(frame, &thread) {
            continue;
        }
        let Some(wait) = thread.wait else {
            if !thread.told {
                look.unchecked(subject, "nobody knows whether its busiest thread waits", "CONFIG_SCHED_INFO (schedstat)");
            }
            continue;
        };
        let rest = (cores - thread.cores).max(0.0);
        if wait > 2.0 * look.limit("wait") || rest > 1.5 * look.limit("rest") {
            continue;
        }
        let enters = thread.cores >= look.limit("thread") && wait <= look.limit("wait") && rest <= look.limit("rest");
        let hit = Hit::new(subject, 0.7)
            .enters(enters)
            .severity(Severity::Info)
            .number("thread", thread.cores, "fraction", "/proc/PID/task/TID/schedstat")
            .number("rest", rest, "fraction", "/proc/PID/stat")
            .number("wait", wait, "fraction", "/proc/PID/task/TID/schedstat")
            .text("comm", Arc::clone(&process.comm), "/proc/PID/comm")
            .text("name", thread.name, "/proc/PID/task/TID/comm")
            .number("tid", f64::from(thread.tid), "", "/proc/PID/task")
            .known("cpu", thread.last_cpu.value().map(f64::from), "", "/proc/PID/task/TID/stat");
        look.hit(hit);
    }
}

fn busiest<'a>(frame: &'a Frame, process: &'a Process, cores: f64) -> Option<Busiest<'a>> {
    let raw = &frame.raw;
    let of = |thread: &'a Thread| {
        Some(Busiest {
            name: &thread.comm,
            tid: thread.tid,
            cores: thread.cpu_cores?,
            wait: thread.wait_share,
            last_cpu: thread.last_cpu,
            policy: thread.policy,
            told: tells(&raw.threads, thread.slot, |table: &Threads| &table.run_ns),
        })
    };
    let threads = frame.threads_of(process.pid);
    if threads.is_empty() && process.threads.value() == Some(1) {
        return Some(Busiest {
            name: &process.comm,
            tid: process.pid,
            cores,
            wait: process.wait_share,
            last_cpu: process.last_cpu,
            policy: raw.processes.data().policy.get(process.slot),
            told: tells(&raw.processes, process.slot, |table: &Processes| &table.run_ns),
        });
    }
    threads.iter().filter_map(of).max_by(|a, b| a.cores.total_cmp(&b.cores))
}

fn tells<T: Table>(section: &Section<T>, slot: usize, column: fn(&T) -> &Num) -> bool {
    column(section.data()).value(slot).is_some()
}

fn is_meant_to_spin(frame: &Frame, thread: &Busiest<'_>) -> bool {
    let isolated = thread.last_cpu.value().and_then(|cpu| frame.cpu(cpu)).is_some_and(|cpu| cpu.isolated);
    isolated || thread.policy.value().is_some_and(parts::is_real_time)
}

fn title(finding: &Finding) -> String {
    let (thread, rest) = (parts::percent(finding.number("thread")), parts::percent(finding.number("rest")));
    let (comm, name, tid) = (finding.text("comm"), finding.text("name"), parts::count(finding.number("tid")));
    format!("{comm} ({}) goes as fast as one thread: {name} ({tid}) uses {thread} of a core, the others {rest}", finding.subject)
}
