//! Folders that are written to: no stranger's link leads root into another one.

use crate::output::broker::broker;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path};
use topotop_model::locale::trust as text;

/// Links that a path leads through at most, as for the kernel.
const LINKS: usize = 40;
/// A name that is looked at and not followed.
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder. For root, each link on the way has to be root's: a stranger's one may lead to any folder of the system.
pub(crate) fn open(folder: &Path) -> io::Result<OwnedFd> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if !rustix::process::geteuid().is_root() {
        return Ok(readable(folder)?);
    }
    let walked = walk(folder, 0)?;
    // A folder that may only be searched and written to is good enough.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&walked, ".", flags, Mode::empty()).unwrap_or(walked))
}

/// A new file of its owner's alone, in the folder that a path names.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    if let Some(broker) = broker() {
        return broker.new_file(path);
    }
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let folder = open(path.parent().unwrap_or(Path::new(".")))?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(&folder, name, flags, Mode::from_raw_mode(0o600))?))
}

/// Makes a folder of its owner's alone, with those above it. For root, no stranger's link leads to where it is made.
pub(crate) fn make(folder: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
    let mut missing = Vec::new();
    let mut above = folder;
    let mut here = loop {
        match open(above) {
            Ok(here) => break here,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                missing.push(above.file_name().ok_or(ErrorKind::InvalidInput)?);
                above = above.parent().ok_or(ErrorKind::NotFound)?;
            }
            Err(error) => return Err(error),
        }
    };
    for name in missing.into_iter().rev() {
        rustix::fs::mkdirat(&here, name, Mode::RWXU)
            .or_else(|errno| if errno == Errno::EXIST { Ok(()) } else { Err(errno) })?;
        here = rustix::fs::openat(&here, name, LOOK | OFlags::DIRECTORY, Mode::empty())?;
    }
    Ok(())
}

/// Makes the folder of a file.
pub(crate) fn make_of(path: &Path) -> io::Result<()> {
    match (broker(), path.parent()) {
        (Some(broker), _) => broker.make_folder_of(path),
        (None, Some(folder)) => make(folder),
        (None, None) => Ok(()),
    }
}

/// Removes a file that was made here.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    broker().map_or_else(|| std::fs::remove_file(path), |broker| broker.remove(path))
}

fn readable(folder: &Path) -> rustix::io::Result<OwnedFd> {
    let open = |flags: OFlags| rustix::fs::open(folder, flags | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    open(OFlags::RDONLY).or_else(|_| open(OFlags::PATH))
}

/// Goes through a path name by name; links are root's or an error.
fn walk(path: &Path, trusted: u32) -> io::Result<OwnedFd> {
    let start = |place: &str| rustix::fs::open(place, LOOK | OFlags::DIRECTORY, Mode::empty());
    let mut here = start(".")?;
    let mut left: Vec<OsString> = names(path);
    let mut links = 0;
    while let Some(name) = left.pop() {
        if name == "/" {
            here = start("/")?;
            continue;
        }
        let next = rustix::fs::openat(&here, &name, LOOK, Mode::empty())?;
        let facts = rustix::fs::fstat(&next)?;
        match FileType::from_raw_mode(facts.st_mode) {
            FileType::Directory => here = next,
            FileType::Symlink if facts.st_uid != trusted => {
                let link = name.to_string_lossy().into_owned();
                let why = text::ForeignLink { link: &link, owner: &facts.st_uid }.to_string();
                return Err(io::Error::new(ErrorKind::PermissionDenied, why));
            }
            FileType::Symlink if links < LINKS => {
                links += 1;
                let target = rustix::fs::readlinkat(&next, "", Vec::new())?;
                left.extend(names(Path::new(&OsString::from_vec(target.into_bytes()))));
            }
            FileType::Symlink => return Err(Errno::LOOP.into()),
            _ => return Err(Errno::NOTDIR.into()),
        }
    }
    Ok(here)
}

/// The names of a path, the last one first; `/` for its root.
fn names(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let mut names: Vec<OsString> = parts.map(|part| part.as_os_str().to_owned()).collect();
    names.reverse();
    names
}

#[cfg(test)]
mod tests {
    use super::{new_file, walk};
    use std::os::unix::fs::{MetadataExt as _, symlink};

    #[test]
    fn only_trusted_links_are_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("real/deep")).expect("made");
        symlink("real", dir.path().join("link")).expect("linked");
        symlink(dir.path().join("link/deep"), dir.path().join("far")).expect("linked");
        symlink("round", dir.path().join("round")).expect("linked");
        let own = rustix::process::geteuid().as_raw();
        let deep = std::fs::metadata(dir.path().join("real/deep")).expect("there").ino();
        for path in ["real/deep", "link/deep", "far", "link/../real/./deep"] {
            let folder = walk(&dir.path().join(path), own).expect(path);
            assert_eq!(rustix::fs::fstat(&folder).expect("facts").st_ino, deep, "{path}");
        }
        new_file(&dir.path().join("real/deep/new")).expect("made");
        assert!(new_file(&dir.path().join("real/deep/new")).is_err(), "it is there");
        for path in ["link/deep", "far"] {
            let refused = walk(&dir.path().join(path), own + 1).expect_err(path).to_string();
            assert!(refused.contains("link"), "{path}: {refused}");
        }
        assert!(walk(&dir.path().join("real/deep"), own + 1).is_ok());
        for path in ["round", "absent", "real/deep/new"] {
            assert!(walk(&dir.path().join(path), own).is_err(), "{path}");
        }
    }
}
