//! Pages of a process moved in small steps: the process runs on meanwhile, and whoever asked may stop it at any of them.

use super::{Progress, Trouble};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;
use topotop_collectors::Root;
use topotop_collectors::probe::pages::{areas, bytes_by_node};
use topotop_collectors::sys::pages::{move_pages, page_nodes};
use topotop_model::Reason;
use topotop_model::fix::node_bytes;
use topotop_model::locale::Text;
use topotop_model::locale::fix::machine as text;

/// Pages of one call, and the pause behind it: what faults meanwhile waits no longer than a call takes.
const CHUNK: usize = 1024;
const PAUSE: Duration = Duration::from_millis(1);
/// Bits of /proc/PID/pagemap: present, of a file or shared, mapped by nobody else.
const PRESENT: u64 = 1 << 63;
const SHARED: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
/// Of the pages that were to be moved, so many may stay where they are without its being called partial.
const MAY_STAY: f64 = 0.05;

type Tell<'a> = &'a mut dyn FnMut(&Progress) -> ControlFlow<()>;

/// What is moved where.
struct Move<'a> {
    pid: u32,
    page: u64,
    /// Bytes that are too many on a node, and that others lack.
    surplus: BTreeMap<u32, u64>,
    lacks: BTreeMap<u32, u64>,
    /// Pages that were to be moved, that were, and that were not, by the kernel's number.
    of: u64,
    done: u64,
    failed: BTreeMap<i32, u64>,
    tell: Tell<'a>,
}

/// Moves pages until the nodes have them as `value` says: a list of nodes, or bytes by node.
pub(super) fn write(root: &Root, pid: u32, starttime: u64, value: &str, tell: Tell<'_>) -> Result<(), Trouble> {
    let now = bytes_by_node(root, pid, starttime).map_err(|reason| unread(pid, reason))?;
    let total: u64 = now.iter().map(|(_, bytes)| *bytes).sum();
    let wanted = node_bytes(value, total).ok_or_else(|| Trouble::invalid(value))?;
    let page = rustix::param::page_size() as u64;
    let (surplus, lacks) = differences(&now, &wanted);
    let of = surplus.values().sum::<u64>().min(lacks.values().sum()) / page;
    let mut job = Move { pid, page, surplus, lacks, of, done: 0, failed: BTreeMap::new(), tell };
    let areas = areas(root, pid, starttime).map_err(|reason| unread(pid, reason))?;
    // Who has its number by now is asked once more: pages of somebody else are not to be touched.
    let pages = File::open(format!("/proc/{pid}/pagemap")).ok();
    bytes_by_node(root, pid, starttime).map_err(|reason| unread(pid, reason))?;
    for (start, len) in areas {
        job.area(start, len, pages.as_ref())?;
        if job.is_done() {
            break;
        }
    }
    job.end()
}

/// What each node has too much of and lacks, in bytes.
fn differences(now: &[(u32, u64)], wanted: &[(u32, u64)]) -> (BTreeMap<u32, u64>, BTreeMap<u32, u64>) {
    let of = |list: &[(u32, u64)], node| list.iter().find(|(id, _)| *id == node).map_or(0, |(_, bytes)| *bytes);
    let nodes: std::collections::BTreeSet<u32> = now.iter().chain(wanted).map(|(node, _)| *node).collect();
    let (mut surplus, mut lacks) = (BTreeMap::new(), BTreeMap::new());
    for node in nodes {
        let (has, wants) = (of(now, node), of(wanted, node));
        if has > wants {
            surplus.insert(node, has - wants);
        } else if wants > has {
            lacks.insert(node, wants - has);
        }
    }
    (surplus, lacks)
}

impl Move<'_> {
    fn is_done(&self) -> bool {
        self.of == 0
            || self.surplus.values().all(|bytes| *bytes < self.page)
            || self.lacks.values().all(|bytes| *bytes < self.page)
    }

    /// Moves what is in a mapping.
    fn area(&mut self, start: u64, len: u64, pages: Option<&File>) -> Result<(), Trouble> {
        let mut at = start;
        let end = start.saturating_add(len);
        while at < end && !self.is_done() {
            let count = ((end - at) / self.page).min(CHUNK as u64);
            if count == 0 {
                break;
            }
            let present = self.present(at, count, pages);
            if !present.is_empty() {
                self.chunk(&present)?;
            }
            at += count * self.page;
        }
        Ok(())
    }

    /// The addresses behind `at` where there are pages that nobody else maps; all where the kernel does not tell.
    fn present(&self, at: u64, count: u64, pages: Option<&File>) -> Vec<u64> {
        let addresses = (0..count).map(|index| at + index * self.page);
        let mut words = vec![0u8; count as usize * 8];
        let Some(read) = pages.and_then(|file| file.read_at(&mut words, at / self.page * 8).ok()) else {
            return addresses.collect();
        };
        let words = words.get(..read).unwrap_or_default().chunks_exact(8);
        let movable = |word: &[u8]| {
            let word = word.try_into().map_or(0, u64::from_ne_bytes);
            word & PRESENT != 0 && (word & SHARED == 0 || word & EXCLUSIVE != 0)
        };
        addresses.zip(words).filter(|(_, word)| movable(word)).map(|(address, _)| address).collect()
    }

    fn chunk(&mut self, addresses: &[u64]) -> Result<(), Trouble> {
        let nodes = page_nodes(self.pid, addresses).map_err(|reason| unread(self.pid, reason))?;
        let mut moves = Vec::new();
        for (&address, &node) in addresses.iter().zip(&nodes) {
            let Some(from) = u32::try_from(node).ok() else { continue };
            moves.extend(self.take(from).map(|to| (address, to)));
        }
        if moves.is_empty() {
            return Ok(());
        }
        let states = move_pages(self.pid, &moves).map_err(|errno| self.refused(errno))?;
        // Of a huge page the first address moves all; the others are said to be busy.
        let checked = page_nodes(self.pid, &moves.iter().map(|(address, _)| *address).collect::<Vec<_>>());
        for (at, ((_, to), state)) in moves.iter().zip(&states).enumerate() {
            let now = checked.as_ref().ok().and_then(|nodes| nodes.get(at)).copied().unwrap_or(*state);
            if u32::try_from(now) == Ok(*to) {
                self.done += 1;
            } else if *state < 0 && *state != -Errno::NOENT.raw_os_error() {
                *self.failed.entry(-*state).or_default() += 1;
            }
        }
        if self.failed.contains_key(&Errno::NOMEM.raw_os_error()) {
            return Err(self.trouble(text::NODE_FULL));
        }
        let progress = Progress { done: self.done.min(self.of), of: self.of, unit: "pages" };
        if (self.tell)(&progress).is_break() {
            return Err(Trouble::because(self.moved(&text::STOPPED)));
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }

    /// The node that a page of another one goes to, if that one has too many.
    fn take(&mut self, from: u32) -> Option<u32> {
        let page = self.page;
        let over = self.surplus.get_mut(&from).filter(|bytes| **bytes >= page)?;
        let (to, lacks) = self.lacks.iter_mut().find(|(_, bytes)| **bytes >= page)?;
        *over -= page;
        *lacks -= page;
        Some(*to)
    }

    fn refused(&self, errno: Errno) -> Trouble {
        if errno == Errno::SRCH {
            return Trouble::ended(text::ProcessExited { pid: &self.pid });
        }
        let plain = Trouble::errno(errno);
        let message = self.moved(&plain.message);
        Trouble { message, ..plain }
    }

    /// Why it ended, and how far it came.
    fn moved(&self, why: &dyn std::fmt::Display) -> String {
        text::PagesMoved { why, done: &self.done, total: &self.of }.to_string()
    }

    fn trouble(&self, why: Text) -> Trouble {
        let words = |(number, count): (&i32, &u64)| {
            format!("{count}: {}", Trouble::errno(Errno::from_raw_os_error(*number)).message)
        };
        let failed: Vec<String> = self.failed.iter().map(words).collect();
        let errno = self.failed.iter().max_by_key(|(_, count)| **count).map(|(number, _)| *number);
        let message = format!("{}; {}", self.moved(&why), failed.join(", "));
        Trouble { errno, message }
    }

    /// Partial where more than a few stayed where they were.
    fn end(&self) -> Result<(), Trouble> {
        let stayed: u64 = self.failed.values().sum();
        if stayed as f64 > MAY_STAY * self.of as f64 {
            return Err(self.trouble(text::SOME_STAYED));
        }
        Ok(())
    }
}

fn unread(pid: u32, reason: Reason) -> Trouble {
    match reason {
        Reason::NotFound | Reason::Vanished => Trouble::ended(text::ProcessExited { pid: &pid }),
        Reason::PermissionDenied => Trouble {
            errno: Some(Errno::PERM.raw_os_error()),
            message: text::PagesUnread { pid: &pid, why: &reason.text() }.to_string(),
        },
        reason => Trouble::because(text::PagesUnread { pid: &pid, why: &reason.text() }.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn pages_go_where_they_are_lacked() {
        let (surplus, lacks) = differences(&[(0, 10), (3, 90)], &[(0, 100)]);
        assert_eq!(
            (surplus.into_iter().collect::<Vec<_>>(), lacks.into_iter().collect::<Vec<_>>()),
            (vec![(3, 90)], vec![(0, 90)])
        );
        let (surplus, lacks) = differences(&[(0, 100)], &[(0, 10), (3, 90)]);
        assert_eq!((surplus.get(&0), lacks.get(&3)), (Some(&90), Some(&90)));
    }
}
