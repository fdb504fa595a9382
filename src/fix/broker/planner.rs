//! Plans of the broker: from its own samples of the machine.

use super::wire::Resolve;
use crate::source::live;
use std::time::Duration;
use topotop_collectors::{Demand, Root, Sampler};
use topotop_model::Window;
use topotop_model::derive::Deriver;
use topotop_model::fix::{self, Case, Plan, Surroundings, row};
use topotop_model::frame::Frame;
use topotop_model::locale::cli::fix as text;
use topotop_model::rules::{Finding, Subject};

/// Time between the two samples of a plan.
const BETWEEN: Duration = Duration::from_millis(500);
/// Findings below the one that is answered, at most.
const MOST: usize = 64;

/// Makes the plan of a fix, or says why there is none.
pub(super) fn plan(wanted: &Resolve, sampling: &live::Plan, surroundings: &Surroundings) -> Result<Plan, String> {
    let unknown = || text::NotAnId { id: &wanted.id }.to_string();
    let (rule, subject, fix) = fix::parse_id(&wanted.id).ok_or_else(unknown)?;
    let gone = || text::NotDetected { rule: &rule, subject: &subject, count: &2 }.to_string();
    let finding = finding(wanted, rule, &subject).ok_or_else(gone)?;
    if !fix::of_rule(rule).any(|known| known.id == fix.id) {
        return Err(unknown());
    }
    if let Some(unknown) = fix.unknown(&wanted.set) {
        return Err(format!("--set {unknown}"));
    }
    let frame = frame(sampling, &subject)?;
    let metric = sampling.options.metrics.iter().find(|metric| metric.gates).map(|metric| metric.name.as_str());
    let case = Case { finding: &finding, frame: &frame, set: &wanted.set, surroundings, metric };
    (fix.plan)(&case).map_err(|refusal| refusal.text(fix, rule, &subject))
}

/// The finding with those below it; what it is about is in the id.
fn finding(wanted: &Resolve, rule: &str, subject: &Subject) -> Option<Finding> {
    if *rule == *row::ID {
        return matches!(subject, Subject::Process(..)).then(|| row::chosen(subject.clone()));
    }
    let mut findings = wanted.findings.iter().take(MOST).filter_map(|finding| finding.bounded().finding());
    let finding = findings.next()?;
    let is_it = finding.rule.id == *rule && finding.subject == *subject;
    is_it.then(|| Finding { children: findings.collect(), ..finding })
}

fn frame(sampling: &live::Plan, subject: &Subject) -> Result<Frame, String> {
    let root = Root::live().map_err(|error| format!("/: {error}"))?;
    let mut options = sampling.options.clone();
    // What starts programs is left out: no plan depends on it.
    (options.metrics, options.starter, options.hwloc_program) = (Vec::new(), None, None);
    let mut sampler = Sampler::new(root, &options);
    let process = if let Subject::Process(pid, _) = subject { Some(*pid) } else { None };
    sampler.demand(Demand { complete: true, process });
    let (mut window, mut deriver) = (Window::default(), Deriver::new(sampling.settings.clone()));
    window.push(sampler.sample());
    deriver.frame(&window);
    std::thread::sleep(BETWEEN);
    window.push(sampler.sample());
    Ok(deriver.frame(&window))
}

#[cfg(test)]
mod tests {
    use super::{finding, plan};
    use crate::fix::broker::wire::Resolve;
    use crate::source::live;
    use std::collections::BTreeMap;
    use topotop_model::fix::Surroundings;
    use topotop_model::recording::RecordedFinding;
    use topotop_model::rules::Subject;

    fn wanted(id: &str, rule: &str, subject: &str, set: &[(&str, &str)]) -> Resolve {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let finding =
            RecordedFinding { rule: rule.to_owned(), subject: subject.to_owned(), ..RecordedFinding::default() };
        Resolve { id: id.to_owned(), set: set.iter().map(pair).collect(), findings: vec![finding] }
    }

    fn refused(wanted: &Resolve) -> String {
        let sampling = live::Plan {
            interval: std::time::Duration::from_secs(1),
            options: topotop_collectors::Options::default(),
            settings: topotop_model::derive::Settings::default(),
            judge: topotop_model::judge::Settings { thresholds: BTreeMap::new() },
        };
        plan(wanted, &sampling, &Surroundings::default()).expect_err("refused")
    }

    #[test]
    fn only_a_known_fix_of_the_finding_is_planned() {
        let known = "NIC-01/nic%3Aeth0/F-CHAN";
        assert!(finding(&wanted(known, "NIC-01", "nic:eth0", &[]), "NIC-01", &Subject::Nic("eth0".into())).is_some());
        for (id, rule, subject, set) in [
            ("../../etc/passwd", "NIC-01", "nic:eth0", &[][..]),
            ("NIC-01/nic%3Aeth0/F-RM", "NIC-01", "nic:eth0", &[]),
            ("NIC-01/nic%3Aeth0/F-QUOTA", "NIC-01", "nic:eth0", &[]),
            (known, "NIC-02", "nic:eth0", &[]),
            (known, "NIC-01", "nic:eth1", &[]),
            (known, "ZZZ-99", "nic:eth0", &[]),
            (known, "NIC-01", "nic:eth0", &[("path", "/etc/shadow")]),
        ] {
            let wanted = wanted(id, rule, subject, set);
            assert!(!refused(&wanted).is_empty(), "{id} {rule} {subject}");
        }
        let mut without = wanted(known, "NIC-01", "nic:eth0", &[]);
        without.findings.clear();
        assert!(refused(&without).contains("NIC-01"));
    }
}
