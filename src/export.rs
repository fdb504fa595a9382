//! What `snapshot` writes: the frame as data, or the screen itself drawn to a buffer.
//!
//! One file per format, each listed once in [`ALL`].

mod ansi;
pub(crate) mod csv;
mod html;
pub mod json;
pub mod openmetrics;
mod paint;
mod svg;
mod text;

use crate::theme;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::io::{self, Write};
use topotop_model::fix::Surroundings;
use topotop_model::frame::Frame;
use topotop_model::judge::{Judgement, Settings};
use topotop_model::locale::{Text, chrome};
use topotop_model::text::printable;
use topotop_widgets::themes::Depth;

/// Options of a writer of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Keep only so many processes and control groups, the biggest; all of them when none.
    pub top: Option<usize>,
    /// Break lines and indent, for people.
    pub pretty: bool,
    /// The judgement, if the frame was judged.
    pub judgement: Option<&'a Judgement>,
    /// Settings of the judge; the rules' own thresholds when none.
    pub settings: Option<&'a Settings>,
    /// Surroundings of the machine that restrict fixes.
    pub surroundings: Option<&'a Surroundings>,
}

/// A screen drawn to a buffer.
#[derive(Debug)]
pub struct Picture {
    /// The cells.
    pub buffer: Buffer,
    /// Default colours of text and background, as `#rrggbb`.
    pub colours: (String, String),
    /// Title in one line.
    pub title: String,
}

/// How a format is written.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// From the frame.
    Data(fn(&Frame, &Options<'_>, &mut dyn Write) -> io::Result<()>),
    /// From the screen.
    Screen(fn(&Picture, &mut dyn Write) -> io::Result<()>),
}

/// A format of `snapshot`.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Extensions of files that have it.
    pub extensions: &'static [&'static str],
    /// What it holds.
    pub about: Text,
    /// True if terminals show it: the terminal's colours and characters apply.
    pub terminal: bool,
    /// How it is written.
    pub writer: Writer,
}

/// Every format.
pub const ALL: &[Format] = &[
    Format {
        name: "json",
        extensions: &["json"],
        about: chrome::FORMAT_JSON,
        terminal: false,
        writer: Writer::Data(json::write),
    },
    Format {
        name: "text",
        extensions: &["txt", "text"],
        about: chrome::FORMAT_TEXT,
        terminal: true,
        writer: Writer::Screen(text::write),
    },
    Format {
        name: "ansi",
        extensions: &["ansi", "ans"],
        about: chrome::FORMAT_ANSI,
        terminal: true,
        writer: Writer::Screen(ansi::write),
    },
    Format {
        name: "svg",
        extensions: &["svg"],
        about: chrome::FORMAT_SVG,
        terminal: false,
        writer: Writer::Screen(svg::write),
    },
    Format {
        name: "html",
        extensions: &["html", "htm"],
        about: chrome::FORMAT_HTML,
        terminal: false,
        writer: Writer::Screen(html::write),
    },
];

/// The format of a name.
pub fn named(name: &str) -> Option<&'static Format> {
    ALL.iter().find(|format| format.name == name)
}

/// The format of a file's extension.
pub fn of_extension(extension: &str) -> Option<&'static Format> {
    ALL.iter().find(|format| format.extensions.contains(&extension))
}

/// The app's screen as a picture.
pub fn picture(app: &mut crate::app::App, width: u16, height: u16) -> Picture {
    app.area = Rect::new(0, 0, width, height);
    crate::view::arrange(app);
    let mut buffer = Buffer::empty(app.area);
    crate::view::draw(app, &mut buffer);
    let base = app.look.theme.style(topotop_widgets::Role::Text);
    let host = app.shown().frame.host.name.to_string();
    Picture { buffer, colours: paint::base(base), title: format!("topotop {host}").trim_end().to_owned() }
}

/// The app's screen or its data in a format.
pub fn write(
    app: &mut crate::app::App,
    format: &Format,
    (top, pretty): (Option<usize>, bool),
    (width, height): (u16, u16),
    out: &mut dyn Write,
) -> io::Result<()> {
    let write = match format.writer {
        Writer::Screen(write) => {
            // Where no colour tells them apart, kinds of time have a sign each.
            let plain = Some("mono")
                .filter(|_| format.name == "text")
                .and_then(|name| theme::load(Some(name), Depth::None).ok());
            let coloured = plain.map(|plain| std::mem::replace(&mut app.look.theme, plain));
            let picture = picture(app, width, height);
            app.look.theme = coloured.unwrap_or_else(|| app.look.theme.clone());
            return write(&picture, out);
        }
        Writer::Data(write) => write,
    };
    let sample = app.shown();
    let mut frame = (*sample.frame).clone();
    sample.history.put_forecasts(&mut frame);
    let (judgement, settings) = (Some(&*sample.judgement), Some(&app.status.judging));
    write(&frame, &Options { top, pretty, judgement, settings, surroundings: Some(&app.status.surroundings) }, out)
}

/// Runs of cells with one style in a row, as (first column, columns, text, style).
fn runs(buffer: &Buffer, y: u16) -> Vec<(u16, u16, String, ratatui::style::Style)> {
    let mut runs: Vec<(u16, u16, String, ratatui::style::Style)> = Vec::new();
    let mut x = buffer.area.left();
    while x < buffer.area.right() {
        let Some(cell) = buffer.cell((x, y)) else { break };
        // The second half of a wide character is not a cell of its own.
        let width = (unicode_width::UnicodeWidthStr::width(cell.symbol()) as u16).max(1);
        match runs.last_mut() {
            Some(run) if run.3 == cell.style() => {
                run.1 += width;
                run.2.push_str(cell.symbol());
            }
            _ => runs.push((x, width, cell.symbol().to_owned(), cell.style())),
        }
        x += width;
    }
    runs
}

/// Text for XML and HTML: escapes control and bidi characters; characters that XML forbids become a question mark.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{ALL, Picture, Writer, escape, of_extension, picture};
    use crate::app::{App, Look, Status};
    use crate::keymap::Keymap;
    use crate::source::Sample;
    use std::sync::Arc;
    use topotop_widgets::{Charset, Theme};

    fn server() -> Picture {
        let look = Look { theme: Theme::default_theme(), charset: Charset::Unicode, mouse: false };
        let mut app = App::new(Keymap::default(), look, Status::default());
        app.newest = Sample { frame: Arc::new(topotop_model::testkit::server()), ..Sample::default() };
        picture(&mut app, 100, 30)
    }

    fn written(name: &str) -> String {
        let Writer::Screen(write) = super::named(name).unwrap().writer else { panic!("{name} is no screen") };
        let mut out = Vec::new();
        write(&server(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_and_extensions_are_there_once() {
        for format in ALL {
            for extension in format.extensions {
                assert_eq!(of_extension(extension).unwrap().name, format.name);
            }
        }
    }

    #[test]
    fn the_same_picture_gives_the_same_bytes() {
        for name in ["text", "ansi", "svg", "html"] {
            assert_eq!(written(name), written(name), "{name}");
            assert!(written(name).contains("topotop"), "{name}");
        }
    }

    #[test]
    fn text_is_thirty_lines_without_trailing_blanks() {
        let text = written("text");
        assert_eq!(text.lines().count(), 30);
        assert!(text.lines().all(|line| line == line.trim_end()));
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn ansi_holds_nothing_but_colours() {
        let ansi = written("ansi");
        for sequence in ansi.split('\u{1b}').skip(1) {
            let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap();
            assert!(sequence.starts_with('[') && &sequence[end..=end] == "m", "{sequence:?}");
        }
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a&\"b\">\u{1b}\u{202e}\u{ffff}'"), "&lt;a&amp;&quot;b&quot;&gt;\\x1b\\u{202e}?&#39;");
    }
}
