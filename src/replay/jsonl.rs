//! One document per recorded sample, as they were recorded, in constant memory.

use super::ReplayArgs;
use crate::config::Config;
use crate::export::{Options, json};
use crate::moment::Moment;
use crate::recording::{Damaged, Reader, judge_before, open};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::history::History;
use topotop_model::judge::{self, Judge};
use topotop_model::locale::{error as errors, pair};
use topotop_model::recording::{About, Item, Stream};
use topotop_model::{Snapshot, Window};

/// Writes them.
pub(super) fn run(config: &Config, args: &ReplayArgs) -> Result<(), String> {
    let [path] = args.files.as_slice() else {
        return Err(errors::JSONL_ONE.to_string());
    };
    if args.speed.is_some() || args.paused {
        return Err(errors::JSONL_ALONE.to_string());
    }
    let mut out = BufWriter::with_capacity(64 << 10, std::io::stdout().lock());
    let given = Given { top: args.top, judge: config.judge() };
    let settings = config.settings();
    let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let written = if is_file {
        let mut reader = open(path)?;
        let mut lines = Lines::new(&settings, reader.about(), given);
        let written = file(&mut reader, args, &mut lines, &mut out);
        lines.damaged.report(path);
        written
    } else {
        stream(path, args, &settings, given, &mut out)
    };
    match written.and_then(|()| out.flush().map_err(Failure::Out)) {
        Ok(()) => Ok(()),
        // Whoever read has read enough.
        Err(Failure::Out(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(Failure::Out(error)) => Err(errors::StdoutFailed { error: &crate::trust::said(&error) }.to_string()),
        Err(Failure::In(error)) => Err(error),
    }
}

enum Failure {
    In(String),
    Out(std::io::Error),
}

/// What becomes of samples.
struct Lines {
    damaged: Damaged,
    window: Window,
    deriver: Deriver,
    judge: Judge,
    history: History,
    limits: judge::Settings,
    top: Option<usize>,
}

/// What the user wants of documents.
#[derive(Clone, Debug)]
struct Given {
    top: Option<usize>,
    judge: judge::Settings,
}

impl Lines {
    fn new(settings: &Settings, about: &About, given: Given) -> Self {
        // As it was derived when it was recorded, so that documents are the same.
        let recorded = &about.nic_capacity_mbps;
        let settings =
            if recorded.is_empty() { settings.clone() } else { Settings { nic_capacity_mbps: recorded.clone() } };
        let (window, deriver, judge) = (Window::default(), Deriver::new(settings), Judge::new(given.judge.clone()));
        Self {
            damaged: Damaged::default(),
            window,
            deriver,
            judge,
            history: History::default(),
            limits: given.judge,
            top: given.top,
        }
    }

    fn push(&mut self, snapshot: Snapshot) {
        self.window.push(snapshot);
    }

    /// Judges the sample; writes it if it is wanted.
    fn step(&mut self, wanted: bool, out: &mut dyn Write) -> Result<(), Failure> {
        let mut frame = self.deriver.frame(&self.window);
        let judgement = self.judge.step(&frame);
        self.history.push(&frame);
        if !wanted {
            return Ok(());
        }
        self.history.put_forecasts(&mut frame);
        let options = Options {
            top: self.top,
            pretty: false,
            judgement: Some(&judgement),
            settings: Some(self.judge.settings()),
            surroundings: None,
        };
        json::write(&frame, &options, out).map_err(Failure::Out)
    }
}

fn file(reader: &mut Reader, args: &ReplayArgs, lines: &mut Lines, out: &mut dyn Write) -> Result<(), Failure> {
    let Some((first, last)) = reader.span() else { return Ok(()) };
    let Some((oldest, newest)) = reader.numbers().map(|numbers| (*numbers.start(), *numbers.end())) else {
        return Ok(());
    };
    // Ends are by time, not by nearness: what was taken before --from or after --to is left out.
    let at = |moment: Moment| {
        let share = |share: f64| oldest + ((newest - oldest) as f64 * share).round() as u64;
        match moment {
            Moment::Share(part) => Bound::Sample(share(part)),
            other => Bound::Wall(other.wall(first.wall_ns, last.wall_ns, first.wall_ns).unwrap_or(first.wall_ns)),
        }
    };
    let (from, to) = (args.from.map(at), args.to.map(at));
    let wanted = match from {
        None => oldest,
        Some(Bound::Sample(sample)) => sample.max(oldest),
        // The nearest sample may lie after it.
        Some(Bound::Wall(wall_ns)) => reader.locate(wall_ns).unwrap_or(oldest).saturating_sub(1).max(oldest),
    };
    let (start, judge) = judge_before(reader, &lines.limits, wanted);
    lines.judge = judge;
    let mut number = None;
    match reader.window_at(start) {
        Ok(window) => {
            lines.window = window;
            number = Some(start);
        }
        Err(damage) => lines.damaged.add(damage),
    }
    loop {
        if let Some(number) = number {
            let wall_ns = lines.window.now.stamp.wall_ns;
            if to.is_some_and(|to| to.is_before(number, wall_ns)) {
                return Ok(());
            }
            lines.step(!from.is_some_and(|from| from.is_after(number, wall_ns)), out)?;
        }
        match reader.next_sample() {
            Some(Ok((next, snapshot))) => {
                // Records that cannot even be found are no error of decoding.
                let is_next = number.is_none_or(|number| number + 1 == next);
                reader.lost_before(next).filter(|_| !is_next).into_iter().for_each(|damage| lines.damaged.add(damage));
                lines.push(snapshot);
                number = Some(next);
            }
            Some(Err(damage)) => {
                lines.damaged.add(damage);
                number = None;
            }
            None => return Ok(()),
        }
    }
}

/// An end of what is written.
#[derive(Clone, Copy)]
enum Bound {
    Sample(u64),
    Wall(i64),
}

impl Bound {
    fn is_before(self, number: u64, wall_ns: i64) -> bool {
        match self {
            Self::Sample(sample) => sample < number,
            Self::Wall(wall) => wall < wall_ns,
        }
    }

    fn is_after(self, number: u64, wall_ns: i64) -> bool {
        match self {
            Self::Sample(sample) => sample > number,
            Self::Wall(wall) => wall > wall_ns,
        }
    }
}

/// A pipe cannot be read backwards: only times that need no end are possible.
fn stream(
    path: &Path,
    args: &ReplayArgs,
    settings: &Settings,
    given: Given,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if args.from.is_some() || args.to.is_some() {
        return Err(Failure::In(errors::STREAM_SPAN.to_string()));
    }
    let stdin = path == Path::new("-");
    let name = if stdin { errors::STANDARD_INPUT.to_string() } else { path.display().to_string() };
    let wrong = |error: &dyn std::fmt::Display| Failure::In(pair(&name, error));
    let input: Box<dyn std::io::Read> = if stdin {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| wrong(&crate::trust::said(&error)))?)
    };
    let mut stream = Stream::open(input).map_err(|error| wrong(&error))?;
    let mut lines = Lines::new(settings, stream.about(), given);
    let read = read(&mut stream, &mut lines, out, wrong);
    lines.damaged.report(path);
    read
}

fn read<R: std::io::Read>(
    stream: &mut Stream<R>,
    lines: &mut Lines,
    out: &mut dyn Write,
    wrong: impl Fn(&dyn std::fmt::Display) -> Failure,
) -> Result<(), Failure> {
    while let Some(item) = stream.next_item().map_err(|error| wrong(&error))? {
        match item {
            Item::Sample(snapshot) => {
                lines.push(snapshot);
                lines.step(true, out)?;
                // Whoever reads a live stream wants each sample when it comes.
                out.flush().map_err(Failure::Out)?;
            }
            Item::Damage(damage) => lines.damaged.add(damage),
            Item::Event(_) => {}
        }
    }
    Ok(())
}
