//! Network cards and disks of a moving machine.

use super::machine::{Irq, Machine, list};
use std::fmt::Write as _;

/// A network card.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    pub(crate) name: &'static str,
    pub(crate) driver: &'static str,
    pub(crate) speed: i64,
    /// The node it is on; −1 where it has none.
    pub(crate) node: i64,
    /// For each queue: the CPU that its interrupt goes to, and packets a second.
    pub(crate) queues: Vec<(u32, u64)>,
    /// Now and at most, of rx, tx and combined channels; other ones are one of one.
    pub(crate) channels: [(u32, u32); 3],
    /// The same of rx and tx rings.
    pub(crate) rings: [(u32, u32); 2],
    /// Bytes a second, in and out.
    pub(crate) bytes: (u64, u64),
    /// Packets dropped a second.
    pub(crate) drops: u64,
    /// The RSS indirection table; empty where the driver has none.
    pub(crate) indirection: Vec<u32>,
    /// More counters of the driver: names and numbers that move.
    pub(crate) statistics: Vec<(&'static str, &'static str)>,
    /// More files of its directory, and of its device's.
    pub(crate) files: Vec<(&'static str, &'static str)>,
    pub(crate) device_files: Vec<(&'static str, &'static str)>,
}

impl Nic {
    /// eth0, 25 Gbit/s, on node 0, with a combined queue for each of these CPUs.
    pub(crate) fn new(cpus: &[u32], packets: u64) -> Self {
        let count = cpus.len() as u32;
        Self {
            name: "eth0",
            driver: "ice",
            speed: 25_000,
            node: 0,
            queues: cpus.iter().map(|cpu| (*cpu, packets)).collect(),
            channels: [(0, 0), (0, 0), (count, count)],
            rings: [(1024, 1024), (1024, 1024)],
            bytes: (packets * u64::from(count) * 600, 1_000_000),
            drops: 0,
            indirection: (0..128).map(|entry| entry % count.max(1)).collect(),
            statistics: Vec::new(),
            files: Vec::new(),
            device_files: Vec::new(),
        }
    }
}

/// A disk.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) name: &'static str,
    pub(crate) major_minor: (u32, u32),
    pub(crate) rotational: bool,
    pub(crate) scheduler: &'static str,
    /// `write back` or `write through`.
    pub(crate) cache: &'static str,
    /// Requests that its queue takes, and its hardware queues.
    pub(crate) depth: (u32, u32),
    /// Requests a second, their bytes, and ms each.
    pub(crate) reads: (u64, u64, f64),
    pub(crate) writes: (u64, u64, f64),
    /// Flushes a second, and ms each.
    pub(crate) flushes: (u64, f64),
    /// ms of each second with a request on its way.
    pub(crate) busy_ms: u64,
}

impl Disk {
    /// A fast drive with nothing to do.
    pub(crate) const NVME: Self = Self {
        name: "nvme0n1",
        major_minor: (259, 0),
        rotational: false,
        scheduler: "[none] mq-deadline",
        cache: "write back",
        depth: (1023, 32),
        reads: (0, 0, 0.0),
        writes: (0, 0, 0.0),
        flushes: (0, 0.0),
        busy_ms: 0,
    };
    /// A SATA disk with nothing to do.
    pub(crate) const SATA: Self =
        Self { name: "sda", major_minor: (8, 0), scheduler: "[mq-deadline] none", depth: (64, 1), ..Self::NVME };
}

impl Machine {
    /// A card: its interrupts, queues, counters and facts. What its CPUs have to do with it is said apart.
    pub(crate) fn nic(mut self, nic: &Nic) -> Self {
        let index = 2 + self.net_dev.lines().count() as u32;
        let address = format!("0000:{:02x}:00.0", 0x3a + index);
        let pci = format!("sys/devices/pci0000:3a/{address}");
        let first = 100 * index;
        for (queue, (cpu, packets)) in (0u32..).zip(&nic.queues) {
            let number = first + queue;
            let name = format!("{}-TxRx-{queue}", nic.name);
            self.irqs.push(Irq { number, name, cpu: *cpu, per_second: packets.div_ceil(4).min(20_000) });
            self = self.file(&format!("{pci}/msi_irqs/{number}"), "msix\n");
        }
        let packets: u64 = nic.queues.iter().map(|queue| queue.1).sum();
        let _ = writeln!(
            self.net_dev,
            "  {}: {{1000000~{}}} {{1000~{packets}}} 0 {{0~{}}} 0 0 0 0 {{5000~{}}} {{500~{}}} 0 0 0 0 0 0",
            nic.name,
            nic.bytes.0,
            nic.drops,
            nic.bytes.1,
            packets / 2
        );
        let near = usize::try_from(nic.node).ok().and_then(|node| self.nodes.get(node));
        let near = near.map_or_else(|| self.cpus(), |node| node.cpus.clone());
        let device = [
            ("class", "0x020000".to_owned()),
            ("numa_node", nic.node.to_string()),
            ("local_cpulist", list(&near)),
            ("vendor", "0x8086".to_owned()),
            ("device", "0x1592".to_owned()),
        ];
        for (name, text) in device {
            self = self.file(&format!("{pci}/{name}"), &(text + "\n"));
        }
        for (name, text) in &nic.device_files {
            self = self.file(&format!("{pci}/{name}"), text);
        }
        self.link(&format!("{pci}/driver"), &format!("../../../bus/pci/drivers/{}", nic.driver))
            .link(&format!("sys/bus/pci/devices/{address}"), &format!("../../../devices/pci0000:3a/{address}"))
            .file(&format!("sys/bus/pci/drivers/{}/module", nic.driver), "\n")
            .interface(nic, index, &pci)
            .answers(nic, &address)
    }

    fn interface(mut self, nic: &Nic, index: u32, pci: &str) -> Self {
        let net = format!("{pci}/net/{}", nic.name);
        let facts = [
            ("ifindex", index.to_string()),
            ("carrier", "1".to_owned()),
            ("carrier_changes", "2".to_owned()),
            ("speed", nic.speed.to_string()),
            ("mtu", "1500".to_owned()),
            ("operstate", "up".to_owned()),
            ("type", "1".to_owned()),
            ("statistics/rx_missed_errors", "0".to_owned()),
        ];
        for (name, text) in facts {
            self = self.file(&format!("{net}/{name}"), &(text + "\n"));
        }
        for (name, text) in &nic.files {
            self = self.file(&format!("{net}/{name}"), text);
        }
        for queue in 0..nic.queues.len() {
            self = self
                .file(&format!("{net}/queues/rx-{queue}/rps_cpus"), "0\n")
                .file(&format!("{net}/queues/rx-{queue}/rps_flow_cnt"), "0\n")
                .file(&format!("{net}/queues/tx-{queue}/xps_cpus"), "0\n");
        }
        let below = pci.strip_prefix("sys/").unwrap_or(pci);
        self.link(&format!("{net}/device"), "../..")
            .link(&format!("sys/class/net/{}", nic.name), &format!("../../{below}/net/{}", nic.name))
    }

    /// What the kernel answers by ethtool.
    fn answers(self, nic: &Nic, address: &str) -> Self {
        let [rx, tx, combined] = nic.channels;
        let pair = |(now, most): (u32, u32)| format!("{now} {most}");
        let channels = format!("rx {}\ntx {}\nother 1 1\ncombined {}\n", pair(rx), pair(tx), pair(combined));
        let [rx, tx] = nic.rings;
        let rings = format!("rx {}\ntx {}\nother 0 0\ncombined 0 0\n", pair(rx), pair(tx));
        let mut statistics = String::new();
        for (queue, (_, packets)) in nic.queues.iter().enumerate() {
            let _ = writeln!(statistics, "{{1000~{packets}}} rx_queue_{queue}_packets");
            let _ = writeln!(statistics, "{{1000~{}}} tx_queue_{queue}_packets", packets / 2);
        }
        for (name, value) in &nic.statistics {
            let _ = writeln!(statistics, "{value} {name}");
        }
        let base = format!("topotop/nic/{}", nic.name);
        let table: Vec<String> = nic.indirection.iter().map(ToString::to_string).collect();
        let machine = self
            .file(&format!("{base}/driver"), &format!("{}\n{address}\n", nic.driver))
            .file(&format!("{base}/channels"), &channels)
            .file(&format!("{base}/rings"), &rings)
            .file(&format!("{base}/statistics"), &statistics);
        if table.is_empty() { machine } else { machine.file(&format!("{base}/indirection"), &(table.join(" ") + "\n")) }
    }

    /// A disk.
    pub(crate) fn disk(mut self, disk: &Disk) -> Self {
        let (major, minor) = disk.major_minor;
        let side = |(count, bytes, ms): (u64, u64, f64)| {
            format!("{{200~{count}}} 0 {{1600~{}}} {{100~{}}}", bytes / 512, (count as f64 * ms) as u64)
        };
        let (flushes, flush_ms) = disk.flushes;
        let waited = |(count, _, ms): (u64, u64, f64)| count as f64 * ms;
        let weighted = waited(disk.reads) + waited(disk.writes);
        let _ = writeln!(
            self.diskstats,
            "{major:>4} {minor:>7} {} {} {} {} {{150~{}}} {{160~{}}} 0 0 0 0 {{10~{flushes}}} {{10~{}}}",
            disk.name,
            side(disk.reads),
            side(disk.writes),
            weighted as u64 / 1000,
            disk.busy_ms,
            weighted as u64,
            (flushes as f64 * flush_ms) as u64
        );
        let dir = format!("sys/devices/pci0000:00/0000:00:17.0/block/{}", disk.name);
        let rotational = u32::from(disk.rotational);
        let facts = [
            ("size", "4000000000".to_owned()),
            ("dev", format!("{major}:{minor}")),
            ("queue/rotational", rotational.to_string()),
            ("queue/scheduler", disk.scheduler.to_owned()),
            ("queue/write_cache", disk.cache.to_owned()),
            ("queue/nr_requests", disk.depth.0.to_string()),
        ];
        for (name, text) in facts {
            self = self.file(&format!("{dir}/{name}"), &(text + "\n"));
        }
        for queue in 0..disk.depth.1 {
            self = self.file(&format!("{dir}/mq/{queue}/nr_tags"), &format!("{}\n", disk.depth.0));
        }
        let below = dir.strip_prefix("sys/").unwrap_or(&dir).to_owned();
        self.link(&format!("sys/block/{}", disk.name), &format!("../{below}"))
    }
}
