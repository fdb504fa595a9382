//! The kinds of machines, and the command of QEMU for each.

use crate::scenario::Scenario;
use crate::scenarios;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A kind of machine and the scenarios that it runs.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Which kernel of the image.
    kernel: &'static str,
    /// The network card, as QEMU names it; empty for none.
    pub(crate) card: &'static str,
    /// CPUs that are present, of eight places on four nodes.
    cpus: u32,
    /// Memory by node in MiB; a node beyond the fourth has no CPUs.
    memory: &'static [u32],
    /// The node of the network card.
    card_node: u32,
    /// True where figures are measured: it runs when no other machine does, with a thread for each of its CPUs, so that
    /// how busy a CPU is follows from its work and not from the host.
    pub(crate) measured: bool,
    /// Parameters of the kernel.
    append: &'static str,
    pub(crate) scenarios: &'static [&'static Scenario],
}

/// An odd one: seven CPUs, a node without any, an interface with four queues, control groups of version 2.
const VIRTIO: Shape = Shape {
    name: "virtio",
    kernel: "new",
    card: "virtio-net-pci",
    cpus: 7,
    memory: &[512, 512, 512, 256, 256],
    card_node: 2,
    measured: false,
    append: "",
    scenarios: scenarios::VIRTIO,
};

/// A common one: an older kernel, a card like real ones, an isolated CPU.
const IGB: Shape = Shape {
    name: "igb",
    kernel: "old",
    card: "igb",
    cpus: 8,
    memory: &[512, 512, 512, 512],
    card_node: 2,
    measured: false,
    append: "isolcpus=7",
    scenarios: scenarios::IGB,
};

/// Control groups of version 1.
const V1: Shape = Shape {
    name: "v1",
    kernel: "old",
    card: "",
    cpus: 2,
    memory: &[512, 256, 256, 256],
    card_node: 0,
    measured: false,
    append: "guest.cgroup=v1",
    scenarios: scenarios::V1,
};

/// Its first process is systemd, which has all control groups and daemons.
const SYSTEMD: Shape = Shape {
    name: "systemd",
    append: "guest.systemd systemd.unit=guest.target systemd.show_status=error systemd.default_timeout_start_sec=300",
    scenarios: scenarios::SYSTEMD,
    ..VIRTIO
};

const VIRTIO_MEASURED: Shape =
    Shape { name: "virtio-measured", measured: true, scenarios: scenarios::VIRTIO_MEASURED, ..VIRTIO };
const IGB_MEASURED: Shape = Shape { name: "igb-measured", measured: true, scenarios: scenarios::IGB_MEASURED, ..IGB };
const V1_MEASURED: Shape = Shape { name: "v1-measured", measured: true, scenarios: scenarios::V1_MEASURED, ..V1 };

pub(crate) const SHAPES: &[Shape] = &[VIRTIO, IGB, V1, SYSTEMD, VIRTIO_MEASURED, IGB_MEASURED, V1_MEASURED];

/// The first version of QEMU whose CPUs may have a thread each: 7.2 crashes with them.
const THREADS_SINCE: u32 = 10;

const APPEND: &str = "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off nokaslr no_timer_check tsc=reliable \
    cryptomgr.notests random.trust_cpu=on psi=1 numa_balancing=disable";

/// With a thread for each CPU the emulator loses writes to interrupt controllers while the kernel assigns resources to
/// devices, and CPUs sleep for ever: `init` starts all but the first CPU afterwards.
const ONE_CPU_FIRST: &str = "maxcpus=1";

/// The files of one boot, and its network.
pub(crate) struct Place<'a> {
    pub(crate) image: &'a Path,
    pub(crate) work: &'a Path,
    /// Whether tap0 exists.
    pub(crate) network: bool,
}

impl Shape {
    /// Why this QEMU cannot emulate its card.
    pub(crate) fn card_missing(&self, image: &Path) -> Option<String> {
        let help = format!("{},help", self.card);
        let output = Command::new(image.join("qemu")).args(["-device", &help]).output();
        match output {
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                Some(format!("this QEMU has no {}: {}", self.card, String::from_utf8_lossy(&output.stderr).trim()))
            }
            Err(error) => Some(format!("qemu: {error}")),
        }
    }

    /// The command that starts it.
    pub(crate) fn command(&self, place: &Place<'_>) -> Command {
        // The machine ends with this process.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(place.image.join("qemu"));
        let fast = kvm(place.image, place.work);
        if fast {
            command.args(["-accel", "kvm", "-cpu", "host"]);
        } else {
            // One thread for all CPUs disturbs the machines beside it least.
            let threads = if self.measured && version(place.image) >= THREADS_SINCE { "multi" } else { "single" };
            command.args(["-accel", &format!("tcg,thread={threads},tb-size=256"), "-cpu", "max,la57=off"]);
        }
        let total: u32 = self.memory.iter().sum();
        command.args(["-machine", "q35,usb=off,vmport=off,smbus=off,hpet=off", "-m", &total.to_string()]);
        command.args(["-smp", &format!("{},maxcpus=8,sockets=4,cores=2,threads=1", self.cpus)]);
        self.nodes(&mut command);
        command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-device", "virtio-rng-pci"]);
        command.arg("-kernel").arg(place.image.join(format!("vmlinuz-{}", self.kernel)));
        command.arg("-initrd").arg(place.image.join(format!("initrd-{}", self.kernel)));
        let first = if self.measured { ONE_CPU_FIRST } else { "" };
        command.args(["-append", &format!("{APPEND} {first} {}", self.append)]);
        let file = |name: &str| place.work.join(name).display().to_string();
        command.args(["-serial", &format!("file:{}", file("console")), "-serial", &format!("file:{}", file("log"))]);
        command.args(["-chardev", &format!("file,id=out,path={}", file("out")), "-device", "virtio-serial-pci"]);
        command.args(["-device", "virtserialport,chardev=out,name=out"]);
        let root = place.image.join("root.ext4").display().to_string();
        let disks = [
            ("root", root, "snapshot=on"),
            ("test", file("test.img"), "readonly=on"),
            ("data", file("data.img"), "cache=unsafe"),
            ("slow", file("slow.img"), "cache=unsafe,throttling.iops-total=20"),
        ];
        for (name, path, options) in disks {
            command.args(["-drive", &format!("if=none,id={name},file={path},format=raw,{options}")]);
            command.args(["-device", &format!("virtio-blk-pci,drive={name},serial={name}")]);
        }
        if place.network && !self.card.is_empty() {
            self.card(&mut command);
        }
        command.stdin(Stdio::null());
        command
    }

    /// CPUs and memory by node, pairs of nodes nearer than others.
    fn nodes(&self, command: &mut Command) {
        for (node, size) in self.memory.iter().enumerate() {
            command.args(["-object", &format!("memory-backend-ram,id=m{node},size={size}M")]);
            let cpus = if node < 4 { format!("cpus={}-{},", 2 * node, 2 * node + 1) } else { String::new() };
            command.args(["-numa", &format!("node,nodeid={node},{cpus}memdev=m{node}")]);
        }
        for from in 0..self.memory.len() {
            for to in from + 1..self.memory.len() {
                let distance = if from / 2 == to / 2 { 20 } else { 30 };
                command.args(["-numa", &format!("dist,src={from},dst={to},val={distance}")]);
            }
        }
    }

    /// The card is on a bus of its own, which has a node.
    fn card(&self, command: &mut Command) {
        command.args(["-device", &format!("pxb-pcie,id=far,bus=pcie.0,bus_nr=64,numa_node={}", self.card_node)]);
        command.args(["-device", "pcie-root-port,id=farport,bus=far,chassis=9,slot=9"]);
        command.args(["-netdev", "tap,id=net,ifname=tap0,script=no,downscript=no,vhost=off,queues=4"]);
        let queues = if self.card == "virtio-net-pci" { ",mq=on,vectors=10" } else { "" };
        command.args(["-device", &format!("{},netdev=net,bus=farport,mac=52:54:00:77:00:02{queues}", self.card)]);
    }
}

/// The major version of QEMU; 0 where it is unknown.
fn version(image: &Path) -> u32 {
    let output = Command::new(image.join("qemu")).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let number = text.split_once("version ").and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
    number.unwrap_or_default()
}

/// Whether KVM runs a kernel here. Opening it proves nothing: under some hypervisors a kernel stops at once and the emulator
/// waits for ever. So a trial starts one; its result is kept until the host reboots.
fn kvm(image: &Path, work: &Path) -> bool {
    let open = fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if !open {
        return false;
    }
    let known: PathBuf = image.join(format!("kvm-{}", boot.trim()));
    if let Ok(answer) = fs::read_to_string(&known) {
        return answer == "yes";
    }
    let console = work.join("trial");
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(image.join("qemu"));
    command.args([
        "-accel",
        "kvm",
        "-cpu",
        "host",
        "-machine",
        "q35",
        "-m",
        "256",
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
    ]);
    command.arg("-kernel").arg(image.join("vmlinuz-new")).arg("-initrd").arg(image.join("initrd-new"));
    command.args(["-append", "console=ttyS0 panic=-1 quiet guest.trial"]);
    command.args(["-serial", &format!("file:{}", console.display())]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(50));
    }
    // Fails where it has ended already.
    let _ = child.kill();
    let _ = child.wait();
    let works = fs::read_to_string(&console).is_ok_and(|text| text.contains("guest: no root disk"));
    // Without a kept result the next start tries again.
    let _ = fs::write(known, if works { "yes" } else { "no" });
    works
}
