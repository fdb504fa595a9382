//! Paths of a captured tree, resolved so that nothing leads out of it.

use super::{reason, regular};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use topotop_model::Reason;

/// Opens a regular file of a captured tree. Opening a device or FIFO has effects: check first.
pub(super) fn open_regular(base: &OwnedFd, relative: &Path) -> Result<OwnedFd, Reason> {
    regular(open_inside(base, relative, OFlags::PATH)?.as_fd())?;
    let fd = open_inside(base, relative, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    regular(fd.as_fd())?;
    Ok(fd)
}

/// Opens a path of a captured tree; no link leads out of it.
pub(super) fn open_inside(base: &OwnedFd, relative: &Path, flags: OFlags) -> Result<OwnedFd, Reason> {
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(base, relative, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => walk(base, relative, flags),
        opened => opened.map_err(reason),
    }
}

/// Resolves component by component where the kernel has no openat2 (before 5.6, or behind a seccomp filter).
pub(super) fn walk(base: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Reason> {
    let step = |here: &OwnedFd, name: &OsStr, _: &Path, flags| {
        rustix::fs::openat(here, name, flags, Mode::empty()).map_err(reason)
    };
    walk_by(&step, base, Path::new("/"), path, flags).map(|(fd, _)| fd)
}

/// Opens one component in a directory; the third is where it is, without links.
pub(super) type Step<'a> = &'a dyn Fn(&OwnedFd, &OsStr, &Path, OFlags) -> Result<OwnedFd, Reason>;

/// Resolves component by component, each opened by `step`, below a base that is at `at`; also says where it came out.
pub(super) fn walk_by(
    step: Step<'_>,
    base: &OwnedFd,
    at: &Path,
    path: &Path,
    flags: OFlags,
) -> Result<(OwnedFd, PathBuf), Reason> {
    let mut todo: Vec<OsString> = path.iter().rev().map(OsString::from).collect();
    let mut trail = vec![(base.try_clone().map_err(|_| Reason::Exhausted)?, at.to_path_buf())];
    let mut links = 0;
    while let Some(name) = todo.pop() {
        let (here, above) = trail.last().ok_or(Reason::NotSupported)?;
        match name.as_bytes() {
            b"" | b"." | b"/" => continue,
            b".." => {
                if trail.len() > 1 {
                    trail.pop();
                }
                continue;
            }
            _ => {}
        }
        let peek = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place = above.join(&name);
        let next = step(here, &name, &place, peek)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&next).map_err(reason)?.st_mode);
        let last = todo.is_empty();
        if kind == FileType::Symlink && !(last && flags.contains(OFlags::NOFOLLOW)) {
            links += 1;
            if links > 40 {
                return Err(Reason::NotSupported);
            }
            let target = rustix::fs::readlinkat(&next, "", Vec::new()).map_err(reason)?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            if target.is_absolute() {
                trail.truncate(1);
            }
            todo.extend(target.iter().rev().map(OsString::from));
            continue;
        }
        if last {
            return Ok((step(here, &name, &place, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC)?, place));
        }
        trail.push((next, place));
    }
    let (here, place) = trail.pop().ok_or(Reason::NotSupported)?;
    rustix::fs::openat(here, ".", flags, Mode::empty()).map(|fd| (fd, place)).map_err(reason)
}
