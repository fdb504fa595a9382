//! Fixes in a recording.

use crate::frame::Applied;
use crate::locale::recording::fix as words;
use crate::locale::{Text, translated};
use serde::{Deserialize, Serialize};

/// The most characters of a text.
const MAX_TEXT: usize = 1024;

/// What became of a fix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum FixState {
    /// Every item reads as it should.
    Applied,
    /// Some do.
    Partial,
    /// Nothing was changed.
    Failed,
    /// It was taken back.
    Undone,
    /// Its effect was measured.
    Verdict,
    /// Something that this version does not know.
    #[default]
    Other,
}

impl From<String> for FixState {
    fn from(name: String) -> Self {
        let all = [Self::Applied, Self::Partial, Self::Failed, Self::Undone, Self::Verdict];
        all.into_iter().find(|state| <&str>::from(*state) == name).unwrap_or_default()
    }
}

impl From<FixState> for &'static str {
    fn from(state: FixState) -> Self {
        match state {
            FixState::Applied => "applied",
            FixState::Partial => "partial",
            FixState::Failed => "failed",
            FixState::Undone => "undone",
            FixState::Verdict => "verdict",
            FixState::Other => "other",
        }
    }
}

impl FixState {
    /// It in a word or two.
    pub fn word(self) -> Text {
        match self {
            Self::Applied => words::APPLIED,
            Self::Partial => words::PARTIAL,
            Self::Failed => words::FAILED,
            Self::Undone => words::UNDONE,
            Self::Verdict => words::VERDICT,
            Self::Other => words::UNKNOWN,
        }
    }
}

/// A fix at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFix {
    /// Its number in the journal of its machine.
    #[serde(default)]
    pub number: u64,
    /// `RULE/SUBJECT/FIX`.
    #[serde(default)]
    pub id: String,
    /// It in one line; hostile.
    #[serde(default)]
    pub title: String,
    /// What became of it.
    #[serde(default)]
    pub state: FixState,
    /// The verdict, why it was undone, or what has to be known; hostile.
    #[serde(default)]
    pub detail: String,
}

impl RecordedFix {
    /// A short line about it.
    pub fn text(&self) -> String {
        let detail = translated(&["recording.fix.test_invalid"], &self.detail);
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let sign = if matches!(self.state, FixState::Failed | FixState::Partial) { "✗" } else { "✓" };
        format!("{sign} {}: {}{detail}", self.state.word(), self.title)
    }

    /// The same with texts cut to what the reader accepts.
    pub(super) fn bounded(&self) -> Self {
        let cut = |text: &String| text.chars().take(MAX_TEXT).collect::<String>();
        Self { id: cut(&self.id), title: cut(&self.title), detail: cut(&self.detail), ..*self }
    }
}

/// Fixes whose values came into force from one frame to the next, or are in force no longer.
pub fn changes(before: &[Applied], after: &[Applied]) -> Vec<RecordedFix> {
    let missing = |from: &[Applied], in_: &[Applied], state: FixState| {
        let mut fixes: Vec<RecordedFix> = Vec::new();
        for row in from.iter().filter(|row| in_.iter().all(|other| other.fix != row.fix)) {
            if fixes.iter().all(|fix| fix.id != *row.fix) {
                let (id, title) = (row.fix.to_string(), format!("{}: {}", row.target, row.wanted));
                fixes.push(RecordedFix { id, title, state, ..RecordedFix::default() });
            }
        }
        fixes
    };
    let gone = missing(before, after, FixState::Undone);
    gone.into_iter().chain(missing(after, before, FixState::Applied)).collect()
}

#[cfg(test)]
mod tests {
    use super::{FixState, RecordedFix, changes};
    use crate::frame::Applied;
    use crate::recording::What;

    #[test]
    fn they_come_back_and_states_of_later_versions_are_kept_apart() {
        let fix = RecordedFix {
            number: 3,
            id: "NIC-01/nic%3Aeth0/F-CHAN".to_owned(),
            title: "eth0: combined 1 -> combined 8".to_owned(),
            state: FixState::Verdict,
            detail: "improved".to_owned(),
        };
        let what = What::Fix(Box::new(fix));
        assert_eq!(What::parse(&what.encode()), Some(what.clone()));
        assert_eq!(what.text(), "✓ verdict: eth0: combined 1 -> combined 8 (improved)");
        let later = br#"{"kind":"fix","state":"paused","title":"x","until":7}"#;
        let Some(What::Fix(fix)) = What::parse(later) else { panic!("a fix") };
        assert_eq!((fix.state, &*fix.title), (FixState::Other, "x"));
        let long = RecordedFix { title: "\u{1b}".repeat(99_999), ..RecordedFix::default() };
        assert!(What::Fix(Box::new(long)).encode().len() < crate::recording::MAX_EVENT);
    }

    #[test]
    fn what_comes_into_force_and_goes_is_told_once() {
        let row = |fix: &str, target: &str| Applied { fix: fix.into(), target: target.into(), ..Applied::default() };
        let (one, two) = ([row("a", "x"), row("a", "y")], [row("b", "z"), row("a", "x")]);
        let changed = |before: &[Applied], after: &[Applied]| -> Vec<(String, FixState)> {
            changes(before, after).into_iter().map(|fix| (fix.id, fix.state)).collect()
        };
        assert_eq!(changed(&one, &two), [("b".to_owned(), FixState::Applied)]);
        assert_eq!(changed(&two, &[]), [("b".to_owned(), FixState::Undone), ("a".to_owned(), FixState::Undone)]);
        assert_eq!(changed(&one, &one), []);
    }
}
