//! `--metric NAME=SOURCE`: where a number comes from and how it is selected.

use super::http::Url;
use super::pick::{Pick, Selector};
use super::tap::Tap;
use regex_lite::Regex;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use topotop_model::locale::metric::source as texts;
use topotop_model::locale::{Text, pair};

/// The forms of a source, for help and errors.
pub const FORMS: Text = texts::FORMS;

/// A number that does not come again is dropped after this time.
pub const STALE: Duration = Duration::from_secs(30);
/// The longest name.
const MOST_NAME: usize = 64;

/// One of the two streams of a command that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Where a number comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Lines that a command prints while it is recorded.
    Stream(Stream, Arc<Tap>),
    /// A file that grows or is written again.
    File(PathBuf, Pick),
    /// What a program prints, run once for each sample.
    Command(Vec<String>, Pick),
    /// A page on this machine.
    Url(Url, Pick),
}

/// A number of the application's own.
#[derive(Clone, Debug)]
pub struct Metric {
    /// What the user calls it.
    pub name: String,
    /// Where it comes from, as the user wrote it.
    pub text: String,
    /// Where it comes from.
    pub source: Source,
    /// Its unit; empty when not given.
    pub unit: String,
    /// The least that is load; a tenth of the largest that was seen otherwise.
    pub least: Option<f64>,
    /// Whether it shows if the machine is under load.
    pub gates: bool,
    /// A number that does not come again is dropped after this time.
    pub stale: Duration,
}

impl Metric {
    /// A metric of a name and a source as the user wrote them.
    pub fn new(name: &str, source: &str) -> Result<Self, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | ':');
        if name.is_empty() || name.len() > MOST_NAME || !name.chars().all(plain) {
            return Err(texts::InvalidName { name: &format!("{name:?}"), most: &MOST_NAME }.to_string());
        }
        let parsed = parse(source).map_err(|error| pair(name, error))?;
        Ok(Self {
            name: name.to_owned(),
            text: source.to_owned(),
            source: parsed,
            unit: String::new(),
            least: None,
            gates: true,
            stale: STALE,
        })
    }

    /// The same as one argument: `NAME=SOURCE`.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::split(text).map_err(|error| error.replace(['\n', '\r'], " "))
    }

    fn split(text: &str) -> Result<Self, String> {
        let (name, source) = text
            .split_once('=')
            .ok_or_else(|| texts::InvalidMetric { text: &format!("{text:?}"), forms: &FORMS }.to_string())?;
        Self::new(name, source)
    }

    /// What is fed with the lines of one of a command's streams, if it comes from there.
    pub fn tap(&self, stream: Stream) -> Option<&Arc<Tap>> {
        match &self.source {
            Source::Stream(from, tap) if *from == stream => Some(tap),
            _ => None,
        }
    }
}

fn parse(text: &str) -> Result<Source, String> {
    if let Some(pattern) = enclosed(text.strip_prefix("stdout:").unwrap_or(text)) {
        return Ok(Source::Stream(Stream::Output, Arc::new(Tap::new(Pick::Line(regex(pattern)?)))));
    }
    if let Some(pattern) = text.strip_prefix("stderr:").and_then(enclosed) {
        return Ok(Source::Stream(Stream::Error, Arc::new(Tap::new(Pick::Line(regex(pattern)?)))));
    }
    if let Some(rest) = text.strip_prefix("file:") {
        let (path, pick) = picked(rest)?;
        return if path.is_empty() { Err(texts::NO_PATH.into()) } else { Ok(Source::File(path.into(), pick)) };
    }
    if let Some(rest) = text.strip_prefix("command:") {
        let (line, pick) = picked(rest)?;
        return Ok(Source::Command(words(line)?, pick));
    }
    if text.starts_with("http://") || text.starts_with("https://") {
        let (url, pick) = picked(text)?;
        return Ok(Source::Url(Url::parse(url)?, pick));
    }
    Err(texts::InvalidSource { text: &format!("{text:?}"), forms: &FORMS }.to_string())
}

/// The text between slashes.
fn enclosed(text: &str) -> Option<&str> {
    text.strip_prefix('/')?.strip_suffix('/').filter(|pattern| !pattern.is_empty())
}

fn regex(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| format!("/{pattern}/: {}", error.to_string().replace('\n', " ")))
}

/// Splits `#/REGEX/` or `#name{label="x"}` off.
fn picked(text: &str) -> Result<(&str, Pick), String> {
    // A pattern may have a # in it, so the first one that begins a pattern or a name counts.
    let Some((rest, pick)) = text.split_once('#') else { return Ok((text, Pick::Last)) };
    match enclosed(pick) {
        Some(pattern) => Ok((rest, Pick::Line(regex(pattern)?))),
        None => Ok((rest, Pick::Sample(Selector::parse(pick)?))),
    }
}

/// The words of a command: blanks separate, quotes hold together, a backslash takes what follows as it is. Nothing else
/// means anything: there is no shell.
fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                word.get_or_insert_default().push(chars.next().ok_or(texts::BACKSLASH)?);
            }
            ('\'' | '"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (quote, words.first()) {
        (Some(quote), _) => Err(texts::Unclosed { quote: &quote }.to_string()),
        (None, None) => Err(texts::NO_PROGRAM.into()),
        (None, Some(_)) => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::{Metric, Source, Stream, words};
    use proptest::prelude::*;

    fn source(text: &str) -> Source {
        Metric::parse(text).expect(text).source
    }

    fn error(text: &str) -> String {
        Metric::parse(text).expect_err(text)
    }

    #[test]
    fn every_form_is_understood() {
        assert!(matches!(source("tps=/tps = ([0-9.]+)/"), Source::Stream(Stream::Output, _)));
        assert!(matches!(source("tps=stdout:/tps = ([0-9.]+)/"), Source::Stream(Stream::Output, _)));
        assert!(matches!(source("tps=stderr:/, ([0-9.]+) tps/"), Source::Stream(Stream::Error, _)));
        assert!(matches!(source("q=file:/var/log/app.log"), Source::File(path, _) if path.ends_with("app.log")));
        assert!(matches!(source("q=file:/a b#/n=(\\d+)#/"), Source::File(path, _) if path.ends_with("a b")));
        let Source::Command(words, _) = source("q=command:redis-cli info 'a b'#/ops:(\\d+)/") else {
            panic!("a command")
        };
        assert_eq!(words, ["redis-cli", "info", "a b"]);
        assert!(matches!(source("q=http://127.0.0.1:9090/metrics#x_total{a=\"b\"}"), Source::Url(..)));
        assert!(matches!(source("q=http://[::1]:1/"), Source::Url(..)));
        assert!(matches!(source("q=http://localhost/x"), Source::Url(..)));
    }

    #[test]
    fn errors_say_what_to_write() {
        assert!(error("tps").contains("NAME=SOURCE"));
        assert!(error("=file:/x").contains("use at most"));
        assert!(error("a b=file:/x").contains("use at most"));
        assert!(error("tps=").contains("use /REGEX/"));
        assert!(error("tps=/(/").starts_with("tps: /(/: "));
        assert!(error("tps=https://127.0.0.1/").contains("http://"));
        assert!(error("tps=http://192.0.2.1/").contains("loopback"));
        assert!(error("tps=http://127.0.0.1.example.com/").contains("loopback"));
        assert!(error("tps=http://127.0.0.1:99999/").contains("port"));
        assert!(error("tps=command:").contains("has no program"));
        assert!(error("tps=command:a 'b").contains("unclosed"));
        assert!(error("tps=file:").contains("has no path"));
        assert!(!error("tps=/a(\n/").contains('\n'));
    }

    #[test]
    fn words_are_no_shell() {
        assert_eq!(words("a  $HOME \"b c\" d\\ e ''").expect("words"), ["a", "$HOME", "b c", "d e", ""]);
        assert_eq!(words("sh -c 'echo 1 | wc -l'").expect("words"), ["sh", "-c", "echo 1 | wc -l"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(name in "[a-z=/:#]{0,4}", text in ".{0,60}", form in 0usize..6) {
            let form = ["", "stderr:/", "file:", "command:", "http://127.0.0.1", "http://"][form];
            let _ = Metric::parse(&format!("{name}={form}{text}"));
            let _ = Metric::parse(&text);
        }
    }
}
