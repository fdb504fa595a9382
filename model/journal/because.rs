//! Why something is taken back.

use crate::locale::fix::because as text;
use serde::{Deserialize, Serialize};

/// Why something is taken back, as the journal has it in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Because {
    /// Somebody said so.
    Asked,
    /// What was measured got worse.
    Worse,
    /// A limit was exceeded that must not be, however the verdict would have been.
    Pressure,
    /// It could have cut its user off, and nobody said that it shall stay.
    NotConfirmed,
    /// To compare the time without it with the time with it; somebody said so.
    ToCompare,
    /// Its process has exited: nothing was left to restore.
    Exited,
    /// What another version of the journal says; hostile.
    Other(String),
}

impl Because {
    /// The word of the journal.
    pub fn word(&self) -> &str {
        match self {
            Self::Asked => "asked",
            Self::Worse => "worse",
            Self::Pressure => "pressure",
            Self::NotConfirmed => "not confirmed",
            Self::ToCompare => "to compare",
            Self::Exited => "exited",
            Self::Other(word) => word,
        }
    }
}

impl Because {
    /// Its words on screens; hostile where another version wrote it.
    pub fn label(&self) -> &str {
        match self {
            Self::Asked => text::ASKED.as_str(),
            Self::Worse => text::WORSE.as_str(),
            Self::Pressure => text::PRESSURE.as_str(),
            Self::NotConfirmed => text::NOT_CONFIRMED.as_str(),
            Self::ToCompare => text::TO_COMPARE.as_str(),
            Self::Exited => text::EXITED.as_str(),
            Self::Other(word) => word,
        }
    }
}

impl From<String> for Because {
    fn from(word: String) -> Self {
        let known = [Self::Asked, Self::Worse, Self::Pressure, Self::NotConfirmed, Self::ToCompare, Self::Exited];
        known.into_iter().find(|because| because.word() == word).unwrap_or(Self::Other(word))
    }
}

impl From<Because> for String {
    fn from(because: Because) -> Self {
        because.word().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::Because;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_word_is_read_back(word in "asked|worse|pressure|not confirmed|to compare|exited|.{0,20}") {
            let because = Because::from(word.clone());
            let text = serde_json::to_string(&because).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<String>(&text).expect("a text"), word);
            prop_assert_eq!(serde_json::from_str::<Because>(&text).expect("a reason"), because);
        }
    }
}
