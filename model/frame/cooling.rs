//! What cools CPUs at the cost of their speed.

use crate::Known;
use std::sync::Arc;

/// A cooling device that slows CPUs down or keeps them idle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cooling {
    /// Its name.
    pub name: Arc<str>,
    /// `Processor`, `intel_powerclamp`, `cpufreq-cpu0`, `idle-cpu0`, …
    pub kind: Arc<str>,
    /// How much it does; zero while it does nothing.
    pub state: Known<u64>,
    /// The most that it can do.
    pub max_state: Known<u64>,
}

impl Cooling {
    /// True while it keeps CPUs idle that have work.
    pub fn injects_idle(&self) -> bool {
        self.is_on() && self.is_idler()
    }

    /// True while it caps the clock of CPUs.
    pub fn slows(&self) -> bool {
        self.is_on() && !self.is_idler()
    }

    fn is_on(&self) -> bool {
        self.state.value().is_some_and(|state| state > 0)
    }

    fn is_idler(&self) -> bool {
        &*self.kind == "intel_powerclamp" || ["idle-", "thermal-idle-"].iter().any(|name| self.kind.starts_with(name))
    }
}
