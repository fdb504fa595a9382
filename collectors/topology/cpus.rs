//! One row per CPU that the kernel could ever bring up.

use super::cpuinfo;
use crate::files::{Files, numbered_entries, put};
use crate::parse::number;
use std::fmt::Write as _;
use std::sync::Arc;
use topotop_model::tables::topology::CpuTopology;
use topotop_model::{IdSet, Known, Section, Slots, Table};

const CPUS: &str = "sys/devices/system/cpu";

/// Fills the rows from sysfs, or from /proc/cpuinfo where sysfs has no CPUs.
pub(super) fn read(files: &mut Files<'_>, section: &mut Section<CpuTopology>, slots: &mut Slots<u32>) {
    slots.begin();
    let dirs = numbered_entries(files.root, CPUS, "cpu").unwrap_or_default();
    if dirs.is_empty() {
        cpuinfo::read(files, section, slots);
    } else {
        sysfs(files, section, slots, &IdSet::from_ids(dirs));
    }
    slots.finish(section.data_mut(), |_, _| {});
}

fn sysfs(files: &mut Files<'_>, section: &mut Section<CpuTopology>, slots: &mut Slots<u32>, dirs: &IdSet) {
    let gaps = &mut section.gaps;
    let mut set = |name: &str| files.list(&format!("{CPUS}/{name}"), gaps);
    let (possible, present, online) = (set("possible"), set("present"), set("online"));
    let (isolated, nohz_full) = (set("isolated").unwrap_or_default(), set("nohz_full").unwrap_or_default());
    // A captured tree may hold less than its lists say, or more.
    let present = present.map_or_else(|| dirs.clone(), |set| set.union(dirs));
    let all = possible.map_or_else(|| present.clone(), |set| set.union(&present));
    let mut packages = Siblings::default();
    for cpu in all.iter() {
        let (slot, _) = slots.slot(section.data_mut(), &cpu);
        let table = section.data_mut();
        table.cpu.set(slot, u64::from(cpu));
        table.present.set(slot, u64::from(present.contains(cpu)));
        table.isolated.set(slot, u64::from(isolated.contains(cpu)));
        table.nohz_full.set(slot, u64::from(nohz_full.contains(cpu)));
        let listed = online.as_ref().map(|set| set.contains(cpu));
        table.online.set(slot, u64::from(listed.unwrap_or_else(|| dirs.contains(cpu))));
        if !dirs.contains(cpu) {
            continue;
        }
        if listed.is_none() {
            // CPU 0 often cannot go offline and then has no such file.
            let flag = files.number(&format!("{CPUS}/cpu{cpu}/online"), "sys/devices/system/cpu/cpu*/online", {
                &mut section.gaps
            });
            section.data_mut().online.set(slot, u64::from(flag != Some(0)));
        }
        place(files, section, slot, cpu, &mut packages);
        clock(files, section, slot, cpu);
    }
}

/// Reads the place of a CPU.
fn place(files: &mut Files<'_>, section: &mut Section<CpuTopology>, slot: usize, cpu: u32, packages: &mut Siblings) {
    const PATTERN: &str = "sys/devices/system/cpu/cpu*/topology/*";
    let dir = format!("{CPUS}/cpu{cpu}/topology");
    let gaps = &mut section.gaps;
    let mut id = |name: &str| files.id(&format!("{dir}/{name}"), PATTERN, gaps);
    let (package, die, core) = (id("physical_package_id"), id("die_id"), id("core_id"));
    // Without clusters arm64 prints -1 and x86 65535.
    let cluster = match id("cluster_id") {
        Known::Value(65_535) => Known::None,
        cluster => cluster,
    };
    let mut set = |list: &str, map: &str| {
        let set = files.set(&format!("{dir}/{list}"), &format!("{dir}/{map}"), PATTERN, gaps)?;
        set.contains(cpu).then_some(set)
    };
    let siblings = set("thread_siblings_list", "thread_siblings").or_else(|| set("core_cpus_list", "core_cpus"));
    let package_siblings = packages.of(cpu).or_else(|| {
        let set = set("core_siblings_list", "core_siblings").or_else(|| set("package_cpus_list", "package_cpus"))?;
        Some(packages.add(set))
    });
    let table = section.data_mut();
    put(&mut table.package, slot, package);
    put(&mut table.die, slot, die);
    put(&mut table.core, slot, core);
    put(&mut table.cluster, slot, cluster);
    match siblings {
        Some(set) => table.smt_siblings.set(slot, set),
        None => table.smt_siblings.clear(slot),
    }
    match package_siblings {
        Some(set) => table.package_siblings.set_shared(slot, &set),
        None => table.package_siblings.clear(slot),
    }
}

/// Sets that each hold the CPUs of one package: read once per package, not once per CPU.
#[derive(Debug, Default)]
struct Siblings {
    sets: Vec<Arc<IdSet>>,
}

impl Siblings {
    fn of(&self, cpu: u32) -> Option<Arc<IdSet>> {
        self.sets.iter().rev().find(|set| set.contains(cpu)).cloned()
    }

    fn add(&mut self, set: IdSet) -> Arc<IdSet> {
        let set = Arc::new(set);
        self.sets.push(Arc::clone(&set));
        set
    }
}

/// Reads the clock's limits and governor; true when something is not as it was.
fn clock(files: &mut Files<'_>, section: &mut Section<CpuTopology>, slot: usize, cpu: u32) {
    let gaps = &mut section.gaps;
    let mut ask = |name: &str, pattern: &str| files.number(&format!("{CPUS}/cpu{cpu}/{name}"), pattern, gaps);
    let max = ask("cpufreq/cpuinfo_max_freq", "sys/devices/system/cpu/cpu*/cpufreq/cpuinfo_max_freq");
    let capacity = ask("cpu_capacity", "sys/devices/system/cpu/cpu*/cpu_capacity");
    let table = section.data_mut();
    table.max_khz.set_or_clear(slot, max);
    table.capacity.set_or_clear(slot, capacity);
    let mut path = String::new();
    policy(files, table, slot, cpu, &mut path);
}

/// Reads governor, driver and the limit of the clock; true when one is not what it was.
fn policy(files: &mut Files<'_>, table: &mut CpuTopology, slot: usize, cpu: u32, path: &mut String) -> bool {
    let mut name = |name: &str, files: &mut Files<'_>, column: &mut topotop_model::Text| {
        path.clear();
        // Writing to a String cannot fail.
        let _ = write!(path, "{CPUS}/cpu{cpu}/cpufreq/{name}");
        let Some(bytes) = files.bytes(path).ok().filter(|bytes| !bytes.is_empty()) else {
            let known = column.get(slot).is_some();
            column.clear(slot);
            return known;
        };
        let text = crate::parse::text(bytes);
        let same = column.get(slot).is_some_and(|old| **old == *text);
        column.set(slot, &text);
        !same
    };
    let mut changed = name("scaling_governor", files, &mut table.governor);
    if table.governor.get(slot).is_some() {
        changed |= name("scaling_driver", files, &mut table.cpufreq_driver);
        path.clear();
        // As above.
        let _ = write!(path, "{CPUS}/cpu{cpu}/cpufreq/scaling_max_freq");
        let limit = files.bytes(path).ok().and_then(number);
        changed |= limit != table.limit_khz.value(slot);
        table.limit_khz.set_or_clear(slot, limit);
    }
    changed
}

/// Reads what changes without hotplug; true when something did.
pub(super) fn settings(files: &mut Files<'_>, section: &mut Section<CpuTopology>) -> bool {
    let table = section.data_mut();
    let mut path = String::new();
    let mut changed = false;
    let rows: Vec<usize> = table.rows().iter().filter(|&slot| table.online.value(slot) == Some(1)).collect();
    for slot in rows {
        // Machines without cpufreq have it on no CPU.
        if let Some(cpu) = table.cpu.id(slot).value()
            && table.governor.get(slot).is_some()
        {
            changed |= policy(files, table, slot, cpu, &mut path);
        }
    }
    changed
}
