//! The preflight: checks of the configuration before a test, by the same rules on one frame without rates.

use super::{Memory, Settings, load};
use crate::frame::Frame;
use crate::locale::{Text, in_english, judge as text, translated};
use crate::rules::{self, Finding, Hit, Preflight, Rule, RuleContext, Severity, Strength, Subject, Unchecked};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It passed.
    Ok,
    /// Worth knowing.
    Info,
    /// It could not be checked.
    NotChecked,
    /// It would hurt under load, or hurts now.
    WouldHurt,
}

impl Mark {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Info => "info",
            Self::NotChecked => "not_checked",
            Self::WouldHurt => "would_hurt",
        }
    }
}

/// A check of the preflight.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its rule.
    pub rule: &'static Rule,
    /// Its name.
    pub name: Text,
    /// The configuration; hostile where names are, empty if there is nothing to show.
    pub says: String,
    /// What would hurt, the worst first, with its severity under load.
    pub findings: Vec<Finding>,
    /// What could not be checked.
    pub unchecked: Vec<Unchecked>,
}

impl Check {
    /// The configuration in the language of the reader.
    pub fn shown(&self) -> Cow<'_, str> {
        let own = self.rule.name.key().trim_end_matches("name");
        translated(&[own, "finding.", "preflight."], &self.says)
    }

    /// Its result.
    pub fn mark(&self) -> Mark {
        match self.findings.iter().map(|finding| finding.severity).max() {
            Some(Severity::Warning | Severity::Critical) => Mark::WouldHurt,
            _ if !self.unchecked.is_empty() => Mark::NotChecked,
            Some(Severity::Info) => Mark::Info,
            None => Mark::Ok,
        }
    }
}

/// Every check on a frame, in catalogue order. A frame without rates shows the configuration, independent of the current
/// load.
pub fn survey(frame: &Frame, settings: &Settings) -> Vec<Check> {
    in_english(|| checks(frame, settings))
}

fn checks(frame: &Frame, settings: &Settings) -> Vec<Check> {
    let rows = rules::ALL.iter().filter_map(|rule| Some((*rule, rule.preflight?)));
    let results: Vec<_> = rows.map(|(rule, preflight)| check(rule, preflight, frame, settings)).collect();
    let covers: Vec<(rules::RuleId, Subject)> =
        results.iter().flat_map(|(_, hits)| hits).flat_map(|hit| hit.covers.clone()).collect();
    let is_effect =
        |rule: &Rule, hit: &Hit| covers.iter().any(|(id, subject)| *id == rule.id && *subject == hit.subject);
    let mut checks = Vec::with_capacity(results.len());
    for (mut check, hits) in results {
        let own = hits.into_iter().filter(|hit| hit.strength == Strength::Enter && !is_effect(check.rule, hit));
        check.findings = own.map(|hit| finding(check.rule, frame, hit)).collect();
        check.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        checks.push(check);
    }
    checks
}

fn finding(rule: &'static Rule, frame: &Frame, hit: Hit) -> Finding {
    // What is info on an idle machine is a warning before a test.
    let severity = if hit.would_hurt { hit.severity.max(Severity::Warning) } else { hit.severity };
    Finding {
        rule,
        subject: hit.subject,
        severity,
        confidence: hit.confidence,
        since: frame.stamp,
        evidence: hit.evidence,
        children: Vec::new(),
    }
}

fn check(rule: &'static Rule, preflight: Preflight, frame: &Frame, settings: &Settings) -> (Check, Vec<Hit>) {
    let mut check =
        Check { rule, name: preflight.name, says: String::new(), findings: Vec::new(), unchecked: Vec::new() };
    let about = |reason: &str, needs: &str| Unchecked {
        subject: Subject::Host,
        reason: reason.to_owned(),
        needs: needs.to_owned(),
    };
    if let Some((reason, needs)) = rule.reads.iter().find_map(|input| input.missing(frame)) {
        check.unchecked = vec![about(&reason, needs)];
        return (check, Vec::new());
    }
    let mut memory = Memory::default();
    let mut context = RuleContext {
        rule,
        frame,
        overrides: &settings.thresholds,
        memory: &mut memory,
        loaded: load::is_loaded(frame),
        before_test: true,
        gathering: None,
        open: &[],
        hits: Vec::new(),
        unchecked: Vec::new(),
    };
    let status = catch_unwind(AssertUnwindSafe(|| {
        (rule.judge)(&mut context);
        (preflight.says)(frame)
    }));
    let (hits, unchecked) = (context.hits, context.unchecked);
    let Ok(says) = status else {
        check.unchecked = vec![about(&text::RULE_ERROR, "")];
        return (check, Vec::new());
    };
    (check.says, check.unchecked) = (says, unchecked);
    (check, hits)
}

#[cfg(test)]
mod tests {
    use super::{Check, Mark, survey};
    use crate::frame::*;
    use crate::judge::{Judge, Settings};
    use crate::rules::Severity;
    use crate::{IdSet, Known, SectionStates, State};
    use std::sync::Arc;

    /// Four CPUs at rest, one sample: a link with as many channels as it can use.
    fn machine(channels: u64) -> Frame {
        let place = |id| CpuPlace { id, online: true, ..CpuPlace::default() };
        let topology = Topology {
            cpus_online: IdSet::parse_list("0-3").expect("a list"),
            cpus: (0..4).map(place).collect(),
            ..Topology::default()
        };
        let combined = Channel { current: Known::Value(channels), max: Known::Value(4) };
        let channels = Channels { combined, ..Channels::default() };
        let nic = Nic { name: "eth0".into(), kind: "physical".into(), channels, ..Nic::default() };
        Frame {
            topology: Arc::new(topology),
            cpus: (0..4).map(|id| Cpu { id, online: true, ..Cpu::default() }).collect(),
            nics: vec![nic],
            irqbalance: Some(Irqbalance { state: "running".into(), ..Irqbalance::default() }),
            sections: SectionStates::all(State::Read),
            ..Frame::default()
        }
    }

    fn check(frame: &Frame, rule: &str) -> Check {
        survey(frame, &Settings::default()).into_iter().find(|check| check.rule.id == rule).expect("a check")
    }

    #[test]
    fn what_is_info_at_rest_would_hurt() {
        let well = check(&machine(4), "NIC-01");
        assert_eq!((well.mark(), well.says.as_str()), (Mark::Ok, "eth0 4 of 4 combined"));
        let frame = machine(1);
        let sick = check(&frame, "NIC-01");
        assert_eq!((sick.mark(), sick.findings[0].severity), (Mark::WouldHurt, Severity::Warning));
        assert_eq!(sick.findings[0].title(), "eth0 uses 1 of 4 combined channels");
        // The judge of a machine that works tells the same as worth knowing.
        let mut judge = Judge::default();
        let judgement = (0..10).map(|_| judge.step(&frame)).last().expect("a judgement");
        assert_eq!(judgement.worst(), Some(Severity::Info));
    }

    #[test]
    fn one_queue_without_steering_is_reported_by_the_preflight_only() {
        let mut frame = machine(1);
        frame.nics[0].channels.combined = Channel { current: Known::Value(1), max: Known::Value(1) };
        frame.nics[0].queues = vec![Queue { direction: "rxtx".into(), ..Queue::default() }];
        assert_eq!(check(&frame, "NIC-05").mark(), Mark::WouldHurt);
        assert!(Judge::default().step(&frame).findings.is_empty());
        frame.nics[0].queues[0].rps_cpus = Some(Arc::new(IdSet::parse_list("1-3").expect("a list")));
        let steered = check(&frame, "NIC-05");
        assert_eq!((steered.mark(), steered.says.as_str()), (Mark::Ok, "eth0: 1 receive queue, RPS on"));
    }

    #[test]
    fn more_schedulers_than_cores_are_reported_before_they_are_throttled() {
        let mut frame = machine(4);
        let beam = Beam { schedulers: Known::Value(16), ..Beam::default() };
        let process =
            Process { pid: 7, cgroup: "/mq".into(), comm: "beam.smp".into(), beam: Some(beam), ..Process::default() };
        frame.processes = vec![process];
        let cpu = CgroupCpu { quota_cores: Known::Value(4.0), ..CgroupCpu::default() };
        frame.cgroups = vec![Cgroup { path: "/mq".into(), cpu, ..Cgroup::default() }];
        let sick = check(&frame, "BEAM-03");
        assert_eq!(sick.mark(), Mark::WouldHurt);
        assert_eq!(sick.says, "beam.smp (7): schedulers: 16, 4-core quota");
        frame.cgroups[0].cpu.quota_cores = Known::None;
        assert_eq!(check(&frame, "BEAM-03").mark(), Mark::Ok);
    }

    #[test]
    fn what_was_not_read_is_not_ok() {
        let mut frame = machine(4);
        frame.irqbalance = None;
        assert_eq!(check(&frame, "IRQ-02").mark(), Mark::NotChecked);
        for check in survey(&Frame::default(), &Settings::default()) {
            let silent = check.rule.reads.is_empty();
            assert!(silent || check.mark() == Mark::NotChecked, "{}", check.rule.id);
        }
    }
}
