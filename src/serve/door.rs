//! Listening sockets.

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
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
    Unix { listener: UnixListener, _file: Option<Made> },
}

/// A socket's file, which goes with the socket.
pub(super) struct Made {
    path: PathBuf,
    file: File,
}

/// Device, inode and time of modification: an inode's number is soon another file's.
type File = (u64, u64, (i64, i64));

impl Made {
    fn at(path: &Path) -> Option<Self> {
        Some(Self { path: path.to_path_buf(), file: file(path)? })
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // What somebody else put there meanwhile is theirs.
        if file(&self.path) == Some(self.file) {
            // Where its folder has gone or may not be written, nothing is to be done about it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A socket's file.
fn file(path: &Path) -> Option<File> {
    let metadata = path.symlink_metadata().ok().filter(|metadata| metadata.file_type().is_socket())?;
    Some((metadata.dev(), metadata.ino(), (metadata.mtime(), metadata.mtime_nsec())))
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
        if let Ok(metadata) = path.symlink_metadata() {
            if !metadata.file_type().is_socket() {
                return Err(text::NotASocket { path: &shown }.to_string());
            }
            if is_in_use(path).map_err(|error| failed(&shown, &error))? {
                return Err(text::SocketInUse { path: &shown }.to_string());
            }
            std::fs::remove_file(path).map_err(|error| failed(&shown, &error))?;
        }
        // No client may connect before the mode is set; no other thread creates files yet.
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = bound.map_err(|error| failed(&shown, &error))?;
        // Not chmod by name: the owner of the folder may have put a link there.
        listener.set_nonblocking(true).map_err(|error| failed(&shown, &error))?;
        Ok(Self::Unix { listener, _file: Made::at(path) })
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
            Self::Unix { listener, .. } => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname()).unwrap_or(Path::new("unix"));
                f.write_str(&printable(&path.display().to_string()))
            }
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
        AddressFamily::UNIX => Some(Door::Unix { listener: fd.into(), _file: None }),
        AddressFamily::INET | AddressFamily::INET6 => Some(Door::Tcp(fd.into())),
        _ => None,
    }
}
