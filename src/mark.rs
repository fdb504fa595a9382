//! `topotop mark`: a mark into a recording that goes on.

use crate::record::marks::{Running, running};
use std::path::{Path, PathBuf};
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
}

/// Writes the mark and says where.
pub(crate) fn run(args: &MarkArgs) -> Result<(), String> {
    if args.name.trim().is_empty() {
        return Err(text::NO_NAME.to_string());
    }
    let running = running(args.output.as_deref())?;
    let [one] = running.as_slice() else { return Err(which(args.output.as_deref(), &running)) };
    let path = one.send(&args.name).map_err(|error| text::NotMarked { error: &error }.to_string())?;
    let shown = path.display().to_string();
    crate::output::print(format!("{}\n", text::Marked { path: &printable(&shown) }).as_bytes())
}

/// Why none was marked.
fn which(file: Option<&Path>, running: &[Running]) -> String {
    let paths: Vec<PathBuf> = running.iter().take(MOST).filter_map(|one| one.send("").ok()).collect();
    match (file, paths.is_empty()) {
        (Some(file), true) => text::NotRecorded { path: &file.display() }.to_string(),
        (None, true) => text::NONE_RUNNING.to_string(),
        (_, false) => {
            let paths: Vec<String> =
                paths.iter().map(|path| printable(&path.display().to_string()).into_owned()).collect();
            text::SeveralRunning { paths: &paths.join(", ") }.to_string()
        }
    }
}
