//! Queues and interrupts of network cards under a flood of packets.

use crate::parts::Parts;
use crate::scenario::{
    APPLY, Apply, Expected, FINDING, Finding, KEYS, Keys, Outcome, PLAIN, Refuse, Rights, Scenario, Step, holds,
};

const CHAN: &str = "NIC-01/nic%3Aeth0/F-CHAN";
const IRQBAL: &str = "IRQ-02/host/F-IRQBAL";

/// One queue of several.
pub(super) const ONE_QUEUE: Finding = Finding {
    rule: "NIC-01",
    subject: "nic:eth0",
    numbers: &[("current", 1.0, 1.0), ("max", 4.0, 8.0), ("softirq", 0.4, 1.0)],
    // How hot its CPU gets (IRQ-01) depends on the host. The card is on another node than the CPU that serves it.
    beside: &["IRQ-01", "NIC-02", "NIC-03", "IRQ-04"],
    ..FINDING
};

/// Four channels by command.
const FOUR_CHANNELS: Apply = Apply {
    name: "channels",
    id: CHAN,
    options: "--set combined=4",
    state: "network_state",
    sets: &["channels 4\n"],
    commands: &["ethtool -L eth0 combined 4"],
    ..APPLY
};

pub(super) const VIRTIO_CHANNELS: Scenario = Scenario {
    name: "virtio-channels",
    proves: "NIC-01 finds one queue of four; F-CHAN raises and restores channels by command and keys, not without CAP_NET_ADMIN",
    seconds: 130,
    inject: "ethtool -L eth0 combined 1; flood 32 60000 900; sleep 1",
    clean: "no_flood; ethtool -L eth0 combined 4",
    samples: 13,
    interval_ms: 700,
    network: true,
    expected: Expected::Finding(ONE_QUEUE),
    steps: &[
        Step::Offers(&[CHAN]),
        Step::Refuse(Refuse {
            name: "denied",
            id: CHAN,
            options: "",
            rights: Rights::RootWithoutNetAdmin,
            state: "network_state",
            says: &["CAP_NET_ADMIN"],
        }),
        Step::Apply(FOUR_CHANNELS),
        Step::Shell("link_up"),
        Step::Keys(Keys {
            rule: "NIC-01",
            fix: "F-CHAN",
            set: "combined=4",
            state: "network_state",
            journal: &["ethtool -L eth0 combined 4"],
            ..KEYS
        }),
        Step::Shell("link_up"),
    ],
    ..PLAIN
};

pub(super) const IGB_CHANNELS: Scenario = Scenario {
    name: "igb-channels",
    proves: "the same where interrupts change names with channels, over the login's own card (dead-man switch); F-RPS; rings and RSS table",
    seconds: 150,
    inject: "ethtool -L eth0 combined 1; link_up; flood 32 60000 900; sleep 1",
    clean: "no_flood; ethtool -L eth0 combined 8; link_up",
    steps: &[
        Step::Apply(FOUR_CHANNELS),
        Step::Shell("link_up"),
        Step::Keys(Keys {
            rule: "NIC-01",
            fix: "F-CHAN",
            set: "combined=4",
            state: "network_state",
            journal: &["ethtool -L eth0 combined 4", "dangerous"],
            login: "eth0",
            ..KEYS
        }),
        Step::Shell("link_up"),
        Step::Apply(Apply {
            name: "rps",
            id: "NIC-01/nic%3Aeth0/F-RPS",
            state: "network_state",
            observe: "cat /sys/class/net/eth0/queues/rx-0/rps_cpus",
            ..APPLY
        }),
        Step::Shell(
            "no_flood; ethtool -L eth0 combined 4; link_up
            state_part set.before network_state
            for what in 'rings eth0 rx 512' 'channels eth0 combined 2' 'table eth0 equal 2'; do
                set -- $what
                /test/tool set $1 $2 \"$3 $4\" >> set; link_up
            done
            state_part set.after network_state
            ethtool -X eth0 default; tell set set",
        ),
    ],
    check: rps_and_settings,
    ..VIRTIO_CHANNELS
};

fn rps_and_settings(parts: &Parts) -> Outcome {
    let (before, during) = (parts.text("rps.observed_before")?, parts.text("rps.observed_during")?);
    let is_zero = |mask: &str| mask.trim_matches(['0', ',']).is_empty();
    holds(is_zero(before) && !is_zero(during), format!("the RPS mask of rx-0: {before}, then {during}"))?;
    let set = parts.text("set")?;
    parts.contains("set", &["rings: set: rx 512", "table: set: ", "channels: set: combined 2"])?;
    for kind in ["rings", "table", "channels"] {
        let value = |what: &str| set.lines().find_map(|line| line.strip_prefix(&format!("{kind}: {what}")));
        let (was, is, restored) = (value("was "), value("set: "), value("restored: "));
        holds(was.is_some() && was == restored && was != is, format!("{kind}: {was:?}, {is:?}, {restored:?}"))?;
    }
    parts.equal("set.before", "set.after")?;
    Ok(format!("RPS mask {during}; rings, channels and table set and restored"))
}

/// A queue that never runs empty polls on the CPU where it began: each has to be interrupted once on its new CPU before
/// the flood.
pub(super) const CROWDED: &str = "for irq in $(queue_irqs); do echo 1 > /proc/irq/$irq/smp_affinity_list; done
        flood 32 320 60; sleep 3; flood 32 60000 900; sleep 1";

/// Four queues that all interrupt the same CPU, which is on another node than the card.
pub(super) const ONE_CPU: Finding = Finding {
    rule: "IRQ-02",
    subject: "host",
    texts: &[("shared_irq_cpus", "CPU 1 serves 4 queues of eth0")],
    groups: &["IRQ-03"],
    beside: &["IRQ-01", "NIC-02", "NIC-03", "IRQ-04"],
    ..FINDING
};

pub(super) const INTERRUPTS: Scenario = Scenario {
    name: "interrupts",
    proves: "IRQ-02 finds all queues on one CPU; F-IRQAFF places them on the card's node; F-IRQBAL starts and stops irqbalance by script, by OpenRC, by itself",
    seconds: 190,
    inject: CROWDED,
    clean: "no_flood; ethtool -L eth0 combined 1; ethtool -L eth0 combined 4",
    expected: Expected::Finding(ONE_CPU),
    steps: &[
        Step::Keys(Keys {
            rule: "IRQ-02",
            fix: "F-IRQBAL",
            state: "network_state",
            journal: &["service irqbalance start"],
            ..KEYS
        }),
        Step::Shell("mkdir /run/openrc; echo default > /run/openrc/softlevel"),
        Step::Apply(Apply { name: "openrc", commands: &["rc-service irqbalance start"], ..IRQBALANCE }),
        Step::Shell("rm -r /run/openrc; mount -t tmpfs nothing /etc/init.d"),
        Step::Refuse(Refuse {
            name: "nobody",
            id: "IRQ-02/host/F-IRQAFF",
            options: "",
            rights: Rights::Nobody,
            state: "network_state",
            says: &["root"],
        }),
        Step::Apply(Apply {
            name: "placed",
            id: "IRQ-02/host/F-IRQAFF",
            state: "network_state",
            observe: "network_state",
            ..APPLY
        }),
        Step::Apply(Apply { name: "itself", commands: &["irqbalance"], ..IRQBALANCE }),
        Step::Shell(
            "umount /etc/init.d
            for irq in $(awk '/virtio[0-9]+-req/ { sub(\":\", \"\", $1); print $1; exit }' /proc/interrupts); do
                /test/tool place $irq 3 > managed
            done
            tell managed managed",
        ),
    ],
    check: irqbalance_and_affinity,
    ..VIRTIO_CHANNELS
};

const IRQBALANCE: Apply = Apply { id: IRQBAL, state: "network_state", observe: "pgrep -xc irqbalance", ..APPLY };

fn irqbalance_and_affinity(parts: &Parts) -> Outcome {
    for name in ["openrc", "itself"] {
        let running = ["before", "during", "after"].map(|when| parts.text(&format!("{name}.observed_{when}")));
        holds(running == [Ok("0"), Ok("1"), Ok("0")], format!("{name}: processes of irqbalance: {running:?}"))?;
    }
    let state = parts.text("placed.during")?;
    let mut cpus: Vec<&str> = state.lines().filter(|line| line.contains("-input.")).filter_map(last_word).collect();
    cpus.sort_unstable();
    cpus.dedup();
    // The card is on node 2, which has these CPUs.
    holds(cpus == ["4", "5"], format!("F-IRQAFF placed queues on {cpus:?}"))?;
    let managed = parts.text("managed")?;
    holds(managed.contains("managed") && !managed.contains("done"), format!("a managed interrupt: {managed}"))?;
    Ok("queues on CPUs 4 and 5; a managed interrupt is refused".to_owned())
}

fn last_word(line: &str) -> Option<&str> {
    line.rsplit(' ').next()
}
