//! F-OEULER: openEuler's periodic reclaim of page cache, with the smallest sufficient values.

use super::group;
use super::sysctls::{command, lasting, number, plan as plan_of, step};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Step, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::frame::Frame;
use crate::locale::evidence;
use crate::locale::fix as shared;
use crate::locale::fix::cache_reclaim_openeuler as text;
use crate::rules;
use crate::rules::{Finding, Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-OEULER",
    name: text::NAME,
    answers: &[
        (rules::cache_reclaim::ID, 0),
        (rules::cgroup_reclaim_stalls::ID, 0),
        (rules::cgroup_time_to_limit::ID, 2),
    ],
    executable: true,
    parameters: &[
        Parameter { name: "period", unit: "s", about: text::ABOUT_PERIOD },
        Parameter { name: "weight", unit: "", about: text::ABOUT_WEIGHT },
    ],
    plan,
};

const ENABLE: &str = "vm.cache_reclaim_enable";
const PERIOD: &str = "vm.cache_reclaim_s";
const WEIGHT: &str = "vm.cache_reclaim_weight";
/// Seconds of measurement for periodic stalls.
const JITTER: u32 = 600;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let frame = case.frame;
    let Some(enabled) = number(frame, ENABLE) else { return Err(Refusal::NotForThis) };
    let unread = || Refusal::until(text::UNREAD.to_string(), "/proc/sys/vm/cache_reclaim_s, cache_reclaim_weight");
    let (was_period, was_weight) = number(frame, PERIOD).zip(number(frame, WEIGHT)).ok_or_else(unread)?;
    let needed = needed(case.finding, frame);
    let (period, weight, _) = parts::smallest_reclaim(frame, needed);
    let period = case.number("period", 1..=43_200)?.unwrap_or(period);
    let weight = case.number("weight", 1..=100)?.unwrap_or(weight);
    if (enabled, was_period, was_weight) == (1, period, weight) {
        return Err(Refusal::because(text::ALREADY.to_string()));
    }
    let reach = parts::reclaim_reach(frame, period, weight);
    let rate = parts::bytes(Some(reach));
    let title = match (enabled, was_period) {
        (0, _) | (_, 0) => text::TitleEnable { period: &period, weight: &weight, rate: &rate }.to_string(),
        _ => text::TitleChange {
            was_period: &was_period,
            was_weight: &was_weight,
            period: &period,
            weight: &weight,
            rate: &rate,
        }
        .to_string(),
    };
    let mut plan = plan_of(case, FIX.id, title);
    let new = [(PERIOD, period.to_string()), (WEIGHT, weight.to_string()), (ENABLE, "1".to_owned())];
    plan.steps = steps(&new, [was_period, was_weight, enabled]);
    plan.commands = vec![command(&new)];
    plan.risk = Risk::Disruptive;
    plan.breaks = breaks(case, period, reach, needed);
    if swaps(case) {
        plan.risk = Risk::Dangerous;
    }
    // Undo runs from the last step to the first: it disables the switch before restoring the values.
    let old = [(ENABLE, enabled.to_string()), (WEIGHT, was_weight.to_string()), (PERIOD, was_period.to_string())];
    plan.undo = command(&old);
    plan.lost = vec![shared::LOST_CACHE.to_string()];
    plan.verify = verify(case, period);
    plan.persistent = Some(lasting(&new));
    Ok(plan)
}

/// Period and weight first, the switch last; unchanged values are not written.
fn steps(new: &[(&str, String); 3], old: [u64; 3]) -> Vec<Step> {
    let what = [text::STEP_PERIOD, text::STEP_WEIGHT, text::STEP_ENABLE];
    let all = new.iter().zip(what).zip(old);
    let changed = all.filter(|(((_, new), _), old)| *new != old.to_string());
    changed.map(|(((name, new), what), _)| step(&what, name, new.clone())).collect()
}

/// Required bytes per second: from the finding of MEM-07, which has observed for longer, else from this sample.
fn needed(finding: &Finding, frame: &Frame) -> f64 {
    let known =
        std::iter::once(finding).chain(&finding.children).find(|finding| finding.rule.id == rules::cache_reclaim::ID);
    let now = || {
        let memory = &frame.memory;
        let page = memory.page_bytes.value().unwrap_or(4096) as f64;
        let stolen = memory.pgsteal_per_second.unwrap_or(0.0) * page;
        (memory.cached_growth_bytes_per_second.unwrap_or(0.0) + stolen).max(0.0) * 1.5
    };
    known.and_then(|finding| finding.number(evidence::NEEDED)).unwrap_or_else(now)
}

fn swaps(case: &Case<'_>) -> bool {
    case.surroundings.swap || case.frame.memory.swap_total_bytes.value().is_some_and(|bytes| bytes > 0)
}

fn breaks(case: &Case<'_>, period: u64, reach: f64, needed: f64) -> Vec<String> {
    let mut breaks = vec![
        text::BREAKS_ALL.to_string(),
        text::BreaksReread { size: &parts::bytes(Some(reach * period as f64)), period: &period }.to_string(),
    ];
    if swaps(case) {
        breaks.push(shared::BREAKS_SWAP.to_string());
    }
    if reach < needed {
        breaks.push(text::BreaksLess { rate: &parts::bytes(Some(needed)) }.to_string());
    }
    breaks
}

fn verify(case: &Case<'_>, period: u64) -> Verify {
    let settle = u32::try_from(period.saturating_mul(3)).unwrap_or(u32::MAX).clamp(60, 3600);
    let jitters =
        case.finding.rule.id == rules::cgroup_reclaim_stalls::ID && case.finding.number(evidence::PERIOD).is_some();
    if let Subject::Cgroup(path) = &case.finding.subject
        && let Some(cgroup) = case.frame.cgroup(path)
    {
        let verify = group::verify(case, cgroup, settle);
        let after_seconds = if jitters { JITTER } else { verify.after_seconds.max(60) };
        return Verify { after_seconds, ..verify };
    }
    let host = |metric| Watch { subject: Of::Host, metric };
    let waits = Watch { subject: Of::Pressure("memory".into()), metric: "pressure.some" };
    let has_pressure = case.frame.pressure("memory").is_some_and(|row| row.stall.some_ratio.is_some());
    Verify {
        load: Some(group::load_of_machine(case.frame)),
        cost: Some(if has_pressure { waits } else { host("host.pgscan_direct") }),
        guards: vec![host("host.pswpout"), host("host.allocstall")],
        shown: vec![host("host.memory_available"), host("host.pgscan_direct")],
        before_seconds: 60,
        settle_seconds: settle,
        after_seconds: 60,
        ..Verify::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Surroundings;
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_for, plan_text, surroundings};
    use super::{FIX, Refusal};
    use crate::Known;
    use crate::frame::Frame;
    use crate::rules::sick;

    fn kernel(frame: &mut Frame, enable: &str, period: &str, weight: &str) {
        frame.sysctls.retain(|(name, _)| !name.starts_with("vm.cache_"));
        let values =
            [("vm.cache_reclaim_enable", enable), ("vm.cache_reclaim_s", period), ("vm.cache_reclaim_weight", weight)];
        frame.sysctls.extend(values.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn off_although_it_is_switched_on() {
        let grows = |frame: &mut Frame| frame.memory.cached_growth_bytes_per_second = Some(100e6);
        let plan = plan(&FIX, "MEM-07", &[], grows).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn a_group_that_hurts_asks_for_it() {
        let change = |frame: &mut Frame| {
            mounted(frame, 2);
            kernel(frame, "0", "0", "1");
            frame.memory.cached_growth_bytes_per_second = Some(100e6);
        };
        let plan = plan(&FIX, "MEM-02", &[("period", "5"), ("weight", "100")], change).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn swap_makes_it_dangerous() {
        let (frame, finding) = sick("MEM-07", |_| ());
        let with = |swap| Surroundings { swap, ..surroundings() };
        let risk = |swap| plan_for(&FIX, &frame, &finding, &[], &with(swap)).expect("a plan").risk.name();
        assert_eq!((risk(false), risk(true)), ("disruptive", "dangerous"));
        let swapping = plan(&FIX, "MEM-07", &[], |frame| frame.memory.swap_total_bytes = Known::Value(1 << 30));
        assert_eq!(swapping.expect("a plan").risk.name(), "dangerous");
    }

    #[test]
    fn other_kernels_have_nothing_of_it() {
        let other = plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 2));
        assert_eq!(other, Err(Refusal::NotForThis));
        let more = plan(&FIX, "MEM-07", &[("weight", "101")], |_| ());
        assert_eq!(more, Err(Refusal::because("invalid weight=101: use a number from 1 to 100")));
    }
}
