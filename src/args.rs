//! Flags of every command.

use crate::units;
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;
use topotop_collectors::metrics::Metric;
use topotop_model::locale::trust as text;

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
    /// Configuration file [default: $XDG_CONFIG_HOME/topotop/config.toml].
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Show fixes with their commands; apply none.
    #[arg(long, global = true)]
    pub read_only: bool,
    /// Directory of the journal of fixes [default: /var/lib/topotop as root, else $XDG_STATE_HOME/topotop].
    #[arg(long, global = true, value_name = "DIR", value_parser = PathBufValueParser::new().try_map(directory))]
    pub state_dir: Option<PathBuf>,
    /// Read the topology from sysfs only, without libhwloc.
    #[arg(long, global = true)]
    pub no_hwloc: bool,
    /// A metric of the application, for verdicts, the history and load detection: NAME=/REGEX/ (or
    /// stderr:/REGEX/) reads the output of the command of `record`; file:PATH, command:PROGRAM ARGUMENTS (no shell) and
    /// http://127.0.0.1:PORT/PATH read other sources; #/REGEX/ or #name{label="x"} after these selects the number.
    /// Repeatable.
    #[arg(long, global = true, value_name = "NAME=SOURCE", value_parser = Metric::parse)]
    pub metric: Vec<Metric>,
    /// Language of texts: en or zh-CN [default: LC_ALL, LC_MESSAGES or LANG]; machine-readable output is always in English.
    #[arg(long, global = true, value_name = "LANG", value_parser = crate::language::parse)]
    pub lang: Option<&'static str>,
    /// Print a configuration file with every default and exit.
    #[arg(long)]
    pub print_config: bool,
    /// Report on standard error what could not be read.
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// A directory, or one that is made later; anything else would look like a journal without entries.
fn directory(path: PathBuf) -> Result<PathBuf, &'static str> {
    match path.metadata() {
        Ok(facts) if !facts.is_dir() => Err(text::NOT_A_DIRECTORY.as_str()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Err(text::NOT_A_DIRECTORY.as_str()),
        _ => Ok(path),
    }
}
