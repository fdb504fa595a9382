//! Machines on which nothing is wrong, however odd they are.

use super::{PLAIN, Scenario};

/// Seven CPUs, a node without any, and nothing to do.
pub(crate) const IDLE: Scenario = Scenario { name: "idle", samples: 60, interval_ms: 500, ..PLAIN };

/// One of the CPUs is taken away, and the rest works.
pub(crate) const OFFLINE: Scenario = Scenario {
    name: "offline-cpu",
    inject: "echo 0 > /sys/devices/system/cpu/cpu2/online; bg /test/tool act burn 2; sleep 1",
    clean: "echo 1 > /sys/devices/system/cpu/cpu2/online",
    ..PLAIN
};

/// A CPU that is kept from everybody else is full of what it is kept for.
pub(crate) const ISOLATED: Scenario =
    Scenario { name: "isolated-poller", inject: "bg chrt -f 50 taskset -c 7 /test/tool act burn 1; sleep 1", ..PLAIN };
