//! What the load waits for where nothing on the machine is at its limit, as a sentence: another machine, a lock, nothing.

use crate::bottleneck::{Bottleneck, Outcome};
use crate::frame::{Frame, Listener, OffCpu, Peer, Process, WaitClass, WaitShare};
use crate::locale::waiting as text;
use crate::rules::parts;
use crate::text::printable;

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
/// Connections that wait at a listening socket from which on those that serve are all taken.
const QUEUED: u64 = 8;
/// Cores from which on a process of an idle machine does some work.
const IDLE: f64 = 0.01;
/// What holds a process up, among what it waits for.
const CAUSE: u8 = 4;
/// Bytes a second from which on a connection transfers rather than asks.
const STREAMS: f64 = 1e6;
/// A request counts as one by one where the answer takes so many times the round trip.
const GAPS: f64 = 4.0;

/// What a process of the load waits for most.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// The process.
    pub process: &'a Process,
    /// What for.
    pub class: WaitClass,
    /// More of it, as in [`WaitShare`].
    pub what: &'a str,
    /// Of the time of the threads that take part in the work.
    pub share: f64,
    /// The process of this machine that it waits for, if that is its peer.
    server: Option<&'a Process>,
    /// Connections that wait to be accepted, and the port.
    queue: Option<(u64, u16)>,
}

/// The process with most of the load that waits; none where nothing was sampled or everything runs.
pub fn waiting(frame: &Frame) -> Option<Waiting<'_>> {
    let sampled = frame.processes.iter().filter(|process| !process.kernel);
    let sampled: Vec<(&Process, f64)> = sampled
        .filter(|process| process.off_cpu.as_ref().is_some_and(|off_cpu| off_cpu.samples >= SAMPLES))
        .map(|process| (process, wants(process)))
        .collect();
    let all: f64 = sampled.iter().map(|(_, wants)| wants).sum();
    let bears = sampled.into_iter().filter(|(_, wants)| *wants >= all * BEARS && all > 0.0);
    let found = bears.filter_map(|(process, wants)| {
        let (wait, share) = longest(frame, process)?;
        let (class, what) = (wait.class, &*wait.what);
        let peer = peer(process, what).filter(|_| class == WaitClass::Peer);
        let server = peer.and_then(|peer| server(frame, process, peer));
        Some((rank(class), wants, Waiting { process, class, what, share, server, queue: None }))
    });
    let found: Vec<_> = found.collect();
    let most = found.iter().max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(.., waiting)| *waiting)?;
    // Where the peer runs here and waits itself, the client waits for the same.
    let behind = most.server.filter(|_| most.one_by_one().is_none()).and_then(|server| {
        let mut causes = found.iter().filter(|(rank, ..)| *rank == CAUSE);
        causes.find(|(.., waiting)| waiting.process.pid == server.pid).map(|(.., waiting)| *waiting)
    });
    Some(behind.unwrap_or(most))
}

/// What the threads of a process wait for most, and the share of their time.
fn longest<'a>(frame: &Frame, process: &'a Process) -> Option<(&'a WaitShare, f64)> {
    let off_cpu = process.off_cpu.as_ref()?;
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
    let runs = frame.threads_of(process.pid).iter().any(|thread| thread.cpu_cores.is_some_and(|cores| cores >= RUNS));
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
    waiting.filter(|waiting| rank(waiting.class) > rank(WaitClass::Accept)).or_else(|| queue(frame)).or(waiting)
}

/// The listening socket at which most connections wait.
fn queue(frame: &Frame) -> Option<Waiting<'_>> {
    let sockets = frame.processes.iter().flat_map(|process| {
        let queued =
            move |listener: &'_ Listener| Some((listener.queued.filter(|count| *count >= QUEUED)?, listener.port));
        process.listen.iter().flatten().filter_map(queued).map(move |queue| (process, queue))
    });
    // Of several that have the same one, the first is the parent.
    let most = sockets.rev().max_by_key(|(_, (count, _))| *count);
    let class = WaitClass::Accept;
    most.map(|(process, queue)| Waiting { process, class, what: "", share: 0.0, server: None, queue: Some(queue) })
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
        wants(self.process) >= IDLE && held || self.streams()
    }

    /// True if much is sent to the peer that it waits for, or comes from there.
    fn streams(&self) -> bool {
        let peer = peer(self.process, self.what).filter(|_| self.class == WaitClass::Peer);
        let bytes = |peer: &Peer| peer.bytes_out_per_second.unwrap_or(0.0).max(peer.bytes_in_per_second.unwrap_or(0.0));
        self.share >= 0.5 && peer.is_some_and(|peer| bytes(peer) >= STREAMS)
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
                    time: &format!("{ms:.1}"),
                }
                .to_string(),
                None => text::Peer { name: &name, pid, share, peer: &what }.to_string(),
            },
            WaitClass::Accept => {
                let (count, port) = self.queue.unwrap_or_default();
                text::AcceptQueue { count: &count, name: &name, pid, port: &port }.to_string()
            }
            class => text::Waits { name: &name, pid, share, what: &label(class) }.to_string(),
        }
    }

    /// Requests a second and what each takes in milliseconds, where one connection has them one after the other and the
    /// round trip is but a small part of that.
    pub fn one_by_one(&self) -> Option<(f64, f64)> {
        let chain = one_by_one(self.process).filter(|_| self.class == WaitClass::Peer)?;
        Some((chain.requests, chain.ms))
    }
}

/// Requests to a peer that go one by one: each waits for the answer to the one before.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a> {
    /// The peer.
    pub peer: &'a Peer,
    /// Share of the time in which an answer is outstanding.
    pub share: f64,
    /// Requests a second of each connection.
    pub requests: f64,
    /// The time of each.
    pub ms: f64,
}

/// The requests of a process to the peer that it waits for most, if they go one by one and the round trip is but a small
/// part of their time. Threads that wait for others of the process count for nothing.
pub fn one_by_one(process: &Process) -> Option<Chain<'_>> {
    let off_cpu = process.off_cpu.as_ref().filter(|off_cpu| off_cpu.samples >= SAMPLES)?;
    let wait = off_cpu.shares.iter().find(|share| share.class == WaitClass::Peer)?;
    let peer = peer(process, &wait.what)?;
    let share = wait.share / (1.0 - off_cpu.share(WaitClass::Thread)).max(wait.share);
    let (requests, ms) = single_flight(peer, share)?;
    Some(Chain { peer, share, requests, ms })
}

/// The peer of a process by the name that waits have: `10.0.0.5:5432`.
fn peer<'a>(process: &'a Process, name: &str) -> Option<&'a Peer> {
    let is_meant = |peer: &&Peer| {
        let address = if peer.address.contains(':') { format!("[{}]", peer.address) } else { peer.address.to_string() };
        format!("{address}:{}", peer.port) == *name
    };
    process.peers.iter().find(is_meant)
}

/// The process of this machine that answers: it accepted connections to that port and receives as much there.
pub fn server<'a>(frame: &'a Frame, client: &Process, peer: &Peer) -> Option<&'a Process> {
    let asked = peer.data_segs_out_per_second?;
    let answers = |other: &Peer| {
        other.inbound
            && other.port == peer.port
            && other.data_segs_in_per_second.is_some_and(|received| received >= asked / 2.0)
    };
    frame.processes.iter().find(|process| process.pid != client.pid && process.peers.iter().any(answers))
}

/// Requests a second of each connection and their time in milliseconds where they go one by one: most of the time an
/// answer is outstanding, and one message goes for each that comes.
fn single_flight(peer: &Peer, waits: f64) -> Option<(f64, f64)> {
    let (sent, received) = (peer.data_segs_out_per_second?, peer.data_segs_in_per_second?);
    let each = sent.min(received) / peer.connections.max(1) as f64;
    let even = each > 0.0 && sent.max(received) <= 3.0 * sent.min(received);
    let ms = waits * 1000.0 / each;
    let rtt_ms = peer.rtt_us.value()? as f64 / 1000.0;
    (even && !peer.inbound && waits >= 0.5 && each >= 5.0 && ms >= GAPS * rtt_ms).then_some((each, ms))
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
mod tests {
    use super::{beside, single_flight, waiting};
    use crate::bottleneck::{Bottleneck, Outcome};
    use crate::frame::{Frame, Listener, OffCpu, Peer, Process, Thread, WaitClass, WaitShare};

    fn process(pid: u32, cores: f64, class: WaitClass, share: f64) -> Process {
        let what = if class == WaitClass::Peer { "10.0.0.5:5432" } else { "" };
        let shares = vec![
            WaitShare { class, share, what: what.into() },
            WaitShare { class: WaitClass::Running, share: 1.0 - share, what: "".into() },
        ];
        let off_cpu = Some(OffCpu { samples: 50, threads: 1, seconds: 10.0, shares });
        Process { pid, comm: "app\u{1b}".into(), cpu_cores: Some(cores), off_cpu, ..Process::default() }
    }

    fn peer(out: f64, back: f64, rtt_us: u64) -> Peer {
        Peer {
            address: "10.0.0.5".into(),
            port: 5432,
            connections: 1,
            rtt_us: rtt_us.into(),
            data_segs_out_per_second: Some(out),
            data_segs_in_per_second: Some(back),
            ..Peer::default()
        }
    }

    #[test]
    fn the_load_is_what_is_reported() {
        let processes = vec![
            process(7, 0.3, WaitClass::Peer, 0.71),
            process(8, 0.01, WaitClass::Lock, 0.9),
            process(9, 0.5, WaitClass::Requests, 0.4),
        ];
        let frame = Frame { processes, ..Frame::default() };
        let found = waiting(&frame).expect("something waits");
        assert_eq!((found.process.pid, found.class), (7, WaitClass::Peer), "a cause goes before idling");
        let sentence = found.sentence();
        assert!(sentence.contains('7') && sentence.contains("71%") && sentence.contains("10.0.0.5:5432"), "{sentence}");
        assert!(!sentence.contains('\u{1b}'));
        assert!(waiting(&Frame::default()).is_none());
    }

    #[test]
    fn threads_of_the_background_say_nothing_of_those_that_work() {
        let shares = [(WaitClass::Sleep, 0.8), (WaitClass::Running, 0.12), (WaitClass::Disk, 0.08)];
        let mut server = process(7, 0.6, WaitClass::Sleep, 0.8);
        let off_cpu = server.off_cpu.as_mut().expect("sampled");
        let share = |(class, share)| WaitShare { class, share, what: "".into() };
        (off_cpu.threads, off_cpu.shares) = (12, shares.map(share).to_vec());
        let mut frame = Frame { processes: vec![server], ..Frame::default() };
        let found = waiting(&frame).expect("the disk");
        assert_eq!((found.class, (found.share * 100.0).round()), (WaitClass::Disk, 40.0));
        frame.processes[0].off_cpu.as_mut().expect("sampled").shares.pop();
        frame.threads = vec![Thread { pid: 7, tid: 8, cpu_cores: Some(0.6), ..Thread::default() }];
        assert!(waiting(&frame).is_none(), "one of them works, and the others are asleep beside it");
    }

    #[test]
    fn a_report_every_second_is_not_what_the_work_waits_for() {
        let mut client = process(7, 0.4, WaitClass::Sleep, 0.5);
        client.off_cpu.as_mut().expect("sampled").threads = 2;
        let found = |client: &Process| {
            let frame = Frame { processes: vec![client.clone()], ..Frame::default() };
            waiting(&frame).map(|found| found.class)
        };
        assert_eq!(found(&client), None);
        let off_cpu = client.off_cpu.as_mut().expect("sampled");
        let shares = [(WaitClass::Thread, 0.5), (WaitClass::Sleep, 0.48), (WaitClass::Running, 0.02)];
        off_cpu.shares = shares.map(|(class, share)| WaitShare { class, share, what: "".into() }).to_vec();
        assert_eq!(found(&client), Some(WaitClass::Sleep), "all that work sleep");
    }

    #[test]
    fn who_answers_here_is_named_and_what_it_waits_for_is_reported() {
        let mut client = process(7, 0.6, WaitClass::Peer, 0.6);
        client.peers = vec![peer(9000.0, 9000.0, 20)];
        let mut server = process(8, 0.9, WaitClass::Requests, 0.1);
        server.comm = "store".into();
        server.peers = vec![Peer { inbound: true, ..peer(9000.0, 9000.0, 20) }];
        let mut frame = Frame { processes: vec![client, server], ..Frame::default() };
        let found = |frame: &Frame| waiting(frame).map(|found| found.sentence()).unwrap_or_default();
        assert!(found(&frame).ends_with("store 8 (10.0.0.5:5432)"), "{}", found(&frame));
        frame.processes[1].off_cpu = process(8, 0.9, WaitClass::Lock, 0.8).off_cpu;
        frame.processes[1].cpu_cores = Some(0.2);
        assert!(found(&frame).starts_with("store 8 ") && found(&frame).contains("80%"), "{}", found(&frame));
    }

    #[test]
    fn connections_that_nobody_accepts_are_reported() {
        let listener = |queued| Some(vec![Listener { port: 8080, queued: Some(queued), ..Listener::default() }]);
        let of = |pid, queued| Process { listen: listener(queued), ..process(pid, 0.02, WaitClass::Requests, 0.9) };
        let idle = Bottleneck { verdict: Outcome::Idle, samples: 10, ..Bottleneck::default() };
        let frame = |queued| Frame { processes: vec![of(7, queued), of(9, queued)], ..Frame::default() };
        let found = |frame: &Frame| beside(frame, &idle).map(|found| found.sentence());
        let shown = found(&frame(28)).unwrap_or_default();
        assert!(shown.starts_with("28 connections wait for app"), "{shown}");
        assert!(shown.ends_with(" 7 to accept them on port 8080"), "{shown}");
        assert_eq!(found(&frame(3)), None);
    }

    #[test]
    fn who_waits_for_a_slow_reader_makes_the_machine_idle() {
        let mut sender = process(7, 0.001, WaitClass::Peer, 0.98);
        let idle = Bottleneck { verdict: Outcome::Idle, samples: 10, ..Bottleneck::default() };
        let found = |sender: &Process| {
            let frame = Frame { processes: vec![sender.clone()], ..Frame::default() };
            beside(&frame, &idle).map(|found| found.class)
        };
        sender.peers = vec![Peer { bytes_out_per_second: Some(20e6), ..peer(900.0, 0.0, 100) }];
        assert_eq!(found(&sender), Some(WaitClass::Peer));
        sender.peers[0].bytes_out_per_second = Some(2e4);
        assert_eq!(found(&sender), None, "a terminal of somebody");
    }

    #[test]
    fn requests_one_by_one_are_reported_with_their_time() {
        assert_eq!(single_flight(&peer(300.0, 300.0, 100), 0.9), Some((300.0, 3.0)));
        assert_eq!(single_flight(&peer(300.0, 300.0, 2900), 0.9), None, "the network is all that takes time");
        assert_eq!(single_flight(&peer(30_000.0, 300.0, 100), 0.9), None, "a stream");
        let mut waits = process(7, 0.3, WaitClass::Peer, 0.9);
        waits.peers = vec![peer(300.0, 310.0, 100)];
        let frame = Frame { processes: vec![waits], ..Frame::default() };
        let sentence = waiting(&frame).map(|found| found.sentence()).unwrap_or_default();
        assert!(sentence.contains("300") && sentence.contains("3.0 ms"), "{sentence}");
        // A library reads from the connection in a thread of its own, and the publisher waits for that.
        let mut publisher = process(7, 0.3, WaitClass::Peer, 0.46);
        publisher.peers = vec![peer(300.0, 310.0, 100)];
        let own = WaitShare { class: WaitClass::Thread, share: 0.5, what: "".into() };
        let shares = &mut publisher.off_cpu.as_mut().expect("sampled").shares;
        (shares[1].share, *shares) = (0.04, [vec![own], shares.clone()].concat());
        let frame = Frame { processes: vec![publisher], ..Frame::default() };
        let sentence = waiting(&frame).map(|found| found.sentence()).unwrap_or_default();
        assert!(sentence.contains("10.0.0.5:5432") && sentence.contains("3.1 ms"), "{sentence}");
    }
}
