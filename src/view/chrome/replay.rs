//! What the title says of a recording: whether it plays, how fast, when, and how far into it.

use crate::app::App;
use crate::source::playback::{End, Playback};
use crate::units;
use topotop_model::locale::chrome;
use topotop_model::text::printable;
use topotop_widgets::Role;

/// Playing or not, how fast, and the wall time that is shown.
pub(super) fn clock(playback: &Playback, unicode: bool) -> (String, Role) {
    let mark = |unicode_mark, ascii| if unicode { unicode_mark } else { ascii };
    // Within a day the time alone is what one looks for.
    let format = if playback.is_of_one_day() { units::time_of_day } else { units::date_time };
    let (time, zone) = (format(playback.at.wall_ns), units::zone_name(playback.at.wall_ns));
    if playback.following {
        return match playback.quiet_seconds {
            Some(age) => (
                format!(
                    "{} {}",
                    mark("●", "*"),
                    chrome::StreamQuiet { time: &time, zone: &zone, age: &units::span(age) }
                ),
                Role::Stale,
            ),
            None => (format!("{} {}", mark("●", "*"), chrome::AtEnd { time: &time, zone: &zone }), Role::Ok),
        };
    }
    let speed = speed(playback.speed, mark("×", "x"));
    match playback.playing {
        true => (format!("{} {speed} {time} {zone}", mark("▶", ">")), Role::Replay),
        false if playback.end == End::Over && playback.at == playback.last => {
            (format!("{} {}", mark("■", "="), chrome::StreamEnded { time: &time, zone: &zone }), Role::Stale)
        }
        false => (format!("{} {speed} {time} {zone}", mark("‖", "||")), Role::Replay),
    }
}

fn speed(speed: f64, times: &str) -> String {
    if speed < 1.0 { format!("{speed:.1}{times}") } else { format!("{speed:.0}{times}") }
}

/// How far into the recording, and whether it loops; empty for what is not played.
pub(super) fn position(app: &App) -> String {
    let Some(playback) = &app.playback else { return String::new() };
    let (position, length) = (units::span(playback.position_seconds()), units::span(playback.length_seconds()));
    let looped = if playback.span.1.is_some() { format!(" {}", chrome::LOOP_ON) } else { String::new() };
    match playback.end {
        End::Open if playback.behind_seconds() > 0 => {
            format!("{}{looped}", chrome::Behind { span: &units::span(playback.behind_seconds()) })
        }
        End::Open => format!("{}{looped}", chrome::SoFar { span: &length }),
        End::Closed | End::Over => format!("{}{looped}", chrome::Position { position: &position, span: &length }),
    }
}

/// How the clocks of two machines stand to each other.
pub(super) fn clocks(app: &App) -> String {
    app.playback.as_ref().map_or_else(String::new, |playback| playback.clocks.clone())
}

/// Of two machines the one whose resource is short.
pub(super) fn short(app: &App) -> String {
    app.playback.as_ref().map_or_else(String::new, |playback| printable(&playback.short).into_owned())
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
