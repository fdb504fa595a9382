//! Cards: queues, channels, ports of a switch inside, and threads that take packets.

use super::devices::Nic;
use super::machine::{Machine, Packets, Ticks};
use super::work::{Process, Thread};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "4 queues on one CPU of 8",
        machine: || hot(&Nic::new(&[1, 1, 1, 1], 25_000)),
        finds: &[("IRQ-03", "warning", "4 busy queues of eth0 interrupt CPU 1")],
        others: true,
        ..Case::QUIET
    },
    Case {
        name: "a card with separate channels, as many as cores",
        machine: || {
            let cpus: Vec<u32> = (0..8).collect();
            let channels = [(8, 16), (8, 16), (0, 16)];
            even(&Nic { driver: "bnxt_en", channels, ..Nic::new(&cpus, 60_000) }, 10)
        },
        silent: &["NIC-01"],
        ..Case::QUIET
    },
    Case {
        name: "one separate receive channel of 8, and virtual functions of guests",
        machine: || {
            let channels = [(1, 8), (1, 8), (0, 8)];
            let guests = vec![("sriov_numvfs", "4\n")];
            hot(&Nic { driver: "bnxt_en", channels, device_files: guests, ..Nic::new(&[1], 100_000) })
        },
        finds: &[("NIC-01", "warning", "1 of 8 rx channels")],
        others: true,
        says: &[("/findings/0/rule", "NIC-01"), ("/findings/0/fixes", "dangerous")],
        ..Case::QUIET
    },
    Case {
        name: "a table that spreads over 4 of 16 queues on purpose",
        machine: || {
            let cpus: Vec<u32> = (0..16).map(|queue| queue % 8).collect();
            let indirection = (0..128).map(|entry| entry % 4).collect();
            let mut nic = Nic { indirection, ..Nic::new(&cpus, 60_000) };
            nic.queues.iter_mut().skip(4).for_each(|queue| queue.1 = 0);
            even(&nic, 40)
        },
        silent: &["NIC-04"],
        ..Case::QUIET
    },
    Case {
        name: "a port of the switch inside a card",
        machine: || {
            let port = Nic {
                name: "pf0vf3",
                driver: "mlx5_core",
                files: vec![("phys_port_name", "pf0vf3\n")],
                channels: [(0, 0), (0, 0), (1, 8)],
                bytes: (3_000_000_000, 0),
                ..Nic::new(&[1], 100_000)
            };
            hot(&Nic::new(&[0, 1, 2, 3, 4, 5, 6, 7], 12_500)).nic(&port)
        },
        silent: &["NIC-01", "NIC-05", "NIC-07"],
        others: true,
        says: &[("/nics/2/kind", "virtual")],
        ..Case::QUIET
    },
    Case {
        name: "a synthetic card above its virtual function, as on Azure",
        machine: || {
            let synthetic = Nic {
                driver: "hv_netvsc",
                files: vec![("lower_enP1", "\n")],
                channels: [(0, 0), (0, 0), (1, 8)],
                bytes: (3_000_000_000, 0),
                ..Nic::new(&[1], 100_000)
            };
            let function = Nic { name: "enP1", driver: "mlx5_core", ..Nic::new(&[0, 1, 2, 3, 4, 5, 6, 7], 12_500) };
            hot(&synthetic).nic(&function)
        },
        silent: &["NIC-01", "NIC-05", "NIC-07"],
        others: true,
        says: &[("/nics/1/kind", "virtual"), ("/nics/2/kind", "physical")],
        ..Case::QUIET
    },
    Case {
        name: "threaded NAPI on one CPU",
        machine: threaded,
        finds: &[("NIC-01", "warning", "1 of 8 combined channels; CPU 1 is 95% softirq")],
        others: true,
        ..Case::QUIET
    },
];

#[test]
fn cards_are_judged_by_what_they_do() {
    hold(CASES);
}

/// CPU 1 does hardly anything but softirqs.
fn hot(nic: &Nic) -> Machine {
    let machine = Machine::small().every_cpu(Ticks { user: 5, system: 3, ..Ticks::default() });
    machine
        .cpu(1, Ticks { user: 2, system: 3, softirq: 95, ..Ticks::default() })
        .packets(1, Packets { processed: 100_000, squeezed: 300, ..Packets::default() })
        .nic(nic)
}

/// Every CPU takes its part.
fn even(nic: &Nic, softirq: u64) -> Machine {
    let machine = Machine::small().every_cpu(Ticks { user: 45, system: 10, softirq, ..Ticks::default() });
    let packets = Packets { processed: 60_000, ..Packets::default() };
    (0..8).fold(machine, |machine, cpu| machine.packets(cpu, packets)).nic(nic)
}

/// A thread of the kernel takes the packets of the only channel: /proc/stat says `system`.
fn threaded() -> Machine {
    let thread = Thread { comm: "napi/eth0-8193", cpu: 1, run: 0.95, wait: 0.0, affinity: None, state: 'R' };
    let napi = Process { kernel: true, threads: vec![thread], ..Process::new(80, "napi/eth0-8193") };
    let nic = Nic { channels: [(0, 0), (0, 0), (1, 8)], ..Nic::new(&[1], 100_000) };
    Machine::small()
        .every_cpu(Ticks { user: 5, system: 3, ..Ticks::default() })
        .cpu(1, Ticks { user: 1, system: 97, softirq: 0, ..Ticks::default() })
        .packets(1, Packets { processed: 100_000, ..Packets::default() })
        .nic(&nic)
        .process(&napi)
}
