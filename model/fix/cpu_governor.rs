//! F-GOV: sets the cpufreq governor, and removes frequency limits.

use super::{Case, Fix, Identity, Need, Plan, Refusal, Risk, Snippet, Step, Target, Verify};
use crate::IdSet;
use crate::diff::{Subject as Of, Watch};
use crate::frame::CpuPlace;
use crate::locale::evidence;
use crate::locale::fix::cpu_governor as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-GOV",
    name: text::NAME,
    answers: &[(rules::cpu_frequency::ID, 0)],
    executable: true,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let held = IdSet::parse_list(case.finding.text(evidence::LIMITED_CPUS)).unwrap_or_default();
    // Where passive cooling caps the clock it is no setting.
    let cooled = |place: &CpuPlace| case.frame.passive_cooling(place).is_some();
    let places = case.frame.topology.cpus.iter().filter(|place| held.contains(place.id) && !cooled(place));
    let held = IdSet::from_ids(places.map(|place| place.id));
    if held.is_empty() {
        return Err(Refusal::because(text::THERMAL.to_string()));
    }
    // What holds a hot CPU back protects it.
    let heated = IdSet::parse_list(case.finding.text(evidence::THROTTLED_CPUS)).unwrap_or_default();
    let (mut saving, mut limited) = (Vec::new(), Vec::new());
    for place in case.frame.topology.cpus.iter().filter(|place| held.contains(place.id)) {
        let Some(clock) = &place.clock else { continue };
        if &*clock.governor == "powersave" {
            saving.push(place.id);
        }
        if let Some((_, max)) =
            clock.limit_mhz.zip(clock.max_mhz).filter(|(limit, max)| limit < max && !heated.contains(place.id))
        {
            limited.push((place.id, (max * 1000.0).round() as u64));
        }
    }
    if saving.is_empty() && limited.is_empty() && heated.intersects(&held) {
        return Err(Refusal::because(text::THERMAL.to_string()));
    }
    if saving.is_empty() && limited.is_empty() {
        return Err(Refusal::until(text::UNREAD.to_string(), "cpufreq/scaling_governor, scaling_max_freq"));
    }
    let cpus = |ids: &[u32]| IdSet::from_ids(ids.iter().copied()).to_string();
    let ids: Vec<u32> = limited.iter().map(|(id, _)| *id).collect();
    let title = match (saving.is_empty(), limited.is_empty()) {
        (false, true) => text::TitleGovernor { cpus: &cpus(&saving) }.to_string(),
        (true, _) => text::TitleLimit { cpus: &cpus(&ids) }.to_string(),
        (false, false) => text::TitleBoth { saving: &cpus(&saving), limited: &cpus(&ids) }.to_string(),
    };
    let mut plan = case.plan(FIX.id, title);
    plan.identity = vec![Identity::Host];
    plan.steps = steps(&saving, &limited);
    plan.commands = plan.steps.iter().map(|step| format!("echo {} > {}", step.new, step.target)).collect();
    plan.risk = Risk::Safe;
    plan.breaks = vec![text::BREAKS.to_string()];
    plan.needs = vec![Need { capability: String::new(), what: text::NEED.to_string() }];
    plan.undo = text::UNDO.to_string();
    plan.reverters = vec![text::REVERTER.to_string()];
    plan.verify = verify(case, held.iter().next());
    plan.persistent =
        Some(Snippet { place: text::PLACE.to_string(), text: "tuned-adm profile throughput-performance\n".to_owned() });
    Ok(plan)
}

/// A step per CPU: CPUs of one cpufreq policy read back what the first of them wrote.
fn steps(saving: &[u32], limited: &[(u32, u64)]) -> Vec<Step> {
    let file = |cpu: u32, name: &str| Target::file(format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}"));
    let step = |what: String, target, new: String| Step { essential: false, ..Step::new(what, target, new) };
    let governors = saving.iter().map(|cpu| {
        step(text::StepGovernor { cpu: &cpu }.to_string(), file(*cpu, "scaling_governor"), "performance".to_owned())
    });
    let limits = limited.iter().map(|(cpu, khz)| {
        step(text::StepLimit { cpu: &cpu }.to_string(), file(*cpu, "scaling_max_freq"), khz.to_string())
    });
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
    use super::super::testing::{plan, plan_for, plan_text, surroundings};
    use super::{FIX, Refusal};
    use crate::Known;
    use crate::frame::Cooling;
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
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn what_protects_a_hot_cpu_stays() {
        let (frame, mut finding) = sick("CPU-10", |frame| {
            let mut topology = (*frame.topology).clone();
            for clock in topology.cpus.iter_mut().filter_map(|place| place.clock.as_mut()) {
                (clock.governor, clock.limit_mhz) = ("performance".into(), Some(800.0));
            }
            frame.topology = Arc::new(topology);
        });
        finding.evidence.retain(|row| row.name != "throttled_cpus");
        let heated = Evidence { name: "throttled_cpus", value: Figure::Text("0-63".into()), unit: "", source: "" };
        finding.evidence.push(heated);
        let refused = plan_for(&FIX, &frame, &finding, &[], &surroundings());
        assert_eq!(refused, Err(Refusal::because("the CPUs are thermally throttled: no setting helps")));
    }

    #[test]
    fn passive_cooling_is_no_setting() {
        let cooled = |state: u64, cpu: Known<u32>| {
            plan(&FIX, "CPU-10", &[], move |frame| {
                let kind = "Processor".into();
                let (state, max_state) = (state.into(), 10.into());
                frame.cooling = vec![Cooling { name: "cooling_device0".into(), kind, state, max_state, cpu }];
            })
        };
        let refused = Err(Refusal::because("the CPUs are thermally throttled: no setting helps"));
        assert_eq!(cooled(3, Known::Missing), refused);
        assert_eq!(cooled(3, 0.into()), refused);
        assert!(cooled(0, Known::Missing).is_ok());
        // A device of another machine's part says nothing of these.
        assert!(cooled(3, 9999.into()).is_ok());
    }

    #[test]
    fn no_setting_helps_against_heat() {
        let (frame, mut finding) = sick("CPU-10", |_| ());
        finding.evidence.retain(|row| row.name != "limited_cpus");
        finding.evidence.push(Evidence {
            name: "throttled_cpus",
            value: Figure::Text("2".into()),
            unit: "",
            source: "",
        });
        let refused = plan_for(&FIX, &frame, &finding, &[], &surroundings());
        assert_eq!(refused, Err(Refusal::because("the CPUs are thermally throttled: no setting helps")));
    }
}
