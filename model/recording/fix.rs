//! What a recording tells of fixes.

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
    pub fn word(self) -> &'static str {
        match self {
            Self::Applied => "fix applied",
            Self::Partial => "fix applied in part",
            Self::Failed => "fix failed",
            Self::Undone => "fix undone",
            Self::Verdict => "verdict",
            Self::Other => "a fix",
        }
    }
}

/// A fix at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixTold {
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

impl FixTold {
    /// A short line about it.
    pub fn text(&self) -> String {
        let detail = if self.detail.is_empty() { String::new() } else { format!(" ({})", self.detail) };
        format!("{}: {}{detail}", self.state.word(), self.title)
    }

    /// The same with texts cut to what is believed when read.
    pub(super) fn bounded(&self) -> Self {
        let cut = |text: &String| text.chars().take(MAX_TEXT).collect::<String>();
        Self { id: cut(&self.id), title: cut(&self.title), detail: cut(&self.detail), ..*self }
    }
}
