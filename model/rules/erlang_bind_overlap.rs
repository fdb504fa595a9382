//! BEAM-01: Erlang instances bind their schedulers to the same first CPUs.

use super::{
    Cell, Finding, Grid, Hit, Input, Pace, Page, Preflight, Rule, RuleContext, RuleId, Severity, Subject, Threshold,
    parts,
};
use super::{core_saturated, pinned_threads};
use crate::bottleneck::ResourceKind;
use crate::frame::{Frame, Thread};
use crate::locale::evidence;
use crate::locale::rule::erlang_bind_overlap as text;
use crate::locale::table;
use crate::{IdSet, Known};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The id of the rule.
pub const ID: RuleId = RuleId::new("BEAM-01");
pub(crate) const WAIT: Threshold = ID.threshold(text::threshold::WAIT, 0.2, "fraction");
pub(crate) const CRITICAL: Threshold = ID.threshold(text::threshold::CRITICAL, 0.3, "fraction");
pub(crate) const IDLE: Threshold = ID.threshold(text::threshold::IDLE, 0.85, "fraction");
pub(crate) const DEMAND: Threshold = ID.threshold(text::threshold::DEMAND, 0.8, "cores");

pub(crate) const RULE: Rule = Rule {
    id: ID,
    name: text::NAME,
    why: text::WHY,
    guards: text::GUARDS,
    advice: text::ADVICE,
    advises: None,
    gained: text::GAINED,
    limits: |_| &[ResourceKind::Core],
    needs_load: true,
    reads: &[Input::Processes, Input::Threads],
    sources: &["/proc/PID/cmdline", "/proc/PID/task/TID/status", "/proc/PID/task/TID/schedstat", "/proc/stat"],
    thresholds: &[WAIT, CRITICAL, IDLE, DEMAND],
    references: &["erl(1), +sbt", "https://www.rabbitmq.com/docs/runtime"],
    pace: Pace { at_once: true, ..Pace::QUICK },
    tables: &[Page { title: text::TABLE_TITLE, rows: text::TABLE }],
    preflight: Some(Preflight { name: text::PREFLIGHT, says: bind_types }),
    judge,
    title,
};

fn judge(context: &mut RuleContext<'_>) {
    let frame = context.frame();
    let (pids, shared) = colliding(frame);
    let Some(first) = shared.first() else { return };
    let others = others(frame, &pids, &shared);
    let idle = parts::idle_cpus(context, Some(&others), context.limit(&IDLE));
    // With no other CPU to use, or none with free capacity, nothing is gained by another bind type.
    let rates = frame.interval_seconds.is_some() && !context.is_before_test();
    if others.is_empty() || (rates && idle.is_empty()) {
        return;
    }
    let wait = bound_threads(frame, &pids, &shared).filter_map(|thread| thread.wait_share).max_by(f64::total_cmp);
    let demand = demand(frame, &pids, &shared);
    let is_contended = demand.is_none_or(|demand| demand >= context.limit(&DEMAND));
    let severity = match wait {
        Some(wait) if is_contended && wait >= context.limit(&CRITICAL) => Severity::Critical,
        Some(wait) if is_contended && wait >= context.limit(&WAIT) => Severity::Warning,
        _ => Severity::Info,
    };
    let names = pids.iter().filter_map(|pid| frame.process(*pid)).map(|process| {
        let bind = process.beam.as_ref().and_then(|beam| beam.bind_type_configured.clone().value());
        let pinned = process.beam.iter().flat_map(|beam| beam.pinned.iter().map(|(cpu, _)| *cpu));
        let cpus = IdSet::from_ids(pinned);
        format!("{} +sbt {}: CPU(s) {cpus}", parts::instance(frame, process), bind.as_deref().unwrap_or("?"))
    });
    let mut hit = Hit::new(Subject::Cpu(first), 0.95)
        .severity(severity)
        .number(evidence::INSTANCES, pids.len() as f64, "", "/proc/PID/cmdline")
        .known(evidence::DEMAND, demand, "cores", "/proc/PID/task/TID/schedstat")
        .known(evidence::WAIT, wait, "fraction", "/proc/PID/task/TID/schedstat")
        .text(evidence::SHARED, shared.to_string(), "/proc/PID/task/TID/status")
        .text(evidence::FREE_CPUS, idle.to_string(), "/proc/stat")
        .text(evidence::WHO, parts::list(names, 6), "/proc/PID/cmdline")
        .table(evidence::BY_INSTANCE, instances(frame, &pids), "/proc/PID/cmdline, /proc/PID/task/TID/status, cpu.max")
        .table(evidence::OVERLAP, overlap(frame, &pids, &shared), "/proc/PID/task/TID/status")
        .would_hurt();
    for cpu in shared.iter() {
        hit = hit.covers(pinned_threads::ID, Subject::Cpu(cpu)).covers(core_saturated::ID, Subject::Cpu(cpu));
    }
    context.hit(hit);
}

/// Instances that bind schedulers to CPUs shared with other instances, and those CPUs.
pub(super) fn colliding(frame: &Frame) -> (BTreeSet<u32>, IdSet) {
    let mut by_cpu: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for process in &frame.processes {
        let Some(beam) = process.beam.as_ref().filter(|beam| beam.bound_now.value() != Some(false)) else { continue };
        for (cpu, _) in &beam.pinned {
            by_cpu.entry(*cpu).or_default().insert(process.pid);
        }
    }
    by_cpu.retain(|_, pids| pids.len() > 1);
    (by_cpu.values().flatten().copied().collect(), IdSet::from_ids(by_cpu.keys().copied()))
}

/// CPUs that the instances may use besides those that they share.
fn others(frame: &Frame, pids: &BTreeSet<u32>, shared: &IdSet) -> IdSet {
    let cpusets = pids.iter().filter_map(|pid| frame.process(*pid)).map(|process| parts::cpuset(frame, process));
    let usable = cpusets.fold(IdSet::new(), |all, cpus| all.union(cpus)).intersection(&frame.topology.cpus_online);
    let isolated = |id: u32| frame.topology.cpus.iter().any(|cpu| cpu.id == id && cpu.isolated);
    IdSet::from_ids(usable.iter().filter(|id| !shared.contains(*id) && !isolated(*id)))
}

/// The threads that the instances bind to a shared CPU.
fn bound_threads<'a>(frame: &'a Frame, pids: &'a BTreeSet<u32>, shared: &'a IdSet) -> impl Iterator<Item = &'a Thread> {
    let is_there =
        |thread: &&Thread| thread.affinity.as_deref().and_then(IdSet::single).is_some_and(|cpu| shared.contains(cpu));
    pids.iter().flat_map(|pid| frame.threads_of(*pid)).filter(is_there)
}

/// The largest demand of bound threads for one shared CPU; unknown if the kernel does not count wait time.
fn demand(frame: &Frame, pids: &BTreeSet<u32>, shared: &IdSet) -> Option<f64> {
    let mut by_cpu: BTreeMap<u32, f64> = BTreeMap::new();
    for thread in bound_threads(frame, pids, shared) {
        if let (Some(cpu), Some(demand)) = (thread.affinity.as_deref().and_then(IdSet::single), thread.demand_cores) {
            *by_cpu.entry(cpu).or_default() += demand;
        }
    }
    by_cpu.into_values().max_by(f64::total_cmp)
}

/// Maximum rows and columns of a table.
const MAX_ROWS: usize = 16;

/// One row per instance: configured binding, current binding and allowed CPUs.
fn instances(frame: &Frame, pids: &BTreeSet<u32>) -> Grid {
    let columns = [
        table::CONFIGURED,
        table::BOUND_NOW,
        table::SCHEDULERS,
        table::QUOTA,
        table::CPUSET,
        table::ONLINE,
        table::BOUND_TO,
    ];
    let mut grid = Grid::new(columns.map(|name| (name.as_str(), "")));
    for process in pids.iter().take(MAX_ROWS).filter_map(|pid| frame.process(*pid)) {
        let Some(beam) = &process.beam else { continue };
        let configured = match &beam.bind_type_configured {
            Known::Missing => Cell::Unknown,
            Known::None => Cell::None,
            Known::Value(kind) => Cell::text(Arc::clone(kind)),
        };
        let bound = beam.bound_now.value().map_or(Cell::Unknown, |bound| Cell::text(parts::yes_or_no(bound)));
        let pinned = IdSet::from_ids(beam.pinned.iter().map(|(cpu, _)| *cpu));
        let cells = [
            configured,
            bound,
            Cell::count(beam.schedulers),
            parts::quota_cores(frame, process.quota_group()).map_or(Cell::None, Cell::Number),
            Cell::text(parts::cpuset(frame, process).to_string()),
            Cell::text(frame.topology.cpus_online.to_string()),
            if pinned.is_empty() { Cell::None } else { Cell::text(pinned.to_string()) },
        ];
        grid.push(parts::instance(frame, process), cells);
    }
    grid
}

/// The number of schedulers that each instance pins to the shared CPUs.
fn overlap(frame: &Frame, pids: &BTreeSet<u32>, shared: &IdSet) -> Grid {
    let cpus: Vec<u32> = shared.iter().take(MAX_ROWS).collect();
    let mut grid = Grid::new(cpus.iter().map(|cpu| (table::OneCpu { id: cpu }.to_string(), "")));
    for process in pids.iter().take(MAX_ROWS).filter_map(|pid| frame.process(*pid)) {
        let pinned = |cpu: &u32| process.beam.iter().flat_map(|beam| &beam.pinned).find(|(at, _)| at == cpu);
        let cells = cpus.iter().map(|cpu| Cell::Number(pinned(cpu).map_or(0.0, |(_, count)| f64::from(*count))));
        grid.push(parts::instance(frame, process), cells);
    }
    grid
}

/// Erlang VMs with their bind type.
fn bind_types(frame: &Frame) -> String {
    let beams = frame.processes.iter().filter_map(|process| Some((process, process.beam.as_ref()?)));
    let instances = beams.map(|(process, beam)| {
        let kind = beam.bind_type_configured.clone().value();
        let state = match beam.bound_now.value() {
            Some(true) => text::PREFLIGHT_BOUND,
            Some(false) => text::PREFLIGHT_UNBOUND,
            None => text::PREFLIGHT_UNKNOWN,
        };
        text::PreflightInstance {
            instance: &parts::instance(frame, process),
            bind: &kind.as_deref().unwrap_or(&text::PREFLIGHT_UNSET),
            state: &state,
        }
        .to_string()
    });
    let instances = parts::list(instances, 4);
    if instances.is_empty() { text::PREFLIGHT_NONE.to_string() } else { instances }
}

fn title(finding: &Finding) -> String {
    let (instances, shared) = (&parts::count(finding.number(evidence::INSTANCES)), &finding.text(evidence::SHARED));
    match finding.text(evidence::FREE_CPUS) {
        "" => text::Title { instances, shared }.to_string(),
        idle => text::TitleIdle { instances, shared, idle: &idle }.to_string(),
    }
}
