//! A machine whose first process is systemd: fixes go through it, daemons are its services, and a login may end.

use super::memory::REFAULTS;
use super::{disk, network};
use crate::parts::Parts;
use crate::scenario::{APPLY, Apply, Expected, FINDING, Finding, KEYS, Keys, Outcome, PLAIN, Scenario, Step, holds};

pub(super) const MEMORY: Scenario = Scenario {
    name: "systemd-memory",
    proves: "F-LIMIT of a service goes through systemd, lasts a daemon-reload, and is undone, by command and keys (MEM-02)",
    seconds: 100,
    inject: "data; cold /data/set 160
        unit web MemoryMax=64M -- bash -c 'while :; do cat /data/set > /dev/null; done'; sleep 4",
    clean: "systemctl stop web; no_data",
    expected: Expected::Finding(Finding { subject: "cgroup:/system.slice/web.service", ..REFAULTS }),
    steps: &[
        Step::Apply(Apply {
            id: "MEM-02/cgroup%3A%2Fsystem.slice%2Fweb.service/F-LIMIT",
            options: "--set limit=256M",
            state: "unit_state web",
            sets: &["MemoryMax=268435456", "memory.max 268435456"],
            commands: &["systemctl set-property --runtime web.service MemoryMax=268435456"],
            ..APPLY
        }),
        Step::Keys(Keys {
            rule: "MEM-02",
            fix: "F-LIMIT",
            set: "limit=256M",
            state: "unit_state web",
            journal: &["systemctl set-property --runtime web.service MemoryMax=268435456"],
            ..KEYS
        }),
    ],
    ..PLAIN
};

pub(super) const QUOTA: Scenario = Scenario {
    name: "systemd-quota",
    proves: "F-CPUQUOTA of a service goes through systemd and is undone (CPU-05)",
    seconds: 55,
    inject: "unit job CPUQuota=50% -- /test/tool burn 2; sleep 3",
    clean: "systemctl stop job",
    expected: Expected::Finding(Finding {
        rule: "CPU-05",
        subject: "cgroup:/system.slice/job.service",
        beside: &["CPU-06"],
        ..FINDING
    }),
    steps: &[Step::Apply(Apply {
        id: "CPU-05/cgroup%3A%2Fsystem.slice%2Fjob.service/F-CPUQUOTA",
        options: "--set cores=3",
        state: "unit_state job",
        sets: &["CPUQuotaPerSecUSec=3s", "cpu.max 300000 100000"],
        ..APPLY
    })],
    ..PLAIN
};

pub(super) const DISK: Scenario = Scenario {
    name: "systemd-disk",
    proves: "IO-02 names two services and not their slice; F-IOMAX of one goes through systemd and is undone",
    seconds: 70,
    inject: "slow_disk; unit queue IOAccounting=yes -- /test/tool sync /slow/queue
        unit search IOAccounting=yes -- /test/tool sync /slow/search; sleep 3",
    clean: "systemctl stop queue search; no_slow_disk",
    expected: Expected::Check(|samples| {
        let writers = samples.found("IO-02", "disk:vd")?.text("writers")?;
        holds(!writers.contains("/system.slice "), format!("the slice is named beside its services: {writers}"))?;
        samples.show(&Finding {
            texts: &[("writers", "queue.service"), ("writers", "search.service")],
            ..disk::TWO_WRITERS
        })
    }),
    steps: &[Step::Apply(Apply {
        id: "IO-02/disk%3Avdd/F-IOMAX",
        options: "--set group=/system.slice/search.service --set iops=2",
        state: "unit_state search",
        sets: &["IOWriteIOPSMax=/dev/vdd 2", "wiops=2"],
        ..APPLY
    })],
    ..PLAIN
};

/// Whether irqbalance runs, and the interface.
const IRQBALANCE_STATE: &str =
    "systemctl show irqbalance --property=ActiveState,SubState; pgrep -xc irqbalance; network_state";

pub(super) const IRQBALANCE: Scenario = Scenario {
    name: "systemd-irqbalance",
    proves: "F-IRQBAL starts and stops irqbalance as a service, also with an interrupt banned (IRQ-02)",
    seconds: 100,
    steps: &[
        Step::Apply(Apply {
            name: "service",
            id: "IRQ-02/host/F-IRQBAL",
            state: IRQBALANCE_STATE,
            sets: &["ActiveState=active", "SubState=running"],
            observe: "systemctl show irqbalance --property=MainPID --value; pgrep -x irqbalance",
            ..APPLY
        }),
        Step::Shell("flood 32 60000 900; state_part first \"queue_irqs | head -1\""),
        Step::Apply(Apply {
            name: "banned",
            id: "IRQ-02/host/F-IRQBAL",
            options: "--set ban=$(queue_irqs | head -1)",
            state: IRQBALANCE_STATE,
            observe: "tr \"\\\\0\" \" \" < /proc/$(pgrep -x irqbalance)/cmdline",
            ..APPLY
        }),
    ],
    check: |parts| {
        let pids: Vec<&str> = parts.text("service.observed_during")?.lines().collect();
        holds(pids.len() == 2 && pids[0] == pids[1], format!("systemd's process and irqbalance: {pids:?}"))?;
        let ban = format!("--banirq={}", parts.text("first")?);
        parts.contains("banned.observed_during", &[&ban])?;
        Ok(ban)
    },
    ..network::INTERRUPTS
};

pub(super) const LOGIN: Scenario = Scenario {
    name: "systemd-login",
    proves: "where the whole login ends with F-CHAN unconfirmed (NIC-01), a timer of systemd undoes it",
    seconds: 110,
    steps: &[Step::Shell(
        "state_part before network_state
        systemd-run --quiet --collect --unit=login --setenv=SSH_CONNECTION=\"10.77.0.1 4711 10.77.0.2 22\" -- bash -c \
            'exec /test/topotop --config /test/config.toml --interval 700ms --state-dir /tmp/journal fix apply \
            NIC-01/nic%3Aeth0/F-CHAN --for '$((2 * patience))'s --set combined=4 --yes --confirm-subject eth0 > /tmp/applied 2>&1'
        for try in {1..600}; do [ $(channels) = 1 ] || break; sleep 0.2; done
        state_part during network_state
        state_part timers \"systemctl list-timers --all topotop-revert-*\"
        systemctl stop login; state_part login \"systemctl is-active login\"
        for try in {1..600}; do [ $(channels) = 4 ] || break; sleep 0.2; done
        link_up
        fix journal journal --format json
        state_part after network_state
        tell applied applied",
    )],
    check: login_ended,
    ..network::VIRTIO_CHANNELS
};

fn login_ended(parts: &Parts) -> Outcome {
    let applied = parts.text("applied")?;
    parts.contains("during", &["channels 4\n"]).map_err(|why| format!("{why}: {applied}"))?;
    parts.contains("timers", &["topotop-revert-"])?;
    let journal = parts.journal()?;
    let entry = journal.first().ok_or("the journal is empty")?;
    let state = entry["state"].as_str().unwrap_or_default();
    holds(state == "reverted" || state == "undone", format!("the journal: {entry}"))?;
    holds(parts.text("login")? == "inactive", format!("the login is {}", parts.text("login")?))?;
    parts.equal("before", "after")?;
    Ok("undone by a timer of systemd".to_owned())
}
