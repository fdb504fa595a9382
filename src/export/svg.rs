//! The screen as a picture that scales.
//!
//! Text is placed by runs of one style with their length given, so that any monospace font fits the grid; bars and
//! shades are drawn as shapes, since fonts disagree about them most.

use super::{Picture, escape, paint};
use ratatui::style::Modifier;
use std::io::{self, Write};

/// Width of a cell in hundredths of a pixel: an advance of 0.6 em at 14 px.
const CELL_WIDTH: u32 = 840;
/// Height of a cell in hundredths of a pixel.
const CELL_HEIGHT: u32 = 1800;
/// The base line below the top of a cell, in hundredths.
const BASELINE: u32 = 1370;

/// One `svg` element.
pub(super) fn write(picture: &Picture, out: &mut dyn Write) -> io::Result<()> {
    let area = picture.buffer.area;
    let (fg, bg) = &picture.colours;
    let (width, height) = (px(u32::from(area.width) * CELL_WIDTH), px(u32::from(area.height) * CELL_HEIGHT));
    write!(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" ")?;
    writeln!(out, "viewBox=\"0 0 {width} {height}\" role=\"img\">")?;
    writeln!(out, "<title>{}</title>", escape(&picture.title))?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"{bg}\"/>")?;
    write!(out, "<g font-family=\"'DejaVu Sans Mono','Liberation Mono',Menlo,Consolas,monospace\" ")?;
    writeln!(out, "font-size=\"14\" fill=\"{fg}\" shape-rendering=\"crispEdges\">")?;
    for y in area.top()..area.bottom() {
        for (x, width, text, style) in super::runs(&picture.buffer, y) {
            let paint = paint::paint(style, &picture.colours);
            let place = Place { x: u32::from(x - area.x), y: u32::from(y - area.y), width: u32::from(width) };
            if let Some(bg) = &paint.bg {
                rect(out, place.at(0, 0, place.width * CELL_WIDTH, CELL_HEIGHT), bg, None)?;
            }
            run(out, place, &text, &paint, fg)?;
        }
    }
    writeln!(out, "</g>\n</svg>")
}

#[derive(Clone, Copy)]
struct Place {
    x: u32,
    y: u32,
    width: u32,
}

impl Place {
    /// A rectangle inside, in hundredths.
    fn at(self, left: u32, top: u32, width: u32, height: u32) -> [u32; 4] {
        [self.x * CELL_WIDTH + left, self.y * CELL_HEIGHT + top, width, height]
    }
}

/// Splits a run into words and shapes; skips blanks.
fn run(out: &mut dyn Write, place: Place, text: &str, paint: &paint::Paint, base: &str) -> io::Result<()> {
    let mut column = 0;
    let mut piece = String::new();
    let mut start = 0;
    for c in text.chars() {
        // A bar of many cells is one shape; a word is one text.
        if piece.chars().next_back().is_some_and(|last| !joins(last, c)) {
            let at = Place { x: place.x + start, width: column - start, ..place };
            draw(out, at, &std::mem::take(&mut piece), paint, base)?;
        }
        if piece.is_empty() {
            start = column;
        }
        piece.push(c);
        column += unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) as u32;
    }
    let at = Place { x: place.x + start, width: column - start, ..place };
    draw(out, at, &piece, paint, base)
}

/// True if a character is drawn together with the one before it.
fn joins(last: char, c: char) -> bool {
    match (shape(last), shape(c)) {
        (None, None) => (last == ' ') == (c == ' '),
        (Some(shape), Some(_)) => last == c && shape.part[0] == 0 && shape.part[2] == CELL_WIDTH,
        _ => false,
    }
}

/// Draws a word or a row of equal shapes.
fn draw(out: &mut dyn Write, at: Place, text: &str, paint: &paint::Paint, base: &str) -> io::Result<()> {
    match text.chars().next() {
        None | Some(' ') => Ok(()),
        Some(c) => match shape(c) {
            None => words(out, at, text, paint, base),
            Some(shape) => {
                let [left, top, width, height] = shape.part;
                let place = at.at(left, top, width + (at.width - 1) * CELL_WIDTH, height);
                let opacity = if paint.modifiers.contains(Modifier::DIM) { shape.opacity / 2 } else { shape.opacity };
                rect(out, place, &paint.fg, Some(opacity).filter(|&percent| percent < 100))
            }
        },
    }
}

fn words(out: &mut dyn Write, at: Place, text: &str, paint: &paint::Paint, base: &str) -> io::Result<()> {
    let [x, y, width, _] = at.at(0, BASELINE, at.width * CELL_WIDTH, 0);
    write!(out, "<text x=\"{}\" y=\"{}\" textLength=\"{}\"", px(x), px(y), px(width))?;
    if paint.fg != base {
        write!(out, " fill=\"{}\"", paint.fg)?;
    }
    let flags = [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::DIM, " opacity=\".6\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ];
    for (_, text) in flags.iter().filter(|(modifier, _)| paint.modifiers.contains(*modifier)) {
        write!(out, "{text}")?;
    }
    writeln!(out, " lengthAdjust=\"spacingAndGlyphs\">{}</text>", escape(text))
}

/// The filled part of a cell.
struct Shape {
    part: [u32; 4],
    opacity: u32,
}

/// Blocks and shades.
fn shape(c: char) -> Option<Shape> {
    let full = [0, 0, CELL_WIDTH, CELL_HEIGHT];
    let (part, opacity) = match c {
        '▁'..='█' => {
            let height = (c as u32 - '▁' as u32 + 1) * CELL_HEIGHT / 8;
            ([0, CELL_HEIGHT - height, CELL_WIDTH, height], 100)
        }
        '▉'..='▏' => ([0, 0, ('▏' as u32 - c as u32 + 1) * CELL_WIDTH / 8, CELL_HEIGHT], 100),
        '▀' => ([0, 0, CELL_WIDTH, CELL_HEIGHT / 2], 100),
        '▐' => ([CELL_WIDTH / 2, 0, CELL_WIDTH / 2, CELL_HEIGHT], 100),
        '░' => (full, 25),
        '▒' => (full, 50),
        '▓' => (full, 75),
        _ => return None,
    };
    Some(Shape { part, opacity })
}

fn rect(out: &mut dyn Write, place: [u32; 4], fill: &str, opacity: Option<u32>) -> io::Result<()> {
    let [x, y, width, height] = place.map(px);
    write!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"")?;
    match opacity {
        Some(percent) => writeln!(out, " opacity=\"0.{percent:02}\"/>"),
        None => writeln!(out, "/>"),
    }
}

/// Hundredths as a decimal number.
fn px(hundredths: u32) -> String {
    match hundredths % 100 {
        0 => (hundredths / 100).to_string(),
        rest => format!("{}.{rest:02}", hundredths / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::{CELL_HEIGHT, CELL_WIDTH, px, shape};

    #[test]
    fn blocks_fill_their_part() {
        assert_eq!(shape('█').unwrap().part, [0, 0, CELL_WIDTH, CELL_HEIGHT]);
        assert_eq!(shape('▄').unwrap().part, [0, CELL_HEIGHT / 2, CELL_WIDTH, CELL_HEIGHT / 2]);
        assert_eq!(shape('▌').unwrap().part, [0, 0, CELL_WIDTH / 2, CELL_HEIGHT]);
        assert!(shape('─').is_none());
        assert_eq!((px(840).as_str(), px(1800).as_str(), px(5).as_str()), ("8.40", "18", "0.05"));
    }
}
