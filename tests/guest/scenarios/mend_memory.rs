//! Fixes of memory and disks: applied, measured, and taken back until all that can be restored is as before.

use super::mend::{by_keys, journaled, json, part, same, taken_back};
use super::{PLAIN, Scenario, disk, memory};
use crate::seen::{Outcome, Parts, Seen, holds, improved, measured};

/// Cache at the limit under pain: some is taken, a mark below the limit is taken back, by itself under pressure, and a
/// higher limit cures it.
pub(crate) const CACHE: Scenario = Scenario {
    name: "mend-cache",
    mend: "fix=MEM-02/cgroup%3A%2Fweb
        group_state web > before
        keys MEM-02 F-LIMIT limit=256M
        group_state web > by_keys
        sleep 10
        fix list list --for 25s --format json
        for name in LIMIT RECLAIM HIGH; do nobody no_$name apply $fix/F-$name --for 25s --yes --no-wait; done
        group_state web > untouched
        fix reclaimed apply $fix/F-RECLAIM --for 25s --yes --no-wait
        fix held apply $fix/F-HIGH --for 25s --yes
        fix freed undo $fix/F-HIGH
        group_state web > released
        fix applied apply $fix/F-LIMIT --set limit=256M --for 25s --yes
        group_state web > during
        watch $scenario cured 700 13
        fix journal journal --format json
        fix undone undo $fix/F-LIMIT
        group_state web > after
        for state in before by_keys untouched released during after; do tell $state $state; done",
    mended: cache,
    ..memory::REFAULT
};

fn cache(parts: &Parts) -> Outcome {
    by_keys(parts, "268435456")?;
    let offered = json(parts, "list")?;
    let fixes: Vec<&str> = offered.as_array().into_iter().flatten().filter_map(|offer| offer["id"].as_str()).collect();
    let place = |fix: &str| fixes.iter().position(|id| *id == format!("MEM-02/cgroup%3A%2Fweb/{fix}"));
    let (reclaim, limit, high) = (place("F-RECLAIM"), place("F-LIMIT"), place("F-HIGH"));
    holds(reclaim < limit && limit < high && reclaim.is_some(), format!("on offer: {fixes:?}"))?;
    for kind in ["no_LIMIT", "no_RECLAIM", "no_HIGH"] {
        denied(parts, kind)?;
    }
    same(parts, "before", "untouched")?;
    let reclaimed = said(parts, "reclaimed")?;
    holds(part(parts, "reclaimed.status")? == "0" && reclaimed.contains("applied"), format!("reclaim: {reclaimed}"))?;
    // How much the group waits under the mark depends on how fast this machine is: where it is less, nothing takes the
    // mark back but the hand.
    let (held, freed) = (said(parts, "held")?, said(parts, "freed")?);
    let tripped = held.contains("memory_full") && held.contains("above 0.1 for 5 s");
    holds(tripped != (part(parts, "freed.status")? == "0"), format!("the mark: {held}; undone: {freed}"))?;
    same(parts, "before", "released")?;
    holds(part(parts, "during")?.contains("memory.max 268435456"), format!("limits: {}", part(parts, "during")?))?;
    let (state, _) = journaled(parts, "F-LIMIT")?;
    let (before, after) =
        (pressure(&Seen::parse(part(parts, "sick")?)?, "/web"), pressure(&Seen::parse(part(parts, "cured")?)?, "/web"));
    taken_back(parts)?;
    improved(&state, &said(parts, "applied")?)?;
    measured(after < before / 2.0, format!("tasks waited {before:.2} of the time, {after:.2} then"))?;
    Ok(format!("tasks waited {before:.2} -> {after:.2} of the time, {state}; undone, all as before"))
}

/// The mean share of the time that some task of a group waited for memory.
fn pressure(seen: &Seen, path: &str) -> f64 {
    let group = |sample: &serde_json::Value| {
        let groups = sample["cgroups"].as_array()?;
        let group = groups.iter().find(|group| group["path"] == path)?;
        group["pressure"]["memory"]["some_ratio"].as_f64()
    };
    let all: Vec<f64> = seen.samples.iter().filter_map(group).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

pub(super) fn said(parts: &Parts, kind: &str) -> Result<String, String> {
    Ok(format!("{}{}", part(parts, kind)?, part(parts, &format!("{kind}.errors"))?))
}

/// Nobody may, and is told what is missing.
pub(super) fn denied(parts: &Parts, kind: &str) -> Result<(), String> {
    let denied = said(parts, kind)?;
    holds(part(parts, &format!("{kind}.status"))? == "1", format!("{kind}, nobody in particular: {denied}"))?;
    holds(denied.contains("root"), format!("it does not name what is missing: {denied}"))
}

/// The same with version 1: a higher limit, and all of it given back, which is dangerous.
pub(crate) const CACHE_V1: Scenario = Scenario {
    name: "mend-cache-v1",
    mend: "fix=MEM-02/cgroup%3A%2Fweb
        group_state memory/web > before
        fix list list --for 25s --format json
        nobody no_LIMIT apply $fix/F-LIMIT --for 25s --yes --no-wait
        fix unsure apply $fix/F-FORCE-EMPTY --for 25s --yes --no-wait
        fix emptied apply $fix/F-FORCE-EMPTY --for 25s --yes --confirm-subject /web --no-wait
        fix applied apply $fix/F-LIMIT --set limit=256M --for 25s --yes
        group_state memory/web > during
        fix journal journal --format json
        fix undone undo $fix/F-LIMIT
        group_state memory/web > after
        for state in before during after; do tell $state $state; done",
    mended: cache_v1,
    ..memory::REFAULT_V1
};

fn cache_v1(parts: &Parts) -> Outcome {
    denied(parts, "no_LIMIT")?;
    let unsure = said(parts, "unsure")?;
    holds(
        part(parts, "unsure.status")? == "1" && unsure.contains("--confirm-subject /web"),
        format!("not asked: {unsure}"),
    )?;
    let emptied = said(parts, "emptied")?;
    holds(
        part(parts, "emptied.status")? == "0" && emptied.contains("force_empty: done"),
        format!("emptying: {emptied}"),
    )?;
    holds(
        part(parts, "during")?.contains("memory.limit_in_bytes 268435456"),
        format!("limits: {}", part(parts, "during")?),
    )?;
    let (state, _) = journaled(parts, "F-LIMIT")?;
    taken_back(parts)?;
    improved(&state, &said(parts, "applied")?)?;
    Ok(format!("emptied, then {state}; undone, all as before"))
}

/// One of two on a slow disk is held back: the other one writes more. Then what needs a scheduler or a controller that
/// honours it: a priority, and weights by each.
pub(crate) const DISK: Scenario = Scenario {
    name: "mend-shared-disk",
    mend: "fixes=IO-02/disk%3Avdd
        slow_disk_by bfq; slow_disk_by none
        group_state search > before
        keys IO-02 F-IOMAX group=/search iops=2
        group_state search > by_keys
        sleep 10
        fix list list --for 25s --format json
        fix floor apply $fixes/F-IOMAX --for 25s --yes --no-wait
        fix applied apply $fixes/F-IOMAX --set group=/search --set iops=2 --for 40s --yes
        group_state search > during
        fix journal journal --format json
        fix undone undo $fixes/F-IOMAX
        group_state search > after
        fix unheard apply $fixes/F-IOWEIGHT --set group=/search --for 20s --yes --no-wait
        slow_disk_by mq-deadline
        priorities search > before_level
        fix level apply $fixes/F-IONICE --set group=/search --for 20s --yes --no-wait
        priorities search > during_level
        fix undone_level undo $fixes/F-IONICE
        priorities search > after_level
        slow_disk_by bfq
        nobody no_share apply $fixes/F-IOWEIGHT --set group=/search --for 20s --yes --no-wait
        fix share apply $fixes/F-IOWEIGHT --set group=/search --for 20s --yes --no-wait
        group_state search > during_share
        fix undone_share undo $fixes/F-IOWEIGHT
        group_state search > after_share
        slow_disk_by none; slow_disk_cost 1
        fix cost apply $fixes/F-IOWEIGHT --set group=/search --for 20s --yes --no-wait
        group_state search > during_cost
        fix undone_cost undo $fixes/F-IOWEIGHT
        group_state search > after_cost
        slow_disk_cost 0
        for state in before by_keys during after before_level during_level after_level during_share after_share during_cost \
            after_cost; do tell $state $state; done",
    mended: held_back,
    ..disk::SHARED
};

fn held_back(parts: &Parts) -> Outcome {
    by_keys(parts, "wiops=2")?;
    let floor = said(parts, "floor")?;
    holds(
        part(parts, "floor.status")? == "1" && floor.contains("nobody is held below 100 writes/s"),
        format!("the floor: {floor}"),
    )?;
    let during = part(parts, "during")?;
    holds(during.contains("wiops=2"), format!("limits: {during}"))?;
    let (state, _) = journaled(parts, "F-IOMAX")?;
    let applied = said(parts, "applied")?;
    holds(state.starts_with("applied improved"), format!("the journal says {state}: {applied}"))?;
    taken_back(parts)?;
    let unheard = said(parts, "unheard")?;
    holds(
        part(parts, "unheard.status")? == "1" && unheard.contains("its scheduler is none"),
        format!("a weight that nobody honours: {unheard}"),
    )?;
    denied(parts, "no_share")?;
    for (kind, before, set) in [
        ("level", "before_level", "best-effort: prio 7"),
        ("share", "before", "io.bfq.weight default 50"),
        ("cost", "before", "io.weight default 50"),
    ] {
        for kind in [kind.to_owned(), format!("undone_{kind}")] {
            holds(part(parts, &format!("{kind}.status"))? == "0", format!("{kind}: {}", said(parts, &kind)?))?;
        }
        let during = part(parts, &format!("during_{kind}"))?;
        holds(during.contains(set), format!("{kind}: {during}"))?;
        same(parts, before, &format!("after_{kind}"))?;
    }
    let load = applied.lines().find(|line| line.trim_start().starts_with("load")).unwrap_or_default().trim();
    Ok(format!("{load}, {state}; undone, as are a priority and weights of both kinds, all as before"))
}

/// A group that is stopped by its quota gets more.
pub(crate) const QUOTA: Scenario = Scenario {
    name: "mend-quota",
    inject: "group job 'cpu.max=50000 100000'; in_group job /test/tool act burn 2; sleep 3",
    clean: "stop; no_group job",
    sick: throttled,
    mend: "group_state job > before
        keys CPU-05 F-CPUQUOTA cores=3
        group_state job > by_keys
        sleep 10
        fix applied apply CPU-05/cgroup%3A%2Fjob/F-CPUQUOTA --set cores=3 --for 20s --yes
        group_state job > during
        watch $scenario cured 700 13
        fix journal journal --format json
        fix undone undo CPU-05/cgroup%3A%2Fjob/F-CPUQUOTA
        group_state job > after
        for state in before by_keys during after; do tell $state $state; done",
    mended: let_go,
    ..PLAIN
};

fn throttled(seen: &Seen) -> Outcome {
    let found = seen.found("CPU-05", "cgroup:/job")?;
    holds((found.number("quota")? - 0.5).abs() < 0.01, "its quota is not told")?;
    seen.only(&["CPU-05", "CPU-06"])?;
    Ok(format!("after {} samples: {}", found.after, found.title()))
}

fn let_go(parts: &Parts) -> Outcome {
    by_keys(parts, "300000 100000")?;
    holds(part(parts, "applied.status")? == "0", format!("applied: {}", said(parts, "applied")?))?;
    holds(part(parts, "during")?.contains("cpu.max 300000 100000"), format!("quota: {}", part(parts, "during")?))?;
    let (state, _) = journaled(parts, "F-CPUQUOTA")?;
    let cured = Seen::parse(part(parts, "cured")?)?;
    holds(!cured.last().iter().any(|line| line.contains("CPU-05")), "CPU-05 is still found")?;
    taken_back(parts)?;
    improved(&state, &said(parts, "applied")?)?;
    Ok(format!("{state}; undone, all as before"))
}

/// Settings of the whole kernel: a writer that is held for dirty memory, and nodes that reclaim before they ask others.
pub(crate) const SETTINGS: Scenario = Scenario {
    name: "mend-settings",
    inject: "slow_disk; slow_disk_requests 64
        echo 1 > /proc/sys/vm/zone_reclaim_mode; echo 16777216 > /proc/sys/vm/dirty_bytes
        bg /test/tool act rewrite /slow/log 40 150; sleep 5",
    clean: "stop; echo 0 > /proc/sys/vm/zone_reclaim_mode; echo 20 > /proc/sys/vm/dirty_ratio
        rm /slow/log; slow_disk_requests 1280; no_slow_disk",
    samples: 18,
    sick: set_wrongly,
    mend:
        "names='vm.dirty_bytes vm.dirty_ratio vm.dirty_background_bytes vm.dirty_background_ratio vm.zone_reclaim_mode'
        settings $names > before
        fix local apply NUMA-07/host/F-SYSCTL --for 15s --yes --no-wait
        settings $names > during_local
        fix undone_local undo NUMA-07/host/F-SYSCTL
        settings $names > after_local
        fix dirty apply MEM-06/host/F-DIRTY --set bytes=8M --set background=2M --for 25s --yes --no-wait
        settings $names > during_dirty
        fix undone_dirty undo MEM-06/host/F-DIRTY
        settings $names > after_dirty
        for state in before during_local after_local during_dirty after_dirty; do tell $state $state; done",
    mended: set_and_put_back,
    ..PLAIN
};

fn set_wrongly(seen: &Seen) -> Outcome {
    let shares = seen.series("MEM-06", "host", "share");
    let (first, share) = *shares.first().ok_or("no MEM-06 about the host")?;
    holds(!seen.series("NUMA-07", "host", "scanned").is_empty(), "no NUMA-07")?;
    // Page cache fills the small nodes from the first.
    seen.only(&["MEM-06", "NUMA-07", "NUMA-05", "IO-01", "IO-03"])?;
    Ok(format!("after {first} samples: dirty memory at {share:.2} of its limit"))
}

fn set_and_put_back(parts: &Parts) -> Outcome {
    for (kind, set) in [
        ("local", "vm.zone_reclaim_mode 0"),
        ("dirty", "vm.dirty_bytes 8388608\nvm.dirty_ratio 0\nvm.dirty_background_bytes 2097152\n"),
    ] {
        for kind in [kind.to_owned(), format!("undone_{kind}")] {
            holds(part(parts, &format!("{kind}.status"))? == "0", format!("{kind}: {}", said(parts, &kind)?))?;
        }
        let during = part(parts, &format!("during_{kind}"))?;
        holds(during.contains(set), format!("{kind}: {during}"))?;
        same(parts, "before", &format!("after_{kind}"))?;
    }
    Ok("a setting and limits of dirty memory written; undone, all as before".to_owned())
}
