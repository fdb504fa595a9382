//! Recordings as a source: a thread that plays, one that looks ahead and back, and the newest picture between them and
//! the screen.

mod assessor;
mod deck;
mod headlines;
mod judging;
mod player;
mod scout;
mod stream;
mod track;

use super::playback::Playback;
use super::{About, Sample, Source, Target};
use crate::app::transport::{Order, Transport};
use crate::moment::Moment;
use assessor::{Assessor, Task};
use deck::Deck;
use player::Player;
use scout::{News, Scout};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use stream::StreamTrack;
use topotop_model::Stamp;
use topotop_model::align::Offset;
use topotop_model::derive::{Deriver, Settings};
use topotop_model::judge;
use track::{FileTrack, Track};

/// What the player is told.
#[derive(Debug)]
enum Word {
    /// By a key.
    Order(Order),
    /// By the thread that looks around.
    News(News),
    /// By a stream: there is something.
    Came,
    /// Nobody looks any more.
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

/// How the clocks of two machines stand to each other.
#[derive(Clone, Debug, PartialEq)]
enum Clocks {
    /// Nobody has looked yet.
    Unknown,
    /// Both recordings are of one boot of one machine.
    OneBoot,
    /// Nothing shows it: wall clocks are taken for what they say.
    Wall,
    /// What both did shows it.
    Found(Offset, &'static str),
}

impl Clocks {
    /// What to add to a wall time of a machine to get the other one's, in ns.
    fn shift_ns(&self, from: usize) -> i64 {
        match self {
            Self::Found(offset, _) if from == 0 => offset.ns,
            Self::Found(offset, _) => -offset.ns,
            _ => 0,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Unknown => "comparing clocks".to_owned(),
            Self::OneBoot => "one clock (same boot)".to_owned(),
            Self::Wall => "clocks as set (no clear match)".to_owned(),
            Self::Found(offset, by) => {
                let percent = offset.confidence * 100.0;
                format!("clocks {:+.2}s {by} ({percent:.0}% alike)", offset.ns as f64 / 1e9)
            }
        }
    }
}

/// Recordings that are open and not played yet.
pub struct Opened {
    tracks: Vec<Box<dyn Track>>,
    /// What they are called on the screen.
    names: Vec<String>,
    inbox: Receiver<Word>,
    words: Sender<Word>,
}

/// Opens recordings: files, `-` for standard input, pipes. Waits for the beginning of what is no file.
pub fn open(files: &[PathBuf]) -> Result<Opened, String> {
    let (words, inbox) = channel();
    let mut tracks: Vec<Box<dyn Track>> = Vec::new();
    for path in files {
        tracks.push(track(path, &words)?);
    }
    let names = names(files, &tracks);
    Ok(Opened { tracks, names, inbox, words })
}

/// Hosts; with the file's name where two are of one host.
fn names(files: &[PathBuf], tracks: &[Box<dyn Track>]) -> Vec<String> {
    let hosts: Vec<&str> = tracks.iter().map(|track| track.about().host.as_str()).collect();
    let is_one_of_many = |host: &str| hosts.iter().filter(|other| **other == host).count() > 1;
    let name = |(host, file): (&&str, &PathBuf)| match file.file_stem().and_then(|stem| stem.to_str()) {
        Some(stem) if is_one_of_many(host) => format!("{host} ({})", stem.chars().take(16).collect::<String>()),
        _ => (*host).to_owned(),
    };
    hosts.iter().zip(files).map(name).collect()
}

fn track(path: &Path, words: &Sender<Word>) -> Result<Box<dyn Track>, String> {
    let stdin = path == Path::new("-");
    // A file that standard input was redirected from is a file, not a stream.
    let path = if stdin { Path::new("/dev/stdin") } else { path };
    let name = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let metadata = std::fs::metadata(path).map_err(|error| format!("{name}: {error}"))?;
    if metadata.is_file() {
        return Ok(Box::new(FileTrack::open(path)?));
    }
    if stdin && std::io::stdin().is_terminal() {
        return Err("standard input is a terminal: pipe `topotop record -o -` into it, or name a file".to_owned());
    }
    if metadata.is_dir() {
        return Err(format!("{name}: this is a directory: give a recording"));
    }
    let words = words.clone();
    let wake = move || {
        // A player that is gone needs nothing.
        let _ = words.send(Word::Came);
    };
    let input: Box<dyn std::io::Read + Send> = if stdin {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| format!("{name}: {error}"))?)
    };
    Ok(Box::new(StreamTrack::open(input, &name, wake)?))
}

/// Recordings that are played.
pub struct Replay {
    shared: Arc<Shared>,
    words: Sender<Word>,
}

impl Opened {
    /// Starts playing; `wake` is called when there is something to take.
    pub fn start(
        self,
        settings: &Settings,
        judged: &judge::Settings,
        start: Start,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Replay, String> {
        let shared = Arc::new(Shared::default());
        let deriver = |track: &dyn Track| Deriver::new(derived_as(track, settings));
        let scout = || {
            let again = self.tracks.iter().map(|track| Ok((track.again()?, deriver(track.as_ref()))));
            let tracks = again.collect::<Result<Vec<_>, String>>()?;
            let (jobs, inbox) = channel();
            let scout = Scout { tracks, inbox, player: self.words.clone() };
            spawn("scout", move || scout.run())?;
            Ok::<_, String>(jobs)
        };
        let jobs = scout()?;
        let timekeeper = if self.tracks.len() > 1 { Some(scout()?) } else { None };
        let tasks = assess(&self.tracks, settings, judged, &self.words)?;
        let decks: Vec<Deck> = self
            .tracks
            .into_iter()
            .map(|track| {
                let deriver = deriver(track.as_ref());
                Deck::new(track, deriver, judged.clone())
            })
            .collect();
        let now = Instant::now();
        let player = Player {
            names: self.names,
            machine: 0,
            transport: Transport::default(),
            clocks: clocks(&decks),
            inbox: self.inbox,
            scout: jobs,
            timekeeper,
            assessor: tasks,
            judging: false,
            swept: vec![(now, None); decks.len()],
            shared: Arc::clone(&shared),
            wake: Box::new(wake),
            started: now,
            asked: false,
            looked: now,
            surveyed: vec![(now, None); decks.len()],
            compared: (0, now),
            came: (now, None),
            told: None,
            quiet: None,
            leaving: false,
            decks,
        };
        spawn("player", move || player.run(&start))?;
        Ok(Replay { shared, words: self.words })
    }
}

/// Starts the thread that judges.
fn assess(
    tracks: &[Box<dyn Track>],
    settings: &Settings,
    judged: &judge::Settings,
    words: &Sender<Word>,
) -> Result<Sender<Task>, String> {
    let twice = tracks.iter().map(|track| {
        let again = || Ok::<_, String>((track.again()?, Deriver::new(derived_as(track.as_ref(), settings))));
        Ok([again()?, again()?])
    });
    let twice = twice.collect::<Result<Vec<_>, String>>()?;
    let (tasks, inbox) = channel();
    let assessor = Assessor::new(twice, judged.clone(), inbox, words.clone());
    spawn("assessor", move || assessor.run())?;
    Ok(tasks)
}

/// What the frames were derived with when it was recorded, so that they are the same; what is configured here else.
fn derived_as(track: &dyn Track, settings: &Settings) -> Settings {
    let recorded = &track.about().nic_capacity_mbps;
    if recorded.is_empty() { settings.clone() } else { Settings { nic_capacity_mbps: recorded.clone() } }
}

fn clocks(decks: &[Deck]) -> Clocks {
    let boots: Vec<&str> = decks.iter().map(|deck| deck.track.about().boot_id.as_str()).collect();
    match boots.as_slice() {
        [first, second, ..] if first == second && !first.is_empty() => Clocks::OneBoot,
        _ => Clocks::Unknown,
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), String> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map(drop).map_err(|error| format!("a thread that plays: {error}"))
}

impl Drop for Replay {
    fn drop(&mut self) {
        let _ = self.words.send(Word::Leave);
    }
}

impl Source for Replay {
    fn about(&self) -> About {
        About::default()
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
        let _ = self.words.send(Word::Order(order));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
