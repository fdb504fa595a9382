//! F-NETSYSCTL: longer backlogs, and more packets and time per polling cycle.

use super::network::{of_host, open_cpus, sysctl};
use super::{Case, Fix, Need, Parameter, Plan, Refusal, Snippet, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::locale::fix as shared;
use crate::locale::fix::network_limits as text;
use crate::rules;
use crate::rules::RuleId;
use crate::rules::Subject;
use std::sync::Arc;

pub(super) const FIX: Fix = Fix {
    id: "F-NETSYSCTL",
    name: text::NAME,
    answers: &[(rules::softirq_budget::ID, 0), (rules::backlog_drops::ID, 1)],
    executable: true,
    parameters: &[
        Parameter { name: "backlog", unit: "packets", about: text::ABOUT_BACKLOG },
        Parameter { name: "budget", unit: "packets", about: text::ABOUT_BUDGET },
        Parameter { name: "usecs", unit: "µs", about: text::ABOUT_USECS },
    ],
    plan,
};

/// A setting by rule: its name and parameter, its default increase, and the value above which more does not help.
struct Setting {
    rule: RuleId,
    name: &'static str,
    parameter: &'static str,
    raised: fn(u64) -> u64,
    most: u64,
}

const SETTINGS: &[Setting] = &[
    Setting {
        rule: rules::backlog_drops::ID,
        name: "net.core.netdev_max_backlog",
        parameter: "backlog",
        raised: |now| (now * 2).max(4000),
        most: 65_536,
    },
    Setting {
        rule: rules::softirq_budget::ID,
        name: "net.core.netdev_budget",
        parameter: "budget",
        raised: |now| (now * 2).max(600),
        most: 2400,
    },
    Setting {
        rule: rules::softirq_budget::ID,
        name: "net.core.netdev_budget_usecs",
        parameter: "usecs",
        raised: |now| (now * 2).clamp(4000, 8000).max(now),
        most: 16_000,
    },
];

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let Subject::Cpu(cpu) = case.finding.subject else { return Err(Refusal::NotForThis) };
    let rule = case.finding.rule.id;
    let (mut changes, mut known, mut full) = (Vec::new(), false, Vec::new());
    for setting in SETTINGS.iter().filter(|setting| setting.rule == rule || case.set.contains_key(setting.parameter)) {
        let Some(now) = sysctl(case.frame, setting.name) else { continue };
        known = true;
        let asked = case.number(setting.parameter, 1..=i32::MAX as u64)?;
        let new = asked.unwrap_or_else(|| (setting.raised)(now).min(setting.most).max(now));
        if new == now {
            full.push(format!("{} = {now}", setting.name));
        } else {
            changes.push((setting.name, now, new));
        }
    }
    if !known {
        return Err(Refusal::until(text::UNREAD.to_string(), text::NEEDS_NETNS.to_string()));
    }
    if changes.is_empty() {
        return Err(Refusal::until(
            text::Enough { settings: &full.join(", ") }.to_string(),
            text::NEEDS_CPUS.to_string(),
        ));
    }
    let title: Vec<String> =
        changes.iter().map(|(name, now, new)| text::TitleSetting { name, old: now, new }.to_string()).collect();
    let mut plan = case.plan(FIX.id, text::Title { settings: &title.join(", ") }.to_string());
    for (name, _, new) in &changes {
        plan.commands.push(format!("sysctl -w {name}={new}"));
        plan.steps.push(super::sysctls::step(name, name, new.to_string()));
    }
    plan.breaks = vec![match rule {
        rules::backlog_drops::ID => text::BREAKS_BACKLOG.to_string(),
        _ => text::BREAKS_BUDGET.to_string(),
    }];
    if open_cpus(case.frame).len() > 1 {
        plan.breaks.push(text::BREAKS_FIRST.to_string());
    }
    plan.needs = vec![Need { capability: String::new(), what: text::NEED.to_string() }];
    plan.undo = text::UNDO.to_string();
    plan.reverters = vec![shared::REVERTER_SYSCTL.to_string()];
    plan.verify = verify(case, cpu, plan.verify);
    let lines: Vec<String> = changes.iter().map(|(name, _, new)| format!("{name} = {new}\n")).collect();
    plan.persistent = Some(Snippet { place: "/etc/sysctl.d/90-topotop-net.conf".to_owned(), text: lines.concat() });
    Ok(plan)
}

fn verify(case: &Case<'_>, cpu: u32, usual: Verify) -> Verify {
    let of_cpu = |metric| Watch { subject: Of::Cpu(cpu), metric };
    let nics = case.frame.nics.iter();
    let busiest =
        nics.max_by(|a, b| a.rx.packets_per_second.unwrap_or(0.0).total_cmp(&b.rx.packets_per_second.unwrap_or(0.0)));
    Verify {
        load: Some(of_cpu("cpu.packets")),
        cost: Some(of_cpu(if case.finding.rule.id == rules::backlog_drops::ID {
            "cpu.packets_dropped"
        } else {
            "cpu.time_squeeze"
        })),
        guards: busiest
            .map(|nic| Watch { subject: Of::Nic(Arc::clone(&nic.name)), metric: "nic.rx_drops" })
            .into_iter()
            .collect(),
        shown: vec![of_host("host.busiest_softirq")],
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::super::Refusal;
    use super::super::testing::{plan, plan_text};
    use super::FIX;
    use crate::frame::Frame;

    fn usual(frame: &mut Frame) {
        for (name, value) in [("netdev_max_backlog", "1000"), ("netdev_budget", "300"), ("netdev_budget_usecs", "2000")]
        {
            frame.sysctls.push((format!("net.core.{name}").into(), value.into()));
        }
    }

    #[test]
    fn drops_of_a_backlog_lengthen_it() {
        insta::assert_snapshot!(plan_text(&plan(&FIX, "NIC-02", &[], usual).expect("a plan")));
    }

    #[test]
    fn squeezes_get_more_time() {
        insta::assert_snapshot!(plan_text(&plan(&FIX, "NIC-03", &[], usual).expect("a plan")));
        let asked = plan(&FIX, "NIC-03", &[("budget", "500"), ("backlog", "3000")], usual).expect("a plan");
        let written: Vec<&str> = asked.steps.iter().map(|step| &*step.new).collect();
        assert_eq!(written, ["3000", "500", "4000"]);
    }

    #[test]
    fn enough_is_enough() {
        let full = |frame: &mut Frame| frame.sysctls.push(("net.core.netdev_max_backlog".into(), "65536".into()));
        let refused = plan(&FIX, "NIC-02", &[], full);
        assert!(
            matches!(refused, Err(Refusal::Refused { why, .. }) if why == "higher limits do not help: net.core.netdev_max_backlog = 65536")
        );
        assert!(
            matches!(plan(&FIX, "NIC-02", &[], |_| ()), Err(Refusal::Refused { why, .. }) if why.contains("cannot read"))
        );
        assert!(plan(&FIX, "NIC-02", &[("backlog", "0")], usual).is_err());
    }
}
