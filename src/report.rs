//! `topotop report`: a recorded test run as one page.

mod bins;
mod charts;
mod page;
mod phases;
mod read;
mod tables;
mod totals;

use crate::output::Output;
use crate::span::Given;
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

/// Reads the recording and writes the page.
pub(crate) fn run(args: &ReportArgs, judge: &judge::Settings) -> Result<(), String> {
    let report = read::read(&Given::parse(&args.recording, Path::is_file), judge)?;
    let mut out = Output::create(args.output.as_deref())?;
    let written = page::write(&report, &mut out);
    out.finish(written)
}
