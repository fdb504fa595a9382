//! MEM-07: periodic page cache reclaim of the kernel is off or too slow.

use super::{
    Cell, Finding, Grid, Hit, Pace, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold, parts,
    preflight, reclaim, series,
};
use super::{cgroup_reclaim_stalls, cgroup_time_to_limit};
use crate::bottleneck::ResourceKind;
use crate::frame::Frame;
use crate::locale::evidence;
use crate::locale::rule::cache_reclaim as text;

/// Its id.
pub const ID: RuleId = RuleId::new("MEM-07");
pub(crate) const FACTOR: Threshold = ID.threshold(text::threshold::FACTOR, 1.5, "");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Memory],
    reads: &[],
    sources: &[
        "/proc/sys/vm/cache_reclaim_enable",
        "/proc/sys/vm/cache_reclaim_s",
        "/proc/sys/vm/cache_reclaim_weight",
        "/proc/meminfo Cached, Shmem",
    ],
    thresholds: &[FACTOR],
    references: &["openEuler kernel: mm/page_cache_limit.c, CONFIG_PAGE_CACHE_LIMIT"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    preflight: Some(Preflight { name: text::PREFLIGHT, says: preflight::reclaim }),
    judge,
    title,
    ..Rule::BASE
};

/// Pages that one period reclaims per CPU and unit of weight.
const PAGES_EACH: f64 = 32.0;
/// The largest weight that the kernel accepts.
const MOST_WEIGHT: f64 = 100.0;
/// The longest proposed period; the kernel accepts up to 43,200 s, with correspondingly large bursts.
const LONGEST: f64 = 10.0;
/// Maximum samples of the growth.
const MOST: usize = 60;

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    if !frame.sections.sysctls.is_read() {
        context.unchecked(Subject::Host, &text::SETTINGS_UNREAD, &text::SETTINGS_UNREAD_REQUIRES);
        return;
    }
    let Some(enabled) = setting(frame, "vm.cache_reclaim_enable") else { return };
    let (Some(period), Some(weight)) =
        (setting(frame, "vm.cache_reclaim_s"), setting(frame, "vm.cache_reclaim_weight"))
    else {
        let files = "/proc/sys/vm/cache_reclaim_s, cache_reclaim_weight";
        context.unchecked(Subject::Host, &text::PERIOD_UNREAD, files);
        return;
    };
    let page = page(frame);
    let cpus = frame.topology.cpus_online.len() as f64;
    let unit = unit(frame);
    let reach = if enabled == 0 || period == 0 { 0.0 } else { unit * weight as f64 / period as f64 };
    let growth = Growth::measure(context, page);
    let needed = growth.whole() * context.limit(&FACTOR);
    if reach > 0.0 && reach >= needed {
        return;
    }
    let pain = context.is_open(cgroup_reclaim_stalls::ID) || context.is_open(cgroup_time_to_limit::ID);
    let mut hit = Hit::new(Subject::Host, 0.8)
        .severity(if pain { Severity::Warning } else { Severity::Info })
        .number(evidence::ENABLE, enabled as f64, "", "/proc/sys/vm/cache_reclaim_enable")
        .number(evidence::PERIOD, period as f64, "s", "/proc/sys/vm/cache_reclaim_s")
        .number(evidence::WEIGHT, weight as f64, "", "/proc/sys/vm/cache_reclaim_weight")
        .number(evidence::CPUS, cpus, "", "/sys/devices/system/cpu/online")
        .number(evidence::PAGE, page / 1024.0, "KiB", "getconf PAGESIZE")
        .number(evidence::REACH, reach, "bytes/s", "32 pages × weight × CPUs / period")
        .known(evidence::GROWTH, growth.net, "bytes/s", "/proc/meminfo Cached − Shmem")
        .number(evidence::RECLAIMED, growth.reclaimed, "bytes/s", "/proc/vmstat pgsteal, memory.stat pgsteal");
    if needed > 0.0 {
        hit = sized(hit, context, unit, needed, page);
    }
    if frame.memory.swap_total_bytes.value().is_some_and(|swap| swap > 0) {
        hit = hit.text(evidence::SWAP, text::SWAP_ON.as_str(), "/proc/meminfo SwapTotal");
    }
    let hit = hit.text(evidence::KERNEL_HAS, reclaim::cache_limits(frame), "/proc/sys/vm");
    context.hit(hit.would_hurt());
}

fn page(frame: &Frame) -> f64 {
    frame.memory.page_bytes.value().unwrap_or(4096) as f64
}

/// Bytes of one period per unit of weight.
pub(super) fn unit(frame: &Frame) -> f64 {
    PAGES_EACH * page(frame) * frame.topology.cpus_online.len() as f64
}

/// Period, weight and rate of the smallest sufficient values.
pub(super) fn proposal(frame: &Frame, needed: f64) -> (u64, u64, f64) {
    let unit = unit(frame);
    let triple = smallest(unit, needed.max(1.0));
    (triple.period as u64, triple.weight as u64, triple.reach(unit))
}

/// With the smallest sufficient values.
fn sized(hit: Hit, context: &RuleContext<'_>, unit: f64, needed: f64, page: f64) -> Hit {
    let triple = smallest(unit, needed);
    let hit = hit
        .number(evidence::NEEDED, needed, "bytes/s", "1.5 × page cache inflow")
        .text(evidence::COMMAND, triple.command(), "/proc/sys/vm")
        .number(evidence::REACH_THEN, triple.reach(unit), "bytes/s", "32 pages × weight × CPUs / period");
    match nodes(context.frame(), page, triple, context.limit(&FACTOR)) {
        Some(nodes) => hit.table(evidence::NODES, nodes, "/sys/devices/system/node/node*/meminfo"),
        None => hit,
    }
}

fn setting(frame: &Frame, name: &str) -> Option<u64> {
    frame.sysctls.iter().find(|(known, _)| &**known == name).and_then(|(_, value)| value.parse().ok())
}

/// What the page cache of the machine takes in.
struct Growth {
    /// Net growth.
    net: Option<f64>,
    /// Reclaimed meanwhile: the cache would have grown by that much more.
    reclaimed: f64,
}

impl Growth {
    fn measure(context: &mut RuleContext<'_>, page: f64) -> Self {
        let frame = context.frame();
        let memory = &frame.memory;
        let file =
            memory.cached_bytes.value().map(|cached| cached.saturating_sub(memory.shmem_bytes.value().unwrap_or(0)));
        let values = file.map(|file| context.remember(&Subject::Host, file as f64)).unwrap_or_default();
        let recent = series::newest(&values, MOST);
        let steady = (recent.len() >= 5).then(|| series::theil_sen(recent)).flatten();
        // The machine counts its own reclaim; control groups count that and what they reclaim at their own limits.
        let stolen = memory.pgsteal_per_second.unwrap_or(0.0).max(by_groups(frame));
        let taken = context.remember(&Subject::Cgroup("//reclaimed".into()), stolen * page);
        Self {
            net: steady.or(memory.cached_growth_bytes_per_second),
            reclaimed: series::mean(series::newest(&taken, MOST)),
        }
    }

    fn whole(&self) -> f64 {
        (self.net.unwrap_or(0.0) + self.reclaimed).max(0.0)
    }
}

/// Pages that control groups reclaim, per second: of those that count it the topmost ones, which include those below
/// them. Version 1 has it only of groups at their limits.
fn by_groups(frame: &Frame) -> f64 {
    let mut topmost: Vec<&str> = Vec::new();
    let mut sum = 0.0;
    for cgroup in frame.cgroups.iter().filter(|cgroup| &*cgroup.path != "/") {
        let Some(stolen) = cgroup.memory.as_ref().and_then(|memory| memory.pgsteal_per_second) else { continue };
        // Sorted by path: those above come first.
        if !topmost.iter().any(|above| parts::is_below(&cgroup.path, above)) {
            topmost.push(&cgroup.path);
            sum += stolen;
        }
    }
    sum
}

/// Period and weight.
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
        format!(
            "sysctl -w vm.cache_reclaim_s={period:.0} vm.cache_reclaim_weight={weight:.0} vm.cache_reclaim_enable=1"
        )
    }
}

/// The smallest sufficient values: weight 1 with the longest period, else one second with the smallest weight. If that
/// is not sufficient, the largest weight.
fn smallest(unit: f64, needed: f64) -> Triple {
    if unit >= needed {
        return Triple { period: (unit / needed).floor().clamp(1.0, LONGEST), weight: 1.0 };
    }
    Triple { period: 1.0, weight: (needed / unit.max(1.0)).ceil().clamp(1.0, MOST_WEIGHT) }
}

/// What each of several nodes could reclaim with these values: each node reclaims on its own.
fn nodes(frame: &Frame, page: f64, triple: Triple, factor: f64) -> Option<Grid> {
    if frame.topology.cpu_nodes().count() < 2 {
        return None;
    }
    let mut grid = Grid::new([
        (text::COLUMN_CPUS.as_str(), ""),
        (text::COLUMN_GROWTH.as_str(), "bytes/s"),
        (text::COLUMN_NEEDED.as_str(), "bytes/s"),
        (text::COLUMN_RATE.as_str(), "bytes/s"),
    ]);
    for place in &frame.topology.nodes {
        let cpus = place.cpus.intersection(&frame.topology.cpus_online).len() as f64;
        let growth = frame.node(place.id).and_then(|node| node.file_growth_bytes_per_second);
        let reach = triple.reach(PAGES_EACH * page * cpus);
        let needed = growth.map(|growth| growth.max(0.0) * factor);
        grid.push(
            text::Node { node: &place.id }.to_string(),
            [Cell::Number(cpus), Cell::of(growth), Cell::of(needed), Cell::Number(reach)],
        );
    }
    Some(grid)
}

fn title(finding: &Finding) -> String {
    let reach = finding.number(evidence::REACH).unwrap_or(0.0);
    let sufficient = finding.number(evidence::REACH_THEN) >= finding.number(evidence::NEEDED);
    let growth = finding.number(evidence::GROWTH).unwrap_or(0.0) + finding.number(evidence::RECLAIMED).unwrap_or(0.0);
    let (growth, rate) = (&parts::bytes(Some(growth.max(0.0))), &parts::bytes(Some(reach)));
    match (reach == 0.0, &finding.text(evidence::COMMAND)) {
        (true, &"") => text::OFF.to_string(),
        (true, command) if sufficient => text::OffSufficient { growth, command }.to_string(),
        (true, command) => text::OffInsufficient { growth, command }.to_string(),
        (false, &"") => text::Slow { rate, growth }.to_string(),
        (false, command) if sufficient => text::SlowSufficient { rate, growth, command }.to_string(),
        (false, command) => text::SlowInsufficient { rate, growth, command }.to_string(),
    }
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
