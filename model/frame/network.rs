//! Interrupts, the backlog, interfaces and the chain from a queue to the CPU that serves it.

use crate::document::{Absent, ById, Text, absent, known_text, texts};
use crate::{IdSet, Known};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_with::apply;
use std::sync::Arc;

/// A device interrupt.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Irq {
    /// Its slot in the raw section.
    #[serde(skip)]
    pub slot: usize,
    /// Its number.
    pub irq: u32,
    /// Its actions.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub name: Arc<str>,
    /// The chip column.
    pub chip: Arc<str>,
    /// Since boot.
    pub total: Known<u64>,
    /// Since boot by CPU, zeros left out.
    pub per_cpu: Option<Counts>,
    /// Per second. Not a measure of load: a busy queue polls.
    pub per_second: Option<f64>,
    /// Per second by CPU, zeros left out.
    #[serde_with(skip_apply)]
    #[serde(with = "ById::<f64>", skip_serializing_if = "Vec::is_empty")]
    pub per_cpu_per_second: Vec<(u32, f64)>,
    /// Affinity mask.
    pub affinity: Option<Arc<IdSet>>,
    /// Effective affinity.
    pub effective_affinity: Option<Arc<IdSet>>,
    /// True when the kernel refuses writes to its affinity.
    pub managed: Known<bool>,
    /// Its device's node.
    pub node: Known<u32>,
    /// Its device: an interface where it is known to serve one, else the PCI function.
    pub device: Arc<str>,
}

/// One of the architecture's interrupts.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArchIrq {
    /// LOC, RES, …
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub name: Arc<str>,
    /// Name in the kernel.
    pub description: Arc<str>,
    /// Since boot.
    pub total: Known<u64>,
    /// Since boot by CPU, zeros left out.
    pub per_cpu: Option<Counts>,
    /// Per second.
    pub per_second: Option<f64>,
}

/// A softirq type.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Softirq {
    /// NET_RX, TIMER, …
    #[serde(skip)]
    pub name: Arc<str>,
    /// Since boot.
    pub total: Known<u64>,
    /// Since boot by CPU, zeros left out.
    pub per_cpu: Option<Counts>,
    /// Per second.
    pub per_second: Option<f64>,
    /// Per second by CPU, zeros left out.
    #[serde_with(skip_apply)]
    #[serde(with = "ById::<f64>", skip_serializing_if = "Vec::is_empty")]
    pub per_cpu_per_second: Vec<(u32, f64)>,
}

/// Packet backlog of a CPU.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SoftnetRow {
    /// The CPU.
    pub cpu: u32,
    /// Packets since boot.
    pub processed: Known<u64>,
    /// Dropped since boot.
    pub dropped: Known<u64>,
    /// Polling cycles that ended with work left.
    pub time_squeeze: Known<u64>,
    /// Wake-ups for RPS.
    pub received_rps: Known<u64>,
    /// Dropped by the flow limit.
    pub flow_limit: Known<u64>,
    /// Waiting now.
    pub backlog: Known<u64>,
    /// Per second.
    pub processed_per_second: Option<f64>,
    /// Per second.
    pub dropped_per_second: Option<f64>,
    /// Per second.
    pub time_squeeze_per_second: Option<f64>,
    /// Per second.
    pub received_rps_per_second: Option<f64>,
}

/// irqbalance.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Irqbalance {
    /// `running`, `oneshot`, `absent` or `failed`.
    pub state: Arc<str>,
    /// Its process.
    pub pid: Known<u32>,
    /// True when its program is installed.
    pub installed: Known<bool>,
    /// CPUs that it must not use.
    pub banned_cpus: Option<Arc<IdSet>>,
    /// Interrupts that it must not move.
    pub banned_irqs: Option<Arc<IdSet>>,
}

/// Channels of one kind: null if the driver has no such kind.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Channel {
    /// Now.
    pub current: Known<u64>,
    /// Maximum.
    pub max: Known<u64>,
}

/// A network interface.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Nic {
    /// Name.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub name: Arc<str>,
    /// Kernel index.
    pub ifindex: u32,
    /// Driver; empty when unread or none.
    pub driver: Arc<str>,
    /// Bus address.
    pub bus_info: Arc<str>,
    /// `physical`, `virtual`, `loopback`; empty when unread. Representors, and interfaces that pass packets to a
    /// virtual function, count as virtual: their traffic is counted at the physical interface.
    pub kind: Arc<str>,
    /// Virtual functions enabled on its device; guests lose their links when it is reset.
    pub vfs: Option<u64>,
    /// Where an XDP program handles its packets before the network stack: `native` (in the driver), `generic`, `offloaded`,
    /// `multiple`; empty without one or where that is unread.
    pub xdp: Arc<str>,
    /// ID of the XDP program.
    pub xdp_program: Option<u64>,
    /// Node of its device.
    pub node: Known<u32>,
    /// CPUs local to its device.
    pub local_cpus: Option<Arc<IdSet>>,
    /// True if the link is up.
    pub carrier: Known<bool>,
    /// Link state changes in the interval.
    pub carrier_changes: Option<u64>,
    /// Link speed.
    pub speed_mbps: Known<u64>,
    /// Configured capacity, or the link speed; null if unknown.
    pub capacity_mbps: Known<u64>,
    /// Utilisation of the busier direction; never the sum of both.
    pub utilisation: Option<f64>,
    /// Lower interfaces.
    #[serde(serialize_with = "texts")]
    pub lower: Vec<Arc<str>>,
    /// The bond, team or bridge that it belongs to.
    #[serde(serialize_with = "known_text")]
    pub master: Known<Arc<str>>,
    /// Received.
    #[serde(flatten, serialize_with = "rx")]
    #[cfg_attr(test, schemars(schema_with = "rx_schema"))]
    pub rx: NicRates,
    /// Sent.
    #[serde(flatten, serialize_with = "tx")]
    #[cfg_attr(test, schemars(schema_with = "tx_schema"))]
    pub tx: NicRates,
    /// Packets missed by the NIC, per second: `rx_drops` (from /proc/net/dev) includes them.
    pub rx_missed_per_second: Option<f64>,
    /// Receive FIFO overruns, per second.
    pub rx_fifo_per_second: Option<f64>,
    /// Packets for which the NIC had no buffer, if only driver counters report them, per second.
    pub rx_unbuffered_per_second: Option<f64>,
    /// Packets over any cloud allowance, as the driver counts them, per second.
    pub allowance_exceeded_per_second: Option<f64>,
    /// Packets queued or dropped because received traffic exceeded the bandwidth allowance, per second.
    pub allowance_rx_per_second: Option<f64>,
    /// Packets queued or dropped because sent traffic exceeded the bandwidth allowance, per second.
    pub allowance_tx_per_second: Option<f64>,
    /// Packets queued or dropped because the packet rate exceeded its allowance, per second.
    pub allowance_packets_per_second: Option<f64>,
    /// Packets dropped because tracked connections exceeded their allowance, per second.
    pub allowance_connections_per_second: Option<f64>,
    /// Queueing discipline that shapes its transmitted packets: `tbf`, `htb`, `netem`; empty without one.
    pub shaper: Arc<str>,
    /// Its rate in bytes per second; absent if each of its classes has its own.
    pub shaper_bytes_per_second: Option<u64>,
    /// Bytes that wait in it.
    pub shaper_backlog_bytes: Option<u64>,
    /// Packets delayed (overlimits), per second.
    pub shaper_overlimits_per_second: Option<f64>,
    /// Packets that it dropped, per second.
    pub shaper_drops_per_second: Option<f64>,
    /// Entries of the RSS indirection table by receive queue; empty where there is none or it is unread.
    #[serde_with(skip_apply)]
    #[serde(with = "ById::<u64>", skip_serializing_if = "Vec::is_empty")]
    pub rss_indirection: Vec<(u32, u64)>,
    /// Channels by kind.
    #[cfg_attr(test, schemars(with = "Option<Channels>"))]
    pub channels: Channels,
    /// MTU in bytes.
    pub mtu: Known<u64>,
    /// Receive ring entries.
    #[serde(serialize_with = "channel")]
    #[cfg_attr(test, schemars(with = "Known<Channel>"))]
    pub rx_ring: Channel,
    /// Queues, receive first, by number.
    pub queues: Vec<Queue>,
}

/// Traffic in one direction, per second.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NicRates {
    /// Bytes since boot.
    pub bytes: Known<u64>,
    /// Packets since boot.
    pub packets: Known<u64>,
    /// Drops since boot.
    pub drops: Known<u64>,
    /// Bytes.
    pub bytes_per_second: Option<f64>,
    /// Packets.
    pub packets_per_second: Option<f64>,
    /// Drops.
    pub drops_per_second: Option<f64>,
    /// Errors.
    pub errors_per_second: Option<f64>,
}

/// A queue and the chain down to the CPU that serves it.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Queue {
    /// Its number.
    pub queue: u32,
    /// `rx`, `tx` or `rxtx` (combined).
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub direction: Arc<str>,
    /// Its interrupt; null if it has none of its own.
    pub irq: Known<u32>,
    /// How the interrupt was found: `msi_irqs`, `chip`, `hwirq`, `name`, `channel`; empty without one.
    #[serde_with(skip_apply)]
    #[serde(skip_serializing_if = "str::is_empty")]
    #[cfg_attr(test, schemars(with = "Text"))]
    pub irq_source: &'static str,
    /// The CPUs that its interrupt goes to: effective where known, else allowed.
    pub cpus: Option<Arc<IdSet>>,
    /// NUMA node of the first of its `cpus`.
    pub node: Known<u32>,
    /// Interrupts since boot.
    pub total: Known<u64>,
    /// Interrupts per second.
    pub per_second: Option<f64>,
    /// Packets per second, where the driver counts them.
    pub packets_per_second: Option<f64>,
    /// CPUs that it steers packets to; empty when off.
    pub rps_cpus: Option<Arc<IdSet>>,
    /// CPUs that XPS assigns to it.
    pub xps_cpus: Option<Arc<IdSet>>,
    /// Softirq share of the busiest CPU that serves it.
    pub softirq: Option<f64>,
}

/// Channels of a network interface by kind.
#[apply(Channel => #[serde(serialize_with = "channel", skip_serializing_if = "absent")] #[cfg_attr(test, schemars(with = "Known<Channel>"))])]
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Channels {
    /// Combined channels.
    pub combined: Channel,
    /// Receive-only channels.
    pub rx: Channel,
    /// Transmit-only channels.
    pub tx: Channel,
    /// Other channels.
    pub other: Channel,
}

impl Absent for Channels {
    fn is_absent(&self) -> bool {
        [self.combined, self.rx, self.tx, self.other].iter().all(absent)
    }
}

impl Absent for Channel {
    fn is_absent(&self) -> bool {
        self.current.is_missing() && self.max.is_missing()
    }
}

/// Null where the driver has no such kind.
fn channel<S: Serializer>(channel: &Channel, serializer: S) -> Result<S::Ok, S::Error> {
    let present = !matches!(channel.max, Known::None);
    present.then_some(channel).serialize(serializer)
}

impl Absent for NicRates {}

fn rx<S: Serializer>(rates: &NicRates, serializer: S) -> Result<S::Ok, S::Error> {
    prefixed("rx_", rates, serializer)
}

fn tx<S: Serializer>(rates: &NicRates, serializer: S) -> Result<S::Ok, S::Error> {
    prefixed("tx_", rates, serializer)
}

fn prefixed<S: Serializer>(prefix: &str, rates: &NicRates, serializer: S) -> Result<S::Ok, S::Error> {
    let rates = serde_json::to_value(rates).map_err(S::Error::custom)?;
    serializer
        .collect_map(rates.as_object().into_iter().flatten().map(|(key, value)| (format!("{prefix}{key}"), value)))
}

#[cfg(test)]
fn rx_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::document::prefixed::<NicRates>("rx_", generator)
}

#[cfg(test)]
fn tx_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    crate::document::prefixed::<NicRates>("tx_", generator)
}

/// Counts by CPU; CPUs with none are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Counts(#[serde(with = "ById::<u64>")] pub Vec<(u32, u64)>);
