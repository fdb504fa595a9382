//! Whether an answer is outstanding of a connection: what was sent last and received last, asked of each one by itself.

use super::choose::Process;
use crate::Root;
use crate::sockets::{Connection, Line};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use topotop_model::Reason;

/// The most connections that are asked in a sample, and those of one process.
const MOST: usize = 48;
const MOST_EACH: usize = 12;

/// What a connection waits for, as `Waits::outstanding` tells it.
pub(super) const NOTHING: u8 = 0;
pub(super) const ANSWER: u8 = 1;
pub(super) const UNTOLD: u8 = 2;
pub(super) const ACCEPTED: u8 = 3;

/// Asks.
#[derive(Debug, Default)]
pub(super) struct Peers {
    connections: Vec<Connection>,
    by_process: HashMap<Process, Vec<usize>>,
    states: Vec<Option<u8>>,
    /// Sockets that ask, by network namespace; none where that cannot be entered.
    lines: HashMap<u64, Option<Line>>,
}

impl Peers {
    /// Takes the connections of the processes that are sampled.
    pub(super) fn begin(&mut self, root: &Root, all: &Arc<Vec<Connection>>, processes: &HashSet<Process>) {
        self.connections.clear();
        self.by_process.clear();
        // Of accepted ones nothing is asked: they are left out first.
        let [asked, accepted] = [false, true].map(|inbound| {
            all.iter()
                .filter(move |connection| connection.inbound == inbound && processes.contains(&connection.process))
        });
        for connection in asked.chain(accepted) {
            let own = self.by_process.entry(connection.process).or_default();
            if own.len() < MOST_EACH && self.connections.len() < MOST {
                own.push(self.connections.len());
                self.connections.push(connection.clone());
            }
        }
        let needed: HashSet<u64> = self.connections.iter().map(|connection| connection.netns).collect();
        self.lines.retain(|netns, _| needed.contains(netns));
        for connection in &self.connections {
            let (netns, through) = (connection.netns, connection.through);
            self.lines.entry(netns).or_insert_with(|| Line::open(root, through).ok());
        }
    }

    /// Asks all of them.
    pub(super) fn ask(&mut self) {
        self.states.clear();
        for connection in &self.connections {
            let line = self.lines.get_mut(&connection.netns).and_then(Option::as_mut);
            self.states.push(match line {
                _ if connection.inbound => Some(ACCEPTED),
                Some(line) => match line.recent(connection) {
                    Ok(recent) => recent.map(state),
                    // The answer to this may come as that to the next one.
                    Err(Reason::TimedOut) => {
                        self.lines.insert(connection.netns, None);
                        None
                    }
                    Err(_) => None,
                },
                None => None,
            });
        }
    }

    /// The connection of a process with this inode, and what it waits for.
    pub(super) fn of_socket(&self, process: Process, inode: u64) -> Option<(&Connection, Option<u8>)> {
        self.of(process).find(|(connection, _)| connection.inode == inode)
    }

    /// What a process that waits for any of its connections waits for: an answer, if one is outstanding.
    pub(super) fn of_process(&self, process: Process) -> Option<(&Connection, Option<u8>)> {
        let rank = |state: Option<u8>| match state {
            Some(ANSWER) => 4,
            Some(UNTOLD) => 3,
            Some(NOTHING) => 1,
            Some(_) => 2,
            None => 0,
        };
        self.of(process).max_by_key(|(_, state)| rank(*state))
    }

    fn of(&self, process: Process) -> impl Iterator<Item = (&Connection, Option<u8>)> {
        let own = self.by_process.get(&process).map(Vec::as_slice).unwrap_or_default();
        own.iter().filter_map(|&at| Some((self.connections.get(at)?, self.states.get(at).copied().flatten())))
    }
}

/// Of the milliseconds since something was sent and received.
fn state((sent_ms, received_ms): (u64, u64)) -> u8 {
    match sent_ms.cmp(&received_ms) {
        std::cmp::Ordering::Less => ANSWER,
        std::cmp::Ordering::Equal => UNTOLD,
        std::cmp::Ordering::Greater => NOTHING,
    }
}
