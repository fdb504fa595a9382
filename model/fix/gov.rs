//! F-GOV: the governor of CPUs' clocks, and limits below what they have.

use super::{Case, Fix, Identity, Need, Plan, Refusal, Risk, Snippet, Step, Target, Verify};
use crate::IdSet;
use crate::diff::{Subject as Of, Watch};
use crate::locale::evidence;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-GOV",
    name: "let CPUs run at their clock",
    answers: &[(rules::cpu_frequency::ID, 0)],
    executable: true,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let held = IdSet::parse_list(case.finding.text(evidence::HELD)).unwrap_or_default();
    if held.is_empty() {
        return Err(Refusal::because("they are slowed down for heat: no setting helps"));
    }
    let (mut saving, mut limited) = (Vec::new(), Vec::new());
    for place in case.frame.topology.cpus.iter().filter(|place| held.contains(place.id)) {
        let Some(clock) = &place.clock else { continue };
        if &*clock.governor == "powersave" {
            saving.push(place.id);
        }
        if let Some((_, max)) = clock.limit_mhz.zip(clock.max_mhz).filter(|(limit, max)| limit < max) {
            limited.push((place.id, (max * 1000.0).round() as u64));
        }
    }
    if saving.is_empty() && limited.is_empty() {
        return Err(Refusal::until("what holds them could not be read", "cpufreq/scaling_governor, scaling_max_freq"));
    }
    let cpus = |ids: &[u32]| IdSet::from_ids(ids.iter().copied()).to_string();
    let ids: Vec<u32> = limited.iter().map(|(id, _)| *id).collect();
    let mut what = Vec::new();
    if !saving.is_empty() {
        what.push(format!("CPUs {}: governor powersave -> performance", cpus(&saving)));
    }
    if !limited.is_empty() {
        what.push(format!("CPUs {}: no limit below their clock", cpus(&ids)));
    }
    let mut plan = case.plan(FIX.id, what.join("; "));
    plan.identity = vec![Identity::Host];
    plan.steps = steps(&saving, &limited);
    plan.commands = plan.steps.iter().map(|step| format!("echo {} > {}", step.new, step.target)).collect();
    plan.risk = Risk::Safe;
    plan.breaks = vec!["more power and heat; where the firmware caps either, no more speed".to_owned()];
    plan.needs = vec![Need { capability: String::new(), what: "root, and /sys writable".to_owned() }];
    plan.undo = String::from("governors and limits as they were, CPU by CPU");
    plan.reverters = vec!["tuned, power-profiles-daemon, TLP, thermald or a BMC's power cap".to_owned()];
    plan.verify = verify(case, held.iter().next());
    plan.persistent =
        Some(Snippet { place: "with tuned".to_owned(), text: "tuned-adm profile throughput-performance\n".to_owned() });
    Ok(plan)
}

/// A step a CPU: those that share a policy read back as the first of them wrote it.
fn steps(saving: &[u32], limited: &[(u32, u64)]) -> Vec<Step> {
    let file = |cpu: u32, name: &str| Target::file(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}"));
    let step = |what: String, target, new: String| Step { essential: false, ..Step::new(what, target, new) };
    let governors = saving
        .iter()
        .map(|cpu| step(format!("governor of CPU {cpu}"), file(*cpu, "scaling_governor"), "performance".to_owned()));
    let limits = limited
        .iter()
        .map(|(cpu, khz)| step(format!("limit of CPU {cpu}"), file(*cpu, "scaling_max_freq"), khz.to_string()));
    governors.chain(limits).collect()
}

fn verify(case: &Case<'_>, first: Option<u32>) -> Verify {
    let slow = IdSet::parse_list(case.finding.text(evidence::SLOW)).unwrap_or_default();
    let busiest = slow
        .iter()
        .filter_map(|id| case.frame.cpu(id))
        .max_by(|a, b| a.busy().unwrap_or(0.0).total_cmp(&b.busy().unwrap_or(0.0)));
    let cpu = busiest.map(|cpu| cpu.id).or(first).unwrap_or(0);
    let of = |metric| Watch { subject: Of::Cpu(cpu), metric };
    let mut verify = case.plan(FIX.id, "").verify;
    verify.load = Some(of("cpu.mhz"));
    verify.shown = vec![of("cpu.busy"), Watch { subject: Of::Host, metric: "host.busy" }];
    verify
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_for, surroundings, told};
    use super::{FIX, Refusal};
    use crate::rules::{Evidence, Figure, sick};
    use std::sync::Arc;

    #[test]
    fn held_cpus_are_let_go() {
        let plan = plan(&FIX, "CPU-10", &[], |frame| {
            let mut topology = (*frame.topology).clone();
            topology.cpus.truncate(2);
            let clock = topology.cpus[1].clock.as_mut().expect("a clock");
            clock.limit_mhz = Some(2000.0);
            frame.topology = Arc::new(topology);
        });
        insta::assert_snapshot!(told(&plan.expect("a plan")));
    }

    #[test]
    fn heat_is_no_setting() {
        let (frame, mut finding) = sick("CPU-10", |_| ());
        finding.evidence.retain(|row| row.name != "held");
        finding.evidence.push(Evidence { name: "heated", value: Figure::Text("2".into()), unit: "", source: "" });
        let refused = plan_for(&FIX, &frame, &finding, &[], &surroundings());
        assert_eq!(refused, Err(Refusal::because("they are slowed down for heat: no setting helps")));
    }
}
