//! Recordings one after the other: rows of one are no rows of the other, whatever slots and serials they have.

use crate::{Section, Snapshot, Table, VisitMut};
use std::sync::Arc;

/// Gives the rows of each recording serials that no row of those before has.
#[derive(Clone, Debug, Default)]
pub struct Join {
    /// By section: the highest serial so far, and what is added to those of this recording.
    sections: Vec<(u64, u64)>,
    at: usize,
}

impl Join {
    /// The samples that follow are of another recording.
    pub fn next_recording(&mut self) {
        for section in &mut self.sections {
            section.1 = section.0;
        }
    }

    /// Takes in a sample of this recording.
    pub fn take(&mut self, snapshot: &mut Snapshot) {
        self.at = 0;
        snapshot.visit_mut(self);
    }
}

impl VisitMut for Join {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        if self.sections.len() <= self.at {
            self.sections.resize(self.at + 1, (0, 0));
        }
        if let Some((highest, add)) = self.sections.get_mut(self.at) {
            if *add > 0 {
                Arc::make_mut(section).data_mut().rows_mut().raise(*add);
            }
            *highest = (*highest).max(section.data().rows().highest());
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::Join;
    use crate::{Snapshot, Table};
    use std::sync::Arc;

    fn sample(pid: u64) -> Snapshot {
        let mut snapshot = Snapshot::default();
        let table = Arc::make_mut(&mut snapshot.processes).data_mut();
        let slot = table.insert();
        table.pid.set(slot, pid);
        snapshot
    }

    #[test]
    fn rows_of_two_recordings_are_never_the_same() {
        let (mut one, mut other, mut join) = (sample(7), sample(8), Join::default());
        join.take(&mut one);
        let again = one.clone();
        join.next_recording();
        join.take(&mut other);
        let rows = |snapshot: &Snapshot| snapshot.processes.data().rows().clone();
        assert!(rows(&one).same(&rows(&again), 0));
        assert!(!rows(&one).same(&rows(&other), 0));
        assert_eq!((rows(&other).len(), rows(&other).serial(0)), (1, 2));
    }
}
