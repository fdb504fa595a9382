//! Control groups of version 1, version 2 and both at once.
//!
//! A group is probed in each sample (memory, CPU time, waiting for disks: three reads) unless nothing moved in its
//! parent, whose values include its own; only a group that moved is read completely. Settings are read every few
//! seconds, more rarely where a group stands still. The tree is compared with the directories every two seconds by
//! their link counts.

mod files;
mod log_names;
mod look;
mod mounts;
mod names;
mod pod_requests;
mod runtime_names;
#[cfg(test)]
mod synthetic;
mod take;
mod tree;
mod user_names;
mod v1;
mod v2;
mod walk;

use crate::{CALM_NS, Collector, Cx};
use files::{Door, Outcome, Pace};
use mounts::Hierarchy;
use std::os::unix::ffi::OsStrExt;
use take::{Cells, Io};
use topotop_model::tables::cgroups::Cgroups;
use topotop_model::{Draft, Gaps, Reason, State, Table, text};
use tree::{Tables, Tree};

/// Between two comparisons of tree and directories.
const WALK_NS: u64 = 2_000_000_000;
/// Between two listings of every directory with others in it, whatever its link count, in all hierarchies.
const THOROUGH_NS: u64 = 10_000_000_000;
/// Between two looks at the mount table.
const MOUNTS_NS: u64 = 60_000_000_000;
/// Between two readings of settings.
const SELDOM_NS: u64 = 5_000_000_000;
/// The same while a group is idle.
const STILL_NS: u64 = 20_000_000_000;
/// Before a file that could not be read is tried again.
const RETRY_NS: u64 = 30_000_000_000;
/// Samples in which a group is read completely after it moved: what it wrote reaches the disk later.
const WARM: u8 = 3;

/// A group grows if it gains more than this share of its limit a second: half of what a forecast needs.
const GROWTH: f64 = 0.0005;
/// Readings after that in which a calm machine is read as often as a busy one.
const GROWN: u8 = 10;

/// Reads control groups.
#[derive(Debug, Default)]
pub(crate) struct CgroupCollector {
    hierarchies: Vec<Hierarchy>,
    mounts_ns: Option<u64>,
    walk_ns: Option<u64>,
    thorough_ns: u64,
    /// A group was found gone: list directories again.
    lost: bool,
    /// Directories that could not be listed at the last thorough walk.
    walk_gaps: Gaps,
    tree: Tree,
    names: log_names::LogNames,
    requests: pod_requests::PodRequests,
    kept: usize,
    todo: Vec<usize>,
    /// When probed last.
    probed_ns: Option<u64>,
    /// See [`GROWN`].
    grown: u8,
}

impl Collector for CgroupCollector {
    fn name(&self) -> &'static str {
        "cgroups"
    }

    fn calm_period_ns(&self) -> u64 {
        // A leak takes next to no CPU time.
        if self.grown > 0 { 0 } else { CALM_NS }
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        draft.cgroups.begin(cx.now_ns);
        draft.cgroup_io.begin(cx.now_ns);
        self.mounts(cx, draft);
        if self.hierarchies.is_empty() {
            draft.cgroups.gaps.add(
                "sys/fs/cgroup",
                Reason::NotFound,
                topotop_model::locale::needs::CGROUP_MOUNT.english(),
            );
            draft.cgroups.state = State::Missing;
            draft.cgroup_io.state = State::Missing;
            return;
        }
        self.walk(cx, draft);
        self.probe(cx, draft);
        self.read_moved(cx, draft);
        self.gaps(draft);
        for (place, count) in self.names.silent(cx.demand.complete) {
            draft.cgroups.gaps.add_many(place, Reason::TimedOut, "", count);
        }
    }
}

/// Where the hierarchies are, for fixes that write there.
fn tell(hierarchies: &[Hierarchy], now_ns: u64, draft: &mut Draft) {
    draft.cgroup_mounts.begin(now_ns);
    let table = draft.cgroup_mounts.data_mut();
    let old: Vec<usize> = table.rows().iter().collect();
    for slot in old {
        table.remove(slot);
    }
    for hierarchy in hierarchies {
        let slot = table.insert();
        table.dir.set(slot, &format!("/{}", text::from_bytes(hierarchy.dir.as_os_str().as_bytes())));
        table.version.set(slot, u64::from(hierarchy.version));
        table.controllers.set(slot, &mounts::controller::names(hierarchy.has));
    }
}

fn tables(draft: &mut Draft) -> Tables<'_> {
    Tables { groups: draft.cgroups.data_mut(), io: draft.cgroup_io.data_mut() }
}

/// True when `period` has passed since `last`, or nothing was done yet.
fn due(last: Option<u64>, now: u64, period: u64) -> bool {
    last.is_none_or(|last| now.saturating_sub(last) + 1_000_000 >= period)
}

impl CgroupCollector {
    fn mounts(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if !due(self.mounts_ns, cx.now_ns, MOUNTS_NS) && !self.hierarchies.is_empty() {
            return;
        }
        self.mounts_ns = Some(cx.now_ns);
        let found = mounts::find(cx.root, cx.buf);
        if found != self.hierarchies || draft.cgroup_mounts.read_at_ns == 0 {
            tell(&found, cx.now_ns, draft);
        }
        if found != self.hierarchies {
            self.tree.clear(&mut tables(draft));
            self.hierarchies = found;
            self.walk_ns = None;
        }
    }

    fn walk(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let first = self.walk_ns.is_none();
        if !due(self.walk_ns, cx.now_ns, WALK_NS) && !self.lost && !cx.demand.complete {
            return;
        }
        self.walk_ns = Some(cx.now_ns);
        let thorough = first || cx.demand.complete || cx.now_ns.saturating_sub(self.thorough_ns) >= THOROUGH_NS;
        if thorough {
            self.thorough_ns = cx.now_ns;
        }
        let all = std::mem::take(&mut self.lost) || thorough;
        if all {
            self.walk_gaps.clear();
        }
        let (tables, hierarchies) = (tables(draft), &self.hierarchies);
        let gaps = &mut self.walk_gaps;
        walk::Walk { root: cx.root, hierarchies, thorough, tables, gaps }.run(&mut self.tree, all);
        let born = self.tree.take_born();
        for &slot in &born {
            let Some(group) = self.tree.get(slot) else { continue };
            let table = draft.cgroups.data_mut();
            names::take(&group.text, table, slot);
            let top = group.top(&self.hierarchies);
            let owner = top.and_then(|top| log_names::foreign_owner(cx.root, top, &group.path, table, slot));
            self.names.note(slot, owner);
        }
        self.names.take(cx.root, (cx.now_ns, cx.demand.complete), draft.cgroups.data_mut(), &born);
        self.requests.take(cx.root, cx.now_ns, draft.cgroups.data_mut());
    }

    /// Reads what tells whether a group moved, from the top down; below a group that stood still nothing moved.
    fn probe(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        let mut todo = std::mem::take(&mut self.todo);
        todo.extend(self.tree.top());
        let seconds = self.probed_ns.map_or(0.0, |last| cx.now_ns.saturating_sub(last) as f64 / 1e9);
        self.probed_ns = Some(cx.now_ns);
        self.grown = self.grown.saturating_sub(1);
        while let Some(slot) = todo.pop() {
            let before = probed(draft.cgroups.data(), slot);
            if !self.read(slot, Pace::Probe, cx, draft) {
                continue;
            }
            let after = probed(draft.cgroups.data(), slot);
            if grew(draft.cgroups.data(), slot, (before.memory, after.memory), seconds) {
                self.grown = GROWN;
            }
            let is_top = self.tree.top() == Some(slot);
            let Some(group) = self.tree.get_mut(slot) else { continue };
            // Without CPU time nothing shows that a group is idle.
            let moved = is_top || before != after || after.cpu.is_none() || cx.demand.complete;
            if moved {
                group.warm = if before == Probe::default() { 1 } else { WARM };
                todo.extend(&group.children);
            }
        }
        self.todo = todo;
    }

    /// Reads the rest of the groups that moved lately, and settings where they are due.
    fn read_moved(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        for slot in 0..self.tree.bound() {
            let Some(group) = self.tree.get_mut(slot) else { continue };
            let settings = cx.now_ns >= group.seldom_ns || cx.demand.complete;
            let warm = group.warm > 0;
            if settings {
                if cx.now_ns >= group.retry_ns {
                    // A group that was only just made has nothing to try again.
                    group.retry_ns = cx.now_ns + RETRY_NS;
                    group.files.iter_mut().for_each(files::Held::retry);
                }
                let period = if warm { SELDOM_NS } else { STILL_NS };
                // Not all groups at once.
                let spread = if group.seldom_ns == 0 { slot as u64 % 16 * (period / 16) } else { 0 };
                group.seldom_ns = cx.now_ns + period + spread;
                if !warm {
                    group.files.iter_mut().filter(|file| file.def.pace == Pace::Often).for_each(files::Held::close);
                }
            }
            if warm && !self.read(slot, Pace::Often, cx, draft) {
                continue;
            }
            if settings && !self.read(slot, Pace::Seldom, cx, draft) {
                continue;
            }
            let table = draft.cgroups.data();
            let bytes = |column: Option<u64>| column.unwrap_or(0);
            let writing = bytes(table.dirty_bytes.value(slot)).saturating_add(bytes(table.writeback_bytes.value(slot)));
            if let Some(group) = self.tree.get_mut(slot).filter(|_| warm) {
                group.warm = (group.warm - 1).max(u8::from(writing > 0));
            }
        }
    }

    /// Reads a group's files of one pace; false if the group is gone, with all its rows.
    fn read(&mut self, slot: usize, pace: Pace, cx: &mut Cx<'_>, draft: &mut Draft) -> bool {
        let Some(group) = self.tree.get_mut(slot) else { return false };
        let mut door = Door { root: cx.root, hierarchies: &self.hierarchies, buf: &mut *cx.buf, kept: &mut self.kept };
        let mut gone = false;
        for file in group.files.iter_mut().filter(|file| file.def.pace == pace) {
            let io = Io { table: draft.cgroup_io.data_mut(), rows: &mut group.io, path: &group.text };
            let table = draft.cgroups.data_mut();
            let mut cells = Cells { table, slot, io, page: rustix::param::page_size() as u64 };
            match file.read(&group.path, &mut door, &mut cells) {
                Outcome::Read | Outcome::Failed => {}
                Outcome::Gone => {
                    gone = true;
                    break;
                }
            }
        }
        if gone {
            self.lost = true;
            self.tree.remove(slot, &mut tables(draft));
        }
        !gone
    }

    /// What cannot be read, over all groups; counts the descriptors that are open by the way.
    fn gaps(&mut self, draft: &mut Draft) {
        let gaps = &mut draft.cgroups.gaps;
        for gap in &self.walk_gaps {
            gaps.add_many(&gap.path, gap.reason, &gap.needs, gap.count);
        }
        if let Some(reason) = self.requests.failed {
            gaps.add(pod_requests::FILE, reason, if reason == Reason::PermissionDenied { "root" } else { "" });
        }
        let mut open = 0;
        let (mut groups, mut with_pressure) = (0, false);
        // Counted before they are spelled out: there may be thousands of one kind.
        let mut failures: Vec<(&files::Held, Reason, u64)> = Vec::new();
        for group in self.tree.iter() {
            groups += 1;
            for file in &group.files {
                open += usize::from(file.is_open());
                let failure = file.failure();
                with_pressure |= failure.is_none() && !file.def.needs.is_empty() && !group.path.as_os_str().is_empty();
                let Some(reason) = failure.filter(|&reason| is_gap(file, reason)) else { continue };
                let same = |row: &&mut (&files::Held, Reason, u64)| {
                    std::ptr::eq(row.0.def, file.def) && row.0.hierarchy == file.hierarchy && row.1 == reason
                };
                match failures.iter_mut().find(same) {
                    Some(row) => row.2 += 1,
                    None => failures.push((file, reason, 1)),
                }
            }
        }
        for (file, reason, count) in failures {
            gaps.add_many(&pattern(&self.hierarchies, file), reason, needs(reason, file), count);
        }
        // Pressure of the top alone is the machine's.
        if groups > 1 && !with_pressure {
            let needs = "cgroup v2, Linux 4.20 or later and psi=1";
            gaps.add_many("sys/fs/cgroup/*/*.pressure", Reason::NotFound, needs, groups);
        }
        self.kept = open;
        // Newer kernels count only where something throttles, and leave the file empty otherwise.
        let counted = self.hierarchies.iter().find(|hierarchy| hierarchy.has & mounts::controller::BLKIO != 0);
        if let Some(hierarchy) = counted.filter(|_| groups > 1 && draft.cgroup_io.data().rows().is_empty()) {
            let path = format!("{}/*/blkio.throttle.io_service_bytes", hierarchy.dir.to_string_lossy());
            draft.cgroup_io.gaps.add(&path, Reason::NotSupported, "cgroup v2 or a throttling rule");
        }
    }
}

/// What a kernel or a controller lacks is no gap: there is nothing to be had. Threaded groups have processes that are
/// not theirs to tell.
fn is_gap(file: &files::Held, reason: Reason) -> bool {
    match reason {
        Reason::NotFound => false,
        Reason::NotSupported => !file.def.names.contains(&"cgroup.procs"),
        _ => true,
    }
}

fn needs(reason: Reason, file: &files::Held) -> &'static str {
    match reason {
        Reason::PermissionDenied => "root",
        Reason::NotSupported => file.def.needs,
        _ => "",
    }
}

/// The pattern of a file below its hierarchy.
fn pattern(hierarchies: &[Hierarchy], file: &files::Held) -> String {
    let dir = hierarchies.get(usize::from(file.hierarchy)).map(|hierarchy| hierarchy.dir.to_string_lossy());
    let name = file.def.names.first().copied().unwrap_or_default();
    format!("{}/*/{name}", dir.unwrap_or_default())
}

/// The counter that shows whether a group was active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Probe {
    cpu: Option<u64>,
    memory: Option<u64>,
    io: Option<u64>,
}

fn probed(table: &Cgroups, slot: usize) -> Probe {
    Probe {
        cpu: table.cpu_usage_us.value(slot),
        memory: table.memory_current_bytes.value(slot),
        io: table.io_some_us.value(slot),
    }
}

/// True if a group came closer to its limit since the last reading.
fn grew(table: &Cgroups, slot: usize, (before, after): (Option<u64>, Option<u64>), seconds: f64) -> bool {
    let limit = table.memory_limit_bytes.value(slot).or_else(|| table.memory_hierarchical_limit_bytes.value(slot));
    let gained = before.zip(after).map(|(before, after)| after.saturating_sub(before) as f64);
    gained.zip(limit).is_some_and(|(gained, limit)| gained > 0.0 && gained > GROWTH * seconds * limit as f64)
}
