//! Machines that nobody has: trees of /proc and /sys in the kernel's own formats, from a handful of numbers.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// How large a machine to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    /// CPUs, two per core; spread evenly over the nodes in blocks.
    pub(crate) cpus: u32,
    /// Nodes.
    pub(crate) nodes: u32,
    /// Device interrupts, the first `queues` of them eth0's.
    pub(crate) irqs: u32,
    /// Combined queues of eth0.
    pub(crate) queues: u32,
    /// Control groups below `/load.slice`, cgroup v2.
    pub(crate) cgroups: u32,
    /// Processes.
    pub(crate) processes: u32,
}

impl Machine {
    /// Wider than any machine on the market.
    pub(crate) const WIDE: Self =
        Self { cpus: 1024, nodes: 16, irqs: 2000, queues: 64, cgroups: 2000, processes: 5000 };
    /// Small enough to be changed file by file.
    pub(crate) const SMALL: Self = Self { cpus: 8, nodes: 2, irqs: 12, queues: 4, cgroups: 3, processes: 6 };

    /// CPUs of a node.
    pub(crate) fn cpus_per_node(&self) -> u32 {
        self.cpus / self.nodes
    }

    /// Count of an interrupt on a CPU after `step` seconds: each queue's goes to one CPU.
    pub(crate) fn irq_count(&self, irq: u32, cpu: u32, step: u64) -> u64 {
        if cpu == irq % self.cpus { 1000 + u64::from(irq) + 10 * step } else { 0 }
    }

    /// Writes the machine as it is `step` seconds after its first sample.
    pub(crate) fn write(&self, dir: &Path, step: u64) {
        self.write_proc(dir, step);
        if step == 0 {
            self.write_topology(dir);
            self.write_network(dir);
            Self::write_disks(dir);
        }
        self.write_nodes(dir, step);
        self.write_cgroups(dir, step);
        self.write_processes(dir, step);
    }

    fn write_proc(&self, dir: &Path, step: u64) {
        put(dir, "proc/stat", &self.stat(step));
        put(dir, "proc/interrupts", &self.interrupts(step));
        put(dir, "proc/softirqs", &self.softirqs(step));
        put(dir, "proc/loadavg", "1.50 1.25 1.00 3/5000 4242\n");
        put(dir, "proc/uptime", &format!("{}.00 5000.00\n", 10_000 + step));
        put(dir, "proc/meminfo", &meminfo("", (u64::from(self.nodes) * 64) << 20));
        put(dir, "proc/vmstat", &vmstat(step));
        put(dir, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Imaginary 9000\n\n");
        put(dir, "proc/sys/kernel/hostname", "wide\n");
        put(dir, "proc/sys/kernel/ostype", "Linux\n");
        put(dir, "proc/sys/kernel/osrelease", "6.6.0-wide\n");
        put(dir, "proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000001\n");
        put(dir, "proc/sys/kernel/numa_balancing", "1\n");
        put(dir, "proc/sys/vm/zone_reclaim_mode", "0\n");
        let sda = format!(
            "   8       0 sda 100 0 800 50 {0} 0 {1} {2} 1 {3} {2} 0 0 0 0 {0} 10\n   8       1 sda1 90 0 700 40 10 0 80 5 0 10 15 0 0 0 0 0 0\n",
            200 + 50 * step,
            1600 + 4000 * step,
            100 + 900 * step,
            150 + 950 * step
        );
        put(dir, "proc/diskstats", &sda);
        for (resource, gain) in [("cpu", 100_000), ("memory", 0), ("io", 300_000)] {
            let some = format!("some avg10=1.50 avg60=0.50 avg300=0.10 total={}\n", 5_000_000 + gain * step);
            let full = format!("full avg10=0.50 avg60=0.10 avg300=0.00 total={}\n", 1_000_000 + gain * step / 2);
            put(dir, &format!("proc/pressure/{resource}"), &(some + &full));
        }
        put(dir, "proc/self/mountinfo", MOUNTINFO);
        put(dir, "proc/net/dev", &net_dev(step));
        put(dir, "proc/net/softnet_stat", &self.softnet(step));
    }

    fn stat(&self, step: u64) -> String {
        let mut text = String::from("cpu  1 1 1 1 1 1 1 0 0 0\n");
        for cpu in 0..self.cpus {
            // CPU 1 drowns in softirq, the CPUs of the last node compute, the rest idles.
            let busy = cpu / self.cpus_per_node() == self.nodes - 1;
            let (user, softirq) = if busy {
                (80, 0)
            } else if cpu == 1 {
                (0, 95)
            } else {
                (1, 0)
            };
            let idle = 100 - user - softirq;
            let _ = writeln!(
                text,
                "cpu{cpu} {} 0 10 {} 5 0 {} 0 0 0",
                1000 + user * step,
                9000 + idle * step,
                20 + softirq * step
            );
        }
        let _ = write!(text, "intr {}\nctxt {}\nbtime 1700000000\nprocesses 9999\n", 5000 + step, 70_000 + 100 * step);
        text.push_str("procs_running 3\nprocs_blocked 1\nsoftirq 10 1 2 3 4 0 0 0 0 0 0\n");
        text
    }

    fn interrupts(&self, step: u64) -> String {
        let mut text = String::from("      ");
        for cpu in 0..self.cpus {
            let _ = write!(text, "{:>11}", format!("CPU{cpu}"));
        }
        text.push('\n');
        for irq in 0..self.irqs {
            let _ = write!(text, "{irq:>4}: ");
            for cpu in 0..self.cpus {
                let _ = write!(text, "{:>10} ", self.irq_count(irq, cpu, step));
            }
            let name = if irq < self.queues { format!("eth0-TxRx-{irq}") } else { format!("nvme0q{irq}") };
            let _ = writeln!(text, " PCI-MSI-X-0000:3b:00.0 {irq}-edge      {name}");
        }
        text.push_str(" LOC: ");
        for cpu in 0..self.cpus {
            let _ = write!(text, "{:>10} ", 100_000 + u64::from(cpu) + 250 * step);
        }
        text.push_str("  Local timer interrupts\n ERR:          0\n");
        text
    }

    fn softirqs(&self, step: u64) -> String {
        let mut text = String::from("                ");
        for cpu in 0..self.cpus {
            let _ = write!(text, "{:>11}", format!("CPU{cpu}"));
        }
        text.push('\n');
        for (kind, base) in [("HI", 0), ("TIMER", 50), ("NET_TX", 7), ("NET_RX", 90), ("BLOCK", 3), ("RCU", 11)] {
            let _ = write!(text, "{kind:>12}:");
            for cpu in 0..self.cpus {
                let gain = if kind == "NET_RX" && cpu == 1 { 90_000 } else { 1 };
                let _ = write!(text, " {:>10}", base + u64::from(cpu) + gain * step);
            }
            text.push('\n');
        }
        text
    }

    fn softnet(&self, step: u64) -> String {
        let mut text = String::new();
        for cpu in 0..self.cpus {
            let processed = 1000 + u64::from(cpu) + if cpu == 1 { 90_000 * step } else { step };
            let squeeze = if cpu == 1 { 300 * step } else { 0 };
            let zeros = "00000000 ".repeat(7);
            let _ = writeln!(text, "{processed:08x} 00000000 {squeeze:08x} {zeros}00000000 00000000 {cpu:08x}");
        }
        text
    }

    fn write_topology(&self, dir: &Path) {
        let cpu_dir = "sys/devices/system/cpu";
        let all = format!("0-{}\n", self.cpus - 1);
        for name in ["online", "possible", "present"] {
            put(dir, &format!("{cpu_dir}/{name}"), &all);
        }
        put(dir, &format!("{cpu_dir}/isolated"), "\n");
        for cpu in 0..self.cpus {
            let (core, node) = (cpu / 2, cpu / self.cpus_per_node());
            let topology = format!("{cpu_dir}/cpu{cpu}/topology");
            put(dir, &format!("{topology}/physical_package_id"), &format!("{}\n", node / 2));
            put(dir, &format!("{topology}/core_id"), &format!("{core}\n"));
            put(dir, &format!("{topology}/die_id"), "0\n");
            put(dir, &format!("{topology}/thread_siblings_list"), &format!("{}-{}\n", core * 2, core * 2 + 1));
            let l3 = format!("{cpu_dir}/cpu{cpu}/cache/index3");
            let first = cpu / 16 * 16;
            put(dir, &format!("{l3}/level"), "3\n");
            put(dir, &format!("{l3}/type"), "Unified\n");
            put(dir, &format!("{l3}/id"), &format!("{}\n", cpu / 16));
            put(dir, &format!("{l3}/size"), "32768K\n");
            put(dir, &format!("{l3}/shared_cpu_list"), &format!("{first}-{}\n", (first + 15).min(self.cpus - 1)));
        }
        let nodes = format!("0-{}\n", self.nodes - 1);
        for name in ["online", "possible", "has_cpu", "has_memory"] {
            put(dir, &format!("sys/devices/system/node/{name}"), &nodes);
        }
    }

    fn write_nodes(&self, dir: &Path, step: u64) {
        for node in 0..self.nodes {
            let base = format!("sys/devices/system/node/node{node}");
            let first = node * self.cpus_per_node();
            put(dir, &format!("{base}/cpulist"), &format!("{first}-{}\n", first + self.cpus_per_node() - 1));
            put(dir, &format!("{base}/meminfo"), &meminfo(&format!("Node {node} "), 64 << 20));
            let hit = 1_000_000 + 500 * step;
            let text = format!(
                "numa_hit {hit}\nnuma_miss {node}\nnuma_foreign {}\ninterleave_hit 4\nlocal_node {hit}\nother_node 9\n",
                u64::from(node) + step
            );
            put(dir, &format!("{base}/numastat"), &text);
            let distances: Vec<String> =
                (0..self.nodes).map(|other| if other == node { "10".into() } else { "21".into() }).collect();
            put(dir, &format!("{base}/distance"), &(distances.join(" ") + "\n"));
        }
    }

    fn write_network(&self, dir: &Path) {
        let pci = "sys/devices/pci0000:3a/0000:3b:00.0";
        for irq in 0..self.queues {
            put(dir, &format!("{pci}/msi_irqs/{irq}"), "msix\n");
        }
        for irq in 0..self.irqs {
            let cpu = irq % self.cpus;
            put(dir, &format!("proc/irq/{irq}/smp_affinity_list"), &format!("0-{}\n", self.cpus - 1));
            put(dir, &format!("proc/irq/{irq}/effective_affinity_list"), &format!("{cpu}\n"));
            put(dir, &format!("proc/irq/{irq}/node"), "0\n");
        }
        put(dir, &format!("{pci}/class"), "0x020000\n");
        put(dir, &format!("{pci}/numa_node"), "0\n");
        put(dir, &format!("{pci}/local_cpulist"), &format!("0-{}\n", self.cpus_per_node() - 1));
        put(dir, &format!("{pci}/vendor"), "0x8086\n");
        put(dir, &format!("{pci}/device"), "0x1572\n");
        let net = format!("{pci}/net/eth0");
        for (name, value) in [
            ("ifindex", "2"),
            ("carrier", "1"),
            ("speed", "25000"),
            ("mtu", "1500"),
            ("operstate", "up"),
            ("type", "1"),
        ] {
            put(dir, &format!("{net}/{name}"), &format!("{value}\n"));
        }
        for queue in 0..self.queues {
            put(dir, &format!("{net}/queues/rx-{queue}/rps_cpus"), "0\n");
            put(dir, &format!("{net}/queues/rx-{queue}/rps_flow_cnt"), "0\n");
            put(dir, &format!("{net}/queues/tx-{queue}/xps_cpus"), "0\n");
        }
        link(dir, "../..", &dir.join(&net).join("device"));
        link(dir, "../../devices/pci0000:3a/0000:3b:00.0/net/eth0", &dir.join("sys/class/net/eth0"));
        link(dir, "../../../devices/pci0000:3a/0000:3b:00.0", &dir.join("sys/bus/pci/devices/0000:3b:00.0"));
        put(dir, "sys/bus/pci/drivers/i40e/module", "i40e\n");
        link(dir, "../../../bus/pci/drivers/i40e", &dir.join(pci).join("driver"));
    }

    fn write_disks(dir: &Path) {
        let sda = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
        put(dir, &format!("{sda}/size"), "1000000\n");
        put(dir, &format!("{sda}/dev"), "8:0\n");
        put(dir, &format!("{sda}/queue/rotational"), "0\n");
        put(dir, &format!("{sda}/queue/scheduler"), "[none] mq-deadline\n");
        put(dir, &format!("{sda}/sda1/partition"), "1\n");
        put(dir, &format!("{sda}/sda1/dev"), "8:1\n");
        put(dir, &format!("{sda}/sda1/size"), "900000\n");
        link(dir, &format!("../{}", sda.trim_start_matches("sys/")), &dir.join("sys/block/sda"));
    }

    fn write_cgroups(&self, dir: &Path, step: u64) {
        let base = "sys/fs/cgroup";
        if step == 0 {
            put(dir, &format!("{base}/cgroup.controllers"), "cpuset cpu io memory pids\n");
            put(dir, &format!("{base}/cgroup.procs"), "");
            put(dir, &format!("{base}/cpu.stat"), "usage_usec 1000\nuser_usec 600\nsystem_usec 400\n");
            put(dir, &format!("{base}/memory.stat"), "anon 1\nfile 1\n");
        }
        let slice = format!("{base}/load.slice");
        self.write_cgroup(dir, &slice, u64::from(self.cgroups), step);
        for group in 0..self.cgroups {
            self.write_cgroup(dir, &format!("{slice}/work-{group:04}.scope"), 1, step);
        }
    }

    fn write_cgroup(&self, dir: &Path, path: &str, times: u64, step: u64) {
        let mib = 1u64 << 20;
        let (anon, file) = (10 * mib * times, 50 * mib * times);
        put(dir, &format!("{path}/memory.current"), &format!("{}\n", anon + file + mib * step));
        let stat = format!(
            "anon {anon}\nfile {file}\nshmem 4096\nfile_dirty 8192\nfile_writeback 0\ninactive_file {}\nactive_file 4096\nunevictable 0\nslab_reclaimable 4096\nslab_unreclaimable 4096\nworkingset_refault_file {}\npgscan_direct {}\npgsteal_direct 3\npgmajfault 2\n",
            file / 2,
            70 * step,
            500 * step
        );
        put(dir, &format!("{path}/memory.stat"), &stat);
        put(
            dir,
            &format!("{path}/cpu.stat"),
            &format!(
                "usage_usec {}\nnr_periods {}\nnr_throttled {}\nthrottled_usec 5\n",
                9_000 + 500_000 * step,
                10 * step,
                4 * step
            ),
        );
        if step > 0 {
            return;
        }
        put(dir, &format!("{path}/cgroup.procs"), "");
        put(dir, &format!("{path}/memory.max"), &format!("{}\n", 64 * mib * times));
        put(dir, &format!("{path}/memory.high"), "max\n");
        put(dir, &format!("{path}/memory.swap.max"), "max\n");
        put(dir, &format!("{path}/memory.swap.current"), "0\n");
        put(dir, &format!("{path}/memory.events"), "low 0\nhigh 0\nmax 7\noom 0\noom_kill 0\n");
        let half = file / 2;
        put(dir, &format!("{path}/memory.numa_stat"), &format!("anon N0={anon} N1=0\nfile N0={half} N1={half}\n"));
        put(dir, &format!("{path}/cpu.max"), "200000 100000\n");
        put(dir, &format!("{path}/cpuset.cpus.effective"), &format!("0-{}\n", self.cpus - 1));
        put(dir, &format!("{path}/cpuset.mems.effective"), &format!("0-{}\n", self.nodes - 1));
        put(dir, &format!("{path}/io.stat"), "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n");
        put(
            dir,
            &format!("{path}/memory.pressure"),
            "some avg10=6.00 avg60=1.00 avg300=0.00 total=900000\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=100000\n",
        );
    }

    fn write_processes(&self, dir: &Path, step: u64) {
        for index in 0..self.processes {
            let pid = 1 + index;
            let cpu = index % self.cpus;
            let ticks = 100 + if index < 20 { 90 * step } else { 0 };
            let base = format!("proc/{pid}");
            let comm = if index % 7 == 0 { "beam.smp" } else { "worker (x)" };
            let tail = format!(
                "S 1 {pid} {pid} 0 -1 4194304 1 0 2 0 {ticks} 50 0 0 20 0 1 0 {} 104857600 25600 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 {cpu} 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                500 + index
            );
            let stat = format!("{pid} ({comm}) {tail}");
            put(dir, &format!("{base}/stat"), &stat);
            put(dir, &format!("{base}/task/{pid}/stat"), &stat);
            if step > 0 {
                continue;
            }
            let status = format!(
                "Name:\t{comm}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{pid}\nPid:\t{pid}\nPPid:\t1\nUid:\t0\t0\t0\t0\nNSpid:\t{pid}\nVmRSS:\t  102400 kB\nThreads:\t1\nCpus_allowed_list:\t{}\nMems_allowed_list:\t0-{}\n",
                if index % 7 == 0 { format!("{cpu}") } else { format!("0-{}", self.cpus - 1) },
                self.nodes - 1
            );
            put(dir, &format!("{base}/status"), &status);
            put(dir, &format!("{base}/task/{pid}/status"), &status);
            let group = index % self.cgroups.max(1);
            put(dir, &format!("{base}/cgroup"), &format!("0::/load.slice/work-{group:04}.scope\n"));
            put(dir, &format!("{base}/cmdline"), "/usr/lib/erlang/bin/beam.smp\0-sbt\0db\0");
            put(dir, &format!("{base}/schedstat"), "1000000 500000 20\n");
            put(dir, &format!("{base}/task/{pid}/schedstat"), "1000000 500000 20\n");
        }
    }
}

const MOUNTINFO: &str = "\
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /sys rw,nosuid shared:2 - sysfs sysfs rw
23 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
";

fn meminfo(prefix: &str, total_kb: u64) -> String {
    let rows = [
        ("MemTotal", total_kb),
        ("MemFree", total_kb / 4),
        ("MemAvailable", total_kb / 2),
        ("Buffers", 1000),
        ("Cached", total_kb / 8),
        ("Active(file)", 3000),
        ("Inactive(file)", 2000),
        ("Unevictable", 0),
        ("SwapTotal", 0),
        ("SwapFree", 0),
        ("Dirty", 64),
        ("Writeback", 0),
        ("FilePages", total_kb / 8),
        ("AnonPages", total_kb / 16),
        ("Shmem", 500),
        ("SReclaimable", 700),
        ("SUnreclaim", 600),
    ];
    rows.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "{prefix}{name}:{value:>15} kB");
        text
    })
}

fn vmstat(step: u64) -> String {
    format!(
        "nr_dirty_threshold 500000\nnr_dirty_background_threshold 250000\nallocstall_normal {}\nallocstall_movable 1\npgscan_kswapd 5\npgscan_direct {}\npgsteal_kswapd 4\npgsteal_direct 3\npswpin 0\npswpout 0\npgmajfault 77\noom_kill 0\n",
        3 * step,
        40 * step
    )
}

fn net_dev(step: u64) -> String {
    let head = "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n";
    format!(
        "{head}    lo: 100 10 0 0 0 0 0 0 100 10 0 0 0 0 0 0\n  eth0: {} {} 0 {step} 0 0 0 0 {} 500 0 0 0 0 0 0\n",
        1_000_000 + 300_000_000 * step,
        1000 + 90_000 * step,
        5000 + 1_000_000 * step
    )
}

/// Writes a file and the directories above it.
pub(crate) fn put(dir: &Path, path: &str, text: &str) {
    let path: PathBuf = dir.join(path);
    if fs::write(&path, text).is_err() {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("directories of a synthetic machine");
        }
        fs::write(&path, text).expect("a file of a synthetic machine");
    }
}

fn link(_dir: &Path, target: &str, at: &Path) {
    if let Some(parent) = at.parent() {
        fs::create_dir_all(parent).expect("directories of a synthetic machine");
    }
    let _ = fs::remove_file(at);
    std::os::unix::fs::symlink(target, at).expect("a link of a synthetic machine");
}
