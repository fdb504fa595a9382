//! F-IOWEIGHT: lowers the I/O weight of the noisy writer, where the scheduler or the cost controller honours weights.

use super::disk::{self, Shared};
use super::group::{self, Named};
use super::shell::quoted;
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk, Step, Target};
use crate::locale::Text;
use crate::locale::fix as shared;
use crate::locale::fix::io_weight as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-IOWEIGHT",
    name: text::NAME,
    answers: &[(rules::disk_shared::ID, 4), (rules::disk_saturated::ID, 4)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "", about: shared::ABOUT_GROUP },
        Parameter { name: "weight", unit: "", about: text::ABOUT_WEIGHT },
    ],
    plan,
};

/// Half of the default.
const WEIGHT: u64 = 50;

/// What honours weights on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Honours {
    /// The BFQ scheduler.
    Bfq,
    /// The kernel's I/O cost controller, of cgroup v2 only.
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
        let unknown = shared::UNKNOWN;
        let scheduler = if shared.disk.scheduler.is_empty() { unknown.as_str() } else { &*shared.disk.scheduler };
        let bfq = format!("BFQ (echo bfq > /sys/block/{name}/queue/scheduler)");
        if version == 1 {
            return Err(Refusal::until(text::Scheduler { disk: &name, scheduler: &scheduler }.to_string(), bfq));
        }
        let needs = text::Needs { bfq: &bfq, number: &number }.to_string();
        Err(Refusal::until(text::SchedulerAndCost { disk: &name, scheduler: &scheduler }.to_string(), needs))
    }

    fn disks(self) -> Text {
        match self {
            Self::Bfq => text::DISKS_BFQ,
            Self::Cost => text::DISKS_COST,
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
    let (disks, name) = (honours.disks(), &shared.disk.name);
    let weight = case.number("weight", 1..=1000)?.unwrap_or(WEIGHT);
    let mut plan = case.plan(
        FIX.id,
        text::Title { cgroup: &shared.disturber.group, weight: &weight, disks: &disks, victim: &shared.victim.group }
            .to_string(),
    );
    plan.identity = vec![group.identity(), Identity::Disk { name: name.to_string(), number: shared.number() }];
    let value = weight.to_string();
    let setting = group.setting(
        case,
        &text::STEP,
        &value,
        &Named { name: "", value: &value },
        &Named { name: "IOWeight", value: &value },
    );
    if matches!(setting.step.target, Target::UnitProperty { .. }) {
        plan.undo = setting.undo("", "");
        plan.commands = vec![setting.command];
        plan.steps = vec![setting.step];
        plan.kept = setting.kept;
        let path = group.file(honours.file(group.version));
        plan.kept.push(if group.version == 1 {
            Target::file(path)
        } else {
            Target::Line { path, key: "default".to_owned() }
        });
    } else {
        let one = group.version == 1;
        let path = group.file(honours.file(group.version));
        plan.undo = text::Undo { path: &quoted(&path) }.to_string();
        plan.commands = vec![format!(
            "echo {} > {}",
            if one { value.clone() } else { quoted(&format!("default {value}")) },
            quoted(&path)
        )];
        let target = if one { Target::file(path) } else { Target::Line { path, key: "default".to_owned() } };
        plan.steps = vec![Step::new(text::STEP.to_string(), target, value.clone())];
    }
    plan.risk = Risk::Safe;
    plan.breaks = vec![text::Breaks { disks: &disks }.to_string()];
    plan.needs = vec![group::need()];
    plan.reverters = group.reverters(None);
    plan.verify = shared.verify(case);
    plan.persistent = group.lasting(&format!("IOWeight={value}"), text::KUBERNETES.as_str());
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::Surroundings;
    use super::super::io_limit::tests::shared;
    use super::super::testing::{plan, plan_for, plan_text, surroundings};
    use super::{FIX, Refusal};
    use crate::rules::sick;

    #[test]
    fn half_of_what_others_have() {
        let plan = plan(&FIX, "IO-02", &[], |frame| {
            shared(frame, 2, 1000.0, 40e6);
            frame.disks[0].scheduler = "bfq".into();
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn refused_where_nothing_honours_it() {
        let plan = plan(&FIX, "IO-02", &[], |frame| {
            shared(frame, 2, 1000.0, 40e6);
            frame.disks[0].scheduler = "mq-deadline".into();
        });
        let Err(Refusal::Refused { why, needs }) = plan else { panic!("{plan:?}") };
        let off = "the scheduler of sdb (mq-deadline) ignores weights, and the I/O cost controller is off for it";
        assert_eq!(why, off);
        assert_eq!(
            needs,
            "BFQ (echo bfq > /sys/block/sdb/queue/scheduler), or the I/O cost controller (echo '8:16 enable=1' > /sys/fs/cgroup/io.cost.qos)"
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
        assert!(plan.title.contains("disks with the I/O cost controller"), "{}", plan.title);
        assert!(plan_for(&FIX, &frame, &finding, &[], &elsewhere).is_err());
        let (frame, finding) = two(1);
        let Err(Refusal::Refused { needs, .. }) = plan_for(&FIX, &frame, &finding, &[], &on) else { panic!("refused") };
        assert_eq!(needs, "BFQ (echo bfq > /sys/block/sdb/queue/scheduler)");
    }
}
