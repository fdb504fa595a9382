//! `topotop replay`: a recording on the screen, or as one document per sample.

mod jsonl;

use crate::args::Global;
use crate::config::Config;
use crate::fix::order::Reach;
use crate::moment::Moment;
use crate::source::replay::{self, Start};
use crate::{runtime, snapshot, startup, units};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use topotop_model::locale::error as text;

/// Arguments of `replay`.
#[derive(Clone, Debug, Default, Args)]
pub struct ReplayArgs {
    /// One recording, or two of different machines, shown on one clock; - reads a stream from standard input.
    #[arg(required = true, value_name = "FILE", num_args = 1..=2)]
    pub files: Vec<PathBuf>,
    /// Begin at TIME: 10m (into it), 14:05, "2026-11-21 14:05", 50%; local time unless it ends in Z.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// With --from: loop up to TIME; with --format: end there.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// Playback speed, from 0.1 to 1000 times [default: 1].
    #[arg(long, value_name = "FACTOR", value_parser = units::times)]
    pub speed: Option<f64>,
    /// Start paused.
    #[arg(long)]
    pub paused: bool,
    /// Write to standard output instead: jsonl is one document per sample, as of `snapshot --format json`.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// With --format: at most N processes and control groups per document, the busiest.
    #[arg(long, value_name = "N", requires = "format")]
    pub top: Option<usize>,
}

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
    show(global, config, args, "`topotop replay --format jsonl`", None)
}

/// Plays on the screen; `instead` is for where there is no terminal, `introduction` is for the title.
pub(crate) fn show(
    global: &Global,
    config: &Config,
    args: &ReplayArgs,
    instead: &str,
    introduction: Option<String>,
) -> Result<(), String> {
    live_only(global)?;
    startup::require_terminal(instead)?;
    let mut app = startup::app(global, config, Duration::from_secs(1))?;
    app.status.reach = Reach::Show(text::FIX_IN_REPLAY.to_string());
    // Before the terminal is taken: what writes the stream may have to ask for a password.
    let opened = replay::open(&args.files)?.introduced(introduction);
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
