//! F-NUMA-SPLIT: one instance for each node; the plan itself is `topotop plan numa`.

use super::advice::{plan as advice, snippet};
use super::processes::{named, subject};
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::frame::Process;
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-NUMA-SPLIT",
    name: "run one instance for each node",
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
    let mut plan =
        advice(case, FIX.id, format!("{who}: {nodes} instances, one for each node with CPUs"), Risk::Dangerous);
    plan.commands = vec![format!("topotop plan numa --pid {}", process.pid)];
    plan.snippets = vec![snippet(
        "what it writes: for each node a start line and a unit, ports that are free, folders apart, heap, a load balancer's stanza, checks",
        &[
            "numactl --cpunodebind=N --membind=N COMMAND      # --preferred=N where its memory does not fit the node",
            "[Service]",
            "CPUAffinity=LIST",
            "NUMAPolicy=bind",
            "NUMAMask=N",
        ],
    )];
    plan.breaks = vec![
        "the program has to be able to run more than once: ports, data, logs, pid files and licences of its own for each instance".to_owned(),
        "clients have to be spread over the instances, and to stay with one where it keeps sessions".to_owned(),
    ];
    "the instances are stopped and the one program is started again".clone_into(&mut plan.undo);
    Ok(plan)
}

/// What works most on the node that a finding is about.
fn busiest<'a>(case: &Case<'a>) -> Option<&'a Process> {
    let Subject::Node(node) = case.finding.subject else { return None };
    let here =
        |process: &Process| process.cpu_by_node.iter().find(|(id, _)| *id == node).map_or(0.0, |(_, cores)| *cores);
    let processes = case.frame.processes.iter().filter(|process| !process.kernel && here(process) >= 0.5);
    // What is bound to a node already is an instance of its own: another one belongs on the node that idles.
    processes
        .max_by(|a, b| here(a).total_cmp(&here(b)))
        .filter(|process| parts::bound_node(case.frame, process).is_none_or(|bound| bound == node))
}
