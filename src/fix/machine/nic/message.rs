//! Messages of ethtool's family of generic netlink: linux/genetlink.h, linux/ethtool_netlink.h.

use super::Interface;
use topotop_collectors::sys::netlink::{
    NESTED, REQUEST_ACK, attributes, message as netlink_message, messages, put_attribute, u16_at,
};

/// Bytes of genlmsghdr.
const GENERIC: usize = 4;

/// GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// ETHTOOL_A_HEADER_DEV_INDEX, ETHTOOL_A_HEADER_DEV_NAME.
const NIC_INDEX: u16 = 1;
const NIC_NAME: u16 = 2;

/// What is set, with the kinds of its attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct What {
    command: u8,
    pub(super) rx: u16,
    pub(super) tx: u16,
    pub(super) combined: u16,
}

/// ETHTOOL_MSG_CHANNELS_SET.
pub(super) const CHANNELS: What = What { command: 18, rx: 6, tx: 7, combined: 9 };
/// ETHTOOL_MSG_RINGS_SET; there are no combined ones.
pub(super) const RINGS: What = What { command: 16, rx: 6, tx: 9, combined: 0 };

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is done.
    Done,
    /// It is refused, with a number and words where there are any.
    Refused(i32, String),
    /// The number of a family.
    Family(u16),
    /// Something else.
    Other,
}

/// Asks for the number of the family.
pub(super) fn family() -> Vec<u8> {
    let mut body = Vec::new();
    put_attribute(&mut body, FAMILY_NAME, b"ethtool\0");
    message(CONTROL, GET_FAMILY, &body)
}

/// Sets numbers of an interface: with its index as well, the kernel refuses another one of that name.
pub(super) fn set(family: u16, what: What, nic: &Interface<'_>, numbers: &[(u16, u32)]) -> Vec<u8> {
    let (mut header, mut body) = (Vec::new(), Vec::new());
    if nic.index != 0 {
        put_attribute(&mut header, NIC_INDEX, &nic.index.to_ne_bytes());
    }
    put_attribute(&mut header, NIC_NAME, format!("{}\0", nic.name).as_bytes());
    // Header of each of ethtool's messages.
    put_attribute(&mut body, 1 | NESTED, &header);
    for (kind, number) in numbers {
        put_attribute(&mut body, *kind, &number.to_ne_bytes());
    }
    message(family, what.command, &body)
}

fn message(kind: u16, command: u8, body: &[u8]) -> Vec<u8> {
    netlink_message(kind, REQUEST_ACK, &[&[command, 1, 0, 0], body].concat())
}

/// The first message of what was received.
pub(super) fn answer(bytes: &[u8]) -> Answer {
    let Some(message) = messages(bytes).next().flatten() else { return Answer::Other };
    if message.is_error() {
        return match message.errno() {
            None => Answer::Other,
            Some(0) => Answer::Done,
            Some(errno) => Answer::Refused(errno, message.error_text().unwrap_or_default()),
        };
    }
    let id = message.body.get(GENERIC..).and_then(|body| attributes(body).find(|(kind, _)| *kind == FAMILY_ID));
    id.and_then(|(_, value)| u16_at(value, 0)).map_or(Answer::Other, Answer::Family)
}

#[cfg(test)]
mod tests {
    use super::{Answer, answer, family};
    use proptest::prelude::*;
    use topotop_collectors::sys::netlink::{message, put_attribute};

    fn refused(code: i32, capped: bool, words: &str) -> Vec<u8> {
        let mut body = code.to_ne_bytes().to_vec();
        let asked = family();
        body.extend(if capped { &asked[..16] } else { &asked[..] });
        if !words.is_empty() {
            put_attribute(&mut body, 1, format!("{words}\0").as_bytes());
        }
        let flags: u16 = if capped { 0x100 } else { 0 } | if words.is_empty() { 0 } else { 0x200 };
        message(2, flags, &body)
    }

    #[test]
    fn words_of_the_kernel_are_read() {
        let words = "requested channel count exceeds maximum";
        for capped in [true, false] {
            assert_eq!(answer(&refused(-22, capped, words)), Answer::Refused(22, words.to_owned()));
            assert_eq!(answer(&refused(-1, capped, "")), Answer::Refused(1, String::new()));
            assert_eq!(answer(&refused(0, capped, "")), Answer::Done);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, cut in 0usize..80) {
            let _ = answer(&bytes);
            let whole = refused(-22, false, "why");
            let _ = answer(&whole[..cut.min(whole.len())]);
        }
    }
}
