//! Values as documents write them: texts that cannot steer a terminal, ids as keys, absence by type.

use crate::bottleneck::{Confidence, Outcome, ResourceKind, Verdict};
use crate::rules::RuleId;
use crate::text::printable;
use crate::{IdSet, Known};
use serde::{Serialize, Serializer};
use std::fmt::Display;
use std::marker::PhantomData;
use std::sync::Arc;

/// Whether a key is left out: an `Option` without a value, a [`Known`] that is missing, an empty text.
pub trait Absent {
    /// True where the key is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

/// [`Absent::is_absent`] as a function.
pub fn absent<T: Absent>(value: &T) -> bool {
    value.is_absent()
}

impl<T> Absent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Absent for Known<T> {
    fn is_absent(&self) -> bool {
        self.is_missing()
    }
}

impl Absent for Arc<str> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! always_present {
    ($($type:ty),+) => { $(impl Absent for $type {})+ };
}
always_present!(
    Confidence,
    Outcome,
    ResourceKind,
    RuleId,
    Verdict,
    Arc<IdSet>,
    IdSet,
    String,
    bool,
    f64,
    u16,
    u32,
    u64
);

impl<T> Absent for Vec<T> {}
impl<T: ?Sized> Absent for &T {}

/// A text of the machine in one line, for fields: `#[serde(with = "Text")]`.
#[derive(Debug)]
pub struct Text;

impl Text {
    /// Writes it without characters that steer terminals.
    pub fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&printable(text))
    }
}

/// Writes texts of the machine.
pub fn texts<S: Serializer>(list: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(|text| printable(text)))
}

/// Writes a text of the machine, null where there is none.
pub fn known_text<S: Serializer>(text: &Known<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_ref().map(|text| printable(text)).serialize(serializer)
}

/// A text of the machine in one line.
pub fn safe(text: impl AsRef<str>) -> String {
    printable(text.as_ref()).into_owned()
}

/// Writes what is shown as a text of the machine.
pub(crate) fn shown<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&printable(&value.to_string()))
}

/// Writes a list of what is shown as texts of the machine.
pub(crate) fn all_shown<T: Display, S: Serializer>(list: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(|value| safe(value.to_string())))
}

/// Writes a text of any number of lines.
pub(crate) fn each_line<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&lines(text))
}

/// A text of any number of lines.
pub fn lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// A value that is null where there is none.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct OrNull<T>(pub Option<T>);

impl OrNull<String> {
    /// A text of the machine in one line.
    pub fn text(text: Option<&str>) -> Self {
        Self(text.map(safe))
    }
}

impl<T> Absent for OrNull<T> {}

/// Values by id, for fields: `#[serde(with = "ById::<f64>")]`. The ids become keys.
#[derive(Debug)]
pub struct ById<T>(PhantomData<T>);

impl<T: Serialize> ById<T> {
    /// Writes pairs as a map.
    pub fn serialize<S: Serializer>(pairs: &[(u32, T)], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(id, value)| (id, value)))
    }
}

impl Serialize for IdSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::{lines, safe};

    #[test]
    fn texts_cannot_steer() {
        assert_eq!(safe("\u{1b}[2J\u{202e}x\u{9b}\n"), "\\x1b[2J\\u{202e}x\\x9b\\n");
        assert_eq!(lines("a\n\u{1b}b"), "a\n\\x1bb");
    }
}
