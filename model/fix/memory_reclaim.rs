//! F-RECLAIM: reclaims cold page cache of a cgroup before its own tasks have to.

use super::group::{self, Group, MIB, show};
use super::shell::quoted;
use super::{Case, Fix, Parameter, Plan, Refusal, Restore, Risk, Step, Target};
use crate::frame::CgroupMemory;
use crate::locale::fix as shared;
use crate::locale::fix::memory_reclaim as text;
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-RECLAIM",
    name: text::NAME,
    answers: &[(rules::cgroup_reclaim_stalls::ID, 1)],
    executable: true,
    parameters: &[
        Parameter { name: "bytes", unit: "bytes", about: text::ABOUT_BYTES },
        Parameter { name: "to", unit: "bytes", about: text::ABOUT_TO },
    ],
    plan,
};

/// The target usage, as a share of the limit.
const GOAL: f64 = 0.8;
/// The smallest and largest step: requests that are too large drop all page cache (EAGAIN).
const STEP: (u64, u64) = (16 * MIB, 64 * MIB);

/// The bytes of one request.
pub fn step(bytes: u64) -> u64 {
    (bytes / 16).clamp(STEP.0, STEP.1)
}

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let group = Group::of(case, "memory")?;
    if group.version == 1 {
        return Err(Refusal::until(text::V1.to_string(), "cgroup v2"));
    }
    let memory = group.memory()?;
    let bytes = amount(case, memory)?;
    let (path, target) = (&group.cgroup.path, group.file("memory.reclaim"));
    let mut plan = case.plan(FIX.id, text::Title { size: &show(bytes), cgroup: &path }.to_string());
    plan.identity = vec![group.identity()];
    plan.commands = commands(bytes, &target);
    let new = bytes.to_string();
    plan.steps = vec![Step {
        restore: Restore::Never,
        ..Step::new(text::STEP.to_string(), Target::Reclaim { path: target }, new)
    }];
    plan.risk = Risk::Disruptive;
    plan.breaks = vec![text::BREAKS_REREAD.to_string(), text::BreaksSteps { size: &show(step(bytes)) }.to_string()];
    if case.surroundings.swap {
        plan.breaks.push(shared::BREAKS_SWAP.to_string());
    }
    plan.needs = vec![group::need()];
    plan.undo = shared::UNDO_CACHE.to_string();
    plan.lost = vec![text::LOST.to_string()];
    plan.reverters = vec![again(memory, bytes)];
    plan.verify = group::verify(case, group.cgroup, 3);
    Ok(plan)
}

/// The bytes down to the target usage, at most the inactive clean page cache.
fn amount(case: &Case<'_>, memory: &CgroupMemory) -> Result<u64, Refusal> {
    let unknown = || Refusal::until(text::UNREAD_COLD.to_string(), "memory.stat");
    let (Some(usage), Some(limit)) = (memory.current_bytes.value(), parts::bound(memory).map(|bound| bound.bytes))
    else {
        return Err(Refusal::until(text::UNREAD_USAGE.to_string(), "memory.current, memory.max"));
    };
    let inactive = memory.inactive_file_bytes.value().ok_or_else(unknown)?;
    let dirty = memory.dirty_bytes.value().ok_or_else(unknown)?;
    let busy = dirty.saturating_add(memory.writeback_bytes.value().unwrap_or(0));
    let cold = inactive.saturating_sub(busy) / MIB * MIB;
    if cold == 0 {
        let all = show(inactive);
        return Err(Refusal::because(text::Nothing { inactive: &all, dirty: &show(busy) }.to_string()));
    }
    if let Some(bytes) = group::sized(case, "bytes", MIB..=cold)? {
        return Ok(bytes);
    }
    let goal = group::sized(case, "to", 0..=usage)?.unwrap_or((limit as f64 * GOAL) as u64);
    match usage.saturating_sub(goal).min(cold) / MIB * MIB {
        0 => Err(Refusal::because(text::Below { usage: &show(usage), goal: &show(goal) }.to_string())),
        bytes => Ok(bytes),
    }
}

/// The equivalent commands.
fn commands(bytes: u64, path: &str) -> Vec<String> {
    let (step, path) = (step(bytes), quoted(path));
    let (times, rest) = (bytes / step, bytes % step);
    let mut commands = match times {
        0 => Vec::new(),
        1 => vec![format!("echo {step} > {path}")],
        _ => vec![format!("for i in $(seq {times}); do echo {step} > {path}; done")],
    };
    if rest > 0 {
        commands.push(format!("echo {rest} > {path}"));
    }
    commands
}

/// When the page cache has regrown.
fn again(memory: &CgroupMemory, bytes: u64) -> String {
    match memory.growth_bytes_per_second.filter(|growth| *growth >= 1.0) {
        Some(growth) => {
            let seconds = parts::count(Some((bytes as f64 / growth).round()));
            text::ReverterGrowth { rate: &show(growth as u64), seconds: &seconds }.to_string()
        }
        None => shared::REVERTER_CACHE.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, MIB, Refusal, step};
    use crate::Known;
    use crate::frame::Frame;
    use proptest::prelude::*;

    fn cold(frame: &mut Frame, inactive: u64, dirty: u64) {
        mounted(frame, 2);
        let memory = frame.cgroups[0].memory.as_mut().expect("memory");
        (memory.inactive_file_bytes, memory.dirty_bytes) = (Known::Value(inactive), Known::Value(dirty));
        memory.growth_bytes_per_second = Some(20.0 * MIB as f64);
    }

    #[test]
    fn down_to_four_fifths() {
        let plan = plan(&FIX, "MEM-02", &[], |frame| cold(frame, 3 << 30, 64 * MIB)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn no_more_than_is_cold_and_clean() {
        let of = |set: &[(&str, &str)], inactive, dirty| {
            let plan = plan(&FIX, "MEM-02", set, |frame| cold(frame, inactive, dirty));
            plan.map(|plan| plan.steps[0].new.parse::<u64>().expect("bytes"))
        };
        assert_eq!(of(&[], 100 * MIB, 40 * MIB), Ok(60 * MIB));
        assert_eq!(of(&[("bytes", "32M")], 100 * MIB, 40 * MIB), Ok(32 * MIB));
        assert_eq!(of(&[("to", "4000M")], 1 << 30, 0), Ok(55 * MIB));
        let refused = |set, inactive, dirty| match of(set, inactive, dirty) {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            refused(&[("bytes", "64M")], 100 * MIB, 40 * MIB),
            "invalid bytes=64M: use a size from 1.0 MiB to 60.0 MiB"
        );
        assert_eq!(
            refused(&[], 100 * MIB, 100 * MIB),
            "no inactive clean page cache to reclaim: 100.0 MiB inactive, 100.0 MiB dirty"
        );
        assert_eq!(refused(&[("to", "4055M")], 1 << 30, 0), "its usage of 4.0 GiB does not exceed 4.0 GiB");
    }

    #[test]
    fn where_it_cannot_be() {
        let one = plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 1));
        let Err(Refusal::Refused { needs, .. }) = one else { panic!("{one:?}") };
        assert_eq!(needs, "cgroup v2");
        let unmounted = plan(&FIX, "MEM-02", &[], |_| ());
        let Err(Refusal::Refused { needs, .. }) = unmounted else { panic!("{unmounted:?}") };
        assert_eq!(needs, "/proc/self/mountinfo");
        let unread = plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 2));
        let Err(Refusal::Refused { needs, .. }) = unread else { panic!("{unread:?}") };
        assert_eq!(needs, "memory.stat");
    }

    proptest! {
        #[test]
        fn steps_are_capped(bytes: u64) {
            prop_assert!((16 * MIB..=64 * MIB).contains(&step(bytes)));
        }
    }
}
