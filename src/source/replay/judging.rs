//! The judgement of the sample that is shown: at once while one sample follows the other or the recording has the
//! judge's state near; otherwise the recorded findings serve until the background thread has caught up.

use std::sync::Arc;
use std::time::{Duration, Instant};
use topotop_model::frame::Frame;
use topotop_model::judge::{Basis, Change, Judge, Judgement, Settings, Timeline};
use topotop_model::recording::RecordedFindings;

/// Time that judging may take before a picture has to be there.
const BUDGET: Duration = Duration::from_millis(20);
/// During fast replay, the judgement of a sample this near still serves.
const NEAR: u64 = 240;

/// A machine's judge.
#[derive(Debug)]
pub(super) struct ReplayJudge {
    settings: Settings,
    /// As it is after the sample that is shown; none where it has not seen that.
    judge: Option<Judge>,
    judgement: Arc<Judgement>,
    until: Instant,
    /// The recording's own findings.
    recorded: RecordedFindings,
    /// What was judged from its start, if other rules or limits wrote its findings.
    swept: Option<SweptChanges>,
    timeline: Arc<Timeline>,
    /// True once there is nothing more to be judged of it.
    done: bool,
    /// The sample that could not be judged.
    given_up: Option<u64>,
}

/// What is known of a recording from its start to a sample.
#[derive(Debug, Default)]
struct SweptChanges {
    to: u64,
    changes: Vec<Change>,
}

impl ReplayJudge {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            judge: None,
            settings,
            judgement: Arc::new(pending()),
            until: Instant::now(),
            recorded: RecordedFindings::default(),
            swept: None,
            timeline: Arc::default(),
            done: false,
            given_up: None,
        }
    }

    /// Its settings.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Another sample is to be shown: judging has its time from now on.
    pub(super) fn begin(&mut self) {
        self.until = Instant::now() + BUDGET;
    }

    /// True where the next frame can be judged.
    pub(super) fn can_go_on(&mut self) -> bool {
        if Instant::now() > self.until {
            self.judge = None;
        }
        self.judge.is_some()
    }

    /// Takes in the next frame.
    pub(super) fn step(&mut self, frame: &Frame) {
        if let Some(judge) = &mut self.judge {
            self.judgement = Arc::new(judge.step(frame));
        }
    }

    /// Continues from a recorded state; false if that belongs to another version or other limits.
    pub(super) fn restore(&mut self, state: &[u8]) -> bool {
        self.judge = Judge::restore(&self.settings, state);
        self.judge.is_some()
    }

    /// Begins with the first sample of all.
    pub(super) fn start(&mut self) {
        self.judge = Some(Judge::new(self.settings.clone()));
    }

    /// What came before the next frame was not seen.
    pub(super) fn lose(&mut self) {
        self.judge = None;
    }

    /// A sample is shown: if it was not judged, the recorded findings serve.
    pub(super) fn shown(&mut self, sample: u64) {
        if self.judge.is_none() {
            self.judgement = Arc::new(if self.recorded.is_empty() { pending() } else { self.recorded.at(sample) });
        }
    }

    /// The sample to be judged elsewhere, if that is needed.
    pub(super) fn wants(&self, shown: Option<u64>) -> Option<u64> {
        shown.filter(|shown| self.judge.is_none() && self.given_up != Some(*shown))
    }

    /// Takes in what was judged elsewhere, of a sample that is shown or was a moment ago.
    pub(super) fn take(&mut self, sample: u64, judged: Option<(Judge, Judgement)>, shown: Option<u64>) {
        match (judged, shown) {
            (None, _) => self.given_up = Some(sample),
            (Some((judge, judgement)), Some(shown)) if shown == sample => {
                (self.judge, self.judgement) = (Some(judge), Arc::new(judgement));
            }
            (Some((_, judgement)), Some(shown))
                if self.judge.is_none() && self.recorded.is_empty() && shown.abs_diff(sample) < NEAR =>
            {
                self.judgement = Arc::new(Judgement { basis: Basis::Noted, ..judgement });
            }
            _ => {}
        }
    }

    /// Takes in the recording's own findings.
    pub(super) fn note(&mut self, recorded: RecordedFindings, shown: Option<u64>) {
        self.recorded = recorded;
        if let Some(shown) = shown {
            self.shown(shown);
        }
        self.line_up();
    }

    /// Takes in findings that appeared and cleared up to a sample, as judged from the start.
    pub(super) fn sweep(&mut self, changes: Vec<Change>, to: u64) {
        let swept = self.swept.get_or_insert_default();
        swept.changes.extend(changes);
        swept.to = to;
        self.line_up();
    }

    /// Nothing is left to be judged from the start on, for now.
    pub(super) fn finish(&mut self) {
        self.done = true;
    }

    /// True where findings that appeared and cleared is all that is to be found.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    fn line_up(&mut self) {
        let timeline = match &self.swept {
            None => self.recorded.timeline().clone(),
            Some(swept) => {
                let later = self.recorded.timeline().changes().iter().filter(|change| change.sample > swept.to);
                Timeline::of(swept.changes.iter().chain(later).cloned().collect())
            }
        };
        if *self.timeline != timeline {
            self.timeline = Arc::new(timeline);
        }
    }

    pub(super) fn judgement(&self) -> Arc<Judgement> {
        Arc::clone(&self.judgement)
    }

    pub(super) fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }
}

fn pending() -> Judgement {
    Judgement { basis: Basis::Pending, ..Judgement::default() }
}
