//! MEM-07: the kernel could reclaim page cache in the background, and does not, or too slowly.

use super::{Cell, Finding, Grid, Hit, Look, Pace, Preflight, Rule, Severity, Subject, Threshold, before, parts, reclaim, series};
use crate::frame::Frame;

pub(super) const RULE: Rule = Rule {
    id: "MEM-07",
    name: "periodic page cache reclaim is off or too slow",
    why: "openEuler's kernels can reclaim page cache every few seconds before limits are reached: every period each node gives 32 pages × weight for each of its CPUs. The switch is on by default and the period is zero, which means off. Off, or slower than the cache grows, it leaves reclaim to the work itself.",
    reads: &[],
    looks_at: &[
        "/proc/sys/vm/cache_reclaim_enable",
        "/proc/sys/vm/cache_reclaim_s",
        "/proc/sys/vm/cache_reclaim_weight",
        "/proc/meminfo Cached, Shmem",
    ],
    thresholds: &[
        Threshold { name: "factor", value: 1.5, unit: "", about: "times the growth of the machine's page cache that reclaim must reach" },
    ],
    guards: &[
        "kernels without these settings",
        "without pain in a group (MEM-02, MEM-03) it is only told",
        "it is the machine's cache that counts, not one group's: what groups reclaim at their limits grows again and is counted in",
    ],
    advice: &[
        "Set period and weight first, the switch last: the command among the evidence has the smallest values that suffice",
        "It reclaims from the whole machine, not from one group, and may swap anonymous memory out: look at swap first",
        "Keep it: /etc/sysctl.d/60-cache-reclaim.conf",
    ],
    references: &["openEuler kernel: mm/page_cache_limit.c, CONFIG_PAGE_CACHE_LIMIT"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    gained: &["RocketMQ, 1 KB messages: 20,000 a second without jitter; 4 KB: 14,000 a second"],
    preflight: Some(Preflight { name: "periodic cache reclaim", says: before::reclaim }),
    judge,
    title,
    ..Rule::BASE
};

/// Pages that one round takes for one CPU and each unit of the weight.
const PAGES_EACH: f64 = 32.0;
/// The largest weight that the kernel takes.
const MOST_WEIGHT: f64 = 100.0;
/// The longest period that is proposed; the kernel takes up to 43,200 s, in bursts as large.
const LONGEST: f64 = 10.0;
/// Samples that growth is taken over at most.
const MOST: usize = 60;

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    if frame.raw.sysctls.value().is_none() {
        look.unchecked(Subject::Host, "the kernel's settings could not be read", "a readable /proc/sys");
        return;
    }
    let Some(enabled) = setting(frame, "vm.cache_reclaim_enable") else { return };
    let (Some(period), Some(weight)) = (setting(frame, "vm.cache_reclaim_s"), setting(frame, "vm.cache_reclaim_weight"))
    else {
        look.unchecked(Subject::Host, "period and weight could not be read", "/proc/sys/vm/cache_reclaim_s, cache_reclaim_weight");
        return;
    };
    let page = page(frame);
    let cpus = frame.topology.cpus_online.len() as f64;
    let unit = unit(frame);
    let reach = if enabled == 0 || period == 0 { 0.0 } else { unit * weight as f64 / period as f64 };
    let growth = Growth::measure(look, page);
    let needed = growth.whole() * look.limit("factor");
    if reach > 0.0 && reach >= needed {
        return;
    }
    let pain = look.is_open("MEM-02") || look.is_open("MEM-03");
    let mut hit = Hit::new(Subject::Host, 0.8)
        .severity(if pain { Severity::Warning } else { Severity::Info })
        .number("enable", enabled as f64, "", "/proc/sys/vm/cache_reclaim_enable")
        .number("period", period as f64, "s", "/proc/sys/vm/cache_reclaim_s")
        .number("weight", weight as f64, "", "/proc/sys/vm/cache_reclaim_weight")
        .number("cpus", cpus, "", "/sys/devices/system/cpu/online")
        .number("page", page / 1024.0, "KiB", "getconf PAGESIZE")
        .number("reach", reach, "bytes/s", "32 pages × weight × CPUs / period")
        .known("growth", growth.net, "bytes/s", "/proc/meminfo Cached − Shmem")
        .number("reclaimed", growth.reclaimed, "bytes/s", "/proc/vmstat pgsteal, memory.stat pgsteal");
    if needed > 0.0 {
        hit = sized(hit, look, unit, needed, page);
    }
    if frame.memory.swap_total_bytes.value().is_some_and(|swap| swap > 0) {
        hit = hit.text("swap", "on: periodic reclaim may swap anonymous memory out", "/proc/meminfo SwapTotal");
    }
    let hit = hit.text("kernel_has", reclaim::cache_limits(frame), "/proc/sys/vm");
    look.hit(hit.would_hurt());
}

fn page(frame: &Frame) -> f64 {
    frame.memory.page_bytes.value().unwrap_or(4096) as f64
}

/// Bytes of one round for each unit of the weight.
pub(super) fn unit(frame: &Frame) -> f64 {
    PAGES_EACH * page(frame) * frame.topology.cpus_online.len() as f64
}

/// Period, weight and reach of the smallest values that suffice.
pub(super) fn proposal(frame: &Frame, needed: f64) -> (u64, u64, f64) {
    let unit = unit(frame);
    let triple = smallest(unit, needed.max(1.0));
    (triple.period as u64, triple.weight as u64, triple.reach(unit))
}

/// With the smallest values that suffice.
fn sized(hit: Hit, look: &Look<'_>, unit: f64, needed: f64, page: f64) -> Hit {
    let triple = smallest(unit, needed);
    let hit = hit
        .number("needed", needed, "bytes/s", "1.5 × what the cache takes in")
        .text("command", triple.command(), "/proc/sys/vm")
        .number("reach_then", triple.reach(unit), "bytes/s", "32 pages × weight × CPUs / period");
    match nodes(look.frame(), page, triple, look.limit("factor")) {
        Some(nodes) => hit.table("nodes", nodes, "/sys/devices/system/node/node*/meminfo"),
        None => hit,
    }
}

fn setting(frame: &Frame, name: &str) -> Option<u64> {
    frame.sysctls.iter().find(|(known, _)| &**known == name).and_then(|(_, value)| value.parse().ok())
}

/// What comes into the machine's page cache.
struct Growth {
    /// What stays.
    net: Option<f64>,
    /// What tasks took back meanwhile: without it the cache had grown by that much more.
    reclaimed: f64,
}

impl Growth {
    fn measure(look: &mut Look<'_>, page: f64) -> Self {
        let frame = look.frame();
        let memory = &frame.memory;
        let file = memory.cached_bytes.value().map(|cached| cached.saturating_sub(memory.shmem_bytes.value().unwrap_or(0)));
        let values = file.map(|file| look.remember(&Subject::Host, file as f64)).unwrap_or_default();
        let recent = series::newest(&values, MOST);
        let steady = (recent.len() >= 5).then(|| series::theil_sen(recent)).flatten();
        // The machine counts what is reclaimed for it; groups count that and what they reclaim at limits of their own.
        let groups = frame.cgroups.iter().filter(|cgroup| cgroup.path.matches('/').count() == 1 && cgroup.path.len() > 1);
        let by_groups: f64 = groups.filter_map(|cgroup| cgroup.memory.as_ref()?.pgsteal_per_second).sum();
        let stolen = memory.pgsteal_per_second.unwrap_or(0.0).max(by_groups);
        let taken = look.remember(&Subject::Cgroup("//reclaimed".into()), stolen * page);
        Self {
            net: steady.or(memory.cached_growth_bytes_per_second),
            reclaimed: series::mean(series::newest(&taken, MOST)),
        }
    }

    fn whole(&self) -> f64 {
        (self.net.unwrap_or(0.0) + self.reclaimed).max(0.0)
    }
}

/// Period, weight and switch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Triple {
    period: f64,
    weight: f64,
}

impl Triple {
    fn reach(self, unit: f64) -> f64 {
        unit * self.weight / self.period
    }

    fn command(self) -> String {
        let Self { period, weight } = self;
        format!("sysctl -w vm.cache_reclaim_s={period:.0} vm.cache_reclaim_weight={weight:.0} vm.cache_reclaim_enable=1")
    }
}

/// The values that reclaim least and still enough: weight one as seldom as can be, else every second with as little
/// weight as can be. Where that is not enough, the most there is.
fn smallest(unit: f64, needed: f64) -> Triple {
    if unit >= needed {
        return Triple { period: (unit / needed).floor().clamp(1.0, LONGEST), weight: 1.0 };
    }
    Triple { period: 1.0, weight: (needed / unit.max(1.0)).ceil().clamp(1.0, MOST_WEIGHT) }
}

/// What each node could reclaim with these values, where there are several: rounds are run node by node.
fn nodes(frame: &Frame, page: f64, triple: Triple, factor: f64) -> Option<Grid> {
    if frame.topology.cpu_nodes().count() < 2 {
        return None;
    }
    let mut grid = Grid::new([("CPUs", ""), ("growth", "bytes/s"), ("needed", "bytes/s"), ("reach then", "bytes/s")]);
    for place in &frame.topology.nodes {
        let cpus = place.cpus.intersection(&frame.topology.cpus_online).len() as f64;
        let growth = frame.node(place.id).and_then(|node| node.file_growth_bytes_per_second);
        let reach = triple.reach(PAGES_EACH * page * cpus);
        let needed = growth.map(|growth| growth.max(0.0) * factor);
        grid.push(format!("node {}", place.id), [Cell::Number(cpus), Cell::of(growth), Cell::of(needed), Cell::Number(reach)]);
    }
    Some(grid)
}

fn title(finding: &Finding) -> String {
    let (reach, command) = (finding.number("reach").unwrap_or(0.0), finding.text("command"));
    let enough = finding.number("reach_then") >= finding.number("needed");
    let command = match command {
        "" => String::new(),
        command if enough => format!("; enough: {command}"),
        command => format!("; the most there is, and too little: {command}"),
    };
    let growth = finding.number("growth").unwrap_or(0.0) + finding.number("reclaimed").unwrap_or(0.0);
    let growth = parts::bytes(Some(growth.max(0.0)));
    if reach == 0.0 && command.is_empty() {
        return "periodic page cache reclaim is off".to_owned();
    }
    if reach == 0.0 {
        return format!("periodic page cache reclaim is off and the cache takes in {growth}/s{command}");
    }
    format!("periodic page cache reclaim reaches {}/s, the cache takes in {growth}/s{command}", parts::bytes(Some(reach)))
}

#[cfg(test)]
mod tests {
    use super::{Triple, smallest};
    use proptest::prelude::*;

    #[test]
    fn the_smallest_that_suffices() {
        let unit = 32.0 * 4096.0 * 64.0;
        assert_eq!(smallest(unit, 150e6), Triple { period: 1.0, weight: 18.0 });
        assert_eq!(smallest(unit, 2e6), Triple { period: 4.0, weight: 1.0 });
        assert_eq!(smallest(unit, 1.0), Triple { period: 10.0, weight: 1.0 });
        assert_eq!(smallest(unit, 5e9), Triple { period: 1.0, weight: 100.0 });
    }

    proptest! {
        #[test]
        fn it_suffices_within_what_the_kernel_takes(unit in 1e5..1e9f64, needed in 1.0..1e10f64) {
            let triple = smallest(unit, needed);
            prop_assert!((1.0..=43200.0).contains(&triple.period) && (1.0..=100.0).contains(&triple.weight));
            prop_assert!(triple.reach(unit) >= needed * 0.999_999 || triple.weight >= 100.0);
            let less = Triple { weight: triple.weight - 1.0, ..triple };
            prop_assert!(triple.weight <= 1.0 || less.reach(unit) < needed);
        }
    }
}
