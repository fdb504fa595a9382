//! MEM-08: the machine swaps while it works.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};

pub(super) const RULE: Rule = Rule {
    id: "MEM-08",
    name: "the machine swaps",
    why: "A page that was swapped out and is wanted again costs a read from a disk, and whoever wants it waits. A little goes unnoticed; hundreds a second under load do not.",
    reads: &[Input::Memory],
    looks_at: &["/proc/vmstat", "memory.swap.current", "/proc/pressure/memory"],
    thresholds: &[
        Threshold { name: "in", value: 100.0, unit: "1/s", about: "pages swapped in" },
        Threshold { name: "out", value: 100.0, unit: "1/s", about: "pages swapped out" },
        Threshold { name: "exit", value: 30.0, unit: "1/s", about: "over below this" },
        Threshold { name: "pressure", value: 0.05, unit: "fraction", about: "of the time that some task waited for memory" },
    ],
    guards: &[
        "swap in use that nobody touches",
        "pages that only go out, while nobody waits: it is only told",
        "swap in memory (zram): it costs CPU time, and counts for less",
    ],
    advice: &[
        "Find what grew: the group whose swap grows, MEM-03",
        "Keep a group's memory: systemctl set-property --runtime UNIT MemoryLow=, or MemorySwapMax=0",
        "sysctl -w vm.swappiness=10 where page cache should go first",
    ],
    references: &["Documentation/admin-guide/sysctl/vm.rst", "Documentation/admin-guide/cgroup-v2.rst"],
    pace: Pace { enter: 5, ..Pace::USUAL },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let memory = &frame.memory;
    if memory.swap_total_bytes.value() == Some(0) {
        return;
    }
    let (Some(pages_in), Some(pages_out)) = (memory.pswpin_per_second, memory.pswpout_per_second) else {
        look.unchecked(Subject::Host, "swapping could not be read", "/proc/vmstat pswpin, pswpout");
        return;
    };
    if pages_in.max(pages_out) < look.limit("exit") {
        return;
    }
    let pressure = frame.pressure("memory").and_then(|row| row.stall.some_ratio);
    let waits = pressure.is_some_and(|ratio| ratio >= look.limit("pressure"))
        || memory.allocstall_per_second.is_some_and(|stalls| stalls >= 1.0);
    let (comes, goes) = (pages_in >= look.limit("in"), pages_out >= look.limit("out"));
    let in_memory = frame.disks.iter().any(|disk| &*disk.kind == "zram");
    let mut growing: Vec<_> = frame
        .cgroups
        .iter()
        .filter(|cgroup| &*cgroup.path != "/")
        .filter_map(|cgroup| Some((cgroup.memory.as_ref()?.swap_growth_bytes_per_second?, &cgroup.path)))
        .filter(|(growth, _)| *growth > 0.0)
        .collect();
    growing.sort_by(|a, b| b.0.total_cmp(&a.0));
    let groups = growing.iter().map(|(growth, path)| format!("{path} {}/s", parts::bytes(Some(*growth))));
    let bytes = |known: crate::Known<u64>| known.value().map(|bytes| bytes as f64);
    let mut hit = Hit::new(Subject::Host, if in_memory { 0.6 } else { 0.8 })
        .enters(comes || goes)
        .severity(if comes || (goes && waits) { Severity::Warning } else { Severity::Info })
        .number("in", pages_in, "1/s", "/proc/vmstat pswpin")
        .number("out", pages_out, "1/s", "/proc/vmstat pswpout")
        .known("swap_total", bytes(memory.swap_total_bytes), "bytes", "/proc/meminfo")
        .known("swap_free", bytes(memory.swap_free_bytes), "bytes", "/proc/meminfo")
        .known("pressure", pressure, "fraction", "/proc/pressure/memory");
    if !growing.is_empty() {
        hit = hit.text("groups", parts::list(groups, 4), "memory.swap.current");
    }
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    let figure = |name| parts::count(finding.number(name).map(f64::round));
    let groups = finding.text("groups");
    let who = if groups.is_empty() { String::new() } else { format!("; swap grows in {groups}") };
    format!("{} pages/s are swapped in and {} out{who}", figure("in"), figure("out"))
}
