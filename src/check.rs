//! `topotop check`: watch for a while, say what is wrong and what could not be looked at, and exit by it.

mod report;

use crate::cli::Global;
use crate::config::Config;
use crate::export::{Options, json};
use crate::source::live::Plan;
use crate::{recording, units};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use topotop_collectors::{Demand, Root, Sampler};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::frame::Frame;
use topotop_model::judge::{Judge, Judgement};
use topotop_model::rules::{Finding, Severity, Subject};
use topotop_model::{Snapshot, Window};

/// What `check` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckArgs {
    /// Watch for TIME.
    #[arg(long = "for", value_name = "TIME", value_parser = units::duration, default_value = "30s")]
    pub watch: Duration,
    /// Judge a recording instead of this machine.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub from: Option<PathBuf>,
    /// Exit with 1 for findings of this severity and worse: info, warning or critical.
    #[arg(long, value_name = "SEVERITY", default_value = "warning", value_parser = severity)]
    pub fail_on: Severity,
    /// Exit with 2 if a rule could not be judged.
    #[arg(long)]
    pub strict: bool,
    /// text, json, or jsonl: a document per sample and a summary.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json", "jsonl"])]
    pub format: String,
}

fn severity(text: &str) -> Result<Severity, String> {
    let all = [Severity::Info, Severity::Warning, Severity::Critical];
    all.into_iter().find(|severity| severity.name() == text).ok_or_else(|| "use info, warning or critical".to_owned())
}

/// What was seen while watching.
#[derive(Debug, Default)]
struct Seen {
    samples: u64,
    complete: bool,
    seconds: f64,
    /// Every finding that was open at any time, as it was last.
    findings: Vec<Finding>,
    last: Judgement,
}

impl Seen {
    fn take(&mut self, frame: &Frame, judgement: Judgement, first: &mut Option<u64>) {
        self.samples += 1;
        let start = *first.get_or_insert(frame.stamp.mono_ns);
        self.seconds = frame.stamp.mono_ns.saturating_sub(start) as f64 / 1e9;
        for finding in &judgement.findings {
            let same = |known: &&mut Finding| (known.rule.id, &known.subject) == (finding.rule.id, &finding.subject);
            match self.findings.iter_mut().find(same) {
                Some(known) => {
                    let worst = known.severity.max(finding.severity);
                    *known = finding.clone();
                    known.severity = worst;
                }
                None => self.findings.push(finding.clone()),
            }
        }
        // What turned out to be the effect of something else is told under it.
        let children: Vec<(&str, Subject)> = judgement
            .findings
            .iter()
            .flat_map(|finding| &finding.children)
            .map(|child| (child.rule.id, child.subject.clone()))
            .collect();
        self.findings.retain(|known| !children.contains(&(known.rule.id, known.subject.clone())));
        self.last = judgement;
    }

    fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// 0 without findings that matter, 1 with some, 2 when it could not be told.
    fn status(&self, args: &CheckArgs) -> u8 {
        let found = self.worst().is_some_and(|worst| worst >= args.fail_on);
        let unjudged = args.strict && report::not_checked(&self.last).next().is_some();
        match (found, self.complete && !unjudged) {
            (true, _) => 1,
            (false, true) => 0,
            (false, false) => 2,
        }
    }
}

/// What becomes of samples: they are judged, and told where every one is wanted.
struct Watch<'a> {
    window: Window,
    deriver: Deriver,
    judge: Judge,
    seen: Seen,
    first: Option<u64>,
    /// Where a document per sample goes.
    lines: Option<&'a mut dyn Write>,
}

impl Watch<'_> {
    /// False when nobody reads any more.
    fn take(&mut self, snapshot: Snapshot) -> bool {
        self.window.push(snapshot);
        let frame = self.deriver.frame(&self.window);
        let judgement = self.judge.step(&frame);
        let options = Options { judgement: Some(&judgement), ..Options::default() };
        let told = self.lines.as_mut().map(|out| json::write(&frame, &options, out).and_then(|()| out.flush()));
        self.seen.take(&frame, judgement, &mut self.first);
        !matches!(told, Some(Err(_)))
    }

    fn recording(&mut self, path: &std::path::Path) -> Result<(), String> {
        let mut reader = recording::open(path)?;
        let recorded = reader.about().nic_capacity_mbps.clone();
        if !recorded.is_empty() {
            self.deriver = Deriver::new(Settings { nic_capacity_mbps: recorded });
        }
        while let Some(next) = reader.next_sample() {
            match next {
                Ok((_, snapshot)) => {
                    if !self.take(snapshot) {
                        break;
                    }
                }
                Err(damage) => crate::run::warn(&damage.to_string()),
            }
        }
        Ok(())
    }
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
    let lines = args.format == "jsonl";
    let mut watch = Watch {
        window: Window::default(),
        deriver: Deriver::new(plan.settings.clone()),
        judge: Judge::new(config.judge()),
        seen: Seen { complete: true, ..Seen::default() },
        first: None,
        lines: if lines { Some(&mut out) } else { None },
    };
    if let Some(path) = &args.from {
        watch.recording(path)?;
    } else {
        let complete = sample(root()?, plan, args.watch, |snapshot| watch.take(snapshot))?;
        watch.seen.complete = complete;
    }
    let seen = watch.seen;
    if global.verbose {
        report::standings(&seen.last, &mut std::io::stderr().lock());
    }
    let written = match &*args.format {
        "text" => report::text(&seen, &mut out),
        format => report::summary(&seen, format == "json", &mut out),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(seen.status(args)),
    }
}

/// Samples until the time is over; false if it was ended before.
fn sample(root: Root, plan: &Plan, time: Duration, mut take: impl FnMut(Snapshot) -> bool) -> Result<bool, String> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| format!("signals: {error}"))?;
    }
    let (live, captured) = (root.is_live(), root.stamps().len());
    let mut sampler = Sampler::new(root, &plan.options);
    sampler.demand(Demand { complete: true, process: None });
    let start = Instant::now();
    let mut due = start;
    for sample in 0.. {
        if !take(sampler.sample()) {
            return Ok(true);
        }
        if !live && sample + 1 >= captured.max(1) {
            return Ok(true);
        }
        sampler.demand(Demand::default());
        due = (due + plan.interval).max(Instant::now());
        if live && due > start + time {
            break;
        }
        while live && Instant::now() < due {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)));
        }
    }
    Ok(true)
}
