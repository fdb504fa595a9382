//! F-NUMA-SPLIT: one instance per node; `topotop plan numa` writes the plan.

use super::advice::{plan as advice, snippet};
use super::processes::{named, subject};
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::frame::Process;
use crate::locale::fix::node_instances as text;
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-NUMA-SPLIT",
    name: text::NAME,
    answers: &[
        (rules::memory_spread::ID, 0),
        (rules::instances_per_node::ID, 0),
        (rules::node_imbalance::ID, 0),
        (rules::remote_memory::ID, 2),
    ],
    executable: false,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let process = subject(case).or_else(|| busiest(case)).ok_or(Refusal::NotForThis)?;
    let nodes = case.frame.topology.cpu_nodes().count();
    if nodes < 2 {
        return Err(Refusal::NotForThis);
    }
    let who = named(process);
    let mut plan = advice(case, FIX.id, text::Title { count: &nodes, process: &who }.to_string(), Risk::Dangerous);
    plan.commands = vec![format!("topotop plan numa --pid {}", process.pid)];
    plan.snippets = vec![snippet(
        text::PLACE.to_string(),
        &[
            &format!("numactl --cpunodebind=N --membind=N COMMAND      # {}", text::COMMENT),
            "[Service]",
            "CPUAffinity=LIST",
            "NUMAPolicy=bind",
            "NUMAMask=N",
        ],
    )];
    plan.breaks = vec![text::BREAKS_PROGRAM.to_string(), text::BREAKS_CLIENTS.to_string()];
    plan.undo = text::UNDO.to_string();
    Ok(plan)
}

/// The busiest process on the finding's node.
fn busiest<'a>(case: &Case<'a>) -> Option<&'a Process> {
    let Subject::Node(node) = case.finding.subject else { return None };
    let here =
        |process: &Process| process.cpu_by_node.iter().find(|(id, _)| *id == node).map_or(0.0, |(_, cores)| *cores);
    let processes = case.frame.processes.iter().filter(|process| !process.kernel && here(process) >= 0.5);
    // A process bound to another node is an instance already.
    processes
        .max_by(|a, b| here(a).total_cmp(&here(b)))
        .filter(|process| parts::bound_node(case.frame, process).is_none_or(|bound| bound == node))
}
