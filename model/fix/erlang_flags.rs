//! F-BEAM-CFG: start options of an Erlang VM, for each way of running it.

use super::processes::{container, named, service, subject};
use super::{Case, Fix, Plan, Refusal, Risk, Snippet};
use crate::frame::{Frame, Process};
use crate::locale::evidence;
use crate::locale::fix as shared;
use crate::locale::fix::erlang_flags as text;
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-BEAM-CFG",
    name: text::NAME,
    answers: &[
        (rules::erlang_bind_overlap::ID, 0),
        (rules::erlang_scheduler_crowded::ID, 0),
        (rules::erlang_schedulers_over_quota::ID, 0),
    ],
    executable: false,
    parameters: &[],
    plan,
};

/// The wanted scheduler setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Unbound,
    /// The number of schedulers, without busy waiting.
    Schedulers(u32),
}

impl Wanted {
    fn flags(self) -> String {
        match self {
            Self::Unbound => "+sbt u".to_owned(),
            Self::Schedulers(count) => format!("+S {count}:{count} +sbwt none +sbwtdcpu none +sbwtdio none"),
        }
    }

    /// RabbitMQ's variable for it, without the RABBITMQ_ prefix.
    fn rabbit(self) -> (&'static str, String) {
        match self {
            Self::Unbound => ("SCHEDULER_BIND_TYPE", "u".to_owned()),
            Self::Schedulers(_) => ("SERVER_ADDITIONAL_ERL_ARGS", self.flags()),
        }
    }
}

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let frame = case.frame;
    let who = instances(case);
    let first = *who.first().ok_or_else(|| Refusal::because(shared::ERLANG_GONE.to_string()))?;
    let wanted = if case.finding.rule.id == rules::erlang_schedulers_over_quota::ID {
        let quota = case.finding.number(evidence::QUOTA).ok_or(Refusal::NotForThis)?;
        Wanted::Schedulers(quota.ceil().clamp(1.0, 1024.0) as u32)
    } else {
        Wanted::Unbound
    };
    let names = parts::list(who.iter().map(|process| named(process)), 4);
    let mut plan = case.plan(FIX.id, text::Title { processes: &names, flags: &wanted.flags() }.to_string());
    plan.snippets = snippets(frame, first, wanted);
    // Instances may be deployed in different ways.
    for process in who.iter().skip(1) {
        for snippet in snippets(frame, process, wanted) {
            if !plan.snippets.contains(&snippet) {
                plan.snippets.push(snippet);
            }
        }
    }
    if who.iter().any(|process| is_rabbit(process)) {
        plan.commands = restart();
    }
    plan.risk = Risk::Dangerous;
    plan.breaks = vec![text::BREAKS.to_string()];
    if who.iter().any(|process| is_rabbit(process)) {
        plan.breaks.push(text::BREAKS_OPERATOR.to_string());
        plan.breaks.push(text::BREAKS_QUORUM.to_string());
    }
    plan.undo = shared::UNDO_SETTING.to_string();
    Ok(plan)
}

/// The Erlang VMs that a finding is about.
pub(super) fn instances<'a>(case: &Case<'a>) -> Vec<&'a Process> {
    if case.finding.rule.id == rules::erlang_bind_overlap::ID {
        let (pids, _) = parts::colliding_beams(case.frame);
        return pids.iter().filter_map(|pid| case.frame.process(*pid)).collect();
    }
    subject(case).filter(|process| process.beam.is_some()).into_iter().collect()
}

/// True for RabbitMQ, by its arguments.
pub(super) fn is_rabbit(process: &Process) -> bool {
    process.cmdline.contains("rabbit")
}

/// The settings that keep the schedulers of an instance unbound, the one for its deployment first.
pub(super) fn settings(frame: &Frame, process: &Process) -> Vec<Snippet> {
    snippets(frame, process, Wanted::Unbound)
}

fn snippets(frame: &Frame, process: &Process, wanted: Wanted) -> Vec<Snippet> {
    let container = container(frame, process);
    let pod = container.is_some_and(|container| !container.pod_uid.is_empty() || !container.pod_name.is_empty());
    let unit = service(&process.cgroup);
    if !is_rabbit(process) {
        return erlang(unit, pod, container.is_some(), wanted);
    }
    let (name, value) = wanted.rabbit();
    let operator = Snippet {
        place: text::PLACE_OPERATOR.to_string(),
        text: format!("spec:\n  rabbitmq:\n    envConfig: |\n      RABBITMQ_{name}=\"{value}\"\n"),
    };
    let helm = Snippet {
        place: text::PLACE_HELM.to_string(),
        text: format!("extraEnvVars:\n  - name: RABBITMQ_{name}\n    value: \"{value}\"\n"),
    };
    let file = Snippet {
        place: "/etc/rabbitmq/rabbitmq-env.conf".to_owned(),
        text: format!("{name}={}\n", super::shell::quoted(&value)),
    };
    let docker = Snippet {
        place: text::PLACE_DOCKER.to_string(),
        text: format!("-e RABBITMQ_{name}={}\n", super::shell::quoted(&value)),
    };
    let unit = drop_in(unit.unwrap_or("rabbitmq-server.service"), &format!("RABBITMQ_{name}={value}"));
    match (pod, container.is_some()) {
        (true, _) => vec![operator, helm],
        (false, true) => vec![docker, file],
        (false, false) => vec![file, unit, operator, helm],
    }
}

fn erlang(unit: Option<&str>, pod: bool, container: bool, wanted: Wanted) -> Vec<Snippet> {
    let flags = wanted.flags();
    let mut snippets = Vec::new();
    if pod {
        let text = format!("env:\n  - name: ERL_FLAGS\n    value: \"{flags}\"\n");
        snippets.push(Snippet { place: text::PLACE_POD.to_string(), text });
    } else if container {
        let text = format!("-e ERL_FLAGS=\"{flags}\"\n");
        snippets.push(Snippet { place: "docker run, podman run".to_owned(), text });
    } else if let Some(unit) = unit {
        snippets.push(drop_in(unit, &format!("ERL_FLAGS={flags}")));
    }
    let text = format!("export ERL_FLAGS=\"{flags}\"\n");
    snippets.push(Snippet { place: text::PLACE_SCRIPT.to_string(), text });
    let lines: Vec<String> = flags
        .split(" +")
        .enumerate()
        .map(|(at, flag)| if at == 0 { flag.to_owned() } else { format!("+{flag}") })
        .collect();
    snippets.push(Snippet { place: text::PLACE_RELEASE.to_string(), text: lines.join("\n") + "\n" });
    snippets
}

fn drop_in(unit: &str, setting: &str) -> Snippet {
    Snippet {
        place: text::PlaceUnit { unit: &unit }.to_string(),
        text: format!("[Service]\nEnvironment=\"{setting}\"\n"),
    }
}

/// A restart node by node that keeps the quorum.
fn restart() -> Vec<String> {
    let lines = [
        "rabbitmq-diagnostics check_if_node_is_quorum_critical",
        "rabbitmq-upgrade drain",
        "rabbitmqctl shutdown",
        "rabbitmq-diagnostics check_running",
    ];
    lines.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_text};
    use super::FIX;
    use crate::frame::{Container, Frame};

    fn rabbits(frame: &mut Frame, place: &str, container: Option<Container>) {
        for process in &mut frame.processes {
            process.cmdline = "beam.smp -stbt db -s rabbit boot".into();
            process.cgroup = place.into();
        }
        frame.cgroups[0].path = place.into();
        frame.cgroups[0].container = container;
    }

    #[test]
    fn each_way_of_running_it_has_its_own_place() {
        let pod = Container {
            id: "0f".repeat(32).as_str().into(),
            runtime: "containerd".into(),
            pod_uid: "9d".into(),
            pod_name: "mq-0".into(),
            namespace: "load".into(),
            container_name: "rabbitmq".into(),
            ..Container::default()
        };
        let docker =
            Container { id: "ab".repeat(32).as_str().into(), runtime: "docker".into(), ..Container::default() };
        let cases =
            [("/kubepods/pod9d/0f", Some(pod)), ("/docker/ab", Some(docker)), ("/system.slice/mq@1.service", None)];
        let mut texts = Vec::new();
        for (place, container) in cases {
            let plan = plan(&FIX, "BEAM-01", &[], |frame| rabbits(frame, place, container.clone())).expect("a plan");
            assert!(plan.steps.is_empty());
            texts.push(plan_text(&plan));
        }
        insta::assert_snapshot!(texts.join("\n\n"));
    }

    #[test]
    fn other_emulators_are_told_by_their_flags() {
        let plan = plan(&FIX, "BEAM-03", &[], |frame| frame.processes[0].cgroup = "/mq".into()).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }
}
