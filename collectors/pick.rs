//! Picks known keys out of files of `key value` lines: meminfo, vmstat, numastat and their relatives by node.

use crate::parse::{fields, lines, number, whole_lines};
use topotop_model::Num;

/// The value after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number of kB: taken in bytes.
    Kilobytes,
    /// A number.
    Plain,
    /// One of several numbers that are added up, such as a counter by zone: worth nothing unless all are there.
    Part,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    value: Option<u64>,
    part: bool,
    bad: bool,
}

/// The numbers picked, by place.
#[derive(Debug)]
pub(crate) struct Picked<const N: usize> {
    cells: [Cell; N],
    /// Lines that were not what the kernel prints.
    pub(crate) bad: u64,
}

impl<const N: usize> Picked<N> {
    /// Picks from a file; `place` is the column of a key.
    pub(crate) fn new(bytes: &[u8], place: impl Fn(&[u8]) -> Option<(usize, Form)>) -> Self {
        let (bytes, cut) = whole_lines(bytes);
        let mut picked = Self { cells: [Cell::default(); N], bad: u64::from(cut) };
        for line in lines(bytes) {
            picked.line(line, &place);
        }
        if cut {
            // The other zones may stand behind the cut.
            for cell in picked.cells.iter_mut().filter(|cell| cell.part) {
                cell.bad = true;
            }
        }
        picked
    }

    fn line(&mut self, line: &[u8], place: &impl Fn(&[u8]) -> Option<(usize, Form)>) {
        let mut parts = fields(line).peekable();
        // By node every line starts with `Node 0`.
        if parts.next_if(|part| *part == b"Node").is_some() {
            parts.next();
        }
        let Some(key) = parts.next() else { return };
        let Some((index, form)) = place(key.strip_suffix(b":").unwrap_or(key)) else { return };
        let Some(cell) = self.cells.get_mut(index) else { return };
        let value = value(parts, form);
        self.bad += u64::from(value.is_none());
        cell.part |= form == Form::Part;
        let sum = match (cell.value, value) {
            (Some(sum), Some(value)) if form == Form::Part => sum.checked_add(value),
            (_, value) => value,
        };
        cell.bad |= sum.is_none();
        cell.value = sum;
    }

    /// The number of a place.
    pub(crate) fn get(&self, index: usize) -> Option<u64> {
        self.cells.get(index).filter(|cell| !cell.bad).and_then(|cell| cell.value)
    }

    /// Writes the numbers to columns in the order of their places.
    pub(crate) fn put(&self, columns: [&mut Num; N], slot: usize) {
        for (index, column) in columns.into_iter().enumerate() {
            column.set_or_clear(slot, self.get(index));
        }
    }
}

fn value<'a>(mut parts: impl Iterator<Item = &'a [u8]>, form: Form) -> Option<u64> {
    let value = parts.next().and_then(number).filter(|&value| value != topotop_model::NONE)?;
    match (form, parts.next()) {
        (Form::Kilobytes, Some(b"kB")) => value.checked_mul(1024),
        (Form::Plain | Form::Part, None) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Form, Picked};
    use proptest::prelude::*;

    fn place(key: &[u8]) -> Option<(usize, Form)> {
        match key {
            b"MemTotal" => Some((0, Form::Kilobytes)),
            b"numa_hit" => Some((1, Form::Plain)),
            key if key.starts_with(b"allocstall") => Some((2, Form::Part)),
            _ => None,
        }
    }

    fn picked(text: &[u8]) -> [Option<u64>; 3] {
        let picked = Picked::<3>::new(text, place);
        [picked.get(0), picked.get(1), picked.get(2)]
    }

    #[test]
    fn picks_bytes_numbers_and_sums() {
        let text = b"Node 3 MemTotal:   2 kB\nnuma_hit 7\nallocstall_dma 1\nother x\nallocstall_normal 4\n";
        assert_eq!(picked(text), [Some(2048), Some(7), Some(5)]);
        assert_eq!(picked(b"allocstall 9\n"), [None, None, Some(9)]);
    }

    #[test]
    fn leaves_damage_out() {
        assert_eq!(picked(b"MemTotal: 2\nnuma_hit 7 kB\nallocstall_dma 1\nallocstall_normal x\n"), [None; 3]);
        assert_eq!(picked(b"MemTotal: 18446744073709551615 kB\nnuma_hit 18446744073709551615\n"), [None; 3]);
        assert_eq!(Picked::<3>::new(b"MemTotal: x kB\nnuma_hit 1", place).bad, 2);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            picked(&bytes);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..100) {
            let whole = b"MemTotal:   12345 kB\nallocstall_dma 11\nallocstall_normal 44\nnuma_hit 789\n";
            let [total, hit, stalls] = picked(&whole[..cut.min(whole.len())]);
            prop_assert!(total.is_none_or(|total| total == 12345 * 1024));
            prop_assert!(hit.is_none_or(|hit| hit == 789));
            // A cut right behind a line cannot be distinguished from a kernel with fewer zones.
            prop_assert!(stalls.is_none_or(|stalls| stalls == 55 || whole[..cut].ends_with(b"11\n")));
        }
    }
}
