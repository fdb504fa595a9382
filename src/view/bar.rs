//! The recording as a whole, in the rows above the footer.

use crate::app::App;
use crate::source::playback::Playback;
use crate::units;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_widgets::parts::timebar::{self, Place};

/// From this height on, times and marks have a row of their own, and so have findings.
const TALL: u16 = 30;

/// The rows that it takes.
pub(super) fn rows(app: &App) -> u16 {
    match &app.playback {
        None => 0,
        Some(_) if app.area.height < TALL => 1,
        // Findings get a row of their own where there are any.
        Some(_) => 2 + u16::from(!app.shown().timeline.is_empty()),
    }
}

/// Calls with where playing is, its ends labelled.
fn with_place<T>(playback: &Playback, call: impl FnOnce(&Place<'_>) -> T) -> T {
    let [start, end] = [playback.first, playback.last].map(|when| {
        let format = if playback.is_of_one_day() { units::time_of_day } else { units::day_and_minute };
        format(when.wall_ns)
    });
    call(&Place { sample: playback.sample, span: playback.span, start: &start, end: &end })
}

pub(super) fn draw(app: &App, area: Rect, buf: &mut Buffer) {
    if let Some(playback) = &app.playback {
        with_place(playback, |place| timebar::draw(&app.cx(), &playback.bar, place, area, buf));
    }
}

/// The sample at a place of the terminal; `anywhere` takes any row for the line's.
pub fn sample_at(app: &App, column: u16, row: u16, anywhere: bool) -> Option<u64> {
    let area = super::layout(app)?.bar;
    let playback = app.playback.as_ref()?;
    if !anywhere && !(area.top()..area.bottom()).contains(&row) {
        return None;
    }
    Some(with_place(playback, |place| playback.bar.sample_at(area, place, column)))
}
