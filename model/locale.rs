//! What the program says to people: one catalogue per language in `model/locale/CODE.toml`, compiled in.
//!
//! A key `[rule.nic_channels] name` is the constant `rule::nic_channels::NAME`; a text with arguments, such as
//! `title = "{subject} uses {current} of {max} channels"`, is a struct `Title` with a field for each, which prints the
//! filled-in text; a table with `one` and `other` chooses by `count`; a list of texts is a [`Texts`]. A misspelt key or
//! argument does not compile. Another language is another file; what it lacks is English. Documents (JSON, CSV, metrics,
//! recordings, the journal) are English: what writes them does so [`in_english`], and so does the judge, whose values are
//! [`translated`] where they are shown.

mod joined;
mod reverse;

pub use joined::{aside, pair};
pub use reverse::translated;
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

include!(concat!(env!("OUT_DIR"), "/locale.rs"));

/// A language: its code and its texts by index.
#[derive(Debug)]
pub struct Language {
    /// As in `--lang`: `en`.
    pub code: &'static str,
    /// By the index of the key.
    pub texts: &'static [&'static str],
}

/// English, which has every key.
pub static ENGLISH: Language = Language { code: "en", texts: SOURCE_TEXTS };

/// The language of the process, as an index into [`LANGUAGES`].
static SELECTED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The language of a thread while [`with`] runs.
    static SCOPED: Cell<Option<&'static Language>> = const { Cell::new(None) };
}

/// Selects the language of the process by its code; false where there is no such catalogue.
pub fn select(code: &str) -> bool {
    let found = LANGUAGES.iter().position(|language| language.code.eq_ignore_ascii_case(code));
    found.inspect(|index| SELECTED.store(*index, Ordering::Relaxed)).is_some()
}

/// Runs something in another language, on this thread.
pub fn with<T>(language: &'static Language, run: impl FnOnce() -> T) -> T {
    let before = SCOPED.replace(Some(language));
    let result = run();
    SCOPED.set(before);
    result
}

/// Runs something in English, on this thread: for documents.
pub fn in_english<T>(run: impl FnOnce() -> T) -> T {
    with(&ENGLISH, run)
}

/// True where the reader reads English.
pub fn is_english() -> bool {
    std::ptr::eq(current().texts, ENGLISH.texts)
}

fn current() -> &'static Language {
    let selected = || LANGUAGES.get(SELECTED.load(Ordering::Relaxed)).unwrap_or(&ENGLISH);
    SCOPED.get().unwrap_or_else(selected)
}

/// A text without arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(usize);

impl Text {
    /// No text.
    pub const EMPTY: Self = Self(usize::MAX);

    /// In the selected language.
    pub fn as_str(self) -> &'static str {
        current().texts.get(self.0).copied().unwrap_or_else(|| self.english())
    }

    /// In English: for documents.
    pub fn english(self) -> &'static str {
        SOURCE_TEXTS.get(self.0).copied().unwrap_or_default()
    }

    /// The last part of its key: the name in documents and configuration of what it describes.
    pub fn name(self) -> &'static str {
        let key = self.key();
        key.rsplit_once('.').map_or(key, |(_, name)| name)
    }

    /// Its dotted key.
    pub fn key(self) -> &'static str {
        KEYS.get(self.0).copied().unwrap_or_default()
    }

    /// The text of a dotted key that is only known while the program runs.
    pub fn find(key: &str) -> Option<Self> {
        KEYS.binary_search(&key).ok().map(Self)
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.as_str().to_owned()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// A list of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    first: usize,
    length: usize,
}

impl Texts {
    /// Without any.
    pub const NONE: Self = Self { first: 0, length: 0 };

    /// Each of them.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Text> {
        (self.first..self.first + self.length).map(Text)
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.length
    }

    /// True without any.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }
}

/// In English: documents are.
impl serde::Serialize for Text {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.english())
    }
}

impl serde::Serialize for Texts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Writes a text with its arguments filled in; `{{` and `}}` become single braces.
fn fill(text: Text, arguments: &[(&str, &dyn fmt::Display)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write_filled(text.as_str(), |name| arguments.iter().find(|(known, _)| *known == name).map(|(_, value)| *value), f)
}

/// The same of a text and arguments that were read.
fn fill_from(text: &str, arguments: &[(&str, String)]) -> Option<String> {
    let mut out = String::new();
    let argument = |name: &str| {
        let value = arguments.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        value.map(|value| value as &dyn fmt::Display)
    };
    write_filled(text, argument, &mut out).ok().map(|()| out)
}

fn write_filled<'a>(
    mut rest: &str,
    argument: impl Fn(&str) -> Option<&'a dyn fmt::Display>,
    f: &mut dyn fmt::Write,
) -> fmt::Result {
    while let Some(at) = rest.find(['{', '}']) {
        let (head, tail) = rest.split_at(at);
        f.write_str(head)?;
        if tail.starts_with("{{") || tail.starts_with("}}") {
            f.write_str(tail.get(..1).unwrap_or_default())?;
            rest = tail.get(2..).unwrap_or_default();
            continue;
        }
        let end = tail.find('}').unwrap_or(tail.len());
        if let Some(value) = argument(tail.get(1..end).unwrap_or_default()) {
            write!(f, "{value}")?;
        }
        rest = tail.get(end + 1..).unwrap_or_default();
    }
    f.write_str(rest)
}

#[cfg(test)]
mod tests {
    use super::{ENGLISH, KEYS, LANGUAGES, Language, PROBLEMS, Text, with};

    #[test]
    fn every_language_has_every_text_with_the_arguments_of_english() {
        assert!(PROBLEMS.is_empty(), "{}", PROBLEMS.join("\n"));
    }

    #[test]
    fn keys_are_sorted_and_every_language_has_all_of_them() {
        assert!(KEYS.is_sorted());
        assert!(LANGUAGES.iter().all(|language| language.texts.len() == KEYS.len()));
        assert_eq!(LANGUAGES[0].code, "en");
    }

    #[test]
    fn a_scoped_language_ends_with_its_scope() {
        let texts: Vec<&'static str> = KEYS.iter().map(|_| "x").collect();
        let other: &'static Language = Box::leak(Box::new(Language { code: "x", texts: texts.leak() }));
        let text = Text(0);
        assert_eq!(with(other, || text.as_str()), "x");
        assert_eq!(with(other, || text.english()), ENGLISH.texts[0]);
        assert_eq!(text.as_str(), text.english());
    }
}
