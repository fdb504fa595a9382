//! `/proc/PID/net/tcp` and the like: sockets as text, where the kernel has no INET_DIAG.

use super::diag::Found;
use super::message::{CLOSE, ESTABLISHED, LISTEN, Socket, plain};
use crate::Root;
use crate::parse::{fields, lines, number, whole_lines};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use topotop_model::Reason;

/// The most that is read of one file, in bytes: 150 for each socket.
const MOST_BYTES: usize = 4 << 20;

/// The sockets of the files in a directory: `proc/net`, `proc/7/net`.
pub(super) fn read(root: &Root, directory: &str, most: usize, buf: &mut Vec<u8>) -> Result<Found, Reason> {
    let mut found = Found::default();
    let mut malformed = false;
    for (name, udp) in [("tcp", false), ("tcp6", false), ("udp", true), ("udp6", true)] {
        match root.open(format!("{directory}/{name}")).and_then(|file| file.read_start(buf, MOST_BYTES)) {
            Ok(()) => {}
            // Without IPv6 there is no such file.
            Err(Reason::NotFound) if name != "tcp" => continue,
            Err(reason) => return Err(reason),
        }
        found.cut |= buf.len() >= MOST_BYTES;
        malformed |= !parse(buf, udp, most, &mut found);
    }
    if malformed && found.listeners.is_empty() && found.connections.is_empty() {
        return Err(Reason::Malformed);
    }
    Ok(found)
}

/// Adds the sockets of a file; false when something in it is none.
fn parse(bytes: &[u8], udp: bool, most: usize, found: &mut Found) -> bool {
    let (whole, damaged) = whole_lines(bytes);
    let mut all_good = !damaged;
    // The first line is of names.
    for line in lines(whole).skip(1) {
        let Some(socket) = socket(line) else {
            all_good = false;
            continue;
        };
        let list = match (udp, socket.state) {
            (true, CLOSE) => &mut found.udp,
            (false, LISTEN) => &mut found.listeners,
            (false, ESTABLISHED) => &mut found.connections,
            _ => continue,
        };
        if list.len() < most {
            list.push(socket);
        } else {
            found.cut = true;
        }
    }
    all_good
}

/// A UDP socket: its inode, and the other end if it is connected.
pub(crate) type Datagram = (u64, Option<(IpAddr, u16)>);

/// The UDP sockets of the files in a directory, `proc/7/net`; what cannot be read is left out.
pub(crate) fn datagrams(root: &Root, directory: &str, buf: &mut Vec<u8>) -> Vec<Datagram> {
    let mut found = Vec::new();
    for name in ["udp", "udp6"] {
        if root.open(format!("{directory}/{name}")).and_then(|file| file.read_start(buf, MOST_BYTES)).is_ok() {
            let sockets = lines(whole_lines(buf).0).skip(1).filter_map(socket);
            found.extend(sockets.map(|at| (at.inode, Some(at.remote).filter(|_| at.state == ESTABLISHED))));
        }
    }
    found
}

/// `0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 12345 …`
fn socket(line: &[u8]) -> Option<Socket> {
    let mut parts = fields(line).skip(1);
    let (local, remote) = (end(parts.next()?)?, end(parts.next()?)?);
    let state = parts.next().filter(|state| state.len() == 2).and_then(crate::parse::hex)?;
    let queues = parts.next()?;
    let colon = queues.iter().position(|&byte| byte == b':')?;
    let waiting = crate::parse::hex(queues.get(colon + 1..)?)?;
    let inode = number(parts.nth(4)?)?;
    // The line continues: an inode at its end may lack digits.
    parts.next()?;
    let state = u8::try_from(state).ok()?;
    Some(Socket { state, local, remote, inode, queues: (waiting, u64::MAX), info: None })
}

/// `0100007F:1F90`: words of an address in the order of the machine's bytes.
fn end(field: &[u8]) -> Option<(IpAddr, u16)> {
    let colon = field.iter().position(|&byte| byte == b':')?;
    let (address, port) = (field.get(..colon)?, field.get(colon + 1..)?);
    let port = Some(port).filter(|port| port.len() == 4).and_then(crate::parse::hex)?;
    let word = |at: usize| {
        let word = crate::parse::hex(address.get(at * 8..at * 8 + 8)?)?;
        u32::try_from(word).ok().map(u32::to_ne_bytes)
    };
    let address = match address.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let bytes = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            plain(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
        }
        _ => return None,
    };
    Some((address, u16::try_from(port).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Found, parse};
    use proptest::prelude::*;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
    const LINES: &str = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0\n   \
        1: 0201A8C0:D431 0301A8C0:1538 01 00000000:00000000 02:000A7B2C 00000000  1000        0 12346 2 0000000000000000 20 4 30 10 -1\n";
    const SIX: &str = "   0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 99 1 0000000000000000 100 0 0 10 0\n";

    fn parsed(text: &str, udp: bool) -> (Found, bool) {
        let mut found = Found::default();
        let good = parse(text.as_bytes(), udp, 1000, &mut found);
        (found, good)
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn lines_are_sockets() {
        let (found, good) = parsed(&format!("{HEAD}{LINES}"), false);
        let listener = found.listeners[0];
        assert_eq!((listener.local.0.to_string(), listener.local.1, listener.inode), ("127.0.0.1".into(), 8080, 12345));
        assert_eq!((listener.queues.0, good, found.cut), (3, true, false));
        let connection = found.connections[0];
        assert_eq!((connection.remote.0.to_string(), connection.remote.1), ("192.168.1.3".into(), 5432));
        let (found, _) = parsed(&format!("{HEAD}{SIX}"), false);
        assert_eq!((found.listeners[0].local.0.to_string(), found.listeners[0].local.1), ("::1".into(), 80));
        let udp = LINES.replace(" 0A ", " 07 ");
        assert_eq!(parsed(&format!("{HEAD}{udp}"), true).0.udp.len(), 1);
    }

    #[test]
    fn a_row_that_is_none_is_left_out() {
        let (found, good) = parsed(&format!("{HEAD}   0: nonsense\n{LINES}"), false);
        assert_eq!((found.listeners.len(), good), (1, false));
        assert_eq!(parsed("", false).0.listeners.len(), 0);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = parse(&[HEAD.as_bytes(), &bytes].concat(), true, 3, &mut Found::default());
        }

        #[test]
        fn a_cut_file_gives_no_wrong_number(cut in 0usize..400) {
            let text = format!("{HEAD}{LINES}");
            let (all, _) = parsed(&text, false);
            let (found, _) = parsed(&text[..cut.min(text.len())], false);
            prop_assert!(found.listeners.iter().all(|socket| all.listeners.contains(socket)));
            prop_assert!(found.connections.iter().all(|socket| all.connections.contains(socket)));
        }
    }
}
