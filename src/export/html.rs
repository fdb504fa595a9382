//! The screen as a page of its own.

use super::{Picture, escape, paint};
use ratatui::style::Modifier;
use std::io::{self, Write};

/// One preformatted block with inline styles; loads no other file.
pub(super) fn write(picture: &Picture, out: &mut dyn Write) -> io::Result<()> {
    let (fg, bg) = &picture.colours;
    writeln!(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, "<title>{}</title>\n</head>", escape(&picture.title))?;
    writeln!(out, "<body style=\"margin:0;background:{bg}\">")?;
    write!(out, "<pre style=\"margin:1em;color:{fg};background:{bg};")?;
    writeln!(out, "font:14px/17px 'DejaVu Sans Mono',Menlo,Consolas,monospace\">")?;
    for y in picture.buffer.area.top()..picture.buffer.area.bottom() {
        for (_, _, text, style) in super::runs(&picture.buffer, y) {
            let css = css(&paint::paint(style, &picture.colours), fg);
            if css.is_empty() {
                write!(out, "{}", escape(&text))?;
            } else {
                write!(out, "<span style=\"{css}\">{}</span>", escape(&text))?;
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "</pre>\n</body>\n</html>")
}

fn css(paint: &paint::Paint, base: &str) -> String {
    let mut css = String::new();
    if paint.fg != base {
        css.push_str("color:");
        css.push_str(&paint.fg);
        css.push(';');
    }
    if let Some(bg) = &paint.bg {
        css.push_str("background:");
        css.push_str(bg);
        css.push(';');
    }
    let flags = [
        (Modifier::BOLD, "font-weight:bold;"),
        (Modifier::DIM, "opacity:.6;"),
        (Modifier::ITALIC, "font-style:italic;"),
        (Modifier::UNDERLINED, "text-decoration:underline;"),
    ];
    flags.iter().filter(|(modifier, _)| paint.modifiers.contains(*modifier)).for_each(|(_, text)| css.push_str(text));
    css
}
