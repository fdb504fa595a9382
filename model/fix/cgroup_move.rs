//! Moves a process to another control group: of version 2, or of each hierarchy of version 1 that has the group.

use super::group::{self, Group};
use super::row::{ID, Who};
use super::shell::quoted;
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Step, Target, Verify};
use crate::frame::Cgroup;
use crate::locale::fix::row as text;

pub(super) const FIX: Fix = Fix {
    id: "F-CGMOVE",
    name: text::MOVE,
    answers: &[(ID, 3)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "path", about: text::ABOUT_GROUP },
        Parameter { name: "controllers", unit: "list", about: text::ABOUT_CONTROLLERS },
    ],
    plan,
};

/// A hierarchy to move it in.
struct Place {
    controller: String,
    mount: String,
}

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let who = Who::of(case)?;
    let refuse = |why: String| Err(Refusal::because(why));
    let Some(wanted) = case.set.get("group") else { return refuse(text::SET_GROUP.to_string()) };
    let path = if wanted == "/" { wanted } else { wanted.trim_end_matches('/') };
    let Some(group) = case.frame.cgroup(path) else { return refuse(text::NoGroup { group: &path }.to_string()) };
    let places = places(case, group)?;
    let is_two = places.iter().any(|place| place.controller.is_empty());
    let below = format!("{}/", path.trim_end_matches('/'));
    if is_two && path != "/" && case.frame.cgroups.iter().any(|other| other.path.starts_with(&below)) {
        return refuse(text::Inner { group: &path }.to_string());
    }
    if is_two && *who.process.cgroup == *path {
        return refuse(text::AlreadyIn { process: &who.name, group: &path }.to_string());
    }
    let (pid, starttime) = (who.process.pid, who.process.starttime);
    let steps = places.iter().map(|Place { controller, mount }| {
        let target = Target::Member { pid, starttime, controller: controller.clone(), mount: mount.clone() };
        Step::new(text::STEP_GROUP.to_string(), target, path)
    });
    let mut steps: Vec<Step> = steps.collect();
    let title = text::TitleMove { process: &who.name, group: &path }.to_string();
    let Some(first) = steps.pop() else { return refuse(text::SET_CONTROLLERS.to_string()) };
    let mut plan = who.plan(case, FIX.id, title, first);
    plan.steps.extend(steps);
    let directory = |place: &Place| format!("{}{}", place.mount, path.trim_end_matches('/'));
    plan.identity.extend(places.iter().map(|place| Identity::Cgroup { directory: directory(place), inode: 0 }));
    let command = |place: &Place| format!("echo {pid} > {}", quoted(&format!("{}/cgroup.procs", directory(place))));
    plan.commands = places.iter().map(command).collect();
    plan.breaks = vec![text::BREAKS_MOVE.to_string()];
    plan.needs = vec![group::need()];
    for path in [path, &*who.process.cgroup] {
        let of = Group::at(case.frame, path, "memory").map(|group| group.reverters(None)).unwrap_or_default();
        let new: Vec<String> = of.into_iter().filter(|who| !plan.reverters.contains(who)).collect();
        plan.reverters.extend(new);
    }
    let [cores, wait] = Who::measured(case, who.process);
    plan.verify =
        Verify { load: Some(cores), cost: Some(wait.clone()), guards: vec![wait], shown: Vec::new(), ..plan.verify };
    plan.undo = text::UNDO_MOVE.to_string();
    plan.lost = vec![text::LOST_MOVE.to_string()];
    Ok(plan)
}

/// The hierarchies of the controllers that were named, else of those that the group is known to have.
fn places(case: &Case<'_>, group: &Cgroup) -> Result<Vec<Place>, Refusal> {
    let has = [
        ("cpu", group.cpu.usage_cores.is_some() || group.cpu.period_us.value().is_some()),
        ("memory", group.memory.is_some()),
        ("cpuset", group.cpuset_cpus.is_some()),
        ("blkio", !group.io.is_empty()),
    ];
    let known = has.iter().filter(|(_, has)| *has).map(|(name, _)| *name);
    let names: Vec<&str> = match case.set.get("controllers") {
        Some(list) => list.split(',').collect(),
        None => known.collect(),
    };
    let mut places: Vec<Place> = Vec::new();
    for name in names {
        let unknown = || Refusal::because(text::NoController { controller: &name }.to_string());
        let (version, mount) = case.frame.cgroup_directory("/", name).ok_or_else(unknown)?;
        let controller = if version == 1 { name.to_owned() } else { String::new() };
        if !places.iter().any(|place| place.mount == mount) {
            places.push(Place { controller, mount });
        }
    }
    if places.is_empty()
        && group.version == 2
        && let Some((2, mount)) = case.frame.cgroup_directory("/", "")
    {
        places.push(Place { controller: String::new(), mount });
    }
    if places.is_empty() { Err(Refusal::because(text::SET_CONTROLLERS.to_string())) } else { Ok(places) }
}

#[cfg(test)]
mod tests {
    use super::super::group::tests::mounted;
    use super::super::row::chosen;
    use super::super::testing::{plan_for, surroundings};
    use super::FIX;
    use crate::fix::{Plan, Refusal, Target};
    use crate::frame::Cgroup;
    use crate::rules::{Subject, sick};

    fn moved(version: u32, set: &[(&str, &str)], kernel: bool) -> Result<Plan, Refusal> {
        let (mut frame, _) = sick("CPU-07", |_| ());
        for path in ["/load", "/system.slice/db.service", "/tree", "/tree/leaf"] {
            let mut group = Cgroup { path: path.into(), ..Cgroup::default() };
            group.cpu.usage_cores = Some(0.5);
            frame.cgroups.push(group);
        }
        frame.cgroups.sort_by(|a, b| a.path.cmp(&b.path));
        mounted(&mut frame, version);
        frame.processes[0].kernel = kernel;
        let subject = Subject::Process(frame.processes[0].pid, frame.processes[0].starttime);
        plan_for(&FIX, &frame, &chosen(subject), set, &surroundings())
    }

    #[test]
    fn a_process_goes_to_the_group_in_each_hierarchy() {
        let plan = moved(1, &[("group", "/load"), ("controllers", "cpu,memory,cpuacct")], false).expect("a plan");
        let controllers: Vec<&str> = plan
            .steps
            .iter()
            .map(|step| match &step.target {
                Target::Member { controller, .. } => controller.as_str(),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(controllers, ["memory", "cpu"]);
        assert!(plan.commands[0].ends_with(" > /sys/fs/cgroup/cpu,cpuacct/load/cgroup.procs"), "{:?}", plan.commands);
        assert!(plan.can_be_undone());
        let two = moved(2, &[("group", "/load/")], false).expect("a plan");
        assert!(two.commands[0].ends_with(" > /sys/fs/cgroup/load/cgroup.procs"), "{:?}", two.commands);
    }

    #[test]
    fn what_the_kernel_would_refuse_is_refused() {
        assert!(moved(2, &[("group", "/load")], true).is_err(), "a kernel thread");
        assert!(moved(2, &[("group", "/tree")], false).is_err(), "a group with children");
        assert!(moved(1, &[("group", "/tree")], false).is_ok(), "version 1 has no such rule");
        for set in [&[][..], &[("group", "/none")], &[("group", "/load"), ("controllers", "gpu")]] {
            assert!(moved(1, set, false).is_err(), "{set:?}");
        }
    }

    #[test]
    fn systemd_is_named_where_the_group_is_its_own() {
        let plan = moved(2, &[("group", "/system.slice/db.service")], false).expect("a plan");
        assert!(plan.reverters.iter().any(|who| who.starts_with("systemd")), "{:?}", plan.reverters);
    }
}
