//! META-03: something reverted a fix.

use super::{Finding, Hit, Pace, Rule, RuleContext, RuleId, Subject, Threshold, parts};
use crate::IdSet;
use crate::frame::{Applied, Frame};
use crate::locale::evidence;
use crate::locale::rule::fix_reverted as text;
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
    sources: &["the journal of fixes", "the files and settings that the fixes wrote"],
    thresholds: &[SETTLE],
    references: &["irqbalance(1)", "systemd.resource-control(5)", "erl(1), +sbt"],
    pace: Pace { exit: 3, ..Pace::CONFIGURED },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if !frame.sections.applied.is_read() && frame.applied.is_empty() {
        // Without a journal, as in old recordings, no fix is in effect. An unreadable journal is a gap.
        for gap in &frame.applied_gaps {
            context.unchecked(Subject::Host, &text::JournalUnread { path: &gap.path }.to_string(), &gap.needs);
        }
        return;
    }
    let mut drifted: BTreeMap<Subject, Vec<&Applied>> = BTreeMap::new();
    for row in &frame.applied {
        let subject = Subject::parse(&row.subject).unwrap_or(Subject::Host);
        match &row.value {
            // The subject is gone, and the value with it.
            _ if crate::judge::is_gone(&subject, frame) => {}
            None => context.unchecked(subject, &text::TargetUnread { target: &row.target }.to_string(), ""),
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
            .text(evidence::BY, probable_owner(frame, &subject, first), "probable")
            .known(evidence::AGE, first.age_seconds, "s", "journal")
            .number(evidence::ITEMS, rows.len() as f64, "", "journal");
        context.hit(hit);
    }
}

/// True for equal texts, numbers and sets of ids in any notation.
fn is_same(target: &str, wanted: &str, value: &str) -> bool {
    let sets = || IdSet::parse_list(wanted).zip(IdSet::parse_list(value));
    crate::fix::is_same(target, wanted, value) || sets().is_some_and(|(wanted, value)| wanted == value)
}

/// What probably wrote it.
fn probable_owner(frame: &Frame, subject: &Subject, row: &Applied) -> &'static str {
    let target = &*row.target;
    let beam = matches!(subject, Subject::Process(pid, _) if frame.process(*pid).is_some_and(|process| process.beam.is_some()));
    let subject = subject.to_string();
    let in_group = |name: &str| subject.contains(name) || target.contains(name);
    let balances = frame.irqbalance.as_ref().is_some_and(|daemon| &*daemon.state == "running");
    match () {
        () if target.contains("/irq/") && balances => "irqbalance",
        () if target.contains("/irq/") => text::OWNER_DRIVER.as_str(),
        () if beam && target.starts_with("affinity") => text::OWNER_ERLANG.as_str(),
        () if in_group("kubepods") => text::OWNER_KUBELET.as_str(),
        () if [".service", ".scope", ".slice"].iter().any(|unit| in_group(unit)) => "systemd",
        () if target.contains("cpufreq") => text::OWNER_CLOCK.as_str(),
        () if target.starts_with("/proc/sys/") || is_sysctl(target) => text::OWNER_SYSCTL.as_str(),
        () if subject.starts_with("nic:") => text::OWNER_NETWORK.as_str(),
        () => text::OWNER_UNKNOWN.as_str(),
    }
}

fn is_sysctl(target: &str) -> bool {
    ["vm.", "net.", "kernel.", "fs."].iter().any(|top| target.starts_with(top))
}

fn title(finding: &Finding) -> String {
    let (target, owner) = (&finding.text(evidence::TARGET), &finding.text(evidence::BY));
    let (wanted, value) = (&finding.text(evidence::WANTED), &finding.text(evidence::VALUE));
    match finding.number(evidence::ITEMS) {
        Some(items) if items > 1.0 => {
            let count = &parts::count(Some(items - 1.0));
            text::TitleMore { target, wanted, value, count, owner }.to_string()
        }
        _ => text::Title { target, wanted, value, owner }.to_string(),
    }
}
