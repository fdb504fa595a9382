//! Recordings that are whole and say the impossible: numbers at the ends of their range, no numbers at all, endless names,
//! 65,535 CPUs, clocks that stand still or go back.

use super::attack::{Chance, recorded_verbs, repeat, survives};
use crate::common::captured;
use std::path::Path;
use std::sync::Arc;
use topotop_collectors::{Demand, Options, Root, Sampler};
use topotop_model::derive::Deriver;
use topotop_model::judge::{Judge, Settings};
use topotop_model::recording::{About, Chunk, Composer, Limits};
use topotop_model::{ColumnMut, IdSet, Section, Snapshot, Stamp, Table, VisitMut, Window};

/// Numbers that something divides by, adds up, casts or takes for a rate.
const NUMBERS: [u64; 12] = [
    0,
    1,
    65_535,
    u32::MAX as u64,
    1 << 52,
    i64::MAX as u64,
    i64::MAX as u64 + 1,
    u64::MAX - 1,
    u64::MAX,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
];
/// Names that a terminal or a table would choke on.
const NAMES: [&str; 6] = ["", "\u{1b}[31m\u{7}", "\u{202e}gnp", "../../../etc/shadow", "a\tb\nc", "漢字漢字"];

/// Overwrites cells: one in so many.
struct Twist<'a> {
    chance: &'a mut Chance,
    one_in: usize,
}

impl VisitMut for Twist<'_> {
    fn section<T: Table>(&mut self, _: &'static str, section: &mut Arc<Section<T>>) {
        let section = Arc::make_mut(section);
        let slots: Vec<usize> = section.data().rows().iter().collect();
        for index in 0..T::COLUMNS.len() {
            for &slot in &slots {
                if self.chance.below(self.one_in) == 0
                    && let Some(column) = section.data_mut().column_mut(index)
                {
                    cell(self.chance, column, slot);
                }
            }
        }
    }
}

fn cell(chance: &mut Chance, column: ColumnMut<'_>, slot: usize) {
    let number = NUMBERS[chance.below(NUMBERS.len())];
    match column {
        ColumnMut::Num(numbers) if chance.below(8) == 0 => numbers.clear(slot),
        ColumnMut::Num(numbers) => numbers.set(slot, number),
        ColumnMut::Text(texts) if chance.below(8) == 0 => texts.set(slot, &"long ".repeat(5000)),
        ColumnMut::Text(texts) => texts.set(slot, NAMES[chance.below(NAMES.len())]),
        ColumnMut::Sets(sets) => sets.set(slot, IdSet::from_ids([0, 7, 65_535, number as u32])),
        ColumnMut::Sparse(pairs) => pairs.set(slot, [(0, number), (65_535, u64::MAX), (u32::MAX, 1)]),
    }
}

/// This machine, and each that the project captured.
fn machines() -> Vec<Snapshot> {
    let archives = captured::archives().into_iter().filter(|path| path.starts_with(captured::OWN));
    let captured = archives.map(|archive| {
        let dir = captured::unpacked(&archive);
        let tops = [captured::top(dir.path()), dir.path().join("t0")];
        let top = tops.iter().find(|top| top.join("proc").is_dir()).expect("a machine");
        looked_at(Root::at(top).expect("a root"))
    });
    std::iter::once(looked_at(Root::live().expect("a root"))).chain(captured).collect()
}

/// A machine, looked at completely.
fn looked_at(root: Root) -> Snapshot {
    let mut sampler = Sampler::new(root, &Options::default());
    sampler.demand(Demand { complete: true, ..Demand::default() });
    sampler.sample();
    std::thread::sleep(std::time::Duration::from_millis(50));
    sampler.sample()
}

/// Samples that have less and less to do with a machine.
fn samples(seen: &Snapshot, chance: &mut Chance) -> Vec<Snapshot> {
    let mut last = seen.clone();
    let clocks = [0, 1, 1_000_000_000, u64::MAX, 86_400_000_000_000];
    (0..5)
        .map(|second| {
            let usual = seen.stamp.mono_ns.saturating_add(second * 1_000_000_000);
            last.stamp.mono_ns = if chance.below(16) == 0 { clocks[chance.below(clocks.len())] } else { usual };
            last.stamp.wall_ns = match chance.below(16) {
                0 => [i64::MIN, -1, 0, i64::MAX][chance.below(4)],
                _ => seen.stamp.wall_ns.saturating_add(second as i64 * 1_000_000_000),
            };
            let one_in = [3, 20, 200, 2000][chance.below(4)];
            last.visit_mut(&mut Twist { chance, one_in });
            last.clone()
        })
        .collect()
}

/// Writes them with right checksums.
fn record(samples: &[Snapshot], path: &Path) {
    let about = About { host: "extreme".into(), interval_ns: 1_000_000_000, ..About::default() };
    let mut composer = Composer::new(about, Some(Limits::default()));
    let mut file = Vec::new();
    let mut put = |chunk: Chunk| {
        for (offset, bytes) in chunk.writes {
            let end = offset as usize + bytes.len();
            file.resize(end.max(file.len()), 0);
            file[offset as usize..end].copy_from_slice(&bytes);
        }
    };
    for sample in samples {
        put(composer.judged(sample, None).expect("encoded"));
    }
    composer.finish().into_iter().for_each(&mut put);
    std::fs::write(path, file).expect("a file");
}

fn judged(samples: &[Snapshot]) {
    let (mut judge, mut window, mut deriver) = (Judge::new(Settings::default()), Window::default(), Deriver::default());
    for sample in samples {
        window.push(sample.clone());
        let frame = deriver.frame(&window);
        let judgement = judge.step(&frame);
        // Titles are made of the same numbers.
        let titles: usize = judgement.findings.iter().map(|finding| finding.title().len()).sum();
        std::hint::black_box(titles);
    }
}

#[test]
fn numbers_at_the_ends_of_their_range_are_judged_and_drawn() {
    let machines = machines();
    for (seed, seen) in (1..60_u64).zip(machines.iter().cycle()) {
        judged(&samples(seen, &mut Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)));
    }
}

#[test]
fn verbs_survive_what_is_whole_and_impossible() {
    let (dir, machines) = (tempfile::tempdir().expect("a directory"), machines());
    let path = dir.path().join("extreme.rec");
    for (seed, seen) in (1..9_u64).zip(machines.iter().cycle()) {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        record(&samples(seen, &mut chance), &path);
        every_verb(dir.path(), &path);
    }
}

#[test]
#[ignore = "make attack"]
fn hostile_numbers() {
    let (dir, machines) = (tempfile::tempdir().expect("a directory"), machines());
    let path = dir.path().join("extreme.rec");
    let out = dir.path().join("out.rec").display().to_string();
    repeat("hostile numbers", |chance| {
        let samples = samples(&machines[chance.below(machines.len())], chance);
        judged(&samples);
        record(&samples, &path);
        let path = path.display().to_string();
        let verbs = recorded_verbs(&path, &path, &out);
        survives("a recording of extremes", &verbs[chance.below(verbs.len())]);
        let _ = std::fs::remove_file(&out);
    });
}

#[test]
fn verbs_survive_65_535_cpus() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("wide.rec");
    let samples: Vec<Snapshot> = (1..4_u64).map(wide).collect();
    record(&samples, &path);
    every_verb(dir.path(), &path);
}

fn wide(second: u64) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mono_ns = second * 1_000_000_000;
    snapshot.stamp = Stamp { seq: 0, wall_ns: mono_ns as i64, mono_ns, boot_ns: mono_ns };
    let times = Arc::make_mut(&mut snapshot.cpu_times);
    times.begin(mono_ns);
    for cpu in 0..65_535 {
        let table = times.data_mut();
        let slot = table.insert();
        table.cpu.set(slot, cpu);
        table.user.set(slot, second * (cpu % 100));
        table.idle.set(slot, second * (100 - cpu % 100));
    }
    snapshot
}

fn every_verb(dir: &Path, recording: &Path) {
    let (path, out) = (recording.display().to_string(), dir.join("out.rec").display().to_string());
    for verb in recorded_verbs(&path, &path, &out) {
        let _ = std::fs::remove_file(&out);
        survives("a recording of extremes", &verb);
    }
}
