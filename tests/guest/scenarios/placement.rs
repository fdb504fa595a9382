//! Processes, their CPUs and their memory on the nodes.

use crate::parts::Parts;
use crate::samples::Samples;
use crate::scenario::{APPLY, Apply, Expected, FINDING, Finding, KEYS, Keys, Outcome, PLAIN, Scenario, Step, holds};

pub(super) const FAR: Scenario = Scenario {
    name: "far-memory",
    proves: "NUMA-01 finds memory on another node than the CPUs; F-MIGRATE moves and returns pages, F-CPUSET binds the group",
    seconds: 120,
    inject: "group far
        in_group far numactl --cpunodebind=0 --membind=3 /test/tool hold 96; sleep 3
        pid=$(tail -n 1 pids)
        subject=pid%3A$pid%40$(cut -d ' ' -f 22 /proc/$pid/stat)",
    clean: "stop; no_group far",
    expected: Expected::Finding(Finding {
        rule: "NUMA-01",
        subject: "pid:",
        numbers: &[("remote", 0.8, 1.0)],
        texts: &[("cpu_by_node", "n0 "), ("memory_by_node", "n3 "), ("policy", "bind")],
        groups: &["NUMA-06"],
        ..FINDING
    }),
    steps: &[
        Step::Apply(Apply {
            name: "pages",
            id: "NUMA-06/$subject/F-MIGRATE",
            state: "placed $pid far",
            observe: "pages $pid",
            ..APPLY
        }),
        Step::Apply(Apply {
            name: "group",
            id: "NUMA-06/$subject/F-CPUSET",
            state: "placed $pid far",
            sets: &["cpuset.cpus 0-1\n", "cpuset.mems 0"],
            observe: "pages $pid",
            ..APPLY
        }),
        // Last: a policy that the kernel has rewritten stays so.
        Step::Keys(Keys {
            rule: "NUMA-01",
            fix: "F-CPUSET",
            state: "placed $pid far",
            journal: &["cpuset.mems"],
            ..KEYS
        }),
        Step::Shell("state_part keys.pages \"pages $pid\""),
    ],
    check: pages_moved,
    ..PLAIN
};

/// Where the pages of a mapping have to be, on node 0 or 3, and its policy.
const PAGES: &[(&str, u32, &str)] = &[
    ("pages.observed_before", 3, "bind:3"),
    ("pages.observed_during", 0, "bind:3"),
    ("pages.observed_after", 3, "bind:3"),
    ("group.observed_during", 0, "bind:0"),
    ("group.observed_after", 3, ""),
    ("keys.pages", 3, ""),
];

fn pages_moved(parts: &Parts) -> Outcome {
    for (name, node, policy) in PAGES {
        let pages = pages(parts.text(name)?)?;
        let is_there = pages.on(*node) > 0.9 && pages.policy.contains(policy);
        holds(is_there, format!("{name} is not on node {node} with the policy {policy:?}: {pages:?}"))?;
    }
    let plan = parts.output("pages.applied")?;
    holds(plan.contains("bind:3"), format!("the plan does not warn that the policy stays: {plan}"))?;
    Ok("pages moved to node 0 and back".to_owned())
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

pub(super) const SPREAD: Scenario = Scenario {
    name: "spread-process",
    proves: "NUMA-02 finds a process whose threads and memory are on all nodes",
    seconds: 35,
    inject: "bg /test/tool spread 192 4; sleep 4",
    clean: ":",
    samples: 14,
    expected: Expected::Check(spread),
    ..PLAIN
};

fn spread(samples: &Samples) -> Outcome {
    let found = samples.found("NUMA-02", "pid:")?;
    for name in ["cpu_by_node", "memory_by_node"] {
        let text = found.text(name)?;
        holds(text.matches('n').count() >= 2, format!("{name} has one node only: {text}"))?;
    }
    let instances = found.number("instances")?;
    holds(instances >= 4.0, format!("{instances} instances, not one for each node with CPUs"))?;
    samples.only(&["NUMA-02"])?;
    Ok(format!("NUMA-02 after {} samples", found.after))
}

pub(super) const FULL_NODE: Scenario = Scenario {
    name: "full-node",
    proves: "NUMA-04 finds a node without free memory whose allocations go to other nodes",
    seconds: 40,
    inject: "bg numactl --cpunodebind=1 --preferred=1 /test/tool hold 560
        bg numactl --cpunodebind=1 --preferred=1 /test/tool fill 64; sleep 6",
    clean: ":",
    samples: 14,
    expected: Expected::Finding(Finding {
        rule: "NUMA-04",
        subject: "node:1",
        numbers: &[("numa_foreign", 100.0, f64::INFINITY), ("fallback_free", 0.25, 1.0)],
        beside: &["NUMA-01", "NUMA-05"],
        ..FINDING
    }),
    ..PLAIN
};

pub(super) const ERLANG: Scenario = Scenario {
    name: "erlang-bound",
    proves: "BEAM-01 finds three Erlang nodes bound to the same CPUs; F-AFF frees every thread by command and keys, and restores it",
    seconds: 110,
    inject: "erlang db; erlang db; erlang db; erlang_up 3",
    clean: ":",
    interval_ms: 700,
    expected: Expected::Check(bound),
    steps: &[
        Step::Shell("fix list list --for ${patience}s --format json"),
        Step::Keys(Keys { rule: "BEAM-01", fix: "F-AFF", state: "masks", journal: &["0-6"], ..KEYS }),
        Step::Apply(Apply { id: "BEAM-01/cpu%3A0/F-AFF", state: "masks", ..APPLY }),
    ],
    check: unbound,
    ..PLAIN
};

pub(super) const ERLANG_UNBOUND: Scenario = Scenario {
    name: "erlang-unbound",
    proves: "three Erlang nodes that the kernel places cause no warning",
    seconds: 35,
    inject: "erlang u; erlang u; erlang u; erlang_up 3",
    ..PLAIN
};

fn bound(samples: &Samples) -> Outcome {
    let found = samples.found("BEAM-01", "cpu:0")?;
    let (instances, shared, idle) = (found.number("instances")?, found.text("shared")?, found.text("free_cpus")?);
    holds(instances >= 3.0 && shared == "0-1", format!("{instances} instances share {shared}"))?;
    // Which of the others idle is up to the kernel; 7 is isolated.
    let is_free = idle.contains(['2', '3', '4', '5', '6']) && !idle.contains(['0', '1', '7']);
    holds(is_free, format!("idle CPUs: {idle}"))?;
    samples.only(&["BEAM-01"])?;
    Ok(format!("BEAM-01 after {} samples", found.after))
}

fn unbound(parts: &Parts) -> Outcome {
    parts.contains("list", &["/F-BEAM-CFG\"", "/F-BEAM-BIF\"", "/F-AFF\""])?;
    let masks = |name: &str| {
        Ok::<_, String>(parts.text(name)?.lines().filter_map(|line| line.rsplit(' ').next()).collect::<Vec<_>>())
    };
    let (before, during) = (masks("apply.before")?, masks("apply.during")?);
    let bound = before.iter().filter(|mask| ["0", "1"].contains(mask)).count();
    holds(bound >= 6, format!("before: {before:?}"))?;
    // CPU 7 is isolated: no thread may be sent there.
    holds(!during.is_empty() && during.iter().all(|mask| *mask == "0-6"), format!("during: {during:?}"))?;
    Ok(format!("{} threads on 0-6", during.len()))
}

pub(super) const PLAN: Scenario = Scenario {
    name: "plan-numa",
    proves: "`plan numa` starts one instance of a server for each node with CPUs, on free ports, with local CPUs and memory",
    seconds: 60,
    inject: "bg /test/tool serve 24 8080 7200 9060 5100; bg /test/tool serve 1 8081; sleep 2",
    steps: &[Step::Shell(
        r#"pid=$(head -n 1 pids)
        /test/topotop plan numa --pid $pid --format json > plan
        grep -o '"start":"\([^"\\]\|\\.\)*"' plan | sed 's/^"start":"//; s/"$//; s/\\"/"/g; s/\\\\/\\/g' > lines
        while read -r line; do bg bash -c "$line"; done < lines
        sleep 6
        for file in /proc/[0-9]*/cmdline; do
            words=$(tr '\0' ' ' < $file)
            case $words in '/test/tool serve 24 '*) ;; *) continue ;; esac
            dir=${file%/cmdline}
            [ $dir != /proc/$pid ] || continue
            port=${words#* 24 }
            for number in $port; do (echo > /dev/tcp/127.0.0.1/$number) 2> /dev/null && printf 'open '; done
            echo $words $(grep -h Cpus_allowed_list $dir/status | cut -f 2) $(pages ${dir#/proc/})
        done | sort > running
        tell plan plan; tell lines lines; tell running running"#,
    )],
    check: planned,
    ..PLAIN
};

fn planned(parts: &Parts) -> Outcome {
    let plan = parts.json("plan")?;
    let (instances, ports) = (plan["instances"].as_array(), plan["ports"].as_array());
    let (instances, ports) = (instances.cloned().unwrap_or_default(), ports.cloned().unwrap_or_default());
    // The fifth node has no CPUs.
    holds(instances.len() == 4, format!("instances: {}", plan["instances"]))?;
    let moved = ports.iter().find(|port| port["old"] == 8080).ok_or("no port 8080 in the plan")?;
    let is_moved = moved["new"] == 8082 && moved["skipped"].to_string().contains("8081");
    holds(is_moved, format!("8081 is in use, and 8080 becomes {moved}"))?;
    let running: Vec<&str> = parts.text("running")?.lines().collect();
    holds(running.len() == 4, format!("running: {running:?}; commands: {}", parts.text("lines")?))?;
    for instance in &instances {
        let text = |key: &str| instance[key].as_str().unwrap_or("?").to_owned();
        let (name, cpus, node) = (text("name"), text("cpus"), text("nodes"));
        let own = ports.iter().filter(|port| port["label"].as_str().is_some_and(|label| name.ends_with(label)));
        let own: Vec<String> = own.map(|port| port["new"].to_string()).collect();
        let line = running.iter().find(|line| own.iter().all(|port| line.contains(port.as_str())));
        let line = line.ok_or_else(|| format!("no process has the ports {own:?}: {running:?}"))?;
        holds(line.starts_with("open open open open "), format!("not all ports answer: {line}"))?;
        let (_, mapping) = line.split_once(&format!(" {cpus} ")).ok_or_else(|| format!("not on {cpus}: {line}"))?;
        let memory = pages(mapping)?;
        let home: u32 = node.parse().map_err(|_| format!("node {node}"))?;
        holds(memory.on(home) > 0.99 && memory.policy == format!("bind:{home}"), format!("its memory: {memory:?}"))?;
    }
    Ok("four instances with ports, CPUs and memory of their own".to_owned())
}
