//! F-IRQAFF: gives each queue's IRQ a CPU of its own, local to the interface.

use super::network::{
    affinity, guards, identity, in_turn, is_movable, near_cpus, of_host, of_nic, open_cpus, receiving,
};
use super::{Case, Fix, Identity, Need, Parameter, Plan, Refusal, Risk, Snippet, Step, Verify, network};
use crate::IdSet;
use crate::frame::{Irq, Nic};
use crate::locale::fix::irq_affinity as text;
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-IRQAFF",
    name: text::NAME,
    answers: &[
        (rules::irq_crowding::ID, 0),
        (rules::irq_remote_node::ID, 0),
        (rules::irq_isolated_cpus::ID, 0),
        (rules::softirq_saturated::ID, 0),
        (rules::irqbalance_absent::ID, 1),
    ],
    executable: true,
    parameters: &[
        Parameter { name: "cpus", unit: "CPUs", about: text::ABOUT_CPUS },
        Parameter { name: "ban", unit: "yes or no", about: text::ABOUT_BAN },
    ],
    plan,
};

/// An IRQ and its new CPUs.
type Move<'a> = (&'a Irq, IdSet);

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let (nics, moves, managed) = moves(case)?;
    if moves.is_empty() {
        return Err(nothing(&managed));
    }
    let about = match &*nics {
        [nic] => nic.name.to_string(),
        _ => match &case.finding.subject {
            Subject::Cpu(cpu) => format!("CPU {cpu}"),
            subject => subject.to_string(),
        },
    };
    let places: Vec<String> = moves.iter().map(|(irq, cpus)| format!("{} -> {cpus}", irq.irq)).collect();
    let mut plan = case.plan(FIX.id, text::Title { subject: &about, moves: &parts::list(places, 8) }.to_string());
    plan.identity = nics.iter().map(|nic| identity(nic)).collect();
    plan.identity.extend(moves.iter().map(|(irq, _)| who(irq)));
    ban(case, &moves, &mut plan)?;
    for (irq, cpus) in &moves {
        // Each step helps on its own.
        let step = Step {
            essential: false,
            ..Step::new(text::Step { irq: &irq.name }.to_string(), affinity(irq), cpus.to_string())
        };
        plan.steps.push(step);
        plan.commands.push(format!("echo {cpus} > /proc/irq/{}/smp_affinity_list", irq.irq));
    }
    plan.breaks.push(text::BREAKS.to_string());
    if !managed.is_empty() {
        let list = parts::list(&managed, 8);
        plan.breaks.push(text::BreaksManaged { list: &list }.to_string());
    }
    plan.needs = vec![Need { capability: String::new(), what: text::NEED.to_string() }];
    plan.undo = text::UNDO.to_string();
    plan.verify = verify(case, &nics);
    plan.persistent = Some(lasting(&moves));
    Ok(plan)
}

fn nothing(managed: &[String]) -> Refusal {
    if managed.is_empty() {
        return Refusal::because(text::ALREADY.to_string());
    }
    let list = parts::list(managed, 8);
    let why = text::Managed { list: &list }.to_string();
    Refusal::until(why, text::NEEDS_CHANNELS.to_string())
}

fn who(irq: &Irq) -> Identity {
    Identity::Irq { irq: irq.irq, actions: irq.name.to_string() }
}

/// The interfaces whose IRQs move, the moves, and the managed IRQs.
#[expect(clippy::type_complexity, reason = "three lists that belong together once")]
fn moves<'a>(case: &Case<'a>) -> Result<(Vec<&'a Nic>, Vec<Move<'a>>, Vec<String>), Refusal> {
    let frame = case.frame;
    let chosen = network::cpus(case, "cpus")?;
    let nics: Vec<&Nic> = match &case.finding.subject {
        Subject::Nic(name) => vec![frame.nic(name).ok_or(Refusal::NotForThis)?],
        Subject::Host => {
            let crowds = |nic: &&Nic| parts::is_physical(nic) && !parts::crowded_cpus(frame, nic).is_empty();
            frame.nics.iter().filter(crowds).collect()
        }
        Subject::Cpu(cpu) if case.finding.rule.id == rules::irq_isolated_cpus::ID => {
            return Ok(away(case, *cpu, chosen));
        }
        Subject::Cpu(cpu) => {
            // A single queue on a hot CPU gains nothing by moving.
            let crowds =
                |nic: &&Nic| receiving(nic).filter(|queue| network::cpu_of(queue).value() == Some(*cpu)).count() > 1;
            frame.nics.iter().filter(crowds).collect()
        }
        _ => Vec::new(),
    };
    if nics.is_empty() {
        return Err(Refusal::NotForThis);
    }
    let (mut moves, mut managed) = (Vec::new(), Vec::new());
    for nic in &nics {
        let turn = in_turn(frame, &chosen.clone().unwrap_or_else(|| near_cpus(frame, nic)));
        spread(case, nic, &turn, &mut moves, &mut managed);
    }
    Ok((nics, moves, managed))
}

/// Spreads the receive queues of an interface over CPUs.
fn spread<'a>(case: &Case<'a>, nic: &Nic, turn: &[u32], moves: &mut Vec<Move<'a>>, managed: &mut Vec<String>) {
    let queues: Vec<(&Irq, Option<u32>)> = receiving(nic)
        .filter_map(|queue| Some((case.frame.irq(queue.irq.value()?)?, network::cpu_of(queue).value())))
        .collect();
    // An IRQ that already has a suitable CPU keeps it, as long as the CPU has no more than its share of them.
    let distinct: std::collections::BTreeSet<u32> = queues.iter().map(|(irq, _)| irq.irq).collect();
    let share = distinct.len().div_ceil(turn.len().max(1)).max(1);
    let mut taken: Vec<u32> = Vec::new();
    let of = |cpu: u32, taken: &[u32]| taken.iter().filter(|known| **known == cpu).count();
    let keeps = |irq: &Irq, cpu: Option<u32>, taken: &mut Vec<u32>| {
        let stays = cpu.filter(|cpu| {
            turn.contains(cpu)
                && of(*cpu, taken) < share
                && irq.affinity.as_deref().is_some_and(|mask| mask.single() == Some(*cpu))
        });
        taken.extend(stays);
        stays.is_some()
    };
    let rest: Vec<&Irq> =
        queues.iter().filter(|(irq, cpu)| !keeps(irq, *cpu, &mut taken)).map(|queue| queue.0).collect();
    let mut seen = Vec::new();
    for irq in rest {
        if seen.contains(&irq.irq) {
            continue;
        }
        seen.push(irq.irq);
        if !is_movable(irq) {
            managed.push(format!("{} ({})", irq.irq, irq.name));
        } else if let Some(cpu) = turn.iter().copied().min_by_key(|cpu| of(*cpu, &taken)) {
            taken.push(cpu);
            let cpus = IdSet::from_ids([cpu]);
            // Where it is already, nothing is written.
            if irq.affinity.as_deref() != Some(&cpus) {
                moves.push((irq, cpus));
            }
        }
    }
}

/// Moves IRQs off an isolated CPU.
fn away<'a>(case: &Case<'a>, cpu: u32, chosen: Option<IdSet>) -> (Vec<&'a Nic>, Vec<Move<'a>>, Vec<String>) {
    let open = chosen.unwrap_or_else(|| open_cpus(case.frame));
    let (mut moves, mut managed) = (Vec::new(), Vec::new());
    for irq in &case.frame.irqs {
        let rate = irq.per_cpu_per_second.iter().find(|(at, _)| *at == cpu).map_or(0.0, |(_, rate)| *rate);
        let effective = irq.effective_affinity.as_deref().is_some_and(|cpus| cpus.contains(cpu));
        if rate <= 0.0 && !effective {
            continue;
        }
        let within = irq.affinity.as_deref().map(|mask| mask.intersection(&open)).filter(|mask| !mask.is_empty());
        let wanted = within.unwrap_or_else(|| open.clone());
        if !is_movable(irq) {
            managed.push(format!("{} ({})", irq.irq, irq.name));
        } else if !wanted.is_empty() && irq.affinity.as_deref() != Some(&wanted) {
            moves.push((irq, wanted));
        }
    }
    (Vec::new(), moves, managed)
}

/// Bans the moved IRQs in irqbalance, which would move them back.
fn ban(case: &Case<'_>, moves: &[Move<'_>], plan: &mut Plan) -> Result<(), Refusal> {
    let Some(daemon) = case.frame.irqbalance.as_ref().filter(|daemon| &*daemon.state == "running") else {
        return Ok(());
    };
    let banned = daemon.banned_irqs.as_deref().cloned().unwrap_or_default();
    let free: Vec<u32> = moves.iter().map(|(irq, _)| irq.irq).filter(|irq| !banned.contains(*irq)).collect();
    if free.is_empty() {
        return Ok(());
    }
    if !network::yes(case, "ban", true)? {
        plan.reverters.push(text::REVERTER.to_string());
        return Ok(());
    }
    let all = banned.union(&IdSet::from_ids(free));
    let (step, commands) = super::irqbalance::start(case, &all);
    plan.steps.push(step);
    plan.commands.extend(commands);
    plan.risk = Risk::Disruptive;
    plan.breaks.push(text::BREAKS_BAN.to_string());
    Ok(())
}

fn verify(case: &Case<'_>, nics: &[&Nic]) -> Verify {
    Verify {
        load: nics.first().map(|nic| of_nic(nic, "nic.rx_packets")),
        cost: Some(of_host("host.busiest_softirq")),
        guards: nics.iter().flat_map(|nic| guards(nic)).collect(),
        shown: vec![of_host("host.net_rx_on_one_cpu"), of_host("host.irqs_on_one_cpu")],
        settle_seconds: 10,
        ..case.plan(FIX.id, "").verify
    }
}

fn lasting(moves: &[Move<'_>]) -> Snippet {
    let mut text = "[Unit]\nAfter=network.target irqbalance.service\n\n[Service]\nType=oneshot\n".to_owned();
    for (irq, cpus) in moves {
        // IRQ numbers change between boots, queue names do not. systemd expands `$`: the shell's is doubled.
        let name: String =
            irq.name.chars().filter(|c| !matches!(c, '\'' | '\\' | '"' | '%' | '$') && !c.is_control()).collect();
        let find = format!("grep -wF -- '{name}' /proc/interrupts | cut -d: -f1");
        let write = format!("for i in $$({find}); do echo {cpus} > /proc/irq/$$i/smp_affinity_list; done");
        text.extend(["ExecStart=/bin/sh -c \"", write.as_str(), "\"\n"]);
    }
    text += "\n[Install]\nWantedBy=multi-user.target\n";
    Snippet { place: text::PLACE.to_string(), text }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_text};
    use super::super::{Refusal, Risk};
    use super::FIX;
    use crate::frame::{Frame, Irq};
    use crate::{IdSet, Known};
    use std::sync::Arc;

    fn set(list: &str) -> Arc<IdSet> {
        Arc::new(IdSet::parse_list(list).expect("a list"))
    }

    /// The interrupts of its four queues, which anybody may move.
    fn four(frame: &mut Frame) {
        let irq = |queue: u32| Irq {
            irq: 40 + queue,
            name: format!("eth0-TxRx-{queue}").into(),
            affinity: Some(set("1")),
            managed: Known::Value(false),
            ..Irq::default()
        };
        frame.irqs = (0..4).map(irq).collect();
        // Nobody else moves them.
        frame.irqbalance.as_mut().expect("looked for").state = "oneshot".into();
    }

    #[test]
    fn each_queue_gets_a_cpu_of_its_node() {
        let plan = plan(&FIX, "IRQ-03", &[], four).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn others_cpus_may_be_asked_for() {
        let plan = plan(&FIX, "IRQ-03", &[("cpus", "4-5")], four).expect("a plan");
        let places: Vec<&str> = plan.steps.iter().map(|step| &*step.new).collect();
        assert_eq!(places, ["4", "5", "4", "5"]);
    }

    #[test]
    fn managed_interrupts_are_refused_with_the_reason() {
        let all = plan(&FIX, "IRQ-03", &[], |frame| {
            four(frame);
            frame.irqs.iter_mut().for_each(|irq| irq.managed = Known::Value(true));
        });
        let Err(Refusal::Refused { why, needs }) = all else { panic!("{all:?}") };
        assert!(why.contains("41 (eth0-TxRx-1)") && why.contains("managed") && why.contains("EPERM"), "{why}");
        assert!(needs.contains("ethtool -L"), "{needs}");
        let some = plan(&FIX, "IRQ-03", &[], |frame| {
            four(frame);
            frame.irqs[2].managed = Known::Value(true);
        });
        let some = some.expect("a plan");
        assert_eq!(some.steps.len(), 2);
        assert!(some.breaks.iter().any(|line| line.contains("42 (eth0-TxRx-2)")), "{:?}", some.breaks);
    }

    #[test]
    fn irqbalance_is_told_to_leave_them_alone() {
        let balanced = |frame: &mut Frame| {
            four(frame);
            let daemon = frame.irqbalance.as_mut().expect("looked for");
            (daemon.state, daemon.banned_irqs) = ("running".into(), Some(set("9")));
        };
        let banned = plan(&FIX, "IRQ-03", &[], balanced).expect("a plan");
        assert_eq!(banned.steps[0].new, "running, banned IRQs 9,41-43");
        assert_eq!(banned.risk, Risk::Disruptive);
        let unbanned = plan(&FIX, "IRQ-03", &[("ban", "no")], balanced).expect("a plan");
        assert_eq!((unbanned.risk, unbanned.steps.len()), (Risk::Safe, 3));
        assert!(unbanned.reverters[0].contains("irqbalance"));
        assert!(plan(&FIX, "IRQ-03", &[("ban", "perhaps")], balanced).is_err());
    }

    #[test]
    fn what_is_kept_for_others_is_left() {
        let away = plan(&FIX, "IRQ-05", &[], |frame| {
            frame.irqs[0].affinity = Some(set("6-7"));
            frame.irqbalance.as_mut().expect("looked for").state = "absent".into();
        });
        insta::assert_snapshot!(plan_text(&away.expect("a plan")));
    }

    #[test]
    fn far_interrupts_come_home() {
        let home = plan(&FIX, "IRQ-04", &[], four).expect("a plan");
        let places: Vec<&str> = home.steps.iter().map(|step| &*step.new).collect();
        assert_eq!(places, ["4", "5", "6", "7"], "the interface is on node 1");
    }

    #[test]
    fn a_hot_cpu_with_one_queue_is_not_helped() {
        assert_eq!(plan(&FIX, "IRQ-01", &[], |_| ()), Err(Refusal::NotForThis));
    }
}
