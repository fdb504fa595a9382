//! Hostile text made safe to show: nothing that steers a terminal or reorders what is around it comes through.

use std::borrow::Cow;

/// True for characters that must not reach a terminal: controls, bidi marks and other invisible format characters.
#[inline]
fn is_unsafe(c: char) -> bool {
    // Lines, blocks and arrows: most of what a picture is made of besides ASCII.
    if matches!(c, '\u{2190}'..='\u{28ff}') {
        return false;
    }
    c.is_control()
        || matches!(c, '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text with unsafe characters spelled out: `\x1b`, `\u{202e}`.
#[inline]
pub fn printable(text: &str) -> Cow<'_, str> {
    if is_plain(text) || !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    spelled_out(text)
}

/// Digits of a long id that people compare.
const ID_DIGITS: usize = 12;

/// The text with every run of 32 or more hexadecimal digits, such as the id of a container, cut to its first twelve.
pub fn short_ids(text: &str) -> Cow<'_, str> {
    let ends = |text: &str| text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    let mut out = String::new();
    let mut rest = text;
    let mut cut = false;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, run) = rest.split_at(start);
        let (run, after) = run.split_at(ends(run));
        out.push_str(before);
        match run.get(..ID_DIGITS).filter(|_| run.len() >= 32) {
            Some(head) => {
                out.push_str(head);
                out.push('\u{2026}');
                cut = true;
            }
            None => out.push_str(run),
        }
        rest = after;
    }
    if !cut {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// True for printable ASCII and nothing else: as safe as text gets, one column for each byte.
#[inline]
pub fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

fn spelled_out(text: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) && (c as u32) < 0x100 => escape(&mut out, format_args!("\\x{:02x}", c as u32)),
            c if is_unsafe(c) => escape(&mut out, format_args!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn escape(out: &mut String, code: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = std::fmt::Write::write_fmt(out, code);
}

/// JSON whose texts hold no unsafe characters: they are escaped as JSON escapes them, so that reading gives them back.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    if is_plain(json) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_unsafe(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                escape(&mut out, format_args!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Bytes of the kernel as text: what is not UTF-8 is spelled out as `\xNN`.
pub fn from_bytes(bytes: &[u8]) -> Cow<'_, str> {
    let Err(error) = std::str::from_utf8(bytes) else {
        return std::str::from_utf8(bytes).map_or(Cow::Borrowed(""), Cow::Borrowed);
    };
    let mut out = String::with_capacity(bytes.len() + 8);
    let mut rest = bytes;
    let mut good = error.valid_up_to();
    loop {
        let (head, tail) = rest.split_at(good.min(rest.len()));
        out.push_str(&String::from_utf8_lossy(head));
        let Some((bad, tail)) = tail.split_first() else { return Cow::Owned(out) };
        escape(&mut out, format_args!("\\x{bad:02x}"));
        rest = tail;
        good = std::str::from_utf8(rest).map_or_else(|error| error.valid_up_to(), str::len);
    }
}

/// The words of a name: its runs of letters and its runs of digits (`rx0_packets` is rx, 0, packets).
pub fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let digits = rest.chars().next()?.is_ascii_digit();
            let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
            let (word, tail) = rest.split_at_checked(end)?;
            rest = tail;
            Some(word)
        })
    })
}

/// Columns of a terminal that a text takes: a Han character takes two.
pub fn columns(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// A text with blanks behind it up to so many columns.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// A text with blanks before it up to so many columns.
pub fn flush_right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

#[cfg(test)]
mod tests {
    use super::{from_bytes, is_plain, printable, short_ids};
    use proptest::prelude::*;

    #[test]
    fn spells_out_what_steers() {
        assert_eq!(printable("beam.smp"), "beam.smp");
        assert_eq!(printable("\u{1b}[2Jx\u{202e}y\n"), "\\x1b[2Jx\\u{202e}y\\n");
        assert_eq!(from_bytes(b"a\xff\xc3\xa9"), "a\\xff\u{e9}");
    }

    #[test]
    fn shortens_ids_of_containers_and_no_number() {
        let id = "0123456789abcdef".repeat(4);
        assert_eq!(short_ids(&format!("/docker/{id}/init")), "/docker/0123456789ab\u{2026}/init");
        assert_eq!(short_ids(&format!("cri-containerd-{id}.scope")), "cri-containerd-0123456789ab\u{2026}.scope");
        for whole in ["/pod0f5a1c2e-1111-2222-3333-444455556666", "10737418240000", "\u{e9}deadbeef", ""] {
            assert_eq!(short_ids(whole), whole);
        }
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(bytes: Vec<u8>) {
            let text = printable(&from_bytes(&bytes)).into_owned();
            prop_assert!(!text.chars().any(super::is_unsafe));
        }

        #[test]
        fn what_is_plain_stays_as_it_is(text: String) {
            prop_assert_eq!(is_plain(&text), text.chars().all(|c| c.is_ascii() && !c.is_ascii_control()));
            if is_plain(&text) {
                prop_assert_eq!(&*printable(&text), &*text);
            }
        }
    }
}
