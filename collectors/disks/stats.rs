//! The rows of `/proc/diskstats`: 11 numbers, 15 since Linux 4.18, 17 since 5.5; before 2.6.25 partitions had 4.

use crate::parse::{fields, lines, number, whole_lines};

/// One device's counters; those that its kernel does not have are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Row<'a> {
    pub(super) dev: u64,
    pub(super) name: &'a [u8],
    pub(super) reads: Option<u64>,
    pub(super) read_sectors: Option<u64>,
    pub(super) read_ms: Option<u64>,
    pub(super) writes: Option<u64>,
    pub(super) write_sectors: Option<u64>,
    pub(super) write_ms: Option<u64>,
    pub(super) in_flight: Option<u64>,
    pub(super) io_ms: Option<u64>,
    pub(super) weighted_io_ms: Option<u64>,
    pub(super) discards: Option<u64>,
    pub(super) flushes: Option<u64>,
    pub(super) flush_ms: Option<u64>,
}

/// Numbers read after a name, at most.
const MOST: usize = 17;

/// Devices at most: each costs reading several files of sysfs.
const MOST_ROWS: usize = 16_384;

/// The rows, and how many lines were not what the kernel prints.
pub(super) fn rows(bytes: &[u8]) -> (Vec<Row<'_>>, u64) {
    let (bytes, cut) = whole_lines(bytes);
    let mut bad = u64::from(cut);
    let mut rows = Vec::new();
    for line in lines(bytes) {
        match row(line) {
            Some(row) if rows.len() < MOST_ROWS => rows.push(row),
            _ => bad += 1,
        }
    }
    (rows, bad)
}

fn row(line: &[u8]) -> Option<Row<'_>> {
    let mut parts = fields(line);
    let dev = device(parts.next().and_then(number)?, parts.next().and_then(number)?)?;
    let name = parts.next()?;
    let mut numbers = [None; MOST];
    let mut count = 0;
    for part in parts {
        let value = Some(number(part).filter(|&value| value != topotop_model::NONE)?);
        if let Some(cell) = numbers.get_mut(count) {
            *cell = value;
        }
        count += 1;
    }
    // The count of merged requests follows the count of requests.
    let at = |index: usize| numbers.get(index).copied().flatten();
    let row = Row { dev, name, reads: at(0), ..Row::default() };
    match count {
        4 => Some(Row { read_sectors: at(1), writes: at(2), write_sectors: at(3), ..row }),
        // Fewer than a kernel's later groups have are no group.
        11.. => Some(Row {
            read_sectors: at(2),
            read_ms: at(3),
            writes: at(4),
            write_sectors: at(6),
            write_ms: at(7),
            in_flight: at(8),
            io_ms: at(9),
            weighted_io_ms: at(10),
            discards: at(11).filter(|_| count >= 15),
            flushes: at(15).filter(|_| count >= 17),
            flush_ms: at(16),
            ..row
        }),
        _ => None,
    }
}

/// A device number as it is kept: major << 20 | minor, as the kernel has it.
pub(super) fn device(major: u64, minor: u64) -> Option<u64> {
    (major < 1 << 12 && minor < 1 << 20).then_some((major << 20) | minor)
}

#[cfg(test)]
mod tests {
    use super::{device, rows};
    use proptest::prelude::*;

    #[test]
    fn takes_the_rows_of_every_kernel() {
        let text = b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n   8       1 sda1 1 2 3 4\n\
            259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n252 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n\
            252 1 vdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n\
            65 32 sds 1 2 3 4 5 6 7 8 9 10 11 12 13 14\n";
        let (rows, bad) = rows(text);
        assert_eq!(bad, 0);
        let names: Vec<_> = rows.iter().map(|row| std::str::from_utf8(row.name).unwrap_or("?")).collect();
        assert_eq!(names, ["sda", "sda1", "nvme0n1", "vda", "vdb", "sds"]);
        let [sda, sda1, nvme, vda, vdb, sds] = rows.as_slice() else { panic!("six rows") };
        assert_eq!((sda.dev, sda.read_sectors, sda.weighted_io_ms, sda.discards), (8 << 20, Some(3), Some(11), None));
        assert_eq!(
            (sda1.reads, sda1.read_sectors, sda1.writes, sda1.write_sectors, sda1.io_ms),
            (Some(1), Some(2), Some(3), Some(4), None)
        );
        assert_eq!((nvme.discards, nvme.flushes), (Some(12), None));
        assert_eq!((vda.write_ms, vda.in_flight, vda.io_ms), (Some(8), Some(9), Some(10)));
        assert_eq!((vda.flushes, vda.flush_ms), (Some(16), Some(17)));
        assert_eq!(vdb.flushes, Some(16));
        assert_eq!((sds.weighted_io_ms, sds.discards), (Some(11), None));
    }

    #[test]
    fn leaves_damage_out() {
        let (rows, bad) = rows(b"8 0 sda 1 2 3 4 5 6 7 8 9 10\n8 0\n8 x sdb 1 2 3 4\n8 1 sdc 1 2 3 x\n8 2 sdd 1 2 3 4");
        assert_eq!((rows.len(), bad), (0, 5));
        assert_eq!(device(1 << 12, 0), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            rows(&bytes);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..110) {
            let whole = b"8 0 sda 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n8 1 sda1 11 12 13 14 15 16 17 18 19 20 21\n";
            for row in rows(&whole[..cut.min(whole.len())]).0 {
                prop_assert_eq!((row.reads, row.weighted_io_ms), (Some(11), Some(21)));
                prop_assert_eq!(row.flushes, (row.name == b"sda").then_some(26));
            }
        }
    }
}
