//! Counters out of `snmp`, `netstat` (lines in pairs: names, then values) and `stat/nf_conntrack` (a line per CPU).

use crate::Cx;
use crate::files::note;
use crate::parse::{fields, hex, lines, number, whole_lines};
use topotop_model::{Gaps, Reason};

/// How many counters there are.
pub(super) const COUNT: usize = 20;
/// What is known of a namespace.
pub(super) type Values = [Option<u64>; COUNT];

/// The counters that stand in pairs of lines, by protocol and name.
const NAMED: [(&[u8], &[u8]); COUNT - 3] = [
    (b"Tcp:", b"InSegs"),
    (b"Tcp:", b"OutSegs"),
    (b"Tcp:", b"RetransSegs"),
    (b"Tcp:", b"ActiveOpens"),
    (b"Tcp:", b"PassiveOpens"),
    (b"Tcp:", b"AttemptFails"),
    (b"Tcp:", b"CurrEstab"),
    (b"TcpExt:", b"ListenOverflows"),
    (b"TcpExt:", b"ListenDrops"),
    (b"TcpExt:", b"TCPTimeouts"),
    (b"TcpExt:", b"TCPSynRetrans"),
    (b"TcpExt:", b"TCPBacklogDrop"),
    (b"TcpExt:", b"TCPRcvQDrop"),
    (b"TcpExt:", b"TCPMemoryPressures"),
    (b"Udp:", b"InDatagrams"),
    (b"Udp:", b"RcvbufErrors"),
    (b"Udp:", b"SndbufErrors"),
];
/// Of tracked connections: dropped, dropped early, and how many there are.
const TRACKED: [&[u8]; 3] = [b"drop", b"early_drop", b"entries"];

/// Reads the files of a namespace below `net`; none where there is none of them.
pub(super) fn read(cx: &mut Cx<'_>, net: &str, gaps: &mut Gaps) -> Option<Values> {
    let mut values = [None; COUNT];
    let mut any = false;
    for (name, pattern) in [("snmp", "proc/*/net/snmp"), ("netstat", "proc/*/net/netstat")] {
        match cx.root.read(format!("{net}/{name}"), cx.buf) {
            Ok(()) => {
                any = true;
                if !pairs(cx.buf, &mut values) {
                    gaps.add(pattern, Reason::Malformed, "");
                }
            }
            Err(reason) => note(gaps, pattern, reason),
        }
    }
    if any && cx.root.read(format!("{net}/stat/nf_conntrack"), cx.buf).is_ok() {
        let found = tracked(cx.buf);
        if let Some(cells) = values.last_chunk_mut() {
            *cells = found;
        }
    }
    any.then_some(values)
}

/// Takes pairs of lines; false when one is damaged.
fn pairs(bytes: &[u8], values: &mut Values) -> bool {
    let (bytes, cut) = whole_lines(bytes);
    let mut whole = !cut;
    let mut all = lines(bytes);
    while let (Some(names), Some(numbers)) = (all.next(), all.next()) {
        let (mut names, mut numbers) = (fields(names), fields(numbers));
        let (protocol, same) = (names.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        if protocol != same {
            return false;
        }
        for name in names {
            let value = numbers.next();
            let place = NAMED.iter().position(|known| *known == (protocol, name));
            if let Some(cell) = place.and_then(|place| values.get_mut(place)) {
                *cell = value.and_then(number);
                whole &= cell.is_some();
            }
        }
    }
    whole
}

/// Sums over CPUs, of numbers in base 16; the entries are the same in every line.
fn tracked(bytes: &[u8]) -> [Option<u64>; 3] {
    let (bytes, cut) = whole_lines(bytes);
    let mut all = lines(bytes);
    let Some(head) = all.next().filter(|_| !cut) else { return [None; 3] };
    let places = TRACKED.map(|name| fields(head).position(|field| field == name));
    let mut sums = [None; 3];
    for line in all {
        for (at, (sum, place)) in sums.iter_mut().zip(places).enumerate() {
            let value = place.and_then(|place| fields(line).nth(place)).and_then(hex);
            *sum = match (*sum, value) {
                (Some(sum), Some(value)) if at < 2 => u64::checked_add(sum, value),
                (Some(sum), Some(_)) => Some(sum),
                (known, value) => known.or(value),
            };
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::{COUNT, pairs, tracked};
    use proptest::prelude::*;

    const SNMP: &[u8] = b"Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\n\
        Tcp: 1 -1 700 800 9\nUdp: InDatagrams NoPorts RcvbufErrors\nUdp: 11 12 13\n";
    const TRACK: &[u8] = b"entries  clashres found new invalid ignore delete delete_list insert insert_failed drop \
        early_drop icmp_error\n0000001c 0 0 0 0 0 0 0 0 0 0000000a 00000001 0\n0000001c 0 0 0 0 0 0 0 0 0 00000006 0 0\n";

    fn taken(bytes: &[u8]) -> (super::Values, bool) {
        let mut values = [None; COUNT];
        let whole = pairs(bytes, &mut values);
        (values, whole)
    }

    #[test]
    fn counters_as_kernels_print_them() {
        let (values, whole) = taken(SNMP);
        assert!(whole);
        assert_eq!((values[0], values[1], values[2]), (Some(700), Some(800), Some(9)));
        assert_eq!((values[14], values[15], values[16]), (Some(11), Some(13), None));
        assert_eq!(tracked(TRACK), [Some(16), Some(1), Some(28)]);
        assert!(!taken(b"Tcp: InSegs\nUdp: 5\n").1);
        assert_eq!(taken(b"Tcp: InSegs OutSegs\nTcp: x\n"), ([None; COUNT], false));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = (taken(&bytes), tracked(&bytes));
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..200) {
            let (whole, _) = taken(SNMP);
            let (values, _) = taken(&SNMP[..cut.min(SNMP.len())]);
            prop_assert!(values.iter().zip(whole).all(|(now, whole)| now.is_none() || *now == whole));
            let cut = cut.min(TRACK.len() - 1);
            prop_assert_eq!(tracked(&TRACK[..cut]), if cut == 0 || TRACK[cut - 1] == b'\n' { tracked(&TRACK[..cut]) } else { [None; 3] });
        }
    }
}
