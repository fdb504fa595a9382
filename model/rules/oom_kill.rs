//! MEM-04: the OOM killer killed a process.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use crate::bottleneck::ResourceKind;
use crate::frame::{Cgroup, CgroupMemory, Frame, OomKill};
use crate::locale::evidence;
use crate::locale::rule::oom_kill as text;
use std::collections::BTreeSet;
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
    sources: &["memory.events", "/proc/vmstat", "/dev/kmsg"],
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
    let mut in_groups = 0;
    let mut of_machine: Vec<&Cgroup> = Vec::new();
    for cgroup in lowest(frame, context.limit(&KILLS)) {
        let kills = killed(cgroup);
        in_groups += kills;
        let Some(owner) = owner(frame, cgroup) else {
            // Out of memory was somebody else: the machine, or the nodes that a policy allows.
            of_machine.push(cgroup);
            in_groups -= kills;
            continue;
        };
        let limit = owner.memory.as_ref().and_then(|memory| memory.limit_bytes.value());
        let victim = if owner.path == cgroup.path { "" } else { &*cgroup.path };
        let hit = Hit::new(Subject::Cgroup(Arc::clone(&owner.path)), 1.0)
            .severity(Severity::Critical)
            .number(evidence::KILLS, kills as f64, "", "memory.events")
            .some_text(evidence::VICTIM, victim, "memory.events")
            .known(evidence::LIMIT, limit.map(|limit| limit as f64), "bytes", "memory.max")
            .some_text(evidence::CONSTRAINT, constraint(frame, cgroup), "/dev/kmsg");
        context.hit(hit);
    }
    let all = frame.memory.oom_kills_gained.unwrap_or(of_machine.len() as u64);
    if all > in_groups {
        let constraints = of_machine.iter().map(|cgroup| constraint(frame, cgroup)).filter(|name| !name.is_empty());
        let constraints: BTreeSet<String> = constraints.collect();
        let hit = Hit::new(Subject::Host, 1.0)
            .severity(Severity::Critical)
            .number(evidence::KILLS, (all - in_groups) as f64, "", "/proc/vmstat oom_kill")
            .some_text(
                evidence::VICTIM,
                parts::list(of_machine.iter().map(|cgroup| &*cgroup.path), 4),
                "memory.events oom_kill without oom",
            )
            .some_text(evidence::CONSTRAINT, parts::list(constraints, 4), "/dev/kmsg");
        context.hit(hit);
    }
}

fn killed(cgroup: &Cgroup) -> u64 {
    cgroup.memory.as_ref().and_then(|memory| memory.oom_kills_gained).unwrap_or(0)
}

/// The groups that lost a process, without those above them, which count it too. Groups are sorted by path.
fn lowest(frame: &Frame, least: f64) -> Vec<&Cgroup> {
    let losers: Vec<&Cgroup> = frame.cgroups.iter().filter(|cgroup| killed(cgroup) > 0).collect();
    let is_lowest = |cgroup: &&Cgroup| !losers.iter().any(|other| parts::is_below(&other.path, &cgroup.path));
    losers.iter().copied().filter(is_lowest).filter(|cgroup| killed(cgroup) as f64 >= least).collect()
}

/// The group whose limit the kill was for: as the kernel's log says, else the lowest one that was out of memory, from the
/// one that lost a process up. None if all of them tell and none was: a kill for lack of memory on the machine counts in the
/// group of its victim too.
fn owner<'a>(frame: &'a Frame, victim: &'a Cgroup) -> Option<&'a Cgroup> {
    if let Some(kill) = logged(frame, victim) {
        let limits = &*kill.constraint == "MEMCG";
        return limits.then(|| frame.cgroup(&kill.memcg).unwrap_or(victim));
    }
    let groups = || parts::above(&victim.path).filter_map(|path| frame.cgroup(path));
    let was_out = |cgroup: &&Cgroup| cgroup.memory.as_ref().and_then(was_out_of_memory);
    let unknown = groups().next().is_some_and(|cgroup| was_out(&cgroup).is_none());
    groups().find(|cgroup| was_out(cgroup) == Some(true)).or(Some(victim).filter(|_| unknown))
}

/// The kill of a process of a group in the kernel's log: of several that of a limit. Old kernels name no group where the
/// machine was out of memory.
fn logged<'a>(frame: &'a Frame, victim: &Cgroup) -> Option<&'a OomKill> {
    let kills = frame.oom_kills.iter();
    let of_victim = kills.filter(|kill| kill.task_memcg.is_empty() || kill.task_memcg == victim.path);
    of_victim.max_by_key(|kill| (!kill.task_memcg.is_empty(), &*kill.constraint == "MEMCG"))
}

/// The constraint of the kill, as the kernel names it; empty where its log was not read.
fn constraint(frame: &Frame, victim: &Cgroup) -> String {
    logged(frame, victim).map(|kill| format!("CONSTRAINT_{}", kill.constraint)).unwrap_or_default()
}

/// True if it was out of memory in the interval. Version 1 counts only how often it hit its limit.
fn was_out_of_memory(memory: &CgroupMemory) -> Option<bool> {
    let hits = memory.events_max_per_second.map(|rate| rate > 0.0);
    memory.ooms_gained.map(|ooms| ooms > 0).or(hits)
}

fn title(finding: &Finding) -> String {
    let count = finding.number(evidence::KILLS).unwrap_or(0.0) as u64;
    text::Title { count, subject: &finding.subject.named() }.to_string()
}
