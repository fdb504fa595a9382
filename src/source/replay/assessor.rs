//! The thread that judges what was jumped to, and recordings that were not judged, or by other rules, from their start.

use super::PlayerMessage;
use super::indexer::Update;
use super::sample_reader::SampleReader;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use topotop_model::Window;
use topotop_model::derive::Deriver;
use topotop_model::judge::timeline::{At, changes};
use topotop_model::judge::{Change, Judge, Judgement, Settings};
use topotop_model::ring::KEY_EVERY;

/// Samples that are judged before the one that is wanted, where no state of the judge is known: every rule's window.
const WARM: u64 = 120;
/// Samples that are gone on by rather than begun anew.
const ONWARD: u64 = 300;
/// Time that one sample may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time of one look at a recording that is judged from its start.
const SLICE: Duration = Duration::from_millis(150);
/// Memory for states of the judge, in bytes: beyond it, every second one is dropped.
const STATES: usize = 4 << 20;

/// A request.
#[derive(Debug)]
pub(super) enum Task {
    /// To judge a sample.
    Judge(usize, u64),
    /// To go on judging a recording from its start.
    Sweep(usize),
}

/// What was judged from the start on, some more of it.
#[derive(Debug, Default)]
pub(super) struct SweepResult {
    /// Findings that appeared and cleared.
    pub(super) changes: Vec<Change>,
    /// The last judged sample; none where the recording's own findings serve.
    pub(super) to: Option<u64>,
    /// True where nothing is left to do now.
    pub(super) done: bool,
}

/// A place in a recording with a judge that has seen what came before.
struct Cursor {
    reader: Box<dyn SampleReader>,
    deriver: Deriver,
    window: Window,
    judge: Judge,
    judgement: Judgement,
    at: Option<u64>,
}

/// A machine's recording, twice.
struct Machine {
    seek: Cursor,
    sweep: Cursor,
    /// Whether it has to be judged from its start; none while unknown.
    needed: Option<bool>,
    /// The judge's states before samples.
    states: BTreeMap<u64, Vec<u8>>,
}

pub(super) struct Assessor {
    machines: Vec<Machine>,
    settings: Settings,
    inbox: Receiver<Task>,
    player: Sender<PlayerMessage>,
}

impl Assessor {
    /// For each machine its recording twice.
    pub(super) fn new(
        readers: Vec<[(Box<dyn SampleReader>, Deriver); 2]>,
        settings: Settings,
        inbox: Receiver<Task>,
        player: Sender<PlayerMessage>,
    ) -> Self {
        let machine = |[seek, sweep]: [(Box<dyn SampleReader>, Deriver); 2]| Machine {
            seek: Cursor::new(seek),
            sweep: Cursor::new(sweep),
            needed: None,
            states: BTreeMap::new(),
        };
        Self { machines: readers.into_iter().map(machine).collect(), settings, inbox, player }
    }

    /// Works until the player has gone.
    pub(super) fn run(mut self) {
        while let Ok(task) = self.inbox.recv() {
            // Whatever it trips over, the player must not wait for its answer for ever.
            let update = catch_unwind(AssertUnwindSafe(|| self.work(&task))).unwrap_or_else(|_| match task {
                Task::Judge(machine, sample) => Update::Judged(machine, sample, None),
                Task::Sweep(machine) => Update::Swept(machine, SweepResult { done: true, ..SweepResult::default() }),
            });
            if self.player.send(PlayerMessage::Update(update)).is_err() {
                return;
            }
        }
    }

    fn work(&mut self, task: &Task) -> Update {
        match *task {
            Task::Judge(machine, sample) => {
                let judged = self.machines.get_mut(machine).and_then(|it| it.judged(sample, &self.settings));
                Update::Judged(machine, sample, judged.map(Box::new))
            }
            Task::Sweep(machine) => {
                let swept = self.machines.get_mut(machine).map(|it| it.swept(&self.settings));
                Update::Swept(machine, swept.unwrap_or_default())
            }
        }
    }
}

impl Cursor {
    fn new((reader, deriver): (Box<dyn SampleReader>, Deriver)) -> Self {
        let (window, judge) = (Window::default(), Judge::default());
        Self { reader, deriver, window, judge, judgement: Judgement::default(), at: None }
    }

    /// Begins at a sample, with the judge before it; false if the sample cannot be read.
    fn begin(&mut self, sample: u64, judge: Judge) -> bool {
        self.at = None;
        (self.judge, self.judgement) = (judge, Judgement::default());
        let Ok(window) = self.reader.window_at(sample) else { return false };
        self.window = window;
        self.see(sample);
        true
    }

    fn see(&mut self, sample: u64) {
        self.judgement = self.judge.step(&self.deriver.frame(&self.window));
        self.at = Some(sample);
    }

    /// Judges the next sample; none at the end.
    fn next(&mut self) -> Option<()> {
        loop {
            if let Ok((sample, snapshot)) = self.reader.next()? {
                self.window.push(snapshot);
                self.see(sample);
                return Some(());
            }
        }
    }
}

impl Machine {
    /// The judge after a sample and its judgement; none if that cannot be known.
    fn judged(&mut self, sample: u64, settings: &Settings) -> Option<(Judge, Judgement)> {
        let until = Instant::now() + PATIENCE;
        self.seek.reader.refresh();
        let (first, _) = self.seek.reader.range()?;
        if !self.seek.at.is_some_and(|at| at <= sample && sample - at <= ONWARD) {
            self.enter(sample, first, settings)?;
        }
        while self.seek.at.is_some_and(|at| at < sample) {
            self.seek.next().filter(|()| Instant::now() < until)?;
        }
        let seek = &self.seek;
        (seek.at == Some(sample)).then(|| (seek.judge.clone(), seek.judgement.clone()))
    }

    /// Begins before a sample, as near as the judge's state is known.
    fn enter(&mut self, sample: u64, first: u64, settings: &Settings) -> Option<()> {
        let restore = |(at, state): (u64, Vec<u8>)| Some((at, Judge::restore(settings, &state)?));
        let recorded = self.seek.reader.state_before(sample).filter(|state| state.0 >= first).and_then(restore);
        let swept = || self.states.range(first..=sample).next_back().map(|(at, state)| (*at, state.clone()));
        let from = recorded.or_else(|| swept().and_then(restore)).filter(|from| sample - from.0 <= ONWARD);
        let warm = sample.saturating_sub(WARM).max(first);
        let (at, judge) = from.unwrap_or_else(|| (warm, Judge::new(settings.clone())));
        if self.seek.begin(at, judge) {
            return Some(());
        }
        // Where that is lost, with the first one that is not.
        let there = (at..=sample).find(|&sample| self.seek.reader.when(sample).is_some())?;
        let judge = Judge::new(settings.clone());
        self.seek.begin(there, judge).then_some(())
    }

    /// Goes on from the start of the recording.
    fn swept(&mut self, settings: &Settings) -> SweepResult {
        let until = Instant::now() + SLICE;
        let nothing = SweepResult { done: true, ..SweepResult::default() };
        let sweep = &mut self.sweep;
        sweep.reader.refresh();
        let Some((first, last)) = sweep.reader.range() else { return nothing };
        let needed = *self.needed.get_or_insert_with(|| {
            let state = sweep.reader.state_before(last);
            sweep.reader.is_stream() || state.is_none_or(|(_, state)| Judge::restore(settings, &state).is_none())
        });
        if !needed {
            return nothing;
        }
        let mut found = SweepResult::default();
        while Instant::now() < until {
            let before = std::mem::take(&mut sweep.judgement);
            let next = sweep.at.map_or(first, |at| at + 1);
            let state = next.is_multiple_of(KEY_EVERY as u64).then(|| sweep.judge.save());
            let gone_on = match sweep.at {
                None => {
                    let there = (first..=last).find(|&sample| sweep.reader.when(sample).is_some());
                    there.is_some_and(|there| sweep.begin(there, Judge::new(settings.clone())))
                }
                Some(at) if at < first => {
                    let judge = std::mem::take(&mut sweep.judge);
                    sweep.begin(first, judge)
                }
                Some(_) => sweep.next().is_some(),
            };
            let Some(sample) = sweep.at.filter(|_| gone_on) else {
                sweep.judgement = before;
                found.done = true;
                break;
            };
            if let Some(state) = state.filter(|_| sample == next) {
                self.states.insert(sample, state);
            }
            let stamp = sweep.window.now.stamp;
            let at = At { sample, wall_ns: stamp.wall_ns, mono_ns: stamp.mono_ns };
            found.changes.extend(changes(&before, &sweep.judgement, at));
        }
        found.to = sweep.at;
        self.bound();
        found
    }

    fn bound(&mut self) {
        while self.states.values().map(Vec::len).sum::<usize>() > STATES {
            let mut place = 0;
            self.states.retain(|_, _| {
                place += 1;
                place % 2 == 0
            });
        }
    }
}
