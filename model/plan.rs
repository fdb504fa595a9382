//! A plan for one instance per node: placement, ports, directories, heap and checks. Text only; topotop executes nothing
//! of it.

mod arguments;
mod balancer;
mod checklist;
mod folders;
mod memory;
mod places;
mod ports;
mod report;
mod units;

pub use balancer::Balancer;
pub use checklist::Check;
pub use folders::Folder;
pub use ports::{Port, Taken};

use crate::IdSet;
use crate::fix::shell::quoted;
use crate::frame::{Frame, Listener, Process};
use crate::locale::plan as text;
use crate::rules::parts;
use places::Slot;
use serde::Serialize;

/// The program to run once per node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its arguments, the program first; hostile.
    pub argv: Vec<String>,
    /// Its executable; empty where unknown.
    pub exe: String,
    /// Its working directory; empty where unknown.
    pub directory: String,
    /// Its name.
    pub comm: String,
    /// Its user; empty where unknown.
    pub user: String,
    /// The process, where it is running.
    pub pid: Option<u32>,
    /// Its listening sockets; none where they were not read.
    pub listen: Option<Vec<Listener>>,
    /// Paths of its listening Unix sockets; hostile.
    pub paths: Vec<String>,
    /// The listening port that most of its clients use.
    pub busiest_port: Option<u16>,
    /// Its resident memory.
    pub rss_bytes: Option<u64>,
    /// The same by node.
    pub by_node: Vec<(u32, u64)>,
}

impl Program {
    /// The program of a process in a frame.
    pub fn of(frame: &Frame, process: &Process) -> Self {
        let inbound = process.peers.iter().filter(|peer| peer.inbound);
        let listens = |port| process.listen.iter().flatten().any(|listener| listener.port == port);
        Self {
            comm: process.comm.to_string(),
            pid: Some(process.pid),
            listen: process.listen.clone(),
            paths: process.listen_local.iter().map(|listener| listener.address.to_string()).collect(),
            busiest_port: inbound
                .filter(|peer| listens(peer.port))
                .max_by_key(|peer| peer.connections)
                .map(|peer| peer.port),
            rss_bytes: process.rss_bytes.value(),
            by_node: process.memory.iter().flat_map(|memory| memory.by_node.iter().copied()).collect(),
            argv: process.cmdline.split_whitespace().map(str::to_owned).collect(),
            ..Self::default()
        }
        .with_node_of_all(frame)
    }

    /// With a single memory node, all memory is on it.
    fn with_node_of_all(mut self, frame: &Frame) -> Self {
        let mut nodes = frame.topology.nodes.iter().filter(|node| node.has_memory);
        if let (Some(only), None, Some(rss), true) =
            (nodes.next(), nodes.next(), self.rss_bytes, self.by_node.is_empty())
        {
            self.by_node = vec![(only.id, rss)];
        }
        self
    }
}

/// The CPUs of a process's cpuset.
pub fn allowed(frame: &Frame, process: &Process) -> IdSet {
    parts::cpuset(frame, process).clone()
}

/// The ports in use in the network namespace of a process.
pub fn taken(frame: &Frame, process: &Process) -> Vec<Taken> {
    let Some(netns) = process.listen.iter().flatten().map(|listener| listener.netns).next() else { return Vec::new() };
    let taken = |listener: &Listener, who: &str| {
        let here = listener.netns == netns;
        here.then(|| Taken { port: listener.port, protocol: listener.protocol.to_string(), who: who.to_owned() })
    };
    let others = frame.processes.iter().filter(|other| other.pid != process.pid).flat_map(|other| {
        let who = format!("{} ({})", other.comm, other.pid);
        other.listen.iter().flatten().filter_map(move |listener| taken(listener, &who))
    });
    others.chain(frame.unowned_listeners.iter().filter_map(|listener| taken(listener, ""))).collect()
}

/// The unit of placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// A node.
    #[default]
    Node,
    /// A package, with all its nodes.
    Package,
}

/// The input of a plan.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The machine.
    pub frame: &'a Frame,
    /// The program.
    pub program: &'a Program,
    /// The unit of placement.
    pub per: Per,
    /// The number of instances; one per node or package by default.
    pub instances: Option<u32>,
    /// The heap or memory of each instance, where given.
    pub heap_bytes: Option<u64>,
    /// CPUs that the program may use; all online CPUs where unknown.
    pub allowed: Option<IdSet>,
    /// Ports in use in the program's network namespace.
    pub taken: Vec<Taken>,
    /// The ephemeral port range.
    pub ephemeral: Option<(u16, u16)>,
    /// True where numactl is installed.
    pub numactl: bool,
}

/// The plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numa {
    /// `topotop.plan/1`.
    pub schema: &'static str,
    /// The name of the program.
    pub program: String,
    /// The process that it replaces.
    pub pid: Option<u32>,
    /// The instances and their placement.
    pub instances: Vec<Instance>,
    /// Every listening port, per instance.
    pub ports: Vec<Port>,
    /// Files and directories that instances must not share.
    pub folders: Vec<Folder>,
    /// Commands before the first start.
    pub prepare: Vec<String>,
    /// Load balancer configurations.
    pub balancers: Vec<Balancer>,
    /// Checks that the placement works.
    pub checklist: Vec<Check>,
    /// Notes and missing information.
    pub notes: Vec<String>,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instance {
    /// `tongweb-n0`.
    pub name: String,
    /// `node 0`, `package 1`.
    pub place: String,
    /// Its nodes.
    pub nodes: String,
    /// Its CPUs.
    pub cpus: String,
    /// `bind` or `preferred`.
    pub memory: &'static str,
    /// The nodes of its memory.
    pub memory_nodes: String,
    /// Why this policy.
    pub why: String,
    /// Its heap, for a Java program or where given.
    pub heap_bytes: Option<u64>,
    /// Its working directory; empty where unknown.
    pub directory: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// A shell line that starts it.
    pub start: String,
    /// The path of its unit.
    pub unit: String,
    /// The unit.
    pub unit_text: String,
}

/// The most instances of a plan, which people read.
const MOST: u32 = 256;

/// Makes the plan.
pub fn numa(request: &Request<'_>) -> Result<Numa, String> {
    if request.program.argv.is_empty() {
        return Err(text::NO_ARGUMENTS.to_string());
    }
    let mut notes = Vec::new();
    let slots = places::slots(request, &mut notes)?;
    let labels: Vec<&str> = slots.iter().map(|slot| slot.label.as_str()).collect();
    let ports = ports::plan(request, &labels, &mut notes)?;
    let folders = folders::plan(request.program, &labels, &mut notes);
    let prepare = folders::prepare(request.program, &folders);
    let mut instances = Vec::new();
    for (at, slot) in slots.iter().enumerate() {
        instances.push(instance(request, slot, at, &ports, &folders, &mut notes));
    }
    arguments::note_missing(request.program, &ports, &instances, &mut notes);
    notes.dedup();
    Ok(Numa {
        schema: "topotop.plan/1",
        program: name(request.program),
        pid: request.program.pid,
        balancers: balancer::all(request.program, &name(request.program), &labels, &ports),
        checklist: checklist::all(request, &instances, &ports),
        instances,
        ports,
        folders,
        prepare,
        notes,
    })
}

impl Numa {
    /// The plan as text, without control characters.
    pub fn text(&self) -> String {
        report::text(self)
    }
}

/// The base name of instances: safe in names of files, units and proxies.
fn name(program: &Program) -> String {
    let first = program.argv.first().map_or("", String::as_str);
    let called = if program.comm.is_empty() { first.rsplit('/').next().unwrap_or_default() } else { &program.comm };
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let name: String = called.chars().take(32).map(safe).collect();
    let name = name.trim_matches(['.', '-', '_']);
    if name.is_empty() { "program".to_owned() } else { name.to_owned() }
}

fn instance(
    request: &Request<'_>,
    slot: &Slot,
    at: usize,
    ports: &[Port],
    folders: &[Folder],
    notes: &mut Vec<String>,
) -> Instance {
    let program = request.program;
    let memory = memory::plan(request, slot, notes);
    let argv = arguments::argv(program, at, ports, folders, memory.heap_bytes);
    let directory = folders::directory(program, folders, at);
    let name = format!("{}-{}", name(program), slot.label);
    let command: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
    let bound = units::bound(request.numactl, slot, &memory);
    let start = format!("{bound} {}", command.join(" "));
    let start = if directory.is_empty() { start } else { format!("cd {} && {start}", quoted(&directory)) };
    let unit_text = units::text(program, &name, slot, &memory, &argv, &directory);
    Instance {
        place: slot.place.clone(),
        nodes: slot.nodes.to_string(),
        cpus: slot.cpus.to_string(),
        memory: memory.policy,
        memory_nodes: memory.nodes.to_string(),
        why: memory.why,
        heap_bytes: memory.heap_bytes,
        directory,
        argv,
        start,
        unit: format!("/etc/systemd/system/{name}.service"),
        unit_text,
        name,
    }
}

#[cfg(test)]
mod tests;
