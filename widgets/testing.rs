//! What widget tests share.

use crate::{Charset, Cx, Panel, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::frame::Frame;
use topotop_model::history::History;

/// Calls with a context over a frame.
pub(crate) fn with_cx<R>(frame: &Frame, charset: Charset, call: impl FnOnce(&Cx<'_>) -> R) -> R {
    let theme = Theme::default_theme();
    let history = History::default();
    call(&Cx { frame, history: &history, theme: &theme, charset, selected: None, filter: "" })
}

/// A panel's picture.
pub(crate) fn drawn(panel: &mut dyn Panel, cx: &Cx<'_>, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    panel.arrange(cx, area);
    panel.draw(cx, area, &mut buf);
    buf
}

/// The text of a row without trailing blanks; the second half of wide characters is left out.
pub(crate) fn row(buf: &Buffer, y: u16) -> String {
    let mut text = String::new();
    let mut x = buf.area.left();
    while x < buf.area.right() {
        let symbol = buf[(x, y)].symbol();
        text.push_str(symbol);
        x += (unicode_width::UnicodeWidthStr::width(symbol) as u16).max(1);
    }
    text.trim_end().to_owned()
}

/// All rows.
pub(crate) fn text(buf: &Buffer) -> String {
    (buf.area.top()..buf.area.bottom()).map(|y| row(buf, y) + "\n").collect()
}
