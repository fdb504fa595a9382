//! From the paths that were asked for to the entries that make up a tree in which they are found again.

use crate::Root;
use crate::root::Use;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The most links on the way to one file, as in the kernel.
const MOST_LINKS: usize = 40;

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A directory.
    Directory,
    /// A link and its target.
    Link(PathBuf),
    /// A file that was read, and the path that it was read by.
    File(PathBuf),
    /// A file of which only the name was seen in a listing.
    Named,
    /// A file that is not read again, with what it had in it.
    Bytes(Vec<u8>),
}

/// The entries by path.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) entries: BTreeMap<PathBuf, What>,
    /// Paths that were there and are gone.
    pub(super) lost: u64,
}

impl Plan {
    pub(super) fn new(root: &Root, trace: &BTreeMap<PathBuf, Use>) -> Self {
        let mut plan = Self::default();
        for (path, used) in trace {
            let found = match used {
                Use::Absent => continue,
                Use::Directory => plan.directory(root, path, trace),
                Use::File => plan.place(root, path, true).map(|place| {
                    plan.entries.insert(place, What::File(path.clone()));
                }),
                Use::Link => plan.link(root, path),
            };
            plan.lost += u64::from(found.is_none());
        }
        for (path, bytes) in root.contents() {
            plan.lost += u64::from(plan.bytes(&path, bytes).is_none());
        }
        plan
    }

    /// A file that is not looked for again, below directories of the names that it was found by.
    fn bytes(&mut self, path: &Path, bytes: Vec<u8>) -> Option<()> {
        let above: Vec<&Path> = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        for directory in above.into_iter().rev() {
            let entry = self.entries.entry(directory.to_path_buf()).or_insert(What::Directory);
            // What was a link to a process's root or only a name is a directory now.
            if *entry != What::Directory && (is_door(directory) || *entry == What::Named) {
                *entry = What::Directory;
            }
            (*entry == What::Directory).then_some(())?;
        }
        self.entries.insert(path.to_path_buf(), What::Bytes(bytes));
        Some(())
    }

    /// A directory with the names that are in it; files of which nothing is known but the name are empty ones.
    fn directory(&mut self, root: &Root, path: &Path, trace: &BTreeMap<PathBuf, Use>) -> Option<()> {
        let place = self.place(root, path, true)?;
        self.entries.entry(place.clone()).or_insert(What::Directory);
        for name in root.list(path).ok()? {
            let (asked, child) = (path.join(&name), place.join(&name));
            // What could not be read is better not there than empty.
            if self.entries.contains_key(&child) || trace.get(&asked) == Some(&Use::Absent) {
                continue;
            }
            let what = match root.kind(&asked) {
                Ok(FileType::Directory) => What::Directory,
                Ok(FileType::Symlink) => What::Link(root.link(&asked).ok()?),
                Ok(_) => What::Named,
                Err(_) => continue,
            };
            self.entries.insert(child, what);
        }
        Some(())
    }

    /// A path that was used as a link, and where it leads.
    fn link(&mut self, root: &Root, path: &Path) -> Option<()> {
        self.place(root, path, false)?;
        // It may lead nowhere, as the links of namespaces do.
        if let Some(place) = self.place(root, path, true) {
            let what = match root.kind(&place) {
                Ok(FileType::Directory) => What::Directory,
                _ => What::Named,
            };
            self.entries.entry(place).or_insert(what);
        }
        Some(())
    }

    /// Puts the directories and links on the way to a path into the tree and says where it really is.
    fn place(&mut self, root: &Root, path: &Path, follow: bool) -> Option<PathBuf> {
        let mut todo: Vec<OsString> = parts(path).rev().collect();
        let mut place = PathBuf::new();
        let mut links = 0;
        while let Some(name) = todo.pop() {
            if name.as_bytes() == b".." {
                place.pop();
                continue;
            }
            let next = place.join(&name);
            match self.entries.get(&next) {
                Some(What::Directory) => {
                    place = next;
                    continue;
                }
                Some(What::File(_)) if todo.is_empty() => return Some(next),
                _ => {}
            }
            match root.kind(&next).ok()? {
                FileType::Symlink if is_door(&next) && !todo.is_empty() => {
                    self.entries.insert(next.clone(), What::Directory);
                    place = next;
                }
                FileType::Symlink => {
                    links += 1;
                    let target = root.link(&next).ok().filter(|_| links <= MOST_LINKS)?;
                    self.entries.insert(next.clone(), What::Link(target.clone()));
                    if todo.is_empty() && !follow {
                        return Some(next);
                    }
                    if target.is_absolute() {
                        place = PathBuf::new();
                    }
                    let steps: Vec<OsString> = parts(&target).collect();
                    todo.extend(steps.into_iter().rev());
                }
                FileType::Directory => {
                    self.entries.insert(next.clone(), What::Directory);
                    place = next;
                }
                _ => return todo.is_empty().then_some(next),
            }
        }
        Some(place)
    }
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

/// True for `proc/PID/root` and `proc/PID/cwd`: they lead into other mount namespaces, where the same path is another
/// file. In the tree they are directories.
fn is_door(path: &Path) -> bool {
    let mut parts = path.iter();
    let last = parts.next_back();
    parts.next() == Some(OsStr::new("proc")) && matches!(last.and_then(OsStr::to_str), Some("root" | "cwd"))
}
