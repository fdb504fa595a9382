//! The columns of a table to choose from, over the screen.

use super::overlay::{Line, Listing};
use crate::app::{App, List, Picker};
use ratatui::layout::Rect;
use topotop_model::locale::chrome as text;
use topotop_widgets::Charset;
use topotop_widgets::parts::table::ColumnInfo;

/// The list, scrolled to the selected row.
pub(super) fn columns(app: &App, picker: &Picker, area: Rect) -> Listing {
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
            None if !picker.sorts && !column.fits => text::NO_ROOM.as_str(),
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
    let lines: Vec<Line> = app.columns.iter().enumerate().map(line).collect();
    let rows = usize::from(area.height.saturating_sub(2)).max(1);
    let list = List { scroll: (picker.at + 1).saturating_sub(rows), ..List::default() };
    let titles = if picker.sorts {
        (text::PICK_SORT, text::PICK_SORT_KEYS)
    } else {
        (text::PICK_COLUMNS, text::PICK_COLUMNS_KEYS)
    };
    Listing { titles, list, lines }
}

fn here(selected: bool, unicode: bool) -> &'static str {
    match (selected, unicode) {
        (false, _) => " ",
        (true, true) => "▶",
        (true, false) => ">",
    }
}

/// The formats of the view.
pub(super) fn formats(app: &App, selected: usize) -> Listing {
    let unicode = app.look.charset == Charset::Unicode;
    let line = |(at, format): (usize, &crate::export::Format)| {
        Line::new(format!("{} {}", here(at == selected, unicode), format.name), format.about)
    };
    let lines: Vec<Line> = crate::export::ALL.iter().enumerate().map(line).collect();
    Listing { titles: (text::PICK_FORMAT, text::PICK_FORMAT_KEYS), list: List::default(), lines }
}
