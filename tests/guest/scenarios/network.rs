//! Queues, interrupts and a flood of packets.

use super::{PLAIN, Scenario};
use crate::seen::{Outcome, Seen, holds};

/// Everything comes in through one queue.
pub(crate) const ONE_QUEUE: Scenario = Scenario {
    name: "one-queue",
    inject: "ethtool -L eth0 combined 1; flood 32 60000 60; sleep 1",
    clean: "no_flood; ethtool -L eth0 combined 4",
    samples: 13,
    interval_ms: 700,
    network: true,
    sick: one_queue,
    ..PLAIN
};

/// The same with packets that are dear to whoever takes them.
pub(crate) const ONE_QUEUE_DEAR: Scenario = Scenario {
    inject: "ethtool -L eth0 combined 1; firewall 3000; flood 32 60000 60; sleep 1",
    clean: "no_flood; no_firewall; ethtool -L eth0 combined 4",
    ..ONE_QUEUE
};

/// The same on a card whose queues have interrupts of their own names.
pub(crate) const ONE_QUEUE_IGB: Scenario = Scenario {
    name: "one-queue-igb",
    inject: "ethtool -L eth0 combined 1; link_up; flood 32 60000 60; sleep 1",
    clean: "no_flood; ethtool -L eth0 combined 8; link_up",
    ..ONE_QUEUE
};

/// Such packets there.
pub(crate) const ONE_QUEUE_IGB_DEAR: Scenario = Scenario {
    inject: "ethtool -L eth0 combined 1; link_up; firewall 300; flood 32 60000 60; sleep 1",
    clean: "no_flood; no_firewall; ethtool -L eth0 combined 8; link_up",
    ..ONE_QUEUE_IGB
};

fn one_queue(seen: &Seen) -> Outcome {
    let found = seen.found("NIC-01", "nic:eth0")?;
    holds(found.number("current")? < 1.5, "it does not say that there is one channel")?;
    holds(found.number("max")? > 3.5, "it does not say that there could be four")?;
    holds(found.number("softirq")? >= 0.4, "its CPU is not hot")?;
    holds(found.has_under("IRQ-01"), "the hot CPU is not told under it")?;
    // The card is on another node than the CPU that serves it.
    seen.only(&["NIC-01", "IRQ-01", "NIC-02", "NIC-03", "IRQ-04"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}
/// Four queues, and all of them interrupt the same CPU. A queue that never runs empty polls where it began to, so that
/// each has to be interrupted once at its new place before the flood.
pub(crate) const CROWDED: Scenario = Scenario {
    name: "crowded-interrupts",
    inject: "for irq in $(queue_irqs); do echo 1 > /proc/irq/$irq/smp_affinity_list; done
        flood 32 320 60; sleep 3; flood 32 60000 60; sleep 1",
    clean: "no_flood; ethtool -L eth0 combined 1; ethtool -L eth0 combined 4",
    samples: 13,
    interval_ms: 700,
    network: true,
    sick: crowded,
    ..PLAIN
};

fn crowded(seen: &Seen) -> Outcome {
    let found = seen.found("IRQ-02", "host")?;
    holds(found.has_under("IRQ-03"), "the crowded queues are not told under it")?;
    holds(found.text("crowded")?.contains("eth0 on cpu 1"), "it does not say where they crowd")?;
    // CPU 1 is not on the card's node.
    seen.only(&["IRQ-02", "IRQ-03", "IRQ-01", "NIC-02", "NIC-03", "IRQ-04"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}
