//! CPU-01: one core is full and others wait for it, while the rest are free.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::Frame;
use std::collections::BTreeMap;

pub(super) const RULE: Rule = Rule {
    id: "CPU-01",
    name: "a core is full while others idle",
    why: "Work that waits for one core although others are free goes only as fast as that core. The mean over all CPUs looks harmless.",
    reads: &[Input::CpuTimes, Input::Processes],
    looks_at: &["/proc/stat", "/proc/PID/schedstat"],
    thresholds: &[
        Threshold { name: "busy", value: 0.95, unit: "fraction", about: "busy share of the core" },
        Threshold { name: "others", value: 0.4, unit: "fraction", about: "mean busy share of the others, at most" },
        Threshold { name: "total", value: 0.6, unit: "fraction", about: "mean busy share of all, at most" },
        Threshold { name: "exit", value: 0.85, unit: "fraction", about: "over below this" },
        Threshold { name: "exit_others", value: 0.55, unit: "fraction", about: "over when the others are busier than this" },
        Threshold { name: "wait", value: 0.2, unit: "fraction", about: "share of its time that something on the core waited for it" },
    ],
    guards: &["a thread that is alone on its core and waits for nobody: that is the limit of one thread (CPU-02)", "isolated CPUs", "a host that takes CPU time away lowers the confidence"],
    advice: &["Look at what the core does: its own finding names the cause where one is known", "Let the waiting threads use other CPUs: taskset -apc LIST PID"],
    references: &["proc(5)", "Documentation/accounting/psi.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let count = look.cpu_count();
    if count < 2 {
        return;
    }
    let total = look.cpus().map(|(_, shares)| shares.busy).sum::<f64>() / count as f64;
    let exit = look.limit("exit");
    let hot: Vec<_> = look.against_others(|shares| shares.busy).filter(|(_, busy, _)| *busy >= exit).collect();
    let (frame, least) = (look.frame(), look.limit("wait"));
    let (mut full, mut by_cpu) = (0, None);
    for (cpu, _, others) in hot {
        let Some(shares) = cpu.shares.filter(|_| others <= look.limit("exit_others")) else { continue };
        let subject = Subject::Cpu(cpu.id);
        let interrupts = shares.softirq + shares.irq;
        let all = by_cpu.get_or_insert_with(|| waiting_by_cpu(frame, least));
        let waiting = all.get(&cpu.id).map_or(&[][..], Vec::as_slice);
        let seen = all.contains_key(&cpu.id);
        if !seen && interrupts < 0.5 {
            look.unchecked(subject, "nobody knows whether anything waits for it", "CONFIG_SCHED_INFO (schedstat)");
            continue;
        }
        if waiting.is_empty() && interrupts < 0.5 {
            continue;
        }
        let enters = shares.busy >= look.limit("busy") && others <= look.limit("others") && total <= look.limit("total");
        full += usize::from(enters);
        let hit = Hit::new(subject, 0.8)
            .enters(enters)
            .severity(if full >= 2 { Severity::Critical } else { Severity::Warning })
            .number("busy", shares.busy, "fraction", "/proc/stat")
            .number("others", others, "fraction", "/proc/stat")
            .number("user", shares.user, "fraction", "/proc/stat")
            .number("system", shares.system, "fraction", "/proc/stat")
            .number("softirq", interrupts, "fraction", "/proc/stat")
            .text("waiting", parts::list(waiting, 4), "/proc/PID/schedstat");
        look.hit(hit);
    }
}

/// What ran last on each CPU where anything tells whether it waits, and waited for it.
fn waiting_by_cpu(frame: &Frame, least: f64) -> BTreeMap<u32, Vec<String>> {
    let mut by_cpu: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut waits: Vec<(u32, f64)> = Vec::new();
    for process in &frame.processes {
        let threads = frame.threads_of(process.pid);
        let single = process.threads.value().is_none_or(|threads| threads <= 1) || threads.is_empty();
        waits.clear();
        if single && process.cpu_cores.is_some_and(|cores| cores >= 0.05) {
            waits.extend(process.last_cpu.value().zip(process.wait_share));
        }
        let busy = threads.iter().filter(|thread| thread.cpu_cores.is_some_and(|cores| cores >= 0.05));
        waits.extend(busy.filter_map(|thread| thread.last_cpu.value().zip(thread.wait_share)));
        waits.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        waits.dedup_by_key(|wait| wait.0);
        for (cpu, most) in &waits {
            let waiting = by_cpu.entry(*cpu).or_default();
            if *most >= least {
                waiting.push(format!("{} ({}) {}", process.comm, process.pid, parts::percent(Some(*most))));
            }
        }
    }
    by_cpu
}

fn title(finding: &Finding) -> String {
    let (busy, others) = (parts::percent(finding.number("busy")), parts::percent(finding.number("others")));
    format!("{} is {busy} busy while the others are {others} busy, and work waits for it", finding.subject)
}
