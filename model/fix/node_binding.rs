//! F-CPUSET: binds a process to one node: first the CPUs, then the pages in chunks, then the memory nodes.

use super::group::{Group, Named, need};
use super::page_migration::{breaks, needs_of, reverters, room, step, trap, verify, wanted};
use super::processes::{allowed, container, identity, named, subject};
use super::shell::quoted;
use super::{Case, Fix, Parameter, Plan, Refusal, Restore, Risk, Snippet, Step, Target};
use crate::frame::{Frame, Process};
use crate::locale::fix as shared;
use crate::locale::fix::node_binding as text;
use crate::rules;
use crate::rules::parts;
use crate::{IdSet, Known};

pub(super) const FIX: Fix = Fix {
    id: "F-CPUSET",
    name: text::NAME,
    answers: &[(rules::remote_memory::ID, 0), (rules::membind_mismatch::ID, 0), (rules::memory_spread::ID, 1)],
    executable: true,
    parameters: &[Parameter { name: "node", unit: "", about: text::ABOUT_NODE }],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let frame = case.frame;
    let process = subject(case).ok_or_else(|| Refusal::because(shared::PROCESS_GONE.to_string()))?;
    let node = wanted(case)?.or_else(|| home(frame, process));
    let node = node.ok_or_else(|| Refusal::until(text::NO_NODE.to_string(), text::NEEDS_CPUS.to_string()))?;
    let cpus = cpus(frame, process, node)?;
    let bytes = room(frame, process, node)?;
    let size = parts::bytes(Some(bytes as f64));
    let mut plan =
        case.plan(FIX.id, text::Title { process: &named(process), cpus: &cpus, node: &node, size: &size }.to_string());
    plan.identity = vec![identity(process)];
    plan.risk = Risk::Disruptive;
    plan.breaks = breaks(frame, bytes);
    plan.needs = needs_of(case, process);
    plan.reverters = reverters(frame);
    plan.verify = verify(case, process);
    match own_group(frame, process) {
        Some(group) => by_group(case, process, &group, &cpus, node, &mut plan),
        None => by_threads(process, &cpus, node, &mut plan),
    }
    plan.persistent = plan.persistent.or_else(|| Some(lasting(frame, process, &cpus, node)));
    Ok(plan)
}

/// The node that its affinity allows, else the one where it runs most.
fn home(frame: &Frame, process: &Process) -> Option<u32> {
    let most = || process.cpu_by_node.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(node, _)| *node);
    parts::bound_node(frame, process).or_else(most)
}

/// The part of its CPUs that a load may fill.
const FULL: f64 = 0.9;

/// Its allowed CPUs of the node, where its load fits them: those of its affinity mask where it fits these.
fn cpus(frame: &Frame, process: &Process, node: u32) -> Result<IdSet, Refusal> {
    let place = frame.topology.node(node).ok_or(Refusal::NotForThis)?;
    let cpus = place.cpus.intersection(&allowed(frame, process));
    let cores = process.cpu_cores.unwrap_or(0.0);
    let fits = |cpus: &IdSet| cores <= FULL * cpus.len() as f64;
    if cpus.is_empty() {
        return Err(Refusal::because(text::NoCpu { node: &node }.to_string()));
    }
    // Who is bound to some of them stays there: others may be full.
    let own = process.affinity.as_deref().map(|own| own.intersection(&cpus));
    if let Some(own) = own.filter(|own| !own.is_empty() && fits(own)) {
        return Ok(own);
    }
    if !fits(&cpus) {
        let used = format!("{cores:.1}");
        let why = text::TooSmall { used: &used, node: &node, count: &cpus.len() }.to_string();
        return Err(Refusal::until(why, text::NEEDS_SPLIT.to_string()));
    }
    Ok(cpus)
}

/// The cgroup v2 that contains only this process.
fn own_group<'a>(frame: &'a Frame, process: &Process) -> Option<Group<'a>> {
    let group = Group::at(frame, &process.cgroup, "cpuset").ok()?;
    let own = group.version == 2
        && &*process.cgroup != "/"
        && group.cgroup.cpuset_cpus.is_some()
        && group.cgroup.cpuset_mems.is_some()
        && group.cgroup.processes == Known::Value(1);
    own.then_some(group)
}

fn by_group(case: &Case<'_>, process: &Process, group: &Group<'_>, cpus: &IdSet, node: u32, plan: &mut Plan) {
    let (list, home) = (cpus.to_string(), node.to_string());
    let named = |name, value| Named { name, value };
    let first =
        group.setting(case, &text::STEP_CPUS, &list, &named("cpuset.cpus", &list), &named("AllowedCPUs", &list));
    let last =
        group.setting(case, &text::STEP_MEMS, &home, &named("cpuset.mems", &home), &named("AllowedMemoryNodes", &home));
    plan.identity.push(group.identity());
    plan.commands = vec![first.command, format!("migratepages {} all {node}", process.pid), last.command];
    let pages = Step { essential: false, ..step(process, node) };
    plan.steps = [first.step, pages, last.step].map(|step| Step { restore: Restore::Roughly, ..step }).to_vec();
    // Kernels before 6.2 forget the masks that threads had.
    plan.kept = first.kept.into_iter().chain(last.kept).collect();
    plan.kept.push(Target::Affinity { pid: process.pid, starttime: process.starttime });
    plan.needs.push(need());
    plan.breaks.push(text::BREAKS_REST.to_string());
    if process.policy.starts_with("bind") && parts::policy_nodes(&process.policy) != IdSet::from_ids([node]) {
        plan.breaks.push(text::BreaksPolicy { policy: &process.policy, node: &node }.to_string());
    }
    plan.undo = text::UNDO_CGROUP.to_string();
    plan.lost = vec![shared::LOST_PAGES.to_string(), text::LOST_EMPTY.to_string(), text::LOST_POLICY.to_string()];
    plan.reverters.extend(group.reverters(Some(text::REVERTER_KUBELET)));
    let unit = format!("AllowedCPUs={list}\nAllowedMemoryNodes={home}");
    plan.persistent = group.lasting(&unit, &kubernetes());
}

fn by_threads(process: &Process, cpus: &IdSet, node: u32, plan: &mut Plan) {
    let target = Target::Affinity { pid: process.pid, starttime: process.starttime };
    let threads = Step::new(shared::StepThreads { process: &named(process) }.to_string(), target, cpus.to_string());
    plan.steps = vec![threads, step(process, node)];
    plan.commands =
        vec![format!("taskset -apc {cpus} {}", process.pid), format!("migratepages {} all {node}", process.pid)];
    plan.breaks.push(text::BREAKS_THREADS.to_string());
    plan.breaks.extend(trap(process, node));
    plan.undo = text::UNDO_THREADS.to_string();
    plan.lost = vec![shared::LOST_PAGES.to_string(), shared::LOST_THREADS.to_string()];
}

/// The permanent configuration for its deployment.
fn lasting(frame: &Frame, process: &Process, cpus: &IdSet, node: u32) -> Snippet {
    match container(frame, process) {
        Some(container) if !container.pod_uid.is_empty() => {
            Snippet { place: shared::PLACE_KUBELET.to_string(), text: kubernetes() + "\n" }
        }
        Some(container) if &*container.runtime == "docker" => Snippet {
            place: text::PLACE_DOCKER.to_string(),
            text: format!("docker update --cpuset-cpus={cpus} --cpuset-mems={node} {}\n", quoted(&container.id)),
        },
        _ => match super::processes::service(&process.cgroup) {
            Some(unit) => Snippet {
                place: format!("/etc/systemd/system/{unit}.d/50-node.conf"),
                text: format!("[Service]\nCPUAffinity={cpus}\nNUMAPolicy=bind\nNUMAMask={node}\n"),
            },
            None => Snippet {
                place: shared::PLACE_START.to_string(),
                text: format!("numactl --cpunodebind={node} --membind={node} COMMAND\n"),
            },
        },
    }
}

/// The configuration that gives containers CPUs and memory of one node.
pub(super) fn kubernetes() -> String {
    [
        text::KUBELET_COMMENT.as_str(),
        "cpuManagerPolicy: static",
        "topologyManagerPolicy: single-numa-node",
        "memoryManagerPolicy: Static",
        text::POD_COMMENT.as_str(),
        "resources:",
        "  requests: {cpu: \"N\", memory: SIZE}",
        "  limits: {cpu: \"N\", memory: SIZE}",
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Refusal};
    use crate::frame::{Frame, ProcessMemory};
    use crate::{IdSet, Known};
    use std::sync::Arc;

    fn set(list: &str) -> Arc<IdSet> {
        Arc::new(IdSet::parse_list(list).expect("a list"))
    }

    /// One process of its own in a group of a service.
    fn grouped(frame: &mut Frame) {
        mounted(frame, 2);
        let group = &mut frame.cgroups[0];
        (group.cpuset_cpus, group.cpuset_mems) = (Some(set("0-7")), Some(set("0-1")));
        group.processes = Known::Value(1);
        group.inode = Known::Value(77);
    }

    fn why(result: Result<crate::fix::Plan, Refusal>) -> String {
        match result {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_group_of_its_own_is_bound_by_its_set() {
        insta::assert_snapshot!(plan_text(&plan(&FIX, "NUMA-01", &[], grouped).expect("a plan")));
    }

    #[test]
    fn systemds_groups_are_changed_by_systemd() {
        let plan = plan(&FIX, "NUMA-01", &[], |frame| {
            grouped(frame);
            frame.cgroups[0].path = "/system.slice/mq.service".into();
            frame.processes[0].cgroup = "/system.slice/mq.service".into();
        });
        let plan = plan.expect("a plan");
        insta::assert_snapshot!(plan.commands.join("\n"));
    }

    #[test]
    fn a_policy_that_binds_elsewhere_is_rewritten() {
        let plan = plan(&FIX, "NUMA-06", &[], |frame| {
            grouped(frame);
            let memory = ProcessMemory { by_node: vec![(1, 64 << 20)], ..ProcessMemory::default() };
            frame.processes[0].memory = Some(memory);
        });
        let plan = plan.expect("a plan");
        assert!(plan.breaks.iter().any(|line| line.contains("from bind:1 to bind:0")), "{:?}", plan.breaks);
    }

    #[test]
    fn others_in_the_group_are_left_alone() {
        let plan = plan(&FIX, "NUMA-01", &[("node", "0")], |frame| {
            grouped(frame);
            frame.cgroups[0].processes = Known::Value(3);
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn what_is_larger_than_a_node_is_refused() {
        let refused = plan(&FIX, "NUMA-02", &[], |frame| frame.processes[0].cpu_cores = Some(6.0));
        assert_eq!(why(refused), "it uses 6.0 cores, too many for node 1 (CPUs available to it: 4)");
        let full = plan(&FIX, "NUMA-01", &[], |frame| {
            grouped(frame);
            frame.nodes[0].memory_free_bytes = Known::Value(1 << 30);
        });
        assert!(why(full).starts_with("node 0 has 1.0 GiB free, less than 1.2×"));
    }
}
