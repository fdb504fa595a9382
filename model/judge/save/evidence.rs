//! What a hit rests on, as bytes.

use super::bytes::{In, Out};
use crate::rules::{Cell, Column, Evidence, Figure, Grid};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Words of evidence that are known from states: rules have some hundreds.
const MAX_WORDS: usize = 4096;
/// The longest of them, in bytes.
const MAX_WORD: usize = 256;

pub(super) fn put(out: &mut Out, evidence: &Evidence) {
    let Evidence { name, value, unit, source } = evidence;
    out.text(name);
    out.text(unit);
    out.text(source);
    match value {
        Figure::Number(value) => {
            out.number(0);
            out.float(*value);
        }
        Figure::Text(text) => {
            out.number(1);
            out.text(text);
        }
        Figure::Table(grid) => {
            out.number(2);
            put_grid(out, grid);
        }
    }
}

pub(super) fn get(input: &mut In<'_>) -> Option<Evidence> {
    let (name, unit, source) = (word(input.text()?)?, word(input.text()?)?, word(input.text()?)?);
    let value = match input.number()? {
        0 => Figure::Number(input.float()?),
        1 => Figure::Text(input.text()?.into()),
        2 => Figure::Table(Arc::new(grid(input)?)),
        _ => return None,
    };
    Some(Evidence { name, value, unit, source })
}

fn put_grid(out: &mut Out, grid: &Grid) {
    out.number(grid.columns.len() as u64);
    for column in &grid.columns {
        out.text(&column.name);
        out.text(column.unit);
    }
    out.number(grid.rows.len() as u64);
    for (name, cells) in &grid.rows {
        out.text(name);
        out.number(cells.len() as u64);
        for cell in cells {
            match cell {
                Cell::Unknown => out.number(0),
                Cell::None => out.number(1),
                Cell::Number(value) => {
                    out.number(2);
                    out.float(*value);
                }
                Cell::Text(text) => {
                    out.number(3);
                    out.text(text);
                }
            }
        }
    }
}

fn grid(input: &mut In<'_>) -> Option<Grid> {
    let mut grid = Grid::default();
    for _ in 0..input.count()? {
        grid.columns.push(Column { name: input.text()?.into(), unit: word(input.text()?)? });
    }
    for _ in 0..input.count()? {
        let name = input.text()?.into();
        let mut cells = Vec::new();
        for _ in 0..input.count()? {
            cells.push(match input.number()? {
                0 => Cell::Unknown,
                1 => Cell::None,
                2 => Cell::Number(input.float()?),
                3 => Cell::Text(input.text()?.into()),
                _ => return None,
            });
        }
        grid.rows.push((name, cells));
    }
    Some(grid)
}

/// A word of evidence, which lives as long as the program: those of rules are few. None beyond as many as there may be.
pub(crate) fn word(text: &str) -> Option<&'static str> {
    static WORDS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text) {
        return Some(known);
    }
    if words.len() >= MAX_WORDS || text.len() > MAX_WORD {
        return None;
    }
    let new: &'static str = Box::leak(text.into());
    words.insert(new);
    Some(new)
}
