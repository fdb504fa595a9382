//! F-BEAM-BIF: unbinds the schedulers of a running Erlang VM through its own function.

use super::erlang_flags::{instances, is_rabbit};
use super::processes::{container, identity, named};
use super::shell::quoted;
use super::{Case, Fix, Plan, Refusal, Risk, Snippet};
use crate::frame::{Container, Frame, Process};
use crate::locale::fix as shared;
use crate::locale::fix::erlang_unbind as text;
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-BEAM-BIF",
    name: text::NAME,
    answers: &[(rules::erlang_bind_overlap::ID, 1), (rules::erlang_scheduler_crowded::ID, 1)],
    executable: false,
    parameters: &[],
    plan,
};

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let who = instances(case);
    if who.is_empty() {
        return Err(Refusal::because(shared::ERLANG_GONE.to_string()));
    }
    let names = parts::list(who.iter().map(|process| named(process)), 4);
    let mut plan = case.plan(FIX.id, text::Title { processes: &names }.to_string());
    plan.identity = who.iter().map(|process| identity(process)).collect();
    plan.commands = who.iter().map(|process| asked(case.frame, process, "unbound")).collect();
    plan.risk = Risk::Safe;
    plan.breaks = vec![text::BREAKS_TOOL.to_string(), text::BREAKS_FLAG.to_string()];
    plan.breaks.extend(room(case.frame, &who));
    plan.undo = text::UNDO.to_string();
    let text: Vec<String> = who.iter().map(|process| asked(case.frame, process, atom(process))).collect();
    plan.snippets = vec![
        Snippet { place: text::PLACE_BIND.to_string(), text: text.join("\n") + "\n" },
        Snippet {
            place: text::PLACE_CHECK.to_string(),
            text: who.iter().map(|process| format!("taskset -apc {}", process.pid)).collect::<Vec<_>>().join("\n")
                + "\n",
        },
    ];
    plan.reverters = vec![text::REVERTER.to_string()];
    Ok(plan)
}

/// The bind type as the VM's function names it (erl(1), `+sbt`).
fn atom(process: &Process) -> &'static str {
    let beam = process.beam.as_ref();
    match beam.and_then(|beam| beam.bind_type_configured.clone().value()).as_deref() {
        Some("u") => "unbound",
        Some("ns") => "no_spread",
        Some("ts") => "thread_spread",
        Some("ps") => "processor_spread",
        Some("s") => "spread",
        Some("nnts") => "no_node_thread_spread",
        Some("nnps") => "no_node_processor_spread",
        Some("tnnps") => "thread_no_node_processor_spread",
        _ => "default_bind",
    }
}

/// The command that sets the bind type of an instance, run where its tools are.
fn asked(frame: &Frame, process: &Process, kind: &str) -> String {
    let call = format!("erlang:system_flag(scheduler_bind_type, {kind}).");
    let inside = if is_rabbit(process) {
        format!("rabbitmqctl eval {}", quoted(&call))
    } else {
        // Releases have a script of the same name.
        format!("bin/NAME eval {}", quoted(&call))
    };
    let nsenter = || format!("nsenter -t {} -a -- {inside}", process.pid);
    let Some(container) = container(frame, process) else {
        let login = if is_rabbit(process) { "sudo -u rabbitmq " } else { "" };
        return format!("{login}{inside}");
    };
    let id = quoted(&container.id);
    match &*container.runtime {
        _ if is_named_pod(container) => {
            let (space, pod) = (quoted(&container.namespace), quoted(&container.pod_name));
            let inner = if container.container_name.is_empty() {
                String::new()
            } else {
                format!(" -c {}", quoted(&container.container_name))
            };
            format!("kubectl exec -n {space} {pod}{inner} -- {inside}")
        }
        "docker" => format!("docker exec {id} {inside}"),
        "podman" => format!("podman exec {id} {inside}"),
        "containerd" | "cri-o" => format!("crictl exec {id} {inside}"),
        _ => nsenter(),
    }
}

fn is_named_pod(container: &Container) -> bool {
    !container.namespace.is_empty() && !container.pod_name.is_empty()
}

/// Warns of cgroups with little memory left below their limits.
fn room(frame: &Frame, who: &[&Process]) -> Vec<String> {
    let mut lines = Vec::new();
    for process in who {
        let memory =
            frame.cgroup(&process.cgroup).and_then(|group| group.memory.as_ref()).filter(|memory| memory.is_limited());
        let left = memory
            .and_then(|memory| memory.effective_limit_bytes.value()?.checked_sub(memory.unreclaimable_bytes.value()?));
        if let Some(left) = left.filter(|left| *left < 512 << 20) {
            lines.push(
                text::BreaksTight { process: &named(process), size: &parts::bytes(Some(left as f64)) }.to_string(),
            );
        }
    }
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_text};
    use super::FIX;
    use crate::Known;
    use crate::frame::{Container, Frame};

    fn in_container(frame: &mut Frame, container: Container) {
        frame.cgroups[0].container = Some(Container { id: "c0ffee".into(), ..container });
        frame.processes.iter_mut().for_each(|process| process.cmdline = "beam.smp -s rabbit boot".into());
    }

    #[test]
    fn each_runtime_has_its_own_way_in() {
        let runtime = |name: &str| Container { runtime: name.into(), ..Container::default() };
        let pod = Container { namespace: "a b".into(), pod_name: "mq-0".into(), ..runtime("containerd") };
        let mut commands = Vec::new();
        for container in [runtime("docker"), runtime("podman"), runtime("cri-o"), runtime("lxc"), pod] {
            let plan = plan(&FIX, "BEAM-01", &[], |frame| in_container(frame, container.clone())).expect("a plan");
            commands.extend(plan.commands.into_iter().take(1));
        }
        insta::assert_snapshot!(commands.join("\n"));
    }

    #[test]
    fn a_tight_group_is_told() {
        let plan = plan(&FIX, "BEAM-02", &[], |frame| {
            let memory = frame.cgroups[0].memory.as_mut().expect("memory");
            memory.unreclaimable_bytes = Known::Value(4 << 30);
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }
}
