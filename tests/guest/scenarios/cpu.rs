//! CPU quotas, and machines on which nothing is wrong, however odd they are.

use crate::scenario::{APPLY, Apply, Expected, FINDING, Finding, KEYS, Keys, PLAIN, Scenario, Step};

pub(super) const QUOTA: Scenario = Scenario {
    name: "quota",
    proves: "CPU-05 finds a group throttled by its quota; F-CPUQUOTA raises and restores it by command and keys",
    seconds: 70,
    inject: "group job \"cpu.max=50000 100000\"; in_group job /test/tool burn 2; sleep 3",
    clean: "stop; no_group job",
    expected: Expected::Finding(THROTTLED),
    steps: &[
        Step::Apply(Apply {
            id: "CPU-05/cgroup%3A%2Fjob/F-CPUQUOTA",
            options: "--set cores=3",
            state: "group_state job",
            sets: &["cpu.max 300000 100000"],
            ..APPLY
        }),
        Step::Keys(Keys {
            rule: "CPU-05",
            fix: "F-CPUQUOTA",
            set: "cores=3",
            state: "group_state job",
            journal: &["300000 100000"],
            ..KEYS
        }),
    ],
    ..PLAIN
};

/// A group with half a CPU.
const THROTTLED: Finding = Finding {
    rule: "CPU-05",
    subject: "cgroup:/job",
    numbers: &[("quota", 0.49, 0.51)],
    beside: &["CPU-06"],
    ..FINDING
};

/// What time is read from.
const CLOCK_FILE: &str = "cat /sys/devices/system/clocksource/clocksource0/current_clocksource";

pub(super) const CLOCK: Scenario = Scenario {
    name: "clock-source",
    proves: "CPU-11 finds a slow clock source under kernel time; F-CLOCK selects a fast one, and undo goes back",
    seconds: 45,
    inject: "echo acpi_pm > /sys/devices/system/clocksource/clocksource0/current_clocksource
        bg dd if=/dev/zero of=/dev/null bs=1; sleep 3",
    clean: "stop; echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    expected: Expected::Finding(Finding {
        rule: "CPU-11",
        subject: "host",
        texts: &[("clock_source", "acpi_pm"), ("faster_clock_source", "tsc")],
        numbers: &[("system_share", 0.3, 1.0)],
        beside: &["CPU-02"],
        ..FINDING
    }),
    steps: &[Step::Apply(Apply { id: "CPU-11/host/F-CLOCK", state: CLOCK_FILE, sets: &["tsc"], ..APPLY })],
    ..PLAIN
};

pub(super) const IDLE: Scenario = Scenario {
    name: "idle",
    proves: "seven CPUs and a node without any, all idle, cause no warning",
    seconds: 45,
    samples: 60,
    ..PLAIN
};

pub(super) const OFFLINE: Scenario = Scenario {
    name: "offline-cpu",
    proves: "a CPU that goes offline while others work causes no warning",
    seconds: 25,
    inject: "echo 0 > /sys/devices/system/cpu/cpu2/online; bg /test/tool burn 2; sleep 1",
    clean: "echo 1 > /sys/devices/system/cpu/cpu2/online",
    ..PLAIN
};

pub(super) const ISOLATED: Scenario = Scenario {
    name: "isolated-poller",
    proves: "an isolated CPU that its own process fills causes no warning",
    seconds: 15,
    inject: "bg chrt -f 50 taskset -c 7 /test/tool burn 1; sleep 1",
    ..PLAIN
};
