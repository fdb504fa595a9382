//! A machine: files of /proc and /sys by path, in the kernel's own formats, with numbers in them that move.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Where the clock is in the first sample, in ns.
pub(super) const START_NS: u64 = 1_000_000_000_000;
pub(super) const SECOND_NS: u64 = 1_000_000_000;

/// What a CPU does, in ticks a second; what is left is idle.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticks {
    pub(crate) user: u64,
    pub(crate) system: u64,
    pub(crate) iowait: u64,
    pub(crate) irq: u64,
    pub(crate) softirq: u64,
    pub(crate) steal: u64,
}

/// What the network does on a CPU, a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packets {
    pub(crate) processed: u64,
    pub(crate) dropped: u64,
    pub(crate) squeezed: u64,
}

/// A node of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) cpus: Vec<u32>,
    pub(crate) total_mib: u64,
    pub(crate) free_mib: u64,
    /// Distances to all nodes.
    pub(crate) distances: Vec<u32>,
    /// Pages a second.
    pub(crate) miss: u64,
    pub(crate) foreign: u64,
    /// More lines of its vmstat.
    pub(crate) vmstat: String,
}

/// A line of /proc/interrupts.
#[derive(Clone, Debug)]
pub(crate) struct Irq {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) cpu: u32,
    pub(crate) per_second: u64,
}

/// A machine, second by second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    pub(crate) nodes: Vec<Node>,
    pub(crate) ticks: BTreeMap<u32, Ticks>,
    pub(crate) packets: BTreeMap<u32, Packets>,
    pub(crate) irqs: Vec<Irq>,
    /// Lines of /proc/vmstat: names and numbers that move.
    pub(crate) vmstat: BTreeMap<&'static str, String>,
    /// Lines of /proc/diskstats, /proc/net/dev and /proc/self/mountinfo.
    pub(crate) diskstats: String,
    pub(crate) net_dev: String,
    pub(crate) mounts: String,
    /// Microseconds of PSI a second: resource, some, full.
    pub(crate) pressure: BTreeMap<&'static str, (u64, u64)>,
    /// Running and blocked tasks.
    pub(crate) running: u32,
    pub(crate) blocked: u32,
    /// Files that are written over the others.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) links: BTreeMap<String, String>,
}

impl Machine {
    /// Nodes with so many CPUs each and 64 GiB, half of it free, each 21 away from the others.
    pub(crate) fn new(nodes: u32, cpus: u32) -> Self {
        let node = |id: u32| Node {
            cpus: (id * cpus..(id + 1) * cpus).collect(),
            total_mib: 64 << 10,
            free_mib: 32 << 10,
            distances: (0..nodes).map(|other| if other == id { 10 } else { 21 }).collect(),
            miss: 0,
            foreign: 0,
            vmstat: String::new(),
        };
        let vmstat = [
            ("nr_dirty_threshold", "500000"),
            ("nr_dirty_background_threshold", "250000"),
            ("allocstall_normal", "0"),
            ("allocstall_movable", "0"),
            ("pgscan_kswapd", "0"),
            ("pgscan_direct", "0"),
            ("pgsteal_kswapd", "0"),
            ("pgsteal_direct", "0"),
            ("workingset_refault_file", "0"),
            ("pswpin", "0"),
            ("pswpout", "0"),
            ("pgmajfault", "77"),
            ("oom_kill", "0"),
        ];
        Self {
            nodes: (0..nodes).map(node).collect(),
            vmstat: vmstat.into_iter().map(|(name, value)| (name, value.to_owned())).collect(),
            mounts: MOUNTS.to_owned(),
            pressure: [("cpu", (1_000, 0)), ("memory", (0, 0)), ("io", (0, 0))].into(),
            running: 1,
            ..Self::default()
        }
    }

    /// One node with eight CPUs, idle.
    pub(crate) fn small() -> Self {
        Self::new(1, 8)
    }

    /// Its CPUs.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        self.nodes.iter().flat_map(|node| node.cpus.iter().copied()).collect()
    }

    /// The CPUs as the kernel lists them.
    pub(crate) fn cpu_list(&self) -> String {
        list(&self.cpus())
    }

    /// A CPU that works.
    pub(crate) fn cpu(mut self, cpu: u32, ticks: Ticks) -> Self {
        self.ticks.insert(cpu, ticks);
        self
    }

    /// Every CPU works.
    pub(crate) fn every_cpu(mut self, ticks: Ticks) -> Self {
        self.ticks = self.cpus().into_iter().map(|cpu| (cpu, ticks)).collect();
        self
    }

    /// Network work on a CPU.
    pub(crate) fn packets(mut self, cpu: u32, packets: Packets) -> Self {
        self.packets.insert(cpu, packets);
        self
    }

    /// PSI of the machine, in shares of the time.
    pub(crate) fn pressure(mut self, resource: &'static str, some: f64, full: f64) -> Self {
        self.pressure.insert(resource, ((some * 1e6) as u64, (full * 1e6) as u64));
        self
    }

    /// A line of /proc/vmstat.
    pub(crate) fn vmstat(mut self, name: &'static str, value: &str) -> Self {
        self.vmstat.insert(name, value.to_owned());
        self
    }

    /// A file; instead of what would be there.
    pub(crate) fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// A symbolic link.
    pub(crate) fn link(mut self, path: &str, target: &str) -> Self {
        self.links.insert(path.to_owned(), target.to_owned());
        self
    }

    /// Changes it by hand.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Writes a tree with a sample of each second.
    pub(crate) fn write(self, dir: &Path, seconds: u64) {
        super::phases::write(vec![(self, seconds + 1)], dir);
    }

    /// Adds every file that was not set by hand.
    pub(super) fn complete(&mut self) {
        let by_hand = std::mem::take(&mut self.files);
        self.processor_files();
        self.node_files();
        self.interrupt_files();
        self.network_files();
        self.memory_files();
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        self.files.extend([
            text("proc/loadavg", "1.50 1.25 1.00 3/500 4242\n"),
            text("proc/uptime", "{10000+1}.00 5000.00\n"),
            text("proc/cpuinfo", "processor\t: 0\nmodel name\t: Imaginary 9000\n\n"),
            text("proc/sys/kernel/hostname", "moving\n"),
            text("proc/sys/kernel/ostype", "Linux\n"),
            text("proc/sys/kernel/osrelease", "6.6.0-moving\n"),
            text("proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001\n"),
            text("proc/sys/kernel/numa_balancing", "1\n"),
            text("proc/sys/vm/zone_reclaim_mode", "0\n"),
        ]);
        self.files.insert("proc/self/mountinfo".to_owned(), self.mounts.clone());
        self.files.insert("proc/diskstats".to_owned(), self.diskstats.clone());
        for (resource, (some, full)) in &self.pressure {
            let line = |name: &str, gain: &u64| {
                let share = *gain as f64 / 1e4;
                format!("{name} avg10={share:.2} avg60={share:.2} avg300={share:.2} total={{5000000~{gain}}}\n")
            };
            self.files.insert(format!("proc/pressure/{resource}"), line("some", some) + &line("full", full));
        }
        self.files.extend(by_hand);
    }

    fn processor_files(&mut self) {
        let mut stat = String::from("cpu  1 1 1 1 1 1 1 0 0 0\n");
        for cpu in self.cpus() {
            let Ticks { user, system, iowait, irq, softirq, steal } = self.ticks.get(&cpu).copied().unwrap_or_default();
            let idle = 100 - user - system - iowait - irq - softirq - steal;
            let _ = writeln!(
                stat,
                "cpu{cpu} {{1000+{user}}} 0 {{100+{system}}} {{9000+{idle}}} {{5+{iowait}}} {{1+{irq}}} \
                 {{20+{softirq}}} {{0+{steal}}} 0 0"
            );
            let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            let node = self.nodes.iter().position(|node| node.cpus.contains(&cpu)).unwrap_or(0);
            for (name, value) in [
                ("physical_package_id", node.to_string()),
                ("core_id", cpu.to_string()),
                ("die_id", "0".to_owned()),
                ("thread_siblings_list", cpu.to_string()),
            ] {
                self.files.insert(format!("{topology}/{name}"), value + "\n");
            }
        }
        let _ = write!(
            stat,
            "intr {{5000~1000}}\nctxt {{70000~9000}}\nbtime 1700000000\nprocesses 9999\nprocs_running {}\nprocs_blocked {}\n",
            self.running, self.blocked
        );
        self.files.insert("proc/stat".to_owned(), stat);
        let all = self.cpu_list() + "\n";
        for name in ["online", "possible", "present"] {
            self.files.insert(format!("sys/devices/system/cpu/{name}"), all.clone());
        }
        self.files.insert("sys/devices/system/cpu/isolated".to_owned(), "\n".to_owned());
    }

    fn node_files(&mut self) {
        let ids = list(&(0..self.nodes.len() as u32).collect::<Vec<_>>()) + "\n";
        let with: Vec<u32> =
            (0u32..).zip(&self.nodes).filter(|(_, node)| !node.cpus.is_empty()).map(|pair| pair.0).collect();
        let lots: Vec<u32> =
            (0u32..).zip(&self.nodes).filter(|(_, node)| node.total_mib > 0).map(|pair| pair.0).collect();
        for (name, value) in [
            ("online", ids.clone()),
            ("possible", ids),
            ("has_cpu", list(&with) + "\n"),
            ("has_memory", list(&lots) + "\n"),
        ] {
            self.files.insert(format!("sys/devices/system/node/{name}"), value);
        }
        let mut zones = String::new();
        for (id, node) in self.nodes.iter().enumerate() {
            let base = format!("sys/devices/system/node/node{id}");
            let distances: Vec<String> = node.distances.iter().map(ToString::to_string).collect();
            let stat = format!(
                "numa_hit {{1000000~50000}}\nnuma_miss {{5~{}}}\nnuma_foreign {{5~{}}}\ninterleave_hit 4\nlocal_node {{1000000~50000}}\nother_node {{9~{}}}\n",
                node.miss, node.foreign, node.miss
            );
            self.files.insert(format!("{base}/cpulist"), list(&node.cpus) + "\n");
            self.files.insert(format!("{base}/distance"), distances.join(" ") + "\n");
            self.files.insert(format!("{base}/numastat"), stat);
            self.files.insert(
                format!("{base}/meminfo"),
                meminfo(&format!("Node {id} "), node.total_mib << 10, node.free_mib << 10),
            );
            let more = if node.vmstat.is_empty() { "nr_free_pages 1000\n" } else { &node.vmstat };
            self.files.insert(format!("{base}/vmstat"), more.to_owned());
            // The low watermark is a thousandth of the node.
            let low = node.total_mib * 256 / 1000;
            let _ = writeln!(
                zones,
                "Node {id}, zone   Normal\n  pages free     {}\n        min      {}\n        low      {low}\n        high     {}",
                node.free_mib * 256,
                low / 2,
                low * 2
            );
        }
        self.files.insert("proc/zoneinfo".to_owned(), zones);
    }

    fn interrupt_files(&mut self) {
        let cpus = self.cpus();
        let head = cpus.iter().map(|cpu| format!("{:>11}", format!("CPU{cpu}"))).collect::<Vec<_>>().concat();
        let mut interrupts = format!("      {head}\n");
        for irq in self.irqs.clone() {
            let _ = write!(interrupts, "{:>4}: ", irq.number);
            for cpu in &cpus {
                let gain = if *cpu == irq.cpu { irq.per_second } else { 0 };
                let _ = write!(interrupts, "{{1000~{gain}}} ");
            }
            let _ = writeln!(interrupts, " PCI-MSI-X-0000:3b:00.0 {}-edge      {}", irq.number, irq.name);
            let base = format!("proc/irq/{}", irq.number);
            self.files.insert(format!("{base}/smp_affinity_list"), format!("{}\n", irq.cpu));
            self.files.insert(format!("{base}/effective_affinity_list"), format!("{}\n", irq.cpu));
            self.files.insert(format!("{base}/node"), "0\n".to_owned());
        }
        self.files.insert("proc/interrupts".to_owned(), interrupts + " ERR:          0\n");
        let mut softirqs = format!("                {head}\n");
        for (kind, share) in [("TIMER", 0), ("NET_TX", 0), ("NET_RX", 1), ("BLOCK", 0), ("RCU", 0)] {
            let _ = write!(softirqs, "{kind:>12}:");
            for cpu in &cpus {
                let packets = self.packets.get(cpu).map_or(0, |packets| packets.processed);
                let _ = write!(softirqs, " {{90~{}}}", if share == 1 { packets } else { 50 });
            }
            softirqs.push('\n');
        }
        self.files.insert("proc/softirqs".to_owned(), softirqs);
    }

    fn network_files(&mut self) {
        let head = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n";
        let lo = "    lo: 100 10 0 0 0 0 0 0 100 10 0 0 0 0 0 0\n";
        self.files.insert("proc/net/dev".to_owned(), format!("{head}{lo}{}", self.net_dev));
        let mut softnet = String::new();
        for cpu in self.cpus() {
            let Packets { processed, dropped, squeezed } = self.packets.get(&cpu).copied().unwrap_or_default();
            let zeros = "00000000 ".repeat(7);
            let _ = writeln!(
                softnet,
                "{{x1000~{processed}}} {{x0~{dropped}}} {{x0~{squeezed}}} {zeros}00000000 00000000 {cpu:08x}"
            );
        }
        self.files.insert("proc/net/softnet_stat".to_owned(), softnet);
    }

    fn memory_files(&mut self) {
        let sum = |of: fn(&Node) -> u64| self.nodes.iter().map(of).sum::<u64>() << 10;
        let text = meminfo("", sum(|node| node.total_mib), sum(|node| node.free_mib));
        self.files.insert("proc/meminfo".to_owned(), text);
        let lines = self.vmstat.iter().map(|(name, value)| format!("{name} {value}\n")).collect::<Vec<_>>().concat();
        self.files.insert("proc/vmstat".to_owned(), lines);
    }
}

const MOUNTS: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /sys rw,nosuid shared:2 - sysfs sysfs rw
23 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
";

/// /proc/meminfo of a machine of which 32 of 64 GiB are free, with some lines of its own, in KiB.
pub(super) fn meminfo_with(own: &[(&str, u64)]) -> String {
    meminfo("", 64 << 20, 32 << 20).lines().fold(String::new(), |mut text, line| {
        let _ = match own.iter().find(|(name, _)| line.split(':').next() == Some(*name)) {
            Some((name, kb)) => writeln!(text, "{name}: {kb} kB"),
            None => writeln!(text, "{line}"),
        };
        text
    })
}

fn meminfo(prefix: &str, total_kb: u64, free_kb: u64) -> String {
    let cached = (total_kb - free_kb) / 2;
    let rows = [
        ("MemTotal", total_kb),
        ("MemFree", free_kb),
        ("MemAvailable", free_kb + cached),
        ("Buffers", 1000),
        ("Cached", cached),
        ("Active(file)", cached / 2),
        ("Inactive(file)", cached / 2),
        ("Unevictable", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 64),
        ("Writeback", 0),
        ("FilePages", cached),
        ("AnonPages", cached / 2),
        ("Shmem", 500),
        ("SReclaimable", 700),
        ("SUnreclaim", 600),
    ];
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{prefix}{name}:{value:>15} kB");
        text
    })
}

/// Ids as the kernel lists them.
pub(crate) fn list(ids: &[u32]) -> String {
    topotop_model::IdSet::from_ids(ids.iter().copied()).to_string()
}
