//! `topotop diff`: what changed between two recordings, or two spans of one.

pub(crate) mod application;
pub(crate) mod html;
mod json;
pub(crate) mod number;
mod phases;
pub(crate) mod sides;
mod table;

pub(crate) use sides::{Part, ReadSide};

use crate::output::{Output, is_stdout};
use crate::span::{self, Given};
use crate::{recording, theme, units};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use topotop_model::derive::{Deriver, Settings};
use topotop_model::diff::{Comparison, FactChange, Found, FoundChanges, FoundSide, Side, compare};
use topotop_model::judge::{self, Judge};
use topotop_model::locale::{Text, diff as text, error, join};
use topotop_model::recording::{Event, FixState, RecordedFix, What};
use topotop_model::text::printable;
use topotop_widgets::Charset;

/// What `diff` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct DiffArgs {
    /// The recording before, or a span of it: A@10:00-10:05, A@30s-90s, A@mark:X-mark:Y, A@command, A@all.
    #[arg(value_name = "A")]
    pub before: OsString,
    /// The recording after, or a span of it; @10:05-10:10 is one of A's file.
    #[arg(value_name = "B")]
    pub after: OsString,
    /// Exit with 1 when something changed, with 3 when that is not decided.
    #[arg(long)]
    pub exit_code: bool,
    /// text, json or html [default: text].
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Write to FILE; its extension picks the format.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Compare the phases of both recordings pair by pair: from a mark to the next one, by the marks' names.
    #[arg(long)]
    pub phases: bool,
    /// Every change, and in JSON every metric, changed or not.
    #[arg(long)]
    pub all: bool,
}

/// The status where it is not decided whether something changed.
const OPEN: u8 = 3;

/// One side as it is printed.
#[derive(Clone, Debug, Default)]
struct About {
    file: String,
    host: String,
    kernel: String,
    boot_id: String,
    span: String,
    from_wall_ns: i64,
    to_wall_ns: i64,
    seconds: f64,
    samples: u64,
    /// Damaged places that were met.
    damaged: u64,
    /// Samples of a block, whose means the spread is of.
    block: u64,
    /// The samples that are compared.
    part: Option<span::Span>,
    /// Fixes that its file tells of, with their wall time in ns.
    fixes: Vec<(i64, RecordedFix)>,
}

/// A comparison and what was compared.
struct Report {
    before: About,
    after: About,
    comparison: Comparison,
    findings: FoundChanges,
    /// Nothing is left out.
    all: bool,
    /// Of a page: what a report says about each side.
    sides: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Json,
    Html,
}

/// Compares and writes; gives the status for --exit-code: 0 the same, 1 changed, 3 not decided.
pub(crate) fn run(
    args: &DiffArgs,
    charset: crate::config::CharsetChoice,
    judge: &judge::Settings,
    read: &ReadSide,
) -> Result<u8, String> {
    let format = format(args)?;
    let is_file = |path: &Path| path.is_file();
    let before = Given::parse(&args.before, is_file);
    let mut after = Given::parse(&args.after, is_file);
    if after.path.as_os_str().is_empty() {
        after.path.clone_from(&before.path);
    }
    let mut reports = if args.phases {
        phases::reports(&before, &after, judge, args.all)?
    } else {
        vec![part(&before, &after, judge, args.all)?]
    };
    if reports.len() > 1 && format == Format::Html {
        return Err(error::PHASES_FORMAT.to_string());
    }
    for report in reports.iter_mut().filter(|_| format == Format::Html) {
        report.read_sides([&before.path, &after.path], |path, span, name| read(path, span, name, judge))?;
    }
    let mut out = Output::create(args.output.as_deref())?;
    let written = if args.output.as_deref().is_none_or(is_stdout) {
        let width = if std::io::stdout().is_terminal() { width() } else { table::WIDE };
        phases::write_all(&reports, format, width, theme::charset(charset), &mut out)
    } else {
        // A file is UTF-8 wherever it was made, and as wide as it needs.
        phases::write_all(&reports, format, table::WIDE, Charset::Unicode, &mut out)
    };
    out.finish(written)?;
    // A change in one phase is one, whatever is open in others.
    let statuses: Vec<u8> = reports.iter().map(Report::status).collect();
    Ok(if statuses.contains(&1) { 1 } else { statuses.into_iter().max().unwrap_or(0) })
}

/// The comparison of two parts.
fn part(before: &Given, after: &Given, judge: &judge::Settings, all: bool) -> Result<Report, String> {
    let side = |given: &Given| fold(&given.path, judge, |reader| span::resolve(reader, given.part.as_deref()));
    Ok(report(side(before)?, side(after)?, all))
}

type Folded = (About, Side, FoundSide);

fn report(one: Folded, other: Folded, all: bool) -> Report {
    let (comparison, findings) = (compare(&one.1, &other.1), FoundChanges::of(&one.2, &other.2));
    Report { before: one.0, after: other.0, comparison, findings, all, sides: Vec::new() }
}

fn format(args: &DiffArgs) -> Result<Format, String> {
    let named = |name: &str| match name {
        "text" | "txt" => Some(Format::Text),
        "json" => Some(Format::Json),
        "html" | "htm" => Some(Format::Html),
        _ => None,
    };
    match (&args.format, args.output.as_ref().filter(|path| !is_stdout(path))) {
        (Some(name), _) => {
            named(name).ok_or_else(|| error::UnknownFormat { format: &name, known: &"text, json, html" }.to_string())
        }
        (None, Some(path)) => path
            .extension()
            .and_then(|extension| named(extension.to_str()?))
            .ok_or_else(|| error::UnknownExtension { path: &path.display() }.to_string()),
        (None, None) => Ok(Format::Text),
    }
}

fn width() -> usize {
    crossterm::terminal::size().map_or(table::WIDE, |size| usize::from(size.0).max(table::NARROWEST))
}

fn write(report: &Report, format: Format, width: usize, charset: Charset, out: &mut dyn Write) -> std::io::Result<()> {
    match format {
        Format::Text => table::write(report, width, charset, out),
        Format::Json => json::write(report, out),
        Format::Html => html::write(report, out),
    }
}

/// Reads a span of a recording, sample by sample, into a side, and judges it: what was before the span is not its own.
fn fold(
    path: &Path,
    judge: &judge::Settings,
    span: impl FnOnce(&mut recording::Reader) -> Result<span::Span, String>,
) -> Result<Folded, String> {
    let name = printable(&path.display().to_string()).into_owned();
    let mut reader = recording::open(path)?;
    let span = span(&mut reader).map_err(|error| format!("{name}: {error}"))?;
    let about = reader.about();
    let mut deriver = Deriver::new(Settings { nic_capacity_mbps: about.nic_capacity_mbps.clone() });
    let mut said = About {
        file: name,
        host: printable(&about.host).into_owned(),
        kernel: printable(&about.kernel).into_owned(),
        boot_id: printable(&about.boot_id).into_owned(),
        span: span.what.clone(),
        ..About::default()
    };
    said.fixes = reader.events().into_iter().filter_map(|(_, event)| fix(event)).collect();
    let (mut side, mut found, mut judge) = (Side::new(), FoundSide::default(), Judge::new(judge.clone()));
    let mut newest = None;
    said.damaged = span::windows(&mut reader, (span.first, span.last), |window| {
        let frame = deriver.frame(window);
        found.push(&frame, &judge.step(&frame));
        side.push(&frame);
        if newest.is_none() {
            side.note_settings(&frame);
        }
        newest = Some(frame);
    });
    if let Some(frame) = &newest {
        side.note_settings(frame);
    }
    let (first, last) = side.span().ok_or_else(|| error::UnreadRecording { path: &said.file }.to_string())?;
    (said.from_wall_ns, said.to_wall_ns) = (first.wall_ns, last.wall_ns);
    said.seconds = last.mono_ns.saturating_sub(first.mono_ns) as f64 / 1e9;
    said.part = Some(span);
    (said.samples, said.block) = (side.samples(), side.block());
    Ok((said, side, found))
}

/// A fix that wrote something, or was taken back.
fn fix(event: Event) -> Option<(i64, RecordedFix)> {
    match event.what {
        What::Fix(told) if matches!(told.state, FixState::Applied | FixState::Partial | FixState::Undone) => {
            Some((event.wall_ns, *told))
        }
        _ => None,
    }
}

impl Report {
    /// Fixes from the beginning of what is compared to its end, each once, in the order of time.
    fn fixes(&self) -> Vec<&(i64, RecordedFix)> {
        let from = self.before.from_wall_ns.min(self.after.from_wall_ns);
        let to = self.before.to_wall_ns.max(self.after.to_wall_ns);
        let all = self.before.fixes.iter().chain(&self.after.fixes).filter(|(at, _)| (from..=to).contains(at));
        let mut fixes: Vec<&(i64, RecordedFix)> = Vec::new();
        for fix in all {
            if !fixes.contains(&fix) {
                fixes.push(fix);
            }
        }
        fixes.sort_by_key(|(at, _)| *at);
        fixes
    }

    /// True where a metric, a setting or a finding that costs something is another one.
    fn is_change(&self) -> bool {
        self.comparison.is_change() || self.findings.is_change()
    }

    /// The status for --exit-code: what the application measures is the answer where there is such a thing.
    fn status(&self) -> u8 {
        use topotop_model::diff::Verdict;
        let own: Vec<Verdict> = self.comparison.own().into_iter().filter_map(|at| self.verdict(at)).collect();
        let judged = self.comparison.rows.len() > self.comparison.count(Verdict::Inconclusive);
        let open = if own.is_empty() { !judged } else { own.contains(&Verdict::Inconclusive) };
        let changed = own.iter().any(|verdict| verdict.is_change());
        if open && !changed { OPEN } else { u8::from(self.is_change()) }
    }

    /// The changes besides the application's own metrics, which come first.
    fn effects(&self) -> Vec<usize> {
        let own = |at: &usize| self.comparison.rows.get(*at).is_some_and(topotop_model::diff::Row::is_own);
        self.comparison.heads().into_iter().filter(|at| !own(at)).collect()
    }

    /// The findings with what became of them.
    fn findings(&self) -> Vec<(Fate, &Found)> {
        let FoundChanges { gone, new, both, unknown } = &self.findings;
        let lists = [(Fate::Gone, gone), (Fate::New, new), (Fate::Still, both), (Fate::Unknown, unknown)];
        lists.into_iter().flat_map(|(fate, list)| list.iter().map(move |finding| (fate, finding))).collect()
    }

    /// One line: what there is to say.
    fn summary(&self) -> String {
        use topotop_model::diff::Verdict;
        let count = |verdict| self.comparison.heads().iter().filter(|&&at| self.verdict(at) == Some(verdict)).count();
        let (gone, new) = (self.findings.gone.len() as u64, self.findings.new.len() as u64);
        let parts = [
            (gone, text::FindingsGone { count: gone }.to_string()),
            (new, text::FindingsNew { count: new }.to_string()),
            counted(self.comparison.facts.len(), |count| text::SettingsChanged { count }.to_string()),
            counted(count(Verdict::Worse), |count| text::CountWorse { count }.to_string()),
            counted(count(Verdict::Improved), |count| text::CountBetter { count }.to_string()),
            counted(count(Verdict::Changed), |count| text::CountChanged { count }.to_string()),
            counted(count(Verdict::OnlyBefore), |count| text::CountGone { count }.to_string()),
            counted(count(Verdict::OnlyAfter), |count| text::CountNew { count }.to_string()),
        ];
        let changes: Vec<String> = parts.into_iter().filter(|part| part.0 > 0).map(|part| part.1).collect();
        let judged = self.comparison.rows.len() - self.comparison.count(Verdict::Inconclusive);
        let (same, open) = (self.comparison.count(Verdict::NoChange), self.comparison.noisy());
        if changes.is_empty() && judged + open == 0 {
            return text::TOO_FEW.to_string();
        }
        if changes.is_empty() {
            return text::Nothing { same: &same, open: &open }.to_string();
        }
        text::Summary { changes: &changes.join(&join::ITEMS), same: &same, open: &open }.to_string()
    }

    /// Settings to show, each with how many more subjects of its kind changed alike.
    fn settings(&self) -> Vec<(&FactChange, usize)> {
        let mut shown: Vec<(&FactChange, usize)> = Vec::new();
        for fact in &self.comparison.facts {
            let alike = |other: &&mut (&FactChange, usize)| {
                let (other, fact) = (other.0, fact);
                std::mem::discriminant(&other.subject) == std::mem::discriminant(&fact.subject)
                    && (&other.name, &other.before, &other.after) == (&fact.name, &fact.before, &fact.after)
            };
            match shown.iter_mut().find(alike).filter(|_| !self.all) {
                Some(entry) => entry.1 += 1,
                None => shown.push((fact, 0)),
            }
        }
        shown
    }

    fn verdict(&self, at: usize) -> Option<topotop_model::diff::Verdict> {
        self.comparison.rows.get(at).map(|row| row.verdict)
    }

    /// What else the reader has to know, a line each.
    fn notes(&self) -> Vec<String> {
        use topotop_model::diff::{Alignment, Verdict};
        let mut notes: Vec<String> = Vec::new();
        notes.extend(self.fixes().into_iter().map(|(at, fix)| fix_note(*at, fix)));
        match self.comparison.alignment {
            Alignment::ById => {}
            Alignment::ByPlace { .. } => notes.push(text::PAIRED_BY_PLACE.to_string()),
            Alignment::Aggregated => notes.push(text::AGGREGATED.to_string()),
        }
        let few = self.comparison.count(Verdict::Inconclusive) - self.comparison.noisy();
        if few > 0 {
            notes.push(text::FewValid { count: &few }.to_string());
        }
        if !self.findings.unknown.is_empty() {
            notes.push(text::UNKNOWN_FINDINGS.to_string());
        }
        if self.comparison.moved_irqs > 0 {
            notes.push(text::MovedIrqs { count: &self.comparison.moved_irqs }.to_string());
        }
        if self.comparison.left_out > 0 {
            notes.push(text::LeftOut { count: &self.comparison.left_out }.to_string());
        }
        for (side, about) in [("A", &self.before), ("B", &self.after)] {
            match about.damaged {
                0 => {}
                1 => notes.push(text::DamagedOnce { side: &side }.to_string()),
                _ => notes.push(text::Damaged { side: &side }.to_string()),
            }
        }
        notes
    }
}

/// What became of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Gone,
    New,
    Still,
    Unknown,
}

impl Fate {
    fn text(self) -> Text {
        match self {
            Self::Gone => text::GONE_WORD,
            Self::New => text::NEW_WORD,
            Self::Still => text::STILL,
            Self::Unknown => text::UNKNOWN,
        }
    }
}

fn counted(count: usize, text: impl Fn(u64) -> String) -> (u64, String) {
    (count as u64, text(count as u64))
}

/// When a fix did what, in a line.
fn fix_note(wall_ns: i64, fix: &RecordedFix) -> String {
    let (time, title, id) = (units::date_time(wall_ns), printable(&fix.title), printable(&fix.id));
    let (time, state, title): (&dyn Display, &dyn Display, &dyn Display) = (&time, &fix.state.word(), &title);
    if fix.id.is_empty() {
        text::FixEvent { time, state, title }.to_string()
    } else {
        text::FixEventId { time, state, title, id: &id }.to_string()
    }
}

impl About {
    fn when(&self) -> String {
        let (from, to) = (units::date_time(self.from_wall_ns), units::time_of_day(self.to_wall_ns));
        text::Span { from: &from, to: &to, zone: &units::zone_name(self.to_wall_ns) }.to_string()
    }
}
