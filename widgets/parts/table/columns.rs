//! Columns: what they show, how wide they may be, and which give way on a narrow screen.

use super::super::{Pen, names};
use super::Place;
use crate::Cx;
use ratatui::layout::Rect;
use topotop_model::Known;

/// Where a cell's content goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// To the left.
    Left,
    /// To the right.
    Right,
}

/// How wide a column may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// Below this it vanishes.
    pub min: u16,
    /// Beyond this it only grows by its flex.
    pub ideal: u16,
    /// Its part of what is left over.
    pub flex: u16,
}

impl Width {
    /// Always the same.
    pub const fn fixed(width: u16) -> Self {
        Self { min: width, ideal: width, flex: 0 }
    }

    /// Between two widths.
    pub const fn range(min: u16, ideal: u16) -> Self {
        Self { min, ideal, flex: 0 }
    }

    /// From `min` on, with a part of what is left over.
    pub const fn flex(min: u16, ideal: u16, flex: u16) -> Self {
        Self { min, ideal, flex }
    }

    /// Not shown.
    pub const HIDDEN: Self = Self::fixed(0);
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key<'a> {
    /// Unknown: last in either order.
    None,
    /// By value.
    Number(f64),
    /// By bytes.
    Text(&'a str),
}

impl Key<'_> {
    /// A number that may be unknown.
    pub fn some(value: Option<f64>) -> Self {
        value.filter(|value| !value.is_nan()).map_or(Self::None, Self::Number)
    }

    /// A count that may be unknown.
    pub fn known(value: Known<u64>) -> Self {
        Self::some(value.value().map(|value| value as f64))
    }
}

/// A column of rows `R`, which are looked up in the frame.
pub struct Column<R> {
    /// Its head.
    pub title: &'static str,
    /// Its width for this frame.
    pub width: fn(&Cx<'_>) -> Width,
    /// Where its content goes.
    pub align: Align,
    /// 0 stays; the higher, the sooner it vanishes.
    pub priority: u8,
    /// True if the first sort by it puts the highest first.
    pub descending: bool,
    /// What it sorts by; none where it cannot.
    pub key: Option<for<'a> fn(&Cx<'a>, R) -> Key<'a>>,
    /// Draws a cell.
    pub draw: fn(&Cx<'_>, R, &mut Pen<'_>),
}

/// The columns that fit, with their places: one cell in front for marks, one between columns.
pub(super) fn arrange<R>(cx: &Cx<'_>, columns: &[Column<R>], area: Rect) -> Vec<Place> {
    let mut wanted: Vec<(usize, Width, u8)> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| (index, (column.width)(cx), column.priority))
        .filter(|(_, width, _)| width.ideal > 0)
        .collect();
    let room = area.width.saturating_sub(2);
    while wanted.len() > 1 && total(&wanted) > room {
        let Some(at) = last_of_highest(&wanted) else { break };
        wanted.remove(at);
    }
    let widths = grow(&wanted, room);
    let mut x = area.x.saturating_add(1);
    let mut places = Vec::with_capacity(wanted.len());
    for ((column, ..), width) in wanted.iter().zip(widths) {
        let width = width.min(area.right().saturating_sub(x));
        places.push(Place { column: *column, x, width });
        x = x.saturating_add(width + 1);
    }
    places
}

fn total(wanted: &[(usize, Width, u8)]) -> u16 {
    wanted.iter().fold(0u16, |sum, (_, width, _)| sum.saturating_add(width.min + 1)).saturating_sub(1)
}

fn last_of_highest(wanted: &[(usize, Width, u8)]) -> Option<usize> {
    let highest = wanted.iter().map(|entry| entry.2).max()?;
    wanted.iter().rposition(|entry| entry.2 == highest)
}

/// Widths: everybody's least, then ideals by importance, then the rest by flex.
fn grow(wanted: &[(usize, Width, u8)], room: u16) -> Vec<u16> {
    let mut widths: Vec<u16> = wanted.iter().map(|(_, width, _)| width.min).collect();
    let mut rest = room.saturating_sub(total(wanted));
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|&at| wanted.get(at).map_or(0, |entry| entry.2));
    for at in order {
        if let (Some((_, rule, _)), Some(width)) = (wanted.get(at), widths.get_mut(at)) {
            let more = rule.ideal.saturating_sub(*width).min(rest);
            *width += more;
            rest -= more;
        }
    }
    let flexes = u32::from(wanted.iter().map(|(_, rule, _)| rule.flex).fold(0u16, u16::saturating_add));
    for ((_, rule, _), width) in wanted.iter().zip(&mut widths) {
        let more = (u32::from(rest) * u32::from(rule.flex)).checked_div(flexes).unwrap_or(0);
        *width = width.saturating_add(more as u16);
    }
    widths
}

/// Columns that a head takes with its sort mark.
pub(super) fn head_width(title: &str, cx: &Cx<'_>) -> u16 {
    names::width(title)
}
