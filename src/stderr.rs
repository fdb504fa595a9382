//! Messages on standard error.

use std::io::Write as _;

/// A warning: the program goes on.
pub(crate) fn warn(text: &str) {
    error(text);
}

/// An error, in one line.
pub(crate) fn error(text: &str) {
    // Where standard error is closed, the exit status has to do.
    let _ = writeln!(std::io::stderr(), "topotop: {}", topotop_model::text::printable(&text.replace('\n', " ")));
}
