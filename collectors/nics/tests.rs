use super::NicCollector;
use crate::live::{Captured, Live};
use crate::testing::put;
use crate::{Collector, Cx, Demand, Root};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use topotop_model::{Draft, Known, Table};

const DEV: &str = "Inter-|   Receive  |  Transmit\n face |bytes    packets errs\n\
    \x20   lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\n\
    \x20 eth0: 1000 20 1 2 3 0 0 0 2000 30 4 5 0 0 0 0\n";

fn read(dir: &Path) -> Draft {
    let root = Arc::new(Root::at(dir).unwrap());
    let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&root) });
    let demand = Demand { complete: true, ..Demand::default() };
    let mut buf = Vec::new();
    let mut draft = Draft::default();
    let mut cx = Cx { root: &root, live: &live, now_ns: 1_000_000_000, demand: &demand, buf: &mut buf };
    NicCollector::default().collect(&mut cx, &mut draft);
    draft
}

fn slot(draft: &Draft, name: &str) -> usize {
    let table = draft.nics.data();
    table.rows().iter().find(|&slot| &*table.name.or_empty(slot) == name).unwrap()
}

/// A virtio interface: its node and interrupts are those of the PCI function above it.
fn virtio(root: &Path) {
    let device = "sys/devices/pci0000:40/0000:41:00.0";
    let nic = format!("{device}/virtio6/net/eth0");
    for (file, text) in [("ifindex", "2\n"), ("mtu", "1500\n"), ("speed", "-1\n"), ("carrier", "1\n"), ("type", "1\n")]
    {
        put(root, format!("{nic}/{file}"), text);
    }
    put(root, format!("{nic}/queues/rx-0/rps_cpus"), "0000000c\n");
    put(root, format!("{nic}/queues/tx-0/xps_cpus"), "");
    put(root, format!("{device}/numa_node"), "2\n");
    put(root, format!("{device}/msi_irqs/71"), "msix\n");
    put(root, format!("{device}/msi_irqs/72"), "msix\n");
    std::os::unix::fs::symlink("../../../virtio6", root.join(&nic).join("device")).unwrap();
    put(root, "topotop/nic/eth0/driver", "virtio_net\n0000:41:00.0\n");
    put(root, "topotop/nic/eth0/channels", "rx 0 0\ntx 0 0\nother 0 0\ncombined 1 4\n");
    put(root, "topotop/nic/eth0/statistics", "7 rx_queue_0_packets\n9 rx_queue_0_xdp_packets\n8 tx_queue_0_packets\n");
    put(root, "proc/net/dev", DEV);
}

fn check(draft: &Draft) {
    let (nics, eth0) = (draft.nics.data(), slot(draft, "eth0"));
    assert_eq!(nics.node.get(eth0), Known::Value(2));
    assert_eq!(nics.msi_irqs.get(eth0).map(ToString::to_string).as_deref(), Some("71-72"));
    assert_eq!(nics.virtio.or_empty(eth0).to_string(), "virtio6");
    assert_eq!(nics.pci.or_empty(eth0).to_string(), "0000:41:00.0");
    assert_eq!(nics.kind.or_empty(eth0).to_string(), "physical");
    assert_eq!(nics.driver.or_empty(eth0).to_string(), "virtio_net");
    assert_eq!((nics.speed_mbps.get(eth0), nics.carrier.get(eth0)), (Known::None, Known::Value(1)));
    assert_eq!((nics.combined.get(eth0), nics.combined_max.get(eth0)), (Known::Value(1), Known::Value(4)));
    assert_eq!(nics.rx_channels.get(eth0), Known::None);
    assert_eq!((nics.rx_bytes.get(eth0), nics.tx_drops.get(eth0)), (Known::Value(1000), Known::Value(5)));
    let queues = draft.nic_queues.data();
    let packets: Vec<_> = queues.rows().iter().map(|slot| queues.packets.get(slot)).collect();
    assert_eq!(packets, [Known::Value(7), Known::Value(8)]);
    assert_eq!(queues.rps_cpus.get(0).map(ToString::to_string).as_deref(), Some("2-3"));
    assert!(queues.xps_cpus.get(1).is_none());
}

#[test]
fn class_links_and_trees_without_them_agree() {
    let dir = tempfile::tempdir().unwrap();
    virtio(dir.path());
    check(&read(dir.path()));
    fs::create_dir_all(dir.path().join("sys/class/net")).unwrap();
    let target = "../../devices/pci0000:40/0000:41:00.0/virtio6/net/eth0";
    std::os::unix::fs::symlink(target, dir.path().join("sys/class/net/eth0")).unwrap();
    put(dir.path(), "sys/class/net/bonding_masters", "\n");
    let draft = read(dir.path());
    check(&draft);
    assert_eq!(draft.nics.data().rows().len(), 2, "lo of /proc/net/dev and eth0");
}

#[test]
fn a_link_that_leads_nowhere_still_names_the_device() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sys/class/net")).unwrap();
    let target = "../../devices/pci0000:00/0000:00:03.0/net/ens3";
    std::os::unix::fs::symlink(target, dir.path().join("sys/class/net/ens3")).unwrap();
    let draft = read(dir.path());
    let (nics, ens3) = (draft.nics.data(), slot(&draft, "ens3"));
    assert_eq!(nics.pci.or_empty(ens3).to_string(), "0000:00:03.0");
    assert!(nics.rx_bytes.get(ens3).is_missing() && nics.node.get(ens3).is_missing());
    assert!(draft.nics.gaps.iter().any(|gap| &*gap.path == "proc/net/dev"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn hostile_files_cost_themselves(text: Vec<u8>, cut in 0usize..300) {
        let dir = tempfile::tempdir().unwrap();
        virtio(dir.path());
        for file in ["speed", "carrier", "ifindex", "queues/rx-0/rps_cpus"] {
            fs::write(dir.path().join("sys/devices/pci0000:40/0000:41:00.0/virtio6/net/eth0").join(file), &text).unwrap();
        }
        fs::write(dir.path().join("topotop/nic/eth0/channels"), &text).unwrap();
        fs::write(dir.path().join("proc/net/dev"), &DEV.as_bytes()[..cut.min(DEV.len())]).unwrap();
        let draft = read(dir.path());
        let (nics, eth0) = (draft.nics.data(), slot(&draft, "eth0"));
        prop_assert_eq!(nics.node.get(eth0), Known::Value(2));
        prop_assert!(matches!(nics.rx_bytes.get(eth0), Known::Missing | Known::Value(1000)));
        prop_assert!(matches!(nics.tx_drops.get(eth0), Known::Missing | Known::Value(5)));
    }
}
