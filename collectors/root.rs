//! The one door to `/proc` and `/sys`, of this machine or of a captured one.
//!
//! A captured tree is hostile: links are resolved inside it (openat2 RESOLVE_IN_ROOT), only regular files are opened,
//! and no file is read beyond a cap. Paths are relative to the root, without a leading slash: `proc/stat`.

mod directory;
mod inside;
mod kept;
mod later;
mod local;
pub(crate) mod log;
mod process;

pub use directory::{DirectoryStat, Entry};
pub use kept::Kept;
pub(crate) use local::Local;

use inside::{open_inside, open_regular};
use kept::is_one_piece;
use later::{Again, Later};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use topotop_model::{Reason, Stamp};

/// The file with the time of each sample and the place of its files.
pub(crate) const SAMPLES: &str = "topotop/samples";
/// The directory of the second sample's files.
pub(crate) const SECOND: &str = "t1";

/// The most entries of one directory.
const MAX_ENTRIES: usize = 1 << 20;
/// The same of a captured machine: as many rows as a table has.
const MAX_CAPTURED: usize = 1 << 18;

/// How a path was used, for `capture`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Asked for and not there.
    Absent,
    /// Listed.
    Directory,
    /// Read as a link or resolved through one.
    Link,
    /// Read.
    File,
}

/// A root directory that files are read below.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    path: PathBuf,
    live: bool,
    trace: Option<Mutex<BTreeMap<PathBuf, Use>>>,
    contents: Mutex<BTreeMap<PathBuf, Vec<u8>>>,
    stamps: Vec<Stamp>,
    later: Option<Arc<Later>>,
}

impl Root {
    /// This machine.
    pub fn live() -> std::io::Result<Self> {
        Self::open_dir(Path::new("/"), true)
    }

    /// A captured tree: `DIR/proc` and `DIR/sys`.
    pub fn at(dir: &Path) -> std::io::Result<Self> {
        let mut root = Self::open_dir(dir, false)?;
        let mut index = Vec::new();
        if root.read(later::INDEX, &mut index).is_ok() {
            root.stamps = later::stamps(&index);
        }
        let is_there =
            |index: usize| root.open_at(Path::new(&later::directory(index)), OFlags::PATH | OFlags::DIRECTORY).is_ok();
        let whole = (1..root.stamps.len()).take_while(|index| is_there(*index)).count();
        root.stamps.truncate(1 + whole);
        if whole > 0 {
            root.later = Some(Arc::default());
        }
        Ok(root)
    }

    /// When the samples of a captured tree were taken; empty where that is not known. The first is read at first.
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps
    }

    /// The stamp of rows: CLOCK_MONOTONIC in ns of the files read now; of a captured tree with times, that of the capture.
    /// In steps of 65 µs: rows read together have the same or the next stamp, which recordings need no room for.
    pub fn monotonic_ns(&self) -> u64 {
        let at = self.later.as_ref().map_or(0, |later| later.index());
        self.stamps.get(at).map_or_else(|| crate::clock::monotonic_ns() & !0xffff, |stamp| stamp.mono_ns)
    }

    /// From now on the files of this sample are read, through kept descriptors as well.
    pub(crate) fn turn_to(&self, index: usize) {
        let Some(later) = self.later.as_ref().filter(|_| index > 0) else { return };
        let path = later::directory(index);
        if let Ok(fd) = open_inside(&self.fd, Path::new(&path), OFlags::PATH | OFlags::DIRECTORY) {
            later.turn_to(index, fd);
        }
    }

    fn open_dir(dir: &Path, live: bool) -> std::io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(dir, flags, Mode::empty())?;
        Ok(Self {
            fd,
            path: std::fs::canonicalize(dir)?,
            live,
            trace: None,
            contents: Mutex::default(),
            stamps: Vec::new(),
            later: None,
        })
    }

    /// Remembers every path that is read, as `capture` needs it.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace = Some(Mutex::new(BTreeMap::new()));
        self
    }

    /// The paths read since `traced`.
    pub fn trace(&self) -> BTreeMap<PathBuf, Use> {
        let lock =
            self.trace.as_ref().map(|trace| trace.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone());
        lock.unwrap_or_default()
    }

    /// Files that were read where anybody may have put anything in their place since, with what a capture has of them.
    pub(crate) fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.contents.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn keep(&self, path: PathBuf, bytes: Vec<u8>) {
        self.contents.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(path, bytes);
    }

    /// True for this machine.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// True while it remembers paths: then every fact has to come from its file.
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a whole file into `buf`, replacing what is in it.
    pub fn read(&self, path: impl AsRef<Path>, buf: &mut Vec<u8>) -> Result<(), Reason> {
        self.open(path)?.read(buf)
    }

    /// Reads a whole file as text; bytes that are not UTF-8 are spelled out. One trailing newline is cut.
    pub fn read_text(&self, path: impl AsRef<Path>) -> Result<String, Reason> {
        let mut buf = Vec::new();
        self.read(path, &mut buf)?;
        let text = buf.strip_suffix(b"\n").unwrap_or(&buf);
        Ok(topotop_model::text::from_bytes(text).into_owned())
    }

    /// Opens a file to read it again and again.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Kept, Reason> {
        let path = path.as_ref();
        let opened = self.open_file(path);
        self.note(path, if opened.is_ok() { Use::File } else { Use::Absent });
        let again =
            self.later.as_ref().map(|later| Again { later: Arc::clone(later), path: relative(path).to_path_buf() });
        opened.map(|fd| Kept { fd, again, one_piece: self.live && is_one_piece(relative(path)) })
    }

    /// Names in a directory, unsorted, without `.` and `..`.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<OsString>, Reason> {
        let mut names = Vec::new();
        self.each_name(path.as_ref(), |name| names.push(OsString::from_vec(name.to_vec())))?;
        Ok(names)
    }

    fn each_name(&self, path: &Path, mut take: impl FnMut(&[u8])) -> Result<(), Reason> {
        let fd = self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY);
        self.note(path, if fd.is_ok() { Use::Directory } else { Use::Absent });
        let fd = fd?;
        let mut space = Vec::with_capacity(32 << 10);
        let mut entries = rustix::fs::RawDir::new(&fd, space.spare_capacity_mut());
        let mut count = 0;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(reason)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                take(name);
            }
            count += 1;
            if count > if self.live { MAX_ENTRIES } else { MAX_CAPTURED } {
                return Err(Reason::Malformed);
            }
        }
        Ok(())
    }

    /// Adds the names of a directory that are numbers (`proc`, `proc/1/task`), unsorted.
    pub fn numbers(&self, path: impl AsRef<Path>, numbers: &mut Vec<u32>) -> Result<(), Reason> {
        self.each_name(path.as_ref(), |name| {
            let id = crate::parse::number(name).and_then(|id| u32::try_from(id).ok());
            numbers.extend(id.filter(|_| !name.starts_with(b"0") || name == b"0"));
        })
    }

    /// Names in a directory that are UTF-8, sorted.
    pub fn names(&self, path: impl AsRef<Path>) -> Result<Vec<String>, Reason> {
        let mut names: Vec<String> = self.list(path)?.into_iter().filter_map(|name| name.into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The target of a symbolic link, unresolved.
    pub fn link(&self, path: impl AsRef<Path>) -> Result<PathBuf, Reason> {
        let path = path.as_ref();
        let fd = self.open_at(path, OFlags::PATH | OFlags::NOFOLLOW);
        self.note(path, if fd.is_ok() { Use::Link } else { Use::Absent });
        let target = rustix::fs::readlinkat(fd?, "", Vec::new()).map_err(reason)?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// The path below the root that links lead to: `sys/class/net/eth0` is `sys/devices/pci0000:00/…/net/eth0`.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<PathBuf, Reason> {
        let path = path.as_ref();
        let fd = self.open_at(path, OFlags::PATH);
        self.note(path, if fd.is_ok() { Use::Link } else { Use::Absent });
        let fd = fd?;
        let proc_path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
        let target = std::fs::read_link(proc_path).map_err(|_| Reason::NotSupported)?;
        let below = target.strip_prefix(&self.path).map_err(|_| Reason::NotSupported)?;
        let later = self.later.as_ref().map_or(0, |later| later.index());
        let below = (later > 0).then(|| below.strip_prefix(later::directory(later)).ok()).flatten().unwrap_or(below);
        Ok(below.to_path_buf())
    }

    /// True if something is there.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        let path = path.as_ref();
        let there = self.open_at(path, OFlags::PATH).is_ok();
        self.note(path, if there { Use::Link } else { Use::Absent });
        there
    }

    /// What kind of file is there; a link is a link. For `capture`: it is not remembered.
    pub fn kind(&self, path: impl AsRef<Path>) -> Result<FileType, Reason> {
        let fd = self.open_at(path.as_ref(), OFlags::PATH | OFlags::NOFOLLOW)?;
        rustix::fs::fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode)).map_err(reason)
    }

    /// The inode of what is there.
    pub fn inode(&self, path: impl AsRef<Path>) -> Result<u64, Reason> {
        let fd = self.open_at(path.as_ref(), OFlags::PATH)?;
        rustix::fs::fstat(&fd).map(|stat| stat.st_ino).map_err(reason)
    }

    fn note(&self, path: &Path, used: Use) {
        if let Some(trace) = &self.trace {
            let mut trace = trace.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let entry = trace.entry(path.to_path_buf()).or_insert(used);
            *entry = (*entry).max(used);
        }
    }

    fn open_file(&self, path: &Path) -> Result<OwnedFd, Reason> {
        if !self.live {
            return open_regular(&self.base(relative(path)), relative(path));
        }
        let fd = self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        regular(fd.as_fd())?;
        Ok(fd)
    }

    fn open_at(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Reason> {
        let relative = relative(path);
        if self.live {
            return rustix::fs::openat(&self.fd, relative, flags | OFlags::CLOEXEC, Mode::empty()).map_err(reason);
        }
        open_inside(&self.base(relative), relative, flags)
    }

    fn base(&self, relative: &Path) -> Base<'_> {
        let later = self.later.as_ref().and_then(|later| later.base(relative));
        later.map_or(Base::First(&self.fd), Base::Later)
    }
}

/// The directory that a path is looked up in.
enum Base<'a> {
    First(&'a OwnedFd),
    Later(Arc<OwnedFd>),
}

impl std::ops::Deref for Base<'_> {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        match self {
            Self::First(fd) => fd,
            Self::Later(fd) => fd,
        }
    }
}

/// A path without its leading slash; `.` for the root itself.
fn relative(path: &Path) -> &Path {
    let relative = path.strip_prefix("/").unwrap_or(path);
    if relative.as_os_str().is_empty() { Path::new(".") } else { relative }
}

fn regular(fd: BorrowedFd<'_>) -> Result<(), Reason> {
    let stat = rustix::fs::statat(fd, "", AtFlags::EMPTY_PATH).map_err(reason)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(Reason::NotSupported),
    }
}

/// The reason behind an errno of open, read or readlink.
pub fn reason(errno: Errno) -> Reason {
    match errno {
        Errno::ACCESS | Errno::PERM => Reason::PermissionDenied,
        Errno::NOENT | Errno::NOTDIR => Reason::NotFound,
        Errno::SRCH | Errno::NODEV => Reason::Vanished,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => Reason::Exhausted,
        _ => Reason::NotSupported,
    }
}

/// Opens a directory of the host by path; for tests and captures that prepare trees.
pub fn directory(path: &Path) -> Result<OwnedFd, Reason> {
    rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(reason)
}

#[cfg(test)]
mod tests {
    use super::Root;
    use rustix::fs::OFlags;
    use std::os::unix::fs::symlink;
    use topotop_model::Reason;

    fn tree() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(dir.path().join("proc/1")).expect("made");
        std::fs::create_dir_all(dir.path().join("sys/devices/x")).expect("made");
        std::fs::create_dir_all(dir.path().join("sys/class")).expect("made");
        std::fs::write(dir.path().join("proc/stat"), "inside\n").expect("written");
        std::fs::write(dir.path().join("sys/devices/x/node"), "1\n").expect("written");
        symlink("/proc/stat", dir.path().join("absolute")).expect("linked");
        symlink("../../../../../../../../proc/stat", dir.path().join("sys/up")).expect("linked");
        symlink("../devices/x", dir.path().join("sys/class/x")).expect("linked");
        symlink("loop", dir.path().join("loop")).expect("linked");
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(super::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).expect("made");
        symlink("/dev/zero", dir.path().join("zero")).expect("linked");
        let root = Root::at(dir.path()).expect("opened");
        (dir, root)
    }

    #[test]
    fn stays_inside_and_opens_regular_files_only() {
        let (_dir, root) = tree();
        for path in ["proc/stat", "absolute", "sys/up", "/proc/stat"] {
            assert_eq!(root.read_text(path).as_deref(), Ok("inside"), "{path}");
            let walked =
                super::inside::walk(&root.fd, std::path::Path::new(path.trim_start_matches('/')), OFlags::RDONLY);
            assert!(walked.is_ok(), "{path} by walking");
        }
        assert_eq!(root.read_text("fifo"), Err(Reason::NotSupported));
        assert_eq!(root.read_text("proc"), Err(Reason::NotSupported));
        assert_eq!(root.read_text("zero"), Err(Reason::NotFound), "/dev/zero of the tree, not of the host");
        assert_eq!(root.read_text("nothing"), Err(Reason::NotFound));
        assert!(root.read_text("loop").is_err());
        assert_eq!(root.read_text("sys/class/x/node").as_deref(), Ok("1"));
        assert_eq!(root.resolve("sys/class/x").ok(), Some("sys/devices/x".into()));
        assert_eq!(root.link("sys/class/x").ok(), Some("../devices/x".into()));
        assert_eq!(root.names("sys").ok(), Some(vec!["class".to_owned(), "devices".to_owned(), "up".to_owned()]));
    }

    #[test]
    fn too_few_descriptors_are_not_called_an_absent_feature() {
        assert_eq!(super::reason(rustix::io::Errno::MFILE), Reason::Exhausted);
        let mut gaps = topotop_model::Gaps::default();
        gaps.add("proc/*/io", Reason::Exhausted, "root");
        assert!(gaps.iter().all(|gap| gap.needs.contains("ulimit -n")));
    }
}
