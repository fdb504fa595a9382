//! Recording from the screen: what is recorded now, its name, and marks in it.

use super::{App, Effect, Modal};
use crate::units;
use topotop_model::locale::chrome;

/// A recording that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The file.
    pub path: String,
    /// CLOCK_MONOTONIC in ns when it began.
    pub since_ns: u64,
    /// Bytes in the file.
    pub bytes: u64,
    /// Samples that are missing in it.
    pub skipped: u64,
    /// Why samples are not written just now.
    pub trouble: Option<String>,
}

/// The longest part of a file's name that is the machine's.
const HOST: usize = 64;

impl App {
    /// Begins a recording, or ends it.
    pub(super) fn record(&mut self) -> Vec<Effect> {
        let frame = &self.newest.frame;
        if self.status.recording.is_some() {
            return vec![Effect::Record(None)];
        }
        if self.status.about.captured.is_some() {
            self.say(chrome::RECORD_LIVE_ONLY);
            return Vec::new();
        }
        if frame.stamp.seq == 0 {
            self.say(chrome::NO_SAMPLE);
            return Vec::new();
        }
        vec![Effect::Record(Some(file_name(&frame.host.name, frame.stamp.wall_ns)))]
    }

    /// Asks what to write at this place of the recording.
    pub(super) fn mark(&mut self) {
        if self.status.recording.is_some() {
            self.modal = Modal::Mark(String::new());
        } else {
            self.say(chrome::NOT_RECORDING);
        }
    }
}

/// `topotop-HOST-20261121-140530.rec`, of what a machine may call itself.
fn file_name(host: &str, wall_ns: i64) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' };
    let host: String = host.chars().take(HOST).map(plain).collect();
    format!("topotop-{host}-{}.rec", units::zoned(wall_ns).strftime("%Y%m%d-%H%M%S"))
}

#[cfg(test)]
mod tests {
    use super::file_name;
    use proptest::prelude::*;

    #[test]
    fn names_sort_by_time() {
        assert_eq!(file_name("db-17", 1_790_000_000_000_000_000), "topotop-db-17-20260921-141320.rec");
    }

    proptest! {
        #[test]
        fn no_host_leads_out_of_the_directory(host: String, wall_ns: i64) {
            let name = file_name(&host, wall_ns);
            prop_assert!(!name.contains('/') && name.starts_with("topotop-") && name.len() < 200);
        }
    }
}
