//! F-RING: room for more packets until a CPU takes them.

use super::network::{guards, identity, link_file, net_admin, of_nic, pair, risks, word};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Step, Target, Verify, network};
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-RING",
    name: "lengthen an interface's receive rings",
    answers: &[(rules::nic_rx_drops::ID, 0)],
    executable: true,
    parameters: &[Parameter {
        name: "rx",
        unit: "entries",
        about: "entries of each receive ring; as many as there may be otherwise",
    }],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let nic = network::nic(case)?;
    let name = &nic.name;
    if rules::nic_rx_drops::is_in_kernel(case.finding) {
        return Err(Refusal::until(
            format!("{name} loses nothing in its rings: the kernel drops packets later on"),
            "more CPUs for them: NIC-02, NIC-05",
        ));
    }
    let Some((current, max)) = pair(nic.rx_ring) else {
        return Err(Refusal::until(
            format!("the rings of {name} could not be read"),
            "a driver that tells them (ethtool -g)",
        ));
    };
    let wanted = case.number("rx", 1..=max)?.unwrap_or(max);
    if wanted == current {
        let needs = "more CPUs for the packets (NIC-01, IRQ-03), or a faster card";
        return Err(Refusal::until(format!("the rings of {name} have {current} entries of {max} already"), needs));
    }
    let mut plan = case.plan(FIX.id, format!("{name}: rx rings {current} -> {wanted}"));
    plan.identity = vec![identity(nic)];
    plan.commands = vec![format!("ethtool -G {} rx {wanted}", word(nic))];
    plan.steps = vec![Step::new("ring entries", Target::Rings { nic: name.to_string() }, format!("rx {wanted}"))];
    plan.breaks = vec![
        "most drivers close and open the device for it: no link for 0.1 to 5 s, a bond fails over".to_owned(),
        "longer rings take memory, and packets may wait longer in them".to_owned(),
        "a measurement that runs now is void from here".to_owned(),
    ];
    plan.cuts_off = risks(case, nic);
    plan.risk = if plan.cuts_off.is_empty() { Risk::Disruptive } else { Risk::Dangerous };
    plan.needs = vec![net_admin("to set rings")];
    plan.undo = format!("ethtool -G {} rx {current}", word(nic));
    plan.reverters = vec!["NetworkManager or networkd, where a profile names the rings".to_owned()];
    plan.verify = Verify {
        load: Some(of_nic(nic, "nic.rx_packets")),
        cost: Some(of_nic(nic, "nic.rx_missed")),
        guards: guards(nic),
        shown: vec![of_nic(nic, "nic.rx_drops")],
        ..plan.verify
    };
    plan.persistent = link_file(nic, &format!("RxBufferSize={wanted}"));
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_for, surroundings, told};
    use super::super::{Refusal, Risk, Surroundings};
    use super::FIX;
    use crate::Known;
    use crate::frame::Frame;
    use crate::rules::sick;

    #[test]
    fn rings_grow_as_long_as_they_can_be() {
        insta::assert_snapshot!(told(
            &plan(&FIX, "NIC-06", &[], |frame| frame.nics[0].bus_info = "0000:01:00.0".into()).expect("a plan")
        ));
        let some = plan(&FIX, "NIC-06", &[("rx", "1024")], |_| ()).expect("a plan");
        assert_eq!(some.steps[0].new, "rx 1024");
    }

    #[test]
    fn what_does_not_help_is_refused() {
        let why = |set: &[(&str, &str)], change: fn(&mut Frame)| match plan(&FIX, "NIC-06", set, change) {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(&[("rx", "8192")], |_| ()), "rx=8192: give a number from 1 to 4096");
        assert_eq!(
            why(&[], |frame| frame.nics[0].rx_ring.current = Known::Value(4096)),
            "the rings of eth0 have 4096 entries of 4096 already"
        );
        let dropped = |frame: &mut Frame| {
            (frame.nics[0].rx.drops_per_second, frame.nics[0].rx_missed_per_second) = (Some(4000.0), Some(0.0));
        };
        assert!(why(&[], dropped).contains("the kernel drops packets later on"));
    }

    #[test]
    fn a_login_by_it_is_at_risk() {
        let (frame, finding) = sick("NIC-06", |_| ());
        let place = Surroundings { default_routes: vec!["eth0".to_owned()], ..surroundings() };
        assert_eq!(plan_for(&FIX, &frame, &finding, &[], &place).expect("a plan").risk, Risk::Dangerous);
    }
}
