//! The table that every list is: columns defined once, sorted by index, selected by identity, drawn only where seen.

mod chosen;
mod columns;
mod draw;
mod keys;

pub use chosen::{ColumnInfo, Listed};
pub use columns::{Align, Column, Key, Width};

use crate::{Action, Cx, Subject};
use ratatui::layout::Rect;
use std::cmp::Ordering;
use topotop_model::locale::Text;
use topotop_model::rules::Severity;

/// How rows `R` of a frame are identified, `K`.
pub struct Identity<R, K> {
    /// What a row is.
    pub of: fn(&Cx<'_>, R) -> Option<K>,
    /// True if the row is that one; called for every row, so it allocates nothing.
    pub is: fn(&Cx<'_>, R, &K) -> bool,
    /// What other panels know it as.
    pub subject: fn(&K) -> Option<Subject>,
    /// The row's own identity for a subject that another panel selected.
    pub from: fn(&Subject) -> Option<K>,
}

impl<R, K> Clone for Identity<R, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, K> Copy for Identity<R, K> {}

/// A row that is drawn over the whole width instead of by columns; true if it is one.
pub type Span<R> = fn(&Cx<'_>, R, &mut super::Pen<'_>) -> bool;

/// True if a row belongs to what is selected on another panel.
pub type Relation<R> = fn(&Cx<'_>, R, &Subject) -> bool;

/// The worst that is found about a row.
pub type Flag<R> = fn(&Cx<'_>, R) -> Option<Severity>;

/// What an action did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// Nothing: the table has no use for it.
    Nothing,
    /// It looks different now.
    Changed,
    /// Another row is selected.
    Selected,
    /// The selected row was clicked once more.
    Opened,
}

/// A table's state. Rows are small values (indices) that columns look up in the frame.
pub struct Table<R: 'static, K> {
    known: &'static [Column<R>],
    columns: Vec<Column<R>>,
    identity: Identity<R, K>,
    span: Option<Span<R>>,
    relation: Option<Relation<R>>,
    flag: Option<Flag<R>>,
    sort: Option<usize>,
    descending: bool,
    rows: Vec<R>,
    total: usize,
    built: Option<Built>,
    selected: Option<K>,
    position: usize,
    follow: bool,
    seen: Option<Subject>,
    offset: usize,
    area: Rect,
    places: Vec<Place>,
    visible: Vec<Option<K>>,
}

/// What the rows were built from.
#[derive(Clone, Debug, PartialEq)]
struct Built {
    seq: u64,
    mono_ns: u64,
    sort: Option<usize>,
    descending: bool,
    filter: String,
    variant: u64,
}

/// Where a column stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    column: usize,
    x: u16,
    width: u16,
}

impl<R: Copy + 'static, K: Clone + PartialEq> Table<R, K> {
    /// A table of these columns, sorted by one of them or left in the frame's order.
    pub fn new(columns: &'static [Column<R>], identity: Identity<R, K>, sort: Option<usize>) -> Self {
        let mut table = Self {
            known: columns,
            columns: columns.to_vec(),
            identity,
            span: None,
            relation: None,
            flag: None,
            sort: None,
            descending: false,
            rows: Vec::new(),
            total: 0,
            built: None,
            selected: None,
            position: 0,
            follow: false,
            seen: None,
            offset: 0,
            area: Rect::default(),
            places: Vec::new(),
            visible: Vec::new(),
        };
        table.sort_by(sort);
        table
    }

    /// The same table with rows that span it.
    #[must_use]
    pub fn spanning(mut self, span: Span<R>) -> Self {
        self.span = Some(span);
        self
    }

    /// The same table that marks rows belonging to what another panel selected.
    #[must_use]
    pub fn relating(mut self, relation: Relation<R>) -> Self {
        self.relation = Some(relation);
        self
    }

    /// The same table that marks rows by this instead of by what is found about their subjects.
    #[must_use]
    pub fn flagging(mut self, flag: Flag<R>) -> Self {
        self.flag = Some(flag);
        self
    }

    /// Other columns; what is selected stays.
    pub fn set_columns(&mut self, columns: &'static [Column<R>], sort: Option<usize>) {
        self.known = columns;
        self.columns = columns.to_vec();
        self.built = None;
        self.sort_by(sort);
    }

    /// Draws a column of the same heading as this one does.
    pub fn replace(&mut self, by: Column<R>) {
        for column in self.columns.iter_mut().filter(|column| column.title == by.title) {
            *column = Column { priority: column.priority, ..by };
        }
    }

    /// Gives columns another importance. Columns that somebody chose keep the order that they were chosen in.
    pub fn rank(&mut self, priority: fn(&Column<R>) -> u8) {
        if self.columns.len() != self.known.len() {
            return;
        }
        for (column, known) in
            self.columns.iter_mut().zip(self.known).filter(|(column, known)| column.title == known.title)
        {
            column.priority = priority(known);
        }
    }

    fn sort_by(&mut self, sort: Option<usize>) {
        self.sort = sort;
        self.descending = sort.and_then(|at| self.columns.get(at)).is_some_and(|column| column.descending);
    }

    /// True if rows must be built again: another frame, filter, order, or another variant of the panel.
    pub fn stale(&mut self, cx: &Cx<'_>, variant: u64) -> bool {
        let fresh = self.built.as_ref().is_some_and(|built| {
            built.seq == cx.frame.stamp.seq
                && built.mono_ns == cx.frame.stamp.mono_ns
                && built.sort == self.sort
                && built.descending == self.descending
                && built.variant == variant
                && built.filter == cx.filter
        });
        if !fresh {
            self.built = Some(Built {
                seq: cx.frame.stamp.seq,
                mono_ns: cx.frame.stamp.mono_ns,
                sort: self.sort,
                descending: self.descending,
                filter: cx.filter.to_owned(),
                variant,
            });
        }
        !fresh
    }

    /// Takes rows in the frame's order and sorts them; `total` counts those that the filter left out too.
    pub fn fill(&mut self, cx: &Cx<'_>, rows: impl Iterator<Item = R>, total: usize) {
        let mut buffer = std::mem::take(&mut self.rows);
        buffer.clear();
        buffer.extend(rows);
        self.sort_rows(cx, &mut buffer);
        self.rows = buffer;
        self.total = total;
    }

    /// Takes rows that are in order already: a tree's.
    pub fn fill_ordered(&mut self, rows: Vec<R>, total: usize) {
        self.rows = rows;
        self.total = total;
    }

    /// Sorts rows as the table is sorted; equal ones keep their order, unknown values come last either way.
    pub fn sort_rows(&self, cx: &Cx<'_>, rows: &mut [R]) {
        let Some(key) = self.sort.and_then(|at| self.columns.get(at)).and_then(|column| column.key) else {
            return;
        };
        let mut keyed: Vec<(Key<'_>, R)> = rows.iter().map(|&row| (key(cx, row), row)).collect();
        keyed.sort_by(|(a, _), (b, _)| compare(*a, *b, self.descending));
        for (slot, (_, row)) in rows.iter_mut().zip(keyed) {
            *slot = row;
        }
    }

    /// Settles columns, selection and scroll for an area: heads in its first line, rows below.
    pub fn place(&mut self, cx: &Cx<'_>, area: Rect) {
        self.area = area;
        self.places = columns::arrange(cx, &self.columns, area);
        self.adopt(cx);
        self.settle(cx);
        let page = self.page();
        if self.follow && self.selected.is_some() {
            self.offset = self.offset.clamp((self.position + 1).saturating_sub(page), self.position);
        }
        self.offset = self.offset.min(self.rows.len().saturating_sub(page));
        let shown = self.rows.iter().skip(self.offset).take(page);
        self.visible = shown.map(|&row| (self.identity.of)(cx, row)).collect();
    }

    /// Takes over what another panel selected, once.
    fn adopt(&mut self, cx: &Cx<'_>) {
        if self.seen.as_ref() == cx.selected {
            return;
        }
        self.seen = cx.selected.cloned();
        let own = self.selected.as_ref().and_then(|key| (self.identity.subject)(key));
        if let Some(key) = cx.selected.filter(|&subject| own.as_ref() != Some(subject)).and_then(self.identity.from) {
            self.selected = Some(key);
            self.follow = true;
        }
    }

    /// Finds the selected row; one that is gone leaves the selection to whatever stands at its place.
    fn settle(&mut self, cx: &Cx<'_>) {
        let Some(key) = &self.selected else { return };
        match self.rows.iter().position(|&row| (self.identity.is)(cx, row, key)) {
            Some(position) => self.position = position,
            None => self.position = self.position.min(self.rows.len().saturating_sub(1)),
        }
    }

    /// How many rows fit.
    pub fn page(&self) -> usize {
        usize::from(self.area.height.saturating_sub(1)).max(1)
    }

    /// The rows, in order.
    pub fn rows(&self) -> &[R] {
        &self.rows
    }

    /// Rows that the filter let through, and all.
    pub fn counts(&self) -> (usize, usize) {
        (self.rows.len(), self.total)
    }

    /// What is selected.
    pub fn selected(&self) -> Option<&K> {
        self.selected.as_ref()
    }

    /// The selected row, while it is there.
    pub fn selected_row(&self, cx: &Cx<'_>) -> Option<R> {
        let key = self.selected.as_ref()?;
        self.rows.get(self.position).copied().filter(|&row| (self.identity.is)(cx, row, key))
    }

    /// Selects what a row is, wherever it stands, and shows it.
    pub fn choose(&mut self, key: K) {
        self.selected = Some(key);
        self.follow = true;
    }

    /// Selects the first row that is shown, where nothing is selected.
    pub fn select_any(&mut self, cx: &Cx<'_>) {
        if self.selected_row(cx).is_none() {
            self.select(cx, self.offset);
        }
    }

    /// Selects nothing; true if something was.
    pub fn deselect(&mut self) -> bool {
        self.follow = false;
        self.selected.take().is_some()
    }

    /// Shows the first rows.
    pub fn to_top(&mut self) {
        self.offset = 0;
    }

    /// What other panels know something as.
    pub fn subject_of(&self, key: &K) -> Option<Subject> {
        (self.identity.subject)(key)
    }

    /// What other panels know the selected row as.
    pub fn subject(&self) -> Option<Subject> {
        self.selected.as_ref().and_then(|key| (self.identity.subject)(key))
    }

    fn select(&mut self, cx: &Cx<'_>, position: usize) -> Did {
        let position = position.min(self.rows.len().saturating_sub(1));
        let Some(key) = self.rows.get(position).and_then(|&row| (self.identity.of)(cx, row)) else {
            return Did::Nothing;
        };
        self.position = position;
        self.selected = Some(key);
        self.follow = true;
        Did::Selected
    }

    /// Where a column stands, by its title: left edge and width.
    pub fn place_of(&self, title: Text) -> Option<(u16, u16)> {
        let named = |place: &&Place| self.columns.get(place.column).is_some_and(|column| column.title == title);
        self.places.iter().find(named).map(|place| (place.x, place.width))
    }

    /// The title and direction of the order.
    pub fn order(&self) -> Option<(Text, bool)> {
        self.sort.and_then(|at| self.columns.get(at)).map(|column| (column.title, self.descending))
    }

    /// Reacts to what every table knows.
    pub fn act(&mut self, action: Action, cx: &Cx<'_>) -> Did {
        keys::act(self, action, cx)
    }
}

/// Unknown last; the rest by value.
fn compare(a: Key<'_>, b: Key<'_>, descending: bool) -> Ordering {
    let turn = |order: Ordering| if descending { order.reverse() } else { order };
    match (a, b) {
        (Key::None, Key::None) => Ordering::Equal,
        (Key::None, _) => Ordering::Greater,
        (_, Key::None) => Ordering::Less,
        (Key::Number(a), Key::Number(b)) => turn(a.total_cmp(&b)),
        (Key::Text(a), Key::Text(b)) => turn(a.cmp(b)),
        (Key::Number(_), Key::Text(_)) => turn(Ordering::Less),
        (Key::Text(_), Key::Number(_)) => turn(Ordering::Greater),
    }
}

/// True if a text holds the filter, case ignored; an empty filter lets everything through.
pub fn matches(filter: &str, text: &str) -> bool {
    if filter.is_empty() {
        return true;
    }
    if filter.is_ascii() {
        let needle = filter.as_bytes();
        return text.as_bytes().windows(needle.len()).any(|part| part.eq_ignore_ascii_case(needle));
    }
    text.to_lowercase().contains(&filter.to_lowercase())
}

#[cfg(test)]
mod tests;
