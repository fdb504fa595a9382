//! F-IONICE: lowers the I/O priority of the noisy writer, where the disk's scheduler honours priorities.

use super::disk::Shared;
use super::processes::needs;
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk, Step, Target};
use crate::locale::fix as shared;
use crate::locale::fix::io_priority as text;
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-IONICE",
    name: text::NAME,
    answers: &[(rules::disk_shared::ID, 5), (rules::disk_saturated::ID, 5)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "", about: text::ABOUT_GROUP },
        Parameter { name: "level", unit: "", about: text::ABOUT_LEVEL },
    ],
    plan,
};

/// Schedulers that honour priorities: BFQ by class and level, mq-deadline by class alone, and that since Linux 5.14.
const HONOUR: [&str; 2] = ["bfq", "mq-deadline"];

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let shared = Shared::of(case)?;
    let name = &shared.disk.name;
    if !HONOUR.contains(&&*shared.disk.scheduler) {
        let unknown = shared::UNKNOWN;
        let scheduler = if shared.disk.scheduler.is_empty() { unknown.as_str() } else { &*shared.disk.scheduler };
        let needs = text::Needs { disk: &name }.to_string();
        return Err(Refusal::until(text::Scheduler { disk: &name, scheduler: &scheduler }.to_string(), needs));
    }
    let unknown = || Refusal::until(text::UNREAD.to_string(), text::NEEDS_ROOT.to_string());
    let process = shared.disturber.process.ok_or_else(unknown)?;
    let level = case.number("level", 0..=7)?;
    let (pid, starttime) = (process.pid, process.starttime);
    let by_class = &*shared.disk.scheduler == "mq-deadline";
    if by_class {
        by_class_only(case, name, level)?;
    }
    let (comm, victim) = (&process.comm, &shared.victim.group);
    let level = level.unwrap_or(7);
    let (title, value, options) = if by_class {
        (text::TitleIdle { process: comm, pid: &pid, victim }.to_string(), "idle 0".to_owned(), "-c 3".to_owned())
    } else {
        let title = text::Title { process: comm, pid: &pid, level: &level, victim }.to_string();
        (title, format!("best-effort {level}"), format!("-c 2 -n {level}"))
    };
    let mut plan = case.plan(FIX.id, title);
    plan.identity = vec![
        Identity::Process { pid, starttime, comm: process.comm.to_string() },
        Identity::Disk { name: name.to_string(), number: shared.number() },
    ];
    plan.steps = vec![Step::new(text::STEP.to_string(), Target::IoPriority { pid, starttime }, value)];
    plan.commands = vec![format!("for t in /proc/{pid}/task/*; do ionice {options} -p ${{t##*/}}; done")];
    plan.risk = Risk::Safe;
    plan.breaks = vec![text::BREAKS_LATE.to_string(), text::BREAKS_WRITEBACK.to_string()];
    plan.needs = needs(case, &[process], text::NEED);
    plan.undo = text::UNDO.to_string();
    plan.reverters = vec![shared::REVERTER_PROCESS.to_string()];
    plan.verify = shared.verify(case);
    Ok(plan)
}

/// Refused where a class changes nothing, or where a level is asked for.
fn by_class_only(case: &Case<'_>, disk: &str, level: Option<u64>) -> Result<(), Refusal> {
    let needs = || text::Needs { disk: &disk }.to_string();
    if level.is_some() {
        return Err(Refusal::until(text::ClassOnly { disk: &disk }.to_string(), needs()));
    }
    let kernel = &case.frame.host.kernel;
    let mut numbers = kernel.trim_start_matches("Linux ").split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    match next().zip(next()) {
        Some(version) if version < (5, 14) => {
            Err(Refusal::until(text::TooOld { disk: &disk, kernel: &kernel }.to_string(), needs()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::io_limit::tests::shared;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Refusal};
    use crate::frame::{Frame, Process};

    fn writer(frame: &mut Frame, scheduler: &str) {
        shared(frame, 2, 1000.0, 40e6);
        frame.disks[0].scheduler = scheduler.into();
        let es = Process {
            pid: 99,
            starttime: 5,
            comm: "java".into(),
            cgroup: "/es".into(),
            write_bytes_per_second: Some(4e7),
            ..Process::default()
        };
        frame.processes = vec![es];
    }

    #[test]
    fn the_largest_writer_of_the_group() {
        let plan = plan(&FIX, "IO-02", &[], |frame| writer(frame, "mq-deadline")).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn levels_count_with_bfq_and_classes_with_mq_deadline() {
        let on = |scheduler: &'static str, set: &[(&str, &str)], kernel: &'static str| {
            plan(&FIX, "IO-02", set, |frame| {
                writer(frame, scheduler);
                frame.host.kernel = kernel.into();
            })
        };
        assert_eq!(on("bfq", &[], "Linux 6.1.0").expect("a plan").steps[0].new, "best-effort 7");
        let idle = on("mq-deadline", &[], "Linux 5.14.0-503.el9").expect("a plan");
        assert_eq!((&*idle.steps[0].new, idle.commands[0].contains("ionice -c 3 -p")), ("idle 0", true));
        assert!(on("mq-deadline", &[], "Linux 5.10.0").is_err(), "its kernel ignores classes");
        assert!(on("mq-deadline", &[("level", "3")], "Linux 6.1.0").is_err(), "it has no levels");
    }

    #[test]
    fn refused_where_nothing_honours_it() {
        let none = plan(&FIX, "IO-02", &[], |frame| writer(frame, "none"));
        let Err(Refusal::Refused { why, .. }) = none else { panic!("{none:?}") };
        assert_eq!(why, "the scheduler of sdb (none) ignores I/O priorities");
        let unread = plan(&FIX, "IO-02", &[], |frame| {
            writer(frame, "bfq");
            frame.processes.clear();
        });
        let Err(Refusal::Refused { needs, .. }) = unread else { panic!("{unread:?}") };
        assert_eq!(needs, "root, to read /proc/PID/io");
    }
}
