//! Sockets of processes: who listens where, and how the connections of those that matter go.

use crate::table::table;

table! {
    /// Processes whose sockets were looked at.
    SocketOwners = 93 "socket_owners" {
        /// The process.
        pid: Num = 1 (Id, None, "proc/*/stat"),
        /// When it started: with the pid it names the process.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// CLOCK_MONOTONIC when its descriptors were listed.
        read_at_ns: Num = 3 (Clock, Nanoseconds, "self"),
        /// Inode of its network namespace.
        netns: Num = 4 (Fact, None, "proc/*/ns/net"),
        /// Sockets among its descriptors.
        sockets: Num = 5 (Gauge, Count, "proc/*/fd"),
    }
}

table! {
    /// Listening TCP and Unix sockets and unconnected UDP sockets. One row for each process that has
    /// it open, one without a process where no owner was found (TCP and UDP only).
    Listeners = 94 "listeners" {
        /// The process; unread when its owner was not found.
        pid: Num = 1 (Id, None, "proc/*/fd"),
        /// When it started.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// Inode of the socket.
        inode: Num = 3 (Id, None, "INET_DIAG, UNIX_DIAG"),
        /// Inode of the network namespace.
        netns: Num = 4 (Id, None, "proc/*/ns/net"),
        /// Its address: `0.0.0.0`, `::1`.
        address: Text = 5 (Id, None, "INET_DIAG"),
        /// Its port.
        port: Num = 6 (Id, None, "INET_DIAG"),
        /// `tcp`, `udp` or `unix`.
        protocol: Text = 7 (Id, None, "INET_DIAG, UNIX_DIAG"),
        /// Connections that wait to be accepted.
        queued: Num = 8 (Gauge, Count, "INET_DIAG, UNIX_DIAG"),
        /// The most that may wait.
        backlog: Num = 9 (Fact, Count, "INET_DIAG, UNIX_DIAG"),
        /// The path of a Unix socket; `@` before an abstract name.
        path: Text = 10 (Id, None, "UNIX_DIAG"),
    }
}

table! {
    /// TCP connections of processes that matter by where they go: counters grow with what each connection did, those
    /// that were closed since included.
    Peers = 95 "peers" {
        /// The process.
        pid: Num = 1 (Id, None, "proc/*/fd"),
        /// When it started.
        starttime: Num = 2 (Id, Ticks, "proc/*/stat"),
        /// CLOCK_MONOTONIC when it was read.
        read_at_ns: Num = 3 (Clock, Nanoseconds, "self"),
        /// The other end's address.
        address: Text = 4 (Id, None, "INET_DIAG"),
        /// The port of the service: the other end's, or the own one of connections that were accepted.
        port: Num = 5 (Id, None, "INET_DIAG"),
        /// 1 for connections that were accepted.
        inbound: Num = 6 (Id, None, "INET_DIAG"),
        /// Connections now.
        connections: Num = 7 (Gauge, Count, "INET_DIAG"),
        /// Round trip, the mean of the connections (tcpi_rtt).
        rtt_us: Num = 8 (Gauge, Microseconds, "INET_DIAG"),
        /// The least that any of them saw (tcpi_min_rtt, Linux 4.6).
        min_rtt_us: Num = 9 (Gauge, Microseconds, "INET_DIAG"),
        /// Segments sent (tcpi_segs_out, Linux 4.2).
        segs_out: Num = 10 (Counter, Count, "INET_DIAG"),
        /// Segments received (tcpi_segs_in, Linux 4.2).
        segs_in: Num = 11 (Counter, Count, "INET_DIAG"),
        /// Segments sent with data (tcpi_data_segs_out, Linux 4.6).
        data_segs_out: Num = 12 (Counter, Count, "INET_DIAG"),
        /// Segments received with data (tcpi_data_segs_in, Linux 4.6).
        data_segs_in: Num = 13 (Counter, Count, "INET_DIAG"),
        /// Bytes sent and acknowledged (tcpi_bytes_acked, Linux 4.1).
        bytes_out: Num = 14 (Counter, Bytes, "INET_DIAG"),
        /// Bytes received (tcpi_bytes_received, Linux 4.1).
        bytes_in: Num = 15 (Counter, Bytes, "INET_DIAG"),
        /// Segments retransmitted (tcpi_total_retrans).
        retransmits: Num = 16 (Counter, Count, "INET_DIAG"),
        /// Time with something sent and not acknowledged, summed over the connections (tcpi_busy_time, Linux 4.9).
        busy_us: Num = 17 (Counter, Microseconds, "INET_DIAG"),
        /// Segments in flight (tcpi_unacked).
        unacked: Num = 18 (Gauge, Count, "INET_DIAG"),
        /// Connections on which something was sent after the last that was received (tcpi_last_data_sent,
        /// tcpi_last_data_recv; in the same millisecond, more segments with data than came).
        awaited: Num = 19 (Gauge, Count, "INET_DIAG"),
    }
}
