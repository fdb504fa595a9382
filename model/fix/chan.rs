//! F-CHAN: as many channels as there are cores to serve them.

use super::{Case, Fix, Identity, Need, Parameter, Plan, Refusal, Risk, Snippet, Step, Target, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::frame::Nic;
use crate::rules::Subject;
use std::sync::Arc;

pub(super) const FIX: Fix = Fix {
    id: "F-CHAN",
    name: "raise an interface's channels",
    answers: &[("NIC-01", 0)],
    executable: true,
    parameters: &[
        Parameter { name: "combined", unit: "channels", about: "combined channels, where the driver has them" },
        Parameter { name: "rx", unit: "channels", about: "receive channels, where the driver splits them" },
        Parameter { name: "tx", unit: "channels", about: "send channels, where the driver splits them" },
    ],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let Subject::Nic(name) = &case.finding.subject else { return Err(Refusal::NotForThis) };
    let nic = case.frame.nic(name).ok_or(Refusal::NotForThis)?;
    let (old, new) = counts(case, nic)?;
    if old == new {
        return Err(Refusal::because(format!("{name} runs {new} already")));
    }
    let target = Target::Channels { nic: name.to_string() };
    let mut plan = case.plan(FIX.id, format!("{name}: {old} -> {new}"));
    plan.identity = vec![identity(nic)];
    plan.commands = vec![format!("ethtool -L {name} {new}")];
    plan.steps = vec![Step::new("channels", target, new.clone())];
    plan.kept = kept(case, nic);
    plan.breaks = vec![
        "many drivers close and open the device for it: no link for 0.1 to 5 s, a bond fails over; virtio and ENA lose nothing".to_owned(),
        "affinities, XPS and RPS of its queues are set anew by the driver".to_owned(),
        "a measurement that runs now is void from here".to_owned(),
    ];
    plan.cuts_off = case.surroundings.at_risk(case.frame, name);
    plan.risk = if plan.cuts_off.is_empty() { Risk::Disruptive } else { Risk::Dangerous };
    plan.needs = vec![Need { capability: "CAP_NET_ADMIN".to_owned(), what: "to set channels, in the interface's network namespace".to_owned() }];
    plan.undo = format!("ethtool -L {name} {old}, then the affinities, RPS, XPS and RSS table as they were");
    plan.lost = vec!["interrupts may bear other numbers afterwards".to_owned()];
    plan.reverters = vec!["NetworkManager or networkd, where a profile names the channels".to_owned()];
    plan.verify = verify(case, name);
    plan.persistent = Some(Snippet {
        place: format!("/etc/systemd/network/10-{name}.link"),
        text: format!("[Match]\nOriginalName={name}\n\n[Link]\n{}\n", link_settings(&new)),
    });
    Ok(plan)
}

/// The kinds of channels as they are and as they are to be.
fn counts(case: &Case<'_>, nic: &Nic) -> Result<(String, String), Refusal> {
    let wanted = case.finding.number("wanted").map_or(1, |wanted| wanted as u64);
    let kinds = [("combined", nic.combined), ("rx", nic.rx_channels), ("tx", nic.tx_channels)];
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let is_combined = nic.combined.max.value().is_some_and(|max| max > 0);
    for (kind, channel) in kinds {
        let (Some(current), Some(max)) = (channel.current.value(), channel.max.value().filter(|max| *max > 0)) else {
            if case.set.contains_key(kind) {
                return Err(Refusal::because(format!("{}: its driver has no {kind} channels", nic.name)));
            }
            continue;
        };
        let set = case.number(kind, 0..=max)?;
        // A driver that has combined channels may have others beside: they stay unless asked for.
        let by_itself = (kind == "combined" || !is_combined).then(|| wanted.min(max).max(current));
        let count = set.or(by_itself).unwrap_or(current);
        if count != current || by_itself.is_some() {
            old.push(format!("{kind} {current}"));
            new.push(format!("{kind} {count}"));
        }
    }
    if new.is_empty() {
        return Err(Refusal::until("its channels could not be read", "a driver that tells them (ethtool -l)"));
    }
    Ok((old.join(" "), new.join(" ")))
}

pub(super) fn identity(nic: &Nic) -> Identity {
    // The address is filled in when the plan is resolved: frames do not carry it.
    Identity::Nic { name: nic.name.to_string(), ifindex: nic.ifindex, address: String::new() }
}

/// What the driver sets anew although nobody asks it to.
fn kept(case: &Case<'_>, nic: &Nic) -> Vec<Target> {
    let mut kept = vec![Target::RssTable { nic: nic.name.to_string() }];
    for queue in &nic.queues {
        let base = format!("/sys/class/net/{}/queues", nic.name);
        if matches!(&*queue.direction, "rx" | "rxtx") {
            kept.push(Target::file(format!("{base}/rx-{}/rps_cpus", queue.queue)));
        }
        if matches!(&*queue.direction, "tx" | "rxtx") {
            kept.push(Target::file(format!("{base}/tx-{}/xps_cpus", queue.queue)));
        }
        let irq = queue.irq.value().and_then(|irq| case.frame.irq(irq));
        if let Some(irq) = irq.filter(|irq| irq.managed.value() != Some(true)) {
            kept.push(Target::file(format!("/proc/irq/{}/smp_affinity_list", irq.irq)));
        }
    }
    kept
}

fn verify(case: &Case<'_>, name: &Arc<str>) -> Verify {
    let nic = |metric| Watch { subject: Of::Nic(Arc::clone(name)), metric };
    let host = |metric| Watch { subject: Of::Host, metric };
    Verify {
        load: Some(nic("nic.rx_packets")),
        cost: Some(host("host.busiest_softirq")),
        guards: vec![nic("nic.rx_errors"), nic("nic.tx_errors"), nic("nic.rx_drops"), nic("nic.rx_missed")],
        shown: vec![nic("nic.on_one_queue"), host("host.net_rx_on_one_cpu")],
        settle_seconds: 5,
        ..case.plan(FIX.id, "").verify
    }
}

/// `combined 8` as networkd writes it.
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
    use super::super::testing::{plan, told};
    use super::{FIX, Refusal};

    #[test]
    fn one_queue_of_four() {
        let plan = plan(&FIX, "NIC-01", &[], |_| ()).expect("a plan");
        insta::assert_snapshot!(told(&plan));
    }

    #[test]
    fn more_than_there_are_is_refused() {
        let refused = plan(&FIX, "NIC-01", &[("combined", "5")], |_| ());
        assert_eq!(refused, Err(Refusal::because("combined=5: give a number from 0 to 4")));
    }
}
