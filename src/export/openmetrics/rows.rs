//! Series of one family on their way to the page: escaped, bounded, each once.

use std::collections::HashSet;
use std::fmt::{Display, Write as _};
use topotop_model::text::printable;

/// Characters of a label's value at most: paths of control groups are longer.
const LABEL: usize = 160;

/// The series of a family.
pub(super) struct Rows<'a> {
    out: &'a mut String,
    name: String,
    /// Series that still fit on the page.
    left: usize,
    seen: HashSet<String>,
    /// Series that were written.
    pub(super) written: usize,
    /// Series that did not fit.
    pub(super) dropped: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(out: &'a mut String, name: String, left: usize) -> Self {
        Self { out, name, left, seen: HashSet::new(), written: 0, dropped: 0 }
    }

    /// A series, where its value is known.
    pub(super) fn add(&mut self, labels: &[(&str, &dyn Display)], value: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let mut text = String::new();
        for (name, value) in labels {
            // Writing to memory cannot fail.
            let _ = write!(text, "{}{name}=\"{}\"", if text.is_empty() { "" } else { "," }, escaped(value));
        }
        // Two hostile names that look the same are one: a page with a series twice is refused as a whole.
        if self.seen.contains(&text) {
            return;
        }
        if self.written == self.left {
            self.dropped += 1;
            return;
        }
        self.written += 1;
        let name = &self.name;
        let _ = if text.is_empty() {
            writeln!(self.out, "{name} {value}")
        } else {
            writeln!(self.out, "{name}{{{text}}} {value}")
        };
        self.seen.insert(text);
    }

    /// A series whose labels say everything.
    pub(super) fn info(&mut self, labels: &[(&str, &dyn Display)]) {
        self.add(labels, Some(1.0));
    }
}

fn escaped(value: &dyn Display) -> String {
    let value = value.to_string();
    let mut out = String::with_capacity(value.len());
    for c in printable(&value).chars().take(LABEL) {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out
}
