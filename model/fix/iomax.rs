//! F-IOMAX: holds back who disturbs others on a disk.

use super::disk::{self, Shared};
use super::group::{self, MIB, Named, show};
use super::shell::quoted;
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk, Step, Target};
use crate::rules;
use crate::rules::parts;

pub(super) const FIX: Fix = Fix {
    id: "F-IOMAX",
    name: "limit the writes of who disturbs others on a disk",
    answers: &[(rules::disk_shared::ID, 3), (rules::disk_saturated::ID, 3), (rules::disk_capped::ID, 5)],
    executable: true,
    parameters: &[
        Parameter { name: "group", unit: "", about: "the control group to hold back, by its path" },
        Parameter { name: "iops", unit: "1/s", about: "writes a second" },
        Parameter { name: "bps", unit: "bytes/s", about: "bytes a second, instead of writes: 20M" },
    ],
    plan,
};

/// What is left of the current rate.
const SHARE: f64 = 0.5;
/// Nobody is held to less unless asked to.
const LEAST_WRITES: f64 = 100.0;
const LEAST_BYTES: u64 = MIB;
/// A limit that leaves more than this of the rate does nothing.
const WORTH: f64 = 0.9;

/// What is limited, to what.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    Writes(u64),
    Bytes(u64),
}

impl Limit {
    fn text(self) -> String {
        match self {
            Self::Writes(count) => format!("{count} writes/s"),
            Self::Bytes(bytes) => format!("{}/s", show(bytes)),
        }
    }
}

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let shared = Shared::of(case)?;
    let group = disk::held(case, &shared.disturber)?;
    let limit = limit(case, &shared)?;
    let (number, name) = (shared.number(), &shared.disk.name);
    let title = format!("{}: at most {} on {name}, for {}", shared.disturber.group, limit.text(), shared.victim.group);
    let mut plan = case.plan(FIX.id, title);
    plan.identity = vec![group.identity(), Identity::Disk { name: name.to_string(), number: number.clone() }];
    let (file, value, property, unit) = match (limit, group.version) {
        (Limit::Writes(count), 1) => ("blkio.throttle.write_iops_device", count.to_string(), "IOWriteIOPSMax", count),
        (Limit::Bytes(bytes), 1) => {
            ("blkio.throttle.write_bps_device", bytes.to_string(), "IOWriteBandwidthMax", bytes)
        }
        (Limit::Writes(count), _) => ("io.max", format!("wiops={count}"), "IOWriteIOPSMax", count),
        (Limit::Bytes(bytes), _) => ("io.max", format!("wbps={bytes}"), "IOWriteBandwidthMax", bytes),
    };
    let by_unit = format!("/dev/{name} {unit}");
    let line = format!("{number} {value}");
    let setting = group.setting(
        case,
        "limit of writes",
        &value,
        &Named { name: file, value: &line },
        &Named { name: property, value: &by_unit },
    );
    if matches!(setting.step.target, Target::UnitProperty { .. }) {
        plan.commands = vec![format!(
            "systemctl set-property --runtime {} {}",
            quoted(group.unit().unwrap_or_default()),
            quoted(&format!("{property}={by_unit}"))
        )];
        plan.undo = format!("the unit's {property}= as it was, by systemctl set-property --runtime");
        plan.breaks.push(format!("{property}= of other disks of the unit is taken away with it"));
        plan.steps = vec![setting.step];
    } else {
        let path = group.file(file);
        let none = if group.version == 1 {
            format!("{number} 0")
        } else {
            format!("{number} {}=max", value.split('=').next().unwrap_or_default())
        };
        plan.undo = format!("echo {} > {}, or the limit that there was", quoted(&none), quoted(&path));
        plan.commands = vec![setting.command];
        plan.steps = vec![Step::new("limit of writes", Target::Line { path, key: number }, value)];
    }
    plan.risk = Risk::Disruptive;
    plan.breaks.extend(breaks(&shared, group.version));
    plan.needs = vec![group::need()];
    plan.reverters = group.reverters("kubelet does not know of it");
    plan.verify = shared.verify(case);
    plan.persistent = group.lasting(
        &format!("{property}={by_unit}"),
        "# Kubernetes has no limits of I/O: a disk of its own, or a throttled volume",
    );
    Ok(plan)
}

fn breaks(shared: &Shared<'_>, version: u32) -> Vec<String> {
    let (disturber, name) = (&shared.disturber.group, &shared.disk.name);
    let mut breaks = vec![format!("{disturber} writes more slowly: what it has to write queues up in its memory")];
    if version == 1 {
        breaks.push("version 1 holds direct and synchronous writes only: what goes by the page cache is written back for nobody".to_owned());
    } else {
        breaks.push("what goes by the page cache is held on ext4, btrfs and xfs only".to_owned());
    }
    breaks.push(format!("what is held back may not be counted among the requests of {name}"));
    breaks
}

/// As asked, else half of the current rate: writes where there are many, bytes where there are few large ones.
fn limit(case: &Case<'_>, shared: &Shared<'_>) -> Result<Limit, Refusal> {
    if let Some(count) = case.number("iops", 1..=10_000_000)? {
        return Ok(Limit::Writes(count));
    }
    if let Some(bytes) = group::sized(case, "bps", MIB..=1 << 40)? {
        return Ok(Limit::Bytes(bytes));
    }
    let rate = shared.rate(case.frame);
    let writes = rate.map_or(0.0, |rate| rate.writes_per_second);
    let bytes = rate.map_or(shared.disturber.bytes_per_second, |rate| rate.write_bytes_per_second);
    let fewer = (writes * SHARE).max(LEAST_WRITES).ceil();
    if fewer <= writes * WORTH {
        return Ok(Limit::Writes(fewer as u64));
    }
    let less = ((bytes * SHARE) as u64).max(LEAST_BYTES) / 4096 * 4096;
    if less as f64 <= bytes * WORTH {
        return Ok(Limit::Bytes(less));
    }
    let (writes, bytes) = (parts::count(Some(writes.round())), show(bytes as u64));
    Err(Refusal::because(format!(
        "{} does {writes} writes/s of {bytes}/s: nobody is held below {LEAST_WRITES:.0} writes/s and 1 MiB/s unless asked to (--set iops=)",
        shared.disturber.group
    )))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, told};
    use super::{FIX, Plan, Refusal};
    use crate::frame::{Cgroup, CgroupIoRate, Frame, WriterId};

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
        insta::assert_snapshot!(told(&plan));
    }

    #[test]
    fn few_large_writes_are_limited_by_bytes() {
        let plan = plan(&FIX, "IO-02", &[], |frame| shared(frame, 1, 60.0, 60.0 * 65536.0)).expect("a plan");
        insta::assert_snapshot!(told(&plan));
    }

    #[test]
    fn systemd_sets_what_is_systemds() {
        let plan = plan(&FIX, "IO-02", &[("iops", "30")], |frame| {
            shared(frame, 2, 1000.0, 40e6);
            frame.cgroups[0].path = "/system.slice/es.service".into();
            frame.cgroups.sort_by(|a, b| a.path.cmp(&b.path));
            frame.disks[0].writers[1].who = WriterId::Cgroup("/system.slice/es.service".into());
        });
        insta::assert_snapshot!(told(&plan.expect("a plan")));
    }

    #[test]
    fn a_floor_and_who_is_meant() {
        let little = plan(&FIX, "IO-02", &[], |frame| shared(frame, 2, 60.0, 60.0 * 4096.0));
        assert_eq!(
            why(little),
            "/es does 60 writes/s of 240.0 KiB/s: nobody is held below 100 writes/s and 1 MiB/s unless asked to (--set iops=)"
        );
        let other = plan(&FIX, "IO-02", &[("group", "/x")], |frame| shared(frame, 2, 1000.0, 40e6));
        assert_eq!(why(other), "group=/x: it does not write to sdb");
        let asked =
            plan(&FIX, "IO-02", &[("group", "/rabbit"), ("iops", "20")], |frame| shared(frame, 2, 1000.0, 40e6));
        assert!(asked.expect("a plan").title.starts_with("/rabbit: at most 20 writes/s on sdb, for /es"));
        let alone = plan(&FIX, "IO-01", &[], |frame| shared(frame, 2, 1000.0, 40e6));
        assert_eq!(alone, Err(Refusal::NotForThis));
    }
}
