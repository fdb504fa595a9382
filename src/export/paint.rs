//! Colours as `#rrggbb`, for output outside terminals.

use ratatui::style::{Color, Modifier, Style};

/// Text and background where the theme leaves them to the terminal.
const DEFAULT: (&str, &str) = ("#d4d4d4", "#101216");

/// The 16 colours that terminals name, as xterm has them.
const NAMED: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];

/// The place of a named colour among the 16.
pub(super) fn index(colour: Color) -> Option<u8> {
    NAMED.iter().position(|(named, _)| *named == colour).map(|at| at as u8)
}

/// A colour as `#rrggbb`; none where it is the terminal's own.
pub(super) fn hex(colour: Color) -> Option<String> {
    let [r, g, b] = match colour {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => [r, g, b],
        Color::Indexed(index) => indexed(index),
        named => NAMED.iter().find(|(known, _)| *known == named)?.1,
    };
    Some(format!("#{r:02x}{g:02x}{b:02x}"))
}

/// xterm's 256 colours.
fn indexed(index: u8) -> [u8; 3] {
    let step = |level: u8| if level == 0 { 0 } else { 55 + 40 * level };
    match index {
        0..16 => NAMED.get(usize::from(index)).map_or([0; 3], |named| named.1),
        16..232 => {
            let cube = index - 16;
            [step(cube / 36), step(cube / 6 % 6), step(cube % 6)]
        }
        232.. => [8 + 10 * (index - 232); 3],
    }
}

/// Default text and background.
pub(super) fn base(style: Style) -> (String, String) {
    let or = |colour: Option<Color>, default: &str| colour.and_then(hex).unwrap_or_else(|| default.to_owned());
    (or(style.fg, DEFAULT.0), or(style.bg, DEFAULT.1))
}

/// Appearance of a run.
pub(super) struct Paint {
    /// Text.
    pub(super) fg: String,
    /// Background; none for the picture's own.
    pub(super) bg: Option<String>,
    /// Bold, dim, italic, underlined.
    pub(super) modifiers: Modifier,
}

/// The look of a style over the picture's own colours.
pub(super) fn paint(style: Style, base: &(String, String)) -> Paint {
    let (mut fg, mut bg) = (style.fg.and_then(hex), style.bg.and_then(hex));
    if style.add_modifier.contains(Modifier::REVERSED) {
        (fg, bg) = (bg.or_else(|| Some(base.1.clone())), fg.or_else(|| Some(base.0.clone())));
    }
    Paint {
        fg: fg.unwrap_or_else(|| base.0.clone()),
        bg: bg.filter(|bg| *bg != base.1),
        modifiers: style.add_modifier - Modifier::REVERSED,
    }
}

#[cfg(test)]
mod tests {
    use super::{hex, paint};
    use ratatui::style::{Color, Style};

    #[test]
    fn colours_of_xterm() {
        assert_eq!(hex(Color::Indexed(196)).unwrap(), "#ff0000");
        assert_eq!(hex(Color::Indexed(244)).unwrap(), "#808080");
        assert_eq!(hex(Color::Red).unwrap(), "#cd0000");
        assert_eq!(hex(Color::Reset), None);
        let base = ("#111111".to_owned(), "#222222".to_owned());
        let reversed = paint(Style::new().reversed(), &base);
        assert_eq!((reversed.fg.as_str(), reversed.bg.as_deref()), ("#222222", Some("#111111")));
    }
}
