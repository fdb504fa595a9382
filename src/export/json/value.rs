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
impl Absent for Set {}
impl Absent for String {}
impl Absent for &'static str {}
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

/// A time since 1970 as RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(wall_ns: i64) -> String {
    const DAY_MS: i64 = 86_400_000;
    let milliseconds = wall_ns.div_euclid(1_000_000);
    let (days, rest) = (milliseconds.div_euclid(DAY_MS), milliseconds.rem_euclid(DAY_MS));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

/// The Gregorian date of a day since 1970: years are counted from March, so that the leap day ends one.
fn date(days: i64) -> (i64, i64, i64) {
    let since_march_0000 = days + 719_468;
    let era = since_march_0000.div_euclid(146_097);
    let day_of_era = since_march_0000.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{Text, rfc3339};

    #[test]
    fn times() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_123_000_000), "2000-02-29T00:00:00.123Z");
        assert_eq!(rfc3339(1_790_000_000_999_999_999), "2026-09-21T14:13:20.999Z");
        assert_eq!(rfc3339(-1_000_000), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn texts_cannot_steer() {
        let json = serde_json::to_string(&Text::from("\u{1b}[2J\u{202e}x\u{9b}\n")).unwrap_or_default();
        assert_eq!(json, r#""\\x1b[2J\\u{202e}x\\x9b\\n""#);
    }
}
