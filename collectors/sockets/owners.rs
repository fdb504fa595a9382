//! Which process has which socket: the links of its descriptors, within a CPU budget.

use super::peers::Process;
use crate::Root;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{HashMap, HashSet};
use topotop_model::Reason;

/// Descriptors of one process that are read, at most.
const MOST_LINKS: usize = 16_384;
/// Descriptors are read again after this time, of processes that use CPU and of others, in ns.
const BUSY_NS: u64 = 8_000_000_000;
const CALM_NS: u64 = 60_000_000_000;
/// The part of the sockets that is new from which on they count as short-lived.
const FLEETING: usize = 4;

/// A process whose descriptors may be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) process: Process,
    /// What it used of CPUs since the last round, in ticks.
    pub(super) ticks: u64,
}

/// What is known of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Owner {
    pub(super) netns: Option<u64>,
    pub(super) inodes: Vec<u64>,
    pub(super) listed: Option<Result<(), Reason>>,
    /// When its descriptors were first and last listed.
    pub(super) since_ns: u64,
    at_ns: u64,
    /// True while many of its sockets are others than at the reading before: those of short connections, which have to be
    /// listed right before connections are.
    fleeting: bool,
    seen: bool,
}

/// Everybody.
#[derive(Debug, Default)]
pub(super) struct Owners {
    known: HashMap<Process, Owner>,
    /// True while a process has more descriptors than are read.
    pub(super) cut: bool,
}

impl Owners {
    /// Reads descriptors until `purse_ns` of CPU time are spent: new processes first, then the busiest.
    pub(super) fn look(&mut self, root: &Root, targets: &[Target], now_ns: u64, purse_ns: u64) {
        for owner in self.known.values_mut() {
            owner.seen = false;
        }
        let mut todo: Vec<(bool, u64, Process)> = Vec::new();
        for target in targets {
            let owner = self.known.entry(target.process).or_default();
            owner.seen = true;
            let after = match target.ticks {
                0 => CALM_NS,
                _ if owner.fleeting => 0,
                _ => BUSY_NS,
            };
            if owner.listed.is_none() || now_ns.saturating_sub(owner.at_ns) >= after {
                todo.push((owner.listed.is_some(), u64::MAX - target.ticks, target.process));
            }
        }
        self.known.retain(|_, owner| owner.seen);
        todo.sort_unstable();
        let begun = cpu_ns();
        self.cut = false;
        for (_, _, process) in todo {
            if cpu_ns().saturating_sub(begun) > purse_ns {
                break;
            }
            let Some(owner) = self.known.get_mut(&process) else { continue };
            let listed = list(root, process.0, owner);
            if owner.listed.is_none() {
                owner.since_ns = now_ns;
            }
            self.cut |= owner.inodes.len() >= MOST_LINKS;
            (owner.listed, owner.at_ns) = (Some(listed), now_ns);
        }
    }

    /// Every process that was read.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Process, &Owner)> {
        self.known.iter().filter(|(_, owner)| owner.listed.is_some()).map(|(process, owner)| (*process, owner))
    }

    /// True if a process is still there.
    pub(super) fn has(&self, process: Process) -> bool {
        self.known.contains_key(&process)
    }

    /// How many were never read.
    pub(super) fn unseen(&self) -> usize {
        self.known.values().filter(|owner| owner.listed.is_none()).count()
    }
}

fn list(root: &Root, pid: u32, owner: &mut Owner) -> Result<(), Reason> {
    let before: HashSet<u64> = owner.inodes.drain(..).collect();
    // Like a link of its own: `net:[4026531840]`.
    let netns = root.link(format!("proc/{pid}/ns/net")).ok();
    owner.netns = netns.and_then(|link| inode(link.to_str()?, "net:["));
    let listed = root.links_of(pid, MOST_LINKS, |_, link| {
        owner.inodes.extend(inode(link, "socket:["));
        link.starts_with("socket:[")
    });
    let fresh = owner.inodes.iter().filter(|inode| !before.contains(*inode)).count();
    owner.fleeting = fresh * FLEETING > owner.inodes.len();
    listed
}

/// `socket:[12345]`
pub(crate) fn inode(link: &str, kind: &str) -> Option<u64> {
    crate::parse::number(link.strip_prefix(kind)?.strip_suffix(']')?.as_bytes())
}

/// CPU time of this thread.
pub(crate) fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::{Owners, Target, inode};
    use crate::Root;
    use std::os::unix::fs::symlink;
    use topotop_model::Reason;

    #[test]
    fn links_are_sockets_or_not() {
        assert_eq!(inode("socket:[12345]", "socket:["), Some(12345));
        for other in ["socket:[", "socket:[]", "socket:[1x]", "/socket:[1]", "pipe:[7]", "anon_inode:[eventpoll]"] {
            assert_eq!(inode(other, "socket:["), None, "{other}");
        }
    }

    #[test]
    fn descriptors_are_looked_at_once_in_a_while() {
        let dir = tempfile::tempdir().expect("a directory");
        let fd = dir.path().join("proc/7/fd");
        std::fs::create_dir_all(&fd).expect("made");
        std::fs::create_dir_all(dir.path().join("proc/7/ns")).expect("made");
        symlink("socket:[55]", fd.join("3")).expect("linked");
        symlink("/dev/null", fd.join("4")).expect("linked");
        symlink("net:[9]", dir.path().join("proc/7/ns/net")).expect("linked");
        let root = Root::at(dir.path()).expect("a root");
        let mut owners = Owners::default();
        let targets = [7, 8].map(|pid| Target { process: (pid, 1), ticks: 0 });
        owners.look(&root, &targets, 1, u64::MAX);
        let of = |owners: &Owners, pid: u32| {
            owners.iter().find(|(process, _)| process.0 == pid).map(|(_, owner)| owner.clone())
        };
        let owner = of(&owners, 7).expect("looked at");
        assert_eq!((owner.netns, owner.inodes.as_slice(), owner.listed), (Some(9), &[55][..], Some(Ok(()))));
        assert_eq!(of(&owners, 8).and_then(|owner| owner.listed), Some(Err(Reason::NotFound)));
        symlink("socket:[56]", fd.join("5")).expect("linked");
        owners.look(&root, &targets, 2, u64::MAX);
        assert_eq!(of(&owners, 7).expect("known").inodes, [55]);
        let busy = [Target { process: (7, 1), ticks: 9 }];
        owners.look(&root, &busy, 3, u64::MAX);
        assert_eq!(of(&owners, 7).expect("known").inodes.len(), 2, "of one that works what was new is looked at again");
        owners.look(&root, &busy, 4, u64::MAX);
        std::fs::remove_file(fd.join("5")).expect("removed");
        symlink("socket:[57]", fd.join("5")).expect("linked");
        owners.look(&root, &busy, 5, u64::MAX);
        assert_eq!(of(&owners, 7).expect("known").inodes.len(), 2);
        owners.look(&root, &busy, 10_000_000_000, u64::MAX);
        let mut inodes = of(&owners, 7).expect("known").inodes;
        inodes.sort_unstable();
        assert_eq!((inodes.as_slice(), owners.has((8, 1))), (&[55, 57][..], false));
    }
}
