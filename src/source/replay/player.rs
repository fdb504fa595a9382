//! The thread that plays: orders in, pictures out, the newest one only.

mod short;
mod tell;

use super::assessor::Task;
use super::deck::Deck;
use super::scout::{Job, News};
use super::track::After;
use super::{Clocks, Shared, Start, Word, lock};
use crate::app::transport::{Order, Reel as _, Transport};
use crate::units;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use topotop_model::recording::Damage;

/// Time that is enough to decode the next sample before it is due.
const SPARE: Duration = Duration::from_millis(5);
/// How often a file that grows is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Beyond this, in ns, two machines did not record the same time.
const APART_NS: i64 = 3_000_000_000;

pub(super) struct Player {
    pub(super) decks: Vec<Deck>,
    pub(super) names: Vec<String>,
    pub(super) machine: usize,
    pub(super) transport: Transport,
    pub(super) clocks: Clocks,
    pub(super) inbox: Receiver<Word>,
    pub(super) scout: Sender<Job>,
    /// Compares the clocks of two machines, which takes longer than the picture's history may wait.
    pub(super) timekeeper: Option<Sender<Job>>,
    /// Judges what was jumped to, and what was not judged when it was recorded.
    pub(super) assessor: Sender<Task>,
    /// True while it has not answered.
    pub(super) judging: bool,
    /// When each recording was judged to its end, and what there was of it then.
    pub(super) swept: Vec<(Instant, Option<(u64, u64)>)>,
    pub(super) shared: Arc<Shared>,
    pub(super) wake: Box<dyn Fn() + Send>,
    pub(super) started: Instant,
    /// True while the scout has not answered.
    pub(super) asked: bool,
    pub(super) looked: Instant,
    pub(super) surveyed: Vec<(Instant, Option<(u64, u64)>)>,
    pub(super) compared: (u32, Instant),
    /// When the newest sample came, and its number.
    pub(super) came: (Instant, Option<u64>),
    pub(super) told: Option<(usize, u64)>,
    /// How long nothing came when that was told.
    pub(super) quiet: Option<u64>,
    pub(super) leaving: bool,
}

impl Player {
    pub(super) fn run(mut self, start: &Start) {
        self.begin(start);
        let mut changed = true;
        loop {
            let now = self.now_ns();
            if let Some(said) = self.with_deck(|transport, deck| transport.advance(now, deck)) {
                self.say(said);
            }
            // A defect costs a picture, not the player.
            changed |= catch_unwind(AssertUnwindSafe(|| self.show())).unwrap_or_else(|_| {
                self.say("a picture was lost to a defect in topotop: please report it with the recording".to_owned());
                true
            });
            self.publish(changed);
            self.ask();
            changed = false;
            match self.listen() {
                Some(heard) => changed |= heard,
                None => return,
            }
            if self.leaving {
                return;
            }
            if self.looked.elapsed() >= LOOK {
                changed |= self.look();
            }
        }
    }

    /// Takes in what comes until something is due; true if anything came, none when nobody is there any more.
    fn listen(&mut self) -> Option<bool> {
        let mut wait = self.wait();
        let mut heard = self.hear();
        if !heard && wait > SPARE && self.transport.playing {
            self.deck(Deck::look_ahead);
            wait = self.wait();
        }
        match self.inbox.recv_timeout(if heard { Duration::ZERO } else { wait }) {
            Ok(word) => heard |= self.take(word),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some(heard | self.hear())
    }

    fn hear(&mut self) -> bool {
        let mut heard = false;
        while let Ok(word) = self.inbox.try_recv() {
            heard |= self.take(word);
        }
        heard
    }

    fn begin(&mut self, start: &Start) {
        self.transport.set_speed(start.speed);
        self.transport.playing = !start.paused;
        let Some((first, _)) = self.decks.get(self.machine).and_then(|deck| deck.track.range()) else { return };
        self.transport.sample = first;
        if let Some(from) = start.from {
            let said = self.with_deck(|transport, deck| transport.order(&Order::Go(from), deck));
            self.say_all(said);
        } else if self.decks.get(self.machine).is_some_and(Deck::grows_now) && !start.paused {
            self.with_deck(|transport, deck| transport.order(&Order::End, deck));
        }
        if let Some(to) = start.to {
            let from = self.transport.sample;
            let said = self.with_deck(|transport, deck| {
                transport.order(&Order::LoopStart, deck);
                transport.order(&Order::Go(to), deck);
                let said = transport.order(&Order::LoopEnd, deck);
                transport.go(from);
                said
            });
            self.say_all(said);
        }
        let broken = self.decks.iter().filter_map(|deck| match &deck.after {
            After::Broken(what) if !deck.track.is_stream() => Some(what.clone()),
            _ => None,
        });
        self.say_all(broken.collect::<Vec<_>>());
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    fn deck<T>(&mut self, call: impl FnOnce(&mut Deck) -> T) -> Option<T> {
        self.decks.get_mut(self.machine).map(call)
    }

    fn with_deck<T>(&mut self, call: impl FnOnce(&mut Transport, &mut Deck) -> Option<T>) -> Option<T> {
        let transport = &mut self.transport;
        self.decks.get_mut(self.machine).and_then(|deck| call(transport, deck))
    }

    fn say(&self, text: String) {
        let mut trouble = lock(&self.shared.trouble);
        *trouble = Some(match trouble.take() {
            Some(before) if before != text => format!("{before}; {text}"),
            _ => text,
        });
    }

    fn say_all(&self, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            self.say(text);
        }
    }

    /// How long nothing happens by itself.
    fn wait(&mut self) -> Duration {
        let due = self.with_deck(|transport, deck| transport.due_ns(deck));
        let due = due.map_or(LOOK, |due| Duration::from_nanos(due.saturating_sub(self.now_ns())));
        due.min(LOOK)
    }

    fn take(&mut self, word: Word) -> bool {
        match word {
            Word::Order(Order::Machine) => self.turn(),
            Word::Order(order) => {
                if let Some(said) = self.with_deck(|transport, deck| transport.order(&order, deck)) {
                    self.say(said);
                }
            }
            Word::News(news) => self.news(news),
            Word::Came => return self.look(),
            Word::Leave => self.leaving = true,
        }
        true
    }

    fn news(&mut self, news: News) {
        self.asked &= matches!(news, News::Clocks(_) | News::Judged(..) | News::Swept(..));
        self.judging &= !matches!(news, News::Judged(..) | News::Swept(..));
        match news {
            News::Headlines(machine, range, headlines) => {
                let shown = self.transport.sample;
                if let Some(deck) = self.decks.get_mut(machine) {
                    deck.headlines.fill(range, headlines, shown);
                    deck.stale = true;
                }
            }
            News::Judged(machine, sample, judged) => {
                if let Some(deck) = self.decks.get_mut(machine) {
                    let shown = deck.shown();
                    deck.judging.take(sample, judged.map(|judged| *judged), shown);
                }
            }
            News::Swept(machine, swept) => {
                if let Some(place) = self.swept.get_mut(machine).filter(|_| swept.done) {
                    *place = (Instant::now(), self.decks.get(machine).and_then(|deck| deck.track.range()));
                }
                let Some(deck) = self.decks.get_mut(machine) else { return };
                if swept.done {
                    deck.judging.finish();
                }
                if let Some(to) = swept.to {
                    deck.judging.sweep(swept.changes, to);
                }
            }
            News::Survey(machine, found, minutes, noted) => {
                if let Some(deck) = self.decks.get_mut(machine) {
                    let damage = std::mem::take(&mut deck.found.damage);
                    deck.found = super::headlines::Found { damage, ..found };
                    deck.headlines.minutes = minutes;
                    let shown = deck.shown();
                    deck.judging.note(*noted, shown);
                    deck.stale = true;
                }
            }
            News::Clocks(Some((offset, by))) => self.clocks = Clocks::Found(offset, by),
            News::Clocks(None) => self.clocks = Clocks::Wall,
        }
    }

    /// Looks for new samples; true if there are any.
    fn look(&mut self) -> bool {
        self.looked = Instant::now();
        let mut changed = false;
        let mut said = None;
        for deck in &mut self.decks {
            if deck.after == After::Closed {
                continue;
            }
            let before = deck.track.range();
            said = deck.track.refresh().or(said);
            let after = deck.track.after();
            if after != deck.after {
                changed = true;
                said = match &after {
                    After::Closed if deck.track.is_stream() => Some("the stream has ended: it stays here".to_owned()),
                    After::Broken(what) if deck.track.is_stream() => Some(format!("{what}: what came stays here")),
                    After::Closed => Some("the recording has ended".to_owned()),
                    After::Broken(what) => Some(what.clone()),
                    After::More => Some("the recording goes on".to_owned()),
                };
                deck.after = after;
            }
            if let Some(range) = deck.track.range().filter(|range| Some(*range) != before) {
                changed = true;
                deck.stale = true;
                deck.headlines.forget_before(range.0);
            }
        }
        self.say_all(said);
        let newest = self.decks.get(self.machine).and_then(|deck| deck.track.range()).map(|range| range.1);
        if newest != self.came.1 {
            self.came = (Instant::now(), newest);
        }
        let quiet = self.quiet_seconds();
        changed |= std::mem::replace(&mut self.quiet, quiet) != quiet;
        if self.transport.following && !self.decks.get(self.machine).is_some_and(Deck::grows_now) {
            // Nothing will follow any more.
            (self.transport.following, self.transport.playing) = (false, false);
        }
        changed
    }

    /// Shows the other machine at the same instant.
    fn turn(&mut self) {
        if self.decks.len() < 2 {
            self.say("there is one machine only: give two recordings".to_owned());
            return;
        }
        let sample = self.transport.sample;
        let Some(when) = self.deck(|deck| deck.when(sample)).flatten() else { return };
        let from = self.machine;
        self.machine = (from + 1) % self.decks.len();
        let clocks = self.clocks.clone();
        let found = self.deck(|deck| match clocks {
            Clocks::OneBoot => deck.by_own_time(when.mono_ns),
            ref clocks => deck.nearest(when.wall_ns.saturating_add(clocks.shift_ns(from))),
        });
        let span = std::mem::take(&mut self.transport.span);
        let following = self.transport.following;
        if let Some(found) = found.flatten() {
            self.transport.go(found);
            self.transport.following = following && self.decks.get(self.machine).is_some_and(Deck::grows_now);
            let there = self.deck(|deck| deck.when(found)).flatten();
            let apart = there.map_or(0, |there| match clocks {
                Clocks::OneBoot => there.mono_ns as i64 - when.mono_ns as i64,
                ref clocks => there.wall_ns - when.wall_ns.saturating_add(clocks.shift_ns(from)),
            });
            if apart.abs() > APART_NS && !following {
                let side = if apart > 0 { "later" } else { "earlier" };
                let seconds = units::span(apart.unsigned_abs() / 1_000_000_000);
                self.say(format!("this machine was not recorded then: its nearest sample is {seconds} {side}"));
            }
        }
        if span != (None, None) {
            self.say("the loop was one of the other machine".to_owned());
        }
    }

    /// Decodes and derives what is to be shown; true if that is something new.
    fn show(&mut self) -> bool {
        let wanted = self.transport.sample;
        let machine = self.machine;
        let Some(deck) = self.decks.get_mut(machine).filter(|deck| deck.track.range().is_some()) else { return false };
        if deck.shown() == Some(wanted) && self.told == Some((machine, wanted)) {
            return false;
        }
        let (found, damage) = deck.go(wanted);
        if let Some(found) = found {
            // Where the wanted one is lost, time goes on from the one that stands in for it.
            self.transport.sample = found;
        }
        self.told = Some((machine, self.transport.sample));
        if let Some(damage) = damage {
            self.say(damaged(&damage, wanted, found));
        }
        true
    }
}

impl Deck {
    fn grows_now(&self) -> bool {
        self.after == After::More
    }
}

/// What is said about damage.
fn damaged(damage: &Damage, wanted: u64, found: Option<u64>) -> String {
    let left_out = found.map_or(0, |found| found.abs_diff(wanted));
    match (found, left_out) {
        (None, _) => format!("{damage}; nothing whole follows"),
        (_, 0) => format!("{damage}; it goes on after it"),
        (_, 1) => format!("{damage}; 1 sample is lost, it goes on after it"),
        (_, count) => format!("{damage}; {count} samples are lost, it goes on after them"),
    }
}
