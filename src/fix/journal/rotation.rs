//! A journal that has grown long is replaced by the lines that still matter; the long one stays beside it until the next.

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};
use topotop_collectors::state::{JOURNAL, JOURNAL_END, JOURNAL_OLD};
use topotop_model::journal::{self, Damage, Journal, Line};

/// Journals longer than this are shortened.
pub(super) const LENGTH: u64 = 4 << 20;
/// Applications that are kept whatever became of them.
const NEWEST: usize = 200;
/// One that is being written.
const NEW: &str = "fixes.journal.new";

/// Puts the lines that matter in place of a journal whose lock is held; none where that is not much shorter, and of one
/// with damaged or missing lines, which would not be seen any more. The new one is locked before it has the name. Killed
/// anywhere in between, a whole journal has it.
pub(super) fn rotate(dir: &OwnedFd, bytes: &[u8], boot_id: &str) -> Result<Option<(OwnedFd, Vec<u8>)>, Errno> {
    let journal = journal::fold(bytes);
    if journal.lost() > 0 {
        return Ok(None);
    }
    let kept = shortened(bytes, &numbers(&journal, boot_id));
    if kept.len() > bytes.len() / 2 {
        return Ok(None);
    }
    gone(dir, NEW)?;
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = rustix::fs::openat(dir, NEW, flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::flock(&new, FlockOperation::NonBlockingLockExclusive)?;
    let mut file = std::fs::File::from(new.try_clone().map_err(|error| errno(&error))?);
    file.write_all(&kept).map_err(|error| errno(&error))?;
    rustix::fs::fsync(new.as_fd())?;
    // A link, so that the name is never without a journal.
    gone(dir, JOURNAL_OLD)?;
    rustix::fs::linkat(dir, JOURNAL, dir, JOURNAL_OLD, AtFlags::empty())?;
    // Its links are other ones: how far the long one went says nothing of it.
    gone(dir, JOURNAL_END)?;
    rustix::fs::renameat(dir, NEW, dir, JOURNAL)?;
    Ok(Some((new, kept)))
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn gone(dir: &OwnedFd, name: &str) -> Result<(), Errno> {
    match rustix::fs::unlinkat(dir, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => done,
    }
}

/// The lines of applications that can still be undone, of the newest ones, and what only a later version understands.
fn shortened(bytes: &[u8], numbers: &BTreeSet<u64>) -> Vec<u8> {
    let matters = |text: &&[u8]| match Line::decode(text) {
        Ok(line) => numbers.contains(&line.number),
        Err(Damage::Unknown) => true,
        Err(Damage::Foreign | Damage::Checksum) => false,
    };
    let lines = bytes.split(|&byte| byte == b'\n').filter(|text| !text.is_empty()).filter(matters);
    let mut last = 0;
    let linked = lines.flat_map(|text| {
        let line = linked(text, last);
        last = journal::checksum(&line).unwrap_or_default();
        line.into_iter().chain(*b"\n")
    });
    linked.collect()
}

/// A line linked to the one that is before it now, where it was linked at all.
fn linked(text: &[u8], last: u32) -> Vec<u8> {
    match Line::decode(text) {
        Ok(line) if line.after.is_some() => Line { after: Some(last), ..line }.encode().into_bytes(),
        _ => text.to_vec(),
    }
}

fn numbers(journal: &Journal, boot_id: &str) -> BTreeSet<u64> {
    let newest = journal.applications.iter().rev().take(NEWEST);
    let in_force = journal.applications.iter().filter(|one| one.is_in_force() && one.boot_id == boot_id);
    newest.chain(in_force).map(|application| application.number).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{File, Ledger as _, read};
    use super::{JOURNAL_END, JOURNAL_OLD, LENGTH, NEW};
    use rustix::fs::{FlockOperation, flock};
    use std::path::Path;
    use topotop_collectors::state::JOURNAL;
    use topotop_model::fix::{Item, Restore, Target};
    use topotop_model::journal::{Application, Applied, Because, End, Entry, Intent, Line, State, Written};

    pub(in crate::fix::journal) fn intent() -> Entry {
        let item = Item { key: String::new(), old: Some("1".to_owned()), new: "2".repeat(1 << 14) };
        let step = Written { target: Target::file("/proc/sys/a"), restore: Restore::Old, items: vec![item] };
        Entry::Intent(Box::new(Intent {
            fix: "NIC-01/nic%3Aeth0/F-CHAN".to_owned(),
            title: String::new(),
            who: String::new(),
            commands: Vec::new(),
            risk: topotop_model::fix::Risk::Safe,
            identity: Vec::new(),
            steps: vec![step],
            kept: Vec::new(),
            revert_after_seconds: None,
        }))
    }

    /// A journal that is longer than is kept; its first application is in force, the others are undone.
    fn long(directory: &Path) -> u64 {
        let mut file = File::open(directory).expect("opened");
        let mut number = 0;
        while std::fs::metadata(directory.join(JOURNAL)).expect("there").len() <= 2 * LENGTH {
            number += 1;
            file.append(number, &intent(), false).expect("written");
            file.append(number, &Entry::Ended { state: Applied::Applied }, false).expect("written");
            if number > 1 {
                file.append(number, &Entry::Undo { why: Because::Asked, forced: false }, false).expect("written");
                file.append(number, &Entry::Undone { whole: true }, false).expect("written");
            }
        }
        number
    }

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    #[test]
    fn what_can_be_undone_outlives_a_rotation() {
        let dir = directory();
        let numbers = long(dir.path());
        let before = read(dir.path()).expect("read");
        // What a run left that was killed while it rotated.
        std::fs::write(dir.path().join(NEW), "half").expect("written");
        std::fs::write(dir.path().join(JOURNAL_OLD), "older").expect("written");
        let mut file = File::open(dir.path()).expect("opened");
        let after = file.read().expect("read");
        assert!(std::fs::metadata(dir.path().join(JOURNAL)).expect("there").len() <= LENGTH);
        assert!(!dir.path().join(NEW).exists());
        assert_eq!((after.next, after.lost()), (numbers + 1, 0));
        assert_eq!(after.find("1"), before.find("1"));
        assert_eq!(after.find("1").map(Application::state), Some(State::Applied));
        assert_eq!(after.applications.len(), super::NEWEST.min(numbers as usize - 1) + 1);
        let old = topotop_model::journal::fold(&std::fs::read(dir.path().join(JOURNAL_OLD)).expect("kept"));
        assert_eq!(old, before);
        // The count of its lines goes on.
        file.append(1, &Entry::Undo { why: Because::Asked, forced: false }, true).expect("written");
        file.append(1, &Entry::Undone { whole: true }, true).expect("written");
        let after = file.read().expect("read");
        assert_eq!((after.find("1").map(Application::state), after.lost()), (Some(State::Undone), 0));
    }

    #[test]
    fn a_journal_that_a_version_without_notes_rotated_is_not_cut() {
        let dir = directory();
        let numbers = long(dir.path());
        // It goes on being long enough: the note names its last line, as it is linked there.
        let path = |name| dir.path().join(name);
        let mut long = std::fs::OpenOptions::new().append(true).open(path(JOURNAL)).expect("opened");
        let mut last = read(dir.path()).expect("read").last;
        let line = Line {
            at: String::new(),
            wall_ns: 1,
            boot_ns: 2,
            boot_id: "b".to_owned(),
            number: numbers,
            seq: Some(5),
            after: Some(last),
            entry: Entry::Confirmed,
        };
        let text = line.encode();
        last = topotop_model::journal::checksum(text.as_bytes()).expect("a checksum");
        std::io::Write::write_all(&mut long, format!("{text}\n").as_bytes()).expect("written");
        let note = End { last, number: numbers }.encode();
        // As that version did it: the note stays.
        drop(File::open(dir.path()).expect("opened"));
        std::fs::write(path(JOURNAL_END), note).expect("written");
        let lost = || read(dir.path()).map(|journal| (journal.lost(), journal.cut.is_some()));
        assert_eq!(lost(), Ok((0, false)));
        // A real cut is one, and so is what nothing else tells of.
        let whole = std::fs::read(path(JOURNAL)).expect("read");
        let line = whole.len() - 1 - whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("a line");
        std::fs::write(path(JOURNAL), &whole[..whole.len() - line]).expect("cut");
        assert_eq!(lost(), Ok((1, true)));
        std::fs::write(path(JOURNAL), &whole).expect("written");
        std::fs::rename(path(JOURNAL_OLD), path("elsewhere")).expect("moved");
        assert_eq!(lost(), Ok((1, true)));
        std::fs::rename(path("elsewhere"), path(JOURNAL_OLD)).expect("moved");
        // What is written next is linked to what is there.
        let mut file = File::open(dir.path()).expect("opened");
        file.append(numbers, &Entry::Confirmed, true).expect("written");
        assert_eq!(lost(), Ok((0, false)));
    }

    #[test]
    fn what_was_tampered_with_stays_to_be_seen() {
        let dir = directory();
        long(dir.path());
        let path = dir.path().join(JOURNAL);
        let mut bytes = std::fs::read(&path).expect("read");
        bytes[LENGTH as usize / 2] ^= 1;
        std::fs::write(&path, &bytes).expect("written");
        drop(File::open(dir.path()).expect("opened"));
        assert_eq!(std::fs::metadata(&path).expect("there").len(), bytes.len() as u64);
        assert!(read(dir.path()).expect("read").lost() > 0);
    }

    #[test]
    fn a_journal_that_cannot_be_rotated_goes_on() {
        let dir = directory();
        let numbers = long(dir.path());
        std::fs::create_dir(dir.path().join(NEW)).expect("made");
        let mut file = File::open(dir.path()).expect("opened");
        file.append(1, &Entry::Confirmed, true).expect("written");
        let after = read(dir.path()).expect("read");
        assert_eq!((after.next, after.lost(), after.applications.len() as u64), (numbers + 1, 0, numbers));
    }

    #[test]
    fn programs_that_wait_for_one_another_write_to_the_journal_that_has_the_name() {
        let dir = directory();
        long(dir.path());
        let held = std::fs::File::open(dir.path().join(JOURNAL)).expect("opened");
        flock(&held, FlockOperation::LockExclusive).expect("locked");
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let state = dir.path().to_path_buf();
                std::thread::spawn(move || {
                    let mut file = File::open(&state).expect("opened");
                    file.append(1, &Entry::Confirmed, true).expect("written");
                })
            })
            .collect();
        std::thread::sleep(std::time::Duration::from_millis(200));
        drop(held);
        for thread in waiting {
            thread.join().expect("written");
        }
        let after = read(dir.path()).expect("read");
        assert_eq!((after.lost(), after.find("1").map(|one| one.lines)), (0, Some(6)));
    }
}
