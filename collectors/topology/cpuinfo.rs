//! CPUs from /proc/cpuinfo, for trees whose sysfs was not captured.

use crate::files::{Files, MAX_ID};
use crate::parse::{lines, number, trim, whole_lines};
use std::collections::BTreeMap;
use topotop_model::tables::topology::CpuTopology;
use topotop_model::{IdSet, Reason, Section, Slots};

/// One CPU as /proc/cpuinfo describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    cpu: u32,
    package: Option<u64>,
    core: Option<u64>,
}

pub(super) fn read(files: &mut Files<'_>, section: &mut Section<CpuTopology>, slots: &mut Slots<u32>) {
    let root = files.root;
    let entries = match root.read("proc/cpuinfo", files.buffer()) {
        Ok(()) => {
            let (entries, cut) = parse(files.buffer());
            if cut {
                section.gaps.add("proc/cpuinfo", Reason::Malformed, "");
            }
            entries
        }
        Err(_) => Vec::new(),
    };
    let mut cores: BTreeMap<(u64, u64), IdSet> = BTreeMap::new();
    for entry in &entries {
        if let (Some(package), Some(core)) = (entry.package, entry.core) {
            cores.entry((package, core)).or_default().insert(entry.cpu);
        }
    }
    for entry in &entries {
        let (slot, _) = slots.slot(section.data_mut(), &entry.cpu);
        let table = section.data_mut();
        table.cpu.set(slot, u64::from(entry.cpu));
        table.online.set(slot, 1);
        table.present.set(slot, 1);
        table.package.set_or_clear(slot, entry.package);
        table.core.set_or_clear(slot, entry.core);
        match entry.package.zip(entry.core).and_then(|key| cores.get(&key)) {
            Some(set) => table.smt_siblings.set(slot, set.clone()),
            None => table.smt_siblings.clear(slot),
        }
    }
}

/// The CPUs of the file (only online ones are in it), and whether its end is missing.
fn parse(bytes: &[u8]) -> (Vec<Entry>, bool) {
    let (whole, cut) = whole_lines(bytes);
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines(whole) {
        let mut parts = line.splitn(2, |&byte| byte == b':');
        let (Some(key), Some(value)) = (parts.next(), parts.next()) else { continue };
        let (key, value) = (trim(key), trim(value));
        // s390 prints `processor 0: version = …`.
        let (key, value) = match key.strip_prefix(b"processor ") {
            Some(id) => (b"processor".as_slice(), trim(id)),
            None => (key, value),
        };
        let Some(value) = number(value) else { continue };
        match key {
            b"processor" => {
                let Some(cpu) = u32::try_from(value).ok().filter(|&cpu| cpu <= MAX_ID) else { continue };
                if entries.iter().rev().take(1).all(|last| last.cpu < cpu) {
                    entries.push(Entry { cpu, package: None, core: None });
                }
            }
            b"physical id" => set(&mut entries, |entry| entry.package = Some(value)),
            b"core id" => set(&mut entries, |entry| entry.core = Some(value)),
            _ => {}
        }
    }
    if cut {
        // Lines of the last CPU may be among those that are missing.
        entries.pop();
    }
    (entries, cut)
}

fn set(entries: &mut [Entry], change: impl FnOnce(&mut Entry)) {
    if let Some(last) = entries.last_mut() {
        change(last);
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;

    const TEXT: &str = "processor\t: 0\nmodel name\t: Some CPU\nphysical id\t: 0\ncore id\t\t: 10\n\n\
                        processor\t: 2\nmodel name\t: Some CPU\nphysical id\t: 1\ncore id\t\t: 10\n\n";

    #[test]
    fn takes_packages_and_cores() {
        let (entries, cut) = parse(TEXT.as_bytes());
        let ids: Vec<_> = entries.iter().map(|entry| (entry.cpu, entry.package, entry.core)).collect();
        assert_eq!(ids, [(0, Some(0), Some(10)), (2, Some(1), Some(10))]);
        assert!(!cut);
        let (s390, _) =
            parse(b"vendor_id : IBM/S390\nprocessor 0: version = FF, machine = 2964\nprocessor 1: version\n");
        assert_eq!(s390.iter().map(|entry| entry.cpu).collect::<Vec<_>>(), [0, 1]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            parse(&bytes);
        }

        #[test]
        fn cut_files_never_give_wrong_numbers(cut in 0usize..TEXT.len()) {
            let (whole, _) = parse(TEXT.as_bytes());
            let (entries, _) = parse(&TEXT.as_bytes()[..cut]);
            for entry in entries {
                let expected = whole.iter().find(|other| other.cpu == entry.cpu).expect("a CPU of the file");
                prop_assert!(entry.package.is_none_or(|package| Some(package) == expected.package));
                prop_assert!(entry.core.is_none_or(|core| Some(core) == expected.core));
            }
        }
    }
}
