//! A line of text that is typed.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The longest line.
const MAX: usize = 256;

/// Changes the line as the key says; false if the key is none for lines.
pub(super) fn key(line: &mut String, event: KeyEvent) -> bool {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    match event.code {
        KeyCode::Backspace => {
            line.pop();
        }
        KeyCode::Char('u') if control => line.clear(),
        KeyCode::Char('w') if control => {
            let end = line.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
            line.truncate(end);
        }
        KeyCode::Char(c) if !control && !event.modifiers.contains(KeyModifiers::ALT) => insert(line, c),
        _ => return false,
    }
    true
}

/// Adds text as if it were typed; what does not print is left out.
pub(super) fn paste(line: &mut String, text: &str) {
    text.chars().for_each(|c| insert(line, c));
}

fn insert(line: &mut String, c: char) {
    let mut bytes = [0; 4];
    let plain = topotop_model::text::printable(c.encode_utf8(&mut bytes)).len() == c.len_utf8();
    if plain && line.len() + c.len_utf8() <= MAX {
        line.push(c);
    }
}
