//! What cools CPUs at the cost of their speed.

use super::{CpuPlace, Topology};
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
    /// The CPU that it belongs to, where that is known.
    pub cpu: Known<u32>,
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

    /// True while it may be what caps the clock of this CPU: it slows down the CPU that it belongs to, and with it those of
    /// its package that have the same clocks.
    pub fn caps(&self, place: &CpuPlace, topology: &Topology) -> bool {
        let Some(own) = self.cpu.value() else { return self.slows() };
        let own = topology.cpus.iter().find(|other| other.id == own);
        let clock = |place: &CpuPlace| place.clock.as_ref().map(|clock| (clock.limit_mhz, clock.max_mhz));
        self.slows()
            && own.is_some_and(|own| own.id == place.id || own.package == place.package && clock(own) == clock(place))
    }

    fn is_on(&self) -> bool {
        self.state.value().is_some_and(|state| state > 0)
    }

    fn is_idler(&self) -> bool {
        &*self.kind == "intel_powerclamp" || ["idle-", "thermal-idle-"].iter().any(|name| self.kind.starts_with(name))
    }
}
