//! Shared by advice: plans that are shown and never executed.

use super::{Case, Plan, Risk, Snippet};

/// A plan that writes nothing.
pub(super) fn plan(case: &Case<'_>, fix: &'static str, title: impl Into<String>, risk: Risk) -> Plan {
    let mut plan = case.plan(fix, title);
    plan.risk = risk;
    plan
}

/// A snippet.
pub(super) fn snippet(place: impl Into<String>, lines: &[&str]) -> Snippet {
    Snippet { place: place.into(), text: lines.join("\n") + "\n" }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{plan, plan_text};
    use super::super::{ALL, Case, Fix, Surroundings, offers};
    use crate::frame::{Container, Frame, Mount, Thread, Writer, WriterId};
    use crate::rules::{self, sick};
    use std::collections::BTreeMap;

    fn fix(id: &str) -> &'static Fix {
        ALL.iter().find(|fix| fix.id == id).expect("a fix")
    }

    fn plan_text_of(id: &str, rule: &str, change: impl Fn(&mut Frame)) -> String {
        let plan = plan(fix(id), rule, &[], change).expect("a plan");
        assert!(plan.steps.is_empty() && plan.kept.is_empty(), "{id} is advice");
        plan_text(&plan)
    }

    fn mounts(frame: &mut Frame) {
        let mount = |path: &str| Mount { path: path.into(), ..Mount::default() };
        frame.disks[0].mounts = vec![mount("/"), mount("/var/lib/it's")];
        for (at, path) in ["/system.slice/rabbitmq-server.service", "/es"].into_iter().enumerate() {
            if let Some(writer) = frame.disks[0].writers.get_mut(at) {
                *writer = Writer { who: WriterId::Cgroup(path.into()), ..writer.clone() };
            }
        }
    }

    #[test]
    fn advice_reads_well() {
        let text = [
            plan_text_of("F-NUMA-SPLIT", "NUMA-02", |_| ()),
            plan_text_of("F-NUMA-SPLIT", "NUMA-03", |_| ()),
            plan_text_of("F-MOVE", "IO-02", mounts),
            plan_text_of("F-CONFIRM", "IO-07", |_| ()),
            plan_text_of("F-THREADS", "CPU-06", |_| ()),
        ];
        insta::assert_snapshot!(text.join("\n\n"));
    }

    #[test]
    fn containers_are_configured_by_their_orchestrators() {
        let text = plan_text_of("F-K8S", "CPU-06", |frame| {
            let pod = Container { id: "c0ffee".into(), pod_uid: "9d".into(), ..Container::default() };
            frame.cgroups[0].container = Some(pod);
        });
        insta::assert_snapshot!(text);
        assert!(plan(fix("F-K8S"), "CPU-06", &[], |_| ()).is_err(), "not orchestrated");
    }

    #[test]
    fn each_runtime_has_its_own_setting() {
        let with = |cmdline: &'static str, thread: &'static str| {
            plan_text_of("F-THREADS", "CPU-06", |frame| {
                frame.processes[0].cmdline = cmdline.into();
                frame.threads.iter_mut().for_each(|row: &mut Thread| row.comm = thread.into());
                frame.processes[0].comm = "app".into();
            })
        };
        assert!(with("/usr/bin/java -jar a.jar", "GC Thread#0").contains("-XX:ActiveProcessorCount=2"));
        assert!(with("dotnet a.dll", ".NET Server GC").contains("DOTNET_PROCESSOR_COUNT=2"));
        let unknown = with("./server", "worker");
        assert!(unknown.contains("GOMAXPROCS=2") && unknown.contains("-XX:ActiveProcessorCount=2"), "{unknown}");
    }

    /// Whatever a finding is about, its fixes are plans or refusals with a reason, and none panics.
    #[test]
    fn every_finding_has_plans_or_reasoned_refusals() {
        let set = BTreeMap::new();
        let surroundings = Surroundings::default();
        for rule in rules::ALL {
            let (frame, finding) = sick(&rule.id, |_| ());
            let offers = offers(&Case {
                finding: &finding,
                frame: &frame,
                set: &set,
                surroundings: &surroundings,
                metric: None,
            });
            for offer in offers {
                match offer.plan {
                    Ok(plan) => {
                        assert_eq!(plan.is_executable(), offer.fix.executable, "{} of {}", offer.fix.id, rule.id);
                        assert!(!plan.undo.is_empty() || !offer.fix.executable, "{} of {}", offer.fix.id, rule.id);
                        let contents = plan.commands.len() + plan.snippets.len();
                        assert!(contents > 0, "{} of {} is empty", offer.fix.id, rule.id);
                    }
                    Err(refusal) => assert!(!format!("{refusal:?}").contains("why: \"\""), "{}", offer.fix.id),
                }
            }
            // What is gone in the next frame is no reason to fail.
            let empty = Frame::default();
            let case = Case { finding: &finding, frame: &empty, set: &set, surroundings: &surroundings, metric: None };
            let _ = super::super::offers(&case);
        }
    }
}
