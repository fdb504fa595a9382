//! Raw effects of fixes, measured in rounds on a machine that has its host to itself. Verdicts of the program play no
//! part: figures are the kernel's counters.

use super::memory::{REFAULT, REFAULT_V1, SHMEM, forecasts, mark_is_removed};
use super::{cpu, disk, network, placement};
use crate::scenario::{Bound, Expected, Measure, PLAIN, Scenario, Step, holds};

/// No samples: only the steps count.
const MEASURED: Scenario = Scenario { expected: Expected::Nothing, seconds: 240, ..PLAIN };

const CHANNELS: Measure = Measure {
    id: "NIC-01/nic%3Aeth0/F-CHAN",
    options: "--set combined=4",
    figure: "softirq",
    what: "softirq of the busiest CPU, %",
    load: "link_up; flood 32 $packets 120",
    rounds: 5,
    bound: Bound::AtMost(0.6),
};

pub(super) const CHANNELS_VIRTIO: Scenario = Scenario {
    name: "measured-virtio-channels",
    proves: "softirq of the busiest CPU falls when F-CHAN raises one channel to four (virtio)",
    inject: "ethtool -L eth0 combined 1; firewall 3000; busy_flood 60",
    clean: "no_flood; no_firewall; ethtool -L eth0 combined 4",
    network: true,
    steps: &[Step::Measure(CHANNELS)],
    ..MEASURED
};

pub(super) const CHANNELS_IGB: Scenario = Scenario {
    name: "measured-igb-channels",
    proves: "softirq of the busiest CPU falls when F-CHAN raises one channel to four (igb)",
    inject: "ethtool -L eth0 combined 1; link_up; firewall 10000; busy_flood 60",
    clean: "no_flood; no_firewall; ethtool -L eth0 combined 8; link_up",
    network: true,
    // Both CPUs of the card's node share the emulator's work with the card: the gain is smaller.
    steps: &[Step::Measure(Measure { bound: Bound::AtMost(0.85), ..CHANNELS })],
    ..MEASURED
};

pub(super) const INTERRUPTS: Scenario = Scenario {
    name: "measured-irqbalance",
    proves: "irqbalance started by F-IRQBAL spreads the queues over the CPUs of the card's node",
    seconds: 120,
    inject: network::CROWDED,
    clean: "fix undone undo IRQ-02/host/F-IRQBAL; no_flood; ethtool -L eth0 combined 1; ethtool -L eth0 combined 4",
    network: true,
    steps: &[Step::Shell(
        "fix applied apply IRQ-02/host/F-IRQBAL --for 15s --yes --no-wait
        flood 32 320 60; sleep 35
        state_part queues \"network_state | grep -e -input\\\\.\"",
    )],
    check: |parts| {
        parts.ended("applied", "0")?;
        let queues: Vec<&str> = parts.text("queues")?.lines().collect();
        let is_near = |line: &&str| {
            line.rsplit(' ').next().is_some_and(|cpus| cpus.split([',', '-']).all(|cpu| cpu == "4" || cpu == "5"))
        };
        holds(queues.len() >= 4 && queues.iter().all(is_near), format!("queues: {queues:?}"))?;
        Ok(format!("{queues:?}"))
    },
    ..MEASURED
};

pub(super) const LIMIT: Scenario = Scenario {
    name: "measured-limit",
    proves: "time that tasks wait for memory falls to less than half when F-LIMIT raises the limit of a group that refaults",
    inject: REFAULT.inject,
    clean: REFAULT.clean,
    steps: &[Step::Measure(Measure {
        id: "MEM-02/cgroup%3A%2Fweb/F-LIMIT",
        options: "--set limit=256M",
        figure: "difference memory_waits 10",
        what: "time that some task waited for memory, µs in 10 s",
        // What the higher limit lets in takes a while.
        load: "sleep 8",
        rounds: 5,
        bound: Bound::AtMost(0.5),
    })],
    ..MEASURED
};

pub(super) const HIGH: Scenario = Scenario {
    name: "measured-guard",
    proves: "F-HIGH is undone by its guard where the group then waits for memory, else by hand, without a trace",
    seconds: 120,
    inject: REFAULT.inject,
    clean: REFAULT.clean,
    steps: &[Step::Shell(
        "state_part mark.before \"group_state web\"
        fix held apply MEM-02/cgroup%3A%2Fweb/F-HIGH --for 25s --yes
        fix released undo MEM-02/cgroup%3A%2Fweb/F-HIGH
        state_part mark.after \"group_state web\"",
    )],
    check: mark_is_removed,
    ..MEASURED
};

pub(super) const LIMIT_V1: Scenario = Scenario {
    name: "measured-limit-v1",
    proves: "refaults end when F-LIMIT raises the limit of a group of version 1",
    inject: REFAULT_V1.inject,
    clean: REFAULT_V1.clean,
    steps: &[Step::Measure(Measure {
        id: "MEM-02/cgroup%3A%2Fweb/F-LIMIT",
        options: "--set limit=256M",
        figure: "difference refaults 10",
        what: "refaults of file pages in 10 s",
        load: "sleep 8",
        rounds: 5,
        bound: Bound::AtMost(0.2),
    })],
    ..MEASURED
};

pub(super) const QUOTA: Scenario = Scenario {
    name: "measured-quota",
    proves: "throttling ends when F-CPUQUOTA raises the quota above what the group uses",
    inject: cpu::QUOTA.inject,
    clean: cpu::QUOTA.clean,
    steps: &[Step::Measure(Measure {
        id: "CPU-05/cgroup%3A%2Fjob/F-CPUQUOTA",
        options: "--set cores=3",
        figure: "difference throttled_periods 8",
        what: "throttled periods in 8 s",
        load: ":",
        rounds: 5,
        bound: Bound::AtMost(0.1),
    })],
    ..MEASURED
};

pub(super) const WRITER: Scenario = Scenario {
    name: "measured-shared-disk",
    proves: "one of two writers of a disk writes more when F-IOMAX holds the other back",
    inject: disk::SHARED.inject,
    clean: disk::SHARED.clean,
    steps: &[Step::Measure(Measure {
        id: "IO-02/disk%3Avdd/F-IOMAX",
        options: "--set group=/search --set iops=2",
        figure: "difference writes_of_queue 15",
        what: "writes of the other group in 15 s",
        load: ":",
        rounds: 5,
        bound: Bound::AtLeast(1.4),
    })],
    ..MEASURED
};

pub(super) const ERLANG: Scenario = Scenario {
    name: "measured-erlang",
    proves: "Erlang nodes bound to the same CPUs get more CPU time when F-AFF frees their threads",
    inject: placement::ERLANG.inject,
    clean: placement::ERLANG.clean,
    steps: &[Step::Measure(Measure {
        id: "BEAM-01/cpu%3A0/F-AFF",
        options: "",
        figure: "difference erlang_ticks 8",
        what: "CPU time of the nodes, ticks in 8 s",
        load: ":",
        rounds: 5,
        bound: Bound::AtLeast(1.5),
    })],
    ..MEASURED
};

pub(super) const FORECAST: Scenario = Scenario {
    name: "measured-forecast",
    proves: "nine tenths of the forecasts of MEM-03 are right within 25 %",
    expected: Expected::Check(|samples| {
        let (error, count) = forecasts(samples)?;
        holds(error <= 0.25, format!("{count} forecasts, nine tenths within {:.0} %", 100.0 * error))?;
        Ok(format!("{count} forecasts, nine tenths within {:.0} %", 100.0 * error))
    }),
    ..SHMEM
};
