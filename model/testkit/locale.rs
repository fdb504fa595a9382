//! A made-up language in which no letter of a text is ASCII: what stays English on a screen bypasses the catalogue.

use crate::locale::{ENGLISH, Language};
use std::sync::LazyLock;

/// Letters and their look-alikes, one column each.
const LETTERS: [(char, char); 52] = [
    ('a', 'á'),
    ('b', 'ƀ'),
    ('c', 'ç'),
    ('d', 'đ'),
    ('e', 'é'),
    ('f', 'ƒ'),
    ('g', 'ǵ'),
    ('h', 'ĥ'),
    ('i', 'í'),
    ('j', 'ĵ'),
    ('k', 'ķ'),
    ('l', 'ĺ'),
    ('m', 'ɱ'),
    ('n', 'ñ'),
    ('o', 'ó'),
    ('p', 'ƥ'),
    ('q', 'ɋ'),
    ('r', 'ŕ'),
    ('s', 'š'),
    ('t', 'ť'),
    ('u', 'ú'),
    ('v', 'ṽ'),
    ('w', 'ŵ'),
    ('x', 'ẋ'),
    ('y', 'ý'),
    ('z', 'ž'),
    ('A', 'Á'),
    ('B', 'Ɓ'),
    ('C', 'Ç'),
    ('D', 'Đ'),
    ('E', 'É'),
    ('F', 'Ƒ'),
    ('G', 'Ǵ'),
    ('H', 'Ĥ'),
    ('I', 'Í'),
    ('J', 'Ĵ'),
    ('K', 'Ķ'),
    ('L', 'Ĺ'),
    ('M', 'Ḿ'),
    ('N', 'Ñ'),
    ('O', 'Ó'),
    ('P', 'Ƥ'),
    ('Q', 'Ɋ'),
    ('R', 'Ŕ'),
    ('S', 'Š'),
    ('T', 'Ť'),
    ('U', 'Ú'),
    ('V', 'Ṽ'),
    ('W', 'Ŵ'),
    ('X', 'Ẋ'),
    ('Y', 'Ý'),
    ('Z', 'Ž'),
];

/// English with every letter outside arguments replaced by a look-alike.
pub fn pseudo_locale() -> &'static Language {
    static LANGUAGE: LazyLock<Language> = LazyLock::new(|| {
        let texts: Vec<&'static str> = ENGLISH.texts.iter().map(|text| &*marked(text).leak()).collect();
        Language { code: "pseudo", texts: texts.leak() }
    });
    &LANGUAGE
}

fn marked(text: &str) -> String {
    let mut inside = false;
    let mark = |c: char| {
        inside = (inside || c == '{') && c != '}';
        let found = LETTERS.iter().find(|(letter, _)| !inside && *letter == c);
        found.map_or(c, |(_, other)| *other)
    };
    text.chars().map(mark).collect()
}

/// Runs of three or more ASCII letters.
pub fn english_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() >= 3)
}

/// The words in the strings of what a `Debug` text prints: names of a made-up machine.
pub fn words_in_strings(debug: &str) -> impl Iterator<Item = &str> {
    debug.split('"').skip(1).step_by(2).flat_map(english_words)
}

/// Words that stay in every language: units, names of files and tools, names that the kernel gives.
pub const AGREED: &[&str] = &[
    "PgDn",
    "PgUp",
    "topotop",
    "CPU",
    "CPUs",
    "IRQ",
    "NUMA",
    "NIC",
    "PSI",
    "OOM",
    "RSS",
    "RPS",
    "XPS",
    "PID",
    "TID",
    "REC",
    "UTC",
    "GHz",
    "MHz",
    "GiB",
    "MiB",
    "KiB",
    "TiB",
    "Gbit",
    "Mbit",
    "HDD",
    "SSD",
    "NET",
    "host",
    "max",
    "kernel",
    "current",
    "policy",
    "preferred",
    "node",
    "physcpubind",
    "cpubind",
    "nodebind",
    "membind",
    "cpuset",
    "cpus",
    "mems",
    "proc",
    "sys",
    "class",
    "net",
    "softirq",
    "softirqs",
    "ethtool",
    "interrupts",
    "irqbalance",
];
