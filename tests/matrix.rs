//! Every screen at every size, for machines of 2 to 1,152 CPUs, in both languages.

use crate::chinese::{broken, chinese};
use crate::screens::{app, drawn};
use ratatui::buffer::Buffer;
use topotop::app::App;
use topotop_model::frame::Frame;
use topotop_model::locale::screen::cgroups;
use topotop_model::locale::{self, Language, Text};
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
        .extend(rows.iter().filter(|row| is_glued(row)).map(|row| format!("values without a blank between: {row:?}")));
    faults.extend(
        rows.iter().filter(|row| is_limit_cut(row)).map(|row| format!("the time to the limit is cut: {row:?}")),
    );
    faults
}

/// True where a value ends within another word: after a percent sign, or after `1.2G`.
fn is_glued(row: &str) -> bool {
    let chars: Vec<char> = row.chars().collect();
    // One character behind a number is a mark, as of the CPUs that threads are pinned to.
    let percent = |part: &[char]| {
        matches!(part, [before, '%', after, next]
            if before.is_ascii_digit() && after.is_ascii_alphanumeric() && !next.is_whitespace())
    };
    let bytes = |part: &[char]| matches!(part, ['.', digit, 'K' | 'M' | 'G' | 'T', after] if digit.is_ascii_digit() && after.is_ascii_digit());
    chars.windows(4).any(|part| percent(part) || bytes(part))
}

/// True where the words before the time to a limit stand without a whole time.
fn is_limit_cut(row: &str) -> bool {
    let words = cgroups::FULL_IN.to_string();
    row.match_indices(&words).any(|(at, _)| {
        let rest = row.get(at + words.len()..).unwrap_or_default();
        let time = rest.split_whitespace().next().unwrap_or_default();
        !rest.starts_with(' ') || !time.chars().any(|c| c.is_ascii_digit()) || time.contains('…')
    })
}

/// The cells of a row that are filled; a wide character fills two.
fn filled(buffer: &Buffer, y: u16) -> Vec<bool> {
    let mut cells = vec![false; usize::from(buffer.area.width)];
    // The first column has the marks of rows.
    for x in 1..buffer.area.width {
        let symbol = buffer[(x, y)].symbol();
        if !symbol.trim().is_empty() {
            cells.iter_mut().skip(usize::from(x)).take(symbol.width().max(1)).for_each(|cell| *cell = true);
        }
    }
    cells
}

/// Where the headings of a table stand in a row: title, first column, the one after the last.
fn headings(titles: &[Text], row: &str) -> Vec<(Text, usize, usize)> {
    let mut from = 0;
    let mut found = Vec::new();
    for title in titles {
        let Some(at) = row.get(from..).and_then(|rest| rest.find(title.as_str())).map(|at| at + from) else { continue };
        let (start, width) = (row.get(..at).unwrap_or_default().width(), title.width());
        found.push((*title, start, start + width));
        from = at + title.len();
    }
    found
}

/// Headings that stand neither where a value of their column begins nor where one ends.
fn misplaced(app: &mut App, buffer: &Buffer) -> Vec<String> {
    let Some(columns) = app.panel().and_then(|(panel, _)| Some(panel.table()?.columns())) else { return Vec::new() };
    let shown = columns.iter().filter(|column| column.shown && column.fits && !column.title.is_empty());
    let titles: Vec<Text> = shown.map(|column| column.title).collect();
    let rows = rows(buffer);
    let heads = rows.iter().enumerate().map(|(y, row)| (y, headings(&titles, row)));
    let Some((y, heads)) = heads.max_by_key(|(y, heads)| (heads.len(), std::cmp::Reverse(*y))) else {
        return Vec::new();
    };
    if heads.len() < 3 {
        return Vec::new();
    }
    let is_row = |row: &&String| !row.trim().is_empty() && !row.contains("──");
    let below = rows.iter().skip(y + 1).take_while(is_row).count();
    let cells: Vec<Vec<bool>> = (y + 1..=y + below).map(|y| filled(buffer, y as u16)).collect();
    let at = |cells: &[bool], x: usize| cells.get(x).copied().unwrap_or_default();
    let is_used = |start: usize, end: usize| cells.iter().any(|row| (start..end).any(|x| at(row, x)));
    let begins = |start: usize| cells.iter().any(|row| at(row, start) && (start == 0 || !at(row, start - 1)));
    // The mark of the order may stand behind the heading of a column of numbers, a mark of its own behind a number.
    let is_end = |row: &[bool], end: usize| end > 0 && at(row, end - 1) && !at(row, end);
    let ends = |end: usize| (end.saturating_sub(1)..=end + 1).any(|end| cells.iter().any(|row| is_end(row, end)));
    // A share that is not full begins one column later.
    let is_over = |start: usize, end: usize| begins(start) || begins(start + 1) || ends(end);
    let wrong = heads.iter().filter(|(_, start, end)| is_used(*start, *end) && !is_over(*start, *end));
    wrong
        .map(|(title, start, _)| {
            format!("{title:?} ({title}) at column {start} stands over no value:\n{}", rows.join("\n"))
        })
        .collect()
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
                let mut faults = faults(&app, &buffer);
                faults.extend(misplaced(&mut app, &buffer));
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

/// The largest screen, where columns have all the room that they want.
#[test]
fn screens_at_300_by_90() {
    let mut pictures = Vec::new();
    for language in [&locale::LANGUAGES[0], chinese()] {
        locale::with(language, || {
            let mut app = app(demo::server(), Charset::Unicode);
            for id in ["overview", "processes"] {
                app.open_screen(id);
                let rows = rows(&drawn(&mut app, (300, 90)));
                let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
                pictures.push(format!("{id}, {}\n{}", language.code, rows.join("\n")));
            }
        });
    }
    insta::assert_snapshot!(pictures.join("\n\n"));
}
