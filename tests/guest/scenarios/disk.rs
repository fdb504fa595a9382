//! A disk that serves twenty requests a second or some more, and who waits for it.

use super::{PLAIN, Scenario};
use crate::seen::{Outcome, Seen, holds};

/// Two services that want every write on the disk.
pub(crate) const SHARED: Scenario = Scenario {
    name: "shared-disk",
    inject: "slow_disk; group queue; group search
        in_group queue /test/tool act sync /slow/queue; in_group search /test/tool act sync /slow/search; sleep 3",
    clean: "stop; no_slow_disk; no_group queue search",
    sick: shared,
    ..PLAIN
};

/// The same while every CPU has enough to do, so that none ever idles for a disk.
pub(crate) const SHARED_BUSY: Scenario = Scenario {
    name: "shared-disk-busy-cpus",
    inject: "slow_disk; group queue; group search
        in_group queue /test/tool act sync /slow/queue; in_group search /test/tool act sync /slow/search
        bg nice /test/tool act burn 7; sleep 3",
    ..SHARED
};

fn shared(seen: &Seen) -> Outcome {
    let found = seen.found("IO-02", "disk:vd")?;
    let writers = found.text("writers")?;
    holds(writers.contains("/queue ") && writers.contains("/search "), format!("both are not named: {writers}"))?;
    holds(found.has_under("IO-01"), "that the disk is saturated is not told under it")?;
    holds(found.text("mounts")?.contains("/slow"), "what is mounted from it is not told")?;
    seen.only(&["IO-01", "IO-02", "IO-03", "IO-04"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}
