//! One machine's recording and how far it is decoded.

use super::headlines::{Headlines, Survey};
use super::judging::ReplayJudge;
use super::sample_reader::{After, Next, SampleReader};
use crate::app::transport::{RecordingIndex, by_own_time};
use crate::source::Sample;
use std::sync::Arc;
use topotop_model::Window;
use topotop_model::bottleneck::{Bottleneck, settled};
use topotop_model::derive::Deriver;
use topotop_model::frame::Frame;
use topotop_model::history::Headline;
use topotop_model::judge::{self, Timeline};
use topotop_model::recording::{Damage, When};
use topotop_widgets::parts::timebar::Bar;

/// Samples that are decoded one after the other rather than jumped over: a jump decodes as many.
const ONWARD: u64 = 120;
/// How far back a valid sample is searched for.
const BACK: u64 = 130;
/// How many numbers are searched for a sample that exists.
const LOST: u64 = 1 << 20;

/// A machine's recording.
pub(super) struct ReplayBuffer {
    pub(super) reader: Box<dyn SampleReader>,
    pub(super) after: After,
    pub(super) headlines: Headlines,
    pub(super) survey: Survey,
    deriver: Deriver,
    window: Window,
    /// The sample that the window ends with.
    at: Option<u64>,
    /// The next sample or its damage, read before it is needed.
    ahead: Next,
    frame: Arc<Frame>,
    /// The sample that the frame is of.
    framed: Option<u64>,
    pub(super) judging: ReplayJudge,
    /// What the bar was made of, to make it again when that changed.
    bar: Arc<Bar>,
    pub(super) stale: bool,
}

impl ReplayBuffer {
    pub(super) fn new(reader: Box<dyn SampleReader>, deriver: Deriver, judge: judge::Settings) -> Self {
        Self {
            reader,
            after: After::More,
            headlines: Headlines::default(),
            survey: Survey::default(),
            deriver,
            window: Window::default(),
            at: None,
            ahead: None,
            frame: Arc::default(),
            framed: None,
            judging: ReplayJudge::new(judge),
            bar: Arc::default(),
            stale: true,
        }
    }

    /// The sample that is shown.
    pub(super) fn shown(&self) -> Option<u64> {
        self.at
    }

    /// Goes to a sample, or where that is lost to the nearest one in the direction of going; gives the sample and what
    /// is wrong in between.
    pub(super) fn go(&mut self, wanted: u64) -> (Option<u64>, Option<Damage>) {
        let from = self.at;
        self.judging.begin();
        let (found, damage) = match from {
            Some(at) if wanted > at && wanted - at <= ONWARD => self.onward(wanted),
            Some(at) if wanted == at => (Some(at), None),
            _ => self.jump(wanted, from.is_some_and(|at| wanted < at)),
        };
        if let Some(found) = found.filter(|&found| Some(found) != from) {
            if self.framed != Some(found) {
                self.frame = Arc::new(self.deriver.frame(&self.window));
                self.framed = Some(found);
            }
            self.judging.shown(found);
            // The line changes only by what was not known of it.
            self.stale |= !self.headlines.knows(found);
            self.headlines.insert(found, Arc::new(Headline::of(&self.frame)), found);
            if damage.is_some() && !self.survey.damage.contains(&found) && self.survey.damage.len() < 256 {
                self.survey.damage.push(found);
                self.stale = true;
            }
        }
        self.at = found.or(from);
        (found, damage)
    }

    /// Decodes on until a sample comes.
    fn onward(&mut self, wanted: u64) -> (Option<u64>, Option<Damage>) {
        let (mut found, mut damage) = (None, None);
        let mut last = self.at;
        while found.is_none_or(|found| found < wanted) {
            match self.ahead.take().or_else(|| self.reader.next()) {
                Some(Ok((sample, snapshot))) => {
                    self.window.push(snapshot);
                    self.judge(sample);
                    if last.is_some_and(|last| last + 1 != sample) {
                        // Records that cannot even be found are no error of decoding.
                        damage = damage.or_else(|| self.reader.lost_before(sample));
                    }
                    (found, last) = (Some(sample), Some(sample));
                }
                Some(Err(error)) => damage = damage.or(Some(error)),
                None => break,
            }
        }
        (found, damage)
    }

    /// Decodes a sample from the key frames before it.
    fn jump(&mut self, wanted: u64, back: bool) -> (Option<u64>, Option<Damage>) {
        self.ahead = None;
        let Some(there) = self.there(wanted, back) else { return (None, None) };
        if self.restored(there) {
            let damage = if there == wanted { None } else { self.reader.lost_before(there.max(wanted)) };
            return (Some(there), damage);
        }
        self.judging.lose();
        let damage = match self.reader.window_at(there) {
            Ok(window) => {
                self.window = window;
                if self.reader.range().is_some_and(|range| range.0 == there) {
                    self.judging.start();
                    self.judge(there);
                }
                let damage = if there == wanted { None } else { self.reader.lost_before(there.max(wanted)) };
                return (Some(there), damage);
            }
            Err(damage) => damage,
        };
        let found = if back { self.whole_before(there) } else { self.whole_after() };
        let window = found.and_then(|found| self.reader.window_at(found).ok());
        let found = found.filter(|_| window.is_some());
        self.window = window.unwrap_or_else(|| std::mem::take(&mut self.window));
        (found, Some(damage))
    }

    /// Judges the sample that the window ends with, where what came before was judged.
    fn judge(&mut self, sample: u64) {
        self.framed = None;
        if self.judging.can_go_on() {
            self.frame = Arc::new(self.deriver.frame(&self.window));
            self.framed = Some(sample);
            self.judging.step(&self.frame);
        }
    }

    /// Goes to a sample from a key frame with the judge's state, judging on; false where that is not to be had.
    fn restored(&mut self, sample: u64) -> bool {
        let Some((key, state)) = self.reader.state_before(sample).filter(|state| sample - state.0 <= ONWARD) else {
            return false;
        };
        if !self.judging.restore(&state) {
            return false;
        }
        let Ok(window) = self.reader.window_at(key) else { return false };
        let before = std::mem::replace(&mut self.window, window);
        self.judge(key);
        let mut at = key;
        while at < sample {
            match self.reader.next() {
                Some(Ok((next, snapshot))) if next == at + 1 => {
                    self.window.push(snapshot);
                    self.judge(next);
                    at = next;
                }
                _ => {
                    self.window = before;
                    return false;
                }
            }
        }
        true
    }

    /// The sample, or the nearest one that has a place in the recording.
    fn there(&mut self, wanted: u64, back: bool) -> Option<u64> {
        let (first, last) = self.reader.range()?;
        let wanted = wanted.clamp(first, last);
        let mut here = |sample: &u64| self.reader.when(*sample).is_some();
        let after = (wanted..=last).take(LOST as usize).find(&mut here);
        match after {
            Some(after) if after == wanted || !back => Some(after),
            after => (first..wanted).rev().take(LOST as usize).find(here).or(after),
        }
    }

    fn whole_after(&mut self) -> Option<u64> {
        (0..8).find_map(|_| self.reader.next()?.ok()).map(|next| next.0)
    }

    fn whole_before(&mut self, sample: u64) -> Option<u64> {
        let (first, _) = self.reader.range()?;
        let mut start = sample;
        for _ in 0..8 {
            start = self.there(start.saturating_sub(BACK).max(first), true)?;
            let mut last = self.reader.window_at(start).is_ok().then_some(start);
            while let Some(next) = self.reader.next() {
                match next {
                    Ok((next, _)) if next < sample => last = Some(next),
                    Ok(_) => break,
                    Err(_) => {}
                }
            }
            if last.is_some() || start == first {
                return last;
            }
        }
        None
    }

    /// Decodes the next sample while there is time.
    pub(super) fn look_ahead(&mut self) {
        if self.ahead.is_none() && self.at.is_some() {
            self.ahead = self.reader.next();
        }
    }

    /// What the screen gets.
    pub(super) fn sample(&self) -> Option<Sample> {
        let history = Arc::new(self.headlines.history(self.at?));
        let (judgement, timeline) = (self.judging.judgement(), Arc::clone(self.judging.timeline()));
        Some(Sample { frame: Arc::clone(&self.frame), history, judgement, timeline })
    }

    /// What limits at the sample that is shown; by that sample alone where those before it were not judged.
    pub(super) fn bottleneck(&self) -> Bottleneck {
        let judgement = self.judging.judgement();
        if judgement.resources.is_empty() {
            return settled(&self.frame, &judgement.findings, self.judging.settings()).1;
        }
        judgement.bottleneck.clone()
    }

    /// The recording as a whole.
    pub(super) fn bar(&mut self) -> Arc<Bar> {
        if let Some(range) = self.reader.range().filter(|_| self.stale) {
            self.bar = Arc::new(self.survey.bar(&self.headlines, range));
            self.stale = false;
        }
        Arc::clone(&self.bar)
    }

    /// The sample nearest to a time of the machine's own clock.
    pub(super) fn by_own_time(&mut self, mono_ns: u64) -> Option<u64> {
        let range = self.reader.range()?;
        by_own_time(mono_ns, range, self)
    }
}

impl RecordingIndex for ReplayBuffer {
    fn range(&self) -> Option<(u64, u64)> {
        self.reader.range()
    }

    fn when(&mut self, sample: u64) -> Option<When> {
        if let Some(when) = self.reader.when(sample) {
            return Some(when);
        }
        // A lost one was taken about when its neighbours were.
        let (first, last) = self.reader.range().filter(|(first, last)| (*first..=*last).contains(&sample))?;
        let before = (first..sample).rev().take(LOST as usize).find_map(|sample| self.reader.when(sample));
        before.or_else(|| (sample..=last).take(LOST as usize).find_map(|sample| self.reader.when(sample)))
    }

    fn nearest(&mut self, wall_ns: i64) -> Option<u64> {
        self.reader.nearest(wall_ns)
    }

    fn marks(&self) -> &[(u64, String)] {
        &self.survey.marks
    }

    fn timeline(&self) -> &Timeline {
        self.judging.timeline()
    }

    fn is_judged(&self) -> bool {
        self.judging.is_done()
    }

    fn grows(&self) -> bool {
        self.after == After::More
    }

    fn interval_ns(&self) -> u64 {
        self.reader.about().interval_ns.max(1_000_000)
    }
}
