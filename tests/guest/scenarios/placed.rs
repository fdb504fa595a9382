//! Fixes of processes: pages and CPUs put where they belong, and back; a plan's instances started as it says.

use super::mend::{by_keys, journaled, json, part, same, taken_back};
use super::{PLAIN, Scenario, erlang, numa};
use crate::seen::{Outcome, Parts, Seen, holds};

/// CPUs of node 0, memory of node 3, bound there by its policy, in a group of its own: pages are moved alone, which the
/// policy outlives, and back; then the group is bound.
pub(crate) const FAR: Scenario = Scenario {
    name: "mend-far-memory",
    inject: "group far
        in_group far numactl --cpunodebind=0 --membind=3 /test/tool act hold 96; sleep 3",
    clean: "stop; no_group far",
    mend: "pid=$(tail -n 1 pids)
        placed $pid far > before; pages $pid > pages_before
        fix list list --for 20s --format json
        id=NUMA-06/pid%3A$pid%40$(cut -d ' ' -f 22 /proc/$pid/stat)/F-MIGRATE
        fix moved apply $id --for 20s --yes --no-wait
        pages $pid > pages_moved
        fix back undo $id
        pages $pid > pages_back
        placed $pid far > put_back
        id=${id%/*}/F-CPUSET
        fix applied apply $id --for 20s --yes --no-wait
        placed $pid far > during; pages $pid > pages_during
        watch $scenario cured 700 13
        fix journal journal --format json
        fix undone undo $id
        placed $pid far > after; pages $pid > pages_after
        keys NUMA-01 F-CPUSET
        placed $pid far > by_keys; pages $pid > pages_by_keys
        for state in before by_keys put_back during after; do tell $state $state; done
        for state in before by_keys moved back during after; do tell pages_$state pages_$state; done",
    mended: far,
    ..numa::FAR
};

fn far(parts: &Parts) -> Outcome {
    for kind in ["moved", "back", "applied"] {
        let said = format!("{}{}", part(parts, kind)?, part(parts, &format!("{kind}.errors"))?);
        holds(part(parts, &format!("{kind}.status"))? == "0", format!("{kind}: {said}"))?;
    }
    by_keys(parts, "cpuset.mems: 0-4 → 0")?;
    let at = |kind: &str| pages(part(parts, kind)?);
    let by_keys = at("pages_by_keys")?;
    holds(by_keys.on(3) > 0.9, format!("by keys and back: {by_keys:?}"))?;
    let (before, moved, back) = (at("pages_before")?, at("pages_moved")?, at("pages_back")?);
    holds(before.on(3) > 0.9 && before.policy == "bind:3", format!("before: {before:?}"))?;
    holds(moved.on(0) > 0.9, format!("moved: {moved:?}"))?;
    holds(moved.policy == "bind:3", format!("pages are moved, the policy stays: {moved:?}"))?;
    holds(back.on(3) > 0.9, format!("back: {back:?}"))?;
    same(parts, "before", "put_back")?;
    let told = part(parts, "moved")?;
    holds(told.contains("its policy stays bind:3"), format!("the trap is not told: {told}"))?;
    let (during, after) = (at("pages_during")?, at("pages_after")?);
    holds(during.on(0) > 0.9 && during.policy == "bind:0", format!("bound: {during:?}"))?;
    let group = part(parts, "during")?;
    holds(group.contains("cpuset.cpus 0-1\n") && group.contains("cpuset.mems 0"), format!("the group: {group}"))?;
    let cured = Seen::parse(part(parts, "cured")?)?;
    let still = cured.last().iter().any(|line| line.contains("NUMA-01") || line.contains("NUMA-06"));
    holds(!still, format!("still found: {:?}", cured.last()))?;
    holds(journaled(parts, "F-CPUSET")?.0.starts_with("applied "), "the journal does not say applied")?;
    holds(after.on(3) > 0.9, format!("undone: {after:?}"))?;
    taken_back(parts)?;
    Ok(format!("pages {:.2} on node 3 -> {:.2} on node 0, bound {}; undone", before.on(3), during.on(0), during.policy))
}

/// The pages of a mapping by node, and its policy.
#[derive(Debug)]
struct Pages {
    policy: String,
    nodes: Vec<(u32, f64)>,
}

impl Pages {
    fn on(&self, node: u32) -> f64 {
        let all: f64 = self.nodes.iter().map(|(_, pages)| pages).sum();
        self.nodes.iter().find(|(id, _)| *id == node).map_or(0.0, |(_, pages)| pages / all.max(1.0))
    }
}

/// From a line of numa_maps.
fn pages(line: &str) -> Result<Pages, String> {
    let policy = line.split_whitespace().nth(1).ok_or_else(|| format!("no mapping: {line}"))?.to_owned();
    let pair = |word: &str| {
        let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
        Some((node.parse().ok()?, pages.parse().ok()?))
    };
    Ok(Pages { policy, nodes: line.split_whitespace().filter_map(pair).collect() })
}

/// Three Erlang nodes on the same two CPUs: every thread may use the CPUs of its set, and is put back.
pub(crate) const ERLANG: Scenario = Scenario {
    name: "mend-erlang",
    mend: "masks > before
        keys BEAM-01 F-AFF
        masks > by_keys
        sleep 8
        fix list list --for 25s --format json
        fix applied apply BEAM-01/cpu%3A0/F-AFF --for 25s --yes
        masks > during
        watch $scenario cured 700 13
        fix journal journal --format json
        fix undone undo BEAM-01/cpu%3A0/F-AFF
        masks > after
        for state in before by_keys during after; do tell $state $state; done",
    mended: erlang_unbound,
    ..erlang::BOUND
};

fn erlang_unbound(parts: &Parts) -> Outcome {
    by_keys(parts, "0-6")?;
    let offered = json(parts, "list")?;
    let offers = offered.as_array().into_iter().flatten();
    let of: Vec<&str> =
        offers.filter(|offer| offer["rule"] == "BEAM-01").filter_map(|offer| offer["id"].as_str()).collect();
    let wanted = ["F-BEAM-CFG", "F-BEAM-BIF", "F-AFF"];
    holds(wanted.iter().all(|fix| of.iter().any(|id| id.ends_with(fix))), format!("on offer: {of:?}"))?;
    let said = format!("{}{}", part(parts, "applied")?, part(parts, "applied.errors")?);
    holds(part(parts, "applied.status")? == "0", format!("applied: {said}"))?;
    let masks = |kind: &str| {
        Ok::<_, String>(
            part(parts, kind)?.lines().map(|line| line.rsplit(' ').next().unwrap_or_default()).collect::<Vec<_>>(),
        )
    };
    let (before, during) = (masks("before")?, masks("during")?);
    holds(before.iter().filter(|mask| ["0", "1"].contains(mask)).count() >= 6, format!("before: {before:?}"))?;
    // CPU 7 is isolated: nobody is sent there.
    holds(!during.is_empty() && during.iter().all(|mask| *mask == "0-6"), format!("during: {during:?}"))?;
    let cured = Seen::parse(part(parts, "cured")?)?;
    holds(!cured.last().iter().any(|line| line.contains("BEAM-01")), "BEAM-01 is still found")?;
    let (state, _) = journaled(parts, "F-AFF")?;
    holds(state.starts_with("applied improved"), format!("the journal says {state}"))?;
    taken_back(parts)?;
    Ok(format!("{} threads on 0-6, {state}; undone, every mask as before", during.len()))
}

/// A program of four ports, one target of them somebody's: an instance for each node with CPUs, started as the plan says.
pub(crate) const PLAN: Scenario = Scenario {
    name: "plan-numa",
    inject: "bg /test/tool act serve 24 8080 7200 9060 5100; bg /test/tool act serve 1 8081; sleep 2",
    mend: "pid=$(head -n 1 pids)
        /test/topotop plan numa --pid $pid --format json > plan
        /test/topotop plan numa --pid $pid > text
        sed -n '/^start, beside/,/^$/p' text | grep -v '#' | sed '1d;/^$/d' > lines
        while read -r line; do bg bash -c \"$line\"; done < lines
        sleep 6
        for file in /proc/[0-9]*/cmdline; do
            words=$(tr '\\0' ' ' < $file)
            case $words in '/test/tool act serve 24 '*) ;; *) continue ;; esac
            dir=${file%/cmdline}
            [ $dir != /proc/$pid ] || continue
            port=${words#* 24 }
            for number in $port; do (echo > /dev/tcp/127.0.0.1/$number) 2> /dev/null && open=$number && printf '%s ' open; done
            echo $words $(grep -h Cpus_allowed_list $dir/status | cut -f 2) $(pages ${dir#/proc/})
        done | sort > running
        tell plan plan; tell lines lines; tell running running",
    mended: planned,
    ..PLAIN
};

fn planned(parts: &Parts) -> Outcome {
    let plan = json(parts, "plan")?;
    let instances = plan["instances"].as_array().cloned().unwrap_or_default();
    // The fifth node has no CPUs.
    holds(instances.len() == 4, format!("instances: {}", plan["instances"]))?;
    let skipped = plan["ports"].as_array().into_iter().flatten().filter(|port| port["old"] == 8080);
    let first = skipped.into_iter().next().map(|port| (port["new"].as_u64(), port["skipped"][0].to_string()));
    let (new, why) = first.ok_or("no port 8080 in the plan")?;
    holds(new == Some(8082) && why.contains("8081 is tool"), format!("8080 became {new:?}: {why}"))?;
    let running: Vec<&str> = part(parts, "running")?.lines().collect();
    holds(running.len() == 4, format!("they do not all run: {running:?}; {}", part(parts, "lines")?))?;
    for instance in &instances {
        let ports: Vec<String> = plan["ports"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|port| {
                port["label"]
                    .as_str()
                    .is_some_and(|label| instance["name"].as_str().is_some_and(|name| name.ends_with(label)))
            })
            .map(|port| port["new"].to_string())
            .collect();
        let (cpus, node) = (instance["cpus"].as_str().unwrap_or("?"), instance["nodes"].as_str().unwrap_or("?"));
        let line = running.iter().find(|line| ports.iter().all(|port| line.contains(port.as_str())));
        let line = line.ok_or_else(|| format!("nobody has ports {ports:?}: {running:?}"))?;
        holds(line.starts_with("open open open open "), format!("it does not answer on every port: {line}"))?;
        holds(line.contains(&format!(" {cpus} ")), format!("it is not on CPUs {cpus}: {line}"))?;
        let at = line.find(&format!(" {cpus} ")).map_or("", |at| &line[at + cpus.len() + 2..]);
        let memory = pages(at)?;
        let home: u32 = node.parse().map_err(|_| format!("node {node}"))?;
        holds(memory.on(home) > 0.99 && memory.policy == format!("bind:{home}"), format!("its memory: {memory:?}"))?;
    }
    Ok("an instance for each node with CPUs, on its own ports, with local memory".to_owned())
}
