//! Fixes of memory and disks: applied, measured, and taken back until all that can be restored is as before.

use super::mend::{journaled, json, part, same, taken_back};
use super::{Scenario, disk, memory};
use crate::seen::{Outcome, Parts, Seen, holds};

/// Cache at the limit under pain: some is taken, a mark below the limit takes itself back under pressure, and a higher
/// limit cures it.
pub(crate) const CACHE: Scenario = Scenario {
    name: "mend-cache",
    by_name: true,
    mend: "fix=MEM-02/cgroup%3A%2Fweb
        group_state web > before
        fix list list --for 25s --format json
        nobody apply $fix/F-LIMIT --for 25s --yes --no-wait
        group_state web > untouched
        fix reclaimed apply $fix/F-RECLAIM --for 25s --yes --no-wait
        fix held apply $fix/F-HIGH --for 25s --yes
        group_state web > released
        fix applied apply $fix/F-LIMIT --set limit=256M --for 25s --yes
        group_state web > during
        watch $scenario cured 700 13
        fix journal journal --format json
        fix undone undo $fix/F-LIMIT
        group_state web > after
        for state in before untouched released during after; do tell $state $state; done",
    mended: cache,
    ..memory::REFAULT
};

fn cache(parts: &Parts) -> Outcome {
    let offered = json(parts, "list")?;
    let fixes: Vec<&str> = offered.as_array().into_iter().flatten().filter_map(|offer| offer["id"].as_str()).collect();
    let place = |fix: &str| fixes.iter().position(|id| *id == format!("MEM-02/cgroup%3A%2Fweb/{fix}"));
    let (reclaim, limit, high) = (place("F-RECLAIM"), place("F-LIMIT"), place("F-HIGH"));
    holds(reclaim < limit && limit < high && reclaim.is_some(), format!("on offer: {fixes:?}"))?;
    denied(parts)?;
    same(parts, "before", "untouched")?;
    let reclaimed = said(parts, "reclaimed")?;
    holds(part(parts, "reclaimed.status")? == "0" && reclaimed.contains("applied"), format!("reclaim: {reclaimed}"))?;
    let held = said(parts, "held")?;
    holds(
        held.contains("memory_full") && held.contains("above 0.1 for 5 s"),
        format!("the mark was not taken back under pressure: {held}"),
    )?;
    same(parts, "before", "released")?;
    holds(part(parts, "during")?.contains("memory.max 268435456"), format!("limits: {}", part(parts, "during")?))?;
    let (state, _) = journaled(parts, "F-LIMIT")?;
    holds(state.starts_with("applied improved"), format!("the journal says {state}: {}", said(parts, "applied")?))?;
    let (before, after) =
        (pressure(&Seen::parse(part(parts, "sick")?)?, "/web"), pressure(&Seen::parse(part(parts, "cured")?)?, "/web"));
    holds(after < before / 2.0, format!("tasks waited {before:.2} of the time, {after:.2} then"))?;
    taken_back(parts)?;
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

fn said(parts: &Parts, kind: &str) -> Result<String, String> {
    Ok(format!("{}{}", part(parts, kind)?, part(parts, &format!("{kind}.errors"))?))
}

/// Nobody may, and is told what is missing.
fn denied(parts: &Parts) -> Result<(), String> {
    let denied = said(parts, "nobody")?;
    holds(part(parts, "nobody.status")? == "1", format!("nobody in particular: {denied}"))?;
    holds(denied.contains("root"), format!("it does not name what is missing: {denied}"))
}

/// The same with version 1: a higher limit, and all of it given back, which is dangerous.
pub(crate) const CACHE_V1: Scenario = Scenario {
    name: "mend-cache-v1",
    by_name: true,
    mend: "fix=MEM-02/cgroup%3A%2Fweb
        group_state memory/web > before
        fix list list --for 25s --format json
        nobody apply $fix/F-LIMIT --for 25s --yes --no-wait
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
    denied(parts)?;
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
    holds(state.starts_with("applied improved"), format!("the journal says {state}: {}", said(parts, "applied")?))?;
    taken_back(parts)?;
    Ok(format!("emptied, then {state}; undone, all as before"))
}

/// One of two on a slow disk is held back: the other one writes more.
pub(crate) const DISK: Scenario = Scenario {
    name: "mend-shared-disk",
    by_name: true,
    mend: "group_state search > before
        fix list list --for 25s --format json
        fix floor apply IO-02/disk%3Avdd/F-IOMAX --for 25s --yes --no-wait
        fix applied apply IO-02/disk%3Avdd/F-IOMAX --set group=/search --set iops=2 --for 40s --yes
        group_state search > during
        fix journal journal --format json
        fix undone undo IO-02/disk%3Avdd/F-IOMAX
        group_state search > after
        for state in before during after; do tell $state $state; done",
    mended: held_back,
    ..disk::SHARED
};

fn held_back(parts: &Parts) -> Outcome {
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
    let load = applied.lines().find(|line| line.trim_start().starts_with("load")).unwrap_or_default().trim();
    Ok(format!("{load}, {state}; undone, all as before"))
}
