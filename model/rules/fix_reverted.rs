//! META-03: something took back what a fix had changed.

use super::{Finding, Hit, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use crate::frame::{Applied, Frame};
use crate::locale::evidence;
use crate::locale::rule::fix_reverted as text;
use crate::{IdSet, State};
use std::collections::BTreeMap;

/// Its id.
pub const ID: RuleId = RuleId::new("META-03");
pub(crate) const SETTLE: Threshold = ID.threshold(text::threshold::SETTLE, 5.0, "s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    reads: &[],
    sources: &["the journal of fixes", "the files and settings that they wrote"],
    thresholds: &[SETTLE],
    references: &["irqbalance(1)", "systemd.resource-control(5)", "erl(1), +sbt"],
    pace: Pace { exit: 3, ..Pace::CONFIGURED },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let section = &frame.raw.applied;
    if section.state != State::Read && frame.applied.is_empty() {
        // Without a journal, and in recordings of before there was one, nothing is in force. One that is there and
        // cannot be read is another matter.
        for gap in &section.gaps {
            context.unchecked(
                Subject::Host,
                &format!("{}: which fixes are in force is not known", gap.path),
                &gap.needs,
            );
        }
        return;
    }
    let mut drifted: BTreeMap<Subject, Vec<&Applied>> = BTreeMap::new();
    for row in &frame.applied {
        let subject = Subject::parse(&row.subject).unwrap_or(Subject::Host);
        match &row.value {
            // With what it was written to the value went as well.
            _ if crate::judge::is_gone(&subject, frame) => {}
            None => context.unchecked(subject, &format!("{} could not be read again", row.target), ""),
            Some(value) if is_same(&row.target, &row.wanted, value) => {}
            Some(_) if row.age_seconds.is_some_and(|age| age < context.limit(&SETTLE)) => {}
            Some(_) => drifted.entry(subject).or_default().push(row),
        }
    }
    for (subject, rows) in drifted {
        let Some(first) = rows.first() else { continue };
        let others = rows.iter().skip(1).map(|row| &row.target);
        let hit = Hit::new(subject.clone(), 0.9)
            .text(evidence::FIX, first.fix.clone(), "journal")
            .text(evidence::TARGET, first.target.clone(), "journal")
            .text(evidence::WANTED, first.wanted.clone(), "journal")
            .text(evidence::VALUE, first.value.clone().unwrap_or_default(), "its file")
            .some_text(evidence::OTHERS, parts::list(others, 6), "journal")
            .text(evidence::BY, reverter(frame, &subject, first), "most likely")
            .known(evidence::AGE, first.age_seconds, "s", "journal")
            .number(evidence::ITEMS, rows.len() as f64, "", "journal");
        context.hit(hit);
    }
}

/// True for equal texts, numbers and sets of ids, however they are written.
fn is_same(target: &str, wanted: &str, value: &str) -> bool {
    let sets = || IdSet::parse_list(wanted).zip(IdSet::parse_list(value));
    crate::fix::is_same(target, wanted, value) || sets().is_some_and(|(wanted, value)| wanted == value)
}

/// Who most likely wrote it.
fn reverter(frame: &Frame, subject: &Subject, row: &Applied) -> &'static str {
    let target = &*row.target;
    let beam = matches!(subject, Subject::Process(pid, _) if frame.process(*pid).is_some_and(|process| process.beam.is_some()));
    let subject = subject.to_string();
    let in_group = |name: &str| subject.contains(name) || target.contains(name);
    let balances = frame.irqbalance.as_ref().is_some_and(|daemon| &*daemon.state == "running");
    match () {
        () if target.contains("/irq/") && balances => "irqbalance",
        () if target.contains("/irq/") => "the driver, when its channels changed",
        () if beam && target.starts_with("affinity") => "the Erlang VM, which binds its schedulers again",
        () if in_group("kubepods") => "the kubelet",
        () if [".service", ".scope", ".slice"].iter().any(|unit| in_group(unit)) => "systemd",
        () if target.contains("cpufreq") => "tuned or a power profile daemon",
        () if target.starts_with("/proc/sys/") || is_sysctl(target) => "tuned or sysctl --system",
        () if subject.starts_with("nic:") => "the driver or the network manager, when the link was set up again",
        () => "something else",
    }
}

fn is_sysctl(target: &str) -> bool {
    ["vm.", "net.", "kernel.", "fs."].iter().any(|top| target.starts_with(top))
}

fn title(finding: &Finding) -> String {
    let (target, wanted, value) =
        (finding.text(evidence::TARGET), finding.text(evidence::WANTED), finding.text(evidence::VALUE));
    let more = match finding.number(evidence::ITEMS) {
        Some(items) if items > 1.0 => format!(" and {} more", parts::count(Some(items - 1.0))),
        _ => String::new(),
    };
    format!(
        "{target} was set to {wanted} and is {value} again{more}; most likely reverted by {}",
        finding.text(evidence::BY)
    )
}
