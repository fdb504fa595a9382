//! The fold: how findings open, stay open and close.

use super::{Judge, Settings, Standing};
use crate::Stamp;
use crate::frame::{Cpu, CpuShares, Frame};
use crate::locale::evidence;
use crate::rules::{Finding, Hit, Rule, RuleContext, RuleId, Severity, Subject, Threshold};

const TEST_01: RuleId = RuleId::new("TEST-01");
const LIMIT: Threshold = TEST_01.threshold(evidence::BUSY, 0.9, "fraction");
const SECOND: u64 = 1_000_000_000;

const fn rule(id: RuleId, judge: fn(&mut RuleContext<'_>)) -> Rule {
    Rule {
        id,
        thresholds: &[LIMIT],
        judge,
        title: |finding: &Finding| format!("{} {:?}", finding.subject, finding.number(evidence::BUSY)),
        ..Rule::BASE
    }
}

static BUSY: Rule = rule(TEST_01, |context| {
    for (cpu, shares) in context.cpus().collect::<Vec<_>>() {
        if shares.busy >= 0.5 {
            let hit = Hit::new(Subject::Cpu(cpu.id), 0.9).enters(shares.busy >= context.limit(&LIMIT));
            context.hit(hit.number(crate::locale::evidence::BUSY, shares.busy, "fraction", "/proc/stat"));
        }
    }
});
static CAUSE: Rule = rule(RuleId::new("TEST-02"), |context| {
    if context.frame().cpu(0).is_some_and(|cpu| cpu.busy() >= Some(0.9)) {
        context.hit(Hit::new(Subject::Host, 0.9).severity(Severity::Info).covers(TEST_01, Subject::Cpu(0)));
    }
});
static BROKEN: Rule = rule(RuleId::new("TEST-03"), |context| assert!(context.frame().cpus.is_empty(), "a defect"));
static BLIND: Rule =
    rule(RuleId::new("TEST-04"), |context| context.unchecked(Subject::Host, "no such file", "Linux 9"));

fn frame(second: u64, busy: f64) -> Frame {
    let shares = CpuShares { busy, idle: 1.0 - busy, ..CpuShares::default() };
    let cpu = Cpu { id: 0, online: true, shares: Some(shares), ..Cpu::default() };
    let stamp = Stamp { seq: second + 1, mono_ns: (second + 1) * SECOND, ..Stamp::default() };
    Frame { stamp, interval_seconds: (second > 0).then_some(1.0), cpus: vec![cpu], ..Frame::default() }
}

/// For each of some seconds whether a finding is open.
fn run(judge: &mut Judge, seconds: std::ops::Range<u64>, busy: impl Fn(u64) -> f64) -> Vec<bool> {
    seconds.map(|second| !judge.step_with(&frame(second, busy(second)), &[&BUSY]).findings.is_empty()).collect()
}

#[test]
fn what_lasts_is_found_and_goes_when_it_is_over() {
    let mut judge = Judge::default();
    let open = run(&mut judge, 0..40, |second| if second < 20 { 1.0 } else { 0.0 });
    let (first, last) = (open.iter().position(|open| *open), open.iter().rposition(|open| *open));
    assert!(first.is_some_and(|first| first <= 12), "{first:?}");
    assert!(last.is_some_and(|last| (28..=31).contains(&last)), "{last:?}");
}

#[test]
fn it_is_known_since_its_first_sample() {
    let mut judge = Judge::default();
    run(&mut judge, 0..5, |_| 0.0);
    run(&mut judge, 5..20, |_| 1.0);
    let judgement = judge.step_with(&frame(20, 1.0), &[&BUSY]);
    assert_eq!(judgement.findings[0].since.mono_ns, 6 * SECOND);
    assert_eq!(judgement.findings[0].title(), "cpu:0 Some(1.0)");
    assert_eq!((judgement.worst(), &judgement.rules[0].1), (Some(Severity::Warning), &Standing::Firing));
}

#[test]
fn swinging_around_a_threshold_does_not_flicker() {
    for period in [2, 4, 6, 10, 16, 24] {
        let mut judge = Judge::default();
        let open = run(&mut judge, 0..600, |second| if second % period < period / 2 { 1.0 } else { 0.0 });
        let openings = open.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        assert!(openings <= 10, "period {period}: {openings} openings in ten minutes");
    }
}

#[test]
fn between_the_thresholds_it_stays_as_it_is() {
    let mut judge = Judge::default();
    assert!(run(&mut judge, 0..30, |_| 0.7).iter().all(|open| !open));
    run(&mut judge, 30..45, |_| 1.0);
    assert!(run(&mut judge, 45..200, |_| 0.7).iter().all(|open| *open));
}

#[test]
fn a_cause_has_its_effects_under_it() {
    let mut judge = Judge::default();
    let judgement = (0..15).map(|second| judge.step_with(&frame(second, 1.0), &[&BUSY, &CAUSE])).last();
    let findings = judgement.map(|judgement| judgement.findings).unwrap_or_default();
    let rules: Vec<(&str, usize)> =
        findings.iter().map(|finding| (finding.rule.id.as_str(), finding.children.len())).collect();
    assert_eq!(rules, [("TEST-02", 1)]);
    assert_eq!(findings[0].severity, Severity::Warning);
}

#[test]
fn a_rule_that_breaks_costs_itself_alone() {
    std::panic::set_hook(Box::new(|_| ()));
    let mut judge = Judge::default();
    let judgement = (0..15).map(|second| judge.step_with(&frame(second, 1.0), &[&BROKEN, &BUSY, &BLIND])).last();
    drop(std::panic::take_hook());
    let judgement = judgement.unwrap_or_default();
    assert_eq!(judgement.findings.len(), 1);
    let reasons: Vec<Option<&str>> = judgement
        .rules
        .iter()
        .map(|(_, standing)| match standing {
            Standing::NotChecked(unchecked) => unchecked.first().map(|unchecked| &*unchecked.reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [Some("internal error in the rule (please report)"), None, Some("no such file")]);
}

#[test]
fn thresholds_are_the_users() {
    let thresholds = [(("TEST-01".to_owned(), "busy".to_owned()), 0.6)].into_iter().collect();
    let mut judge = Judge::new(Settings { thresholds });
    assert!(run(&mut judge, 0..15, |_| 0.7).iter().any(|open| *open));
}

#[test]
fn what_is_gone_is_forgotten() {
    let mut judge = Judge::default();
    run(&mut judge, 0..15, |_| 1.0);
    let mut gone = frame(15, 1.0);
    for cpu in &mut gone.cpus {
        *cpu = crate::frame::Cpu { id: cpu.id + 100, ..crate::frame::Cpu::default() };
    }
    assert!(judge.step_with(&gone, &[&BUSY]).findings.is_empty());
    assert!(judge.states.is_empty());
}

#[test]
fn one_sample_is_no_verdict() {
    let judgement = Judge::default().step(&frame(0, 1.0));
    assert!(judgement.findings.is_empty());
    let pending = judgement.rules.iter().filter(|(_, standing)| matches!(standing, Standing::NotChecked(_))).count();
    // Nothing was read: what does not even need a section is all that could context.
    assert!(pending >= judgement.rules.len() - 3 && pending < judgement.rules.len());
}

/// A hot CPU, which rules about places call a warning, and a number of the application's own.
fn with_metric(second: u64, value: f64) -> Frame {
    let (value, peak) = (Some(value), Some(1000.0));
    let metric =
        crate::frame::Metric { name: "tps".into(), value, peak, gates: true, ..crate::frame::Metric::default() };
    Frame { metrics: vec![metric], ..frame(second, 1.0) }
}

#[test]
fn on_an_idle_machine_a_placement_is_info() {
    let (frame, hit) = (frame(1, 1.0), || Hit::new(Subject::Host, 0.9).severity(Severity::Warning));
    let severity = |rule: &Rule, is_idle| super::load::gate(rule, &frame, is_idle, hit()).severity;
    assert_eq!((severity(&PLACE, true), severity(&PLACE, false)), (Severity::Info, Severity::Warning));
    assert_eq!(severity(&OTHER, true), Severity::Warning, "harm is harm");
    // The application's own number decides where there is one.
    let busy = with_metric(1, 900.0);
    assert_eq!(super::load::gate(&PLACE, &busy, true, hit()).severity, Severity::Warning);
}

static PLACE: Rule = Rule { needs_load: true, ..rule(RuleId::new("TEST-05"), BUSY.judge) };
static OTHER: Rule = rule(RuleId::new("TEST-06"), BUSY.judge);

#[test]
fn the_same_imbalance_is_info_without_load_and_a_warning_under_load() {
    let mut judge = Judge::default();
    let mut worst = |seconds: std::ops::Range<u64>, value: f64| {
        let judgement = seconds.map(|second| judge.step_with(&with_metric(second, value), &[&PLACE])).last();
        let finding = judgement.and_then(|judgement| judgement.findings.into_iter().next()).expect("a finding");
        let by_metric = finding.evidence.iter().any(|evidence| evidence.name == "application");
        (finding.severity, by_metric)
    };
    assert_eq!(worst(0..20, 2.0), (Severity::Info, true), "no load, whatever the CPU does");
    assert_eq!(worst(20..50, 900.0), (Severity::Warning, false));
    assert_eq!(worst(50..90, 0.0), (Severity::Info, true));
    // Other rules keep their severity while the application is idle: they may be the reason.
    let mut judge = Judge::default();
    let judgement = (0..20).map(|second| judge.step_with(&with_metric(second, 0.0), &[&OTHER])).last();
    assert_eq!(judgement.and_then(|judgement| judgement.worst()), Some(Severity::Warning));
}
