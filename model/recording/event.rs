//! What happened beside the samples.

use super::{RecordedFinding, RecordedFix};
use crate::locale::recording::event as words;
use crate::locale::{judge, translated};
use serde::{Deserialize, Serialize};

/// The longest valid event, in bytes.
pub const MAX_EVENT: usize = 64 << 10;
/// The most characters of a text in one.
pub const MAX_TEXT: usize = 2048;
/// The most words of a command.
const MAX_WORDS: usize = 256;
/// What notes and reasons are made of, which are written in English.
const CAUSES: [&str; 2] = ["recording.cause.", "recording.error."];

/// Something that happened while recording, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Wall time in ns since 1970.
    pub wall_ns: i64,
    /// CLOCK_MONOTONIC in ns.
    pub mono_ns: u64,
    /// What.
    pub what: What,
}

/// Kinds of events, by the name that they have in files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// The user marked a place.
    Mark {
        /// Its text.
        text: String,
    },
    /// The bracketed command began.
    Start {
        /// Its words.
        command: Vec<String>,
    },
    /// The bracketed command ended.
    Exit {
        /// Its exit status, if it had one.
        status: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// Samples are missing before this place.
    Skipped {
        /// How many.
        samples: u64,
        /// Why.
        reason: String,
    },
    /// Something worth knowing about the recording itself: a suspension, a clock that was set.
    Note {
        /// What.
        text: String,
    },
    /// A finding opened.
    #[serde(alias = "finding_came")]
    FindingOpened(Box<RecordedFinding>),
    /// A finding cleared.
    #[serde(alias = "finding_went")]
    FindingCleared(Box<RecordedFinding>),
    /// A fix was applied, failed, was undone or judged.
    Fix(Box<RecordedFix>),
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

impl What {
    /// True for what was judged, not done: marks and the like are the user's.
    pub fn is_finding(&self) -> bool {
        matches!(self, Self::FindingOpened(_) | Self::FindingCleared(_))
    }

    /// A short line about it.
    pub fn text(&self) -> String {
        match self {
            Self::Mark { text } => text.clone(),
            Self::Note { text } => translated(&CAUSES, text).into_owned(),
            Self::Start { command } => words::Started { command: &command.join(" ") }.to_string(),
            Self::Exit { status: Some(status), .. } => words::EndedWithStatus { status }.to_string(),
            Self::Exit { signal: Some(signal), .. } => words::EndedBySignal { signal }.to_string(),
            Self::Exit { .. } => words::ENDED.to_string(),
            Self::Skipped { samples, reason } => {
                words::Skipped { count: *samples, reason: &translated(&CAUSES, reason) }.to_string()
            }
            Self::FindingOpened(finding) => judge::Opened { rule: &finding.rule, title: &finding.title }.to_string(),
            Self::FindingCleared(finding) => judge::Cleared { rule: &finding.rule, title: &finding.title }.to_string(),
            Self::Fix(fix) => fix.text(),
            Self::Other => words::LATER_VERSION.to_string(),
        }
    }

    /// Its JSON, with texts cut to what the reader accepts.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let cut = |text: &String| text.chars().take(MAX_TEXT).collect::<String>();
        let bounded = match self {
            Self::Mark { text } => Self::Mark { text: cut(text) },
            Self::Note { text } => Self::Note { text: cut(text) },
            Self::Skipped { samples, reason } => Self::Skipped { samples: *samples, reason: cut(reason) },
            Self::Start { command } => Self::Start { command: words(command) },
            Self::FindingOpened(finding) => Self::FindingOpened(Box::new(finding.bounded())),
            Self::FindingCleared(finding) => Self::FindingCleared(Box::new(finding.bounded())),
            Self::Fix(fix) => Self::Fix(Box::new(fix.bounded())),
            other => other.clone(),
        };
        // Texts and numbers always serialise.
        serde_json::to_vec(&bounded).unwrap_or_default()
    }

    /// The event of some JSON; none if it is no event.
    pub fn parse(body: &[u8]) -> Option<Self> {
        if body.len() > MAX_EVENT { None } else { serde_json::from_slice(body).ok() }
    }
}

/// A command's words as far as an event has room: the sum of them stays below half of it, quoted.
fn words(command: &[String]) -> Vec<String> {
    let mut room = MAX_TEXT;
    let mut fits = |word: &String| {
        let word: String = word.chars().take(room).collect();
        room -= word.chars().count();
        word
    };
    command.iter().take(MAX_WORDS).map(&mut fits).collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_EVENT, What};
    use crate::locale::recording::cause;
    use crate::locale::{LANGUAGES, in_english, with};
    use proptest::prelude::*;

    #[test]
    fn what_was_written_in_english_is_shown_in_the_language_of_the_reader() {
        let reason = cause::DISK_SLOW.english().to_owned();
        let text = in_english(|| cause::ClockBack { seconds: &"1.5" }.to_string());
        let (skipped, note) = (What::Skipped { samples: 2, reason }, What::Note { text });
        for language in LANGUAGES {
            with(language, || {
                assert!(skipped.text().contains(cause::DISK_SLOW.as_str()), "{}", skipped.text());
                assert_eq!(note.text(), cause::ClockBack { seconds: &"1.5" }.to_string());
            });
        }
    }

    #[test]
    fn kinds_of_later_versions_are_kept_apart() {
        assert_eq!(What::parse(br#"{"kind":"finding","rule":"NIC-01"}"#), Some(What::Other));
        assert_eq!(What::parse(b"[]"), None);
    }

    proptest! {
        #[test]
        fn events_come_back(text in "\\PC{0,200}", status: Option<i32>, command: Vec<String>) {
            for what in [What::Mark { text: text.clone() }, What::Exit { status, signal: None }] {
                prop_assert_eq!(What::parse(&what.encode()), Some(what));
            }
            let long = What::Start { command: command.iter().map(|word| word.repeat(99)).collect() };
            prop_assert!(long.encode().len() <= MAX_EVENT);
            prop_assert!(What::parse(&long.encode()).is_some());
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = What::parse(&bytes).map(|what| what.text());
        }
    }
}
