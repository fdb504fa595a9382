//! What the title says of a recording: whether it plays, how fast, when, and how far into it.

use crate::app::App;
use crate::source::playback::{End, Playback};
use crate::units;
use topotop_model::text::printable;
use topotop_widgets::Role;

/// Playing or not, how fast, and the wall time that is shown.
pub(super) fn clock(playback: &Playback, unicode: bool) -> (String, Role) {
    let mark = |unicode_mark, ascii| if unicode { unicode_mark } else { ascii };
    // Within a day the time alone is what one looks for.
    let format = if playback.is_of_one_day() { units::time_of_day } else { units::date_time };
    let time = format(playback.at.wall_ns);
    if playback.following {
        return match playback.quiet_seconds {
            Some(age) => (format!("{} {time}Z, nothing for {}", mark("●", "*"), units::span(age)), Role::Stale),
            None => (format!("{} {time}Z, at its end", mark("●", "*")), Role::Ok),
        };
    }
    let speed = speed(playback.speed, mark("×", "x"));
    match playback.playing {
        true => (format!("{} {speed} {time}Z", mark("▶", ">")), Role::Replay),
        false if playback.end == End::Over && playback.at == playback.last => {
            (format!("{} {time}Z, the stream has ended", mark("■", "=")), Role::Stale)
        }
        false => (format!("{} {speed} {time}Z", mark("‖", "||")), Role::Replay),
    }
}

fn speed(speed: f64, times: &str) -> String {
    if speed < 1.0 { format!("{speed:.1}{times}") } else { format!("{speed:.0}{times}") }
}

/// How far into the recording, and whether it loops; empty for what is not played.
pub(super) fn position(app: &App) -> String {
    let Some(playback) = &app.playback else { return String::new() };
    let (position, length) = (units::span(playback.position_seconds()), units::span(playback.length_seconds()));
    let looped = if playback.span.1.is_some() { " loop" } else { "" };
    match playback.end {
        End::Open if playback.behind_seconds() > 0 => {
            format!("{} behind its end{looped}", units::span(playback.behind_seconds()))
        }
        End::Open => format!("{length} so far{looped}"),
        End::Closed | End::Over => format!("{position} of {length}{looped}"),
    }
}

/// How the clocks of two machines stand to each other.
pub(super) fn clocks(app: &App) -> String {
    app.playback.as_ref().map_or_else(String::new, |playback| playback.clocks.clone())
}

/// Of two machines the one whose resource is short.
pub(super) fn short(app: &App, width: u16) -> String {
    let short = app.playback.as_ref().map_or_else(String::new, |playback| printable(&playback.short).into_owned());
    // On a narrow line a word is enough, so that the clocks beside it stay.
    if width < 150 { short.replacen("bottleneck: ", "short: ", 1) } else { short }
}

/// The machine of two that is shown; none where there are not two.
pub(super) fn name(app: &App) -> Option<String> {
    let playback = app.playback.as_ref().filter(|playback| playback.machines.len() > 1)?;
    Some(playback.machines.get(playback.machine)?.chars().take(32).collect())
}

/// The other machine of two.
pub(super) fn other(app: &App) -> String {
    let Some(playback) = app.playback.as_ref().filter(|playback| playback.machines.len() > 1) else {
        return String::new();
    };
    let others = playback.machines.iter().enumerate().filter(|(at, _)| *at != playback.machine);
    let others: Vec<String> = others.map(|(_, name)| name.chars().take(24).collect()).collect();
    format!("| {}", others.join(" | "))
}
