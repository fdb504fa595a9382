//! The command line.

use crate::args::Global;
use crate::fix::args::{ApplyArgs, Verb};
use clap::{Args, Parser, Subcommand};
use std::path::{Path, PathBuf};
use topotop_collectors::metrics::Source;
use topotop_model::locale::error as text;

/// top for a machine's topology: which core, queue, node, container or disk is the bottleneck, and why.
///
/// Without a command it shows live screens; press ? for the keys.
#[derive(Debug, Parser)]
#[command(name = "topotop", version, max_term_width = 100)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Take two samples, write the state of the machine and exit.
    Snapshot(crate::snapshot::SnapshotArgs),
    /// Record without a screen; given a command, while it runs.
    Record(RecordCommand),
    /// Write a mark into a running recording.
    Mark(crate::mark::MarkArgs),
    /// Show a recording on the live screens, with keys to move in time.
    Replay(crate::replay::ReplayArgs),
    /// Write the files that topotop reads to an archive, for bug reports; --root reads it unpacked.
    Capture(crate::capture::CaptureArgs),
    /// Replay the recording of a sick server that is part of the program.
    Demo(crate::demo::DemoArgs),
    /// Compare two recordings, or two spans of one: changes beyond their noise.
    Diff(crate::diff::DiffArgs),
    /// Watch for a while and report findings and unread data; the exit status reflects the worst finding.
    Check(crate::check::CheckArgs),
    /// Check before a test: settings that limit performance under load.
    Preflight(crate::preflight::PreflightArgs),
    /// What this machine allows, what is missing, and what that costs.
    Doctor(crate::doctor::DoctorArgs),
    /// Serve metrics to Prometheus over HTTP.
    Serve(crate::serve::ServeArgs),
    /// Print a plan to carry out by hand: nothing is executed.
    #[command(subcommand)]
    Plan(crate::plan::PlanCommand),
    /// List all rules, or explain one: its thresholds and advice.
    Rules {
        /// The rule, such as NIC-01.
        id: Option<String>,
    },
    /// List, show, apply and undo fixes, and show their journal.
    Fix(crate::fix::args::FixArgs),
    /// Write an HTML report of a recorded test run.
    Report(crate::report::ReportArgs),
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

/// Arguments of `record`: what to record, or what to do with recordings.
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

/// Why `--metric` does not apply: sources are read on a live machine only, and only `record` has a command whose lines may be
/// read.
pub(crate) fn metric_refusal(cli: &Cli) -> Option<String> {
    let first = cli.global.metric.first()?;
    let no_machine = |from: Option<&Path>| from.is_some() || cli.global.root.is_some();
    let (live, has_command) = match &cli.command {
        None => (!no_machine(None), false),
        Some(Command::Snapshot(args)) => (!no_machine(args.from.as_deref()), false),
        Some(Command::Serve(args)) => (!no_machine(args.from.as_deref()), false),
        Some(Command::Check(args)) => (!no_machine(args.from.first().map(PathBuf::as_path)), false),
        Some(Command::Fix(args)) => match &args.verb {
            Verb::List { source, .. } => (!no_machine(source.from.as_deref()), false),
            Verb::Show(which) | Verb::Apply(ApplyArgs { which, .. }) => {
                (!no_machine(which.source.from.as_deref()), false)
            }
            Verb::Undo { .. } | Verb::Journal { .. } | Verb::Confirm { .. } => (false, false),
        },
        Some(Command::Record(RecordCommand { args: Some(args), .. })) => (!no_machine(None), !args.command.is_empty()),
        Some(_) => (false, false),
    };
    if !live {
        let name = &first.name;
        return Some(text::MetricWithoutMachine { name: &name }.to_string());
    }
    let of_command = cli.global.metric.iter().find(|metric| matches!(metric.source, Source::Stream(..)));
    of_command.filter(|_| !has_command).map(|metric| {
        let (name, source) = (&metric.name, &metric.text);
        text::MetricOfCommand { name: &name, text: &source }.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::{Cli, metric_refusal};
    use clap::Parser as _;

    #[test]
    fn what_cannot_be_followed_is_refused() {
        let said = |arguments: &[&str]| {
            metric_refusal(&Cli::try_parse_from(std::iter::once(&"topotop").chain(arguments)).unwrap())
                .unwrap_or_default()
        };
        assert_eq!(said(&["check", "--metric", "tps=file:/c"]), "");
        assert_eq!(said(&["--metric", "tps=file:/c"]), "");
        assert_eq!(said(&["record", "-o", "x", "--metric", "tps=/a/", "--", "true"]), "");
        assert!(said(&["check", "--metric", "tps=/a/"]).contains("record -- COMMAND"));
        assert!(said(&["record", "-o", "x", "--metric", "tps=/a/"]).contains("record -- COMMAND"));
        assert!(said(&["replay", "x", "--metric", "tps=file:/c"]).contains("live machine"));
        assert!(said(&["--root", "/x", "--metric", "tps=file:/c"]).contains("live machine"));
        assert!(said(&["check", "--from", "x", "--metric", "tps=file:/c"]).contains("live machine"));
    }
}
