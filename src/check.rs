//! `topotop check`: watches for a while and reports findings and what could not be checked; the status reflects both.

mod junit;
mod numbers;
mod report;
pub(crate) mod watch;

use crate::args::Global;
use crate::config::Config;
use crate::source::live::Plan;
use crate::units;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use topotop_collectors::Root;
use topotop_model::bottleneck::limiting_machine;
use topotop_model::locale::{check as text, in_english};
use topotop_model::rules::Severity;
use watch::{Seen, Source, Watch};

pub(crate) use report::unchecked_text;

/// What `check` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// Watch this machine for TIME.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration, default_value = "30s")]
    pub watch: Duration,
    /// Evaluate a recording instead of this machine; given again for each machine of one test, it names the one whose
    /// resource is short.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub from: Vec<PathBuf>,
    /// Exit with 1 for findings of this severity and worse: info, warning or critical; limited: for warnings, and if
    /// something limited the machine at any time.
    #[arg(long, value_name = "SEVERITY", default_value = "warning", value_parser = fail_on)]
    pub fail_on: FailOn,
    /// Exit with 2 if a rule could not be checked, or the answer is inconclusive.
    #[arg(long)]
    pub strict: bool,
    /// text, json, jsonl: a document per sample and a summary; or junit for CI.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "jsonl", "junit"])]
    pub format: String,
}

/// What makes `check` fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// A finding of this severity or worse.
    Severity(Severity),
    /// A warning, or a limit.
    Limited,
}

impl FailOn {
    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::Severity(severity) => severity,
            Self::Limited => Severity::Warning,
        }
    }
}

fn fail_on(level: &str) -> Result<FailOn, String> {
    let level = if level == "limited" { Ok(FailOn::Limited) } else { severity(level).map(FailOn::Severity) };
    level.map_err(|_| text::FAIL_ON.to_string())
}

pub(crate) fn severity(text: &str) -> Result<Severity, String> {
    let all = [Severity::Info, Severity::Warning, Severity::Critical];
    all.into_iter().find(|severity| severity.name() == text).ok_or_else(|| text::SEVERITY.to_string())
}

/// Watches, writes and gives the exit status.
pub(crate) fn run(
    global: &Global,
    config: &Config,
    args: &CheckArgs,
    root: impl FnOnce() -> Result<Root, String>,
    plan: &Plan,
) -> Result<u8, String> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.format == "junit" {
        written(junit::begin(&mut out))?;
    }
    let all = if args.from.is_empty() {
        let mut watch = Watch::new(config.judge(), &plan.settings, lines(args, &mut out));
        watch.is_document = args.format != "text";
        let root = root()?;
        if !root.is_live() {
            watch.seen.source = Source::Captured;
        }
        watch.seen.surroundings = topotop_collectors::surroundings::read(&root);
        let complete = watch::sample(root, plan, args.watch, |snapshot| watch.take(snapshot))?;
        watch.seen.complete = complete;
        let seen = watch.seen;
        written(one(&seen, args, &mut out))?;
        vec![seen]
    } else {
        recordings(config, args, plan, &mut out)?
    };
    if args.format == "junit" {
        written(in_english(|| junit::end(&mut out)))?;
    }
    for seen in all.iter().filter(|_| global.verbose) {
        report::standings(&seen.last, &mut std::io::stderr().lock());
    }
    written(out.flush())?;
    let statuses: Vec<u8> = all.iter().map(|seen| seen.status(args.fail_on, args.strict)).collect();
    // Findings outweigh what could not be checked.
    Ok(if statuses.contains(&1) { 1 } else { statuses.into_iter().max().unwrap_or(0) })
}

/// What was seen of a machine.
fn one(seen: &Seen, args: &CheckArgs, out: &mut impl Write) -> std::io::Result<()> {
    match args.format.as_str() {
        "text" => report::people(seen, out),
        "junit" => in_english(|| junit::suite(seen, args.fail_on.severity(), out)),
        format => in_english(|| report::summary(seen, format == "json", out)),
    }
}

/// Where a document per sample goes, if it is wanted.
fn lines<'a>(args: &CheckArgs, out: &'a mut dyn Write) -> Option<&'a mut dyn Write> {
    (args.format == "jsonl").then_some(out)
}

/// Each recording, and over several of one test the machine that limits.
fn recordings(config: &Config, args: &CheckArgs, plan: &Plan, out: &mut impl Write) -> Result<Vec<Seen>, String> {
    let mut all: Vec<Seen> = Vec::with_capacity(args.from.len());
    for path in &args.from {
        let mut watch = Watch::new(config.judge(), &plan.settings, lines(args, out));
        watch.is_document = args.format != "text";
        let host = watch.recording(path)?;
        let mut seen = watch.seen;
        if args.from.len() > 1 {
            format!("{} {host}", name(path)).trim().clone_into(&mut seen.name);
        }
        written(one(&seen, args, out))?;
        all.push(seen);
    }
    if let [first, .., last] = all.as_slice()
        && args.format != "junit"
    {
        let (from, to) = all.iter().fold(first.span, |span, seen| (span.0.max(seen.span.0), span.1.min(seen.span.1)));
        if from > to {
            crate::stderr::warn(&text::NotSameTime { one: &first.name, two: &last.name }.to_string());
        }
        let answers: Vec<_> = all.iter().map(|seen| seen.tally.last().clone()).collect();
        let machine = limiting_machine(&answers).map(|(machine, _)| machine);
        let machine = machine.and_then(|machine| all.get(machine));
        written(match args.format.as_str() {
            "text" => report::limiting_text(machine, out),
            _ => in_english(|| report::limiting(machine, out)),
        })?;
    }
    Ok(all)
}

/// A recording's file without its directory and extension.
fn name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A closed pipe is no error.
fn written(result: std::io::Result<()>) -> Result<(), String> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(text::StandardOutput { error: &crate::trust::said(&error) }.to_string())
        }
        _ => Ok(()),
    }
}
