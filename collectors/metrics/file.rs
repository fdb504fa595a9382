//! A file that grows, as logs do, or is written again, as a file with one number is.

use super::pick::{Pick, Picked, Work};
use super::tap::Lines;
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use topotop_model::Reason;

/// What is read of a file at once: its end, where it is longer.
const MOST_BYTES: u64 = 1 << 20;

/// Bytes of a file's start that are remembered, to detect whether it grows.
const MOST_START: usize = 4 << 10;

/// Follows a file.
#[derive(Debug)]
pub(super) struct Follow {
    path: PathBuf,
    pick: Pick,
    lines: Lines,
    /// Device and inode of the file that is followed, and how far it was read.
    place: Option<((u64, u64), u64)>,
    /// How it begins, as far as that was read.
    start: Vec<u8>,
    /// Its size and time of change when it was last read.
    seen: Option<(i64, i64, i64)>,
    newest: Option<(Picked, u64)>,
}

impl Follow {
    pub(super) fn new(path: PathBuf, pick: Pick) -> Self {
        Self { path, pick, lines: Lines::default(), place: None, start: Vec::new(), seen: None, newest: None }
    }

    /// The newest number and when it was written, at most now.
    pub(super) fn read(&mut self, now_ns: u64) -> Result<Option<(Picked, u64)>, Reason> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(CWD, &self.path, flags, Mode::empty()).map_err(crate::root::reason)?;
        let stat = rustix::fs::fstat(&file).map_err(crate::root::reason)?;
        if self.place.is_some_and(|(id, _)| id != (stat.st_dev, stat.st_ino)) {
            self.start.clear();
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Reason::NotSupported);
        }
        // A sample is one of a page, and files of the kernel have no size: both are read as a whole.
        if matches!(self.pick, Pick::Sample(_)) || stat.st_size == 0 {
            return self.whole(&file, &stat, now_ns);
        }
        self.follow(&file, &stat, now_ns)
    }

    fn whole(&mut self, file: &OwnedFd, stat: &Stat, now_ns: u64) -> Result<Option<(Picked, u64)>, Reason> {
        let bytes = read_at(file, 0, MOST_BYTES)?;
        let mut work = Work::default();
        let picked = self.pick.text(&String::from_utf8_lossy(&bytes), &mut work);
        if picked.is_none() && work.is_exhausted() {
            return Err(Reason::Exhausted);
        }
        // A page that is no longer written is as old as it is; files of the kernel are made when they are read.
        let at_ns = if stat.st_size == 0 { now_ns } else { written_ns(stat, now_ns) };
        self.newest = picked.map(|picked| (picked, at_ns));
        Ok(self.newest)
    }

    fn follow(&mut self, file: &OwnedFd, stat: &Stat, now_ns: u64) -> Result<Option<(Picked, u64)>, Reason> {
        let size = stat.st_size.max(0) as u64;
        let id = (stat.st_dev, stat.st_ino);
        let now = (stat.st_size, stat.st_mtime, stat.st_mtime_nsec as i64);
        let from = self.place.filter(|(known, read)| *known == id && *read <= size).map(|(_, read)| read);
        let again = from.is_some() && self.seen != Some(now) && self.is_written_again(file, size)?;
        let resting = self.seen == Some(now);
        self.seen = Some(now);
        let at_ns = written_ns(stat, now_ns);
        let from = from.filter(|_| !again);
        let start = size.saturating_sub(MOST_BYTES).max(from.unwrap_or(0));
        if from != Some(start) {
            self.lines.restart(start > 0);
        }
        self.lines.work = Work::default();
        let bytes = read_at(file, start, MOST_BYTES)?;
        self.place = Some((id, start + bytes.len() as u64));
        self.lines.feed(&self.pick, &bytes, at_ns);
        if start == 0 {
            self.start.clear();
        }
        if start == self.start.len() as u64 {
            let room = MOST_START.saturating_sub(self.start.len()).min(bytes.len());
            self.start.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
        // A line without an end is complete when it did not grow since.
        if resting && self.lines.has_part() {
            self.lines.end(&self.pick, at_ns);
        }
        if self.lines.work.is_exhausted() {
            return Err(Reason::Exhausted);
        }
        self.newest = self.lines.newest.map(|(value, at_ns)| (Picked { value, counter: false }, at_ns));
        Ok(self.newest)
    }
}

impl Follow {
    /// True if what was read is no longer there: the file was rewritten in place. A log only grows.
    fn is_written_again(&self, file: &OwnedFd, size: u64) -> Result<bool, Reason> {
        let grown = self.seen.is_some_and(|seen| seen.0 < size as i64);
        // Nothing came to a file that is not remembered from its start, and yet it was written.
        Ok(if self.start.is_empty() { !grown } else { read_at(file, 0, self.start.len() as u64)? != self.start })
    }
}

fn read_at(file: &OwnedFd, from: u64, most: u64) -> Result<Vec<u8>, Reason> {
    let mut bytes = Vec::new();
    let mut buf = vec![0; 32 << 10];
    while (bytes.len() as u64) < most {
        let room = buf.len().min((most - bytes.len() as u64) as usize);
        let Some(space) = buf.get_mut(..room) else { break };
        match rustix::io::pread(file, &mut *space, from + bytes.len() as u64) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(space.get(..read).unwrap_or_default()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(crate::root::reason(errno)),
        }
    }
    Ok(bytes)
}

/// When a file was written last, on the clock of samples: what was written long ago is as old as that.
fn written_ns(stat: &Stat, now_ns: u64) -> u64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |wall| wall.as_nanos());
    let written = (stat.st_mtime.max(0) as u128) * 1_000_000_000 + u128::from(stat.st_mtime_nsec);
    let age = u64::try_from(wall.saturating_sub(written)).unwrap_or(u64::MAX);
    now_ns.saturating_sub(age)
}

#[cfg(test)]
mod tests {
    use super::{Follow, Pick};
    use std::io::Write as _;
    use topotop_model::Reason;

    fn value(follow: &mut Follow) -> Option<f64> {
        follow.read(crate::clock::monotonic_ns()).expect("read").map(|(picked, _)| picked.value)
    }

    #[test]
    fn a_log_is_followed_through_growth_and_rotation() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        let mut follow = Follow::new(path.clone(), Pick::Last);
        assert_eq!(follow.read(1).err(), Some(Reason::NotFound));
        std::fs::write(&path, "a 1\na 2\n").expect("written");
        assert_eq!(value(&mut follow), Some(2.0));
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("opened");
        file.write_all(b"a 3\na 45").expect("written");
        assert_eq!(value(&mut follow), Some(3.0), "the last line may lack digits");
        file.write_all(b"6\nnothing\n").expect("written");
        assert_eq!(value(&mut follow), Some(456.0));
        std::fs::rename(&path, dir.path().join("log.1")).expect("renamed");
        std::fs::write(&path, "a 7\n").expect("written");
        assert_eq!(value(&mut follow), Some(7.0));
    }

    #[test]
    fn a_number_without_newline_is_taken_when_it_rests() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("value");
        std::fs::write(&path, "12").expect("written");
        let mut follow = Follow::new(path.clone(), Pick::Last);
        assert_eq!((value(&mut follow), value(&mut follow)), (None, Some(12.0)));
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, "34\n").expect("written");
        assert_eq!(value(&mut follow), Some(34.0));
        std::thread::sleep(std::time::Duration::from_millis(20));
        std::fs::write(&path, "35\n").expect("written");
        assert_eq!(value(&mut follow), Some(35.0), "as long as before, written again");
    }

    #[test]
    fn the_end_of_a_huge_file_is_enough_and_what_is_no_file_is_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("huge");
        let mut file = std::fs::File::create(&path).expect("made");
        file.set_len(1 << 33).expect("sparse");
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).expect("sought");
        file.write_all(b"\nx 5\n").expect("written");
        assert_eq!(value(&mut Follow::new(path, Pick::Last)), Some(5.0));
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(super::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).expect("made");
        assert_eq!(Follow::new(fifo, Pick::Last).read(1).err(), Some(Reason::NotSupported));
        assert!(value(&mut Follow::new("/proc/uptime".into(), Pick::Last)).is_some_and(|value| value > 0.0));
    }

    #[test]
    fn what_was_written_long_ago_is_old() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        std::fs::write(&path, "a 1\n").expect("written");
        let hour = std::time::Duration::from_hours(1);
        let file = std::fs::File::options().write(true).open(&path).expect("opened");
        file.set_modified(std::time::SystemTime::now() - hour).expect("set");
        drop(file);
        let read = Follow::new(path, Pick::Last).read(4000 * 1_000_000_000).expect("read");
        assert!(read.is_some_and(|(_, at_ns)| at_ns < 500 * 1_000_000_000), "{read:?}");
    }
}
