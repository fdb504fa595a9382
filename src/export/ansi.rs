//! The screen as text with colours for terminals: SGR sequences and no others.

use super::Picture;
use ratatui::style::{Color, Modifier, Style};
use std::io::{self, Write};

/// One line per row; every line starts and ends without style.
pub(super) fn write(picture: &Picture, out: &mut dyn Write) -> io::Result<()> {
    for y in picture.buffer.area.top()..picture.buffer.area.bottom() {
        for (_, _, text, style) in super::runs(&picture.buffer, y) {
            let codes = codes(style);
            if codes.is_empty() {
                write!(out, "{text}")?;
            } else {
                write!(out, "\x1b[{codes}m{text}\x1b[0m")?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

fn codes(style: Style) -> String {
    const MODIFIERS: [(Modifier, &str); 5] = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
    ];
    let modifiers = MODIFIERS.iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let mut codes: Vec<String> = modifiers.map(|(_, code)| (*code).to_owned()).collect();
    codes.extend(style.fg.and_then(|colour| code(colour, 30)));
    codes.extend(style.bg.and_then(|colour| code(colour, 40)));
    codes.join(";")
}

/// The code of a colour; `base` is 30 for text and 40 for the background.
fn code(colour: Color, base: u8) -> Option<String> {
    Some(match colour {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
        Color::Indexed(index) => format!("{};5;{index}", base + 8),
        named => {
            let index = super::paint::index(named)?;
            if index < 8 { (base + index).to_string() } else { (base + 52 + index).to_string() }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::codes;
    use ratatui::style::{Color, Style};

    #[test]
    fn styles_have_their_codes() {
        assert_eq!(codes(Style::new()), "");
        assert_eq!(codes(Style::new().fg(Color::Red).bg(Color::LightBlue).bold()), "1;31;104");
        assert_eq!(codes(Style::new().fg(Color::Rgb(1, 2, 3)).bg(Color::Indexed(200))), "38;2;1;2;3;48;5;200");
        assert_eq!(codes(Style::new().fg(Color::Gray).bg(Color::DarkGray)), "37;100");
    }
}
