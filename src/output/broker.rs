//! The output broker: what reads a machine as root opens, makes, renames and removes nothing; this process does, and only
//! the outputs that were named before anything was read. What the reader gets is a descriptor of a new file. It also asks
//! systemd for the properties of units: who may connect to systemd as root may have it do anything.

use super::{Draft, wire};
use rustix::fs::AtFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use topotop_model::locale::output as text;

/// Where outputs may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Files and sockets.
    pub(crate) files: Vec<PathBuf>,
    /// Folders of nothing but exports, which replace older ones.
    pub(crate) exports: Vec<PathBuf>,
    /// Folders that tables are exported to, among files of others.
    pub(crate) tables: Vec<PathBuf>,
    /// Folders of anything, for new recordings.
    pub(crate) recordings: Vec<PathBuf>,
}

impl Places {
    /// A single file, if any.
    pub(crate) fn of(output: Option<&Path>) -> Self {
        let files = output.filter(|path| !super::is_stdout(path) && !super::is_descriptor(path));
        Self { files: files.map(Path::to_path_buf).into_iter().collect(), ..Self::default() }
    }

    /// True if one of them is so, of a folder a name in it.
    pub(crate) fn any(&self, is_so: impl Fn(&Path) -> bool) -> bool {
        let folders = self.exports.iter().chain(&self.tables).chain(&self.recordings);
        self.files.iter().cloned().chain(folders.map(|folder| folder.join("new"))).any(|path| is_so(&path))
    }

    /// Anything for one of the files; of the folders only what belongs there, under names that the reader gives such files.
    fn allow(&self, asked: Asked, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().unwrap_or_default().as_bytes();
        let is_in = |folders: &[PathBuf]| folders.iter().any(|folder| folder == parent);
        let is_recording = name.starts_with(b"topotop-") && name.ends_with(b".rec");
        self.files.iter().any(|file| file == path)
            || match asked {
                Asked::Replacing | Asked::Folder if name.starts_with(b".") => false,
                Asked::Folder => is_in(&self.exports) || is_in(&self.tables),
                Asked::Replacing => is_in(&self.exports) || is_in(&self.tables) && name.ends_with(b".csv"),
                Asked::New | Asked::Remove => is_in(&self.recordings) && is_recording,
                _ => false,
            }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// A new file.
    New = 1,
    /// A draft of a file that may not be there.
    Draft,
    /// A draft of a file that may be replaced.
    Replacing,
    /// The name of a draft.
    Name,
    /// The end of a draft without a name.
    Drop,
    /// The end of a file or socket that this process made, or that is one of the files.
    Remove,
    /// The folder of a file.
    Folder,
    /// A socket for marks into a file.
    Marks,
}

const ALL: [Asked; 8] =
    [Asked::New, Asked::Draft, Asked::Replacing, Asked::Name, Asked::Drop, Asked::Remove, Asked::Folder, Asked::Marks];

/// How an answer begins.
const DONE: u8 = 0;
const ERRNO: u8 = 1;
const TEXT: u8 = 2;

static SOCKET: OnceLock<Mutex<OwnedFd>> = OnceLock::new();
/// Where questions for systemd go: one that takes long holds up no output.
static QUESTIONS: OnceLock<Mutex<OwnedFd>> = OnceLock::new();

/// The broker of this process, where it has one.
pub(crate) struct Broker(&'static Mutex<OwnedFd>);

/// The broker of this process, where it has one.
pub(crate) fn broker() -> Option<Broker> {
    SOCKET.get().map(Broker)
}

/// Starts the broker of this process; `restrict` takes from it the rights that it does not need. Before any other thread
/// starts.
pub(crate) fn start(places: Places, restrict: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let failed = |error: io::Error| text::NoBroker { error: &error }.to_string();
    let pair = || {
        let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        pair.map_err(|errno| failed(errno.into()))
    };
    let ((own, theirs), (own_questions, questions)) = (pair()?, pair()?);
    if crate::sys::fork::split(&[theirs.as_raw_fd(), questions.as_raw_fd()]).map_err(failed)? {
        let prepared = prepare().map_err(failed).and_then(|()| restrict());
        let (head, why) = prepared.as_ref().map_or_else(|why| (TEXT, why.as_str()), |()| (DONE, ""));
        if wire::send(&theirs, &[&[head], why.as_bytes()].concat(), None).is_ok() && prepared.is_ok() {
            let named = std::thread::Builder::new().name("systemctl".to_owned());
            // Without it nothing is known of units.
            let _ = named.spawn(move || answer_questions(&questions));
            Served::new(places).serve(&theirs);
        }
        crate::sys::fork::leave();
    }
    drop((theirs, questions));
    let (ready, _) = wire::receive(&own).and_then(|message| message.ok_or_else(gone)).map_err(failed)?;
    if let Some((&TEXT, why)) = ready.split_first() {
        return Err(String::from_utf8_lossy(why).into_owned());
    }
    let _ = SOCKET.set(Mutex::new(own));
    let _ = QUESTIONS.set(Mutex::new(own_questions));
    topotop_collectors::systemctl::delegate(ask_systemd);
    Ok(())
}

/// What systemctl says of a unit, by the broker.
fn ask_systemd(arguments: &[String]) -> Result<String, String> {
    let failed = |error: io::Error| error.to_string();
    let socket = QUESTIONS.get().ok_or_else(|| failed(gone()))?.lock().unwrap_or_else(PoisonError::into_inner);
    wire::send(&socket, arguments.join("\0").as_bytes(), None).map_err(lost).map_err(failed)?;
    let (answer, _) = wire::receive(&socket).and_then(|answer| answer.ok_or_else(gone)).map_err(failed)?;
    let (&first, said) = answer.split_first().ok_or_else(|| failed(gone()))?;
    let said = String::from_utf8_lossy(said).into_owned();
    if first == DONE { Ok(said) } else { Err(said) }
}

/// Asks systemd what the reader wants to know, until that ends.
fn answer_questions(socket: &OwnedFd) {
    while let Ok(Some((question, _))) = wire::receive(socket) {
        let words: Vec<String> = String::from_utf8_lossy(&question).split('\0').map(str::to_owned).collect();
        let said = if is_question(&words) {
            topotop_collectors::systemctl::systemctl(&words)
        } else {
            Err(rustix::io::Errno::ACCESS.to_string())
        };
        let (head, said) = said.map_or_else(|why| (TEXT, why), |said| (DONE, said));
        // Half a value would be another one.
        let answer = if said.len() < wire::LONGEST {
            [&[head][..], said.as_bytes()].concat()
        } else {
            [&[TEXT][..], rustix::io::Errno::MSGSIZE.to_string().as_bytes()].concat()
        };
        if wire::send(socket, &answer, None).is_err() {
            return;
        }
    }
}

/// Properties of one unit, and nothing else that systemctl does.
fn is_question(words: &[String]) -> bool {
    let Some((verb, rest)) = words.split_first() else { return false };
    let is_property = |word: &str| {
        let name = word.strip_prefix("--property=");
        name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()))
    };
    let is_option = |word: &&String| is_property(word) || ["--value", "--"].contains(&word.as_str());
    let others: Vec<&String> = rest.iter().filter(|word| !is_option(word)).collect();
    verb == "show" && others.len() == 1 && others.iter().all(|unit| !unit.is_empty() && !unit.starts_with('-'))
}

/// Keys and signals of the terminal end the reader; its last outputs get their names after that.
fn prepare() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let _ = rustix::thread::set_name(c"topotop-output");
    crate::starvation::answer_at_once();
    let ignored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    rustix::process::setpgid(None, None)?;
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::clone(&ignored))?;
    }
    Ok(())
}

impl Broker {
    /// A new file of its owner's alone.
    pub(crate) fn new_file(&self, path: &Path) -> io::Result<File> {
        self.ask(Asked::New, path.as_os_str().as_bytes())?.1.ok_or_else(gone)
    }

    /// A draft, and its number.
    pub(crate) fn draft(&self, path: &Path, replace: bool) -> io::Result<(File, u32)> {
        let asked = if replace { Asked::Replacing } else { Asked::Draft };
        let (bytes, file) = self.ask(asked, path.as_os_str().as_bytes())?;
        let number = bytes.try_into().map(u32::from_ne_bytes).map_err(|_| gone())?;
        Ok((file.ok_or_else(gone)?, number))
    }

    /// Gives a draft its name.
    pub(crate) fn name(&self, draft: u32) -> io::Result<()> {
        self.ask(Asked::Name, &draft.to_ne_bytes()).map(drop)
    }

    /// Ends a draft.
    pub(crate) fn drop_draft(&self, draft: u32) {
        // A broker that is gone has dropped it.
        let _ = self.ask(Asked::Drop, &draft.to_ne_bytes());
    }

    /// Removes what it made.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.ask(Asked::Remove, path.as_os_str().as_bytes()).map(drop)
    }

    /// A socket that takes marks into a file, or into standard output.
    pub(crate) fn marks(&self, path: Option<&Path>) -> io::Result<OwnedFd> {
        let (_, fd) = self.ask(Asked::Marks, path.map_or(&[][..], |path| path.as_os_str().as_bytes()))?;
        Ok(fd.ok_or_else(gone)?.into())
    }

    /// Makes the folder that a file is to be in.
    pub(crate) fn make_folder_of(&self, path: &Path) -> io::Result<()> {
        self.ask(Asked::Folder, path.as_os_str().as_bytes()).map(drop)
    }

    fn ask(&self, asked: Asked, bytes: &[u8]) -> io::Result<(Vec<u8>, Option<File>)> {
        let socket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wire::send(&socket, &[&[asked as u8], bytes].concat(), None).map_err(lost)?;
        let (answer, fd) = wire::receive(&socket)?.ok_or_else(gone)?;
        match answer.split_first() {
            Some((&DONE, rest)) => Ok((rest.to_vec(), fd.map(File::from))),
            Some((&ERRNO, rest)) => {
                let errno = rest.try_into().map(i32::from_ne_bytes).map_err(|_| gone())?;
                Err(io::Error::from_raw_os_error(errno))
            }
            Some((&TEXT, rest)) => {
                Err(io::Error::new(ErrorKind::InvalidInput, String::from_utf8_lossy(rest).into_owned()))
            }
            _ => Err(gone()),
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, text::BROKER_GONE.to_string())
}

/// Nobody is on the other side.
fn lost(error: io::Error) -> io::Error {
    let is_gone = matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset);
    if is_gone { gone() } else { error }
}

/// What the broker has.
struct Served {
    places: Places,
    drafts: BTreeMap<u32, Draft>,
    /// Files that it made.
    made: Vec<PathBuf>,
    /// Sockets that were there from the beginning, with device and inode.
    sockets: Vec<(PathBuf, u64, u64)>,
    next: u32,
}

type Answer = io::Result<(Vec<u8>, Option<OwnedFd>)>;

impl Served {
    fn new(places: Places) -> Self {
        let socket = |path: &PathBuf| {
            let facts = path.symlink_metadata().ok().filter(|facts| facts.file_type().is_socket())?;
            Some((path.clone(), facts.dev(), facts.ino()))
        };
        let sockets = places.files.iter().filter_map(socket).collect();
        Self { places, drafts: BTreeMap::new(), made: Vec::new(), sockets, next: 0 }
    }

    /// Until the other side ends.
    fn serve(mut self, socket: &OwnedFd) {
        while let Ok(Some((request, _))) = wire::receive(socket) {
            let (head, fd) = match self.answer(&request) {
                Ok((bytes, fd)) => ([&[DONE][..], &bytes].concat(), fd),
                Err(error) => match error.raw_os_error() {
                    Some(errno) => ([&[ERRNO][..], &errno.to_ne_bytes()].concat(), None),
                    None => ([&[TEXT][..], error.to_string().as_bytes()].concat(), None),
                },
            };
            if wire::send(socket, &head, fd.as_ref().map(OwnedFd::as_fd)).is_err() {
                return;
            }
        }
    }

    fn answer(&mut self, request: &[u8]) -> Answer {
        let (&first, rest) = request.split_first().ok_or(ErrorKind::InvalidData)?;
        let asked = ALL.into_iter().find(|asked| *asked as u8 == first).ok_or(ErrorKind::InvalidData)?;
        match asked {
            Asked::Name | Asked::Drop => {
                let number = rest.try_into().map(u32::from_ne_bytes).map_err(|_| ErrorKind::InvalidData)?;
                let draft = self.drafts.remove(&number).ok_or(ErrorKind::NotFound)?;
                if asked == Asked::Name { draft.name().map(|()| (Vec::new(), None)) } else { Ok((Vec::new(), None)) }
            }
            _ => {
                let path = Path::new(OsStr::from_bytes(rest));
                if asked == Asked::Marks && rest.is_empty() {
                    return marks_into(None);
                }
                if path.file_name().is_none() {
                    return Err(io::Error::new(ErrorKind::InvalidInput, text::NO_FILE_NAME.to_string()));
                }
                if !self.places.allow(asked, path) {
                    return Err(rustix::io::Errno::ACCESS.into());
                }
                self.on_path(asked, path)
            }
        }
    }

    fn on_path(&mut self, asked: Asked, path: &Path) -> Answer {
        match asked {
            Asked::New => {
                let file = crate::folder::new_file(path)?;
                self.made.push(path.to_path_buf());
                Ok((Vec::new(), Some(file.into())))
            }
            Asked::Draft | Asked::Replacing => {
                let draft = Draft::beside(path, asked == Asked::Replacing)?;
                let fd = draft.file.try_clone()?.into();
                self.next = self.next.wrapping_add(1);
                self.drafts.insert(self.next, draft);
                Ok((self.next.to_ne_bytes().to_vec(), Some(fd)))
            }
            Asked::Remove => {
                let folder = crate::folder::open(path.parent().unwrap_or(Path::new(".")))?;
                let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
                let facts = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let (dev, ino) = (facts.st_dev, facts.st_ino);
                let is_own = |socket: &(PathBuf, u64, u64)| socket.0 == path && (socket.1, socket.2) == (dev, ino);
                if !self.sockets.iter().any(is_own) && !self.made.iter().any(|made| made == path) {
                    return Err(rustix::io::Errno::ACCESS.into());
                }
                rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
                Ok((Vec::new(), None))
            }
            Asked::Folder => {
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                folder.map_or(Ok(()), crate::folder::make)?;
                Ok((Vec::new(), None))
            }
            Asked::Marks => marks_into(Some(path)),
            Asked::Name | Asked::Drop => Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn marks_into(path: Option<&Path>) -> Answer {
    let reader = rustix::process::getppid().map_or(0, |pid| pid.as_raw_pid().cast_unsigned());
    Ok((Vec::new(), Some(crate::record::marks::bound(path, reader)?)))
}

#[cfg(test)]
mod tests {
    use super::{Asked, DONE, Places, Served};
    use std::io::{ErrorKind, Read as _, Write as _};
    use std::path::Path;

    #[test]
    fn systemd_is_asked_and_never_told() {
        let is_question = |words: &str| super::is_question(&words.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is_question("show --property=CPUQuotaPerSecUSec --value -- nginx.service"));
        assert!(is_question("show irqbalance.service --property=ActiveState --value"));
        for words in [
            "stop nginx.service",
            "show --property=A --host=x -- a.service",
            "show -H x",
            "show a b",
            "show",
            "",
            "--now show a",
            "show --property= a",
            "set-property a CPUQuota=1%",
            "show --property=A;B a",
        ] {
            assert!(!is_question(words), "{words}");
        }
    }

    #[test]
    fn only_what_was_named_is_made() {
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("kept"), "kept").expect("written");
        std::os::unix::fs::symlink(at("kept"), at("link")).expect("linked");
        let _own = std::os::unix::net::UnixListener::bind(at("own")).expect("bound");
        let files = ["out", "kept", "link", "own"].map(at).to_vec();
        let (exports, recordings) = (vec![at("folder")], vec![dir.path().to_path_buf()]);
        let mut served = Served::new(Places { files, exports, recordings, ..Places::default() });
        let mut ask =
            |asked: Asked, path: &Path| served.answer(&[&[asked as u8], path.as_os_str().as_encoded_bytes()].concat());
        for path in ["other", "folder", "folder/deep/name", "folder/..", "folder/../other", "folder/."] {
            for asked in [Asked::New, Asked::Draft, Asked::Replacing, Asked::Remove, Asked::Folder, Asked::Marks] {
                let error = ask(asked, &at(path)).expect_err(path);
                let kinds = [ErrorKind::PermissionDenied, ErrorKind::InvalidInput];
                assert!(kinds.contains(&error.kind()), "{asked:?} {path}");
            }
        }
        // Of the folders each for what belongs there.
        let _other = std::os::unix::net::UnixListener::bind(at("topotop-socket.rec")).expect("bound");
        for (asked, path) in [
            (Asked::New, "folder/view.svg"),
            (Asked::Replacing, "folder/.hidden"),
            (Asked::New, ".bashrc"),
            (Asked::New, "topotop-a"),
            (Asked::Replacing, "topotop-a.rec"),
            (Asked::Remove, "topotop-socket.rec"),
        ] {
            assert!(ask(asked, &at(path)).is_err(), "{asked:?} {path}");
        }
        assert!(ask(Asked::Replacing, &at("folder/view.svg")).is_err(), "no folder yet");
        ask(Asked::Folder, &at("folder/view.svg")).expect("made");
        ask(Asked::Replacing, &at("folder/view.svg")).expect("a draft").1.expect("a file");
        ask(Asked::New, &at("topotop-a.rec")).expect("made").1.expect("a file");
        ask(Asked::Remove, &at("topotop-a.rec")).expect("removed");
        ask(Asked::Remove, &at("own")).expect("removed");
        // What it did not make stays, and nothing is written through a link.
        assert!(ask(Asked::Remove, &at("kept")).is_err() && ask(Asked::New, &at("kept")).is_err());
        assert!(ask(Asked::Replacing, &at("link")).is_err() && ask(Asked::New, &at("link")).is_err());
        assert_eq!(std::fs::read_to_string(at("kept")).expect("read"), "kept");
        let (number, file) = ask(Asked::Replacing, &at("out")).expect("a draft");
        std::fs::File::from(file.expect("a file")).write_all(b"new").expect("written");
        assert!(!at("out").exists());
        served.answer(&[&[Asked::Name as u8], &number[..]].concat()).expect("named");
        let mut text = String::new();
        std::fs::File::open(at("out")).expect("there").read_to_string(&mut text).expect("read");
        assert_eq!(text, "new");
        for request in
            [&[][..], &[0], &[99, b'x'], &[Asked::Name as u8], &[Asked::Drop as u8, 9, 9, 9, 9], &[Asked::New as u8]]
        {
            assert!(served.answer(request).is_err(), "{request:?}");
        }
        assert_eq!(DONE, 0);
    }
}
