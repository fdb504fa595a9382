//! `topotop report`: a recorded test run as one page.

mod bins;
mod charts;
mod page;
mod phases;
mod read;
mod tables;
mod totals;

use crate::diff::Part;
use crate::output::Output;
use crate::recording;
use crate::span::{Given, Span};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use topotop_model::judge;

/// What `report` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// The recording, or a span of it: FILE@10:00-10:05, FILE@30s-90s, FILE@mark:X-mark:Y, FILE@command.
    #[arg(value_name = "FILE")]
    pub recording: OsString,
    /// The page to write.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What a page says about a span of a recording: for the page of a comparison.
pub(crate) fn side(path: &Path, span: Span, name: &str, judge: &judge::Settings) -> Result<Part, String> {
    let mut reader = recording::open(path)?;
    let report = read::read_span(&mut reader, path, span, judge)?;
    let mut html = Vec::new();
    page::side(name, &report, &mut html).map_err(|error| error.to_string())?;
    Ok(Part { headline: page::headline(&report), html })
}

/// Reads the recording and writes the page.
pub(crate) fn run(args: &ReportArgs, judge: &judge::Settings) -> Result<(), String> {
    let report = read::read(&Given::parse(&args.recording, Path::is_file), judge)?;
    let mut out = Output::create(args.output.as_deref())?;
    let written = page::write(&report, &mut out);
    out.finish(written)
}
