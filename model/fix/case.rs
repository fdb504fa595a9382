//! What a fix sees while it makes a plan.

use super::{Plan, Refusal};
use crate::frame::Frame;
use crate::rules::Finding;
use std::collections::BTreeMap;

/// What is known of the place that fixes are applied from; read once, before plans are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The interface that the login of whoever asks came in by: of SSH_CONNECTION's local address.
    pub login_nic: Option<String>,
    /// Interfaces of default routes.
    pub default_routes: Vec<String>,
    /// Interfaces that network file systems and block devices of the network are reached by, with what is reached.
    pub network_mounts: Vec<(String, String)>,
    /// True where systemd is pid 1 and answers.
    pub systemd: bool,
    /// True where OpenRC keeps the services.
    pub openrc: bool,
    /// Programs that were looked for and found: `irqbalance`, `taskset`, …
    pub programs: Vec<String>,
    /// Effective capabilities by the kernel's names in capitals: `CAP_NET_ADMIN`.
    pub capabilities: Vec<String>,
    /// Effective user.
    pub uid: u32,
    /// Swap is in use.
    pub swap: bool,
    /// Disks on which the kernel's I/O cost controller is on, by number: `8:16`.
    pub io_cost: Vec<String>,
}

impl Surroundings {
    /// True where a capability is held.
    pub fn holds(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|held| held == capability)
    }

    /// Why changing an interface could cut somebody off, each reason a line; empty where nothing is known to be at risk.
    pub fn at_risk(&self, frame: &Frame, nic: &str) -> Vec<String> {
        // What goes over a bond or a bridge goes over its legs.
        let carries = |upper: &str| upper == nic || is_below(frame, nic, upper, 8);
        let mut risks = Vec::new();
        if self.login_nic.as_deref().is_some_and(carries) {
            risks.push("this login comes in by it".to_owned());
        }
        if self.default_routes.iter().any(|upper| carries(upper)) {
            risks.push("the default route goes by it".to_owned());
        }
        let mounts = self.network_mounts.iter().filter(|(upper, _)| carries(upper));
        risks.extend(mounts.map(|(_, mount)| format!("{mount} is reached by it")));
        risks
    }
}

fn is_below(frame: &Frame, nic: &str, upper: &str, depth: u32) -> bool {
    let Some(upper) = frame.nic(upper).filter(|_| depth > 0) else { return false };
    let by_master =
        frame.nic(nic).and_then(|nic| nic.master.clone().value()).is_some_and(|master| *master == *upper.name);
    by_master || upper.lower.iter().any(|lower| **lower == *nic || is_below(frame, nic, lower, depth - 1))
}

/// A finding to cure.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What is wrong.
    pub finding: &'a Finding,
    /// The newest frame.
    pub frame: &'a Frame,
    /// Parameters that the user set, by name.
    pub set: &'a BTreeMap<String, String>,
    /// The place.
    pub surroundings: &'a Surroundings,
    /// The application's own number that carries the load, where one was given.
    pub metric: Option<&'a str>,
}

impl Case<'_> {
    /// A parameter as a number; refused where it is none or out of range.
    pub fn number(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.set.get(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let wrong =
            || Refusal::because(format!("{name}={text}: give a number from {} to {}", range.start(), range.end()));
        number.map(Some).ok_or_else(wrong)
    }

    /// A plan of a fix about the finding's subject, with nothing in it.
    pub fn plan(&self, fix: &'static str, title: impl Into<String>) -> Plan {
        Plan::new(fix, self.finding.rule.id, self.finding.subject.clone(), title.into())
    }
}
