//! Netlink: messages and their attributes as bytes (linux/netlink.h), and the sockets that carry them.
#![expect(unsafe_code, reason = "no library sets the options of netlink sockets")]

use super::last_errno;
use crate::root::reason;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::ops::ControlFlow;
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
/// What is received at once; the kernel fills up to 32 KiB.
const PIECE: usize = 64 << 10;

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
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).map_err(reason)?;
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

/// Why there is no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The kernel refused it.
    Refused(Errno),
    /// It did not come, or is none.
    Cut(Reason),
}

impl From<Failure> for Reason {
    fn from(failure: Failure) -> Self {
        match failure {
            // A kernel without this part says so in several ways.
            Failure::Refused(_) => Self::NotSupported,
            Failure::Cut(reason) => reason,
        }
    }
}

/// Sends a question and calls `take` with the body of each message of a kind, until the answer ends or `take` has enough: the
/// rest of the answer is then still in the socket.
pub fn ask(
    socket: &OwnedFd,
    question: &[u8],
    kind: u16,
    mut take: impl FnMut(&[u8]) -> Result<ControlFlow<()>, Reason>,
) -> Result<(), Failure> {
    let failed = |errno: Errno| match errno {
        Errno::AGAIN => Failure::Cut(Reason::TimedOut),
        Errno::MSGSIZE => Failure::Cut(Reason::Malformed),
        errno => Failure::Cut(reason(errno)),
    };
    request(socket, question).map_err(failed)?;
    let mut buf = vec![0; PIECE];
    loop {
        let bytes = receive(socket, &mut buf).map_err(failed)?;
        if let ControlFlow::Break(end) = piece(bytes, kind, &mut take) {
            return end;
        }
    }
}

/// Takes the messages of a piece of an answer; breaks where it ends.
fn piece(
    bytes: &[u8],
    wanted: u16,
    take: &mut impl FnMut(&[u8]) -> Result<ControlFlow<()>, Reason>,
) -> ControlFlow<Result<(), Failure>> {
    let cut = |reason| ControlFlow::Break(Err(Failure::Cut(reason)));
    let refused = |errno| ControlFlow::Break(Err(Failure::Refused(Errno::from_raw_os_error(errno))));
    if bytes.is_empty() {
        return cut(Reason::Malformed);
    }
    for message in messages(bytes) {
        let Some(message) = message else { return cut(Reason::Malformed) };
        match message.kind {
            DONE => return ControlFlow::Break(Ok(())),
            ERROR => match message.errno() {
                None => return cut(Reason::Malformed),
                Some(0) => return ControlFlow::Break(Ok(())),
                Some(errno) => return refused(errno),
            },
            kind if kind == wanted => match take(message.body) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return ControlFlow::Break(Ok(())),
                Err(reason) => return cut(reason),
            },
            _ => {}
        }
    }
    ControlFlow::Continue(())
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

#[cfg(test)]
mod tests {
    use super::{DONE, ERROR, Failure, message, piece, u32_at};
    use proptest::prelude::*;
    use rustix::io::Errno;
    use std::ops::ControlFlow;
    use topotop_model::Reason;

    const KIND: u16 = 16;

    /// What was taken of a piece of an answer, two messages at most and no zero, and what it ends with.
    fn read(bytes: &[u8]) -> (Vec<u32>, ControlFlow<Result<(), Failure>>) {
        let mut taken = Vec::new();
        let mut take = |body: &[u8]| {
            taken.push(u32_at(body, 0).filter(|first| *first != 0).ok_or(Reason::Malformed)?);
            Ok(if taken.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        };
        let end = piece(bytes, KIND, &mut take);
        (taken, end)
    }

    #[test]
    fn an_answer_goes_on_until_it_ends() {
        let part = |kind, first: i32| message(kind, 0, &first.to_ne_bytes());
        let failed = |failure| ControlFlow::Break(Err(failure));
        let malformed = failed(Failure::Cut(Reason::Malformed));
        let refused = failed(Failure::Refused(Errno::OPNOTSUPP));
        let cases = [
            (part(KIND, 1), vec![1], ControlFlow::Continue(())),
            ([part(17, 9), part(KIND, 1), part(DONE, 0)].concat(), vec![1], ControlFlow::Break(Ok(()))),
            ([part(KIND, 1), part(KIND, 2), part(KIND, 3)].concat(), vec![1, 2], ControlFlow::Break(Ok(()))),
            ([part(KIND, 1), part(KIND, 0), part(DONE, 0)].concat(), vec![1], malformed),
            (part(ERROR, -libc::EOPNOTSUPP), vec![], refused),
            (part(ERROR, 0), vec![], ControlFlow::Break(Ok(()))),
            (message(ERROR, 0, &[]), vec![], malformed),
            (vec![1; 7], vec![], malformed),
            (vec![], vec![], malformed),
        ];
        for (bytes, taken, end) in cases {
            assert_eq!(read(&bytes), (taken, end), "{bytes:?}");
        }
        assert_eq!(Reason::from(Failure::Refused(Errno::PERM)), Reason::NotSupported);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
