//! How things look, and what the terminal is asked about that.

use topotop_widgets::{Charset, Theme};

/// How things look.
#[derive(Clone, Debug)]
pub struct Look {
    /// Styles.
    pub theme: Theme,
    /// Characters.
    pub charset: Charset,
    /// True when clicks come here.
    pub mouse: bool,
}

/// What the terminal is asked at the start, where nothing else says it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asks {
    /// Whether its background is light.
    pub background: bool,
    /// Whether characters of ambiguous width take two columns.
    pub width: bool,
}
