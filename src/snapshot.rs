//! `topotop snapshot`: a sample or a pair of them, written out and done.

use crate::app::{App, Look, Status};
use crate::args::Global;
use crate::config::Config;
use crate::export::{self, Format, Writer};
use crate::keymap::Keymap;
use crate::output::{self, Output};
use crate::source::Sample;
use crate::source::live::Plan;
use crate::{recording, span, theme};
use clap::Args;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use topotop_collectors::{Demand, Root, Sampler};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::history::History;
use topotop_model::judge::timeline::{At, changes};
use topotop_model::judge::{self, Judge, Judgement, Timeline};
use topotop_model::locale::error as text;
use topotop_model::{Stamp, Window};
use topotop_widgets::themes::Depth;

/// Columns and rows where no terminal says otherwise.
const SIZE: (u16, u16) = (160, 50);

/// Arguments of `snapshot`.
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
    /// At most N processes and control groups in JSON, the busiest.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Read a sample of a recording instead of the live machine.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Which sample of the recording: 14:05, 10m (after the start), -30s (before the end), mark:NAME, start or end
    /// [default: end].
    #[arg(long, value_name = "TIME", requires = "from", allow_hyphen_values = true)]
    pub at: Option<String>,
}

fn size(text: &str) -> Result<(u16, u16), String> {
    let (width, height) =
        text.split_once('x').ok_or_else(|| topotop_model::locale::error::INVALID_SCREEN_SIZE.to_string())?;
    let side = |side: &str| side.parse().ok().filter(|side| (1..=2000).contains(side));
    side(width).zip(side(height)).ok_or_else(|| topotop_model::locale::error::INVALID_SCREEN_SIZE.into())
}

/// Takes the samples and writes them.
pub(crate) fn run(
    global: &Global,
    config: &Config,
    args: &SnapshotArgs,
    root: impl FnOnce() -> Result<Root, String>,
    plan: &Plan,
) -> Result<(), String> {
    let format = format(args)?;
    let mut app = app(global, config, format)?;
    let screen = args.screen.as_deref().unwrap_or("overview");
    let drawn = matches!(format.writer, Writer::Screen(_));
    if !app.open_screen(screen) && (drawn || args.screen.is_some()) {
        return Err(text::UnknownScreen { screen: &screen, known: &app.screens() }.to_string());
    }
    app.status.interval = plan.interval;
    app.status.about.still = true;
    if let Some(path) = &args.from {
        if global.root.is_some() || global.interval.is_some() {
            return Err(text::FROM_WITH_LIVE_FLAGS.to_string());
        }
        app.newest = recorded(path, args.at.as_deref().unwrap_or("end"), &plan.settings, &config.judge())?;
    } else {
        let root = root()?;
        app.status.about.captured = (!root.is_live()).then(|| root.path().display().to_string());
        app.status.surroundings = topotop_collectors::surroundings::read(&root);
        app.newest = sample(root, plan, Judge::new(config.judge()));
    }
    if global.verbose {
        complain(&app.newest);
    }
    let mut out = Output::create(args.output.as_deref())?;
    let written = write(&mut app, args, format, &mut out);
    out.finish(written)
}

/// The format that is asked for, by name, by the file's extension, or by who reads.
fn format(args: &SnapshotArgs) -> Result<&'static Format, String> {
    let name = |name: &str| {
        let names: Vec<&str> = export::ALL.iter().map(|format| format.name).collect();
        export::named(name).ok_or_else(|| text::UnknownFormat { format: &name, known: &names.join(", ") }.to_string())
    };
    match (&args.format, args.output.as_ref().filter(|path| !output::is_stdout(path))) {
        (Some(given), _) => name(given),
        (None, Some(path)) => {
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            export::of_extension(extension).ok_or_else(|| text::UnknownExtension { path: &path.display() }.to_string())
        }
        (None, None) => name(if std::io::stdout().is_terminal() { "text" } else { "json" }),
    }
}

/// The program as it stands before its first sample, looking as the format needs it.
fn app(global: &Global, config: &Config, format: &Format) -> Result<App, String> {
    let depth = if format.terminal { theme::depth() } else { Depth::True };
    let wanted = global.theme.as_deref().or(config.theme.as_deref());
    let charset = match config.charset {
        // Files that are no terminal's are UTF-8 wherever they were made.
        crate::config::CharsetChoice::Auto if !format.terminal => topotop_widgets::Charset::Unicode,
        choice => theme::charset(choice),
    };
    let look = Look { theme: theme::load(wanted, depth)?, charset, mouse: false };
    let status = Status { judging: config.judge(), ..Status::default() };
    Ok(App::new(Keymap::new(&config.keys)?, look, status))
}

/// What a captured machine has, two samples of this one.
fn sample(root: Root, plan: &Plan, mut judge: Judge) -> Sample {
    let (live, captured) = (root.is_live(), root.stamps().len());
    let mut sampler = Sampler::new(root, &plan.options);
    sampler.demand(Demand { complete: true, process: None });
    let mut deriver = Deriver::new(plan.settings.clone());
    let (mut window, mut history) = (Window::default(), History::default());
    let started = Instant::now();
    window.push(sampler.sample());
    let mut frame = deriver.frame(&window);
    history.push(&frame);
    let mut judgement = judge.step(&frame);
    if live {
        std::thread::sleep(plan.interval.saturating_sub(started.elapsed()).max(Duration::from_millis(1)));
    }
    if live || captured > 1 {
        window.push(sampler.sample());
        frame = deriver.frame(&window);
        history.push(&frame);
        judgement = judge.step(&frame);
    }
    Sample { frame: Arc::new(frame), history: Arc::new(history), judgement: Arc::new(judgement), ..Sample::default() }
}

/// Samples before the one that is drawn, for what is drawn over time.
const BEFORE: u64 = 120;

/// A sample of a recording; where it is drawn, with what went before.
fn recorded(path: &Path, at: &str, settings: &Settings, limits: &judge::Settings) -> Result<Sample, String> {
    let wrong = |error: String| format!("{}: {error}", topotop_model::text::printable(&path.display().to_string()));
    let mut reader = recording::open(path)?;
    let last = span::sample(&mut reader, at).map_err(wrong)?;
    let first = reader.numbers().map_or(last, |numbers| *numbers.start());
    // As it was derived when it was recorded, so that documents are the same.
    let settings = match &reader.about().nic_capacity_mbps {
        recorded if recorded.is_empty() => settings.clone(),
        recorded => Settings { nic_capacity_mbps: recorded.clone() },
    };
    let (mut deriver, mut history) = (Deriver::new(settings), History::default());
    let (mut judgement, mut timeline) = (Judgement::default(), Timeline::default());
    let (start, mut judge) = recording::judge_before(&mut reader, limits, last.saturating_sub(BEFORE).max(first));
    span::windows(&mut reader, (start, last), |window| {
        let frame = deriver.frame(window);
        history.push(&frame);
        let now = judge.step(&frame);
        let Stamp { seq: sample, wall_ns, mono_ns, .. } = frame.stamp;
        timeline.extend(changes(&judgement, &now, At { sample, wall_ns, mono_ns }));
        judgement = now;
    });
    let window = reader.window_at(last).map_err(|damage| wrong(damage.to_string()))?;
    let frame = Arc::new(deriver.frame(&window));
    let (history, judgement, timeline) = (Arc::new(history), Arc::new(judgement), Arc::new(timeline));
    Ok(Sample { frame, history, judgement, timeline })
}

fn write(app: &mut App, args: &SnapshotArgs, format: &Format, out: &mut dyn Write) -> std::io::Result<()> {
    // People look at it where it goes to a terminal.
    let pretty = args.output.as_deref().is_none_or(output::is_stdout) && std::io::stdout().is_terminal();
    let size = args.size.unwrap_or_else(|| terminal_size(format));
    export::write(app, format, (args.top, pretty), size, out)?;
    out.flush()
}

/// The terminal that it goes to, or the usual size.
fn terminal_size(format: &Format) -> (u16, u16) {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if format.terminal && size.ws_col > 0 && size.ws_row > 1 => (size.ws_col, size.ws_row - 1),
        _ => SIZE,
    }
}

/// Says what was not read.
pub(crate) fn complain(sample: &Sample) {
    let mut err = std::io::stderr().lock();
    for gap in &sample.frame.gaps {
        let needs = gap.shown_needs();
        let (path, reason, count) = (&gap.path, gap.reason.text(), gap.count);
        let line = match &*needs {
            "" => topotop_model::locale::pair(path, topotop_model::locale::aside(reason, count)),
            needs => topotop_model::locale::error::UnreadFiles { path, reason: &reason, count: &count, needs: &needs }
                .to_string(),
        };
        // Where standard error is gone there is nobody to tell.
        let _ = writeln!(err, "topotop: {}", topotop_model::text::printable(&line));
    }
}
