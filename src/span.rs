//! Parts of recordings as people name them: `a.rec@10:00-10:05`, `@30s-90s`, `@mark:before-mark:after`, `@command`.

use crate::moment::{FORMS, Moment};
use crate::units;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use topotop_model::locale::{diff, error as errors};
use topotop_model::recording::{Event, ReadAt, Reader, What};
use topotop_model::text::printable;
use topotop_model::{Snapshot, Window};

/// A recording and the part of it that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The file; empty where only a part is named: the file is the one named before.
    pub path: PathBuf,
    /// The part as it was written; none for what suits the recording.
    pub part: Option<String>,
}

impl Given {
    /// Splits at the last `@`, unless there is a file of the whole name.
    pub fn parse(text: &OsStr, is_file: impl Fn(&Path) -> bool) -> Self {
        let bytes = text.as_bytes();
        let at = bytes.iter().rposition(|&byte| byte == b'@').filter(|_| !is_file(Path::new(text)));
        let Some(at) = at else { return Self { path: text.into(), part: None } };
        let (path, part) = bytes.split_at(at);
        let part = String::from_utf8_lossy(part.get(1..).unwrap_or_default()).into_owned();
        Self { path: OsStr::from_bytes(path).into(), part: Some(part) }
    }
}

/// Samples of a recording from one to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The number of the first.
    pub first: u64,
    /// The number of the last.
    pub last: u64,
    /// What it is, in words.
    pub what: String,
}

/// Shows the windows of all samples of a span that can be read, and returns how often something could not.
pub fn windows<S: ReadAt>(reader: &mut Reader<S>, (first, last): (u64, u64), mut show: impl FnMut(&Window)) -> u64 {
    let mut damaged = 0;
    let mut window = Window::default();
    if let Ok(start) = reader.window_at(first) {
        show(&start);
        window = start;
    } else {
        damaged += 1;
    }
    while let Some(next) = reader.next_sample() {
        match next {
            Ok((number, _)) if number > last => break,
            Ok((_, snapshot)) => {
                window.push(snapshot);
                show(&window);
            }
            Err(_) => damaged += 1,
        }
    }
    damaged
}

/// Shows all samples of a span that can be read, with their numbers, until that is enough; returns how often
/// something could not be read.
pub fn samples<S: ReadAt>(
    reader: &mut Reader<S>,
    (first, last): (u64, u64),
    mut show: impl FnMut(u64, Snapshot) -> bool,
) -> u64 {
    let mut damaged = 0;
    match reader.window_at(first) {
        Ok(window) if !show(first, window.now.clone()) => return 0,
        Ok(_) => {}
        Err(_) => damaged += 1,
    }
    while let Some(next) = reader.next_sample() {
        match next {
            Ok((number, snapshot)) if number > last || !show(number, snapshot.clone()) => break,
            Ok(_) => {}
            Err(_) => damaged += 1,
        }
    }
    damaged
}

/// An end of a span: its wall time, if it is no end of the recording.
type End = Option<i64>;

/// The part of a recording that is meant; where none is named, the bracketed command if there is one, else all of it.
pub fn resolve<S: ReadAt>(reader: &mut Reader<S>, part: Option<&str>) -> Result<Span, String> {
    let events = reader.events();
    let numbers = reader.numbers().ok_or_else(|| errors::NO_SAMPLES.to_string())?;
    let whole = |what: &str| Span { first: *numbers.start(), last: *numbers.end(), what: what.to_owned() };
    let (ends, what) = match part.map(str::trim) {
        Some("" | "all") => return Ok(whole(&diff::WHOLE_RECORDING)),
        None => match command(&events) {
            Some((ends, what)) => return bracketed(reader, ends, what),
            None => return Ok(whole(&diff::WHOLE_RECORDING)),
        },
        Some("command") => {
            let (ends, what) = command(&events).ok_or_else(|| errors::NO_COMMAND_RECORDED.to_string())?;
            return bracketed(reader, ends, what);
        }
        Some(text) => (ends(reader, &events, text)?, printable(text).into_owned()),
    };
    within(reader, ends).map(|(first, last)| Span { first, last, what })
}

/// The names of all phases: a mark begins one, which lasts until the next mark, the end of the command or of the recording.
pub fn phases<S: ReadAt>(reader: &mut Reader<S>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, event) in reader.events() {
        if let What::Mark { text } = event.what
            && !names.contains(&text)
        {
            names.push(text);
        }
    }
    names
}

/// A phase; of several of one name the first.
pub fn phase<S: ReadAt>(reader: &mut Reader<S>, name: &str) -> Result<Span, String> {
    let events = reader.events();
    let from = mark(&events, name)?;
    let ends = |event: &&(u64, Event)| matches!(event.1.what, What::Mark { .. } | What::Exit { .. });
    let to = events.iter().filter(ends).map(|(_, event)| event.wall_ns).find(|wall_ns| *wall_ns > from);
    let what = diff::SpanPhase { name: &printable(name) }.to_string();
    within(reader, (Some(from), to)).map(|(first, last)| Span { first, last, what })
}

/// The number of the sample nearest to a place: `end`, `mark:NAME`, a time.
pub fn sample<S: ReadAt>(reader: &mut Reader<S>, text: &str) -> Result<u64, String> {
    let events = reader.events();
    let numbers = reader.numbers().ok_or_else(|| errors::NO_SAMPLES.to_string())?;
    match end(reader, &events, text)? {
        None if text.trim() == "end" => Ok(*numbers.end()),
        None => Ok(*numbers.start()),
        Some(wall_ns) => {
            outside(reader, wall_ns, wall_ns)?;
            reader.locate(wall_ns).ok_or_else(|| errors::NO_SAMPLES.to_string())
        }
    }
}

/// From the start of the recorded command to its end, or to the end of the recording where it did not end in it.
fn command(events: &[(u64, Event)]) -> Option<((End, End), String)> {
    let start = events.iter().position(|event| matches!(event.1.what, What::Start { .. }))?;
    let (_, event) = events.get(start)?;
    let What::Start { command } = &event.what else { return None };
    let mut later = events.iter().skip(start);
    let exit = later.find(|event| matches!(event.1.what, What::Exit { .. }));
    let shown: String = printable(&command.join(" ")).chars().take(60).collect();
    Some(((Some(event.wall_ns), exit.map(|exit| exit.1.wall_ns)), diff::SpanCommand { command: &shown }.to_string()))
}

/// The samples of a command with the one that was taken right after its end: what it printed last is in that.
fn bracketed<S: ReadAt>(reader: &mut Reader<S>, ends: (End, End), what: String) -> Result<Span, String> {
    let (first, mut last) = within(reader, ends)?;
    if let (Some(end), Some(next)) = (ends.1, reader.when(last + 1)) {
        let soon = end.saturating_add(i64::try_from(reader.about().interval_ns / 2).unwrap_or(0));
        last += u64::from(next.wall_ns <= soon);
    }
    Ok(Span { first, last, what })
}

/// Two ends with `-` or `..` between them; dates and marks may hold a `-` themselves.
fn ends<S: ReadAt>(reader: &Reader<S>, events: &[(u64, Event)], text: &str) -> Result<(End, End), String> {
    let splits = text.match_indices("..").chain(text.match_indices('-')).chain(text.match_indices('\u{2013}'));
    for (at, sign) in splits {
        let (from, to) = (text.get(..at).unwrap_or_default(), text.get(at + sign.len()..).unwrap_or_default());
        if let (Ok(from), Ok(to)) = (end(reader, events, from), end(reader, events, to)) {
            return Ok((from, to));
        }
    }
    // What is wrong with the likeliest of its ends says more than that it is wrong.
    let (from, to) = text.split_once("..").or_else(|| text.split_once('-')).unwrap_or((text, ""));
    let reason = [from, to].into_iter().find_map(|part| end(reader, events, part).err());
    Err(reason.unwrap_or_else(|| errors::InvalidSpan { text: &printable(text) }.to_string()))
}

/// One end: nothing, `start`, `end`, `mark:NAME` or a [`Moment`]; `-30s` is before the end.
fn end<S: ReadAt>(reader: &Reader<S>, events: &[(u64, Event)], text: &str) -> Result<End, String> {
    let text = text.trim();
    if matches!(text, "" | "start" | "end") {
        return Ok(None);
    }
    if let Some(name) = text.strip_prefix("mark:") {
        return mark(events, name).map(Some);
    }
    let (first, last) = reader.span().ok_or_else(|| errors::NO_SAMPLES.to_string())?;
    let moment =
        Moment::parse(text).map_err(|_| errors::InvalidPlace { place: &printable(text), forms: &FORMS }.to_string())?;
    let wall = moment.wall(first.wall_ns, last.wall_ns, last.wall_ns);
    Ok(wall.or(match moment {
        Moment::Share(share) => Some(first.wall_ns + ((last.wall_ns - first.wall_ns) as f64 * share) as i64),
        _ => None,
    }))
}

fn mark(events: &[(u64, Event)], name: &str) -> Result<i64, String> {
    let marks = || {
        events.iter().filter_map(|(_, event)| match &event.what {
            What::Mark { text } => Some((text.as_str(), event.wall_ns)),
            _ => None,
        })
    };
    marks().find(|mark| mark.0 == name).map(|mark| mark.1).ok_or_else(|| {
        let names: Vec<String> = marks().take(8).map(|mark| printable(mark.0).into_owned()).collect();
        let name = printable(name);
        if names.is_empty() {
            errors::NoMarks { name: &name }.to_string()
        } else {
            errors::UnknownMark { name: &name, known: &names.join(", ") }.to_string()
        }
    })
}

/// The samples from one wall time to another, both included.
fn within<S: ReadAt>(reader: &mut Reader<S>, ends: (End, End)) -> Result<(u64, u64), String> {
    let numbers = reader.numbers().ok_or_else(|| errors::NO_SAMPLES.to_string())?;
    if let (Some(from), Some(to)) = ends
        && from > to
    {
        return Err(errors::SpanReversed { from: &units::date_time(from), to: &units::date_time(to) }.to_string());
    }
    outside(reader, ends.0.unwrap_or(i64::MIN), ends.1.unwrap_or(i64::MAX))?;
    let mut edge = |wall_ns: End, otherwise: u64, step: i64| {
        let Some(wall_ns) = wall_ns else { return otherwise };
        let near = reader.locate(wall_ns).unwrap_or(otherwise);
        // The nearest sample may lie on the other side of the edge.
        let beyond = reader
            .when(near)
            .is_some_and(|when| if step > 0 { when.wall_ns < wall_ns } else { when.wall_ns > wall_ns });
        if beyond { near.saturating_add_signed(step).clamp(*numbers.start(), *numbers.end()) } else { near }
    };
    let (first, last) = (edge(ends.0, *numbers.start(), 1), edge(ends.1, *numbers.end(), -1));
    if first > last { Err(errors::SPAN_WITHOUT_SAMPLES.to_string()) } else { Ok((first, last)) }
}

/// An error where a span does not meet the recording at all: the nearest sample is not what was asked for.
fn outside<S: ReadAt>(reader: &Reader<S>, from: i64, to: i64) -> Result<(), String> {
    let (first, last) = reader.span().ok_or_else(|| errors::NO_SAMPLES.to_string())?;
    // Half a sample more on either side, for times that were rounded.
    let slack = i64::try_from(reader.about().interval_ns).unwrap_or(0).max(1_000_000_000);
    if from > last.wall_ns.saturating_add(slack) || to < first.wall_ns.saturating_sub(slack) {
        let (from, to) = (units::date_time(first.wall_ns), units::date_time(last.wall_ns));
        let zone = units::zone_name(last.wall_ns);
        return Err(errors::OutsideRecording { from: &from, to: &to, zone: &zone }.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Given, phase, phases, resolve, sample};
    use std::ffi::OsStr;
    use std::path::Path;
    use topotop_model::recording::{About, Composer, Event, Limits, Reader, What};
    use topotop_model::{Snapshot, Stamp};

    const START: i64 = 20_000 * 86_400_000_000_000 + 36_000 * 1_000_000_000;

    /// Ten minutes from 10:00, a sample a second.
    fn recording(events: &[(i64, What)]) -> Reader<Vec<u8>> {
        let about = About { interval_ns: 1_000_000_000, ..About::default() };
        let mut composer = Composer::new(about, Some(Limits::default()));
        let mut file = Vec::new();
        let mut put = |chunk: topotop_model::recording::Chunk| {
            for (offset, bytes) in chunk.writes {
                let end = offset as usize + bytes.len();
                file.resize(end.max(file.len()), 0);
                file[offset as usize..end].copy_from_slice(&bytes);
            }
        };
        for second in 0..600i64 {
            for (_, what) in events.iter().filter(|event| event.0 == second) {
                let event = Event { wall_ns: START + second * 1_000_000_000 - 1, mono_ns: 0, what: what.clone() };
                composer.event(event).into_iter().for_each(&mut put);
            }
            let mono_ns = 1_000_000_000 * (second as u64 + 1);
            let stamp = Stamp { wall_ns: START + second * 1_000_000_000, mono_ns, ..Stamp::default() };
            put(composer.sample(&Snapshot { stamp, ..Snapshot::default() }).unwrap());
        }
        composer.finish().into_iter().for_each(&mut put);
        Reader::open(file).unwrap()
    }

    #[test]
    fn a_name_and_its_part() {
        let parse = |text: &str| Given::parse(OsStr::new(text), |path| path == Path::new("a@b.rec"));
        assert_eq!(parse("a.rec").part, None);
        assert_eq!(
            (parse("a.rec@1m-2m").path.as_path(), parse("a.rec@1m-2m").part.as_deref()),
            (Path::new("a.rec"), Some("1m-2m"))
        );
        assert_eq!(parse("a@b.rec"), Given { path: "a@b.rec".into(), part: None });
        assert_eq!(parse("a@b.rec@all").path, Path::new("a@b.rec"));
        assert_eq!((parse("@60s-").path.as_path(), parse("@60s-").part.as_deref()), (Path::new(""), Some("60s-")));
    }

    #[test]
    fn spans_by_time_offset_mark_and_command() {
        let mark = |text: &str| What::Mark { text: text.into() };
        let start = What::Start { command: vec!["pgbench".into(), "-c".into()] };
        let exit = What::Exit { status: Some(0), signal: None };
        let events = [(60, mark("before-fix")), (120, mark("after")), (200, start), (300, exit)];
        let mut reader = recording(&events);
        let mut of = |part: Option<&str>| resolve(&mut reader, part).map(|span| (span.first, span.last, span.what));
        assert_eq!(of(Some("all")), Ok((0, 599, "whole recording".to_owned())));
        assert_eq!(of(None).unwrap(), (200, 300, "command `pgbench -c`".to_owned()));
        assert_eq!(of(Some("command")).unwrap().0, 200);
        for part in
            ["10:01-10:02", "1m-2m", "60s..120s", "10:01:00\u{2013}10:02", "2024-10-04T10:01:00-2024-10-04T10:02:00"]
        {
            assert_eq!(of(Some(part)).map(|span| (span.0, span.1)), Ok((60, 120)), "{part}");
        }
        assert_eq!(of(Some("mark:before-fix-mark:after")).map(|span| (span.0, span.1)), Ok((60, 119)));
        assert_eq!(of(Some("mark:after-")).map(|span| (span.0, span.1)), Ok((120, 599)));
        assert_eq!(of(Some("-30s-")).map(|span| (span.0, span.1)), Ok((569, 599)));
        assert_eq!(of(Some("-1m")).map(|span| (span.0, span.1)), Ok((0, 60)));
        assert_eq!(of(Some("50%-100%")).map(|span| span.1), Ok(599));
    }

    #[test]
    fn marks_begin_phases() {
        let mark = |text: &str| What::Mark { text: text.into() };
        let exit = What::Exit { status: Some(0), signal: None };
        let mut reader = recording(&[(60, mark("warm")), (120, mark("1 - 2")), (200, exit), (300, mark("warm"))]);
        assert_eq!(phases(&mut reader), ["warm", "1 - 2"]);
        let mut of = |name: &str| phase(&mut reader, name).map(|span| (span.first, span.last));
        assert_eq!((of("warm"), of("1 - 2")), (Ok((60, 119)), Ok((120, 199))));
        assert!(of("cold").is_err_and(|error| error.contains("no mark `cold`")));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let mut reader = recording(&[(60, What::Mark { text: "warm".into() })]);
        let mut error = |part: &str| resolve(&mut reader, Some(part)).unwrap_err();
        assert!(error("11:30-11:40").contains("which spans 2024-10-04 10:00:00"), "{}", error("11:30-11:40"));
        assert!(error("2m-1m").contains("starts after its end"));
        assert!(error("mark:cold-").contains("no mark `cold`: the recording has warm"));
        assert!(error("command").contains("no command"));
        assert!(error("soon-later").contains("invalid time `soon`"));
    }

    #[test]
    fn one_sample() {
        let mut reader = recording(&[]);
        let mut at = |text: &str| sample(&mut reader, text);
        assert_eq!((at("end"), at("start"), at("10:05"), at("90s")), (Ok(599), Ok(0), Ok(300), Ok(90)));
        assert!(at("12:00").is_err() && at("mark:x").is_err());
    }
}
