//! Network interfaces and their queues.

use crate::table::table;

table! {
    /// Interfaces of this network namespace.
    Nics = 50 "nics" {
        /// Kernel index.
        ifindex: Num = 1 (Id, None, "sys/class/net/*/ifindex"),
        /// Name.
        name: Text = 2 (Id, None, "sys/class/net/*"),
        /// Driver.
        driver: Text = 3 (Fact, None, "ETHTOOL_GDRVINFO"),
        /// Bus address of its device.
        bus_info: Text = 4 (Fact, None, "sys/class/net/*/device"),
        /// Node of its device; none when unknown. For virtio that of the PCI parent.
        node: Num = 5 (Fact, None, "sys/class/net/*/device/numa_node"),
        /// 1 with a link.
        carrier: Num = 6 (Gauge, None, "sys/class/net/*/carrier"),
        /// Times the link came or went.
        carrier_changes: Num = 7 (Counter, Count, "sys/class/net/*/carrier_changes"),
        /// Link speed; none when the driver does not know.
        speed_mbps: Num = 8 (Gauge, MegabitsPerSecond, "sys/class/net/*/speed"),
        /// Lower interfaces, separated by spaces.
        lower: Text = 9 (Fact, None, "sys/class/net/*/lower_*"),
        /// The bond, team or bridge that it belongs to.
        master: Text = 10 (Fact, None, "sys/class/net/*/master"),
        /// `physical`, `virtual`, `loopback`.
        kind: Text = 11 (Fact, None, "sys/devices/virtual/net"),
        /// Bytes received.
        rx_bytes: Num = 12 (Counter, Bytes, "proc/net/dev"),
        /// Packets received.
        rx_packets: Num = 13 (Counter, Count, "proc/net/dev"),
        /// Receive errors.
        rx_errors: Num = 14 (Counter, Count, "proc/net/dev"),
        /// Received packets dropped.
        rx_drops: Num = 15 (Counter, Count, "proc/net/dev"),
        /// Receive FIFO overruns.
        rx_fifo: Num = 16 (Counter, Count, "proc/net/dev"),
        /// Bytes sent.
        tx_bytes: Num = 17 (Counter, Bytes, "proc/net/dev"),
        /// Packets sent.
        tx_packets: Num = 18 (Counter, Count, "proc/net/dev"),
        /// Send errors.
        tx_errors: Num = 19 (Counter, Count, "proc/net/dev"),
        /// Sent packets dropped.
        tx_drops: Num = 20 (Counter, Count, "proc/net/dev"),
        /// Packets missed by the NIC.
        rx_missed: Num = 21 (Counter, Count, "sys/class/net/*/statistics/rx_missed_errors"),
        /// Combined channels now; none when the driver has no such kind.
        combined: Num = 22 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Most combined channels.
        combined_max: Num = 23 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Receive-only channels now.
        rx_channels: Num = 24 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Most receive-only channels.
        rx_channels_max: Num = 25 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Send-only channels now.
        tx_channels: Num = 26 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Most send-only channels.
        tx_channels_max: Num = 27 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Other channels now.
        other_channels: Num = 28 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Most other channels.
        other_channels_max: Num = 29 (Fact, Count, "ETHTOOL_GCHANNELS"),
        /// Receive ring entries now.
        rx_ring: Num = 30 (Fact, Count, "ETHTOOL_GRINGPARAM"),
        /// Most receive ring entries.
        rx_ring_max: Num = 31 (Fact, Count, "ETHTOOL_GRINGPARAM"),
        /// CPUs next to its device.
        local_cpus: Sets = 32 (Fact, None, "sys/class/net/*/device/local_cpulist"),
        /// MTU.
        mtu: Num = 33 (Fact, Bytes, "sys/class/net/*/mtu"),
        /// `up`, `down`, `unknown`, …
        operstate: Text = 34 (Gauge, None, "sys/class/net/*/operstate"),
        /// Hardware address.
        address: Text = 35 (Id, None, "sys/class/net/*/address"),
        /// PCI function of its device: `0000:3b:00.0`.
        pci: Text = 36 (Fact, None, "sys/class/net/*/device"),
        /// virtio device name, `virtio0`, which its interrupts are named after.
        virtio: Text = 37 (Fact, None, "sys/class/net/*/device"),
        /// Interrupts of its PCI function.
        msi_irqs: Sets = 38 (Fact, None, "sys/class/net/*/device/msi_irqs"),
        /// Driver counters that say a cloud allowance was exceeded, summed.
        allowance_exceeded: Num = 39 (Counter, Count, "ETHTOOL_GSTATS"),
        /// Entries of the RSS indirection table by receive queue.
        rss_indirection: Sparse = 40 (Fact, Count, "ETHTOOL_GRXFHINDIR"),
        /// Virtual functions that are switched on.
        vfs: Num = 41 (Fact, Count, "sys/class/net/*/device/sriov_numvfs"),
        /// The port of its device that it stands for: `p0`, `pf0vf3`; empty where it has no name.
        port: Text = 42 (Fact, None, "sys/class/net/*/phys_port_name"),
        /// The queueing discipline that shapes what it sends: `tbf`, `htb`, `netem`; none without.
        shaper: Text = 43 (Fact, None, "RTM_GETQDISC"),
        /// Bytes per second that this lets through; none where each of its classes has its own rate.
        shaper_rate: Num = 44 (Fact, Bytes, "RTM_GETQDISC"),
        /// Bytes that wait in it.
        shaper_backlog: Num = 45 (Gauge, Bytes, "RTM_GETQDISC"),
        /// Times that it held a packet back.
        shaper_overlimits: Num = 46 (Counter, Count, "RTM_GETQDISC"),
        /// Packets that it dropped.
        shaper_drops: Num = 47 (Counter, Count, "RTM_GETQDISC"),
        /// Packets above a cloud's allowance: bytes received.
        allowance_rx: Num = 48 (Counter, Count, "ETHTOOL_GSTATS"),
        /// The same: bytes sent.
        allowance_tx: Num = 49 (Counter, Count, "ETHTOOL_GSTATS"),
        /// The same: packets in both directions.
        allowance_packets: Num = 50 (Counter, Count, "ETHTOOL_GSTATS"),
        /// The same: tracked connections.
        allowance_connections: Num = 51 (Counter, Count, "ETHTOOL_GSTATS"),
        /// Where a program handles its packets before the network stack: `native` (in the driver), `generic`, `offloaded`,
        /// `multiple`; empty without one.
        xdp: Text = 52 (Fact, None, "RTM_GETLINK"),
        /// The number of that program.
        xdp_program: Num = 53 (Fact, None, "RTM_GETLINK"),
        /// Packets that the card had no buffer for, where only the driver's own counters tell (gve).
        unbuffered: Num = 54 (Counter, Count, "ETHTOOL_GSTATS"),
    }
}

table! {
    /// Receive and transmit queues.
    NicQueues = 51 "nic_queues" {
        /// Its interface.
        ifindex: Num = 1 (Id, None, "sys/class/net/*/ifindex"),
        /// `rx` or `tx`.
        direction: Text = 2 (Id, None, "sys/class/net/*/queues"),
        /// Its number.
        queue: Num = 3 (Id, None, "sys/class/net/*/queues"),
        /// CPUs that it steers packets to; none when off.
        rps_cpus: Sets = 4 (Fact, None, "sys/class/net/*/queues/rx-*/rps_cpus"),
        /// Flow table entries.
        rps_flow_count: Num = 5 (Fact, Count, "sys/class/net/*/queues/rx-*/rps_flow_cnt"),
        /// CPUs that send through it.
        xps_cpus: Sets = 6 (Fact, None, "sys/class/net/*/queues/tx-*/xps_cpus"),
        /// Packets, where the driver counts them.
        packets: Num = 7 (Counter, Count, "ETHTOOL_GSTATS"),
        /// Bytes, where the driver counts them.
        bytes: Num = 8 (Counter, Bytes, "ETHTOOL_GSTATS"),
        /// Drops, where the driver counts them.
        drops: Num = 9 (Counter, Count, "ETHTOOL_GSTATS"),
        /// Hyper-V: the CPU that serves its channel.
        channel_cpu: Num = 10 (Fact, None, "sys/class/net/*/device/channels/*/cpu"),
        /// Its interface by name.
        nic: Text = 11 (Id, None, "sys/class/net/*"),
    }
}
