//! Marks from other processes: `topotop mark` finds a recording by an abstract socket, which leaves nothing behind and
//! takes texts of its own user and of root only.

use super::sampling::Sink;
use crate::output::broker::broker;
use crate::trust::said;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::Metadata;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use topotop_model::recording::{MAX_TEXT, What};

/// What the names of all such sockets begin with.
const NAMES: &str = "topotop-record";
/// The list of a network namespace's sockets.
const SOCKETS: &str = "/proc/net/unix";
/// How long the other side may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest message: a text, or a path.
const LONGEST: usize = 4 * MAX_TEXT + 4096;

/// A recording that goes on, as another process sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    name: String,
}

/// A file as names have it, whatever it is called and wherever it is mounted.
fn identity(facts: &Metadata) -> String {
    format!("{}-{}", facts.dev(), facts.ino())
}

/// A listening socket for marks into a file, or into standard output, by a process.
pub(crate) fn bound(file: Option<&Path>, pid: u32) -> std::io::Result<OwnedFd> {
    let facts = file.and_then(|file| file.metadata().ok());
    let id = facts.as_ref().map_or_else(|| "0-0".to_owned(), identity);
    let uid = rustix::process::geteuid().as_raw();
    let name = format!("{NAMES}/{uid}/{id}/{pid}");
    let bind = |name: &str| UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?);
    // Anybody can take a name whose number is the next one: what follows it nobody guesses.
    Ok(bind(&name).or_else(|_| bind(&format!("{name}.{:016x}", random())))?.into())
}

/// Takes marks from now on. A recording without them is one all the same.
pub(super) fn listen(file: Option<&Path>, sink: Sink) {
    let own = || bound(file, std::process::id());
    let Ok(socket) = broker().map_or_else(own, |broker| broker.marks(file)) else { return };
    let (listener, uid) = (UnixListener::from(socket), rustix::process::geteuid().as_raw());
    let path = file.map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()));
    let path = path.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
    let take = move || {
        for stream in listener.incoming() {
            match stream {
                // Who does not say it in time has not said it.
                Ok(stream) if is_of(&stream, &[uid, 0]) => drop(answer(stream, &path, &sink)),
                Ok(_) => {}
                // No descriptor is left: others may close.
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    let _ = std::thread::Builder::new().name("marks".to_owned()).spawn(take);
}

fn random() -> u64 {
    std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id())
}

/// True if one of these users is at the other end.
fn is_of(stream: &UnixStream, users: &[u32]) -> bool {
    socket_peercred(stream).is_ok_and(|peer| users.contains(&peer.uid.as_raw()))
}

/// All that the other side says, if it says so in time: one that sends a byte now and then does not.
fn read(stream: &mut UnixStream) -> std::io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let (mut bytes, mut buf) = (Vec::new(), [0; 4096]);
    loop {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        stream.set_read_timeout(Some(left.ok_or(std::io::ErrorKind::TimedOut)?))?;
        match stream.read(&mut buf) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => match read? {
                0 => return Ok(bytes),
                length => bytes.extend_from_slice(buf.get(..length).unwrap_or_default()),
            },
        }
        if bytes.len() >= LONGEST {
            bytes.truncate(LONGEST);
            return Ok(bytes);
        }
    }
}

/// A text is a mark; without one the question is only what this is a recording of.
fn answer(mut stream: UnixStream, path: &str, sink: &Sink) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let text = read(&mut stream)?;
    if sink.lock().is_none() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    if !text.is_empty() {
        sink.event(What::Mark { text });
    }
    stream.write_all(path.as_bytes())
}

/// The recordings that go on: this user's, or those of a file; of one process where it is named. Everybody can take such a
/// name: it counts where the user that it names is at the other end, and that user may write to the file.
pub(crate) fn running(file: Option<&Path>, pid: Option<u32>) -> Result<Vec<Running>, String> {
    let uid = rustix::process::geteuid().as_raw();
    let facts = file.map(|file| file.metadata().map_err(|error| format!("{}: {}", file.display(), said(&error))));
    let facts = facts.transpose()?;
    let id = facts.as_ref().map(identity);
    let users = [uid, facts.map_or(uid, |facts| facts.uid())];
    let sockets = std::fs::read(SOCKETS).map_err(|error| format!("{SOCKETS}: {error}"))?;
    let sockets = String::from_utf8_lossy(&sockets);
    let names = sockets.lines().filter_map(|line| line.split_whitespace().nth(7)?.strip_prefix('@'));
    let is_meant = |name: &&str| {
        let mut parts = name.split('/');
        let (kind, user, file) = (parts.next(), parts.next(), parts.next());
        let user = user.and_then(|user| user.parse().ok());
        kind == Some(NAMES) && user.is_some_and(|user| users.contains(&user)) && (id.is_none() || file == id.as_deref())
    };
    let mut found: Vec<Running> = names.filter(is_meant).map(|name| Running { name: name.to_owned() }).collect();
    // A connection that is open has a line of its own.
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup();
    found.retain(|one| pid.is_none_or(|pid| one.pid() == Some(pid)) && one.connect().is_ok());
    Ok(found)
}

impl Running {
    /// The process that records.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.name.split('/').nth(3)?.split('.').next()?.parse().ok()
    }

    /// A connection to the user that is named; one that does not take it at once is not waited for.
    fn connect(&self) -> std::io::Result<UnixStream> {
        let stranger = || std::io::Error::other("another user's");
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(self.name.as_bytes())?)?;
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        let user = self.name.split('/').nth(1).and_then(|user| user.parse().ok()).ok_or_else(stranger)?;
        if is_of(&stream, &[user]) { Ok(stream) } else { Err(stranger()) }
    }

    /// Sends a text, or none to ask; gives the path of the recording.
    pub(crate) fn send(&self, text: &str) -> Result<PathBuf, std::io::Error> {
        let mut stream = self.connect()?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(text.as_bytes())?;
        stream.shutdown(std::net::Shutdown::Write)?;
        let path = String::from_utf8(read(&mut stream)?).map_err(|_| std::io::ErrorKind::InvalidData)?;
        if path.is_empty() { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(PathBuf::from(path)) }
    }
}
