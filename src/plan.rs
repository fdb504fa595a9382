//! `topotop plan`: plans as text, to be carried out manually. topotop executes nothing of them.

use crate::source::live;
use crate::units;
use std::path::{Path, PathBuf};
use std::time::Duration;
use topotop_collectors::{Demand, Root, Sampler};
use topotop_model::derive::Deriver;
use topotop_model::frame::{Frame, Process};
use topotop_model::locale::error::PlanFailed;
use topotop_model::locale::plan as text;
use topotop_model::plan::{Numa, Per, Program, Request, Taken, allowed, numa, taken};
use topotop_model::text::from_bytes;
use topotop_model::{IdSet, Window};

/// Plans.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum PlanCommand {
    /// One instance of a program for each node that has CPUs: start lines, units, ports, folders, heap, a load balancer's
    /// stanza, and what proves the binding.
    Numa(NumaArgs),
}

/// Arguments of `plan numa`.
#[derive(Clone, Debug, clap::Args)]
pub struct NumaArgs {
    /// The process to split; same as --pid PID.
    #[arg(value_name = "PID", required_unless_present_any = ["command", "pid"], conflicts_with = "command")]
    pub process: Option<u32>,
    /// The process to split.
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "process"])]
    pub pid: Option<u32>,
    /// node, or package for one instance per package with all its nodes.
    #[arg(long, value_name = "PLACE", default_value = "node", value_parser = per)]
    pub per: Per,
    /// Number of instances [default: one per node or package].
    #[arg(long, value_name = "N")]
    pub instances: Option<u32>,
    /// Heap or memory of each instance: 8G.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    pub heap: Option<u64>,
    /// text or json.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub format: String,
    /// A command instead of a process.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

fn per(text: &str) -> Result<Per, String> {
    match text {
        "node" => Ok(Per::Node),
        "package" => Ok(Per::Package),
        _ => Err(text::PER_VALUES.to_string()),
    }
}

/// The longest command line, in bytes.
const ARGUMENTS: usize = 1 << 20;
/// Between two samples: rates show the ports that clients use.
const INTERVAL: Duration = Duration::from_millis(500);

/// Makes the plan and writes it.
pub(crate) fn run(
    command: &PlanCommand,
    root: impl FnOnce() -> Result<Root, String>,
    plan: &live::Plan,
) -> Result<(), String> {
    let PlanCommand::Numa(args) = command;
    let root = root()?;
    let pid = args.pid.or(args.process);
    let program = match pid {
        Some(pid) => Some(started(&root, pid)?),
        None => None,
    };
    let surroundings = Surroundings::of(&root);
    let frame = sampled(root, plan, pid);
    let process = match pid {
        Some(pid) => Some(frame.process(pid).ok_or_else(|| text::ProcessExited { pid: &pid }.to_string())?),
        None => None,
    };
    let program = match (program, process) {
        (Some(files), Some(process)) => joined(files, Program::of(&frame, process)),
        _ => of_command(&args.command),
    };
    let made = asked(args, &frame, &program, process, &surroundings)?;
    write(&made, &args.format)
}

fn asked(
    args: &NumaArgs,
    frame: &Frame,
    program: &Program,
    process: Option<&Process>,
    surroundings: &Surroundings,
) -> Result<Numa, String> {
    let mut ports = process.map(|process| taken(frame, process)).unwrap_or_default();
    ports.extend(surroundings.reserved.iter().cloned());
    numa(&Request {
        frame,
        program,
        per: args.per,
        instances: args.instances,
        heap_bytes: args.heap,
        allowed: process.map(|process| allowed(frame, process)),
        taken: ports,
        ephemeral: surroundings.ephemeral,
        numactl: surroundings.numactl,
    })
}

/// Merges the program from files with that from a frame.
fn joined(files: Program, frame: Program) -> Program {
    let argv = if files.argv.is_empty() { frame.argv } else { files.argv };
    Program { argv, exe: files.exe, directory: files.directory, user: files.user, ..frame }
}

/// A frame with rates and details of the process.
fn sampled(root: Root, plan: &live::Plan, pid: Option<u32>) -> Frame {
    let live = root.is_live();
    let mut sampler = Sampler::new(root, &plan.options);
    let mut window = Window::default();
    let samples = if live { 2 } else { 1 };
    for sample in 0..samples {
        if sample > 0 {
            std::thread::sleep(INTERVAL);
        }
        sampler.demand(Demand { complete: true, process: pid });
        window.push(sampler.sample());
    }
    Deriver::new(plan.settings.clone()).frame(&window)
}

/// The start arguments of a process.
fn started(root: &Root, pid: u32) -> Result<Program, String> {
    let mut bytes = Vec::new();
    let read = root.open(format!("proc/{pid}/cmdline")).and_then(|file| file.read_start(&mut bytes, ARGUMENTS));
    read.map_err(|reason| text::ProcessUnread { pid: &pid, error: &reason.text() }.to_string())?;
    if bytes.len() >= ARGUMENTS {
        return Err(text::ArgumentsTooLong { pid: &pid }.to_string());
    }
    let words = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    let argv: Vec<String> = if words.is_empty() {
        Vec::new()
    } else {
        words.split(|byte| *byte == 0).map(|word| from_bytes(word).into_owned()).collect()
    };
    let link = |name: &str| {
        let path = root.link(format!("proc/{pid}/{name}")).unwrap_or_default();
        path.to_str().unwrap_or_default().trim_end_matches(" (deleted)").to_owned()
    };
    Ok(Program { argv, exe: link("exe"), directory: link("cwd"), user: user(root, pid), ..Program::default() })
}

/// The name of the user that a process runs as, else the number.
fn user(root: &Root, pid: u32) -> String {
    let status = root.read_text(format!("proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let Some(uid) = line.and_then(|line| line.split_whitespace().nth(1)) else { return String::new() };
    let known = root.read_text("etc/passwd").unwrap_or_default();
    let entry = known.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|parts| parts.get(2) == Some(&uid));
    entry.and_then(|parts| parts.first().map(|name| (*name).to_owned())).unwrap_or_else(|| uid.to_owned())
}

fn of_command(words: &[String]) -> Program {
    let first = words.first().map_or("", String::as_str);
    let name = first.rsplit('/').next().unwrap_or_default();
    let exe = if first.contains('/') { std::fs::canonicalize(first).ok() } else { found(name) };
    let path = |path: Option<PathBuf>| path.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_default();
    Program {
        argv: words.to_vec(),
        exe: path(exe),
        directory: path(std::env::current_dir().ok()),
        comm: name.to_owned(),
        ..Program::default()
    }
}

/// Where a program is installed.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(usual).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Facts of the machine that are not sampled.
#[derive(Debug, Default)]
struct Surroundings {
    numactl: bool,
    ephemeral: Option<(u16, u16)>,
    reserved: Vec<Taken>,
}

impl Surroundings {
    fn of(root: &Root) -> Self {
        let read = |name: &str| root.read_text(format!("proc/sys/net/ipv4/{name}")).unwrap_or_default();
        let range = read("ip_local_port_range");
        let mut ends = range.split_whitespace().map(|end| end.parse().ok());
        let kept = IdSet::parse_list(&read("ip_local_reserved_ports")).unwrap_or_default();
        let kept = kept.intersection(&IdSet::parse_list("0-65535").unwrap_or_default());
        let who = text::OWNER_RESERVED;
        let one = |port: u32, protocol: &str| {
            let port = u16::try_from(port).ok()?;
            Some(Taken { port, protocol: protocol.to_owned(), who: who.to_string() })
        };
        Self {
            // A captured machine does not show installed programs.
            numactl: !root.is_live() || found("numactl").is_some_and(|path| Path::new(&path).is_file()),
            ephemeral: ends.next().flatten().zip(ends.next().flatten()),
            reserved: kept.iter().flat_map(|port| [one(port, "tcp"), one(port, "udp")]).flatten().collect(),
        }
    }
}

fn write(plan: &Numa, format: &str) -> Result<(), String> {
    let text = match format {
        "json" => serde_json::to_string(plan).map_err(|error| PlanFailed { error: &error }.to_string())? + "\n",
        _ => plan.text(),
    };
    crate::output::print(text.as_bytes())
}
