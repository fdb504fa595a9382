//! Packets for a guest: it asks for them, and they come.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Where a guest asks: `FLOWS PACKETS SECONDS`, the packets for each second.
const ASKED_AT: &str = "10.77.0.1:7777";
const GUEST: &str = "10.77.0.2";

/// Sends what a guest asks for, until the process ends.
pub(crate) fn serve() {
    let ask = UdpSocket::bind(ASKED_AT).expect("an own address");
    ask.set_nonblocking(true).expect("a socket");
    let mut flows: Vec<UdpSocket> = Vec::new();
    let (mut rate, mut until) = (0.0, Instant::now());
    let (mut sent, mut start) = (0.0, Instant::now());
    loop {
        let mut text = [0; 64];
        if let Ok(length) = ask.recv(&mut text) {
            let numbers: Vec<u32> = String::from_utf8_lossy(&text[..length])
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect();
            if let [count, packets, seconds] = numbers[..] {
                flows.clear();
                flows = (0..count.clamp(1, 200)).map(flow).collect();
                rate = f64::from(packets);
                (sent, start) = (0.0, Instant::now());
                until = start + Duration::from_secs(u64::from(seconds));
            }
        }
        if Instant::now() >= until {
            flows.clear();
        }
        let due = start.elapsed().as_secs_f64() * rate;
        // What could not be sent in time is not made up for: a slow machine gets fewer, not a burst.
        sent = f64::max(sent, due - rate * 0.05);
        while sent < due && !flows.is_empty() {
            for flow in &flows {
                // A full queue drops, as a card does.
                let _ = flow.send(&[0; 18]);
            }
            sent += flows.len() as f64;
        }
        std::thread::sleep(Duration::from_millis(if flows.is_empty() { 20 } else { 1 }));
    }
}

/// One sender with an address and a port of its own, so that cards that look at either tell them apart.
fn flow(index: u32) -> UdpSocket {
    let socket = UdpSocket::bind(format!("10.77.1.{}:{}", index + 10, 20_000 + index)).expect("an address");
    socket.connect(format!("{GUEST}:{}", 9000 + index)).expect("a route");
    socket.set_nonblocking(true).expect("a socket");
    socket
}
