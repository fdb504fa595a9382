//! The journal file of fixes: append-only, and on disk before the machine changes.

mod rotation;

use crate::units::rfc3339;
use rustix::fs::{AtFlags, CWD, FallocateFlags, FlockOperation, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use topotop_collectors::state::{self, JOURNAL, JOURNAL_END, words};
use topotop_model::journal::{self, End, Entry, Journal, Line};
use topotop_model::locale::cli::fix as text;

/// Space reserved for the entries of an application, besides its intent.
const ROOM: u64 = 64 << 10;
/// The longest wait for another process that applies a fix.
const PATIENCE: Duration = Duration::from_secs(10);

/// A store of journal lines.
pub trait Ledger {
    /// Its entries so far.
    fn read(&self) -> Result<Journal, String>;

    /// The current boot.
    fn boot_id(&self) -> &str;

    /// Adds a line. A firm one is on the disk when this returns.
    fn append(&mut self, number: u64, entry: &Entry, firm: bool) -> Result<(), String>;
}

/// The entries of a journal; empty where there is none.
pub fn read(directory: &Path) -> Result<Journal, String> {
    state::folded(directory)
}

/// What a journal lacks, in a line; none where it lacks nothing.
pub fn lost(directory: &Path, journal: &Journal) -> Option<String> {
    let count = journal.lost();
    let directory = directory.display();
    let of: Vec<String> = journal.incomplete.iter().take(8).map(u64::to_string).collect();
    match (count, of.as_slice()) {
        (0, _) => None,
        (_, []) => Some(text::Damaged { directory: &directory, count: &count }.to_string()),
        (_, of) => Some(text::DamagedOf { directory: &directory, count: &count, of: &of.join(", ") }.to_string()),
    }
}

/// A journal locked by this process.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    dir: OwnedFd,
    fd: OwnedFd,
    boot_id: String,
    /// The lines of each application so far.
    lines: BTreeMap<u64, u32>,
    /// The checksum of the last whole line.
    last: u32,
}

impl File {
    /// Opens and locks it; creates its directory where missing.
    pub fn open(directory: &Path) -> Result<Self, String> {
        let wrong = |errno: Errno| text::NoJournal { path: &directory.display(), error: &words(errno) }.to_string();
        let dir = open_directory(directory).map_err(wrong)?;
        is_safe(&dir, directory)?;
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        if boot_id.is_empty() {
            return Err(text::NO_BOOT_ID.to_string());
        }
        let path = directory.join(JOURNAL);
        let fd = locked(&dir, &path)?;
        let mut file = Self { dir, fd, path, boot_id, lines: BTreeMap::new(), last: 0 };
        // Checks that it is a regular file of this user.
        let mut bytes = file.bytes()?;
        let end = file.end();
        let cut = state::folded_to(directory, &bytes, end).cut;
        // A full disk keeps nobody from undoing a fix: the long one goes on then.
        if bytes.len() as u64 > rotation::LENGTH
            && let Ok(Some(shorter)) = rotation::rotate(&file.dir, &bytes, &file.boot_id)
        {
            (file.fd, bytes) = shorter;
        }
        let lines = |application: &journal::Application| (application.number, application.lines);
        let journal = journal::fold(&bytes);
        (file.lines, file.last) = (journal.applications.iter().map(lines).collect(), journal.last);
        // What comes next is linked to what was cut off, so that this stays to be seen.
        file.last = cut.map_or(file.last, |end| end.last);
        // The name itself has to last.
        let _ = rustix::fs::fsync(&file.dir);
        Ok(file)
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        let again = rustix::fs::openat(
            CWD,
            format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.fd)),
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        state::read(again.map_err(|errno| self.wrong(errno))?, &self.path)
    }

    /// How far it went when it was last written.
    fn end(&self) -> Option<End> {
        self.path.parent().and_then(state::journal_end)
    }

    /// Notes that a line is on the disk. Without the note a journal is one all the same.
    fn note(&self, end: End) {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.dir, JOURNAL_END, flags, Mode::RUSR | Mode::WUSR);
        // In one write, over what is there.
        let _ = file.and_then(|file| rustix::io::pwrite(&file, end.encode().as_bytes(), 0));
    }

    fn wrong(&self, errno: Errno) -> String {
        format!("{}: {}", self.path.display(), words(errno))
    }

    /// Reserves space for the entries of an application, where the file system supports it.
    fn reserve(&self, line: usize) -> Result<(), String> {
        let end = rustix::fs::seek(&self.fd, SeekFrom::End(0)).map_err(|errno| self.wrong(errno))?;
        match rustix::fs::fallocate(&self.fd, FallocateFlags::KEEP_SIZE, end, ROOM + 4 * line as u64) {
            Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::IO | Errno::ROFS)) => {
                Err(self.wrong(errno))
            }
            _ => Ok(()),
        }
    }

    /// True where the last line was cut: the next one begins on a line of its own.
    fn is_cut(&self) -> bool {
        let Ok(end) = rustix::fs::seek(&self.fd, SeekFrom::End(0)) else { return false };
        let mut last = [b'\n'];
        end > 0 && rustix::io::pread(&self.fd, &mut last, end - 1).is_ok_and(|read| read == 1) && last != *b"\n"
    }
}

impl Ledger for File {
    fn read(&self) -> Result<Journal, String> {
        let end = self.end();
        let directory = self.path.parent().unwrap_or(Path::new("."));
        self.bytes().map(|bytes| state::folded_to(directory, &bytes, end))
    }

    fn boot_id(&self) -> &str {
        &self.boot_id
    }

    fn append(&mut self, number: u64, entry: &Entry, firm: bool) -> Result<(), String> {
        let stamp = topotop_collectors::now();
        let lines = self.lines.entry(number).or_default();
        *lines += 1;
        let line = Line {
            at: rfc3339(stamp.wall_ns),
            wall_ns: stamp.wall_ns,
            boot_ns: stamp.boot_ns,
            boot_id: self.boot_id.clone(),
            number,
            seq: Some(*lines),
            after: Some(self.last),
            entry: entry.clone(),
        };
        let mut text = line.encode();
        let checksum = journal::checksum(text.as_bytes()).unwrap_or_default();
        if self.is_cut() {
            text.insert(0, '\n');
        }
        text.push('\n');
        if matches!(entry, Entry::Intent(_)) {
            self.reserve(text.len())?;
        }
        let mut left = text.as_bytes();
        while !left.is_empty() {
            match rustix::io::write(&self.fd, left) {
                Ok(0) => return Err(self.wrong(Errno::NOSPC)),
                Ok(taken) => left = left.get(taken..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.wrong(errno)),
            }
        }
        self.last = checksum;
        if firm {
            rustix::fs::fsync(&self.fd).map_err(|errno| self.wrong(errno))?;
            self.note(End { last: checksum, number });
        }
        Ok(())
    }
}

/// The journal of a directory, made where it is missing, once no other process has it.
fn locked(dir: &OwnedFd, path: &Path) -> Result<OwnedFd, String> {
    let start = Instant::now();
    let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut opened = None;
    loop {
        let fd = match opened.take() {
            Some(fd) => fd,
            None => rustix::fs::openat(dir, JOURNAL, flags, Mode::RUSR | Mode::WUSR)
                .map_err(|errno| text::NoJournal { path: &path.display(), error: &words(errno) }.to_string())?,
        };
        match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if is_named(dir, &fd) => return Ok(fd),
            // Another process has put a shorter one in its place meanwhile.
            Ok(()) => continue,
            Err(Errno::WOULDBLOCK | Errno::INTR) if start.elapsed() < PATIENCE => {}
            Err(Errno::WOULDBLOCK) => return Err(text::JournalLocked { path: &path.display() }.to_string()),
            Err(errno) => return Err(format!("{}: {}", path.display(), words(errno))),
        }
        opened = Some(fd);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// True where the journal's name is that of an open file.
fn is_named(dir: &OwnedFd, fd: &OwnedFd) -> bool {
    let named = rustix::fs::statat(dir, JOURNAL, AtFlags::SYMLINK_NOFOLLOW);
    let opened = rustix::fs::fstat(fd);
    named.is_ok_and(|named| opened.is_ok_and(|opened| (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)))
}

/// The directory, made where it is missing; the ones above it have to be there but for those of a home.
fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT) => {
            make(path, 4)?;
            rustix::fs::open(path, flags, Mode::empty())
        }
        opened => opened,
    }
}

fn make(path: &Path, depth: u32) -> Result<(), Errno> {
    match rustix::fs::mkdir(path, Mode::RWXU) {
        Err(Errno::NOENT) if depth > 0 => {
            make(path.parent().ok_or(Errno::NOENT)?, depth - 1)?;
            rustix::fs::mkdir(path, Mode::RWXU)
        }
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

/// Checks that no other user can replace the file.
fn is_safe(dir: &OwnedFd, path: &Path) -> Result<(), String> {
    let facts = rustix::fs::fstat(dir).map_err(|errno| format!("{}: {}", path.display(), words(errno)))?;
    let own = rustix::process::geteuid().as_raw();
    if facts.st_uid != own && facts.st_uid != 0 {
        return Err(text::JournalOwner { path: &path.display(), owner: &facts.st_uid, user: &own }.to_string());
    }
    if facts.st_mode & 0o022 != 0 {
        return Err(text::JournalWritable { path: &path.display() }.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{File, Ledger as _};
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use topotop_model::journal::{Applied, Entry};

    fn mode(path: &std::path::Path) -> u32 {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn it_is_made_for_its_owner_alone_and_goes_on_after_a_cut_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let state = dir.path().join("a/b/topotop");
        let mut file = File::open(&state).expect("opened");
        file.append(4, &Entry::Confirmed, true).expect("written");
        assert_eq!((mode(&state), mode(&state.join("fixes.journal"))), (0o700, 0o600));
        let cut = std::fs::OpenOptions::new().append(true).open(state.join("fixes.journal"));
        cut.expect("opened").write_all(b"{\"at\":\"cu").expect("written");
        file.append(5, &Entry::Confirmed, false).expect("written");
        let read = file.read().expect("read");
        // None of them has an application; the cut one is no line.
        assert_eq!((read.next, read.damaged), (6, 3));
    }

    #[test]
    fn a_journal_that_was_cut_at_the_end_of_a_line_is_missed() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).expect("set");
        let (path, end) = (dir.path().join("fixes.journal"), dir.path().join("fixes.journal.end"));
        let mut file = File::open(dir.path()).expect("opened");
        for number in 1..4 {
            file.append(number, &super::rotation::tests::intent(), true).expect("written");
            file.append(number, &Entry::Ended { state: Applied::Applied }, true).expect("written");
        }
        // What came after the last one that had to be on the disk may be lost, and then nothing says so.
        file.append(3, &Entry::Confirmed, false).expect("written");
        drop(file);
        let whole = std::fs::read(&path).expect("read");
        let lost = || super::read(dir.path()).map(|journal| (journal.lost(), journal.next, journal.incomplete));
        assert_eq!(lost(), Ok((0, 4, [].into())));
        let ends: Vec<usize> = (1..=whole.len()).filter(|end| whole[end - 1] == b'\n').collect();
        std::fs::write(&path, &whole[..ends[5]]).expect("cut");
        assert_eq!(lost(), Ok((0, 4, [].into())));
        for cut in ends[..5].iter().copied().chain([0]) {
            std::fs::write(&path, &whole[..cut]).expect("cut");
            assert_eq!(lost(), Ok((1, 4, [3].into())), "{cut}");
        }
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(lost(), Ok((1, 4, [3].into())), "none at all");
        // Whatever is written next, it stays to be seen, and no number is given twice.
        std::fs::write(&path, &whole[..ends[1]]).expect("cut");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("set");
        let mut file = File::open(dir.path()).expect("opened");
        assert_eq!(file.read().map(|journal| journal.next), Ok(4));
        file.append(4, &super::rotation::tests::intent(), true).expect("written");
        drop(file);
        assert_eq!(lost().map(|(count, next, _)| (count, next)), Ok((1, 5)));
        // Without the note, as versions before left it, or with another one in its place: a journal all the same.
        for text in ["", "x", "0000000g 000000000000001\n"] {
            std::fs::write(&end, text).expect("written");
            std::fs::write(&path, &whole[..ends[0]]).expect("cut");
            assert_eq!(lost(), Ok((0, 2, [].into())), "{text:?}");
        }
        std::fs::remove_file(&end).expect("removed");
        symlink(&path, &end).expect("linked");
        let mut file = File::open(dir.path()).expect("opened");
        file.append(1, &Entry::Confirmed, true).expect("written");
        assert_eq!(lost(), Ok((0, 2, [].into())));
    }

    #[test]
    fn one_writes_at_a_time() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).expect("set");
        let first = File::open(dir.path()).expect("opened");
        let state = dir.path().to_path_buf();
        let second = std::thread::spawn(move || File::open(&state).map(|_| std::time::Instant::now()));
        std::thread::sleep(std::time::Duration::from_millis(300));
        let freed = std::time::Instant::now();
        drop(first);
        let opened = second.join().expect("joined").expect("opened");
        assert!(opened >= freed, "the second waited");
    }

    #[test]
    fn a_place_that_others_write_to_or_a_link_is_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = dir.path().join("open");
        std::fs::create_dir(&open).expect("made");
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("set");
        assert!(File::open(&open).is_err_and(|error| error.contains("writable by others")));
        symlink(&open, dir.path().join("link")).expect("linked");
        assert!(File::open(&dir.path().join("link")).is_err());
        let own = dir.path().join("own");
        std::fs::create_dir(&own).expect("made");
        symlink(dir.path().join("elsewhere"), own.join("fixes.journal")).expect("linked");
        assert!(File::open(&own).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}
