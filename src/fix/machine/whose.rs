//! Whose files are written: a name can be given to another one between a check and the write, so files below a directory
//! of its own are opened through a descriptor of that directory, once it is known to be the same one.

use super::Trouble;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use topotop_model::fix::Identity;
use topotop_model::locale::fix::machine as text;

/// Opens without links of /proc that lead anywhere, where the kernel can tell (Linux 5.6).
pub(super) fn open(base: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    match rustix::fs::openat2(&base, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS) {
        // Before Linux 5.6, or behind a filter of system calls.
        Err(Errno::NOSYS) => rustix::fs::openat(&base, path, flags, Mode::empty()),
        opened => opened,
    }
}

/// The directory that a path is looked up in, and the rest of the path: that of a group, an interface or a disk among
/// `whose`, checked to be the same one.
pub(super) fn directory<'a>(path: &'a str, whose: &[Identity]) -> Result<Option<(OwnedFd, &'a Path)>, Trouble> {
    let of = |identity: &Identity| {
        let directories = directories(identity).into_iter();
        let rest = directories.filter_map(|own| Some((path_below(path, &own)?, own)));
        rest.map(|(rest, own)| (rest, own, identity.clone())).next()
    };
    // Of a group and one above it the nearer one.
    let Some((rest, own, identity)) = whose.iter().filter_map(of).min_by_key(|(rest, ..)| rest.as_os_str().len())
    else {
        return Ok(None);
    };
    let directory = open(CWD, &own, OFlags::PATH | OFlags::DIRECTORY).map_err(Trouble::errno)?;
    is_it(&directory, &identity).map_err(Trouble::because)?;
    Ok(Some((directory, rest)))
}

fn path_below<'a>(path: &'a str, directory: &Path) -> Option<&'a Path> {
    Path::new(path).strip_prefix(directory).ok().filter(|rest| !rest.as_os_str().is_empty())
}

/// Where the files of something are.
fn directories(identity: &Identity) -> Vec<PathBuf> {
    match identity {
        Identity::Cgroup { directory, .. } => vec![PathBuf::from(directory)],
        Identity::Nic { name, .. } => vec![Path::new("/sys/class/net").join(name)],
        Identity::Disk { name, .. } => {
            let name = name.replace('/', "!");
            ["/sys/block", "/sys/class/block"].map(|places| Path::new(places).join(&name)).to_vec()
        }
        Identity::Host | Identity::Process { .. } | Identity::Irq { .. } => Vec::new(),
    }
}

/// Checks that a directory belongs to what it was opened for; what it belongs to otherwise.
fn is_it(directory: &OwnedFd, identity: &Identity) -> Result<(), String> {
    match identity {
        Identity::Cgroup { directory: path, inode } => {
            let now = rustix::fs::fstat(directory).map_or(0, |stat| stat.st_ino);
            if *inode == 0 || now == *inode { Ok(()) } else { Err(text::Recreated { path }.to_string()) }
        }
        // Its index is left out where a reset may have given it another one.
        Identity::Nic { name, ifindex: 0, address } => {
            let now = attribute(directory, "address");
            let is_same = address.is_empty() || now == *address;
            if is_same { Ok(()) } else { Err(text::OtherAddress { name, now: &now, old: address }.to_string()) }
        }
        Identity::Nic { name, ifindex, .. } => {
            let now = attribute(directory, "ifindex");
            let is_same = now.parse() == Ok(*ifindex);
            if is_same { Ok(()) } else { Err(text::OtherIndex { name, now: &now, old: ifindex }.to_string()) }
        }
        Identity::Disk { name, number } => {
            let now = attribute(directory, "dev");
            if now == *number { Ok(()) } else { Err(text::OtherDisk { name, now: &now, old: number }.to_string()) }
        }
        Identity::Host | Identity::Process { .. } | Identity::Irq { .. } => Ok(()),
    }
}

/// A short file of a directory; empty where it cannot be read.
fn attribute(directory: &OwnedFd, name: &str) -> String {
    let mut bytes = [0; 64];
    let read = open(directory, Path::new(name), OFlags::RDONLY | OFlags::NOFOLLOW)
        .and_then(|file| rustix::io::read(&file, &mut bytes[..]));
    let bytes = bytes.get(..read.unwrap_or(0)).unwrap_or_default();
    topotop_model::text::from_bytes(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::directory;
    use std::path::Path;
    use topotop_model::fix::Identity;

    #[test]
    fn files_are_found_through_the_directory_of_their_owner() {
        let index: u32 =
            std::fs::read_to_string("/sys/class/net/lo/ifindex").expect("read").trim().parse().expect("one");
        let nic = |ifindex| [Identity::Nic { name: "lo".to_owned(), ifindex, address: String::new() }];
        let path = "/sys/class/net/lo/queues/rx-0/rps_cpus";
        for known in [0, index] {
            let found = directory(path, &nic(known)).expect("the same one").expect("its directory");
            assert_eq!(found.1, Path::new("queues/rx-0/rps_cpus"));
        }
        let at = [Identity::Nic { name: "lo".to_owned(), ifindex: 0, address: "02:00:00:00:00:01".to_owned() }];
        assert!(directory(path, &at).expect_err("another one").message.contains("02:00:00:00:00:01"));
        let other = directory(path, &nic(index + 1)).expect_err("another one");
        assert!(other.message.contains("a different interface"), "{other}");
        assert!(directory("/sys/class/net/lo2/mtu", &nic(index)).expect("no error").is_none());
        assert!(directory("/sys/class/net/lo", &nic(index)).expect("no error").is_none());
        let group = |directory: &str, inode| Identity::Cgroup { directory: directory.to_owned(), inode };
        let whose = [group("/sys/fs", 0), group("/sys/fs/cgroup", u64::MAX)];
        assert!(directory("/sys/fs/cgroup/x", &whose).expect_err("another one").message.contains("created again"));
        assert!(directory("/sys/fs/x", &whose).expect("no error").is_some());
    }
}
