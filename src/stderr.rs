//! Messages on standard error.

use std::io::Write as _;

/// The most characters of a line: what it quotes may be of any length.
const LONGEST: usize = 4096;

/// A warning: the program goes on.
pub(crate) fn warn(text: &str) {
    error(text);
}

/// An error, in one line.
pub(crate) fn error(text: &str) {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    let (start, more) = text.split_at_checked(end).unwrap_or((text, ""));
    let cut = if more.is_empty() { "" } else { "\u{2026}" };
    let line = start.replace('\n', " ");
    // Where standard error is closed, the exit status has to do.
    let _ = writeln!(std::io::stderr(), "topotop: {}{cut}", topotop_model::text::printable(&line));
}
