//! F-K8S: exclusive CPUs and local memory for a pod, through Kubernetes.

use super::advice::{plan as advice, snippet};
use super::node_binding::kubernetes;
use super::processes::{container, named, subject};
use super::{Case, Fix, Plan, Refusal, Risk};
use crate::frame::{Container, Process};
use crate::locale::fix as shared;
use crate::locale::fix::kubernetes as text;
use crate::rules;
use crate::rules::{Subject, parts};

pub(super) const FIX: Fix = Fix {
    id: "F-K8S",
    name: text::NAME,
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
    let mut plan = advice(case, FIX.id, text::Title { subject: &who }.to_string(), Risk::Dangerous);
    plan.snippets = vec![super::Snippet { place: shared::PLACE_KUBELET.to_string(), text: kubernetes() + "\n" }];
    if matches!(case.finding.rule.id, rules::cpu_throttled::ID | rules::threads_over_quota::ID) {
        let lines =
            ["resources:", "  requests: {cpu: \"4\"}", &format!("  limits: {{cpu: \"4\"}}     # {}", text::COMMENT)];
        plan.snippets.push(snippet(text::PLACE_QUOTA.to_string(), &lines));
    }
    plan.breaks = vec![text::BREAKS_NODE.to_string(), text::BREAKS_IDLE.to_string()];
    plan.undo = text::UNDO.to_string();
    Ok(plan)
}

/// The finding's container and the name of its process or cgroup.
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
