//! CPU-02: one thread limits a process; processes of one program in one group are one finding.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Strength, Subject, Threshold, parts};
use crate::Known;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Process, Thread};
use crate::locale::evidence;
use crate::locale::rule::single_thread_limit as text;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-02");
pub(crate) const THREAD: Threshold = ID.threshold(text::threshold::THREAD, 0.9, "cores");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.8, "cores");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.1, "fraction");
pub(crate) const REST: Threshold = ID.threshold(text::threshold::REST, 0.2, "cores");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Thread],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Processes, Input::Threads],
    sources: &["/proc/PID/task/TID/stat", "/proc/PID/task/TID/schedstat"],
    thresholds: &[THREAD, EXIT, WAIT, REST],
    references: &["proc_pid_stat(5)", "Documentation/scheduler/sched-stats.rst"],
    pace: Pace { enter: 20, of: 25, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

/// Processes that are named beside the first one.
const SHOWN: usize = 8;
const CONFIDENCE: f64 = 0.7;

/// Hits by group and program, in the order of process ids, with the cores of each thread.
type Programs = BTreeMap<(Arc<str>, Arc<str>), Vec<(f64, Hit)>>;

/// The busiest thread of a process, or the process itself where it has only one.
struct Busiest<'a> {
    name: &'a str,
    tid: u32,
    cores: f64,
    wait: Option<f64>,
    last_cpu: Known<u32>,
    policy: Known<u64>,
    /// False where the kernel reports no wait time.
    has_wait_time: bool,
}

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let min_cores = context.limit(&EXIT);
    let mut programs: Programs = BTreeMap::new();
    // Work that is distributed further finds no CPU.
    if crate::bottleneck::are_full(frame) {
        return;
    }
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let Some(cores) = process.cpu_cores.filter(|cores| *cores >= min_cores) else { continue };
        let subject = Subject::Process(process.pid, process.starttime);
        let Some(thread) = busiest(frame, process, cores) else {
            if frame.threads_of(process.pid).is_empty()
                && frame.gaps.iter().any(|gap| gap.path.starts_with("proc/") && gap.path.contains("/task"))
            {
                context.unchecked(subject, &text::UNCHECKED_THREADS, &text::NEEDS_SELECTION);
            }
            continue;
        };
        if thread.cores < min_cores || spins_on_purpose(frame, &thread) {
            continue;
        }
        let Some(wait) = thread.wait else {
            if !thread.has_wait_time {
                context.unchecked(subject, &text::UNCHECKED_WAIT, "CONFIG_SCHED_INFO (schedstat)");
            }
            continue;
        };
        let rest = (cores - thread.cores).max(0.0);
        if wait > 2.0 * context.limit(&WAIT) || rest > 1.5 * context.limit(&REST) {
            continue;
        }
        let enters =
            thread.cores >= context.limit(&THREAD) && wait <= context.limit(&WAIT) && rest <= context.limit(&REST);
        let hit = Hit::new(subject, CONFIDENCE)
            .enters(enters)
            .severity(Severity::Info)
            .number(evidence::THREAD, thread.cores, "fraction", "/proc/PID/task/TID/schedstat")
            .number(evidence::REST, rest, "fraction", "/proc/PID/stat")
            .number(evidence::WAIT, wait, "fraction", "/proc/PID/task/TID/schedstat")
            .text(evidence::COMM, Arc::clone(&process.comm), "/proc/PID/comm")
            .text(evidence::NAME, thread.name, "/proc/PID/task/TID/comm")
            .number(evidence::TID, f64::from(thread.tid), "", "/proc/PID/task")
            .known(evidence::CPU, thread.last_cpu.value().map(f64::from), "", "/proc/PID/task/TID/stat");
        let program = (Arc::clone(&process.cgroup), Arc::clone(&process.comm));
        programs.entry(program).or_default().push((thread.cores, hit));
    }
    for hits in programs.into_values() {
        report(context, hits);
    }
}

/// Workers of one program have one cause: the finding of the one that is open longest has the others below it. A worker that
/// only stays near its limit and has no finding is none of them.
fn report(context: &mut RuleContext<'_>, hits: Vec<(f64, Hit)>) {
    let opened = |hit: &Hit| context.opened_ns(ID, &hit.subject);
    let is_one = |(_, hit): &(f64, Hit)| hit.strength == Strength::Enter || opened(hit).is_some();
    let (mut hits, rest): (Vec<_>, Vec<_>) = hits.into_iter().partition(is_one);
    // Before the first one opens, the lowest process id.
    let longest = (0..hits.len()).min_by_key(|at| hits.get(*at).and_then(|(_, hit)| opened(hit)).unwrap_or(u64::MAX));
    if let Some(first) = longest.filter(|_| hits.len() > 1) {
        let (_, hit) = hits.remove(first);
        context.hit(leading(hit, &hits));
    }
    for (_, hit) in hits.into_iter().chain(rest) {
        context.hit(hit);
    }
}

/// The hit of the worker whose finding has others below it.
fn leading(hit: Hit, others: &[(f64, Hit)]) -> Hit {
    let mut names: Vec<(f64, String)> =
        others.iter().map(|(cores, other)| (*cores, other.subject.named().to_string())).collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut list = names.iter().take(SHOWN).map(|(_, pid)| pid.as_str()).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        list.push_str(", …");
    }
    let mut hit = hit.number(evidence::PROCESSES, others.len() as f64 + 1.0, "", "/proc/PID/stat");
    hit = hit.text(evidence::OTHERS, list, "/proc/PID/stat");
    hit.covers.extend(others.iter().map(|(_, other)| (ID, other.subject.clone())));
    hit
}

fn busiest<'a>(frame: &'a Frame, process: &'a Process, cores: f64) -> Option<Busiest<'a>> {
    let candidate = |thread: &'a Thread| {
        Some(Busiest {
            name: &thread.comm,
            tid: thread.tid,
            cores: thread.cpu_cores?,
            wait: thread.wait_share,
            last_cpu: thread.last_cpu,
            policy: thread.policy,
            has_wait_time: thread.has_schedstat,
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
            policy: process.scheduling,
            has_wait_time: process.has_schedstat,
        });
    }
    threads.iter().filter_map(candidate).max_by(|a, b| a.cores.total_cmp(&b.cores))
}

fn spins_on_purpose(frame: &Frame, thread: &Busiest<'_>) -> bool {
    let alone = thread.last_cpu.value().is_some_and(|cpu| parts::kept_alone(frame).contains(cpu));
    alone || parts::is_poller(thread.name) || thread.policy.value().is_some_and(parts::is_real_time)
}

fn title(finding: &Finding) -> String {
    let percent = |name| parts::percent(finding.number(name));
    if let Some(count) = finding.number(evidence::PROCESSES) {
        return text::TitleSeveral {
            count: &parts::count(Some(count)),
            comm: &finding.text(evidence::COMM),
            subject: &finding.subject.named(),
            thread: &percent(evidence::THREAD),
            others: &finding.text(evidence::OTHERS),
        }
        .to_string();
    }
    text::Title {
        comm: &finding.text(evidence::COMM),
        subject: &finding.subject.named(),
        name: &finding.text(evidence::NAME),
        tid: &parts::count(finding.number(evidence::TID)),
        thread: &percent(evidence::THREAD),
        rest: &percent(evidence::REST),
    }
    .to_string()
}
