//! F-CPUSET: a process to one node, CPUs and memory: CPUs now, pages in chunks, the nodes of its memory last.

use super::group::{Group, Named, need};
use super::migrate::{breaks, needs_of, reverters, room, step, trap, verify, wanted};
use super::processes::{allowed, container, identity, named, subject};
use super::shell::quoted;
use super::{Case, Fix, Parameter, Plan, Refusal, Restore, Risk, Snippet, Step, Target};
use crate::frame::{Frame, Process};
use crate::rules;
use crate::rules::parts;
use crate::{IdSet, Known};

pub(super) const FIX: Fix = Fix {
    id: "F-CPUSET",
    name: "bind a process to one node, CPUs and memory",
    answers: &[(rules::remote_memory::ID, 0), (rules::membind_mismatch::ID, 0), (rules::memory_spread::ID, 1)],
    executable: true,
    parameters: &[Parameter { name: "node", unit: "", about: "the node; else the one that it runs on most" }],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let frame = case.frame;
    let process = subject(case).ok_or_else(|| Refusal::because("the process is gone"))?;
    let node = wanted(case)?.or_else(|| home(frame, process));
    let node = node.ok_or_else(|| Refusal::until("which node it runs on is not known", "its threads' CPUs"))?;
    let cpus = cpus(frame, process, node)?;
    let bytes = room(frame, process, node)?;
    let size = parts::bytes(Some(bytes as f64));
    let mut plan =
        case.plan(FIX.id, format!("{}: CPUs {cpus} and memory of node {node}, {size} to move", named(process)));
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

/// The node that it may run on only, else the one that it runs on most.
fn home(frame: &Frame, process: &Process) -> Option<u32> {
    let most = || process.cpu_by_node.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(node, _)| *node);
    parts::bound_node(frame, process).or_else(most)
}

/// The CPUs of the node that it may have, where what it does fits them.
fn cpus(frame: &Frame, process: &Process, node: u32) -> Result<IdSet, Refusal> {
    let place = frame.topology.node(node).ok_or(Refusal::NotForThis)?;
    let cpus = place.cpus.intersection(&allowed(frame, process));
    let cores = process.cpu_cores.unwrap_or(0.0);
    if cpus.is_empty() {
        return Err(Refusal::because(format!("its set has no CPU of node {node}")));
    }
    if cores > 0.9 * cpus.len() as f64 {
        let why = format!("it uses {cores:.1} cores, and it may have {} CPUs of node {node}", cpus.len());
        return Err(Refusal::until(why, "an instance for each node: topotop plan numa"));
    }
    Ok(cpus)
}

/// The group of the second version that holds this process and no other one.
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
        group.setting(case, "CPUs of its group", &list, &named("cpuset.cpus", &list), &named("AllowedCPUs", &list));
    let last = group.setting(
        case,
        "nodes of its group's memory",
        &home,
        &named("cpuset.mems", &home),
        &named("AllowedMemoryNodes", &home),
    );
    plan.identity.push(group.identity());
    plan.commands = vec![first.command, format!("migratepages {} all {node}", process.pid), last.command];
    let pages = Step { essential: false, ..step(process, node) };
    plan.steps = [first.step, pages, last.step].map(|step| Step { restore: Restore::Roughly, ..step }).to_vec();
    // Kernels before 6.2 forget the masks that threads had.
    plan.kept = vec![Target::Affinity { pid: process.pid, starttime: process.starttime }];
    plan.needs.push(need());
    plan.breaks.push("what has not been moved by then is moved at once when the nodes are set: the process may stand still for that long".to_owned());
    if process.policy.starts_with("bind") && parts::policy_nodes(&process.policy) != IdSet::from_ids([node]) {
        plan.breaks
            .push(format!("its policy {} is rewritten by the kernel to bind:{node}, and stays so", process.policy));
    }
    plan.undo = format!(
        "the lists that the group had, then the masks of its threads and the bytes on each node; {}",
        "a list that was empty becomes that of the group above"
    );
    plan.lost = vec![
        "which page was on which node: only the bytes on each are put back".to_owned(),
        "an empty cpuset.cpus or cpuset.mems: the kernel takes none back while processes are in the group, so the list of the group above is written".to_owned(),
        "the nodes of a memory policy that was rewritten".to_owned(),
    ];
    let kubelet = "the kubelet, where its static CPU manager keeps the group's CPUs";
    plan.reverters.extend(group.reverters(kubelet));
    let unit = format!("AllowedCPUs={list}\nAllowedMemoryNodes={home}");
    plan.persistent = group.lasting(&unit, &kubernetes());
}

fn by_threads(process: &Process, cpus: &IdSet, node: u32, plan: &mut Plan) {
    let target = Target::Affinity { pid: process.pid, starttime: process.starttime };
    let threads = Step::new(format!("CPUs of the threads of {}", named(process)), target, cpus.to_string());
    plan.steps = vec![threads, step(process, node)];
    plan.commands =
        vec![format!("taskset -apc {cpus} {}", process.pid), format!("migratepages {} all {node}", process.pid)];
    plan.breaks
        .push("it has no cpuset of its own: its threads are bound one by one, and nothing binds its memory".to_owned());
    plan.breaks.extend(trap(process, node));
    "the mask that each thread had, then pages until each node has as many bytes as before".clone_into(&mut plan.undo);
    plan.lost = vec![
        "which page was on which node: only the bytes on each are put back".to_owned(),
        "threads that have ended".to_owned(),
    ];
}

/// What keeps it where nothing else is known: the way that fits how it is run.
fn lasting(frame: &Frame, process: &Process, cpus: &IdSet, node: u32) -> Snippet {
    match container(frame, process) {
        Some(container) if !container.pod_uid.is_empty() => {
            Snippet { place: "the kubelet's configuration and the pod's".to_owned(), text: kubernetes() + "\n" }
        }
        Some(container) if &*container.runtime == "docker" => Snippet {
            place: "docker; the same options for docker run".to_owned(),
            text: format!("docker update --cpuset-cpus={cpus} --cpuset-mems={node} {}\n", quoted(&container.id)),
        },
        _ => match super::processes::service(&process.cgroup) {
            Some(unit) => Snippet {
                place: format!("/etc/systemd/system/{unit}.d/50-node.conf"),
                text: format!("[Service]\nCPUAffinity={cpus}\nNUMAPolicy=bind\nNUMAMask={node}\n"),
            },
            None => Snippet {
                place: "what starts it".to_owned(),
                text: format!("numactl --cpunodebind={node} --membind={node} COMMAND\n"),
            },
        },
    }
}

/// What gives containers CPUs and memory of one node.
pub(super) fn kubernetes() -> String {
    [
        "# kubelet configuration; the node is drained, and cpu_manager_state and memory_manager_state removed, first",
        "cpuManagerPolicy: static",
        "topologyManagerPolicy: single-numa-node",
        "memoryManagerPolicy: Static",
        "# pod: of class Guaranteed, with whole CPUs",
        "resources:",
        "  requests: {cpu: \"N\", memory: SIZE}",
        "  limits: {cpu: \"N\", memory: SIZE}",
    ]
    .join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, told};
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
        insta::assert_snapshot!(told(&plan(&FIX, "NUMA-01", &[], grouped).expect("a plan")));
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
        assert!(
            plan.breaks.iter().any(|line| line.contains("bind:1 is rewritten by the kernel to bind:0")),
            "{:?}",
            plan.breaks
        );
    }

    #[test]
    fn others_in_the_group_are_left_alone() {
        let plan = plan(&FIX, "NUMA-01", &[("node", "0")], |frame| {
            grouped(frame);
            frame.cgroups[0].processes = Known::Value(3);
        });
        insta::assert_snapshot!(told(&plan.expect("a plan")));
    }

    #[test]
    fn what_is_larger_than_a_node_is_refused() {
        let refused = plan(&FIX, "NUMA-02", &[], |frame| frame.processes[0].cpu_cores = Some(6.0));
        assert_eq!(why(refused), "it uses 6.0 cores, and it may have 4 CPUs of node 1");
        let full = plan(&FIX, "NUMA-01", &[], |frame| {
            grouped(frame);
            frame.nodes[0].memory_free_bytes = Known::Value(1 << 30);
        });
        assert!(why(full).starts_with("node 0 has 1.0 GiB free, less than 1.2 times"));
    }
}
