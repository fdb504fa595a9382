//! Columns: what they show, how wide they may be, and which give way on a narrow screen.

use super::super::{Pen, names};
use super::Place;
use crate::Cx;
use ratatui::layout::Rect;
use topotop_model::Known;
use topotop_model::locale::Text;

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
    /// Its heading.
    pub title: Text,
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

/// Draws a cell.
type Draw<R> = fn(&Cx<'_>, R, &mut Pen<'_>);

impl<R> Clone for Column<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Column<R> {}

impl<R> Column<R> {
    /// A column of texts and pictures.
    pub const fn left(title: Text, priority: u8, width: fn(&Cx<'_>) -> Width, draw: Draw<R>) -> Self {
        Self { title, width, align: Align::Left, priority, descending: true, key: None, draw }
    }

    /// A column of numbers.
    pub const fn right(title: Text, priority: u8, width: fn(&Cx<'_>) -> Width, draw: Draw<R>) -> Self {
        Self { title, width, align: Align::Right, priority, descending: true, key: None, draw }
    }

    /// Sorted by this, highest first.
    #[must_use]
    pub const fn highest(self, key: for<'a> fn(&Cx<'a>, R) -> Key<'a>) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Sorted by this, lowest first.
    #[must_use]
    pub const fn lowest(self, key: for<'a> fn(&Cx<'a>, R) -> Key<'a>) -> Self {
        Self { key: Some(key), descending: false, ..self }
    }
}

/// The columns that fit, with their places: one cell in front for marks, one between columns.
pub(super) fn arrange<R>(cx: &Cx<'_>, columns: &[Column<R>], area: Rect) -> Vec<Place> {
    let rules: Vec<(Width, u8)> = columns.iter().map(|column| ((column.width)(cx), column.priority)).collect();
    let widths = allot(&rules, area.width.saturating_sub(2));
    let mut x = area.x.saturating_add(1);
    let mut places = Vec::with_capacity(columns.len());
    for (column, width) in widths.into_iter().enumerate().filter(|(_, width)| *width > 0) {
        let width = width.min(area.right().saturating_sub(x));
        places.push(Place { column, x, width });
        x = x.saturating_add(width + 1);
    }
    places
}

/// Up to this priority a column keeps its least before more important ones get more than theirs.
const IMPORTANT: u8 = 2;

/// Widths by importance. Important columns are kept at their least as long as that fits, then grown to their ideal; the
/// others take what is left, ideal or less or nothing; in the end what nobody needs goes to those that flex.
fn allot(rules: &[(Width, u8)], room: u16) -> Vec<u16> {
    let mut order: Vec<(usize, Width, u8)> =
        rules.iter().enumerate().filter(|(_, rule)| rule.0.ideal > 0).map(|(at, rule)| (at, rule.0, rule.1)).collect();
    order.sort_by_key(|entry| entry.2);
    let (mut important, others): (Vec<_>, Vec<_>) = order.into_iter().partition(|entry| entry.2 <= IMPORTANT);
    let least = |list: &[(usize, Width, u8)]| list.iter().map(|entry| entry.1.min + 1).sum::<u16>().saturating_sub(1);
    while important.len() > 1 && least(&important) > room {
        important.pop();
    }
    let mut widths = vec![0; rules.len()];
    let mut rest = room.saturating_sub(least(&important));
    for (at, rule, _) in &important {
        let more = rule.ideal.saturating_sub(rule.min).min(rest);
        rest -= more;
        if let Some(width) = widths.get_mut(*at) {
            *width = (rule.min + more).min(room).max(1);
        }
    }
    for (at, rule, _) in &others {
        if rest > rule.min
            && let Some(width) = widths.get_mut(*at)
        {
            *width = rule.ideal.min(rest - 1).max(1);
            rest -= *width + 1;
        }
    }
    stretch(rules, &mut widths, rest);
    widths
}

/// Gives what is left over to columns that flex.
fn stretch(rules: &[(Width, u8)], widths: &mut [u16], rest: u16) {
    let flex = |at: usize, width: u16| rules.get(at).filter(|_| width > 0).map_or(0, |rule| u32::from(rule.0.flex));
    let total: u32 = widths.iter().enumerate().map(|(at, &width)| flex(at, width)).sum();
    for (at, width) in widths.iter_mut().enumerate() {
        let more = (u32::from(rest) * flex(at, *width)).checked_div(total).unwrap_or(0);
        // A column that is wide enough stays together with its neighbours.
        let most = rules.get(at).map_or(0, |rule| rule.0.ideal.saturating_mul(3));
        *width = width.saturating_add(more as u16).min(most.max(*width));
    }
}

/// Columns that a head takes with its sort mark.
pub(super) fn head_width(title: &str) -> u16 {
    names::width(title)
}
