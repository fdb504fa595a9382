//! Messages of ethtool's family of generic netlink, as bytes: linux/netlink.h, linux/genetlink.h,
//! linux/ethtool_netlink.h.

/// nlmsghdr and genlmsghdr.
const HEAD: usize = 16;
const GENERIC: usize = 4;
/// NLMSG_ERROR, which an acknowledgement is, too.
const ERROR: u16 = 2;
/// NLM_F_REQUEST and NLM_F_ACK.
const ASKED: u16 = 5;
/// NLM_F_CAPPED: what was asked is not repeated; NLM_F_ACK_TLVS: words follow.
const CAPPED: u16 = 0x100;
const WORDS: u16 = 0x200;
/// NLMSGERR_ATTR_MSG.
const SAID: u16 = 1;
/// NLA_F_NESTED, and what is not the kind in an attribute's kind.
const NESTED: u16 = 0x8000;
const KIND: u16 = 0x3fff;

/// GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// ETHTOOL_A_HEADER_DEV_NAME.
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
    attribute(&mut body, FAMILY_NAME, b"ethtool\0");
    message(CONTROL, GET_FAMILY, &body)
}

/// Sets numbers of an interface.
pub(super) fn set(family: u16, what: What, nic: &str, numbers: &[(u16, u32)]) -> Vec<u8> {
    let (mut header, mut body) = (Vec::new(), Vec::new());
    attribute(&mut header, NIC_NAME, format!("{nic}\0").as_bytes());
    // Header of each of ethtool's messages.
    attribute(&mut body, 1 | NESTED, &header);
    for (kind, number) in numbers {
        attribute(&mut body, *kind, &number.to_ne_bytes());
    }
    message(family, what.command, &body)
}

fn message(kind: u16, command: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = ((HEAD + GENERIC + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(ASKED.to_ne_bytes());
    // Which question, and of whom: there is one only.
    bytes.extend([0; 8]);
    bytes.extend([command, 1, 0, 0]);
    bytes.extend(body);
    bytes
}

fn attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// The first message of what was received.
pub(super) fn answer(bytes: &[u8]) -> Answer {
    read(bytes).unwrap_or(Answer::Other)
}

fn read(bytes: &[u8]) -> Option<Answer> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let (kind, flags) = (u16_at(bytes, 4)?, u16_at(bytes, 6)?);
    let body = bytes.get(HEAD..length)?;
    if kind == ERROR {
        let code = i32::from_ne_bytes(body.get(..4)?.try_into().ok()?);
        if code == 0 {
            return Some(Answer::Done);
        }
        let said = if flags & WORDS == 0 { None } else { said(body, flags) };
        return Some(Answer::Refused(code.checked_neg()?, said.unwrap_or_default()));
    }
    let id = attributes(body.get(GENERIC..)?).find(|(kind, _)| *kind == FAMILY_ID);
    Some(Answer::Family(u16_at(id?.1, 0)?))
}

/// The words behind the question, of which the head at least is repeated.
fn said(body: &[u8], flags: u16) -> Option<String> {
    let repeated = u32::from_ne_bytes(body.get(4..8)?.try_into().ok()?) as usize;
    let repeated = if flags & CAPPED == 0 { repeated.next_multiple_of(4) } else { HEAD };
    let words = attributes(body.get(4 + repeated..)?).find(|(kind, _)| *kind == SAID)?.1;
    let end = words.iter().position(|byte| *byte == 0).unwrap_or(words.len());
    Some(topotop_model::text::from_bytes(words.get(..end)?).into_owned())
}

fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let (kind, value) = (u16_at(bytes, 2)? & KIND, bytes.get(4..length)?);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Answer, answer, attribute, family};
    use proptest::prelude::*;

    fn refused(code: i32, capped: bool, words: &str) -> Vec<u8> {
        let mut body = code.to_ne_bytes().to_vec();
        let asked = family();
        body.extend(if capped { &asked[..16] } else { &asked[..] });
        if !words.is_empty() {
            attribute(&mut body, 1, format!("{words}\0").as_bytes());
        }
        let flags: u16 = if capped { 0x100 } else { 0 } | if words.is_empty() { 0 } else { 0x200 };
        let mut bytes = (16 + body.len() as u32).to_ne_bytes().to_vec();
        bytes.extend(2u16.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(body);
        bytes
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
