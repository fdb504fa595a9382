//! Phases of two recordings, paired by their marks.

use super::{Format, Report, fold, report, write};
use crate::recording;
use crate::span::{self, Given};
use std::io::Write;
use topotop_model::judge;
use topotop_model::locale::error;
use topotop_widgets::Charset;

/// Phases that are compared at most.
const MOST_PHASES: usize = 64;

/// The comparison of each phase that both recordings have.
pub(super) fn reports(
    before: &Given,
    after: &Given,
    judge: &judge::Settings,
    all: bool,
) -> Result<Vec<Report>, String> {
    if before.part.is_some() || after.part.is_some() {
        return Err(error::PHASES_SPAN.to_string());
    }
    let [one, other] =
        [before, after].map(|given| recording::open(&given.path).map(|mut reader| span::phases(&mut reader)));
    let (one, other) = (one?, other?);
    let both: Vec<&String> = one.iter().filter(|name| other.contains(name)).take(MOST_PHASES).collect();
    if both.is_empty() {
        return Err(error::NO_COMMON_MARK.to_string());
    }
    let side = |given: &Given, name: &str| fold(&given.path, judge, |reader| span::phase(reader, name));
    both.into_iter().map(|name| Ok(report(side(before, name)?, side(after, name)?, all))).collect()
}

/// One after the other; in JSON a document per line.
pub(super) fn write_all(
    reports: &[Report],
    format: Format,
    width: usize,
    charset: Charset,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    for (at, report) in reports.iter().enumerate() {
        if at > 0 && format == Format::Text {
            writeln!(out)?;
        }
        write(report, format, width, charset, out)?;
    }
    Ok(())
}
