//! F-AFF: lets every thread of a process use the CPUs of its cpuset again.

use super::processes::{allowed, container, identity, named, needs, service, subject, watch};
use super::{Case, Fix, Parameter, Plan, Refusal, Risk, Snippet, Step, Target, Verify, erlang_flags};
use crate::IdSet;
use crate::Total as _;
use crate::diff::{Subject as Of, Watch};
use crate::frame::{Frame, Process, Thread};
use crate::locale::evidence;
use crate::locale::finding::YES;
use crate::locale::fix as shared;
use crate::locale::fix::thread_affinity as text;
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-AFF",
    name: text::NAME,
    answers: &[
        (rules::narrow_affinity::ID, 0),
        (rules::pinned_threads::ID, 0),
        (rules::core_saturated::ID, 0),
        (rules::erlang_bind_overlap::ID, 2),
        (rules::erlang_scheduler_crowded::ID, 2),
        (rules::node_imbalance::ID, 3),
    ],
    executable: true,
    parameters: &[Parameter { name: "cpus", unit: "list", about: text::ABOUT_CPUS }],
    plan,
};

/// Processes in one plan, at most: a user reads it before confirming.
const MOST: usize = 64;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let found = processes(case)?;
    let set = case.set.get("cpus").map(|list| wanted(list)).transpose()?;
    let mut taken = Vec::new();
    let mut moved: Vec<(&Process, IdSet)> = Vec::new();
    let mut refused = Vec::new();
    for process in found {
        match target(case.frame, process, set.as_ref(), &mut taken) {
            Ok(cpus) => moved.push((process, cpus)),
            Err(why) => refused.push(why),
        }
    }
    if moved.is_empty() {
        return Err(Refusal::because(parts::list(refused, 4)));
    }
    let who: Vec<&Process> = moved.iter().map(|(process, _)| *process).collect();
    let mut plan = case.plan(FIX.id, title(&moved));
    plan.identity = who.iter().map(|process| identity(process)).collect();
    for (process, cpus) in &moved {
        let target = Target::Affinity { pid: process.pid, starttime: process.starttime };
        plan.commands.push(format!("taskset -apc {cpus} {}", process.pid));
        plan.steps.push(Step::new(
            shared::StepThreads { process: &named(process) }.to_string(),
            target,
            cpus.to_string(),
        ));
    }
    plan.risk = Risk::Safe;
    plan.breaks = breaks(case, &who);
    plan.needs = needs(case, &who, text::NEED);
    plan.undo = text::UNDO.to_string();
    plan.lost = vec![shared::LOST_THREADS.to_string()];
    plan.reverters = reverters(case.frame, &who);
    plan.verify = verify(case, &who);
    plan.persistent = persistent(case, &moved);
    Ok(plan)
}

fn wanted(list: &str) -> Result<IdSet, Refusal> {
    let set = IdSet::parse_list(list).filter(|set| !set.is_empty());
    set.ok_or_else(|| Refusal::because(shared::CpuList { name: &"cpus", text: &list }.to_string()))
}

/// The processes that a finding is about.
fn processes<'a>(case: &Case<'a>) -> Result<Vec<&'a Process>, Refusal> {
    let frame = case.frame;
    let found: Vec<&Process> = match (case.finding.rule.id, &case.finding.subject) {
        (rules::erlang_bind_overlap::ID, _) => {
            let (pids, _) = parts::colliding_beams(frame);
            pids.iter().filter_map(|pid| frame.process(*pid)).collect()
        }
        (rules::node_imbalance::ID, Subject::Node(node)) => {
            if case.finding.text(evidence::BOUND) != YES.english() {
                return Err(Refusal::NotForThis);
            }
            let works = |process: &&Process| process.cpu_by_node.iter().any(|(id, cores)| id == node && *cores >= 0.2);
            let bound = |process: &&Process| parts::bound_node(frame, process) == Some(*node);
            frame.processes.iter().filter(|process| !process.kernel).filter(works).filter(bound).collect()
        }
        (rule, Subject::Cpu(cpu)) => {
            if frame.cpu(*cpu).is_some_and(|cpu| cpu.isolated) {
                return Err(Refusal::because(text::Isolated { cpu: &cpu }.to_string()));
            }
            let pinned =
                |process: &&Process| frame.threads_of(process.pid).iter().any(|thread| is_pinned(frame, thread, *cpu));
            let found: Vec<&Process> =
                frame.processes.iter().filter(|process| !process.kernel).filter(pinned).collect();
            if found.is_empty() && rule == rules::core_saturated::ID {
                return Err(Refusal::NotForThis);
            }
            found
        }
        _ => subject(case).into_iter().collect(),
    };
    match found.len() {
        0 => Err(Refusal::because(text::GONE.to_string())),
        many if many > MOST => Err(Refusal::because(text::TooMany { count: &many }.to_string())),
        _ => Ok(found),
    }
}

fn is_pinned(frame: &Frame, thread: &Thread, cpu: u32) -> bool {
    let only = thread.affinity.as_deref().map(|cpus| cpus.intersection(&frame.topology.cpus_online));
    is_movable(thread) && only.and_then(|cpus| cpus.single()) == Some(cpu)
}

/// False for kernel-bound and real-time threads: their placement is intentional.
fn is_movable(thread: &Thread) -> bool {
    !thread.fixed && !thread.policy.value().is_some_and(parts::is_real_time)
}

/// The new CPUs of a process, or why nothing changes.
fn target(frame: &Frame, process: &Process, set: Option<&IdSet>, taken: &mut Vec<(u32, f64)>) -> Result<IdSet, String> {
    let who = named(process);
    let threads = frame.threads_of(process.pid);
    if !threads.is_empty() && !threads.iter().any(is_movable) {
        return Err(text::NotMovable { process: &who }.to_string());
    }
    let allowed = allowed(frame, process);
    let cpus = match set {
        Some(set) if set.is_subset(&allowed) => set.clone(),
        Some(set) => return Err(text::Outside { process: &who, allowed: &allowed, cpus: &set }.to_string()),
        None => near(frame, process, &allowed, taken).unwrap_or_else(|| allowed.clone()),
    };
    if cpus.is_empty() {
        return Err(text::Offline { process: &who }.to_string());
    }
    let movable: Vec<&Thread> = threads.iter().filter(|thread| is_movable(thread)).collect();
    // A mask may name CPUs that are offline or outside the cpuset: the kernel uses the rest.
    let is_so = |mask: &IdSet| mask.intersection(&allowed) == cpus;
    let there = |thread: &&Thread| thread.affinity.as_deref().is_some_and(is_so);
    let read: Vec<&IdSet> = process.thread_affinities.iter().map(|group| &*group.cpus).collect();
    let are_all = !read.is_empty() && read.iter().all(|mask| is_so(mask));
    if (!movable.is_empty() && movable.iter().all(there)) || (movable.is_empty() && are_all) {
        return Err(if allowed == cpus {
            text::HasCpuset { process: &who, cpus: &cpus }.to_string()
        } else {
            text::HasNode { process: &who, cpus: &cpus }.to_string()
        });
    }
    Ok(cpus)
}

/// The CPUs of the node with most of a process's memory, where its demand fits the free capacity there.
fn near(frame: &Frame, process: &Process, allowed: &IdSet, taken: &mut Vec<(u32, f64)>) -> Option<IdSet> {
    // An unbound Erlang VM uses its whole cpuset.
    if process.beam.is_some() || frame.topology.cpu_nodes().nth(1).is_none() {
        return None;
    }
    let memory = &process.memory.as_ref()?.by_node;
    let total = memory.iter().map(|(_, bytes)| *bytes).total();
    let (home, bytes) = memory.iter().max_by_key(|(_, bytes)| *bytes)?;
    if total == 0 || (*bytes as f64) < 0.8 * total as f64 {
        return None;
    }
    let cpus = frame.topology.node(*home)?.cpus.intersection(allowed);
    let wanted: f64 = frame.threads_of(process.pid).iter().filter_map(|thread| thread.demand_cores).sum();
    let wanted = wanted.max(process.cpu_cores.unwrap_or(0.0));
    let own = process.cpu_by_node.iter().find(|(node, _)| node == home).map_or(0.0, |(_, cores)| *cores);
    let idle: f64 = cpus.iter().filter_map(|cpu| frame.cpu(cpu)?.busy()).map(|busy| 1.0 - busy).sum();
    let before: f64 = taken.iter().filter(|(node, _)| node == home).map(|(_, cores)| cores).sum();
    let fits = !cpus.is_empty() && wanted <= idle + own - before;
    fits.then(|| {
        taken.push((*home, wanted - own));
        cpus
    })
}

fn title(moved: &[(&Process, IdSet)]) -> String {
    let who = parts::list(moved.iter().map(|(process, _)| named(process)), 4);
    let same = moved.windows(2).all(|pair| matches!(pair, [a, b] if a.1 == b.1));
    match moved.first() {
        Some((_, cpus)) if same => text::Title { processes: &who, cpus: &cpus }.to_string(),
        _ => text::TitleCpuset { processes: &who }.to_string(),
    }
}

fn breaks(case: &Case<'_>, who: &[&Process]) -> Vec<String> {
    let mut breaks = vec![text::BREAKS.to_string()];
    let threads = || who.iter().flat_map(|process| case.frame.threads_of(process.pid));
    let left = threads().filter(|thread| !is_movable(thread)).count();
    if left > 0 {
        breaks.push(text::BreaksFixed { count: left as u64 }.to_string());
    }
    let unread = |process: &&&Process| {
        !parts::above(process.cpuset_group())
            .any(|path| case.frame.cgroup(path).is_some_and(|group| group.cpuset_cpus.is_some()))
    };
    let unread = parts::list(who.iter().filter(unread).map(|process| named(process)), 4);
    if !unread.is_empty() {
        breaks.push(text::BreaksUnread { processes: &unread }.to_string());
    }
    if case.finding.rule.id == rules::node_imbalance::ID {
        breaks.push(text::BREAKS_REMOTE.to_string());
    }
    breaks
}

fn reverters(frame: &Frame, who: &[&Process]) -> Vec<String> {
    let mut reverters = Vec::new();
    if who.iter().any(|process| process.beam.is_some()) {
        reverters.push(text::REVERTER_ERLANG.to_string());
    }
    if who.iter().any(|process| container(frame, process).is_some_and(|container| !container.pod_uid.is_empty())) {
        reverters.push(text::REVERTER_KUBELET.to_string());
    }
    reverters.push(shared::REVERTER_PROCESS.to_string());
    reverters
}

fn verify(case: &Case<'_>, who: &[&Process]) -> Verify {
    let cores: Vec<Watch> = who.iter().map(|process| watch(case.frame, process, "process.cores")).collect();
    let mut waits: Vec<Watch> = who.iter().map(|process| watch(case.frame, process, "process.wait")).collect();
    waits.dedup();
    let one = cores.first().filter(|first| cores.iter().all(|watch| watch == *first)).cloned();
    let host = |metric| Watch { subject: Of::Host, metric };
    let mut shown = cores;
    shown.dedup();
    shown.push(host("host.busiest_cpu"));
    if let Subject::Cpu(cpu) = case.finding.subject {
        shown.push(Watch { subject: Of::Cpu(cpu), metric: "cpu.busy" });
    }
    let load = one.unwrap_or_else(|| host("host.busy"));
    shown.retain(|watch| *watch != load);
    let cost = waits.first().cloned();
    Verify { load: Some(load), cost, guards: waits, shown, settle_seconds: 5, ..case.plan(FIX.id, "").verify }
}

/// The permanent configuration: of the runtime, or of the unit.
fn persistent(case: &Case<'_>, moved: &[(&Process, IdSet)]) -> Option<Snippet> {
    let (process, cpus) = moved.first()?;
    if process.beam.is_some() {
        return erlang_flags::settings(case.frame, process).into_iter().next();
    }
    let unit = service(&process.cgroup)?;
    Some(Snippet {
        place: text::Place { unit: &unit }.to_string(),
        text: format!("[Service]\nCPUAffinity=\nCPUAffinity={cpus}\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_for, plan_text, surroundings};
    use super::{FIX, Refusal};
    use crate::fix::Surroundings;
    use crate::frame::{Frame, ProcessMemory, Thread};
    use crate::rules::sick;
    use crate::{IdSet, Known};
    use std::sync::Arc;

    fn set(list: &str) -> Arc<IdSet> {
        Arc::new(IdSet::parse_list(list).expect("a list"))
    }

    fn plan_text_of(rule: &str, change: impl Fn(&mut Frame)) -> String {
        plan_text(&plan(&FIX, rule, &[], change).expect("a plan"))
    }

    fn why(result: Result<crate::fix::Plan, Refusal>) -> String {
        match result {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn colliding_instances_are_one_plan() {
        insta::assert_snapshot!(plan_text_of("BEAM-01", |_| ()));
    }

    #[test]
    fn each_instance_gets_the_cpus_of_its_own_set() {
        let text = plan_text_of("BEAM-01", |frame| {
            let mut other = frame.cgroups[0].clone();
            other.path = "/nq".into();
            other.cpuset_cpus = Some(set("0-1"));
            frame.cgroups[0].cpuset_cpus = Some(set("0-3,64-99"));
            frame.cgroups.push(other);
            frame.processes[1].cgroup = "/nq".into();
        });
        insta::assert_snapshot!(text);
    }

    #[test]
    fn pinned_threads_go_where_their_memory_is_when_it_fits() {
        let home = |frame: &mut Frame| {
            frame.processes[0].memory =
                Some(ProcessMemory { by_node: vec![(1, 900), (0, 100)], ..ProcessMemory::default() });
        };
        insta::assert_snapshot!(plan_text_of("CPU-03", home));
        let full = plan(&FIX, "CPU-03", &[], |frame| {
            home(frame);
            for cpu in frame.cpus.iter_mut().filter(|cpu| cpu.id >= 4) {
                cpu.shares.as_mut().expect("shares").busy = 0.45;
            }
        });
        assert_eq!(full.expect("a plan").steps[0].new, "0-7");
    }

    #[test]
    fn a_mask_is_widened() {
        insta::assert_snapshot!(plan_text_of("CPU-07", |frame| frame.processes[0].uid = Known::Value(0)));
    }

    #[test]
    fn threads_that_are_pinned_on_purpose_stay() {
        let (mut frame, finding) = sick("CPU-03", |_| ());
        for thread in &mut frame.threads {
            (thread.policy, thread.affinity) = (Known::Value(1), Some(set("2")));
        }
        let gone = plan_for(&FIX, &frame, &finding, &[], &surroundings());
        assert_eq!(why(gone), "the pinned threads have exited or are no longer pinned");
        frame.threads.push(Thread { fixed: true, policy: Known::Value(0), ..frame.threads[0].clone() });
        frame.threads[0].policy = Known::Value(0);
        let plan = plan_for(&FIX, &frame, &finding, &[], &surroundings()).expect("a plan");
        assert!(plan.breaks.iter().any(|line| line.starts_with("2 real-time")), "{:?}", plan.breaks);
        frame.cpus[2].isolated = true;
        assert!(why(plan_for(&FIX, &frame, &finding, &[], &surroundings())).contains("isolated"));
    }

    #[test]
    fn isolated_and_offline_cpus_are_nobodys() {
        let plan = plan(&FIX, "CPU-03", &[], |frame| {
            frame.processes[0].memory = None;
            let topology = Arc::make_mut(&mut frame.topology);
            topology.cpus[5].isolated = true;
            topology.cpus_online = (*set("0-6")).clone();
        });
        assert_eq!(plan.expect("a plan").steps[0].new, "0-4,6");
    }

    #[test]
    fn a_list_has_to_be_of_its_set() {
        let narrow = |frame: &mut Frame| frame.cgroups[0].cpuset_cpus = Some(set("0-3"));
        assert_eq!(plan(&FIX, "CPU-03", &[("cpus", "1,3")], narrow).expect("a plan").steps[0].new, "1,3");
        assert_eq!(
            why(plan(&FIX, "CPU-03", &[("cpus", "3-4")], narrow)),
            "java (100): the cpuset 0-3 does not include all of 3-4"
        );
        assert!(why(plan(&FIX, "CPU-03", &[("cpus", "x")], narrow)).contains("use a CPU list"));
    }

    #[test]
    fn what_has_every_cpu_already_is_left() {
        let (mut frame, finding) = sick("CPU-07", |frame| frame.processes[0].memory = None);
        frame.threads.iter_mut().for_each(|thread| thread.affinity = Some(set("0-7,64-99")));
        let refused = plan_for(&FIX, &frame, &finding, &[], &surroundings());
        assert_eq!(why(refused), "java (100): its threads can already run on CPU(s) 0-7, the whole cpuset");
    }

    #[test]
    fn whoever_owns_the_threads_needs_nothing() {
        let (mut frame, finding) = sick("BEAM-01", |_| ());
        frame.processes.iter_mut().for_each(|process| process.uid = Known::Value(1000));
        let as_user = |uid| Surroundings { uid, ..Surroundings::default() };
        assert!(plan_for(&FIX, &frame, &finding, &[], &as_user(1000)).expect("a plan").needs.is_empty());
        let other = plan_for(&FIX, &frame, &finding, &[], &as_user(1001)).expect("a plan");
        assert_eq!(other.needs[0].capability, "CAP_SYS_NICE");
    }

    #[test]
    fn what_has_gone_is_refused() {
        let (mut frame, finding) = sick("CPU-07", |_| ());
        frame.processes.iter_mut().for_each(|process| process.starttime += 1);
        assert!(why(plan_for(&FIX, &frame, &finding, &[], &surroundings())).contains("exited"));
    }
}
