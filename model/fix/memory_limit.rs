//! F-LIMIT: raises the memory limit of a cgroup; never lowers it.

use super::group::{self, Group, MIB, Named, show};
use super::shell::quoted;
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Step, Target};
use crate::frame::{Cgroup, CgroupMemory};
use crate::locale::fix as shared;
use crate::locale::fix::memory_limit as text;
use crate::rules;
use crate::rules::{Subject, parts};
use std::sync::Arc;

pub(super) const FIX: Fix = Fix {
    id: "F-LIMIT",
    name: text::NAME,
    answers: &[
        (rules::cgroup_unreclaimable::ID, 0),
        (rules::cgroup_time_to_limit::ID, 0),
        (rules::oom_kill::ID, 0),
        (rules::refaults::ID, 0),
        (rules::cgroup_reclaim_stalls::ID, 2),
    ],
    executable: true,
    parameters: &[Parameter { name: "limit", unit: "bytes", about: text::ABOUT_LIMIT }],
    plan,
};

/// The increase, as a share of the limit.
const MORE: f64 = 0.25;
/// The largest increase, as a share of the host's available memory.
const OF_AVAILABLE: f64 = 0.5;
/// The smallest useful increase, as a share of the limit.
const LEAST: f64 = 0.02;
/// The largest memory.high, as a share of memory.max.
const BELOW_MAX: f64 = 0.95;
/// Usage from which the limit of a container holds its pod.
const FULL: f64 = 0.9;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    if case.finding.subject == Subject::Host {
        return Err(Refusal::NotForThis);
    }
    let group = Group::of(case, "memory")?;
    let memory = group.memory()?;
    let (name, old) = limit(case, memory).ok_or_else(|| Refusal::because(shared::NO_LIMIT.to_string()))?;
    // A pod has no memory.high of its own to be raised with.
    let pair = if name == Limit::Max { pair(case, &group, old)? } else { Vec::new() };
    let new = match name {
        Limit::Max => raised(case, &group, &pair, old)?,
        Limit::High => below_max(memory, &group, raised(case, &group, &pair, old)?, old)?,
    };
    let path = &group.cgroup.path;
    let (was, will) = (&show(old), &show(new));
    let title = match name {
        Limit::Max => text::Title { cgroup: &path, old: was, new: will }.to_string(),
        Limit::High => text::TitleHigh { cgroup: &path, old: was, new: will }.to_string(),
    };
    let mut plan = case.plan(FIX.id, title);
    plan.identity = vec![group.identity()];
    plan.breaks = vec![text::Breaks { size: &available(case) }.to_string()];
    let mut undo = Vec::new();
    for (other, limit) in &pair {
        // What one may have more, the other has to allow.
        let raised = limit.saturating_add(new - old);
        undo.insert(0, set(case, other, &mut plan, name, *limit, raised));
        plan.identity.push(other.identity());
        let (path, old, new) = (&other.cgroup.path, &show(*limit), &show(raised));
        plan.breaks.push(text::BreaksPair { cgroup: &path, old, new }.to_string());
    }
    undo.insert(0, set(case, &group, &mut plan, name, old, new));
    let undo = undo.join(", ");
    plan.risk = Risk::Safe;
    plan.needs = vec![group::need()];
    plan.undo = if group.version == 1 {
        text::UndoV1 { command: &undo }.to_string()
    } else {
        text::UndoV2 { command: &undo }.to_string()
    };
    plan.reverters = group.reverters(None);
    plan.verify = group::verify(case, group.cgroup, 60);
    let of_pod = format!("resources:\n  limits:\n    memory: {}Mi", new / MIB);
    plan.persistent = match name {
        Limit::Max => group.lasting(&format!("MemoryMax={new}"), &of_pod),
        // The kubelet derives it from the limit.
        Limit::High => group.lasting(&format!("MemoryHigh={new}"), &of_pod),
    };
    Ok(plan)
}

/// Which of the two limits of a cgroup holds it back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    Max,
    High,
}

/// The limit that holds a group back.
fn limit(case: &Case<'_>, memory: &CgroupMemory) -> Option<(Limit, u64)> {
    let max = memory.limit_bytes.value().map(|bytes| (Limit::Max, bytes));
    // Nobody is killed at memory.high.
    if case.finding.rule.id == rules::oom_kill::ID {
        return max;
    }
    match parts::bound(memory)? {
        bound if bound.file == "memory.high" => Some((Limit::High, bound.bytes)),
        _ => max,
    }
}

impl Limit {
    /// Its file and the property of systemd.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Max => ("memory.max", "MemoryMax"),
            Self::High => ("memory.high", "MemoryHigh"),
        }
    }
}

/// A new memory.high, which has to stay below the limit to act before it.
fn below_max(memory: &CgroupMemory, group: &Group<'_>, new: u64, old: u64) -> Result<u64, Refusal> {
    let Some(max) = memory.limit_bytes.value() else { return Ok(new) };
    let most = (max as f64 * BELOW_MAX) as u64 / MIB * MIB;
    if (most as f64) < old as f64 * (1.0 + LEAST) {
        let (cgroup, size) = (&group.cgroup.path, &show(max));
        return Err(Refusal::because(text::HighLimit { cgroup, size }.to_string()));
    }
    Ok(new.min(most))
}

/// Adds the steps that set a limit; returns the command that undoes them.
fn set(case: &Case<'_>, group: &Group<'_>, plan: &mut Plan, name: Limit, old: u64, new: u64) -> String {
    if group.version == 1 {
        return of_version_1(group, plan, old, new);
    }
    let bytes = new.to_string();
    let named = |name| Named { name, value: &bytes };
    let (file, property) = name.names();
    let setting = group.setting(case, &text::STEP, &bytes, &named(file), &named(property));
    let undo = setting.undo(&old.to_string(), &old.to_string());
    plan.steps.push(setting.step);
    plan.kept.extend(setting.kept);
    plan.commands.push(setting.command);
    undo
}

/// The groups of a Kubernetes pod that have to be raised with this one, with their limits: the pod of a container whose
/// limit it would exceed, the container of a pod whose limit holds it first.
fn pair<'a>(case: &Case<'a>, group: &Group<'_>, old: u64) -> Result<Vec<(Group<'a>, u64)>, Refusal> {
    let frame = case.frame;
    let path = &*group.cgroup.path;
    let limit = |cgroup: &Cgroup| cgroup.memory.as_ref().and_then(|memory| memory.limit_bytes.value());
    let full = |cgroup: &&Cgroup| {
        let current = cgroup.memory.as_ref().and_then(|memory| memory.current_bytes.value());
        limit(cgroup).zip(current).is_some_and(|(limit, current)| limit <= old && current as f64 >= FULL * limit as f64)
    };
    let pods = parts::above(path).skip(1).filter(|above| is_pod(above)).filter_map(|above| frame.cgroup(above));
    let containers = frame.cgroups.iter().filter(|other| is_pod(path) && parts::is_below(&other.path, path));
    let others = pods.chain(containers.filter(full)).filter_map(|other| Some((other, limit(other)?)));
    others.map(|(other, limit)| Ok((Group::at(frame, &other.path, "memory")?, limit))).collect()
}

/// True for the path of a Kubernetes pod: `…/kubepods-burstable-pod8a1c.slice`, `/kubepods/burstable/pod8a1c`.
fn is_pod(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let is_named = parts.next().is_some_and(|name| name.starts_with("pod") || name.contains("-pod"));
    is_named && path.contains("kubepods")
}

/// The new limit.
fn raised(case: &Case<'_>, group: &Group<'_>, pair: &[(Group<'_>, u64)], old: u64) -> Result<u64, Refusal> {
    // The lowest limit above that is not raised too.
    let above = parts::above(&group.cgroup.path).skip(1).filter_map(|path| case.frame.cgroup(path));
    let above = above.filter(|above| !pair.iter().any(|(other, _)| other.cgroup.path == above.path));
    let above = above.filter_map(|above| Some((above.memory.as_ref()?.limit_bytes.value()?, &above.path)));
    let seen = above.min_by_key(|(limit, _)| *limit);
    let memory = group.memory()?;
    // The kernel knows limits that are hidden.
    let hidden = memory.effective_limit_bytes.value().filter(|limit| *limit < old && memory.is_limited());
    let lowest =
        hidden.map(|limit| (limit, &memory.limited_by)).into_iter().chain(seen).min_by_key(|(limit, _)| *limit);
    let held = |(limit, path): &(u64, &Arc<str>)| {
        Refusal::because(text::Parent { cgroup: path, size: &show(*limit) }.to_string())
    };
    if let Some(lowest) = lowest.filter(|(limit, _)| (*limit as f64) < old as f64 * (1.0 + LEAST)) {
        return Err(held(&lowest));
    }
    let memory = &case.frame.memory;
    let available = memory.available_bytes.value();
    let available = available.ok_or_else(|| Refusal::until(text::UNREAD.to_string(), "Linux 3.14"))?;
    let most = old.saturating_add((available as f64 * OF_AVAILABLE) as u64) / MIB * MIB;
    let most = lowest.map_or(most, |(limit, _)| most.min(limit / MIB * MIB));
    let least = (old / MIB + 1) * MIB;
    if (most as f64) < old as f64 * (1.0 + LEAST) {
        return Err(Refusal::because(text::HostLow { size: &show(available) }.to_string()));
    }
    if let Some(limit) = group::sized(case, "limit", least..=most)? {
        return Ok(limit);
    }
    Ok(((old as f64 * (1.0 + MORE)) as u64).div_ceil(MIB).saturating_mul(MIB).clamp(least, most))
}

fn available(case: &Case<'_>) -> String {
    case.frame.memory.available_bytes.value().map_or_else(|| "?".to_owned(), show)
}

/// cgroup v1: the limit of memory and swap must not be below that of memory, so it is written first.
fn of_version_1(group: &Group<'_>, plan: &mut Plan, old: u64, new: u64) -> String {
    let swap = group.cgroup.memory.as_ref().and_then(|memory| memory.swap_limit_bytes.value());
    let mut undo = Vec::new();
    let mut step = |what: &str, name: &str, old: u64, new: u64| {
        let path = group.file(name);
        plan.commands.push(format!("echo {new} > {}", quoted(&path)));
        undo.insert(0, format!("echo {old} > {}", quoted(&path)));
        plan.steps.push(Step::new(what, Target::file(path), new.to_string()));
    };
    if let Some(swap) = swap {
        let both = |limit: u64| limit.saturating_add(swap);
        step(text::STEP_SWAP.as_str(), "memory.memsw.limit_in_bytes", both(old), both(new));
    }
    step(text::STEP.as_str(), "memory.limit_in_bytes", old, new);
    undo.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Refusal};
    use crate::Known;
    use crate::frame::Frame;

    const GIB: u64 = 1 << 30;

    fn why(plan: Result<super::Plan, Refusal>) -> String {
        match plan {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_quarter_more() {
        let plan = plan(&FIX, "MEM-01", &[], |frame| mounted(frame, 2)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn systemd_sets_what_is_systemds() {
        let renamed = |frame: &mut Frame| {
            mounted(frame, 2);
            frame.cgroups[0].path = "/system.slice/mq.service".into();
            frame.cgroups[0].memory.as_mut().expect("memory").limited_by = "/system.slice/mq.service".into();
        };
        let plan = plan(&FIX, "MEM-01", &[], renamed).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn version_1_raises_both_limits() {
        let one = |frame: &mut Frame| {
            mounted(frame, 1);
            frame.cgroups[0].memory.as_mut().expect("memory").swap_limit_bytes = Known::Value(GIB);
        };
        let plan = plan(&FIX, "MEM-03", &[("limit", "6G")], one).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn the_high_mark_is_raised_where_that_holds_the_group_back() {
        let with = |rule, high: u64| {
            plan(&FIX, rule, &[], move |frame| {
                mounted(frame, 2);
                frame.cgroups[0].memory.as_mut().expect("memory").high_bytes = Known::Value(high);
            })
        };
        let steps = |plan: Result<super::Plan, Refusal>| plan.expect("a plan").commands;
        assert!(steps(with("MEM-02", 2 * GIB))[0].starts_with("echo 2684354560 > "));
        assert!(steps(with("MEM-02", 2 * GIB))[0].ends_with("/memory.high"));
        assert!(steps(with("MEM-04", 2 * GIB))[0].ends_with("/memory.max"), "nobody is killed at memory.high");
        assert!(why(with("MEM-02", 4 * GIB - 1)).starts_with("memory.high is close to memory.max of "));
    }

    #[test]
    fn never_lower_and_never_more_than_there_is() {
        let with = |set: &[(&str, &str)], available: u64| {
            plan(&FIX, "MEM-01", set, move |frame| {
                mounted(frame, 2);
                frame.memory.available_bytes = Known::Value(available);
            })
        };
        let new =
            |plan: Result<super::Plan, Refusal>| plan.expect("a plan").steps[0].new.parse::<u64>().expect("bytes");
        assert_eq!(new(with(&[], GIB)), 4 * GIB + GIB / 2);
        assert_eq!(why(with(&[("limit", "3G")], 100 * GIB)), "invalid limit=3G: use a size from 4.0 GiB to 54.0 GiB");
        assert_eq!(why(with(&[("limit", "60G")], 100 * GIB)), "invalid limit=60G: use a size from 4.0 GiB to 54.0 GiB");
        assert!(why(with(&[], GIB / 16)).starts_with("the host has only 64.0 MiB available"));
    }

    #[test]
    fn the_limit_that_holds_it_is_told() {
        let held = plan(&FIX, "MEM-01", &[], |frame| {
            mounted(frame, 2);
            let memory = frame.cgroups[0].memory.as_mut().expect("memory");
            (memory.limited_by, memory.effective_limit_bytes) = ("/".into(), Known::Value(2 * GIB));
            memory.unreclaimable_bytes = Known::Value(2 * GIB);
        });
        assert_eq!(why(held), "it is restricted by the limit of / (2.0 GiB), not by its own");
    }

    #[test]
    fn never_above_the_limit_above_it() {
        let below = |parent: u64| {
            plan(&FIX, "MEM-01", &[], move |frame| {
                mounted(frame, 2);
                let mut slice = frame.cgroups[0].clone();
                frame.cgroups[0].path = "/mq/a".into();
                slice.memory.as_mut().expect("memory").limit_bytes = Known::Value(parent);
                frame.cgroups.insert(0, slice);
                let memory = frame.cgroups[1].memory.as_mut().expect("memory");
                memory.limited_by = "/mq/a".into();
                // Only the lower one is full.
                frame.cgroups[0].memory.as_mut().expect("memory").unreclaimable_bytes = Known::Value(0);
            })
        };
        assert_eq!(below(GIB * 9 / 2).expect("a plan").steps[0].new, (GIB * 9 / 2).to_string());
        assert_eq!(why(below(4 * GIB)), "it is restricted by the limit of /mq (4.0 GiB), not by its own");
    }

    #[test]
    fn a_container_is_raised_with_its_pod() {
        let plan = plan(&FIX, "MEM-01", &[], |frame| {
            mounted(frame, 2);
            let mut pod = frame.cgroups[0].clone();
            pod.path = "/kubepods/burstable/pod8a".into();
            pod.memory.as_mut().expect("memory").unreclaimable_bytes = Known::Value(0);
            frame.cgroups[0].path = "/kubepods/burstable/pod8a/c1".into();
            let memory = frame.cgroups[0].memory.as_mut().expect("memory");
            memory.limited_by = "/kubepods/burstable/pod8a".into();
            frame.cgroups.insert(0, pod);
        });
        let plan = plan.expect("a plan");
        let steps: Vec<_> = plan.steps.iter().map(|step| (step.target.to_string(), step.new.clone())).collect();
        let five = (5 * GIB).to_string();
        let files = ["/kubepods/burstable/pod8a/memory.max", "/kubepods/burstable/pod8a/c1/memory.max"];
        assert_eq!(steps, files.map(|file| (format!("/sys/fs/cgroup{file}"), five.clone())));
        assert!(plan.breaks.iter().any(|line| line.contains("pod8a") && line.contains("5.0 GiB")), "{:?}", plan.breaks);
    }
}
