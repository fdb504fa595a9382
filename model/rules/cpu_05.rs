//! CPU-05: a group is held back by its CPU quota.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::Process;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "CPU-05",
    name: "a container is throttled by its CPU quota",
    why: "A group that used up its quota stands still until the next period of 100 ms, with every thread in it, however idle the machine is.",
    reads: &[Input::Cgroups],
    looks_at: &["cpu.stat", "cpu.max"],
    thresholds: &[
        Threshold { name: "throttled", value: 0.25, unit: "fraction", about: "share of periods that ended throttled" },
        Threshold { name: "exit", value: 0.05, unit: "fraction", about: "over below this" },
        Threshold { name: "critical", value: 0.75, unit: "fraction", about: "share that is critical" },
        Threshold { name: "periods", value: 5.0, unit: "1/s", about: "periods that must have run" },
    ],
    guards: &["throttled time is summed over CPUs: shares of periods are counted instead", "a group above it whose quota it is gets the finding"],
    advice: &["Raise the quota: systemctl set-property --runtime UNIT CPUQuota=400%", "Fewer threads than the quota has cores"],
    references: &["Documentation/scheduler/sched-bwc.rst"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let seconds = frame.interval_seconds.unwrap_or(1.0);
    // By path, as the groups are.
    let mut hits: Vec<(&str, Hit)> = Vec::new();
    for cgroup in &frame.cgroups {
        let (Some(ratio), Some(quota)) = (cgroup.cpu.throttled_ratio, cgroup.cpu.quota_cores.value()) else { continue };
        if ratio < look.limit("exit") {
            continue;
        }
        let ran = cgroup.cpu.periods.unwrap_or(0) as f64 >= (look.limit("periods") * seconds).max(1.0);
        let critical = ratio >= look.limit("critical");
        let hit = Hit::new(Subject::Cgroup(Arc::clone(&cgroup.path)), 0.9)
            .enters(ran && ratio >= look.limit("throttled"))
            .severity(if critical { Severity::Critical } else { Severity::Warning })
            .number("throttled", ratio, "fraction", "cpu.stat")
            .number("quota", quota, "cores", "cpu.max")
            .known("usage", cgroup.cpu.usage_cores, "cores", "cpu.stat")
            .known("pressure", cgroup.cpu_pressure.and_then(|stall| stall.some_ratio), "fraction", "cpu.pressure");
        hits.push((&*cgroup.path, hit));
    }
    for (process, path) in busy_below(look, &hits) {
        // More threads than the quota has cores are told with the quota that stops them.
        if let Some((_, hit)) = hits.get_mut(path) {
            hit.covers.push(("CPU-06", Subject::Process(process.pid, process.starttime)));
        }
    }
    for (_, hit) in hits {
        look.hit(hit);
    }
}

/// Working processes with the place of each of the groups, by path, that they are in or below.
fn busy_below<'a>(look: &Look<'a>, groups: &[(&str, Hit)]) -> Vec<(&'a Process, usize)> {
    if groups.is_empty() {
        return Vec::new();
    }
    let busy = look.frame().processes.iter().filter(|process| process.cpu_cores.is_some_and(|cores| cores >= 0.05));
    let places = |process: &'a Process| {
        let found = parts::above(process.quota_group()).filter_map(|path| groups.binary_search_by(|group| group.0.cmp(path)).ok());
        found.map(move |place| (process, place)).collect::<Vec<_>>()
    };
    busy.flat_map(places).collect()
}

fn title(finding: &Finding) -> String {
    let (ratio, quota) = (parts::percent(finding.number("throttled")), parts::count(finding.number("quota")));
    format!("{} is throttled in {ratio} of its periods by a quota of {quota} cores", finding.subject)
}
