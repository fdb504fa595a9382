//! F-IONICE: a lower priority of I/O for the process that disturbs others, where the disk's scheduler honours it.

use super::disk::Shared;
use super::processes::needs;
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk, Step, Target};
use crate::rules;

pub(super) const FIX: Fix = Fix {
    id: "F-IONICE",
    name: "lower the I/O priority of who disturbs others on a disk",
    answers: &[(rules::disk_shared::ID, 5), (rules::disk_saturated::ID, 5)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "", about: "the control group whose largest writer is meant, by its path" },
        Parameter { name: "level", unit: "", about: "level of the class best-effort, 0 to 7; 7 is the lowest" },
    ],
    plan,
};

/// Schedulers that look at priorities; mq-deadline does since Linux 5.14.
const HONOUR: [&str; 2] = ["bfq", "mq-deadline"];

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let shared = Shared::of(case)?;
    let name = &shared.disk.name;
    if !HONOUR.contains(&&*shared.disk.scheduler) {
        let has = if shared.disk.scheduler.is_empty() { "unknown" } else { &shared.disk.scheduler };
        let needs = format!("BFQ or mq-deadline (echo mq-deadline > /sys/block/{name}/queue/scheduler)");
        return Err(Refusal::until(format!("nothing honours I/O priorities on {name}: its scheduler is {has}"), needs));
    }
    let unknown = || Refusal::until("which of its processes writes could not be read", "root (/proc/PID/io)");
    let process = shared.disturber.process.ok_or_else(unknown)?;
    let level = case.number("level", 0..=7)?.unwrap_or(7);
    let (pid, starttime) = (process.pid, process.starttime);
    let mut plan = case.plan(
        FIX.id,
        format!("{} ({pid}): I/O priority best-effort {level}, for {}", process.comm, shared.victim.group),
    );
    plan.identity = vec![
        Identity::Process { pid, starttime, comm: process.comm.to_string() },
        Identity::Disk { name: name.to_string(), number: shared.number() },
    ];
    plan.steps = vec![Step::new(
        "I/O priority of each thread",
        Target::IoPriority { pid, starttime },
        format!("best-effort {level}"),
    )];
    plan.commands = vec![format!("for t in /proc/{pid}/task/*; do ionice -c 2 -n {level} -p ${{t##*/}}; done")];
    plan.risk = Risk::Safe;
    plan.breaks = vec![
        "it is served after others on every disk whose scheduler looks at priorities".to_owned(),
        "what goes by the page cache is written back by the kernel at the kernel's own priority".to_owned(),
    ];
    plan.needs = needs(case, &[process], "for a process of another user");
    plan.undo = String::from("each thread's class and level as they were");
    plan.reverters = vec!["the process itself, and its restart".to_owned()];
    plan.verify = shared.verify(case);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::super::iomax::tests::shared;
    use super::super::testing::{plan, told};
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
        insta::assert_snapshot!(told(&plan));
    }

    #[test]
    fn refused_where_nothing_honours_it() {
        let none = plan(&FIX, "IO-02", &[], |frame| writer(frame, "none"));
        let Err(Refusal::Refused { why, .. }) = none else { panic!("{none:?}") };
        assert_eq!(why, "nothing honours I/O priorities on sdb: its scheduler is none");
        let unread = plan(&FIX, "IO-02", &[], |frame| {
            writer(frame, "bfq");
            frame.processes.clear();
        });
        let Err(Refusal::Refused { needs, .. }) = unread else { panic!("{unread:?}") };
        assert_eq!(needs, "root (/proc/PID/io)");
    }
}
