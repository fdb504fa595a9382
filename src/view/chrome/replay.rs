//! What the title says of a recording: whether it plays, how fast, when, and how far into it.

use crate::app::App;
use crate::source::playback::{End, Playback};
use crate::units;
use topotop_widgets::Role;

/// Playing or not, how fast, and the wall time that is shown.
pub(super) fn clock(playback: &Playback, unicode: bool) -> (String, Role) {
    let mark = |unicode_mark, ascii| if unicode { unicode_mark } else { ascii };
    let time = units::date_time(playback.at.wall_ns);
    // The clock of an hour's recording does not change its date: the time alone is what one looks for.
    let same_day = playback.first.wall_ns.div_euclid(DAY_NS) == playback.last.wall_ns.div_euclid(DAY_NS);
    let time = if same_day { units::time_of_day(playback.at.wall_ns) } else { time };
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

const DAY_NS: i64 = 86_400_000_000_000;

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

/// The other machine of two, and how their clocks stand to each other.
pub(super) fn other(app: &App) -> String {
    let Some(playback) = app.playback.as_ref().filter(|playback| playback.machines.len() > 1) else {
        return String::new();
    };
    let others = playback.machines.iter().enumerate().filter(|(at, _)| *at != playback.machine);
    let others: Vec<String> = others.map(|(_, name)| name.chars().take(24).collect()).collect();
    format!("| {}  {}", others.join(" | "), playback.clocks)
}
