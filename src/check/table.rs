//! Tables of evidence as lines of text.

use super::report::amount;
use std::io::{self, Write};
use topotop_model::rules::{Cell, Grid};
use topotop_model::text::printable;

/// Rows of a table that are told; the rest is counted.
const MOST: usize = 32;

/// Writes a table below its name, columns lined up.
pub(super) fn write(name: &str, grid: &Grid, source: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  {:<16} {:<28} {source}", name.replace('_', " "), "")?;
    let heads = grid.columns.iter().map(|column| printable(&column.name).into_owned());
    let mut lines = vec![std::iter::once(String::new()).chain(heads).collect::<Vec<_>>()];
    for (name, cells) in grid.rows.iter().take(MOST) {
        let cells = cells.iter().zip(&grid.columns).map(|(cell, column)| shown(cell, column.unit));
        lines.push(std::iter::once(printable(name).into_owned()).chain(cells).collect());
    }
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..=grid.columns.len()).map(|column| width(column).unwrap_or(0)).collect();
    for line in &lines {
        let (first, rest) = line.split_first().map_or(("", line.as_slice()), |(first, rest)| (first.as_str(), rest));
        write!(out, "    {first:<width$}", width = widths.first().copied().unwrap_or(0))?;
        for (cell, width) in rest.iter().zip(widths.iter().skip(1)) {
            write!(out, "  {cell:>width$}")?;
        }
        writeln!(out)?;
    }
    match grid.rows.len().saturating_sub(MOST) {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more"),
    }
}

fn shown(cell: &Cell, unit: &str) -> String {
    match cell {
        Cell::Unknown => "?".to_owned(),
        Cell::None => "n/a".to_owned(),
        Cell::Number(value) => amount(*value, unit),
        Cell::Text(text) => printable(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use topotop_model::rules::{Cell, Grid};

    #[test]
    fn columns_line_up_and_names_cannot_steer() {
        let grid = Grid::new([("max", ""), ("current", "")])
            .row("combined", [Cell::Number(64.0), Cell::Number(1.0)])
            .row("\u{1b}x", [Cell::None, Cell::Unknown]);
        let mut out = Vec::new();
        write("ethtool_l", &grid, "ethtool -l", &mut out).expect("a buffer");
        let text = String::from_utf8(out).expect("text");
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(
            rows[1..],
            ["              max  current", "    combined   64        1", "    \\x1bx     n/a        ?"]
        );
    }
}
