//! The command line.

use crate::units;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// top for a machine's topology: which core, queue, node, container or disk is the short stave, and why.
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
    /// Do not ask libhwloc; sysfs alone tells the topology.
    #[arg(long, global = true)]
    pub no_hwloc: bool,
    /// Say on standard error what was not read.
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// One sample pair, an interval apart, written out and done.
    Snapshot(Snapshot),
}

/// Flags of `snapshot`.
#[derive(Clone, Debug, Args)]
pub struct Snapshot {
    /// What to write.
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub format: String,
    /// Keep only so many processes and control groups, the biggest.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
}
