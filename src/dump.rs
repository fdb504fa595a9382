//! `topotop export`: the raw columns of a recording as CSV, a section to standard output or a file each.

use crate::export::csv;
use crate::span::{self, Given};
use crate::{recording, units};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use topotop_model::locale::error as text;
use topotop_model::text::printable;
use topotop_model::{Section, Snapshot, Table, Visit};

/// What `export` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct ExportArgs {
    /// The recording, or a span of it: FILE@10:00-10:05, FILE@30s-90s, FILE@mark:X-mark:Y, FILE@command.
    #[arg(value_name = "FILE", required_unless_present = "list")]
    pub recording: Option<OsString>,
    /// The section to write, or all of them, a file each: --list tells their names.
    #[arg(long, short, value_name = "NAME", default_value = "all")]
    pub section: String,
    /// Where to: a file for one section, a directory for all.
    #[arg(long, short, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// List sections and columns with unit, meaning and source, and leave.
    #[arg(long)]
    pub list: bool,
}

/// Writes what is asked for.
pub(crate) fn run(args: &ExportArgs) -> Result<(), String> {
    if args.list {
        return quiet(io::stdout().write_all(&list()));
    }
    let Some(given) = &args.recording else { return Err(text::NO_RECORDING.to_string()) };
    if args.section != "all" && !sections().contains(&args.section.as_str()) {
        return Err(text::UnknownSection { section: &args.section, known: &sections().join(", ") }.to_string());
    }
    let given = Given::parse(given, Path::is_file);
    let name = printable(&given.path.display().to_string()).into_owned();
    let mut reader = recording::open(&given.path)?;
    let part = given.part.as_deref().or(Some("all"));
    let span = span::resolve(&mut reader, part).map_err(|error| format!("{name}: {error}"))?;
    let mut files = Files::open(args)?;
    let mut failed = None;
    let damaged = span::samples(&mut reader, (span.first, span.last), |_, snapshot| {
        failed = files.put(&snapshot).err();
        failed.is_none()
    });
    match failed.or_else(|| files.finish().err()) {
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe && args.output.is_none() => return Ok(()),
        Some(error) => return Err(format!("{}: {error}", files.shown)),
        None => {}
    }
    if damaged > 0 {
        // Standard error may be closed; what could be read is written all the same.
        let _ = writeln!(io::stderr(), "topotop: {name}: damaged, {damaged} times: samples are missing");
    }
    Ok(())
}

/// A closed pipe is no error.
fn quiet(result: io::Result<()>) -> Result<(), String> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
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
    open: Vec<(&'static str, Box<dyn Write>, u64)>,
    shown: String,
}

impl Files {
    fn open(args: &ExportArgs) -> Result<Self, String> {
        let wanted: Vec<&'static str> =
            sections().into_iter().filter(|name| args.section == "all" || args.section == *name).collect();
        let mut files = Self { open: Vec::new(), shown: "standard output".to_owned() };
        match (&args.output, args.section.as_str()) {
            (None, "all") => {
                return Err(text::NoOutput { known: &sections().join("|") }.to_string());
            }
            (None, _) => files.add(&wanted, |_| Ok(Box::new(BufWriter::new(io::stdout())) as Box<dyn Write>))?,
            (Some(path), section) => {
                files.shown = printable(&path.display().to_string()).into_owned();
                let wrong = |path: &Path, error: io::Error| format!("-o {}: {error}", path.display());
                if section == "all" {
                    std::fs::create_dir_all(path).map_err(|error| wrong(path, error))?;
                }
                let of = |name: &str| if section == "all" { path.join(format!("{name}.csv")) } else { path.clone() };
                files.add(&wanted, |name| {
                    let file = File::create(of(name)).map_err(|error| wrong(&of(name), error))?;
                    Ok(Box::new(BufWriter::new(file)) as Box<dyn Write>)
                })?;
            }
        }
        Ok(files)
    }

    fn add(
        &mut self,
        wanted: &[&'static str],
        open: impl Fn(&str) -> Result<Box<dyn Write>, String>,
    ) -> Result<(), String> {
        for name in wanted {
            self.open.push((name, open(name)?, 0));
        }
        let mut headers = Headers(self, Ok(()));
        each(&mut headers);
        let written = headers.1;
        written.map_err(|error| format!("{}: {error}", self.shown))
    }

    /// The sections that were read anew since the sample before.
    fn put(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        let mut rows = Rows(self, units::rfc3339(snapshot.stamp.wall_ns), Ok(()));
        snapshot.visit(&mut rows);
        rows.2
    }

    fn finish(&mut self) -> io::Result<()> {
        self.open.iter_mut().try_for_each(|file| file.1.flush())
    }
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
