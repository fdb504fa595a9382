//! META-02: looking costs too much.

use super::{Finding, Hit, Look, Pace, Rule, Severity, Subject, Threshold, parts};

pub(super) const RULE: Rule = Rule {
    id: "META-02",
    name: "watching costs too much",
    why: "What measures must not disturb what it measures. A program that reads more than the machine has to spare, or holds locks of big processes for long, changes the result.",
    reads: &[],
    looks_at: &["own CPU time", "time of the answers to where memory is"],
    thresholds: &[
        Threshold { name: "cpu", value: 0.03, unit: "cores", about: "what topotop itself uses, at least" },
        Threshold { name: "exit", value: 0.02, unit: "cores", about: "over below this" },
        Threshold { name: "answer", value: 100.0, unit: "ms", about: "what one answer to where a process's memory is takes" },
    ],
    guards: &["the first samples, which read everything", "other programs, however they watch"],
    advice: &["A longer interval: --interval 5s", "Record on the machine and look at the recording elsewhere: topotop record, topotop replay"],
    references: &["topotop(1), --interval"],
    pace: Pace { enter: 20, of: 25, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let cost = &look.frame().cost;
    let Some(cores) = cost.cpu_cores else {
        look.unchecked(Subject::Host, "what taking the samples cost is not in them", "");
        return;
    };
    let slow = cost.memory_answer_ms.filter(|ms| *ms >= look.limit("answer"));
    if cores < look.limit("exit") && slow.is_none() {
        return;
    }
    let dearest = cost.collectors.iter().max_by(|a, b| a.took_ms.total_cmp(&b.took_ms));
    let mut hit = Hit::new(Subject::Host, 0.9)
        .enters(cores >= look.limit("cpu") || slow.is_some())
        .severity(Severity::Info)
        .number("cpu", cores, "fraction", "CLOCK_PROCESS_CPUTIME_ID")
        .known("sample", cost.sample_ms, "ms", "CLOCK_MONOTONIC")
        .known("answer", slow, "ms", "move_pages, numa_maps");
    if let Some(dearest) = dearest {
        hit = hit.text("dearest", format!("{} {:.1} ms", dearest.name, dearest.took_ms), "CLOCK_MONOTONIC");
    }
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    let cpu = parts::percent(finding.number("cpu"));
    match finding.number("answer") {
        Some(ms) => format!("topotop itself uses {cpu} of a core; one answer to where memory is took {ms:.0} ms"),
        None => format!("topotop itself uses {cpu} of a core; the dearest part: {}", finding.text("dearest")),
    }
}
