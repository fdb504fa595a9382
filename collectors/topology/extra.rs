//! What libhwloc adds to sysfs; where the two differ, sysfs is right.

use super::renew;
use crate::hwloc::{Answer, Device};
use std::collections::HashSet;
use std::sync::Arc;
use topotop_model::tables::topology::{NodeTopology, PciDevices};
use topotop_model::{Draft, Gaps, IdSet, Known, Reason, Slots, State, Table};

/// The key of groups beside those of cache levels.
const GROUPS: u8 = u8::MAX;

/// Puts an answer into the sections that were read before, as new generations of those that it changes.
pub(super) fn merge(answer: &Result<Answer, Reason>, draft: &mut Draft, slots: &mut Slots<(u8, u32)>, now_ns: u64) {
    match answer {
        Ok(answer) => {
            groups(&answer.groups, draft, slots, now_ns);
            if tiers(&answer.tiers, draft.node_topology.data_mut()) {
                renew(&mut draft.node_topology, now_ns);
            }
            if devices(&answer.devices, draft.pci_devices.data_mut()) {
                renew(&mut draft.pci_devices, now_ns);
            }
        }
        Err(reason) => {
            let state = draft.domains.state;
            let before = std::mem::take(&mut draft.domains.gaps);
            draft.domains.begin(now_ns);
            draft.domains.state = state;
            draft.domains.gaps = Gaps::from_rows(before.iter().filter(|gap| *gap.path != *"hwloc").cloned().collect());
            draft.domains.gaps.add("hwloc", *reason, "libhwloc, without --no-hwloc");
        }
    }
}

/// Adds groups of CPUs that are there, and that are neither the machine nor a package or node again.
fn groups(groups: &[IdSet], draft: &mut Draft, slots: &mut Slots<(u8, u32)>, now_ns: u64) {
    let (cpus, nodes) = (draft.cpu_topology.data(), draft.node_topology.data());
    let all: IdSet = cpus.rows().iter().filter_map(|slot| cpus.cpu.id(slot).value()).collect();
    let packages = cpus.rows().iter().filter_map(|slot| cpus.package_siblings.get(slot));
    let known: HashSet<Arc<IdSet>> =
        packages.chain(nodes.rows().iter().filter_map(|slot| nodes.cpus.get(slot))).cloned().collect();
    let mut changed = false;
    let new = |set: &IdSet| set.is_subset(&all) && *set != all && !known.contains(set);
    for (index, set) in groups.iter().enumerate().filter(|(_, set)| new(set)) {
        let (slot, new) = slots.slot(draft.domains.data_mut(), &(GROUPS, index as u32));
        let table = draft.domains.data_mut();
        changed |= new || table.cpus.get(slot).is_none_or(|old| **old != *set);
        table.kind.set(slot, "Group");
        table.domain.set_or_clear(slot, set.first().map(u64::from));
        table.cpus.set(slot, set.clone());
        table.size_bytes.set_none(slot);
    }
    if changed {
        renew(&mut draft.domains, now_ns);
        draft.domains.state = State::Read;
    }
}

/// Names the kinds of memory; true when something is not as it was.
fn tiers(tiers: &[(u32, String)], table: &mut NodeTopology) -> bool {
    let mut changed = false;
    for slot in table.rows().iter().collect::<Vec<_>>() {
        let node = table.node.id(slot).value();
        if let Some((_, kind)) = tiers.iter().find(|(id, _)| Some(*id) == node)
            && table.tier.get(slot).is_none_or(|old| **old != **kind)
        {
            table.tier.set(slot, kind);
            changed = true;
        }
    }
    changed
}

/// Says where devices stand of which sysfs does not know; true when something is not as it was.
fn devices(devices: &[Device], table: &mut PciDevices) -> bool {
    let mut changed = false;
    for slot in table.rows().iter().collect::<Vec<_>>() {
        if matches!(table.node.get(slot), Known::Value(_)) {
            continue;
        }
        let address = table.address.get(slot);
        let Some(device) = devices.iter().find(|device| address.is_some_and(|address| **address == *device.address))
        else {
            continue;
        };
        changed |= table.hwloc_cpus.get(slot).is_none_or(|old| **old != device.cpus);
        table.hwloc_cpus.set(slot, device.cpus.clone());
        table.hwloc_distances.set(slot, device.distances.iter().copied());
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::merge;
    use crate::hwloc::Answer;
    use topotop_model::{Draft, IdSet, Reason, Slots, Table};

    #[test]
    fn sysfs_is_right_where_it_speaks() {
        let mut draft = Draft::default();
        draft.cpu_topology.begin(1);
        for cpu in 0..4 {
            let slot = draft.cpu_topology.data_mut().insert();
            draft.cpu_topology.data_mut().cpu.set(slot, cpu);
        }
        draft.pci_devices.begin(1);
        for (address, node) in [("0000:01:00.0", Some(1)), ("0000:02:00.0", None)] {
            let table = draft.pci_devices.data_mut();
            let slot = table.insert();
            table.address.set(slot, address);
            table.node.set_or_none(slot, node);
        }
        let text = "topotop-hwloc 1\ngroup 0-1\ngroup 0-3\ngroup 2-9\npci 0000:01:00.0 0-1\npci 0000:02:00.0 2-3 0=21 1=10\nend\n";
        let answer = Ok(Answer::parse(text.as_bytes()).expect("an answer"));
        let mut slots = Slots::default();
        merge(&answer, &mut draft, &mut slots, 2);
        merge(&answer, &mut draft, &mut slots, 3);
        let domains = draft.domains.data();
        assert_eq!(domains.rows().len(), 1, "neither the machine nor CPUs that are not there");
        assert_eq!(domains.cpus.get(0).map(ToString::to_string).as_deref(), Some("0-1"));
        assert_eq!(draft.domains.read_at_ns, 2, "nothing new the second time");
        let pci = draft.pci_devices.data();
        assert_eq!(pci.hwloc_cpus.get(0), None);
        assert_eq!(pci.hwloc_cpus.get(1).map(|set| IdSet::clone(set)), IdSet::parse_list("2-3"));
        assert_eq!(pci.hwloc_distances.get(1), Some(&[(0, 21), (1, 10)][..]));
        merge(&Err(Reason::TimedOut), &mut draft, &mut slots, 4);
        merge(&Err(Reason::TimedOut), &mut draft, &mut slots, 5);
        assert_eq!(draft.domains.gaps.iter().map(|gap| gap.count).collect::<Vec<_>>(), [1]);
    }
}
