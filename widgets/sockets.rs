//! TCP and UDP sockets: who listens and how full accept queues are, who talks with whom and how long an answer takes.

mod columns;
mod detail;
mod namespaces;

use crate::parts::browser::Browser;
use crate::parts::legend;
use crate::parts::pane;
use crate::parts::table::{Identity, Listed, Table, matches};
use crate::parts::units::{self, Short};
use crate::{Action, Cx, Outcome, Panel, Role, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use topotop_model::frame::{Listener, Peer, Process};
use topotop_model::locale::Text;
use topotop_model::locale::screen::{shared, sockets as text};
use topotop_model::waiting::LOST;

/// Where gaps of sockets are: which process has one is read from its descriptors.
const FILE: &str = "proc/*/fd";
/// Share of segments sent again that is more than on a healthy network; from `LOST` on throughput falls.
const LOSSY: f64 = LOST / 10.0;

/// A socket's place in the frame: of a process, a port that it listens on or connections to one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    process: usize,
    at: usize,
    listens: bool,
}

/// What a row is from sample to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Id {
    process: (u32, u64),
    listens: bool,
    inbound: bool,
    address: Arc<str>,
    port: u16,
    /// `tcp`, `udp` or `unix` of a listener.
    protocol: Arc<str>,
}

impl Id {
    fn end(&self) -> String {
        if &*self.protocol == "unix" { self.address.to_string() } else { endpoint(&self.address, self.port) }
    }
}

/// What a row shows.
enum Socket<'a> {
    Listener(&'a Listener),
    Peer(&'a Peer),
}

/// Where a process listens: ports, then paths.
fn listeners(process: &Process) -> impl Iterator<Item = &Listener> {
    process.listen.iter().flatten().chain(&process.listen_local)
}

fn get<'a>(cx: &Cx<'a>, row: Row) -> Option<(&'a Process, Socket<'a>)> {
    let process = cx.frame.processes.get(row.process)?;
    let socket = if row.listens {
        Socket::Listener(listeners(process).nth(row.at)?)
    } else {
        Socket::Peer(process.peers.get(row.at)?)
    };
    Some((process, socket))
}

fn id(process: &Process, socket: &Socket<'_>) -> Id {
    let (listens, inbound, address, port, protocol) = match socket {
        Socket::Listener(row) => (true, false, &row.address, row.port, Arc::clone(&row.protocol)),
        Socket::Peer(row) => (false, row.inbound, &row.address, row.port, Arc::default()),
    };
    Id { process: (process.pid, process.starttime), listens, inbound, address: Arc::clone(address), port, protocol }
}

const IDENTITY: Identity<Row, Id> = Identity {
    of: |cx, row| get(cx, row).map(|(process, socket)| id(process, &socket)),
    is: |cx, row, known| {
        get(cx, row).is_some_and(|(process, socket)| {
            let same = match socket {
                Socket::Listener(row) => {
                    known.listens
                        && (row.port, &row.address, &row.protocol) == (known.port, &known.address, &known.protocol)
                }
                Socket::Peer(row) => {
                    !known.listens
                        && (row.port, &row.address, row.inbound) == (known.port, &known.address, known.inbound)
                }
            };
            same && known.process == (process.pid, process.starttime)
        })
    },
    subject: |id| Some(Subject::Process(id.process.0, id.process.1)),
    from: |_| None,
};

fn listener<'a>(cx: &Cx<'a>, row: Row) -> Option<&'a Listener> {
    if let Socket::Listener(listener) = get(cx, row)?.1 { Some(listener) } else { None }
}

fn peer<'a>(cx: &Cx<'a>, row: Row) -> Option<&'a Peer> {
    if let Socket::Peer(peer) = get(cx, row)?.1 { Some(peer) } else { None }
}

/// How full the accept queue of a listener is.
fn fullness(listener: &Listener) -> Option<f64> {
    let backlog = listener.backlog.filter(|backlog| *backlog > 0)?;
    Some(listener.queued? as f64 / backlog as f64)
}

/// An address with its port; that of version 6 in brackets.
fn endpoint(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn end(socket: &Socket<'_>) -> String {
    match socket {
        Socket::Listener(row) => format!("{} {}", row.end(), row.protocol),
        Socket::Peer(row) if row.inbound => text::Accepted { port: &row.port, address: &row.address }.to_string(),
        Socket::Peer(row) => endpoint(&row.address, row.port),
    }
}

fn traffic(peer: &Peer) -> Option<f64> {
    Some(peer.bytes_in_per_second? + peer.bytes_out_per_second?)
}

fn loss(share: f64) -> (Short, Role) {
    let role = match share {
        share if share >= LOST => Role::Critical,
        share if share >= LOSSY => Role::Warn,
        _ => Role::Dim,
    };
    (units::fine_percent(share), role)
}

/// A length of a queue: exact as long as it fits.
fn whole(count: u64) -> String {
    if count < 10_000 { count.to_string() } else { units::count(count as f64).as_str().to_owned() }
}

/// The sockets of all processes, and what their namespaces count.
pub struct Sockets {
    browser: Browser<Row, Id>,
    area: Rect,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { browser: Browser::new(Table::new(columns::COLUMNS, IDENTITY, None)), area: Rect::default() }
    }
}

/// Every socket, the most traffic first, then connections, then fuller queues.
fn rows(cx: &Cx<'_>) -> (Vec<Row>, usize) {
    let mut rows = Vec::new();
    let mut total = 0;
    for (index, process) in cx.frame.processes.iter().enumerate() {
        let listening = listeners(process).count();
        let places = (0..process.peers.len()).map(|at| (at, false)).chain((0..listening).map(|at| (at, true)));
        for (at, listens) in places {
            total += 1;
            let row = Row { process: index, at, listens };
            let shown = |socket: &Socket<'_>| matches(cx.filter, &process.comm) || matches(cx.filter, &end(socket));
            if cx.filter.is_empty() || get(cx, row).is_some_and(|(_, socket)| shown(&socket)) {
                rows.push(row);
            }
        }
    }
    let weight = |row: &Row| {
        let busy = peer(cx, *row).and_then(traffic).unwrap_or(0.0);
        let connections = peer(cx, *row).map_or(0, |peer| peer.connections);
        (busy, listener(cx, *row).and_then(fullness).unwrap_or(0.0), connections)
    };
    rows.sort_by(|a, b| {
        let (a, b) = (weight(a), weight(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(b.2.cmp(&a.2))
    });
    (rows, total)
}

/// How many rows there are, and how many processes may have more.
fn note(cx: &Cx<'_>, shown: usize, total: usize) -> String {
    let note = pane::count_note(cx, shown, total);
    let unread: u64 = cx.frame.gaps.iter().filter(|gap| *gap.path == *FILE).map(|gap| gap.count).sum();
    if unread == 0 { note } else { format!("{note} · {}", text::Unread { count: unread }) }
}

impl Sockets {
    /// The list, and namespaces below it where there is room.
    fn split(&self, cx: &Cx<'_>, area: Rect) -> (Rect, Rect) {
        let wanted = (cx.frame.net_namespaces.len() as u16).min(namespaces::MOST) + 2;
        if cx.frame.net_namespaces.is_empty() || area.height < wanted + 8 || self.browser.open().is_some() {
            return (area, Rect::default());
        }
        let list = Rect { height: area.height - wanted, ..area };
        (list, Rect { y: list.bottom(), height: wanted, ..area })
    }
}

impl Panel for Sockets {
    fn id(&self) -> &'static str {
        "sockets"
    }

    fn title(&self) -> Text {
        text::TAB
    }

    fn tab_short(&self) -> Text {
        text::TAB_SHORT
    }

    fn arrange(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        if self.browser.table.stale(cx, 0) {
            let (rows, total) = rows(cx);
            self.browser.table.fill(cx, rows.into_iter(), total);
        }
        let (list, _) = self.split(cx, area);
        self.browser.place(cx, list, |id, _| detail::doc(cx, id));
    }

    fn act(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.arrange(cx, self.area);
        let deed = self.browser.act(action, cx);
        self.browser.outcome(deed)
    }

    fn draw(&self, cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
        let (list, below) = self.split(cx, area);
        let (shown, total) = self.browser.table.counts();
        let note = note(cx, shown, total);
        let name = self.browser.open().map(Id::end).unwrap_or_default();
        let inner = self.browser.draw(cx, list, &text::TITLE, &note, &name, buf);
        if shown == 0 {
            pane::empty(cx, inner, &text::SOCKETS, FILE, total, buf);
        }
        namespaces::draw(cx, below, buf);
    }

    fn table(&mut self) -> Option<&mut dyn Listed> {
        Some(&mut self.browser.table)
    }

    fn legend(&self) -> Vec<crate::parts::panel::Sign> {
        legend::of(&[legend::TABLE], false)
    }

    fn hints(&self) -> &'static [(Action, Text)] {
        &[(Action::Open, shared::HINT_DETAILS), (Action::SortNext, shared::HINT_SORT)]
    }
}

#[cfg(test)]
mod tests;
