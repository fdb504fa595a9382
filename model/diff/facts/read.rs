//! The settings of one moment.

use super::super::subject::{Names, Subject};
use super::Facts;
use crate::frame::{Cgroup, Frame, IoLimits, Nic, Process};
use crate::{IdSet, Known};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

/// That a thing is there.
pub(super) const EXISTS: &str = "present";
/// Where an interrupt may go.
pub(super) const AFFINITY: &str = "affinity";
/// Where an interrupt goes.
pub(super) const EFFECTIVE: &str = "effective affinity";

/// All settings of a frame.
pub(super) fn facts(frame: &Frame) -> Facts {
    let mut list = List::default();
    list.host(frame);
    list.cpus(frame);
    frame.nics.iter().for_each(|nic| list.nic(nic));
    list.irqs(frame);
    let mut names = Names::default();
    names.learn(frame);
    frame.cgroups.iter().for_each(|group| list.cgroup(group, &mut names));
    list.disks(frame);
    frame.processes.iter().filter(|process| !process.kernel).for_each(|process| list.process(process, &mut names));
    list.finish()
}

/// Settings as they are gathered: those of several bearers of one name are all kept, up to a few.
#[derive(Default)]
struct List {
    found: BTreeMap<(Subject, String), Vec<String>>,
}

/// Different values of one setting of one subject that are shown.
const SHOWN: usize = 4;

impl List {
    fn put(&mut self, subject: &Subject, name: &str, value: impl Display) {
        let value = value.to_string();
        let values = self.found.entry((subject.clone(), name.to_owned())).or_default();
        if let Err(at) = values.binary_search(&value) {
            values.insert(at, value);
        }
    }

    fn known<T: Display>(&mut self, subject: &Subject, name: &str, value: Known<T>, none: &str) {
        match value {
            Known::Missing => {}
            Known::None => self.put(subject, name, none),
            Known::Value(value) => self.put(subject, name, value),
        }
    }

    fn text(&mut self, subject: &Subject, name: &str, value: &str) {
        if !value.is_empty() {
            self.put(subject, name, value);
        }
    }

    fn set(&mut self, subject: &Subject, name: &str, value: Option<&Arc<IdSet>>) {
        if let Some(value) = value {
            self.put(subject, name, cpus(value));
        }
    }

    fn finish(self) -> Facts {
        let shown = |mut values: Vec<String>| {
            let more = values.len().saturating_sub(SHOWN);
            values.truncate(SHOWN);
            let joined = values.join(" | ");
            if more > 0 { format!("{joined} and {more} more") } else { joined }
        };
        self.found.into_iter().map(|(key, values)| (key, shown(values))).collect()
    }

    fn host(&mut self, frame: &Frame) {
        let (host, subject) = (&frame.host, Subject::Host);
        let texts = [
            ("name", &host.name),
            ("kernel", &host.kernel),
            ("architecture", &host.arch),
            ("distribution", &host.os),
            ("CPU model", &host.cpu_model),
            ("hypervisor", &host.virtualization),
        ];
        for (name, text) in texts {
            self.text(&subject, name, text);
        }
        self.known(&subject, "in a container", host.in_container.map(yes_no), "");
        if let Some(bytes) = frame.memory.total_bytes.value() {
            self.put(&subject, "memory", gibibytes(bytes));
        }
        self.known(&subject, "swap", frame.memory.swap_total_bytes.map(gibibytes), "none");
        if let Some(irqbalance) = &frame.irqbalance {
            self.text(&subject, "irqbalance", &irqbalance.state);
            self.set(&subject, "CPUs banned in irqbalance", irqbalance.banned_cpus.as_ref());
        }
        for (name, value) in &frame.sysctls {
            self.put(&subject, name, value);
        }
    }

    fn cpus(&mut self, frame: &Frame) {
        let (topology, subject) = (&frame.topology, Subject::Host);
        let counts = [("packages", topology.packages), ("cores", topology.cores)];
        for (name, count) in counts {
            if let Some(count) = count {
                self.put(&subject, name, count);
            }
        }
        if topology.cpus.is_empty() {
            return;
        }
        self.put(&subject, "CPUs online", &topology.cpus_online);
        let isolated = IdSet::from_ids(topology.cpus.iter().filter(|cpu| cpu.isolated).map(|cpu| cpu.id));
        self.put(&subject, "CPUs isolated", cpus(&isolated));
        let nodes: Vec<String> =
            topology.nodes.iter().map(|node| format!("{}: {}", node.id, cpus(&node.cpus))).collect();
        self.put(&subject, "nodes", nodes.join("; "));
        let mut governors: BTreeMap<&str, IdSet> = BTreeMap::new();
        for cpu in &topology.cpus {
            if let Some(clock) = &cpu.clock {
                governors.entry(&clock.governor).or_default().insert(cpu.id);
            }
        }
        let governors: Vec<String> = governors.iter().map(|(name, cpus)| format!("{name}: {cpus}")).collect();
        self.text(&subject, "governor", &governors.join("; "));
    }

    fn nic(&mut self, nic: &Nic) {
        let subject = Subject::Nic(Arc::clone(&nic.name));
        self.put(&subject, EXISTS, "yes");
        self.text(&subject, "driver", &nic.driver);
        let channels = [
            ("combined channels", nic.channels.combined.current),
            ("rx channels", nic.channels.rx.current),
            ("tx channels", nic.channels.tx.current),
            ("rx ring", nic.rx_ring.current),
            ("speed (Mbit/s)", nic.speed_mbps),
        ];
        for (name, value) in channels {
            self.known(&subject, name, value, "none");
        }
        self.known(&subject, "link", nic.carrier.map(yes_no), "none");
        self.known(&subject, "node", nic.node, "none");
        self.known(&subject, "master", nic.master.clone(), "none");
        self.known(&subject, "MTU", nic.mtu, "none");
        for queue in &nic.queues {
            let name = (Arc::clone(&nic.name), Arc::clone(&queue.direction));
            let subject = Subject::Queue { nic: name.0, direction: name.1, queue: queue.queue };
            self.set(&subject, "RPS CPUs", queue.rps_cpus.as_ref());
            self.set(&subject, "XPS CPUs", queue.xps_cpus.as_ref());
        }
    }

    fn irqs(&mut self, frame: &Frame) {
        for irq in &frame.irqs {
            let subject = Subject::Irq(Arc::clone(&irq.name));
            self.set(&subject, AFFINITY, irq.affinity.as_ref());
            self.set(&subject, EFFECTIVE, irq.effective_affinity.as_ref());
        }
    }

    fn cgroup(&mut self, group: &Cgroup, names: &mut Names) {
        let subject = Subject::Cgroup(names.group(&group.path));
        if let Some(memory) = &group.memory {
            self.known(&subject, "memory limit", memory.limit_bytes.map(mebibytes), "none");
            self.known(&subject, "memory.high", memory.high_bytes.map(mebibytes), "none");
            self.known(&subject, "OOM kills", memory.events.oom_kill, "0");
        }
        self.known(&subject, "CPU quota", group.cpu.quota_cores.map(|cores| format!("{cores:.2} cores")), "none");
        self.set(&subject, "cpuset.cpus", group.cpuset_cpus.as_ref());
        self.set(&subject, "cpuset.mems", group.cpuset_mems.as_ref());
        for io in &group.io {
            let name = format!("I/O limit ({}:{})", io.dev >> 20, io.dev & 0xf_ffff);
            self.put(&subject, &name, io_limits(&io.limits));
        }
    }

    fn disks(&mut self, frame: &Frame) {
        for disk in frame.disks.iter().filter(|disk| !["loop", "ram", "zram"].contains(&&*disk.kind)) {
            let subject = Subject::Disk(Arc::clone(&disk.name));
            self.put(&subject, EXISTS, "yes");
            self.text(&subject, "scheduler", &disk.scheduler);
            self.text(&subject, "model", &disk.model);
        }
    }

    fn process(&mut self, process: &Process, names: &mut Names) {
        let cgroup = names.group(&process.cgroup);
        let subject = Subject::Process { comm: Arc::clone(&process.comm), cgroup };
        self.set(&subject, "affinity of its main thread", process.affinity.as_ref());
        self.set(&subject, "nodes allowed", process.mems_allowed.as_ref());
        self.text(&subject, "memory policy", &process.policy);
        if let Some(beam) = &process.beam {
            self.known(&subject, "bind type", beam.bind_type_configured.clone(), "none");
        }
    }
}

fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

fn cpus(set: &IdSet) -> String {
    if set.is_empty() { "none".to_owned() } else { set.to_string() }
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn io_limits(limits: &IoLimits) -> String {
    let all = [
        ("read", limits.read_bytes.map(mebibytes)),
        ("write", limits.write_bytes.map(mebibytes)),
        ("reads", limits.reads.map(|count| count.to_string())),
        ("writes", limits.writes.map(|count| count.to_string())),
    ];
    let set = all.into_iter().filter_map(|(name, limit)| Some(format!("{name} {}/s", limit.value()?)));
    let set: Vec<String> = set.collect();
    if set.is_empty() { "none".to_owned() } else { set.join(", ") }
}
