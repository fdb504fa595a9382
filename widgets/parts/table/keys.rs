//! What keys, clicks and the wheel do to a table.

use super::{Did, Table};
use crate::{Action, Cx};

pub(super) fn act<R: Copy + 'static, K: Clone + PartialEq>(
    table: &mut Table<R, K>,
    action: Action,
    cx: &Cx<'_>,
) -> Did {
    let page = table.page();
    match action {
        Action::Up => step(table, cx, false),
        Action::Down => step(table, cx, true),
        Action::PageUp => leap(table, cx, false, |at| at.saturating_sub(page)),
        Action::PageDown => leap(table, cx, true, |at| at + page),
        Action::Home => leap(table, cx, true, |_| 0),
        Action::End => leap(table, cx, false, |_| usize::MAX),
        Action::SortPrevious => turn(table, false),
        Action::SortNext => turn(table, true),
        Action::SortReverse if table.sort.is_some() => {
            table.descending = !table.descending;
            Did::Changed
        }
        Action::Click { column, row } => click(table, cx, column, row),
        Action::Wheel { rows, .. } => wheel(table, rows),
        _ => Did::Nothing,
    }
}

/// One row on; the first step selects the first row that is shown.
fn step<R: Copy + 'static, K: Clone + PartialEq>(table: &mut Table<R, K>, cx: &Cx<'_>, down: bool) -> Did {
    if table.selected.is_none() {
        return seek(table, cx, table.offset, true);
    }
    let next = if down { Some(table.position + 1) } else { table.position.checked_sub(1) };
    match next.filter(|&next| next < table.rows.len()) {
        Some(next) => seek(table, cx, next, down),
        None => Did::Nothing,
    }
}

/// Selects the row, or the nearest one in a direction that is something; else the nearest in the other.
fn seek<R: Copy + 'static, K: Clone + PartialEq>(table: &mut Table<R, K>, cx: &Cx<'_>, from: usize, down: bool) -> Did {
    let from = from.min(table.rows.len().saturating_sub(1));
    let is_something = |&at: &usize| table.rows.get(at).is_some_and(|&row| (table.identity.of)(cx, row).is_some());
    let (mut below, mut above) = (from..table.rows.len(), (0..=from).rev());
    let found = if down {
        below.find(is_something).or_else(|| above.find(is_something))
    } else {
        above.find(is_something).or_else(|| below.find(is_something))
    };
    found.map_or(Did::Nothing, |at| table.select(cx, at))
}

fn leap<R: Copy + 'static, K: Clone + PartialEq>(
    table: &mut Table<R, K>,
    cx: &Cx<'_>,
    down: bool,
    to: impl Fn(usize) -> usize,
) -> Did {
    let from = if table.selected.is_some() { table.position } else { table.offset };
    seek(table, cx, to(from), down)
}

/// Sorts by the next column that is shown and can be sorted by.
fn turn<R: Copy + 'static, K: Clone + PartialEq>(table: &mut Table<R, K>, forward: bool) -> Did {
    let sortable: Vec<usize> = table
        .places
        .iter()
        .map(|place| place.column)
        .filter(|&column| table.columns.get(column).is_some_and(|column| column.key.is_some()))
        .collect();
    if sortable.is_empty() {
        return Did::Nothing;
    }
    let at = sortable.iter().position(|&column| Some(column) == table.sort);
    let next = match (at, forward) {
        (Some(at), true) => (at + 1) % sortable.len(),
        (Some(at), false) => (at + sortable.len() - 1) % sortable.len(),
        (None, true) => 0,
        (None, false) => sortable.len() - 1,
    };
    table.sort_by(sortable.get(next).copied());
    Did::Changed
}

fn click<R: Copy + 'static, K: Clone + PartialEq>(table: &mut Table<R, K>, cx: &Cx<'_>, column: u16, row: u16) -> Did {
    let area = table.area;
    if !area.contains((column, row).into()) {
        return Did::Nothing;
    }
    if row == area.y {
        return click_head(table, column);
    }
    let Some(key) = table.visible.get(usize::from(row - area.y - 1)).cloned().flatten() else {
        return Did::Nothing;
    };
    let again = table.selected.as_ref() == Some(&key);
    table.selected = Some(key);
    table.follow = true;
    table.settle(cx);
    if again { Did::Opened } else { Did::Selected }
}

/// Sorts by the clicked column, or turns its order around.
fn click_head<R: Copy + 'static, K: Clone + PartialEq>(table: &mut Table<R, K>, x: u16) -> Did {
    let place = table.places.iter().find(|place| x >= place.x && x <= place.x + place.width);
    let Some(column) = place.map(|place| place.column) else { return Did::Nothing };
    if table.columns.get(column).is_none_or(|column| column.key.is_none()) {
        return Did::Nothing;
    }
    if table.sort == Some(column) {
        table.descending = !table.descending;
    } else {
        table.sort_by(Some(column));
    }
    Did::Changed
}

/// The wheel moves the view and leaves the selection where it is.
fn wheel<R: Copy + 'static, K: Clone + PartialEq>(table: &mut Table<R, K>, rows: i16) -> Did {
    let most = table.rows.len().saturating_sub(table.page());
    let offset = table.offset.saturating_add_signed(isize::from(rows)).min(most);
    table.follow = false;
    if offset == table.offset {
        return Did::Nothing;
    }
    table.offset = offset;
    Did::Changed
}
