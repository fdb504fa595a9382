//! What a panel draws from.

use crate::Theme;
use topotop_model::fix::Surroundings;
use topotop_model::frame::Frame;
use topotop_model::history::History;
use topotop_model::judge::{Judgement, Settings, Timeline};
use topotop_model::rules::Subject;

/// Which characters the terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// Block and line drawing characters.
    #[default]
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Something that was done to the machine: a fix was applied, undone, judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// CLOCK_MONOTONIC in ns.
    pub mono_ns: u64,
    /// In ns since 1970.
    pub wall_ns: i64,
    /// What, in a few words.
    pub text: String,
    /// False where it went wrong.
    pub well: bool,
}

/// Everything a panel may know.
#[derive(Clone, Copy, Debug)]
pub struct Cx<'a> {
    /// The frame that is shown: the newest, or the one stepped back to.
    pub frame: &'a Frame,
    /// Headlines up to that frame.
    pub history: &'a History,
    /// What is wrong, as far as it was judged.
    pub judgement: &'a Judgement,
    /// Findings that appeared and cleared, later than the frame as well.
    pub timeline: &'a Timeline,
    /// What was done to the machine.
    pub marks: &'a [Mark],
    /// Settings of the judge: thresholds that are not the rules' own.
    pub settings: &'a Settings,
    /// What is known of the place that fixes would be applied from.
    pub surroundings: &'a Surroundings,
    /// Styles.
    pub theme: &'a Theme,
    /// Characters.
    pub charset: Charset,
    /// The zone of times.
    pub zone: &'a jiff::tz::TimeZone,
    /// What is selected, on whatever screen.
    pub selected: Option<&'a Subject>,
    /// The filter: rows whose name does not hold it (case ignored) are left out; empty for none.
    pub filter: &'a str,
}
