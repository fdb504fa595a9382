//! Which columns a table shows and in what order, which one it is sorted by, and the next row with a text.

use super::super::Pen;
use super::{Align, Column, Table};
use crate::{Cx, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::Text;

/// A column as a picker lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name in files, in every language.
    pub name: String,
    /// Its heading.
    pub title: Text,
    /// True if it is among those shown.
    pub shown: bool,
    /// False for one of those that there is no room for.
    pub fits: bool,
    /// True if rows can be sorted by it.
    pub sortable: bool,
    /// The order by it, highest first or not; none where another column sorts.
    pub sorted: Option<bool>,
}

impl ColumnInfo {
    /// What it shows, in a few words.
    pub fn help(&self) -> Option<Text> {
        Text::find(&self.title.key().replacen("screen.", "legend.", 1))
    }
}

/// What pickers and searches need of a table.
pub trait Listed {
    /// Its columns: those shown in their order, then the others.
    fn columns(&self) -> Vec<ColumnInfo>;

    /// Sorts by a column; false if it has no such column.
    fn sort_on(&mut self, name: &str, descending: Option<bool>) -> bool;

    /// Shows these columns in this order; without a known one, the usual ones.
    fn show_columns(&mut self, names: &[String]);

    /// What other panels know the selected row as.
    fn chosen(&self) -> Option<Subject>;

    /// The headings shown and the values of the selected row, a tab between two.
    fn copied(&self, cx: &Cx<'_>) -> Option<String>;

    /// Selects the next row that shows a text; false if there is none.
    fn search(&mut self, cx: &Cx<'_>, text: &str, forward: bool) -> bool;
}

/// The name of a column.
fn name<R>(column: &Column<R>) -> String {
    column.title.english().to_lowercase().replace([' ', '/'], "-")
}

impl<R: Copy + 'static, K: Clone + PartialEq> Listed for Table<R, K> {
    fn columns(&self) -> Vec<ColumnInfo> {
        let info = |column: &Column<R>, place: Option<usize>| {
            let is_order = self.sort.and_then(|at| self.columns.get(at)).is_some_and(|sort| sort.title == column.title);
            ColumnInfo {
                name: name(column),
                title: column.title,
                shown: place.is_some(),
                fits: self.places.is_empty() || place.is_none_or(|at| self.places.iter().any(|it| it.column == at)),
                sortable: column.key.is_some(),
                sorted: is_order.then_some(self.descending),
            }
        };
        let is_shown = |column: &&Column<R>| self.columns.iter().any(|shown| shown.title == column.title);
        let others = self.known.iter().filter(|column| !is_shown(column));
        let shown = self.columns.iter().enumerate().map(|(at, column)| info(column, Some(at)));
        shown.chain(others.map(|column| info(column, None))).collect()
    }

    fn sort_on(&mut self, wanted: &str, descending: Option<bool>) -> bool {
        let found = self.columns.iter().position(|column| column.key.is_some() && name(column) == wanted);
        if found.is_none() {
            // What is sorted by is shown.
            let Some(column) = self.known.iter().find(|column| column.key.is_some() && name(column) == wanted) else {
                return false;
            };
            self.columns.push(*column);
        }
        self.sort_by(found.or(self.columns.len().checked_sub(1)));
        self.descending = descending.unwrap_or(self.descending);
        self.built = None;
        true
    }

    fn show_columns(&mut self, names: &[String]) {
        let order = self.sort.and_then(|at| self.columns.get(at)).map(|column| (column.title, self.descending));
        let found = |wanted: &String| self.known.iter().find(|column| name(column) == *wanted).copied();
        let chosen: Vec<Column<R>> = names.iter().filter_map(found).collect();
        let usual = self.known.iter().map(name).eq(names.iter().cloned());
        self.columns = if chosen.is_empty() || usual {
            self.known.to_vec()
        } else {
            // The order chosen is the order of importance too.
            let ranked = chosen.into_iter().enumerate();
            ranked.map(|(at, column)| Column { priority: at.min(9) as u8, ..column }).collect()
        };
        let sort = order.and_then(|(title, _)| self.columns.iter().position(|column| column.title == title));
        self.sort_by(sort.or_else(|| self.columns.iter().position(|column| column.key.is_some())));
        if let Some((_, descending)) = order.filter(|_| sort.is_some()) {
            self.descending = descending;
        }
        self.built = None;
    }

    fn chosen(&self) -> Option<Subject> {
        self.subject()
    }

    fn copied(&self, cx: &Cx<'_>) -> Option<String> {
        let row = self.selected_row(cx)?;
        let values = self.columns.iter().map(|column| {
            // Bars and curves are no text.
            let drawn = |c: &char| !matches!(c, '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}');
            (column.title.as_str(), cell_of(cx, row, column).chars().filter(drawn).collect::<String>())
        });
        let (heads, values): (Vec<_>, Vec<_>) = values.unzip();
        let values: Vec<&str> = values.iter().map(|value| value.trim()).collect();
        Some(format!("{}\n{}", heads.join("\t"), values.join("\t")))
    }

    fn search(&mut self, cx: &Cx<'_>, text: &str, forward: bool) -> bool {
        let (rows, text) = (self.rows.len(), text.to_lowercase());
        if rows == 0 {
            return false;
        }
        let from = if self.selected_row(cx).is_some() { self.position } else { rows - 1 };
        let at = |step: usize| if forward { from + step } else { from + rows * 2 - step } % rows;
        let found = (1..=rows).map(at).find(|&at| {
            self.rows.get(at).is_some_and(|&row| {
                (self.identity.of)(cx, row).is_some() && self.text_of(cx, row).to_lowercase().contains(&text)
            })
        });
        found.is_some_and(|at| self.select(cx, at) == super::Did::Selected)
    }
}

impl<R: Copy + 'static, K: Clone + PartialEq> Table<R, K> {
    /// A row as it is drawn, in a column's breadth of its own for each column that is known.
    fn text_of(&self, cx: &Cx<'_>, row: R) -> String {
        let mut text = String::new();
        for column in self.known {
            text.push_str(cell_of(cx, row, column).trim_end());
            text.push(' ');
        }
        text
    }
}

fn cell_of<R: Copy>(cx: &Cx<'_>, row: R, column: &Column<R>) -> String {
    let strip = Rect::new(0, 0, if column.align == Align::Left { WIDEST } else { NUMBER }, 1);
    let mut buf = Buffer::empty(strip);
    (column.draw)(cx, row, &mut Pen::new(cx, strip, 0, &mut buf));
    buf.content.iter().map(ratatui::buffer::Cell::symbol).collect()
}

/// The cells of a text that are searched, and of a number.
const WIDEST: u16 = 160;
const NUMBER: u16 = 16;
