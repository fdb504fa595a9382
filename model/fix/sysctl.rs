//! F-SYSCTL: single settings that rules name.

use super::sysctls::{command, lasting, number, plan as plan_of, step};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::rules;
use crate::rules::RuleId;

pub(super) const FIX: Fix = Fix {
    id: "F-SYSCTL",
    name: "change one setting of the kernel",
    answers: &[
        (rules::zone_reclaim::ID, 0),
        (rules::memory_spread::ID, 8),
        (rules::memory_low::ID, 5),
        (rules::swapping::ID, 5),
    ],
    executable: true,
    parameters: &[Parameter { name: "value", unit: "", about: "the value to write instead of the proposed one" }],
    plan,
};

/// A setting that a rule names.
struct Known {
    rule: RuleId,
    name: &'static str,
    /// The value to write.
    value: u64,
    /// What the kernel takes.
    range: std::ops::RangeInclusive<u64>,
    /// Whether that is better than what is set.
    helps: fn(u64) -> bool,
    breaks: &'static str,
    cost: (&'static str, &'static str),
}

const KNOWN: [Known; 4] = [
    Known {
        rule: rules::zone_reclaim::ID,
        name: "vm.zone_reclaim_mode",
        value: 0,
        range: 0..=7,
        helps: |mode| mode != 0,
        breaks: "what was kept on its node by reclaiming there may come from the next one: somewhat slower memory instead of stalls",
        cost: ("", "host.pgscan_direct"),
    },
    Known {
        rule: rules::memory_spread::ID,
        name: "kernel.numa_balancing",
        value: 1,
        range: 0..=3,
        helps: |mode| mode == 0,
        breaks: "the kernel samples who uses which page by faults, and moves pages and threads: it costs CPU time, and tasks that are bound gain nothing",
        cost: ("", "host.busy"),
    },
    Known {
        rule: rules::memory_low::ID,
        name: "vm.watermark_scale_factor",
        value: 100,
        range: 1..=3000,
        helps: |factor| factor < 100,
        breaks: "so much of each node is kept free that page cache gets a hundredth of memory less",
        cost: ("memory", "pressure.some"),
    },
    Known {
        rule: rules::swapping::ID,
        name: "vm.swappiness",
        value: 10,
        range: 0..=200,
        helps: |swappiness| swappiness > 10,
        breaks: "page cache goes before anonymous memory: files are read again more often",
        cost: ("", "host.pswpin"),
    },
];

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let known = KNOWN.iter().find(|known| known.rule == case.finding.rule.id).ok_or(Refusal::NotForThis)?;
    let name = known.name;
    let Some(old) = number(case.frame, name) else {
        return Err(Refusal::until(format!("{name} could not be read"), format!("a kernel that has {name}")));
    };
    let set = case.number("value", known.range.clone())?;
    if set.is_none() && !(known.helps)(old) {
        return Err(Refusal::NotForThis);
    }
    let new = set.unwrap_or(known.value);
    if new == old {
        return Err(Refusal::because(format!("{name} is {old} already")));
    }
    let mut plan = plan_of(case, FIX.id, format!("{name}: {old} -> {new}"));
    plan.steps = vec![step("setting", name, new.to_string())];
    plan.commands = vec![command(&[(name, new.to_string())])];
    plan.risk = Risk::Safe;
    plan.breaks = vec![known.breaks.to_owned()];
    plan.undo = command(&[(name, old.to_string())]);
    plan.verify = verify(case, known);
    plan.persistent = Some(lasting(&[(name, new.to_string())]));
    Ok(plan)
}

fn verify(case: &Case<'_>, known: &Known) -> Verify {
    let host = |metric| Watch { subject: Of::Host, metric };
    let (resource, metric) = known.cost;
    let cost = match resource {
        "" => host(metric),
        resource => Watch { subject: Of::Pressure(resource.into()), metric },
    };
    let mut verify = case.plan(FIX.id, "").verify;
    verify.load = Some(super::group::load_of_machine(case.frame));
    verify.cost = Some(cost);
    verify.guards = vec![host("host.allocstall")];
    verify.shown = vec![host("host.memory_available")];
    verify.settle_seconds = 30;
    verify
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, told};
    use super::{FIX, KNOWN, Refusal};

    #[test]
    fn zone_reclaim_goes_off() {
        let plan = plan(&FIX, "NUMA-07", &[], |_| ()).expect("a plan");
        insta::assert_snapshot!(told(&plan));
    }

    #[test]
    fn each_rule_has_its_setting() {
        for (rule, _) in FIX.answers {
            assert!(KNOWN.iter().any(|known| known.rule == *rule), "{rule}");
        }
        let with = |value: &'static str, set: &[(&str, &str)]| {
            plan(&FIX, "MEM-08", set, move |frame| frame.sysctls.push(("vm.swappiness".into(), value.into())))
        };
        assert_eq!(with("60", &[]).expect("a plan").commands, ["sysctl -w vm.swappiness=10"]);
        assert_eq!(with("5", &[]), Err(Refusal::NotForThis));
        assert_eq!(with("5", &[("value", "5")]), Err(Refusal::because("vm.swappiness is 5 already")));
        assert_eq!(with("5", &[("value", "999")]), Err(Refusal::because("value=999: give a number from 0 to 200")));
        let Err(Refusal::Refused { needs, .. }) = plan(&FIX, "MEM-08", &[], |_| ()) else { panic!("refused") };
        assert_eq!(needs, "a kernel that has vm.swappiness");
    }
}
