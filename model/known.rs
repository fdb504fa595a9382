//! A value and the two ways not to have one.

use serde::{Serialize, Serializer};

/// What is known of one value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known<T> {
    /// Not read: not asked for, or tried and failed (then a gap says why).
    #[default]
    Missing,
    /// Read, and known to be none, unlimited or not applicable.
    None,
    /// Read.
    Value(T),
}

impl<T> Known<T> {
    /// The value, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Missing | Self::None => None,
        }
    }

    /// True if nothing was read.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// Applies `f` to the value and keeps what kind of absence it is.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Known<U> {
        match self {
            Self::Missing => Known::Missing,
            Self::None => Known::None,
            Self::Value(value) => Known::Value(f(value)),
        }
    }

    /// Borrows the value.
    pub fn as_ref(&self) -> Known<&T> {
        match self {
            Self::Missing => Known::Missing,
            Self::None => Known::None,
            Self::Value(value) => Known::Value(value),
        }
    }

    /// An optional value whose absence means that it was not read.
    pub fn or_missing(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Self::Value)
    }

    /// An optional value whose absence is itself the answer.
    pub fn or_none(value: Option<T>) -> Self {
        value.map_or(Self::None, Self::Value)
    }
}

impl<T> From<T> for Known<T> {
    fn from(value: T) -> Self {
        Self::Value(value)
    }
}

/// `None` is null; a missing one is left out by `skip_serializing_if = "Known::is_missing"`.
impl<T: Serialize> Serialize for Known<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing | Self::None => serializer.serialize_none(),
            Self::Value(value) => serializer.serialize_some(value),
        }
    }
}
