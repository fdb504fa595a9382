//! Control groups at their memory limits, and settings of the kernel for dirty memory.

use crate::parts::Parts;
use crate::samples::Samples;
use crate::scenario::{
    APPLY, Apply, Expected, FINDING, Finding, KEYS, Keys, Outcome, PLAIN, Refuse, Rights, Scenario, Step, holds,
};

pub(super) const CACHE: Scenario = Scenario {
    name: "cache-at-limit",
    proves: "page cache that fills a group to its limit without being read again causes no warning",
    seconds: 35,
    inject: "data; group web memory.max=64M; in_group web dd if=/dev/zero of=/data/cache bs=1M count=150 status=none; wait",
    clean: "no_group web; no_data",
    ..PLAIN
};

pub(super) const CACHE_V1: Scenario = Scenario {
    name: "cache-at-limit-v1",
    proves: "the same with control groups of version 1",
    inject: "data; group memory/web memory.limit_in_bytes=64M
        in_group memory/web dd if=/dev/zero of=/data/cache bs=1M count=150 status=none; wait",
    clean: "no_group memory/web; no_data",
    ..CACHE
};

/// It makes the kernel scan, and loses nothing. Slowly: an emulated machine needs a good part of a second to reclaim what
/// a real one reclaims at once.
pub(super) const APPENDER: Scenario = Scenario {
    name: "appender-at-limit",
    proves: "a program that only appends to a file in a full group causes no warning",
    inject:
        "data; group log memory.max=64M; in_group log dd if=/dev/zero of=/data/cache bs=1M count=80 status=none; wait
        in_group log /test/tool append /data/log 2 600; sleep 2",
    clean: "stop; no_group log; no_data",
    ..CACHE
};

/// Pages that are read again soon after their reclaim.
pub(super) const REFAULTS: Finding = Finding {
    rule: "MEM-02",
    subject: "cgroup:/web",
    numbers: &[("refaults", 500.0, f64::INFINITY), ("reclaimable", 0.3, 1.0)],
    beside: &["MEM-09", "IO-01", "IO-03"],
    ..FINDING
};

const LIMIT: &str = "MEM-02/cgroup%3A%2Fweb/F-LIMIT";
const RECLAIM: &str = "MEM-02/cgroup%3A%2Fweb/F-RECLAIM";
const HIGH: &str = "MEM-02/cgroup%3A%2Fweb/F-HIGH";

/// Nobody in particular asks.
const NOBODY: Refuse =
    Refuse { name: "", id: "", options: "", rights: Rights::Nobody, state: "group_state web", says: &["root"] };

pub(super) const REFAULT: Scenario = Scenario {
    name: "refault",
    proves: "MEM-02 finds a group that reads its page cache again and again; F-LIMIT, F-HIGH and F-RECLAIM, none of them without rights",
    seconds: 190,
    inject: "data; cold /data/set 160; group web memory.max=64M
        in_group web bash -c 'while :; do cat /data/set > /dev/null; done'; sleep 4",
    clean: "stop; no_group web; no_data",
    expected: Expected::Finding(REFAULTS),
    steps: &[
        Step::Offers(&[RECLAIM, LIMIT, HIGH]),
        Step::Refuse(Refuse { name: "nobody.limit", id: LIMIT, ..NOBODY }),
        Step::Refuse(Refuse { name: "nobody.reclaim", id: RECLAIM, ..NOBODY }),
        Step::Refuse(Refuse { name: "nobody.high", id: HIGH, ..NOBODY }),
        Step::Apply(Apply { name: "reclaim", id: RECLAIM, state: "group_state web", undo: false, ..APPLY }),
        Step::Apply(Apply { name: "high", id: HIGH, state: "group_state web", ..APPLY }),
        Step::Apply(Apply {
            name: "limit",
            id: LIMIT,
            options: "--set limit=256M",
            state: "group_state web",
            sets: &["memory.max 268435456"],
            ..APPLY
        }),
        Step::Keys(Keys {
            rule: "MEM-02",
            fix: "F-LIMIT",
            set: "limit=256M",
            state: "group_state web",
            journal: &["268435456"],
            ..KEYS
        }),
    ],
    check: |parts| {
        let marks = ["high.before", "high.during"].map(|name| {
            let text = parts.text(name).unwrap_or_default();
            text.lines().find(|line| line.starts_with("memory.high")).unwrap_or_default()
        });
        holds(marks[0] != marks[1], format!("F-HIGH changes nothing: {marks:?}"))?;
        Ok(String::new())
    },
    ..PLAIN
};

const LIMIT_V1: &str = LIMIT;
const FORCE_EMPTY: &str = "MEM-02/cgroup%3A%2Fweb/F-FORCE-EMPTY";
const STATE_V1: &str = "group_state memory/web";

pub(super) const REFAULT_V1: Scenario = Scenario {
    name: "refault-v1",
    proves: "the same with control groups of version 1, which have no pressure; F-LIMIT, and F-FORCE-EMPTY with its name only",
    seconds: 120,
    inject: "data; cold /data/set 160; group memory/web memory.limit_in_bytes=64M
        in_group memory/web bash -c 'while :; do cat /data/set > /dev/null; done'; sleep 4",
    clean: "stop; no_group memory/web; no_data",
    expected: Expected::Finding(REFAULTS),
    steps: &[
        Step::Refuse(Refuse { name: "nobody", id: LIMIT_V1, state: STATE_V1, ..NOBODY }),
        Step::Refuse(Refuse {
            name: "unconfirmed",
            id: FORCE_EMPTY,
            rights: Rights::Root,
            state: STATE_V1,
            says: &["--confirm-subject /web"],
            ..NOBODY
        }),
        Step::Apply(Apply {
            name: "empty",
            id: FORCE_EMPTY,
            options: "--confirm-subject /web",
            state: STATE_V1,
            undo: false,
            ..APPLY
        }),
        Step::Apply(Apply {
            name: "limit",
            id: LIMIT_V1,
            options: "--set limit=256M",
            state: STATE_V1,
            sets: &["memory.limit_in_bytes 268435456"],
            ..APPLY
        }),
    ],
    ..PLAIN
};

/// Memory that cannot be reclaimed grows by 1 MiB a second in a group of 48 MiB.
pub(super) const SHMEM: Scenario = Scenario {
    name: "shmem-to-its-end",
    proves: "MEM-03 forecasts when growing shared memory reaches the limit, and MEM-04 reports the kill",
    seconds: 90,
    inject: "mkdir -p shm; mount -t tmpfs shm shm; group mq memory.max=48M
        in_group mq /test/tool append shm/log 1 1000",
    clean: "stop; umount shm; no_group mq",
    samples: 130,
    interval_ms: 500,
    expected: Expected::Check(|samples| {
        let (_, count) = forecasts(samples)?;
        samples.only(&["MEM-01", "MEM-03", "MEM-04"])?;
        Ok(format!("{count} forecasts, then the kill"))
    }),
    ..PLAIN
};

/// The error that nine tenths of all forecasts of 20 to 120 seconds stay below, and how many there were; they end with
/// the kill.
pub(super) fn forecasts(samples: &Samples) -> Result<(f64, usize), String> {
    let killed = samples.found_within("MEM-04", "cgroup:/mq", usize::MAX)?;
    let end = samples.seconds(killed.after)?;
    let mut errors: Vec<f64> = Vec::new();
    for (at, forecast) in samples.series("MEM-03", "cgroup:/mq", "seconds") {
        let left = end - samples.seconds(at)?;
        if (20.0..120.0).contains(&left) {
            errors.push((forecast - left).abs() / left);
        }
    }
    errors.sort_by(f64::total_cmp);
    let count = errors.len();
    holds(count >= 5, format!("{count} forecasts"))?;
    Ok((errors[count * 9 / 10], count))
}

/// All that fixes of settings restore.
const SETTINGS_STATE: &str =
    "settings vm.dirty_bytes vm.dirty_ratio vm.dirty_background_bytes vm.dirty_background_ratio vm.zone_reclaim_mode";

pub(super) const SETTINGS: Scenario = Scenario {
    name: "settings",
    proves: "MEM-06 and NUMA-07 find a writer throttled for dirty memory and zone reclaim; F-DIRTY and F-SYSCTL set and restore the kernel",
    seconds: 90,
    inject: "slow_disk; slow_disk_requests 64
        echo 1 > /proc/sys/vm/zone_reclaim_mode; echo 16777216 > /proc/sys/vm/dirty_bytes
        bg /test/tool rewrite /slow/log 40 150; dirty_memory 3000; sleep 5",
    clean: "stop; echo 0 > /proc/sys/vm/zone_reclaim_mode; echo 20 > /proc/sys/vm/dirty_ratio
        rm /slow/log; slow_disk_requests 1280; no_slow_disk",
    samples: 24,
    expected: Expected::Check(|samples| {
        // The full disk may be the finding, and the throttled writer a part of it.
        samples.reports("MEM-06")?;
        samples.reports("NUMA-07")?;
        // Page cache fills the small nodes from the start.
        samples.only(&["MEM-06", "NUMA-07", "NUMA-05", "IO-01", "IO-03"])
    }),
    steps: &[
        Step::Apply(Apply {
            name: "zone",
            id: "NUMA-07/host/F-SYSCTL",
            state: SETTINGS_STATE,
            sets: &["vm.zone_reclaim_mode 0"],
            ..APPLY
        }),
        Step::Apply(Apply {
            name: "dirty",
            id: "MEM-06/host/F-DIRTY",
            options: "--set bytes=8M --set background=2M",
            state: SETTINGS_STATE,
            sets: &["vm.dirty_bytes 8388608\nvm.dirty_ratio 0\nvm.dirty_background_bytes 2097152\n"],
            ..APPLY
        }),
    ],
    ..PLAIN
};

/// Whether the mark of F-HIGH was removed by its guard, else by hand; nothing of it is left either way.
pub(super) fn mark_is_removed(parts: &Parts) -> Outcome {
    let held = parts.output("held")?;
    let by_guard = held.contains("memory_full");
    let by_hand = parts.text("released.status")? == "0";
    holds(by_guard != by_hand, format!("the mark: {held}; the undo: {}", parts.output("released")?))?;
    parts.equal("mark.before", "mark.after")?;
    Ok(format!("the mark is removed by {}", if by_guard { "its guard" } else { "hand" }))
}
