//! Processes and memory on the nodes.

use super::{PLAIN, Scenario};
use crate::seen::{Outcome, Seen, holds};

/// CPUs of node 0, memory of node 3.
pub(crate) const FAR: Scenario = Scenario {
    name: "far-memory",
    inject: "bg numactl --cpunodebind=0 --membind=3 /test/tool act hold 96; sleep 3",
    clean: ":",
    sick: far,
    ..PLAIN
};

fn far(seen: &Seen) -> Outcome {
    let found = seen.found("NUMA-01", "pid:")?;
    holds(found.number("remote")? > 0.8, "not nearly all of it is remote")?;
    holds(found.text("cpu_by_node")?.starts_with("n0 "), "its CPU time is not on node 0")?;
    holds(found.text("memory_by_node")?.contains("n3 "), "its memory is not on node 3")?;
    holds(found.text("policy")?.starts_with("bind"), "its policy is not told")?;
    holds(found.has_under("NUMA-06"), "that it is bound so is not told under it")?;
    seen.only(&["NUMA-01", "NUMA-06"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}

/// Four threads and their memory all over the nodes.
pub(crate) const SPREAD: Scenario = Scenario {
    name: "spread-process",
    inject: "bg /test/tool act spread 192 4; sleep 4",
    clean: ":",
    sick: spread,
    samples: 14,
    ..PLAIN
};

fn spread(seen: &Seen) -> Outcome {
    let found = seen.found("NUMA-02", "pid:")?;
    holds(found.text("cpu_by_node")?.matches('n').count() >= 2, "its CPU time is not on several nodes")?;
    holds(found.text("memory_by_node")?.matches('n').count() >= 2, "its memory is not on several nodes")?;
    holds(found.number("instances")? > 3.5, "it is not one instance for each node with CPUs")?;
    seen.only(&["NUMA-02"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}

/// One node is full of what somebody holds, and whoever else prefers it is turned away.
pub(crate) const FULL_NODE: Scenario = Scenario {
    name: "full-node",
    inject: "bg numactl --cpunodebind=1 --preferred=1 /test/tool act hold 560
        bg numactl --cpunodebind=1 --preferred=1 /test/tool act fill 64; sleep 6",
    clean: ":",
    sick: full_node,
    samples: 14,
    ..PLAIN
};

fn full_node(seen: &Seen) -> Outcome {
    let found = seen.found("NUMA-04", "node:1")?;
    holds(found.number("foreign")? > 100.0, "nobody is turned away")?;
    holds(found.number("room")? > 0.25, "no other node has room")?;
    seen.only(&["NUMA-04", "NUMA-01", "NUMA-05"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}
