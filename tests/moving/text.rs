//! Texts with numbers in them that move: `{100+7}` gains 7 a second from 100 on, `{100~7}` does so by fits and starts,
//! `{100-7}` loses 7 a second, and `{x100+7}` is written in hexadecimal.

use crate::common::series::chance;
use std::fmt::Write as _;

/// How far a counter that moves by fits and starts is off its mean, in seconds of its rate.
const FITS: f64 = 0.1;

/// The text so many seconds after the start.
pub(super) fn at(text: &str, second: u64) -> String {
    carried(text, second, &[])
}

/// The numbers of a text so many seconds after the start, in their order.
pub(super) fn values(text: &str, second: u64) -> Vec<u64> {
    let inside = text.split('{').skip(1).map(|rest| rest.split_once('}').expect("a closing brace").0);
    (1..).zip(inside).map(|(number, inside)| value(inside.trim_start_matches('x'), second, number)).collect()
}

/// The same with something added to each number.
pub(super) fn carried(text: &str, second: u64, added: &[i64]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut number = 0u64;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}').expect("a closing brace");
        out.push_str(before);
        number += 1;
        let added = added.get(number as usize - 1).copied().unwrap_or(0);
        match inside.strip_prefix('x') {
            Some(inside) => write!(out, "{:08x}", value(inside, second, number).saturating_add_signed(added)),
            None => write!(out, "{}", value(inside, second, number).saturating_add_signed(added)),
        }
        .expect("a string takes it");
        rest = after;
    }
    out.push_str(rest);
    out
}

fn value(inside: &str, second: u64, number: u64) -> u64 {
    let at = inside.find(['+', '~', '-']).unwrap_or_else(|| panic!("{inside} has no rate"));
    let base: f64 = inside[..at].parse().expect("where it begins");
    let rate: f64 = inside[at + 1..].parse().expect("a rate");
    let elapsed = second as f64;
    let moved = match &inside[at..=at] {
        "+" => base + rate * elapsed,
        // Never back: a second gains at least nine tenths.
        "~" => base + rate * (elapsed + FITS * chance([number, rate.to_bits(), second])),
        _ => base - rate * elapsed,
    };
    moved.max(0.0) as u64
}

#[test]
fn numbers_in_texts_move() {
    assert_eq!(at("a {100+7} b {5-2}\n", 0), "a 100 b 5\n");
    assert_eq!(at("a {100+7} b {5-2}\n", 3), "a 121 b 0\n");
    assert_eq!(at("{x16+16}", 1), "00000020");
    let steps: Vec<u64> = (0..9).map(|second| at("{0~1000}", second).parse().expect("a number")).collect();
    assert!(steps.windows(2).all(|pair| (900..=1100).contains(&(pair[1] - pair[0]))), "{steps:?}");
}
