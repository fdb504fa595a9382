//! Caches that CPUs share, and the L3 of every CPU.

use crate::files::{Files, numbered};
use crate::parse::number;
use std::collections::HashSet;
use topotop_model::tables::topology::{CpuTopology, Domains};
use topotop_model::{IdSet, Section, Slots, Table};

const CPUS: &str = "sys/devices/system/cpu";
const PATTERN: &str = "sys/devices/system/cpu/cpu*/cache/index*/*";

/// A cache found at one of its CPUs.
struct Cache {
    level: u8,
    id: u64,
    cpus: IdSet,
    size: Option<u64>,
}

/// Fills the rows, and the L3 of every CPU. Groups that libhwloc added are restored by their owner.
pub(super) fn read(
    files: &mut Files<'_>,
    section: &mut Section<Domains>,
    cpus: &mut Section<CpuTopology>,
    slots: &mut Slots<(u8, u32)>,
    cpu_slots: &Slots<u32>,
) {
    let found = find(files, section, cpus);
    slots.begin();
    for row in cpus.data().rows().iter().collect::<Vec<_>>() {
        cpus.data_mut().l3.clear(row);
    }
    for cache in &found {
        if cache.level == 3 {
            for slot in cache.cpus.iter().filter_map(|cpu| cpu_slots.find(&cpu)) {
                cpus.data_mut().l3.set(slot, cache.id);
            }
        }
        let Some(first) = cache.cpus.first() else { continue };
        if cache.level < 3 && within_core(cache, cpus.data(), cpu_slots) {
            continue;
        }
        let (slot, _) = slots.slot(section.data_mut(), &(cache.level, first));
        let table = section.data_mut();
        table.kind.set(slot, &format!("L{}", cache.level));
        table.domain.set(slot, cache.id);
        table.cpus.set(slot, cache.cpus.clone());
        table.size_bytes.set_or_clear(slot, cache.size);
    }
    slots.finish(section.data_mut(), |_, _| {});
}

/// True for a cache that no CPU of another core shares.
fn within_core(cache: &Cache, cpus: &CpuTopology, cpu_slots: &Slots<u32>) -> bool {
    let core = cache.cpus.first().and_then(|cpu| cpu_slots.find(&cpu)).and_then(|slot| cpus.smt_siblings.get(slot));
    match core {
        Some(core) => cache.cpus.is_subset(core),
        None => cache.cpus.len() == 1,
    }
}

/// Every cache from the second level on. A CPU that another one named as sharing a cache of a level is not asked for
/// that level again: on 1,024 CPUs that saves most files.
fn find(files: &mut Files<'_>, section: &mut Section<Domains>, cpus: &Section<CpuTopology>) -> Vec<Cache> {
    let mut found: Vec<Cache> = Vec::new();
    // By level and CPU: known already.
    let mut known: HashSet<(u8, u32)> = HashSet::new();
    let table = cpus.data();
    let mut ids: Vec<u32> = table
        .rows()
        .iter()
        .filter(|&slot| table.present.value(slot) == Some(1))
        .filter_map(|slot| table.cpu.id(slot).value())
        .collect();
    ids.sort_unstable();
    let believable = IdSet::from_ids(ids.iter().copied());
    for &cpu in &ids {
        let Ok(names) = files.root.list(format!("{CPUS}/cpu{cpu}/cache")) else { continue };
        let mut indexes: Vec<u32> = names.iter().filter_map(|name| numbered(name.to_str()?, "index")).collect();
        indexes.sort_unstable();
        for index in indexes {
            let dir = format!("{CPUS}/cpu{cpu}/cache/index{index}");
            let level = files.number(&format!("{dir}/level"), PATTERN, &mut section.gaps);
            let Some(level) = level.and_then(|level| u8::try_from(level).ok()).filter(|level| (2..=9).contains(level))
            else {
                continue;
            };
            if known.contains(&(level, cpu)) {
                continue;
            }
            if let Some(cache) = cache(files, section, &dir, level, cpu, &found) {
                let shared = cache.cpus.intersection(&believable);
                known.extend(shared.iter().map(|cpu| (level, cpu)));
                found.push(cache);
            }
        }
    }
    found
}

/// Reads one cache; none when it is for instructions only or does not say which CPUs share it.
fn cache(
    files: &mut Files<'_>,
    section: &mut Section<Domains>,
    dir: &str,
    level: u8,
    cpu: u32,
    found: &[Cache],
) -> Option<Cache> {
    let gaps = &mut section.gaps;
    let instructions = files.bytes(&format!("{dir}/type")).is_ok_and(|kind| kind == b"Instruction");
    if instructions {
        return None;
    }
    let (list, map) = (format!("{dir}/shared_cpu_list"), format!("{dir}/shared_cpu_map"));
    let cpus = files.set(&list, &map, PATTERN, gaps).filter(|set| set.contains(cpu))?;
    let size = files.parsed(&format!("{dir}/size"), PATTERN, gaps, size);
    let id = files.number(&format!("{dir}/id"), PATTERN, gaps).filter(|&id| u32::try_from(id).is_ok());
    // An id that another cache of the level has already names neither of them.
    let id = id.filter(|&id| found.iter().all(|other| other.level != level || other.id != id));
    let id = id.or_else(|| cpus.first().map(u64::from))?;
    Some(Cache { level, id, cpus, size })
}

/// `512K`, `32M` in bytes.
fn size(bytes: &[u8]) -> Option<u64> {
    let (digits, unit) = match bytes.split_last()? {
        (b'K', digits) => (digits, 1 << 10),
        (b'M', digits) => (digits, 1 << 20),
        (b'G', digits) => (digits, 1 << 30),
        _ => (bytes, 1),
    };
    number(digits)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::size;
    use proptest::prelude::*;

    #[test]
    fn sizes_as_kernels_print_them() {
        assert_eq!(size(b"512K"), Some(512 << 10));
        assert_eq!(size(b"32M"), Some(32 << 20));
        assert_eq!(size(b"K"), None);
        assert_eq!(size(b"99999999999999999999K"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = size(&bytes);
        }
    }
}
