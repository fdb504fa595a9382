//! What the load waits for where nothing on the machine is at its limit, as a sentence: another machine, a lock, nothing.

use crate::bottleneck::{Bottleneck, Outcome};
use crate::frame::{Frame, Listener, OffCpu, Peer, Process, WaitClass, WaitShare};
use crate::locale::waiting as text;
use crate::rules::parts;
use crate::text::printable;
pub use chain::{Chain, one_by_one, server};
use chain::{peer, serial};
use std::collections::BTreeMap;

mod accept;
mod chain;

/// The least share of a process's time that is reported.
const LEAST: f64 = 0.3;
/// The least share of all its threads' time of what holds up those that work.
const SOME: f64 = 0.03;
/// The share of the time of all threads from which on those that work sleep as well.
const ASLEEP: f64 = 0.9;
/// Cores from which on a thread works most of the time.
const RUNS: f64 = 0.5;
/// The fewest samples that say something.
const SAMPLES: u64 = 10;
/// The least part of what all processes want that a process must want to be what the load is about.
const BEARS: f64 = 0.1;
/// The least part of what the application with most load wants of one that is not held up by anything.
const LEADS: f64 = 0.5;
/// Cores from which on a process of an idle machine does some work.
const IDLE: f64 = 0.01;
/// What holds a process up, among what it waits for.
const CAUSE: u8 = 4;
/// Share of segments sent again from which on packets are lost on the way: less is how TCP finds out what a link can do.
pub const LOST: f64 = 0.01;
/// Bytes a second from which on a connection transfers rather than asks.
const STREAMS: f64 = 1e6;

/// What a process of the load waits for most.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// The process, of several of the same program the one that waits most.
    pub process: &'a Process,
    /// How many of the same program take part.
    pub processes: usize,
    /// What for.
    pub class: WaitClass,
    /// More of it, as in [`WaitShare`].
    pub what: &'a str,
    /// Of the time of the threads that take part in the work.
    pub share: f64,
    /// What all processes of the program want.
    wants: f64,
    /// The process of this machine that it waits for, if that is its peer.
    server: Option<&'a Process>,
    /// Where connections wait to be accepted.
    queue: Option<&'a Listener>,
}

/// The process with most of the load that waits; none where nothing was sampled or everything runs.
pub fn waiting(frame: &Frame) -> Option<Waiting<'_>> {
    let applications = applications(frame);
    let all: f64 = applications.iter().map(Application::wants).sum();
    // One of which too little was sampled leads all the same.
    let most = loads(frame).into_values().fold(0.0, f64::max);
    let bears = applications.iter().filter(|application| application.wants() >= all * BEARS && all > 0.0);
    let found = bears.filter_map(|application| {
        let (wait, share) = longest(frame, application)?;
        let class = wait.class;
        // An application that hardly works beside the load does not hold it up.
        let leads = application.wants() >= most * LEADS;
        (leads || rank(class) == CAUSE).then_some(())?;
        let (process, own) = application.most(class)?;
        let what = &*own.what;
        let peer = peer(process, what).filter(|_| class == WaitClass::Peer);
        let server = peer.and_then(|peer| server(frame, process, peer));
        let processes = application.count(class);
        // Each has a peer of its own, and where only one waits the sentence is about that one.
        let is_own = class == WaitClass::Peer || processes == 1;
        let share = if is_own && application.processes.len() > 1 { own.share } else { share };
        let wants = application.wants();
        let waiting = Waiting { process, processes, class, what, share, wants, server, queue: None };
        Some((rank(class), wants, waiting))
    });
    let found: Vec<_> = found.collect();
    let most = found.iter().max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(.., waiting)| *waiting)?;
    let causes = found.iter().filter(|(rank, ..)| *rank == CAUSE).map(|(.., waiting)| *waiting).collect();
    Some(last_in_line(most, causes))
}

/// Where the peer runs here and waits itself, the client waits for the same, and so on.
fn last_in_line<'a>(mut waiting: Waiting<'a>, mut causes: Vec<Waiting<'a>>) -> Waiting<'a> {
    while let Some(server) = waiting.server.filter(|_| one_by_one(waiting.process).is_none()) {
        causes.retain(|cause| !cause.is_of(waiting.process));
        let Some(behind) = causes.iter().find(|cause| cause.is_of(server)) else { break };
        waiting = *behind;
    }
    waiting
}

/// What each program in each group wants.
fn loads(frame: &Frame) -> BTreeMap<(&str, &str), f64> {
    let mut all = BTreeMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        // Short programs are seen in the process that starts them alone.
        let children = process.children_cores.filter(|cores| cores.is_finite()).unwrap_or(0.0);
        *all.entry((&*process.cgroup, &*process.comm)).or_insert(0.0) += wants(process) + children;
    }
    all
}

/// Processes of one program in one group, such as the workers of a server.
struct Application<'a> {
    processes: Vec<&'a Process>,
    /// The samples of all of them.
    off_cpu: OffCpu,
}

fn applications(frame: &Frame) -> Vec<Application<'_>> {
    let mut all: BTreeMap<(&str, &str), Vec<&Process>> = BTreeMap::new();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        if process.off_cpu.is_some() {
            all.entry((&process.cgroup, &process.comm)).or_default().push(process);
        }
    }
    let of = |processes: Vec<_>| Application { off_cpu: together(&processes), processes };
    all.into_values().map(of).filter(|application| application.off_cpu.samples >= SAMPLES).collect()
}

/// The samples of several processes as those of one, each with the weight of what was sampled of it.
fn together(processes: &[&Process]) -> OffCpu {
    let each = || processes.iter().filter_map(|process| process.off_cpu.as_ref());
    if let [one] = *each().collect::<Vec<_>>() {
        return one.clone();
    }
    let samples: u64 = each().map(|off_cpu| off_cpu.samples).fold(0, u64::saturating_add);
    let mut sums: BTreeMap<WaitClass, f64> = BTreeMap::new();
    for off_cpu in each() {
        for share in &off_cpu.shares {
            *sums.entry(share.class).or_default() += share.share * off_cpu.samples as f64 / samples.max(1) as f64;
        }
    }
    let share = |(class, share)| WaitShare { class, share, what: "".into() };
    let mut shares: Vec<WaitShare> = sums.into_iter().map(share).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    // Threads wait for others of their own process: several processes of one thread each have none.
    let threads = each().map(|off_cpu| off_cpu.threads).max().unwrap_or_default();
    let seconds = each().map(|off_cpu| off_cpu.seconds).fold(0.0, f64::max);
    OffCpu { samples, threads, seconds, shares }
}

impl<'a> Application<'a> {
    fn wants(&self) -> f64 {
        self.processes.iter().map(|process| wants(process)).sum()
    }

    /// How many wait for something.
    fn count(&self, class: WaitClass) -> usize {
        let waits = |process: &&&Process| process.off_cpu.as_ref().is_some_and(|off_cpu| off_cpu.share(class) > 0.0);
        self.processes.iter().filter(waits).count()
    }

    /// The process that waits most for something, and for what exactly.
    fn most(&self, class: WaitClass) -> Option<(&'a Process, &'a WaitShare)> {
        let waits = self.processes.iter().filter_map(|process| {
            let shares = &process.off_cpu.as_ref()?.shares;
            let most = shares.iter().filter(|share| share.class == class);
            let most = most.max_by(|a, b| a.share.total_cmp(&b.share))?;
            Some((*process, most))
        });
        waits.max_by(|a, b| (a.1.share * wants(a.0)).total_cmp(&(b.1.share * wants(b.0))))
    }
}

/// What the threads of an application wait for most, and the share of their time.
fn longest<'a>(frame: &Frame, application: &'a Application<'_>) -> Option<(&'a WaitShare, f64)> {
    let off_cpu = &application.off_cpu;
    // Threads of the background sleep beside those that work, and one that waits for another one of its process waits for
    // whatever that one waits for.
    let beside = [WaitClass::Sleep, WaitClass::Thread].map(|class| off_cpu.share(class)).iter().sum::<f64>();
    let works = if off_cpu.threads > 1 { 1.0 - beside } else { 1.0 };
    let of_work = |wait: &WaitShare| (wait.share / works.max(wait.share)).min(1.0);
    let is_cause = |wait: &&WaitShare| rank(wait.class) > 1 && wait.share >= SOME && of_work(wait) >= LEAST;
    if let Some(cause) = off_cpu.shares.iter().find(is_cause) {
        return Some((cause, of_work(cause)));
    }
    // A thread that hardly ever stops does the work: what the others sleep for says nothing.
    let threads = application.processes.iter().flat_map(|process| frame.threads_of(process.pid));
    let runs = threads.filter_map(|thread| thread.cpu_cores).any(|cores| cores >= RUNS);
    let is_reported = |wait: &&WaitShare| wait.share >= LEAST && !runs && !is_background(wait, off_cpu);
    let idles = off_cpu.shares.iter().filter(is_reported).find(|wait| rank(wait.class) == 1);
    let wait = idles.or_else(|| off_cpu.longest().filter(is_reported))?;
    Some((wait, wait.share))
}

/// True for the sleep of some threads beside others that do something else: a timer, a report every second.
fn is_background(wait: &WaitShare, off_cpu: &OffCpu) -> bool {
    let others = 1.0 - off_cpu.share(WaitClass::Thread);
    wait.class == WaitClass::Sleep && off_cpu.threads > 1 && wait.share < ASLEEP * others
}

/// What the load waits for where nothing on the machine is at its limit; where the machine is idle only a cause.
pub fn beside<'a>(frame: &'a Frame, answer: &Bottleneck) -> Option<Waiting<'a>> {
    let waiting = match answer.verdict {
        _ if answer.is_collecting() => return None,
        Outcome::NotSaturated => waiting(frame),
        Outcome::Idle => waiting(frame).filter(Waiting::is_cause),
        _ => return None,
    };
    let queue = accept::queue(frame);
    let is_behind = |waiting: &Waiting<'a>| queue.is_some_and(|queue| waiting.is_behind(&queue));
    waiting.filter(|own| rank(own.class) > rank(WaitClass::Accept) && !is_behind(own)).or(queue).or(waiting)
}

/// Cores that a process used or wanted, and threads of it that waited for disks.
fn wants(process: &Process) -> f64 {
    let disk = process.off_cpu.as_ref().map_or(0.0, |off_cpu| off_cpu.share(WaitClass::Disk) * off_cpu.threads as f64);
    process.cpu_cores.unwrap_or(0.0) + process.run_wait_cores.unwrap_or(0.0) + disk
}

/// Who waits for requests or time is not held up by anything; a cause goes before those.
fn rank(class: WaitClass) -> u8 {
    match class {
        WaitClass::Lock | WaitClass::Disk | WaitClass::Peer | WaitClass::Quota | WaitClass::RunQueue => CAUSE,
        WaitClass::Accept => 3,
        WaitClass::Local => 2,
        WaitClass::Sleep | WaitClass::Requests | WaitClass::Child => 1,
        _ => 0,
    }
}

impl Waiting<'_> {
    /// True if an idle machine is idle for it: a process that does some work waits for a lock or for each answer, or one that
    /// transfers data for the other end or the network.
    fn is_cause(&self) -> bool {
        let held = self.class == WaitClass::Lock || self.one_by_one().is_some();
        self.wants >= IDLE && held || self.streams()
    }

    /// True if it is about the program of a process.
    fn is_of(&self, process: &Process) -> bool {
        self.process.comm == process.comm && self.process.cgroup == process.cgroup
    }

    /// True if much is sent to the peer that it waits for, or comes from there.
    fn streams(&self) -> bool {
        let peer = peer(self.process, self.what).filter(|_| self.class == WaitClass::Peer);
        let bytes = |peer: &Peer| peer.bytes_out_per_second.unwrap_or(0.0).max(peer.bytes_in_per_second.unwrap_or(0.0));
        self.share >= 0.5 && peer.is_some_and(|peer| bytes(peer) >= STREAMS)
    }

    /// Share of the segments to the peer that are sent again, where that slows a connection down.
    fn lost(&self) -> Option<f64> {
        let peer = peer(self.process, self.what).filter(|_| self.class == WaitClass::Peer)?;
        let often = peer.retransmits_per_second.is_some_and(|retransmits| retransmits >= 1.0);
        peer.retransmit_ratio().filter(|lost| often && *lost >= LOST)
    }

    /// The sentence: `beam.smp 4121 waits 71% of its time for its network peer 10.0.0.5:5432`.
    pub fn sentence(&self) -> String {
        let name = printable(&self.process.comm);
        let (pid, share) = (&self.process.pid, &parts::percent(Some(self.share)));
        let what = match self.server {
            Some(server) => format!("{} {} ({})", printable(&server.comm), server.pid, printable(self.what)),
            None => printable(self.what).into_owned(),
        };
        match self.class {
            WaitClass::Peer => match self.one_by_one() {
                Some((requests, ms)) => text::SingleFlight {
                    name: &name,
                    pid,
                    share,
                    peer: &what,
                    requests: &parts::count(Some(requests.round())),
                    time: &parts::two_digits(ms),
                }
                .to_string(),
                None => match self.lost() {
                    Some(lost) => {
                        let lost = &parts::tenths(lost * 100.0);
                        text::PeerLossy { name: &name, pid, share, peer: &what, lost }.to_string()
                    }
                    None => text::Peer { name: &name, pid, share, peer: &what }.to_string(),
                },
            },
            WaitClass::Accept => {
                let Some(queue) = self.queue else { return String::new() };
                let (count, port) = (&queue.queued.unwrap_or_default(), &queue.port);
                match printable(&queue.address) {
                    path if queue.is_local() => {
                        text::AcceptQueueLocal { count, name: &name, pid, path: &path }.to_string()
                    }
                    _ => text::AcceptQueue { count, name: &name, pid, port }.to_string(),
                }
            }
            class if self.processes > 1 => {
                text::WaitsSeveral { name: &name, count: &self.processes, share, what: &label(class) }.to_string()
            }
            class => text::Waits { name: &name, pid, share, what: &label(class) }.to_string(),
        }
    }

    /// Requests a second and the milliseconds that each is waited for, where a connection has them one after the other.
    pub fn one_by_one(&self) -> Option<(f64, f64)> {
        let chain = serial(self.process).filter(|_| self.class == WaitClass::Peer)?;
        Some((chain.requests, chain.ms))
    }
}

/// What a class is called in a sentence or a line.
pub fn label(class: WaitClass) -> String {
    let label = match class {
        WaitClass::Running => text::RUNNING,
        WaitClass::RunQueue => text::RUN_QUEUE,
        WaitClass::Quota => text::QUOTA,
        WaitClass::Lock => text::LOCK,
        WaitClass::Disk => text::DISK,
        WaitClass::Peer => text::PEER_LABEL,
        WaitClass::Local => text::LOCAL,
        WaitClass::Accept => text::ACCEPT,
        WaitClass::Requests => text::REQUESTS,
        WaitClass::Thread => text::THREAD,
        WaitClass::Child => text::CHILD,
        WaitClass::Sleep => text::SLEEP,
        WaitClass::Other => text::IN_CALL,
        WaitClass::Unread => text::UNREAD,
    };
    label.to_string()
}

#[cfg(test)]
mod tests;
