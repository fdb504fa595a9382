//! Checks that the instances are bound, to run in order under load.

use super::{Instance, Port, Request};
use crate::locale::plan as text;
use serde::Serialize;

/// A check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Its subject.
    pub what: String,
    /// Its command; empty where there is none.
    pub command: String,
    /// The expected result.
    pub expect: String,
}

fn check(what: impl Into<String>, command: impl Into<String>, expect: impl Into<String>) -> Check {
    Check { what: what.into(), command: command.into(), expect: expect.into() }
}

pub(super) fn all(request: &Request<'_>, instances: &[Instance], ports: &[Port]) -> Vec<Check> {
    let mut checks = vec![check(
        text::CHECK_BEFORE.to_string(),
        "topotop record -o before.rec --metric tps=SOURCE",
        text::EXPECT_BEFORE.to_string(),
    )];
    for (at, instance) in instances.iter().enumerate() {
        let own: Vec<String> =
            ports.iter().filter(|port| port.instance == at).map(|port| port.new.to_string()).collect();
        let (name, cpus, place) = (&instance.name, &instance.cpus, &instance.place);
        checks.push(check(
            text::CheckCpus { name: &name }.to_string(),
            "taskset -acp PID",
            text::ExpectCpus { cpus: &cpus }.to_string(),
        ));
        let policy = if instance.memory == "bind" { "bind" } else { "prefer" };
        let nodes = &instance.memory_nodes;
        checks.push(check(
            text::CheckMemory { name: &name }.to_string(),
            "numastat -p PID; grep -m3 anon= /proc/PID/numa_maps",
            text::ExpectMemory { nodes: &nodes, policy: &policy }.to_string(),
        ));
        if !own.is_empty() {
            checks.push(check(
                text::CheckPorts { name: &name }.to_string(),
                "ss -lntup",
                text::ExpectPorts { ports: &own.join(", "), place: &place }.to_string(),
            ));
        }
    }
    if let Some(pid) = request.program.pid {
        checks.push(check(text::CHECK_OLD.to_string(), format!("kill -TERM {pid}"), text::EXPECT_OLD.to_string()));
    }
    checks.push(check(text::CHECK_BALANCER.to_string(), "", text::EXPECT_BALANCER.to_string()));
    checks.push(check(
        text::CHECK_AFTER.to_string(),
        "topotop record -o after.rec --metric tps=SOURCE; topotop diff before.rec after.rec",
        text::EXPECT_AFTER.to_string(),
    ));
    checks.push(check(text::CHECK_FINDINGS.to_string(), "topotop check", text::EXPECT_FINDINGS.to_string()));
    checks
}
