//! Sockets, Java virtual machines and the application's own numbers.

use super::value::{Text, object, text};
use topotop_model::Known;
use topotop_model::frame;

object! {
    pub(crate) Listener {
        address: Text,
        port: u32,
        protocol: Text,
    }
}

object! {
    pub(crate) Peer {
        address: Text,
        port: u32,
        inbound: bool,
        connections: u64,
        rtt_us: Known<u64>,
        min_rtt_us: Known<u64>,
        segments_out_per_second: Option<f64>,
        segments_in_per_second: Option<f64>,
        bytes_out_per_second: Option<f64>,
        bytes_in_per_second: Option<f64>,
        bytes_per_segment: Option<f64>,
        retransmits_per_second: Option<f64>,
        busy_ratio: Option<f64>,
        unacked: u64,
    }
}

object! {
    pub(crate) Jvm {
        gc_time_ratio: Option<f64>,
        gc_per_second: Option<f64>,
        safepoint_ratio: Option<f64>,
        heap_used_bytes: Known<u64>,
        heap_capacity_bytes: Known<u64>,
        heap_max_bytes: Known<u64>,
        collectors: Option<Text>,
        version: Option<Text>,
    }
}

object! {
    pub(crate) Metric {
        name: Text,
        value: Option<f64>,
        unit: Option<Text>,
        source: Text,
        age_seconds: Option<f64>,
        peak: Option<f64>,
        shows_load: Option<bool>,
    }
}

pub(super) fn listener(listener: &frame::Listener) -> Listener {
    let (address, protocol) = (Text::from(&listener.address), Text::from(&listener.protocol));
    Listener { address, port: u32::from(listener.port), protocol }
}

pub(super) fn peer(peer: &frame::Peer) -> Peer {
    Peer {
        address: Text::from(&peer.address),
        port: u32::from(peer.port),
        inbound: peer.inbound,
        connections: peer.connections,
        rtt_us: peer.rtt_us,
        min_rtt_us: peer.min_rtt_us,
        segments_out_per_second: peer.segs_out_per_second,
        segments_in_per_second: peer.segs_in_per_second,
        bytes_out_per_second: peer.bytes_out_per_second,
        bytes_in_per_second: peer.bytes_in_per_second,
        bytes_per_segment: peer.bytes_per_segment,
        retransmits_per_second: peer.retransmits_per_second,
        busy_ratio: peer.busy_ratio,
        unacked: peer.unacked,
    }
}

pub(super) fn jvm(jvm: &frame::Jvm) -> Jvm {
    Jvm {
        gc_time_ratio: jvm.gc_time_ratio,
        gc_per_second: jvm.gc_per_second,
        safepoint_ratio: jvm.safepoint_ratio,
        heap_used_bytes: jvm.heap_used_bytes,
        heap_capacity_bytes: jvm.heap_capacity_bytes,
        heap_max_bytes: jvm.heap_max_bytes,
        collectors: text(&jvm.collectors),
        version: text(&jvm.version),
    }
}

pub(super) fn metric(metric: &frame::Metric) -> Metric {
    Metric {
        name: Text::from(&metric.name),
        value: metric.value,
        unit: text(&metric.unit),
        source: Text::from(&metric.source),
        age_seconds: metric.age_seconds,
        peak: metric.peak,
        shows_load: metric.shows_load(),
    }
}
