//! The interactive program before it runs: the terminal, the look, the keys.

use crate::app::{App, Asks, Look, Status};
use crate::args::Global;
use crate::config::{CharsetChoice, Config};
use crate::keymap::Keymap;
use crate::output::broker::Places;
use crate::theme;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use topotop_model::locale::error as errors;
use topotop_widgets::Charset;

fn look(global: &Global, config: &Config) -> Result<Look, String> {
    Ok(Look {
        theme: theme::load(global.theme.as_deref().or(config.theme.as_deref()), theme::depth())?,
        charset: theme::charset(config.charset),
        mouse: config.mouse.unwrap_or(true),
    })
}

/// What the terminal is asked: what neither the user nor the environment says.
fn asks(global: &Global, config: &Config, look: &Look) -> Asks {
    Asks {
        background: global.theme.is_none() && config.theme.is_none() && theme::has_background(),
        width: config.charset == CharsetChoice::Auto && look.charset == Charset::Unicode,
    }
}

/// Fails where standard output cannot show screens; `instead` is what to use in its place.
pub(crate) fn require_terminal(instead: &str) -> Result<(), String> {
    if !std::io::stdout().is_terminal() {
        return Err(errors::NoTerminal { instead: &instead }.to_string());
    }
    if theme::dumb() {
        return Err(errors::DumbTerminal { instead: &instead }.to_string());
    }
    Ok(())
}

/// Where views and copied text are written.
pub(crate) fn exports(global: &Global) -> Option<PathBuf> {
    topotop_collectors::state::directory(global.state_dir.as_deref()).map(|state| state.join("exports"))
}

/// Where a process writes that plays recordings: that, and an output that is named; its terminal is held where it shows
/// them.
pub(crate) fn places(global: &Global, output: Option<&Path>, shows: bool) -> Places {
    if shows {
        crate::stdin::hold_terminal();
    }
    Places { exports: exports(global).into_iter().collect(), ..Places::of(output) }
}

/// Where recordings go that are begun by a key: the working directory, unless root was started in another user's. Writing
/// there takes the right to write everywhere; the state directory takes none.
pub(crate) fn recordings(global: &Global) -> PathBuf {
    let here = PathBuf::new();
    if !rustix::process::geteuid().is_root() || !crate::privilege::is_elsewhere(&here) {
        return here;
    }
    let state = topotop_collectors::state::directory(global.state_dir.as_deref()).map(|state| state.join("recordings"));
    let made = |folder: &PathBuf| crate::folder::make(folder).is_ok();
    state.filter(made).unwrap_or(here)
}

/// The program as configured, before its first sample.
pub(crate) fn app(global: &Global, config: &Config, interval: Duration) -> Result<App, String> {
    let keymap = Keymap::new(&config.keys)?;
    let keymap_reports = keymap.reports.clone();
    let status = Status { interval, judging: config.judge(), ..Status::default() };
    let mut app = App::new(keymap, look(global, config)?, status);
    app.asks = asks(global, config, &app.look);
    app.exports = exports(global);
    app.recordings = config.record.directory.clone().unwrap_or(app.recordings);
    if let Some(screen) = config.screen.as_deref().filter(|screen| !app.open_screen(screen)) {
        return Err(
            errors::UnknownScreenConfigured { screen: &format!("{screen:?}"), known: &app.screens() }.to_string()
        );
    }
    let reports: Vec<String> = config.refused.iter().cloned().chain(keymap_reports).collect();
    if !reports.is_empty() {
        app.say(reports.join("; "));
    }
    Ok(app)
}
