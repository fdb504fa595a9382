//! F-MIGRATE: a process's pages to the node that it runs on.

use super::processes::{identity, named, needs, subject, watch};
use super::{Case, Fix, Need, Parameter, Plan, Refusal, Restore, Risk, Snippet, Step, Target, Verify};
use crate::IdSet;
use crate::frame::{Frame, Process};
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-MIGRATE",
    name: "move a process's pages to its node",
    answers: &[(rules::remote_memory::ID, 1), (rules::membind_mismatch::ID, 1), (rules::memory_spread::ID, 2)],
    executable: true,
    parameters: &[Parameter { name: "node", unit: "", about: "where the pages go: the node that its CPUs are of" }],
    plan,
};

/// What has to be free where pages go, for each byte that is resident.
const ROOM: f64 = 1.2;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let process = subject(case).ok_or_else(|| Refusal::because("the process is gone"))?;
    let bound = parts::bound_node(case.frame, process);
    let node = wanted(case)?.or(bound).ok_or_else(|| not_bound(process))?;
    if bound != Some(node) {
        return Err(not_bound(process));
    }
    let bytes = room(case.frame, process, node)?;
    let mut plan =
        case.plan(FIX.id, format!("{}: {} to node {node}", named(process), parts::bytes(Some(bytes as f64))));
    plan.identity = vec![identity(process)];
    plan.steps = vec![step(process, node)];
    plan.commands = vec![format!("migratepages {} {} {node}", process.pid, from(process, node))];
    plan.risk = Risk::Disruptive;
    plan.breaks = breaks(case.frame, bytes);
    plan.breaks.extend(trap(process, node));
    plan.needs = needs_of(case, process);
    "pages are moved back until each node has as many bytes as before".clone_into(&mut plan.undo);
    plan.lost = vec!["which page was on which node: only the bytes on each are put back".to_owned()];
    plan.reverters = reverters(case.frame);
    plan.verify = verify(case, process);
    plan.persistent = Some(Snippet {
        place: "what starts it".to_owned(),
        text: format!("numactl --cpunodebind={node} --membind={node} COMMAND\n"),
    });
    Ok(plan)
}

/// The node that was asked for: one that has memory.
pub(super) fn wanted(case: &Case<'_>) -> Result<Option<u32>, Refusal> {
    let Some(node) = case.number("node", 0..=u64::from(u16::MAX))? else { return Ok(None) };
    let known = case.frame.topology.node(node as u32).filter(|node| node.has_memory);
    known
        .map(|node| Some(node.id))
        .ok_or_else(|| Refusal::because(format!("node={node}: there is no such node with memory")))
}

fn not_bound(process: &Process) -> Refusal {
    let who = named(process);
    Refusal::until(
        format!("{who} may run on several nodes: pages that are moved to one would be remote again when it moves"),
        "its CPUs bound to one node first: F-CPUSET, or F-AFF with cpus=LIST",
    )
}

/// The bytes that would be moved, where the node has room for them.
pub(super) fn room(frame: &Frame, process: &Process, node: u32) -> Result<u64, Refusal> {
    let unread = |what: &str| Refusal::until(format!("{what} is not known"), "CAP_SYS_PTRACE or root");
    let memory = process.memory.as_ref().ok_or_else(|| unread("where its memory is"))?;
    let rss = process.rss_bytes.value().ok_or_else(|| unread("how much memory it has"))?;
    let free = frame.node(node).and_then(|node| node.memory_free_bytes.value());
    let free = free.ok_or_else(|| unread("how much memory the node has free"))?;
    let moved: u64 = memory.by_node.iter().filter(|(id, _)| *id != node).map(|(_, bytes)| *bytes).sum();
    if moved == 0 {
        return Err(Refusal::because(format!("all of its memory is on node {node} already")));
    }
    if process.mems_allowed.as_deref().is_some_and(|allowed| !allowed.contains(node)) {
        return Err(Refusal::until(
            format!("its group may not have memory of node {node}"),
            "cpuset.mems of its group with that node in it",
        ));
    }
    if (free as f64) < ROOM * rss as f64 {
        let (free, rss) = (parts::bytes(Some(free as f64)), parts::bytes(Some(rss as f64)));
        return Err(Refusal::until(
            format!("node {node} has {free} free, less than {ROOM} times the {rss} that the process has"),
            "memory that is free there: page cache given back, or another node",
        ));
    }
    Ok(moved)
}

pub(super) fn step(process: &Process, node: u32) -> Step {
    let target = Target::Pages { pid: process.pid, starttime: process.starttime };
    Step { restore: Restore::Roughly, ..Step::new(format!("pages of {}", named(process)), target, node.to_string()) }
}

/// What moving somebody else's pages takes.
pub(super) fn needs_of(case: &Case<'_>, process: &Process) -> Vec<Need> {
    let mut needs = needs(case, &[process], "to move pages of another user's process");
    if !needs.is_empty() {
        let what = "to read where another user's pages are".to_owned();
        needs.push(Need { capability: "CAP_SYS_PTRACE".to_owned(), what });
    }
    needs
}

/// The nodes that have pages which would be moved.
fn from(process: &Process, node: u32) -> IdSet {
    let by_node = process.memory.iter().flat_map(|memory| &memory.by_node);
    IdSet::from_ids(by_node.filter(|(id, bytes)| *id != node && *bytes > 0).map(|(id, _)| *id))
}

pub(super) fn breaks(frame: &Frame, bytes: u64) -> Vec<String> {
    // Between half a gigabyte and one and a half a second on real machines.
    let seconds = |rate: f64| (bytes as f64 / rate).max(0.1);
    let time = format!(
        "it takes about {:.1} to {:.1} s, in chunks and to be stopped at any of them; whoever touches a page that is being moved waits",
        seconds(1.5e9),
        seconds(0.5e9)
    );
    let mut breaks = vec![time];
    breaks.push("pages that are pinned, or that other processes map as well, stay where they are".to_owned());
    if frame.memory.swap_total_bytes.value().is_some_and(|swap| swap > 0) {
        breaks.push("what is swapped out is not moved".to_owned());
    }
    breaks
}

/// The policy that goes on asking for memory elsewhere.
pub(super) fn trap(process: &Process, node: u32) -> Option<String> {
    let policy = &process.policy;
    let elsewhere = ["bind", "prefer", "interleave", "weighted"].iter().any(|kind| policy.starts_with(kind));
    let stays = elsewhere && parts::policy_nodes(policy) != IdSet::from_ids([node]);
    stays.then(|| format!("its policy stays {policy}: new pages are not of node {node}; cpuset.mems of its group (F-CPUSET) rewrites a binding, a restart any"))
}

pub(super) fn reverters(frame: &Frame) -> Vec<String> {
    let mut reverters = vec!["the process itself, which asks for new memory by its policy".to_owned()];
    if frame.sysctls.iter().any(|(name, value)| &**name == "kernel.numa_balancing" && &**value != "0") {
        reverters.push("automatic balancing (kernel.numa_balancing), where it runs on another node".to_owned());
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
    use super::super::testing::{plan, told};
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
        insta::assert_snapshot!(told(&plan(&FIX, "NUMA-01", &[], on_node_0).expect("a plan")));
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
        let trap = plan.breaks.iter().find(|line| line.contains("policy stays")).expect("told");
        assert!(trap.starts_with("its policy stays bind:1: new pages are not of node 0"), "{trap}");
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
        assert_eq!(why, "node 0 has 2.0 GiB free, less than 1.2 times the 2.0 GiB that the process has");
    }

    #[test]
    fn a_node_that_its_group_lacks_is_refused() {
        let (why, needs) = why(plan(&FIX, "NUMA-01", &[], |frame| {
            on_node_0(frame);
            frame.processes[0].mems_allowed = Some(set("1"));
        }));
        assert_eq!((why.as_str(), needs.starts_with("cpuset.mems")), ("its group may not have memory of node 0", true));
        let (why, _) = self::why(plan(&FIX, "NUMA-01", &[("node", "7")], on_node_0));
        assert_eq!(why, "node=7: there is no such node with memory");
    }
}
