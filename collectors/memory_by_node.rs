//! Memory of processes by node, up a ladder and within a budget: the control group that holds one process, a sample of
//! resident pages, every page where that is cheap or asked for. The biggest and busiest come first, all in turns.

mod ask;
mod cgroup;
mod choose;
mod exact;
mod numa_maps;
mod sample;
mod vmas;

pub use exact::{areas, bytes_by_node};

use crate::rights::{self, Needs};
use crate::worker::Worker;
use crate::{Collector, Cx, Options};
use ask::{Answer, Asker, Target, What};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use topotop_model::tables::processes::ProcessMemory;
use topotop_model::{Draft, Reason, Section, State, Table};

/// Below this every page is read: that is cheap, and sampling would be imprecise.
const SMALL: u64 = 64 << 20;
/// Share of a core that may be used by default.
const BUDGET: f64 = 0.01;
/// What may be saved up, and what there is to begin with, in ns.
const PURSE: f64 = 30e6;
/// What asking costs until it is known, in ns.
const GUESS: u64 = 400_000;
/// What every page of a GiB costs, in ns.
const EXACT_PER_GIB: u64 = 10_000_000;
/// The shortest time between two samples of one process.
const INTERVAL_NS: u64 = 3_000_000_000;
/// The same where every page is walked, which holds the process up.
const WALK_INTERVAL_NS: u64 = 10_000_000_000;
/// The same for the selected process.
const ASKED_INTERVAL_NS: u64 = 2_000_000_000;
/// The same where only the policy is read.
const POLICY_INTERVAL_NS: u64 = 30_000_000_000;
/// How long a refused query is not repeated.
const REFUSED_NS: u64 = 60_000_000_000;
/// An answer that is not there by then is overdue, and another worker takes over.
const OVERDUE_NS: u64 = 5_000_000_000;
/// The most workers that may be stuck.
const MOST_STUCK: u32 = 3;
/// Questions in flight.
const LINE: usize = 32;
/// How long a complete reading waits.
const PATIENCE: Duration = Duration::from_millis(300);
/// PF_KTHREAD: kernel threads have no memory of their own.
const PF_KTHREAD: u64 = 0x0020_0000;

type NodeBytes = BTreeMap<u32, u64>;

/// Where the memory of a process is.
#[derive(Clone, Debug, Default, PartialEq)]
struct Found {
    anon: NodeBytes,
    file: NodeBytes,
    policy: Option<String>,
    error: f64,
}

/// Asks for memory by node.
#[derive(Debug)]
pub(crate) struct MemoryByNode {
    budget: f64,
    purse: f64,
    last_ns: u64,
    worker: Option<Worker<Target, Answer>>,
    stuck: u32,
    line: VecDeque<(Target, u64)>,
    known: HashMap<u32, Known>,
    cgroups_at_ns: u64,
    one_node: bool,
    late: usize,
}

/// What is remembered of a process.
#[derive(Debug, Default)]
struct Known {
    starttime: u64,
    slot: Option<usize>,
    ticks: u64,
    asked_at_ns: u64,
    cost_ns: u64,
    refused: Option<(&'static str, Reason)>,
    by_cgroup: bool,
    walked: bool,
    seen: bool,
}

impl MemoryByNode {
    pub(crate) fn new(options: &Options) -> Self {
        let share = options.memory_budget;
        Self {
            budget: if share > 0.0 { share.min(1.0) } else { BUDGET },
            purse: PURSE,
            last_ns: 0,
            worker: None,
            stuck: 0,
            line: VecDeque::new(),
            known: HashMap::new(),
            cgroups_at_ns: 0,
            one_node: false,
            late: 0,
        }
    }
}

impl Collector for MemoryByNode {
    fn name(&self) -> &'static str {
        "process_memory"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        // With one node there is nothing to read, except for a selected process.
        let nodes = draft.node_topology.data();
        let has_memory =
            |&slot: &usize| nodes.has_memory.value(slot) != Some(0) && nodes.memory_total_bytes.value(slot) != Some(0);
        self.one_node = nodes.rows().iter().filter(has_memory).count() < 2;
        if self.one_node && cx.demand.process.is_none() && cx.root.is_live() && self.known.is_empty() {
            return;
        }
        let elapsed = cx.now_ns.saturating_sub(std::mem::replace(&mut self.last_ns, cx.now_ns));
        let earned = if elapsed < cx.now_ns { elapsed as f64 * self.budget } else { 0.0 };
        self.purse = (self.purse + earned).min(PURSE);
        let mut changed = self.forget_gone(draft);
        changed |= self.take_from_cgroups(cx, draft);
        changed |= self.answers(cx, draft);
        self.replace_stuck(cx, draft);
        let todo = self.choose(cx, draft.processes.data());
        changed |= self.submit(cx, draft, &todo);
        if changed || draft.process_memory.state == State::NotCollected {
            self.publish(cx, &mut draft.process_memory);
        }
    }
}

impl MemoryByNode {
    /// Drops what is known of processes that ended; true if a row went.
    fn forget_gone(&mut self, draft: &mut Draft) -> bool {
        for known in self.known.values_mut() {
            known.seen = false;
        }
        let processes = draft.processes.data();
        for slot in processes.rows().iter() {
            let Some(known) = processes.pid.id(slot).value().and_then(|pid| self.known.get_mut(&pid)) else { continue };
            known.seen = known.starttime == processes.starttime.value(slot).unwrap_or_default();
        }
        let table = draft.process_memory.data_mut();
        let mut changed = false;
        self.known.retain(|_, known| {
            if let (false, Some(slot)) = (known.seen, known.slot) {
                table.remove(slot);
                changed = true;
            }
            known.seen
        });
        changed
    }

    fn answers(&mut self, cx: &Cx<'_>, draft: &mut Draft) -> bool {
        let mut changed = false;
        while let Some(answer) = self.worker.as_mut().and_then(Worker::take) {
            changed |= self.answer(&answer, cx.now_ns, draft.process_memory.data_mut());
        }
        changed
    }

    fn answer(&mut self, answer: &Answer, now_ns: u64, table: &mut ProcessMemory) -> bool {
        self.line.pop_front();
        self.purse -= answer.cpu_ns as f64;
        let target = answer.target;
        let Some(known) = self.known.get_mut(&target.pid).filter(|known| known.starttime == target.starttime) else {
            return false;
        };
        // Who held its lock for long is not queried for as long again.
        known.asked_at_ns = now_ns.saturating_add(answer.wall_ns.saturating_sub(answer.cpu_ns.saturating_mul(10)));
        if target.what == What::Policy {
            let policy = answer.found.as_ref().ok().and_then(|found| found.policy.as_ref());
            let Some((slot, policy)) = known.slot.zip(policy) else { return false };
            table.policy.set(slot, policy);
            return true;
        }
        known.cost_ns = answer.cpu_ns;
        known.walked = answer.source == "numa_maps";
        known.refused = answer.found.as_ref().err().copied();
        let Ok(found) = &answer.found else { return true };
        let slot = row(known, table, target.pid);
        table.source.set(slot, answer.source);
        table.read_at_ns.set(slot, answer.at_ns);
        table.error.set(slot, (found.error * 1e4).ceil() as u64);
        table.cost_ns.set(slot, answer.cpu_ns);
        table.anon_by_node.set(slot, found.anon.iter().map(|(&node, &bytes)| (node, bytes)));
        table.file_by_node.set(slot, found.file.iter().map(|(&node, &bytes)| (node, bytes)));
        if let Some(policy) = &found.policy {
            table.policy.set(slot, policy);
        }
        true
    }

    /// A worker that waits for a process for long is left behind.
    fn replace_stuck(&mut self, cx: &Cx<'_>, draft: &mut Draft) {
        let overdue = |since: u64| cx.now_ns.saturating_sub(since) > OVERDUE_NS;
        let Some(&(target, _)) = self.line.front().filter(|entry| overdue(entry.1)) else { return };
        if let Some(known) = self.known.get_mut(&target.pid) {
            known.refused = Some(("proc/*/maps", Reason::TimedOut));
            known.asked_at_ns = cx.now_ns;
        }
        self.publish(cx, &mut draft.process_memory);
        if self.stuck < MOST_STUCK {
            self.stuck += 1;
            self.worker = None;
            self.line.clear();
        }
    }

    fn submit(&mut self, cx: &Cx<'_>, draft: &mut Draft, todo: &[Target]) -> bool {
        if self.worker.is_none() && !todo.is_empty() {
            let mut asker = Asker::new(Arc::clone(cx.root), Arc::clone(cx.live));
            self.worker = Worker::spawn("memory", move |target| asker.ask(target)).ok();
        }
        let deadline = crate::clock::monotonic_ns() + PATIENCE.as_nanos() as u64;
        let mut changed = false;
        for &target in todo {
            while cx.demand.complete && self.line.len() >= LINE {
                match self.wait(cx, deadline, draft) {
                    Some(new) => changed |= new,
                    None => break,
                }
            }
            let Some(worker) = &mut self.worker else { break };
            if self.line.len() >= LINE || !worker.submit(target) {
                break;
            }
            self.line.push_back((target, cx.now_ns));
        }
        if cx.demand.complete {
            while let Some(new) = self.wait(cx, deadline, draft) {
                changed |= new;
            }
            self.late = self.line.len();
        }
        changed
    }

    /// Waits for one answer; none when there is none to wait for or time is up.
    fn wait(&mut self, cx: &Cx<'_>, deadline: u64, draft: &mut Draft) -> Option<bool> {
        let left = Duration::from_nanos(deadline.saturating_sub(crate::clock::monotonic_ns()));
        let answer = self.worker.as_mut()?.wait(left)?;
        Some(self.answer(&answer, cx.now_ns, draft.process_memory.data_mut()))
    }

    /// Marks a new generation and reports what could not be read.
    fn publish(&self, cx: &Cx<'_>, section: &mut Section<ProcessMemory>) {
        section.begin(cx.now_ns);
        for (path, reason) in self.known.values().filter_map(|known| known.refused) {
            let denied;
            let needs = match (path, reason) {
                (_, Reason::Vanished) => continue,
                (_, Reason::PermissionDenied) => {
                    denied = rights::needs(cx.root, Needs::Ptrace);
                    &denied
                }
                // With one node it is not missed.
                ("proc/*/numa_maps", Reason::NotFound) if self.one_node => continue,
                (_, Reason::NotFound) if !cx.root.is_live() => topotop_model::locale::needs::CAPTURE_INCLUDES.english(),
                ("proc/*/numa_maps", Reason::NotFound) => "CONFIG_NUMA",
                ("move_pages", Reason::NotSupported) => topotop_model::locale::needs::PROCESS_SELECTED.english(),
                _ => "",
            };
            section.gaps.add(path, reason, needs);
        }
        if self.late > 0 {
            section.gaps.add_many("move_pages", Reason::TimedOut, "more time", self.late as u64);
        }
    }
}

/// The row of a process.
fn row(known: &mut Known, table: &mut ProcessMemory, pid: u32) -> usize {
    let starttime = known.starttime;
    *known.slot.get_or_insert_with(|| {
        let slot = table.insert();
        table.pid.set(slot, u64::from(pid));
        table.starttime.set(slot, starttime);
        slot
    })
}

#[cfg(test)]
mod tests {
    use super::MemoryByNode;
    use crate::live::{Captured, Live};
    use crate::{Collector, Cx, Demand, Options, Root};
    use std::sync::Arc;
    use topotop_model::{Draft, Reason, Table};

    #[test]
    fn captured_processes_tell_by_numa_maps_and_damage_is_a_gap() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let whole = "01a00000 bind:1 heap anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4\n";
        for (pid, text) in [(1, whole), (2, &whole[..40]), (3, "")] {
            std::fs::create_dir_all(dir.path().join(format!("proc/{pid}"))).expect("made");
            std::fs::write(dir.path().join(format!("proc/{pid}/numa_maps")), text).expect("written");
        }
        let root = Arc::new(Root::at(dir.path()).expect("opened"));
        let live: Arc<dyn Live> = Arc::new(Captured { root: Arc::clone(&root) });
        let mut draft = Draft::default();
        for pid in 1..=4 {
            let slot = draft.processes.data_mut().insert();
            draft.processes.data_mut().pid.set(slot, pid);
        }
        let demand = Demand { complete: true, process: None };
        let mut cx = Cx { root: &root, live: &live, now_ns: 5, demand: &demand, buf: &mut Vec::new() };
        MemoryByNode::new(&Options::default()).collect(&mut cx, &mut draft);
        let table = draft.process_memory.data();
        let slot = table.first().expect("a row");
        assert_eq!(table.rows().len(), 1, "what was cut has no sums");
        assert_eq!(table.anon_by_node.get(slot), Some(&[(0, 4096), (1, 8192)][..]));
        assert_eq!(table.policy.or_empty(slot).as_ref(), "bind:1");
        let gaps: Vec<_> = draft.process_memory.gaps.iter().map(|gap| (&*gap.path, gap.reason, gap.count)).collect();
        assert_eq!(gaps, [("proc/*/numa_maps", Reason::Malformed, 1)]);
    }
}
