//! What limits where hardware or a cloud that nobody here has says so.

use super::devices::Nic;
use super::machine::{Machine, Ticks};
use super::work::{Process, Thread};
use super::{Case, hold, plain};

const CASES: &[Case] = &[
    Case {
        name: "a cloud's card above its allowance of bytes",
        machine: || ena(&[("bw_in_allowance_exceeded", "{5~300}"), ("bw_out_allowance_exceeded", "{2~0}")]),
        others: true,
        says: &[
            ("/bottleneck/verdict", "limited"),
            ("/bottleneck/resource", "nic_in"),
            ("/bottleneck/waits/what", "allowance_exceeded"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a cloud's card above its allowance of connections",
        machine: || ena(&[("bw_in_allowance_exceeded", "5"), ("conntrack_allowance_exceeded", "{9~40}")]),
        others: true,
        says: &[("/bottleneck/verdict", "limited"), ("/bottleneck/resource", "conntrack")],
        ..Case::QUIET
    },
    Case {
        name: "a cloud's card within its allowances",
        machine: || ena(&[("bw_in_allowance_exceeded", "5"), ("bw_out_allowance_exceeded", "2")]),
        others: true,
        says: &[("/bottleneck/verdict", "not_saturated")],
        ..Case::QUIET
    },
    Case {
        name: "a link that a class of a shaper keeps slow",
        machine: || shaped("htb - 90000 {7~400} 0"),
        says: &[("/bottleneck/verdict", "limited"), ("/bottleneck/resource", "nic_out")],
        ..Case::QUIET
    },
    Case {
        name: "a link at the rate of its token bucket",
        machine: || shaped("tbf 31500000 90000 {7~400} {3~2}"),
        says: &[("/bottleneck/verdict", "limited"), ("/bottleneck/resource", "nic_out")],
        ..Case::QUIET
    },
    Case {
        name: "a shaper with room",
        machine: || shaped("tbf 125000000 0 {7~2} 0"),
        says: &[("/bottleneck/verdict", "not_saturated")],
        ..Case::QUIET
    },
    Case {
        name: "full CPUs that heat keeps slow",
        machine: hot,
        others: true,
        says: &[
            ("/bottleneck/resource", "cpus"),
            ("/bottleneck/clock/cause", "thermal"),
            ("/bottleneck/headline", "at 100%, running at 2.1 of 3.5 GHz (thermal throttling)"),
            ("/bottleneck/rule", "CPU-10"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "full CPUs whose clock passive cooling caps",
        machine: || cooled(hot_at("2100000\n", "0\n"), "Processor", 3),
        others: true,
        says: &[
            ("/bottleneck/resource", "cpus"),
            ("/bottleneck/clock/cause", "thermal"),
            ("/bottleneck/rule", "CPU-10"),
            ("/findings/0/title", "by passive cooling (Processor 3/10)"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "CPUs that the kernel keeps idle against heat",
        machine: || cooled(waiting(), "intel_powerclamp", 40),
        others: true,
        says: &[
            ("/bottleneck/verdict", "not_saturated"),
            ("/bottleneck/headline", "the kernel keeps CPUs idle to cool them"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "CPUs that are idle while tasks wait for them",
        machine: waiting,
        others: true,
        says: &[("/bottleneck/verdict", "not_saturated"), ("/bottleneck/headline", "while CPUs are idle")],
        ..Case::QUIET
    },
    Case {
        name: "a script whose programs take less than a second each",
        machine: || script(0.94),
        says: &[
            ("/bottleneck/verdict", "limited"),
            ("/bottleneck/resource", "thread"),
            ("/bottleneck/confidence", "medium"),
            ("/bottleneck/headline", "limited by bash 4100 and its children, one after another: 97% of a core"),
        ],
        ..Case::QUIET
    },
    Case {
        name: "a script that runs programs side by side",
        machine: || queues(script(1.9), 10),
        says: &[("/bottleneck/verdict", "not_saturated")],
        ..Case::QUIET
    },
    Case {
        name: "programs that end between two samples and queue for two of eight CPUs",
        machine: || queues(script(1.9), 3000),
        says: &[("/bottleneck/verdict", "inconclusive"), ("/bottleneck/headline", "CPU 5")],
        ..Case::QUIET
    },
];

#[test]
fn the_answer_names_it() {
    hold(CASES);
}

/// 240 MB/s come in through a card whose speed nobody knows.
fn ena(statistics: &[(&'static str, &'static str)]) -> Machine {
    let cpus: Vec<u32> = (0..8).collect();
    let nic = Nic {
        driver: "ena",
        speed: -1,
        bytes: (240_000_000, 5_000_000),
        statistics: statistics.to_vec(),
        ..Nic::new(&cpus, 25_000)
    };
    working().nic(&nic)
}

/// 30 MB/s leave through a card that could take a hundred times that.
fn shaped(qdisc: &str) -> Machine {
    let cpus: Vec<u32> = (0..8).collect();
    let nic = Nic { bytes: (1_000_000, 30_000_000), ..Nic::new(&cpus, 2_500) };
    working().file("topotop/qdiscs", &format!("2 {qdisc}\n3 {qdisc}\n")).nic(&nic)
}

/// Sixteen workers on eight CPUs in one package that is too hot for their clock.
fn hot() -> Machine {
    hot_at("3500000\n", "{3~1}\n")
}

/// The same with a limit of the clock, and so many times that the package was too hot.
fn hot_at(limit: &str, throttles: &str) -> Machine {
    (0..8).fold(plain::even(), |machine, cpu| {
        let file = |machine: Machine, name: &str, text: &str| {
            machine.file(&format!("sys/devices/system/cpu/cpu{cpu}/{name}"), text)
        };
        let package = if cpu == 0 { throttles } else { "0\n" };
        [
            ("cpufreq/scaling_cur_freq", "2100000\n"),
            ("cpufreq/scaling_max_freq", limit),
            ("cpufreq/cpuinfo_max_freq", "3500000\n"),
            ("cpufreq/scaling_governor", "performance\n"),
            ("cpufreq/scaling_driver", "intel_pstate\n"),
            ("thermal_throttle/core_throttle_count", "0\n"),
            ("thermal_throttle/package_throttle_count", package),
            ("topology/package_cpus_list", "0-7\n"),
        ]
        .into_iter()
        .fold(machine, |machine, (name, text)| file(machine, name, text))
    })
}

/// A cooling device that does so much of ten, or of fifty.
fn cooled(machine: Machine, kind: &str, state: u32) -> Machine {
    let base = "sys/class/thermal/cooling_device0";
    let most = if state > 10 { 50 } else { 10 };
    let machine = machine.file(&format!("{base}/type"), &format!("{kind}\n"));
    let machine = machine.file(&format!("{base}/cur_state"), &format!("{state}\n"));
    machine.file(&format!("{base}/max_state"), &format!("{most}\n"))
}

/// Eight workers that wait most of their time although every CPU is idle half of it.
fn waiting() -> Machine {
    let machine = Machine::calm().every_cpu(Ticks { user: 50, ..Ticks::default() });
    (0..8).fold(machine, |machine, at| {
        let worker = Thread { comm: "worker", cpu: at, run: 0.5, wait: 1.0, ..Thread::FREE };
        machine.process(&Process { threads: vec![worker], ..Process::new(5000 + at, "worker") })
    })
}

/// A shell that uses little itself, its programs so many cores.
fn script(children: f64) -> Machine {
    let bash = Thread { comm: "bash", run: 0.03, ..Thread::FREE };
    let script = Process { parent: 900, children, threads: vec![bash], ..Process::new(4100, "bash") };
    let user = ((children + 0.03) * 50.0) as u64;
    let ticks = Ticks { user, ..Ticks::default() };
    let machine = Machine::calm().cpu(2, ticks).cpu(5, ticks);
    machine.process(&Process::new(900, "sshd")).process(&script)
}

/// So many milliseconds each second are waited in the run queues of the two CPUs of a script.
fn queues(machine: Machine, milliseconds: u64) -> Machine {
    let waits = |cpu| if cpu == 2 || cpu == 5 { milliseconds * 1_000_000 } else { 0 };
    let lines = (0..8).map(|cpu| format!("cpu{cpu} 0 0 0 0 0 0 5 {{5~{}}} {{5~9}}", waits(cpu)));
    machine.file("proc/schedstat", &format!("version 15\ntimestamp 4295\n{}\n", lines.collect::<Vec<_>>().join("\n")))
}

fn working() -> Machine {
    Machine::calm().every_cpu(Ticks { user: 15, system: 8, softirq: 5, ..Ticks::default() })
}
