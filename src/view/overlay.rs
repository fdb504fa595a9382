//! The list of keys that lies over the screen.

use super::write;
use crate::action::{Command, Group, TABLE};
use crate::app::{App, List, Modal, Picker};
use crate::keymap::Key;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::{Text, help, legend};
use topotop_widgets::parts::legend::COMMON;
use topotop_widgets::{Action, Charset, Cx, Panel, Role, fix};
use unicode_width::UnicodeWidthStr as _;

/// A line of a list: left, right, whether it is a heading, and how its left looks where that is not a key.
pub(super) struct Line {
    left: String,
    right: String,
    heading: bool,
    role: Option<Role>,
    /// What a click on it does, besides selecting it.
    command: Option<Command>,
}

/// A list over the screen.
pub(super) struct Listing {
    /// Its title and the keys of it.
    pub(super) titles: (Text, Text),
    pub(super) list: List,
    pub(super) lines: Vec<Line>,
}

impl Line {
    pub(super) fn new(left: impl Into<String>, right: impl Into<String>) -> Self {
        Self { left: left.into(), right: right.into(), heading: false, role: None, command: None }
    }

    fn heading(text: &str) -> Self {
        Self { left: text.to_owned(), right: String::new(), heading: true, role: None, command: None }
    }

    fn holds(&self, query: &str) -> bool {
        let holds = |text: &str| text.to_lowercase().contains(query);
        !self.heading && (holds(&self.left) || holds(&self.right))
    }
}

/// A key as people know it.
pub(super) fn label(key: Key, charset: Charset) -> String {
    let text = key.to_string();
    let arrow = match (charset, text.as_str()) {
        (Charset::Unicode, "left") => "←",
        (Charset::Unicode, "right") => "→",
        (Charset::Unicode, "up") => "↑",
        (Charset::Unicode, "down") => "↓",
        (_, "pgup") => "PgUp",
        (_, "pgdn") => "PgDn",
        _ => return text,
    };
    arrow.to_owned()
}

/// Draws what lies over the body.
pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    if let Some(listing) = listing(app, area) {
        return show(app, &listing, area, buf);
    }
    if let (Modal::Fix, Some(dialog)) = (&app.modal, &app.fixing) {
        fix::draw(&now(app), dialog, &fix_keys(app), area, buf);
    }
}

fn listing(app: &App, area: Rect) -> Option<Listing> {
    Some(match &app.modal {
        Modal::Help(list) => Listing { titles: (help::TITLE, help::SEARCH), list: list.clone(), lines: keys(app) },
        Modal::Pick(picker) => super::picker::columns(app, picker, area),
        Modal::Export(at) => super::picker::formats(app, *at),
        Modal::Palette(palette) => super::palette::listing(app, palette, area),
        _ => return None,
    })
}

/// What is at a place of what lies over the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// Nothing: beside it.
    Beside,
    /// Nothing that can be pressed.
    Idle,
    /// A line of a list of keys.
    Command(Command),
    /// A row of a list.
    Row(usize),
    /// Something in the dialog about a fix.
    Fix(fix::Press),
}

/// What is at a place of the terminal where something lies over the screen; none where nothing does that is drawn.
pub fn spot_at(app: &App, at: (u16, u16)) -> Option<Spot> {
    let area = super::layout(app)?.body;
    if let (Modal::Fix, Some(dialog)) = (&app.modal, &app.fixing) {
        return Some(fix::press(&now(app), dialog, &fix_keys(app), area, at).map_or(Spot::Idle, Spot::Fix));
    }
    let listing = listing(app, area)?;
    let shown = placed(&listing, area);
    if !shown.place.contains(at.into()) {
        return Some(Spot::Beside);
    }
    if !shown.inside.contains(at.into()) {
        return Some(Spot::Idle);
    }
    let row = shown.lines.get(shown.scroll + usize::from(at.1 - shown.inside.y));
    Some(match (row, &app.modal) {
        (Some((_, line)), Modal::Help(_)) => line.command.map_or(Spot::Idle, Spot::Command),
        (Some((row, _)), _) => Spot::Row(*row),
        (None, _) => Spot::Idle,
    })
}

/// Prepares what lies over the body.
pub(super) fn arrange(app: &mut App, area: Rect) {
    match app.modal.clone() {
        Modal::Pick(picker) => app.columns = app.pickable(&picker),
        Modal::Help(_) => app.columns = app.pickable(&Picker { sorts: false, at: 0 }),
        _ => {}
    }
    if app.modal != Modal::Fix {
        return;
    }
    if let Some(mut dialog) = app.fixing.take() {
        fix::arrange(&now(app), &mut dialog, area);
        app.fixing = Some(dialog);
    }
}

/// Fixes are about the machine as it is now, whatever is held on the screen.
fn now(app: &App) -> Cx<'_> {
    let sample = &app.newest;
    Cx { frame: &sample.frame, history: &sample.history, judgement: &sample.judgement, ..app.cx() }
}

/// The keys that the dialog names.
fn fix_keys(app: &App) -> fix::Keys {
    let named = |command| {
        let keys = app.keymap.keys_now(command, app.in_time());
        keys.first().map_or_else(String::new, |key| label(*key, app.look.charset))
    };
    fix::Keys {
        undo: named(Command::Undo),
        keep: named(Command::Keep),
        copy: named(Command::CopySelected),
        set: named(Command::Export),
        page: named(Command::Panel(Action::PageDown)),
    }
}

/// The keys of a command as they are now.
fn keys_of(app: &App, command: Command) -> String {
    let keys = app.keymap.keys_now(command, app.in_time());
    keys.iter().map(|key| label(*key, app.look.charset)).collect::<Vec<_>>().join("  ")
}

/// Keys, marks and columns of this screen; then all keys.
fn keys(app: &App) -> Vec<Line> {
    let mut lines = app.panels.get(app.screen).map_or_else(Vec::new, |panel| of_screen(app, &**panel));
    for group in Group::ALL {
        lines.push(Line::heading(&group.title()));
        for row in TABLE.iter().filter(|row| row.group == group) {
            let help = match row.command {
                Command::Screen(number) => match app.panels.get(usize::from(number) - 1) {
                    Some(panel) => panel.title().to_string(),
                    None => continue,
                },
                _ => row.help.to_string(),
            };
            lines.push(Line { command: Some(row.command), ..Line::new(keys_of(app, row.command), help) });
        }
    }
    lines
}

fn of_screen(app: &App, panel: &dyn Panel) -> Vec<Line> {
    let mut lines = Vec::new();
    if !panel.hints().is_empty() {
        lines.push(Line::heading(&help::ThisScreen { screen: &panel.title() }.to_string()));
        let hint = |(action, word): &(Action, Text)| {
            let command = Command::Panel(*action);
            Line { command: Some(command), ..Line::new(keys_of(app, command), *word) }
        };
        lines.extend(panel.hints().iter().map(hint));
    }
    lines.push(Line::heading(&legend::Title { screen: &panel.title() }.to_string()));
    let ascii = app.look.charset == Charset::Ascii;
    for sign in panel.legend().iter().chain(COMMON) {
        let glyph = if ascii { sign.ascii } else { sign.glyph };
        lines.push(Line { role: Some(sign.role), ..Line::new(glyph, sign.label) });
    }
    let columns: Vec<_> = app.columns.iter().filter_map(|column| Some((column.title, column.help()?))).collect();
    if !columns.is_empty() {
        lines.push(Line::heading(&legend::Columns { screen: &panel.title() }.to_string()));
        lines.extend(columns.into_iter().map(|(head, help)| Line::new(head, help)));
    }
    lines
}

/// Where a list is: its frame, its rows, and the lines that match, with their numbers.
struct Placed<'a> {
    place: Rect,
    inside: Rect,
    lines: Vec<(usize, &'a Line)>,
    left: usize,
    right: usize,
    scroll: usize,
}

fn placed(listing: &Listing, area: Rect) -> Placed<'_> {
    let (list, titles) = (&listing.list, &listing.titles);
    let query = list.query.to_lowercase();
    let matches = |line: &(usize, &Line)| query.is_empty() || line.1.holds(&query);
    let lines: Vec<(usize, &Line)> = listing.lines.iter().enumerate().filter(matches).collect();
    let left = lines.iter().filter(|(_, line)| !line.heading).map(|(_, line)| line.left.width()).max().unwrap_or(0);
    let right = lines.iter().map(|(_, line)| line.right.width()).max().unwrap_or(0);
    let width =
        (left + right + 6).max(44).max(titles.0.width() + titles.1.width() + 9).min(usize::from(area.width)) as u16;
    let height = (lines.len().max(1) as u16).saturating_add(2).min(area.height);
    let place = Rect::new(area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height);
    let inside = Rect::new(place.x + 2, place.y + 1, place.width.saturating_sub(4), place.height.saturating_sub(2));
    let scroll = list.scroll.min(lines.len().saturating_sub(usize::from(inside.height)));
    Placed { place, inside, lines, left, right, scroll }
}

fn show(app: &App, listing: &Listing, area: Rect, buf: &mut Buffer) {
    let Placed { place, inside, lines, left, right, scroll } = placed(listing, area);
    topotop_widgets::parts::clear(place, buf);
    buf.set_style(place, app.look.theme.style(Role::Text));
    frame(app, listing, place, buf);
    let rows = usize::from(inside.height);
    // What stands at the right needs up to half of the box; names get the rest.
    let right = right.min(usize::from(inside.width / 2));
    let names = (left as u16).min(inside.width.saturating_sub(right as u16 + 2));
    for ((_, line), y) in lines.iter().skip(scroll).zip(inside.y..inside.bottom()) {
        let role = line.role.unwrap_or(if line.heading { Role::Title } else { Role::Key });
        let explained = !line.heading && !line.right.is_empty();
        let room = if explained { names } else { inside.width };
        let text = cut(&line.left, room, app.look.charset);
        write(buf, (inside.x, y), inside.right(), &text, app.look.theme.style(role));
        if explained {
            write(buf, (inside.x + names + 2, y), inside.right(), &line.right, app.look.theme.style(Role::Text));
        }
    }
    if lines.is_empty() {
        write(buf, (inside.x, inside.y), inside.right(), &help::NO_MATCH, app.look.theme.style(Role::Dim));
    }
    if scroll + rows < lines.len() {
        let more = format!(" {} ", help::MoreBelow { count: &(lines.len() - scroll - rows) });
        write(buf, (place.x + 2, place.bottom() - 1), place.right() - 1, &more, app.look.theme.style(Role::Dim));
    }
}

/// A text in so many columns, with a mark where it goes on.
fn cut(text: &str, room: u16, charset: Charset) -> std::borrow::Cow<'_, str> {
    if text.width() <= usize::from(room) {
        return text.into();
    }
    let mark = if charset == Charset::Unicode { "…" } else { "~" };
    let start = topotop_widgets::parts::names::clean(text, usize::from(room.saturating_sub(1)));
    format!("{start}{mark}").into()
}

fn frame(app: &App, listing: &Listing, place: Rect, buf: &mut Buffer) {
    let ((title, keys), list) = (&listing.titles, &listing.list);
    let set = match app.look.charset {
        Charset::Unicode => ["┌", "─", "┐", "│", "└", "┘"],
        Charset::Ascii => ["+", "-", "+", "|", "+", "+"],
    };
    let [top_left, line, top_right, side, bottom_left, bottom_right] = set;
    let style = app.look.theme.style(Role::Focus);
    let middle = line.repeat(usize::from(place.width.saturating_sub(2)));
    let top = format!("{top_left}{middle}{top_right}");
    let bottom = format!("{bottom_left}{middle}{bottom_right}");
    write(buf, (place.x, place.y), place.right(), &top, style);
    write(buf, (place.x, place.bottom() - 1), place.right(), &bottom, style);
    for y in place.y + 1..place.bottom() - 1 {
        write(buf, (place.x, y), place.right(), side, style);
        write(buf, (place.right() - 1, y), place.right(), side, style);
    }
    let search = match (list.typing, list.query.is_empty()) {
        (true, _) => format!("/{}_ ", list.query),
        (false, false) => format!("/{} ", list.query),
        (false, true) => format!("{keys} "),
    };
    let x = write(buf, (place.x + 2, place.y), place.right() - 1, &format!(" {title} "), style);
    write(buf, (x + 1, place.y), place.right() - 1, &format!(" {search}"), app.look.theme.style(Role::Dim));
}
