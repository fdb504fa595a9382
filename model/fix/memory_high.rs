//! F-HIGH: sets memory.high below the limit, so that the kernel reclaims page cache before the limit is reached.

use super::group::{self, Group, MIB, Named, show};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Trip};
use crate::frame::CgroupMemory;
use crate::locale::fix as shared;
use crate::locale::fix::memory_high as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-HIGH",
    name: text::NAME,
    answers: &[(rules::cgroup_reclaim_stalls::ID, 3)],
    executable: true,
    parameters: &[Parameter { name: "high", unit: "bytes", about: text::ABOUT_HIGH }],
    plan,
};

/// Each application lowers it by this share of the limit.
const STEP: f64 = 0.05;
/// Its smallest ratio to the unreclaimable and active memory.
const ROOM: f64 = 1.1;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let group = Group::of(case, "memory")?;
    if group.version == 1 {
        let why = text::V1.to_string();
        return Err(Refusal::until(why, "cgroup v2"));
    }
    let memory = group.memory()?;
    let limit = memory.limit_bytes.value().ok_or_else(|| Refusal::because(shared::NO_LIMIT.to_string()))?;
    let floor = floor(memory)?;
    let old = memory.high_bytes.value().map(|high| high.min(limit));
    let new = mark(case, limit, old, floor)?;
    let path = &group.cgroup.path;
    let was = old.map_or_else(|| shared::UNSET.to_string(), show);
    let mut plan =
        case.plan(FIX.id, text::Title { cgroup: &path, new: &show(new), old: &was, limit: &show(limit) }.to_string());
    plan.identity = vec![group.identity()];
    let bytes = new.to_string();
    let named = |name| Named { name, value: &bytes };
    let setting = group.setting(case, "memory.high", &bytes, &named("memory.high"), &named("MemoryHigh"));
    let old = |none: &str| old.map_or_else(|| none.to_owned(), |old| old.to_string());
    plan.undo = setting.undo(&old("max"), &old("infinity"));
    plan.steps = vec![setting.step];
    plan.kept = setting.kept;
    plan.commands = vec![setting.command];
    plan.risk = Risk::Disruptive;
    plan.breaks = vec![
        text::BREAKS_THROTTLE.to_string(),
        text::BREAKS_WRITE.to_string(),
        text::BreaksFloor { size: &show(floor) }.to_string(),
    ];
    plan.needs = vec![group::need()];
    plan.lost = vec![shared::LOST_CACHE.to_string()];
    plan.reverters = group.reverters(Some(text::REVERTER_KUBELET));
    plan.verify = group::verify(case, group.cgroup, 20);
    plan.verify.trips =
        vec![Trip { watch: group::watch(path, "cgroup.memory_full"), above_hundredths: 10, seconds: 5 }];
    plan.persistent = group.lasting(
        &format!("MemoryHigh={bytes}"),
        &format!("# kubelet, with MemoryQoS: memoryThrottlingFactor: {:.2}", new as f64 / limit as f64),
    );
    Ok(plan)
}

/// What must fit below it: unreclaimable memory, and page cache that is active or dirty.
fn floor(memory: &CgroupMemory) -> Result<u64, Refusal> {
    let all =
        [memory.anon_bytes, memory.shmem_bytes, memory.unevictable_bytes, memory.active_file_bytes, memory.dirty_bytes];
    let sum = all.iter().try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes.value()?)));
    // Kernel memory is none of these: page tables, stacks, slab in use.
    let stays = memory.unreclaimable_bytes.value().unwrap_or(0);
    let active = memory.active_file_bytes.value().unwrap_or(0);
    sum.map(|sum| sum.max(stays.saturating_add(active)))
        .ok_or_else(|| Refusal::until(text::UNREAD.to_string(), "memory.stat"))
}

fn mark(case: &Case<'_>, limit: u64, old: Option<u64>, floor: u64) -> Result<u64, Refusal> {
    let least = (floor as f64 * ROOM) as u64;
    let least = least.div_ceil(MIB).saturating_mul(MIB).max(MIB);
    let most = (limit - 1) / MIB * MIB;
    let too_low = |mark: u64| Refusal::because(text::TooLow { mark: &show(mark), floor: &show(floor) }.to_string());
    if least > most {
        return Err(too_low(most));
    }
    if let Some(mark) = group::sized(case, "high", least..=most)? {
        return Ok(mark);
    }
    let step = (limit as f64 * STEP) as u64;
    let new = old.unwrap_or(limit).saturating_sub(step) / MIB * MIB;
    if new < least { Err(too_low(new)) } else { Ok(new) }
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, MIB, Refusal};
    use crate::Known;
    use crate::frame::Frame;

    fn with(frame: &mut Frame, anon: u64, high: Known<u64>) {
        mounted(frame, 2);
        let memory = frame.cgroups[0].memory.as_mut().expect("memory");
        (memory.anon_bytes, memory.high_bytes) = (Known::Value(anon), high);
        (memory.shmem_bytes, memory.unevictable_bytes) = (Known::Value(0), Known::Value(0));
        (memory.active_file_bytes, memory.dirty_bytes) = (Known::Value(200 * MIB), Known::Value(20 * MIB));
        memory.unreclaimable_bytes = Known::Value(anon + 20 * MIB);
    }

    fn why(plan: Result<super::Plan, Refusal>) -> String {
        match plan {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_twentieth_below_the_limit() {
        let plan = plan(&FIX, "MEM-02", &[], |frame| with(frame, 512 * MIB, Known::None)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn one_step_further_each_time() {
        let again = plan(&FIX, "MEM-02", &[], |frame| with(frame, 512 * MIB, Known::Value(3900 * MIB)));
        assert_eq!(again.expect("a plan").steps[0].new, (3695 * MIB).to_string());
    }

    #[test]
    fn never_below_what_cannot_go() {
        let of = |set: &[(&str, &str)], anon| plan(&FIX, "MEM-02", set, move |frame| with(frame, anon, Known::None));
        assert_eq!(
            why(of(&[], 3400 * MIB)),
            "3.8 GiB is less than 10% above the unreclaimable and active memory (3.5 GiB): its tasks would stall"
        );
        assert_eq!(why(of(&[("high", "512M")], 512 * MIB)), "invalid high=512M: use a size from 806.0 MiB to 4.0 GiB");
        assert_eq!(of(&[("high", "1G")], 512 * MIB).expect("a plan").steps[0].new, (1u64 << 30).to_string());
        let kernel = plan(&FIX, "MEM-02", &[], |frame| {
            with(frame, 512 * MIB, Known::None);
            frame.cgroups[0].memory.as_mut().expect("memory").unreclaimable_bytes = Known::Value(3500 * MIB);
        });
        assert!(why(kernel).contains("unreclaimable and active memory (3.6 GiB)"), "page tables and stacks stay");
        let unread = plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 2));
        assert_eq!(why(unread), "cannot read its unreclaimable memory");
    }
}
