//! Resources as text.

use super::{Resource, ResourceKind};
use crate::locale::resource as text;
use crate::rules::{Subject, parts};

impl Resource {
    /// Its owner: `core 3`, `beam.smp 4121`, `eth0`; hostile where names are, empty without one.
    pub fn owner(&self) -> String {
        match (&self.subject, self.tid) {
            (Some(Subject::Cpu(cpu)), _) => text::OwnerCore { cpu }.to_string(),
            (Some(Subject::Process(..)), Some(tid)) => text::OwnerId { name: &self.name, id: &tid }.to_string(),
            (Some(Subject::Process(pid, _)), None) => text::OwnerId { name: &self.name, id: pid }.to_string(),
            (Some(subject), _) if self.name.is_empty() => subject.to_string(),
            _ => self.name.to_string(),
        }
    }

    /// Its utilisation and its limit: `42% of 25.0 Gbit/s`, `3% busy, 0.4 ms`; empty if unknown.
    pub fn figure(&self) -> String {
        let (used, limit) = (self.used.map(|used| used.0), self.limit.map(|limit| limit.0));
        let Some(share) = self.share else {
            let is_link = matches!(self.kind, ResourceKind::NicIn | ResourceKind::NicOut);
            return used.filter(|_| is_link).map(bits).unwrap_or_default();
        };
        let share = parts::percent(Some(share));
        let of = |limit: String| text::OfLimit { share: &share, limit: &limit }.to_string();
        match (self.kind, used, limit) {
            (ResourceKind::NicIn | ResourceKind::NicOut, _, Some(limit)) => of(bits(limit)),
            (ResourceKind::Quota, _, Some(limit)) => {
                text::OfCores { share: &share, cores: &parts::count(Some(limit)) }.to_string()
            }
            (ResourceKind::Memory, _, Some(limit)) => of(parts::bytes(Some(limit))),
            (ResourceKind::Disk, Some(wait), _) => {
                text::BusyLatency { share: &share, latency: &format!("{wait:.1}") }.to_string()
            }
            (ResourceKind::Disk, None, _) => text::Busy { share: &share }.to_string(),
            _ => share,
        }
    }

    /// Its label, owner and figure: `core 3 98%`, `NIC out eth0 42% of 25.0 Gbit/s`.
    pub fn summary(&self) -> String {
        let (owner, figure) = (self.owner(), self.figure());
        let label = if self.kind == ResourceKind::Core { "" } else { self.kind.label().as_str() };
        let parts: Vec<&str> = [label, &owner, &figure].into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { self.kind.label().to_string() } else { parts.join(" ") }
    }
}

/// Bytes per second as `9.4 Gbit/s`.
fn bits(bytes: f64) -> String {
    let bits = bytes * 8.0;
    match bits {
        _ if bits >= 1e9 => format!("{:.1} Gbit/s", bits / 1e9),
        _ if bits >= 1e6 => format!("{:.0} Mbit/s", bits / 1e6),
        _ => format!("{:.0} kbit/s", bits / 1e3),
    }
}
