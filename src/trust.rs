//! Files that steer the program: read within bounds, and believed only where nobody else could have written them.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use topotop_collectors::state::words;
use topotop_model::locale::trust as text;

/// The largest configuration or theme.
const MOST_BYTES: u64 = 1 << 20;
/// The largest list of users or groups that is searched.
const MOST_USERS: u64 = 16 << 20;

/// A text and the file that it was read from.
#[derive(Debug)]
pub(crate) struct Steering {
    /// What it says.
    pub(crate) text: String,
    file: File,
    facts: Metadata,
}

/// Reads a file without waiting for it; one that is not regular, is too long or is not text is an error.
pub(crate) fn read(path: &Path) -> io::Result<Steering> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = file.metadata()?;
    let wrong = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
    if facts.file_type().is_char_device() && facts.rdev() == rustix::fs::makedev(1, 3) {
        // /dev/null is an empty file to whoever names it.
        return Ok(Steering { text: String::new(), file, facts });
    }
    if !facts.is_file() {
        return Err(wrong(text::NOT_REGULAR.to_string()));
    }
    let mut bytes = Vec::new();
    (&file).take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong(text::TooLong { most: &(MOST_BYTES >> 20) }.to_string()));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong(text::NOT_TEXT.to_string()))?;
    Ok(Steering { text, file, facts })
}

impl Steering {
    /// Why the file itself may be somebody else's word; none where only this user or root could have written it.
    pub(crate) fn foreign(&self) -> Option<String> {
        if self.facts.file_type().is_char_device() { None } else { foreign(&self.facts, &self.opened()) }
    }

    /// The file that was read, whatever has its name now.
    fn opened(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&self.file)))
    }

    /// True for what should be a secret and is none.
    pub(crate) fn is_readable_by_all(&self) -> bool {
        self.facts.mode() & 0o004 != 0
    }

    /// The same, and of every folder above it up to the home: whoever may write to one can put another file there.
    pub(crate) fn foreign_place(&self, path: &Path) -> Option<String> {
        if let Some(why) = self.foreign() {
            return Some(why);
        }
        let home = std::env::var_os("HOME").map(PathBuf::from);
        // Where links lead, and where they are.
        let real = std::fs::read_link(self.opened()).ok();
        [Some(path), real.as_deref()].into_iter().flatten().find_map(|path| {
            let up_to_home = path.ancestors().skip(1).scan(false, |past, folder| {
                (!std::mem::replace(past, home.as_deref() == Some(folder))).then_some(folder)
            });
            up_to_home.filter(|folder| !folder.as_os_str().is_empty()).find_map(|folder| {
                let why = match std::fs::metadata(folder) {
                    Ok(facts) => foreign(&facts, folder)?,
                    Err(error) => error.to_string(),
                };
                Some(text::Folder { folder: &folder.display(), why: &why }.to_string())
            })
        })
    }
}

/// Why a file or folder may be changed by others than this user and root.
fn foreign(facts: &Metadata, path: &Path) -> Option<String> {
    let own = rustix::process::geteuid().as_raw();
    if facts.uid() != own && facts.uid() != 0 {
        return Some(text::Owner { owner: &facts.uid(), user: &own }.to_string());
    }
    // Where the sticky bit is set, others cannot replace what is not theirs.
    let sticky = facts.is_dir() && facts.mode() & 0o1000 != 0;
    let by_group = facts.mode() & 0o020 != 0 && (has_acl(path) || !is_private(facts.uid(), facts.gid()));
    (!sticky && (facts.mode() & 0o002 != 0 || by_group)).then(|| text::WRITABLE.to_string())
}

/// True where users and groups are named that may do what the bits of the group say (acl(5)).
fn has_acl(path: &Path) -> bool {
    // Whether there is one: it is longer than this.
    let mut nothing = [0_u8; 1];
    match rustix::fs::getxattr(path, "system.posix_acl_access", &mut nothing) {
        Ok(len) => len > 0,
        Err(errno) => !matches!(errno, Errno::NODATA | Errno::NOTSUP),
    }
}

/// True for a group that only its user is in, as many systems make for each user.
fn is_private(user: u32, group: u32) -> bool {
    let (Some(users), Some(groups)) = (list("/etc/passwd"), list("/etc/group")) else { return false };
    private_in(&users, &groups, user, group)
}

fn list(path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MOST_USERS).read_to_string(&mut text).ok()?;
    Some(text)
}

fn private_in(users: &str, groups: &str, user: u32, group: u32) -> bool {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let is = |field: Option<&String>, number: u32| field.and_then(|text| text.parse().ok()) == Some(number);
    let mut in_it = users.lines().map(fields).filter(|user| is(user.get(3), group));
    let (Some(only), None) = (in_it.next(), in_it.next()) else { return false };
    let mut named = groups.lines().map(fields).filter(|line| is(line.get(2), group));
    let (Some(line), None) = (named.next(), named.next()) else { return false };
    let members = line.get(3).map_or("", String::as_str);
    is(only.get(2), user)
        && members.split(',').all(|member| member.is_empty() || Some(member) == only.first().map(String::as_str))
}

/// What went wrong, without the number of the error.
pub(crate) fn said(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), |raw| words(rustix::io::Errno::from_raw_os_error(raw)))
}

#[cfg(test)]
mod tests {
    use super::{private_in, read};
    use rustix::fs::{CWD, FileType, Mode};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn only_regular_files_within_bounds_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).expect("made");
        let long = dir.path().join("long");
        std::fs::write(&long, vec![b'#'; (1 << 20) + 1]).expect("written");
        let binary = dir.path().join("binary");
        std::fs::write(&binary, [0xff, 0xfe]).expect("written");
        for (path, why) in [
            (fifo.as_path(), "not a regular file"),
            (dir.path(), "not a regular file"),
            ("/dev/zero".as_ref(), "not a regular file"),
            (&long, "longer than 1 MiB"),
            (&binary, "not UTF-8"),
        ] {
            let error = read(path).expect_err("refused").to_string();
            assert!(error.contains(why), "{}: {error}", path.display());
        }
        assert_eq!(read("/dev/null".as_ref()).expect("empty").text, "");
    }

    #[test]
    fn whoever_an_acl_names_may_write() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "").expect("written");
        // posix_acl_xattr.h: version 2; owner, user 65534, group, mask, others; tag, permissions, number.
        let entries = [(1, 6, u32::MAX), (2, 6, 65_534), (4, 4, u32::MAX), (0x10, 6, u32::MAX), (0x20, 0, u32::MAX)];
        let entry = |(tag, rights, number): (u16, u16, u32)| {
            [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &number.to_le_bytes()].concat()
        };
        let acl = [&2_u32.to_le_bytes()[..], &entries.map(entry).concat()].concat();
        let set = rustix::fs::setxattr(&path, "system.posix_acl_access", &acl, rustix::fs::XattrFlags::empty());
        if set.is_err() {
            return;
        }
        assert!(read(&path).expect("read").foreign().is_some_and(|why| why.contains("writable by others")));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("set");
        assert_eq!(read(&path).expect("read").foreign(), None, "the mask takes it back");
    }

    #[test]
    fn folders_above_count() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "").expect("written");
        let place = || read(&path).expect("read").foreign_place(&path);
        assert_eq!(place(), None);
        for mode in [0o777, 0o775] {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).expect("set");
            let refused = place();
            // The group of whoever runs this may be private.
            assert!(mode == 0o775 || refused.is_some_and(|why| why.contains("writable by others")));
        }
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o1777)).expect("set");
        assert_eq!(place(), None, "nobody else can replace it");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).expect("set");
        assert!(read(&path).expect("read").foreign().is_some());
    }

    #[test]
    fn a_private_group_is_its_users_own() {
        let users = "root:x:0:0::/:/bin/sh\nanna:x:1000:1000::/:/bin/sh\nbob:x:1001:100::/:/bin/sh\neve:x:1002:100::/:/bin/sh\n";
        let groups = "root:x:0:\nanna:x:1000:\nusers:x:100:\n";
        assert!(private_in(users, groups, 1000, 1000));
        assert!(private_in(users, "anna:x:1000:anna\n", 1000, 1000));
        assert!(!private_in(users, "anna:x:1000:anna,eve\n", 1000, 1000));
        assert!(!private_in(users, groups, 1001, 100), "two users");
        assert!(!private_in(users, groups, 1001, 1000), "somebody else's");
        assert!(!private_in(users, "", 1000, 1000));
    }
}
