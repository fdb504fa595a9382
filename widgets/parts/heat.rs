//! Heat as colour and glyph, so that neither is needed to read it.

use crate::{Charset, Role};

const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
// Without the blank: an idle CPU is still a CPU.
const ASCII: [&str; 9] = [".", ":", "-", "=", "+", "*", "#", "%", "@"];

/// The glyph of a share.
pub fn glyph(share: f64, charset: Charset) -> &'static str {
    let steps: &[&str] = if charset == Charset::Ascii { &ASCII } else { &BLOCKS };
    let at = (share.clamp(0.0, 1.0) * steps.len() as f64) as usize;
    steps.get(at.min(steps.len() - 1)).copied().unwrap_or(" ")
}

/// Role and glyph of a share that may be unknown.
pub fn cell(share: Option<f64>, charset: Charset) -> (Role, &'static str) {
    match share {
        Some(share) => (Role::heat(share), glyph(share, charset)),
        None => (Role::Absent, "?"),
    }
}

/// The glyph of a share in rows that stand close: never as high as the cell, so that rows stay apart.
pub fn low_glyph(share: f64, charset: Charset) -> &'static str {
    let glyph = glyph(share, charset);
    if glyph == "█" { "▇" } else { glyph }
}

/// A full cell.
pub fn full(charset: Charset) -> &'static str {
    if charset == Charset::Ascii { "#" } else { "█" }
}

/// Role and glyph of a share that was not read; before the second sample nothing can be known, which is no gap.
pub fn unknown(rates: bool, charset: Charset) -> (Role, &'static str) {
    match (rates, charset) {
        (true, _) => (Role::Absent, "?"),
        (false, Charset::Unicode) => (Role::Absent, "·"),
        (false, Charset::Ascii) => (Role::Absent, "_"),
    }
}

/// The glyph of a CPU that is switched off.
pub fn offline(charset: Charset) -> &'static str {
    if charset == Charset::Ascii { "x" } else { "×" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_glyph() {
        let row = |charset| (0..=10).map(|step| glyph(f64::from(step) / 10.0, charset)).collect::<String>();
        assert_eq!(row(Charset::Unicode), "▁▁▂▃▄▅▅▆▇██");
        assert_eq!(row(Charset::Ascii), "..:-=+*#%@@");
        assert_eq!(glyph(f64::NAN, Charset::Unicode), "▁");
        assert_eq!(cell(None, Charset::Ascii), (Role::Absent, "?"));
        assert_eq!(cell(Some(0.98), Charset::Unicode), (Role::Heat4, "█"));
    }
}
