//! Listening sockets.

use crate::output::broker::broker;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use topotop_model::locale::serve as text;
use topotop_model::text::printable;

/// The first descriptor that systemd passes.
const FIRST: i32 = 3;
/// Maximum number of descriptors taken from systemd.
const INHERITED: i32 = 8;

/// A listening socket.
pub(super) enum Door {
    /// An address and a port.
    Tcp(TcpListener),
    /// A path, with the file that it made there; none for one that systemd passed.
    Unix { listener: UnixListener, path: PathBuf, _file: Option<Made> },
}

/// A socket's file, which goes with the socket.
pub(super) struct Made {
    place: Place,
    file: File,
}

/// A name in a folder that stays the same, whatever its path leads to later.
struct Place {
    folder: OwnedFd,
    name: OsString,
    /// As the user named it.
    shown: PathBuf,
}

/// Device, inode and time of modification: an inode's number is soon another file's.
type File = (u64, u64, (i64, i64));

impl Drop for Made {
    fn drop(&mut self) {
        // What somebody else put there meanwhile is theirs.
        if self.place.socket() == Some(self.file) {
            // Where its folder has gone or may not be written, nothing is to be done about it.
            let _ = self.place.remove();
        }
    }
}

impl Place {
    /// No link that is a stranger's leads root to another folder.
    fn of(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        Ok(Self {
            folder: crate::folder::open(path.parent().unwrap_or(Path::new(".")))?,
            name,
            shown: path.to_path_buf(),
        })
    }

    /// For calls that take no folder; short, too: a socket's path has at most 107 bytes.
    fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.folder.as_raw_fd().to_string()).join(&self.name)
    }

    fn facts(&self) -> rustix::io::Result<rustix::fs::Stat> {
        rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// The socket's file; none where it is something else.
    fn socket(&self) -> Option<File> {
        let facts = self.facts().ok()?;
        let is_socket = FileType::from_raw_mode(facts.st_mode) == FileType::Socket;
        is_socket.then_some((facts.st_dev, facts.st_ino, (facts.st_mtime, facts.st_mtime_nsec as i64)))
    }

    fn remove(&self) -> io::Result<()> {
        let own = || Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?);
        broker().map_or_else(own, |broker| broker.remove(&self.shown))
    }
}

fn failed(place: &dyn fmt::Display, error: &io::Error) -> String {
    text::CannotListen { place, error: &crate::trust::said(error) }.to_string()
}

/// False for a socket that no process has open. One of another kind, or with a full queue, is in use.
fn is_in_use(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(Errno::CONNREFUSED) => Ok(false),
        Ok(()) | Err(Errno::PROTOTYPE | Errno::AGAIN) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Other machines need a token.
pub(super) fn require_token(address: SocketAddr, has_token: bool) -> Result<(), String> {
    let is_local = address.ip().to_canonical().is_loopback();
    if is_local || has_token { Ok(()) } else { Err(text::NeedsToken { address: &address }.to_string()) }
}

impl Door {
    /// Listens on an address.
    pub(super) fn on(address: SocketAddr) -> Result<Self, String> {
        let listener = TcpListener::bind(address).map_err(|error| failed(&address, &error))?;
        listener.set_nonblocking(true).map_err(|error| failed(&address, &error))?;
        Ok(Self::Tcp(listener))
    }

    /// Listens on a path; replaces a socket that no process listens on.
    pub(super) fn at(path: &Path) -> Result<Self, String> {
        let shown = path.display().to_string();
        let shown = printable(&shown);
        let place = Place::of(path).map_err(|error| failed(&shown, &error))?;
        if place.facts().is_ok() {
            if place.socket().is_none() {
                return Err(text::NotASocket { path: &shown }.to_string());
            }
            if is_in_use(&place.path()).map_err(|error| failed(&shown, &error))? {
                return Err(text::SocketInUse { path: &shown }.to_string());
            }
            place.remove().map_err(|error| failed(&shown, &error))?;
        }
        // No client may connect before the mode is set; no other thread creates files yet.
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(place.path());
        rustix::process::umask(before);
        let listener = bound.map_err(|error| failed(&shown, &error))?;
        // Not chmod by name: the owner of the folder may have put a link there.
        listener.set_nonblocking(true).map_err(|error| failed(&shown, &error))?;
        let file = place.socket().map(|file| Made { place, file });
        Ok(Self::Unix { listener, path: path.to_path_buf(), _file: file })
    }

    /// Its address; none for a path.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix { .. } => None,
        }
    }

    /// The next connection.
    pub(super) fn accept(&self) -> io::Result<OwnedFd> {
        let fd = match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                OwnedFd::from(stream)
            }
            Self::Unix { listener, .. } => OwnedFd::from(listener.accept()?.0),
        };
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(fd)
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix { listener, .. } => listener.as_fd(),
        }
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(_) => match self.address() {
                Some(address) => write!(f, "http://{address}/metrics"),
                None => f.write_str("tcp"),
            },
            Self::Unix { path, .. } => f.write_str(&printable(&path.display().to_string())),
        }
    }
}

/// The sockets that systemd has opened (sd_listen_fds(3)); an error where it passes descriptors and none of them is one.
pub(super) fn inherited() -> Result<Vec<Door>, String> {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
    if number("LISTEN_PID") != Some(std::process::id()) {
        return Ok(Vec::new());
    }
    let count = number("LISTEN_FDS").map_or(0, |count| count.min(INHERITED as u32) as i32);
    let taken = (FIRST..FIRST + count).filter_map(topotop_collectors::sys::inherited::take);
    let doors: Vec<Door> = taken.filter_map(door_of).collect();
    if count > 0 && doors.is_empty() { Err(text::NOTHING_PASSED.to_string()) } else { Ok(doors) }
}

/// A listening socket of a supported kind.
fn door_of(fd: OwnedFd) -> Option<Door> {
    let is_stream = rustix::net::sockopt::socket_type(&fd).ok()? == SocketType::STREAM;
    if !is_stream || !rustix::net::sockopt::socket_acceptconn(&fd).ok()? {
        return None;
    }
    rustix::io::ioctl_fionbio(&fd, true).ok()?;
    match rustix::net::sockopt::socket_domain(&fd).ok()? {
        AddressFamily::UNIX => {
            let listener = UnixListener::from(fd);
            let address = listener.local_addr().ok();
            let path = address.as_ref().and_then(|address| address.as_pathname()).unwrap_or(Path::new("unix")).into();
            Some(Door::Unix { listener, path, _file: None })
        }
        AddressFamily::INET | AddressFamily::INET6 => Some(Door::Tcp(fd.into())),
        _ => None,
    }
}
