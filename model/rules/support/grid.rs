//! Small tables among the evidence: typed cells without layout.

use std::sync::Arc;

/// A cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// Not read.
    #[default]
    Unknown,
    /// Known to be none or not applicable: `n/a`.
    None,
    /// A number in its column's unit.
    Number(f64),
    /// A name or a list of ids; hostile where names are.
    Text(Arc<str>),
}

impl Cell {
    /// A number, unknown where there is none.
    pub fn of(value: Option<f64>) -> Self {
        value.map_or(Self::Unknown, Self::Number)
    }

    /// A count that may be missing or not applicable.
    pub fn count(value: crate::Known<u64>) -> Self {
        match value {
            crate::Known::Missing => Self::Unknown,
            crate::Known::None => Self::None,
            crate::Known::Value(value) => Self::Number(value as f64),
        }
    }

    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading: `max`, `cpu 3`.
    pub name: Arc<str>,
    /// Unit of its numbers, as of [`Evidence`](crate::rules::Evidence); empty for counts and texts.
    pub unit: &'static str,
}

/// A table with a name for each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows: a name, hostile where names are, and as many cells as there are columns.
    pub rows: Vec<(Arc<str>, Vec<Cell>)>,
}

impl Grid {
    /// A table without rows.
    pub fn new<N: Into<Arc<str>>>(columns: impl IntoIterator<Item = (N, &'static str)>) -> Self {
        let columns = columns.into_iter().map(|(name, unit)| Column { name: name.into(), unit }).collect();
        Self { columns, rows: Vec::new() }
    }

    /// With another row; cells beyond the columns are dropped, missing ones are unknown.
    #[must_use]
    pub fn row(mut self, name: impl Into<Arc<str>>, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.push(name, cells);
        self
    }

    /// Adds a row; cells beyond the columns are dropped, missing ones are unknown.
    pub fn push(&mut self, name: impl Into<Arc<str>>, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), Cell::Unknown);
        self.rows.push((name.into(), cells));
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::{Cell, Grid};

    #[test]
    fn rows_are_as_wide_as_the_table() {
        let grid = Grid::new([("max", ""), ("current", "")])
            .row("rx", [Cell::Number(1.0)])
            .row("tx", [Cell::None, Cell::None, Cell::None]);
        assert!(grid.rows.iter().all(|(_, cells)| cells.len() == 2));
        assert_eq!(grid.rows[0].1[1], Cell::Unknown);
    }
}
