//! Every screen at every size, for machines of 2 to 1,152 CPUs, in both languages.

use crate::chinese::{broken, chinese};
use crate::screens::{app, drawn};
use ratatui::buffer::Buffer;
use topotop::app::App;
use topotop_model::frame::Frame;
use topotop_model::locale::{self, Language};
use topotop_model::testkit as demo;
use topotop_widgets::{Action, Charset};
use unicode_width::UnicodeWidthStr as _;

const SIZES: [(u16, u16); 5] = [(60, 16), (80, 24), (120, 40), (200, 60), (300, 90)];

/// The rows of a picture, without the second halves of wide characters.
fn rows(buffer: &Buffer) -> Vec<String> {
    let row = |y| {
        let (mut text, mut x) = (String::new(), buffer.area.left());
        while x < buffer.area.right() {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            x += symbol.width().max(1) as u16;
        }
        text
    };
    (buffer.area.top()..buffer.area.bottom()).map(row).collect()
}

/// What is wrong with a picture.
fn faults(app: &App, buffer: &Buffer) -> Vec<String> {
    let (width, rows) = (usize::from(buffer.area.width), rows(buffer));
    let mut faults: Vec<String> = broken(buffer).iter().map(|place| format!("half a character at {place:?}")).collect();
    let bottleneck = &app.shown().judgement.bottleneck;
    // What stands beside the answer is left out where there is no room for it.
    let headline = Some(bottleneck.headline()).filter(|whole| whole.width() + 3 <= width);
    let headline = headline.unwrap_or_else(|| bottleneck.short_headline());
    let answer = rows.get(1).map(String::as_str).unwrap_or_default();
    let said: String = answer.trim_start().chars().skip(2).collect();
    let is_whole = said.starts_with(&headline);
    let is_cut = said.trim_end().strip_suffix('…').is_some_and(|start| headline.starts_with(start));
    if !(is_whole || is_cut && headline.width() + 4 > width) {
        faults.push(format!("the answer is {headline:?}, its line {answer:?}"));
    }
    let footer = rows.last().map(String::as_str).unwrap_or_default();
    let missing = (1..=app.panels.len()).filter(|number| !footer.contains(&format!(" {number}")));
    faults.extend(missing.map(|number| format!("no tab {number}: {footer:?}")));
    if !footer.contains('?') {
        faults.push(format!("no key for help: {footer:?}"));
    }
    // An empty screen has a title and, at most, a line that says why.
    let filled = rows.iter().filter(|row| !row.trim().is_empty()).count();
    if filled < 6 {
        faults.push(format!("{filled} rows with text"));
    }
    faults
}

/// The faults of every screen of a machine at every size, as lists and with the selected row open.
fn faults_of(frame: Frame, cpus: usize) -> Vec<String> {
    let mut app = app(frame, Charset::Unicode);
    let mut found = Vec::new();
    for screen in 0..app.panels.len() {
        app.screen = screen;
        let id = app.panels[screen].id();
        for opened in [false, true] {
            if opened {
                app.command(topotop::action::Command::Panel(Action::Open));
                // On a screen that opens nothing the footer says so for a while.
                app.notice = None;
            }
            for size in SIZES {
                let buffer = drawn(&mut app, size);
                let faults = faults(&app, &buffer);
                found.extend(
                    faults.iter().map(|fault| format!("{id}, {cpus} CPUs at {size:?}, opened {opened}: {fault}")),
                );
            }
        }
        app.command(topotop::action::Command::Back);
        app.screen = screen;
    }
    found
}

fn machines(language: &'static Language) -> Vec<String> {
    let machines = [(2, demo::tiny()), (64, demo::server()), (256, demo::large()), (1_152, demo::widest())];
    let of = |(cpus, frame): (usize, Frame)| {
        assert_eq!(frame.cpus.len(), cpus);
        faults_of(frame, cpus)
    };
    locale::with(language, || machines.into_iter().flat_map(of).collect())
}

#[test]
fn screens_are_whole_in_english() {
    let found = machines(&locale::LANGUAGES[0]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn screens_are_whole_in_chinese() {
    let found = machines(chinese());
    assert!(found.is_empty(), "{}", found.join("\n"));
}
