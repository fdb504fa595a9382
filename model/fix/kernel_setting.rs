//! F-SYSCTL: the sysctl that a rule names.

use super::sysctls::{command, lasting, number, plan as plan_of, step};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::locale::Text;
use crate::locale::fix::kernel_setting as text;
use crate::rules;
use crate::rules::RuleId;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-SYSCTL",
    name: text::NAME,
    answers: &[
        (rules::zone_reclaim::ID, 0),
        (rules::memory_spread::ID, 8),
        (rules::memory_low::ID, 5),
        (rules::swapping::ID, 5),
    ],
    executable: true,
    parameters: &[Parameter { name: "value", unit: "", about: text::ABOUT_VALUE }],
    plan,
};

/// A setting that a rule names.
struct Known {
    rule: RuleId,
    name: &'static str,
    /// The value to write.
    value: u64,
    /// The values that the kernel accepts.
    range: std::ops::RangeInclusive<u64>,
    /// Whether the proposed value improves on the current one.
    helps: fn(u64) -> bool,
    breaks: Text,
    cost: (&'static str, &'static str),
}

const KNOWN: [Known; 4] = [
    Known {
        rule: rules::zone_reclaim::ID,
        name: "vm.zone_reclaim_mode",
        value: 0,
        range: 0..=7,
        helps: |mode| mode != 0,
        breaks: text::BREAKS_ZONE_RECLAIM,
        cost: ("", "host.pgscan_direct"),
    },
    Known {
        rule: rules::memory_spread::ID,
        name: "kernel.numa_balancing",
        value: 1,
        range: 0..=3,
        helps: |mode| mode == 0,
        breaks: text::BREAKS_BALANCING,
        cost: ("", "host.busy"),
    },
    Known {
        rule: rules::memory_low::ID,
        name: "vm.watermark_scale_factor",
        value: 100,
        range: 1..=3000,
        helps: |factor| factor < 100,
        breaks: text::BREAKS_WATERMARK,
        cost: ("memory", "pressure.some"),
    },
    Known {
        rule: rules::swapping::ID,
        name: "vm.swappiness",
        value: 10,
        range: 0..=200,
        helps: |swappiness| swappiness > 10,
        breaks: text::BREAKS_SWAPPINESS,
        cost: ("", "host.pswpin"),
    },
];

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let known = KNOWN.iter().find(|known| known.rule == case.finding.rule.id).ok_or(Refusal::NotForThis)?;
    let name = known.name;
    // Compressed memory is given back faster than a disk rereads the page cache that would go instead.
    if known.rule == rules::swapping::ID && parts::swaps_to_memory(case.frame) {
        return Err(Refusal::because(text::IN_MEMORY.to_string()));
    }
    if known.rule == rules::swapping::ID && parts::swaps_to_zswap(case.frame) {
        return Err(Refusal::because(text::IN_ZSWAP.to_string()));
    }
    let Some(old) = number(case.frame, name) else {
        return Err(Refusal::until(
            text::Unread { name: &name }.to_string(),
            text::NeedsKernel { name: &name }.to_string(),
        ));
    };
    let set = case.number("value", known.range.clone())?;
    if set.is_none() && !(known.helps)(old) {
        return Err(Refusal::NotForThis);
    }
    let new = set.unwrap_or(known.value);
    if new == old {
        return Err(Refusal::because(text::Already { name: &name, old: &old }.to_string()));
    }
    let mut plan = plan_of(case, FIX.id, text::Title { name: &name, old: &old, new: &new }.to_string());
    plan.steps = vec![step(text::STEP.as_str(), name, new.to_string())];
    plan.commands = vec![command(&[(name, new.to_string())])];
    plan.risk = Risk::Safe;
    plan.breaks = vec![known.breaks.to_string()];
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
    use super::super::testing::{plan, plan_text};
    use super::{FIX, KNOWN, Refusal};
    use crate::frame::Disk;

    #[test]
    fn zone_reclaim_goes_off() {
        let plan = plan(&FIX, "NUMA-07", &[], |_| ()).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
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
        let compressed = plan(&FIX, "MEM-08", &[], |frame| {
            frame.sysctls.push(("vm.swappiness".into(), "180".into()));
            frame.disks.push(Disk { kind: "zram".into(), ..Disk::default() });
        });
        assert_eq!(compressed, Err(Refusal::because(super::text::IN_MEMORY.to_string())));
        let zswap = |device: f64| {
            plan(&FIX, "MEM-08", &[], move |frame| {
                frame.sysctls.push(("vm.swappiness".into(), "60".into()));
                let memory = &mut frame.memory;
                (memory.pswpin_per_second, memory.pswpout_per_second) = (Some(device), Some(device));
                (memory.zswpin_per_second, memory.zswpout_per_second) = (Some(4000.0), Some(4000.0));
            })
        };
        assert_eq!(zswap(0.0), Err(Refusal::because(super::text::IN_ZSWAP.to_string())));
        assert!(zswap(9000.0).is_ok(), "it is full, and most goes to the device");
        assert_eq!(with("5", &[]), Err(Refusal::NotForThis));
        assert_eq!(with("5", &[("value", "5")]), Err(Refusal::because("vm.swappiness is already 5")));
        assert_eq!(
            with("5", &[("value", "999")]),
            Err(Refusal::because("invalid value=999: use a number from 0 to 200"))
        );
        let Err(Refusal::Refused { needs, .. }) = plan(&FIX, "MEM-08", &[], |_| ()) else { panic!("refused") };
        assert_eq!(needs, "a kernel with vm.swappiness");
    }
}
