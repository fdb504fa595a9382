//! How many people are logged in: sessions of logind, else records of utmp.

use crate::files::{Files, note};
use crate::parse::lines;
use std::mem::size_of;
use topotop_model::{Gaps, Known, Reason};

const SESSIONS: &str = "run/systemd/sessions";
const UTMP: &str = "run/utmp";

/// The most sessions that are looked at.
const MOST: usize = 4096;

/// Their number; none on a machine that keeps no list of them.
pub(super) fn count(files: &mut Files<'_>, gaps: &mut Gaps) -> Known<u64> {
    match files.root.names(SESSIONS) {
        Ok(names) => return of_logind(files, &names, gaps),
        Err(Reason::NotFound) => {}
        Err(reason) => note(gaps, SESSIONS, reason),
    }
    match files.bytes(UTMP) {
        Ok(bytes) => Known::Value(of_utmp(bytes)),
        Err(Reason::NotFound) if gaps.iter().all(|gap| &*gap.path != SESSIONS) => Known::None,
        Err(reason) => {
            note(gaps, UTMP, reason);
            Known::Missing
        }
    }
}

/// Beside each session lies a pipe, `ID.ref`.
fn of_logind(files: &mut Files<'_>, names: &[String], gaps: &mut Gaps) -> Known<u64> {
    let mut users = 0;
    for name in names.iter().filter(|name| !name.contains('.')).take(MOST) {
        match files.bytes(&format!("{SESSIONS}/{name}")) {
            Ok(bytes) => users += u64::from(is_user(bytes)),
            // It ended.
            Err(Reason::NotFound | Reason::Vanished) => {}
            Err(reason) => {
                note(gaps, SESSIONS, reason);
                return Known::Missing;
            }
        }
    }
    Known::Value(users)
}

/// True for a session of a person that is not ending: managers, greeters and lock screens have other classes.
fn is_user(session: &[u8]) -> bool {
    let has = |line: &[u8]| lines(session).any(|other| other == line);
    lines(session).any(|line| line.starts_with(b"CLASS=user")) && !has(b"STATE=closing")
}

/// `USER_PROCESS` in `ut_type`.
const USER_PROCESS: u16 = 7;

/// Records are as long as the C library of this machine has them.
fn of_utmp(bytes: &[u8]) -> u64 {
    let records = bytes.chunks_exact(size_of::<libc::utmpx>());
    records.filter(|record| record.first_chunk().is_some_and(|kind| u16::from_ne_bytes(*kind) == USER_PROCESS)).count()
        as u64
}

#[cfg(test)]
mod tests {
    use super::{is_user, of_utmp};
    use proptest::prelude::*;

    #[test]
    fn people_are_counted_and_managers_are_not() {
        assert!(is_user(b"UID=0\nSTATE=active\nCLASS=user\n") && is_user(b"CLASS=user-early\n"));
        assert!(!is_user(b"STATE=closing\nCLASS=user\n"));
        assert!(!is_user(b"CLASS=manager\n") && !is_user(b"CLASS=greeter\n") && !is_user(b""));
        let mut records = vec![0_u8; 3 * size_of::<libc::utmpx>()];
        for (at, kind) in [(0, 2_u16), (1, 7), (2, 7)] {
            records[at * size_of::<libc::utmpx>()..][..2].copy_from_slice(&kind.to_ne_bytes());
        }
        assert_eq!((of_utmp(&records), of_utmp(&records[..2 * size_of::<libc::utmpx>() + 5])), (2, 1));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (is_user(&bytes), of_utmp(&bytes));
        }
    }
}
