//! What is in a recording.

use super::shown;
use crate::output::print;
use crate::recording::{self, Reader};
use crate::units;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use topotop_model::locale::{in_english, join, recording as text};
use topotop_model::recording::{Event, What};
use topotop_model::text::{padded, printable};

/// Events that are listed as text.
const LISTED: usize = 40;

/// Says it.
pub(super) fn run(path: &Path, as_json: bool) -> Result<(), String> {
    let mut reader = recording::open(path)?;
    let events = reader.events();
    // Looking through the whole file is what finds damage.
    let minutes = reader.minutes().len();
    let cut = reader.cut_short();
    let facts = Facts {
        file: shown(path),
        closed: reader.is_closed(),
        damage: reader.damage().iter().chain(&cut).map(ToString::to_string).collect(),
        key_frames: minutes,
        events,
    };
    if as_json {
        return print(format!("{}\n", facts.json(&reader)).as_bytes());
    }
    print(facts.text(&reader).as_bytes())
}

struct Facts {
    file: String,
    closed: bool,
    damage: Vec<String>,
    key_frames: usize,
    events: Vec<(u64, Event)>,
}

impl Facts {
    fn text(&self, reader: &Reader) -> String {
        let about = reader.about();
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}{}", padded(name, 10), printable(value));
        };
        line(&text::FILE_LABEL, &format!("{}, {:.1} MiB", self.file, reader.bytes() as f64 / f64::from(1 << 20)));
        let anonymised = if about.anonymised { text::ANONYMISED.as_str() } else { "" };
        let mut machine = vec![&*about.host, &*about.kernel, &*about.arch, anonymised];
        machine.retain(|part| !part.is_empty());
        line(&text::MACHINE_LABEL, &machine.join(&join::ITEMS));
        line(&text::BOOT, &about.boot_id);
        line(&text::WRITTEN_BY, &about.program);
        if let Some((first, last)) = reader.span() {
            let seconds = last.mono_ns.saturating_sub(first.mono_ns) / 1_000_000_000;
            let (from, to) = (units::date_time(first.wall_ns), units::date_time(last.wall_ns));
            let (zone, length) = (units::zone_name(last.wall_ns), units::span(seconds));
            line(&text::SPAN_LABEL, &text::Span { from: &from, to: &to, zone: &zone, length: &length }.to_string());
        }
        let per_sample = reader.bytes().checked_div(reader.len()).unwrap_or_default();
        let interval = units::short(Duration::from_nanos(about.interval_ns));
        let samples = text::Samples { count: &reader.len(), interval: &interval, bytes: &per_sample };
        line(&text::SAMPLES_LABEL, &samples.to_string());
        line(&text::END_LABEL, if self.closed { &text::COMPLETE } else { &text::TRUNCATED });
        for (at, (_, event)) in self.events.iter().enumerate() {
            if at == LISTED {
                line("", &text::MoreEvents { count: &(self.events.len() - LISTED) }.to_string());
                break;
            }
            let name: &str = if at == 0 { &text::EVENTS_LABEL } else { "" };
            line(name, &format!("{}  {}", units::time_of_day(event.wall_ns), event.what.text()));
        }
        match self.damage.as_slice() {
            [] => line(&text::DAMAGE_LABEL, &text::NO_DAMAGE),
            damage => damage.iter().for_each(|damage| line(&text::DAMAGE_LABEL, damage)),
        }
        text
    }

    fn json(&self, reader: &Reader) -> Value {
        let about = reader.about();
        let span = reader.span();
        let event = |(number, event): &(u64, Event)| {
            let kind = match &event.what {
                What::Mark { .. } => "mark",
                What::Fix(_) => "fix",
                What::Start { .. } => "start",
                What::Exit { .. } => "exit",
                What::Skipped { .. } => "skipped",
                What::Note { .. } => "note",
                What::FindingOpened(_) => "finding_opened",
                What::FindingCleared(_) => "finding_cleared",
                What::Other => "other",
            };
            json!({
                "at": units::rfc3339(event.wall_ns),
                "before_sample": number,
                "kind": kind,
                "text": printable(&in_english(|| event.what.text())),
            })
        };
        json!({
            "file": self.file,
            "bytes": reader.bytes(),
            "host": printable(&about.host),
            "kernel": printable(&about.kernel),
            "arch": printable(&about.arch),
            "boot_id": printable(&about.boot_id),
            "program": printable(&about.program),
            "anonymised": about.anonymised,
            "interval_seconds": about.interval_ns as f64 / 1e9,
            "from": span.map(|span| units::rfc3339(span.0.wall_ns)),
            "to": span.map(|span| units::rfc3339(span.1.wall_ns)),
            "seconds": span.map(|span| span.1.mono_ns.saturating_sub(span.0.mono_ns) as f64 / 1e9),
            "samples": reader.len(),
            "key_frames": self.key_frames,
            "closed": self.closed,
            "events": self.events.iter().map(event).collect::<Vec<Value>>(),
            "damage": self.damage.iter().map(|damage| printable(damage).into_owned()).collect::<Vec<String>>(),
        })
    }
}
