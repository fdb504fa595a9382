//! Files that a user or a container may have put on a mount of its own: read only where each step of the way to them is on
//! a file system that answers without another machine or process. The mounts say so: the file system itself is not asked,
//! since one that hangs would hang whoever asks.

use super::inside::{open_inside, walk_by};
use super::{Kept, Root, Use, reason, regular};
use crate::mountinfo::point_and_kind;
use crate::parse::lines;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use topotop_model::Reason;

/// File systems that answer without another machine or process. An overlay may be made of ones that do not: whoever reads
/// there must be able to do without the answer.
const LOCAL: [&str; 24] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "ramfs", "overlay", "aufs", "ecryptfs",
    "jfs", "reiserfs", "nilfs2", "ubifs", "jffs2", "squashfs", "erofs", "vfat", "exfat", "ntfs3", "rootfs",
];

/// Where something is mounted, and whether it is on this machine.
#[derive(Debug, Default)]
pub(super) struct Mounts(HashMap<PathBuf, bool>);

impl Mounts {
    fn parse(bytes: &[u8]) -> Self {
        let mount = |line| {
            let (point, kind) = point_and_kind(line)?;
            let is_local = LOCAL.iter().any(|local| local.as_bytes() == kind);
            Some((PathBuf::from(OsString::from_vec(point)), is_local))
        };
        // Of several at one place the last one is seen.
        Self(lines(bytes).filter_map(mount).collect())
    }

    /// Those of a process.
    fn read(root: &Root, pid: &dyn std::fmt::Display) -> Result<Self, Reason> {
        let mut bytes = Vec::new();
        let fd = root.open_file(Path::new(&format!("proc/{pid}/mountinfo")))?;
        Kept { fd, again: None, one_piece: false }.read(&mut bytes)?;
        Ok(Self::parse(&bytes))
    }

    /// Opens one component, which is at `place`: of another mount only where that is on this machine.
    fn step(&self, here: &OwnedFd, name: &OsStr, place: &Path, flags: OFlags) -> Result<OwnedFd, Reason> {
        let resolve = match self.0.get(place) {
            Some(false) => return Err(Reason::NotSupported),
            Some(true) => ResolveFlags::empty(),
            None => ResolveFlags::NO_XDEV,
        };
        match rustix::fs::openat2(here, name, flags, Mode::empty(), resolve) {
            // A kernel before 5.6, or a filter of system calls: this program's own, as root.
            Err(Errno::NOSYS | Errno::PERM) => open_by_look(here, name, flags, resolve).map_err(reason),
            opened => opened.map_err(reason),
        }
    }
}

/// The same in two steps: what a name leads to is looked at before it is opened.
fn open_by_look(here: &OwnedFd, name: &OsStr, flags: OFlags, resolve: ResolveFlags) -> rustix::io::Result<OwnedFd> {
    if resolve.contains(ResolveFlags::NO_XDEV) {
        let look = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if mount_of(&rustix::fs::openat(here, name, look, Mode::empty())?)? != mount_of(here)? {
            return Err(Errno::XDEV);
        }
    }
    rustix::fs::openat(here, name, flags, Mode::empty())
}

/// The mount of a file and its device; the file system itself is not asked. The number of the mount is 0 before Linux 5.8.
fn mount_of(file: &OwnedFd) -> rustix::io::Result<(u64, u32, u32)> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let facts = rustix::fs::statx(file, "", flags, StatxFlags::MNT_ID)?;
    let has_mount = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::MNT_ID);
    Ok((if has_mount { facts.stx_mnt_id } else { 0 }, facts.stx_dev_major, facts.stx_dev_minor))
}

/// A directory that nothing leads out of: the root, that of a process, or a user's.
#[derive(Debug)]
pub(crate) struct Local<'a> {
    root: &'a Root,
    /// Where it is below the root.
    path: PathBuf,
    fd: OwnedFd,
    /// Where it is among the mounts; there are none in a captured tree.
    mounts: Option<(Arc<Mounts>, PathBuf)>,
}

impl Root {
    /// The root directory.
    pub(crate) fn local(&self) -> Result<Local<'_>, Reason> {
        let fd = self.open_at(Path::new("."), OFlags::PATH | OFlags::DIRECTORY)?;
        let mounts = if self.is_live() { Some((Arc::new(Mounts::read(self, &"self")?), "/".into())) } else { None };
        Ok(Local { root: self, path: PathBuf::new(), fd, mounts })
    }

    /// The root directory that a process sees; `own` is this machine's.
    pub(crate) fn local_of<'a>(&'a self, pid: u32, own: &Local<'a>) -> Result<Local<'a>, Reason> {
        let path = PathBuf::from(format!("proc/{pid}/root"));
        if !self.is_live() {
            let fd = self.open_at(&path, OFlags::PATH | OFlags::DIRECTORY)?;
            return Ok(Local { root: self, path, fd, mounts: None });
        }
        // Of the same mounts: the list is read once, and a root that is none of them (chroot) is found by its name.
        if self.target(&format!("proc/{pid}/ns/mnt"))? == self.target("proc/self/ns/mnt")? {
            return Ok(Local { path, ..own.inside(&self.target(&format!("proc/{pid}/root"))?)? });
        }
        let mounts = Mounts::read(self, &pid)?;
        // One that is not in the list is below a mount that is not in it either.
        if mounts.0.get(Path::new("/")) != Some(&true) {
            return Err(Reason::NotSupported);
        }
        let fd = self.open_at(&path, OFlags::PATH | OFlags::DIRECTORY)?;
        Ok(Local { root: self, path, fd, mounts: Some((Arc::new(mounts), "/".into())) })
    }

    /// Where a link of /proc leads, which no capture has.
    fn target(&self, path: &str) -> Result<PathBuf, Reason> {
        let fd = self.open_at(Path::new(path), OFlags::PATH | OFlags::NOFOLLOW)?;
        let target = rustix::fs::readlinkat(&fd, "", Vec::new()).map_err(reason)?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }
}

impl<'a> Local<'a> {
    /// A directory in it that belongs to a user.
    pub(crate) fn inside(&self, path: &Path) -> Result<Local<'a>, Reason> {
        let below = super::relative(path);
        let (fd, at) = self.open(below, OFlags::PATH | OFlags::DIRECTORY)?;
        let mounts = self.mounts.as_ref().map(|(mounts, _)| (Arc::clone(mounts), at));
        Ok(Local { root: self.root, path: self.path.join(below), fd, mounts })
    }

    /// The names in a directory that begin with `prefix`, up to a number.
    pub(crate) fn names_with(&self, directory: &str, prefix: &str, most: usize) -> Result<Vec<String>, Reason> {
        let (fd, _) = self.open(Path::new(directory), OFlags::RDONLY | OFlags::DIRECTORY)?;
        super::process::names_with(&fd, prefix, most)
    }

    /// Reads the beginning of a regular file, at most `most` bytes, into `buf`. A capture has what is handed to `keep`.
    pub(crate) fn read_start(&self, path: impl AsRef<Path>, buf: &mut Vec<u8>, most: usize) -> Result<(), Reason> {
        let path = super::relative(path.as_ref());
        let opened = self.regular(path);
        if opened.is_err() {
            self.root.note(&self.path.join(path), Use::Absent);
        }
        Kept { fd: opened?, again: None, one_piece: false }.read_start(buf, most)
    }

    /// Gives a capture the contents of a file that was read: it is not read again, since what has its name by then may
    /// be anything.
    pub(crate) fn keep(&self, path: impl AsRef<Path>, bytes: impl FnOnce() -> Vec<u8>) {
        if self.root.is_traced() {
            self.root.keep(self.path.join(super::relative(path.as_ref())), bytes());
        }
    }

    /// A device or FIFO is not opened: that has effects.
    fn regular(&self, path: &Path) -> Result<OwnedFd, Reason> {
        regular(self.open(path, OFlags::PATH)?.0.as_fd())?;
        let (fd, _) = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        regular(fd.as_fd())?;
        Ok(fd)
    }

    fn open(&self, path: &Path, flags: OFlags) -> Result<(OwnedFd, PathBuf), Reason> {
        match &self.mounts {
            None => open_inside(&self.fd, path, flags).map(|fd| (fd, PathBuf::new())),
            Some((mounts, at)) => {
                let step = |here: &OwnedFd, name: &OsStr, place: &Path, flags| mounts.step(here, name, place, flags);
                walk_by(&step, &self.fd, at, path, flags | OFlags::CLOEXEC)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Local, Mounts, open_by_look};
    use crate::Root;
    use rustix::fs::{OFlags, ResolveFlags};
    use rustix::io::Errno;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use topotop_model::Reason;

    fn line(point: &str, kind: &str) -> String {
        format!("30 1 0:40 / {point} rw,relatime shared:1 master:2 - {kind} x rw\n")
    }

    /// This machine's root with other mounts in its list.
    fn local<'a>(root: &'a Root, mounts: &str) -> Local<'a> {
        let own = std::fs::read_to_string("/proc/self/mountinfo").expect("read");
        let mounts = Mounts::parse((own + mounts).as_bytes());
        Local { mounts: Some((Arc::new(mounts), PathBuf::from("/"))), ..root.local().expect("the root") }
    }

    #[test]
    fn a_way_through_another_machine_or_process_is_not_gone() {
        let root = Root::live().expect("a root");
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("home/a/b")).expect("made");
        std::fs::write(dir.path().join("home/a/b/file"), "text").expect("written");
        std::os::unix::fs::symlink("a", dir.path().join("home/link")).expect("linked");
        let at = |below: &str| dir.path().join(below).display().to_string();
        let read = |mounts: &str, file: &str| {
            let mut buf = Vec::new();
            let read = local(&root, mounts).inside(&dir.path().join("home"))?.read_start(file, &mut buf, 100);
            read.map(|()| String::from_utf8_lossy(&buf).into_owned())
        };
        for file in ["a/b/file", "link/b/file", "/link/../a/b/file"] {
            assert_eq!(read("", file).as_deref(), Ok("text"), "{file}");
            assert_eq!(read(&line(&at("home/a"), "ext4"), file).as_deref(), Ok("text"), "{file}");
            for kind in ["fuse", "fuse.sshfs", "nfs4", "cifs", "autofs", "9p"] {
                assert_eq!(read(&line(&at("home/a"), kind), file), Err(Reason::NotSupported), "{kind} {file}");
                assert_eq!(read(&line(&at("home"), kind), file), Err(Reason::NotSupported), "{kind} {file}");
            }
        }
        // Of two at one place the last one is seen; others do not matter.
        let two = line(&at("home/a"), "nfs4") + &line(&at("home/a"), "xfs");
        assert_eq!(read(&two, "a/b/file").as_deref(), Ok("text"));
        assert_eq!(read(&line(&at("home/other"), "nfs4"), "a/b/file").as_deref(), Ok("text"));
        assert!(read("", "../../etc/passwd").is_err() && read("", "a/b").is_err());
    }

    #[test]
    fn another_mount_is_seen_without_the_newer_call() {
        let root: std::os::fd::OwnedFd = std::fs::File::open("/").expect("opened").into();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |name: &str, resolve| open_by_look(&root, name.as_ref(), flags, resolve).map(drop);
        assert_eq!(open("proc", ResolveFlags::NO_XDEV), Err(Errno::XDEV));
        assert_eq!((open("proc", ResolveFlags::empty()), open("etc", ResolveFlags::NO_XDEV)), (Ok(()), Ok(())));
        assert_eq!(open("no such name", ResolveFlags::NO_XDEV), Err(Errno::NOENT));
    }

    #[test]
    fn a_mount_that_is_not_listed_is_not_entered() {
        let root = Root::live().expect("a root");
        let mut local = root.local().expect("the root");
        assert!(local.read_start("proc/self/stat", &mut Vec::new(), 10).is_err(), "of a kind that is not listed");
        local.mounts = Some((Arc::new(Mounts::default()), PathBuf::from("/")));
        assert_eq!(local.read_start("proc/self/stat", &mut Vec::new(), 10), Err(Reason::NotSupported));
        assert!(local.inside(Path::new("/proc")).is_err());
    }
}
