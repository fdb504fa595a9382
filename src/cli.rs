//! The command line.

use crate::moment::Moment;
use crate::units;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use topotop_collectors::metrics::Metric;

/// top for a machine's topology: which core, queue, node, container or disk is the bottleneck, and why.
///
/// Without a command it shows the machine live; ? lists the keys.
#[derive(Debug, Parser)]
#[command(name = "topotop", version, max_term_width = 100)]
pub struct Cli {
    /// What to do instead of the screen.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
}

/// Flags of every command.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Global {
    /// Read DIR/proc and DIR/sys, a captured machine, instead of this one.
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Time between samples: 500ms, 1s, 2m [default: 1s].
    #[arg(long, global = true, value_name = "TIME", value_parser = units::interval)]
    pub interval: Option<Duration>,
    /// Name of a theme, or a theme file.
    #[arg(long, global = true, value_name = "NAME|FILE")]
    pub theme: Option<String>,
    /// Configuration file instead of $XDG_CONFIG_HOME/topotop/config.toml.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Fixes are shown with their commands; none is applied.
    #[arg(long, global = true)]
    pub read_only: bool,
    /// Where the journal of fixes is [default: /var/lib/topotop as root, else $XDG_STATE_HOME/topotop].
    #[arg(long, global = true, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Do not ask libhwloc; sysfs alone tells the topology.
    #[arg(long, global = true)]
    pub no_hwloc: bool,
    /// The application's own number, for verdicts, the timeline and whether there is load: NAME=/REGEX/ (or
    /// stderr:/REGEX/) reads what the command of `record` prints, file:PATH, command:PROGRAM ARGUMENTS (no shell) and
    /// http://127.0.0.1:PORT/PATH read on; #/REGEX/ or #name{label="x"} behind these picks the number. May be given
    /// several times.
    #[arg(long, global = true, value_name = "NAME=SOURCE", value_parser = Metric::parse)]
    pub metric: Vec<Metric>,
    /// Print a configuration file with every default, and leave.
    #[arg(long)]
    pub print_config: bool,
    /// Say on standard error what was not read.
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take one sample pair, write it out and leave.
    Snapshot(SnapshotArgs),
    /// Record without a screen; with a command, from its start to its end.
    Record(RecordCommand),
    /// Show a recording: the same screens and keys as live, and time to go through.
    Replay(ReplayArgs),
    /// Write the files that would be read to an archive; unpacked, --root reads it: for reports of defects.
    Capture(crate::capture::CaptureArgs),
    /// What changed between two recordings, or two spans of one, beyond their noise.
    Diff(crate::diff::DiffArgs),
    /// Watch for a while, say what is wrong and what could not be looked at, and exit by it.
    Check(crate::check::CheckArgs),
    /// Before a test: what is configured so that it would hurt under load.
    Preflight(crate::preflight::PreflightArgs),
    /// What could be done by hand, as text: nothing of it is executed.
    #[command(subcommand)]
    Plan(crate::plan::PlanCommand),
    /// What can be found: all rules, or one with its limits and what to do.
    Rules {
        /// NIC-01, for one.
        id: Option<String>,
    },
    /// What to do about what is found: list, show, apply, undo, and what was done.
    Fix(crate::fix::args::FixArgs),
    /// Write the raw columns of a recording as CSV.
    Export(crate::dump::ExportArgs),
    /// Write a completion script for a shell.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Write the manual page.
    Man,
}

/// What `record` takes: something to record, or something to do with what was.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct RecordCommand {
    /// What to do with recordings.
    #[command(subcommand)]
    pub edit: Option<crate::edit::Edit>,
    /// What to record.
    #[command(flatten)]
    pub args: Option<crate::record::RecordArgs>,
}

/// What `snapshot` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct SnapshotArgs {
    /// json, text, ansi, svg or html [default: text on a terminal, json in a pipe].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Write to FILE; its extension picks the format.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The screen to draw [default: overview].
    #[arg(long, value_name = "NAME")]
    pub screen: Option<String>,
    /// Columns and rows to draw [default: the terminal's, or 160x50].
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub size: Option<(u16, u16)>,
    /// At most N processes and control groups in JSON, those that do most.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// A sample of a recording instead of one taken now.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Which sample of the recording: 14:05, 10m (after the start), -30s (before the end), mark:NAME, start or end
    /// [default: end].
    #[arg(long, value_name = "TIME", requires = "from", allow_hyphen_values = true)]
    pub at: Option<String>,
}

/// What `replay` takes.
#[derive(Clone, Debug, Default, Args)]
pub struct ReplayArgs {
    /// Recordings: one, or those of two machines that are shown on one clock; - reads a stream from standard input.
    #[arg(required = true, value_name = "FILE", num_args = 1..=2)]
    pub files: Vec<PathBuf>,
    /// Begin at TIME: 10m (into it), 14:05, "2026-11-21 14:05" (UTC), 50%.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// With --from: loop up to TIME; with --format: end there.
    #[arg(long, value_name = "TIME", value_parser = Moment::parse, allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// How many times as fast as it was, from 0.1 to 1000 [default: 1].
    #[arg(long, value_name = "TIMES", value_parser = units::times)]
    pub speed: Option<f64>,
    /// Wait for a key before playing.
    #[arg(long)]
    pub paused: bool,
    /// Write to standard output instead: jsonl is one document per sample, as `snapshot --format json` has it.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// With --format: at most N processes and control groups in each document, those that do most.
    #[arg(long, value_name = "N", requires = "format")]
    pub top: Option<usize>,
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let (width, height) = text.split_once('x').ok_or("write columns x rows: 160x50")?;
    let side = |side: &str| side.parse().ok().filter(|side| (1..=2000).contains(side));
    side(width).zip(side(height)).ok_or_else(|| "write columns x rows, each from 1 to 2000: 160x50".to_owned())
}
