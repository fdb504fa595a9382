//! Drawing that panels share: no panel logic in here.

pub mod bar;
pub mod browser;
pub mod chart;
pub mod extents;
pub mod gaps;
pub mod grid;
pub mod heat;
pub mod legend;
pub mod machine;
pub mod mark;
pub mod names;
pub mod number;
pub mod pane;
pub mod panel;
mod pen;
pub mod related;
pub mod severity;
pub mod spark;
pub mod split;
pub mod table;
pub mod timebar;
pub mod units;

pub use pen::Pen;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;

/// Blanks a place for something drawn over it, with the first half of a wide character that reaches into it.
pub fn clear(place: Rect, buf: &mut Buffer) {
    ratatui::widgets::Clear.render(place, buf);
    let Some(beside) = place.x.checked_sub(1) else { return };
    for y in place.top()..place.bottom() {
        if let Some(cell) = buf.cell_mut((beside, y)).filter(|cell| names::width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
}
