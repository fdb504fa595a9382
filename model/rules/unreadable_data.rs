//! META-01: some data is unreadable.

use super::{Finding, Hit, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::frame::{Frame, Process};
use crate::locale::evidence;
use crate::locale::rule::unreadable_data as text;
use crate::{Gap, Reason};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Its id.
pub const ID: RuleId = RuleId::new("META-01");
pub(crate) const GAPS: Threshold = ID.threshold(text::threshold::GAPS, 1.0, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    reads: &[],
    sources: &["gaps of every section"],
    thresholds: &[GAPS],
    references: &["capabilities(7)"],
    pace: Pace::CONFIGURED,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let denied: Vec<&Gap> = context.frame().gaps.iter().filter(|gap| gap.reason == Reason::PermissionDenied).collect();
    if denied.is_empty() || (denied.len() as f64) < context.limit(&GAPS) {
        return;
    }
    let hit = Hit::new(Subject::Host, 1.0)
        .severity(Severity::Info)
        .number(evidence::PATTERNS, denied.len() as f64, "", "gaps")
        .text(evidence::FILES, parts::list(denied.iter().map(|gap| gap.shown_path()), 4), "gaps")
        .text(
            evidence::NEEDS,
            parts::clauses(
                denied.iter().map(|gap| &gap.needs).filter(|needs| !needs.is_empty()).collect::<BTreeSet<_>>(),
                3,
            ),
            "gaps",
        );
    let hidden = hidden(context.frame());
    context.hit(if hidden.is_empty() {
        hit
    } else {
        hit.text(evidence::PROCESSES, parts::list(hidden, 4), "/proc/PID/io")
    });
}

/// Processes whose counters could not be read: the one that a gap names, else the busy ones, the busiest first, else all
/// where they are few.
fn hidden(frame: &Frame) -> Vec<String> {
    let denied = || frame.gaps.iter().filter(|gap| gap.reason == Reason::PermissionDenied);
    let lone = denied().filter_map(|gap| gap.path.strip_prefix("proc/")?.split_once('/')?.0.parse().ok());
    let lone: BTreeSet<u32> = lone.collect();
    let mut processes: Vec<&Process> = lone.into_iter().filter_map(|pid| frame.process(pid)).collect();
    if denied().any(|gap| &*gap.path == "proc/*/io") {
        processes.extend(unread(frame));
    }
    processes.iter().map(|process| format!("{} ({})", process.comm, process.pid)).collect()
}

/// Those without counters of what they read.
fn unread(frame: &Frame) -> Vec<&Process> {
    // One that has just started has no rates yet.
    let old = |process: &&Process| process.cpu_cores.is_some() && !process.kernel;
    let unread = |process: &&Process| old(process) && process.read_bytes_per_second.is_none();
    let busy = |process: &&Process| process.cpu_cores.is_some_and(|cores| cores >= BUSY);
    let all = || frame.processes.iter().filter(unread);
    let mut processes: Vec<&Process> = all().filter(busy).collect();
    // A few are named whatever they do: they are why the files are listed.
    if processes.is_empty() && frame.interval_seconds.is_some() && all().count() <= FEW {
        processes = all().collect();
    }
    processes.sort_by(|a, b| b.cpu_cores.partial_cmp(&a.cpu_cores).unwrap_or(Ordering::Equal).then(a.pid.cmp(&b.pid)));
    processes
}

/// Processes that are few enough to be named.
const FEW: usize = 3;
/// CPUs that a process uses whose missing counters matter.
const BUSY: f64 = 0.05;

fn title(finding: &Finding) -> String {
    let (files, needs) = (&finding.text(evidence::FILES), &finding.text(evidence::NEEDS));
    match &finding.text(evidence::PROCESSES) {
        &"" => text::Title { files, needs }.to_string(),
        processes => text::TitleProcesses { files, processes, needs }.to_string(),
    }
}
