//! BEAM-02: a scheduler bound to a CPU competes there with interrupts or other processes.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use super::{core_saturated, pinned_threads};
use crate::IdSet;
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Process, Thread};
use crate::locale::evidence;
use crate::locale::rule::erlang_scheduler_crowded as text;
use std::collections::{BTreeMap, BTreeSet};

/// The id of the rule.
pub const ID: RuleId = RuleId::new("BEAM-02");
pub(crate) const SOFTIRQ: Threshold = ID.threshold(text::threshold::SOFTIRQ, 0.3, "fraction");
pub(crate) const FOREIGN: Threshold = ID.threshold(text::threshold::FOREIGN, 0.3, "fraction");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.2, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.1, "fraction");
pub(crate) const IDLE: Threshold = ID.threshold(text::threshold::IDLE, 0.5, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Core],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Processes, Input::Threads],
    sources: &["/proc/PID/task/TID/status", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[SOFTIRQ, FOREIGN, WAIT, EXIT, IDLE],
    references: &["erl(1), +sbt", "https://www.rabbitmq.com/docs/runtime"],
    pace: Pace::QUICK,
    judge,
    title,
    ..Rule::BASE
};

/// A CPU where a bound scheduler waits for other work.
struct Crowded {
    cpu: u32,
    wait: f64,
    softirq: f64,
    foreign: f64,
}

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let bound = |process: &&Process| process.beam.as_ref().is_some_and(|beam| beam.bound_now.value() == Some(true));
    let instances: Vec<&Process> = frame.processes.iter().filter(bound).collect();
    let mut owners: BTreeMap<u32, u32> = BTreeMap::new();
    for process in &instances {
        for cpu in pinned(process).collect::<BTreeSet<u32>>() {
            *owners.entry(cpu).or_default() += 1;
        }
    }
    let mut busy_processes = None;
    for process in &instances {
        let subject = Subject::Process(process.pid, process.starttime);
        let own_cpus: Vec<u32> = pinned(process).filter(|cpu| owners.get(cpu) == Some(&1)).collect();
        let threads = frame.threads_of(process.pid);
        let crowded: Vec<Crowded> = own_cpus.iter().filter_map(|cpu| crowded(context, *cpu, threads)).collect();
        let no_wait_time = !threads.iter().any(|thread| thread.has_schedstat);
        let waits = threads.iter().any(|thread| thread.wait_share.is_some());
        if !own_cpus.is_empty() && no_wait_time && !waits && process.cpu_cores.is_some_and(|cores| cores >= 0.1) {
            context.unchecked(subject, &text::UNCHECKED_WAIT, "CONFIG_SCHED_INFO (schedstat)");
            continue;
        }
        if crowded.is_empty() {
            continue;
        }
        let idle = parts::idle_cpus(context, Some(parts::cpuset(frame, process)), context.limit(&IDLE));
        let idle = IdSet::from_ids(idle.iter().filter(|cpu| !own_cpus.contains(cpu)));
        let Some(worst) = crowded.iter().max_by(|a, b| a.wait.total_cmp(&b.wait)).filter(|_| !idle.is_empty()) else {
            continue;
        };
        let by = competitors(busy_processes.get_or_insert_with(|| busy_by_cpu(frame)), process.pid, worst);
        let mut hit = Hit::new(subject, 0.75)
            .enters(worst.wait >= context.limit(&WAIT))
            .number(evidence::WAIT, worst.wait, "fraction", "/proc/PID/task/TID/schedstat")
            .number(evidence::SOFTIRQ, worst.softirq, "fraction", "/proc/stat")
            .number(evidence::FOREIGN, worst.foreign, "fraction", "/proc/stat")
            .number(evidence::CPU, f64::from(worst.cpu), "", "/proc/PID/task/TID/status")
            .text(
                evidence::CPUS,
                IdSet::from_ids(crowded.iter().map(|crowded| crowded.cpu)).to_string(),
                "/proc/PID/task/TID/status",
            )
            .some_text(evidence::BY, by, "/proc/PID/task/TID/stat")
            .text(evidence::FREE_CPUS, idle.to_string(), "/proc/stat")
            .text(evidence::INSTANCE, parts::instance_name(frame, process), "/proc/PID/cmdline, /proc/PID/cgroup");
        for cpu in crowded.iter().map(|crowded| Subject::Cpu(crowded.cpu)) {
            hit = hit.covers(pinned_threads::ID, cpu.clone()).covers(core_saturated::ID, cpu);
        }
        context.hit(hit);
    }
}

fn pinned(process: &Process) -> impl Iterator<Item = u32> {
    process.beam.iter().flat_map(|beam| beam.pinned.iter().map(|(cpu, _)| *cpu))
}

/// The load that competes with the schedulers bound to a CPU.
fn crowded(context: &RuleContext<'_>, cpu: u32, threads: &[Thread]) -> Option<Crowded> {
    let shares = context.frame().cpu(cpu)?.shares?;
    let here = |thread: &&Thread| thread.affinity.as_deref().and_then(IdSet::single) == Some(cpu);
    let wait = threads.iter().filter(here).filter_map(|thread| thread.wait_share).max_by(f64::total_cmp)?;
    let last = threads.iter().filter(|thread| thread.last_cpu.value() == Some(cpu));
    let own: f64 = last.filter_map(|thread| thread.cpu_cores).sum();
    let softirq = shares.softirq + shares.irq;
    let foreign = (shares.busy - softirq - own).max(0.0);
    let taken = softirq >= context.limit(&SOFTIRQ) || foreign >= context.limit(&FOREIGN);
    (taken && wait >= context.limit(&EXIT)).then_some(Crowded { cpu, wait, softirq, foreign })
}

/// Busy processes by the CPU they ran on last.
fn busy_by_cpu(frame: &Frame) -> BTreeMap<u32, Vec<&Process>> {
    let mut by_cpu: BTreeMap<u32, Vec<&Process>> = BTreeMap::new();
    for process in &frame.processes {
        let threads = frame.threads_of(process.pid);
        let mut cores: BTreeMap<u32, f64> = BTreeMap::new();
        for thread in threads {
            if let (Some(cpu), Some(used)) = (thread.last_cpu.value(), thread.cpu_cores) {
                *cores.entry(cpu).or_default() += used;
            }
        }
        if let Some(cpu) = process.last_cpu.value().filter(|_| threads.is_empty()) {
            cores.insert(cpu, process.cpu_cores.unwrap_or(0.0));
        }
        for (cpu, _) in cores.into_iter().filter(|(_, cores)| *cores >= 0.05) {
            by_cpu.entry(cpu).or_default().push(process);
        }
    }
    by_cpu
}

/// The competitors: interrupts, and the processes that ran there last.
fn competitors(busy: &BTreeMap<u32, Vec<&Process>>, pid: u32, crowded: &Crowded) -> String {
    let here = busy.get(&crowded.cpu).into_iter().flatten().filter(|process| process.pid != pid);
    let names = here.map(|process| format!("{} ({})", process.comm, process.pid));
    let interrupts = (crowded.softirq >= crowded.foreign).then(|| text::BY_INTERRUPTS.to_string());
    parts::list(interrupts.into_iter().chain(names), 4)
}

fn title(finding: &Finding) -> String {
    let (instance, subject) = (&finding.text(evidence::INSTANCE), &finding.subject.named());
    let cpu = &parts::count(finding.number(evidence::CPU));
    let (wait, idle) = (&parts::percent(finding.number(evidence::WAIT)), &finding.text(evidence::FREE_CPUS));
    match finding.text(evidence::BY) {
        "" => text::TitleOthers { instance, subject, cpu, wait, idle }.to_string(),
        by => text::Title { instance, subject, cpu, wait, by: &by, idle }.to_string(),
    }
}
