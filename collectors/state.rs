//! Where the program keeps what must outlive it: the journal of fixes.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use topotop_model::journal::{END_LENGTH, End, Journal, fold, fold_to, is_relinked};
use topotop_model::locale::{journal as text, pair, trust};

/// The journal in its directory.
pub const JOURNAL: &str = "fixes.journal";

/// How far it went, in the same directory.
pub const JOURNAL_END: &str = "fixes.journal.end";

/// The one before the last rotation, in the same directory.
pub const JOURNAL_OLD: &str = "fixes.journal.old";

/// How often a journal is read again that is being replaced by a shorter one meanwhile.
const TRIES: usize = 4;

/// Where root keeps it.
pub const OF_ROOT: &str = "/var/lib/topotop";

/// A journal that is longer is not read: fixes are too few to fill it.
const MAX_BYTES: u64 = 256 << 20;

/// The directory that was given, or the usual one: `/var/lib/topotop` as root, `$XDG_STATE_HOME/topotop` otherwise.
/// None for a user without a home.
pub fn directory(asked: Option<&Path>) -> Option<PathBuf> {
    if let Some(asked) = asked {
        return Some(asked.to_path_buf());
    }
    if rustix::process::geteuid().is_root() {
        return Some(PathBuf::from(OF_ROOT));
    }
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = path("XDG_STATE_HOME").or_else(|| path("HOME").map(|home| home.join(".local/state")))?;
    Some(base.join("topotop"))
}

/// All of a journal; empty where there is none. No link is followed, and no other user's file is trusted.
pub fn journal(directory: &Path) -> Result<Vec<u8>, String> {
    named(directory, JOURNAL)
}

fn named(directory: &Path, name: &str) -> Result<Vec<u8>, String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let path = directory.join(name);
    let fd = match rustix::fs::open(&path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(Errno::LOOP) => return Err(pair(path.display(), text::LINK)),
        opened => opened.map_err(|errno| pair(path.display(), words(errno)))?,
    };
    read(fd, &path)
}

/// How far the journal of a directory went when it was last written; none where nothing believable says so.
pub fn journal_end(directory: &Path) -> Option<End> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::File::from(rustix::fs::open(directory.join(JOURNAL_END), flags, Mode::empty()).ok()?);
    is_own(&file.metadata().ok()?).ok()?;
    let mut bytes = Vec::new();
    file.take(END_LENGTH as u64 + 1).read_to_end(&mut bytes).ok()?;
    End::decode(&bytes)
}

/// The entries of a journal in its directory, which went up to an end. An earlier version that shortened it left the note
/// of that, and the journal before beside it.
pub fn folded_to(directory: &Path, bytes: &[u8], end: Option<End>) -> Journal {
    let read = fold_to(bytes, end);
    let Some(end) = read.cut else { return read };
    let old = named(directory, JOURNAL_OLD).unwrap_or_default();
    if is_relinked(bytes, &old, end) { fold(bytes) } else { read }
}

/// The entries of a journal, whoever writes to it meanwhile; empty where there is none.
pub fn folded(directory: &Path) -> Result<Journal, String> {
    // The end first: what is added to the journal after it does no harm.
    let mut end = journal_end(directory);
    for _ in 0..TRIES {
        let read = folded_to(directory, &journal(directory)?, end);
        let now = if read.cut.is_some() { journal_end(directory) } else { end };
        if now == end {
            return Ok(read);
        }
        end = now;
    }
    Ok(fold_to(&journal(directory)?, None))
}

/// Of a journal that is open already.
pub fn read(fd: OwnedFd, path: &Path) -> Result<Vec<u8>, String> {
    let file = std::fs::File::from(fd);
    let wrong = |what: &str| pair(path.display(), what);
    let facts = file.metadata().map_err(|error| wrong(&error.to_string()))?;
    is_own(&facts).map_err(|what| wrong(&what))?;
    if facts.len() > MAX_BYTES {
        return Err(wrong(text::TOO_LARGE.as_str()));
    }
    let mut bytes = Vec::with_capacity(facts.len() as usize);
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
    Ok(bytes)
}

/// A regular file of this user or root that no other user can write.
fn is_own(facts: &std::fs::Metadata) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    match () {
        () if !facts.is_file() => Err(trust::NOT_REGULAR.into()),
        () if facts.uid() != own && facts.uid() != 0 => {
            Err(text::Owner { owner: &facts.uid(), user: &own }.to_string())
        }
        () if facts.mode() & 0o022 != 0 => Err(text::WRITABLE.into()),
        () => Ok(()),
    }
}

/// What an error number means, without the number.
pub fn words(errno: Errno) -> String {
    let said = std::io::Error::from(errno).to_string();
    said.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{JOURNAL, directory, journal};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::Path;

    #[test]
    fn only_an_own_file_is_a_journal() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(journal(dir.path()), Ok(Vec::new()), "none yet");
        assert_eq!(journal(&dir.path().join("none")), Ok(Vec::new()));
        let path = dir.path().join(JOURNAL);
        std::fs::write(dir.path().join("other"), "x\n").expect("written");
        symlink("other", &path).expect("linked");
        assert!(journal(dir.path()).is_err_and(|error| error.contains("a link")));
        std::fs::remove_file(&path).expect("removed");
        std::fs::write(&path, "x\n").expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("set");
        assert_eq!(journal(dir.path()), Ok(b"x\n".to_vec()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o622)).expect("set");
        assert!(journal(dir.path()).is_err_and(|error| error.contains("writable by other users")));
        std::fs::remove_file(&path).expect("removed");
        std::fs::create_dir(&path).expect("made");
        assert!(journal(dir.path()).is_err());
        let no_directory = dir.path().join("other");
        assert!(
            journal(&no_directory).is_err_and(|error| error.ends_with("Not a directory")),
            "an empty one otherwise"
        );
    }

    #[test]
    fn a_directory_that_was_asked_for_is_taken() {
        assert_eq!(directory(Some(Path::new("/x"))).as_deref(), Some(Path::new("/x")));
    }
}
