//! What shapes the packets that interfaces send (RTM_GETQDISC): linux/rtnetlink.h, linux/pkt_sched.h.

use super::netlink::{self, REQUEST_DUMP, attributes, u32_at};
use crate::root::reason;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::time::Duration;
use topotop_model::Reason;

/// RTM_NEWQDISC and RTM_GETQDISC.
const NEW: u16 = 36;
const GET: u16 = 38;
/// Size of tcmsg.
const HEAD: usize = 20;
/// TC_H_ROOT.
const ROOT: u32 = u32::MAX;
/// TCA_KIND, TCA_OPTIONS, TCA_STATS2, and in that TCA_STATS_BASIC and TCA_STATS_QUEUE.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATS: u16 = 7;
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
/// TCA_TBF_PARMS and TCA_TBF_RATE64, TCA_NETEM_RATE and TCA_NETEM_RATE64, TCA_CAKE_BASE_RATE64.
const TBF: (u16, u16) = (1, 4);
const NETEM: (u16, u16) = (6, 8);
const CAKE: u16 = 2;
/// Size of tc_netem_qopt, which the attributes of netem follow.
const NETEM_HEAD: usize = 24;
/// Those that hold packets back to keep a rate.
const SHAPERS: [&str; 6] = ["tbf", "htb", "hfsc", "netem", "cake", "cbq"];
const PATIENCE: Duration = Duration::from_secs(1);
/// Queueing disciplines that are looked at.
const MOST: usize = 4096;

/// What shapes an interface's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qdisc {
    /// The interface's kernel index.
    pub ifindex: u64,
    /// `tbf`, `htb`, `netem`, …
    pub kind: String,
    /// Bytes per second that it lets through; none where each of its classes has its own.
    pub rate: Option<u64>,
    /// Bytes that it let through; not among what `capture` writes.
    pub bytes: u64,
    /// Bytes that wait.
    pub backlog: u64,
    /// Times that it held a packet back.
    pub overlimits: u64,
    /// Packets dropped.
    pub drops: u64,
    root: bool,
}

/// The shapers of this network namespace, one for each interface that has any.
pub fn shapers() -> Result<Vec<Qdisc>, Reason> {
    shapers_by(&open()?)
}

/// What asks for shapers in the namespace that this thread is in.
pub fn open() -> Result<OwnedFd, Reason> {
    netlink::open(None, Some(PATIENCE)).map_err(reason)
}

/// The shapers of the namespace that a socket was made in.
pub fn shapers_by(socket: &OwnedFd) -> Result<Vec<Qdisc>, Reason> {
    let (mut found, mut seen) = (Vec::new(), 0);
    netlink::ask(socket, &netlink::message(GET, REQUEST_DUMP, &[0; HEAD]), NEW, |body| {
        // The rest is received all the same: it would come before the next answer.
        if seen < MOST {
            keep(&mut found, qdisc(body));
        }
        seen += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// The outermost of an interface counts: what is inside it waits in it. Those below a root that does not shape are added up.
fn keep(found: &mut Vec<Qdisc>, qdisc: Option<Qdisc>) {
    let Some(new) = qdisc else { return };
    match found.iter_mut().find(|known| known.ifindex == new.ifindex) {
        None => found.push(new),
        Some(known) if known.root => {}
        Some(known) if new.root => *known = new,
        Some(known) => {
            known.rate = known.rate.zip(new.rate).map(|(one, other)| one.saturating_add(other));
            known.bytes = known.bytes.saturating_add(new.bytes);
            known.backlog = known.backlog.saturating_add(new.backlog);
            known.overlimits = known.overlimits.saturating_add(new.overlimits);
            known.drops = known.drops.saturating_add(new.drops);
        }
    }
}

/// One message; none for what does not shape.
fn qdisc(body: &[u8]) -> Option<Qdisc> {
    let (ifindex, parent, rest) = (u32_at(body, 4)?, u32_at(body, 12)?, body.get(HEAD..)?);
    let find = |bytes, wanted| attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let kind = find(rest, KIND)?.split(|byte| *byte == 0).next()?;
    let kind = SHAPERS.into_iter().find(|known| known.as_bytes() == kind)?;
    let stats = find(rest, STATS)?;
    let queue = find(stats, QUEUE)?;
    let bytes = find(stats, BASIC).and_then(|basic| Some(u64::from_ne_bytes(basic.get(..8)?.try_into().ok()?)));
    let rate = find(rest, OPTIONS).and_then(|options| rate(kind, options)).filter(|rate| *rate > 0);
    Some(Qdisc {
        ifindex: u64::from(ifindex),
        kind: kind.to_owned(),
        rate,
        bytes: bytes.unwrap_or(0),
        backlog: u64::from(u32_at(queue, 4)?),
        overlimits: u64::from(u32_at(queue, 16)?),
        drops: u64::from(u32_at(queue, 8)?),
        root: parent == ROOT,
    })
}

fn rate(kind: &str, options: &[u8]) -> Option<u64> {
    let find = |bytes, wanted| attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let wide = |value: &[u8]| Some(u64::from_ne_bytes(value.get(..8)?.try_into().ok()?));
    let narrow = |value: &[u8], at| u32_at(value, at).map(u64::from);
    match kind {
        // The rate is at the end of tc_ratespec.
        "tbf" => find(options, TBF.1).and_then(wide).or_else(|| narrow(find(options, TBF.0)?, 8)),
        "netem" => {
            let options = options.get(NETEM_HEAD..)?;
            find(options, NETEM.1).and_then(wide).or_else(|| narrow(find(options, NETEM.0)?, 0))
        }
        "cake" => find(options, CAKE).and_then(wide),
        _ => None,
    }
}

/// As `capture` writes them: `INDEX KIND RATE BACKLOG OVERLIMITS DROPS`, a dash where there is no rate.
pub fn print(all: &[Qdisc]) -> String {
    let line = |qdisc: &Qdisc| {
        let rate = qdisc.rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
        let Qdisc { ifindex, kind, backlog, overlimits, drops, .. } = qdisc;
        format!("{ifindex} {kind} {rate} {backlog} {overlimits} {drops}\n")
    };
    all.iter().map(line).collect()
}

/// What [`print()`] wrote.
pub fn parse(bytes: &[u8]) -> Vec<Qdisc> {
    use crate::parse::{fields, lines, number, whole_lines};
    let one = |line: &[u8]| {
        let mut parts = fields(line);
        let ifindex = number(parts.next()?)?;
        let kind = parts.next()?;
        let kind = SHAPERS.into_iter().find(|known| known.as_bytes() == kind)?.to_owned();
        let rate = number(parts.next()?);
        let mut count = || number(parts.next()?);
        let (backlog, overlimits, drops) = (count()?, count()?, count()?);
        Some(Qdisc { ifindex, kind, rate, bytes: 0, backlog, overlimits, drops, root: true })
    };
    lines(whole_lines(bytes).0).filter_map(one).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::{Qdisc, keep, parse, print, qdisc};
    use crate::sys::netlink::put_attribute;
    use proptest::prelude::*;

    #[test]
    fn a_token_bucket_has_its_rate_and_counters() {
        let mut body = vec![0; 20];
        body[4] = 7;
        body[12..16].fill(0xff);
        put_attribute(&mut body, 1, b"tbf\0");
        let (mut options, mut parms) = (Vec::new(), vec![0; 36]);
        parms[8..12].copy_from_slice(&25_000_000_u32.to_ne_bytes());
        put_attribute(&mut options, 1, &parms);
        put_attribute(&mut body, 2, &options);
        let (mut stats, queue) = (Vec::new(), [3_u32, 4500, 2, 0, 99]);
        put_attribute(&mut stats, 1, &[&70_000_u64.to_ne_bytes()[..], &[0; 8]].concat());
        put_attribute(&mut stats, 3, &queue.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>());
        put_attribute(&mut body, 7, &stats);
        let kind = "tbf".to_owned();
        let rate = Some(25_000_000);
        let expected = Qdisc { ifindex: 7, kind, rate, bytes: 0, backlog: 4500, overlimits: 99, drops: 2, root: true };
        assert_eq!(qdisc(&body), Some(Qdisc { bytes: 70_000, ..expected.clone() }));
        assert_eq!(parse(print(std::slice::from_ref(&expected)).as_bytes()), [expected]);
    }

    #[test]
    fn those_of_queues_are_added_up() {
        let leaf = Qdisc { ifindex: 2, kind: "tbf".to_owned(), rate: Some(10), overlimits: 1, ..Qdisc::default() };
        let mut found = Vec::new();
        keep(&mut found, Some(leaf.clone()));
        keep(&mut found, Some(leaf));
        assert_eq!((found[0].rate, found[0].overlimits, found.len()), (Some(20), 2, 1));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (qdisc(&bytes), parse(&bytes));
        }
    }
}
