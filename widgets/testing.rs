//! What widget tests share.

use crate::{Action, Charset, Cx, Panel, Theme, demo};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::fix::Surroundings;
use topotop_model::frame::Frame;
use topotop_model::history::History;
use topotop_model::judge::{Judgement, Settings, Timeline};

/// Calls with a context over a frame.
pub(crate) fn with_cx<R>(frame: &Frame, charset: Charset, call: impl FnOnce(&Cx<'_>) -> R) -> R {
    let theme = Theme::default_theme();
    let history = History::default();
    let (timeline, settings) = (Timeline::default(), Settings::default());
    let judgement = settled(frame, &Judgement::default());
    call(&Cx {
        frame,
        history: &history,
        judgement: &judgement,
        timeline: &timeline,
        marks: &[],
        settings: &settings,
        surroundings: &Surroundings::default(),
        theme: &theme,
        charset,
        zone: &jiff::tz::TimeZone::UTC,
        selected: None,
        filter: "",
    })
}

/// Calls with a context over a frame and what was found in it.
pub(crate) fn judged<R>(frame: &Frame, judgement: &Judgement, charset: Charset, call: impl FnOnce(&Cx<'_>) -> R) -> R {
    let judgement = settled(frame, judgement);
    with_cx(frame, charset, |cx| call(&Cx { judgement: &judgement, ..*cx }))
}

/// The same with what limits the machine.
pub(crate) fn settled(frame: &Frame, judgement: &Judgement) -> Judgement {
    let (resources, bottleneck) = topotop_model::bottleneck::settled(frame, &judgement.findings, &Settings::default());
    Judgement { resources, bottleneck, ..judgement.clone() }
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
    let small = [(0, 0), (1, 1), (7, 3), (24, 9), (80, 22)];
    let sizes = [(80, 22), (120, 38), (200, 58)];
    let machines: [(Frame, &[(u16, u16)]); 6] = [
        (demo::server(), &sizes),
        (demo::hostile(), &small),
        (demo::tiny(), &small),
        (demo::blind(), &sizes),
        (Frame::default(), &small),
        (demo::wide(), &[(120, 38)]),
    ];
    for (frame, sizes) in &machines {
        for &(width, height) in *sizes {
            for charset in [Charset::Unicode, Charset::Ascii] {
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
        Action::Commands,
        Action::Home,
        Action::Close,
        Action::Fold,
        Action::Mode,
        Action::Open,
        Action::Up,
        Action::Wheel { rows: 3, column: 12, row: 4 },
        Action::Wheel { rows: -30, column: 12, row: 4 },
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

/// A panel's text after the four minutes of the server, for snapshots.
pub(crate) fn over_time(panel: &mut dyn Panel, size: (u16, u16), actions: &[Action]) -> String {
    let (frame, history) = (demo::server(), demo::history());
    with_cx(&frame, Charset::Unicode, |cx| {
        let cx = Cx { history: &history, ..*cx };
        drawn(panel, &cx, size.0, size.1);
        for action in actions {
            panel.act(*action, &cx);
        }
        text(&drawn(panel, &cx, size.0, size.1))
    })
}

/// A panel's text after some actions, for snapshots.
pub(crate) fn picture(panel: &mut dyn Panel, frame: &Frame, size: (u16, u16), actions: &[Action]) -> String {
    with_cx(frame, Charset::Unicode, |cx| {
        drawn(panel, cx, size.0, size.1);
        for &action in actions {
            panel.act(action, cx);
            drawn(panel, cx, size.0, size.1);
        }
        text(&drawn(panel, cx, size.0, size.1))
    })
}

/// The text of a condensed list.
pub(crate) fn list(draw: fn(&Cx<'_>, Rect, &mut Buffer), frame: &Frame, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    with_cx(frame, Charset::Unicode, |cx| draw(cx, area, &mut buf));
    text(&buf)
}

/// The style of the first cell of a text on the screen.
pub(crate) fn style_of(buf: &Buffer, needle: &str) -> Option<ratatui::style::Style> {
    for y in buf.area.top()..buf.area.bottom() {
        for x in buf.area.left()..buf.area.right() {
            let here = (x..buf.area.right()).zip(needle.chars());
            if here.clone().count() == needle.chars().count()
                && here.clone().all(|(x, c)| buf[(x, y)].symbol().chars().eq([c]))
            {
                return Some(buf[(x, y)].style());
            }
        }
    }
    None
}
