//! A machine of systemd's: settings of its units are changed through it, daemons are started by it, and a login that
//! ends takes nothing with it.

use super::mend::{by_keys, part, same};
use super::mend_memory::said;
use super::{PLAIN, Scenario, network};
use crate::seen::{Outcome, Parts, Seen, holds};

/// A service at its memory limit, whose page cache is read again and again.
pub(crate) const MEMORY: Scenario = Scenario {
    name: "systemd-memory",
    inject: "data; cold /data/set 160
        unit web MemoryMax=64M -- bash -c 'while :; do cat /data/set > /dev/null; done'; sleep 4",
    clean: "systemctl stop web; no_data",
    sick: |seen| told(seen, "MEM-02", "cgroup:/system.slice/web.service"),
    mend: "fixes=MEM-02/cgroup%3A%2Fsystem.slice%2Fweb.service
        unit_state web > before
        keys MEM-02 F-LIMIT limit=256M
        unit_state web > by_keys
        sleep 10
        fix applied apply $fixes/F-LIMIT --set limit=256M --for 20s --yes --no-wait
        systemctl daemon-reload
        unit_state web > during
        fix undone undo $fixes/F-LIMIT
        systemctl daemon-reload
        unit_state web > after
        for state in before by_keys during after; do tell $state $state; done",
    mended: |parts| {
        by_keys(parts, "systemctl set-property --runtime web.service MemoryMax=268435456")?;
        set(parts, &["MemoryMax=268435456", "memory.max 268435456"])
    },
    ..PLAIN
};

/// A service that its quota stops.
pub(crate) const QUOTA: Scenario = Scenario {
    name: "systemd-quota",
    inject: "unit job CPUQuota=50% -- /test/tool act burn 2; sleep 3",
    clean: "systemctl stop job",
    sick: |seen| told(seen, "CPU-05", "cgroup:/system.slice/job.service"),
    mend: "fixes=CPU-05/cgroup%3A%2Fsystem.slice%2Fjob.service
        unit_state job > before
        fix applied apply $fixes/F-CPUQUOTA --set cores=3 --for 20s --yes --no-wait
        systemctl daemon-reload
        unit_state job > during
        fix undone undo $fixes/F-CPUQUOTA
        systemctl daemon-reload
        unit_state job > after
        for state in before during after; do tell $state $state; done",
    mended: |parts| set(parts, &["CPUQuotaPerSecUSec=3s", "cpu.max 300000 100000"]),
    ..PLAIN
};

/// Two services on a slow disk, one of which is held back.
pub(crate) const DISK: Scenario = Scenario {
    name: "systemd-disk",
    inject: "slow_disk; unit queue IOAccounting=yes -- /test/tool act sync /slow/queue
        unit search IOAccounting=yes -- /test/tool act sync /slow/search; sleep 3",
    clean: "systemctl stop queue search; no_slow_disk",
    sick: |seen| {
        let writers = seen.found("IO-02", "disk:vd")?.text("writers")?;
        holds(!writers.contains("/system.slice "), format!("the slice of both is named beside them: {writers}"))?;
        told(seen, "IO-02", "disk:vd")
    },
    mend: "fixes=IO-02/disk%3Avdd group=/system.slice/search.service
        unit_state search > before
        fix applied apply $fixes/F-IOMAX --set group=$group --set iops=2 --for 20s --yes --no-wait
        systemctl daemon-reload
        unit_state search > during
        fix undone undo $fixes/F-IOMAX
        systemctl daemon-reload
        unit_state search > after
        for state in before during after; do tell $state $state; done",
    mended: |parts| set(parts, &["IOWriteIOPSMax=/dev/vdd 2", "wiops=2"]),
    ..PLAIN
};

/// All queues on one CPU: irqbalance is started as a service, and stopped.
pub(crate) const IRQBALANCE: Scenario = Scenario {
    name: "systemd-irqbalance",
    mend: "state() { systemctl show irqbalance --property=ActiveState,SubState; pgrep -xc irqbalance; network_state; }
        state > before
        fix applied apply IRQ-02/host/F-IRQBAL --for 20s --yes --no-wait
        systemctl show irqbalance --property=ActiveState,SubState,MainPID > during
        echo MainPID=$(pgrep -x irqbalance) >> during
        fix undone undo IRQ-02/host/F-IRQBAL
        state > after
        flood 32 60000 300
        fix banned apply IRQ-02/host/F-IRQBAL --set ban=$(queue_irqs | head -1) --for 20s --yes --no-wait
        tr '\\0' ' ' < /proc/$(pgrep -x irqbalance)/cmdline > arguments
        fix unbanned undo IRQ-02/host/F-IRQBAL
        state > again; queue_irqs | head -1 > first
        for state in before during after again arguments first; do tell $state $state; done",
    mended: |parts| {
        let during = part(parts, "during")?;
        set(parts, &["ActiveState=active", "SubState=running"])?;
        let pids: Vec<&str> = during.lines().filter(|line| line.starts_with("MainPID=")).collect();
        holds(pids.len() == 2 && pids[0] == pids[1], format!("it is not systemd's: {during}"))?;
        let arguments = part(parts, "arguments")?;
        let ban = format!("--banirq={}", part(parts, "first")?);
        holds(arguments.contains(&ban), format!("{ban} is not in {arguments}: {}", said(parts, "banned")?))?;
        holds(part(parts, "unbanned.status")? == "0", said(parts, "unbanned")?)?;
        same(parts, "before", "again")?;
        Ok(format!("{}, then {ban}; stopped both times, all as before", pids[0]))
    },
    ..network::CROWDED
};

/// One queue: somebody raises channels of the interface that the login came in by, and the whole login ends.
pub(crate) const LOGIN: Scenario = Scenario {
    name: "systemd-login",
    mend: "combined() { ethtool -l eth0 | awk '/^Combined/ { now = $2 } END { print now }'; }
        network_state > before
        flood 32 60000 300
        systemd-run --quiet --collect --unit=login --setenv=SSH_CONNECTION='10.77.0.1 4711 10.77.0.2 22' -- bash -c \
            'exec /test/topotop --config /test/config.toml --interval 700ms --state-dir /tmp/state fix apply \
            NIC-01/nic%3Aeth0/F-CHAN --for 20s --set combined=4 --yes --confirm-subject eth0 > /tmp/applied 2>&1'
        for try in {1..400}; do [ $(combined) = 1 ] || break; sleep 0.2; done
        network_state > during
        systemctl list-timers --all 'topotop-revert-*' > timers
        systemctl stop login; systemctl is-active login > login
        for try in {1..400}; do [ $(combined) = 4 ] || break; sleep 0.2; done
        link_up
        fix journal journal --format json
        network_state > after
        for state in before during after applied timers login; do tell $state $state; done",
    mended: |parts| {
        let (during, applied, timers) = (part(parts, "during")?, part(parts, "applied")?, part(parts, "timers")?);
        let combined = during.lines().rfind(|line| line.starts_with("Combined:")).unwrap_or_default();
        holds(combined.ends_with("\t4"), format!("channels: {combined}: {applied}"))?;
        holds(timers.contains("topotop-revert-"), format!("nothing would take it back: {timers}"))?;
        holds(applied.contains("a timer of systemd"), format!("it does not say who would: {applied}"))?;
        holds(part(parts, "login")? == "inactive", format!("the login is {}", part(parts, "login")?))?;
        same(parts, "before", "after")?;
        Ok("its login ended, a timer of systemd took it back, all as before".to_owned())
    },
    ..network::ONE_QUEUE
};

fn told(seen: &Seen, rule: &str, subject: &str) -> Outcome {
    let found = seen.found(rule, subject)?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}

/// What was set is what systemd and the kernel say, by `applied` and undone by `undone`.
fn set(parts: &Parts, wanted: &[&str]) -> Outcome {
    holds(part(parts, "applied.status")? == "0", format!("applied: {}", said(parts, "applied")?))?;
    let during = part(parts, "during")?;
    for words in wanted {
        holds(during.contains(words), format!("{words} is not in {during}: {}", said(parts, "applied")?))?;
    }
    holds(part(parts, "undone.status")? == "0", format!("undone: {}", said(parts, "undone")?))?;
    same(parts, "before", "after")?;
    Ok(format!("{}; undone, all as before", wanted.join(", ")))
}
