//! The files of one group: which there are, how often each is read, and descriptors that stay open.

use super::mounts::Hierarchy;
use super::take::Cells;
use crate::Root;
use crate::descriptors::{Reserved, reserve};
use crate::root::Kept;
use std::path::Path;
use topotop_model::Reason;

/// How often a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// In each sample unless the parent was idle: shows whether anything ran.
    Probe,
    /// In each sample while the group moves.
    Often,
    /// Every few seconds: settings, and what costs more.
    Seldom,
}

/// A file of a group and how it is taken into the row.
#[derive(Debug)]
pub(super) struct FileDef {
    /// Its names, the better one first.
    pub(super) names: &'static [&'static str],
    /// The v1 controller that it belongs to.
    pub(super) of: u8,
    /// How often it is read.
    pub(super) pace: Pace,
    /// Takes its text in; false when that is damaged.
    pub(super) take: fn(&[u8], &mut Cells<'_>) -> bool,
    /// What would make it readable where it is there and does not answer.
    pub(super) needs: &'static str,
}

/// The most descriptors that control groups keep, so that processes have theirs.
pub(super) const MOST_KEPT: usize = 4096;
/// While so few are kept, files that are seldom read keep theirs too.
const FEW_KEPT: usize = 256;

/// A file of one group.
#[derive(Debug)]
pub(super) struct Held {
    /// What it is.
    pub(super) def: &'static FileDef,
    /// The hierarchy that it is in.
    pub(super) hierarchy: u8,
    state: State,
    /// True if it did not have the form that the kernel gives it.
    damaged: bool,
}

#[derive(Debug)]
enum State {
    New,
    Open(Kept, Reserved),
    Again(&'static str),
    Failed(Reason),
}

/// What came of one reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The row holds its contents.
    Read,
    /// It cannot be read, or it is not there.
    Failed,
    /// The group is gone.
    Gone,
}

/// Where and with what a group's files are read.
#[derive(Debug)]
pub(super) struct Door<'a> {
    pub(super) root: &'a Root,
    pub(super) hierarchies: &'a [Hierarchy],
    pub(super) buf: &'a mut Vec<u8>,
    /// Descriptors kept so far.
    pub(super) kept: &'a mut usize,
}

impl Held {
    pub(super) fn new(def: &'static FileDef, hierarchy: u8) -> Self {
        Self { def, hierarchy, state: State::New, damaged: false }
    }

    /// True if it is kept open.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(..))
    }

    /// Why it, or a part of it, cannot be read.
    pub(super) fn failure(&self) -> Option<Reason> {
        match self.state {
            State::Failed(reason) => Some(reason),
            _ if self.damaged => Some(Reason::Malformed),
            _ => None,
        }
    }

    /// Closes it; the next reading opens it again.
    pub(super) fn close(&mut self) {
        if self.is_open() {
            self.state = State::New;
        }
    }

    /// Forgets that it could not be read.
    pub(super) fn retry(&mut self) {
        if matches!(self.state, State::Failed(_)) {
            self.state = State::New;
        }
    }

    /// Reads it into the row of `cells`.
    pub(super) fn read(&mut self, group: &Path, door: &mut Door<'_>, cells: &mut Cells<'_>) -> Outcome {
        if matches!(self.state, State::Failed(_)) {
            return Outcome::Failed;
        }
        match self.fill(group, door) {
            Ok(()) => {
                self.damaged = !(self.def.take)(door.buf, cells);
                Outcome::Read
            }
            Err(Reason::Vanished) => Outcome::Gone,
            Err(reason) => {
                // A file that was there goes together with its directory.
                let gone = reason == Reason::NotFound && matches!(self.state, State::Again(_));
                let was_read = self.is_open() || matches!(self.state, State::Again(_));
                self.state = State::Failed(reason);
                // Nothing stays of what is not readable any more: an empty text clears the row's values. What was never
                // read has none, and another hierarchy may have them.
                if was_read {
                    (self.def.take)(b"", cells);
                }
                if gone { Outcome::Gone } else { Outcome::Failed }
            }
        }
    }

    fn fill(&mut self, group: &Path, door: &mut Door<'_>) -> Result<(), Reason> {
        match &self.state {
            State::Open(kept, _) => return kept.read(door.buf),
            State::New | State::Again(_) | State::Failed(_) => {}
        }
        let Some(hierarchy) = door.hierarchies.get(usize::from(self.hierarchy)) else { return Err(Reason::NotFound) };
        let dir = hierarchy.dir.join(group);
        let known = if let State::Again(name) = self.state { Some(name) } else { None };
        let mut failure = Reason::NotFound;
        for name in self.def.names.iter().copied().filter(|name| known.is_none_or(|known| known == *name)) {
            match door.root.open(dir.join(name)) {
                Ok(kept) => {
                    kept.read(door.buf)?;
                    self.keep(kept, name, door.kept);
                    return Ok(());
                }
                Err(Reason::NotFound) => {}
                Err(reason) => failure = reason,
            }
        }
        Err(failure)
    }

    fn keep(&mut self, kept: Kept, name: &'static str, count: &mut usize) {
        let most = if self.def.pace == Pace::Seldom { FEW_KEPT } else { MOST_KEPT };
        let right = (*count < most).then(reserve).flatten();
        self.state = match right {
            Some(reserved) => {
                *count += 1;
                State::Open(kept, reserved)
            }
            None => State::Again(name),
        };
    }
}
