//! F-CHAN: raises the channels of an interface to the cores that can serve them.

use super::network::{
    affinity, guards, identity, is_movable, link_file, net_admin, of_host, of_nic, pair, risks, word,
};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Snippet, Step, Target, Verify, network};
use crate::frame::{Irq, Nic};
use crate::locale::evidence;
use crate::locale::fix as shared;
use crate::locale::fix::nic_channels as text;
use crate::rules;
use std::collections::BTreeSet;

pub(super) const FIX: Fix = Fix {
    id: "F-CHAN",
    name: text::NAME,
    answers: &[(rules::nic_channels::ID, 0)],
    executable: true,
    parameters: &[
        Parameter { name: "combined", unit: "channels", about: text::ABOUT_COMBINED },
        Parameter { name: "rx", unit: "channels", about: text::ABOUT_RX },
        Parameter { name: "tx", unit: "channels", about: text::ABOUT_TX },
    ],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let nic = network::nic(case)?;
    let name = &nic.name;
    let (old, new) = counts(case, nic)?;
    if old == new {
        return Err(Refusal::because(text::Already { nic: &name, new: &new }.to_string()));
    }
    refuse_programs(nic)?;
    let target = Target::Channels { nic: name.to_string() };
    let mut plan = case.plan(FIX.id, sentence(nic, &old, &new));
    plan.identity = vec![identity(nic)];
    plan.commands = vec![format!("ethtool -L {} {new}", word(nic))];
    plan.steps = vec![Step::new(text::STEP.to_string(), target, new.clone())];
    plan.kept = kept(case, nic);
    plan.breaks = breaks(nic);
    plan.cuts_off = risks(case, nic);
    plan.risk = if plan.cuts_off.is_empty() { Risk::Disruptive } else { Risk::Dangerous };
    plan.needs = vec![net_admin(text::NEED)];
    plan.undo = text::Undo { nic: &word(nic), channels: &old }.to_string();
    plan.lost = vec![text::LOST.to_string()];
    plan.reverters = vec![text::REVERTER.to_string()];
    plan.verify = verify(case, nic);
    plan.snippets = vec![Snippet {
        place: text::PLACE_PEER.to_string(),
        text: format!("# {}\nethtool -l DEV\nethtool -L DEV {new}\n", text::Peer { nic: &word(nic) }),
    }];
    plan.persistent = link_file(nic, &link_settings(&new));
    Ok(plan)
}

/// The title: of one kind of channel with its numbers, else with the whole lists.
fn sentence(nic: &Nic, old: &str, new: &str) -> String {
    let single = |list: &str| {
        let (kind, count) = list.split_once(' ')?;
        Some((kind.to_owned(), count.parse::<u64>().ok()?))
    };
    match single(old).zip(single(new)) {
        Some(((kind, from), (same, to))) if kind == same && from < to => {
            text::TitleRaise { nic: &nic.name, from: &from, to: &to, kind: &kind }.to_string()
        }
        Some(((kind, from), (same, to))) if kind == same => {
            text::TitleReduce { nic: &nic.name, from: &from, to: &to, kind: &kind }.to_string()
        }
        _ => text::TitleChange { nic: &nic.name, from: &old, to: &new }.to_string(),
    }
}

/// virtio_net answers EINVAL while a program is attached in its driver.
fn refuse_programs(nic: &Nic) -> Result<(), Refusal> {
    let in_driver = matches!(&*nic.xdp, "native" | "multiple");
    match network::xdp(nic).filter(|_| in_driver && &*nic.driver == "virtio_net") {
        None => Ok(()),
        Some(program) => Err(Refusal::until(
            text::Xdp { nic: &nic.name, program: &program }.to_string(),
            text::NeedsDetached { nic: &word(nic) }.to_string(),
        )),
    }
}

/// Drivers that change their channels while the link stays up.
const SMOOTH: &[&str] = &["virtio_net", "ena", "veth"];

fn breaks(nic: &Nic) -> Vec<String> {
    let link = if SMOOTH.contains(&&*nic.driver) {
        text::BreaksSmooth { driver: &nic.driver }.to_string()
    } else {
        text::BREAKS_LINK.to_string()
    };
    let mut breaks = vec![link, text::BREAKS_RESET.to_string(), shared::BREAKS_MEASUREMENT.to_string()];
    let queues = nic.rss_indirection.len();
    if queues > 0 {
        breaks.push(text::BREAKS_RSS.to_string());
    }
    breaks
}

/// The channels by kind, as they are and as wanted.
fn counts(case: &Case<'_>, nic: &Nic) -> Result<(String, String), Refusal> {
    let wanted = case.finding.number(evidence::RECOMMENDED).map_or(1, |wanted| wanted as u64);
    let kinds = [("combined", nic.channels.combined), ("rx", nic.channels.rx), ("tx", nic.channels.tx)];
    let (mut old, mut new) = (Vec::new(), Vec::new());
    // Drivers with both ways use one of them at a time: what has receive channels of its own has no combined ones.
    let is_combined = pair(nic.channels.combined).is_some() && !is_split(nic);
    // Remaining queues of each direction.
    let (mut receive, mut send) = (0, 0);
    for (kind, channel) in kinds {
        let Some((current, max)) = pair(channel) else {
            if case.set.contains_key(kind) {
                return Err(Refusal::because(text::NoKind { nic: &nic.name, kind: &kind }.to_string()));
            }
            continue;
        };
        let set = case.number(kind, 0..=max)?;
        // A driver with combined channels may have others as well: they stay unless set.
        let grows = if kind == "combined" { is_combined } else { !is_combined };
        let by_itself = grows.then(|| wanted.min(max).max(current));
        let count = set.or(by_itself).unwrap_or(current);
        receive += if kind == "tx" { 0 } else { count };
        send += if kind == "rx" { 0 } else { count };
        if count != current || by_itself.is_some() {
            old.push(format!("{kind} {current}"));
            new.push(format!("{kind} {count}"));
        }
    }
    if new.is_empty() {
        return Err(Refusal::until(text::Unread { nic: &nic.name }.to_string(), text::NEEDS_DRIVER.to_string()));
    }
    // The kernel rejects it with this message.
    if receive == 0 || send == 0 {
        let error = "requested channel counts would result in no RX or TX channel being configured";
        return Err(Refusal::because(format!("{}: {error}", new.join(" "))));
    }
    Ok((old.join(" "), new.join(" ")))
}

/// The settings that the driver resets with the channels.
fn kept(case: &Case<'_>, nic: &Nic) -> Vec<Target> {
    let mut kept = vec![Target::RssTable { nic: nic.name.to_string() }];
    let base = format!("/sys/class/net/{}/queues", nic.name);
    for queue in network::receiving(nic) {
        kept.push(Target::file(format!("{base}/rx-{}/rps_cpus", queue.queue)));
        kept.push(Target::file(format!("{base}/rx-{}/rps_flow_cnt", queue.queue)));
    }
    for queue in network::sending(nic) {
        kept.push(Target::file(format!("{base}/tx-{}/xps_cpus", queue.queue)));
    }
    // IRQs of unused queues are reassigned as well.
    let queues: BTreeSet<u32> = nic.queues.iter().filter_map(|queue| queue.irq.value()).collect();
    let of_it = |irq: &&Irq| (irq.device == nic.name || queues.contains(&irq.irq)) && is_movable(irq);
    kept.extend(case.frame.irqs.iter().filter(of_it).map(affinity));
    kept
}

/// True where receive and transmit channels are separate although the driver could combine them.
fn is_split(nic: &Nic) -> bool {
    nic.channels.combined.current.value() == Some(0) && nic.channels.rx.current.value().is_some_and(|count| count > 0)
}

fn verify(case: &Case<'_>, nic: &Nic) -> Verify {
    Verify {
        load: Some(of_nic(nic, "nic.rx_packets")),
        cost: Some(of_host("host.busiest_softirq")),
        guards: guards(nic),
        shown: vec![of_nic(nic, "nic.on_one_queue"), of_host("host.net_rx_on_one_cpu")],
        settle_seconds: 5,
        ..case.plan(FIX.id, "").verify
    }
}

/// `combined 8` in the notation of systemd-networkd.
fn link_settings(new: &str) -> String {
    let words: Vec<&str> = new.split(' ').collect();
    let setting = |pair: &[&str]| match *pair {
        ["combined", count] => Some(format!("CombinedChannels={count}")),
        ["rx", count] => Some(format!("RxChannels={count}")),
        ["tx", count] => Some(format!("TxChannels={count}")),
        _ => None,
    };
    words.chunks(2).filter_map(setting).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_for, plan_text, surroundings};
    use super::super::{Refusal, Risk, Surroundings, Target};
    use super::FIX;
    use crate::Known;
    use crate::frame::{Channel, Frame, Irq, Nic};
    use crate::rules::sick;

    fn channel(current: u64, max: u64) -> Channel {
        Channel { current: Known::Value(current), max: Known::Value(max) }
    }

    #[test]
    fn one_queue_of_four() {
        let plan = plan(&FIX, "NIC-01", &[], |_| ()).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn where_the_driver_splits_them_both_are_set() {
        let split = |frame: &mut Frame| {
            frame.nics[0].channels.combined = Channel { current: Known::None, max: Known::None };
            (frame.nics[0].channels.rx, frame.nics[0].channels.tx) = (channel(1, 3), channel(1, 2));
        };
        let split = plan(&FIX, "NIC-01", &[], split).expect("a plan");
        assert_eq!(
            (&*split.title, &*split.steps[0].new),
            ("Change the channels of eth0 from rx 1 tx 1 to rx 3 tx 2", "rx 3 tx 2")
        );
        assert_eq!(split.commands, ["ethtool -L eth0 rx 3 tx 2"]);
        assert!(split.persistent.expect("one").text.contains("RxChannels=3\nTxChannels=2\n"));
    }

    #[test]
    fn a_split_card_stays_split() {
        let split = |frame: &mut Frame| {
            frame.nics[0].channels.combined = channel(0, 8);
            (frame.nics[0].channels.rx, frame.nics[0].channels.tx) = (channel(1, 8), channel(1, 8));
        };
        assert_eq!(plan(&FIX, "NIC-01", &[], split).expect("a plan").steps[0].new, "rx 4 tx 4");
    }

    #[test]
    fn a_reset_takes_the_links_of_guests_down() {
        let (frame, finding) = sick("NIC-01", |frame| frame.nics[0].vfs = Some(4));
        let plan = plan_for(&FIX, &frame, &finding, &[], &surroundings()).expect("a plan");
        assert_eq!(plan.risk, Risk::Dangerous);
        assert!(
            plan.cuts_off.iter().any(|why| why.starts_with("its SR-IOV virtual functions (4)")),
            "{:?}",
            plan.cuts_off
        );
    }

    #[test]
    fn a_program_in_the_driver_may_lose_its_queues() {
        let with = |driver: &str, mode: &str| {
            let (frame, finding) = sick("NIC-01", |frame| {
                frame.nics[0].driver = driver.into();
                (frame.nics[0].xdp, frame.nics[0].xdp_program) = (mode.into(), Some(81));
            });
            plan_for(&FIX, &frame, &finding, &[], &surroundings())
        };
        let plan = with("mlx5_core", "native").expect("a plan");
        assert_eq!(plan.risk, Risk::Dangerous);
        assert!(plan.cuts_off.iter().any(|why| why.starts_with("an XDP program (81, native)")), "{:?}", plan.cuts_off);
        // This driver answers EINVAL.
        let Err(Refusal::Refused { why, .. }) = with("virtio_net", "native") else { panic!("refused") };
        assert!(why.contains("XDP program (81, native)"), "{why}");
        assert!(with("virtio_net", "generic").is_ok());
    }

    #[test]
    fn what_stands_beside_combined_channels_stays() {
        let beside = |frame: &mut Frame| frame.nics[0].channels.rx = channel(0, 4);
        assert_eq!(plan(&FIX, "NIC-01", &[], beside).expect("a plan").steps[0].new, "combined 4");
        let asked = plan(&FIX, "NIC-01", &[("rx", "2"), ("combined", "2")], beside).expect("a plan");
        assert_eq!(asked.steps[0].new, "combined 2 rx 2");
    }

    #[test]
    fn what_the_kernel_would_refuse_is_refused() {
        let refused = |set: &[(&str, &str)]| plan(&FIX, "NIC-01", set, |_| ()).expect_err("no plan");
        assert_eq!(refused(&[("combined", "5")]), Refusal::because("invalid combined=5: use a number from 0 to 4"));
        assert_eq!(refused(&[("combined", "x")]), Refusal::because("invalid combined=x: use a number from 0 to 4"));
        assert_eq!(refused(&[("combined", "1")]), Refusal::because("eth0 already has these channels: combined 1"));
        assert_eq!(refused(&[("rx", "1")]), Refusal::because("eth0: the driver has no rx channels"));
        let none = "combined 0: requested channel counts would result in no RX or TX channel being configured";
        assert_eq!(refused(&[("combined", "0")]), Refusal::because(none));
    }

    #[test]
    fn who_came_in_by_it_is_warned() {
        let (frame, finding) = sick("NIC-01", |frame| {
            frame.nics[0].master = Known::Value("bond0".into());
            let master = Known::Value("bond0".into());
            frame.nics.push(Nic { name: "eth1".into(), master, carrier: Known::Value(true), ..Nic::default() });
            frame.nics.push(Nic { name: "bond0".into(), kind: "virtual".into(), ..Nic::default() });
        });
        let by = |login: &str| Surroundings { login_nic: Some(login.to_owned()), ..surroundings() };
        let plan = |frame: &Frame, by: &Surroundings| plan_for(&FIX, frame, &finding, &[], by).expect("a plan");
        assert_eq!(plan(&frame, &by("eth9")).risk, Risk::Disruptive);
        for login in ["eth0", "bond0"] {
            let plan = plan(&frame, &by(login));
            assert_eq!((plan.risk, &*plan.cuts_off), (Risk::Dangerous, &["your SSH session uses it".to_owned()][..]));
        }
        let mut alone = frame.clone();
        alone.nics[1].carrier = Known::Value(false);
        assert_eq!(plan(&alone, &by("eth9")).cuts_off, ["no other interface of bond0 has a link"]);
        let mounts = Surroundings { network_mounts: vec![("eth0".into(), "/srv (nfs)".into())], ..surroundings() };
        assert_eq!(plan(&frame, &mounts).cuts_off, ["the network mount /srv (nfs) uses it"]);
    }

    #[test]
    fn affinities_are_kept_by_the_names_of_queues() {
        let named = |frame: &mut Frame| {
            let irq = |irq, name: &str, managed| Irq {
                irq,
                name: name.into(),
                managed: Known::Value(managed),
                ..Irq::default()
            };
            frame.irqs = vec![irq(40, "eth0-TxRx-0", false), irq(41, "eth0-TxRx-1", true)];
        };
        let plan = plan(&FIX, "NIC-01", &[], named).expect("a plan");
        let interrupts: Vec<&Target> =
            plan.kept.iter().filter(|kept| matches!(kept, Target::Interrupt { .. })).collect();
        assert_eq!(interrupts, [&Target::Interrupt { irq: 40, actions: "eth0-TxRx-0".to_owned() }]);
    }
}
