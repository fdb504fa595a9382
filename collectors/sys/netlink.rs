//! Netlink: messages and their attributes as bytes (linux/netlink.h), and the sockets that carry them.
#![expect(unsafe_code, reason = "no library sets the options of netlink sockets")]

use super::last_errno;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::Duration;
use topotop_model::Reason;

/// Bytes of nlmsghdr.
const HEAD: usize = 16;
/// NLMSG_ERROR, which also acknowledges, and NLMSG_DONE.
const ERROR: u16 = 2;
/// See NLMSG_ERROR in linux/netlink.h.
pub const DONE: u16 = 3;
/// NLM_F_REQUEST.
pub const REQUEST: u16 = 1;
/// NLM_F_REQUEST and NLM_F_ACK.
pub const REQUEST_ACK: u16 = 5;
/// NLM_F_REQUEST and NLM_F_DUMP.
pub const REQUEST_DUMP: u16 = 0x301;
/// NLM_F_CAPPED: an error does not repeat the request; NLM_F_ACK_TLVS: attributes follow.
const CAPPED: u16 = 0x100;
const ACK_ATTRIBUTES: u16 = 0x200;
/// NLMSGERR_ATTR_MSG.
const ERROR_TEXT: u16 = 1;
/// NLA_F_NESTED, and the bits of an attribute's kind that are no flags.
pub const NESTED: u16 = 0x8000;
const KIND: u16 = 0x3fff;

/// A message as received.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Its type.
    pub kind: u16,
    flags: u16,
    /// What follows nlmsghdr.
    pub body: &'a [u8],
}

impl Message<'_> {
    /// True for an error, which acknowledges where its number is zero.
    pub fn is_error(&self) -> bool {
        self.kind == ERROR
    }

    /// The errno of an error, zero for an acknowledgement; none where it is malformed.
    pub fn errno(&self) -> Option<i32> {
        let code = u32_at(self.body, 0)?.cast_signed();
        Some(code.checked_neg().unwrap_or(i32::MAX))
    }

    /// The kernel's explanation of an error, where it gives one.
    pub fn error_text(&self) -> Option<String> {
        if self.flags & ACK_ATTRIBUTES == 0 {
            return None;
        }
        // At least the head of the request is repeated.
        let repeated = if self.flags & CAPPED == 0 { u32_at(self.body, 4)?.next_multiple_of(4) as usize } else { HEAD };
        let text = attributes(self.body.get(4 + repeated..)?).find(|(kind, _)| *kind == ERROR_TEXT)?.1;
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        Some(topotop_model::text::from_bytes(text.get(..end)?).into_owned())
    }
}

/// A message to send.
pub fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = ((HEAD + body.len()) as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    // Sequence number and port: one request is under way at a time.
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

/// Appends an attribute.
pub fn put_attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// The messages of what was received; none for one that is malformed, which is the last.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Option<Message<'_>>> {
    std::iter::from_fn(move || {
        let message = |bytes: &[u8]| {
            let length = u32_at(bytes, 0)? as usize;
            Some((length, u16_at(bytes, 4)?, u16_at(bytes, 6)?))
        };
        if bytes.is_empty() {
            return None;
        }
        let whole = message(bytes).and_then(|(length, kind, flags)| {
            let message = Message { kind, flags, body: bytes.get(HEAD..length)? };
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
            Some(message)
        });
        if whole.is_none() {
            bytes = &[];
        }
        Some(whole)
    })
}

/// Attributes as kind and value, up to the first that is malformed.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let (kind, value) = (u16_at(bytes, 2)? & KIND, bytes.get(4..length)?);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A number of two bytes.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A number of four bytes.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A socket for a family of netlink, none for routes, with a limit on waiting for replies.
pub fn open(protocol: impl Into<Option<Protocol>>, patience: Option<Duration>) -> Result<OwnedFd, Errno> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol.into())?;
    set_socket_timeout(&socket, Timeout::Recv, patience)?;
    Ok(socket)
}

/// Does something in another network namespace, by a thread of its own that goes there; a socket made there stays in it.
pub fn within<T: Send + 'static>(
    namespace: OwnedFd,
    work: impl FnOnce() -> Result<T, Reason> + Send + 'static,
) -> Result<T, Reason> {
    let go = move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).map_err(crate::root::reason)?;
        work()
    };
    let thread = std::thread::Builder::new().name("namespace".to_owned()).spawn(go).map_err(|_| Reason::Exhausted)?;
    thread.join().unwrap_or(Err(Reason::Malformed))
}

/// Sends a message.
pub fn request(socket: &OwnedFd, message: &[u8]) -> Result<(), Errno> {
    send(socket, message, SendFlags::empty()).map(drop)
}

/// Receives into a buffer; what does not fit is an error.
pub fn receive<'a>(socket: &OwnedFd, buf: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let length = loop {
        match recv(socket, &mut *buf, RecvFlags::TRUNC) {
            Err(Errno::INTR) => {}
            received => break received?.1,
        }
    };
    buf.get(..length).ok_or(Errno::MSGSIZE)
}

/// Asks for explanations of errors (NETLINK_EXT_ACK, Linux 4.12).
pub fn explain_errors(socket: &OwnedFd) -> Result<(), Errno> {
    let on: libc::c_int = 1;
    for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
        // SAFETY: an int of the size given, which lives through the call.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_NETLINK,
                option,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if done < 0 {
            return Err(last_errno());
        }
    }
    Ok(())
}
