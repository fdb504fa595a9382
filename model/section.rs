//! A table with when and how completely it was read.

use crate::{Gaps, Table};

/// Whether a section's data may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Nobody asked for it, or the recording has none.
    #[default]
    NotCollected,
    /// Read, perhaps with gaps.
    Read,
    /// Tried, and nothing came of it: the gaps say why.
    Missing,
}

/// A table, when it was read, how long that took and what could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section<T> {
    /// Whether `value` answers.
    pub state: State,
    /// CLOCK_MONOTONIC in ns: the section's generation. Rates are between different generations.
    pub read_at_ns: u64,
    /// How long the reading took, in ns.
    pub took_ns: u64,
    /// What could not be read.
    pub gaps: Gaps,
    data: T,
}

impl State {
    /// True if it was read, perhaps with gaps.
    pub fn is_read(self) -> bool {
        self == Self::Read
    }
}

impl<T: Table> Section<T> {
    /// A section without rows, said to be in a state.
    pub fn bare(state: State) -> Self
    where
        T: Default,
    {
        Self { state, ..Self::default() }
    }

    /// The table, if it was read.
    pub fn value(&self) -> Option<&T> {
        (self.state == State::Read).then_some(&self.data)
    }

    /// The table whether or not it was read: what is there is from an earlier reading.
    pub fn data(&self) -> &T {
        &self.data
    }

    /// The table, to be written by a collector or decoder.
    pub fn data_mut(&mut self) -> &mut T {
        &mut self.data
    }

    /// Starts a reading: no gaps, read until said otherwise.
    pub fn begin(&mut self, now_ns: u64) {
        self.state = State::Read;
        self.read_at_ns = now_ns;
        self.gaps.clear();
    }

    /// Copies another section into this one's buffers.
    pub fn copy_from(&mut self, other: &Self) {
        self.state = other.state;
        self.read_at_ns = other.read_at_ns;
        self.took_ns = other.took_ns;
        self.gaps.clone_from(&other.gaps);
        self.data.copy_from(&other.data);
    }
}
