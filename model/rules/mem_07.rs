//! MEM-07: the kernel could reclaim page cache in the background, and does not.

use super::{Finding, Hit, Look, Pace, Rule, Severity, Subject, Threshold, parts};

pub(super) const RULE: Rule = Rule {
    id: "MEM-07",
    name: "periodic page cache reclaim is off",
    why: "Some kernels can reclaim page cache every few seconds before limits are reached. Switched off, or with a period of zero, they leave it to the work itself.",
    reads: &[],
    looks_at: &["/proc/sys/vm/cache_reclaim_enable", "/proc/sys/vm/cache_reclaim_s", "/proc/sys/vm/cache_reclaim_weight"],
    thresholds: &[
        Threshold { name: "factor", value: 1.5, unit: "", about: "times the growth of the page cache that reclaim must reach" },
    ],
    guards: &["kernels without these settings", "without pain in a group (MEM-02) it is only told"],
    advice: &["Period and weight first, then sysctl -w vm.cache_reclaim_enable=1"],
    references: &["openEuler: vm.cache_reclaim_*"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let setting = |name: &str| frame.sysctls.iter().find(|(known, _)| &**known == name).and_then(|(_, value)| value.parse::<u64>().ok());
    let Some(enabled) = setting("vm.cache_reclaim_enable") else { return };
    let period = setting("vm.cache_reclaim_s").unwrap_or(0);
    let weight = setting("vm.cache_reclaim_weight").unwrap_or(1);
    let growth = frame.memory.cached_growth_bytes_per_second.filter(|growth| *growth > 0.0);
    let reach = if enabled == 0 || period == 0 { 0.0 } else { weight as f64 * PAGES_EACH * PAGE * frame.topology.cpus_online.len() as f64 / period as f64 };
    let needed = growth.map_or(0.0, |growth| growth * look.limit("factor"));
    if reach > 0.0 && reach >= needed {
        return;
    }
    let pain = look.is_open("MEM-02") || look.is_open("MEM-03");
    let hit = Hit::new(Subject::Host, 0.8)
        .severity(if pain { Severity::Warning } else { Severity::Info })
        .number("enable", enabled as f64, "", "/proc/sys/vm/cache_reclaim_enable")
        .number("period", period as f64, "s", "/proc/sys/vm/cache_reclaim_s")
        .number("weight", weight as f64, "", "/proc/sys/vm/cache_reclaim_weight")
        .number("reach", reach, "bytes/s", "/proc/sys/vm/cache_reclaim_weight")
        .known("growth", growth, "bytes/s", "/proc/vmstat nr_file_pages");
    look.hit(hit);
}

/// Pages that one round takes on one CPU for each unit of the weight.
const PAGES_EACH: f64 = 32.0;
const PAGE: f64 = 4096.0;

fn title(finding: &Finding) -> String {
    let reach = finding.number("reach").unwrap_or(0.0);
    if reach == 0.0 {
        return "periodic page cache reclaim is off".to_owned();
    }
    let growth = parts::bytes(finding.number("growth"));
    format!("periodic page cache reclaim reaches {}/s, the cache grows by {growth}/s", parts::bytes(Some(reach)))
}
