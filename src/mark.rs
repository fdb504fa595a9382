//! `topotop mark`: a mark into a recording that goes on.

use crate::record::marks::{Running, running};
use std::path::PathBuf;
use topotop_model::locale::mark as text;
use topotop_model::text::printable;

/// The most recordings that are asked for their path: one that does not answer takes seconds.
const MOST: usize = 8;

/// What `mark` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct MarkArgs {
    /// The text of the mark; diff takes it as @mark:NAME and with --phases.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The recording, where several are running.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The process that records.
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
}

/// Writes the mark and says where.
pub(crate) fn run(args: &MarkArgs) -> Result<(), String> {
    if args.name.trim().is_empty() {
        return Err(text::NO_NAME.to_string());
    }
    let running = running(args.output.as_deref(), args.pid)?;
    let [one] = running.as_slice() else { return Err(which(args, &running)) };
    let path = one.send(&args.name).map_err(|error| text::NotMarked { error: &error }.to_string())?;
    let shown = path.display().to_string();
    crate::output::print(format!("{}\n", text::Marked { path: &printable(&shown) }).as_bytes())
}

/// Why none was marked.
fn which(args: &MarkArgs, running: &[Running]) -> String {
    let asked = running.iter().take(MOST).filter_map(|one| Some((one.send("").ok()?, one.pid()?)));
    let paths: Vec<String> = asked
        .map(|(path, pid)| {
            let path = path.display().to_string();
            text::OfProcess { path: &printable(&path), pid: &pid }.to_string()
        })
        .collect();
    match (&args.output, paths.is_empty()) {
        (Some(file), true) => text::NotRecorded { path: &file.display() }.to_string(),
        (None, true) => text::NONE_RUNNING.to_string(),
        (_, false) => text::SeveralRunning { paths: &paths.join(", ") }.to_string(),
    }
}
