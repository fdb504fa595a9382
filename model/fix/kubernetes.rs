//! F-K8S: CPUs and memory of a pod as its orchestrator gives them.

use super::advice::{plan as advice, snippet};
use super::cpuset::kubernetes;
use super::processes::{container, named, subject};
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::frame::{Container, Process};
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-K8S",
    name: "let Kubernetes give a pod CPUs and memory of its own",
    answers: &[
        (rules::erlang_bind_overlap::ID, 5),
        (rules::pinned_threads::ID, 5),
        (rules::cpu_throttled::ID, 6),
        (rules::threads_over_quota::ID, 6),
        (rules::remote_memory::ID, 5),
        (rules::memory_spread::ID, 5),
        (rules::membind_mismatch::ID, 5),
    ],
    executable: false,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let (who, container) = who(case).ok_or(Refusal::NotForThis)?;
    if container.pod_uid.is_empty() && container.pod_name.is_empty() {
        return Err(Refusal::NotForThis);
    }
    let mut plan = advice(case, FIX.id, format!("{who}: whole CPUs of one node, by the kubelet"), Risk::Dangerous);
    plan.snippets = vec![super::Snippet {
        place: "the kubelet's configuration and the pod's".to_owned(),
        text: kubernetes() + "\n",
    }];
    if matches!(case.finding.rule.id, rules::cpu_throttled::ID | rules::threads_over_quota::ID) {
        let lines = [
            "resources:",
            "  requests: {cpu: \"4\"}",
            "  limits: {cpu: \"4\"}     # whole CPUs; or no CPU limit at all, where nobody has to be kept from it",
        ];
        plan.snippets.push(snippet("the pod: a quota that fits its threads", &lines));
    }
    plan.breaks = vec![
        "the kubelet's policies change for every pod of the node: it is drained, its state files removed, the kubelet restarted".to_owned(),
        "a pod of class Guaranteed keeps its CPUs from others although it may not use them".to_owned(),
    ];
    "the policies as they were, with the node drained once more".clone_into(&mut plan.undo);
    Ok(plan)
}

/// Whose container it is about.
fn who<'a>(case: &Case<'a>) -> Option<(String, &'a Container)> {
    let of = |process: &'a Process| container(case.frame, process).map(|container| (named(process), container));
    match &case.finding.subject {
        Subject::Process(..) => of(subject(case)?),
        Subject::Cgroup(path) => {
            let mut groups = parts::above(path).filter_map(|path| case.frame.cgroup(path)?.container.as_ref());
            groups.find(|container| !container.id.is_empty()).map(|container| (path.to_string(), container))
        }
        Subject::Cpu(cpu) => {
            let here = |process: &&Process| {
                let pinned = |thread: &crate::frame::Thread| {
                    thread.affinity.as_deref().and_then(crate::IdSet::single) == Some(*cpu)
                };
                case.frame.threads_of(process.pid).iter().any(pinned)
            };
            case.frame.processes.iter().filter(here).find_map(of)
        }
        _ => None,
    }
}
