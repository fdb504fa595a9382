//! Pieces of text that the program puts beside each other, with the punctuation of the language.

use super::{check, resource};
use std::fmt::Display;

/// A name and what is said of it: `eth0: 8 channels`.
pub fn pair(name: impl Display, about: impl Display) -> String {
    check::UncheckedOf { subject: &name, reason: &about }.to_string()
}

/// A text and a remark on it: `ring 512 (restored approximately)`.
pub fn aside(text: impl Display, remark: impl Display) -> String {
    resource::Detail { resource: &text, details: &remark }.to_string()
}
