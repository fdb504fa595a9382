//! What differs between two pictures: most rows do not, and most cells are one column wide.

use ratatui::buffer::{Buffer, Cell};
use unicode_width::UnicodeWidthStr as _;

/// The cells of `next` that differ from those of `shown`, which has the same area: what [`Buffer::diff`] gives, sooner.
pub(super) fn changes<'a>(shown: &Buffer, next: &'a Buffer) -> Vec<(u16, u16, &'a Cell)> {
    let area = next.area;
    let width = usize::from(area.width.max(1));
    let mut changes = Vec::new();
    for ((old, new), y) in shown.content.chunks(width).zip(next.content.chunks(width)).zip(area.y..) {
        let pairs = || old.iter().zip(new);
        let Some(first) = pairs().position(|(old, new)| !same(old, new)) else { continue };
        if !old.iter().chain(new).all(is_narrow) {
            // What a wide character covers is not simply drawn over.
            return shown.diff(next);
        }
        let from = area.x + first as u16;
        let differing = pairs().skip(first).zip(from..).filter(|((old, new), _)| !same(old, new));
        changes.extend(differing.map(|((_, new), x)| (x, y, new)));
    }
    changes
}

/// Equality of cells, with the usual symbols compared without a call.
#[inline]
fn same(old: &Cell, new: &Cell) -> bool {
    let symbols = match (old.symbol().as_bytes(), new.symbol().as_bytes()) {
        ([old], [new]) => old == new,
        (&[first, second, third], new) => *new == [first, second, third],
        (old, new) => old == new,
    };
    symbols
        && old.fg == new.fg
        && old.bg == new.bg
        && old.modifier == new.modifier
        && old.underline_color == new.underline_color
        && old.diff_option == new.diff_option
}

/// True for a cell that takes one column.
fn is_narrow(cell: &Cell) -> bool {
    let symbol = cell.symbol();
    // Lines, blocks and dots are what there is besides ASCII.
    symbol.len() == 1 || matches!(symbol.as_bytes(), [0xe2, 0x94..=0x96 | 0xa0..=0xa3, _]) || symbol.width() == 1
}

#[cfg(test)]
mod tests {
    use super::changes;
    use proptest::prelude::*;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;
    use ratatui::style::{Color, Modifier, Style};

    const SYMBOLS: [&str; 12] = [" ", "a", "b", "é", "█", "─", "▪", "⣿", "名", "⌚", "a\u{301}", "⚠\u{fe0f}"];

    fn picture(cells: &[(usize, u8, bool)]) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 9, 4));
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

    proptest! {
        #[test]
        fn what_differs_is_found(old in cells(8), new in cells(8)) {
            let (old, new) = (picture(&old), picture(&new));
            prop_assert_eq!(changes(&old, &new), old.diff(&new));
            prop_assert_eq!(changes(&new, &new), []);
        }

        #[test]
        fn wide_characters_are_left_whole(old in cells(12), new in cells(12), kept in 0usize..36) {
            let (mut old, new) = (picture(&old), picture(&new));
            old.content[..kept].clone_from_slice(&new.content[..kept]);
            prop_assert_eq!(changes(&old, &new), old.diff(&new));
        }
    }
}
