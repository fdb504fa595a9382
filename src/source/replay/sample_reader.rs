//! Samples by their numbers: from a file, or from a stream that is held in memory.

use crate::recording::{Reader, begin};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use topotop_model::locale::replay as text;
use topotop_model::recording::{About, Damage, Event, Summary, When};
use topotop_model::{Snapshot, Window};

/// The next sample with its number, or what is in its place.
pub(super) type Next = Option<Result<(u64, Snapshot), Damage>>;

/// What follows the newest sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing.
    Closed,
    /// More may come.
    More,
    /// Nothing, for a reason.
    Broken(String),
}

/// Samples of one machine, decoded on request.
pub(super) trait SampleReader: Send {
    /// What was recorded.
    fn about(&self) -> &About;
    /// The oldest and the newest sample.
    fn range(&self) -> Option<(u64, u64)>;
    /// When these two were taken.
    fn span(&mut self) -> Option<(When, When)>;
    /// When a sample was taken; none where it is lost.
    fn when(&mut self, sample: u64) -> Option<When>;
    /// The sample nearest to a wall time.
    fn nearest(&mut self, wall_ns: i64) -> Option<u64>;
    /// The window as it was when a sample came in.
    fn window_at(&mut self, sample: u64) -> Result<Window, Damage>;
    /// The sample at or before one, before which the judge's state is known, and that.
    fn state_before(&mut self, _: u64) -> Option<(u64, Vec<u8>)> {
        None
    }
    /// The sample after the one that was decoded last.
    fn next(&mut self) -> Next;
    /// What is wrong between a sample and the one before it.
    fn lost_before(&mut self, sample: u64) -> Option<Damage>;
    /// Looks for new samples; returns what went wrong.
    fn refresh(&mut self) -> Option<String>;
    /// What follows the newest sample.
    fn after(&mut self) -> After;
    /// True for a stream, which arrives during replay and is not stored.
    fn is_stream(&self) -> bool;
    /// Events by the sample that follows them.
    fn events(&mut self) -> Vec<(u64, Event)>;
    /// What each minute was like, by the key frame at its end.
    fn minutes(&mut self) -> Vec<(u64, When, Summary)>;
    /// The same once more, for another thread.
    fn again(&self) -> Result<Box<dyn SampleReader>, String>;
}

/// After so long without a new byte the recorder has gone, unless the samples are further apart.
const QUIET: Duration = Duration::from_secs(15);

/// A recording in a file, perhaps still being written.
pub(super) struct FileReader {
    path: PathBuf,
    reader: Reader,
}

impl FileReader {
    /// Opens a recording; what is in it is known once it is refreshed.
    pub(super) fn begin(path: &Path) -> Result<Self, String> {
        Ok(Self { path: path.to_owned(), reader: begin(path)? })
    }
}

impl SampleReader for FileReader {
    fn about(&self) -> &About {
        self.reader.about()
    }

    fn range(&self) -> Option<(u64, u64)> {
        self.reader.numbers().map(|numbers| (*numbers.start(), *numbers.end()))
    }

    fn span(&mut self) -> Option<(When, When)> {
        self.reader.span()
    }

    fn when(&mut self, sample: u64) -> Option<When> {
        self.reader.when(sample)
    }

    fn nearest(&mut self, wall_ns: i64) -> Option<u64> {
        self.reader.locate(wall_ns)
    }

    fn window_at(&mut self, sample: u64) -> Result<Window, Damage> {
        self.reader.window_at(sample)
    }

    fn state_before(&mut self, sample: u64) -> Option<(u64, Vec<u8>)> {
        self.reader.state_before(sample)
    }

    fn next(&mut self) -> Next {
        self.reader.next_sample()
    }

    fn lost_before(&mut self, sample: u64) -> Option<Damage> {
        self.reader.lost_before(sample)
    }

    fn refresh(&mut self) -> Option<String> {
        self.reader.refresh().err().map(|error| error.to_string())
    }

    fn after(&mut self) -> After {
        if self.reader.is_closed() {
            return After::Closed;
        }
        let patience = QUIET.max(Duration::from_nanos(self.reader.about().interval_ns.saturating_mul(5)));
        let written = std::fs::metadata(&self.path).and_then(|data| data.modified()).ok();
        // A file from the future was written just now, by another clock.
        if written.is_some_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > patience)) {
            return match self.reader.cut_short() {
                Some(damage) => After::Broken(damage.to_string()),
                None => After::Broken(text::UNCLOSED.to_string()),
            };
        }
        After::More
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn events(&mut self) -> Vec<(u64, Event)> {
        self.reader.events()
    }

    fn minutes(&mut self) -> Vec<(u64, When, Summary)> {
        self.reader.minutes()
    }

    fn again(&self) -> Result<Box<dyn SampleReader>, String> {
        Ok(Box::new(Self::begin(&self.path)?))
    }
}
