//! Looks at threads a few times: what each does at that moment, through files that stay open.

use super::call::{self, Doing, Waits};
use super::choose::{Process, Target};
use super::datagrams::{Datagram, Datagrams};
use super::peers::Peers;
use crate::Root;
use crate::descriptors::{Reserved, reserve};
use crate::parse::{number, text, trim};
use crate::processes::stat;
use crate::root::Kept;
use crate::sockets::{Connection, cpu_ns};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use topotop_model::Reason;

/// The longest name of a kernel function or of what a descriptor is.
const MOST_TEXT: usize = 64;
/// What a descriptor is, is looked up again after so many samples.
pub(super) const LINK_FOR: u64 = 50;
/// The most descriptors that are remembered.
const MOST_LINKS: usize = 4096;

/// What to look at, how often, and the time before each look.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) targets: Vec<Target>,
    pub(super) connections: Arc<Vec<Connection>>,
    pub(super) looks: u64,
    pub(super) gap: Duration,
}

/// The other end of a connection: its address, and the port of the service.
pub(super) type End = (Arc<str>, u16);

/// What a thread was found at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct At {
    pub(super) process: Process,
    pub(super) state: u8,
    /// None where it could not be read, empty outside of a call.
    pub(super) call: Option<&'static str>,
    pub(super) wchan: Option<Arc<str>>,
    pub(super) target: &'static str,
    pub(super) object: Option<u64>,
    pub(super) operation: Option<u64>,
    pub(super) timed: bool,
    pub(super) peer: Option<End>,
    pub(super) outstanding: Option<u8>,
}

/// How often, by how many threads, and by how many at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) samples: u64,
    pub(super) threads: u64,
    pub(super) together: u64,
}

/// How often a process was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Total {
    pub(super) samples: u64,
    pub(super) denied: u64,
    pub(super) threads: u64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) processes: HashMap<Process, Total>,
    pub(super) found: HashMap<At, Count>,
    pub(super) cpu_ns: u64,
}

/// A file of a thread that stays open while the budget lasts.
#[derive(Debug)]
enum File {
    Closed,
    Open(Kept, Option<Reserved>),
}

#[derive(Debug)]
struct Files {
    syscall: File,
    stat: File,
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug)]
struct Link {
    kind: &'static str,
    inode: Option<u64>,
    look: u64,
}

/// Looks, and remembers what is open.
#[derive(Debug)]
pub(super) struct Looker {
    root: Arc<Root>,
    files: HashMap<(Process, u32), Files>,
    links: HashMap<(Process, u64), Link>,
    names: HashSet<Arc<str>>,
    peers: Peers,
    datagrams: Datagrams,
    look: u64,
    buf: Vec<u8>,
}

impl Looker {
    pub(super) fn new(root: Arc<Root>) -> Self {
        let (files, links, names) = (HashMap::new(), HashMap::new(), HashSet::new());
        let (peers, datagrams) = (Peers::default(), Datagrams::default());
        Self { root, files, links, names, peers, datagrams, look: 0, buf: Vec::with_capacity(512) }
    }

    /// Looks as often as the job says.
    pub(super) fn round(&mut self, job: &Job) -> Answer {
        let begun = cpu_ns();
        let wanted: HashSet<(Process, u32)> = job.targets.iter().map(|target| (target.process, target.tid)).collect();
        self.files.retain(|key, _| wanted.contains(key));
        let processes: HashSet<Process> = job.targets.iter().map(|target| target.process).collect();
        let look = self.look;
        self.links.retain(|key, link| processes.contains(&key.0) && look < link.look + LINK_FOR);
        if self.names.len() > MOST_LINKS {
            self.names.clear();
        }
        self.datagrams.begin(look, &processes);
        self.peers.begin(&self.root, &job.connections, &processes);
        let mut answer = Answer::default();
        let mut threads: HashMap<At, HashSet<u32>> = HashMap::new();
        let mut of_process: HashMap<Process, HashSet<u32>> = HashMap::new();
        for at in 0..job.looks {
            // Not in step with what happens every so many milliseconds.
            std::thread::sleep(job.gap.mul_f64(0.9 + 0.05 * ((self.look + at * 3) % 5) as f64));
            self.look += 1;
            self.peers.ask();
            let mut now: HashMap<At, u64> = HashMap::new();
            for target in &job.targets {
                let Some(found) = self.one(*target) else { continue };
                let total = answer.processes.entry(target.process).or_default();
                total.samples += 1;
                total.denied += u64::from(found.call.is_none());
                of_process.entry(target.process).or_default().insert(target.tid);
                threads.entry(found.clone()).or_default().insert(target.tid);
                *now.entry(found).or_default() += 1;
            }
            for (found, together) in now {
                let count = answer.found.entry(found).or_default();
                count.samples += together;
                count.together = count.together.max(together);
            }
        }
        for (found, tids) in threads {
            answer.found.entry(found).or_default().threads = tids.len() as u64;
        }
        for (process, tids) in of_process {
            answer.processes.entry(process).or_default().threads = tids.len() as u64;
        }
        answer.cpu_ns = cpu_ns().saturating_sub(begun);
        answer
    }

    /// What a thread is at; none of one that is gone.
    fn one(&mut self, target: Target) -> Option<At> {
        let (pid, tid) = (target.process.0, target.tid);
        let files =
            self.files.entry((target.process, tid)).or_insert(Files { syscall: File::Closed, stat: File::Closed });
        let path = format_args!("proc/{pid}/task/{tid}/syscall");
        let read = files.syscall.read(&self.root, path, &mut self.buf);
        let doing = match read {
            Ok(()) => call::parse(&self.buf),
            // Nobody may look, this kernel does not tell, or it is gone: that shows when its state is read.
            Err(_) => None,
        };
        let mut at = At {
            process: target.process,
            state: b'S',
            call: None,
            wchan: None,
            target: "",
            object: None,
            operation: None,
            timed: false,
            peer: None,
            outstanding: None,
        };
        match doing {
            Some(Doing::Running) => (at.state, at.call) = (b'R', Some("")),
            Some(Doing::Nothing) => {
                at.call = Some("");
                self.state(target, &mut at)?;
            }
            Some(Doing::Call(number, arguments)) => self.call(target, number, &arguments, &mut at)?,
            None => self.state(target, &mut at)?,
        }
        Some(at)
    }

    fn call(&mut self, target: Target, number: u64, arguments: &[u64; 6], at: &mut At) -> Option<()> {
        let Some(known) = call::of(number, arguments) else {
            at.call = Some("other");
            return self.state(target, at);
        };
        (at.call, at.timed) = (Some(known.name), known.is_timed(arguments));
        match known.waits {
            Waits::Futex => {
                (at.object, at.operation) = (Some(arguments[0]), Some(arguments[1] & 0x7f));
            }
            Waits::Events(..) if target.titled && self.names_lock(target.process.0) => at.target = "lock",
            Waits::Events(..) => {
                let found = self.peers.of_process(target.process);
                let peer_state =
                    found.map(|(connection, state)| ((Arc::clone(&connection.name), connection.port()), state));
                match peer_state {
                    Some(_) => connected(peer_state, at),
                    None => at_datagrams(self.datagrams.of_process(&self.root, target.process, self.look), at),
                }
            }
            Waits::Descriptor => {
                let link = self.link(target.process, arguments[0]);
                (at.target, at.object) = (link.kind, link.inode);
                if link.kind == "socket" {
                    let found = link.inode.and_then(|inode| self.peers.of_socket(target.process, inode));
                    let peer_state =
                        found.map(|(connection, state)| ((Arc::clone(&connection.name), connection.port()), state));
                    if let (None, Some(inode)) = (&peer_state, link.inode) {
                        at_datagrams(self.datagrams.of_socket(&self.root, target.process, inode, self.look), at);
                    }
                    connected(peer_state, at);
                    // By its peer many connections are one.
                    at.object = if at.peer.is_some() { None } else { at.object };
                } else if matches!(link.kind, "file" | "") {
                    at.object = None;
                    return self.state(target, at);
                }
            }
            Waits::Disk => return self.state(target, at),
            Waits::Time | Waits::Named => {}
        }
        Some(())
    }

    /// The state of a thread, and where in the kernel it is if that is uninterruptible; none of one that is gone.
    fn state(&mut self, target: Target, at: &mut At) -> Option<()> {
        let (pid, tid) = (target.process.0, target.tid);
        let files = self.files.get_mut(&(target.process, tid))?;
        files.stat.read(&self.root, format_args!("proc/{pid}/task/{tid}/stat"), &mut self.buf).ok()?;
        at.state = stat::parse(&self.buf)?.state;
        if at.state == b'D' && self.root.read(format!("proc/{pid}/task/{tid}/wchan"), &mut self.buf).is_ok() {
            let name = text(trim(&self.buf)).chars().take(MOST_TEXT).collect::<String>();
            // Zero is for those who may not know.
            if name != "0" && !name.is_empty() {
                at.wchan = Some(self.name(&name));
            }
        }
        Some(())
    }

    /// True if the title of a process ends in `waiting`, as that of one of PostgreSQL does while it waits for a lock that
    /// another transaction holds.
    fn names_lock(&mut self, pid: u32) -> bool {
        let read = self.root.read(format!("proc/{pid}/cmdline"), &mut self.buf);
        let title = self.buf.trim_ascii_end();
        let end = title.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        read.is_ok() && title.get(..end).is_some_and(|title| title.trim_ascii_end().ends_with(b" waiting"))
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        name
    }

    /// What a descriptor of a process is.
    fn link(&mut self, process: Process, fd: u64) -> Link {
        if let Some(link) = self.links.get(&(process, fd)) {
            return *link;
        }
        let path = format!("proc/{}/fd/{}", process.0, fd as u32);
        let link = std::fs::read_link(self.root.path().join(path)).ok();
        let (kind, inode) = link.as_deref().and_then(std::path::Path::to_str).map_or(("", None), kind);
        let link = Link { kind, inode, look: self.look };
        if self.links.len() < MOST_LINKS {
            self.links.insert((process, fd), link);
        }
        link
    }
}

/// Says what a connection waits for.
fn connected(peer_state: Option<(End, Option<u8>)>, at: &mut At) {
    if let Some((peer, state)) = peer_state {
        (at.peer, at.outstanding) = (Some(peer), state);
    }
}

/// Says that a UDP socket is waited for, and for whom if it is connected.
fn at_datagrams(socket: Option<Datagram>, at: &mut At) {
    if let Some(Datagram(other)) = socket {
        (at.target, at.peer) = ("udp", other);
    }
}

/// `socket:[12345]`, `pipe:[7]`, `anon_inode:[eventpoll]`, or a path.
fn kind(link: &str) -> (&'static str, Option<u64>) {
    let inode = |kind: &str| link.strip_prefix(kind).and_then(|rest| number(rest.strip_suffix(']')?.as_bytes()));
    match link {
        _ if link.starts_with("socket:[") => ("socket", inode("socket:[")),
        _ if link.starts_with("pipe:[") => ("pipe", inode("pipe:[")),
        "anon_inode:[eventfd]" => ("eventfd", None),
        "anon_inode:[timerfd]" => ("timerfd", None),
        "anon_inode:inotify" => ("inotify", None),
        "anon_inode:[signalfd]" => ("signalfd", None),
        _ if link.starts_with("anon_inode:") => ("anonymous", None),
        _ if link.starts_with("/dev/pts/") || link.starts_with("/dev/tty") => ("terminal", None),
        _ => ("file", None),
    }
}

impl File {
    fn read(&mut self, root: &Root, path: std::fmt::Arguments<'_>, buf: &mut Vec<u8>) -> Result<(), Reason> {
        if matches!(self, Self::Closed) {
            *self = Self::Open(root.open(path.to_string())?, reserve());
        }
        let Self::Open(kept, reserved) = &*self else { return Err(Reason::NotFound) };
        let read = kept.read_once(buf, 512);
        if reserved.is_none() {
            *self = Self::Closed;
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn links_tell_what_a_descriptor_is() {
        assert_eq!(kind("socket:[12345]"), ("socket", Some(12345)));
        assert_eq!(kind("pipe:[7"), ("pipe", None));
        assert_eq!(kind("anon_inode:[eventpoll]"), ("anonymous", None));
        assert_eq!(kind("anon_inode:[timerfd]").0, "timerfd");
        assert_eq!(kind("/dev/pts/0").0, "terminal");
        assert_eq!(kind("/var/lib/\u{1b}[2J"), ("file", None));
    }
}
