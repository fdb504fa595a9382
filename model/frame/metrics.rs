//! The application's own numbers.

use crate::document::{Text, absent};
use serde::Serialize;
use serde_with::apply;
use std::sync::Arc;

/// A number that the user asked for with `--metric`.
#[apply(_ => #[serde(skip_serializing_if = "absent")], Arc<str> => #[serde(with = "Text")])]
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Metric {
    /// Its name, as configured.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub name: Arc<str>,
    /// The value, or the rate per second of a counter; absent if stale.
    pub value: Option<f64>,
    /// Its unit; empty when it is not set.
    pub unit: Arc<str>,
    /// Where it comes from, as the user wrote it; untrusted text.
    #[serde_with(skip_apply)]
    #[serde(serialize_with = "Text::serialize")]
    pub source: Arc<str>,
    /// How old the number is.
    pub age_seconds: Option<f64>,
    /// The largest so far.
    pub peak: Option<f64>,
    /// The minimum that counts as load.
    pub least: Option<f64>,
    /// True when it tells whether the machine is under load.
    #[serde(skip)]
    pub gates: bool,
}

/// The share of its peak from which on a metric shows load, where no least value is set.
pub const LOAD_SHARE: f64 = 0.1;

impl Metric {
    /// Whether it shows that the application works: above zero, and at least the least value that is load or a tenth
    /// of the largest that was seen. None when it is not known now, or says nothing of load.
    pub fn shows_load(&self) -> Option<bool> {
        let value = self.value.filter(|_| self.gates)?;
        let least = self.least.or(self.peak.map(|peak| peak * LOAD_SHARE)).unwrap_or(0.0);
        Some(value > 0.0 && value >= least)
    }
}
