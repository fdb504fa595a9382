//! A page in one of two formats.

use super::rows::Rows;
use super::{Family, Kind, Page, all};
use std::fmt::Write as _;

/// Maximum series of a page.
const SERIES: usize = 500;
/// The same on machines with more CPUs than are listed individually.
const SERIES_OF_WIDE: usize = 600;
/// Maximum CPUs listed individually.
pub(super) const CPUS: usize = 128;
/// Families whose dropped series are counted by name; these series always fit.
const DROPPED: usize = 4;

/// A format of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4.
    Prometheus,
}

impl Format {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// The format of an `Accept` header; the text format if it prefers neither.
    pub fn accepted(header: &str) -> Self {
        let weight = |wanted: &str| {
            let ranges = header.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let media = parts.next()?.to_ascii_lowercase();
                let version =
                    |part: &str| part.strip_prefix("version=").map(|version| version.trim_matches('"') != "1.0.0");
                let other = wanted.starts_with("application/") && parts.clone().find_map(version).unwrap_or(false);
                let quality = parts.find_map(|part| part.strip_prefix(['q', 'Q'])?.strip_prefix('='));
                let quality = quality.map_or(Some(1.0), |quality| quality.parse().ok());
                (media == wanted && !other).then_some(quality?)
            });
            ranges.fold(0.0_f64, f64::max)
        };
        let open = weight("application/openmetrics-text");
        if open > 0.0 && open >= weight("text/plain") { Self::OpenMetrics } else { Self::Prometheus }
    }
}

/// Writes the page.
pub fn write(page: &Page<'_>, format: Format, out: &mut String) {
    let most = if page.frame.cpus.len() > CPUS { SERIES_OF_WIDE } else { SERIES };
    let mut left = most - DROPPED - 1;
    let mut written = 0;
    let mut dropped: Vec<(&str, usize)> = Vec::new();
    for family in all() {
        let before = out.len();
        head(family, format, out);
        let mut rows = Rows::new(out, family.series(), left);
        (family.read)(page, &mut rows);
        let (count, cut) = (rows.written, rows.dropped);
        if count == 0 {
            out.truncate(before);
        }
        left -= count;
        written += count;
        if cut > 0 {
            dropped.push((family.name, cut));
        }
    }
    written += own(format, &dropped, out);
    let series = Family { name: "series", help: "Series on this page.", ..OWN };
    head(&series, format, out);
    // Writing to memory cannot fail.
    let _ = writeln!(out, "{} {}", series.series(), written + 1);
    if format == Format::OpenMetrics {
        out.push_str("# EOF\n");
    }
}

/// Metrics of the page itself.
const OWN: Family = Family {
    name: "series_dropped",
    kind: Kind::Gauge,
    unit: "",
    help: "Series that did not fit on this page, by family.",
    labels: &["family"],
    section: super::Section::Monitor,
    read: |_, _| {},
};

/// The truncated families; beyond a few their sum.
fn own(format: Format, dropped: &[(&str, usize)], out: &mut String) -> usize {
    if dropped.is_empty() {
        return 0;
    }
    head(&OWN, format, out);
    let mut rows = Rows::new(out, OWN.series(), DROPPED);
    let (named, rest) = dropped.split_at(if dropped.len() > DROPPED { DROPPED - 1 } else { dropped.len() });
    for (family, count) in named {
        rows.add(&[("family", family)], Some(*count as f64));
    }
    let rest: usize = rest.iter().map(|(_, count)| count).sum();
    rows.add(&[("family", &"other")], Some(rest as f64).filter(|rest| *rest > 0.0));
    rows.written
}

fn head(family: &Family, format: Format, out: &mut String) {
    let (name, kind) = match format {
        Format::OpenMetrics => (family.full_name(), family.kind),
        // A format without info has a gauge.
        Format::Prometheus if family.kind == Kind::Info => (family.series(), Kind::Gauge),
        Format::Prometheus => (family.series(), family.kind),
    };
    let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {}", family.help, kind.name());
    if format == Format::OpenMetrics && !family.unit.is_empty() {
        let _ = writeln!(out, "# UNIT {name} {}", family.unit);
    }
}
