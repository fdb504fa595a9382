//! The application's number, once a second.

use crate::scenario::Number;
use crate::shell::Shell;
use regex_lite::Regex;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A second's number and its time.
pub(crate) type Sample = (Instant, f64);

/// Where a number is read.
enum Source {
    Log(Regex),
    Total(Regex),
    Count(Regex),
    Counter(String),
}

/// Reads a number once a second.
pub(crate) struct Meter<'a> {
    shell: &'a Shell,
    source: Source,
    of: Option<Regex>,
    files: BTreeMap<PathBuf, Tail>,
    last: Option<(Instant, f64)>,
    samples: Vec<Sample>,
}

#[derive(Default)]
struct Tail {
    offset: u64,
    rest: String,
    total: Option<f64>,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(number: &Number, shell: &'a Shell) -> Result<Self, String> {
        let regex = |pattern: &str| Regex::new(pattern).map_err(|error| format!("{pattern}: {error}"));
        let source = match number {
            Number { log: Some(pattern), .. } => Source::Log(regex(pattern)?),
            Number { total: Some(pattern), .. } => Source::Total(regex(pattern)?),
            Number { count: Some(pattern), .. } => Source::Count(regex(pattern)?),
            Number { counter: Some(command), .. } => Source::Counter(command.clone()),
            _ => return Err("a number without a source".to_owned()),
        };
        let of = number.of.as_deref().map(|pattern| regex(&format!("^({pattern})$"))).transpose()?;
        Ok(Self { shell, source, of, files: BTreeMap::new(), last: None, samples: Vec::new() })
    }

    /// Reads on until then.
    pub(crate) fn until(&mut self, end: Instant) {
        loop {
            let now = Instant::now();
            if now >= end {
                return;
            }
            std::thread::sleep((end - now).min(Duration::from_secs(1)));
            self.sample();
        }
    }

    /// What was read between two times.
    pub(crate) fn between(&self, start: Instant, end: Instant) -> Vec<Sample> {
        self.samples.iter().copied().filter(|(time, _)| *time > start && *time <= end).collect()
    }

    fn sample(&mut self) {
        let now = Instant::now();
        let seconds = self.last.map(|(last, _)| (now - last).as_secs_f64());
        if seconds.is_some_and(|seconds| seconds < 0.3) {
            return;
        }
        let (value, is_total) = match &self.source {
            Source::Counter(command) => {
                let text = self.shell.run(command).unwrap_or_default();
                (text.trim().parse().ok(), true)
            }
            _ => (self.read_logs(), false),
        };
        let Some(value) = value else { return };
        let rate = match (&self.source, seconds, self.last) {
            (Source::Log(_), _, _) => Some(value),
            (_, Some(seconds), Some((_, last))) if is_total => Some((value - last) / seconds),
            (_, Some(seconds), _) if !is_total => Some(value / seconds),
            _ => None,
        };
        self.last = Some((now, value));
        self.samples.extend(rate.map(|rate| (now, rate)));
    }

    /// New lines of all programs: the sum of their mean numbers, of what their totals grew by, or of lines.
    fn read_logs(&mut self) -> Option<f64> {
        let entries = fs::read_dir(self.shell.logs()).ok()?.flatten();
        let mut sum = None;
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if self.of.as_ref().is_some_and(|of| !of.is_match(&name)) {
                continue;
            }
            let tail = self.files.entry(entry.path()).or_default();
            let text = tail.read(&entry.path());
            let found = |regex: &Regex| -> Vec<f64> {
                let numbers = text.lines().filter_map(|line| regex.captures(line)?.get(1)?.as_str().parse().ok());
                numbers.collect()
            };
            let value = match &self.source {
                Source::Log(regex) => {
                    let all = found(regex);
                    (!all.is_empty()).then(|| mean(&all))
                }
                Source::Total(regex) => found(regex).last().and_then(|now| {
                    let before = tail.total.replace(*now).filter(|before| before <= now);
                    before.map(|before| now - before)
                }),
                Source::Count(regex) => Some(number(text.lines().filter(|line| regex.is_match(line)).count())),
                Source::Counter(_) => None,
            };
            if let Some(value) = value {
                *sum.get_or_insert(0.0) += value;
            }
        }
        sum
    }
}

impl Tail {
    /// Whole lines that were written since.
    fn read(&mut self, path: &PathBuf) -> String {
        let mut bytes = Vec::new();
        if let Ok(mut file) = File::open(path) {
            // A program that was started again writes from the start.
            if file.metadata().is_ok_and(|data| data.len() < self.offset) {
                *self = Self::default();
            }
            let read = file.seek(SeekFrom::Start(self.offset)).and_then(|_| file.read_to_end(&mut bytes));
            self.offset += u64::try_from(read.unwrap_or(0)).unwrap_or(0);
        }
        self.rest.push_str(&String::from_utf8_lossy(&bytes).replace('\r', "\n"));
        let end = self.rest.rfind('\n').map_or(0, |at| at + 1);
        let rest = self.rest.split_off(end);
        std::mem::replace(&mut self.rest, rest)
    }
}

/// A count as a number.
pub(crate) fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / number(values.len().max(1))
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}
