//! `topotop export`: the raw columns of recordings as CSV, a section to standard output or a file each.

use crate::export::csv;
use crate::output::broker::Places;
use crate::output::{Output, print};
use crate::span::{self, Given};
use crate::{recording, units};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use topotop_model::locale::{error as text, in_english};
use topotop_model::text::printable;
use topotop_model::{Section, Snapshot, Table, Visit};

/// What `export` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    /// Recordings, of any machines, or spans of them: FILE@10:00-10:05, FILE@30s-90s, FILE@mark:X-mark:Y, FILE@command.
    #[arg(value_name = "FILE", required_unless_present = "list")]
    pub recordings: Vec<OsString>,
    /// The section to write, or all of them, a file each: --list tells their names.
    #[arg(long, short, value_name = "NAME", default_value = "all")]
    pub section: String,
    /// Where to: a file for one section, a directory for all.
    #[arg(long, short, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// The format.
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub format: String,
    /// List sections and columns with unit, meaning and source, and leave.
    #[arg(long)]
    pub list: bool,
}

impl ExportArgs {
    /// Where it writes.
    pub(crate) fn places(&self) -> Places {
        match &self.output {
            Some(folder) if self.section == "all" => Places { tables: vec![folder.clone()], ..Places::default() },
            output => Places::of(output.as_deref()),
        }
    }
}

/// Writes what is asked for.
pub(crate) fn run(args: &ExportArgs) -> Result<(), String> {
    if args.list {
        return print(&in_english(list));
    }
    if args.recordings.is_empty() {
        return Err(text::NO_RECORDING.to_string());
    }
    if args.format != "csv" {
        return Err(text::ExportFormat { format: &printable(&args.format) }.to_string());
    }
    if args.section != "all" && !sections().contains(&args.section.as_str()) {
        return Err(text::UnknownSection { section: &args.section, known: &sections().join(", ") }.to_string());
    }
    // All are looked at before anything is written: of a hundred files one that is none is no surprise after an hour.
    let parts = args.recordings.iter().map(|given| Part::open(given)).collect::<Result<Vec<_>, String>>()?;
    let Some(mut files) = Files::open(args)? else { return Ok(()) };
    let mut complaints = Vec::new();
    let mut written = Ok(());
    for part in &parts {
        match part.write(&mut files) {
            Ok(Ok(0)) => {}
            Ok(Ok(damaged)) => {
                complaints.push(format!("topotop: {}\n", text::DamagedCount { path: &part.name, count: &damaged }));
            }
            Ok(Err(error)) => {
                written = Err(error);
                break;
            }
            Err(error) => return files.finish(Err(io::Error::other(error))),
        }
    }
    files.finish(written)?;
    // Standard error may be closed; what could be read is written all the same.
    let _ = io::stderr().write_all(complaints.concat().as_bytes());
    Ok(())
}

/// A recording, or a span of one.
struct Part {
    path: PathBuf,
    name: String,
    span: (u64, u64),
}

impl Part {
    /// Opened only while it is looked at: there may be more recordings than descriptors.
    fn open(given: &OsStr) -> Result<Self, String> {
        let given = Given::parse(given, Path::is_file);
        let name = printable(&given.path.display().to_string()).into_owned();
        let mut reader = recording::open(&given.path)?;
        let part = given.part.as_deref().or(Some("all"));
        let span = span::resolve(&mut reader, part).map_err(|error| format!("{name}: {error}"))?;
        Ok(Self { path: given.path, name, span: (span.first, span.last) })
    }

    /// Writes its samples; how often one could not be read.
    fn write(&self, files: &mut Files) -> Result<io::Result<u64>, String> {
        let mut reader = recording::open(&self.path)?;
        let about = reader.about();
        files.begin(&about.host, &about.boot_id);
        let mut written = Ok(());
        let damaged = span::samples(&mut reader, self.span, |_, snapshot| {
            written = files.put(&snapshot);
            written.is_ok()
        });
        Ok(written.map(|()| damaged))
    }
}

/// Calls a function for every section, in the order of the list.
fn each(visitor: &mut impl Visit) {
    Snapshot::default().visit(visitor);
}

fn sections() -> Vec<&'static str> {
    struct Names(Vec<&'static str>);
    impl Visit for Names {
        fn section<T: Table>(&mut self, _: &'static str, _: &Arc<Section<T>>) {
            self.0.push(T::NAME);
        }
    }
    let mut names = Names(Vec::new());
    each(&mut names);
    names.0
}

fn list() -> Vec<u8> {
    struct List(Vec<u8>);
    impl Visit for List {
        fn section<T: Table>(&mut self, _: &'static str, _: &Arc<Section<T>>) {
            for column in T::COLUMNS {
                // Writing to memory cannot fail.
                let _ = writeln!(
                    self.0,
                    "{},{},{},{},\"{}\"",
                    T::NAME,
                    csv::name(column),
                    csv::unit(column.unit),
                    csv::meaning(column.meaning),
                    column.source
                );
            }
        }
    }
    let mut list = List(b"section,column,unit,meaning,source\n".to_vec());
    each(&mut list);
    list.0
}

/// Where each section goes and what was written of it last.
struct Files {
    /// By section, in the order of the list.
    open: Vec<(&'static str, Output, u64)>,
    /// The cells of host and boot.
    origin: String,
}

impl Files {
    /// Opened, with their first lines; none where nobody reads them any more.
    fn open(args: &ExportArgs) -> Result<Option<Self>, String> {
        let wanted: Vec<&'static str> =
            sections().into_iter().filter(|name| args.section == "all" || args.section == *name).collect();
        let folder = match (&args.output, args.section.as_str()) {
            (None, "all") => return Err(text::NoOutput { known: &sections().join("|") }.to_string()),
            (Some(path), "all") => {
                crate::folder::make_of(&path.join("new")).map_err(|error| {
                    let path = path.display().to_string();
                    format!("-o {}: {}", printable(&path), crate::trust::said(&error))
                })?;
                Some(path)
            }
            _ => None,
        };
        let mut files = Self { open: Vec::new(), origin: String::new() };
        for name in wanted {
            let output = match folder {
                Some(folder) => Output::create(Some(&folder.join(format!("{name}.csv"))))?,
                None => Output::create(args.output.as_deref())?,
            };
            files.open.push((name, output, 0));
        }
        let mut headers = Headers(&mut files, Ok(()));
        each(&mut headers);
        match headers.1 {
            Ok(()) => Ok(Some(files)),
            Err(error) => files.finish(Err(error)).map(|()| None),
        }
    }

    /// Goes on with another recording.
    fn begin(&mut self, host: &str, boot: &str) {
        let mut origin = Vec::new();
        // Writing to memory cannot fail.
        let _ = csv::text(host, &mut origin)
            .and_then(|()| origin.write_all(b","))
            .and_then(|()| csv::text(boot, &mut origin));
        self.origin = String::from_utf8_lossy(&origin).into_owned();
        self.open.iter_mut().for_each(|file| file.2 = 0);
    }

    /// The sections that were read anew since the sample before.
    fn put(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        let beginning = format!("{},{}", self.origin, units::rfc3339(snapshot.stamp.wall_ns));
        let mut rows = Rows(self, beginning, Ok(()));
        snapshot.visit(&mut rows);
        rows.2
    }

    /// All of them are whole, or none gets its name.
    fn finish(mut self, written: io::Result<()>) -> Result<(), String> {
        let flushed = written.and_then(|()| self.open.iter_mut().try_for_each(|file| file.1.flush()));
        let failed = flushed.err();
        for (_, output, _) in self.open {
            output.finish(failed.as_ref().map_or(Ok(()), |error| Err(copied(error))))?;
        }
        Ok(())
    }
}

fn copied(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| io::Error::new(error.kind(), error.to_string()), io::Error::from_raw_os_error)
}

/// Writes the line of names of each section.
struct Headers<'a>(&'a mut Files, io::Result<()>);
impl Visit for Headers<'_> {
    fn section<T: Table>(&mut self, _: &'static str, _: &Arc<Section<T>>) {
        if let Some(file) = self.0.open.iter_mut().find(|file| file.0 == T::NAME) {
            let written = csv::header::<T>(&mut file.1);
            self.1 = std::mem::replace(&mut self.1, Ok(())).and(written);
        }
    }
}

/// Writes the rows of each section that was read anew.
struct Rows<'a>(&'a mut Files, String, io::Result<()>);
impl Visit for Rows<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &Arc<Section<T>>) {
        let file = self.0.open.iter_mut().find(|file| file.0 == T::NAME && file.2 != section.read_at_ns);
        if let Some(file) = file {
            file.2 = section.read_at_ns;
            let written = csv::rows(section, &self.1, &mut file.1);
            self.2 = std::mem::replace(&mut self.2, Ok(())).and(written.map(|_| ()));
        }
    }
}
