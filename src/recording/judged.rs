//! Where to begin judging so that a sample of a recording is judged as it was live.

use super::Reader;
use topotop_model::judge::{Judge, Settings};

/// Samples that are judged before the one that is wanted, where the recording does not have the judge's state: what is
/// wrong for long is found then, too.
const BEFORE: u64 = 120;

/// The sample to begin with and the judge before it.
pub fn judge_before(reader: &mut Reader, settings: &Settings, sample: u64) -> (u64, Judge) {
    let first = reader.numbers().map_or(sample, |numbers| *numbers.start());
    let warm = sample.saturating_sub(BEFORE).max(first);
    let state = reader.state_before(sample).filter(|(at, _)| *at >= first && sample - at <= BEFORE);
    let saved = state.and_then(|(at, state)| Some((at, Judge::restore(settings, &state)?)));
    saved.unwrap_or_else(|| (warm, Judge::new(settings.clone())))
}
