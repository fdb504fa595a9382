//! Erlang nodes that count CPUs from the first one.

use super::{PLAIN, Scenario};
use crate::seen::{Outcome, Seen, holds};

/// Three nodes of two schedulers each, bound to CPUs.
pub(crate) const BOUND: Scenario = Scenario {
    name: "erlang-bound",
    inject: "erlang db; erlang db; erlang db; erlang_up 3",
    clean: ":",
    sick: bound,
    interval_ms: 700,
    ..PLAIN
};

/// The same left to the kernel.
pub(crate) const UNBOUND: Scenario =
    Scenario { name: "erlang-unbound", inject: "erlang u; erlang u; erlang u; erlang_up 3", ..PLAIN };

fn bound(seen: &Seen) -> Outcome {
    let found = seen.found("BEAM-01", "cpu:0")?;
    holds(found.number("instances")? > 2.5, "three instances are not told")?;
    holds(found.text("shared")? == "0-1", "the CPUs that they share are not told")?;
    // Which of the others idle is the kernel's to say; 7 is isolated.
    let idle = found.text("idle")?;
    let free = idle.contains(['2', '3', '4', '5', '6']) && !idle.contains(['0', '1', '7']);
    holds(free, "CPUs that idle are not told")?;
    seen.only(&["BEAM-01"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}
