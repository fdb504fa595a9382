//! What a fix sees while it makes a plan.

use super::{Plan, Refusal};
use crate::frame::Frame;
use crate::locale::fix as shared;
use crate::rules::Finding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of the environment that fixes are applied from; read once, before plans are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The interface that carries the user's SSH session: the one with SSH_CONNECTION's local address.
    pub login_nic: Option<String>,
    /// Interfaces of default routes.
    pub default_routes: Vec<String>,
    /// Interfaces that carry network file systems and network block devices, each with its mount.
    pub network_mounts: Vec<(String, String)>,
    /// True where systemd is pid 1 and answers.
    pub systemd: bool,
    /// True where OpenRC manages the services.
    pub openrc: bool,
    /// Installed programs among those that fixes use: `irqbalance`, `taskset`, …
    pub programs: Vec<String>,
    /// Effective capabilities by the kernel's names in capitals: `CAP_NET_ADMIN`.
    pub capabilities: Vec<String>,
    /// Effective user.
    pub uid: u32,
    /// Processes of topotop that plan and write fixes, and that ask them to.
    pub own: Vec<u32>,
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

    /// Why changing an interface could disconnect somebody, a reason per line; empty where no risk is known.
    pub fn at_risk(&self, frame: &Frame, nic: &str) -> Vec<String> {
        // Traffic of a bond or bridge uses its lower interfaces.
        let carries = |upper: &str| upper == nic || is_below(frame, nic, upper, 8);
        let mut risks = Vec::new();
        if self.login_nic.as_deref().is_some_and(carries) {
            risks.push(shared::RISK_SESSION.to_string());
        }
        if self.default_routes.iter().any(|upper| carries(upper)) {
            risks.push(shared::RISK_ROUTE.to_string());
        }
        let mounts = self.network_mounts.iter().filter(|(upper, _)| carries(upper));
        risks.extend(mounts.map(|(_, mount)| shared::RiskMount { mount: &mount }.to_string()));
        risks
    }
}

fn is_below(frame: &Frame, nic: &str, upper: &str, depth: u32) -> bool {
    let Some(upper) = frame.nic(upper).filter(|_| depth > 0) else { return false };
    let by_master =
        frame.nic(nic).and_then(|nic| nic.master.clone().value()).is_some_and(|master| *master == *upper.name);
    by_master || upper.lower.iter().any(|lower| **lower == *nic || is_below(frame, nic, lower, depth - 1))
}

/// The finding that a fix answers, and the machine it is about.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What is wrong.
    pub finding: &'a Finding,
    /// The newest frame.
    pub frame: &'a Frame,
    /// Parameters that the user set, by name.
    pub set: &'a BTreeMap<String, String>,
    /// Where fixes are applied from.
    pub surroundings: &'a Surroundings,
    /// The application's own load metric, where one was given.
    pub metric: Option<&'a str>,
}

impl Case<'_> {
    /// A parameter as a number; refused where it is not a number or out of range.
    pub fn number(&self, name: &str, range: std::ops::RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
        let Some(text) = self.set.get(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| range.contains(number));
        let wrong = || {
            Refusal::because(
                shared::NumberRange { name: &name, text: &text, low: &range.start(), high: &range.end() }.to_string(),
            )
        };
        number.map(Some).ok_or_else(wrong)
    }

    /// An empty plan of a fix for the finding's subject.
    pub fn plan(&self, fix: &'static str, title: impl Into<String>) -> Plan {
        Plan::new(fix, self.finding.rule.id, self.finding.subject.clone(), title.into())
    }
}
