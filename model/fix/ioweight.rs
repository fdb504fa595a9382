//! F-IOWEIGHT: a smaller share of a disk for who disturbs others on it, where something honours shares.

use super::disk::{self, Shared};
use super::group::{self, Named};
use super::shell::quoted;
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk, Step, Target};
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-IOWEIGHT",
    name: "give who disturbs others on a disk less of it",
    answers: &[(rules::disk_shared::ID, 4), (rules::disk_saturated::ID, 4)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "", about: "the control group to hold back, by its path" },
        Parameter { name: "weight", unit: "", about: "its weight, 1 to 1000; others have 100" },
    ],
    plan,
};

/// Half of what everybody has.
const WEIGHT: u64 = 50;

/// Who serves a disk by weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Honours {
    /// Its scheduler.
    Bfq,
    /// The kernel's I/O cost controller, of version 2 alone.
    Cost,
}

impl Honours {
    fn of(case: &Case<'_>, shared: &Shared<'_>, version: u32) -> Result<Self, Refusal> {
        let (name, number) = (&shared.disk.name, shared.number());
        if &*shared.disk.scheduler == "bfq" {
            return Ok(Self::Bfq);
        }
        if version == 2 && case.surroundings.io_cost.contains(&number) {
            return Ok(Self::Cost);
        }
        let has = if shared.disk.scheduler.is_empty() { "unknown" } else { &shared.disk.scheduler };
        let bfq = format!("BFQ (echo bfq > /sys/block/{name}/queue/scheduler)");
        let why = format!("nothing honours weights on {name}: its scheduler is {has}");
        if version == 1 {
            return Err(Refusal::until(why, bfq));
        }
        let needs = format!("{bfq}, or the cost controller (echo '{number} enable=1' > /sys/fs/cgroup/io.cost.qos)");
        Err(Refusal::until(format!("{why}, and the I/O cost controller is off for it"), needs))
    }

    fn words(self) -> &'static str {
        match self {
            Self::Bfq => "disks with BFQ",
            Self::Cost => "disks with the cost controller on",
        }
    }

    fn file(self, version: u32) -> &'static str {
        match self {
            Self::Bfq if version == 1 => "blkio.bfq.weight",
            Self::Bfq => "io.bfq.weight",
            Self::Cost => "io.weight",
        }
    }
}

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let shared = Shared::of(case)?;
    let group = disk::held(case, &shared.disturber)?;
    let honours = Honours::of(case, &shared, group.version)?;
    let (disks, name) = (honours.words(), &shared.disk.name);
    let weight = case.number("weight", 1..=1000)?.unwrap_or(WEIGHT);
    let mut plan = case
        .plan(FIX.id, format!("{}: weight {weight} on {disks}, for {}", shared.disturber.group, shared.victim.group));
    plan.identity = vec![group.identity(), Identity::Disk { name: name.to_string(), number: shared.number() }];
    let value = weight.to_string();
    let setting = group.setting(
        case,
        "weight",
        &value,
        &Named { name: "", value: &value },
        &Named { name: "IOWeight", value: &value },
    );
    if matches!(setting.step.target, Target::UnitProperty { .. }) {
        plan.undo = setting.undo("", "");
        plan.commands = vec![setting.command];
        plan.steps = vec![setting.step];
    } else {
        let one = group.version == 1;
        let path = group.file(honours.file(group.version));
        plan.undo = format!("the weight that it had, in {}", quoted(&path));
        plan.commands = vec![format!(
            "echo {} > {}",
            if one { value.clone() } else { quoted(&format!("default {value}")) },
            quoted(&path)
        )];
        let target = if one { Target::file(path) } else { Target::Line { path, key: "default".to_owned() } };
        plan.steps = vec![Step::new("weight", target, value.clone())];
    }
    plan.risk = Risk::Safe;
    plan.breaks = vec![format!("it gets less of {disks} while others want them; while nobody does, nothing holds it")];
    plan.needs = vec![group::need()];
    plan.reverters = group.reverters("kubelet does not know of it");
    plan.verify = shared.verify(case);
    plan.persistent =
        group.lasting(&format!("IOWeight={value}"), "# Kubernetes has no weights of I/O: a disk of its own");
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::Surroundings;
    use super::super::iomax::tests::shared;
    use super::super::testing::{plan, plan_for, surroundings, told};
    use super::{FIX, Refusal};
    use crate::rules::sick;

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
        let off =
            "nothing honours weights on sdb: its scheduler is mq-deadline, and the I/O cost controller is off for it";
        assert_eq!(why, off);
        assert_eq!(
            needs,
            "BFQ (echo bfq > /sys/block/sdb/queue/scheduler), or the cost controller (echo '8:16 enable=1' > /sys/fs/cgroup/io.cost.qos)"
        );
    }

    #[test]
    fn the_cost_controller_is_of_version_2() {
        let (two, place) = (|version| sick("IO-02", move |frame| shared(frame, version, 1000.0, 40e6)), surroundings());
        let on = Surroundings { io_cost: vec!["8:16".to_owned()], ..place.clone() };
        let elsewhere = Surroundings { io_cost: vec!["8:0".to_owned()], ..place };
        let (frame, finding) = two(2);
        let plan = plan_for(&FIX, &frame, &finding, &[], &on).expect("a plan");
        assert_eq!(plan.commands, ["echo 'default 50' > /sys/fs/cgroup/es/io.weight"]);
        assert!(plan.title.contains("disks with the cost controller on"), "{}", plan.title);
        assert!(plan_for(&FIX, &frame, &finding, &[], &elsewhere).is_err());
        let (frame, finding) = two(1);
        let Err(Refusal::Refused { needs, .. }) = plan_for(&FIX, &frame, &finding, &[], &on) else { panic!("refused") };
        assert_eq!(needs, "BFQ (echo bfq > /sys/block/sdb/queue/scheduler)");
    }
}
