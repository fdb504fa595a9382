//! The themes that ship with the program: name and text, the first one is used unless another is asked for.

use crate::{Theme, ThemeError};

/// Name and text of every theme.
pub const ALL: &[(&str, &str)] = &[("default", include_str!("../themes/default.toml"))];

/// The theme of a name.
pub fn named(name: &str) -> Option<Result<Theme, ThemeError>> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| Theme::parse(text))
}
