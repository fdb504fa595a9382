//! F-IOMAX: limits the writes of a noisy writer on a shared disk.

use super::disk::{self, Shared};
use super::group::{self, MIB, show};
use super::io_setting::{IoLimit, Limited, Place};
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk};
use crate::locale::fix as shared;
use crate::locale::fix::io_limit as text;
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-IOMAX",
    name: text::NAME,
    answers: &[(rules::disk_shared::ID, 3), (rules::disk_saturated::ID, 3), (rules::disk_capped::ID, 5)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "", about: shared::ABOUT_GROUP },
        Parameter { name: "iops", unit: "1/s", about: text::ABOUT_IOPS },
        Parameter { name: "bps", unit: "bytes/s", about: text::ABOUT_BPS },
    ],
    plan,
};

/// The limit as a share of the current rate.
const SHARE: f64 = 0.5;
/// The smallest limits that are proposed.
const LEAST_WRITES: f64 = 100.0;
const LEAST_BYTES: u64 = MIB;
/// A limit above this share of the rate has no effect.
const WORTH: f64 = 0.9;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let shared = Shared::of(case)?;
    let group = disk::held(case, &shared.disturber)?;
    let limit = limit(case, &shared)?;
    let (number, name) = (shared.number(), &shared.disk.name);
    let (cgroup, victim) = (&shared.disturber.group, &shared.victim.group);
    let title = text::Title { cgroup, limit: &limit.text(), disk: &name, victim };
    let mut plan = case.plan(FIX.id, title.to_string());
    plan.identity = vec![group.identity(), Identity::Disk { name: name.to_string(), number: number.clone() }];
    let place = Place { group: &group, disk: name, number: &number, step: text::STEP };
    limit.write(case, &place, None, &mut plan);
    plan.risk = Risk::Disruptive;
    plan.breaks.extend(breaks(&shared, group.version));
    plan.needs = vec![group::need()];
    plan.reverters = group.reverters(None);
    plan.verify = shared.verify(case);
    let by_unit = limit.by_unit(name, group.version);
    plan.persistent = group.lasting(&by_unit, text::KUBERNETES.as_str()).filter(|_| !by_unit.is_empty());
    Ok(plan)
}

fn breaks(shared: &Shared<'_>, version: u32) -> Vec<String> {
    let (disturber, name) = (&shared.disturber.group, &shared.disk.name);
    let mut breaks = vec![text::BreaksSlow { cgroup: &disturber }.to_string()];
    if version == 1 {
        breaks.push(text::BREAKS_V1.to_string());
    } else {
        breaks.push(text::BREAKS_V2.to_string());
    }
    // Seen: a held writer's page of the inode table is locked until its write has been let through.
    breaks.push(text::BREAKS_FILE_SYSTEM.to_string());
    breaks.push(text::BreaksCount { disk: &name }.to_string());
    breaks
}

/// As set, else half of the current rate: of writes where there are many, of bytes where there are few large ones.
fn limit(case: &Case<'_>, shared: &Shared<'_>) -> Result<IoLimit, Refusal> {
    let writes_to = |value| IoLimit { limited: Limited::Writes, value };
    let bytes_to = |value| IoLimit { limited: Limited::WriteBytes, value };
    if let Some(count) = case.number("iops", 1..=10_000_000)? {
        return Ok(writes_to(count));
    }
    if let Some(bytes) = group::sized(case, "bps", MIB..=1 << 40)? {
        return Ok(bytes_to(bytes));
    }
    let rate = shared.rate(case.frame);
    let writes = rate.map_or(0.0, |rate| rate.writes_per_second);
    let bytes = rate.map_or(shared.disturber.bytes_per_second, |rate| rate.write_bytes_per_second);
    let fewer = (writes * SHARE).max(LEAST_WRITES).ceil();
    if fewer <= writes * WORTH {
        return Ok(writes_to(fewer as u64));
    }
    let less = ((bytes * SHARE) as u64).max(LEAST_BYTES) / 4096 * 4096;
    if less as f64 <= bytes * WORTH {
        return Ok(bytes_to(less));
    }
    let (writes, bytes) = (parts::count(Some(writes.round())), show(bytes as u64));
    let least = format!("{LEAST_WRITES:.0}");
    Err(Refusal::because(
        text::TooLittle { cgroup: &shared.disturber.group, writes: &writes, bytes: &bytes, least: &least }.to_string(),
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Plan, Refusal};
    use crate::frame::{Cgroup, CgroupIoRate, Frame, Process, WriterId};

    /// /es disturbs /rabbit on sdb.
    pub(in super::super) fn shared(frame: &mut Frame, version: u32, writes: f64, bytes: f64) {
        let group = |path: &str, writes_per_second, write_bytes_per_second| Cgroup {
            path: path.into(),
            io: vec![CgroupIoRate {
                dev: 8 << 20 | 16,
                writes_per_second,
                write_bytes_per_second,
                ..CgroupIoRate::default()
            }],
            ..Cgroup::default()
        };
        frame.disks[0].dev = 8 << 20 | 16;
        frame.cgroups = vec![group("/es", writes, bytes), group("/rabbit", 40.0, 400_000.0)];
        mounted(frame, version);
    }

    fn why(plan: Result<Plan, Refusal>) -> String {
        match plan {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn half_of_its_writes() {
        let plan = plan(&FIX, "IO-02", &[], |frame| shared(frame, 2, 1000.0, 40e6)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn few_large_writes_are_limited_by_bytes() {
        let plan = plan(&FIX, "IO-02", &[], |frame| shared(frame, 1, 60.0, 60.0 * 65536.0)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn systemd_sets_what_is_systemds() {
        let plan = plan(&FIX, "IO-02", &[("iops", "30")], |frame| {
            shared(frame, 2, 1000.0, 40e6);
            frame.cgroups[0].path = "/system.slice/es.service".into();
            frame.cgroups.sort_by(|a, b| a.path.cmp(&b.path));
            frame.disks[0].writers[1].who = WriterId::Cgroup("/system.slice/es.service".into());
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn version_1_takes_a_limit_of_requests_from_its_file_alone() {
        let plan = plan(&FIX, "IO-02", &[("iops", "30")], |frame| {
            shared(frame, 1, 1000.0, 40e6);
            frame.cgroups[0].path = "/system.slice/es.service".into();
            frame.cgroups.sort_by(|a, b| a.path.cmp(&b.path));
            frame.disks[0].writers[1].who = WriterId::Cgroup("/system.slice/es.service".into());
        });
        let plan = plan.expect("a plan");
        let path = "8:16 in /sys/fs/cgroup/blkio/system.slice/es.service/blkio.throttle.write_iops_device";
        assert_eq!((&*plan.steps[0].target.to_string(), plan.persistent), (path, None));
    }

    /// A group writes all; an application of another one waits in D and writes nothing.
    fn starved(frame: &mut Frame, bulk: &'static str) {
        shared(frame, 2, 1000.0, 40e6);
        frame.cgroups[0].path = bulk.into();
        frame.cgroups.sort_by(|a, b| a.path.cmp(&b.path));
        frame.disks[0].writers.truncate(1);
        let writer = &mut frame.disks[0].writers[0];
        (writer.who, writer.bytes_share) = (WriterId::Cgroup(bulk.into()), Some(0.9995));
        let waits = Process {
            pid: 77,
            comm: "shop".into(),
            cgroup: "/shop".into(),
            blocked_threads: 1,
            write_bytes_per_second: Some(0.0),
            ..Process::default()
        };
        frame.processes = vec![waits];
    }

    #[test]
    fn who_leaves_others_nothing_to_write_is_limited_whatever_its_name() {
        for bulk in ["/es", "/mysql-backup"] {
            let plan = plan(&FIX, "IO-02", &[], |frame| starved(frame, bulk)).expect("a plan");
            assert_eq!(plan.title, format!("Limit {bulk} to 500 writes/s on sdb to relieve /shop"));
            let load = plan.verify.load.expect("a metric");
            assert_eq!((load.metric, load.subject.to_string().contains("shop")), ("process.write_bytes", true));
        }
        let chinese = crate::locale::LANGUAGES.iter().find(|language| language.code == "zh-CN").expect("a catalogue");
        let plan = crate::locale::with(chinese, || plan(&FIX, "IO-02", &[], |frame| starved(frame, "/es")));
        assert!(plan.expect("a plan").title.contains("/shop"), "whatever the reader's language");
    }

    #[test]
    fn a_floor_and_who_is_meant() {
        let little = plan(&FIX, "IO-02", &[], |frame| shared(frame, 2, 60.0, 60.0 * 4096.0));
        assert_eq!(
            why(little),
            "/es does 60 writes/s at 240.0 KiB/s: limits below 100 writes/s and 1 MiB/s require --set iops="
        );
        let other = plan(&FIX, "IO-02", &[("group", "/x")], |frame| shared(frame, 2, 1000.0, 40e6));
        assert_eq!(why(other), "invalid group=/x: it does not write to sdb");
        let asked =
            plan(&FIX, "IO-02", &[("group", "/rabbit"), ("iops", "20")], |frame| shared(frame, 2, 1000.0, 40e6));
        assert!(asked.expect("a plan").title.starts_with("Limit /rabbit to 20 writes/s on sdb to relieve /es"));
        let alone = plan(&FIX, "IO-01", &[], |frame| shared(frame, 2, 1000.0, 40e6));
        assert_eq!(alone, Err(Refusal::NotForThis));
    }
}
