//! F-FORCE-EMPTY: drops all page cache of a cgroup v1, which has no partial reclaim.

use super::group::{self, Group, show};
use super::shell::quoted;
use super::{Case, Fix, Plan, Refusal, Restore, Risk, Step, Target};
use crate::locale::fix as shared;
use crate::locale::fix::cache_drop_v1 as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-FORCE-EMPTY",
    name: text::NAME,
    answers: &[(rules::cgroup_reclaim_stalls::ID, 9), (rules::cgroup_unreclaimable::ID, 9)],
    executable: true,
    parameters: &[],
    plan,
};

/// Page cache below this share of the limit is not worth dropping.
const LEAST: f64 = 0.1;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let group = Group::of(case, "memory")?;
    if group.version != 1 {
        return Err(Refusal::NotForThis);
    }
    let memory = group.memory()?;
    let unread = || Refusal::until(text::UNREAD.to_string(), "memory.stat");
    let cache = memory.reclaimable_bytes.value().or(memory.inactive_file_bytes.value()).ok_or_else(unread)?;
    let limit = memory.limit_bytes.value().unwrap_or(u64::MAX);
    if (cache as f64) < limit as f64 * LEAST {
        return Err(Refusal::because(text::TooLittle { size: &show(cache) }.to_string()));
    }
    let (path, target) = (&group.cgroup.path, group.file("memory.force_empty"));
    let mut plan = case.plan(FIX.id, text::Title { cgroup: &path, size: &show(cache) }.to_string());
    plan.identity = vec![group.identity()];
    plan.commands = vec![format!("echo 0 > {}", quoted(&target))];
    plan.steps = vec![Step {
        restore: Restore::Never,
        ..Step::new(text::STEP.to_string(), Target::ForceEmpty { path: target }, "0")
    }];
    plan.risk = Risk::Dangerous;
    plan.breaks = vec![text::BREAKS_ALL.to_string(), text::BREAKS_ABORT.to_string()];
    if case.surroundings.swap {
        plan.breaks.push(shared::BREAKS_SWAP.to_string());
    }
    plan.needs = vec![group::need()];
    plan.undo = shared::UNDO_CACHE.to_string();
    plan.lost = vec![text::LOST.to_string()];
    plan.reverters = vec![shared::REVERTER_CACHE.to_string()];
    plan.verify = group::verify(case, group.cgroup, 10);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Refusal};
    use crate::Known;

    #[test]
    fn all_of_it_goes() {
        let plan = plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 1)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn only_where_there_is_nothing_better() {
        assert_eq!(plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 2)), Err(Refusal::NotForThis));
        let little = plan(&FIX, "MEM-01", &[], |frame| {
            mounted(frame, 1);
            frame.cgroups[0].memory.as_mut().expect("memory").reclaimable_bytes = Known::Value(80 << 20);
        });
        assert_eq!(little, Err(Refusal::because("it has only 80.0 MiB of page cache")));
    }
}
