//! Captured machines extrapolated for two minutes: every warning is true of the captured files.

use crate::common::captured::{self, Captured};
use std::collections::BTreeSet;
use topotop_model::bottleneck::{Outcome, Verdict};
use topotop_model::derive::Deriver;
use topotop_model::frame::Frame;
use topotop_model::judge::Judge;
use topotop_model::rules::{Finding, Severity, Subject};
use topotop_model::{Known, Window};

/// Samples that have rates.
const VALID: u64 = 120;

#[test]
fn captured_machines_cause_no_false_warning() {
    let mut wrong = Vec::new();
    for machine in captured::all() {
        wrong.extend(false_warnings(machine));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Findings at warning or above that the captured files do not show.
fn false_warnings(machine: &Captured) -> Vec<String> {
    let (mut window, mut deriver, mut judge) = (Window::default(), Deriver::default(), Judge::default());
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for second in 0..=VALID {
        window.push(machine.series.at(second));
        let frame = deriver.frame(&window);
        let judgement = judge.step(&frame);
        for finding in judgement.findings.iter().filter(|finding| finding.severity >= Severity::Warning) {
            if seen.insert((finding.rule.id, finding.subject.clone()))
                && !(machine.measured && is_true(finding, &frame))
            {
                wrong.push(format!("{}: {second} s: {} {}", machine.name, finding.rule.id, finding.title()));
            }
        }
    }
    wrong
}

/// True where two samples of the machine, by the values read and not by a rule, show the fault.
fn is_true(finding: &Finding, frame: &Frame) -> bool {
    match &finding.subject {
        // Most of the time with a request on its way, and a flush for every third write.
        Subject::Disk(name) => frame.disks.iter().any(|disk| {
            let (flushes, writes) = (disk.flushes_per_second.unwrap_or(0.0), disk.writes_per_second.unwrap_or(0.0));
            let slow = disk.await_ms.value().is_some_and(|ms| ms >= 20.0);
            disk.name == *name && disk.utilisation >= Some(0.6) && (slow || flushes * 3.0 >= writes)
        }),
        // Full, and reclaimed pages are read again at once.
        Subject::Cgroup(path) if finding.rule.id == "CPU-05" => {
            frame.cgroup(path).is_some_and(|group| group.cpu.throttled_ratio >= Some(0.5))
        }
        Subject::Cgroup(path) => frame.cgroup(path).and_then(|group| group.memory.as_ref()).is_some_and(|memory| {
            let full = memory.current_bytes.value().zip(memory.limit_bytes.value());
            full.is_some_and(|(used, limit)| used as f64 >= 0.97 * limit as f64)
                && memory.refault_file_per_second >= Some(500.0)
        }),
        // One CPU spends most of its time in softirq.
        Subject::Cpu(_) | Subject::Nic(_) => {
            frame.cpus.iter().any(|cpu| cpu.shares.is_some_and(|shares| shares.softirq >= 0.6))
        }
        // It runs on one node and has its memory on another, or its CPU is full, it waits, and others are idle.
        Subject::Process(pid, _) => frame.process(*pid).is_some_and(|process| {
            let full = |cpu: u32| frame.cpu(cpu).and_then(topotop_model::frame::Cpu::busy) >= Some(0.9);
            let waits = frame
                .threads_of(*pid)
                .iter()
                .any(|thread| thread.wait_share >= Some(0.2) && thread.last_cpu.value().is_some_and(full));
            if waits && frame.cpus.iter().any(|cpu| cpu.busy() <= Some(0.5)) {
                return true;
            }
            let runs = process.cpu_by_node.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|pair| pair.0);
            let lives = process.memory.as_ref().and_then(|memory| memory.by_node.iter().max_by_key(|pair| pair.1));
            runs.is_some() && lives.map(|pair| pair.0) != runs
        }),
        // Its CPUs are full while another's idle, or it has no free memory and allocations went elsewhere.
        Subject::Node(id) => frame.node(*id).is_some_and(|node| {
            if node.busy >= Some(0.8) && frame.nodes.iter().any(|other| other.busy <= Some(0.3)) {
                return true;
            }
            node.memory_free_bytes.value() < node.memory_total_bytes.map(|total| total / 50).value()
                && !matches!(node.numa_foreign, Known::Value(0) | Known::None | Known::Missing)
        }),
        _ => false,
    }
}

/// Where most resources are unknown, the answer is that nobody can know, and it lists them.
#[test]
fn machines_that_tell_little_are_inconclusive_and_what_is_unknown_is_listed() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for machine in captured::all() {
        let (mut window, mut deriver, mut judge) = (Window::default(), Deriver::default(), Judge::default());
        let mut last = None;
        for second in 0..=30 {
            window.push(machine.series.at(second));
            last = Some(judge.step(&deriver.frame(&window)));
        }
        let judgement = last.expect("a sample");
        let unknown = judgement.resources.iter().filter(|resource| resource.verdict == Verdict::Unknown).count();
        if 2 * unknown <= judgement.resources.iter().count() {
            continue;
        }
        tried += 1;
        let answer = &judgement.bottleneck;
        if answer.verdict != Outcome::Inconclusive || answer.unknown.is_empty() || answer.is_collecting() {
            wrong.push(format!("{}: {unknown} unknown: {}", machine.name, answer.headline()));
        }
    }
    assert!(tried >= 2 || crate::machines::folder().is_none(), "{tried} machines");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
