//! `topotop capture`: the files that the collectors read, as an archive that unpacks to a tree for `--root`.

use crate::output::{Output, is_stdout};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use topotop_collectors::Root;
use topotop_collectors::capture::{Entry, Report, Settings, capture};
use topotop_model::locale::{capture as words, error as text};

/// What `capture` takes.
#[derive(Clone, Debug, clap::Args)]
pub struct CaptureArgs {
    /// The archive to write: OUT.tar.zst; - is standard output.
    #[arg(value_name = "OUT.tar.zst")]
    pub output: PathBuf,
    /// 2 takes a second sample an interval later, for rates.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    pub samples: u8,
    /// Replace names of hosts, processes, control groups and addresses by others, the same ones by the same.
    #[arg(long)]
    pub anonymise: bool,
}

/// Compression that keeps up with reading.
const LEVEL: i32 = 6;

/// Captures the machine below `root`.
pub(crate) fn run(root: Root, args: &CaptureArgs, interval: Duration) -> Result<(), String> {
    let settings = Settings { second_after: (args.samples > 1).then_some(interval), anonymise: args.anonymise };
    let shown = args.output.display();
    let top = if is_stdout(&args.output) { Some(PathBuf::from("capture")) } else { top_directory(&args.output) };
    let top = top.ok_or_else(|| text::NoArchiveName { path: &shown }.to_string())?;
    let mut out = Output::create(Some(&args.output))?;
    let (report, written) = match archive(root, settings, &top, &mut out) {
        Ok(report) => (Some(report), Ok(())),
        Err(error) => (None, Err(error)),
    };
    out.finish(written)?;
    report.into_iter().for_each(say);
    Ok(())
}

/// The directory that everything is in, so that unpacking fills no other: `a/machine.tar.zst` has `machine`.
fn top_directory(output: &Path) -> Option<PathBuf> {
    let name = output.file_name()?.to_string_lossy();
    let stem = name.split('.').find(|part| !part.is_empty())?;
    Some(PathBuf::from(stem))
}

fn say(report: Report) {
    let Report { files, bytes, lost } = report;
    let kib = bytes / 1024;
    let said = if lost > 0 {
        words::WrittenLost { files: &files, kib: &kib, lost: &lost }.to_string()
    } else {
        words::Written { files: &files, kib: &kib }.to_string()
    };
    // Standard error may be closed; the archive is there all the same.
    let _ = writeln!(io::stderr(), "{said}");
}

/// Writes the archive.
pub(crate) fn archive(root: Root, settings: Settings, top: &Path, sink: impl Write) -> io::Result<Report> {
    let encoder = zstd::Encoder::new(sink, LEVEL)?;
    let mut archive = tar::Builder::new(encoder);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    append(&mut archive, now, top, &Entry::Directory)?;
    let report = capture(root, settings, &mut |path, entry| append(&mut archive, now, &top.join(path), entry))?;
    archive.into_inner()?.finish()?.flush()?;
    Ok(report)
}

fn append<W: Write>(archive: &mut tar::Builder<W>, now: u64, path: &Path, entry: &Entry) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mtime(now);
    header.set_size(0);
    header.set_mode(0o755);
    match entry {
        Entry::Directory => {
            header.set_entry_type(tar::EntryType::Directory);
            archive.append_data(&mut header, path, io::empty())
        }
        Entry::Link(target) => {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, path, target)
        }
        Entry::File(bytes) => {
            header.set_entry_type(tar::EntryType::Regular);
            header.set_mode(0o644);
            header.set_size(bytes.len() as u64);
            archive.append_data(&mut header, path, bytes.as_slice())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{archive, top_directory};
    use std::path::{Path, PathBuf};
    use topotop_collectors::capture::Settings;
    use topotop_collectors::{Demand, Options, Root, Sampler};

    #[test]
    fn everything_is_in_one_directory() {
        assert_eq!(top_directory(Path::new("a/machine.tar.zst")), Some(PathBuf::from("machine")));
        assert_eq!(top_directory(Path::new("..")), None);
        assert_eq!(top_directory(Path::new(".hidden")), Some(PathBuf::from("hidden")));
    }

    #[test]
    fn an_unpacked_archive_is_the_machine() {
        let machine = tempfile::tempdir().expect("a temporary directory");
        let write = |path: &str, text: &str| {
            let path = machine.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write("proc/stat", "cpu0 1 2 3 4\ncpu3 5 6 7 8\nctxt 9\n");
        write("sys/devices/system/cpu/online", "0,3\n");
        for cpu in [0, 3] {
            write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"), "0\n");
            write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), &format!("{cpu}\n"));
        }
        let root = || Root::at(machine.path()).expect("a root");
        let mut bytes = Vec::new();
        let settings = Settings { second_after: None, anonymise: false };
        archive(root(), settings, Path::new("machine"), &mut bytes).expect("archived");
        let there = tempfile::tempdir().expect("a temporary directory");
        let decoder = zstd::Decoder::new(bytes.as_slice()).expect("a frame");
        tar::Archive::new(decoder).unpack(there.path()).expect("unpacked");
        let sample = |root| {
            let mut sampler = Sampler::new(root, &Options::default());
            sampler.demand(Demand { complete: true, process: None });
            sampler.sample()
        };
        let (before, after) = (sample(root()), sample(Root::at(&there.path().join("machine")).expect("a root")));
        assert_eq!(after.cpu_times.data(), before.cpu_times.data());
        assert_eq!(after.cpu_topology.data(), before.cpu_topology.data());
        assert_eq!(after.cpu_topology.data().cpu.value(1), Some(3));
    }
}
