//! The worker's side: asks for the memory of one process. Everything in here may wait for the target's mmap_lock.

use super::numa_maps::{self, PageSizes};
use super::sample::{Random, Subject, estimate};
use super::vmas::{self, MemoryFs, Vma};
use super::{Found, SMALL};
use crate::clock::monotonic_ns;
use crate::live::Live;
use crate::parse::{fields, lines, number};
use crate::processes::{own_pid_namespace, stat};
use crate::{Root, root::Kept};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::sync::Arc;
use topotop_model::Reason;

/// Mappings that are remembered over all processes.
const MOST_VMAS: usize = 100_000;

/// A process to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Its pid.
    pub(super) pid: u32,
    /// When it started.
    pub(super) starttime: u64,
    /// The query.
    pub(super) what: What,
}

/// How much is read of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The policy alone: the control group has the rest.
    Policy,
    /// As much as is cheap.
    Cheap,
    /// Every page's place whatever it costs.
    Exact,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Answer {
    /// The process that was queried.
    pub(super) target: Target,
    /// CLOCK_MONOTONIC of the query.
    pub(super) at_ns: u64,
    /// CPU time that asking took.
    pub(super) cpu_ns: u64,
    /// Time that asking took.
    pub(super) wall_ns: u64,
    /// `sampled` or `numa_maps`.
    pub(super) source: &'static str,
    /// Where its memory is, or which file failed and why.
    pub(super) found: Result<Found, (&'static str, Reason)>,
}

/// Asks, and remembers mappings between times.
#[derive(Debug)]
pub(super) struct Asker {
    root: Arc<Root>,
    live: Arc<dyn Live>,
    vmas: HashMap<(u32, u64), (u64, Vec<Vma>)>,
    memory_fs: Option<MemoryFs>,
    sizes: Option<PageSizes>,
    random: Random,
    buf: Vec<u8>,
}

const NUMA_MAPS: &str = "proc/*/numa_maps";
const MAPS: &str = "proc/*/maps";
const MOVE_PAGES: &str = "move_pages";
const STAT: &str = "proc/*/stat";

impl Asker {
    pub(super) fn new(root: Arc<Root>, live: Arc<dyn Live>) -> Self {
        let random = Random(monotonic_ns());
        Self { root, live, vmas: HashMap::new(), memory_fs: None, sizes: None, random, buf: Vec::new() }
    }

    pub(super) fn ask(&mut self, target: Target) -> Answer {
        let (at_ns, started, cpu_ns) = (self.root.monotonic_ns(), monotonic_ns(), thread_ns());
        let (source, found) = self.climb(target);
        Answer {
            target,
            at_ns,
            cpu_ns: thread_ns().saturating_sub(cpu_ns),
            wall_ns: monotonic_ns().saturating_sub(started),
            source,
            found,
        }
    }

    /// The slower ways: a sample of pages, or every page where that is cheap or requested.
    fn climb(&mut self, target: Target) -> (&'static str, Result<Found, (&'static str, Reason)>) {
        if !self.root.is_live() {
            return ("numa_maps", self.numa_maps(target));
        }
        if target.what == What::Policy {
            return ("policy", self.policy_alone(target));
        }
        let (rss_bytes, vsize) = match self.size(target) {
            Ok(size) => size,
            Err(reason) => return ("sampled", Err((STAT, reason))),
        };
        let can_sample = own_pid_namespace(&self.root);
        if target.what == What::Exact || rss_bytes < SMALL || !can_sample {
            let found = self.numa_maps(target);
            if !can_sample || found != Err((NUMA_MAPS, Reason::NotFound)) {
                return ("numa_maps", found);
            }
        }
        ("sampled", self.sampled(target, rss_bytes, vsize))
    }

    /// Resident and virtual bytes; gone when the pid is another process's by now.
    fn size(&mut self, target: Target) -> Result<(u64, u64), Reason> {
        self.open(target, "stat")?.read_once(&mut self.buf, 2048)?;
        let stat = stat::parse(&self.buf).ok_or(Reason::Malformed)?;
        if stat.starttime != target.starttime {
            return Err(Reason::Vanished);
        }
        Ok((stat.rss_pages.saturating_mul(self.page_bytes()), stat.vsize))
    }

    fn open(&self, target: Target, name: &str) -> Result<Kept, Reason> {
        match self.root.open(format!("proc/{}/{name}", target.pid)) {
            // Gone, or a file that this kernel lacks.
            Err(Reason::NotFound) if self.root.is_live() && !self.root.exists(format!("proc/{}", target.pid)) => {
                Err(Reason::Vanished)
            }
            opened => opened,
        }
    }

    fn page_bytes(&self) -> u64 {
        if self.root.is_live() { rustix::param::page_size() as u64 } else { 4096 }
    }

    fn numa_maps(&mut self, target: Target) -> Result<Found, (&'static str, Reason)> {
        let sizes = self.sizes();
        let read = self.open(target, "numa_maps").and_then(|file| file.read(&mut self.buf));
        read.map_err(|reason| (NUMA_MAPS, reason))?;
        if self.buf.is_empty() {
            return Err((NUMA_MAPS, Reason::Vanished));
        }
        numa_maps::parse(&self.buf, sizes).ok_or((NUMA_MAPS, Reason::Malformed))
    }

    fn sampled(&mut self, target: Target, rss_bytes: u64, vsize: u64) -> Result<Found, (&'static str, Reason)> {
        self.load_vmas(target, vsize).map_err(|reason| (MAPS, reason))?;
        let vmas = self.vmas.get(&(target.pid, target.starttime)).map_or(&[][..], |entry| &entry.1);
        let subject = Subject { vmas, rss_bytes, page_bytes: self.page_bytes() };
        let live = &self.live;
        let found = estimate(subject, &mut self.random, |addresses| live.page_nodes(target.pid, addresses));
        match found {
            Ok(Some(found)) => Ok(Found { policy: self.policy(target), ..found }),
            Ok(None) => Err((MOVE_PAGES, Reason::NotSupported)),
            Err(reason) => Err((MOVE_PAGES, reason)),
        }
    }

    fn policy_alone(&mut self, target: Target) -> Result<Found, (&'static str, Reason)> {
        let (_, vsize) = self.size(target).map_err(|reason| (STAT, reason))?;
        self.load_vmas(target, vsize).map_err(|reason| (MAPS, reason))?;
        Ok(Found { policy: self.policy(target), ..Found::default() })
    }

    /// The policy that stands at the start of `numa_maps`. The kernel walks the pages of those mappings only that it
    /// prints, and it prints no more than a reader has room for: a short read is cheap where the first mappings are
    /// small.
    fn policy(&mut self, target: Target) -> Option<String> {
        let vmas = &self.vmas.get(&(target.pid, target.starttime))?.1;
        let span = |count: usize| vmas.iter().take(count).fold(0u64, |sum, vma| sum.saturating_add(vma.len));
        let reads = [(40, span(2)), (160, span(8))];
        let file = self.open(target, "numa_maps").ok()?;
        for (most, span) in reads {
            if span > SMALL || file.read_once(&mut self.buf, most).is_err() {
                return None;
            }
            let policy = numa_maps::first_policy(&self.buf);
            if policy.is_some() {
                return policy;
            }
        }
        None
    }

    /// Reads the mappings unless the virtual size shows that they are those of last time.
    fn load_vmas(&mut self, target: Target, vsize: u64) -> Result<(), Reason> {
        let key = (target.pid, target.starttime);
        if self.vmas.get(&key).is_some_and(|entry| entry.0 == vsize) {
            return Ok(());
        }
        if self.memory_fs.is_none() {
            let read = self.root.read("proc/self/mountinfo", &mut self.buf);
            self.memory_fs = Some(read.map_or_else(|_| MemoryFs::default(), |()| MemoryFs::parse(&self.buf)));
        }
        self.open(target, "maps")?.read(&mut self.buf)?;
        let memory_fs = self.memory_fs.get_or_insert_default();
        let vmas = vmas::parse(&self.buf, memory_fs).ok_or(Reason::Malformed)?;
        if self.vmas.values().map(|entry| entry.1.len()).sum::<usize>() + vmas.len() > MOST_VMAS {
            self.vmas.clear();
        }
        self.vmas.insert(key, (vsize, vmas));
        Ok(())
    }

    fn sizes(&mut self) -> PageSizes {
        if let Some(sizes) = self.sizes {
            return sizes;
        }
        let read = self.root.read("proc/meminfo", &mut self.buf);
        let huge = read.ok().and_then(|()| huge_page(&self.buf)).unwrap_or(2 << 20);
        *self.sizes.insert(PageSizes { base: self.page_bytes(), huge })
    }
}

/// `Hugepagesize` of meminfo in bytes.
pub(super) fn huge_page(bytes: &[u8]) -> Option<u64> {
    let row = lines(bytes).find_map(|line| line.strip_prefix(b"Hugepagesize:"))?;
    number(fields(row).next()?)?.checked_mul(1024)
}

fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::{Asker, Target, What};
    use crate::live::Kernel;
    use crate::processes::stat;
    use std::sync::Arc;

    #[test]
    fn own_memory_sums_to_what_is_resident() {
        let block = vec![1u8; 100 << 20];
        let root = Arc::new(crate::Root::live().expect("a root"));
        let bytes = std::fs::read("/proc/self/stat").expect("read");
        let starttime = stat::parse(&bytes).expect("parsed").starttime;
        let mut asker = Asker::new(root, Arc::new(Kernel));
        let mut policies = Vec::new();
        for what in [What::Cheap, What::Exact] {
            let answer = asker.ask(Target { pid: std::process::id(), starttime, what });
            // A sandbox may forbid move_pages, a kernel without NUMA has neither.
            let Ok(found) = answer.found else { continue };
            let sum: u64 = found.anon.values().chain(found.file.values()).sum();
            assert!(sum as usize > block.len() && sum < 1 << 30, "{}: {sum}", answer.source);
            assert_eq!(answer.source, if what == What::Exact { "numa_maps" } else { "sampled" });
            policies.push(found.policy);
        }
        let alone = asker.ask(Target { pid: std::process::id(), starttime, what: What::Policy });
        policies.extend(alone.found.into_iter().map(|found| found.policy));
        policies.dedup();
        assert!(policies.len() <= 1, "one policy however it is asked for: {policies:?}");
        let gone = asker.ask(Target { pid: std::process::id(), starttime: starttime + 1, what: What::Exact });
        assert!(gone.found.is_err(), "the pid of another process");
    }
}
