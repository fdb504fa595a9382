//! Drawings of a report: strips, curves and heat, which stretch with the page.

use super::bins::Series;
use super::phases::Key;
use super::read::Report;
use crate::diff::number::{own, part};
use crate::export::escape;
use crate::units;
use std::collections::BTreeMap;
use std::io::{self, Write};
use topotop_model::bottleneck::ResourceKind;
use topotop_model::locale::report as text;
use topotop_model::text::printable;

/// Maximum CPUs with a row each; beyond that, one row per node.
const ROWS: usize = 64;
/// Maximum rows over time.
const MOST_ROWS: usize = 128;
/// Steps of heat.
const STEPS: u8 = 10;

/// The colour of an answer.
pub(super) fn class(key: &Key) -> &'static str {
    use ResourceKind as Kind;
    match key {
        Key::Calm => "k-calm",
        Key::Collecting | Key::Unknown => "k-open",
        Key::Limit(kind, _) => match kind {
            Kind::Cpus | Kind::Cpuset | Kind::Core | Kind::Thread | Kind::Steal | Kind::Quota => "k-cpu",
            Kind::Memory | Kind::Swap | Kind::Remote | Kind::Bandwidth => "k-mem",
            Kind::Disk | Kind::IoThrottle | Kind::FileSystem => "k-disk",
            Kind::Softirq | Kind::NicIn | Kind::NicOut | Kind::Tcp => "k-net",
            Kind::Conntrack | Kind::Ports | Kind::Files | Kind::Pids => "k-table",
        },
    }
}

/// Short form of an answer.
fn label(key: &Key) -> String {
    match key {
        Key::Calm => text::CALM.to_string(),
        Key::Unknown => text::UNKNOWN.to_string(),
        Key::Collecting => text::COLLECTING.to_string(),
        Key::Limit(kind, _) => kind.label().to_string(),
    }
}

/// The limit over time, with a legend.
pub(super) fn answers(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<div class=\"strip\">")?;
    let mut seen: BTreeMap<String, &'static str> = BTreeMap::new();
    for run in &report.runs.0 {
        let (left, right) = (report.axis.share(run.first), report.axis.share(run.last + 1));
        let (class, label) = (class(&run.key), label(&run.key));
        let at = place(left, right);
        write!(out, "<i class=\"{class}\" style=\"{at}\" title=\"{}\"></i>", escape(&label))?;
        seen.insert(label, class);
    }
    writeln!(out, "</div>")?;
    times(report, out)?;
    write!(out, "<div class=\"key\">")?;
    seen.iter().try_for_each(|(label, class)| write!(out, "<span class=\"{class}\">{}</span>", escape(label)))?;
    writeln!(out, "</div>")
}

/// Left end and width of a strip's piece.
pub(super) fn place(left: f64, right: f64) -> String {
    format!("left:{:.2}%;width:{:.2}%", left * 100.0, (right - left).max(0.001) * 100.0)
}

/// Times below a drawing.
pub(super) fn times(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<div class=\"x\">")?;
    for quarter in 0..5 {
        let at = quarter * report.times.len().saturating_sub(1) / 4;
        let wall = report.times.get(at..).into_iter().flatten().flatten().next().or(Some(&report.span.1));
        write!(out, "<span>{}</span>", wall.map_or_else(String::new, |wall| units::time_of_day(*wall)))?;
    }
    writeln!(out, "</div>")
}

/// The application's metrics in a line each, for a recording of one phase.
pub(super) fn means(report: &Report) -> Vec<String> {
    let line = |(name, (unit, series)): (&String, &(String, Series))| {
        let unit = printable(unit);
        let (mean, peak) = (own(series.mean()?, &unit), own(series.peak, &unit));
        Some(text::MeanOf { name: &printable(name), mean: &mean, peak: &peak }.to_string())
    };
    report.metrics.iter().filter_map(line).collect()
}

/// The application's metrics, with the mean of each phase.
pub(super) fn metrics(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for (name, (unit, series)) in &report.metrics {
        let unit = printable(unit);
        let Some(mean) = series.mean() else { continue };
        let (mean, peak) = (own(mean, &unit), own(series.peak, &unit));
        let about = text::Mean { mean: &mean, peak: &peak }.to_string();
        let top = series.means().flatten().fold(f64::MIN_POSITIVE, f64::max);
        let figure = Figure { name: &printable(name), about: &about, top, top_text: &own(top, &unit), tall: true };
        curve(report, series, &figure, out)?;
    }
    Ok(())
}

/// The resources of the machine, as shares of what there is.
pub(super) fn resources(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let names = [text::BUSY, text::HOTTEST, text::DISK, text::NIC, text::MEMORY, text::IO_PRESSURE];
    writeln!(out, "<div class=\"charts\">")?;
    for (name, series) in names.iter().zip(&report.resources) {
        let Some(mean) = series.mean() else { continue };
        let about = text::Mean { mean: &part(mean), peak: &part(series.peak) }.to_string();
        let figure = Figure { name, about: &about, top: series.peak.max(1.0), top_text: "100%", tall: false };
        curve(report, series, &figure, out)?;
    }
    writeln!(out, "</div>")
}

/// The frame of a curve.
struct Figure<'a> {
    name: &'a str,
    about: &'a str,
    /// The value at the upper edge.
    top: f64,
    top_text: &'a str,
    tall: bool,
}

fn curve(report: &Report, series: &Series, figure: &Figure<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (name, about) = (escape(figure.name), escape(figure.about));
    writeln!(out, "<figure><figcaption><b>{name}</b><span class=\"dim\">{about}</span></figcaption>")?;
    let class = if figure.tall { "plot tall" } else { "plot" };
    write!(out, "<div class=\"{class}\"><span class=\"top\">{}</span>", escape(figure.top_text))?;
    writeln!(out, "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}\">")?;
    writeln!(out, "<path class=\"grid\" d=\"M0 50H1000M0 2H1000\"/>")?;
    let (line, area) = paths(series, figure.top);
    writeln!(out, "<path class=\"area\" d=\"{area}\"/><path class=\"curve\" d=\"{line}\"/>")?;
    for phase in report.phases.iter().skip(1) {
        let x = report.axis.share(phase.first) * 1000.0;
        writeln!(out, "<path class=\"edge\" d=\"M{x:.1} 0V100\"/>")?;
    }
    writeln!(out, "</svg></div>")?;
    times(report, out)?;
    writeln!(out, "</figure>")
}

/// The line through the values of a series, and the area below it; both end where values are missing.
fn paths(series: &Series, top: f64) -> (String, String) {
    let values: Vec<Option<f64>> = series.means().collect();
    let step = 1000.0 / values.len().max(1) as f64;
    let point = |(at, value): (usize, &Option<f64>)| {
        let y = 100.0 - 98.0 * ((*value)? / top).clamp(0.0, 1.0);
        Some(((at as f64 + 0.5) * step, y))
    };
    let points: Vec<Option<(f64, f64)>> = values.iter().enumerate().map(point).collect();
    let (mut lines, mut areas) = (Vec::new(), Vec::new());
    for run in points.split(Option::is_none).filter(|run| !run.is_empty()) {
        let through: Vec<String> = run.iter().flatten().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let through = through.join("L");
        let start = run.iter().flatten().next().map_or(0.0, |point| point.0);
        areas.push(format!("M{start:.1} 100L{through}V100Z"));
        lines.push(format!("M{through}"));
    }
    (lines.concat(), areas.concat())
}

/// Each CPU at its node, then over time.
pub(super) fn heat(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut nodes: BTreeMap<Option<u32>, Vec<(u32, &Series)>> = BTreeMap::new();
    for (id, (node, series)) in &report.cpus {
        nodes.entry(*node).or_default().push((*id, series));
    }
    writeln!(out, "<p class=\"dim\">{} <span class=\"scale\"></span> {}</p>", text::TOPOLOGY_NOTE, text::HEAT)?;
    for (node, cpus) in &nodes {
        if let Some(id) = node {
            writeln!(out, "<h3>{}</h3>", text::Node { id })?;
        }
        write!(out, "<div class=\"cells\">")?;
        for (id, series) in cpus {
            let mean = series.mean().unwrap_or(0.0);
            let title = text::Cpu { id, mean: &part(mean), peak: &part(series.peak) }.to_string();
            // Heat stays light enough for the number on it.
            let heat = (mean.clamp(0.0, 1.0) * 70.0).round();
            write!(out, "<i style=\"--v:{heat}%\" title=\"{}\">{:.0}</i>", escape(&title), mean * 100.0)?;
        }
        writeln!(out, "</div>")?;
    }
    writeln!(out, "<div class=\"rows\">")?;
    if report.cpus.len() <= ROWS {
        for (id, (_, series)) in &report.cpus {
            strip(&text::CpuRow { id }.to_string(), &[series], out)?;
        }
    } else {
        for (node, cpus) in nodes.iter().take(MOST_ROWS) {
            let name = node.map_or_else(String::new, |id| text::Node { id: &id }.to_string());
            let all: Vec<&Series> = cpus.iter().map(|cpu| cpu.1).collect();
            strip(&name, &all, out)?;
        }
    }
    write!(out, "<span></span>")?;
    times(report, out)?;
    writeln!(out, "</div>")
}

/// The mean of some series over time, a path for each step of heat.
fn strip(name: &str, all: &[&Series], out: &mut dyn Write) -> io::Result<()> {
    let mut sums: Vec<(f64, u32)> = Vec::new();
    for series in all {
        for (at, value) in series.means().enumerate() {
            if sums.len() <= at {
                sums.push((0.0, 0));
            }
            if let (Some(sum), Some(value)) = (sums.get_mut(at), value) {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
    }
    write!(out, "<span>{}</span><svg viewBox=\"0 0 {} 1\" preserveAspectRatio=\"none\">", escape(name), sums.len())?;
    let step = |(sum, count): (f64, u32)| (sum / f64::from(count.max(1)) * f64::from(STEPS)).round() as u8;
    for level in 1..=STEPS {
        let here = sums.iter().enumerate().filter(|(_, sum)| step(**sum) == level);
        let path: Vec<String> = here.map(|(at, _)| format!("M{at} 0h1v1h-1z")).collect();
        if !path.is_empty() {
            write!(out, "<path fill-opacity=\"{:.1}\" d=\"{}\"/>", f64::from(level) / f64::from(STEPS), path.concat())?;
        }
    }
    writeln!(out, "</svg>")
}
