//! CPU-04: one NUMA node is busy while another is idle.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::Process;
use crate::locale::evidence;
use crate::locale::rule::node_imbalance as text;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("CPU-04");
pub(crate) const BUSY: Threshold = ID.threshold(text::threshold::BUSY, 0.8, "fraction");
pub(crate) const APART: Threshold = ID.threshold(text::threshold::APART, 0.5, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.7, "fraction");
pub(crate) const EXIT_APART: Threshold = ID.threshold(text::threshold::EXIT_APART, 0.35, "fraction");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.95, "fraction");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.1, "fraction");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Core],
    needs_load: true,
    reads: &[Input::CpuTimes, Input::Nodes, Input::Processes],
    sources: &["/proc/stat", "/sys/devices/system/node/node*/cpulist", "/proc/PID/task/TID/status"],
    thresholds: &[BUSY, APART, EXIT, EXIT_APART, FULL, WAIT],
    references: &["numactl(8)", "Documentation/scheduler/sched-domains.rst"],
    pace: Pace { enter: 25, of: 30, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let means = parts::node_busy(context);
    let by_busy = |a: &&(u32, f64), b: &&(u32, f64)| a.1.total_cmp(&b.1);
    let (Some(busiest), Some(idlest)) = (means.iter().max_by(by_busy), means.iter().min_by(by_busy)) else { return };
    let apart = busiest.1 - idlest.1;
    if busiest.0 == idlest.0 || busiest.1 < context.limit(&EXIT) || apart < context.limit(&EXIT_APART) {
        return;
    }
    let workers = workers(context, busiest.0);
    if let [(process, cores)] = workers.as_slice()
        && *cores <= 1.05
        && context.frame().threads_of(process.pid).iter().filter(|thread| thread.cpu_cores >= Some(0.2)).count() <= 1
    {
        return;
    }
    let bound = !workers.is_empty()
        && workers.iter().all(|(process, _)| parts::bound_node(context.frame(), process) == Some(busiest.0));
    // Moving tasks gains nothing while none of them waits.
    let waits = workers.iter().filter_map(|(process, _)| process.wait_share).max_by(f64::total_cmp);
    let no_gain = waits.is_some_and(|wait| wait < context.limit(&WAIT)) || (bound && busiest.1 < context.limit(&FULL));
    let names = workers.iter().map(|(process, cores)| format!("{} ({}) {cores:.1}", process.comm, process.pid));
    let nodes = means.iter().map(|(node, busy)| format!("n{node} {}", parts::percent(Some(*busy))));
    let hit = Hit::new(Subject::Node(busiest.0), 0.6)
        .enters(busiest.1 >= context.limit(&BUSY) && apart >= context.limit(&APART))
        .severity(if no_gain { Severity::Info } else { Severity::Warning })
        .number(evidence::BUSY, busiest.1, "fraction", "/proc/stat")
        .number(evidence::IDLEST, idlest.1, "fraction", "/proc/stat")
        .number(evidence::IDLEST_NODE, f64::from(idlest.0), "", "/proc/stat")
        .known(evidence::WAIT, waits, "fraction", "/proc/PID/task/TID/schedstat")
        .text(evidence::NODES, parts::list(nodes, 16), "/proc/stat")
        .text(evidence::BOUND, parts::yes_or_no(bound), "/proc/PID/task/TID/status")
        .some_text(evidence::WHO, parts::list(names, 4), "/proc/PID/task/TID/stat");
    context.hit(hit);
}

/// Processes with significant CPU usage on a node and that usage, largest first.
fn workers<'a>(context: &RuleContext<'a>, node: u32) -> Vec<(&'a Process, f64)> {
    let here = |process: &Process| process.cpu_by_node.iter().find(|(id, _)| *id == node).map(|(_, cores)| *cores);
    let processes = context.frame().processes.iter().filter(|process| !process.kernel);
    let mut workers: Vec<(&Process, f64)> =
        processes.filter_map(|process| Some((process, here(process).filter(|cores| *cores >= 0.2)?))).collect();
    workers.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.pid.cmp(&b.0.pid)));
    workers
}

fn title(finding: &Finding) -> String {
    let percent = |name| parts::percent(finding.number(name));
    let other = parts::count(finding.number(evidence::IDLEST_NODE));
    let (subject, busy, idlest) = (&finding.subject.named(), percent(evidence::BUSY), percent(evidence::IDLEST));
    if finding.text(evidence::BOUND) == parts::yes_or_no(true) {
        text::TitleBound { subject, busy: &busy, other: &other, idlest: &idlest }.to_string()
    } else {
        text::Title { subject, busy: &busy, other: &other, idlest: &idlest }.to_string()
    }
}
