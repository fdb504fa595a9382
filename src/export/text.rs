//! The screen as plain text.

use super::Picture;
use std::io::{self, Write};

/// One line per row, without trailing blanks.
pub(super) fn write(picture: &Picture, out: &mut dyn Write) -> io::Result<()> {
    for y in picture.buffer.area.top()..picture.buffer.area.bottom() {
        let line: String = super::runs(&picture.buffer, y).into_iter().map(|run| run.2).collect();
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
