//! F-MIGRATE: moves a process's pages to the node where it runs.

use super::processes::{identity, named, needs, subject, watch};
use super::{Case, Fix, Need, Parameter, Plan, Refusal, Restore, Risk, Snippet, Step, Target, Verify};
use crate::IdSet;
use crate::Total as _;
use crate::frame::{Frame, Process};
use crate::locale::Text;
use crate::locale::fix as shared;
use crate::locale::fix::page_migration as text;
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-MIGRATE",
    name: text::NAME,
    answers: &[(rules::remote_memory::ID, 1), (rules::membind_mismatch::ID, 1), (rules::memory_spread::ID, 2)],
    executable: true,
    parameters: &[Parameter { name: "node", unit: "", about: text::ABOUT_NODE }],
    plan,
};

/// Free memory required on the target node, as a multiple of the resident memory.
const ROOM: f64 = 1.2;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let process = subject(case).ok_or_else(|| Refusal::because(shared::PROCESS_GONE.to_string()))?;
    let bound = parts::bound_node(case.frame, process);
    let node = wanted(case)?.or(bound).ok_or_else(|| not_bound(process))?;
    if bound != Some(node) {
        return Err(not_bound(process));
    }
    let bytes = room(case.frame, process, node)?;
    let mut plan = case.plan(
        FIX.id,
        text::Title { size: &parts::bytes(Some(bytes as f64)), process: &named(process), node: &node }.to_string(),
    );
    plan.identity = vec![identity(process)];
    plan.steps = vec![step(process, node)];
    plan.commands = vec![format!("migratepages {} {} {node}", process.pid, from(process, node))];
    plan.risk = Risk::Disruptive;
    plan.breaks = breaks(case.frame, bytes);
    plan.breaks.extend(trap(process, node));
    plan.needs = needs_of(case, process);
    plan.undo = text::UNDO.to_string();
    plan.lost = vec![shared::LOST_PAGES.to_string()];
    plan.reverters = reverters(case.frame);
    plan.verify = verify(case, process);
    plan.persistent = Some(Snippet {
        place: shared::PLACE_START.to_string(),
        text: format!("numactl --cpunodebind={node} --membind={node} COMMAND\n"),
    });
    Ok(plan)
}

/// The node parameter: a node with memory.
pub(super) fn wanted(case: &Case<'_>) -> Result<Option<u32>, Refusal> {
    let Some(node) = case.number("node", 0..=u64::from(u16::MAX))? else { return Ok(None) };
    let known = case.frame.topology.node(node as u32).filter(|node| node.has_memory);
    known.map(|node| Some(node.id)).ok_or_else(|| Refusal::because(text::NoNode { node: &node }.to_string()))
}

fn not_bound(process: &Process) -> Refusal {
    let who = named(process);
    Refusal::until(text::NotBound { process: &who }.to_string(), text::NEEDS_BOUND.to_string())
}

/// The bytes to move, where the node has room for them.
pub(super) fn room(frame: &Frame, process: &Process, node: u32) -> Result<u64, Refusal> {
    let unread = |why: Text| Refusal::until(why.as_str(), text::NEEDS_PTRACE.to_string());
    let memory = process.memory.as_ref().ok_or_else(|| unread(text::UNREAD_NODES))?;
    let rss = process.rss_bytes.value().ok_or_else(|| unread(text::UNREAD_RSS))?;
    let free = frame.node(node).and_then(|node| node.memory_free_bytes.value());
    let free = free.ok_or_else(|| unread(text::UNREAD_FREE))?;
    let moved = memory.by_node.iter().filter(|(id, _)| *id != node).map(|(_, bytes)| *bytes).total();
    if moved == 0 {
        return Err(Refusal::because(text::Already { node: &node }.to_string()));
    }
    if process.mems_allowed.as_deref().is_some_and(|allowed| !allowed.contains(node)) {
        return Err(Refusal::until(text::Mems { node: &node }.to_string(), text::NEEDS_MEMS.to_string()));
    }
    if (free as f64) < ROOM * rss as f64 {
        let (free, rss) = (parts::bytes(Some(free as f64)), parts::bytes(Some(rss as f64)));
        return Err(Refusal::until(
            text::NoRoom { node: &node, free: &free, factor: &ROOM, rss: &rss }.to_string(),
            text::NEEDS_ROOM.to_string(),
        ));
    }
    Ok(moved)
}

pub(super) fn step(process: &Process, node: u32) -> Step {
    let target = Target::Pages { pid: process.pid, starttime: process.starttime };
    Step {
        restore: Restore::Roughly,
        ..Step::new(text::Step { process: &named(process) }.to_string(), target, node.to_string())
    }
}

/// The capabilities to move pages of another user's process.
pub(super) fn needs_of(case: &Case<'_>, process: &Process) -> Vec<Need> {
    let mut needs = needs(case, &[process], text::NEED_MOVE);
    if !needs.is_empty() {
        let what = text::NEED_READ.to_string();
        needs.push(Need { capability: "CAP_SYS_PTRACE".to_owned(), what });
    }
    needs
}

/// The nodes of the pages to move.
fn from(process: &Process, node: u32) -> IdSet {
    let by_node = process.memory.iter().flat_map(|memory| &memory.by_node);
    IdSet::from_ids(by_node.filter(|(id, bytes)| *id != node && *bytes > 0).map(|(id, _)| *id))
}

pub(super) fn breaks(frame: &Frame, bytes: u64) -> Vec<String> {
    // Measured: 0.5 to 1.5 GB/s.
    let seconds = |rate: f64| format!("{:.1}", (bytes as f64 / rate).max(0.1));
    let time = text::BreaksTime { least: &seconds(1.5e9), most: &seconds(0.5e9) }.to_string();
    let mut breaks = vec![time];
    breaks.push(text::BREAKS_PINNED.to_string());
    if frame.memory.swap_total_bytes.value().is_some_and(|swap| swap > 0) {
        breaks.push(text::BREAKS_SWAPPED.to_string());
    }
    breaks
}

/// Warns of a memory policy that places new pages elsewhere.
pub(super) fn trap(process: &Process, node: u32) -> Option<String> {
    let policy = &process.policy;
    let elsewhere = ["bind", "prefer", "interleave", "weighted"].iter().any(|kind| policy.starts_with(kind));
    let stays = elsewhere && parts::policy_nodes(policy) != IdSet::from_ids([node]);
    stays.then(|| text::Trap { policy: &policy, node: &node }.to_string())
}

pub(super) fn reverters(frame: &Frame) -> Vec<String> {
    let mut reverters = vec![text::REVERTER_POLICY.to_string()];
    if frame.sysctls.iter().any(|(name, value)| &**name == "kernel.numa_balancing" && &**value != "0") {
        reverters.push(text::REVERTER_BALANCING.to_string());
    }
    reverters
}

pub(super) fn verify(case: &Case<'_>, process: &Process) -> Verify {
    let of = |metric| watch(case.frame, process, metric);
    Verify {
        load: Some(of("process.cores")),
        cost: Some(of("process.remote")),
        guards: vec![of("process.wait"), of("process.majflt")],
        shown: vec![of("process.rss")],
        settle_seconds: 10,
        ..case.plan(FIX.id, "").verify
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Refusal};
    use crate::frame::Frame;
    use crate::{IdSet, Known};
    use std::sync::Arc;

    fn set(list: &str) -> Arc<IdSet> {
        Arc::new(IdSet::parse_list(list).expect("a list"))
    }

    fn why(result: Result<crate::fix::Plan, Refusal>) -> (String, String) {
        match result {
            Err(Refusal::Refused { why, needs }) => (why, needs),
            other => panic!("{other:?}"),
        }
    }

    fn on_node_0(frame: &mut Frame) {
        frame.processes[0].affinity = Some(set("0-3"));
    }

    #[test]
    fn a_bound_process_gets_its_pages() {
        insta::assert_snapshot!(plan_text(&plan(&FIX, "NUMA-01", &[], on_node_0).expect("a plan")));
    }

    #[test]
    fn a_policy_that_binds_elsewhere_is_told() {
        let plan = plan(&FIX, "NUMA-06", &[], |frame| {
            frame.processes[0].memory = Some(crate::frame::ProcessMemory {
                by_node: vec![(1, 64 << 20)],
                ..crate::frame::ProcessMemory::default()
            });
        });
        let plan = plan.expect("a plan");
        let trap = plan.breaks.iter().find(|line| line.contains("policy stays")).expect("a warning");
        assert!(trap.starts_with("its memory policy stays bind:1: new pages will not be on node 0"), "{trap}");
    }

    #[test]
    fn what_may_run_anywhere_is_bound_first() {
        let (why, needs) = why(plan(&FIX, "NUMA-01", &[], |_| ()));
        assert!(why.contains("several nodes") && needs.contains("F-CPUSET"), "{why} {needs}");
    }

    #[test]
    fn a_node_without_room_is_refused() {
        let (why, _) = why(plan(&FIX, "NUMA-01", &[], |frame| {
            on_node_0(frame);
            frame.nodes[0].memory_free_bytes = Known::Value(2 << 30);
        }));
        assert_eq!(why, "node 0 has 2.0 GiB free, less than 1.2× the 2.0 GiB of the process");
    }

    #[test]
    fn a_node_that_its_group_lacks_is_refused() {
        let (why, needs) = why(plan(&FIX, "NUMA-01", &[], |frame| {
            on_node_0(frame);
            frame.processes[0].mems_allowed = Some(set("1"));
        }));
        assert_eq!(
            (why.as_str(), needs.starts_with("that node in cpuset.mems")),
            ("cpuset.mems of its cgroup excludes node 0", true)
        );
        let (why, _) = self::why(plan(&FIX, "NUMA-01", &[("node", "7")], on_node_0));
        assert_eq!(why, "invalid node=7: no such node with memory");
    }
}
