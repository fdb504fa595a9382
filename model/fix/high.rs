//! F-HIGH: holds a group a little below its limit, so that page cache goes before the limit is reached.

use super::group::{self, Group, MIB, Named, show};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Trip};
use crate::frame::CgroupMemory;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-HIGH",
    name: "reclaim a group's page cache below its limit",
    answers: &[(rules::cgroup_reclaim_stalls::ID, 3)],
    executable: true,
    parameters: &[Parameter {
        name: "high",
        unit: "bytes",
        about: "the mark, below the limit and above what cannot go: 3G",
    }],
    plan,
};

/// Each application goes down by this share of the limit.
const STEP: f64 = 0.05;
/// The mark stays so many times above what cannot go, or is in use.
const ROOM: f64 = 1.1;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let group = Group::of(case, "memory")?;
    if group.version == 1 {
        let why = "version 1 of control groups has no mark below the limit that is kept while the machine has memory";
        return Err(Refusal::until(why, "cgroup v2"));
    }
    let memory = group.memory()?;
    let limit = memory.limit_bytes.value().ok_or_else(|| Refusal::because("it has no limit of its own"))?;
    let floor = floor(memory)?;
    let old = memory.high_bytes.value().map(|high| high.min(limit));
    let new = mark(case, limit, old, floor)?;
    let path = &group.cgroup.path;
    let was = old.map_or_else(|| "none".to_owned(), show);
    let mut plan = case.plan(FIX.id, format!("{path}: mark {was} -> {} of a limit of {}", show(new), show(limit)));
    plan.identity = vec![group.identity()];
    let bytes = new.to_string();
    let named = |name| Named { name, value: &bytes };
    let setting = group.setting(case, "mark of reclaim", &bytes, &named("memory.high"), &named("MemoryHigh"));
    let old = |none: &str| old.map_or_else(|| none.to_owned(), |old| old.to_string());
    plan.undo = setting.undo(&old("max"), &old("infinity"));
    plan.steps = vec![setting.step];
    plan.commands = vec![setting.command];
    plan.risk = Risk::Disruptive;
    plan.breaks = vec![
        "above the mark its tasks reclaim, and are held up to 2 s at a time where that does not help".to_owned(),
        "writing it reclaims at once what is above it".to_owned(),
        format!("{} of it cannot go or is in use: it stays a tenth above that", show(floor)),
    ];
    plan.needs = vec![group::need()];
    plan.lost = vec!["the page cache that was reclaimed meanwhile".to_owned()];
    plan.reverters = group.reverters("kubelet sets it itself where MemoryQoS is on");
    plan.verify = group::verify(case, group.cgroup, 20);
    plan.verify.trips =
        vec![Trip { watch: group::watch(path, "cgroup.memory_full"), above_hundredths: 10, seconds: 5 }];
    plan.persistent = group.lasting(
        &format!("MemoryHigh={bytes}"),
        &format!("# kubelet, with MemoryQoS: memoryThrottlingFactor: {:.2}", new as f64 / limit as f64),
    );
    Ok(plan)
}

/// What must not be above the mark: what cannot be reclaimed, and page cache that is in use or has to be written first.
fn floor(memory: &CgroupMemory) -> Result<u64, Refusal> {
    let all =
        [memory.anon_bytes, memory.shmem_bytes, memory.unevictable_bytes, memory.active_file_bytes, memory.dirty_bytes];
    let sum = all.iter().try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes.value()?)));
    sum.ok_or_else(|| Refusal::until("what of its memory cannot go could not be read", "memory.stat"))
}

fn mark(case: &Case<'_>, limit: u64, old: Option<u64>, floor: u64) -> Result<u64, Refusal> {
    let least = (floor as f64 * ROOM) as u64;
    let least = least.div_ceil(MIB).saturating_mul(MIB).max(MIB);
    let most = (limit - 1) / MIB * MIB;
    let too_low = |mark: u64| {
        Refusal::because(format!(
            "{} would be below what cannot go or is in use ({}) and a tenth more: its tasks would stand still",
            show(mark),
            show(floor)
        ))
    };
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
    use super::super::testing::{plan, told};
    use super::{FIX, MIB, Refusal};
    use crate::Known;
    use crate::frame::Frame;

    fn with(frame: &mut Frame, anon: u64, high: Known<u64>) {
        mounted(frame, 2);
        let memory = frame.cgroups[0].memory.as_mut().expect("memory");
        (memory.anon_bytes, memory.high_bytes) = (Known::Value(anon), high);
        (memory.shmem_bytes, memory.unevictable_bytes) = (Known::Value(0), Known::Value(0));
        (memory.active_file_bytes, memory.dirty_bytes) = (Known::Value(200 * MIB), Known::Value(20 * MIB));
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
        insta::assert_snapshot!(told(&plan));
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
            "3.8 GiB would be below what cannot go or is in use (3.5 GiB) and a tenth more: its tasks would stand still"
        );
        assert_eq!(why(of(&[("high", "512M")], 512 * MIB)), "high=512M: give a size from 806.0 MiB to 4.0 GiB");
        assert_eq!(of(&[("high", "1G")], 512 * MIB).expect("a plan").steps[0].new, (1u64 << 30).to_string());
        let unread = plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 2));
        assert_eq!(why(unread), "what of its memory cannot go could not be read");
    }
}
