//! `topotop record cut`, `record merge` and `record info`: what is done with recordings without playing them.

mod info;

use crate::recording::{self, Copy, Reader};
use crate::span::{self, Given};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use topotop_model::locale::{error as text, recording as report_text};
use topotop_model::recording::About;
use topotop_model::text::printable;

/// What to do with recordings.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Edit {
    /// Write a part of a recording to a new one, with its events.
    Cut {
        /// The recording, or a span of it: FILE@10:00-10:05, FILE@mark:X-mark:Y, FILE@command.
        #[arg(value_name = "FILE")]
        recording: OsString,
        /// The recording to write, a file that does not exist yet.
        #[arg(long, short, value_name = "OUT")]
        output: PathBuf,
        /// Where it begins: 14:05, 10m (after the start), -30s (before the end), mark:NAME [default: start].
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        from: Option<String>,
        /// Where it ends [default: end].
        #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
        to: Option<String>,
    },
    /// Write recordings of one boot of one machine to a single one, in order of time.
    Merge {
        /// The recordings, in any order.
        #[arg(value_name = "FILE", num_args = 2.., required = true)]
        recordings: Vec<PathBuf>,
        /// The recording to write, a file that does not exist yet.
        #[arg(long, short, value_name = "OUT")]
        output: PathBuf,
    },
    /// Say what is in a recording: machine, span, samples, size, events, damage.
    Info {
        /// The recording.
        #[arg(value_name = "FILE")]
        recording: PathBuf,
        /// Write JSON.
        #[arg(long)]
        json: bool,
    },
}

impl Edit {
    /// The recording that it writes.
    pub(crate) fn output(&self) -> Option<&Path> {
        match self {
            Self::Cut { output, .. } | Self::Merge { output, .. } => Some(output),
            Self::Info { .. } => None,
        }
    }
}

/// Does it.
pub(crate) fn run(edit: &Edit) -> Result<(), String> {
    match edit {
        Edit::Cut { recording, output, from, to } => cut(recording, output, from.as_deref(), to.as_deref()),
        Edit::Merge { recordings, output } => merge(recordings, output),
        Edit::Info { recording, json } => info::run(recording, *json),
    }
}

fn cut(recording: &OsString, output: &Path, from: Option<&str>, to: Option<&str>) -> Result<(), String> {
    let mut given = Given::parse(recording, Path::is_file);
    if from.is_some() || to.is_some() {
        if given.part.is_some() {
            return Err(text::TWO_SPANS.to_string());
        }
        given.part = Some(format!("{}..{}", from.unwrap_or("start"), to.unwrap_or("end")));
    }
    let Some(part) = given.part.as_deref() else {
        return Err(text::NO_SPAN.to_string());
    };
    let name = shown(&given.path);
    let mut reader = recording::open(&given.path)?;
    let span = span::resolve(&mut reader, Some(part)).map_err(|error| format!("{name}: {error}"))?;
    let about = beginning(&mut reader, span.first);
    let mut copy = Copy::create(output, about)?;
    let copied = copy.append(&mut reader, (span.first, span.last));
    finish(copy, copied, output)
}

fn merge(recordings: &[PathBuf], output: &Path) -> Result<(), String> {
    let mut readers = Vec::new();
    for path in recordings {
        let reader = recording::open(path)?;
        let numbers = reader.numbers().ok_or_else(|| text::EmptyRecording { path: &shown(path) }.to_string())?;
        let start = reader.span().map_or(0, |span| span.0.mono_ns);
        readers.push((start, path, (*numbers.start(), *numbers.end()), reader));
    }
    readers.sort_by_key(|reader| reader.0);
    let Some((first, rest)) = readers.split_first() else { return Ok(()) };
    for other in rest {
        belongs(first.1, first.3.about(), other.1, other.3.about())?;
    }
    let mut copy = Copy::create(output, first.3.about().clone())?;
    let mut damaged = Ok(0);
    for (_, _, numbers, reader) in &mut readers {
        damaged = damaged.and_then(|before| Ok(before + copy.append(reader, *numbers)?));
    }
    finish(copy, damaged, output)
}

/// An error where two recordings cannot be one.
fn belongs(path: &Path, about: &About, other_path: &Path, other: &About) -> Result<(), String> {
    let (path, other_path) = (shown(path), shown(other_path));
    if about.host != other.host {
        let (one, two) = (printable(&about.host), printable(&other.host));
        return Err(text::DifferentMachines { path: &path, other: &other_path, one: &one, two: &two }.to_string());
    }
    if about.boot_id.is_empty() || about.boot_id != other.boot_id {
        let (one, two) = (printable(&about.boot_id), printable(&other.boot_id));
        return Err(text::DifferentBoots { path: &path, other: &other_path, one: &one, two: &two }.to_string());
    }
    if about.anonymised != other.anonymised {
        return Err(text::DifferentAnonymisation { path: &path, other: &other_path }.to_string());
    }
    Ok(())
}

/// What a recording says of itself, but for when it begins.
fn beginning(reader: &mut Reader, first: u64) -> About {
    let started_wall_ns = reader.when(first).map(|when| when.wall_ns);
    let about = reader.about().clone();
    About { started_wall_ns: started_wall_ns.unwrap_or(about.started_wall_ns), ..about }
}

fn finish(copy: Copy, damaged: Result<u64, String>, output: &Path) -> Result<(), String> {
    let damaged = damaged?;
    let (samples, bytes) = copy.finish()?;
    let kib = bytes.div_ceil(1024);
    let path = shown(output);
    let report = if damaged > 0 {
        report_text::WrittenWithoutDamage { path: &path, samples: &samples, kib: &kib }.to_string()
    } else {
        report_text::Written { path: &path, samples: &samples, kib: &kib }.to_string()
    };
    // Standard error may be closed; the file is there all the same.
    let _ = writeln!(std::io::stderr(), "{report}");
    Ok(())
}

fn shown(path: &Path) -> String {
    printable(&path.display().to_string()).into_owned()
}
