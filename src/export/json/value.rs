//! Values as the document writes them: texts that cannot steer a terminal, id sets, maps by id, absence by type.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::sync::Arc;
use topotop_model::{IdSet, Known, text::printable};

/// Whether a key is left out: an `Option` says "absent when none", a [`Known`] tells null from absent, all else stays.
pub(crate) trait Absent {
    fn is_absent(&self) -> bool {
        false
    }
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

impl<T> Absent for Vec<T> {}
impl<T> Absent for ById<T> {}
impl Absent for Text {}
impl Absent for Lines {}
impl Absent for Set {}
impl Absent for String {}
impl Absent for &'static str {}
impl Absent for topotop_model::rules::RuleId {}
impl Absent for bool {}
impl Absent for u32 {}
impl Absent for u64 {}
impl Absent for f64 {}

/// Defines a JSON object: a struct whose absent fields leave their keys out.
macro_rules! object {
    ($(#[$doc:meta])* $vis:vis $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, serde::Serialize)]
        $vis struct $name {
            $(
                $(#[$attr])*
                #[serde(skip_serializing_if = "crate::export::json::value::Absent::is_absent")]
                pub(in crate::export::json) $field: $type,
            )+
        }

        impl crate::export::json::value::Absent for $name {}
    };
}
pub(crate) use object;

/// A text of the machine, without characters that steer terminals.
#[derive(Clone, Debug)]
pub(crate) struct Text(Arc<str>);

impl From<&Arc<str>> for Text {
    fn from(text: &Arc<str>) -> Self {
        Self(Arc::clone(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&printable(&self.0))
    }
}

/// A text of any number of lines, each without characters that steer terminals.
#[derive(Clone, Debug)]
pub(crate) struct Lines(pub(crate) String);

impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lines: Vec<_> = self.0.split('\n').map(printable).collect();
        serializer.serialize_str(&lines.join("\n"))
    }
}

/// A text, absent when it is empty.
pub(crate) fn text(text: &Arc<str>) -> Option<Text> {
    (!text.is_empty()).then(|| Text::from(text))
}

/// Ids in the kernel's list form.
#[derive(Clone, Debug)]
pub(crate) struct Set(Arc<IdSet>);

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl From<&IdSet> for Set {
    fn from(set: &IdSet) -> Self {
        Self(Arc::new(set.clone()))
    }
}

impl From<&Arc<IdSet>> for Set {
    fn from(set: &Arc<IdSet>) -> Self {
        Self(Arc::clone(set))
    }
}

/// A set, absent when it was not read.
pub(crate) fn set(set: Option<&Arc<IdSet>>) -> Option<Set> {
    set.map(Set::from)
}

/// Values by id; the ids become keys.
#[derive(Clone, Debug)]
pub(crate) struct ById<T>(pub(crate) Vec<(u32, T)>);

impl<T: Serialize> Serialize for ById<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (id, value) in &self.0 {
            map.serialize_entry(id, value)?;
        }
        map.end()
    }
}

/// A map by id, absent when it is empty.
pub(crate) fn by_id<T: Clone>(pairs: &[(u32, T)]) -> Option<ById<T>> {
    (!pairs.is_empty()).then(|| ById(pairs.to_vec()))
}

/// Values by name.
#[derive(Clone, Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<(Text, T)>);

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn texts_cannot_steer() {
        let json = serde_json::to_string(&Text::from("\u{1b}[2J\u{202e}x\u{9b}\n")).unwrap_or_default();
        assert_eq!(json, r#""\\x1b[2J\\u{202e}x\\x9b\\n""#);
    }
}
