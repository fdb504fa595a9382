//! Interrupts, hard and soft, down to the CPU that takes them.

use crate::table::table;

table! {
    /// Device interrupts: the numbered rows of /proc/interrupts.
    Irqs = 40 "irqs" {
        /// Its number.
        irq: Num = 1 (Id, None, "proc/interrupts"),
        /// The actions: names that drivers gave, separated by comma and space.
        name: Text = 2 (Fact, None, "proc/interrupts"),
        /// The chip column.
        chip: Text = 3 (Fact, None, "proc/interrupts"),
        /// The number within the chip and the trigger, as printed: `524288-edge`.
        hwirq: Text = 4 (Fact, None, "proc/interrupts"),
        /// Sum over the CPUs of `per_cpu`.
        total: Num = 5 (Counter, Count, "proc/interrupts"),
        /// Count by CPU id; each wraps at 32 bits.
        per_cpu: Sparse = 6 (Counter32, Count, "proc/interrupts"),
        /// Where it may go.
        affinity: Sets = 7 (Fact, None, "proc/irq/*/smp_affinity_list"),
        /// Where it goes: follows `affinity` at the next interrupt.
        effective_affinity: Sets = 8 (Fact, None, "proc/irq/*/effective_affinity_list"),
        /// Its device's node; none when unknown.
        node: Num = 9 (Fact, None, "proc/irq/*/node"),
        /// 1 when the kernel manages its affinity itself (writes are refused).
        managed: Num = 10 (Fact, None, "sys/kernel/debug/irq/irqs"),
        /// PCI function that owns it: `0000:3b:00.0`.
        device: Text = 11 (Fact, None, "sys/bus/pci/devices/*/msi_irqs"),
        /// Its rank among the device's vectors.
        vector: Num = 12 (Fact, None, "sys/bus/pci/devices/*/msi_irqs"),
    }
}

table! {
    /// The architecture's own interrupt rows: LOC, RES, NMI, …
    ArchIrqs = 41 "irqs_arch" {
        /// Its name.
        name: Text = 1 (Id, None, "proc/interrupts"),
        /// Its description.
        description: Text = 2 (Fact, None, "proc/interrupts"),
        /// Sum over the CPUs.
        total: Num = 3 (Counter, Count, "proc/interrupts"),
        /// Count by CPU id; empty for rows that have one number for the machine.
        per_cpu: Sparse = 4 (Counter32, Count, "proc/interrupts"),
    }
}

table! {
    /// Soft interrupts by kind.
    Softirqs = 42 "softirqs" {
        /// NET_RX, TIMER, …
        name: Text = 1 (Id, None, "proc/softirqs"),
        /// Sum over the CPUs.
        total: Num = 2 (Counter, Count, "proc/softirqs"),
        /// Count by CPU id.
        per_cpu: Sparse = 3 (Counter32, Count, "proc/softirqs"),
    }
}

table! {
    /// Packet backlog by CPU.
    Softnet = 43 "softnet" {
        /// The CPU: column 13 where the kernel has it, else the row's place among the online CPUs.
        cpu: Num = 1 (Id, None, "proc/net/softnet_stat"),
        /// Packets.
        processed: Num = 2 (Counter32, Count, "proc/net/softnet_stat"),
        /// Packets dropped because the backlog was full.
        dropped: Num = 3 (Counter32, Count, "proc/net/softnet_stat"),
        /// Rounds that ended with work left.
        time_squeeze: Num = 4 (Counter32, Count, "proc/net/softnet_stat"),
        /// Wake-ups by other CPUs for RPS.
        received_rps: Num = 5 (Counter32, Count, "proc/net/softnet_stat"),
        /// Packets dropped by the flow limit.
        flow_limit: Num = 6 (Counter32, Count, "proc/net/softnet_stat"),
        /// Packets waiting now.
        backlog: Num = 7 (Gauge, Count, "proc/net/softnet_stat"),
    }
}

table! {
    /// irqbalance: one row.
    Irqbalance = 44 "irqbalance" {
        /// `running`, `oneshot`, `absent`, `failed`.
        state: Text = 1 (Fact, None, "proc/*/comm"),
        /// Its process.
        pid: Num = 2 (Fact, None, "proc/*/comm"),
        /// CPUs that it must not use.
        banned_cpus: Sets = 3 (Fact, None, "proc/PID/environ"),
        /// Interrupts that it must not move.
        banned_irqs: Sets = 4 (Fact, None, "proc/PID/cmdline"),
        /// 1 when the program is installed.
        installed: Num = 5 (Fact, None, "usr/sbin/irqbalance"),
    }
}
