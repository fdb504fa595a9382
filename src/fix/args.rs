//! `topotop fix` on the command line.

use crate::units;
use std::path::PathBuf;
use std::time::Duration;

/// What `fix` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct FixArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What can be done with fixes.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Verb {
    /// What is on offer for what is found now.
    List {
        /// Where findings come from.
        #[command(flatten)]
        look: Look,
        /// text, or json: one object per fix.
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
        format: String,
    },
    /// Everything about one: what it writes, old and new values, what may break, how it is undone.
    Show(Which),
    /// Show it, ask, write, read back, watch, and say what it came to.
    Apply(ApplyArgs),
    /// Put back what a fix wrote.
    Undo {
        /// RULE/SUBJECT/FIX, or its number in the journal [default: the newest that is in force].
        id: Option<String>,
        /// Overwrite values that somebody else has changed since.
        #[arg(long)]
        force: bool,
        /// Only say what would be put back.
        #[arg(long)]
        dry_run: bool,
        /// text or json.
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
        format: String,
    },
    /// What was applied, when, by whom, and what it came to.
    Journal {
        /// Only this one: RULE/SUBJECT/FIX or a number, item by item.
        id: Option<String>,
        /// text, or json: one object per applied fix.
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
        format: String,
    },
    /// Keep a fix that could have cut you off: without it, it takes itself back.
    Confirm {
        /// RULE/SUBJECT/FIX, or its number in the journal.
        id: String,
    },
}

/// Where findings come from.
#[derive(Clone, Debug, clap::Args)]
pub struct Look {
    /// Watch this machine for TIME.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration, default_value = "15s")]
    pub watch: Duration,
    /// Judge a recording instead.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub from: Option<PathBuf>,
}

/// A fix and how it is to be.
#[derive(Clone, Debug, clap::Args)]
pub struct Which {
    /// RULE/SUBJECT/FIX, as `fix list` has it.
    pub id: String,
    /// Where findings come from.
    #[command(flatten)]
    pub look: Look,
    /// Change a parameter: combined=4. May be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// text or json.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    pub format: String,
}

/// What `apply` takes.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct ApplyArgs {
    /// Which.
    #[command(flatten)]
    pub which: Which,
    /// Only show it.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    pub yes: bool,
    /// With --yes, for dangerous ones: the name of what is changed.
    #[arg(long, value_name = "NAME")]
    pub confirm_subject: Option<String>,
    /// Undo it by itself if what was measured got worse.
    #[arg(long, value_name = "true|false", default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    pub undo_if_worse: bool,
    /// Do not wait for the verdict.
    #[arg(long)]
    pub no_wait: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE: combined=4")?;
    if name.is_empty() {
        Err("write NAME=VALUE: combined=4".to_owned())
    } else {
        Ok((name.to_owned(), value.to_owned()))
    }
}
