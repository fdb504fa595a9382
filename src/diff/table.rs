//! The comparison as aligned text.

use super::application::{self, Line};
use super::{About, Report, number};
use std::io::{self, Write};
use topotop_model::diff::{FactChange, Row, Spread, Verdict};
use topotop_model::locale::{Text, diff as text};
use topotop_model::text::{padded, printable, short_ids};
use topotop_widgets::Charset;
use unicode_width::UnicodeWidthStr as _;

/// Columns where no terminal says otherwise.
pub(super) const WIDE: usize = 120;
/// The narrowest that is written for.
pub(super) const NARROWEST: usize = 40;
/// Changes that are shown at first, and what follows from each.
const HEADS: usize = 40;
const BELOW: usize = 8;

/// What stands before a verdict, and its word.
pub(super) fn mark(verdict: Verdict, charset: Charset) -> (&'static str, Text) {
    let glyph = |unicode, ascii| if charset == Charset::Unicode { unicode } else { ascii };
    match verdict {
        Verdict::Improved => (glyph("\u{2713}", "+"), text::BETTER),
        Verdict::Worse => (glyph("\u{25b2}", "!"), text::WORSE),
        Verdict::Changed => (glyph("\u{25cf}", "*"), text::CHANGED),
        Verdict::OnlyBefore => (glyph("\u{25cb}", "-"), text::GONE_WORD),
        Verdict::OnlyAfter => (glyph("\u{25c6}", ">"), text::NEW_WORD),
        Verdict::NoChange => ("=", text::SAME),
        Verdict::Inconclusive => ("?", text::OPEN_WORD),
    }
}

struct Signs {
    charset: Charset,
    arrow: &'static str,
    dash: &'static str,
    minus: &'static str,
    branch: &'static str,
    cut: &'static str,
}

impl Signs {
    fn new(charset: Charset) -> Self {
        if charset == Charset::Unicode {
            Self {
                charset,
                arrow: "\u{2192}",
                dash: "\u{2013}",
                minus: "\u{2212}",
                branch: "\u{2514} ",
                cut: "\u{2026}",
            }
        } else {
            Self { charset, arrow: "->", dash: "-", minus: "-", branch: "` ", cut: "~" }
        }
    }

    /// A text of at most so many columns; the middle goes, since ends of paths tell most.
    fn fit(&self, text: &str, room: usize) -> String {
        if text.width() <= room {
            return text.to_owned();
        }
        let keep = room.saturating_sub(self.cut.width());
        let (mut front, mut back) = (String::new(), Vec::new());
        for c in text.chars() {
            if front.width() + c.to_string().width() > keep / 2 {
                break;
            }
            front.push(c);
        }
        let mut used = front.width();
        for c in text.chars().rev() {
            used += c.to_string().width();
            if used > keep {
                break;
            }
            back.push(c);
        }
        front + self.cut + &back.into_iter().rev().collect::<String>()
    }
}

/// Columns that a cut span needs to be worth its place.
const LEAST_SPAN: usize = 12;

/// Writes the report.
pub(super) fn write(report: &Report, width: usize, charset: Charset, out: &mut dyn Write) -> io::Result<()> {
    let signs = Signs::new(charset);
    for (name, about) in [("A", &report.before), ("B", &report.after)] {
        writeln!(out, "{}", signs.fit(&side(name, about, width, &signs), width))?;
    }
    own(report, width, &signs, out)?;
    writeln!(out)?;
    wrapped(&report.summary(), width, out)?;
    settings(report, width, &signs, out)?;
    findings(report, width, &signs, out)?;
    changes(report, width, &signs, out)?;
    let notes = report.notes();
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        wrapped(&note, width, out)?;
    }
    Ok(())
}

/// What the application measures, and what a unit of its work costs.
fn own(report: &Report, width: usize, signs: &Signs, out: &mut dyn Write) -> io::Result<()> {
    let lines = application::lines(&report.comparison, signs.minus);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    wrapped(&text::APPLICATION, width, out)?;
    own_lines(&lines, width, signs, out)?;
    let costs = application::costs(&report.comparison, signs.minus);
    if let Some(load) = application::load(&report.comparison).filter(|_| !costs.is_empty()) {
        writeln!(out, "{}", signs.fit(&text::PerUnit { load: &load }.to_string(), width))?;
        own_lines(&costs, width, signs, out)?;
    }
    application::notes(&report.comparison).iter().try_for_each(|note| wrapped(note, width, out))
}

fn own_lines(lines: &[Line], width: usize, signs: &Signs, out: &mut dyn Write) -> io::Result<()> {
    let words: Vec<String> = lines.iter().map(|line| mark(line.verdict, signs.charset).1.to_string()).collect();
    let word = words.iter().map(|word| word.width()).max().unwrap_or(0);
    let name = lines.iter().map(|line| line.name.width()).max().unwrap_or(0).min(width / 4);
    for (line, said) in lines.iter().zip(&words) {
        let (glyph, _) = mark(line.verdict, signs.charset);
        let numbers = format!("{} {} {}  {}", line.before, signs.arrow, line.after, line.change);
        let numbers = if signs.charset == Charset::Ascii { numbers.replace('\u{b5}', "u") } else { numbers };
        let text = format!("  {glyph} {} {}  {numbers}", pad(said, word), pad(&signs.fit(&line.name, name), name));
        let whole = format!("{}  {}", text.trim_end(), line.note);
        if line.note.is_empty() || whole.trim_end().width() <= width {
            writeln!(out, "{}", signs.fit(whole.trim_end(), width))?;
        } else {
            writeln!(out, "{}", signs.fit(text.trim_end(), width))?;
            writeln!(out, "      {}", signs.fit(&line.note, width.saturating_sub(6)))?;
        }
    }
    Ok(())
}

fn findings(report: &Report, width: usize, signs: &Signs, out: &mut dyn Write) -> io::Result<()> {
    let findings = report.findings();
    if !findings.is_empty() {
        writeln!(out, "\n{}", text::FINDINGS)?;
    }
    for (fate, found) in findings {
        let head = format!("  {}{}{:<9}", padded(&fate.text(), 8), padded(&found.severity.label(), 9), found.rule.id);
        let title = printable(&found.title);
        writeln!(out, "{head}{}", signs.fit(&title, width.saturating_sub(head.width())))?;
    }
    Ok(())
}

/// The recording, its host, time and samples; of the span, which may be a long command, as much as fits.
fn side(name: &str, about: &About, width: usize, signs: &Signs) -> String {
    let host = if about.host.is_empty() { "?" } else { &about.host };
    let samples = text::Samples { count: about.samples };
    let head = format!("{name}  {}  {host}  {}  {samples}", about.file, about.when());
    let room = width.saturating_sub(head.width() + 2);
    if room < LEAST_SPAN { head } else { format!("{head}  {}", signs.fit(&about.span, room)) }
}

fn wrapped(text: &str, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let lines = topotop_widgets::parts::severity::wrapped(text, u16::try_from(width).unwrap_or(u16::MAX));
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn settings(report: &Report, width: usize, signs: &Signs, out: &mut dyn Write) -> io::Result<()> {
    let facts = report.settings();
    if facts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", text::SETTINGS)?;
    let shown = if report.all { facts.len() } else { facts.len().min(HEADS) };
    let lines: Vec<[String; 3]> = facts
        .iter()
        .take(shown)
        .map(|(fact, alike)| {
            let value = |value: &Option<String>| printable(&FactChange::shown(value.as_deref())).into_owned();
            let within = if fact.within { format!("  {}", text::WITHIN) } else { String::new() };
            let change = format!("{} {} {}{within}", value(&fact.before), signs.arrow, value(&fact.after));
            let subject = and_more(short_ids(&printable(&fact.subject.to_string())).into_owned(), *alike);
            [subject, printable(&fact.shown_name()).into_owned(), change]
        })
        .collect();
    let room = |column: usize, most: usize| lines.iter().map(|line| line[column].width()).max().unwrap_or(0).min(most);
    let (subject, name) = (room(0, width / 3), room(1, width / 4));
    for line in &lines {
        let text = format!(
            "  {}  {}  {}",
            pad(&signs.fit(&line[0], subject), subject),
            pad(&signs.fit(&line[1], name), name),
            line[2]
        );
        writeln!(out, "{}", signs.fit(&text, width).trim_end())?;
    }
    match facts.len() - shown {
        0 => Ok(()),
        count => writeln!(out, "  {}", text::MoreSettings { count: &count }),
    }
}

/// A row as cells: mark, verdict, subject, metric, before, its spread, after, its spread, change.
type Cells = [String; 9];

fn changes(report: &Report, width: usize, signs: &Signs, out: &mut dyn Write) -> io::Result<()> {
    let comparison = &report.comparison;
    let heads = report.effects();
    if heads.is_empty() {
        return Ok(());
    }
    let shown = if report.all { heads.len() } else { heads.len().min(HEADS) };
    let mut lines: Vec<Result<Cells, String>> = Vec::new();
    for &head in heads.iter().take(shown) {
        lines.extend(comparison.rows.get(head).map(|row| Ok(cells(row, false, signs))));
        let below = comparison.under(head);
        let most = if report.all || below.len() == BELOW + 1 { below.len() } else { below.len().min(BELOW) };
        lines.extend(
            below.iter().take(most).filter_map(|&at| comparison.rows.get(at)).map(|row| Ok(cells(row, true, signs))),
        );
        if below.len() > most {
            lines.push(Err(format!("    {}", text::Effects { count: &(below.len() - most) })));
        }
    }
    writeln!(out)?;
    wrapped(&text::METRICS, width, out)?;
    table(&lines, width, signs, out)?;
    if heads.len() > shown {
        writeln!(out, "  {}", text::MoreChanges { count: &(heads.len() - shown) })?;
    }
    let block = report.before.block.max(report.after.block);
    wrapped(&medians(block), width, out)
}

fn cells(row: &Row, below: bool, signs: &Signs) -> Cells {
    let (glyph, word) = mark(row.verdict, signs.charset);
    let subject = short_ids(&printable(&row.subject.to_string())).into_owned();
    let measure = row.metric.measure;
    let median = |spread: Option<Spread>| spread.map_or("-".to_owned(), |spread| number::value(measure, spread.median));
    let range = |spread: Option<Spread>| {
        let range = spread.and_then(|spread| number::range(measure, spread.low, spread.high, signs.dash));
        range.map_or(String::new(), |range| format!("({range})"))
    };
    let middle = |spread: Option<Spread>| spread.map_or(0.0, |spread| spread.median);
    [
        if below { String::new() } else { glyph.to_owned() },
        if below { String::new() } else { word.to_string() },
        if below { format!("{}{subject}", signs.branch) } else { subject },
        row.metric.name.to_string(),
        median(row.before),
        range(row.before),
        median(row.after),
        range(row.after),
        number::change(measure, middle(row.before), middle(row.after), signs.minus),
    ]
}

fn table(lines: &[Result<Cells, String>], width: usize, signs: &Signs, out: &mut dyn Write) -> io::Result<()> {
    let rooms = rooms(lines, width);
    for line in lines {
        let text = match line {
            Ok(cells) => row(cells, &rooms, signs),
            Err(text) => format!("  {text}"),
        };
        writeln!(out, "{}", signs.fit(text.trim_end(), width))?;
    }
    Ok(())
}

/// How wide each column is; zero for one that there is no room for.
fn rooms(lines: &[Result<Cells, String>], width: usize) -> [usize; 9] {
    let room = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.as_ref().ok());
        cells.map(|cells| cells[column].width()).max().unwrap_or(0)
    };
    let mut rooms: [usize; 9] = std::array::from_fn(room);
    let total = |rooms: &[usize; 9]| rooms.iter().filter(|room| **room > 0).map(|room| room + 1).sum::<usize>() + 6;
    // The spread goes first, then the verdict's word (its mark stays), then the middles of long names.
    for column in [5, 7, 1] {
        if total(&rooms) > width + rooms[2].saturating_sub(24) {
            rooms[column] = 0;
        }
    }
    // On a very narrow terminal the change goes as well: what was and what is say it.
    let (subject, name) = if width < 60 { (7, 5) } else { (12, 8) };
    for (column, least) in [(2, subject), (3, name)] {
        let over = total(&rooms).saturating_sub(width);
        rooms[column] = rooms[column].saturating_sub(over).max(least.min(rooms[column]));
        if column == 2 && width < 60 {
            rooms[8] = 0;
        }
    }
    rooms
}

fn row(cells: &Cells, rooms: &[usize; 9], signs: &Signs) -> String {
    let mut text = String::from(" ");
    for (column, (cell, &room)) in cells.iter().zip(rooms).enumerate().filter(|(_, (_, room))| **room > 0) {
        text.push(' ');
        let cell = signs.fit(cell, room);
        let blanks = " ".repeat(room.saturating_sub(cell.width()));
        if column == 6 {
            text.push_str(signs.arrow);
            text.push(' ');
        }
        if matches!(column, 4 | 6 | 8) {
            text.push_str(&blanks);
            text.push_str(&cell);
        } else {
            text.push_str(&cell);
            text.push_str(&blanks);
        }
    }
    text
}

/// A subject, and how many more changed alike.
pub(super) fn and_more(subject: String, count: usize) -> String {
    if count > 0 { text::AndMore { subject: &subject, count: &count }.to_string() } else { subject }
}

/// What the numbers of the table are.
pub(super) fn medians(block: u64) -> String {
    if block == 1 { text::MEDIANS.to_string() } else { text::MediansOfMeans { count: &block }.to_string() }
}

fn pad(text: &str, room: usize) -> String {
    format!("{text}{}", " ".repeat(room.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use super::super::Report;
    use super::{About, Charset, write};
    use std::sync::Arc;
    use topotop_model::diff::{Side, compare};
    use topotop_model::frame::{Cpu, CpuShares, Frame, Nic, NicRates, Process, Topology};
    use topotop_model::{IdSet, Known};
    use unicode_width::UnicodeWidthStr as _;

    /// A second of a server whose CPU 3 serves all packets, or of one that spreads them.
    fn frame(second: u64, spread: bool) -> Frame {
        let wobble = (second * 7 % 5) as f64 / 100.0;
        let shares = |cpu| {
            let softirq = if spread {
                0.12
            } else if cpu == 3 {
                0.93
            } else {
                0.0
            };
            CpuShares { busy: softirq + 0.02 + wobble, softirq: softirq + wobble / 2.0, ..CpuShares::default() }
        };
        let cpu = |id| Cpu { id, online: true, shares: Some(shares(id)), ..Cpu::default() };
        let packets = if spread { 152_000.0 } else { 94_000.0 } * (1.0 + wobble);
        let rates = NicRates { packets_per_second: Some(packets), ..NicRates::default() };
        let evil = "\u{1b}[31mjava\u{202e}".repeat(3);
        let process = Process {
            comm: evil.as_str().into(),
            cgroup: "/kubepods.slice/kubepods-burstable.slice/a-very-long-name-of-a-pod/\u{65e5}\u{672c}".into(),
            cpu_cores: Some(if spread { 3.2 } else { 1.1 } + wobble),
            ..Process::default()
        };
        Frame {
            interval_seconds: Some(1.0),
            topology: Arc::new(Topology { cpus_online: IdSet::from_ids(0..8), ..Topology::default() }),
            cpus: (0..8).map(cpu).collect(),
            nics: vec![Nic { name: "eth0".into(), carrier: Known::Value(true), rx: rates, ..Nic::default() }],
            processes: vec![process],
            ..Frame::default()
        }
    }

    fn report() -> Report {
        let side = |spread| {
            let mut side = Side::new();
            (0..30).for_each(|second| side.push(&frame(second, spread)));
            side
        };
        let about = |file: &str| About {
            file: file.to_owned(),
            host: "db-17".to_owned(),
            span: "all of it".to_owned(),
            samples: 30,
            block: 1,
            ..About::default()
        };
        let comparison = compare(&side(false), &side(true));
        let findings = topotop_model::diff::FoundChanges::default();
        Report {
            before: about("before.rec"),
            after: about("after.rec"),
            comparison,
            findings,
            all: false,
            sides: Vec::new(),
        }
    }

    fn written(width: usize, charset: Charset) -> String {
        let mut out = Vec::new();
        write(&report(), width, charset, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_spread_load_as_text() {
        insta::assert_snapshot!("diff-wide", written(120, Charset::Unicode));
        insta::assert_snapshot!("diff-narrow", written(60, Charset::Ascii));
    }

    #[test]
    fn every_width_is_kept_and_no_name_steers() {
        for width in 40..200 {
            for charset in [Charset::Unicode, Charset::Ascii] {
                let text = written(width, charset);
                for line in text.lines() {
                    assert!(line.width() <= width, "{width}: {line}");
                    assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
                }
            }
        }
    }
}
