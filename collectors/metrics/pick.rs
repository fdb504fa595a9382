//! Picks a number out of lines: by a regular expression, the last one, or a sample of the OpenMetrics text format.

use regex_lite::Regex;
use std::sync::OnceLock;
use topotop_model::locale::metric::source::InvalidSelector;

/// How a number is picked.
#[derive(Clone, Debug)]
pub enum Pick {
    /// The last number of the last line that has one.
    Last,
    /// The first group of a regular expression, or all that it matches, in the last line where that is a number.
    Line(Regex),
    /// Samples of the OpenMetrics text format; several that match are summed.
    Sample(Selector),
}

/// A number, and whether it only grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picked {
    /// The number.
    pub value: f64,
    /// True for a counter.
    pub counter: bool,
}

/// Bytes that a sample may still search: each match looks at the rest of its line again, and some texts are made of
/// nothing but matches.
#[derive(Debug)]
pub(super) struct Work(u64);

impl Default for Work {
    fn default() -> Self {
        Self(2 << 20)
    }
}

impl Work {
    fn takes(&mut self, bytes: usize) -> bool {
        // A search costs something even where nothing is left of the line.
        let left = self.0.checked_sub(bytes as u64 + 16);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }

    /// True where something was left out.
    pub(super) fn is_exhausted(&self) -> bool {
        self.0 == 0
    }
}

impl Pick {
    /// The number of one line, for what comes line by line; none where the work is too much.
    pub(super) fn line(&self, line: &str, work: &mut Work) -> Option<f64> {
        match self {
            Self::Last => last(numbers()?, line, work),
            Self::Line(regex) => last(regex, line, work),
            Self::Sample(selector) => selector.sample(line),
        }
    }

    /// The number of a whole text.
    pub(super) fn text(&self, text: &str, work: &mut Work) -> Option<Picked> {
        match self {
            Self::Sample(selector) => selector.text(text),
            _ => text
                .lines()
                .rev()
                .map_while(|line| (!work.is_exhausted()).then(|| self.line(line, work)))
                .flatten()
                .next()
                .map(|value| Picked { value, counter: false }),
        }
    }
}

/// The last match of a line that is a number.
fn last(regex: &Regex, line: &str, work: &mut Work) -> Option<f64> {
    let (mut at, mut found) = (0, None);
    while at <= line.len() {
        if !work.takes(line.len() - at) {
            return None;
        }
        let Some(groups) = regex.captures_at(line, at) else { break };
        let (Some(whole), Some(number)) = (groups.get(0), groups.get(1).or_else(|| groups.get(0))) else { break };
        found = finite(number.as_str()).or(found);
        let empty = whole.start() == whole.end();
        let next = line.get(whole.end()..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        at = if empty { whole.end() + next } else { whole.end() };
    }
    found
}

fn numbers() -> Option<&'static Regex> {
    static NUMBERS: OnceLock<Option<Regex>> = OnceLock::new();
    NUMBERS.get_or_init(|| Regex::new(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?").ok()).as_ref()
}

fn finite(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// Which samples: a name and labels that they must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    name: String,
    labels: Vec<(String, String)>,
}

impl Selector {
    /// `name` or `name{label="x",other="y"}`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || InvalidSelector { text: &text }.to_string();
        let (name, rest) = split_name(text);
        if name.is_empty() {
            return Err(wrong());
        }
        let labels = if rest.is_empty() { Some((Vec::new(), "")) } else { labels(rest) };
        let (labels, _) = labels.filter(|(_, rest)| rest.trim().is_empty()).ok_or_else(wrong)?;
        Ok(Self { name: name.to_owned(), labels })
    }

    /// The number of a line, if it is such a sample.
    fn sample(&self, line: &str) -> Option<f64> {
        let (name, rest) = split_name(line.trim_start());
        if name != self.name {
            return None;
        }
        let (has, rest) = if rest.starts_with('{') { labels(rest)? } else { (Vec::new(), rest) };
        if !self.labels.iter().all(|label| has.contains(label)) {
            return None;
        }
        // A time stamp may follow.
        finite(rest.split_whitespace().next()?)
    }

    fn text(&self, text: &str) -> Option<Picked> {
        let (mut sum, mut found, mut kind) = (0.0, false, None);
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("# TYPE ") {
                let mut words = comment.split_whitespace();
                // OpenMetrics names the family, without the suffix of its samples.
                let family = words.next().unwrap_or_default();
                if family == self.name || self.name.strip_suffix("_total") == Some(family) {
                    kind = words.next();
                }
            } else if let Some(value) = self.sample(line) {
                (sum, found) = (sum + value, true);
            }
        }
        let counter = kind.map_or_else(|| self.name.ends_with("_total"), |kind| kind == "counter");
        (found && sum.is_finite()).then_some(Picked { value: sum, counter })
    }
}

/// A metric's name at the start of a text, and what follows it.
fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.')));
    text.split_at_checked(end.unwrap_or(text.len())).unwrap_or_default()
}

/// `{a="b",c="d"}` and what follows it.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut rest = text.strip_prefix('{')?;
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start().trim_start_matches(',').trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            return Some((found, after));
        }
        let (name, after) = rest.split_once('=')?;
        let mut chars = after.trim_start().strip_prefix('"')?.chars();
        let mut value = String::new();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => match chars.next()? {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                other => value.push(other),
            }
        }
        found.push((name.trim().to_owned(), value));
        rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::{Pick, Picked, Selector, Work};
    use proptest::prelude::*;
    use regex_lite::Regex;

    fn by(pattern: &str) -> Pick {
        Pick::Line(Regex::new(pattern).expect("a pattern"))
    }

    #[test]
    fn numbers_are_found_in_lines() {
        let pick = by("tps = ([0-9.]+)");
        assert_eq!(
            pick.line("tps = 287513.5 (without initial connection time)", &mut Work::default()),
            Some(287_513.5)
        );
        assert_eq!(pick.line("tps = 1 tps = 2", &mut Work::default()), Some(2.0));
        assert_eq!(pick.line("tps = ...", &mut Work::default()), None);
        assert_eq!(by("[0-9]+ms").line("12ms", &mut Work::default()), None, "what is matched must be a number");
        assert_eq!(by("[0-9]+").line("took 12 ms", &mut Work::default()), Some(12.0));
        assert_eq!(Pick::Last.line("progress: 5.0 s, 1234.5 tps, lat -0.4e1", &mut Work::default()), Some(-4.0));
        assert_eq!(Pick::Last.line("nothing", &mut Work::default()), None);
        let picked = Pick::Last.text("a 1\nb 2\nno number\n", &mut Work::default());
        assert_eq!(picked, Some(Picked { value: 2.0, counter: false }));
    }

    #[test]
    fn hostile_lines_take_no_longer_than_others() {
        // Each match is short, and each looks at all that follows it.
        let pick = by("([0-9])(.*x)?");
        let line = "1 ".repeat(32 << 10);
        let mut work = Work::default();
        assert_eq!(pick.line(&line, &mut work), None);
        assert!(work.is_exhausted());
        assert_eq!(pick.text(&line.repeat(4), &mut Work::default()), None);
        assert_eq!(pick.text(&(line + "\n7\n"), &mut Work::default()).map(|picked| picked.value), Some(7.0));
    }

    const PAGE: &str = "# HELP x_total Things.\n# TYPE x_total counter\nx_total{code=\"200\",m=\"a\"} 10\n\
        x_total{code=\"500\",m=\"a \\\"q\\\" }\"} 1 1700000000\nx 7\nlag_seconds{q=\"1\"} NaN\nlag_seconds{q=\"2\"} 0.5\n# EOF\n";

    fn sample(selector: &str) -> Option<Picked> {
        Pick::Sample(Selector::parse(selector).expect("a selector")).text(PAGE, &mut Work::default())
    }

    #[test]
    fn samples_are_selected_and_summed() {
        assert_eq!(sample("x_total"), Some(Picked { value: 11.0, counter: true }));
        assert_eq!(sample("x_total{code=\"500\"}").map(|picked| picked.value), Some(1.0));
        assert_eq!(sample("x_total{m=\"a \\\"q\\\" }\"}").map(|picked| picked.value), Some(1.0));
        assert_eq!(sample("x"), Some(Picked { value: 7.0, counter: false }));
        assert_eq!(sample("lag_seconds").map(|picked| picked.value), Some(0.5), "what is no number is left out");
        assert_eq!(sample("y"), None);
        for wrong in ["", "{a=\"b\"}", "x{", "x{a=b}", "x{a=\"b\"", "x{a=\"b\"} 1"] {
            assert!(Selector::parse(wrong).is_err(), "{wrong}");
        }
        let family = Pick::Sample(Selector::parse("y_total").expect("a selector"));
        let picked = family.text("# TYPE y counter\ny_total 3\n", &mut Work::default());
        assert_eq!(picked, Some(Picked { value: 3.0, counter: true }), "OpenMetrics names the family");
    }

    proptest! {
        #[test]
        fn no_text_panics(line in ".{0,80}", selector in "[a-z_]{1,3}(\\{[a-z]=\"[^\"\\\\]{0,3}\"\\})?") {
            let line_of = |pick: &Pick| (pick.line(&line, &mut Work::default()), pick.text(&line, &mut Work::default()));
            let _ = line_of(&Pick::Last);
            let _ = line_of(&by("([0-9.]+)"));
            let _ = line_of(&Pick::Sample(Selector::parse(&selector).expect("a selector")));
            let _ = Selector::parse(&line);
        }

        #[test]
        fn any_label_is_found_again(value in ".{0,20}") {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let text = format!("m{{a=\"{escaped}\"}} 5");
            if !value.contains(['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']) {
                let pick = Pick::Sample(Selector { name: "m".to_owned(), labels: vec![("a".to_owned(), value)] });
                prop_assert_eq!(pick.text(&text, &mut Work::default()).map(|picked| picked.value), Some(5.0));
            }
        }
    }
}
