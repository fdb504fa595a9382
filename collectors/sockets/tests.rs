//! Sockets of this machine and of captured ones.

use crate::testing::put as write;
use crate::{Demand, Options, Root, Sampler};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use topotop_model::derive::Deriver;
use topotop_model::frame::{Frame, Process};
use topotop_model::{Gap, Reason, State, Window};

fn sampled(root: Root, samples: usize, mut between: impl FnMut()) -> (Frame, Sampler) {
    let mut sampler = Sampler::new(root, &Options::default());
    sampler.demand(Demand { complete: true, process: None });
    let mut window = Window::default();
    for sample in 0..samples {
        if sample > 0 {
            between();
        }
        window.push(sampler.sample());
    }
    (Deriver::default().frame(&window), sampler)
}

fn own(frame: &Frame) -> &Process {
    frame.process(std::process::id()).expect("this process")
}

#[test]
fn a_connection_waits_at_a_path() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.sock");
    let listener = UnixListener::bind(&path).expect("bound");
    let client = UnixStream::connect(&path).expect("connected");
    let (frame, _sampler) = sampled(Root::live().expect("a root"), 1, || {});
    let lacks = |gap: &Gap| gap.path.ends_with("_DIAG") && gap.reason != Reason::Malformed;
    if frame.sections.listeners == State::Missing || frame.gaps.iter().any(lacks) {
        return;
    }
    let listen = &own(&frame).listen_local;
    let found = listen.iter().find(|row| *row.address == *path.to_string_lossy()).expect("a listener");
    assert_eq!((found.queued, &*found.protocol, found.backlog > Some(0)), (Some(1), "unix", true));
    drop((listener, client));
}

#[test]
fn this_process_listens_and_talks() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("an address").port();
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("connected");
    client.set_nodelay(true).expect("set");
    let (mut server, _) = listener.accept().expect("accepted");
    server.set_nodelay(true).expect("set");
    let mut ping = || {
        for _ in 0..50 {
            client.write_all(b"ping").expect("written");
            let mut buf = [0; 4];
            server.read_exact(&mut buf).expect("read");
            server.write_all(b"pong").expect("written");
            client.read_exact(&mut buf).expect("read");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let (frame, _sampler) = sampled(Root::live().expect("a root"), 2, &mut ping);
    if frame.sections.listeners == State::Missing {
        // A sandbox may neither ask nor read.
        assert!(!frame.gaps.is_empty());
        return;
    }
    let listen = own(&frame).listen.as_ref().expect("looked at");
    let udp_port = udp.local_addr().expect("an address").port();
    assert!(listen.iter().any(|row| row.port == port && &*row.protocol == "tcp" && &*row.address == "127.0.0.1"));
    assert!(listen.iter().any(|row| row.port == udp_port && &*row.protocol == "udp"), "{listen:?}");
    if frame.gaps.iter().any(|gap| gap.path.starts_with("INET_DIAG")) {
        return;
    }
    for inbound in [false, true] {
        let peer = own(&frame).peers.iter().find(|peer| peer.port == port && peer.inbound == inbound).expect("a peer");
        assert_eq!((&*peer.address, peer.connections), ("127.0.0.1", 1));
        assert!(peer.rtt_us.value().is_some());
        assert!(peer.data_segs_out_per_second.is_some_and(|rate| rate > 10.0), "{peer:?}");
        assert!(peer.bytes_per_segment.is_some_and(|bytes| (3.0..64.0).contains(&bytes)), "{peer:?}");
        assert!(peer.round_trip_share().is_some_and(|share| share >= 0.0));
    }
}

const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

fn line(local: &str, remote: &str, state: &str, inode: u64) -> String {
    format!(
        "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0 100 0 0 10 0\n"
    )
}

/// A captured machine with a process in each of two network namespaces.
fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (pid, netns, inode) in [(7, 1, 70), (8, 2, 80)] {
        let stat =
            format!("{pid} (p) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 17 0 0 0\n");
        write(dir.path(), format!("proc/{pid}/stat"), &stat);
        let (listens, talks) = (
            line("00000000:1628", "00000000:0000", "0A", inode),
            line("0100000A:C000", "0200000A:1538", "01", inode + 1),
        );
        write(dir.path(), format!("proc/{pid}/net/tcp"), format!("{HEAD}{listens}{talks}"));
        std::fs::create_dir_all(dir.path().join(format!("proc/{pid}/fd"))).expect("made");
        std::fs::create_dir_all(dir.path().join(format!("proc/{pid}/ns"))).expect("made");
        for (fd, inode) in [(3, inode), (4, inode + 1)] {
            symlink(format!("socket:[{inode}]"), dir.path().join(format!("proc/{pid}/fd/{fd}"))).expect("linked");
        }
        symlink(format!("net:[{netns}]"), dir.path().join(format!("proc/{pid}/ns/net"))).expect("linked");
    }
    dir
}

#[test]
fn a_captured_machine_has_listeners_by_namespace() {
    let dir = tree();
    let (frame, _sampler) = sampled(Root::at(dir.path()).expect("a root"), 1, || {});
    for (pid, netns) in [(7, 1), (8, 2)] {
        let process = frame.process(pid).expect("a process");
        let listen = process.listen.as_ref().expect("looked at");
        assert_eq!((listen.len(), listen[0].port, listen[0].netns), (1, 5672, netns));
        let peer = process.peers.first().expect("a peer");
        assert_eq!((peer.port, peer.connections, peer.segs_out_per_second), (5432, 1, None));
        assert!(peer.rtt_us.is_missing(), "the text does not tell");
    }
}

#[test]
fn what_was_not_captured_is_a_gap() {
    let dir = tree();
    std::fs::remove_dir_all(dir.path().join("proc/7")).expect("removed");
    std::fs::remove_dir_all(dir.path().join("proc/8/net")).expect("removed");
    std::fs::remove_dir_all(dir.path().join("proc/8/fd")).expect("removed");
    let (frame, _sampler) = sampled(Root::at(dir.path()).expect("a root"), 1, || {});
    assert_eq!((&frame.process(8).expect("a process").listen, frame.sections.listeners), (&None, State::Missing));
    for path in ["proc/*/fd", "proc/*/net/tcp"] {
        assert!(frame.gaps.iter().any(|gap| &*gap.path == path), "{path}");
    }
}
