//! MEM-05: the machine has no memory left, and whoever wants some has to find it first.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};
use crate::frame::Memory;

pub(super) const RULE: Rule = Rule {
    id: "MEM-05",
    name: "the machine runs short of memory",
    why: "With memory to spare a background thread keeps some free. When it cannot follow, every task that wants a page has to reclaim one first, and waits.",
    reads: &[Input::Memory],
    looks_at: &["/proc/meminfo", "/proc/vmstat", "/proc/pressure/memory"],
    thresholds: &[
        Threshold { name: "available", value: 0.1, unit: "fraction", about: "of memory available, or less" },
        Threshold { name: "critical", value: 0.05, unit: "fraction", about: "of memory available: a warning by itself" },
        Threshold { name: "exit", value: 0.15, unit: "fraction", about: "over above this" },
        Threshold { name: "pressure", value: 0.1, unit: "fraction", about: "of the time that some task waited for memory" },
        Threshold { name: "full", value: 0.05, unit: "fraction", about: "of the time that all tasks did" },
        Threshold { name: "stalls", value: 1.0, unit: "1/s", about: "allocations that had to reclaim first" },
        Threshold { name: "scanned", value: 1000.0, unit: "1/s", about: "pages that allocating tasks scanned" },
    ],
    guards: &[
        "little free and much available memory: page cache is memory put to use",
        "groups at limits of their own: MEM-02",
        "no swap: that alone is a choice",
    ],
    advice: &[
        "Find what grows: the screen of processes by memory, MEM-03 for groups",
        "Put a limit on the group that may lose page cache: systemctl set-property --runtime UNIT MemoryHigh=",
        "Wake the background thread earlier: sysctl -w vm.watermark_scale_factor=100",
    ],
    references: &["Documentation/admin-guide/sysctl/vm.rst", "Documentation/accounting/psi.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let memory = &frame.memory;
    let Some(available) = available(memory) else {
        look.unchecked(Subject::Host, "how much memory is available could not be read", "Linux 3.14");
        return;
    };
    let stall = frame.pressure("memory").map(|row| row.stall).unwrap_or_default();
    let over = |value: Option<f64>, limit: &str| value.unwrap_or(0.0) / look.limit(limit);
    let waits = over(stall.some_ratio, "pressure").max(over(stall.full_ratio, "full"));
    // Neither counts what groups reclaim at limits of their own.
    let reclaims = over(memory.allocstall_per_second, "stalls").min(over(memory.pgscan_direct_per_second, "scanned"));
    let low = available < look.limit("available");
    let scarce = available < look.limit("critical");
    let pain = if low { waits.max(reclaims) } else { waits.min(reclaims) };
    if pain < 0.5 && available >= look.limit("exit") {
        return;
    }
    let critical = pain >= 1.0 && (scarce || stall.full_ratio.is_some_and(|full| full >= 0.1));
    let severity = match () {
        () if critical => Severity::Critical,
        () if pain >= 1.0 || scarce => Severity::Warning,
        () => Severity::Info,
    };
    let bytes = |known: crate::Known<u64>| known.value().map(|bytes| bytes as f64);
    let hit = Hit::new(Subject::Host, 0.85)
        .enters(low || pain >= 1.0)
        .severity(severity)
        .number("available", available, "fraction", "/proc/meminfo MemAvailable")
        .known("total", bytes(memory.total_bytes), "bytes", "/proc/meminfo")
        .known("anon", bytes(memory.anon_bytes), "bytes", "/proc/meminfo")
        .known("shmem", bytes(memory.shmem_bytes), "bytes", "/proc/meminfo")
        .known("cached", bytes(memory.cached_bytes), "bytes", "/proc/meminfo")
        .known("swap_free", bytes(memory.swap_free_bytes), "bytes", "/proc/meminfo")
        .known("pressure", stall.some_ratio, "fraction", "/proc/pressure/memory")
        .known("pressure_full", stall.full_ratio, "fraction", "/proc/pressure/memory")
        .known("stalls", memory.allocstall_per_second, "1/s", "/proc/vmstat allocstall")
        .known("scanned", memory.pgscan_direct_per_second, "1/s", "/proc/vmstat pgscan_direct")
        .text("biggest", biggest(frame), "/proc/PID/stat")
        .covers("MEM-08", Subject::Host)
        .covers("MEM-09", Subject::Host);
    look.hit(hit);
}

/// Share of memory that a new workload could have; free and inactive page cache where the kernel does not tell.
fn available(memory: &Memory) -> Option<f64> {
    let total = memory.total_bytes.value().filter(|total| *total > 0)?;
    let estimate = || Some(memory.free_bytes.value()?.saturating_add(memory.inactive_file_bytes.value()?));
    Some(memory.available_bytes.value().or_else(estimate)? as f64 / total as f64)
}

/// Who has most of it.
fn biggest(frame: &crate::frame::Frame) -> String {
    let mut processes: Vec<_> =
        frame.processes.iter().filter_map(|process| Some((process.rss_bytes.value()?, process))).collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.0));
    let names = processes.iter().take(3).map(|(rss, process)| {
        format!("{} ({}) {}", process.comm, process.pid, parts::bytes(Some(*rss as f64)))
    });
    parts::list(names, 3)
}

fn title(finding: &Finding) -> String {
    let (available, total) = (parts::percent(finding.number("available")), parts::bytes(finding.number("total")));
    let mut pain = String::new();
    if let Some(pressure) = finding.number("pressure").filter(|pressure| *pressure >= 0.01) {
        pain = format!("; tasks wait for memory {} of the time", parts::percent(Some(pressure)));
    }
    format!("{available} of {total} are available{pain}")
}
