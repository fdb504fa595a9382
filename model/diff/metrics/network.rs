//! Interfaces, queues and interrupts.

use super::super::metric::Better::{Higher, Lower, Neither};
use super::super::metric::Read;
use super::{Table, bytes_rate, rate, share};
use crate::frame::{Nic, Queue};
use crate::locale::metric as text;

/// Below so many packets or interrupts per second, which queue has most of them says nothing.
const SPREAD_FROM: f64 = 1000.0;

/// An interface.
pub(in super::super) const NIC: Table = &[
    share("nic.utilisation", text::nic::UTILISATION, Neither, Read::Nic(|nic| nic.utilisation)),
    bytes_rate("nic.rx_bytes", text::nic::RX_BYTES, Higher, 500_000.0, Read::Nic(|nic| nic.rx.bytes_per_second)),
    bytes_rate("nic.tx_bytes", text::nic::TX_BYTES, Higher, 500_000.0, Read::Nic(|nic| nic.tx.bytes_per_second)),
    rate("nic.rx_packets", text::nic::RX_PACKETS, Higher, 1000.0, Read::Nic(|nic| nic.rx.packets_per_second)),
    rate("nic.tx_packets", text::nic::TX_PACKETS, Higher, 1000.0, Read::Nic(|nic| nic.tx.packets_per_second)),
    rate("nic.rx_drops", text::nic::RX_DROPS, Lower, 1.0, Read::Nic(|nic| nic.rx.drops_per_second)),
    rate("nic.tx_drops", text::nic::TX_DROPS, Lower, 1.0, Read::Nic(|nic| nic.tx.drops_per_second)),
    rate("nic.rx_errors", text::nic::RX_ERRORS, Lower, 1.0, Read::Nic(|nic| nic.rx.errors_per_second)),
    rate("nic.tx_errors", text::nic::TX_ERRORS, Lower, 1.0, Read::Nic(|nic| nic.tx.errors_per_second)),
    rate("nic.rx_missed", text::nic::RX_MISSED, Lower, 1.0, Read::Nic(|nic| nic.rx_missed_per_second)),
    share("nic.on_one_queue", text::nic::ON_ONE_QUEUE, Lower, Read::Nic(on_one_queue)),
];

/// A queue.
pub(in super::super) const QUEUE: Table = &[
    rate("queue.packets", text::queue::PACKETS, Neither, 1000.0, Read::Queue(|queue| queue.packets_per_second))
        .or_zero(),
    rate("queue.interrupts", text::queue::INTERRUPTS, Neither, 500.0, Read::Queue(|queue| queue.per_second)).or_zero(),
];

/// A device interrupt.
pub(in super::super) const IRQ: Table =
    &[rate("irq.rate", text::irq::RATE, Neither, 500.0, Read::Irq(|irq| irq.per_second)).or_zero()];

/// A kind of soft interrupt.
pub(in super::super) const SOFTIRQ: Table =
    &[rate("softirq.rate", text::softirq::RATE, Neither, 2000.0, Read::Softirq(|row| row.per_second))];

/// Share of the receive queue with most packets, or interrupts where the driver does not count packets by queue.
fn on_one_queue(nic: &Nic) -> Option<f64> {
    let receiving = || nic.queues.iter().filter(|queue| &*queue.direction != "tx");
    let of = |rate: fn(&Queue) -> Option<f64>| {
        let rates: Vec<f64> = receiving().filter_map(rate).collect();
        let (sum, most) = (rates.iter().sum::<f64>(), rates.iter().copied().max_by(f64::total_cmp)?);
        (rates.len() > 1 && sum >= SPREAD_FROM).then(|| most / sum)
    };
    of(|queue| queue.packets_per_second).or_else(|| of(|queue| queue.per_second))
}
