//! Captured machines carried on for two minutes: nothing is found but what is so.

use crate::common::captured;
use topotop_model::Window;
use topotop_model::derive::Deriver;
use topotop_model::judge::Judge;
use topotop_model::rules::Severity;

/// Samples that have rates.
const VALID: u64 = 120;

#[test]
fn captured_machines_are_left_in_peace() {
    let mut wrong = Vec::new();
    for machine in captured::all() {
        let start = std::time::Instant::now();
        let (mut window, mut deriver, mut judge) = (Window::default(), Deriver::default(), Judge::default());
        let mut told = std::collections::BTreeSet::new();
        for second in 0..=VALID {
            window.push(machine.series.at(second));
            let judgement = judge.step(&deriver.frame(&window));
            for finding in judgement.findings.iter().filter(|finding| finding.severity >= Severity::Warning) {
                if told.insert((finding.rule.id, finding.subject.clone())) {
                    wrong.push(format!("{}: {second} s: {} {}", machine.name, finding.rule.id, finding.title()));
                }
            }
        }
        eprintln!("{} {:?}", machine.name, start.elapsed());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
