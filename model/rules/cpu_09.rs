//! CPU-09: the host of a virtual machine takes CPU time away.

use super::{Finding, Hit, Input, Look, Pace, Rule, Subject, Threshold, parts};
use crate::Table;

pub(super) const RULE: Rule = Rule {
    id: "CPU-09",
    name: "the host takes CPU time away",
    why: "Steal is time in which a virtual CPU had work and its host ran something else. Nothing inside the machine can change it, and every measurement taken meanwhile is of a slower machine.",
    reads: &[Input::CpuTimes],
    looks_at: &["/proc/stat"],
    thresholds: &[
        Threshold { name: "steal", value: 0.1, unit: "fraction", about: "mean share of all CPUs that was taken, over the window" },
        Threshold { name: "exit", value: 0.05, unit: "fraction", about: "over below this" },
        Threshold { name: "window", value: 60.0, unit: "s", about: "time that the mean is over" },
    ],
    guards: &["a burst: the mean of a minute counts", "hypervisors that do not tell steal: then it is not known"],
    advice: &["Nothing on this machine helps: ask whoever runs the host for dedicated or less crowded CPUs", "Void the run: figures taken while CPUs were stolen say little about this machine"],
    references: &["proc_stat(5)", "Documentation/virt/kvm/x86/msr.rst"],
    pace: Pace { enter: 3, of: 5, exit: 5, latch_seconds: 0, warm_up: 10, at_once: false },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let stolen: Vec<(u32, f64)> =
        frame.cpus.iter().filter(|cpu| cpu.online).filter_map(|cpu| Some((cpu.id, cpu.shares?.steal))).collect();
    if stolen.is_empty() {
        return;
    }
    let times = frame.raw.cpu_times.data();
    let mut rows = times.rows().iter().peekable();
    if rows.peek().is_some() && !rows.any(|row| times.steal.value(row).is_some()) {
        look.unchecked(Subject::Host, "this kernel does not tell steal", "Linux 2.6.11");
        return;
    }
    let now = stolen.iter().map(|(_, share)| share).sum::<f64>() / stolen.len() as f64;
    let series = look.remember(&Subject::Host, now);
    let newest = series.last().map_or(0.0, |(at, _)| *at);
    let window: Vec<f64> =
        series.iter().filter(|(at, _)| newest - at <= look.limit("window")).map(|(_, share)| *share).collect();
    let mean = window.iter().sum::<f64>() / window.len().max(1) as f64;
    // A few samples are a burst.
    if mean < look.limit("exit") || window.len() < 8 {
        return;
    }
    let mut hit = Hit::new(Subject::Host, 0.9)
        .enters(mean >= look.limit("steal"))
        .number("steal", mean, "fraction", "/proc/stat")
        .number("now", now, "fraction", "/proc/stat")
        .number("samples", window.len() as f64, "", "/proc/stat");
    let worst = stolen.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((cpu, share)) = worst {
        hit = hit.number("worst", *share, "fraction", "/proc/stat").number("worst_cpu", f64::from(*cpu), "", "/proc/stat");
    }
    for (cpu, _) in stolen.iter().filter(|(_, share)| *share >= look.limit("exit")) {
        hit = hit.covers("CPU-01", Subject::Cpu(*cpu)).covers("CPU-03", Subject::Cpu(*cpu));
    }
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    let steal = parts::percent(finding.number("steal"));
    let (cpu, worst) = (parts::count(finding.number("worst_cpu")), parts::percent(finding.number("worst")));
    format!("the host takes {steal} of the CPU time away, now {worst} of CPU {cpu}: figures taken meanwhile say little")
}
