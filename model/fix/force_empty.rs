//! F-FORCE-EMPTY: gives all page cache of a group of version 1 back, where nothing smaller can be asked for.

use super::group::{self, Group, show};
use super::shell::quoted;
use super::{Case, Fix, Plan, Refusal, Restore, Risk, Step, Target};
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-FORCE-EMPTY",
    name: "give all page cache of a group back",
    answers: &[(rules::cgroup_reclaim_stalls::ID, 9), (rules::cgroup_unreclaimable::ID, 9)],
    executable: true,
    parameters: &[],
    plan,
};

/// Less than this share of the limit in page cache is not worth it.
const LEAST: f64 = 0.1;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let group = Group::of(case, "memory")?;
    if group.version != 1 {
        return Err(Refusal::NotForThis);
    }
    let memory = group.memory()?;
    let unread = || Refusal::until("its page cache could not be read", "memory.stat");
    let cache = memory.reclaimable_bytes.value().or(memory.inactive_file_bytes.value()).ok_or_else(unread)?;
    let limit = memory.limit_bytes.value().unwrap_or(u64::MAX);
    if (cache as f64) < limit as f64 * LEAST {
        return Err(Refusal::because(format!("only {} of it is page cache", show(cache))));
    }
    let (path, target) = (&group.cgroup.path, group.file("memory.force_empty"));
    let mut plan = case.plan(FIX.id, format!("{path}: give all {} of page cache back", show(cache)));
    plan.identity = vec![group.identity()];
    plan.commands = vec![format!("echo 0 > {}", quoted(&target))];
    plan.steps =
        vec![Step { restore: Restore::Never, ..Step::new("page cache", Target::ForceEmpty { path: target }, "0") }];
    plan.risk = Risk::Dangerous;
    plan.breaks = vec![
        "all of it goes, programs and mapped files too: everything that is wanted is read from the disk again, by everyone at once".to_owned(),
        "it cannot be stopped once it began".to_owned(),
    ];
    if case.surroundings.swap {
        plan.breaks.push("anonymous memory may be swapped out with it".to_owned());
    }
    plan.needs = vec![group::need()];
    plan.undo = String::from("nothing to put back: what is wanted is read again");
    plan.lost = vec!["the group's page cache".to_owned()];
    plan.reverters = vec!["the cache grows again with what is read and written".to_owned()];
    plan.verify = group::verify(case, group.cgroup, 10);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, told};
    use super::{FIX, Refusal};
    use crate::Known;

    #[test]
    fn all_of_it_goes() {
        let plan = plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 1)).expect("a plan");
        insta::assert_snapshot!(told(&plan));
    }

    #[test]
    fn only_where_there_is_nothing_better() {
        assert_eq!(plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 2)), Err(Refusal::NotForThis));
        let little = plan(&FIX, "MEM-01", &[], |frame| {
            mounted(frame, 1);
            frame.cgroups[0].memory.as_mut().expect("memory").reclaimable_bytes = Known::Value(80 << 20);
        });
        assert_eq!(little, Err(Refusal::because("only 80.0 MiB of it is page cache")));
    }
}
