//! Where samples come from.

pub mod live;
pub mod playback;
pub mod replay;

use crate::app::Recording;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use topotop_model::codec::{self, Record};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::frame::Frame;
use topotop_model::history::History;
use topotop_model::judge::{Judgement, Timeline};
use topotop_model::recording::What;
use topotop_model::{Stamp, Window};

/// What a screen shows: a frame and the headlines up to it.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The frame.
    pub frame: Arc<Frame>,
    /// The headlines.
    pub history: Arc<History>,
    /// What is wrong, as far as it was judged.
    pub judgement: Arc<Judgement>,
    /// Findings that appeared and cleared, later than the frame as well: live by the samples' `seq`, in a recording by their numbers.
    pub timeline: Arc<Timeline>,
}

impl Sample {
    /// True for a sample, false before there is any.
    pub fn is_there(&self) -> bool {
        self.frame.stamp != Stamp::default()
    }
}

/// A place in time, seen from a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// So many samples later, or earlier when negative.
    Samples(i64),
    /// So much later, or earlier when negative, in ns.
    Nanoseconds(i64),
    /// The sample nearest to a wall time in ns since 1970.
    Wall(i64),
    /// The sample of a `seq`, or the first one after it.
    Seq(u64),
    /// So much of what there is from its start, in 1/10,000.
    Share(u16),
}

/// Finds the sample of a target among stamps in order; the nearest end when it lies beyond.
pub fn locate(stamps: &[Stamp], from: Stamp, target: Target) -> Option<usize> {
    let last = stamps.len().checked_sub(1)?;
    let here = stamps.partition_point(|stamp| stamp.seq < from.seq).min(last);
    let nearest = |wanted: i128, time: fn(&Stamp) -> i128| {
        let after = stamps.partition_point(|stamp| time(stamp) < wanted).min(last);
        let before = after.saturating_sub(1);
        let distance = |at: usize| stamps.get(at).map_or(i128::MAX, |stamp| (time(stamp) - wanted).abs());
        if distance(before) < distance(after) { before } else { after }
    };
    Some(match target {
        Target::Samples(count) => here.saturating_add_signed(count as isize).min(last),
        Target::Nanoseconds(ns) => {
            let found = nearest(i128::from(from.boot_ns) + i128::from(ns), |stamp| i128::from(stamp.boot_ns));
            // Where samples are further apart than the way to go, go one of them.
            if found == here { here.saturating_add_signed(ns.signum() as isize).min(last) } else { found }
        }
        Target::Seq(seq) => stamps.partition_point(|stamp| stamp.seq < seq).min(last),
        Target::Share(share) => last * usize::from(share) / 10_000,
        Target::Wall(wall_ns) => nearest(i128::from(wall_ns), |stamp| i128::from(stamp.wall_ns)),
    })
}

/// What a source is, for the title line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The directory of a captured machine; none for this machine.
    pub captured: Option<String>,
    /// True for one picture that does not go on.
    pub still: bool,
    /// What the title says of it, in the place of the machine.
    pub introduction: Option<String>,
}

/// What is kept of the time that has gone by.
#[derive(Debug, Default)]
pub struct GoneBy {
    /// Samples, a key frame first.
    pub records: Vec<Record>,
    /// What they are derived with.
    pub settings: Settings,
}

impl GoneBy {
    /// Its frames, oldest first; what is damaged ends it.
    pub fn frames(self, mut each: impl FnMut(&Frame)) {
        let (mut window, mut deriver) = (Window::default(), Deriver::new(self.settings));
        let mut base = None;
        for record in self.records {
            let Ok(snapshot) = codec::decode(base.as_ref(), &record) else { return };
            window.push(snapshot.clone());
            each(&deriver.frame(&window));
            base = Some(snapshot);
        }
    }
}

/// What feeds the screen.
pub trait Source {
    /// What it is.
    fn about(&self) -> About;

    /// The newest sample, once: none if it was taken already.
    fn take(&mut self) -> Option<Sample>;

    /// What went wrong since it was last asked.
    fn trouble(&mut self) -> Option<String>;

    /// The sample at a target; none when there is no history.
    fn seek(&mut self, from: Stamp, target: Target) -> Option<Sample>;

    /// Samples at another interval from now on.
    fn set_interval(&self, interval: Duration);

    /// Looks closer at a process, or no longer at any.
    fn watch(&self, pid: Option<u32>);

    /// Begins a recording in a file that does not exist yet: what is kept of the past goes in first.
    fn record(&mut self, _path: &Path) -> Result<(), String> {
        Err(topotop_model::locale::error::ONLY_LIVE_RECORDED.into())
    }

    /// What is being recorded.
    fn recording(&self) -> Option<Recording> {
        None
    }

    /// Writes a mark into the recording.
    fn mark(&mut self, _text: String) {}

    /// Tells the recording of something else.
    fn tell(&mut self, _what: What) {}

    /// What is kept of the last seconds; none where nothing is sampled.
    fn past(&self, _seconds: u32) -> Option<GoneBy> {
        None
    }

    /// Ends the recording and says what it has become.
    fn end_recording(&mut self) -> Option<String> {
        None
    }

    /// Where playing is; none for what is not played.
    fn playback(&mut self) -> Option<playback::Playback> {
        None
    }

    /// Plays otherwise.
    fn order(&mut self, _: crate::app::transport::Order) {}
}

#[cfg(test)]
mod tests {
    use super::{Target, locate};
    use topotop_model::Stamp;

    fn stamps() -> Vec<Stamp> {
        let stamp = |seq| Stamp { seq, wall_ns: seq as i64 * 10, mono_ns: seq * 10, boot_ns: seq * 10 };
        (5..15).map(stamp).collect()
    }

    #[test]
    fn targets_are_found_and_ends_hold() {
        let stamps = stamps();
        let at = |target| locate(&stamps, stamps[4], target).map(|index| stamps[index].seq);
        assert_eq!(at(Target::Samples(-1)), Some(8));
        assert_eq!(at(Target::Samples(-100)), Some(5));
        assert_eq!(at(Target::Samples(i64::MAX)), Some(14));
        assert_eq!(at(Target::Nanoseconds(-21)), Some(7));
        assert_eq!(at(Target::Nanoseconds(1)), Some(10));
        assert_eq!(at(Target::Nanoseconds(i64::MIN)), Some(5));
        assert_eq!(at(Target::Wall(126)), Some(13));
        assert_eq!(at(Target::Wall(0)), Some(5));
        assert_eq!([1, 7, 99].map(|seq| at(Target::Seq(seq))), [Some(5), Some(7), Some(14)]);
        assert_eq!((at(Target::Share(0)), at(Target::Share(10_000))), (Some(5), Some(14)));
        assert_eq!(locate(&[], stamps[0], Target::Samples(-1)), None);
    }
}
