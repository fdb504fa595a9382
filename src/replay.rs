//! `topotop replay`: a recording on the screen, or as one document per sample.

mod jsonl;

use crate::cli::{Global, ReplayArgs};
use crate::config::Config;
use crate::fix::order::Reach;
use crate::source::replay::{self, Start};
use crate::{runtime, snapshot};
use std::time::Duration;
use topotop_model::locale::error as text;

/// Plays recordings.
pub(crate) fn run(global: &Global, config: &Config, args: &ReplayArgs) -> Result<(), String> {
    live_only(global)?;
    match args.format.as_deref() {
        None => {}
        Some("jsonl") => return jsonl::run(config, args),
        Some(other) => return Err(text::ReplayFormat { format: &other }.to_string()),
    }
    if args.to.is_some() && args.from.is_none() {
        return Err(text::LOOP_WITHOUT_START.to_string());
    }
    crate::run::terminal("`topotop replay --format jsonl`")?;
    let mut app = crate::run::app(global, config, Duration::from_secs(1))?;
    app.status.reach = Reach::Show(text::FIX_IN_REPLAY.to_string());
    // Before the terminal is taken: what writes the stream may have to ask for a password.
    let opened = replay::open(&args.files)?;
    let start = Start { from: args.from, to: args.to, speed: args.speed.unwrap_or(1.0), paused: args.paused };
    let (settings, judge) = (config.settings(), config.judge());
    let newest = runtime::run(app, None, move |waker| opened.start(&settings, &judge, start, move || waker.wake()))?;
    if global.verbose {
        snapshot::complain(&newest);
    }
    Ok(())
}

/// Flags of what is sampled have no meaning for what was.
fn live_only(global: &Global) -> Result<(), String> {
    let given =
        [(global.root.is_some(), "--root"), (global.interval.is_some(), "--interval"), (global.no_hwloc, "--no-hwloc")];
    let given: Vec<&str> = given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, flag)| flag).collect();
    match given.as_slice() {
        [] => Ok(()),
        flags => Err(text::LiveFlags { flags: &flags.join(", ") }.to_string()),
    }
}
