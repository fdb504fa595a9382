//! `topotop preflight`: before a test, what is configured so that it would hurt under load.

use crate::check::unchecked_text;
use crate::check::{severity, watch};
use crate::config::Config;
use crate::export::json;
use crate::output::Output;
use crate::recording;
use crate::source::live::Plan;
use crate::theme;
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use topotop_collectors::Root;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::fix;
use topotop_model::frame::Frame;
use topotop_model::judge::{Check, Mark, survey};
use topotop_model::locale::preflight as text;
use topotop_model::locale::{Texts, in_english};
use topotop_model::rules::Severity;
use topotop_model::text::{padded, printable};
use topotop_model::{Snapshot, Window};
use topotop_widgets::Charset;

/// What `preflight` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct PreflightArgs {
    /// Look for TIME: what is slow to read gets so long to answer.
    #[arg(long = "for", value_name = "TIME", value_parser = crate::units::duration, default_value = "5s")]
    pub watch: Duration,
    /// Look at the last sample of a recording instead of this machine.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub from: Option<PathBuf>,
    /// Exit with 1 for what would be of this severity under load, and worse: info, warning or critical.
    #[arg(long, value_name = "SEVERITY", default_value = "warning", value_parser = severity)]
    pub fail_on: Severity,
    /// Exit with 2 if something could not be checked.
    #[arg(long)]
    pub strict: bool,
    /// text, json, or jsonl: a line per check and a summary.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "jsonl"])]
    pub format: String,
}

/// Looks, writes and gives the exit status.
pub(crate) fn run(
    config: &Config,
    args: &PreflightArgs,
    root: impl FnOnce() -> Result<Root, String>,
    plan: &Plan,
) -> Result<u8, String> {
    let (last, settings, complete) = if let Some(path) = &args.from {
        let (last, settings) = recorded(path, &plan.settings)?;
        (last, settings, true)
    } else {
        let mut last = None;
        let complete = watch::sample(root()?, plan, args.watch, |snapshot| {
            last = Some(snapshot);
            true
        })?;
        (last, plan.settings.clone(), complete)
    };
    let frame = configured(last.ok_or_else(|| topotop_model::locale::error::NOTHING_SAMPLED.to_string())?, settings);
    let checks = survey(&frame, &plan.judge);
    let report = Report { frame: &frame, checks: &checks, complete };
    let mut out = Output::stdout();
    let written = match &*args.format {
        "text" => report.text(theme::charset(config.charset), &mut out),
        "json" => in_english(|| report.json(&mut out)),
        _ => in_english(|| report.lines(&mut out)),
    };
    out.finish(written).map(|()| report.status(args))
}

/// The last sample of a recording, and what its frames are derived with.
fn recorded(path: &Path, settings: &Settings) -> Result<(Option<Snapshot>, Settings), String> {
    let mut reader = recording::open(path)?;
    let known = reader.about().nic_capacity_mbps.clone();
    let settings = if known.is_empty() { settings.clone() } else { Settings { nic_capacity_mbps: known } };
    let mut last = None;
    let mut damaged = recording::Damaged::default();
    while let Some(next) = reader.next_sample() {
        match next {
            Ok((_, snapshot)) => last = Some(snapshot),
            Err(damage) => damaged.add(damage),
        }
    }
    damaged.report(path);
    Ok((last, settings))
}

/// A frame of one sample alone: without rates it tells what is configured, whatever goes on at the moment.
fn configured(snapshot: Snapshot, settings: Settings) -> Frame {
    let mut window = Window::default();
    window.push(snapshot);
    Deriver::new(settings).frame(&window)
}

/// What was looked at.
struct Report<'a> {
    frame: &'a Frame,
    checks: &'a [Check],
    complete: bool,
}

#[derive(Serialize)]
struct Row {
    rule: &'static str,
    check: &'static str,
    state: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    says: String,
    findings: Vec<topotop_model::document::Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_checked: Vec<Missing>,
    #[serde(skip_serializing_if = "texts_are_empty")]
    advice: Texts,
}

/// serde passes a reference.
fn texts_are_empty(texts: &Texts) -> bool {
    texts.is_empty()
}

/// What could not be looked at, and what would let it.
#[derive(Serialize)]
struct Missing {
    subject: String,
    reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    needs: String,
}

#[derive(Serialize)]
struct Summary {
    host: String,
    complete: bool,
    worst: Option<&'static str>,
    would_hurt: Vec<&'static str>,
    not_checked: Vec<&'static str>,
    ok: Vec<&'static str>,
}

impl Report<'_> {
    fn of(&self, mark: Mark) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(move |check| check.mark() == mark)
    }

    fn worst(&self) -> Option<Severity> {
        self.checks.iter().flat_map(|check| &check.findings).map(|finding| finding.severity).max()
    }

    /// As `check`: 0 without anything that matters, 1 with something, 2 when that is unknown.
    fn status(&self, args: &PreflightArgs) -> u8 {
        let unread = args.strict && self.checks.iter().any(|check| !check.unchecked.is_empty());
        match (self.worst().is_some_and(|worst| worst >= args.fail_on), self.complete && !unread) {
            (true, _) => 1,
            (false, true) => 0,
            (false, false) => 2,
        }
    }

    fn text(&self, charset: Charset, out: &mut impl Write) -> io::Result<()> {
        let count = |mark| self.of(mark).count();
        let (hurt, unread, well) =
            (count(Mark::WouldHurt), count(Mark::NotChecked), count(Mark::Ok) + count(Mark::Info));
        let host = printable(&self.frame.host.name);
        let (host, hurt, unchecked, ok): (&dyn Display, &dyn Display, &dyn Display, &dyn Display) =
            (&host, &hurt, &unread, &well);
        if self.complete {
            writeln!(out, "{}\n", text::Head { host, hurt, unchecked, ok })?;
        } else {
            writeln!(out, "{}\n", text::HeadCut { host, hurt, unchecked, ok })?;
        }
        for check in self.checks {
            one(check, charset, out)?;
        }
        Ok(())
    }

    fn rows(&self) -> impl Iterator<Item = Row> {
        self.checks.iter().map(|check| row(check, self.frame))
    }

    fn summary(&self) -> Summary {
        let ids = |mark| self.of(mark).map(|check| check.rule.id.as_str()).collect();
        let ok = self.checks.iter().filter(|check| matches!(check.mark(), Mark::Ok | Mark::Info));
        Summary {
            host: printable(&self.frame.host.name).into_owned(),
            complete: self.complete,
            worst: self.worst().map(Severity::name),
            would_hurt: ids(Mark::WouldHurt),
            not_checked: ids(Mark::NotChecked),
            ok: ok.map(|check| check.rule.id.as_str()).collect(),
        }
    }

    fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let document = serde_json::json!({ "summary": self.summary(), "checks": self.rows().collect::<Vec<_>>() });
        serde_json::to_writer(&mut *out, &document)?;
        out.write_all(b"\n")
    }

    fn lines(&self, out: &mut impl Write) -> io::Result<()> {
        for row in self.rows() {
            serde_json::to_writer(&mut *out, &row)?;
            out.write_all(b"\n")?;
        }
        serde_json::to_writer(&mut *out, &serde_json::json!({ "summary": self.summary() }))?;
        out.write_all(b"\n")
    }
}

fn row(check: &Check, frame: &Frame) -> Row {
    let finding =
        |finding| json::finding(finding, None, &fix::offered(finding, frame, &fix::Surroundings::default()).0);
    let missing = check.unchecked.iter().map(|row| Missing {
        subject: printable(&row.subject.to_string()).into_owned(),
        reason: printable(&row.reason).into_owned(),
        needs: row.needs.clone(),
    });
    Row {
        rule: check.rule.id.as_str(),
        check: check.name.english(),
        state: check.mark().name(),
        says: printable(&check.says).into_owned(),
        findings: check.findings.iter().map(finding).collect(),
        not_checked: missing.collect(),
        advice: if check.mark() == Mark::WouldHurt { check.rule.advice } else { Texts::NONE },
    }
}

/// A line for what is well; for the rest what, why and what to do.
fn one(check: &Check, charset: Charset, out: &mut impl Write) -> io::Result<()> {
    let mark = match (check.mark(), charset) {
        (Mark::Ok, Charset::Unicode) => "✓",
        (Mark::Ok, Charset::Ascii) => "+",
        (Mark::WouldHurt, Charset::Unicode) => "▲",
        (Mark::WouldHurt, Charset::Ascii) => "!",
        (Mark::Info, Charset::Unicode) => "·",
        (Mark::Info, Charset::Ascii) => "i",
        (Mark::NotChecked, _) => "?",
    };
    let (name, id) = (padded(&check.name, 22), check.rule.id.as_str());
    let blank = " ".repeat(22);
    let says = printable(&check.shown()).into_owned();
    match (check.mark(), check.findings.first(), check.unchecked.first()) {
        (Mark::NotChecked, None, Some(first)) => {
            let reason = unchecked_text(first);
            writeln!(out, "{mark} {name} {id:<8} {}", text::NotChecked { reason: &printable(&reason) })?;
        }
        (_, Some(_), _) => {
            for (at, finding) in check.findings.iter().enumerate() {
                let (mark, name, id) = if at == 0 { (mark, &*name, id) } else { (" ", &*blank, "") };
                let title = printable(&finding.title()).into_owned();
                let is_info = finding.severity == Severity::Info;
                let title = if is_info { text::Info { title: &title }.to_string() } else { title };
                writeln!(out, "{mark} {name} {id:<8} {title}")?;
            }
        }
        _ => writeln!(out, "{mark} {name} {id:<8} {says}")?,
    }
    if check.mark() == Mark::WouldHurt {
        for advice in check.rule.advice.iter() {
            writeln!(out, "  {:<22} {:<8} {}", "", "", text::Remedy { advice: &advice })?;
        }
    }
    let rest = check.unchecked.iter().skip(usize::from(check.mark() == Mark::NotChecked && check.findings.is_empty()));
    for row in rest.take(MOST) {
        let reason = unchecked_text(row);
        writeln!(out, "? {:<22} {:<8} {}", "", "", text::NotChecked { reason: &printable(&reason) })?;
    }
    Ok(())
}

/// Unchecked items shown per check at most.
const MOST: usize = 4;
