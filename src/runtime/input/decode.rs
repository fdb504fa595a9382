//! Bytes of a terminal as keys, clicks, pastes and answers. An answer is never taken for keys, however late it comes and
//! wherever it is split: that is why this is done here.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// What a terminal sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A key.
    Key(KeyEvent),
    /// A click or the wheel.
    Mouse(MouseEvent),
    /// Text that was pasted.
    Paste(String),
    /// What was asked.
    Answer(Answer),
}

/// What a terminal answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// True for a background that is light.
    Background(bool),
    /// Row and column of the cursor, from 1.
    Cursor(u16, u16),
    /// Everything that was written before the question is drawn.
    Done,
}

/// Reads bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// What is not complete.
    kept: Vec<u8>,
    /// Text that is being pasted.
    pasted: Option<Vec<u8>>,
    /// True inside a string that is too long to be an answer.
    dropping: bool,
}

/// What the first bytes are.
enum Step {
    /// Too few to say.
    More,
    /// So many bytes, which may mean nothing here.
    Took(usize, Option<Input>),
    /// So many bytes that begin a paste.
    Paste(usize),
    /// A string that has no end yet and will not be looked at.
    Drop,
}

const ESC: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";
/// A paste is cut here.
const LONGEST_PASTE: usize = 1 << 20;
/// Answers are shorter.
const LONGEST: usize = 128;

impl Decoder {
    /// Takes bytes and gives what they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        let mut all = std::mem::take(&mut self.kept);
        all.extend_from_slice(bytes);
        let (mut rest, mut found) = (all.as_slice(), Vec::new());
        while !rest.is_empty() {
            let step = if self.pasted.is_some() {
                self.paste(rest)
            } else if self.dropping {
                self.skip(rest)
            } else {
                first(rest)
            };
            let taken = match step {
                Step::More => break,
                Step::Took(count, input) => {
                    found.extend(input);
                    count
                }
                Step::Paste(count) => {
                    self.pasted = Some(Vec::new());
                    count
                }
                Step::Drop => {
                    self.dropping = true;
                    rest.len() - usize::from(rest.last() == Some(&ESC))
                }
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
        self.kept = rest.to_vec();
        found
    }

    /// True after an Esc that may be a key or begin something.
    pub(super) fn holds_escape(&self) -> bool {
        self.kept == [ESC] && self.pasted.is_none() && !self.dropping
    }

    /// Nothing followed: the Esc is a key.
    pub(super) fn escape(&mut self) -> Option<Input> {
        self.holds_escape().then(|| {
            self.kept.clear();
            key(KeyCode::Esc, KeyModifiers::NONE)
        })
    }

    fn paste(&mut self, bytes: &[u8]) -> Step {
        let Some(pasted) = &mut self.pasted else { return Step::More };
        let end = bytes.windows(PASTE_END.len()).position(|part| part == PASTE_END);
        // The end may be split.
        let text = end.unwrap_or(bytes.len().saturating_sub(PASTE_END.len() - 1));
        let space = LONGEST_PASTE.saturating_sub(pasted.len());
        pasted.extend(bytes.iter().take(text.min(space)));
        match end {
            None if text == 0 => Step::More,
            None => Step::Took(text, None),
            Some(end) => {
                let text = String::from_utf8_lossy(pasted).into_owned();
                self.pasted = None;
                Step::Took(end + PASTE_END.len(), Some(Input::Paste(text)))
            }
        }
    }

    fn skip(&mut self, bytes: &[u8]) -> Step {
        match end_of_string(bytes) {
            None if bytes.last() == Some(&ESC) && bytes.len() == 1 => Step::More,
            None => Step::Took(bytes.len() - usize::from(bytes.last() == Some(&ESC)), None),
            Some((_, after)) => {
                self.dropping = false;
                Step::Took(after, None)
            }
        }
    }
}

/// What the first bytes of some are.
fn first(bytes: &[u8]) -> Step {
    match bytes {
        [ESC] | [ESC, b'[' | b'O' | b']'] => Step::More,
        [ESC, b'[', rest @ ..] => sequence(rest),
        [ESC, b'O', last, ..] => Step::Took(3, named(*last).map(|code| key(code, KeyModifiers::NONE))),
        [ESC, b']', b'0'..=b'9', ..] => string(bytes),
        [ESC, ESC, ..] => Step::Took(1, Some(key(KeyCode::Esc, KeyModifiers::NONE))),
        [ESC, rest @ ..] => match character(rest) {
            Step::Took(count, Some(Input::Key(event))) => {
                Step::Took(count + 1, Some(key(event.code, event.modifiers | KeyModifiers::ALT)))
            }
            Step::Took(count, input) => Step::Took(count + 1, input),
            step => step,
        },
        _ => character(bytes),
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Input {
    Input::Key(KeyEvent::new(code, modifiers))
}

/// A character or a control key.
fn character(bytes: &[u8]) -> Step {
    let Some(&byte) = bytes.first() else { return Step::More };
    let control = |c: u8| Step::Took(1, Some(key(KeyCode::Char(char::from(c)), KeyModifiers::CONTROL)));
    let plain = |code| Step::Took(1, Some(key(code, KeyModifiers::NONE)));
    let count = match byte {
        b'\r' => return plain(KeyCode::Enter),
        b'\t' => return plain(KeyCode::Tab),
        0x7f => return plain(KeyCode::Backspace),
        0 => return control(b' '),
        0x01..=0x1a => return control(byte + b'a' - 1),
        0x1b..=0x1f => return control(byte - 0x1c + b'4'),
        b' '..=b'~' => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Step::Took(1, None),
    };
    let goes_on = bytes.iter().skip(1).take(count - 1).all(|byte| byte & 0xc0 == 0x80);
    if !goes_on {
        return Step::Took(1, None);
    }
    let Some(text) = bytes.get(..count) else { return Step::More };
    let Some(c) = std::str::from_utf8(text).ok().and_then(|text| text.chars().next()) else {
        return Step::Took(1, None);
    };
    let shift = if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    Step::Took(count, Some(key(KeyCode::Char(c), shift)))
}

/// A string of the terminal: that of its background is an answer.
fn string(bytes: &[u8]) -> Step {
    let body = bytes.get(2..).unwrap_or_default();
    match end_of_string(body) {
        Some((end, after)) => {
            let text = body.get(..end).and_then(|text| std::str::from_utf8(text).ok());
            let light = text.and_then(|text| is_light(text.strip_prefix("11;")?));
            Step::Took(after + 2, light.map(|light| Input::Answer(Answer::Background(light))))
        }
        None if bytes.len() > LONGEST => Step::Drop,
        None => Step::More,
    }
}

/// Where a string ends and where what follows begins. A control key ends it too, so that nobody who meant a key waits
/// for ever.
fn end_of_string(body: &[u8]) -> Option<(usize, usize)> {
    let end = body.iter().position(|byte| *byte < b' ')?;
    match (body.get(end), body.get(end + 1)) {
        (Some(&0x07), _) => Some((end, end + 1)),
        (Some(&ESC), Some(b'\\')) => Some((end, end + 2)),
        (Some(&ESC), None) => None,
        _ => Some((end, end)),
    }
}

/// True for a light colour in the form of X: `rgb:ffff/ffff/ffff`, of one to four digits each.
fn is_light(colour: &str) -> Option<bool> {
    let (_, parts) = colour.split_once(':')?;
    let level = |part: &str| {
        let most = 16_u32.checked_pow(part.len().try_into().ok()?)?.checked_sub(1).filter(|most| *most > 0)?;
        Some(f64::from(u32::from_str_radix(part, 16).ok()?) / f64::from(most))
    };
    let mut levels = parts.split('/').map(level);
    let (red, green, blue) = (levels.next()??, levels.next()??, levels.next()??);
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}

/// What follows `ESC [`.
fn sequence(rest: &[u8]) -> Step {
    match rest {
        // Function keys of the Linux console.
        [b'[', letter @ b'A'..=b'E', ..] => {
            return Step::Took(4, Some(key(KeyCode::F(letter - b'A' + 1), KeyModifiers::NONE)));
        }
        // The old form of clicks.
        [b'M', button, column, row, ..] => {
            let places = [*button, *column, *row].map(|byte| u16::from(byte.saturating_sub(32)));
            return Step::Took(6, click(places, false));
        }
        [b'['] | [b'M', ..] => return Step::More,
        _ => {}
    }
    let Some(end) = rest.iter().position(|byte| !(b' '..=b'?').contains(byte)) else {
        return if rest.len() > LONGEST { Step::Drop } else { Step::More };
    };
    let (Some(&last), Some(numbers)) = (rest.get(end), rest.get(..end)) else { return Step::More };
    if !(b'@'..=b'~').contains(&last) {
        // Something else begins in the middle.
        return Step::Took(end + 2, None);
    }
    if (numbers, last) == (b"200".as_slice(), b'~') {
        return Step::Paste(end + 3);
    }
    Step::Took(end + 3, meaning(numbers, last))
}

fn meaning(numbers: &[u8], last: u8) -> Option<Input> {
    let text = std::str::from_utf8(numbers).ok()?;
    if let Some(text) = text.strip_prefix('<').filter(|_| matches!(last, b'M' | b'm')) {
        return click(places(text)?, last == b'm');
    }
    let number = |at| text.split(';').nth(at).and_then(|part: &str| part.parse::<u16>().ok());
    let modifiers = modifiers(number(1).unwrap_or(1));
    match last {
        b'R' => Some(Input::Answer(Answer::Cursor(number(0)?, number(1)?))),
        b'n' => (text == "0").then_some(Input::Answer(Answer::Done)),
        b'Z' => Some(key(KeyCode::BackTab, KeyModifiers::SHIFT)),
        b'~' => Some(key(numbered(number(0)?)?, modifiers)),
        _ => Some(key(named(last)?, modifiers)),
    }
}

fn places(text: &str) -> Option<[u16; 3]> {
    let mut parts = text.split(';').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

fn modifiers(number: u16) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    let all = [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)];
    all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, modifier)| modifier).collect()
}

fn named(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

fn numbered(number: u16) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F((number - 10) as u8),
        17..=21 => KeyCode::F((number - 11) as u8),
        23 | 24 => KeyCode::F((number - 12) as u8),
        _ => return None,
    })
}

/// A button with its place, both as terminals number them.
fn click([button, column, row]: [u16; 3], released: bool) -> Option<Input> {
    let moved = button & 0x20 != 0;
    let which = [MouseButton::Left, MouseButton::Middle, MouseButton::Right].get(usize::from(button & 3)).copied();
    let kind = match (button & 0xc0, which) {
        (0x40, Some(MouseButton::Left)) => MouseEventKind::ScrollUp,
        (0x40, Some(MouseButton::Middle)) => MouseEventKind::ScrollDown,
        (0, Some(which)) if released => MouseEventKind::Up(which),
        (0, Some(which)) if moved => MouseEventKind::Drag(which),
        (0, Some(which)) => MouseEventKind::Down(which),
        // The old form does not say which one.
        (0, None) if !moved => MouseEventKind::Up(MouseButton::Left),
        _ => return None,
    };
    let all = [(4, KeyModifiers::SHIFT), (8, KeyModifiers::ALT), (16, KeyModifiers::CONTROL)];
    let modifiers = all.into_iter().filter(|(bit, _)| button & bit != 0).map(|(_, modifier)| modifier).collect();
    let (column, row) = (column.saturating_sub(1), row.saturating_sub(1));
    Some(Input::Mouse(MouseEvent { kind, column, row, modifiers }))
}

#[cfg(test)]
mod tests;
