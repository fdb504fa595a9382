//! Pages of HTML: what comparisons and reports have in common. Nothing is loaded from elsewhere, and nothing runs.

use crate::export::escape;
use std::io::{self, Write};
use topotop_model::locale::is_english;

const STYLE: &str = include_str!("page.css");

/// Everything up to the first heading.
pub(crate) fn begin(title: &str, out: &mut dyn Write) -> io::Result<()> {
    let lang = if is_english() { "en" } else { "zh-CN" };
    writeln!(out, "<!DOCTYPE html>\n<html lang=\"{lang}\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(out, "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>", escape(title))
}

/// A part of it under a heading.
pub(crate) fn section(
    title: &str,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>{}</h2>", escape(title))?;
    write(out)?;
    writeln!(out, "</section>")
}

/// Everything after the last paragraph.
pub(crate) fn end(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "</body>\n</html>")
}
