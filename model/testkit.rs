//! Frames of made-up machines for tests and pictures: no reading, no clock, the same every time. Behind a feature that only
//! dev-dependencies enable: the program does not ship it.

mod cgroups;
mod cpus;
mod disks;
mod judgement;
mod locale;
mod machine;
mod network;
mod processes;
mod sockets;

use crate::frame::{CollectorCost, Frame, Host, Memory, Pressure, PressureStall};
use crate::history::History;
use crate::{Gap, Known, Reason, Stamp};
pub use judgement::{healthy, sick, sick_hostile, timeline};
pub use locale::{AGREED, english_words, pseudo_locale, words_in_strings};
use machine::Shape;
use std::sync::{Arc, LazyLock};

const GIB: u64 = 1 << 30;

/// A database and message-broker server in trouble: 2 packages, 4 nodes, 64 CPUs with SMT; one interface runs 1 of 8
/// queues and CPU 17 drowns in soft interrupts, a broker's page cache fills its limit, a disk is saturated.
pub fn server() -> Frame {
    server_at(240)
}

/// The server some seconds into its load test: the trouble grows in the first two minutes.
pub fn server_at(second: u64) -> Frame {
    let mut frame = machine(&Shape::SERVER, second);
    frame.host = host("db-17", "Linux 6.6.0-topo");
    network::server(&mut frame, second);
    cgroups::server(&mut frame, second);
    disks::server(&mut frame, second);
    processes::server(&mut frame, second);
    sockets::server(&mut frame);
    frame.gaps.push(gap("proc/*/numa_maps", Reason::PermissionDenied, 3, "CAP_SYS_PTRACE or root"));
    frame.unread.insert(("process_memory", Reason::PermissionDenied), 3);
    frame
}

/// 1,024 CPUs in 16 nodes and 4 packages; node 3 is busy, the rest is nearly idle.
pub fn wide() -> Frame {
    wide_of(&Shape::WIDE)
}

/// The same with 256 CPUs in 8 nodes.
pub fn large() -> Frame {
    wide_of(&Shape { packages: 2, cores_per_l3: 4, ..Shape::WIDE })
}

/// The same with 1,152 CPUs in 12 nodes.
pub fn widest() -> Frame {
    wide_of(&Shape { nodes_per_package: 3, l3_per_node: 6, ..Shape::WIDE })
}

fn wide_of(shape: &Shape) -> Frame {
    let mut frame = machine(shape, 60);
    frame.host = host("wide-1", "Linux 6.12.1");
    network::wide(&mut frame);
    cgroups::many(&mut frame, 400);
    disks::server(&mut frame, 60);
    processes::many(&mut frame, 1500);
    frame
}

/// A virtual machine with 2 CPUs, one node and a disk that is hardly used.
pub fn tiny() -> Frame {
    tiny_at(60)
}

/// The virtual machine some seconds on.
pub fn tiny_at(second: u64) -> Frame {
    let mut frame = machine(&Shape::TINY, second);
    frame.host = Host { virtualization: "kvm".into(), ..host("vm-3", "Linux 6.1.0-18-cloud") };
    network::tiny(&mut frame);
    cgroups::tiny(&mut frame);
    disks::tiny(&mut frame);
    processes::tiny(&mut frame);
    frame
}

/// A machine of which nearly nothing could be read: CPUs without rates, gaps for the rest.
pub fn blind() -> Frame {
    let mut frame = machine(&Shape::TINY, 0);
    frame.interval_seconds = None;
    frame.host = Host { kernel: "Linux 5.4.0".into(), ..Host::default() };
    frame.memory = Memory::default();
    frame.nodes.clear();
    frame.pressure.clear();
    for cpu in &mut frame.cpus {
        (cpu.shares, cpu.mhz, cpu.node) = (None, None, Known::Missing);
    }
    let mut topology = (*frame.topology).clone();
    topology.nodes.clear();
    topology.domains.clear();
    topology.packages = None;
    topology.cores = None;
    for place in &mut topology.cpus {
        (place.node, place.package, place.core, place.l3) =
            (Known::Missing, Known::Missing, Known::Missing, Known::Missing);
        place.smt_siblings = None;
    }
    frame.topology = Arc::new(topology);
    frame.gaps = vec![
        gap("proc/*/stat", Reason::PermissionDenied, 214, "the proc mount without hidepid, or root"),
        gap("proc/meminfo", Reason::Malformed, 1, ""),
        gap("proc/pressure/*", Reason::NotFound, 3, "CONFIG_PSI (Linux 4.20), psi=1"),
        gap("sys/block", Reason::PermissionDenied, 1, "root"),
        gap("sys/devices/system/node", Reason::NotFound, 1, "CONFIG_NUMA"),
        gap("sys/fs/cgroup", Reason::TimedOut, 1, ""),
    ];
    frame
}

/// The server with names that try to steer the terminal.
pub fn hostile() -> Frame {
    let mut frame = server();
    let evil: Arc<str> = "\u{1b}[31mred\u{7}\u{202e}\n名前が長いプロセス\u{200b}".into();
    frame.host.name = Arc::clone(&evil);
    frame.host.kernel = Arc::clone(&evil);
    for process in &mut frame.processes {
        (process.comm, process.cgroup, process.policy) = (Arc::clone(&evil), Arc::clone(&evil), Arc::clone(&evil));
        process.peers.iter_mut().for_each(|peer| peer.address = Arc::clone(&evil));
        for listener in process.listen.iter_mut().flatten().chain(&mut process.listen_local) {
            (listener.address, listener.protocol) = (Arc::clone(&evil), Arc::clone(&evil));
        }
    }
    for thread in &mut frame.threads {
        thread.comm = Arc::clone(&evil);
    }
    for (index, cgroup) in frame.cgroups.iter_mut().enumerate() {
        cgroup.path = format!("/{index}{evil}").into();
        cgroup.container = None;
    }
    for disk in &mut frame.disks {
        (disk.name, disk.model) = (Arc::clone(&evil), Arc::clone(&evil));
        disk.mounts.iter_mut().for_each(|mount| mount.path = Arc::clone(&evil));
    }
    for nic in &mut frame.nics {
        (nic.name, nic.driver) = (Arc::clone(&evil), Arc::clone(&evil));
    }
    for irq in &mut frame.irqs {
        (irq.name, irq.device) = (Arc::clone(&evil), Arc::clone(&evil));
    }
    for gap in &mut frame.gaps {
        (gap.path, gap.needs) = (Arc::clone(&evil), Arc::clone(&evil));
    }
    frame
}

/// Four minutes of the server.
pub fn history() -> History {
    static HISTORY: LazyLock<History> = LazyLock::new(|| recorded((0..=240).map(server_at)));
    HISTORY.clone()
}

/// A minute of any frame standing still.
pub fn history_of(frame: &Frame) -> History {
    recorded((0..60).map(|second| {
        let mut frame = frame.clone();
        frame.stamp = stamp(second);
        frame
    }))
}

fn recorded(frames: impl Iterator<Item = Frame>) -> History {
    let mut history = History::default();
    for frame in frames {
        history.push(&frame);
    }
    history
}

fn machine(shape: &Shape, second: u64) -> Frame {
    let topology = machine::topology(shape);
    let cpus = cpus::cpus(shape, &topology, second);
    let nodes = machine::nodes(shape, &topology, &cpus, second);
    Frame {
        stamp: stamp(second),
        interval_seconds: Some(1.0),
        topology: Arc::new(topology),
        cpus,
        memory: machine::memory(&nodes),
        nodes,
        pressure: pressure(shape.trouble(second)),
        cost: cost(),
        ..Frame::default()
    }
}

fn stamp(second: u64) -> Stamp {
    // 2026-05-04 10:30:00 UTC.
    let wall = 1_777_890_600 + second as i64;
    let mono = (90_000 + second) * 1_000_000_000;
    Stamp { seq: second + 1, wall_ns: wall * 1_000_000_000, mono_ns: mono, boot_ns: mono }
}

fn host(name: &str, kernel: &str) -> Host {
    Host {
        name: name.into(),
        kernel: kernel.into(),
        arch: "x86_64".into(),
        os: "Debian GNU/Linux 12".into(),
        uptime_seconds: 90_240.into(),
        users: 2.into(),
        load: Some([11.4, 9.8, 6.1]),
        running: 12.into(),
        run_wait_cores: Some(5.6),
        blocked: 1.into(),
        tasks: 914.into(),
        context_switches_per_second: Some(182_400.0),
        forks_per_second: Some(3.0),
        interrupts_per_second: Some(141_000.0),
        ..Host::default()
    }
}

fn pressure(trouble: f64) -> Vec<Pressure> {
    let row = |resource: &str, some: f64, full: f64| Pressure {
        resource: resource.into(),
        stall: PressureStall {
            some_ratio: Some(some),
            full_ratio: Some(full),
            some_avg10_percent: (some * 90.0).into(),
            full_avg10_percent: (full * 90.0).into(),
        },
    };
    vec![
        row("cpu", 0.02 + 0.09 * trouble, 0.0),
        row("io", 0.04 + 0.41 * trouble, 0.02 + 0.3 * trouble),
        row("memory", 0.06 * trouble, 0.02 * trouble),
    ]
}

fn cost() -> crate::frame::Cost {
    crate::frame::Cost {
        sample_ms: Some(2.1),
        cpu_cores: Some(0.003),
        cpu_ms: Some(3.0),
        rss_bytes: Some(9 << 20),
        backend: "file".into(),
        collectors: vec![CollectorCost { name: "cpu".into(), took_ms: 0.2 }],
        memory_answer_ms: None,
    }
}

fn gap(path: &str, reason: Reason, count: u64, needs: &str) -> Gap {
    Gap { path: path.into(), reason, count, needs: needs.into() }
}

/// A fixed noise in 0..1.
fn noise(a: u64, b: u64) -> f64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 32;
    (x % 10_000) as f64 / 10_000.0
}
