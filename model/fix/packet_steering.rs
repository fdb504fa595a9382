//! F-RPS: steers packets in software (RPS, RFS) where the interface cannot, and spreads senders over its queues (XPS).

use super::network::{
    cpu_of, guards, identity, mask, near_cpus, net_admin, of_host, of_nic, open_cpus, receiving, sending, sysctl,
    udev_rule,
};
use super::shell::quoted;
use super::{Case, Fix, Parameter, Plan, Refusal, Step, Target, Verify, network};
use crate::IdSet;
use crate::frame::{Nic, Queue};
use crate::locale::evidence;
use crate::locale::fix::packet_steering as text;
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-RPS",
    name: text::NAME,
    answers: &[
        (rules::packet_steering::ID, 0),
        (rules::backlog_drops::ID, 0),
        (rules::softirq_saturated::ID, 1),
        (rules::rss_skew::ID, 1),
        (rules::nic_channels::ID, 2),
    ],
    executable: true,
    parameters: &[
        Parameter { name: "cpus", unit: "CPUs", about: text::ABOUT_CPUS },
        Parameter { name: "flows", unit: "flows", about: text::ABOUT_FLOWS },
        Parameter { name: "xps", unit: "yes or no", about: text::ABOUT_XPS },
    ],
    plan,
};

/// A file below the directory of an interface, with its new value.
type Setting = (String, String);

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    // Where no CPU is hot there is nothing to hand on.
    if case.finding.rule.id == rules::nic_channels::ID && case.finding.severity == rules::Severity::Info {
        return Err(Refusal::NotForThis);
    }
    let (nic, queues) = subject(case)?;
    let cpus = handed_to(case, nic, &queues)?;
    let mut settings: Vec<Setting> = Vec::new();
    for queue in &queues {
        if queue.rps_cpus.as_deref() != Some(&cpus) {
            settings.push((format!("queues/rx-{}/rps_cpus", queue.queue), mask(&cpus)));
        }
    }
    // The kernel rounds both tables up to powers of two: other numbers would not read back.
    let flows = case.number("flows", 0..=1 << 20)?.map(power_of_two);
    if let Some(flows) = flows {
        let each = power_of_two(flows.div_ceil(queues.len().max(1) as u64));
        settings
            .extend(queues.iter().map(|queue| (format!("queues/rx-{}/rps_flow_cnt", queue.queue), each.to_string())));
    }
    if network::yes(case, "xps", false)? {
        settings.extend(xps(case, nic)?);
    }
    if settings.is_empty() {
        return Err(Refusal::because(text::Already { nic: &nic.name, cpus: &cpus }.to_string()));
    }
    let from: Vec<String> = queues.iter().map(|queue| format!("rx-{}", queue.queue)).collect();
    let mut plan =
        case.plan(FIX.id, text::Title { nic: &nic.name, queues: &parts::list(from, 8), cpus: &cpus }.to_string());
    plan.identity = vec![identity(nic)];
    sock_flows(case, flows, &mut plan);
    for (file, value) in &settings {
        let path = format!("/sys/class/net/{}/{file}", nic.name);
        plan.commands.push(format!("echo {value} > {}", quoted(&path)));
        plan.steps.push(Step::new(file.rsplit('/').next().unwrap_or_default(), Target::file(path), value.clone()));
    }
    plan.breaks = vec![text::BREAKS_IPI.to_string(), text::BREAKS_FLOW.to_string()];
    // In the driver and in the card a program comes before.
    if let Some(program) = network::xdp(nic).filter(|_| &*nic.xdp != "generic") {
        plan.breaks.push(text::BreaksXdp { program: &program }.to_string());
    }
    plan.needs = vec![net_admin(text::NEED)];
    plan.undo = text::UNDO.to_string();
    plan.reverters = vec![text::REVERTER_DRIVER.to_string(), text::REVERTER_TUNED.to_string()];
    plan.verify = Verify {
        load: Some(of_nic(nic, "nic.rx_packets")),
        cost: Some(of_host("host.busiest_softirq")),
        guards: guards(nic),
        shown: vec![of_host("host.net_rx_on_one_cpu"), of_host("host.softirq")],
        ..plan.verify
    };
    let files: Vec<String> = settings.iter().map(|(file, value)| format!("ATTR{{{file}}}=\"{value}\"")).collect();
    plan.persistent = udev_rule(nic, &files);
    Ok(plan)
}

/// At least so many, in a number that the kernel takes as it is; none stays none.
fn power_of_two(flows: u64) -> u64 {
    if flows == 0 { 0 } else { flows.next_power_of_two() }
}

/// The interface and the queues whose packets are steered.
fn subject<'a>(case: &Case<'a>) -> Result<(&'a Nic, Vec<&'a Queue>), Refusal> {
    let frame = case.frame;
    let (nic, queues): (&Nic, Vec<&Queue>) = match &case.finding.subject {
        Subject::Nic(name) => {
            let nic = frame.nic(name).ok_or(Refusal::NotForThis)?;
            // Of several queues the overloaded one.
            let hottest = case.finding.number(evidence::QUEUE).map(|queue| queue as u32);
            (nic, receiving(nic).filter(|queue| hottest.is_none_or(|hottest| queue.queue == hottest)).collect())
        }
        Subject::Cpu(cpu) => {
            let works = |nic: &&Nic| {
                parts::is_physical(nic) && parts::queues_on(nic, *cpu).any(|queue| &*queue.direction != "tx")
            };
            let rate = |nic: &&Nic| nic.rx.packets_per_second.unwrap_or(0.0);
            let nic = frame.nics.iter().filter(works).max_by(|a, b| rate(a).total_cmp(&rate(b)));
            let nic = nic.ok_or(Refusal::NotForThis)?;
            (nic, parts::queues_on(nic, *cpu).filter(|queue| &*queue.direction != "tx").collect())
        }
        _ => return Err(Refusal::NotForThis),
    };
    if queues.is_empty() {
        return Err(Refusal::until(text::UnreadQueues { nic: &nic.name }.to_string(), "/sys/class/net/NIC/queues"));
    }
    if queues.iter().all(|queue| queue.rps_cpus.is_none()) {
        return Err(Refusal::until(text::UnreadRps { nic: &nic.name }.to_string(), text::NEEDS_RPS.to_string()));
    }
    Ok((nic, queues))
}

/// The local CPUs of the interface without those of its IRQs.
fn handed_to(case: &Case<'_>, nic: &Nic, queues: &[&Queue]) -> Result<IdSet, Refusal> {
    let frame = case.frame;
    let chosen = network::cpus(case, "cpus")?;
    let kept = chosen.as_ref().map(|chosen| {
        let isolated = parts::kept_cpus(frame);
        IdSet::from_ids(chosen.iter().filter(|cpu| isolated.contains_key(cpu)))
    });
    if let Some(kept) = kept.filter(|kept| !kept.is_empty()) {
        return Err(Refusal::because(text::Isolated { cpus: &kept }.to_string()));
    }
    if let Some(chosen) = chosen {
        return Ok(chosen);
    }
    let interrupted: Vec<u32> = queues.iter().filter_map(|queue| cpu_of(queue).value()).collect();
    let without = |cpus: &IdSet| IdSet::from_ids(cpus.iter().filter(|cpu| !interrupted.contains(cpu)));
    let near = without(&near_cpus(frame, nic));
    let all = if near.is_empty() { without(&open_cpus(frame)) } else { near };
    if all.is_empty() { Err(Refusal::because(text::NO_CPU.to_string())) } else { Ok(all) }
}

/// RFS requires entries in both tables.
fn sock_flows(case: &Case<'_>, flows: Option<u64>, plan: &mut Plan) {
    const NAME: &str = "net.core.rps_sock_flow_entries";
    let Some(flows) = flows.filter(|flows| *flows > 0) else { return };
    if sysctl(case.frame, NAME).is_none_or(|now| now < flows) {
        plan.commands.push(format!("sysctl -w {NAME}={flows}"));
        plan.steps.push(super::sysctls::step(NAME, NAME, flows.to_string()));
    }
}

/// Assigns each CPU to a transmit queue.
fn xps(case: &Case<'_>, nic: &Nic) -> Result<Vec<Setting>, Refusal> {
    let queues: Vec<&Queue> = sending(nic).collect();
    if queues.len() < 2 {
        return Err(Refusal::because(text::OneQueue { nic: &nic.name }.to_string()));
    }
    let online: Vec<u32> = case.frame.topology.cpus_online.iter().collect();
    let of = |at: usize| IdSet::from_ids(online.iter().copied().skip(at).step_by(queues.len()));
    let settings = queues.iter().enumerate().filter(|(at, queue)| queue.xps_cpus.as_deref() != Some(&of(*at)));
    Ok(settings.map(|(at, queue)| (format!("queues/tx-{}/xps_cpus", queue.queue), mask(&of(at)))).collect())
}

#[cfg(test)]
mod tests {
    use super::super::Refusal;
    use super::super::testing::{plan, plan_text};
    use super::FIX;
    use crate::IdSet;
    use crate::frame::Frame;
    use std::sync::Arc;

    /// Its queues say that nothing is handed on.
    fn off(frame: &mut Frame) {
        frame.nics[0].queues.iter_mut().for_each(|queue| queue.rps_cpus = Some(Arc::default()));
    }

    #[test]
    fn one_queue_is_handed_to_the_others_of_its_node() {
        insta::assert_snapshot!(plan_text(&plan(&FIX, "NIC-05", &[], off).expect("a plan")));
    }

    #[test]
    fn a_program_in_the_driver_comes_before() {
        let with = |mode: &'static str| {
            let change = move |frame: &mut Frame| {
                off(frame);
                (frame.nics[0].xdp, frame.nics[0].xdp_program) = (mode.into(), Some(81));
            };
            plan(&FIX, "NIC-05", &[], change).expect("a plan").breaks
        };
        assert!(with("native").iter().any(|effect| effect.contains("XDP program (81, native)")));
        assert!(!with("generic").iter().any(|effect| effect.contains("XDP")));
    }

    #[test]
    fn the_hottest_of_many_is_relieved() {
        let plan = plan(&FIX, "NIC-04", &[], off).expect("a plan");
        let written: Vec<(String, &str)> =
            plan.steps.iter().map(|step| (step.target.to_string(), &*step.new)).collect();
        assert_eq!(written, [("/sys/class/net/eth0/queues/rx-2/rps_cpus".to_owned(), "b")]);
    }

    #[test]
    fn a_hot_cpu_hands_on_what_its_queues_receive() {
        let plan = plan(&FIX, "IRQ-01", &[], off).expect("a plan");
        assert_eq!(plan.title, "Steer packets of eth0 rx-1 to CPU(s) 0,2-3");
        let virtual_only = |frame: &mut Frame| frame.nics.clear();
        assert_eq!(super::super::testing::plan(&FIX, "IRQ-01", &[], virtual_only), Err(Refusal::NotForThis));
    }

    #[test]
    fn flows_and_senders_are_steered_when_asked() {
        let four = |frame: &mut Frame| {
            off(frame);
            frame.sysctls.push(("net.core.rps_sock_flow_entries".into(), "0".into()));
        };
        let plan = plan(&FIX, "NIC-04", &[("flows", "30000"), ("xps", "yes")], four).expect("a plan");
        let written: Vec<String> = plan.steps.iter().map(|step| format!("{} {}", step.target, step.new)).collect();
        insta::assert_snapshot!(written.join("\n"));
    }

    #[test]
    fn flows_are_powers_of_two_in_commands_and_values() {
        let one = |frame: &mut Frame| {
            off(frame);
            frame.sysctls.push(("net.core.rps_sock_flow_entries".into(), "0".into()));
        };
        let plan = plan(&FIX, "NIC-05", &[("flows", "30000")], one).expect("a plan");
        let of =
            |name: &str| plan.steps.iter().find(|step| step.target.to_string().ends_with(name)).map(|step| &*step.new);
        assert_eq!(of("rps_sock_flow_entries"), Some("32768"));
        let each: u64 = of("rps_flow_cnt").and_then(|each| each.parse().ok()).expect("a number");
        assert!(each.is_power_of_two() && each <= 32_768, "{each}");
        assert!(plan.commands.iter().any(|line| line == "sysctl -w net.core.rps_sock_flow_entries=32768"));
        let none = super::power_of_two(0);
        assert_eq!(none, 0, "off stays off");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let why = |set: &[(&str, &str)], change: fn(&mut Frame)| match plan(&FIX, "NIC-05", set, change) {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(&[("cpus", "0,99")], off), "invalid cpus=0,99: online CPUs are 0-7");
        assert_eq!(why(&[("cpus", "many")], off), "invalid cpus=many: use a CPU list such as 0-3,8");
        let isolated = |frame: &mut Frame| {
            off(frame);
            Arc::make_mut(&mut frame.topology).cpus[6].isolated = true;
        };
        assert!(why(&[("cpus", "5-6")], isolated).starts_with("CPU(s) 6 in the list are isolated;"));
        assert!(why(&[("xps", "yes")], off).contains("a single transmit queue"));
        assert!(why(&[], |frame| frame.nics[0].queues[0].rps_cpus = None).contains("cannot read rps_cpus"));
    }

    #[test]
    fn isolated_cpus_get_nothing() {
        let isolated = |frame: &mut Frame| {
            off(frame);
            Arc::make_mut(&mut frame.topology).cpus[2].isolated = true;
        };
        let plan = plan(&FIX, "NIC-05", &[], isolated).expect("a plan");
        assert_eq!(plan.steps[0].new, super::mask(&IdSet::parse_list("0,3").expect("a list")));
    }
}
