//! What the protocols of each network namespace count, and tables of the kernel that can be full.

use crate::table::table;

table! {
    /// What shapes packets in those namespaces, other than the own one.
    Shapers = 54 "shapers" {
        /// Inode of the namespace.
        netns: Num = 1 (Id, None, "proc/*/ns/net"),
        /// The interface's index in it.
        ifindex: Num = 2 (Id, None, "RTM_GETQDISC"),
        /// The process that it was read through.
        pid: Num = 3 (Fact, None, "self"),
        /// CLOCK_MONOTONIC when it was read.
        read_at_ns: Num = 4 (Clock, Nanoseconds, "self"),
        /// The interface.
        name: Text = 5 (Fact, None, "SIOCGIFNAME"),
        /// `tbf`, `htb`, `netem`, …
        kind: Text = 6 (Fact, None, "RTM_GETQDISC"),
        /// Bytes per second that it lets through; none where each of its classes has its own.
        rate: Num = 7 (Fact, Bytes, "RTM_GETQDISC"),
        /// Bytes that it let through.
        bytes: Num = 8 (Counter, Bytes, "RTM_GETQDISC"),
        /// Bytes that wait.
        backlog: Num = 9 (Gauge, Bytes, "RTM_GETQDISC"),
        /// Times that it held a packet back.
        overlimits: Num = 10 (Counter, Count, "RTM_GETQDISC"),
        /// Packets dropped.
        drops: Num = 11 (Counter, Count, "RTM_GETQDISC"),
    }
}

table! {
    /// TCP, UDP and connection tracking by network namespace: the own one, and those that busy processes are in.
    NetStats = 52 "net_stats" {
        /// Inode of the namespace; zero where it is not known (a captured machine).
        netns: Num = 1 (Id, None, "proc/*/ns/net"),
        /// The process that it was read through; none for the own one.
        pid: Num = 2 (Fact, None, "self"),
        /// CLOCK_MONOTONIC when it was read.
        read_at_ns: Num = 3 (Clock, Nanoseconds, "self"),
        /// Segments received.
        in_segs: Num = 4 (Counter, Count, "proc/*/net/snmp"),
        /// Segments sent, those sent again not among them.
        out_segs: Num = 5 (Counter, Count, "proc/*/net/snmp"),
        /// Segments retransmitted.
        retrans_segs: Num = 6 (Counter, Count, "proc/*/net/snmp"),
        /// Connections opened.
        active_opens: Num = 7 (Counter, Count, "proc/*/net/snmp"),
        /// Connections accepted.
        passive_opens: Num = 8 (Counter, Count, "proc/*/net/snmp"),
        /// Connections that could not be opened.
        attempt_fails: Num = 9 (Counter, Count, "proc/*/net/snmp"),
        /// Connections now.
        established: Num = 10 (Gauge, Count, "proc/*/net/snmp"),
        /// Connections that found a full accept queue.
        listen_overflows: Num = 11 (Counter, Count, "proc/*/net/netstat"),
        /// Connections dropped by listening sockets for whatever reason.
        listen_drops: Num = 12 (Counter, Count, "proc/*/net/netstat"),
        /// Times the retransmission timer fired.
        timeouts: Num = 13 (Counter, Count, "proc/*/net/netstat"),
        /// SYNs retransmitted.
        syn_retrans: Num = 14 (Counter, Count, "proc/*/net/netstat"),
        /// Segments dropped because the socket's backlog was full.
        backlog_drops: Num = 15 (Counter, Count, "proc/*/net/netstat"),
        /// Segments dropped because the socket's receive buffer was full.
        rcvq_drops: Num = 16 (Counter, Count, "proc/*/net/netstat"),
        /// Times that TCP came under memory pressure.
        memory_pressures: Num = 17 (Counter, Count, "proc/*/net/netstat"),
        /// UDP packets received.
        udp_in: Num = 18 (Counter, Count, "proc/*/net/snmp"),
        /// UDP packets dropped because the socket's receive buffer was full.
        udp_rcvbuf_errors: Num = 19 (Counter, Count, "proc/*/net/snmp"),
        /// UDP packets dropped because the send buffer was full.
        udp_sndbuf_errors: Num = 20 (Counter, Count, "proc/*/net/snmp"),
        /// Connections dropped because no entry was left for them or they could not be tracked.
        conntrack_drops: Num = 21 (Counter, Count, "proc/*/net/stat/nf_conntrack"),
        /// Tracked connections thrown out to make room.
        conntrack_early_drops: Num = 22 (Counter, Count, "proc/*/net/stat/nf_conntrack"),
        /// Tracked connections now.
        conntrack_entries: Num = 23 (Gauge, Count, "proc/*/net/stat/nf_conntrack"),
        /// Local ports that connections to one destination take, the one with most; none while they are few.
        ports: Num = 24 (Gauge, Count, "SOCK_DIAG"),
        /// Local ports that there are for a destination.
        ports_limit: Num = 25 (Fact, Count, "proc/sys/net/ipv4/ip_local_port_range"),
    }
}

table! {
    /// Tables of the kernel that can be full: one row.
    KernelTables = 4 "kernel_tables" {
        /// Open files on the machine.
        files: Num = 1 (Gauge, Count, "proc/sys/fs/file-nr"),
        /// The most open files for processes without privileges.
        files_limit: Num = 2 (Fact, Count, "proc/sys/fs/file-nr"),
        /// Connections that are tracked in the own network namespace.
        conntrack: Num = 3 (Gauge, Count, "proc/sys/net/netfilter/nf_conntrack_count"),
        /// The most that may be.
        conntrack_limit: Num = 4 (Fact, Count, "proc/sys/net/netfilter/nf_conntrack_max"),
    }
}
