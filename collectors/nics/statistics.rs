//! Which queue a driver's counter belongs to. Drivers name them as they like: `rx_queue_0_packets`, `rx-0.packets`,
//! `rx0_packets`, `queue_0_rx_cnt`, `[0]: rx_ucast_packets`, `Queue[0] InPackets`. A name counts only if every word of
//! it is understood, so that `rx0_xdp_packets` or `tx_packets_pri0` is never taken for packets of queue 0.

use std::collections::BTreeMap;
use topotop_model::text::words;

/// The highest queue number that is believed.
const MAX_QUEUE: u64 = 4095;

/// Amazon's counters of packets that were held back or dropped because the instance has used its allowance.
const ALLOWANCES: [&str; 4] =
    ["bw_in_allowance_exceeded", "bw_out_allowance_exceeded", "pps_allowance_exceeded", "conntrack_allowance_exceeded"];

/// Google's counters of packets that the card dropped since a queue was full, or had no buffer for: by queue. Its driver
/// (gve) reports them nowhere else, and neither it nor the card says what the machine's allowance is.
const UNBUFFERED: [&str; 2] = ["rx_queue_drop_cnt[", "rx_no_buffers_posted["];

/// Counters of one queue and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Packets.
    pub(super) packets: Option<u64>,
    /// Bytes.
    pub(super) bytes: Option<u64>,
    /// Packets dropped.
    pub(super) drops: Option<u64>,
    /// Packets that came as unicast, multicast and broadcast.
    cast_packets: Option<u64>,
    cast_bytes: Option<u64>,
}

/// Statistics of a driver's queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    /// Counters by direction (true sends) and number.
    pub(super) queues: BTreeMap<(bool, u32), Counters>,
    /// Counters of exceeded cloud allowances, where the driver has them: bandwidth in and out, packets, connections.
    pub(super) allowances: [Option<u64>; 4],
    /// Packets for which the card had no buffer, where only the driver's own counters tell: each of its counters, summed over
    /// queues.
    unbuffered: [Option<u64>; 2],
}

impl Statistics {
    /// Packets for which the card had no buffer; one packet may be in both counters.
    pub(super) fn unbuffered(&self) -> Option<u64> {
        self.unbuffered.into_iter().flatten().max()
    }
}

/// Sorts a driver's counters.
pub(super) fn sort(list: &[(String, u64)]) -> Statistics {
    let mut all = Statistics::default();
    // vmxnet3 prints `Tx Queue#` with the queue as its value and then that queue's counters.
    let mut section = None;
    for (name, value) in list {
        let name = name.trim();
        if let Some(cell) = ALLOWANCES.iter().position(|known| *known == name).and_then(|at| all.allowances.get_mut(at))
        {
            *cell = Some(*value);
        } else if let Some(cell) =
            UNBUFFERED.iter().position(|known| name.starts_with(known)).and_then(|at| all.unbuffered.get_mut(at))
        {
            *cell = Some(cell.unwrap_or(0).saturating_add(*value));
        } else if let Some(direction) = name.strip_suffix(" Queue#") {
            section = Some((direction.eq_ignore_ascii_case("tx"), *value)).filter(|(_, queue)| *queue <= MAX_QUEUE);
        } else if let Some(found) = understand(name, section) {
            all.queues.entry((found.sends, found.queue)).or_default().take(&found, *value);
        }
    }
    for counters in all.queues.values_mut() {
        counters.packets = counters.packets.or(counters.cast_packets);
        counters.bytes = counters.bytes.or(counters.cast_bytes);
    }
    all
}

impl Counters {
    fn take(&mut self, found: &Meaning, value: u64) {
        let cell = match (found.measure, found.cast) {
            (Measure::Packets, false) => &mut self.packets,
            (Measure::Packets, true) => &mut self.cast_packets,
            (Measure::Bytes, false) => &mut self.bytes,
            (Measure::Bytes, true) => &mut self.cast_bytes,
            (Measure::Drops, _) => &mut self.drops,
        };
        let sum = found.cast || found.measure == Measure::Drops;
        *cell = Some(if sum { cell.unwrap_or(0).saturating_add(value) } else { value });
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measure {
    Packets,
    Bytes,
    Drops,
}

#[derive(Debug)]
struct Meaning {
    sends: bool,
    queue: u32,
    measure: Measure,
    cast: bool,
}

/// What the words of a name add up to.
#[derive(Default)]
struct Words {
    sends: Option<bool>,
    queue: Option<u64>,
    measure: Option<Measure>,
    cast: bool,
    ring: bool,
}

impl Words {
    /// Takes a word in; none when it is unknown or contradicts another one.
    fn take(&mut self, word: &str) -> Option<()> {
        match word {
            "rx" | "rcv" | "in" => self.direction(false),
            "tx" | "xmit" | "out" => self.direction(true),
            "rxq" => self.ring().direction(false),
            "txq" => self.ring().direction(true),
            "queue" | "q" | "ring" | "rvec" => self.ring().known(),
            "packets" | "pkts" | "pkt" | "cnt" | "frames" => self.measure(Measure::Packets),
            "inpackets" => self.direction(false).and_then(|()| self.measure(Measure::Packets)),
            "outpackets" => self.direction(true).and_then(|()| self.measure(Measure::Packets)),
            "bytes" | "octets" => self.measure(Measure::Bytes),
            "drops" | "drop" | "dropped" | "discards" => self.measure(Measure::Drops),
            "ucast" | "mcast" | "bcast" => {
                self.cast = true;
                Some(())
            }
            "n" | "num" => Some(()),
            _ => {
                let number = word.parse().ok().filter(|&number| number <= MAX_QUEUE)?;
                self.queue.replace(number).is_none().then_some(())
            }
        }
    }

    fn direction(&mut self, sends: bool) -> Option<()> {
        (self.sends.replace(sends).unwrap_or(sends) == sends).then_some(())
    }

    fn measure(&mut self, measure: Measure) -> Option<()> {
        self.measure.replace(measure).is_none().then_some(())
    }

    fn ring(&mut self) -> &mut Self {
        self.ring = true;
        self
    }

    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "ends a chain as the other words do")]
    fn known(&self) -> Option<()> {
        Some(())
    }
}

/// The meaning of a name; none unless every word is known.
fn understand(name: &str, section: Option<(bool, u64)>) -> Option<Meaning> {
    let mut all = Words::default();
    for word in words(name) {
        all.take(&word.to_ascii_lowercase())?;
    }
    let Words { sends: Some(sends), queue, measure: Some(measure), cast, ring } = all else { return None };
    match (queue, section) {
        // `rx_64_frames` is a size unless the word queue is there.
        (Some(queue), _) => {
            let sized = ["frames", "octets", "cnt"].iter().any(|word| name.contains(word));
            (ring || !sized).then_some(Meaning { sends, queue: queue as u32, measure, cast })
        }
        (None, Some((section_sends, queue))) if cast && sends == section_sends => {
            Some(Meaning { sends, queue: queue as u32, measure, cast })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, sort};
    use proptest::prelude::*;

    fn one(name: &str) -> Option<(&'static str, u32, &'static str)> {
        let all = sort(&[(name.to_owned(), 7)]);
        let ((sends, queue), counters) = all.queues.first_key_value()?;
        let what = match counters {
            Counters { packets: Some(7), .. } => "packets",
            Counters { bytes: Some(7), .. } => "bytes",
            Counters { drops: Some(7), .. } => "drops",
            _ => return None,
        };
        Some((if *sends { "tx" } else { "rx" }, *queue, what))
    }

    #[test]
    fn names_of_many_drivers() {
        for (name, expected) in [
            ("rx_queue_0_packets", ("rx", 0, "packets")),
            ("tx_queue_15_bytes", ("tx", 15, "bytes")),
            ("rx_queue_3_drops", ("rx", 3, "drops")),
            ("rx-2.packets", ("rx", 2, "packets")),
            ("tx-2.tx_packets", ("tx", 2, "packets")),
            ("rx12_packets", ("rx", 12, "packets")),
            ("tx0_dropped", ("tx", 0, "drops")),
            ("queue_4_rx_cnt", ("rx", 4, "packets")),
            ("queue_4_tx_bytes", ("tx", 4, "bytes")),
            ("[3]: rx_ucast_packets", ("rx", 3, "packets")),
            ("[3]: rx_bytes", ("rx", 3, "bytes")),
            ("rxq1: rx_pkts", ("rx", 1, "packets")),
            ("txq1: tx_bytes", ("tx", 1, "bytes")),
            ("rx_packets[5]", ("rx", 5, "packets")),
            ("Queue[6] InPackets", ("rx", 6, "packets")),
            ("Queue[6] OutPackets", ("tx", 6, "packets")),
            ("rvec_0_rx_pkts", ("rx", 0, "packets")),
            ("rx_q-9_pkts", ("rx", 9, "packets")),
            ("q0_rx_pkt_n", ("rx", 0, "packets")),
            ("0: rcv_pkts", ("rx", 0, "packets")),
            ("tx_2_packets", ("tx", 2, "packets")),
        ] {
            assert_eq!(one(name), Some(expected), "{name}");
        }
        for name in [
            "rx_queue_0_xdp_packets",
            "rx0_xdp_packets",
            "rx_packets",
            "tx_packets_pri0",
            "veb.tc_0_tx_packets",
            "rx_64_byte_packets",
            "rx_65_to_127_byte_packets",
            "tx-xdp-cpu-0.tx_packets",
            "port.rx_size_64",
            "rx_64_frames",
            "tx0_tso_packets",
            "rx0_csum_none",
            "cpu0_rx_packets",
            "rx_l4_csum_errors",
            "[mac] rx 64-127 bytes",
            "rx_queue_99999_packets",
            "rx_queue_99999999999999999999_packets",
        ] {
            assert_eq!(one(name), None, "{name}");
        }
    }

    #[test]
    fn casts_add_up_and_sections_name_their_queue() {
        let list = |rows: &[(&str, u64)]| -> Vec<(String, u64)> {
            rows.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
        };
        let all =
            sort(&list(&[("[1]: rx_ucast_packets", 5), ("[1]: rx_mcast_packets", 6), ("[1]: rx_bcast_packets", 7)]));
        assert_eq!(all.queues.get(&(false, 1)).and_then(|counters| counters.packets), Some(18));
        let all = sort(&list(&[
            ("Tx Queue#", 0),
            ("  TSO pkts tx", 90),
            ("  ucast pkts tx", 5),
            ("  bcast pkts tx", 1),
            ("Rx Queue#", 2),
            ("  ucast bytes rx", 800),
            ("linklocal_allowance_exceeded", 9),
            ("bw_in_allowance_exceeded", 3),
            ("pps_allowance_exceeded", 4),
        ]));
        assert_eq!(all.queues.get(&(true, 0)).and_then(|counters| counters.packets), Some(6));
        assert_eq!(all.queues.get(&(false, 2)).and_then(|counters| counters.bytes), Some(800));
        assert_eq!(all.allowances, [Some(3), None, Some(4), None]);
        assert_eq!(all.unbuffered(), None);
        let all = sort(&list(&[
            ("rx_queue_drop_cnt[0]", 5),
            ("rx_queue_drop_cnt[1]", 6),
            ("rx_no_buffers_posted[0]", 4),
            ("rx_no_buffers_posted[1]", 0),
            ("tx_timeouts", 9),
        ]));
        assert_eq!((all.unbuffered(), all.queues.len()), (Some(11), 0));
    }

    proptest! {
        #[test]
        fn no_text_panics(name in ".*", value: u64) {
            sort(&[(name, value), ("Tx Queue#".to_owned(), value), ("ucast pkts tx".to_owned(), value)]);
        }
    }
}
