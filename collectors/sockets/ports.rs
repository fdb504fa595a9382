//! Local ports of connections that are opened: the kernel has so many for each destination, and one stays taken for a
//! minute after its connection was closed (TIME_WAIT).

use super::message::{self, FAMILIES, Socket, TCP};
use crate::Root;
use crate::parse::{fields, number};
use crate::sys::netlink;
use rustix::net::netlink::SOCK_DIAG;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use topotop_model::Reason;

const RANGE: &str = "proc/sys/net/ipv4/ip_local_port_range";
const REUSE: &str = "proc/sys/net/ipv4/tcp_tw_reuse";
/// States in which a connection has a port: all but closed and listening ones; that of TIME_WAIT.
const STATES: u32 = 0b1011_0111_1110;
const TIME_WAIT: u8 = 6;
/// How long TIME_WAIT lasts (TCP_TIMEWAIT_LEN), and how much of it a port is taken for in any case.
const WAIT_MS: u32 = 60_000;
const REUSE_MS: u32 = 1000;
/// The most sockets that are counted.
const MOST: usize = 400_000;
/// All connections together have to take this part of the range before they are counted by destination.
const WORTH: u64 = 2;
const PATIENCE: Duration = Duration::from_secs(1);

/// The ports that connections to one destination take, of those there are.
pub(crate) type Ports = (u64, u64);

/// The destination with most ports in a namespace, where so many connections could be short of them: of this thread's
/// namespace, or of another one by a thread that goes there.
pub(crate) fn most(root: &Arc<Root>, pid: Option<u32>, connections: u64) -> Option<Ports> {
    let Some(pid) = pid else { return here(root, connections).ok().flatten() };
    let file = root.open(format!("proc/{pid}/ns/net")).ok()?;
    let namespace: OwnedFd = file.as_fd().try_clone_to_owned().ok()?;
    let root = Arc::clone(root);
    let go = move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).map_err(crate::root::reason)?;
        here(&root, connections)
    };
    let thread = std::thread::Builder::new().name("namespace".to_owned()).spawn(go).ok()?;
    thread.join().ok()?.ok().flatten()
}

fn here(root: &Root, connections: u64) -> Result<Option<Ports>, Reason> {
    let mut buf = Vec::new();
    root.read(RANGE, &mut buf)?;
    let ends: Vec<Option<u64>> = fields(buf.trim_ascii_end()).map(number).collect();
    let &[Some(low), Some(high)] = ends.as_slice() else { return Err(Reason::Malformed) };
    let all = (high + 1).saturating_sub(low);
    if all == 0 || connections < all / WORTH {
        return Ok(None);
    }
    let reuse = root.read(REUSE, &mut buf).ok().and_then(|()| number(buf.trim_ascii_end())).unwrap_or(0);
    let mut taken: HashMap<(IpAddr, (IpAddr, u16)), u64> = HashMap::new();
    each(|socket, left_ms| {
        // A port in TIME_WAIT may be taken again after a second: 1 says always, 2 to this machine itself.
        let again = reuse == 1 || reuse == 2 && socket.remote.0.is_loopback();
        let free = socket.state == TIME_WAIT && again && left_ms.is_none_or(|left| left <= WAIT_MS - REUSE_MS);
        if (low..=high).contains(&u64::from(socket.local.1)) && !free {
            *taken.entry((socket.local.0, socket.remote)).or_default() += 1;
        }
    })?;
    Ok(taken.into_values().max().map(|most| (most, all)))
}

/// Each connection of the namespace that this thread is in, with the milliseconds left of its timer.
fn each(mut take: impl FnMut(Socket, Option<u32>)) -> Result<(), Reason> {
    for family in FAMILIES {
        // What is left of a cut answer dies with its socket.
        let socket = netlink::open(SOCK_DIAG, Some(PATIENCE)).map_err(crate::root::reason)?;
        let mut count = 0;
        netlink::ask(&socket, &message::request(family, TCP, STATES, false), message::BY_FAMILY, |body| {
            take(message::socket(body).ok_or(Reason::Malformed)?, message::expires_ms(body));
            count += 1;
            Ok(if count < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
    }
    Ok(())
}

/// Connections of a namespace, closed ones among them, by its `sockstat`.
pub(crate) fn connections(sockstat: &[u8]) -> Option<u64> {
    let line = crate::parse::lines(sockstat).find_map(|line| line.strip_prefix(b"TCP:"))?;
    let words: Vec<&[u8]> = fields(line).collect();
    let value = |name: &[u8]| words.iter().position(|word| *word == name).and_then(|at| number(words.get(at + 1)?));
    Some(value(b"inuse")?.saturating_add(value(b"tw").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::connections;

    #[test]
    fn closed_connections_count() {
        let text = b"sockets: used 300\nTCP: inuse 12 orphan 0 tw 900 alloc 20 mem 3\nUDP: inuse 2 mem 0\n";
        assert_eq!(connections(text), Some(912));
        assert_eq!(connections(b"TCP:\n"), None);
    }
}
