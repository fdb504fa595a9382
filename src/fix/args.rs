//! `topotop fix` on the command line.

use crate::units;
use std::path::PathBuf;
use std::time::Duration;
use topotop_model::locale::cli::fix as text;

/// Arguments of `fix`.
#[derive(Clone, Debug, clap::Args)]
pub struct FixArgs {
    /// The action.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The actions of `fix`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// List the fixes available for current findings.
    List {
        /// The source of findings.
        #[command(flatten)]
        source: Source,
        /// text, or json with one object per fix.
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
        format: String,
    },
    /// Show a fix in full: old and new values, side effects, undo.
    Show(Which),
    /// Apply a fix: show it, confirm, write, read back, measure the effect.
    Apply(ApplyArgs),
    /// Restore the values that a fix changed.
    Undo {
        /// RULE/SUBJECT/FIX, or a journal number [default: the newest fix in effect].
        id: Option<String>,
        /// Overwrite values that have been changed since.
        #[arg(long)]
        force: bool,
        /// Do not ask for confirmation: undo never asks.
        #[arg(long, short)]
        yes: bool,
        /// Only show what it would restore.
        #[arg(long)]
        dry_run: bool,
        /// text or json.
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
        format: String,
    },
    /// List applied fixes: time, user and verdict.
    Journal {
        /// Show one fix item by item: RULE/SUBJECT/FIX, or a journal number.
        id: Option<String>,
        /// text, or json with one object per applied fix.
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
        format: String,
    },
    /// Cancel the automatic rollback of a fix that could have disconnected you.
    Confirm {
        /// RULE/SUBJECT/FIX, or a journal number.
        id: String,
    },
}

impl Verb {
    /// The recording that findings are judged from.
    pub fn from(&self) -> Option<&PathBuf> {
        match self {
            Self::List { source, .. } => source.from.as_ref(),
            Self::Show(which) | Self::Apply(ApplyArgs { which, .. }) => which.source.from.as_ref(),
            Self::Undo { .. } | Self::Journal { .. } | Self::Confirm { .. } => None,
        }
    }

    /// True where a fix is applied.
    pub fn applies(&self) -> bool {
        matches!(self, Self::Apply(ApplyArgs { dry_run: false, .. }))
    }

    /// True where an applied fix is undone or kept.
    pub fn returns(&self) -> bool {
        matches!(self, Self::Undo { dry_run: false, .. } | Self::Confirm { .. })
    }

    /// True where findings are judged, which the configuration has a say in.
    pub fn needs_findings(&self) -> bool {
        matches!(self, Self::List { .. } | Self::Show(_) | Self::Apply(_))
    }
}

/// The source of findings.
#[derive(Clone, Debug, clap::Args)]
pub struct Source {
    /// Observe this host for TIME.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration, default_value = "15s")]
    pub watch: Duration,
    /// Use a recording instead.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub from: Option<PathBuf>,
}

/// A fix and its parameters.
#[derive(Clone, Debug, clap::Args)]
pub struct Which {
    /// RULE/SUBJECT/FIX, from `fix list`; with --pid an action on a process: F-PIN.
    pub id: String,
    /// Process for an action: `fix apply F-PIN --pid 4121 --set cpus=0-3`.
    #[arg(long, value_name = "PID", conflicts_with = "from")]
    pub pid: Option<u32>,
    /// The source of findings.
    #[command(flatten)]
    pub source: Source,
    /// Set a parameter: combined=4. Repeatable.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// text or json.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub format: String,
}

/// Arguments of `apply`.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct ApplyArgs {
    /// The fix.
    #[command(flatten)]
    pub which: Which,
    /// Only show the fix.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(long, short)]
    pub yes: bool,
    /// With --yes, required for dangerous fixes: the name of the subject.
    #[arg(long, value_name = "NAME")]
    pub confirm_subject: Option<String>,
    /// Undo the fix automatically if the measurement is worse.
    #[arg(long, value_name = "true|false", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub undo_if_worse: bool,
    /// Where only that decides the verdict, undo the fix and measure on, without asking; it stays undone.
    #[arg(long, conflicts_with = "no_wait")]
    pub undo_to_compare: bool,
    /// Do not wait for the verdict.
    #[arg(long)]
    pub no_wait: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| text::NAME_VALUE.to_string())?;
    if name.is_empty() { Err(text::NAME_VALUE.to_string()) } else { Ok((name.to_owned(), value.to_owned())) }
}
