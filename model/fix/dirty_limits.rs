//! F-DIRTY: starts writeback earlier and in smaller portions.

use super::group::{self, MIB, show};
use super::sysctls::{command, lasting, number, plan as plan_of};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Step, Target, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::frame::Frame;
use crate::locale::fix::dirty_limits as text;
use crate::rules;
use crate::rules::Subject;
use std::sync::Arc;

pub(super) const FIX: Fix = Fix {
    id: "F-DIRTY",
    name: text::NAME,
    answers: &[(rules::dirty_throttling::ID, 0), (rules::cgroup_reclaim_stalls::ID, 5)],
    executable: true,
    parameters: &[
        Parameter { name: "bytes", unit: "bytes", about: text::ABOUT_BYTES },
        Parameter { name: "background", unit: "bytes", about: text::ABOUT_BACKGROUND },
    ],
    plan,
};

/// The smallest and the largest proposed limit.
const BYTES: (u64, u64) = (64 * MIB, 1024 * MIB);
/// Cgroups with less than this share of their limit dirty do not benefit.
const GROUP: f64 = 0.05;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let frame = case.frame;
    if let Subject::Cgroup(path) = &case.finding.subject
        && !is_dirty(frame, path)
    {
        return Err(Refusal::NotForThis);
    }
    let unread = || Refusal::until(text::UNREAD.to_string(), "/proc/vmstat nr_dirty_threshold");
    let limit = frame.memory.dirty_threshold_bytes.value().ok_or_else(unread)?;
    if limit / 2 < BYTES.0 && !case.set.contains_key("bytes") {
        return Err(Refusal::because(text::Already { size: &show(limit) }.to_string()));
    }
    let by_itself = (limit / 2 / MIB * MIB).clamp(BYTES.0, BYTES.1);
    let bytes = group::sized(case, "bytes", MIB..=(limit / MIB * MIB).max(MIB))?.unwrap_or(by_itself);
    let background = group::sized(case, "background", MIB..=bytes.max(MIB))?.unwrap_or((bytes / 4).max(MIB));
    let title = text::Title { new: &show(bytes), old: &show(limit), background: &show(background) }.to_string();
    let mut plan = plan_of(case, FIX.id, title);
    let new = [("vm.dirty_background_bytes", background.to_string()), ("vm.dirty_bytes", bytes.to_string())];
    let step = |what: &str, background, bytes: u64| {
        Step::new(what, Target::DirtyLimit { background }, format!("bytes {bytes}"))
    };
    plan.steps =
        vec![step(text::STEP_BACKGROUND.as_str(), true, background), step(text::STEP_BYTES.as_str(), false, bytes)];
    plan.commands = vec![command(&new)];
    plan.risk = Risk::Disruptive;
    plan.breaks = vec![text::BREAKS_BURST.to_string(), text::BREAKS_EVEN.to_string()];
    plan.undo = command(&[was(frame, false), was(frame, true)].map(|(name, value)| (name, value.to_string())));
    plan.verify = verify(case);
    plan.persistent = Some(lasting(&new));
    Ok(plan)
}

/// The one of the two settings that is in force.
fn was(frame: &Frame, background: bool) -> (&'static str, u64) {
    let (bytes, ratio, usual) = if background {
        ("vm.dirty_background_bytes", "vm.dirty_background_ratio", 10)
    } else {
        ("vm.dirty_bytes", "vm.dirty_ratio", 20)
    };
    match number(frame, bytes).filter(|bytes| *bytes > 0) {
        Some(value) => (bytes, value),
        None => (ratio, number(frame, ratio).unwrap_or(usual)),
    }
}

fn is_dirty(frame: &Frame, path: &Arc<str>) -> bool {
    let Some(memory) = frame.cgroup(path).and_then(|cgroup| cgroup.memory.as_ref()) else { return false };
    let busy = memory.dirty_bytes.value().unwrap_or(0).saturating_add(memory.writeback_bytes.value().unwrap_or(0));
    memory.limit_bytes.value().is_some_and(|limit| busy as f64 >= limit as f64 * GROUP)
}

fn verify(case: &Case<'_>) -> Verify {
    let frame = case.frame;
    let host = |metric| Watch { subject: Of::Host, metric };
    let waits = Watch { subject: Of::Pressure("io".into()), metric: "pressure.some" };
    let has_pressure = frame.pressure("io").is_some_and(|row| row.stall.some_ratio.is_some());
    let written = |disk: &crate::frame::Disk| disk.write_bytes_per_second.unwrap_or(0.0);
    let busiest = frame.disks.iter().max_by(|a, b| written(a).total_cmp(&written(b)));
    let disk = |metric| busiest.map(|disk| Watch { subject: Of::Disk(Arc::clone(&disk.name)), metric });
    let mut verify = case.plan(FIX.id, "").verify;
    verify.load = disk("disk.write_bytes");
    verify.cost = Some(if has_pressure { waits } else { host("host.iowait") });
    verify.shown =
        [Some(host("host.dirty")), disk("disk.write_await"), disk("disk.utilisation")].into_iter().flatten().collect();
    verify.settle_seconds = 30;
    verify
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, MIB, Refusal};
    use crate::Known;
    use crate::frame::Frame;

    fn ratios(frame: &mut Frame) {
        let values = [
            ("vm.dirty_background_bytes", "0"),
            ("vm.dirty_background_ratio", "10"),
            ("vm.dirty_bytes", "0"),
            ("vm.dirty_ratio", "30"),
        ];
        frame.sysctls.extend(values.map(|(name, value)| (name.into(), value.into())));
    }

    #[test]
    fn half_of_what_it_was() {
        let plan = plan(&FIX, "MEM-06", &[], ratios).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn bytes_go_back_to_bytes() {
        let plan = plan(&FIX, "MEM-06", &[("bytes", "300M"), ("background", "100M")], |frame| {
            ratios(frame);
            frame.sysctls.retain(|(name, _)| &**name != "vm.dirty_bytes");
            frame.sysctls.push(("vm.dirty_bytes".into(), "1073741824".into()));
        });
        assert_eq!(plan.expect("a plan").undo, "sysctl -w vm.dirty_bytes=1073741824 vm.dirty_background_ratio=10");
    }

    #[test]
    fn only_lower_and_not_too_low() {
        let with = |set: &[(&str, &str)], limit: u64| {
            plan(&FIX, "MEM-06", set, move |frame| {
                frame.memory.dirty_threshold_bytes = Known::Value(limit);
                frame.memory.dirty_bytes = Known::Value(limit * 95 / 100);
            })
        };
        assert_eq!(
            with(&[], 100 * MIB),
            Err(Refusal::because("the kernel already throttles writers at 100.0 MiB of dirty memory"))
        );
        let more = with(&[("bytes", "2G")], 1 << 30);
        assert_eq!(more, Err(Refusal::because("invalid bytes=2G: use a size from 1.0 MiB to 1.0 GiB")));
    }

    #[test]
    fn a_clean_cache_gains_nothing() {
        assert_eq!(plan(&FIX, "MEM-02", &[], |frame| mounted(frame, 2)), Err(Refusal::NotForThis));
        let dirty = plan(&FIX, "MEM-02", &[], |frame| {
            mounted(frame, 2);
            frame.cgroups[0].memory.as_mut().expect("memory").dirty_bytes = Known::Value(400 * MIB);
        });
        assert!(dirty.is_ok(), "{dirty:?}");
    }
}
