//! Reclaim in a group that comes and goes, what dips with it, and what is not the cause: what MEM-02 tells besides.

use crate::Known;
use crate::frame::{Cgroup, CgroupMemory, Frame, Process};
use crate::locale::evidence;
use crate::rules::series::{by_second, dips, period};
use crate::rules::{Hit, RuleContext, Subject, parts};

/// Seconds that a rhythm is looked for in.
const DEPTH: usize = 300;
/// How alike dips and bursts must be to be told.
const ALIKE: f64 = 0.4;
/// Share of its limit from which on a group is followed.
const FOLLOWED: f64 = 0.85;

/// Pain from which on a group is followed, and for how many samples without any it is followed on.
const SOME: f64 = 1.0 / 3.0;
const FORGIVEN: usize = 120;

/// Reclaim that comes in bursts.
#[derive(Clone, Debug)]
pub(in crate::rules) struct Rhythm {
    /// Seconds from one burst to the next.
    pub(in crate::rules) period: f64,
    /// True where each of the last bursts hurt.
    pub(in crate::rules) hurts: bool,
    /// What dips with it, in words; empty where nothing does.
    pub(in crate::rules) dips: String,
}

/// What moves while a group reclaims: one series for the machine and each of its metrics, remembered once a sample.
#[derive(Debug, Default)]
pub(in crate::rules) struct Throughput(Vec<(String, Vec<f64>)>);

impl Throughput {
    /// Remembers this sample's; nothing while no group is followed.
    pub(in crate::rules) fn remember(context: &mut RuleContext<'_>) -> Self {
        let frame = context.frame();
        if !frame.cgroups.iter().any(|cgroup| parts::has_own_limit(cgroup) && is_followed(cgroup)) {
            return Self::default();
        }
        let mut all = Vec::new();
        for metric in frame.metrics.iter().take(4) {
            if let Some(value) = metric.value {
                let key = Subject::Cgroup(format!("//metric {}", metric.name).into());
                let series = context.remember(&key, value);
                all.push((metric.name.to_string(), by_second(&series, DEPTH)));
            }
        }
        let bytes = frame
            .nics
            .iter()
            .filter(|nic| parts::is_physical(nic))
            .filter_map(|nic| Some(nic.rx.bytes_per_second? + nic.tx.bytes_per_second?));
        let bytes: Vec<f64> = bytes.collect();
        if !bytes.is_empty() {
            let series = context.remember(&Subject::Cgroup("//network".into()), bytes.iter().sum());
            all.push(("network traffic".to_owned(), by_second(&series, DEPTH)));
        }
        Self(all)
    }
}

fn is_followed(cgroup: &Cgroup) -> bool {
    let memory = cgroup.memory.as_ref();
    let full = memory
        .and_then(|memory| Some(memory.current_bytes.value()? as f64 / memory.limit_bytes.value()?.max(1) as f64));
    full.is_some_and(|full| full >= FOLLOWED)
}

/// How often a group's own tasks reclaim: pages that they scan, else how often it was at its limit.
fn effort(memory: &CgroupMemory) -> Option<f64> {
    memory.pgscan_direct_per_second.or(memory.events_max_per_second)
}

/// Remembers how much a group reclaims and how much that hurts (1 is the limit), and tells the rhythm if there is one.
pub(in crate::rules) fn rhythm(
    context: &mut RuleContext<'_>,
    cgroup: &Cgroup,
    pain: f64,
    throughput: &Throughput,
) -> Option<Rhythm> {
    let memory = cgroup.memory.as_ref()?;
    let key = |what: &str| Subject::Cgroup(format!("{}//{what}", cgroup.path).into());
    // Followed are groups that hurt lately, also while they do not: a full one without pain is nothing to follow.
    let lately = context.remembered_newest(&key("pain"), FORGIVEN).iter().any(|point| point.1 >= SOME);
    if !lately && (pain < SOME || !is_followed(cgroup)) {
        return None;
    }
    let pains = by_second(&context.remember(&key("pain"), pain), DEPTH);
    let efforts = effort(memory).map(|rate| by_second(&context.remember(&key("reclaim"), rate), DEPTH));
    let cpu = cgroup.cpu.usage_cores.map(|cores| by_second(&context.remember(&key("cpu"), cores), DEPTH));
    let bursts = efforts.filter(|efforts| period(efforts).is_some()).unwrap_or_else(|| pains.clone());
    let period = period(&bursts)?;
    let last: Vec<f64> = pains.iter().rev().take(period as usize * 3).copied().collect();
    let hurts = last.chunks(period as usize).all(|burst| burst.iter().any(|pain| *pain >= 1.0));
    let cpu = cpu.map(|values| ("its CPU time".to_owned(), values));
    let told = throughput.0.iter().chain(&cpu).filter_map(|(name, values)| {
        let (lag, alike) = dips(&bursts, values, period as usize - 1)?;
        (alike >= ALIKE).then(|| format!("{name} dips {lag:.0} s after each burst (correlation {alike:.2})"))
    });
    Some(Rhythm { period, hurts, dips: parts::list(told, 3) })
}

/// Adds what report and reader ask next: growth, what is mapped and held by Java, what is not the cause, and which
/// limits of page cache the kernel has.
pub(in crate::rules) fn tell(hit: Hit, context: &RuleContext<'_>, cgroup: &Cgroup, memory: &CgroupMemory) -> Hit {
    let hit = hit
        .known(evidence::GROWTH, memory.growth_bytes_per_second, "bytes/s", "memory.current")
        .known(evidence::TIME_TO_LIMIT, memory.time_to_limit_seconds.value(), "s", "memory.current")
        .known(evidence::AT_LIMIT, memory.events_max_per_second, "1/s", "memory.events max")
        .known(evidence::DIRTY, memory.dirty_bytes.value().map(|bytes| bytes as f64), "bytes", "memory.stat")
        .known(evidence::MAPPED, memory.file_mapped_bytes.value().map(|bytes| bytes as f64), "bytes", "memory.stat");
    let frame = context.frame();
    let mut hit = tell_java(hit, frame, cgroup);
    let excluded = excluded(frame, cgroup, &inside(frame, cgroup));
    if !excluded.is_empty() {
        hit = hit.text(evidence::NOT_THE_CAUSE, excluded, "cpu.stat, /proc/stat, hsperfdata");
    }
    let kernel = cache_limits(frame);
    if !kernel.is_empty() {
        hit = hit.text(evidence::KERNEL_HAS, kernel, "/proc/sys/vm, memory.pagecache_limit.size");
    }
    hit
}

/// The processes of a group and those below it.
fn inside<'a>(frame: &'a Frame, cgroup: &Cgroup) -> Vec<&'a Process> {
    frame.processes.iter().filter(|process| belongs(process, cgroup)).collect()
}

fn belongs(process: &Process, cgroup: &Cgroup) -> bool {
    process.cgroup == cgroup.path || parts::is_below(&process.cgroup, &cgroup.path)
}

/// Adds what the memory of its Java virtual machines is.
pub(in crate::rules) fn tell_java(hit: Hit, frame: &Frame, cgroup: &Cgroup) -> Hit {
    let machines = frame.processes.iter().filter(|process| process.jvm.is_some() && belongs(process, cgroup));
    let java = parts::list(machines.filter_map(java), 3);
    if java.is_empty() { hit } else { hit.text(evidence::JAVA, java, "hsperfdata, /proc/PID/status") }
}

/// What a Java virtual machine's memory is: its heap, what is anonymous besides, and mapped files.
fn java(process: &Process) -> Option<String> {
    let jvm = process.jvm.as_ref()?;
    let heap = jvm.heap_capacity_bytes.value();
    let besides = process.rss_anon_bytes.value().zip(heap).map(|(anon, heap)| anon.saturating_sub(heap) as f64);
    let show = |bytes: Option<f64>| parts::bytes(bytes);
    Some(format!(
        "{} ({}): heap {}, besides it at least {} anonymous (direct buffers, threads, metaspace), {} of mapped files (a commit log)",
        process.comm,
        process.pid,
        show(heap.map(|bytes| bytes as f64)),
        show(besides),
        show(process.rss_file_bytes.value().map(|bytes| bytes as f64)),
    ))
}

/// What was suspected and is not it, with its numbers; what could not be looked at is said too.
fn excluded(frame: &Frame, cgroup: &Cgroup, inside: &[&Process]) -> String {
    let (mut cleared, mut unknown, mut guilty) = (Vec::new(), Vec::new(), Vec::new());
    let (used, quota) = (cgroup.cpu.usage_cores, parts::quota_cores(frame, &cgroup.path));
    match (used, quota) {
        (Some(used), Some(quota)) => {
            let throttled = cgroup.cpu.throttled_ratio.unwrap_or(0.0);
            let text = format!("CPU ({used:.1} of {quota:.1} cores, throttled in {})", parts::percent(Some(throttled)));
            if throttled < 0.05 { cleared.push(text) } else { guilty.push(text) }
        }
        (Some(used), None) => {
            let busiest = frame.cpus.iter().filter_map(crate::frame::Cpu::busy).fold(0.0, f64::max);
            let text = format!(
                "CPU ({used:.1} cores without a quota, the hottest of the machine {})",
                parts::percent(Some(busiest))
            );
            if busiest < 0.9 { cleared.push(text) } else { guilty.push(text) }
        }
        (None, _) => unknown.push("CPU (its time is unread)".to_owned()),
    }
    let steal = frame.cpus.iter().filter_map(|cpu| cpu.shares).map(|shares| shares.steal).fold(0.0, f64::max);
    if !frame.host.virtualization.is_empty() {
        let text = format!("steal ({})", parts::percent(Some(steal)));
        if steal < 0.1 { cleared.push(text) } else { guilty.push(text) }
    }
    let collected: Vec<(f64, f64)> = inside
        .iter()
        .filter_map(|process| process.jvm.as_ref())
        .filter_map(|jvm| Some((jvm.gc_time_ratio?, jvm.gc_per_second.unwrap_or(0.0))))
        .collect();
    if let Some((share, rate)) = collected.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
        let text = format!("garbage collection ({:.1} % of the time, {rate:.1}/s)", share * 100.0);
        if share < 0.1 { cleared.push(text) } else { guilty.push(text) }
    } else if inside.iter().any(|process| &*process.comm == "java") {
        unknown.push("garbage collection (no performance data of the JVM)".to_owned());
    }
    let mut sentences = Vec::new();
    match cleared.as_slice() {
        [] => {}
        [one] => sentences.push(format!("{one} is not the cause")),
        [first, rest @ ..] => sentences.push(format!("neither {first} nor {} is the cause", rest.join(" nor "))),
    }
    if !guilty.is_empty() {
        sentences.push(format!("may have a part in it: {}", guilty.join(", ")));
    }
    if !unknown.is_empty() {
        sentences.push(format!("not known: {}", unknown.join(", ")));
    }
    sentences.join("; ")
}

/// Limits and background reclaim of page cache that this kernel has, whoever made it.
pub(in crate::rules) fn cache_limits(frame: &Frame) -> String {
    let wanted = ["vm.cache_", "vm.pagecache_"];
    let mut found: Vec<String> = frame
        .sysctls
        .iter()
        .filter(|(name, _)| wanted.iter().any(|prefix| name.starts_with(prefix)))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let own = frame.cgroups.iter().filter_map(|cgroup| {
        let Known::Value(limit) = cgroup.memory.as_ref()?.pagecache_limit_bytes else { return None };
        Some(format!("memory.pagecache_limit.size of {}: {}", cgroup.path, parts::bytes(Some(limit as f64))))
    });
    found.extend(own.take(3));
    parts::list(found, 8)
}
