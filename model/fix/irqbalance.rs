//! F-IRQBAL: starts irqbalance, which spreads IRQs over CPUs.

use super::network::{affinity, guards, is_movable, of_host, of_nic};
use super::{Case, Fix, Need, Parameter, Plan, Refusal, Restore, Risk, Snippet, Step, Target, Verify};
use crate::IdSet;
use crate::frame::{Irq, Nic};
use crate::locale::fix as shared;
use crate::locale::fix::irqbalance as text;
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-IRQBAL",
    name: text::NAME,
    answers: &[(rules::irqbalance_absent::ID, 0), (rules::irq_crowding::ID, 1)],
    executable: true,
    parameters: &[Parameter { name: "ban", unit: "IRQs", about: text::ABOUT_BAN }],
    plan,
};

/// The daemon.
const NAME: &str = "irqbalance";
/// Its arguments until the next boot, where systemd starts it.
const RUN: &str = "/run/topotop-irqbalance.env";

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let frame = case.frame;
    let daemon = frame.irqbalance.as_ref().ok_or(Refusal::NotForThis)?;
    refused(case, &daemon.state)?;
    let by_hand = by_hand(case);
    let banned = banned(case, &by_hand)?;
    let (step, commands) = start(case, &banned);
    let title =
        if banned.is_empty() { text::TITLE.to_string() } else { text::TitleBanned { irqs: &banned }.to_string() };
    let mut plan = case.plan(FIX.id, title);
    plan.steps = vec![step];
    plan.commands = commands;
    // It does not restore masks when it exits.
    plan.kept = frame
        .irqs
        .iter()
        .filter(|irq| is_movable(irq) && irq.affinity.is_some() && !banned.contains(irq.irq))
        .map(affinity)
        .collect();
    plan.risk = Risk::Disruptive;
    plan.breaks = vec![text::BREAKS.to_string()];
    for irq in &by_hand {
        let mask = irq.affinity.as_deref().map(ToString::to_string).unwrap_or_default();
        plan.breaks.push(if banned.contains(irq.irq) {
            text::BreaksBanned { irq: &irq.irq, name: &irq.name, mask: &mask }.to_string()
        } else {
            text::BreaksOverwritten { irq: &irq.irq, name: &irq.name, mask: &mask }.to_string()
        });
    }
    plan.needs = vec![Need { capability: String::new(), what: shared::ROOT.to_string() }];
    plan.undo = text::UNDO.to_string();
    plan.lost = vec![text::LOST.to_string()];
    plan.reverters = vec![text::REVERTER.to_string()];
    plan.verify = verify(case);
    plan.persistent = Some(lasting(case, &banned));
    Ok(plan)
}

fn refused(case: &Case<'_>, state: &str) -> Result<(), Refusal> {
    if state == "running" {
        return Err(Refusal::because(text::ALREADY.to_string()));
    }
    let daemon = case.frame.irqbalance.as_ref();
    let is_known = daemon.is_some_and(|daemon| daemon.installed.value() == Some(true));
    if !is_known && !case.surroundings.programs.iter().any(|program| program == NAME) {
        return Err(Refusal::until(text::NOT_INSTALLED.to_string(), text::NEEDS_PACKAGE.to_string()));
    }
    if case.frame.host.in_container.value() == Some(true) {
        return Err(Refusal::until(text::CONTAINER.to_string(), text::NEEDS_HOST.to_string()));
    }
    if case.frame.topology.cpus_online.len() < 2 {
        return Err(Refusal::because(text::ONE_CPU.to_string()));
    }
    Ok(())
}

/// IRQs with a custom affinity, set by an administrator or a driver: neither all CPUs nor those of a node. Crowded IRQs
/// do not count: irqbalance is to spread them.
fn by_hand<'a>(case: &Case<'a>) -> Vec<&'a Irq> {
    let frame = case.frame;
    let crowds = |irq: &Irq| {
        let of = |nic: &&Nic| {
            let crowded = parts::crowded_cpus(frame, nic);
            nic.queues.iter().any(|queue| {
                queue.irq.value() == Some(irq.irq)
                    && queue.cpus.as_deref().and_then(IdSet::single).is_some_and(|cpu| crowded.contains_key(&cpu))
            })
        };
        frame.nics.iter().any(|nic| of(&nic))
    };
    let is_placed = |irq: &&Irq| {
        let Some(mask) = irq.affinity.as_deref() else { return false };
        let mask = mask.intersection(&frame.topology.cpus_online);
        mask != frame.topology.cpus_online && !frame.topology.nodes.iter().any(|node| node.cpus == mask)
    };
    let placed = frame.irqs.iter().filter(|irq| is_movable(irq)).filter(is_placed);
    placed.filter(|irq| !crowds(irq)).collect()
}

fn banned(case: &Case<'_>, by_hand: &[&Irq]) -> Result<IdSet, Refusal> {
    match case.set.get("ban").map(String::as_str) {
        None => Ok(IdSet::from_ids(by_hand.iter().map(|irq| irq.irq))),
        Some("none") => Ok(IdSet::new()),
        Some(text) => {
            let set = IdSet::parse_list(text).filter(|set| !set.is_empty());
            set.ok_or_else(|| Refusal::because(text::BanList { value: &text }.to_string()))
        }
    }
}

/// The step that starts or restarts it, and the equivalent commands.
pub(super) fn start(case: &Case<'_>, banned: &IdSet) -> (Step, Vec<String>) {
    let value = if banned.is_empty() { "running".to_owned() } else { format!("running, banned IRQs {banned}") };
    // Undo restores whether it ran, not its start time.
    let step = Step {
        restore: Restore::Old,
        ..Step::new(text::STEP.to_string(), Target::Service { name: NAME.to_owned() }, value)
    };
    let bans: Vec<String> = banned.iter().map(|irq| format!("--banirq={irq}")).collect();
    let bans = bans.join(" ");
    let place = case.surroundings;
    let has = |program: &str| place.programs.iter().any(|installed| installed == program);
    let runs = case.frame.irqbalance.as_ref().is_some_and(|daemon| &*daemon.state == "running");
    let verb = if runs { "restart" } else { "start" };
    let commands = match banned.is_empty() {
        false if place.systemd => vec![
            "mkdir -p /run/systemd/system/irqbalance.service.d".to_owned(),
            // Debian has its arguments in the first file, RHEL and openEuler in the second.
            format!(
                "(for f in /etc/default/irqbalance /etc/sysconfig/irqbalance; do [ -r $f ] && . $f; done; \
                 echo \"IRQBALANCE_ARGS=\\\"$IRQBALANCE_ARGS {bans}\\\"\") > {RUN}"
            ),
            format!(
                "printf '[Service]\\nEnvironmentFile={RUN}\\n' > /run/systemd/system/irqbalance.service.d/90-topotop.conf"
            ),
            "systemctl daemon-reload".to_owned(),
            format!("systemctl {verb} irqbalance.service"),
        ],
        true if place.systemd => vec![format!("systemctl {verb} irqbalance.service")],
        true if place.openrc => vec!["rc-service irqbalance start".to_owned()],
        true if has("service") && has("init.d/irqbalance") => vec!["service irqbalance start".to_owned()],
        // Scripts of other inits take no arguments for one start.
        _ => vec![format!("irqbalance {bans}").trim_end().to_owned()],
    };
    (step, commands)
}

fn verify(case: &Case<'_>) -> Verify {
    let frame = case.frame;
    let crowded =
        frame.nics.iter().filter(|nic| parts::is_physical(nic) && !parts::crowded_cpus(frame, nic).is_empty());
    let rate = |nic: &&Nic| nic.rx.packets_per_second.unwrap_or(0.0);
    let busiest = crowded.max_by(|a, b| rate(a).total_cmp(&rate(b)));
    Verify {
        load: busiest.map(|nic| of_nic(nic, "nic.rx_packets")),
        cost: Some(of_host("host.busiest_softirq")),
        guards: busiest.map(guards).unwrap_or_default(),
        shown: vec![of_host("host.net_rx_on_one_cpu"), of_host("host.irqs_on_one_cpu")],
        // It rebalances every 10 s, a few IRQs at a time.
        settle_seconds: 30,
        ..case.plan(FIX.id, "").verify
    }
}

fn lasting(case: &Case<'_>, banned: &IdSet) -> Snippet {
    let place = case.surroundings;
    let enable = if place.systemd {
        "systemctl enable irqbalance"
    } else if place.openrc {
        "rc-update add irqbalance default"
    } else {
        "update-rc.d irqbalance defaults"
    };
    let mut text = format!("{enable}\n");
    if !banned.is_empty() {
        let bans: Vec<String> = banned.iter().map(|irq| format!("--banirq={irq}")).collect();
        let arguments = format!("IRQBALANCE_ARGS=\"{}\"\n", bans.join(" "));
        text.push_str("# ");
        text.push_str(&text::COMMENT);
        text.push('\n');
        text.push_str(&arguments);
    }
    Snippet { place: text::PLACE.to_string(), text }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan_for, plan_text, surroundings};
    use super::super::{Plan, Refusal, Surroundings, Target};
    use super::FIX;
    use crate::frame::{Frame, Irq};
    use crate::rules::sick;
    use crate::{IdSet, Known};
    use std::sync::Arc;

    fn set(list: &str) -> Arc<IdSet> {
        Arc::new(IdSet::parse_list(list).expect("a list"))
    }

    /// Four queues that crowd, a disk on a CPU of its own, an interrupt of everybody's, and one of the kernel's own.
    fn interrupts(frame: &mut Frame) {
        let irq = |irq, name: &str, mask: &str| Irq {
            irq,
            name: name.into(),
            affinity: Some(set(mask)),
            managed: Known::Value(irq == 62),
            ..Irq::default()
        };
        frame.irqs = (0..4).map(|queue| irq(40 + queue, &format!("eth0-TxRx-{queue}"), "1")).collect();
        frame.irqs.extend([
            irq(60, "ahci", "5"),
            irq(61, "usb", "0-7"),
            irq(62, "nvme0q1", "3"),
            irq(63, "snd", "0-3"),
        ]);
    }

    fn planned(set: &[(&str, &str)], place: &Surroundings, change: impl Fn(&mut Frame)) -> Result<Plan, Refusal> {
        let (mut frame, finding) = sick("IRQ-02", interrupts);
        change(&mut frame);
        plan_for(&FIX, &frame, &finding, set, place)
    }

    fn installed() -> Surroundings {
        Surroundings { programs: vec!["irqbalance".to_owned()], ..surroundings() }
    }

    #[test]
    fn it_is_started_and_leaves_placed_interrupts_alone() {
        insta::assert_snapshot!(plan_text(&planned(&[], &installed(), |_| ()).expect("a plan")));
    }

    #[test]
    fn bans_may_be_chosen() {
        let step = |ban: &str| planned(&[("ban", ban)], &installed(), |_| ()).map(|plan| plan.steps[0].new.clone());
        assert_eq!(step("none").as_deref(), Ok("running"));
        assert_eq!(step("60-61,7").as_deref(), Ok("running, banned IRQs 7,60-61"));
        assert!(matches!(step("eth0"), Err(Refusal::Refused { why, .. }) if why.starts_with("invalid ban=eth0: ")));
        let all = planned(&[("ban", "none")], &installed(), |_| ()).expect("a plan");
        assert_eq!(all.kept.len(), 7, "every mask but that of the managed interrupt");
        assert!(all.kept.contains(&Target::Interrupt { irq: 60, actions: "ahci".to_owned() }));
        assert!(all.breaks.iter().any(|line| line == "IRQ 60 (ahci) loses its custom affinity 5"));
    }

    #[test]
    fn queues_of_disks_need_no_ban() {
        let step = |name: &str| {
            let irq = || Irq { irq: 70, name: name.into(), affinity: Some(set("6")), ..Irq::default() };
            planned(&[], &installed(), |frame| frame.irqs.push(irq())).expect("a plan").steps[0].new.clone()
        };
        for name in ["virtio2-req.1", "nvme0q3", "nvme12q3, nvme12q4"] {
            assert_eq!(step(name), "running, banned IRQs 60", "{name}: the kernel places it");
        }
        for name in ["virtio2-config", "nvme0q0", "nvme0q1, eth1", "virtio2-req.x", "snd2"] {
            assert_eq!(step(name), "running, banned IRQs 60,70", "{name}: custom affinity");
        }
    }

    #[test]
    fn every_init_has_its_way() {
        let commands =
            |place: &Surroundings, ban: &str| planned(&[("ban", ban)], place, |_| ()).expect("a plan").commands;
        let other = |openrc, programs: &[&str]| Surroundings {
            systemd: false,
            openrc,
            programs: programs.iter().map(|&name| name.to_owned()).collect(),
            ..installed()
        };
        assert_eq!(commands(&installed(), "none"), ["systemctl start irqbalance.service"]);
        assert_eq!(commands(&other(true, &["irqbalance"]), "none"), ["rc-service irqbalance start"]);
        assert_eq!(
            commands(&other(false, &["irqbalance", "service", "init.d/irqbalance"]), "none"),
            ["service irqbalance start"]
        );
        assert_eq!(commands(&other(false, &["irqbalance"]), "none"), ["irqbalance"]);
        for place in [other(true, &["irqbalance"]), other(false, &["irqbalance", "service", "init.d/irqbalance"])] {
            assert_eq!(commands(&place, "5,7"), ["irqbalance --banirq=5 --banirq=7"], "a script takes no arguments");
        }
    }

    #[test]
    fn where_it_cannot_run_it_is_refused() {
        let why = |place: &Surroundings, change: fn(&mut Frame)| match planned(&[], place, change) {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(&surroundings(), |_| ()), "irqbalance is not installed");
        assert!(why(&installed(), |frame| frame.host.in_container = Known::Value(true)).contains("container"));
        let runs = |frame: &mut Frame| frame.irqbalance.as_mut().expect("looked for").state = "running".into();
        assert_eq!(why(&installed(), runs), "irqbalance is already running");
    }
}
