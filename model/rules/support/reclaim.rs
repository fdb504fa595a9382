//! Evidence of MEM-02: periodic reclaim in a control group, throughput dips after it, other possible causes.

use crate::Known;
use crate::frame::{Cgroup, CgroupMemory, Frame, Process};
use crate::locale::{evidence, reclaim as text};
use crate::rules::series::{by_second, dips, period};
use crate::rules::{Hit, RuleContext, Subject, parts};

/// Seconds of history searched for a period.
const DEPTH: usize = 300;
/// Minimum correlation of dips and bursts that is reported.
const ALIKE: f64 = 0.4;
/// Share of its limit from which a control group is tracked.
const FOLLOWED: f64 = 0.85;

/// Stall from which a control group is tracked, and the samples without any after which tracking ends.
const SOME: f64 = 1.0 / 3.0;
const FORGIVEN: usize = 120;

/// Reclaim in periodic bursts.
#[derive(Clone, Debug)]
pub(in crate::rules) struct Rhythm {
    /// Seconds from one burst to the next.
    pub(in crate::rules) period: f64,
    /// True if each of the last bursts stalled the workload.
    pub(in crate::rules) hurts: bool,
    /// What dips after each burst, as text; empty if nothing does.
    pub(in crate::rules) dips: String,
}

/// Throughput while a control group reclaims: the network traffic of the machine and its metrics.
#[derive(Debug, Default)]
pub(in crate::rules) struct Throughput(Vec<(String, Vec<f64>)>);

impl Throughput {
    /// Appends this sample; nothing while no control group is tracked.
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
            all.push((text::NETWORK.to_string(), by_second(&series, DEPTH)));
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

/// Direct reclaim of a control group: scanned pages, else limit hits.
fn effort(memory: &CgroupMemory) -> Option<f64> {
    memory.pgscan_direct_per_second.or(memory.events_max_per_second)
}

/// Appends how much a control group reclaims and how much that stalls it (1 is the limit); the period if there is one.
pub(in crate::rules) fn rhythm(
    context: &mut RuleContext<'_>,
    cgroup: &Cgroup,
    pain: f64,
    throughput: &Throughput,
) -> Option<Rhythm> {
    let memory = cgroup.memory.as_ref()?;
    let key = |what: &str| Subject::Cgroup(format!("{}//{what}", cgroup.path).into());
    // A control group is tracked after recent stalls, also between them: a full one without stalls is not.
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
    let cpu = cpu.map(|values| (text::CPU.to_string(), values));
    let dipping = throughput.0.iter().chain(&cpu).filter_map(|(name, values)| {
        let (lag, alike) = dips(&bursts, values, period as usize - 1)?;
        let (seconds, correlation) = (&format!("{lag:.0}"), &format!("{alike:.2}"));
        (alike >= ALIKE).then(|| text::Dip { name, seconds, correlation }.to_string())
    });
    Some(Rhythm { period, hurts, dips: parts::list(dipping, 3) })
}

/// Adds growth, mapped files, Java memory, other possible causes and the page cache limits of the kernel.
pub(in crate::rules) fn details(hit: Hit, context: &RuleContext<'_>, cgroup: &Cgroup, memory: &CgroupMemory) -> Hit {
    let hit = hit
        .known(evidence::GROWTH, memory.growth_bytes_per_second, "bytes/s", "memory.current")
        .known(evidence::AT_LIMIT, memory.events_max_per_second, "1/s", "memory.events max")
        .known(evidence::DIRTY, memory.dirty_bytes.value().map(|bytes| bytes as f64), "bytes", "memory.stat")
        .known(evidence::MAPPED, memory.file_mapped_bytes.value().map(|bytes| bytes as f64), "bytes", "memory.stat");
    let frame = context.frame();
    let mut hit = java_memory(hit, frame, cgroup);
    let causes = other_causes(frame, cgroup, &inside(frame, cgroup));
    if !causes.is_empty() {
        hit = hit.text(evidence::NOT_THE_CAUSE, causes, "cpu.stat, /proc/stat, hsperfdata");
    }
    let kernel = cache_limits(frame);
    if !kernel.is_empty() {
        hit = hit.text(evidence::KERNEL_HAS, kernel, "/proc/sys/vm, memory.pagecache_limit.size");
    }
    hit
}

/// The processes of a control group and of those below it.
fn inside<'a>(frame: &'a Frame, cgroup: &Cgroup) -> Vec<&'a Process> {
    frame.processes.iter().filter(|process| belongs(process, cgroup)).collect()
}

fn belongs(process: &Process, cgroup: &Cgroup) -> bool {
    process.cgroup == cgroup.path || parts::is_below(&process.cgroup, &cgroup.path)
}

/// Adds the memory of its Java virtual machines.
pub(in crate::rules) fn java_memory(hit: Hit, frame: &Frame, cgroup: &Cgroup) -> Hit {
    let machines = frame.processes.iter().filter(|process| process.jvm.is_some() && belongs(process, cgroup));
    let java = parts::list(machines.filter_map(java), 3);
    if java.is_empty() { hit } else { hit.text(evidence::JAVA, java, "hsperfdata, /proc/PID/status") }
}

/// The memory of a Java virtual machine: heap, other anonymous memory, mapped files.
fn java(process: &Process) -> Option<String> {
    let jvm = process.jvm.as_ref()?;
    let heap = jvm.heap_capacity_bytes.value();
    let other = process.rss_anon_bytes.value().zip(heap).map(|(anon, heap)| anon.saturating_sub(heap) as f64);
    let show = |bytes: Option<f64>| parts::bytes(bytes);
    let java = text::Java {
        comm: &process.comm,
        pid: &process.pid,
        heap: &show(heap.map(|bytes| bytes as f64)),
        anonymous: &show(other),
        mapped: &show(process.rss_file_bytes.value().map(|bytes| bytes as f64)),
    };
    Some(java.to_string())
}

/// Other causes of stalls, with their numbers: ruled out, possible or unknown.
#[derive(Default)]
struct Causes {
    ruled_out: Vec<String>,
    possible: Vec<String>,
    unknown: Vec<String>,
}

impl Causes {
    fn judge(&mut self, is_possible: bool, cause: String) {
        if is_possible { self.possible.push(cause) } else { self.ruled_out.push(cause) }
    }

    fn text(&self) -> String {
        let list = |causes: &[String]| Some(causes.join(", ")).filter(|causes| !causes.is_empty());
        let ruled_out = list(&self.ruled_out).map(|causes| text::RuledOut { causes: &causes }.to_string());
        let possible = list(&self.possible).map(|causes| text::Possible { causes: &causes }.to_string());
        let unknown = list(&self.unknown).map(|causes| text::Unknown { causes: &causes }.to_string());
        [ruled_out, possible, unknown].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

fn other_causes(frame: &Frame, cgroup: &Cgroup, inside: &[&Process]) -> String {
    let mut causes = Causes::default();
    cpu_cause(frame, cgroup, &mut causes);
    let steal = frame.cpus.iter().filter_map(|cpu| cpu.shares).map(|shares| shares.steal).fold(0.0, f64::max);
    if !frame.host.virtualization.is_empty() {
        causes.judge(steal >= 0.1, text::Steal { share: &parts::percent(Some(steal)) }.to_string());
    }
    let collected = inside
        .iter()
        .filter_map(|process| process.jvm.as_ref())
        .filter_map(|jvm| Some((jvm.gc_time_ratio?, jvm.gc_per_second.unwrap_or(0.0))));
    if let Some((share, rate)) = collected.max_by(|a, b| a.0.total_cmp(&b.0)) {
        let (share_text, rate) = (&format!("{:.1}%", share * 100.0), &format!("{rate:.1}"));
        causes.judge(share >= 0.1, text::Collection { share: share_text, rate }.to_string());
    } else if inside.iter().any(|process| &*process.comm == "java") {
        causes.unknown.push(text::COLLECTION_UNREAD.to_string());
    }
    causes.text()
}

fn cpu_cause(frame: &Frame, cgroup: &Cgroup, causes: &mut Causes) {
    let Some(used) = cgroup.cpu.usage_cores else {
        causes.unknown.push(text::CPU_UNREAD.to_string());
        return;
    };
    let used = &format!("{used:.1}");
    if let Some(quota) = parts::quota_cores(frame, &cgroup.path) {
        let ratio = cgroup.cpu.throttled_ratio.unwrap_or(0.0);
        let (quota, throttled) = (&format!("{quota:.1}"), &parts::percent(Some(ratio)));
        causes.judge(ratio >= 0.05, text::CpuQuota { used, quota, throttled }.to_string());
    } else {
        let share = frame.cpus.iter().filter_map(crate::frame::Cpu::busy).fold(0.0, f64::max);
        let busiest = &parts::percent(Some(share));
        causes.judge(share >= 0.9, text::CpuNoQuota { used, busiest }.to_string());
    }
}

/// Page cache limits and background reclaim settings of this kernel, of any vendor.
pub(in crate::rules) fn cache_limits(frame: &Frame) -> String {
    let prefixes = ["vm.cache_", "vm.pagecache_"];
    let mut limits: Vec<String> = frame
        .sysctls
        .iter()
        .filter(|(name, _)| prefixes.iter().any(|prefix| name.starts_with(prefix)))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let own = frame.cgroups.iter().filter_map(|cgroup| {
        let Known::Value(limit) = cgroup.memory.as_ref()?.pagecache_limit_bytes else { return None };
        let limit = &parts::bytes(Some(limit as f64));
        Some(text::GroupLimit { group: &cgroup.path, limit }.to_string())
    });
    limits.extend(own.take(3));
    parts::list(limits, 8)
}
