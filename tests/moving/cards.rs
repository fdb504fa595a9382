//! How packets spread over the queues of cards, and what fixes of cards know of them.

use super::devices::Nic;
use super::machine::{Machine, Packets, Ticks};
use super::shown::{Shown, show};
use super::work::{Process, Thread};
use super::{Case, hold};

const CASES: &[Case] = &[
    Case {
        name: "flows of different size over an even table",
        machine: || spread(&[130_000, 52_000, 37_000, 30_000, 26_000, 22_000, 20_000, 18_000], |entry| entry % 8),
        silent: &["NIC-04"],
        others: true,
        ..Case::QUIET
    },
    Case {
        name: "a table that favours a queue",
        machine: || spread(&[180_000, 9_000, 9_000, 9_000, 9_000, 9_000, 9_000, 9_000], biased),
        finds: &[("NIC-04", "warning", "queue 0 of 8 gets 75% of the packets")],
        others: true,
        says: &[("/findings", "/F-RSS\"")],
        ..Case::QUIET
    },
    Case {
        name: "an interrupt thread of a real-time kernel on one CPU",
        machine: interrupt_thread,
        finds: &[("NIC-01", "warning", "1 of 8 combined channels; CPU 1 is 95% softirq")],
        others: true,
        says: &[("/cpus/1/irq", "0.9")],
        ..Case::QUIET
    },
];

#[test]
fn packets_that_one_cpu_takes_are_seen() {
    hold(CASES);
}

const FIXES: &[Shown] = &[
    Shown {
        name: "larger rings of a card with guests",
        machine: dropping,
        fix: "NIC-06/nic%3Aeth0/F-RING",
        set: &[],
        says: &[
            ("/commands/0", "ethtool -G eth0 rx 8192"),
            ("/breaks", "8 × 8192 ring entries use about 224.0 MiB more kernel memory"),
            ("/cuts_off", "SR-IOV virtual functions (4)"),
            ("/risk", "dangerous"),
        ],
    },
    Shown {
        name: "a number of flows that the kernel would round",
        machine: || hot(&Nic { channels: [(0, 0), (0, 0), (1, 1)], ..Nic::new(&[1], 100_000) }),
        fix: "NIC-05/nic%3Aeth0/F-RPS",
        set: &["flows=1000"],
        says: &[("/steps", "\"new\":\"1024\""), ("/commands", "rps_sock_flow_entries=1024")],
    },
    Shown {
        name: "a table with fewer entries than queues",
        machine: || {
            let cpus: Vec<u32> = (0..16).map(|queue| queue % 8).collect();
            let table = vec![0, 0, 0, 0, 0, 1, 2, 3];
            let mut nic = Nic { indirection: table, ..Nic::new(&cpus, 1_000) };
            nic.queues[0].1 = 180_000;
            busy(&nic)
        },
        fix: "NIC-04/nic%3Aeth0/F-RSS",
        set: &[],
        says: &[("/commands/0", "ethtool -X eth0 equal 8")],
    },
    Shown {
        name: "more channels of a card with guests",
        machine: || {
            let guests = vec![("sriov_numvfs", "4\n")];
            hot(&Nic { channels: [(0, 0), (0, 0), (1, 8)], device_files: guests, ..Nic::new(&[1], 100_000) })
        },
        fix: "NIC-01/nic%3Aeth0/F-CHAN",
        set: &[],
        says: &[("/risk", "dangerous"), ("/cuts_off", "SR-IOV virtual functions (4)")],
    },
    Shown {
        name: "more channels of a card that has separate ones",
        machine: || hot(&Nic { driver: "bnxt_en", channels: [(1, 8), (1, 8), (0, 8)], ..Nic::new(&[1], 100_000) }),
        fix: "NIC-01/nic%3Aeth0/F-CHAN",
        set: &[],
        says: &[("/commands/0", "ethtool -L eth0 rx 8 tx 8")],
    },
];

#[test]
fn fixes_of_cards_say_what_they_do_to_others() {
    show(FIXES);
}

/// 96 of 128 entries for one of eight queues.
fn biased(entry: u32) -> u32 {
    if entry < 96 { 0 } else { entry % 8 }
}

/// Eight queues with so many packets a second each, the first of them on a busy CPU.
fn spread(packets: &[u64; 8], table: fn(u32) -> u32) -> Machine {
    let cpus: Vec<u32> = (0..8).collect();
    let mut nic = Nic { indirection: (0..128).map(table).collect(), ..Nic::new(&cpus, 0) };
    nic.queues.iter_mut().zip(packets).for_each(|(queue, packets)| queue.1 = *packets);
    nic.bytes = (packets.iter().sum::<u64>() * 600, 1_000_000);
    busy(&nic)
}

/// CPU 0 is nearly full, half of that by packets; the others have time.
fn busy(nic: &Nic) -> Machine {
    let machine = Machine::small().every_cpu(Ticks { user: 20, system: 5, softirq: 8, ..Ticks::default() });
    let machine = machine.cpu(0, Ticks { user: 30, system: 10, softirq: 50, ..Ticks::default() });
    nic.queues.iter().fold(machine.nic(nic), |machine, (cpu, packets)| {
        machine.packets(*cpu, Packets { processed: *packets, ..Packets::default() })
    })
}

/// CPU 1 does hardly anything but softirqs.
fn hot(nic: &Nic) -> Machine {
    Machine::small()
        .every_cpu(Ticks { user: 5, system: 3, ..Ticks::default() })
        .cpu(1, Ticks { user: 2, system: 3, softirq: 95, ..Ticks::default() })
        .packets(1, Packets { processed: 100_000, squeezed: 300, ..Packets::default() })
        .nic(nic)
}

/// Short rings of a card with guests, which lose packets.
fn dropping() -> Machine {
    let cpus: Vec<u32> = (0..8).collect();
    let nic = Nic {
        rings: [(1024, 8192), (1024, 8192)],
        drops: 800,
        files: vec![("statistics/rx_missed_errors", "{0~800}\n")],
        device_files: vec![("sriov_numvfs", "4\n")],
        ..Nic::new(&cpus, 25_000)
    };
    Machine::calm().every_cpu(Ticks { user: 10, system: 5, softirq: 20, ..Ticks::default() }).nic(&nic)
}

/// Where interrupts are threads, /proc/stat counts what they do as `system`.
fn interrupt_thread() -> Machine {
    const NAME: &str = "irq/200-eth0-Tx";
    let thread = Thread { comm: NAME, cpu: 1, run: 0.95, wait: 0.0, affinity: Some("1"), state: 'R' };
    let threads = Process { kernel: true, threads: vec![thread], ..Process::new(80, NAME) };
    let nic = Nic { channels: [(0, 0), (0, 0), (1, 8)], ..Nic::new(&[1], 100_000) };
    hot(&nic).cpu(1, Ticks { user: 1, system: 97, ..Ticks::default() }).process(&threads)
}
