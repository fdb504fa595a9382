//! Shared by fixes of network interfaces and IRQs.

use super::shell::quoted;
use super::{Case, Identity, Need, Refusal, Snippet, Target};
use crate::diff::{Subject as Of, Watch};
use crate::frame::{Channel, Frame, Irq, Nic, Queue};
use crate::locale::Text;
use crate::locale::fix as shared;
use crate::rules::{Subject, parts};
use crate::{IdSet, Known};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// The interface that a finding is about.
pub(super) fn nic<'a>(case: &Case<'a>) -> Result<&'a Nic, Refusal> {
    let Subject::Nic(name) = &case.finding.subject else { return Err(Refusal::NotForThis) };
    case.frame.nic(name).ok_or(Refusal::NotForThis)
}

/// The address is filled in when a plan is resolved: frames do not carry it.
pub(super) fn identity(nic: &Nic) -> Identity {
    Identity::Nic { name: nic.name.to_string(), ifindex: nic.ifindex, address: String::new() }
}

/// Why a short loss of an interface's link could disconnect somebody.
pub(super) fn risks(case: &Case<'_>, nic: &Nic) -> Vec<String> {
    let mut risks = case.surroundings.at_risk(case.frame, &nic.name);
    if let Some(master) = nic.master.clone().value() {
        let is_other = |other: &&Nic| other.name != nic.name && other.master.clone().value().as_ref() == Some(&master);
        let mut others = case.frame.nics.iter().filter(is_other);
        if !others.any(|other| other.carrier.value() == Some(true)) {
            risks.push(shared::RiskBond { master: &master }.to_string());
        }
    }
    if let Some(count) = nic.vfs.filter(|count| *count > 0) {
        risks.push(shared::RiskVfs { count: &count }.to_string());
    }
    if let Some(program) = xdp(nic) {
        risks.push(shared::RiskXdp { program: &program }.to_string());
    }
    risks
}

/// The program that handles packets of an interface before the network stack does: `81, native`.
pub(super) fn xdp(nic: &Nic) -> Option<String> {
    let program = parts::count(nic.xdp_program.map(|program| program as f64));
    (!nic.xdp.is_empty()).then(|| format!("{program}, {}", nic.xdp))
}

/// The capability to change an interface.
pub(super) fn net_admin(what: Text) -> Need {
    Need { capability: "CAP_NET_ADMIN".to_owned(), what: what.to_string() }
}

/// A metric of an interface.
pub(super) fn of_nic(nic: &Nic, metric: &'static str) -> Watch {
    Watch { subject: Of::Nic(Arc::clone(&nic.name)), metric }
}

/// A metric of the machine.
pub(super) fn of_host(metric: &'static str) -> Watch {
    Watch { subject: Of::Host, metric }
}

/// An interface's name as a word of a command.
pub(super) fn word(nic: &Nic) -> String {
    quoted(&nic.name)
}

/// True where the name needs no quoting in a configuration file.
fn is_plain(nic: &Nic) -> bool {
    nic.name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@".contains(c))
}

/// What must not get worse at an interface.
pub(super) fn guards(nic: &Nic) -> Vec<Watch> {
    ["nic.rx_errors", "nic.tx_errors", "nic.rx_drops", "nic.rx_missed"].map(|metric| of_nic(nic, metric)).into()
}

/// A link file of networkd's udev that makes a setting last. The first file that matches counts: what the default one
/// sets of names must be repeated.
pub(super) fn link_file(nic: &Nic, settings: &str) -> Option<Snippet> {
    if !is_plain(nic) {
        return None;
    }
    let is_pci = nic.bus_info.split(':').count() == 3 && nic.bus_info.contains('.');
    let by = if is_pci { format!("Path=*pci-{}", nic.bus_info) } else { format!("OriginalName={}", nic.name) };
    let names = "NamePolicy=keep kernel database onboard slot path\nMACAddressPolicy=persistent";
    Some(Snippet {
        place: format!("/etc/systemd/network/10-{}.link", nic.name),
        text: format!("[Match]\n{by}\n\n[Link]\n{names}\n{settings}\n"),
    })
}

/// A udev rule that runs actions when an interface appears.
pub(super) fn udev_rule(nic: &Nic, actions: &[String]) -> Option<Snippet> {
    if !is_plain(nic) {
        return None;
    }
    let mut text = format!("ACTION==\"add\", SUBSYSTEM==\"net\", KERNEL==\"{}\"", nic.name);
    for action in actions {
        // A text takes whatever is written to it.
        let _ = write!(text, ", \\\n  {action}");
    }
    Some(Snippet { place: format!("/etc/udev/rules.d/90-topotop-{}.rules", nic.name), text: text + "\n" })
}

/// Channels or entries of one kind: how many there are and may be.
pub(super) fn pair(channel: Channel) -> Option<(u64, u64)> {
    Some((channel.current.value()?, channel.max.value()?)).filter(|(_, max)| *max > 0)
}

/// Online CPUs that are not isolated.
pub(super) fn open_cpus(frame: &Frame) -> IdSet {
    let kept = parts::kept_cpus(frame);
    let open = frame.topology.cpus_online.iter().filter(|cpu| !kept.contains_key(cpu));
    IdSet::from_ids(open)
}

/// Those of them on the node of an interface; all of them where the node is unknown or has none.
pub(super) fn near_cpus(frame: &Frame, nic: &Nic) -> IdSet {
    let open = open_cpus(frame);
    let node = nic.node.value().and_then(|node| frame.topology.node(node)).map(|node| &node.cpus);
    let near = node.or(nic.local_cpus.as_deref()).map(|cpus| cpus.intersection(&open)).unwrap_or_default();
    if near.is_empty() { open } else { near }
}

/// CPUs in the order of assignment: one per core, the idlest first, then their siblings.
pub(super) fn in_turn(frame: &Frame, cpus: &IdSet) -> Vec<u32> {
    let mut cores: BTreeSet<u32> = BTreeSet::new();
    let mut order: Vec<(bool, u64, u32)> = Vec::new();
    let busy = |cpu: u32| {
        // What interrupts use of a CPU goes away with them.
        let shares = frame.cpu(cpu).and_then(|cpu| cpu.shares);
        shares.map_or(0, |shares| ((shares.user + shares.system).max(0.0) * 10.0) as u64)
    };
    for cpu in cpus.iter() {
        let place = frame.topology.cpu(cpu);
        let core = place.and_then(|place| place.smt_siblings.as_ref()?.first()).unwrap_or(cpu);
        order.push((!cores.insert(core), busy(cpu), cpu));
    }
    order.sort_unstable();
    order.into_iter().map(|place| place.2).collect()
}

/// Receiving queues.
pub(super) fn receiving(nic: &Nic) -> impl Iterator<Item = &Queue> {
    nic.queues.iter().filter(|queue| &*queue.direction != "tx")
}

/// Sending queues.
pub(super) fn sending(nic: &Nic) -> impl Iterator<Item = &Queue> {
    nic.queues.iter().filter(|queue| &*queue.direction != "rx")
}

/// True where the kernel lets it be moved.
pub(super) fn is_movable(irq: &Irq) -> bool {
    !parts::is_managed(irq)
}

/// Its affinity as a target.
pub(super) fn affinity(irq: &Irq) -> Target {
    Target::Interrupt { irq: irq.irq, actions: irq.name.to_string() }
}

/// A set as the kernel writes masks: groups of 32 bits in hexadecimal, the highest first.
pub(super) fn mask(cpus: &IdSet) -> String {
    let mut words: BTreeMap<u32, u32> = BTreeMap::new();
    for cpu in cpus.iter() {
        *words.entry(cpu / 32).or_default() |= 1 << (cpu % 32);
    }
    let last = words.keys().next_back().copied().unwrap_or_default();
    let word = |at: u32| words.get(&at).copied().unwrap_or_default();
    let mut text = format!("{:x}", word(last));
    for at in (0..last).rev() {
        // A text takes whatever is written to it.
        let _ = write!(text, ",{:08x}", word(at));
    }
    text
}

/// A parameter that is a CPU list; refused where it is not a list or has offline CPUs.
pub(super) fn cpus(case: &Case<'_>, name: &str) -> Result<Option<IdSet>, Refusal> {
    let Some(text) = case.set.get(name) else { return Ok(None) };
    let online = &case.frame.topology.cpus_online;
    let set = IdSet::parse_list(text).filter(|set| !set.is_empty());
    let set = set.ok_or_else(|| Refusal::because(shared::CpuList { name: &name, text: &text }.to_string()))?;
    if set.is_subset(online) {
        return Ok(Some(set));
    }
    Err(Refusal::because(shared::CpusOffline { name: &name, text: &text, online: &online }.to_string()))
}

/// A parameter that is yes or no.
pub(super) fn yes(case: &Case<'_>, name: &str, unless: bool) -> Result<bool, Refusal> {
    match case.set.get(name).map(String::as_str) {
        None => Ok(unless),
        Some("yes") => Ok(true),
        Some("no") => Ok(false),
        Some(text) => Err(Refusal::because(shared::YesOrNo { name: &name, text: &text }.to_string())),
    }
}

/// A setting below /proc/sys, where it is a number.
pub(super) fn sysctl(frame: &Frame, name: &str) -> Option<u64> {
    frame.sysctls.iter().find(|(known, _)| **known == *name).and_then(|(_, value)| value.trim().parse().ok())
}

/// The CPU that serves a queue, where it is one.
pub(super) fn cpu_of(queue: &Queue) -> Known<u32> {
    Known::or_missing(queue.cpus.as_deref().and_then(IdSet::single))
}

#[cfg(test)]
mod tests {
    use super::mask;
    use crate::IdSet;
    use proptest::prelude::*;

    #[test]
    fn masks_are_groups_of_32() {
        let of = |list: &str| mask(&IdSet::parse_list(list).expect("a list"));
        assert_eq!(
            [of(""), of("1-3"), of("0,32"), of("100")],
            ["0", "e", "1,00000001", "10,00000000,00000000,00000000"]
        );
    }

    proptest! {
        #[test]
        fn masks_are_read_back(cpus in proptest::collection::btree_set(0u32..5000, 0..40)) {
            let set = IdSet::from_ids(cpus);
            prop_assert_eq!(IdSet::parse_map(&mask(&set)), Some(set));
        }
    }
}
