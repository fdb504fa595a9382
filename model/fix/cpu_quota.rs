//! F-CPUQUOTA: raises the CPU quota that throttles a cgroup.

use super::group::{self, Group, Named};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::frame::{Cgroup, Frame};
use crate::locale::evidence;
use crate::locale::fix::cpu_quota as text;
use crate::rules;
use crate::rules::{Subject, parts};
use std::sync::Arc;

pub(super) const FIX: Fix = Fix {
    id: "F-CPUQUOTA",
    name: text::NAME,
    answers: &[
        (rules::cpu_throttled::ID, 0),
        (rules::threads_over_quota::ID, 5),
        (rules::erlang_schedulers_over_quota::ID, 6),
    ],
    executable: true,
    parameters: &[Parameter { name: "cores", unit: "cores", about: text::ABOUT_CORES }],
    plan,
};

/// The new quota, as a multiple of the old one.
const MORE: f64 = 1.5;
/// The kernel's default period in µs, where it cannot be read.
const PERIOD: u64 = 100_000;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let path = group_of(case).ok_or(Refusal::NotForThis)?;
    let group = Group::at(case.frame, &path, "cpu")?;
    let cores = group.cgroup.cpu.quota_cores.value().filter(|cores| *cores > 0.0);
    let cores = cores.ok_or_else(|| Refusal::because(text::NoQuota { cgroup: &path }.to_string()))?;
    let new = raised(case, &path, cores)?;
    let period = group.cgroup.cpu.period_us.value().filter(|period| *period > 0);
    let period = period.unwrap_or(PERIOD);
    let quota = |cores: f64| (cores * period as f64).round() as u64;
    let figure = |cores: f64| parts::count(Some((cores * 100.0).round() / 100.0));
    let mut plan = case.plan(FIX.id, text::Title { cgroup: &path, old: &figure(cores), new: &figure(new) }.to_string());
    plan.identity = vec![group.identity()];
    let (file, value) = match group.version {
        1 => ("cpu.cfs_quota_us", quota(new).to_string()),
        _ => ("cpu.max", format!("{} {period}", quota(new))),
    };
    let percent = |cores: f64| format!("{:.0}%", cores * 100.0);
    let by_unit = percent(new);
    let setting = group.setting(
        case,
        &text::STEP,
        &value,
        &Named { name: file, value: &value },
        &Named { name: "CPUQuota", value: &by_unit },
    );
    let was = if group.version == 1 { quota(cores).to_string() } else { format!("{} {period}", quota(cores)) };
    plan.undo = setting.undo(&was, &percent(cores));
    plan.steps = vec![setting.step];
    plan.kept = setting.kept;
    plan.commands = vec![setting.command];
    plan.risk = Risk::Safe;
    plan.breaks = vec![text::BREAKS.to_string()];
    plan.needs = vec![group::need()];
    plan.reverters = group.reverters(None);
    plan.verify = verify(case, group.cgroup);
    plan.persistent = group.lasting(
        &format!("CPUQuota={by_unit}"),
        &format!("resources:\n  limits:\n    cpu: {}m", (new * 1000.0).round()),
    );
    Ok(plan)
}

/// The cgroup with the quota.
fn group_of(case: &Case<'_>) -> Option<Arc<str>> {
    match &case.finding.subject {
        Subject::Cgroup(path) => Some(Arc::clone(path)),
        Subject::Process(pid, _) => {
            let process = case.frame.process(*pid)?;
            parts::quota(case.frame, process.quota_group()).map(|(path, _)| path.into())
        }
        _ => None,
    }
}

fn raised(case: &Case<'_>, path: &str, old: f64) -> Result<f64, Refusal> {
    let online = case.frame.topology.cpus_online.len() as f64;
    // A lower quota of an ancestor still restricts it, and in cgroup v1 the kernel rejects more.
    let above = path.rsplit_once('/').map(|(above, _)| if above.is_empty() { "/" } else { above });
    let above = above.filter(|above| *above != path).and_then(|above| parts::quota(case.frame, above));
    let most = above.map_or(online, |(_, quota)| quota.min(online));
    if most <= old {
        let why = match above.filter(|(_, quota)| *quota <= old) {
            Some((above, quota)) => text::Parent { cgroup: &above, cores: &parts::count(Some(quota)) }.to_string(),
            None => text::AllCpus { count: &parts::count(Some(online)) }.to_string(),
        };
        return Err(Refusal::because(why));
    }
    if let Some(text) = case.set.get("cores") {
        let cores = text.parse::<f64>().ok().filter(|cores| *cores > old && *cores <= most);
        let range = || {
            Refusal::because(
                text::Range { value: &text, low: &parts::count(Some(old)), high: &parts::count(Some(most)) }
                    .to_string(),
            )
        };
        return cores.ok_or_else(range);
    }
    // The demand of its threads where known; of throttled ones it is what the quota makes them wait. In tenths of a core.
    let throttled = case.frame.cgroup(path).and_then(|group| group.cpu.throttled_ratio);
    let demand = case.finding.number(evidence::DEMAND).filter(|_| throttled.is_none_or(|ratio| ratio < THROTTLED));
    let wanted = demand.unwrap_or(0.0).max(old * MORE);
    let left = idle_cores(case.frame);
    if let Some(left) = left.filter(|left| *left < LEAST * old) {
        let (left, old) = (&parts::tenths(left), &parts::tenths(old));
        return Err(Refusal::because(text::HostFull { left, old }.to_string()));
    }
    let most = left.map_or(most, |left| most.min(old + left.max(LEAST * old)));
    Ok(((wanted * 10.0).ceil() / 10.0).min((most * 10.0).floor() / 10.0).max(old + 0.1).min(online))
}

/// Share of periods from which what its threads wait for is the quota.
const THROTTLED: f64 = 0.05;
/// The smallest increase that is worth it, as a share of the quota.
const LEAST: f64 = 0.1;

/// CPU time that nobody uses; none where it is not known of every CPU.
fn idle_cores(frame: &Frame) -> Option<f64> {
    let online = frame.cpus.iter().filter(|cpu| cpu.online);
    let idle: Option<Vec<f64>> = online.map(|cpu| Some(1.0 - cpu.shares?.busy)).collect();
    idle.filter(|idle| !idle.is_empty()).map(|idle| idle.iter().sum())
}

fn verify(case: &Case<'_>, cgroup: &Cgroup) -> Verify {
    let own = |metric| group::watch(&cgroup.path, metric);
    let mut verify = case.plan(FIX.id, "").verify;
    verify.load = Some(match cgroup.cpu.usage_cores {
        Some(_) => own("cgroup.cores"),
        None => group::load(case.frame, &cgroup.path),
    });
    verify.cost = Some(own("cgroup.throttled"));
    verify.guards = vec![Watch { subject: Of::Pressure("cpu".into()), metric: "pressure.some" }];
    verify.shown = vec![own("cgroup.cpu_pressure"), Watch { subject: Of::Host, metric: "host.busiest_cpu" }];
    verify
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Refusal};
    use crate::Known;
    use crate::frame::{Cgroup, CgroupCpu, CpuShares, Frame};

    fn why(plan: Result<super::Plan, Refusal>) -> String {
        match plan {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    fn slice(frame: &mut Frame, quota: f64) {
        mounted(frame, 2);
        let cpu = CgroupCpu { quota_cores: Known::Value(quota), ..CgroupCpu::default() };
        let above = Cgroup { path: "/apps".into(), cpu, ..Cgroup::default() };
        frame.cgroups[0].path = "/apps/mq".into();
        frame.cgroups.insert(0, above);
    }

    #[test]
    fn half_as_much_again() {
        let plan = plan(&FIX, "CPU-05", &[], |frame| mounted(frame, 2)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn a_unit_of_version_1() {
        let plan = plan(&FIX, "CPU-05", &[("cores", "3.5")], |frame| {
            frame.cgroups[0].path = "/system.slice/mq.service".into();
            mounted(frame, 1);
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn a_container_of_version_1_gets_what_its_threads_want() {
        let path = "/kubepods/burstable/pod1/8a";
        let plan = plan(&FIX, "CPU-06", &[], |frame| {
            frame.cgroups[0].path = path.into();
            frame.processes.iter_mut().for_each(|process| process.cgroup = path.into());
            mounted(frame, 1);
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn what_nobody_else_uses_is_given() {
        let with = |rule, set: &[(&str, &str)], busy: f64| {
            plan(&FIX, rule, set, |frame| {
                mounted(frame, 2);
                frame.cgroups[0].cpu.throttled_ratio = Some(0.9);
                for cpu in &mut frame.cpus {
                    cpu.shares = Some(CpuShares { busy, ..CpuShares::default() });
                }
            })
        };
        let new = |plan: Result<super::Plan, Refusal>| plan.expect("a plan").steps[0].new.clone();
        assert_eq!(new(with("CPU-05", &[], 0.1)), "300000 100000");
        // What throttled threads wait for is the quota, not what they need.
        assert_eq!(new(with("CPU-06", &[], 0.1)), "300000 100000");
        assert_eq!(new(with("CPU-05", &[], 0.95)), "240000 100000", "8 CPUs have 0.4 cores left");
        assert!(why(with("CPU-05", &[], 0.99)).contains("cores in the quota: 2"));
        assert_eq!(new(with("CPU-05", &[("cores", "4")], 0.99)), "400000 100000");
    }

    #[test]
    fn never_lower_and_never_more_than_counts() {
        let with = |set: &[(&str, &str)]| plan(&FIX, "CPU-05", set, |frame| mounted(frame, 2));
        for cores in ["1", "2", "9", "x", "NaN", "inf"] {
            assert_eq!(
                why(with(&[("cores", cores)])),
                format!("invalid cores={cores}: use a number above 2, at most 8")
            );
        }
        let held = plan(&FIX, "CPU-05", &[], |frame| slice(frame, 1.5));
        assert_eq!(why(held), "it is restricted by the CPU quota of /apps (1.5), not by its own");
        let near = plan(&FIX, "CPU-05", &[], |frame| slice(frame, 2.5)).expect("a plan");
        assert_eq!(near.steps[0].new, "250000 100000");
    }
}
