//! What the terminal shows, eight bytes for a cell: comparing a new picture with it reads a fraction of what a second
//! buffer would.

use crate::view::scrub;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};
use topotop_widgets::Charset;
use unicode_width::UnicodeWidthStr as _;

/// Colours and modifiers of a cell.
type Style = (Color, Color, Color, Modifier);

/// A cell that is not known, or whose symbol is too long to be kept: no cell equals it.
const UNKNOWN: u64 = u64::MAX;
/// The most styles that are distinguished; themes have some dozens.
const MOST_STYLES: usize = 1 << 12;

/// What the terminal shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    area: Rect,
    /// For each cell the bytes of its symbol and the place of its style in `styles`.
    cells: Vec<u64>,
    styles: Vec<Style>,
}

impl Shown {
    /// The area that is shown.
    pub(super) fn area(&self) -> Rect {
        self.area
    }

    /// The terminal was cleared: it shows blanks of no style on an area.
    pub(super) fn clear(&mut self, area: Rect) {
        self.area = area;
        self.styles.clear();
        let blank = self.key(&Cell::EMPTY, &mut 0);
        self.cells.clear();
        self.cells.resize(usize::from(area.width) * usize::from(area.height), blank);
    }

    /// Nothing that is shown is certain: all is written again.
    pub(super) fn doubt(&mut self) {
        self.cells.fill(UNKNOWN);
    }

    /// Takes over a picture of the same area after it was scrubbed; gives the columns and rows of the cells to write, in
    /// that order, so that the terminal shows it.
    pub(super) fn update(&mut self, next: &mut Buffer, charset: Charset) -> Vec<(u16, u16)> {
        let area = self.area;
        let width = usize::from(area.width.max(1));
        let mut changes = Vec::new();
        if self.styles.len() > MOST_STYLES {
            self.styles.clear();
            self.cells.fill(UNKNOWN);
        }
        let mut cells = std::mem::take(&mut self.cells);
        let mut last = 0;
        for ((old, new), y) in cells.chunks_mut(width).zip(next.content.chunks_mut(width)).zip(area.y..) {
            let before = changes.len();
            // A row that held a wide character has to be recognised before it is overwritten.
            let mut wide = false;
            for ((old, cell), x) in old.iter_mut().zip(&mut *new).zip(area.x..) {
                // Most of every picture needs no scrubbing.
                let symbol = if let [letter @ b' '..=b'~'] = *cell.symbol().as_bytes() {
                    Some(u32::from(letter))
                } else {
                    scrub(charset, cell);
                    packed(cell)
                };
                let key = symbol.map_or(UNKNOWN, |symbol| self.key_of(symbol, cell, &mut last));
                if key != *old || key == UNKNOWN {
                    wide |= !is_narrow_key(*old);
                    changes.push((x, y));
                    *old = key;
                }
            }
            if changes.len() > before && (wide || !new.iter().all(is_narrow)) {
                changes.truncate(before);
                row(new, (area.x, y), &mut changes);
            }
        }
        self.cells = cells;
        changes
    }

    /// Empties the cells of the last picture that was taken over, as far as they are not blank: most are.
    pub(super) fn empty(&mut self, picture: &mut Buffer, blank: &Cell) {
        let key = self.key(blank, &mut 0);
        for (_, cell) in self.cells.iter().zip(&mut picture.content).filter(|(cell, _)| **cell != key) {
            cell.clone_from(blank);
        }
    }

    /// A number that is the same for equal cells and no others; `last` is the style that was found last.
    fn key(&mut self, cell: &Cell, last: &mut usize) -> u64 {
        packed(cell).map_or(UNKNOWN, |symbol| self.key_of(symbol, cell, last))
    }

    #[inline]
    fn key_of(&mut self, symbol: u32, cell: &Cell, last: &mut usize) -> u64 {
        let style = (cell.fg, cell.bg, cell.underline_color, cell.modifier);
        if self.styles.get(*last) != Some(&style) {
            *last = self.style(style);
        }
        (*last as u64) << 32 | u64::from(symbol)
    }

    fn style(&mut self, style: Style) -> usize {
        self.styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        })
    }
}

/// The bytes of a symbol that is not too long to be kept.
fn packed(cell: &Cell) -> Option<u32> {
    match *cell.symbol().as_bytes() {
        [a] => Some(u32::from(a)),
        [a, b] => Some(u32::from_le_bytes([a, b, 0, 0])),
        [a, b, c] => Some(u32::from_le_bytes([a, b, c, 0])),
        [a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    }
}

/// Writes a whole row in which something is or was wide: what such a character covers is not simply drawn over.
fn row(cells: &[Cell], (left, y): (u16, u16), changes: &mut Vec<(u16, u16)>) {
    let mut columns = cells.iter().zip(left..);
    while let Some((cell, x)) = columns.next() {
        let covered = cell.symbol().width().saturating_sub(1);
        // Terminals that take it for narrow, as some do with emoji, show blanks beside it.
        changes.extend(columns.by_ref().take(covered).map(|(_, x)| (x, y)));
        changes.push((x, y));
    }
}

/// True for a symbol that takes one column.
fn is_narrow_symbol(symbol: &str) -> bool {
    // Lines, blocks and dots are what there is besides ASCII.
    symbol.len() == 1 || matches!(symbol.as_bytes(), [0xe2, 0x94..=0x96 | 0xa0..=0xa3, _]) || symbol.width() == 1
}

fn is_narrow(cell: &Cell) -> bool {
    is_narrow_symbol(cell.symbol())
}

/// The same of a cell that was kept; of an unknown one nothing is certain.
fn is_narrow_key(key: u64) -> bool {
    let bytes = (key as u32).to_le_bytes();
    let symbol = std::str::from_utf8(&bytes).map(|text| text.trim_end_matches('\0'));
    key != UNKNOWN && symbol.is_ok_and(is_narrow_symbol)
}

#[cfg(test)]
mod tests {
    use super::Shown;
    use proptest::prelude::*;
    use ratatui::buffer::{Buffer, Cell};
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Modifier, Style};
    use topotop_widgets::Charset;

    const AREA: Rect = Rect { x: 0, y: 0, width: 9, height: 4 };
    const SYMBOLS: [&str; 12] = [" ", "a", "b", "é", "█", "─", "▪", "⣿", "名", "⌚", "a\u{301}\u{302}", "⚠\u{fe0f}"];

    fn picture(cells: &[(usize, u8, bool)]) -> Buffer {
        let mut buffer = Buffer::empty(AREA);
        for (at, &(symbol, colour, reversed)) in cells.iter().enumerate().take(36) {
            let mut style = Style::new().fg(Color::Indexed(colour)).underline_color(Color::Indexed(colour / 2));
            if reversed {
                style = style.add_modifier(Modifier::REVERSED);
            }
            let (x, y) = ((at % 9) as u16, (at / 9) as u16);
            buffer.set_stringn(x, y, SYMBOLS[symbol], 9, style);
        }
        buffer
    }

    fn cells(symbols: usize) -> impl Strategy<Value = Vec<(usize, u8, bool)>> {
        prop::collection::vec((0..symbols, 0u8..3, any::<bool>()), 30..36)
    }

    fn shown(pictures: &[&Buffer]) -> Shown {
        let mut shown = Shown::default();
        shown.clear(AREA);
        for picture in pictures {
            update(&mut shown, picture);
        }
        shown
    }

    fn update<'a>(shown: &mut Shown, picture: &'a Buffer) -> Vec<(u16, u16, &'a Cell)> {
        let mut scrubbed = picture.clone();
        let changes = shown.update(&mut scrubbed, Charset::Unicode);
        assert_eq!(scrubbed, *picture, "nothing is unsafe in here");
        changes.into_iter().map(|(x, y)| (x, y, &picture[(x, y)])).collect()
    }

    /// What a terminal shows that follows the changes: text by column, a wide character's second half empty.
    fn terminal(pictures: &[&Buffer]) -> Vec<(String, Style)> {
        let mut shown = Shown::default();
        shown.clear(AREA);
        let mut screen = vec![(" ".to_owned(), Style::reset().fg(Color::Reset)); 36];
        let blank = Buffer::empty(AREA).content[0].clone();
        screen.fill((blank.symbol().to_owned(), blank.style()));
        for picture in pictures {
            for (x, y, cell) in update(&mut shown, picture) {
                let at = usize::from(y) * 9 + usize::from(x);
                let width = unicode_width::UnicodeWidthStr::width(cell.symbol());
                // Half of a wide character is none.
                if screen[at].0.is_empty() && at % 9 > 0 {
                    screen[at - 1].0 = " ".to_owned();
                }
                let covers = |text: &str| unicode_width::UnicodeWidthStr::width(text) > 1;
                if covers(&screen[at].0) && at % 9 < 8 {
                    screen[at + 1].0 = " ".to_owned();
                }
                if width > 1 && at % 9 < 8 && covers(&screen[at + 1].0) && at % 9 < 7 {
                    screen[at + 2].0 = " ".to_owned();
                }
                screen[at] = (cell.symbol().to_owned(), cell.style());
                if width > 1 && at % 9 < 8 {
                    screen[at + 1] = (String::new(), cell.style());
                }
            }
        }
        screen
    }

    proptest! {
        #[test]
        fn what_was_drawn_is_emptied(old in cells(12), new in cells(12), cleared: bool) {
            let (old, mut new) = (picture(&old), picture(&new));
            let mut shown = shown(&[&old]);
            if cleared {
                shown.clear(AREA);
            }
            update(&mut shown, &new);
            let mut blank = Cell::EMPTY;
            for colour in 0..2 {
                blank.set_style(Style::new().fg(Color::Indexed(colour)));
                let mut picture = new.clone();
                shown.empty(&mut picture, &blank);
                prop_assert!(picture.content.iter().all(|cell| *cell == blank));
            }
            shown.empty(&mut new, &Cell::EMPTY);
            prop_assert!(new.content.iter().all(|cell| *cell == Cell::EMPTY));
        }

        #[test]
        fn what_differs_is_found(old in cells(8), new in cells(8)) {
            let (old, new) = (picture(&old), picture(&new));
            prop_assert_eq!(update(&mut shown(&[&old]), &new), old.diff(&new));
            prop_assert_eq!(update(&mut shown(&[&old, &new]), &new), []);
        }

        #[test]
        fn a_terminal_that_follows_shows_the_same_as_one_that_starts_anew(
            old in cells(12), new in cells(12), kept in 0usize..36
        ) {
            let (mut old, new) = (picture(&old), picture(&new));
            old.content[..kept].clone_from_slice(&new.content[..kept]);
            prop_assert_eq!(terminal(&[&old, &new]), terminal(&[&new]));
        }
    }
}
