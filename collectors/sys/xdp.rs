//! Programs that handle packets of interfaces before the network stack does (IFLA_XDP of RTM_GETLINK): linux/if_link.h.

use super::netlink::{self, REQUEST_DUMP, attributes, u32_at};
use crate::root::reason;
use std::ops::ControlFlow;
use std::time::Duration;
use topotop_model::Reason;

/// RTM_NEWLINK and RTM_GETLINK.
const NEW: u16 = 16;
const GET: u16 = 18;
/// Size of ifinfomsg.
const HEAD: usize = 16;
/// IFLA_XDP, and in that IFLA_XDP_ATTACHED and the programs: of the only mode, then of each.
const XDP: u16 = 43;
const ATTACHED: u16 = 2;
const PROGRAMS: [u16; 4] = [4, 5, 6, 7];
/// XDP_ATTACHED_DRV and those that follow it.
const MODES: [&str; 4] = ["native", "generic", "offloaded", "multiple"];
const PATIENCE: Duration = Duration::from_secs(1);
/// Interfaces that are looked at.
const MOST: usize = 4096;

/// A program at an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Xdp {
    /// The interface's kernel index.
    pub ifindex: u64,
    /// `native`: in the driver; `generic`: in the network stack; `offloaded`: in the card; `multiple`: in several of them.
    pub mode: &'static str,
    /// Its number, the first one of several.
    pub program: u64,
}

/// Programs at the interfaces of this network namespace.
pub fn programs() -> Result<Vec<Xdp>, Reason> {
    let socket = netlink::open(None, Some(PATIENCE)).map_err(reason)?;
    let (mut found, mut seen) = (Vec::new(), 0);
    netlink::ask(&socket, &netlink::message(GET, REQUEST_DUMP, &[0; HEAD]), NEW, |body| {
        found.extend(program(body));
        seen += 1;
        Ok(if seen < MOST { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}

/// One message; none for an interface without a program.
fn program(body: &[u8]) -> Option<Xdp> {
    let (ifindex, rest) = (u32_at(body, 4)?, body.get(HEAD..)?);
    let nested = attributes(rest).find(|(kind, _)| *kind == XDP)?.1;
    let find = |wanted: u16| attributes(nested).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let mode = usize::from(*find(ATTACHED)?.first()?).checked_sub(1).and_then(|at| MODES.get(at))?;
    let program = PROGRAMS.into_iter().find_map(find).and_then(|value| u32_at(value, 0))?;
    Some(Xdp { ifindex: u64::from(ifindex), mode, program: u64::from(program) })
}

/// As `capture` writes them: `INDEX MODE PROGRAM`.
pub fn print(all: &[Xdp]) -> String {
    let line = |Xdp { ifindex, mode, program }: &Xdp| format!("{ifindex} {mode} {program}\n");
    all.iter().map(line).collect::<Vec<_>>().concat()
}

/// What [`print()`] wrote.
pub fn parse(bytes: &[u8]) -> Vec<Xdp> {
    use crate::parse::{fields, lines, number, whole_lines};
    let one = |line: &[u8]| {
        let mut parts = fields(line);
        let (ifindex, mode) = (number(parts.next()?)?, parts.next()?);
        let mode = MODES.into_iter().find(|known| known.as_bytes() == mode)?;
        Some(Xdp { ifindex, mode, program: number(parts.next()?)? })
    };
    lines(whole_lines(bytes).0).filter_map(one).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::{XDP, Xdp, parse, print, program};
    use crate::sys::netlink::put_attribute;
    use proptest::prelude::*;

    /// `NLA_F_NESTED`.
    const NESTED: u16 = 0x8000;

    /// What the kernel says of an interface; the mode as it numbers them.
    fn link(mode: u8, programs: &[(u16, u32)]) -> Vec<u8> {
        let mut body = vec![0; 16];
        body[4] = 7;
        put_attribute(&mut body, 3, b"eth0\0");
        let mut nested = Vec::new();
        put_attribute(&mut nested, 2, &[mode]);
        for (kind, id) in programs {
            put_attribute(&mut nested, *kind, &id.to_ne_bytes());
        }
        put_attribute(&mut body, XDP | NESTED, &nested);
        body
    }

    #[test]
    fn a_program_has_a_mode_and_a_number() {
        let xdp = |mode, program| Some(Xdp { ifindex: 7, mode, program });
        assert_eq!(program(&link(0, &[])), None);
        assert_eq!(program(&link(1, &[(4, 81), (5, 81)])), xdp("native", 81));
        assert_eq!(program(&link(2, &[(4, 82), (6, 82)])), xdp("generic", 82));
        assert_eq!(program(&link(4, &[(5, 83), (7, 84)])), xdp("multiple", 83));
        let all = [Xdp { ifindex: 7, mode: "generic", program: 82 }];
        assert_eq!(parse(print(&all).as_bytes()), all);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (program(&bytes), parse(&bytes));
        }
    }
}
