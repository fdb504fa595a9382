//! What proves that the instances are bound: looked at one after the other, under load.

use super::{Instance, Port, Request};
use serde::Serialize;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What it is about.
    pub what: String,
    /// What to type; empty where there is nothing.
    pub command: String,
    /// What is seen when it is well.
    pub expect: String,
}

fn check(what: impl Into<String>, command: impl Into<String>, expect: impl Into<String>) -> Check {
    Check { what: what.into(), command: command.into(), expect: expect.into() }
}

pub(super) fn all(request: &Request<'_>, instances: &[Instance], ports: &[Port]) -> Vec<Check> {
    let mut checks = vec![check(
        "before: measure what it does now",
        "topotop record -o before.ttr --metric tps=SOURCE",
        "transactions per second, response times and CPU under the load of the test",
    )];
    for (at, instance) in instances.iter().enumerate() {
        let own: Vec<String> =
            ports.iter().filter(|port| port.instance == at).map(|port| port.new.to_string()).collect();
        let (name, cpus, place) = (&instance.name, &instance.cpus, &instance.place);
        checks.push(check(
            format!("{name}: its CPUs"),
            "taskset -acp PID",
            format!("every thread {cpus}; under load top, then 1, shows CPUs {cpus} busy, and those of nodes without an instance not"),
        ));
        let policy = if instance.memory == "bind" { "bind" } else { "prefer" };
        let nodes = &instance.memory_nodes;
        checks.push(check(
            format!("{name}: its memory"),
            "numastat -p PID; grep -m3 anon= /proc/PID/numa_maps",
            format!("nearly all of it on node {nodes}, the policy of its mappings {policy}:{nodes} where it was started by numactl or its unit"),
        ));
        if !own.is_empty() {
            checks.push(check(
                format!("{name}: its ports"),
                "ss -lntup",
                format!("{} are its own, on {place}", own.join(", ")),
            ));
        }
    }
    if let Some(pid) = request.program.pid {
        checks.push(check(
            "then: the program that ran before",
            format!("kill -TERM {pid}"),
            "it has ended and its ports are free: the load balancer is started on them",
        ));
    }
    checks.push(check(
        "the load balancer",
        "",
        "each instance gets its part of the clients; with one stopped the others answer, and it gets clients again when it is back",
    ));
    checks.push(check(
        "after: measure again, under the same load",
        "topotop record -o after.ttr --metric tps=SOURCE; topotop diff before.ttr after.ttr",
        "more transactions per second or less CPU for each; numa_foreign and the remote share do not grow",
    ));
    checks.push(check("findings", "topotop check", "neither NUMA-01, NUMA-02 nor NUMA-06 about an instance"));
    checks
}
