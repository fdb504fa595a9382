//! F-RING: enlarges receive rings, which hold packets until a CPU takes them.

use super::network::{guards, identity, link_file, net_admin, of_nic, pair, risks, word};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Step, Target, Verify, network};
use crate::frame::Nic;
use crate::locale::fix as shared;
use crate::locale::fix::nic_rings as text;
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-RING",
    name: text::NAME,
    answers: &[(rules::nic_rx_drops::ID, 0)],
    executable: true,
    parameters: &[Parameter { name: "rx", unit: "entries", about: text::ABOUT_RX }],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let nic = network::nic(case)?;
    let name = &nic.name;
    if rules::nic_rx_drops::is_in_kernel(case.finding) {
        return Err(Refusal::until(text::KernelDrops { nic: &name }.to_string(), text::NEEDS_CPUS.to_string()));
    }
    let Some((current, max)) = pair(nic.rx_ring) else {
        return Err(Refusal::until(text::Unread { nic: &name }.to_string(), text::NEEDS_DRIVER.to_string()));
    };
    let wanted = case.number("rx", 1..=max)?.unwrap_or(max);
    if wanted == current {
        let needs = text::NEEDS_MORE.to_string();
        return Err(Refusal::until(text::Already { nic: &name, current: &current, max: &max }.to_string(), needs));
    }
    let mut plan = case.plan(FIX.id, text::Title { nic: &name, current: &current, wanted: &wanted }.to_string());
    plan.identity = vec![identity(nic)];
    plan.commands = vec![format!("ethtool -G {} rx {wanted}", word(nic))];
    plan.steps =
        vec![Step::new(text::STEP.to_string(), Target::Rings { nic: name.to_string() }, format!("rx {wanted}"))];
    plan.breaks =
        vec![text::BREAKS_LINK.to_string(), memory(nic, current, wanted), shared::BREAKS_MEASUREMENT.to_string()];
    plan.cuts_off = risks(case, nic);
    plan.risk = if plan.cuts_off.is_empty() { Risk::Disruptive } else { Risk::Dangerous };
    plan.needs = vec![net_admin(text::NEED)];
    plan.undo = format!("ethtool -G {} rx {current}", word(nic));
    plan.reverters = vec![text::REVERTER.to_string()];
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

/// A receive buffer of most drivers: a page, or what a large MTU takes.
const BUFFER: u64 = 4096;

/// What the rings take: the driver fills each entry of each queue with a buffer.
fn memory(nic: &Nic, current: u64, wanted: u64) -> String {
    let queues = network::receiving(nic).count().max(1) as u64;
    let size = parts::bytes(Some((wanted.saturating_sub(current) * queues).saturating_mul(BUFFER) as f64));
    text::BreaksMemory { queues: &queues, entries: &wanted, size: &size }.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_for, plan_text, surroundings};
    use super::super::{Refusal, Risk, Surroundings};
    use super::FIX;
    use crate::Known;
    use crate::frame::Frame;
    use crate::rules::sick;

    #[test]
    fn rings_grow_as_long_as_they_can_be() {
        insta::assert_snapshot!(plan_text(
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
        assert_eq!(why(&[("rx", "8192")], |_| ()), "invalid rx=8192: use a number from 1 to 4096");
        assert_eq!(
            why(&[], |frame| frame.nics[0].rx_ring.current = Known::Value(4096)),
            "the rings of eth0 already have 4096 of 4096 entries"
        );
        let dropped = |frame: &mut Frame| {
            (frame.nics[0].rx.drops_per_second, frame.nics[0].rx_missed_per_second) = (Some(4000.0), Some(0.0));
        };
        assert!(why(&[], dropped).contains("the kernel drops them later"));
    }

    #[test]
    fn a_login_by_it_is_at_risk() {
        let (frame, finding) = sick("NIC-06", |_| ());
        let place = Surroundings { default_routes: vec!["eth0".to_owned()], ..surroundings() };
        assert_eq!(plan_for(&FIX, &frame, &finding, &[], &place).expect("a plan").risk, Risk::Dangerous);
        // Guests lose the link of their virtual functions.
        let (frame, finding) = sick("NIC-06", |frame| frame.nics[0].vfs = Some(4));
        let guests = plan_for(&FIX, &frame, &finding, &[], &surroundings()).expect("a plan");
        assert_eq!((guests.risk, guests.cuts_off.len()), (Risk::Dangerous, 1), "{:?}", guests.cuts_off);
    }
}
