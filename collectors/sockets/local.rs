//! Listening Unix sockets and the connections that wait at them (linux/unix_diag.h).

use super::message::{BY_FAMILY, LISTEN};
use crate::sys::netlink::{self, REQUEST_DUMP, u32_at};
use std::sync::Arc;

/// AF_UNIX.
const FAMILY: u8 = 1;
/// UDIAG_SHOW_NAME and UDIAG_SHOW_RQLEN, UNIX_DIAG_NAME and UNIX_DIAG_RQLEN.
const SHOW: u32 = 0x01 | 0x10;
const NAME: u16 = 0;
const QUEUES: u16 = 4;
/// Size of unix_diag_msg.
const MESSAGE: usize = 16;

/// A listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Local {
    pub(super) inode: u64,
    /// Its path, `@` before an abstract name; empty where it has none, or does not listen.
    pub(super) path: Arc<str>,
    /// Pending connections and the backlog.
    pub(super) queues: (u64, u64),
}

/// Requests all that listen (unix_diag_req).
pub(super) fn request() -> Vec<u8> {
    let mut body = vec![FAMILY, 0, 0, 0];
    for word in [1 << LISTEN, 0, SHOW, 0, 0_u32] {
        body.extend(word.to_ne_bytes());
    }
    netlink::message(BY_FAMILY, REQUEST_DUMP, &body)
}

/// A socket of a reply.
pub(super) fn socket(bytes: &[u8]) -> Option<Local> {
    let (family, state) = (*bytes.first()?, *bytes.get(2)?);
    let inode = u64::from(u32_at(bytes, 4)?);
    let attributes = bytes.get(MESSAGE..)?;
    let attribute = |wanted| netlink::attributes(attributes).find(|(kind, _)| *kind == wanted).map(|found| found.1);
    let queues = attribute(QUEUES).and_then(|words| Some((u32_at(words, 0)?.into(), u32_at(words, 4)?.into())));
    let listens = family == FAMILY && state == LISTEN && queues.is_some();
    let path = attribute(NAME).and_then(path).filter(|_| listens).unwrap_or_default();
    Some(Local { inode, path, queues: queues.unwrap_or_default() })
}

/// `/run/app.sock`, with or without the NUL that ends it, or NUL and a name.
fn path(name: &[u8]) -> Option<Arc<str>> {
    match name {
        [] | [0] => None,
        [0, name @ ..] => Some(format!("@{}", topotop_model::text::from_bytes(name)).into()),
        name => {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            Some(topotop_model::text::from_bytes(name.get(..end)?).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LISTEN, NAME, QUEUES, socket};
    use crate::sys::netlink::put_attribute;
    use proptest::prelude::*;

    fn reply(name: &[u8], state: u8) -> Vec<u8> {
        let mut bytes = vec![1, 1, state, 0];
        bytes.extend(77_u32.to_ne_bytes());
        bytes.extend([0; 8]);
        put_attribute(&mut bytes, NAME, name);
        put_attribute(&mut bytes, QUEUES, &[28_u32.to_ne_bytes(), 511_u32.to_ne_bytes()].concat());
        bytes
    }

    #[test]
    fn paths_and_abstract_names() {
        for (name, path) in [("/run/a.sock\0", "/run/a.sock"), ("/run/a.sock", "/run/a.sock"), ("\0bus", "@bus")] {
            let found = socket(&reply(name.as_bytes(), LISTEN)).expect("a socket");
            assert_eq!((&*found.path, found.inode, found.queues), (path, 77, (28, 511)));
        }
    }

    #[test]
    fn who_does_not_listen_or_has_no_name_is_left_out() {
        for reply in [reply(b"/run/a.sock", 1), reply(b"", LISTEN)] {
            assert_eq!(socket(&reply).map(|socket| socket.path), Some("".into()));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, name: Vec<u8>, cut in 0_usize..80) {
            let _ = socket(&bytes);
            let whole = reply(&name, LISTEN);
            let _ = socket(&whole[..cut.min(whole.len())]);
        }
    }
}
