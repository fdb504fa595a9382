//! What network namespaces count, and tables of the kernel that can be full.

use crate::Known;
use crate::document::{Text, absent};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// TCP, UDP and connection tracking of a network namespace in this interval.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NetNamespace {
    /// Its inode; zero where it is not known.
    pub netns: u64,
    /// The process that it was read through; null for topotop's own namespace.
    pub pid: Known<u32>,
    /// Connections now.
    pub established: Known<u64>,
    /// Segments received.
    pub in_segs_per_second: Option<f64>,
    /// Segments sent.
    pub out_segs_per_second: Option<f64>,
    /// Segments retransmitted.
    pub retrans_segs_per_second: Option<f64>,
    /// Connections opened.
    pub active_opens_per_second: Option<f64>,
    /// Connections accepted.
    pub passive_opens_per_second: Option<f64>,
    /// Connections that found a full accept queue.
    pub listen_overflows_per_second: Option<f64>,
    /// Connections dropped by listening sockets for any reason.
    pub listen_drops_per_second: Option<f64>,
    /// Times the retransmission timer fired.
    pub timeouts_per_second: Option<f64>,
    /// SYNs retransmitted.
    pub syn_retrans_per_second: Option<f64>,
    /// Segments dropped because a socket's backlog or receive buffer was full.
    pub socket_drops_per_second: Option<f64>,
    /// UDP datagrams received.
    pub udp_in_per_second: Option<f64>,
    /// UDP datagrams dropped because the receive buffer was full.
    pub udp_rcvbuf_errors_per_second: Option<f64>,
    /// Connections that could not be tracked, and entries evicted to make room.
    pub conntrack_drops_per_second: Option<f64>,
    /// Tracked connections.
    pub conntrack_entries: Known<u64>,
    /// Local ports used by connections to one destination, the one with the most; null while they are few.
    pub ports: Known<u64>,
    /// Local ports available for one destination.
    pub ports_limit: Known<u64>,
    /// Interfaces with a traffic shaper, except those in the namespace of this program, which list it themselves.
    pub shapers: Vec<Shaper>,
}

impl NetNamespace {
    /// Segments sent again, of those that were sent (`RetransSegs` / `OutSegs`).
    pub fn retransmit_ratio(&self) -> Option<f64> {
        let sent = self.out_segs_per_second.filter(|&sent| sent > 0.0)?;
        Some((self.retrans_segs_per_second? / sent).min(1.0))
    }
}

/// Traffic shaper of an interface in another network namespace, in this interval.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Shaper {
    /// The interface.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub name: Arc<str>,
    /// `tbf`, `htb`, `netem`, …
    pub kind: Arc<str>,
    /// Bytes that it sent.
    pub bytes_per_second: Option<f64>,
    /// Maximum rate in bytes per second; absent if each of its classes has its own.
    pub rate_bytes_per_second: Option<u64>,
    /// Bytes that wait.
    pub backlog_bytes: Option<u64>,
    /// Packets delayed (overlimits).
    pub overlimits_per_second: Option<f64>,
    /// Packets dropped.
    pub drops_per_second: Option<f64>,
}

/// Kernel tables that can fill up.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelTables {
    /// Open files on the machine (`file-nr`).
    pub files: Known<u64>,
    /// The maximum.
    pub files_limit: Known<u64>,
    /// Tracked connections of this program's network namespace.
    pub conntrack: Known<u64>,
    /// The maximum.
    pub conntrack_limit: Known<u64>,
    /// Tasks on the machine.
    pub tasks: Known<u64>,
    /// The maximum: the lower of `kernel.threads-max` and `kernel.pid_max`.
    pub tasks_limit: Known<u64>,
}
