//! Sockets of the made-up machines.

use crate::Known;
use crate::frame::{Frame, Listener, NetNamespace, Peer, Process};

/// Brokers that clients publish to, a database that they commit to, and an accept queue that fills.
pub(super) fn server(frame: &mut Frame) {
    for (at, pid) in [4121, 4383, 4590].into_iter().enumerate() {
        let Some(broker) = find(frame, pid) else { continue };
        let queued = if at == 1 { 117 } else { 0 };
        broker.listen = Some(vec![listener("0.0.0.0", 5672, queued, 128), listener("::", 15672, 0, 1024)]);
        let clients = Peer { bytes_in_per_second: Some(42e6), bytes_out_per_second: Some(3.1e6), ..busy(0.31) };
        let database =
            Peer { inbound: false, connections: 8, awaited: Some(8), rtt_us: Known::Value(310), ..busy(0.94) };
        broker.peers = vec![peer(&clients, "10.20.0.5", 5672), peer(&database, "10.20.0.9", 5432)];
    }
    if let Some(database) = find(frame, 7741) {
        database.listen = Some(vec![listener("10.20.0.9", 5432, 0, 4096)]);
        let (address, protocol) = ("/run/postgresql/.s.PGSQL.5432".into(), "unix".into());
        database.listen_local = vec![Listener { address, protocol, ..listener("", 0, 3, 4096) }];
        let brokers = Peer { connections: 24, retransmits_per_second: Some(31.0), ..busy(0.12) };
        database.peers = vec![peer(&brokers, "2001:db8::17", 5432)];
    }
    let host = NetNamespace {
        pid: Known::None,
        established: Known::Value(311),
        in_segs_per_second: Some(38_400.0),
        out_segs_per_second: Some(36_100.0),
        retrans_segs_per_second: Some(31.0),
        listen_overflows_per_second: Some(12.0),
        listen_drops_per_second: Some(12.0),
        socket_drops_per_second: Some(0.0),
        udp_rcvbuf_errors_per_second: Some(0.0),
        ..NetNamespace::default()
    };
    let container = NetNamespace { netns: 4_026_532_008, pid: Known::Value(4383), ..NetNamespace::default() };
    frame.net_namespaces = vec![host, container];
}

fn find(frame: &mut Frame, pid: u32) -> Option<&mut Process> {
    frame.processes.iter_mut().find(|process| process.pid == pid)
}

fn listener(address: &str, port: u16, queued: u64, backlog: u64) -> Listener {
    let (address, protocol, netns) = (address.into(), "tcp".into(), 0);
    Listener { address, protocol, netns, port, queued: Some(queued), backlog: Some(backlog) }
}

fn peer(numbers: &Peer, address: &str, port: u16) -> Peer {
    Peer { address: address.into(), port, ..numbers.clone() }
}

/// Connections that have data in flight for so much of the time.
fn busy(share: f64) -> Peer {
    Peer {
        inbound: true,
        connections: 96,
        rtt_us: Known::Value(180),
        min_rtt_us: Known::Value(95),
        segs_out_per_second: Some(9_100.0),
        segs_in_per_second: Some(9_400.0),
        data_segs_out_per_second: Some(4_600.0),
        data_segs_in_per_second: Some(9_000.0),
        bytes_out_per_second: Some(880_000.0),
        bytes_in_per_second: Some(1.2e6),
        bytes_per_segment: Some(1_310.0),
        retransmits_per_second: Some(0.0),
        busy_ratio: Some(share),
        awaited: Some(2),
        ..Peer::default()
    }
}
