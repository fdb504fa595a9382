//! F-IORAISE: raises the I/O limit that holds a cgroup back, as far as the disk has capacity left.

use super::group::{self, Group};
use super::io_setting::{IoLimit, Limited, Place};
use super::{Case, Fix, Identity, Parameter, Plan, Refusal, Risk, Target, Verify};
use crate::diff::{Subject as Of, Watch};
use crate::frame::{CgroupIoRate, Disk, IoThrottle};
use crate::locale::evidence;
use crate::locale::fix::io_limit as limit_text;
use crate::locale::fix::io_limit_raise as text;
use crate::rules;
use crate::rules::{Subject, parts};
use std::sync::Arc;

pub(super) const FIX: Fix = Fix {
    id: "F-IORAISE",
    name: text::NAME,
    answers: &[(rules::io_throttled::ID, 0)],
    executable: true,
    parameters: &[
        Parameter { name: "bps", unit: "bytes/s", about: text::ABOUT_BPS },
        Parameter { name: "iops", unit: "1/s", about: text::ABOUT_IOPS },
    ],
    plan,
};

/// Utilisation up to which a disk may get by the new limit, if its requests cost what they cost now.
const ROOM: f64 = 0.7;
/// The highest new limit, as a multiple of the old one: nobody knows how far requests cost the same.
const MOST: f64 = 10.0;
/// The new limit where the utilisation of the disk is unknown.
const UNKNOWN: f64 = 2.0;
/// The smallest increase that is worth it.
const LEAST: f64 = 1.25;
/// Utilisation of a disk below which nobody waits for it.
const IDLE: f64 = 0.01;
/// Share of another limit from which on it is next.
const NEXT: f64 = 0.5;

fn plan(case: &Case<'_>) -> Result<Plan, Refusal> {
    let Subject::Cgroup(path) = &case.finding.subject else { return Err(Refusal::NotForThis) };
    let group = Group::at(case.frame, path, "blkio")?;
    let none = || Refusal::because(text::NoLimit { cgroup: &path }.to_string());
    let (io, throttle) = group.cgroup.io_throttle().ok_or_else(none)?;
    let disk = case.frame.disks.iter().find(|disk| disk.dev == io.dev).ok_or(Refusal::NotForThis)?;
    let limited = Limited::of(throttle.what);
    let old = IoLimit { limited, value: throttle.limit as u64 };
    let new = IoLimit { limited, value: raised(case, path, disk, throttle)? };
    let (name, number) = (&disk.name, format!("{}:{}", io.dev >> 20, io.dev & 0xf_ffff));
    let title = text::Title { cgroup: &path, disk: &name, old: &old.in_full(), new: &new.text() };
    let mut plan = case.plan(FIX.id, title.to_string());
    plan.identity = vec![group.identity(), Identity::Disk { name: name.to_string(), number: number.clone() }];
    new.write(case, &Place { group: &group, disk: name, number: &number, step: text::STEP }, Some(old), &mut plan);
    // A unit's property of other disks goes with it.
    let by_property = plan.steps.iter().any(|step| matches!(step.target, Target::UnitProperty { .. }));
    plan.risk = if by_property { Risk::Disruptive } else { Risk::Safe };
    plan.breaks.extend(effect(disk, new.value as f64 / throttle.limit));
    plan.breaks.extend(next(io, throttle.what));
    plan.needs = vec![group::need()];
    plan.reverters = group.reverters(None);
    plan.verify = verify(case, path, disk, limited);
    let by_unit = new.by_unit(name, group.version);
    plan.persistent = group.lasting(&by_unit, limit_text::KUBERNETES.as_str()).filter(|_| !by_unit.is_empty());
    Ok(plan)
}

/// As set, else as much more as leaves the disk below [`ROOM`], and no more than the limits of the groups above allow.
fn raised(case: &Case<'_>, path: &str, disk: &Disk, throttle: IoThrottle) -> Result<u64, Refusal> {
    let limited = Limited::of(throttle.what);
    let old = throttle.limit as u64;
    let above = parts::above(path).skip(1).filter_map(|path| {
        let rows = &case.frame.cgroup(path)?.io;
        let limits = rows.iter().find(|row| row.dev == disk.dev)?.limits;
        let limit = match limited {
            Limited::ReadBytes => limits.read_bytes,
            Limited::WriteBytes => limits.write_bytes,
            Limited::Reads => limits.reads,
            Limited::Writes => limits.writes,
        };
        Some((path, limit.value().filter(|limit| *limit > 0)?))
    });
    let above = above.min_by_key(|(_, limit)| *limit);
    if let Some((cgroup, limit)) = above.filter(|(_, limit)| *limit <= old) {
        let limit = IoLimit { limited, value: limit }.in_full();
        return Err(Refusal::because(text::Parent { cgroup: &cgroup, limit: &limit }.to_string()));
    }
    let most = above.map_or(if limited.is_bytes() { 1 << 40 } else { 10_000_000 }, |(_, limit)| limit);
    if let Some(value) = set(case, path, limited, old, most)? {
        return Ok(value);
    }
    let factor = disk.utilisation.map_or(UNKNOWN, |busy| (ROOM / busy.max(0.001)).min(MOST));
    if factor < LEAST {
        return Err(Refusal::because(busy(case, disk, limited, throttle)));
    }
    let wanted = (throttle.limit * factor) as u64;
    let rounded = if limited.is_bytes() && wanted > 4096 { wanted / 4096 * 4096 } else { wanted };
    Ok(rounded.min(most).max(old.saturating_add(1)))
}

/// The limit that was asked for, in the unit of the one that holds the group.
fn set(case: &Case<'_>, path: &str, limited: Limited, old: u64, most: u64) -> Result<Option<u64>, Refusal> {
    let (name, other) = names(limited);
    if case.set.contains_key(other) {
        let limit = IoLimit { limited, value: old }.in_full();
        return Err(Refusal::because(text::OtherKind { cgroup: &path, limit: &limit, name: &name }.to_string()));
    }
    let Some(value) = case.set.get(name) else { return Ok(None) };
    let number = if limited.is_bytes() { group::size(value) } else { value.parse().ok() };
    let show = |number: u64| if limited.is_bytes() { group::show(number) } else { number.to_string() };
    let (low, high) = (&show(old), &show(most));
    let range = || Refusal::because(text::Range { name: &name, value: &value, low, high }.to_string());
    number.filter(|number| *number > old && *number <= most).map(Some).ok_or_else(range)
}

/// The parameter of a kind of limit, and the one of the other kind.
fn names(limited: Limited) -> (&'static str, &'static str) {
    if limited.is_bytes() { ("bps", "iops") } else { ("iops", "bps") }
}

/// Why a higher limit is not proposed.
fn busy(case: &Case<'_>, disk: &Disk, limited: Limited, throttle: IoThrottle) -> String {
    let (disk, busy, name) = (&disk.name, &parts::percent(disk.utilisation), &names(limited).0);
    let others = &case.finding.text(evidence::OTHER_USERS);
    if others.is_empty() || **others == *crate::locale::rule::io_throttled::NOBODY.as_str() {
        let rate = &IoLimit { limited, value: throttle.rate as u64 }.in_full();
        return text::BusyAlone { disk, busy, rate, name }.to_string();
    }
    text::Busy { disk, busy, others, name }.to_string()
}

/// What the new limit may do to the disk; nothing to one that stays as good as idle.
fn effect(disk: &Disk, factor: f64) -> Option<String> {
    let name = &disk.name;
    let Some(busy) = disk.utilisation else { return Some(text::BreaksUnknown { disk: name }.to_string()) };
    let most = (busy * factor).min(1.0);
    let (busy, share) = (&parts::percent(Some(busy)), &parts::percent(Some(most)));
    (most >= IDLE).then(|| text::BreaksBusy { disk: name, busy, most: share }.to_string())
}

/// The other limit of the same direction, where it is nearly reached: it holds the group next.
fn next(io: &CgroupIoRate, what: &str) -> Option<String> {
    let (limited, rate, limit) = match what {
        "read_bytes" => (Limited::Reads, io.reads_per_second, io.limits.reads),
        "write_bytes" => (Limited::Writes, io.writes_per_second, io.limits.writes),
        "reads" => (Limited::ReadBytes, io.read_bytes_per_second, io.limits.read_bytes),
        _ => (Limited::WriteBytes, io.write_bytes_per_second, io.limits.write_bytes),
    };
    let limit = limit.value().filter(|limit| *limit > 0)?;
    let share = rate / limit as f64;
    let limit = IoLimit { limited, value: limit }.in_full();
    (share >= NEXT).then(|| text::BreaksNext { limit: &limit, share: &parts::percent(Some(share)) }.to_string())
}

fn verify(case: &Case<'_>, path: &Arc<str>, disk: &Disk, limited: Limited) -> Verify {
    let own = |metric| group::watch(path, metric);
    let of_disk = |metric| Watch { subject: Of::Disk(Arc::clone(&disk.name)), metric };
    let mut verify = case.plan(FIX.id, "").verify;
    let group = case.frame.cgroup(path);
    let waits = group.is_some_and(|group| group.pressure.io.is_some_and(|stall| stall.some_ratio.is_some()));
    // What a group reads is not compared by group: held back, it hardly reads while others do not.
    verify.load = Some(if limited.is_written() { own("cgroup.io_writes") } else { of_disk("disk.reads") });
    verify.cost = waits.then(|| own("cgroup.io_pressure"));
    let is_shared = !case.finding.text(evidence::OTHER_USERS).is_empty();
    let (latency, bytes) =
        (of_disk("disk.await"), if limited.is_written() { "disk.write_bytes" } else { "disk.read_bytes" });
    verify.shown = vec![of_disk("disk.utilisation"), of_disk(bytes)];
    if is_shared {
        verify.guards = vec![latency];
    } else {
        verify.shown.push(latency);
    }
    verify
}

#[cfg(test)]
mod tests {
    use super::super::group::MIB;
    use super::super::group::tests::mounted;
    use super::super::testing::{plan, plan_text};
    use super::{FIX, Plan, Refusal, Risk, Target};
    use crate::Known;
    use crate::frame::{Cgroup, CgroupIoRate, Frame, IoLimits, Writer, WriterId};

    fn why(plan: Result<Plan, Refusal>) -> String {
        match plan {
            Err(Refusal::Refused { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    }

    fn new(plan: Result<Plan, Refusal>) -> String {
        plan.expect("a plan").steps[0].new.clone()
    }

    fn busy(frame: &mut Frame, share: f64) {
        mounted(frame, 2);
        frame.disks[0].utilisation = Some(share);
    }

    #[test]
    fn as_far_as_the_disk_has_capacity() {
        let plan = plan(&FIX, "IO-08", &[], |frame| busy(frame, 0.1)).expect("a plan");
        insta::assert_snapshot!(plan_text(&plan));
    }

    #[test]
    fn requests_of_version_1() {
        let plan = plan(&FIX, "IO-08", &[], |frame| {
            mounted(frame, 1);
            let limits = IoLimits { reads: Known::Value(100), read_bytes: Known::Value(MIB), ..IoLimits::default() };
            let io = &mut frame.cgroups[0].io[0];
            *io = CgroupIoRate { dev: io.dev, reads_per_second: 100.0, read_bytes_per_second: 7e5, limits, ..*io };
            io.write_bytes_per_second = 0.0;
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn systemd_sets_what_is_systemds() {
        let plan = plan(&FIX, "IO-08", &[("bps", "20M")], |frame| {
            frame.cgroups[0].path = "/system.slice/db.service".into();
            frame.processes[0].cgroup = "/system.slice/db.service".into();
            mounted(frame, 1);
        });
        insta::assert_snapshot!(plan_text(&plan.expect("a plan")));
    }

    #[test]
    fn never_more_than_the_disk_and_the_groups_above_allow() {
        let with = |set: &[(&str, &str)], share: f64| plan(&FIX, "IO-08", set, |frame| busy(frame, share));
        assert_eq!(new(with(&[], 0.0)), "wbps=3997696", "tenfold at most");
        assert_eq!(new(with(&[], 0.35)), "wbps=798720", "twice as much");
        assert_eq!(
            why(with(&[], 0.8)),
            "sdb is 80% busy at 390.6 KiB/s (writes): a higher limit gains little; set bps= to raise it anyway"
        );
        assert_eq!(new(with(&[("bps", "1M")], 0.8)), "wbps=1048576");
        assert_eq!(why(with(&[("iops", "500")], 0.1)), "/mq is throttled by 390.6 KiB/s (writes): set bps=");
        for bps in ["300K", "400000", "x", "-1"] {
            let range = "use a number above 390.6 KiB, at most 1.0 TiB";
            assert_eq!(why(with(&[("bps", bps)], 0.1)), format!("invalid bps={bps}: {range}"));
        }
        let below = |limit| {
            plan(&FIX, "IO-08", &[], |frame| {
                frame.cgroups[0].path = "/apps/mq".into();
                frame.processes[0].cgroup = "/apps/mq".into();
                let limits = IoLimits { write_bytes: Known::Value(limit), ..IoLimits::default() };
                let io = CgroupIoRate { limits, ..frame.cgroups[0].io[0] };
                frame.cgroups.insert(0, Cgroup { path: "/apps".into(), io: vec![io], ..Cgroup::default() });
                busy(frame, 0.1);
                // What is below counts above, where more may be done.
                frame.cgroups[0].io[0].write_bytes_per_second = 380_000.0;
            })
        };
        assert_eq!(new(below(1_000_000)), "wbps=1000000");
    }

    #[test]
    fn a_limit_beyond_what_anybody_sets_is_no_panic() {
        let plan = plan(&FIX, "IO-08", &[], |frame| {
            busy(frame, 0.1);
            let io = &mut frame.cgroups[0].io[0];
            let limits = IoLimits { writes: Known::Value(20_000_000), ..IoLimits::default() };
            *io = CgroupIoRate { writes_per_second: 2e7, write_bytes_per_second: 0.0, limits, ..*io };
        });
        assert_eq!(new(plan), "wiops=20000001");
    }

    #[test]
    fn systemd_sets_no_limit_beside_another_one() {
        let plan = |reads: Known<u64>| {
            plan(&FIX, "IO-08", &[], move |frame| {
                frame.cgroups[0].path = "/system.slice/db.service".into();
                frame.processes[0].cgroup = "/system.slice/db.service".into();
                busy(frame, 0.1);
                frame.cgroups[0].io[0].limits.read_bytes = reads;
            })
        };
        let by_property = |reads| {
            let plan = plan(reads).expect("a plan");
            (matches!(plan.steps[0].target, Target::UnitProperty { .. }), plan.risk)
        };
        assert_eq!(by_property(Known::None), (true, Risk::Disruptive));
        assert_eq!(by_property(Known::Value(MIB)), (false, Risk::Safe), "it would take that one away");
    }

    #[test]
    fn a_neighbour_that_needs_the_disk_is_named() {
        let shared = plan(&FIX, "IO-08", &[], |frame| {
            busy(frame, 0.8);
            let who = WriterId::Cgroup("/db".into());
            frame.disks[0].writers = vec![Writer { who, bytes_share: Some(0.9), ..Writer::default() }];
            frame.cgroups.insert(0, Cgroup { path: "/db".into(), version: 2, ..Cgroup::default() });
        });
        let expected =
            "sdb is 80% busy, shared with /db: a higher limit takes capacity from them; set bps= to raise it anyway";
        assert_eq!(why(shared), expected);
    }
}
