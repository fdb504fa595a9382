//! One instance for each node: where each runs, its ports, folders and heap, and what tells whether it worked. Text only;
//! nothing of it is executed.

mod balancer;
mod checklist;
mod folders;
mod memory;
mod places;
mod ports;
mod text;
mod units;
mod words;

pub use balancer::Balancer;
pub use checklist::Check;
pub use folders::Folder;
pub use ports::{Port, Taken};

use crate::IdSet;
use crate::Table as _;
use crate::fix::shell::quoted;
use crate::frame::{Frame, Listener, Process};
use crate::rules::parts;
use places::Slot;
use serde::Serialize;

/// What is to be run once for each node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Its arguments, the program first; hostile.
    pub argv: Vec<String>,
    /// The file that it is; empty where that is not known.
    pub exe: String,
    /// Its working directory; empty where that is not known.
    pub directory: String,
    /// Its name.
    pub comm: String,
    /// The user that it runs as; empty where that is not known.
    pub user: String,
    /// The process, where it runs already.
    pub pid: Option<u32>,
    /// Where it listens; none where its sockets were not looked at.
    pub listen: Option<Vec<Listener>>,
    /// The listening port that most of its clients use.
    pub busiest_port: Option<u16>,
    /// What it has in memory now.
    pub rss_bytes: Option<u64>,
    /// The same by node.
    pub by_node: Vec<(u32, u64)>,
}

impl Program {
    /// What a frame tells of a process.
    pub fn of(frame: &Frame, process: &Process) -> Self {
        let inbound = process.peers.iter().filter(|peer| peer.inbound);
        let listens = |port| process.listen.iter().flatten().any(|listener| listener.port == port);
        Self {
            comm: process.comm.to_string(),
            pid: Some(process.pid),
            listen: process.listen.clone(),
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

    /// Where there is one node with memory, all of it is there.
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

/// The CPUs that a process's group gives it.
pub fn allowed(frame: &Frame, process: &Process) -> IdSet {
    parts::cpuset(frame, process).clone()
}

/// The ports that somebody has in the network namespace of a process.
pub fn taken(frame: &Frame, process: &Process) -> Vec<Taken> {
    let Some(netns) = process.listen.iter().flatten().map(|listener| listener.netns).next() else { return Vec::new() };
    let table = frame.raw.listeners.data();
    let mut taken = Vec::new();
    for slot in table.rows().iter().filter(|slot| table.netns.value(*slot) == Some(netns)) {
        let pid = table.pid.id(slot).value();
        let Some(port) = table.port.value(slot).and_then(|port| u16::try_from(port).ok()) else { continue };
        if pid == Some(process.pid) {
            continue;
        }
        let owner = pid.and_then(|pid| frame.process(pid));
        let who = owner.map(|owner| format!("{} ({})", owner.comm, owner.pid)).unwrap_or_default();
        taken.push(Taken { port, protocol: table.protocol.or_empty(slot).to_string(), who });
    }
    taken
}

/// What an instance is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// A node.
    #[default]
    Node,
    /// A package, with all its nodes.
    Package,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The machine.
    pub frame: &'a Frame,
    /// What to run.
    pub program: &'a Program,
    /// What each instance is given.
    pub per: Per,
    /// How many; one for each node or package where nobody says.
    pub instances: Option<u32>,
    /// The heap or memory of each, where that is said.
    pub heap_bytes: Option<u64>,
    /// CPUs that the program may have; all that are online where that is not known.
    pub allowed: Option<IdSet>,
    /// Ports that somebody has, in the program's network namespace.
    pub taken: Vec<Taken>,
    /// Ports that the kernel gives to connections.
    pub ephemeral: Option<(u16, u16)>,
    /// True where numactl is installed.
    pub numactl: bool,
}

/// The plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numa {
    /// `topotop.plan/1`.
    pub schema: &'static str,
    /// The name of what is run.
    pub program: String,
    /// The process that it replaces.
    pub pid: Option<u32>,
    /// What runs where.
    pub instances: Vec<Instance>,
    /// Every port that it listens on, for each instance.
    pub ports: Vec<Port>,
    /// Files and folders that instances must not share.
    pub folders: Vec<Folder>,
    /// What has to be done before the first start.
    pub prepare: Vec<String>,
    /// What spreads clients over the instances.
    pub balancers: Vec<Balancer>,
    /// What tells whether it worked.
    pub checklist: Vec<Check>,
    /// What is to be known, and what could not be found.
    pub notes: Vec<String>,
}

/// One of them.
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
    /// Why that.
    pub why: String,
    /// Its heap, where it is a Java program or one was asked for.
    pub heap_bytes: Option<u64>,
    /// Where it is started; empty where that is not known.
    pub directory: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// A shell line that starts it.
    pub start: String,
    /// Where a unit for it goes.
    pub unit: String,
    /// The unit.
    pub unit_text: String,
}

/// Instances at most: a plan is read by people.
const MOST: u32 = 256;

/// Makes the plan.
pub fn numa(request: &Request<'_>) -> Result<Numa, String> {
    if request.program.argv.is_empty() {
        return Err("its arguments could not be read: give it as a command behind --".to_owned());
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
    words::note_what_was_not_found(request.program, &ports, &instances, &mut notes);
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
    /// It as people read it; names in it cannot steer a terminal.
    pub fn text(&self) -> String {
        text::text(self)
    }
}

/// What instances are called after: safe in names of files, units and proxies.
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
    let argv = words::argv(program, at, ports, folders, memory.heap_bytes);
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
