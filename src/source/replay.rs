//! Recordings as a source: a thread that plays, one that indexes, and the newest sample between them and
//! the screen.

mod assessor;
mod buffer;
mod headlines;
mod indexer;
mod judging;
mod player;
mod sample_reader;
mod stream_reader;

use super::playback::Playback;
use super::{About, Sample, Source, Target};
use crate::app::transport::{Order, Transport};
use crate::moment::Moment;
use crate::stdin;
use assessor::{Assessor, Task};
use buffer::ReplayBuffer;
use indexer::{Indexer, Update};
use player::Player;
use sample_reader::{FileReader, SampleReader};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stream_reader::StreamReader;
use topotop_model::Stamp;
use topotop_model::align::Offset;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::judge;
use topotop_model::locale::{Text, error as errors, pair, replay as text};

/// A message to the player.
#[derive(Debug)]
enum PlayerMessage {
    /// By a key.
    Order(Order),
    /// From the indexer or the assessor.
    Update(Update),
    /// By a stream: there is something.
    Came,
    /// The screen has gone.
    Leave,
}

/// What the player shares with the screen's thread.
#[derive(Debug, Default)]
struct Shared {
    newest: Mutex<Option<Sample>>,
    playback: Mutex<Option<Playback>>,
    trouble: Mutex<Option<String>>,
}

/// How to begin.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Where; without it at the start, or at the end of what still grows.
    pub from: Option<Moment>,
    /// Where a loop ends that begins there.
    pub to: Option<Moment>,
    /// How many times as fast as it was.
    pub speed: f64,
    /// True to wait for a key.
    pub paused: bool,
}

impl Default for Start {
    fn default() -> Self {
        Self { from: None, to: None, speed: 1.0, paused: false }
    }
}

/// The clock offset of two machines.
#[derive(Clone, Debug, PartialEq)]
enum Clocks {
    /// Not compared yet.
    Unknown,
    /// Both recordings are of one boot of one machine.
    OneBoot,
    /// No match found: wall clocks are used as they are.
    Wall,
    /// What both did shows it.
    Measured(Offset, Text),
}

impl Clocks {
    /// What to add to a wall time of a machine to get the other one's, in ns.
    fn shift_ns(&self, from: usize) -> i64 {
        match self {
            Self::Measured(offset, _) if from == 0 => offset.ns,
            Self::Measured(offset, _) => -offset.ns,
            _ => 0,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Unknown => text::CLOCKS_COMPARING.to_string(),
            Self::OneBoot => text::CLOCKS_OF_BOOT.to_string(),
            Self::Wall => text::CLOCKS_AS_SET.to_string(),
            Self::Measured(offset, by) => {
                let (seconds, percent) = (offset.ns as f64 / 1e9, offset.confidence * 100.0);
                let (offset, percent) = (format!("{seconds:+.2}"), format!("{percent:.0}"));
                text::ClocksMeasured { offset: &offset, by, percent: &percent }.to_string()
            }
        }
    }
}

/// Recordings that are open and not played yet.
pub struct Opened {
    readers: Vec<Box<dyn SampleReader>>,
    /// What they are called on the screen.
    names: Vec<String>,
    introduction: Option<String>,
    inbox: Receiver<PlayerMessage>,
    messages: Sender<PlayerMessage>,
}

/// Opens recordings: files, `-` for standard input, pipes. Waits for the beginning of what is no file.
pub fn open(files: &[PathBuf]) -> Result<Opened, String> {
    let (messages, inbox) = channel();
    let mut readers: Vec<Box<dyn SampleReader>> = Vec::new();
    for path in files {
        readers.push(reader(path, &messages)?);
    }
    let names = names(files, &readers);
    Ok(Opened { readers, names, introduction: None, inbox, messages })
}

/// Hosts; with the file's name where two are of one host.
fn names(files: &[PathBuf], readers: &[Box<dyn SampleReader>]) -> Vec<String> {
    let hosts: Vec<&str> = readers.iter().map(|reader| reader.about().host.as_str()).collect();
    let is_one_of_many = |host: &str| hosts.iter().filter(|other| **other == host).count() > 1;
    let name = |(host, file): (&&str, &PathBuf)| match file.file_stem().and_then(|stem| stem.to_str()) {
        Some(stem) if is_one_of_many(host) => format!("{host} ({})", stem.chars().take(16).collect::<String>()),
        _ => (*host).to_owned(),
    };
    hosts.iter().zip(files).map(name).collect()
}

fn reader(path: &Path, messages: &Sender<PlayerMessage>) -> Result<Box<dyn SampleReader>, String> {
    let is_stdin = path == Path::new("-");
    // A file that standard input was redirected from is a file, not a stream.
    let wrong = |error: std::io::Error| pair(errors::STANDARD_INPUT, error);
    let stream = if is_stdin { Some(stdin::stream().map_err(wrong)?) } else { None };
    let path = stream.as_ref().map_or(path, |(_, path)| path);
    let name = if is_stdin { errors::STANDARD_INPUT.to_string() } else { path.display().to_string() };
    let metadata = std::fs::metadata(path).map_err(|error| pair(&name, error))?;
    if metadata.is_file() {
        return Ok(Box::new(FileReader::begin(path)?));
    }
    if stream.as_ref().is_some_and(|(stream, _)| stream.is_terminal()) {
        return Err(errors::PIPED_RECORDING.into());
    }
    if metadata.is_dir() {
        return Err(errors::IsDirectory { path: &name }.to_string());
    }
    let messages = messages.clone();
    let wake = move || {
        // A player that is gone needs nothing.
        let _ = messages.send(PlayerMessage::Came);
    };
    let input = match stream {
        Some((stream, _)) => stream,
        None => std::fs::File::open(path).map_err(|error| pair(&name, error))?,
    };
    let input: Box<dyn std::io::Read + Send> = Box::new(input);
    Ok(Box::new(StreamReader::open(input, &name, wake)?))
}

/// Recordings that are played.
pub struct Replay {
    shared: Arc<Shared>,
    introduction: Option<String>,
    messages: Sender<PlayerMessage>,
}

impl Opened {
    /// The same with a text for the title.
    pub(crate) fn introduced(self, introduction: Option<String>) -> Self {
        Self { introduction, ..self }
    }

    /// Starts playing; `wake` is called when there is something to take.
    pub fn start(
        self,
        settings: &Settings,
        judged: &judge::Settings,
        start: Start,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Replay, String> {
        let shared = Arc::new(Shared::default());
        let deriver = |reader: &dyn SampleReader| Deriver::new(derived_as(reader, settings));
        let indexer = || {
            let again = self.readers.iter().map(|reader| Ok((reader.again()?, deriver(reader.as_ref()))));
            let readers = again.collect::<Result<Vec<_>, String>>()?;
            let (jobs, inbox) = channel();
            let indexer = Indexer { readers, inbox, player: self.messages.clone() };
            spawn("indexer", move || indexer.run())?;
            Ok::<_, String>(jobs)
        };
        let jobs = indexer()?;
        let timekeeper = if self.readers.len() > 1 { Some(indexer()?) } else { None };
        let tasks = assess(&self.readers, settings, judged, &self.messages)?;
        let buffers: Vec<ReplayBuffer> = self
            .readers
            .into_iter()
            .map(|reader| {
                let deriver = deriver(reader.as_ref());
                ReplayBuffer::new(reader, deriver, judged.clone())
            })
            .collect();
        let now = Instant::now();
        let player = Player {
            names: self.names,
            machine: 0,
            transport: Transport::default(),
            clocks: clocks(&buffers),
            inbox: self.inbox,
            indexer: jobs,
            timekeeper,
            assessor: tasks,
            judging: false,
            swept: vec![(now, None); buffers.len()],
            shared: Arc::clone(&shared),
            wake: Box::new(wake),
            started: now,
            indexing: false,
            refreshed: now,
            surveyed: vec![(now, None); buffers.len()],
            compared: (0, now),
            newest: (now, None),
            shown: None,
            quiet: None,
            leaving: false,
            buffers,
        };
        spawn("player", move || player.run(&start))?;
        Ok(Replay { shared, introduction: self.introduction, messages: self.messages })
    }
}

/// Starts the thread that judges.
fn assess(
    readers: &[Box<dyn SampleReader>],
    settings: &Settings,
    judged: &judge::Settings,
    messages: &Sender<PlayerMessage>,
) -> Result<Sender<Task>, String> {
    let twice = readers.iter().map(|reader| {
        let again = || Ok::<_, String>((reader.again()?, Deriver::new(derived_as(reader.as_ref(), settings))));
        Ok([again()?, again()?])
    });
    let twice = twice.collect::<Result<Vec<_>, String>>()?;
    let (tasks, inbox) = channel();
    let assessor = Assessor::new(twice, judged.clone(), inbox, messages.clone());
    spawn("assessor", move || assessor.run())?;
    Ok(tasks)
}

/// What the frames were derived with when it was recorded, so that they are the same; what is configured here else.
fn derived_as(reader: &dyn SampleReader, settings: &Settings) -> Settings {
    let recorded = &reader.about().nic_capacity_mbps;
    if recorded.is_empty() { settings.clone() } else { Settings { nic_capacity_mbps: recorded.clone() } }
}

fn clocks(buffers: &[ReplayBuffer]) -> Clocks {
    let boots: Vec<&str> = buffers.iter().map(|buffer| buffer.reader.about().boot_id.as_str()).collect();
    match boots.as_slice() {
        [first, second, ..] if first == second && !first.is_empty() => Clocks::OneBoot,
        _ => Clocks::Unknown,
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map(drop).map_err(|error| errors::NoThread { error: &error }.to_string())
}

impl Drop for Replay {
    fn drop(&mut self) {
        let _ = self.messages.send(PlayerMessage::Leave);
    }
}

impl Source for Replay {
    fn about(&self) -> About {
        About { introduction: self.introduction.clone(), ..About::default() }
    }

    fn take(&mut self) -> Option<Sample> {
        lock(&self.shared.newest).take()
    }

    fn trouble(&mut self) -> Option<String> {
        lock(&self.shared.trouble).take()
    }

    fn seek(&mut self, _: Stamp, _: Target) -> Option<Sample> {
        None
    }

    fn set_interval(&self, _: Duration) {}

    fn watch(&self, _: Option<u32>) {}

    fn playback(&mut self) -> Option<Playback> {
        lock(&self.shared.playback).clone()
    }

    fn order(&mut self, order: Order) {
        // A player that is gone has left its last picture.
        let _ = self.messages.send(PlayerMessage::Order(order));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
