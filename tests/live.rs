//! This machine's counters lie between a reading before and one after.

use std::collections::BTreeMap;
use std::fs;
use topotop_collectors::{Demand, Options, Root, Sampler};
use topotop_model::{Snapshot, Table};

fn sample() -> Snapshot {
    let mut sampler = Sampler::new(Root::live().expect("this machine"), &Options::default());
    sampler.demand(Demand { complete: true, ..Demand::default() });
    sampler.sample()
}

/// Words of a file that look like `name value…`, by name.
fn rows(path: &str) -> BTreeMap<String, Vec<u64>> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?.trim_end_matches(':').to_owned();
            Some((name, words.map_while(|word| word.parse().ok()).collect()))
        })
        .collect()
}

fn between(what: &str, before: Option<&u64>, value: Option<u64>, after: Option<&u64>) {
    let (Some(before), Some(after)) = (before, after) else { return };
    let value = value.unwrap_or_else(|| panic!("{what} was not read"));
    assert!((*before..=*after).contains(&value), "{what}: {value} is not between {before} and {after}");
}

#[test]
fn cpu_times_are_the_kernels() {
    let before = rows("/proc/stat");
    let snapshot = sample();
    let after = rows("/proc/stat");
    let times = snapshot.cpu_times.value().expect("read");
    assert!(!times.rows().is_empty());
    for slot in times.rows().iter() {
        let name = format!("cpu{}", times.cpu.value(slot).expect("an id"));
        for (index, column) in [&times.user, &times.nice, &times.system].into_iter().enumerate() {
            let cell = |rows: &BTreeMap<String, Vec<u64>>| rows.get(&name).and_then(|row| row.get(index)).copied();
            between(&format!("{name}.{index}"), cell(&before).as_ref(), column.value(slot), cell(&after).as_ref());
        }
    }
}

#[test]
fn interrupts_are_the_kernels() {
    let sum = |path| -> BTreeMap<String, u64> {
        rows(path).into_iter().map(|(name, row)| (name, row.iter().sum())).collect()
    };
    let (hard, soft) = (sum("/proc/interrupts"), sum("/proc/softirqs"));
    let snapshot = sample();
    let (hard_after, soft_after) = (sum("/proc/interrupts"), sum("/proc/softirqs"));
    let irqs = snapshot.irqs.value().expect("read");
    let numbered = hard.keys().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).count();
    assert_eq!(irqs.rows().len(), numbered);
    for slot in irqs.rows().iter() {
        let name = irqs.irq.value(slot).expect("a number").to_string();
        between(&format!("irq {name}"), hard.get(&name), irqs.total.value(slot), hard_after.get(&name));
    }
    let table = snapshot.softirqs.value().expect("read");
    assert!(!table.rows().is_empty());
    for slot in table.rows().iter() {
        let name = table.name.get(slot).expect("a name").to_string();
        between(&name, soft.get(&name), table.total.value(slot), soft_after.get(&name));
    }
}

#[test]
fn memory_is_the_kernels() {
    let meminfo = rows("/proc/meminfo");
    let before = rows("/proc/vmstat");
    let snapshot = sample();
    let after = rows("/proc/vmstat");
    let memory = snapshot.memory.value().expect("read");
    assert_eq!(memory.total_bytes.value(0), meminfo.get("MemTotal").map(|row| row[0] * 1024));
    for (name, column) in
        [("pgmajfault", &memory.pgmajfault), ("pswpin", &memory.pswpin), ("oom_kill", &memory.oom_kill)]
    {
        let cell = |rows: &BTreeMap<String, Vec<u64>>| rows.get(name).and_then(|row| row.first()).copied();
        between(name, cell(&before).as_ref(), column.value(0), cell(&after).as_ref());
    }
}

/// Rows of /proc/diskstats by name.
fn diskstats() -> BTreeMap<String, Vec<u64>> {
    let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let row = |line: &str| {
        let mut words = line.split_whitespace().skip(2);
        Some((words.next()?.to_owned(), words.map_while(|word| word.parse().ok()).collect()))
    };
    text.lines().filter_map(row).collect()
}

#[test]
fn disks_are_the_kernels() {
    let before = diskstats();
    let snapshot = sample();
    let after = diskstats();
    let Some(disks) = snapshot.disks.value() else {
        assert!(before.is_empty(), "there are block devices, and none was read");
        return;
    };
    assert_eq!(disks.rows().len(), before.len());
    for slot in disks.rows().iter() {
        let name = disks.name.get(slot).expect("a name").to_string();
        let sectors = |column: &topotop_model::Num| column.value(slot).map(|bytes| bytes / 512);
        let columns = [
            (0, disks.reads.value(slot)),
            (2, sectors(&disks.read_bytes)),
            (4, disks.writes.value(slot)),
            (6, sectors(&disks.write_bytes)),
            (9, disks.io_ms.value(slot)),
        ];
        for (index, value) in columns {
            let cell = |rows: &BTreeMap<String, Vec<u64>>| rows.get(&name).and_then(|row| row.get(index)).copied();
            between(&format!("{name}.{index}"), cell(&before).as_ref(), value, cell(&after).as_ref());
        }
    }
}

#[test]
fn nodes_are_the_kernels() {
    let snapshot = sample();
    let Some(nodes) = snapshot.node_memory.value() else { return };
    for slot in nodes.rows().iter() {
        let id = nodes.node.value(slot).expect("an id");
        let after = rows(&format!("/sys/devices/system/node/node{id}/numastat"));
        for (name, column) in
            [("numa_hit", &nodes.numa_hit), ("numa_miss", &nodes.numa_miss), ("numa_foreign", &nodes.numa_foreign)]
        {
            let after = after.get(name).and_then(|row| row.first()).copied();
            between(&format!("node{id} {name}"), Some(&0), column.value(slot), after.as_ref());
        }
        let meminfo = fs::read_to_string(format!("/sys/devices/system/node/node{id}/meminfo")).unwrap_or_default();
        let total =
            meminfo.lines().find_map(|line| line.split_once("MemTotal:")?.1.split_whitespace().next()?.parse().ok());
        assert_eq!(nodes.total_bytes.value(slot), total.map(|kilobytes: u64| kilobytes * 1024));
    }
}

#[test]
fn this_process_is_seen_as_it_is() {
    let snapshot = sample();
    let processes = snapshot.processes.value().expect("read");
    let pid = u64::from(std::process::id());
    let slot = processes.rows().iter().find(|&slot| processes.pid.value(slot) == Some(pid)).expect("this process");
    let status = rows("/proc/self/status");
    let threads = status.get("Threads").and_then(|row| row.first()).copied().expect("threads");
    // Other tests start and end threads meanwhile.
    assert!(processes.threads.value(slot).is_some_and(|seen| seen.abs_diff(threads) < 64));
    assert_eq!(processes.ppid.value(slot), status.get("PPid").map(|row| row[0]));
    let cgroup = processes.cgroup.get(slot).expect("a control group");
    assert!(cgroup.starts_with('/'), "{cgroup}");
}
