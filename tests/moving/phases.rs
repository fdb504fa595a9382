//! What a machine does first and what it does then: its counters go on where they were.

use super::machine::{Machine, SECOND_NS, START_NS};
use super::text;
use crate::common::synthetic::put;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The wall clock in the first sample, in ns.
const WALL_NS: u64 = 1_700_000_000_000_000_000;

/// Writes a tree with a sample of each second of one machine after the other, each for so many seconds.
pub(super) fn write(phases: Vec<(Machine, u64)>, dir: &Path) {
    let mut index = String::new();
    let mut second = 0;
    // What each number of a file has gained by other rates, by path.
    let mut added: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let mut before: BTreeMap<String, String> = BTreeMap::new();
    for (mut machine, seconds) in phases {
        machine.complete();
        for (path, old) in &before {
            if let Some(new) = machine.files.get(path) {
                let pairs = text::values(old, second).into_iter().zip(text::values(new, second));
                let so_far = added.entry(path.clone()).or_default();
                for (at, (old, new)) in pairs.enumerate() {
                    so_far.resize(so_far.len().max(at + 1), 0);
                    so_far[at] += old as i64 - new as i64;
                }
            }
        }
        for _ in 0..seconds {
            let place = if second == 0 { ".".to_owned() } else { format!("t{second}") };
            sample(&machine, second, &added, &dir.join(&place));
            let clock = START_NS + second * SECOND_NS;
            let _ = writeln!(index, "{place} {} {clock} {clock}", WALL_NS + second * SECOND_NS);
            second += 1;
        }
        before = machine.files;
    }
    put(dir, "topotop/samples", &index);
}

fn sample(machine: &Machine, second: u64, added: &BTreeMap<String, Vec<i64>>, dir: &Path) {
    for (path, text) in &machine.files {
        let added = added.get(path).map_or(&[][..], Vec::as_slice);
        put(dir, path, &text::carried(text, second, added));
    }
    for (path, target) in &machine.links {
        let at = dir.join(path);
        std::fs::create_dir_all(at.parent().expect("a parent")).expect("a directory");
        std::os::unix::fs::symlink(target, at).expect("a link");
    }
}
