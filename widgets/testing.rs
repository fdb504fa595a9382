//! What widget tests share.

use crate::{Action, Charset, Cx, Panel, Theme, demo};
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

/// Draws a panel over every made-up machine at many sizes after every action, and checks what came out.
pub(crate) fn survives(make: impl Fn() -> Box<dyn Panel>) {
    let machines = [demo::server(), demo::wide(), demo::tiny(), demo::blind(), demo::hostile(), Frame::default()];
    for frame in &machines {
        for charset in [Charset::Unicode, Charset::Ascii] {
            for (width, height) in [(0, 0), (1, 1), (7, 3), (24, 9), (80, 22), (120, 38), (200, 58)] {
                with_cx(frame, charset, |cx| run(&mut *make(), cx, width, height));
            }
        }
    }
}

fn run(panel: &mut dyn Panel, cx: &Cx<'_>, width: u16, height: u16) {
    let actions = [
        Action::Down,
        Action::Open,
        Action::PageDown,
        Action::End,
        Action::Down,
        Action::Mode,
        Action::SortNext,
        Action::SortReverse,
        Action::Idle,
        Action::Home,
        Action::Close,
        Action::Fold,
        Action::Mode,
        Action::Open,
        Action::Up,
        Action::Wheel { rows: 3 },
        Action::Wheel { rows: -30 },
        Action::Click { column: 12, row: 4 },
        Action::Click { column: 12, row: 4 },
        Action::Click { column: 12, row: 1 },
        Action::Close,
        Action::Close,
        Action::SortPrevious,
    ];
    harmless(&drawn(panel, cx, width, height), cx.charset);
    for action in actions {
        panel.act(action, cx);
        harmless(&drawn(panel, cx, width, height), cx.charset);
        let needle = Cx { filter: "b", ..*cx };
        harmless(&drawn(panel, &needle, width, height), cx.charset);
    }
}

/// Nothing in a cell steers a terminal; without Unicode everything is ASCII.
pub(crate) fn harmless(buf: &Buffer, charset: Charset) {
    for cell in buf.content() {
        let symbol = cell.symbol();
        assert_eq!(topotop_model::text::printable(symbol), symbol, "{symbol:?} got through");
        assert!(charset == Charset::Unicode || symbol.is_ascii(), "{symbol:?} is not ASCII");
    }
}
