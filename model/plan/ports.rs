//! Every port that a program listens on, moved to a free one for each instance: the running program keeps its own until
//! it is stopped, and the load balancer takes them then.

use super::Request;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A port that somebody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The port.
    pub port: u16,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Whose it is; empty where that is not known; hostile.
    pub who: String,
}

/// A port of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Port {
    /// Which instance, from 0.
    pub instance: usize,
    /// What the instance is called by.
    pub label: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Where the program listens.
    pub address: String,
    /// The port that it has.
    pub old: u16,
    /// The port that the instance gets.
    pub new: u16,
    /// Ports that would have come first and are somebody's, with whose.
    pub skipped: Vec<String>,
}

/// Ports that only root may have end here; no instance is moved below it.
const FIRST: u16 = 1024;

pub(super) fn plan(request: &Request<'_>, labels: &[&str], notes: &mut Vec<String>) -> Result<Vec<Port>, String> {
    let Some(listen) = &request.program.listen else {
        notes.push(match request.program.pid {
            Some(pid) => format!(
                "where {pid} listens could not be read: CAP_SYS_PTRACE or root; its ports have to be found by hand"
            ),
            None => {
                "where it listens is known only of a program that runs: with PID its ports are moved as well".to_owned()
            }
        });
        return Ok(Vec::new());
    };
    let mut old: BTreeMap<(String, u16), String> = BTreeMap::new();
    for listener in listen {
        old.entry((listener.protocol.to_string(), listener.port)).or_insert_with(|| listener.address.to_string());
    }
    if old.is_empty() {
        notes.push("it listens nowhere: there are no ports to move".to_owned());
    }
    let mut taken: BTreeMap<(String, u16), String> = BTreeMap::new();
    for taken_port in &request.taken {
        let who = if taken_port.who.is_empty() { "somebody" } else { &taken_port.who };
        taken.insert((taken_port.protocol.clone(), taken_port.port), who.to_owned());
    }
    for (protocol, port) in old.keys() {
        taken.insert((protocol.clone(), *port), "itself".to_owned());
    }
    let mut ports = Vec::new();
    for (instance, label) in labels.iter().enumerate() {
        for ((protocol, port), address) in &old {
            let (new, skipped) = free(request, &taken, protocol, *port, instance)
                .ok_or_else(|| format!("no {protocol} port is free for {port} of {label}"))?;
            taken.insert((protocol.clone(), new), format!("{label} of this plan"));
            let (label, protocol, address) = ((*label).to_owned(), protocol.clone(), address.clone());
            ports.push(Port { instance, label, protocol, address, old: *port, new, skipped });
        }
    }
    Ok(ports)
}

/// The next free port from the one that comes first: the old one and the instance's number.
fn free(
    request: &Request<'_>,
    taken: &BTreeMap<(String, u16), String>,
    protocol: &str,
    old: u16,
    instance: usize,
) -> Option<(u16, Vec<String>)> {
    let is_ephemeral = |port: u16| request.ephemeral.is_some_and(|(low, high)| (low..=high).contains(&port));
    // Who listens among the ports of connections already may stay there.
    let avoid = !is_ephemeral(old);
    let step = u16::try_from(instance + 1).ok()?;
    let first = old.checked_add(step).filter(|port| *port >= FIRST);
    // Ports below are root's: 80 becomes 8081.
    let first = first.unwrap_or_else(|| if old < FIRST { 8000 + old % 1000 + step } else { FIRST });
    let mut skipped = Vec::new();
    let mut seen = BTreeSet::new();
    for port in (first..=u16::MAX).chain(FIRST..first) {
        if !seen.insert(port) || (avoid && is_ephemeral(port)) {
            continue;
        }
        match taken.get(&(protocol.to_owned(), port)) {
            Some(who) if skipped.len() < 8 => skipped.push(format!("{port} is {who}'s")),
            Some(_) => {}
            None => return Some((port, skipped)),
        }
    }
    None
}
