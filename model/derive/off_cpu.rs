//! What sampled threads wait for, by class: the collector says in which call and for which object, here is what that means.

use crate::Total as _;
use crate::frame::{Frame, OffCpu, Peer, Process, WaitClass, WaitShare, is_loopback};
use crate::tables::off_cpu::Waits;
use crate::{Table, Window};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Contended lock attempts a second from which threads of a Java virtual machine that park without a timeout are taken
/// to wait for a lock: it gives every thread a futex of its own.
const CONTENDED: f64 = 1.0;
/// Throttled periods of a group from which its tasks wait for the quota rather than for CPUs.
const THROTTLED: f64 = 0.05;
/// Cores of a thread that works.
const BUSY: f64 = 0.1;
/// Share of their time from which on threads wait for CPUs rather than for each other: they meet when a lock is handed on.
const QUEUES: f64 = 0.35;
/// Cores of a process whose threads run one at a time.
const ONE_CORE: std::ops::RangeInclusive<f64> = 0.9..=1.05;
/// FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_LOCK_PI2: what locks wait in. Conditions and semaphores use FUTEX_WAIT_BITSET.
const OF_LOCKS: [u64; 3] = [0, 6, 13];

/// Functions in which tasks sleep for file systems of other machines, and whose those are.
const SERVERS: [(&[&str], &str); 3] = [
    (&["rpc_", "__rpc_", "nfs"], "NFS server"),
    (&["ceph", "__ceph"], "Ceph"),
    (&["cifs", "smb2_", "wait_for_response"], "SMB server"),
];
/// For locks of the kernel, such as that of a process's memory map.
const KERNEL_LOCKS: [&str; 8] =
    ["rwsem_", "__down", "down_", "__mutex", "mutex_", "call_rwsem", "percpu_rwsem", "rt_mutex"];
/// For a child until it has executed a program.
const FORKS: [&str; 4] = ["kernel_clone", "_do_fork", "do_fork", "wait_for_vfork"];
/// Frozen, held back at `memory.high` or in reclaim, for a file system in user space, or for the kernel itself.
const NO_DISKS: [&str; 11] = [
    "__refrigerator",
    "refrigerator",
    "do_freezer",
    "mem_cgroup_",
    "__mem_cgroup_handle",
    "throttle_direct_reclaim",
    "reclaim_throttle",
    "request_wait_answer",
    "fuse_",
    "synchronize_",
    "__wait_rcu_gp",
];

pub(super) fn derive(window: &Window, frame: &mut Frame) {
    let Some(totals) = window.now.off_cpu.value() else { return };
    let mut found: HashMap<(u32, u64), Vec<usize>> = HashMap::new();
    let waits = window.now.waits.data();
    for slot in waits.rows().iter() {
        if let (Some(pid), Some(start)) = (waits.pid.id(slot).value(), waits.starttime.value(slot)) {
            found.entry((pid, start)).or_default().push(slot);
        }
    }
    for slot in totals.rows().iter() {
        let (Some(pid), Some(start)) = (totals.pid.id(slot).value(), totals.starttime.value(slot)) else { continue };
        let at = frame.processes.binary_search_by_key(&pid, |process| process.pid).ok();
        let Some(process) = at.and_then(|at| frame.processes.get(at)) else { continue };
        let samples = totals.samples.value(slot).filter(|&samples| samples > 0 && process.starttime == start);
        let Some(samples) = samples else { continue };
        let rows = found.get(&(pid, start)).map(Vec::as_slice).unwrap_or_default();
        let off_cpu = OffCpu {
            samples,
            threads: totals.threads.value(slot).unwrap_or_default(),
            seconds: totals.span_ns.value(slot).unwrap_or_default() as f64 / 1e9,
            shares: shares(frame, process, waits, rows, samples),
        };
        if let Some(process) = at.and_then(|at| frame.processes.get_mut(at)) {
            process.off_cpu = Some(off_cpu);
        }
    }
}

fn shares(frame: &Frame, process: &Process, waits: &Waits, rows: &[usize], samples: u64) -> Vec<WaitShare> {
    let mut sums: BTreeMap<(WaitClass, Arc<str>), u64> = BTreeMap::new();
    let locked = contends(process) || is_serialised(frame, process);
    for &slot in rows {
        let key = match classify(process, waits, slot, locked) {
            (WaitClass::Peer, end) if is_own(process, &end) => (WaitClass::Thread, Arc::default()),
            key => key,
        };
        *sums.entry(key).or_default() += waits.samples.value(slot).unwrap_or_default();
    }
    let whole = sums.values().copied().total().max(samples) as f64;
    let mut shares = Vec::new();
    for ((class, what), count) in sums {
        let share = count as f64 / whole;
        if class == WaitClass::Running {
            shares.extend(split(frame, process, share));
        } else {
            shares.push(WaitShare { class, share, what });
        }
    }
    shares.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| (a.class, &a.what).cmp(&(b.class, &b.what))));
    shares
}

/// Who is runnable runs or waits for a CPU: the kernel's own clocks of the interval say how much of each.
fn split(frame: &Frame, process: &Process, share: f64) -> Vec<WaitShare> {
    let waited = match process.wait_share {
        Some(waited) => waited.clamp(0.0, 1.0),
        None => return vec![WaitShare { class: WaitClass::Running, share, what: Arc::default() }],
    };
    let throttled = frame.cgroup(process.quota_group()).and_then(|group| group.cpu.throttled_ratio);
    let class = if throttled.is_some_and(|ratio| ratio >= THROTTLED) { WaitClass::Quota } else { WaitClass::RunQueue };
    let parts = [(WaitClass::Running, share * (1.0 - waited)), (class, share * waited)];
    let parts = parts.into_iter().filter(|(_, share)| *share > 0.0);
    parts.map(|(class, share)| WaitShare { class, share, what: Arc::default() }).collect()
}

/// What a row means, and more of it.
fn classify(process: &Process, waits: &Waits, slot: usize, locked: bool) -> (WaitClass, Arc<str>) {
    let state = waits.state.value(slot).and_then(|code| u8::try_from(code).ok()).unwrap_or(b'?');
    let Some(call) = waits.call.get(slot) else {
        return match state {
            b'R' => (WaitClass::Running, Arc::default()),
            b'D' => blocked(waits.wchan.or_empty(slot)),
            _ => (WaitClass::Unread, Arc::default()),
        };
    };
    let named = |class| (class, Arc::clone(call));
    match (state, &**call) {
        (b'R', _) => (WaitClass::Running, Arc::default()),
        (b'D', _) => blocked(waits.wchan.get(slot).filter(|name| !name.is_empty()).unwrap_or(call).clone()),
        (_, "futex") => (futex(process, waits, slot, locked), Arc::default()),
        (_, "futex_waitv") => named(WaitClass::Thread),
        (_, "nanosleep" | "clock_nanosleep") => (WaitClass::Sleep, Arc::default()),
        (_, "accept" | "accept4") => (WaitClass::Requests, Arc::default()),
        (_, "wait4" | "waitid") => (WaitClass::Child, Arc::default()),
        (_, "semop" | "semtimedop" | "flock") => named(WaitClass::Lock),
        (_, "io_getevents" | "io_pgetevents" | "io_uring_enter" | "fsync" | "fdatasync" | "msync" | "sync") => {
            named(WaitClass::Disk)
        }
        (_, "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll" | "select" | "pselect6") => {
            events(process, waits, slot, call)
        }
        _ => descriptor(waits, slot, call),
    }
}

/// What uninterruptible sleep in a function of the kernel is: a disk's, unless it is known to be something else's.
fn blocked(function: Arc<str>) -> (WaitClass, Arc<str>) {
    let is = |names: &[&str]| names.iter().any(|name| function.starts_with(name));
    let server = SERVERS.iter().find(|(names, _)| is(names)).map(|(_, name)| *name);
    match () {
        () if server.is_some() => (WaitClass::Peer, Arc::from(server.unwrap_or_default())),
        () if is(&KERNEL_LOCKS) => (WaitClass::Lock, function),
        () if is(&FORKS) => (WaitClass::Child, function),
        () if is(&NO_DISKS) => (WaitClass::Other, function),
        () => (WaitClass::Disk, function),
    }
}

/// True where a Java virtual machine counts locks that threads had to wait for.
fn contends(process: &Process) -> bool {
    process.jvm.as_ref().and_then(|jvm| jvm.contended_per_second).is_some_and(|rate| rate >= CONTENDED)
}

/// True where several threads want a CPU all the time and have one between them, although nothing else takes it: one lock
/// lets one of them run at a time, such as that of an interpreter.
fn is_serialised(frame: &Frame, process: &Process) -> bool {
    let threads = frame.threads_of(process.pid).iter().filter_map(|thread| thread.cpu_cores);
    let busy: Vec<f64> = threads.filter(|cores| *cores >= BUSY).collect();
    let most = busy.iter().copied().fold(0.0, f64::max);
    let one = process.cpu_cores.is_some_and(|cores| ONE_CORE.contains(&cores));
    let waits_for_cpus = process.wait_share.is_some_and(|share| share >= QUEUES);
    busy.len() >= 2 && most < *ONE_CORE.start() && one && !waits_for_cpus
}

fn futex(process: &Process, waits: &Waits, slot: usize, locked: bool) -> WaitClass {
    let several = waits.threads.value(slot).is_some_and(|threads| threads >= 2);
    let of_lock = waits.operation.value(slot).is_some_and(|operation| OF_LOCKS.contains(&operation));
    match waits.timed.value(slot) == Some(1) {
        _ if locked => WaitClass::Lock,
        true => WaitClass::Sleep,
        // A process with one thread waits for another process: for its lock, or on a semaphore for whatever it does. Who
        // serves connections takes turns at accepting them.
        false if process.threads.value() == Some(1) => match () {
            () if accepts(process) => WaitClass::Requests,
            () if of_lock => WaitClass::Lock,
            () => WaitClass::Local,
        },
        false if several && of_lock => WaitClass::Lock,
        false => WaitClass::Thread,
    }
}

/// True for a process that listens at a port.
fn accepts(process: &Process) -> bool {
    process.listen.as_ref().is_some_and(|list| !list.is_empty())
}

/// Also for one that listens at a path, unless it is a client that does so beside.
fn serves(process: &Process) -> bool {
    accepts(process) || !process.listen_local.is_empty() && of_client(process).is_none()
}

/// True for a connection of a process with itself, such as that of a gateway in a server: one of its threads waits for
/// another.
fn is_own(process: &Process, end: &str) -> bool {
    let Some((address, port)) = end.rsplit_once(':') else { return false };
    let address = address.trim_matches(['[', ']']);
    let is_at = |own: &str| *own == *address || is_loopback(address) && matches!(own, "0.0.0.0" | "::");
    let mut ports = process.listen.iter().flatten().filter(|listener| &*listener.protocol != "udp");
    process.threads.value() > Some(1)
        && ports.any(|listener| port.parse() == Ok(listener.port) && is_at(&listener.address))
}

/// The other end of a row's connection.
fn peer(waits: &Waits, slot: usize) -> Arc<str> {
    waits.peer.get(slot).map(|address| name(address, waits.port.value(slot))).unwrap_or_default()
}

fn name(address: &Arc<str>, port: Option<u64>) -> Arc<str> {
    match port {
        Some(port) if address.contains(':') => format!("[{address}]:{port}").into(),
        Some(port) => format!("{address}:{port}").into(),
        None => Arc::clone(address),
    }
}

/// The other end of a process that only talks with one that it called.
fn of_client(process: &Process) -> Option<Arc<str>> {
    let [peer] = &*process.peers else { return None };
    let busy = !peer.inbound && peer.data_segs_out_per_second.is_some_and(|rate| rate > 1.0);
    busy.then(|| name(&peer.address, Some(u64::from(peer.port))))
}

/// Where nothing goes to or comes from a peer, what was sent and what was received in the same millisecond was an answer, once.
fn is_silent(process: &Process, name_of_peer: &str) -> bool {
    let is_meant = |peer: &&Peer| *name(&peer.address, Some(u64::from(peer.port))) == *name_of_peer;
    let peer = process.peers.iter().filter(|peer| !peer.inbound).find(is_meant);
    peer.is_some_and(|peer| peer.data_segs_out_per_second == Some(0.0) && peer.data_segs_in_per_second == Some(0.0))
}

/// The peer of which most connections of a process await an answer, where most of those to it do: they may be too short-lived
/// to be asked one by one.
fn awaited(process: &Process) -> Option<Arc<str>> {
    let awaits =
        |peer: &&Peer| !peer.inbound && peer.awaited.is_some_and(|some| some > 0 && some * 2 >= peer.connections);
    let most = process.peers.iter().filter(awaits).max_by_key(|peer| peer.awaited)?;
    Some(name(&most.address, Some(u64::from(most.port))))
}

/// Waiting for any of several descriptors.
fn events(process: &Process, waits: &Waits, slot: usize, call: &Arc<str>) -> (WaitClass, Arc<str>) {
    let serves = serves(process);
    match waits.outstanding.value(slot) {
        _ if &*waits.target.or_empty(slot) == LOCK => (WaitClass::Lock, LOCK.into()),
        Some(2) if serves && is_silent(process, &peer(waits, slot)) => (WaitClass::Requests, Arc::default()),
        Some(1 | 2) => (WaitClass::Peer, peer(waits, slot)),
        None | Some(3) if awaited(process).is_some() => (WaitClass::Peer, awaited(process).unwrap_or_default()),
        Some(3) => (WaitClass::Requests, Arc::default()),
        _ if serves => (WaitClass::Requests, Arc::default()),
        // Its connections come and go too fast to be asked one by one.
        None if of_client(process).is_some() => (WaitClass::Peer, of_client(process).unwrap_or_default()),
        // Nothing is asked of anybody, and it wakes up by itself.
        Some(0) if waits.timed.value(slot) == Some(1) => (WaitClass::Sleep, Arc::default()),
        _ if &*waits.target.or_empty(slot) == UDP => datagram(waits, slot, call),
        _ if is_local(process) => (WaitClass::Local, Arc::default()),
        _ => (WaitClass::Other, Arc::clone(call)),
    }
}

/// True for one thread without network connections: what wakes it up are sockets and pipes of this machine.
fn is_local(process: &Process) -> bool {
    let silent = process.listen.as_ref().is_some_and(Vec::is_empty) && process.peers.is_empty();
    silent && process.threads.value() == Some(1)
}

/// What a UDP socket is called in `Waits::target`, and the lock that a program says in its title that it waits for.
const UDP: &str = "udp";
const LOCK: &str = "lock";

/// Waiting for a datagram: who is not connected may be a server or ask many.
fn datagram(waits: &Waits, slot: usize, call: &Arc<str>) -> (WaitClass, Arc<str>) {
    let connected = waits.peer.get(slot).is_some_and(|address| !address.is_empty());
    if connected { (WaitClass::Peer, peer(waits, slot)) } else { (WaitClass::Other, Arc::clone(call)) }
}

/// Waiting for one descriptor.
fn descriptor(waits: &Waits, slot: usize, call: &Arc<str>) -> (WaitClass, Arc<str>) {
    let target = waits.target.or_empty(slot);
    match (&*target, waits.outstanding.value(slot)) {
        (UDP, _) => datagram(waits, slot, call),
        ("socket", Some(3)) => (WaitClass::Requests, Arc::default()),
        // Who reads from a connection waits for what comes of it, asked for or not.
        ("socket", _) if waits.peer.get(slot).is_some() => (WaitClass::Peer, peer(waits, slot)),
        ("socket" | "pipe", _) => (WaitClass::Local, target),
        ("timerfd", _) => (WaitClass::Sleep, Arc::default()),
        ("eventfd", _) => (WaitClass::Thread, Arc::default()),
        _ => (WaitClass::Other, Arc::clone(call)),
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::Deriver;
    use crate::frame::{Frame, Listener, OffCpu, Peer, Process, Thread, WaitClass};
    use crate::tables::off_cpu::Waits;
    use crate::{Known, Snapshot, Table, Window};
    use std::sync::Arc;

    /// state, call, target, operation, timed, outstanding, threads, samples.
    type Row<'a> = (char, Option<&'a str>, &'a str, u64, bool, Option<u64>, u64, u64);

    fn frame(rows: &[Row<'_>]) -> Frame {
        frame_of(4, rows)
    }

    fn frame_of(process_threads: u64, rows: &[Row<'_>]) -> Frame {
        let mut snapshot = Snapshot::default();
        snapshot.stamp.mono_ns = 1;
        let section = Arc::make_mut(&mut snapshot.processes);
        section.begin(1);
        let slot = section.data_mut().insert();
        section.data_mut().pid.set(slot, 7);
        section.data_mut().starttime.set(slot, 70);
        section.data_mut().threads.set(slot, process_threads);
        let section = Arc::make_mut(&mut snapshot.off_cpu);
        section.begin(1);
        let slot = section.data_mut().insert();
        let table = section.data_mut();
        table.pid.set(slot, 7);
        table.starttime.set(slot, 70);
        table.samples.set(slot, rows.iter().map(|row| row.7).sum());
        table.threads.set(slot, 4);
        let section = Arc::make_mut(&mut snapshot.waits);
        section.begin(1);
        *section.data_mut() = snapshot_waits(rows);
        let mut window = Window::default();
        window.push(snapshot);
        Deriver::default().frame(&window)
    }

    fn snapshot_waits(rows: &[Row<'_>]) -> Waits {
        let mut table = Waits::default();
        for &(state, call, target, operation, timed, outstanding, threads, samples) in rows {
            let slot = table.insert();
            table.pid.set(slot, 7);
            table.starttime.set(slot, 70);
            table.state.set(slot, u64::from(u32::from(state)));
            if let Some(call) = call {
                table.call.set(slot, call);
            }
            table.target.set(slot, target);
            table.operation.set(slot, operation);
            table.timed.set(slot, u64::from(timed));
            if let Some(outstanding) = outstanding {
                table.outstanding.set(slot, outstanding);
                table.peer.set(slot, "10.0.0.5");
                table.port.set(slot, 5432);
            }
            table.threads.set(slot, threads);
            table.samples.set(slot, samples);
        }
        table
    }

    fn off_cpu(rows: &[Row<'_>]) -> OffCpu {
        frame(rows).process(7).and_then(|process| process.off_cpu.clone()).expect("sampled")
    }

    fn class(row: Row<'_>) -> WaitClass {
        off_cpu(&[row]).shares[0].class
    }

    #[test]
    fn a_title_says_that_a_lock_is_waited_for() {
        let row = ('S', Some("epoll_wait"), "lock", 0, false, None, 1, 5);
        assert_eq!(class(row), WaitClass::Lock);
    }

    /// What a process that listens waits for with one connection of its own to a service, and for what.
    fn of_proxy(peer: &Peer, outstanding: Option<u64>) -> WaitClass {
        let mut frame = frame(&[('S', Some("epoll_wait"), "", 0, false, outstanding, 1, 5)]);
        let process = frame.processes.first_mut().expect("one");
        process.listen = Some(vec![Listener { port: 80, ..Listener::default() }]);
        process.peers = vec![Peer { address: "10.0.0.5".into(), port: 5432, connections: 4, ..peer.clone() }];
        let waits = snapshot_waits(&[('S', Some("epoll_wait"), "", 0, false, outstanding, 1, 5)]);
        super::classify(process, &waits, 0, false).0
    }

    #[test]
    fn who_accepts_connections_waits_for_a_peer_only_while_it_owes_an_answer() {
        let rates = |rate| Peer {
            data_segs_out_per_second: Some(rate),
            data_segs_in_per_second: Some(rate),
            ..Peer::default()
        };
        assert_eq!(of_proxy(&rates(50.0), Some(2)), WaitClass::Peer);
        assert_eq!(of_proxy(&rates(0.0), Some(2)), WaitClass::Requests, "an exchange that was over long ago");
        let awaited = |awaited| Peer { awaited: Some(awaited), ..rates(2.0) };
        assert_eq!(
            of_proxy(&awaited(3), None),
            WaitClass::Peer,
            "its connections are too short to be asked one by one"
        );
        assert_eq!(of_proxy(&awaited(3), Some(3)), WaitClass::Peer);
        assert_eq!(of_proxy(&awaited(1), Some(3)), WaitClass::Requests);
    }

    #[test]
    fn a_lock_is_one_futex_of_several_threads() {
        let futex = |operation, timed, threads| class(('S', Some("futex"), "", operation, timed, None, threads, 5));
        assert_eq!(futex(0, false, 3), WaitClass::Lock);
        assert_eq!(futex(0, false, 1), WaitClass::Thread);
        assert_eq!(futex(9, false, 3), WaitClass::Thread, "a pool that waits for work");
        assert_eq!(futex(0, true, 3), WaitClass::Sleep);
    }

    #[test]
    fn a_futex_of_a_process_with_one_thread_is_another_process_s() {
        let futex = |operation| {
            let frame = frame_of(1, &[('S', Some("futex"), "", operation, false, None, 1, 5)]);
            frame.process(7).and_then(|process| process.off_cpu.as_ref()?.longest()).map(|wait| wait.class)
        };
        assert_eq!(futex(0), Some(WaitClass::Lock));
        assert_eq!(futex(9), Some(WaitClass::Local), "a semaphore, such as that of a pool without work");
    }

    #[test]
    fn uninterruptible_sleep_is_a_disk_s_unless_its_function_is_known() {
        let class = |function: &str| super::blocked(Arc::from(function)).0;
        for disk in ["io_schedule", "folio_wait_bit_common", "jbd2_log_wait_commit", "balance_dirty_pages", ""] {
            assert_eq!(class(disk), WaitClass::Disk, "{disk}");
        }
        assert_eq!(super::blocked(Arc::from("rpc_wait_bit_killable")), (WaitClass::Peer, Arc::from("NFS server")));
        assert_eq!(class("rwsem_down_read_slowpath"), WaitClass::Lock);
        assert_eq!(class("kernel_clone"), WaitClass::Child);
        assert_eq!(class("__refrigerator"), WaitClass::Other);
    }

    #[test]
    fn a_peer_is_waited_for_while_its_answer_is_outstanding() {
        let events = |outstanding| class(('S', Some("epoll_wait"), "", 0, true, outstanding, 1, 5));
        assert_eq!(events(Some(1)), WaitClass::Peer);
        assert_eq!(events(Some(2)), WaitClass::Peer);
        assert_eq!(events(Some(0)), WaitClass::Sleep);
        assert_eq!(events(Some(3)), WaitClass::Requests);
        assert_eq!(events(None), WaitClass::Other);
        let read = |outstanding| class(('S', Some("recvfrom"), "socket", 0, false, outstanding, 1, 5));
        assert_eq!(
            (read(Some(1)), read(Some(3)), read(None)),
            (WaitClass::Peer, WaitClass::Requests, WaitClass::Local)
        );
        let datagram = |call, outstanding| class(('S', Some(call), "udp", 0, false, outstanding, 1, 5));
        assert_eq!(datagram("recvfrom", Some(0)), WaitClass::Peer, "a connected socket has another end");
        assert_eq!((datagram("recvfrom", None), datagram("poll", None)), (WaitClass::Other, WaitClass::Other));
    }

    #[test]
    fn a_client_that_also_listens_at_a_path_waits_for_its_peer() {
        let peer = Peer { port: 3306, data_segs_out_per_second: Some(50.0), ..Peer::default() };
        let local = vec![Listener { protocol: "unix".into(), ..Listener::default() }];
        let process = Process { listen: Some(Vec::new()), listen_local: local, ..Process::default() };
        let waits = snapshot_waits(&[('S', Some("poll"), "", 0, false, None, 1, 5)]);
        assert_eq!(super::classify(&process, &waits, 0, false).0, WaitClass::Requests);
        let client = Process { peers: vec![peer], ..process };
        assert_eq!(super::classify(&client, &waits, 0, false).0, WaitClass::Peer);
    }

    #[test]
    fn a_connection_with_itself_is_waiting_for_a_thread() {
        let process = |port, address: &str| Process {
            listen: Some(vec![Listener { port, address: address.into(), ..Listener::default() }]),
            threads: Known::Value(8),
            ..Process::default()
        };
        let server = process(2379, "0.0.0.0");
        assert!(super::is_own(&server, "127.0.0.1:2379") && super::is_own(&server, "[::1]:2379"));
        assert!(super::is_own(&process(2379, "10.0.0.5"), "10.0.0.5:2379"));
        for other in ["10.0.0.5:2379", "127.0.0.1:2380", "", "2379"] {
            assert!(!super::is_own(&server, other), "{other}");
        }
        assert!(!super::is_own(&process(2379, "10.0.0.5"), "127.0.0.1:2379"), "a backend at the same port");
        let worker = Process { threads: Known::Value(1), ..server };
        assert!(!super::is_own(&worker, "127.0.0.1:2379"), "one thread waits for another process");
    }

    #[test]
    fn shares_sum_to_one_and_the_largest_is_first() {
        let off_cpu = off_cpu(&[
            ('R', Some(""), "", 0, false, None, 1, 10),
            ('S', Some("epoll_wait"), "", 0, true, Some(1), 1, 60),
            ('D', Some("pread64"), "file", 0, false, None, 1, 20),
            ('D', None, "", 0, false, None, 1, 5),
            ('S', None, "", 0, false, None, 1, 5),
        ]);
        let shares: Vec<_> = off_cpu.shares.iter().map(|row| (row.class, &*row.what, row.share)).collect();
        assert_eq!(shares[0], (WaitClass::Peer, "10.0.0.5:5432", 0.6));
        assert_eq!(shares[1], (WaitClass::Disk, "pread64", 0.2));
        assert!((shares.iter().map(|share| share.2).sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!((off_cpu.share(WaitClass::Disk), off_cpu.share(WaitClass::Unread)), (0.25, 0.05));
        assert_eq!(off_cpu.longest().map(|share| share.class), Some(WaitClass::Peer));
    }

    #[test]
    fn threads_that_have_one_core_between_them_wait_for_a_lock() {
        let thread = |tid, cores| Thread { pid: 7, tid, cpu_cores: Some(cores), ..Thread::default() };
        let of = |cores: &[f64], wait_share| {
            let threads = (1..).zip(cores).map(|(tid, &cores)| thread(tid, cores)).collect();
            let process = Process { pid: 7, cpu_cores: Some(cores.iter().sum()), wait_share, ..Process::default() };
            super::is_serialised(&Frame { threads, ..Frame::default() }, &process)
        };
        assert!(of(&[0.26, 0.25, 0.24, 0.20], Some(0.2)));
        assert!(!of(&[0.26, 0.25, 0.24, 0.25], Some(0.4)), "a CPU is what they have between them");
        assert!(!of(&[0.98, 0.02], Some(0.0)), "one thread does it all");
        assert!(!of(&[0.9, 0.9], Some(0.0)), "two at a time");
    }
}
