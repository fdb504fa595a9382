//! Names of users: `/etc/passwd`, which is the root's own; users of a directory service stay numbers.

use crate::Root;
use std::collections::HashMap;
use std::sync::Arc;

/// The file is read again for an unknown user at most this often.
const AGAIN_NS: u64 = 60_000_000_000;
/// The most users that are remembered.
const MOST: usize = 65_536;

/// Names by user id, read when a user is first met.
#[derive(Debug, Default)]
pub(super) struct Users {
    names: HashMap<u64, Arc<str>>,
    read_at_ns: Option<u64>,
}

impl Users {
    /// The name of a user, where the file has it. A capture must not take the file along, so it is not read for one.
    pub(super) fn name(&mut self, root: &Root, uid: u64) -> Option<&str> {
        if !self.names.contains_key(&uid) && !root.is_traced() {
            let now = root.monotonic_ns();
            if self.read_at_ns.is_none_or(|then| now.saturating_sub(then) >= AGAIN_NS) {
                self.read_at_ns = Some(now);
                let mut bytes = Vec::new();
                match root.read("etc/passwd", &mut bytes) {
                    Ok(()) => self.names = parse(&bytes),
                    Err(_) => self.names.clear(),
                }
            }
        }
        self.names.get(&uid).map(|name| &**name)
    }
}

/// `name:password:uid:…`, a user a line (passwd(5)); the first name of a uid counts.
fn parse(bytes: &[u8]) -> HashMap<u64, Arc<str>> {
    let mut names = HashMap::new();
    for line in bytes.split(|&byte| byte == b'\n').take(MOST) {
        let mut fields = line.split(|&byte| byte == b':');
        let (Some(name), Some(_), Some(uid)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let uid = std::str::from_utf8(uid).ok().and_then(|uid| uid.parse().ok());
        if let (Some(uid), Ok(name)) = (uid, std::str::from_utf8(name))
            && !name.is_empty()
            && name.len() <= 256
        {
            names.entry(uid).or_insert_with(|| Arc::from(name));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    #[test]
    fn lines_that_are_no_users_are_skipped() {
        let names = parse(b"root:x:0:0::/root:/bin/sh\ntoor:x:0:0\n\n#\n:x:7:7\nbad:x:seven:7\npostgres:x:114:120");
        let mut names: Vec<_> = names.into_iter().map(|(uid, name)| (uid, name.to_string())).collect();
        names.sort();
        assert_eq!(names, [(0, "root".to_owned()), (114, "postgres".to_owned())]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(parse(&bytes).values().all(|name| !name.is_empty()));
        }
    }
}
