//! Every metric that is compared, by kind of subject: one table, one line each.

mod application;
mod groups;
mod machine;
mod network;

use super::metric::{Better, Floor, Measure, Metric, Read};
use crate::locale::Text;

/// All metrics of one kind of subject.
pub(super) type Table = &'static [Metric];

pub(super) use application::METRIC;
pub(super) use groups::{CGROUP, DISK, PROCESS};
pub(super) use machine::{CPU, HOST, NODE, PRESSURE};
pub(super) use network::{IRQ, NIC, QUEUE, SOFTIRQ};

/// Every table.
pub(super) const ALL: [Table; 12] =
    [HOST, CPU, NODE, PRESSURE, NIC, QUEUE, IRQ, SOFTIRQ, CGROUP, DISK, PROCESS, METRIC];

/// The metric of an id.
pub fn named(id: &str) -> Option<&'static Metric> {
    ALL.iter().flat_map(|table| table.iter()).find(|metric| metric.id == id)
}

/// Every metric.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    ALL.iter().flat_map(|table| table.iter())
}

/// Five points of a hundred.
const POINTS: Floor = Floor::Absolute(0.05);

/// A share of time or of a whole.
const fn share(id: &'static str, name: Text, better: Better, read: Read) -> Metric {
    Metric::new(id, name, Measure::Share, better, POINTS, read)
}

/// A rate of events; less than `least` per second is nothing, and so is less than a tenth.
const fn rate(id: &'static str, name: Text, better: Better, least: f64, read: Read) -> Metric {
    Metric::new(id, name, Measure::PerSecond, better, Floor::Both(least, 0.1), read)
}

/// A rate of bytes; less than `least` per second is nothing, and so is less than a tenth.
const fn bytes_rate(id: &'static str, name: Text, better: Better, least: f64, read: Read) -> Metric {
    Metric::new(id, name, Measure::BytesPerSecond, better, Floor::Both(least, 0.1), read)
}

/// A megabyte.
const MB: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::{ALL, named};

    #[test]
    fn ids_are_unique_and_say_their_kind() {
        let ids: Vec<&str> = ALL.iter().flat_map(|table| table.iter()).map(|metric| metric.id).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(ids.len(), unique.len());
        for table in ALL {
            let kind = table[0].id.split_once('.').unwrap().0;
            assert!(table.iter().all(|metric| metric.id.starts_with(&format!("{kind}."))), "{kind}");
        }
        assert_eq!(named("cpu.busy").unwrap().name.as_str(), "busy");
    }
}
