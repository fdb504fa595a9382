//! GPUs and other accelerators.

use crate::Known;
use crate::document::{Text, absent};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// A GPU or another accelerator.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Accelerator {
    /// Name.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub name: Arc<str>,
    /// PCI address.
    pub address: Arc<str>,
    /// Driver.
    pub driver: Arc<str>,
    /// Vendor and device ids in hex.
    pub id: Arc<str>,
    /// Its node.
    pub node: Known<u32>,
    /// Its utilisation, or that of its busiest engine class; absent if the kernel does not report it.
    pub utilisation: Option<f64>,
    /// Device memory in use.
    pub memory_used_bytes: Known<u64>,
    /// Device memory.
    pub memory_total_bytes: Known<u64>,
    /// Processes that have it open, by PID.
    pub clients: Vec<AcceleratorClient>,
}

/// A process that has an accelerator open.
#[apply(_ => #[serde(skip_serializing_if = "absent")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AcceleratorClient {
    /// The process.
    pub pid: u32,
    /// Its share of the engine class that it uses most.
    pub utilisation: Option<f64>,
    /// Device memory that it uses.
    pub memory_bytes: Option<u64>,
}
