//! F-CLOCK: reads the time from a faster clock source.

use super::{Case, Fix, Identity, Need, Plan, Refusal, Risk, Snippet, Step, Target, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::locale::fix::clock_source as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-CLOCK",
    name: text::NAME,
    answers: &[(rules::slow_clock_source::ID, 0)],
    executable: true,
    parameters: &[],
    plan,
};

const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let host = &case.frame.host;
    if host.clock_sources.is_empty() {
        return Err(Refusal::until(text::UNREAD.to_string(), "available_clocksource"));
    }
    let Some(new) = rules::slow_clock_source::faster(case.frame) else {
        return Err(Refusal::because(text::NoFaster { offered: &host.clock_sources }.to_string()));
    };
    let old = &host.clock_source;
    if **old == *new {
        return Err(Refusal::NotForThis);
    }
    let mut plan = case.plan(FIX.id, text::Title { old, new: &new }.to_string());
    plan.identity = vec![Identity::Host];
    plan.steps = vec![Step::new(text::STEP.to_string(), Target::file(FILE), new.to_owned())];
    plan.commands = vec![format!("echo {new} > {FILE}")];
    plan.risk = Risk::Safe;
    plan.breaks = vec![text::BREAKS.to_string()];
    plan.needs = vec![Need { capability: String::new(), what: text::NEED.to_string() }];
    plan.undo = format!("echo {old} > {FILE}");
    plan.verify = verify(case);
    plan.persistent = Some(Snippet { place: text::PLACE.to_string(), text: format!("clocksource={new}\n") });
    Ok(plan)
}

fn verify(case: &Case<'_>) -> Verify {
    let host = |metric| Watch { subject: Of::Host, metric };
    let mut verify = case.plan(FIX.id, "").verify;
    verify.load = Some(super::group::load_of_machine(case.frame));
    verify.cost = Some(host("host.system"));
    verify.shown = vec![host("host.busy")];
    verify
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Refusal};
    use crate::frame::Frame;

    fn offers(names: &'static str) -> impl Fn(&mut Frame) {
        move |frame: &mut Frame| frame.host.clock_sources = names.into()
    }

    #[test]
    fn time_is_read_from_the_cpu() {
        insta::assert_snapshot!(plan_text(&plan(&FIX, "CPU-11", &[], |_| ()).expect("a plan")));
    }

    #[test]
    fn where_the_kernel_offers_nothing_faster_nothing_is_changed() {
        let refused = plan(&FIX, "CPU-11", &[], offers("hpet acpi_pm"));
        let why = "the kernel offers no faster clock source (hpet acpi_pm): it considers the TSC unstable; \
                   dmesg | grep -i tsc shows why";
        assert_eq!(refused, Err(Refusal::because(why)));
        let Err(Refusal::Refused { needs, .. }) = plan(&FIX, "CPU-11", &[], offers("")) else { panic!("refused") };
        assert_eq!(needs, "available_clocksource");
    }
}
