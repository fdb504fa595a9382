//! Control groups and their limits.

use super::{PLAIN, Scenario};
use crate::seen::{Outcome, Seen, holds};

/// Page cache fills a group, and nobody wants it back: normal.
pub(crate) const CACHE: Scenario = Scenario {
    name: "cache-at-limit",
    inject: "data; group web memory.max=64M; in_group web dd if=/dev/zero of=/data/cache bs=1M count=150 status=none; wait",
    clean: "no_group web; no_data",
    sick: Seen::quiet,
    ..PLAIN
};

pub(crate) const CACHE_V1: Scenario = Scenario {
    name: "cache-at-limit-v1",
    inject: "data; group memory/web memory.limit_in_bytes=64M
        in_group memory/web dd if=/dev/zero of=/data/cache bs=1M count=150 status=none; wait",
    clean: "no_group memory/web; no_data",
    ..CACHE
};

/// Something that only appends at its limit: it makes the kernel scan, and loses nothing. Slowly, as an emulated machine
/// needs a good part of a second to take back what a real one does in a moment.
pub(crate) const APPENDER: Scenario = Scenario {
    name: "appender-at-limit",
    inject:
        "data; group log memory.max=64M; in_group log dd if=/dev/zero of=/data/cache bs=1M count=80 status=none; wait
        in_group log /test/tool act append /data/log 2 600; sleep 2",
    clean: "stop; no_group log; no_data",
    sick: Seen::quiet,
    ..PLAIN
};

/// Readers of more than fits, in turns: every page they want was just taken away.
pub(crate) const REFAULT: Scenario = Scenario {
    name: "refault",
    inject: "data; cold /data/set 160; group web memory.max=64M
        in_group web bash -c 'while :; do cat /data/set > /dev/null; done'; sleep 4",
    clean: "stop; no_group web; no_data",
    sick: refault,
    ..PLAIN
};

/// The same where limits are those of version 1, and no group has pressure.
pub(crate) const REFAULT_V1: Scenario = Scenario {
    name: "refault-v1",
    inject: "data; cold /data/set 160; group memory/web memory.limit_in_bytes=64M
        in_group memory/web bash -c 'while :; do cat /data/set > /dev/null; done'; sleep 4",
    clean: "stop; no_group memory/web; no_data",
    ..REFAULT
};

fn refault(seen: &Seen) -> Outcome {
    let found = seen.found("MEM-02", "cgroup:/web")?;
    holds(found.number("refaults")? >= 500.0, "pages that were read again are not told")?;
    holds(found.number("reclaimable")? > 0.3, "it is not told that it is page cache")?;
    seen.only(&["MEM-02", "MEM-09", "IO-01", "IO-03"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}

/// Memory that cannot be given back grows steadily: the time is told, it comes, and somebody is killed.
pub(crate) const SHMEM: Scenario = Scenario {
    name: "shmem-to-its-end",
    inject: "mkdir -p shm; mount -t tmpfs shm shm; group mq memory.max=48M
        in_group mq /test/tool act append shm/log 1 1000",
    clean: "stop; umount shm; no_group mq",
    samples: 130,
    interval_ms: 500,
    sick: shmem,
    ..PLAIN
};

fn shmem(seen: &Seen) -> Outcome {
    let killed = seen.found_within("MEM-04", "cgroup:/mq", usize::MAX)?;
    let end = seen.seconds(killed.after)?;
    // How far off each forecast was that was made when there was still something to be done.
    let mut off: Vec<f64> = Vec::new();
    for (at, forecast) in seen.series("MEM-03", "cgroup:/mq", "seconds") {
        let left = end - seen.seconds(at)?;
        if (20.0..120.0).contains(&left) {
            off.push((forecast - left).abs() / left);
        }
    }
    off.sort_by(f64::total_cmp);
    let told = off.len();
    holds(told >= 5, format!("the end was told {told} times"))?;
    // A machine that gets no time for a while grows less evenly than it seems to.
    let most = off[told * 9 / 10] * 100.0;
    holds(most <= 25.0, format!("forecasts were off by {most:.0} %"))?;
    seen.only(&["MEM-01", "MEM-03", "MEM-04"])?;
    Ok(format!("told {told} times, off by {most:.0} % mostly, and {}", killed.title()))
}
