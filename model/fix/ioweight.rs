//! F-IOWEIGHT: a smaller share of a disk for who disturbs others on it, where something honours shares.

use super::disk::{self, Shared};
use super::group::{self, Named};
use super::shell::quoted;
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk, Step, Target};

pub(super) const FIX: Fix = Fix {
    id: "F-IOWEIGHT",
    name: "give who disturbs others on a disk less of it",
    answers: &[("IO-02", 4), ("IO-01", 4)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "", about: "the control group to hold back, by its path" },
        Parameter { name: "weight", unit: "", about: "its weight, 1 to 1000; others have 100" },
    ],
    plan,
};

/// Half of what everybody has.
const WEIGHT: u64 = 50;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let shared = Shared::of(case)?;
    let name = &shared.disk.name;
    if &*shared.disk.scheduler != "bfq" {
        let has = if shared.disk.scheduler.is_empty() { "unknown" } else { &shared.disk.scheduler };
        let needs = format!("BFQ (echo bfq > /sys/block/{name}/queue/scheduler), or io.cost.qos enabled for it");
        return Err(Refusal::until(format!("nothing honours weights on {name}: its scheduler is {has}"), needs));
    }
    let group = disk::held(case, &shared.disturber)?;
    let weight = case.number("weight", 1..=1000)?.unwrap_or(WEIGHT);
    let mut plan = case.plan(FIX.id, format!("{}: weight {weight} on disks with BFQ, for {}", shared.disturber.group, shared.victim.group));
    plan.identity = vec![group.identity(), Identity::Disk { name: name.to_string(), number: shared.number() }];
    let value = weight.to_string();
    let setting = group.setting(case, "weight", &value, &Named { name: "", value: &value }, &Named { name: "IOWeight", value: &value });
    if matches!(setting.step.target, Target::UnitProperty { .. }) {
        plan.undo = setting.undo("", "");
        plan.commands = vec![setting.command];
        plan.steps = vec![setting.step];
    } else {
        let one = group.version == 1;
        let path = group.file(if one { "blkio.bfq.weight" } else { "io.bfq.weight" });
        plan.undo = format!("the weight that it had, in {}", quoted(&path));
        plan.commands = vec![format!("echo {} > {}", if one { value.clone() } else { quoted(&format!("default {value}")) }, quoted(&path))];
        let target = if one { Target::file(path) } else { Target::Line { path, key: "default".to_owned() } };
        plan.steps = vec![Step::new("weight", target, value.clone())];
    }
    plan.risk = Risk::Safe;
    plan.breaks = vec!["it gets less of every disk with BFQ while others want some, and all of it while nobody does".to_owned()];
    plan.needs = vec![group::need()];
    plan.reverters = group.reverters("kubelet does not know of it");
    plan.verify = shared.verify(case);
    plan.persistent = group.lasting(&format!("IOWeight={value}"), "# Kubernetes has no weights of I/O: a disk of its own");
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::iomax::tests::shared;
    use super::super::testing::{plan, told};
    use super::{FIX, Refusal};

    #[test]
    fn half_of_what_others_have() {
        let plan = plan(&FIX, "IO-02", &[], |frame| {
            shared(frame, 2, 1000.0, 40e6);
            frame.disks[0].scheduler = "bfq".into();
        });
        insta::assert_snapshot!(told(&plan.expect("a plan")));
    }

    #[test]
    fn refused_where_nothing_honours_it() {
        let plan = plan(&FIX, "IO-02", &[], |frame| {
            shared(frame, 2, 1000.0, 40e6);
            frame.disks[0].scheduler = "mq-deadline".into();
        });
        let Err(Refusal::Refused { why, needs }) = plan else { panic!("{plan:?}") };
        assert_eq!(why, "nothing honours weights on sdb: its scheduler is mq-deadline");
        assert!(needs.starts_with("BFQ (echo bfq > /sys/block/sdb/queue/scheduler)"), "{needs}");
    }
}
