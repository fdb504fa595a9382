//! Channels, rings and RSS tables: by netlink, whose refusals have words, or by the older way where the kernel does not
//! know that one.

mod message;

use super::Trouble;
use message::{Answer, What};
use rustix::io::Errno;
use rustix::net::netlink::GENERIC;
use std::os::fd::OwnedFd;
use topotop_collectors::sys::ethtool::{self, Counts};
use topotop_collectors::sys::netlink;
use topotop_model::locale::fix::machine as text;

/// An interface: its name, and its index where that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface<'a> {
    pub(super) name: &'a str,
    /// Zero where it is not known: the kernel changes no other one of that name otherwise.
    pub(super) index: u32,
}

/// Sets how many channels an interface has: `combined 4`, `rx 2 tx 2`. Only what differs is asked for.
pub(super) fn write_channels(interface: &Interface<'_>, value: &str) -> Result<(), Trouble> {
    let nic = interface.name;
    let wanted = counts(value)?;
    let now = ethtool::channels(nic).map_err(|_| Trouble::because(text::ChannelsUnread { nic: &nic }.to_string()))?;
    let differs = |wanted: Option<u32>, now: u32| wanted.filter(|wanted| *wanted != now);
    let asked = Counts {
        rx: differs(wanted.rx, now.rx.0),
        tx: differs(wanted.tx, now.tx.0),
        combined: differs(wanted.combined, now.combined.0),
    };
    if asked == Counts::default() {
        return Ok(());
    }
    if let Some(done) = by_netlink(message::CHANNELS, interface, asked) {
        return done;
    }
    ethtool::set_channels(nic, asked).map_err(|errno| {
        let after = |asked: Option<u32>, now: u32| asked.unwrap_or(now);
        let combined = after(asked.combined, now.combined.0);
        let receive = combined.saturating_add(after(asked.rx, now.rx.0));
        let send = combined.saturating_add(after(asked.tx, now.tx.0));
        let above = [(asked.rx, now.rx.1), (asked.tx, now.tx.1), (asked.combined, now.combined.1)];
        let last = ethtool::indirection(nic).unwrap_or_default().into_iter().max();
        let said = match () {
            () if above.iter().any(|(asked, most)| asked.is_some_and(|asked| asked > *most)) => {
                "requested channel count exceeds maximum"
            }
            () if receive == 0 || send == 0 => {
                "requested channel counts would result in no RX or TX channel being configured"
            }
            () if last.is_some_and(|last| receive <= last) => {
                "requested channel counts are too low for existing indirection table settings"
            }
            () => text::COUNTS_REJECTED.as_str(),
        };
        trouble(errno, if errno == Errno::INVAL { said } else { "" })
    })
}

/// Sets how many entries an interface's rings have: `rx 1024`.
pub(super) fn write_rings(interface: &Interface<'_>, value: &str) -> Result<(), Trouble> {
    let nic = interface.name;
    let wanted = counts(value)?;
    let now = ethtool::rings(nic).map_err(|_| Trouble::because(text::RingsUnread { nic: &nic }.to_string()))?;
    let asked = Counts {
        rx: wanted.rx.filter(|rx| *rx != now.rx.0),
        tx: wanted.tx.filter(|tx| *tx != now.tx.0),
        combined: None,
    };
    if asked == Counts::default() {
        return Ok(());
    }
    if let Some(done) = by_netlink(message::RINGS, interface, asked) {
        return done;
    }
    ethtool::set_rings(nic, asked).map_err(|errno| trouble(errno, ""))
}

/// Sets an interface's RSS table: `equal 4`, `default`, `0*32 1*32`. One that is as it should be is left alone: a table
/// that was written counts as somebody's own, and drivers do not spread it anew.
pub(super) fn write_rss_table(interface: &Interface<'_>, value: &str) -> Result<(), Trouble> {
    let nic = interface.name;
    if value == "default" {
        return ethtool::set_indirection(nic, &[]).map_err(|errno| trouble(errno, ""));
    }
    let now = ethtool::indirection(nic).map_err(|_| Trouble::because(text::RssUnread { nic: &nic }.to_string()))?;
    let table = table(value, now.len()).ok_or_else(|| Trouble::invalid(value))?;
    if table == now {
        return Ok(());
    }
    ethtool::set_indirection(nic, &table).map_err(|errno| trouble(errno, ""))
}

fn counts(value: &str) -> Result<Counts, Trouble> {
    let wrong = || Trouble::invalid(value);
    let mut counts = Counts::default();
    let mut words = value.split_whitespace();
    while let Some(kind) = words.next() {
        let count = words.next().and_then(|count| count.parse().ok()).ok_or_else(wrong)?;
        let place = match kind {
            "rx" => &mut counts.rx,
            "tx" => &mut counts.tx,
            "combined" => &mut counts.combined,
            _ => return Err(wrong()),
        };
        *place = Some(count);
    }
    if counts == Counts::default() { Err(wrong()) } else { Ok(counts) }
}

/// A table of so many entries.
fn table(value: &str, entries: usize) -> Option<Vec<u32>> {
    if let Some(queues) = value.strip_prefix("equal ") {
        let queues: u32 = queues.parse().ok().filter(|queues| *queues > 0)?;
        return Some((0..queues).cycle().take(entries).collect());
    }
    let mut table = Vec::new();
    for run in value.split_whitespace() {
        let (queue, count) = run.split_once('*')?;
        let count: usize = count.parse().ok()?;
        let queue: u32 = queue.parse().ok()?;
        if count > entries - table.len() {
            return None;
        }
        table.extend(std::iter::repeat_n(queue, count));
    }
    (table.len() == entries && entries > 0).then_some(table)
}

/// None where the kernel does not take it so.
fn by_netlink(what: What, interface: &Interface<'_>, counts: Counts) -> Option<Result<(), Trouble>> {
    let socket = netlink::open(GENERIC, None).ok()?;
    // Without words a refusal still has its number.
    let _ = netlink::explain_errors(&socket);
    let Answer::Family(family) = ask(&socket, &message::family()).ok()? else { return None };
    // The family is acknowledged as well.
    let _ = receive(&socket);
    let kinds = [(what.rx, counts.rx), (what.tx, counts.tx), (what.combined, counts.combined)];
    let numbers: Vec<(u16, u32)> = kinds.into_iter().filter_map(|(kind, count)| Some((kind, count?))).collect();
    match ask(&socket, &message::set(family, what, interface, &numbers)) {
        Ok(Answer::Done) => Some(Ok(())),
        Ok(Answer::Refused(number, said)) => match Errno::from_raw_os_error(number) {
            Errno::OPNOTSUPP if said.is_empty() => None,
            errno => Some(Err(trouble(errno, &said))),
        },
        Ok(_) => Some(Err(Trouble::because(text::KERNEL_SILENT))),
        Err(errno) => Some(Err(trouble(errno, ""))),
    }
}

fn ask(socket: &OwnedFd, question: &[u8]) -> Result<Answer, Errno> {
    netlink::request(socket, question)?;
    receive(socket)
}

fn receive(socket: &OwnedFd) -> Result<Answer, Errno> {
    let mut buf = vec![0; 16 << 10];
    netlink::receive(socket, &mut buf).map(message::answer)
}

/// The kernel's number with its words, where it had some.
fn trouble(errno: Errno, message: &str) -> Trouble {
    let means = Trouble::errno(errno);
    if message.is_empty() { missing(means) } else { Trouble { message: message.to_owned(), ..means } }
}

/// Why a file of an interface could not be written.
pub(super) fn why(path: &str, trouble: Trouble) -> Trouble {
    if path.starts_with("/sys/class/net/") { missing(trouble) } else { trouble }
}

/// Names the right that is missing where that is what it means.
fn missing(trouble: Trouble) -> Trouble {
    if trouble.errno != Some(Errno::PERM.raw_os_error()) {
        return trouble;
    }
    let message = text::NeedsNetAdmin { error: &trouble.message }.to_string();
    Trouble { message, ..trouble }
}

#[cfg(test)]
mod tests;
