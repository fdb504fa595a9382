//! Fixes of interfaces and interrupts: applied, measured, and taken back until all is as before.

use super::{Scenario, network};
use crate::seen::{Outcome, Parts, Seen, holds, improved, measured};
use serde_json::Value;

/// One queue of four, under a flood: channels are raised and put back.
pub(crate) const CHANNELS: Scenario = Scenario {
    name: "mend-virtio-channels",
    mend: "network_state > before
        busy_flood 300
        fix list list --for 20s --format json
        denied apply NIC-01/nic%3Aeth0/F-CHAN --for 30s --yes
        network_state > untouched
        fix applied apply NIC-01/nic%3Aeth0/F-CHAN --for 30s --set combined=4 --yes
        network_state > during
        flood 32 60000 60
        watch $scenario cured 700 13
        fix journal journal --format json
        fix undone undo NIC-01/nic%3Aeth0/F-CHAN
        network_state > after
        link_up
        for state in before untouched during after; do tell $state $state; done",
    mended: channels,
    ..network::ONE_QUEUE_DEAR
};

/// The same by somebody who sits at a terminal.
pub(crate) const CHANNELS_SCREEN: Scenario = Scenario {
    name: "mend-channels-screen",
    mend: "network_state > before
        busy_flood 400
        /test/tool act measure NIC-01 F-CHAN combined=4 > screen 2> errors; echo $? > status
        network_state > after
        link_up
        for state in before screen errors status after; do tell $state $state; done",
    mended: by_hand,
    ..network::ONE_QUEUE_DEAR
};

/// The same by somebody whose login came in by the interface: it would take itself back, and is kept.
pub(crate) const CHANNELS_LOGIN: Scenario = Scenario {
    name: "mend-channels-login",
    inject: network::ONE_QUEUE_IGB_DEAR.inject,
    clean: network::ONE_QUEUE_IGB_DEAR.clean,
    mend: "network_state > before
        busy_flood 400
        /test/tool act measure NIC-01 F-CHAN combined=4 '10.77.0.1 4711 10.77.0.2 22' > screen 2> errors; echo $? > status
        network_state > after
        link_up
        for state in before screen errors status after; do tell $state $state; done",
    mended: by_login,
    ..CHANNELS_SCREEN
};

fn by_login(parts: &Parts) -> Outcome {
    let screen = part(parts, "screen")?;
    for said in ["dangerous", "takes itself back", "== kept"] {
        holds(screen.contains(said), format!("nobody says {said:?}:\n{screen}"))?;
    }
    by_hand(parts)
}

fn by_hand(parts: &Parts) -> Outcome {
    let (screen, errors) = (part(parts, "screen")?, part(parts, "errors")?);
    holds(part(parts, "status")? == "0", format!("{screen}\n{errors}"))?;
    let stood = |what: &str| screen.split("== ").find(|page| page.starts_with(what)).unwrap_or_default();
    for (page, said) in [
        ("plan", "ethtool -L eth0 combined 4"),
        ("plan", "This login"),
        ("applied", "settling, verdict in"),
        ("verdict", "packets received of nic:eth0"),
        ("verdict", "Verdict: "),
        ("verdict", "softirq of the CPU with most of host"),
        // Nothing is left of the finding.
        ("verdict", "findings matches \"NIC-01\""),
        ("timeline", "fix undone"),
    ] {
        holds(stood(page).contains(said), format!("{page} does not say {said:?}:\n{}", stood(page)))?;
    }
    let now = ["Bottleneck now", "No bottleneck now"];
    holds(now.iter().any(|said| stood("verdict").contains(said)), format!("what is short now:\n{}", stood("verdict")))?;
    same(parts, "before", "after")?;
    let cost = stood("verdict").lines().find(|line| line.contains("cost  softirq")).unwrap_or_default();
    holds(!stood("verdict").contains("Verdict: worse"), format!("it got worse:\n{}", stood("verdict")))?;
    let better = stood("verdict").contains("Verdict: improved") && cost.contains("better");
    measured(better, format!("the hottest CPU: {cost}"))?;
    Ok(format!("by keys: improved, {}; undone by one, all as before", cost.trim_matches([' ', '│'])))
}

/// The same on a card whose interrupts change their names and numbers with its channels.
pub(crate) const CHANNELS_IGB: Scenario = Scenario {
    name: "mend-igb-channels",
    inject: network::ONE_QUEUE_IGB_DEAR.inject,
    clean: network::ONE_QUEUE_IGB_DEAR.clean,
    ..CHANNELS
};

/// Packets of the one queue are handed on to other CPUs, and no longer; then rings, channels and the table that picks a
/// queue are set on a live card, and put back.
pub(crate) const QUEUES: Scenario = Scenario {
    name: "mend-queues",
    inject: network::ONE_QUEUE_IGB_DEAR.inject,
    mend: "network_state > before
        flood 32 60000 120
        fix applied apply NIC-01/nic%3Aeth0/F-RPS --for 20s --yes --no-wait
        network_state > during
        fix undone undo NIC-01/nic%3Aeth0/F-RPS
        network_state > after
        no_flood
        ethtool -L eth0 combined 4; link_up
        network_state > quiet
        for what in 'rings eth0 rx 512' 'channels eth0 combined 2' 'table eth0 equal 2'; do
            set -- $what
            /test/tool act set $1 $2 \"$3 $4\" >> set; link_up
        done
        network_state > still
        ethtool -X eth0 default
        for state in before during after quiet still set; do tell $state $state; done",
    mended: queues_of,
    clean: network::ONE_QUEUE_IGB_DEAR.clean,
    ..network::ONE_QUEUE
};

fn queues_of(parts: &Parts) -> Outcome {
    let said = format!("{}{}", part(parts, "applied")?, part(parts, "applied.errors")?);
    holds(part(parts, "applied.status")? == "0", format!("RPS: {said}"))?;
    let mask = |state| {
        let mut lines = part(parts, state)?.lines();
        lines.find(|line| line.contains("rx-0/rps_cpus")).ok_or_else(|| format!("no mask of rx-0 {state}"))
    };
    let (before, during) = (mask("before")?, mask("during")?);
    holds(before.ends_with(" 00") && !during.ends_with(" 00"), format!("{before}, then {during}"))?;
    taken_back(parts)?;
    let set = part(parts, "set")?;
    for said in ["rings: set: rx 512", "table: set: ", "channels: set: combined 2"] {
        holds(set.contains(said), format!("{said} is not in:\n{set}"))?;
    }
    for kind in ["rings", "table", "channels"] {
        let value = |said: &str| set.lines().find_map(|line| line.strip_prefix(&format!("{kind}: {said}")));
        let (was, is, back) = (value("was "), value("set: "), value("put back: "));
        holds(was.is_some() && was == back && was != is, format!("{kind} went from {was:?} to {is:?} to {back:?}"))?;
    }
    same(parts, "quiet", "still")?;
    Ok(format!(
        "{during}; {}; all put back",
        set.lines().filter(|line| line.contains("set:")).collect::<Vec<_>>().join(", ")
    ))
}

/// What was done by keys in a terminal, `keys` of `lib`: pages with what has to stand there, and the state afterwards.
pub(super) fn by_keys(parts: &Parts, plan: &str) -> Result<(), String> {
    let screen = part(parts, "keys")?;
    holds(part(parts, "keys.status")? == "0", format!("by keys: {screen}\n{}", part(parts, "keys.errors")?))?;
    let stood = |what: &str| screen.split("== ").find(|page| page.starts_with(what)).unwrap_or_default();
    for (page, said) in [("plan", plan), ("applied", "read back"), ("undone", "reads as before"), ("done", "")] {
        holds(stood(page).contains(said), format!("{page} does not say {said:?}:\n{}", stood(page)))?;
    }
    same(parts, "before", "by_keys")
}

fn channels(parts: &Parts) -> Outcome {
    let offered = json(parts, "list")?;
    let offers = offered.as_array().into_iter().flatten();
    let mut ids = offers.filter_map(|offer| offer["id"].as_str());
    holds(ids.any(|id| id == "NIC-01/nic%3Aeth0/F-CHAN"), format!("not on offer: {offered}"))?;
    let denied = format!("{}{}", part(parts, "denied")?, part(parts, "denied.errors")?);
    holds(part(parts, "denied.status")? == "1", format!("without CAP_NET_ADMIN: {denied}"))?;
    holds(denied.contains("CAP_NET_ADMIN"), format!("it does not name what is missing: {denied}"))?;
    same(parts, "before", "untouched")?;
    let during = part(parts, "during")?;
    // The maximum stands above what there is.
    let combined = during.lines().rfind(|line| line.starts_with("Combined:")).unwrap_or_default();
    holds(combined.ends_with("\t4"), format!("channels: {during}"))?;
    let (state, (before, after)) = journaled(parts, "F-CHAN")?;
    let applied = part(parts, "applied")?;
    let row = applied.lines().find(|line| line.contains("nic.on_one_queue")).unwrap_or_default();
    let share = row.split("-> ").nth(1).and_then(|after| after.split(' ').next()?.parse::<f64>().ok());
    // Of few packets it is not told.
    holds(share.is_none_or(|share| share < 0.8), format!("one queue takes most packets still: {applied}"))?;
    let cured = Seen::parse(part(parts, "cured")?)?;
    holds(!cured.last().iter().any(|line| line.contains("NIC-01")), "NIC-01 is still found")?;
    taken_back(parts)?;
    improved(&state, applied)?;
    measured(after < before, format!("softirq of the hottest CPU went from {before:.2} to {after:.2}"))?;
    Ok(format!("hottest softirq {before:.2} -> {after:.2}; {state}; undone, all as before"))
}

/// All queues on one CPU: placed by hand and put back; irqbalance is started and stopped, by its script, by OpenRC and by
/// itself.
pub(crate) const INTERRUPTS: Scenario = Scenario {
    name: "mend-interrupts",
    mend: "network_state > before
        flood 32 60000 300
        keys IRQ-02 F-IRQBAL
        network_state > by_keys
        flood 32 60000 300
        mkdir /run/openrc; echo default > /run/openrc/softlevel
        fix kept apply IRQ-02/host/F-IRQBAL --for 20s --yes --no-wait
        pgrep -x irqbalance > kept_runs
        fix unkept undo IRQ-02/host/F-IRQBAL
        pgrep -x irqbalance >> kept_runs
        rm -r /run/openrc; mount -t tmpfs nothing /etc/init.d
        flood 32 60000 300
        nobody no_place apply IRQ-02/host/F-IRQAFF --for 20s --yes --no-wait
        fix placed apply IRQ-02/host/F-IRQAFF --for 20s --yes --no-wait
        network_state > by_hand
        fix back undo IRQ-02/host/F-IRQAFF
        network_state > put_back
        flood 32 320 60; sleep 4; flood 32 60000 300; sleep 1
        fix applied apply IRQ-02/host/F-IRQBAL --for 20s --yes --no-wait
        flood 32 320 60; sleep 35
        network_state > during
        flood 32 60000 60
        watch $scenario cured 700 13
        pgrep -x irqbalance > runs
        no_flood
        fix journal journal --format json
        fix undone undo IRQ-02/host/F-IRQBAL
        pgrep -x irqbalance >> runs
        umount /etc/init.d
        network_state > after
        for irq in $(awk '/virtio[0-9]+-req/ { sub(\":\", \"\", $1); print $1; exit }' /proc/interrupts); do
            /test/tool act place $irq 3 > managed
        done
        for state in before by_keys by_hand put_back during after runs kept_runs managed; do tell $state $state; done",
    mended: interrupts,
    ..network::CROWDED
};

fn interrupts(parts: &Parts) -> Outcome {
    by_keys(parts, "service irqbalance start")?;
    for (kind, command) in [
        ("kept", "$ rc-service irqbalance start"),
        ("unkept", ""),
        ("placed", ""),
        ("back", ""),
        ("applied", "$ irqbalance\n"),
        ("undone", ""),
    ] {
        let said = format!("{}{}", part(parts, kind)?, part(parts, &format!("{kind}.errors"))?);
        let done = part(parts, &format!("{kind}.status"))? == "0" && said.contains(command);
        holds(done, format!("{kind}, by {command:?}: {said}"))?;
    }
    super::mend_memory::denied(parts, "no_place")?;
    let by_hand = queues(part(parts, "by_hand")?);
    let mut cpus: Vec<&str> = by_hand.iter().map(|queue| queue.1).collect();
    cpus.sort_unstable();
    cpus.dedup();
    // The card is on node 2, whose CPUs are these.
    holds(cpus == ["4", "5"], format!("by hand they went to {by_hand:?}"))?;
    same(parts, "before", "put_back")?;
    let spread = queues(part(parts, "during")?);
    holds(spread.len() >= 4, format!("queues are missing: {spread:?}"))?;
    let near = |cpus: &str| cpus.split([',', '-']).all(|cpu| cpu == "4" || cpu == "5");
    holds(spread.iter().all(|queue| near(queue.1)), format!("irqbalance left them on {spread:?}"))?;
    for runs in [part(parts, "kept_runs")?, part(parts, "runs")?] {
        holds(runs.lines().count() == 1, format!("its processes, then and after the undo: {runs}"))?;
    }
    let managed = part(parts, "managed")?;
    holds(managed.contains("managed") && !managed.contains("done"), format!("a managed interrupt: {managed}"))?;
    let cured = Seen::parse(part(parts, "cured")?)?;
    holds(!cured.last().iter().any(|line| line.contains("IRQ-02")), "IRQ-02 is still found")?;
    taken_back(parts)?;
    Ok(format!("placed on {cpus:?}, balanced over {spread:?}, all put back; {managed}"))
}

/// The interrupts of receiving queues, with their CPUs.
fn queues(state: &str) -> Vec<(&str, &str)> {
    let lines = state.lines().filter(|line| line.contains("-input."));
    lines.filter_map(|line| line.split_once(' ')).collect()
}

pub(super) fn part<'a>(parts: &'a Parts, kind: &str) -> Result<&'a str, String> {
    parts.get(kind).map(|text| text.trim_end()).ok_or_else(|| format!("no {kind} came"))
}

pub(super) fn json(parts: &Parts, kind: &str) -> Result<Value, String> {
    let text = part(parts, kind)?;
    serde_json::from_str(text).map_err(|error| format!("{kind}: {error}: {text}"))
}

/// What the journal says of the newest application of a fix: state, verdict and reason; the cost before and after.
pub(super) fn journaled(parts: &Parts, fix: &str) -> Result<(String, (f64, f64)), String> {
    let journal = json(parts, "journal")?;
    let rows = journal.as_array().map(Vec::as_slice).unwrap_or_default();
    let row = rows.iter().rfind(|row| row["id"].as_str().is_some_and(|id| id.ends_with(fix)));
    let row = row.ok_or(format!("the journal: {journal}"))?;
    let costs = row["table"].as_array().into_iter().flatten().find(|row| row["role"] == "cost");
    let mean = |side: &str| costs.and_then(|cost| cost[side][0].as_f64()).unwrap_or(f64::NAN);
    let text = |key: &str| row[key].as_str().unwrap_or("?").to_owned();
    let state = format!("{} {}: {}", text("state"), text("verdict"), text("why"));
    Ok((state, (mean("before"), mean("after"))))
}

pub(super) fn taken_back(parts: &Parts) -> Result<(), String> {
    let undone = format!("{}{}", part(parts, "undone")?, part(parts, "undone.errors")?);
    holds(part(parts, "undone.status")? == "0", format!("undo: {undone}"))?;
    same(parts, "before", "after")
}

pub(super) fn same(parts: &Parts, one: &str, other: &str) -> Result<(), String> {
    let (before, after) = (part(parts, one)?, part(parts, other)?);
    let differ = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    holds(before == after, format!("{one} and {other} differ: {differ:?}"))
}
