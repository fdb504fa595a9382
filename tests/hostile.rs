//! Every file that the collectors ask for, damaged in every way: a gap, never a panic, never a wrong number.

use crate::common::synthetic::Machine;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use topotop_collectors::{Options, Root, Sampler, root::Use};
use topotop_model::derive::Deriver;
use topotop_model::frame::Frame;
use topotop_model::{Column, Section, Snapshot, Table, Visit, Window};

/// What a damaged tree says, and what was asked of it.
fn read(dir: &Path) -> (Snapshot, Frame) {
    let mut sampler = Sampler::new(Root::at(dir).expect("a root"), &Options::default());
    sampler.demand(topotop_collectors::Demand { complete: true, ..Default::default() });
    let snapshot = sampler.sample();
    let mut window = Window::default();
    window.push(snapshot.clone());
    let frame = Deriver::default().frame(&window);
    (snapshot, frame)
}

/// Numbers of every table by table, column and the row's first identifying values.
#[derive(Default)]
struct Numbers(BTreeMap<(String, String), u64>);

impl Visit for Numbers {
    fn section<T: Table>(&mut self, name: &'static str, section: &std::sync::Arc<Section<T>>) {
        if ["cost", "process_memory"].contains(&name) {
            return;
        }
        let table = section.data();
        for slot in table.rows().iter() {
            let key = identity(table, slot);
            for (index, column) in T::COLUMNS.iter().enumerate() {
                if column.name.ends_with("_at_ns") {
                    continue;
                }
                let cell = (key.clone(), format!("{name}.{}", column.name));
                match table.column(index) {
                    Some(Column::Num(numbers)) => {
                        if let Some(value) = numbers.value(slot) {
                            self.0.insert(cell, value);
                        }
                    }
                    Some(Column::Sparse(numbers)) => {
                        for &(id, value) in numbers.get(slot).unwrap_or_default() {
                            self.0.insert((format!("{key}@{id}"), cell.1.clone()), value);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The row's identifying columns as text.
fn identity<T: Table>(table: &T, slot: usize) -> String {
    let ids = T::COLUMNS.iter().enumerate().filter(|(_, column)| column.meaning == topotop_model::Meaning::Id);
    let parts = ids.map(|(index, _)| match table.column(index) {
        Some(Column::Num(numbers)) => format!("{:?}", numbers.raw(slot)),
        Some(Column::Text(texts)) => texts.get(slot).map(ToString::to_string).unwrap_or_default(),
        _ => String::new(),
    });
    parts.collect::<Vec<_>>().join("/")
}

fn numbers(snapshot: &Snapshot) -> BTreeMap<(String, String), u64> {
    let mut numbers = Numbers::default();
    snapshot.visit(&mut numbers);
    numbers.0
}

/// Columns that are sums or counts over what could be read: they may be smaller, never larger.
fn is_sum(column: &str) -> bool {
    [
        "total",
        "msi",
        "processes",
        "online",
        "isolated",
        "threads_watched",
        "allocstall",
        "low_watermark_bytes",
        "vector",
    ]
    .iter()
    .any(|part| column.ends_with(part))
}

fn compare(what: &str, good: &BTreeMap<(String, String), u64>, damaged: &Snapshot) {
    for (cell, value) in numbers(damaged) {
        match good.get(&cell) {
            Some(&right) if value == right => {}
            Some(&right) if is_sum(&cell.1) && value < right => {}
            Some(&right) => panic!("{what}: {cell:?} is {value} instead of {right}"),
            // A row under another identity: its numbers are its own, as long as the damaged file did not make them up.
            None => {}
        }
    }
}

type Damage = (&'static str, fn(&Path, &[u8]));

/// Ways to damage a file; the last four replace it by something that is no file.
const DAMAGE: &[Damage] = &[
    ("empty", |path, _| fs::write(path, b"").expect("written")),
    ("cut in the middle", |path, bytes| fs::write(path, &bytes[..bytes.len() / 2]).expect("written")),
    ("binary", |path, _| {
        fs::write(path, (0..4096u32).map(|i| (i * 37 % 251) as u8).collect::<Vec<_>>()).expect("written");
    }),
    ("one endless line", |path, _| fs::write(path, vec![b'9'; 1 << 20]).expect("written")),
    ("negative", |path, _| fs::write(path, b"-1\n").expect("written")),
    ("absurd", |path, _| fs::write(path, b"0-4294967295\n").expect("written")),
    ("a directory", |path, _| fs::create_dir(path).expect("made")),
    ("a FIFO", |path, _| {
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path, kind, rustix::fs::Mode::RUSR, 0).expect("made");
    }),
    ("a link out of the root", |path, _| symlink("/etc/passwd", path).expect("linked")),
    ("a link to itself", |path, _| symlink(path.file_name().expect("a name"), path).expect("linked")),
];

#[test]
fn damaged_files_are_gaps_never_panics_never_wrong_numbers() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    Machine::SMALL.write(dir.path(), 0);
    let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root").traced(), &Options::default());
    sampler.demand(topotop_collectors::Demand { complete: true, ..Default::default() });
    let good = numbers(&sampler.sample());
    assert!(good.len() > 500, "the synthetic machine says {} numbers", good.len());
    let asked: Vec<_> =
        sampler.root().trace().into_iter().filter(|(_, used)| *used == Use::File).map(|(path, _)| path).collect();
    for path in &asked {
        let full = dir.path().join(path);
        let Ok(original) = fs::read(&full) else { continue };
        for (name, damage) in DAMAGE {
            fs::remove_file(&full).expect("removed");
            damage(&full, &original);
            let (snapshot, _) = read(dir.path());
            // A file of one value may say anything that has the right form, and some captures cut its newline off:
            // only the form can be judged. Files of many lines end every line, so a cut one shows.
            let one_value = original.split(|&byte| byte == b'\n').nth(2).is_none();
            let has_the_form = match *name {
                "negative" | "absurd" | "one endless line" => true,
                "cut in the middle" => one_value,
                _ => false,
            };
            if !has_the_form {
                compare(&format!("{} is {name}", path.display()), &good, &snapshot);
            }
            let _ = fs::remove_dir(&full);
            let _ = fs::remove_file(&full);
            fs::write(&full, &original).expect("restored");
        }
    }
}

#[test]
fn a_root_of_nothing_is_all_gaps() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (snapshot, frame) = read(dir.path());
    assert!(numbers(&snapshot).keys().all(|cell| cell.1.starts_with("host.")), "{:?}", numbers(&snapshot));
    assert!(!frame.gaps.is_empty());
    assert!(frame.processes.is_empty() && frame.cpus.is_empty() && frame.nics.is_empty());
}
