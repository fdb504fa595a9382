//! The picture: title, panel, footer and what lies over them. Panels draw themselves.

mod bar;
mod chrome;
mod overlay;
mod palette;
mod picker;

pub use bar::sample_at;
pub use chrome::{hint_at, is_findings, tab_at};
pub use overlay::{Spot, spot_at};

use crate::app::App;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;
use topotop_model::locale::chrome as text;
use topotop_model::text::printable;
use topotop_widgets::{Charset, Role};

/// The smallest terminal that anything is drawn on.
const SMALLEST: (u16, u16) = (40, 8);

/// Where things are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The title line.
    pub title: Rect,
    /// What limits the machine.
    pub answer: Rect,
    /// The panel.
    pub body: Rect,
    /// The worst finding; without rows on screens that tell of findings themselves.
    pub findings: Rect,
    /// The recording as a whole; without rows where there is none.
    pub bar: Rect,
    /// Tabs and hints.
    pub footer: Rect,
}

/// The layout of the app's area; none if it is too small.
pub fn layout(app: &App) -> Option<Layout> {
    let area = app.area;
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return None;
    }
    let rows = |y, height| Rect::new(area.x, y, area.width, height);
    let (bar, findings, answer) = (bar::rows(app), chrome::findings_rows(app), chrome::answer_rows(app));
    let body = area.height - 2 - bar - findings - answer;
    let top = area.y + 1 + answer;
    Some(Layout {
        title: rows(area.y, 1),
        answer: rows(area.y + 1, answer),
        body: rows(top, body),
        findings: rows(top + body, findings),
        bar: rows(top + body + findings, bar),
        footer: rows(area.bottom() - 1, 1),
    })
}

/// Prepares the panel on the screen for its area.
pub fn arrange(app: &mut App) {
    let Some(layout) = layout(app) else { return };
    overlay::arrange(app, layout.body);
    let ready = app.newest.is_there();
    if let Some((panel, cx)) = app.panel().filter(|_| ready) {
        panel.arrange(&cx, layout.body);
    }
}

/// Draws everything into a buffer of the app's area, over whatever it holds.
pub fn draw(app: &App, buf: &mut Buffer) {
    buf.content.fill(blank(app));
    draw_over(app, buf);
    for cell in &mut buf.content {
        scrub(app.look.charset, cell);
    }
}

/// What a cell holds that nothing is drawn on.
pub fn blank(app: &App) -> Cell {
    let mut cell = Cell::EMPTY;
    cell.set_style(app.look.theme.style(Role::Text));
    cell
}

/// Draws everything into a buffer of blank cells; what comes of it still has to be scrubbed.
pub fn draw_over(app: &App, buf: &mut Buffer) {
    let area = app.area.intersection(buf.area);
    match layout(app) {
        None => too_small(app, area, buf),
        Some(layout) => {
            chrome::title(app, layout.title, buf);
            chrome::answer(app, layout.answer, buf);
            body(app, layout.body, buf);
            chrome::findings(app, layout.findings, buf);
            bar::draw(app, layout.bar, buf);
            chrome::footer(app, layout.footer, buf);
            overlay::draw(app, layout.body, buf);
        }
    }
}

fn body(app: &App, area: Rect, buf: &mut Buffer) {
    let sample = app.shown();
    if !sample.is_there() {
        let style = app.look.theme.style(Role::Dim);
        buf.set_stringn(area.x + 1, area.y, text::FIRST_SAMPLE.as_str(), usize::from(area.width) - 1, style);
        return;
    }
    if let Some(panel) = app.panels.get(app.screen) {
        panel.draw(&app.cx(), area, buf);
    }
}

fn too_small(app: &App, area: Rect, buf: &mut Buffer) {
    let style = app.look.theme.style(Role::Warn);
    let text = text::TooSmall {
        size: &format_args!("{}×{}", area.width, area.height),
        least: &format_args!("{}×{}", SMALLEST.0, SMALLEST.1),
    }
    .to_string();
    // On a terminal one column wide the words still come out, one below the other.
    let width = usize::from(area.width.max(1));
    let chars: Vec<char> = text.chars().collect();
    for (line, y) in chars.chunks(width).zip(area.y..area.bottom()) {
        write(buf, (area.x, y), area.right(), &line.iter().collect::<String>(), style);
    }
}

/// Writes text up to a column; gives the column after it. What would steer the terminal is spelled out.
fn write(buf: &mut Buffer, at: (u16, u16), end: u16, text: &str, style: Style) -> u16 {
    let (x, y) = at;
    let inside = buf.area.y <= y && y < buf.area.bottom();
    if x >= end || !inside {
        return x;
    }
    buf.set_stringn(x, y, printable(text), usize::from(end - x), style).0
}

/// The last door: no cell leaves with anything that a terminal would obey, or cannot show.
#[inline]
pub fn scrub(charset: Charset, cell: &mut Cell) {
    let symbol = cell.symbol();
    // Blanks, letters, digits: most of every picture; then lines, blocks and dots.
    match *symbol.as_bytes() {
        [b' '..=b'~'] => return,
        [0xe2, 0x94..=0x96 | 0xa0..=0xa3, _] if charset == Charset::Unicode => return,
        _ => {}
    }
    let unsafe_for_all = matches!(printable(symbol), std::borrow::Cow::Owned(_));
    if unsafe_for_all || (charset == Charset::Ascii && !symbol.is_ascii() && !is_text(symbol)) {
        let plain = plain(symbol);
        cell.set_symbol(plain);
    }
}

/// True for a character of the language on the screen that is as wide on every terminal: whoever asks for a language
/// has its characters.
fn is_text(symbol: &str) -> bool {
    use unicode_width::UnicodeWidthStr as _;
    !topotop_model::locale::is_english() && symbol.width() == symbol.width_cjk()
}

/// What stands in ASCII for punctuation.
fn plain(symbol: &str) -> &'static str {
    match symbol {
        "“" | "”" => "\"",
        "‘" | "’" => "'",
        "—" | "–" => "-",
        "…" | "·" => ".",
        "×" => "x",
        "µ" => "u",
        "→" => ">",
        "←" => "<",
        _ => "?",
    }
}
