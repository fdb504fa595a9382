//! Sockets of processes and the performance data of Java virtual machines.

use crate::Known;
use crate::document::{Text, absent};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// A listening TCP or Unix socket or a bound UDP socket.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Listener {
    /// Its port; 0 for a Unix socket.
    pub port: u16,
    /// `tcp`, `udp` or `unix`.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub protocol: Arc<str>,
    /// Its address: `0.0.0.0`, `::1`, the path of a Unix socket.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub address: Arc<str>,
    /// Inode of its network namespace: ports of different ones do not collide.
    pub netns: u64,
    /// Connections that wait to be accepted.
    pub queued: Option<u64>,
    /// Maximum length of the queue.
    pub backlog: Option<u64>,
}

/// TCP connections of a process to one peer.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peer {
    /// Address of the peer.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub address: Arc<str>,
    /// Port of the service: the peer's, or the local port of accepted connections.
    pub port: u16,
    /// True for connections that were accepted.
    pub inbound: bool,
    /// Connections now.
    pub connections: u64,
    /// Round-trip time, mean over the connections.
    pub rtt_us: Known<u64>,
    /// Minimum round-trip time of any connection.
    pub min_rtt_us: Known<u64>,
    /// Segments sent per second.
    #[serde(rename = "segments_out_per_second")]
    pub segs_out_per_second: Option<f64>,
    /// Segments received per second.
    #[serde(rename = "segments_in_per_second")]
    pub segs_in_per_second: Option<f64>,
    /// Segments with data sent per second.
    pub data_segs_out_per_second: Option<f64>,
    /// Segments with data received per second.
    pub data_segs_in_per_second: Option<f64>,
    /// Bytes sent per second.
    pub bytes_out_per_second: Option<f64>,
    /// Bytes received per second.
    pub bytes_in_per_second: Option<f64>,
    /// Mean payload of a data segment, both directions.
    pub bytes_per_segment: Option<f64>,
    /// Segments retransmitted per second.
    pub retransmits_per_second: Option<f64>,
    /// Share of time in which a connection has unacknowledged data in flight, mean over the connections.
    pub busy_ratio: Option<f64>,
    /// Segments in flight.
    pub unacked: u64,
    /// Connections with an answer outstanding: data was sent after the last data received.
    pub awaited: Option<u64>,
}

/// True for an address that leads back to the same machine.
pub fn is_loopback(address: &str) -> bool {
    address.starts_with("127.") || address == "::1"
}

impl Listener {
    /// True for a Unix socket.
    pub fn is_local(&self) -> bool {
        &*self.protocol == "unix"
    }

    /// Where it listens: `0.0.0.0:80`, `[::]:80`, `/run/app.sock`.
    pub fn end(&self) -> String {
        match &*self.address {
            path if self.is_local() => path.to_owned(),
            address if address.contains(':') => format!("[{address}]:{}", self.port),
            address => format!("{address}:{}", self.port),
        }
    }
}

impl Peer {
    /// Share of the segments with data that were sent again.
    pub fn retransmit_ratio(&self) -> Option<f64> {
        let sent = self.data_segs_out_per_second.filter(|sent| *sent > 0.0)?;
        Some((self.retransmits_per_second? / sent).min(1.0))
    }

    /// Round trips that the connections wait for, of the time: requests per second and connection times the round trip.
    /// Near 1 where every message waits for the answer to the one before it and the network is all that takes time.
    pub fn round_trip_share(&self) -> Option<f64> {
        let rtt_seconds = self.rtt_us.value()? as f64 / 1e6;
        let requests = self.data_segs_out_per_second?.min(self.data_segs_in_per_second?);
        (self.connections > 0).then(|| requests * rtt_seconds / self.connections as f64)
    }
}

/// A Java virtual machine.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Jvm {
    /// Share of time in stop-the-world collections.
    pub gc_time_ratio: Option<f64>,
    /// Collections per second.
    pub gc_per_second: Option<f64>,
    /// Share of its time stopped at safepoints, collections included.
    pub safepoint_ratio: Option<f64>,
    /// Contended monitor entries per second.
    pub contended_per_second: Option<f64>,
    /// Heap in use, as of the last collection.
    pub heap_used_bytes: Known<u64>,
    /// Committed heap.
    pub heap_capacity_bytes: Known<u64>,
    /// Maximum heap size.
    pub heap_max_bytes: Known<u64>,
    /// Names of its collectors; hostile.
    pub collectors: Arc<str>,
    /// Its version; hostile.
    pub version: Arc<str>,
}
