//! MEM-04: the OOM killer killed a process.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold};
use crate::bottleneck::ResourceKind;
use crate::frame::Cgroup;
use crate::locale::evidence;
use crate::locale::rule::oom_kill as text;
use std::sync::Arc;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-04");
pub(crate) const KILLS: Threshold = ID.threshold(text::threshold::KILLS, 1.0, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Memory],
    reads: &[],
    sources: &["memory.events", "memory.oom_control", "/proc/vmstat"],
    thresholds: &[KILLS],
    references: &["Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace { enter: 1, of: 1, exit: 10, latch_seconds: 1800, warm_up: 0, at_once: false },
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    // Control groups count their own kills, the machine counts all: one of them is enough.
    let unread = [Input::Memory, Input::Cgroups].map(|input| input.missing(frame));
    if let Some((reason, needs)) = unread.into_iter().flatten().next() {
        context.unchecked(Subject::Host, &reason, needs);
    }
    let killed = |cgroup: &Cgroup| cgroup.memory.as_ref().and_then(|memory| memory.oom_kills_gained).unwrap_or(0);
    let mut in_groups = 0;
    for (at, cgroup) in frame.cgroups.iter().enumerate() {
        let kills = killed(cgroup);
        if (kills as f64) < context.limit(&KILLS) || kills == 0 {
            continue;
        }
        // Control groups are sorted by path: those below this one follow it.
        let below = frame.cgroups.iter().skip(at + 1).take_while(|other| other.path.starts_with(&*cgroup.path));
        if below.into_iter().any(|other| killed(other) > 0) {
            continue;
        }
        in_groups += kills;
        let limit = cgroup.memory.as_ref().and_then(|memory| memory.limit_bytes.value());
        let hit = Hit::new(Subject::Cgroup(Arc::clone(&cgroup.path)), 1.0)
            .severity(Severity::Critical)
            .number(evidence::KILLS, kills as f64, "", "memory.events")
            .known(evidence::LIMIT, limit.map(|limit| limit as f64), "bytes", "memory.max");
        context.hit(hit);
    }
    let all = frame.memory.oom_kills_gained.unwrap_or(0);
    if all > in_groups {
        let hit = Hit::new(Subject::Host, 1.0).severity(Severity::Critical).number(
            evidence::KILLS,
            (all - in_groups) as f64,
            "",
            "/proc/vmstat oom_kill",
        );
        context.hit(hit);
    }
}

fn title(finding: &Finding) -> String {
    let count = finding.number(evidence::KILLS).unwrap_or(0.0) as u64;
    text::Title { count, subject: &finding.subject }.to_string()
}
