//! Where documents go: standard output, or a file that nobody sees before it is whole.

pub(crate) mod broker;
mod wire;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read as _, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use topotop_model::locale::output as text;
use topotop_model::recording::Header;
use topotop_model::text::printable;

/// Attempts to find a name that nobody uses.
const NAMES: u32 = 64;

/// True for the names of standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// True for a name that leads to an open descriptor or to nowhere: the user asked for it.
fn is_descriptor(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let number = [&b"/dev/fd/"[..], b"/proc/self/fd/"].iter().find_map(|start| bytes.strip_prefix(*start));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
        || path == Path::new("/dev/stderr")
        || path == Path::new("/dev/null")
}

/// What such a name leads to: the descriptor itself, which whoever may open nothing for writing has all the same.
fn descriptor(path: &Path) -> io::Result<File> {
    if path == Path::new("/dev/null") {
        return topotop_collectors::sys::null::descriptor()?.try_clone();
    }
    let last = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let number = if last == "stderr" { Some(2) } else { last.parse().ok() };
    topotop_collectors::sys::inherited::copy(number.ok_or(ErrorKind::NotFound)?)
}

/// A document on its way.
#[derive(Debug)]
pub(crate) struct Output {
    to: Option<To>,
    name: String,
}

#[derive(Debug)]
enum To {
    Stream(BufWriter<io::Stdout>),
    Descriptor(BufWriter<File>),
    Draft(BufWriter<File>, Draft),
}

impl Output {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self { to: Some(To::Stream(BufWriter::new(io::stdout()))), name: text::STANDARD_OUTPUT.to_string() }
    }

    /// What `-o` names, or standard output.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, String> {
        let Some(path) = path.filter(|path| !is_stdout(path)) else { return Ok(Self::stdout()) };
        let name = format!("-o {}", printable(&path.display().to_string()));
        let to = if is_descriptor(path) {
            descriptor(path).map(|file| To::Descriptor(BufWriter::new(file)))
        } else {
            Draft::beside(path, true).and_then(|draft| Ok(To::Draft(BufWriter::new(draft.file.try_clone()?), draft)))
        };
        let to = to.map_err(|error| format!("{name}: {}", crate::trust::said(&error)))?;
        Ok(Self { to: Some(to), name })
    }

    /// What is written goes to whom it was meant; a file gets its name. A pipe that nobody reads any more is no error.
    pub(crate) fn finish(mut self, written: io::Result<()>) -> Result<(), String> {
        let streams = matches!(self.to, Some(To::Stream(_) | To::Descriptor(_)));
        let finished = written.and_then(|()| self.flush()).and_then(|()| match self.to.take() {
            Some(To::Draft(_, draft)) => draft.publish(),
            _ => Ok(()),
        });
        // What a buffer still holds would fail again, or get through after all.
        match self.to.take() {
            Some(To::Stream(buffer)) => drop(buffer.into_parts()),
            Some(To::Descriptor(buffer) | To::Draft(buffer, _)) => drop(buffer.into_parts()),
            None => {}
        }
        match finished {
            Err(error) if streams && error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(|error| format!("{}: {}", self.name, crate::trust::said(&error))),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            Some(To::Stream(to)) => to.write(bytes),
            Some(To::Descriptor(to) | To::Draft(to, _)) => to.write(bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            Some(To::Stream(to)) => to.flush(),
            Some(To::Descriptor(to) | To::Draft(to, _)) => to.flush(),
            None => Ok(()),
        }
    }
}

/// Writes all of a document.
pub(crate) fn print(bytes: &[u8]) -> Result<(), String> {
    let mut out = Output::stdout();
    let written = out.write_all(bytes);
    out.finish(written)
}

/// Keeps a file of this user's, with its folder: whole or not at all, and in a regular file only.
pub(crate) fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    crate::folder::make_of(path)?;
    let mut draft = Draft::beside(path, true)?;
    draft.file.write_all(bytes)?;
    draft.name()
}

/// A file of its owner's that has no name yet, or one that nobody knows.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) file: File,
    hands: Hands,
}

/// Who gives a draft its name.
#[derive(Debug)]
enum Hands {
    Own(Own),
    /// The output broker, which knows it by a number; none once it is done.
    Broker(Option<u32>),
}

/// A draft's place.
#[derive(Debug)]
struct Own {
    folder: OwnedFd,
    name: OsString,
    /// The name until it is whole, where the file system knows no file without one.
    temporary: Option<OsString>,
    replace: bool,
}

impl Draft {
    /// A draft of `path`, which is no link and nothing but a regular file, if anything; nothing unless it may be replaced.
    pub(crate) fn beside(path: &Path, replace: bool) -> io::Result<Self> {
        if let Some(broker) = broker::broker() {
            let (file, number) = broker.draft(path, replace)?;
            return Ok(Self { file, hands: Hands::Broker(Some(number)) });
        }
        let (file, own) = Own::beside(path, replace)?;
        Ok(Self { file, hands: Hands::Own(own) })
    }

    /// Gives it its name, once it is on the disk.
    pub(crate) fn publish(self) -> io::Result<()> {
        self.file.sync_data()?;
        self.name()
    }

    /// Gives it its name without waiting for the disk: of what is lost with the power nobody is the poorer.
    pub(crate) fn name(mut self) -> io::Result<()> {
        match &mut self.hands {
            Hands::Own(own) => own.name(&self.file),
            Hands::Broker(number) => match (broker::broker(), number.take()) {
                (Some(broker), Some(number)) => broker.name(number),
                _ => Ok(()),
            },
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Hands::Broker(Some(number)) = self.hands
            && let Some(broker) = broker::broker()
        {
            broker.drop_draft(number);
        }
    }
}

impl Own {
    fn beside(path: &Path, replace: bool) -> io::Result<(File, Self)> {
        let wrong = |text: String| io::Error::new(ErrorKind::InvalidInput, text);
        let name = path.file_name().ok_or_else(|| wrong(text::NO_FILE_NAME.to_string()))?.to_owned();
        let parent = path.parent().unwrap_or(Path::new("."));
        let folder = crate::folder::open(parent)?;
        match rustix::fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
            Ok(_) if !replace => return Err(wrong(text::EXISTS.to_string())),
            Ok(facts) => match FileType::from_raw_mode(facts.st_mode) {
                FileType::RegularFile if is_measured(&folder, &name) => return Err(wrong(text::MEASURED.to_string())),
                FileType::RegularFile => {}
                FileType::Symlink => return Err(wrong(text::LINK.to_string())),
                _ => return Err(wrong(text::NOT_REGULAR.to_string())),
            },
        }
        let (file, temporary) = unnamed(&folder).map(|file| (file, None)).or_else(|_| named(&folder))?;
        Ok((file, Self { folder, name, temporary, replace }))
    }

    fn name(&mut self, file: &File) -> io::Result<()> {
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let link = |name: &OsStr| rustix::fs::linkat(CWD, own.as_str(), &self.folder, name, AtFlags::SYMLINK_FOLLOW);
        if self.temporary.is_none() && !self.replace {
            return Ok(link(&self.name)?);
        }
        if self.temporary.is_none() {
            match link(&self.name) {
                Err(Errno::EXIST) => self.temporary = Some(first_free(link)?),
                linked => return Ok(linked?),
            }
        }
        let Some(temporary) = self.temporary.take() else { return Ok(()) };
        let renamed = if self.replace {
            rustix::fs::renameat(&self.folder, &temporary, &self.folder, &self.name)
        } else {
            rustix::fs::renameat_with(
                &self.folder,
                &temporary,
                &self.folder,
                &self.name,
                rustix::fs::RenameFlags::NOREPLACE,
            )
        };
        if renamed.is_err() {
            self.temporary = Some(temporary);
        }
        Ok(renamed?)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = rustix::fs::unlinkat(&self.folder, temporary, AtFlags::empty());
        }
    }
}

/// True for a recording and a captured machine: nobody can measure them again.
fn is_measured(folder: &OwnedFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::openat(folder, name, flags, Mode::empty()) else { return false };
    let mut head = Vec::new();
    let read = File::from(file).take(8).read_to_end(&mut head).is_ok();
    read && (Header::starts(&head) || head.starts_with(&ZSTD))
}

/// How a compressed archive begins.
const ZSTD: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
const MODE: Mode = Mode::from_raw_mode(0o600);

fn unnamed(folder: &OwnedFd) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder, ".", flags, MODE)?))
}

fn named(folder: &OwnedFd) -> io::Result<(File, Option<OsString>)> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = None;
    let name = first_free(|name| rustix::fs::openat(folder, name, flags, MODE).map(|fd| file = Some(File::from(fd))))?;
    Ok((file.ok_or(ErrorKind::NotFound)?, Some(name)))
}

/// Tries names until one is nobody's.
fn first_free(mut make: impl FnMut(&OsStr) -> Result<(), Errno>) -> io::Result<OsString> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..NAMES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let salt = topotop_collectors::now().mono_ns;
        let name = OsString::from(format!(".topotop-{}-{number}-{salt:x}.tmp", std::process::id()));
        match make(&name) {
            Err(Errno::EXIST) => {}
            made => return Ok(made.map(|()| name)?),
        }
    }
    Err(Errno::EXIST.into())
}

#[cfg(test)]
mod tests {
    use super::{Draft, Hands, Output, Own, named};
    use std::io::Write as _;
    use std::os::unix::fs::{MetadataExt as _, symlink};
    use std::path::Path;

    fn put(path: &Path, text: &str) -> Result<(), String> {
        let mut out = Output::create(Some(path))?;
        let written = out.write_all(text.as_bytes());
        out.finish(written)
    }

    fn entries(dir: &Path) -> usize {
        std::fs::read_dir(dir).expect("read").count()
    }

    #[test]
    fn a_file_is_whole_or_not_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        let mut out = Output::create(Some(&path)).expect("made");
        out.write_all(b"half").expect("written");
        assert!(!path.exists());
        drop(out);
        assert_eq!(entries(dir.path()), 0, "nothing is left");
        for text in ["one", "two"] {
            put(&path, text).expect("written");
            assert_eq!(std::fs::read_to_string(&path).expect("read"), text);
        }
        let mut out = Output::create(Some(&path)).expect("made");
        out.write_all(b"three").expect("written");
        assert!(out.finish(Err(std::io::Error::other("no"))).is_err());
        assert_eq!((std::fs::read_to_string(&path).expect("read").as_str(), entries(dir.path())), ("two", 1));
        assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
    }

    #[test]
    fn what_was_measured_is_not_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, head) in [("a.rec", &b"topotop\x1a\x03\0"[..]), ("a.tar.zst", b"\x28\xb5\x2f\xfd")] {
            let path = dir.path().join(name);
            std::fs::write(&path, head).expect("written");
            assert!(put(&path, "x").is_err_and(|error| error.contains("choose another name")), "{name}");
            assert_eq!(std::fs::read(&path).expect("read"), head);
        }
    }

    #[test]
    fn no_link_no_device_no_folder() {
        let dir = tempfile::tempdir().expect("a directory");
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        std::fs::write(&target, "kept").expect("written");
        symlink(&target, &link).expect("linked");
        assert!(put(&link, "x").is_err_and(|error| error.contains("link")));
        let dangling = dir.path().join("dangling");
        symlink(dir.path().join("new"), &dangling).expect("linked");
        assert!(put(&dangling, "x").is_err());
        assert!(!dir.path().join("new").exists());
        assert!(put(dir.path(), "x").is_err_and(|error| error.contains("not a regular file")));
        assert!(put("/dev/zero".as_ref(), "x").is_err_and(|error| error.contains("not a regular file")));
        assert_eq!(put("/dev/null".as_ref(), "x"), Ok(()));
        assert_eq!(std::fs::read_to_string(&target).expect("read"), "kept");
    }

    #[test]
    fn what_must_be_new_stays_what_it_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        let draft = Draft::beside(&path, false).expect("nothing there");
        std::fs::write(&path, "quicker").expect("written");
        assert!(draft.publish().is_err());
        assert!(Draft::beside(&path, false).is_err());
        // Where files need a name from the beginning.
        for replace in [false, true] {
            let folder = std::fs::File::open(dir.path()).expect("opened").into();
            let (file, temporary) = named(&folder).expect("made");
            let draft = Draft { file, hands: Hands::Own(Own { folder, name: "b".into(), temporary, replace }) };
            std::fs::write(dir.path().join("b"), "quicker").expect("written");
            assert_eq!(draft.publish().is_ok(), replace);
            assert_eq!(entries(dir.path()), 2);
        }
    }
}
