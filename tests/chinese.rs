//! Screens in Chinese, whose characters take two columns.

use crate::screens::{app, drawn, text};
use ratatui::buffer::Buffer;
use topotop::app::App;
use topotop::app::Modal;
use topotop_model::frame::Frame;
use topotop_model::locale::{self, Language};
use topotop_model::testkit as demo;
use topotop_widgets::{Action, Charset};
use unicode_width::UnicodeWidthStr as _;

pub(crate) fn chinese() -> &'static Language {
    locale::LANGUAGES.iter().find(|language| language.code == "zh-CN").expect("a catalogue")
}

/// Calls with every screen of a machine, in the list and with the selected row open.
fn screens(frame: Frame, charset: Charset, mut check: impl FnMut(&mut App, &str)) {
    locale::with(chinese(), || {
        let mut app = app(frame, charset);
        for screen in 0..app.panels.len() {
            app.screen = screen;
            let id = app.panels[screen].id();
            check(&mut app, id);
            app.command(topotop::action::Command::Panel(Action::Open));
            check(&mut app, &format!("{id}, opened"));
            app.command(topotop::action::Command::Back);
        }
        app.screen = 0;
        app.command(topotop::action::Command::Help);
        check(&mut app, "help");
        app.modal = Modal::None;
    });
}

/// Places where a wide character reaches past the screen or something was written over its second half.
pub(crate) fn broken(buffer: &Buffer) -> Vec<(u16, u16)> {
    let area = buffer.area;
    let places = (area.top()..area.bottom()).flat_map(|y| (area.left()..area.right()).map(move |x| (x, y)));
    let is_broken = |&(x, y): &(u16, u16)| {
        let next = buffer.cell((x + 1, y));
        buffer[(x, y)].symbol().width() > 1 && next.is_none_or(|cell| !cell.symbol().trim().is_empty())
    };
    places.filter(is_broken).collect()
}

#[test]
fn no_character_is_written_over_another() {
    let mut found = Vec::new();
    for frame in [demo::server(), demo::tiny(), demo::wide(), demo::blind(), Frame::default()] {
        for charset in [Charset::Unicode, Charset::Ascii] {
            screens(frame.clone(), charset, |app, what| {
                for size in [(60, 15), (80, 24), (120, 40), (200, 60), (300, 90)] {
                    let places = broken(&drawn(app, size));
                    if !places.is_empty() {
                        found.push(format!("{what} at {size:?}: {places:?}\n{}", text(app, size)));
                    }
                }
            });
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn screens_at_80_by_24() {
    insta::assert_snapshot!(pictures((80, 24)));
}

#[test]
fn screens_at_120_by_40() {
    insta::assert_snapshot!(pictures((120, 40)));
}

#[test]
fn screens_at_200_by_60() {
    insta::assert_snapshot!(pictures((200, 60)));
}

fn pictures(size: (u16, u16)) -> String {
    let mut out = String::new();
    screens(demo::server(), Charset::Unicode, |app, what| {
        let text = text(app, size);
        out.extend(["== ", what, "\n", &text, "\n"]);
    });
    out
}
