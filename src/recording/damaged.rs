//! Damage that was met while a recording was read: one line, whatever there was of it.

use std::path::Path;
use topotop_model::locale::error as text;
use topotop_model::recording::Damage;
use topotop_model::text::printable;

/// Damage so far.
#[derive(Debug, Default)]
pub struct Damaged {
    first: Option<Damage>,
    count: u64,
}

impl Damaged {
    /// One more place.
    pub fn add(&mut self, damage: Damage) {
        self.first.get_or_insert(damage);
        self.count += 1;
    }

    /// Reports it on standard error, if there was any.
    pub fn report(self, path: &Path) {
        let Some(first) = self.first else { return };
        let path = path.display().to_string();
        let (path, count) = (printable(&path), self.count);
        crate::stderr::warn(&match count {
            1 => text::DamagedOnce { path: &path, first: &first }.to_string(),
            _ => text::DamagedPlaces { path: &path, count: &count, first: &first }.to_string(),
        });
    }
}
