//! What the player tells the screen, and what it asks the scout for.

use super::super::assessor::Task;
use super::super::deck::Deck;
use super::super::scout::Job;
use super::super::track::After;
use super::super::{Clocks, lock};
use super::Player;
use crate::app::transport::Reel as _;
use crate::source::playback::{End, Playback};
use std::time::{Duration, Instant};

/// How often marks, holes and minutes of what grows are looked for again.
const SURVEY: Duration = Duration::from_secs(5);
/// How often what came since is judged of what grows.
const SWEEP: Duration = Duration::from_secs(1);
/// How often clocks are compared again while nothing showed how they stand.
const COMPARE: Duration = Duration::from_secs(30);
/// How often they are compared at most.
const COMPARED: u32 = 20;
/// Headlines that are asked for at once.
const BATCH: u64 = 120;
/// Recordings up to this many samples are looked at sample by sample; of what grows its newest so many.
const SHORT: u64 = 7200;
/// Above this speed pictures are too far apart for filling in between them.
const CALM: f64 = 20.0;

impl Player {
    pub(super) fn publish(&mut self, changed: bool) {
        if !changed {
            return;
        }
        let sample = self.decks.get(self.machine).and_then(Deck::sample);
        let playback = self.playback();
        if let Some(sample) = sample {
            *lock(&self.shared.newest) = Some(sample);
        }
        *lock(&self.shared.playback) = playback;
        (self.wake)();
    }

    fn playback(&mut self) -> Option<Playback> {
        let short = self.short().unwrap_or_default();
        let machines = self.names.clone();
        let clocks = if self.decks.len() > 1 { self.clocks.text() } else { String::new() };
        let quiet = self.quiet_seconds();
        let (machine, transport) = (self.machine, self.transport.clone());
        let deck = self.decks.get_mut(machine)?;
        let (first, last) = deck.track.span()?;
        let end = match &deck.after {
            After::More => End::Open,
            _ if deck.track.is_stream() => End::Over,
            After::Closed | After::Broken(_) => End::Closed,
        };
        Some(Playback {
            machines,
            machine,
            clocks,
            short,
            playing: transport.playing,
            following: transport.following,
            speed: transport.speed(),
            sample: transport.sample,
            at: deck.when(transport.sample)?,
            first,
            last,
            span: transport.span,
            end,
            quiet_seconds: quiet,
            bar: deck.bar(),
        })
    }

    /// How long the newest sample has been the newest, where the next one should have come.
    pub(super) fn quiet_seconds(&self) -> Option<u64> {
        let deck = self.decks.get(self.machine).filter(|deck| deck.grows_now())?;
        let age = self.came.0.elapsed();
        let patience = Duration::from_nanos(deck.interval_ns().saturating_mul(3)) + Duration::from_secs(1);
        (age > patience && self.came.1.is_some()).then_some(age.as_secs())
    }

    /// Asks the scout for what is missing most.
    pub(super) fn ask(&mut self) {
        self.ask_clocks();
        self.ask_judge();
        if self.asked {
            return;
        }
        if let Some(job) = self.job() {
            self.asked = self.scout.send(job).is_ok();
        }
    }

    /// Asks for what is to be judged: the sample that is shown first, then whole recordings.
    fn ask_judge(&mut self) {
        if self.judging {
            return;
        }
        let shown = self.decks.get(self.machine).and_then(|deck| deck.judging.wants(deck.shown()));
        let task = shown.map(|sample| Task::Judge(self.machine, sample)).or_else(|| {
            let machines = self.decks.iter().zip(&self.swept).enumerate();
            let mut due = machines.filter(|(_, (deck, swept))| {
                let range = deck.track.range();
                range.is_some() && swept.1 != range && (swept.1.is_none() || swept.0.elapsed() > SWEEP)
            });
            due.next().map(|(machine, _)| Task::Sweep(machine))
        });
        if let Some(task) = task {
            self.judging = self.assessor.send(task).is_ok();
        }
    }

    /// Asks for a comparison of clocks, again while nothing showed how they stand and more has come.
    fn ask_clocks(&mut self) {
        let (times, when) = self.compared;
        let open = matches!(self.clocks, Clocks::Unknown | Clocks::Wall);
        let due = times == 0 || (when.elapsed() > COMPARE && self.decks.iter().any(Deck::grows_now));
        let Some(timekeeper) = self.timekeeper.as_ref().filter(|_| open && due && times < COMPARED) else { return };
        // One that is gone has no answer.
        let _ = timekeeper.send(Job::Clocks);
        self.compared = (times + 1, Instant::now());
    }

    fn job(&mut self) -> Option<Job> {
        let calm = !self.transport.playing || self.transport.speed() <= CALM;
        let deck = self.decks.get(self.machine)?;
        let (first, last) = deck.track.range()?;
        if let Some(to) = deck.shown().filter(|_| calm).and_then(|shown| deck.headlines.missing(shown, first)) {
            let from = to.saturating_sub(BATCH - 1).max(first);
            return Some(Job::Headlines(self.machine, from..=to));
        }
        for (machine, (deck, surveyed)) in self.decks.iter().zip(&mut self.surveyed).enumerate() {
            let range = deck.track.range();
            let due = surveyed.1.is_none() || surveyed.0.elapsed() > SURVEY;
            if range.is_some() && due && surveyed.1 != range {
                *surveyed = (Instant::now(), range);
                return Some(Job::Survey(machine));
            }
        }
        let deck = self.decks.get(self.machine)?;
        let short = last - first < SHORT || deck.grows_now();
        let from = first.max(last.saturating_sub(SHORT));
        let from = deck.headlines.cold(from..=last).filter(|_| short && calm)?;
        Some(Job::Headlines(self.machine, from..=last.min(from + BATCH - 1)))
    }
}
