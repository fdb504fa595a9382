//! The thread that indexes recordings: the history before a sample, the heat of the whole recording, marks, missing
//! samples, and the clock offset of two machines. The display never waits for it.

use super::PlayerMessage;
use super::assessor::SweepResult;
use super::headlines::Survey;
use super::sample_reader::SampleReader;
use crate::app::transport::pace;
use crate::units;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use topotop_model::Window;
use topotop_model::align::{self, Offset};
use topotop_model::derive::Deriver;
use topotop_model::history::Headline;
use topotop_model::judge::{Judge, Judgement};
use topotop_model::locale::{Text, replay as text};
use topotop_model::recording::{Event, RecordedFindings, Summary, What, When};

/// A request.
#[derive(Debug)]
pub(super) enum Job {
    /// Headlines of samples.
    Headlines(usize, RangeInclusive<u64>),
    /// What there is besides samples.
    Survey(usize),
    /// The clock offset.
    Clocks,
}

/// What it found.
#[derive(Debug)]
pub(super) enum Update {
    /// Headlines of a range, as far as its samples can be read.
    Headlines(usize, RangeInclusive<u64>, Vec<(u64, Arc<Headline>)>),
    /// Marks, holes and times; what minutes were like; what was judged then.
    Survey(usize, Survey, Minutes, Box<RecordedFindings>),
    /// What was judged of a sample, and the judge after it; none where that cannot be known.
    Judged(usize, u64, Option<Box<(Judge, Judgement)>>),
    /// Findings that appeared and cleared from the start on.
    Swept(usize, SweepResult),
    /// The clock of the second machine against that of the first, and what showed it.
    Clocks(Option<(Offset, Text)>),
}

/// Recordings with more samples are first searched for holes by minutes, not by samples.
const CLOSELY: u64 = 20_000;
/// Times on the axis.
const TIMES: u64 = 12;
/// Samples that clocks are compared over.
const COMPARED: u64 = 1800;
/// What the wall clock may run ahead of the machine's own before it was a suspend, or was set, in ns.
const STEP_NS: i64 = 3_000_000_000;

pub(super) struct Indexer {
    pub(super) readers: Vec<(Box<dyn SampleReader>, Deriver)>,
    pub(super) inbox: Receiver<Job>,
    pub(super) player: Sender<PlayerMessage>,
}

impl Indexer {
    /// Works until the player has gone.
    pub(super) fn run(mut self) {
        while let Ok(job) = self.inbox.recv() {
            // Whatever it trips over, the player must not wait for its answer for ever.
            let update = catch_unwind(AssertUnwindSafe(|| self.work(&job))).unwrap_or_else(|_| match job {
                Job::Headlines(machine, range) => Update::Headlines(machine, range, Vec::new()),
                Job::Survey(machine) => Update::Survey(machine, Survey::default(), Vec::new(), Box::default()),
                Job::Clocks => Update::Clocks(None),
            });
            if self.player.send(PlayerMessage::Update(update)).is_err() {
                return;
            }
        }
    }

    fn work(&mut self, job: &Job) -> Update {
        match job {
            Job::Headlines(machine, range) => {
                let headlines = self.headlines(*machine, range.clone());
                Update::Headlines(*machine, range.clone(), headlines)
            }
            Job::Survey(machine) => {
                let (found, minutes, recorded) = self.survey(*machine).unwrap_or_default();
                Update::Survey(*machine, found, minutes, Box::new(recorded))
            }
            Job::Clocks => Update::Clocks(self.clocks()),
        }
    }

    fn headlines(&mut self, machine: usize, range: RangeInclusive<u64>) -> Vec<(u64, Arc<Headline>)> {
        let Some((reader, deriver)) = self.readers.get_mut(machine) else { return Vec::new() };
        reader.refresh();
        let mut found = Vec::new();
        let mut window = Window::default();
        let mut take = |sample: u64, window: &Window| {
            found.push((sample, Arc::new(Headline::of(&deriver.frame(window)))));
        };
        // If the first one is lost, continue with the next one that is not.
        let start = range.clone().find(|&sample| reader.when(sample).is_some());
        let Some(start) = start else { return found };
        if let Ok(at_start) = reader.window_at(start) {
            window = at_start;
            take(start, &window);
        }
        while let Some(next) = reader.next() {
            let Ok((sample, snapshot)) = next else { continue };
            if sample > *range.end() {
                break;
            }
            window.push(snapshot);
            take(sample, &window);
            if sample == *range.end() {
                break;
            }
        }
        found
    }

    fn survey(&mut self, machine: usize) -> Option<(Survey, Minutes, RecordedFindings)> {
        let (reader, _) = self.readers.get_mut(machine)?;
        reader.refresh();
        let (first, last) = reader.range()?;
        let events = reader.events();
        let minutes = reader.minutes();
        let mut holes: Vec<u64> = events.iter().filter(|event| is_skip(event)).map(|event| event.0).collect();
        let usual = reader.about().interval_ns;
        if last - first <= CLOSELY {
            holes.extend(holes_in(reader.as_mut(), first..=last, usual));
        } else {
            for (from, to) in minutes.iter().zip(minutes.iter().skip(1)) {
                let expected = usual.saturating_mul(to.0.saturating_sub(from.0));
                if is_odd(from.1, to.1, expected) {
                    holes.extend(holes_in(reader.as_mut(), from.0..=to.0, usual));
                }
            }
        }
        holes.sort_unstable();
        holes.dedup();
        let recorded = RecordedFindings::of(&events);
        let marks = events.into_iter().filter(|event| !is_skip(event) && !event.1.what.is_finding());
        let marks = marks.map(|(at, event)| (at, event.what.text()));
        let marks = marks.collect();
        let times = times(reader.as_mut(), first, last);
        Some((Survey { marks, holes, times, ..Survey::default() }, minutes, recorded))
    }

    /// Compares the load of both machines over the time that, by their clocks, both recorded, and some minutes around.
    fn clocks(&mut self) -> Option<(Offset, Text)> {
        let mut spans = Vec::new();
        for (reader, _) in &mut self.readers {
            reader.refresh();
            let (first, last) = reader.range()?;
            spans.push((first, last, reader.when(first)?.wall_ns));
        }
        let both_from = spans.iter().map(|span| span.2).max()?.saturating_sub(align::FURTHEST_NS);
        let mut seen = Vec::new();
        for (machine, (first, last, _)) in spans.into_iter().enumerate().take(2) {
            let start = self.readers.get_mut(machine)?.0.nearest(both_from).unwrap_or(first);
            let end = last.min(start.saturating_add(COMPARED));
            seen.push(self.walls(machine, start..=end));
        }
        let compare = |of: fn(&Headline) -> Option<f64>| {
            let series = |seen: &Seen| -> Vec<(i64, f64)> {
                seen.iter().filter_map(|(wall, headline)| Some((*wall, of(headline)?))).collect()
            };
            align::offset(&series(seen.first()?), &series(seen.get(1)?))
        };
        let traffic = compare(|headline| headline.nic_bytes.map(|(rx, tx)| rx + tx));
        let traffic = traffic.map(|offset| (offset, text::BY_TRAFFIC));
        traffic.or_else(|| compare(|headline| headline.busy).map(|offset| (offset, text::BY_LOAD)))
    }

    /// Headlines with the wall time that they are of.
    fn walls(&mut self, machine: usize, range: RangeInclusive<u64>) -> Seen {
        let headlines = self.headlines(machine, range);
        let Some((reader, _)) = self.readers.get_mut(machine) else { return Vec::new() };
        let wall = |(sample, headline)| Some((reader.when(sample)?.wall_ns, headline));
        headlines.into_iter().filter_map(wall).collect()
    }
}

/// What minutes were like, by the sample at their end.
pub(super) type Minutes = Vec<(u64, When, Summary)>;
/// Wall times and headlines.
type Seen = Vec<(i64, Arc<Headline>)>;

fn is_skip(event: &(u64, Event)) -> bool {
    matches!(event.1.what, What::Skipped { .. })
}

/// True where time went otherwise than expected: samples are missing, or the clock jumped.
fn is_odd(from: When, to: When, expected_ns: u64) -> bool {
    let Some(own) = to.mono_ns.checked_sub(from.mono_ns) else { return true };
    let jump = to.wall_ns.saturating_sub(from.wall_ns).saturating_sub_unsigned(own);
    own > expected_ns.saturating_add(3_000_000_000) || jump.abs() > STEP_NS
}

/// The first samples after holes.
fn holes_in(reader: &mut dyn SampleReader, range: RangeInclusive<u64>, usual_ns: u64) -> Vec<u64> {
    let mut holes = Vec::new();
    let mut before: Option<When> = None;
    let mut gap_before = 0;
    for sample in range {
        let Some(when) = reader.when(sample) else { continue };
        if let Some(before) = before {
            let gap = when.mono_ns.checked_sub(before.mono_ns);
            if pace(gap, usual_ns.max(gap_before)).1 || is_odd(before, when, u64::MAX) {
                holes.push(sample);
            }
            gap_before = gap.unwrap_or(0);
        }
        before = Some(when);
    }
    holes
}

/// Times at even distances, as short as they stay distinct.
fn times(reader: &mut dyn SampleReader, first: u64, last: u64) -> Vec<(u64, String)> {
    let at = |part: u64| first + ((last - first) as f64 * part as f64 / TIMES as f64) as u64;
    let mut wall = |sample: u64| reader.when(sample).map(|when| when.wall_ns);
    let span = wall(last).zip(wall(first)).map_or(0, |(last, first)| last.saturating_sub(first));
    let text = |wall_ns: i64| match span {
        span if span > 24 * HOUR_NS => units::day_and_minute(wall_ns),
        // `14:05`: within an hour or more, seconds would only take room.
        span if span > HOUR_NS => units::time_of_day(wall_ns).chars().take(5).collect(),
        _ => units::time_of_day(wall_ns),
    };
    (1..TIMES).filter_map(|part| Some((at(part), text(wall(at(part))?)))).collect()
}

const HOUR_NS: i64 = 3_600_000_000_000;
