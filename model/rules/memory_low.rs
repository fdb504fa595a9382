//! MEM-05: the machine runs low on memory, and allocations wait for reclaim.

use super::{Finding, Hit, Input, Pace, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts};
use super::{refaults, swapping};
use crate::bottleneck::ResourceKind;
use crate::frame::Memory;
use crate::locale::evidence;
use crate::locale::rule::memory_low as text;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-05");
pub(crate) const AVAILABLE: Threshold = ID.threshold(text::threshold::AVAILABLE, 0.1, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.05, "fraction");
pub(crate) const EXIT: Threshold = ID.threshold(text::threshold::EXIT, 0.15, "fraction");
pub(crate) const PRESSURE: Threshold = ID.threshold(text::threshold::PRESSURE, 0.1, "fraction");
pub(crate) const FULL: Threshold = ID.threshold(text::threshold::FULL, 0.05, "fraction");
pub(crate) const STALLS: Threshold = ID.threshold(text::threshold::STALLS, 1.0, "1/s");
pub(crate) const SCANNED: Threshold = ID.threshold(text::threshold::SCANNED, 1000.0, "1/s");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    limits: |_| &[ResourceKind::Memory],
    reads: &[Input::Memory],
    sources: &["/proc/meminfo", "/proc/vmstat", "/proc/pressure/memory"],
    thresholds: &[AVAILABLE, CRITICAL, EXIT, PRESSURE, FULL, STALLS, SCANNED],
    references: &["Documentation/admin-guide/sysctl/vm.rst", "Documentation/accounting/psi.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let memory = &frame.memory;
    let Some(available) = available(memory) else {
        context.unchecked(Subject::Host, &text::UNREAD, "Linux 3.14");
        return;
    };
    let stall = frame.pressure("memory").map(|row| row.stall).unwrap_or_default();
    let over = |value: Option<f64>, limit: &Threshold| value.unwrap_or(0.0) / context.limit(limit);
    let waits = over(stall.some_ratio, &PRESSURE).max(over(stall.full_ratio, &FULL));
    // Neither counts what control groups reclaim at their own limits.
    let reclaims = over(memory.allocstall_per_second, &STALLS).min(over(memory.pgscan_direct_per_second, &SCANNED));
    let low = available < context.limit(&AVAILABLE);
    let scarce = available < context.limit(&CRITICAL);
    let pain = if low { waits.max(reclaims) } else { waits.min(reclaims) };
    if pain < 0.5 && available >= context.limit(&EXIT) {
        return;
    }
    let critical = pain >= 1.0 && (scarce || stall.full_ratio.is_some_and(|full| full >= 0.1));
    let severity = match () {
        () if critical => Severity::Critical,
        () if pain >= 1.0 || scarce => Severity::Warning,
        () => Severity::Info,
    };
    let bytes = |known: crate::Known<u64>| known.value().map(|bytes| bytes as f64);
    let huge = bytes(memory.huge_pages_bytes).filter(|bytes| *bytes > 0.0);
    let hit = Hit::new(Subject::Host, 0.85)
        .enters(low || pain >= 1.0)
        .severity(severity)
        .number(evidence::AVAILABLE, available, "fraction", "/proc/meminfo MemAvailable")
        .known(evidence::TOTAL, bytes(memory.total_bytes), "bytes", "/proc/meminfo")
        .known(evidence::HUGE_PAGES, huge, "bytes", "/proc/meminfo HugePages_Total")
        .known(evidence::ANON, bytes(memory.anon_bytes), "bytes", "/proc/meminfo")
        .known(evidence::SHMEM, bytes(memory.shmem_bytes), "bytes", "/proc/meminfo")
        .known(evidence::CACHED, bytes(memory.cached_bytes), "bytes", "/proc/meminfo")
        .known(evidence::SWAP_FREE, bytes(memory.swap_free_bytes), "bytes", "/proc/meminfo")
        .known(evidence::PRESSURE, stall.some_ratio, "fraction", "/proc/pressure/memory")
        .known(evidence::PRESSURE_FULL, stall.full_ratio, "fraction", "/proc/pressure/memory")
        .known(evidence::STALLS, memory.allocstall_per_second, "1/s", "/proc/vmstat allocstall")
        .known(evidence::SCANNED, memory.pgscan_direct_per_second, "1/s", "/proc/vmstat pgscan_direct")
        .text(evidence::BIGGEST, biggest(frame), "/proc/PID/stat")
        .covers(swapping::ID, Subject::Host)
        .covers(refaults::ID, Subject::Host);
    context.hit(hit);
}

/// Available share of memory; estimated from free and inactive page cache on kernels without MemAvailable.
fn available(memory: &Memory) -> Option<f64> {
    // Huge pages are set aside for who asks for them: the rest has to do for everything else.
    let reserved = memory.huge_pages_bytes.value().unwrap_or(0);
    let total = memory.total_bytes.value()?.checked_sub(reserved).filter(|total| *total > 0)?;
    let estimate = || Some(memory.free_bytes.value()?.saturating_add(memory.inactive_file_bytes.value()?));
    Some(memory.available_bytes.value().or_else(estimate)? as f64 / total as f64)
}

/// The processes with the most resident memory.
fn biggest(frame: &crate::frame::Frame) -> String {
    let mut processes: Vec<_> =
        frame.processes.iter().filter_map(|process| Some((process.rss_bytes.value()?, process))).collect();
    processes.sort_by_key(|process| std::cmp::Reverse(process.0));
    let names = processes
        .iter()
        .take(3)
        .map(|(rss, process)| format!("{} ({}) {}", process.comm, process.pid, parts::bytes(Some(*rss as f64))));
    parts::list(names, 3)
}

fn title(finding: &Finding) -> String {
    let available = &parts::percent(finding.number(evidence::AVAILABLE));
    let total = &parts::bytes(finding.number(evidence::TOTAL));
    match finding.number(evidence::PRESSURE).filter(|pressure| *pressure >= 0.01) {
        Some(pressure) => {
            text::TitlePressure { available, total, pressure: &parts::percent(Some(pressure)) }.to_string()
        }
        None => text::Title { available, total }.to_string(),
    }
}
