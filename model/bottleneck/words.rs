//! Resources in words: what a line of text says of one.

use super::{Resource, ResourceKind};
use crate::rules::{Subject, parts};
use std::fmt::Write as _;

impl Resource {
    /// Whose it is: `core 3`, `beam.smp 4121`, `eth0`; hostile where names are, empty where there is nobody.
    pub fn owner(&self) -> String {
        match (&self.subject, self.tid) {
            (Some(Subject::Cpu(id)), _) => format!("core {id}"),
            (Some(Subject::Process(..)), Some(tid)) => format!("{} {tid}", self.name),
            (Some(Subject::Process(pid, _)), None) => format!("{} {pid}", self.name),
            (Some(subject), _) if self.name.is_empty() => subject.to_string(),
            _ => self.name.to_string(),
        }
    }

    /// The number and what it is measured against: `42 % of 25.0 Gbit/s`, `3 % busy, 0.4 ms`; empty without one.
    pub fn figure(&self) -> String {
        let mut text = self.share.map_or_else(String::new, |share| parts::percent(Some(share)));
        let (used, limit) = (self.used.map(|used| used.0), self.limit.map(|limit| limit.0));
        // Writing to a String cannot fail.
        let _ = match (self.kind, self.share, used, limit) {
            (ResourceKind::NicIn | ResourceKind::NicOut, Some(_), _, Some(limit)) => {
                write!(text, " of {}", bits(limit))
            }
            (ResourceKind::NicIn | ResourceKind::NicOut, None, Some(used), _) => write!(text, "{}", bits(used)),
            (ResourceKind::Quota, Some(_), _, Some(limit)) => write!(text, " of {} cores", parts::count(Some(limit))),
            (ResourceKind::Memory, Some(_), _, Some(limit)) => write!(text, " of {}", parts::bytes(Some(limit))),
            (ResourceKind::Disk, Some(_), Some(wait), _) => write!(text, " busy, {wait:.1} ms"),
            (ResourceKind::Disk, Some(_), None, _) => write!(text, " busy"),
            _ => Ok(()),
        };
        text
    }

    /// It in a few words, without how it stands: `core 3 98 %`, `nic out eth0 42 % of 25.0 Gbit/s`.
    pub fn summary(&self) -> String {
        let (who, figure) = (self.owner(), self.figure());
        let label = if self.kind == ResourceKind::Core { "" } else { self.kind.label() };
        let parts: Vec<&str> = [label, &who, &figure].into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { self.kind.label().to_owned() } else { parts.join(" ") }
    }
}

/// `9.4 Gbit/s` of bytes per second.
fn bits(bytes: f64) -> String {
    let bits = bytes * 8.0;
    match bits {
        _ if bits >= 1e9 => format!("{:.1} Gbit/s", bits / 1e9),
        _ if bits >= 1e6 => format!("{:.0} Mbit/s", bits / 1e6),
        _ => format!("{:.0} kbit/s", bits / 1e3),
    }
}
