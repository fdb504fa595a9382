//! Every port that a program listens on, moved to a free one for each instance: the running program keeps its own until
//! it is stopped, and the load balancer takes them then.

use super::Request;
use crate::locale::plan as text;
use crate::text::printable;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A port in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The port.
    pub port: u16,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Its owner; empty where unknown; hostile.
    pub who: String,
}

/// A port of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Port {
    /// Which instance, from 0.
    pub instance: usize,
    /// The label of the instance.
    pub label: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// The listening address.
    pub address: String,
    /// The port of the program.
    pub old: u16,
    /// The port of the instance.
    pub new: u16,
    /// Skipped ports, with their owners.
    pub skipped: Vec<String>,
}

/// The first unprivileged port; instances get no lower one.
const FIRST: u16 = 1024;

pub(super) fn plan(request: &Request<'_>, labels: &[&str], notes: &mut Vec<String>) -> Result<Vec<Port>, String> {
    let Some(listen) = &request.program.listen else {
        notes.push(match request.program.pid {
            Some(pid) => text::PortsUnread { pid: &pid }.to_string(),
            None => text::PORTS_OF_COMMAND.to_string(),
        });
        return Ok(Vec::new());
    };
    let mut old: BTreeMap<(String, u16), String> = BTreeMap::new();
    for listener in listen {
        old.entry((listener.protocol.to_string(), listener.port)).or_insert_with(|| listener.address.to_string());
    }
    if old.is_empty() {
        notes.push(text::NO_PORTS.to_string());
    }
    if !request.program.paths.is_empty() {
        let paths: Vec<_> = request.program.paths.iter().map(|path| printable(path)).collect();
        notes.push(text::Paths { paths: &paths.join(", ") }.to_string());
    }
    let mut taken: BTreeMap<(String, u16), String> = BTreeMap::new();
    for taken_port in &request.taken {
        let who = if taken_port.who.is_empty() { text::OWNER_UNKNOWN.to_string() } else { taken_port.who.clone() };
        taken.insert((taken_port.protocol.clone(), taken_port.port), who);
    }
    for (protocol, port) in old.keys() {
        taken.insert((protocol.clone(), *port), text::OWNER_SELF.to_string());
    }
    let mut ports = Vec::new();
    for (instance, label) in labels.iter().enumerate() {
        for ((protocol, port), address) in &old {
            let (new, skipped) = free(request, &taken, protocol, *port, instance)
                .ok_or_else(|| text::NoFreePort { protocol: &protocol, port: &port, label: &label }.to_string())?;
            taken.insert((protocol.clone(), new), text::OwnerPlan { label: &label }.to_string());
            let (label, protocol, address) = ((*label).to_owned(), protocol.clone(), address.clone());
            ports.push(Port { instance, label, protocol, address, old: *port, new, skipped });
        }
    }
    Ok(ports)
}

/// The next free port, from the old one plus the instance's number.
fn free(
    request: &Request<'_>,
    taken: &BTreeMap<(String, u16), String>,
    protocol: &str,
    old: u16,
    instance: usize,
) -> Option<(u16, Vec<String>)> {
    let is_ephemeral = |port: u16| request.ephemeral.is_some_and(|(low, high)| (low..=high).contains(&port));
    // A program that listens in the ephemeral range may stay there.
    let avoid = !is_ephemeral(old);
    let step = u16::try_from(instance + 1).ok()?;
    let first = old.checked_add(step).filter(|port| *port >= FIRST);
    // Lower ports require root: 80 becomes 8081.
    let first = first.unwrap_or_else(|| if old < FIRST { 8000 + old % 1000 + step } else { FIRST });
    let mut skipped = Vec::new();
    let mut seen = BTreeSet::new();
    for port in (first..=u16::MAX).chain(FIRST..first) {
        if !seen.insert(port) || (avoid && is_ephemeral(port)) {
            continue;
        }
        match taken.get(&(protocol.to_owned(), port)) {
            Some(who) if skipped.len() < 8 => skipped.push(text::PortTaken { port: &port, owner: &who }.to_string()),
            Some(_) => {}
            None => return Some((port, skipped)),
        }
    }
    None
}
