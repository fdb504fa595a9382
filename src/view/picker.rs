//! The columns of a table to choose from, over the screen.

use super::overlay::{Line, show};
use crate::app::{App, List, Picker};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::locale::chrome as text;
use topotop_widgets::Charset;
use topotop_widgets::parts::table::ColumnInfo;

/// The list, scrolled to the selected row.
pub(super) fn draw(app: &App, picker: &Picker, columns: &[ColumnInfo], area: Rect, buf: &mut Buffer) {
    let unicode = app.look.charset == Charset::Unicode;
    let line = |(at, column): (usize, &ColumnInfo)| {
        let here = here(at == picker.at, unicode);
        let shown = if picker.sorts {
            ""
        } else if column.shown {
            "[x] "
        } else {
            "[ ] "
        };
        let order = match column.sorted {
            Some(true) => {
                if unicode {
                    "▼"
                } else {
                    "v"
                }
            }
            Some(false) => {
                if unicode {
                    "▲"
                } else {
                    "^"
                }
            }
            None => "",
        };
        Line::new(format!("{here} {shown}{}", &*column.title), order)
    };
    let lines: Vec<Line> = columns.iter().enumerate().map(line).collect();
    let rows = usize::from(area.height.saturating_sub(2)).max(1);
    let list = List { scroll: (picker.at + 1).saturating_sub(rows), ..List::default() };
    let (title, keys) = if picker.sorts {
        (text::PICK_SORT, text::PICK_SORT_KEYS)
    } else {
        (text::PICK_COLUMNS, text::PICK_COLUMNS_KEYS)
    };
    show(app, (&title, &keys), &list, &lines, area, buf);
}

fn here(selected: bool, unicode: bool) -> &'static str {
    match (selected, unicode) {
        (false, _) => " ",
        (true, true) => "▶",
        (true, false) => ">",
    }
}

/// The formats of the view.
pub(super) fn formats(app: &App, selected: usize, area: Rect, buf: &mut Buffer) {
    let unicode = app.look.charset == Charset::Unicode;
    let line = |(at, format): (usize, &crate::export::Format)| {
        Line::new(format!("{} {}", here(at == selected, unicode), format.name), format.about)
    };
    let lines: Vec<Line> = crate::export::ALL.iter().enumerate().map(line).collect();
    show(app, (&text::PICK_FORMAT, &text::PICK_FORMAT_KEYS), &List::default(), &lines, area, buf);
}
