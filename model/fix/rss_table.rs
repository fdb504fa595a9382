//! F-RSS: spreads the RSS indirection table evenly over all queues.

use super::network::{guards, identity, net_admin, of_host, of_nic, receiving, udev_rule, word};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Step, Target, Verify, network};
use crate::Total as _;
use crate::frame::Nic;
use crate::locale::fix::rss_table as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-RSS",
    name: text::NAME,
    answers: &[(rules::rss_skew::ID, 0)],
    executable: true,
    parameters: &[Parameter { name: "queues", unit: "queues", about: text::ABOUT_QUEUES }],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let nic = network::nic(case)?;
    let name = &nic.name;
    let all = receiving(nic).count() as u64;
    if nic.rss_indirection.is_empty() {
        return Err(Refusal::until(text::Unread { nic: &name }.to_string(), text::NEEDS_DRIVER.to_string()));
    }
    // A queue without an entry receives nothing, and drivers refuse to spread over more queues than they have entries.
    let entries = nic.rss_indirection.iter().map(|entry| entry.1).total();
    let most = all.min(entries).max(1);
    let queues = case.number("queues", 1..=most)?.unwrap_or(most);
    if is_even(nic, queues) {
        let why = text::Even { nic: &name, queues: &queues }.to_string();
        let needs = text::NeedsFlows { nic: &word(nic) }.to_string();
        return Err(Refusal::until(why, needs));
    }
    let mut plan = case.plan(FIX.id, text::Title { nic: &name, queues: &queues }.to_string());
    plan.identity = vec![identity(nic)];
    plan.commands = vec![format!("ethtool -X {} equal {queues}", word(nic))];
    plan.steps =
        vec![Step::new(text::STEP.to_string(), Target::RssTable { nic: name.to_string() }, format!("equal {queues}"))];
    plan.breaks = vec![text::BREAKS.to_string()];
    plan.risk = Risk::Disruptive;
    plan.needs = vec![net_admin(text::NEED)];
    plan.undo = text::UNDO.to_string();
    plan.lost = vec![text::LOST.to_string()];
    plan.reverters = vec![text::REVERTER.to_string()];
    plan.verify = Verify {
        load: Some(of_nic(nic, "nic.rx_packets")),
        cost: Some(of_host("host.busiest_softirq")),
        guards: guards(nic),
        shown: vec![of_nic(nic, "nic.on_one_queue"), of_host("host.net_rx_on_one_cpu")],
        ..plan.verify
    };
    let run = format!("RUN+=\"/usr/sbin/ethtool -X {name} equal {queues}\"");
    plan.persistent = udev_rule(nic, &[run]);
    Ok(plan)
}

/// True where the first queues have equally many entries, but for a remainder, and the others none.
fn is_even(nic: &Nic, queues: u64) -> bool {
    let counts: Vec<u64> =
        nic.rss_indirection.iter().filter(|entry| u64::from(entry.0) < queues).map(|entry| entry.1).collect();
    let others = nic.rss_indirection.iter().any(|entry| u64::from(entry.0) >= queues && entry.1 > 0);
    let (least, most) = (counts.iter().min(), counts.iter().max());
    !others && counts.len() as u64 == queues && least.zip(most).is_some_and(|(least, most)| most - least <= 1)
}

#[cfg(test)]
mod tests {
    use super::super::Refusal;
    use super::super::testing::{plan, plan_text};
    use super::FIX;
    use crate::frame::Frame;

    fn favours(frame: &mut Frame) {
        frame.nics[0].rss_indirection = vec![(0, 16), (1, 16), (2, 80), (3, 16)];
    }

    #[test]
    fn a_table_that_favours_a_queue_is_spread() {
        insta::assert_snapshot!(plan_text(&plan(&FIX, "NIC-04", &[], favours).expect("a plan")));
        let three = plan(&FIX, "NIC-04", &[("queues", "3")], favours).expect("a plan");
        assert_eq!(three.steps[0].new, "equal 3");
        assert!(plan(&FIX, "NIC-04", &[("queues", "5")], favours).is_err());
    }

    #[test]
    fn never_more_queues_than_entries() {
        let small = |frame: &mut Frame| frame.nics[0].rss_indirection = vec![(0, 1), (2, 1), (3, 1)];
        assert_eq!(plan(&FIX, "NIC-04", &[], small).expect("a plan").steps[0].new, "equal 3");
        let Err(Refusal::Refused { why, .. }) = plan(&FIX, "NIC-04", &[("queues", "4")], small) else { panic!() };
        assert_eq!(why, "invalid queues=4: use a number from 1 to 3");
    }

    #[test]
    fn one_flow_is_no_matter_of_the_table() {
        let even = plan(&FIX, "NIC-04", &[], |_| ());
        let Err(Refusal::Refused { why, needs }) = even else { panic!("{even:?}") };
        assert!(why.contains("one flow cannot be split") && needs.contains("rx-flow-hash udp4 sdfn"), "{why} {needs}");
        let unread = plan(&FIX, "NIC-04", &[], |frame| frame.nics[0].rss_indirection.clear());
        assert!(matches!(unread, Err(Refusal::Refused { why, .. }) if why.contains("cannot read")));
    }
}
