//! `topotop replay`: what is shown is what was recorded, wherever one goes, whatever became of the file.

mod documents;
mod judging;
mod screen;
mod short;
mod source;
mod terminal;

use crate::common::synthetic_recording::SyntheticRecording;
use std::path::{Path, PathBuf};
use topotop_model::recording::What;

/// A recording of so many seconds with a mark every hundred, from the fiftieth on.
fn recorded(dir: &Path, seconds: u64) -> PathBuf {
    let path = dir.join("a.rec");
    let marks = (0..seconds).filter(|second| second % 100 == 50);
    let events = marks.map(|second| (second, What::Mark { text: format!("step {}", second / 100 + 1) })).collect();
    SyntheticRecording { seconds, events, busy: waves, ..SyntheticRecording::default() }.write(&path);
    path
}

/// Load that comes and goes.
fn waves(second: u64, cpu: u32) -> u64 {
    let high = second % 60 / 20 == u64::from(cpu % 3);
    if high { 80 + (second * 7 + u64::from(cpu)) % 20 } else { 5 + (second * 3) % 9 }
}

/// Bytes in the middle that are no longer what was written.
fn damage(path: &Path, from: f64, bytes: usize) -> u64 {
    let mut file = std::fs::read(path).expect("a recording");
    let at = (file.len() as f64 * from) as usize;
    file[at..at + bytes].iter_mut().for_each(|byte| *byte ^= 0x5a);
    std::fs::write(path, file).expect("written");
    at as u64
}
