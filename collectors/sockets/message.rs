//! Messages about sockets (NETLINK_SOCK_DIAG): linux/inet_diag.h, linux/tcp.h.

use crate::sys::netlink::{self, REQUEST_DUMP, u32_at};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// SOCK_DIAG_BY_FAMILY: the kind of requests and of replies.
pub(super) const BY_FAMILY: u16 = 20;
/// INET_DIAG_INFO.
const INFO: u16 = 2;
/// Sizes of inet_diag_req_v2 and inet_diag_msg.
const REQUEST: usize = 56;
const MESSAGE: usize = 72;

/// AF_INET and AF_INET6.
pub(super) const FAMILIES: [u8; 2] = [2, 10];
/// IPPROTO_TCP and IPPROTO_UDP.
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
/// TCP_ESTABLISHED, TCP_CLOSE (what UDP sockets without another end are in) and TCP_LISTEN.
pub(super) const ESTABLISHED: u8 = 1;
pub(super) const CLOSE: u8 = 7;
pub(super) const LISTEN: u8 = 10;

/// What a connection has done (tcp_info), as far as the kernel reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Info {
    pub(super) unacked: u64,
    pub(super) rtt_us: u64,
    pub(super) min_rtt_us: Option<u64>,
    /// Milliseconds since data were sent and received last.
    pub(super) sent_ms: Option<u64>,
    pub(super) received_ms: Option<u64>,
    /// Retransmits, bytes acknowledged and received, segments out and in, the same with data out and in, time with
    /// something unacknowledged.
    pub(super) counters: [Option<u64>; COUNTERS],
}

/// How many counters there are.
pub(super) const COUNTERS: usize = 8;
/// Where each of them is in tcp_info, and its size.
const PLACES: [(usize, usize); COUNTERS] =
    [(100, 4), (120, 8), (128, 8), (136, 4), (140, 4), (156, 4), (152, 4), (168, 8)];

/// One socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) state: u8,
    pub(super) local: (IpAddr, u16),
    pub(super) remote: (IpAddr, u16),
    pub(super) inode: u64,
    /// Of listening sockets what waits and what may wait.
    pub(super) queues: (u64, u64),
    pub(super) info: Option<Info>,
}

/// Requests all sockets of a family and protocol in some states.
pub(super) fn request(family: u8, protocol: u8, states: u32, info: bool) -> Vec<u8> {
    let extensions = if info { 1 << (INFO - 1) } else { 0 };
    let mut body = vec![family, protocol, extensions, 0];
    body.extend(states.to_ne_bytes());
    body.resize(REQUEST, 0);
    netlink::message(BY_FAMILY, REQUEST_DUMP, &body)
}

/// Requests one connection of TCP by its ends; none where they are of two families.
pub(super) fn one(local: (IpAddr, u16), remote: (IpAddr, u16)) -> Option<Vec<u8>> {
    if local.0.is_ipv4() != remote.0.is_ipv4() {
        return None;
    }
    // An address takes 16 bytes whatever its family.
    let put = |body: &mut Vec<u8>, address: IpAddr| {
        let end = body.len() + 16;
        match address {
            IpAddr::V4(address) => body.extend(address.octets()),
            IpAddr::V6(address) => body.extend(address.octets()),
        }
        body.resize(end, 0);
    };
    let family = if local.0.is_ipv4() { FAMILIES[0] } else { FAMILIES[1] };
    let mut body = vec![family, TCP, 1 << (INFO - 1), 0];
    body.extend(u32::MAX.to_ne_bytes());
    body.extend(local.1.to_be_bytes());
    body.extend(remote.1.to_be_bytes());
    put(&mut body, local.0);
    put(&mut body, remote.0);
    // Any interface, and a cookie that is not known.
    body.extend([0; 4]);
    body.extend([0xff; 8]);
    Some(netlink::message(BY_FAMILY, netlink::REQUEST, &body))
}

/// A socket of a reply.
pub(super) fn socket(bytes: &[u8]) -> Option<Socket> {
    let (family, state) = (*bytes.first()?, *bytes.get(1)?);
    let port = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let queues = (u64::from(u32_at(bytes, 56)?), u64::from(u32_at(bytes, 60)?));
    let inode = u64::from(u32_at(bytes, 68)?);
    let local = (address(family, bytes.get(8..24)?)?, port(4)?);
    let remote = (address(family, bytes.get(24..40)?)?, port(6)?);
    Some(Socket { state, local, remote, inode, queues, info: info(bytes.get(MESSAGE..)?) })
}

/// Milliseconds until the timer of a reply's socket expires (idiag_expires).
pub(super) fn expires_ms(bytes: &[u8]) -> Option<u32> {
    u32_at(bytes, 52)
}

fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    match family {
        2 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(..4)?).ok()?).into()),
        10 => Some(plain(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())),
        _ => None,
    }
}

/// An IPv4 address as such, also where a socket of IPv6 has it.
pub(super) fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn info(attributes: &[u8]) -> Option<Info> {
    tcp_info(netlink::attributes(attributes).find(|(kind, _)| *kind == INFO)?.1)
}

/// Each kernel fills as much of tcp_info as it knows: the size says how much.
fn tcp_info(bytes: &[u8]) -> Option<Info> {
    let number = |at: usize, size: usize| match size {
        8 => Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?)),
        _ => u32_at(bytes, at).map(u64::from),
    };
    Some(Info {
        unacked: number(24, 4)?,
        rtt_us: number(68, 4)?,
        // Nothing was measured yet while it is all ones.
        min_rtt_us: number(148, 4).filter(|&rtt| rtt != u64::from(u32::MAX)),
        sent_ms: number(44, 4),
        received_ms: number(52, 4),
        counters: PLACES.map(|(at, size)| number(at, size)),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::{BY_FAMILY, Socket, socket};
    use crate::sys::netlink::{DONE, messages};
    use proptest::prelude::*;

    fn put(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
        if bytes.len() < at + part.len() {
            bytes.resize(at + part.len(), 0);
        }
        bytes[at..at + part.len()].copy_from_slice(part);
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = crate::sys::netlink::message(kind, 0, body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// A connection from 10.0.0.1:40000 to 10.0.0.2:5432.
    fn connection(info: &[u8]) -> Vec<u8> {
        let mut body = vec![0; 72];
        put(&mut body, 0, &[2, 1]);
        put(&mut body, 4, &40_000u16.to_be_bytes());
        put(&mut body, 6, &5432u16.to_be_bytes());
        put(&mut body, 8, &[10, 0, 0, 1]);
        put(&mut body, 24, &[10, 0, 0, 2]);
        put(&mut body, 68, &77u32.to_ne_bytes());
        body.extend_from_slice(&(4 + info.len() as u16).to_ne_bytes());
        body.extend_from_slice(&2u16.to_ne_bytes());
        body.extend_from_slice(info);
        message(BY_FAMILY, &body)
    }

    /// The sockets of an answer, up to what is none.
    fn read(bytes: &[u8]) -> Vec<Socket> {
        let whole = messages(bytes).map_while(|message| message);
        whole.filter(|message| message.kind == BY_FAMILY).map_while(|message| socket(message.body)).collect()
    }

    #[test]
    fn a_connection_is_understood() {
        let mut info = vec![0; 232];
        put(&mut info, 24, &3u32.to_ne_bytes());
        put(&mut info, 68, &250u32.to_ne_bytes());
        put(&mut info, 100, &9u32.to_ne_bytes());
        put(&mut info, 120, &1000u64.to_ne_bytes());
        put(&mut info, 136, &20u32.to_ne_bytes());
        put(&mut info, 148, &u32::MAX.to_ne_bytes());
        let found = read(&[connection(&info), message(DONE, &[0; 4])].concat());
        assert_eq!(found.len(), 1);
        let socket = found[0];
        assert_eq!((socket.local.1, socket.remote.1, socket.inode), (40_000, 5432, 77));
        assert_eq!(socket.remote.0.to_string(), "10.0.0.2");
        let reported = socket.info.expect("an info");
        assert_eq!((reported.unacked, reported.rtt_us, reported.min_rtt_us), (3, 250, None));
        assert_eq!((reported.counters[0], reported.counters[1], reported.counters[3]), (Some(9), Some(1000), Some(20)));
    }

    #[test]
    fn an_old_kernel_tells_less() {
        let reported = read(&connection(&[0; 104]))[0].info.expect("an info");
        assert_eq!((reported.counters[0], reported.counters[1], reported.min_rtt_us), (Some(0), None, None));
        assert_eq!(read(&connection(&[0; 20]))[0].info, None);
    }

    #[test]
    fn what_has_no_family_is_no_socket() {
        assert!(read(&message(BY_FAMILY, &[0; 80])).is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let _ = read(&message(BY_FAMILY, &body));
            let _ = read(&connection(&body));
        }

        #[test]
        fn a_cut_answer_gives_no_wrong_number(cut in 0usize..400) {
            let whole = [connection(&[7; 232]), connection(&[9; 232])].concat();
            let found = read(&whole[..cut.min(whole.len())]);
            prop_assert_eq!(&read(&whole)[..found.len()], &found[..]);
        }
    }
}
