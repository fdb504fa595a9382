//! MEM-04: a process was killed for memory.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::Cgroup;
use std::sync::Arc;

pub(super) const RULE: Rule = Rule {
    id: "MEM-04",
    name: "a process was killed for memory",
    why: "The kernel killed a process because a limit, a node or the machine had no memory left. Work was lost.",
    reads: &[],
    looks_at: &["memory.events", "memory.oom_control", "/proc/vmstat"],
    thresholds: &[
        Threshold { name: "kills", value: 1.0, unit: "", about: "kills in one interval" },
    ],
    guards: &["the group below that lost the process gets the finding, not those above it"],
    advice: &["Raise the limit or find what grew: MEM-01, MEM-03", "dmesg tells the victim and the constraint"],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace { enter: 1, of: 1, exit: 10, latch_seconds: 1800, warm_up: 0, at_once: false },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    // Groups tell of their own kills, the machine of all: either is worth a look.
    let unread = [Input::Memory, Input::Cgroups].map(|input| input.missing(frame));
    if let Some((reason, needs)) = unread.into_iter().flatten().next() {
        look.unchecked(Subject::Host, reason, needs);
    }
    let killed = |cgroup: &Cgroup| cgroup.memory.as_ref().and_then(|memory| memory.oom_kills_gained).unwrap_or(0);
    let mut told = 0;
    for (at, cgroup) in frame.cgroups.iter().enumerate() {
        let kills = killed(cgroup);
        if (kills as f64) < look.limit("kills") || kills == 0 {
            continue;
        }
        // Groups come by path: those below this one follow it.
        let below = frame.cgroups.iter().skip(at + 1).take_while(|other| other.path.starts_with(&*cgroup.path));
        if below.into_iter().any(|other| killed(other) > 0) {
            continue;
        }
        told += kills;
        let limit = cgroup.memory.as_ref().and_then(|memory| memory.limit_bytes.value());
        let hit = Hit::new(Subject::Cgroup(Arc::clone(&cgroup.path)), 1.0)
            .severity(Severity::Critical)
            .number("kills", kills as f64, "", "memory.events")
            .known("limit", limit.map(|limit| limit as f64), "bytes", "memory.max");
        look.hit(hit);
    }
    let all = frame.memory.oom_kills_gained.unwrap_or(0);
    if all > told {
        let hit = Hit::new(Subject::Host, 1.0).severity(Severity::Critical).number("kills", (all - told) as f64, "", "/proc/vmstat oom_kill");
        look.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let kills = parts::count(finding.number("kills"));
    let processes = if kills == "1" { "process was" } else { "processes were" };
    format!("{}: {kills} {processes} killed for memory", finding.subject)
}
