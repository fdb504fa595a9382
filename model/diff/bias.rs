//! What differs between two windows besides what is asked about, and in which direction that misleads.

use super::cost::{Cost, CostChange, is_own};
use super::decide::Answer;
use super::outcome::Watch;
use super::part::Part;
use super::reason::Reason;
use super::row::{Row, Verdict};
use super::subject::Subject;
use super::window::End;
use std::collections::BTreeMap;

/// Cores from which foreign load counts, and that part of the machine.
const FOREIGN_CORES: f64 = 0.25;
const FOREIGN_PART: f64 = 0.02;
/// Who uses fewer cores, or such a part of what it uses on the other side, is not there.
const ABSENT_CORES: f64 = 0.05;
const ABSENT_PART: f64 = 0.1;
/// Processes that came by so many times what left are more than others under another name.
const REPLACED: f64 = 2.0;
/// Bytes per second from which foreign I/O counts, and that part of all.
const FOREIGN_BYTES: f64 = 1e6;
const FOREIGN_BYTES_PART: f64 = 0.2;
/// Who reads or writes less is not there.
const ABSENT_BYTES: f64 = FOREIGN_BYTES / 10.0;
/// The CPUs that a process uses, and the bytes that it reads and writes.
const CORES: &str = "process.cores";
const BYTES: [&str; 2] = ["process.read_bytes", "process.write_bytes"];
/// A control group that waits for its I/O for such a share of the time is held back.
const HELD: f64 = 0.5;
/// Packets per second from which an interface that one side does not use counts, and that part of all.
const FOREIGN_PACKETS: f64 = 1000.0;
/// Slow-downs for heat per reading of the counters that count.
const THROTTLES: f64 = 0.5;
/// A difference of steal time that counts.
const STEAL: f64 = 0.05;
/// Bytes per unit of work that differ by so much are other requests, unless there are so few per second whatever the work.
const MIX: f64 = 0.25;
const MIX_BYTES: f64 = 1e6;
/// Who shares a core or a cache with a load takes or leaves less than half of it.
const SHARED: f64 = 2.0;
/// A CPU that is busy for such a share of the time is full.
const FULL: f64 = 0.85;
/// Below such a share of waiting nothing waited.
const WAITED: f64 = 0.05;

/// Something that speaks against an answer in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// `Worse` or `Improved`: the verdict that it may be the cause of.
    pub against: Verdict,
    /// What it is.
    pub reason: Reason,
}

/// Everything of the kind.
pub(super) fn biases(rows: &[Row], costs: &[CostChange], parts: &[Part<'_>; 2], load: Option<&Watch>) -> Vec<Bias> {
    let cpus = parts[1].side.topology().cpus_online.len().max(1) as f64;
    let cores = foreign(rows, CORES, load, FOREIGN_CORES.max(FOREIGN_PART * cpus), ABSENT_CORES);
    let cores = cores.filter(|(_, more)| {
        let contended = contended(rows, *more > 0.0);
        // Of full CPUs, a load may also get what the other one had.
        let share = if contended { cpus / (cpus - more.abs()).max(0.1) } else { 1.0 };
        !is_larger(rows, load, SHARED * share)
    });
    let cores = cores.map(|(name, cores)| (cores, Reason::Foreign { name, cores }));
    let bytes = foreign_bytes(rows, load).map(|(name, bytes)| (bytes, Reason::ForeignBytes { name, bytes }));
    let packets = foreign_packets(rows).or_else(|| packets_against_work(rows, load));
    let packets = packets.map(|(name, rate)| (rate, Reason::ForeignPackets { name, rate }));
    let heat = throttled(rows).map(|more| (more, Reason::Throttled { more: more > 0.0 }));
    let steal = shift(rows, &Subject::Host, "host.steal").filter(|points| points.abs() >= STEAL);
    let steal = steal.map(|points| (points, Reason::Steal { points }));
    // What a fix watches may itself be packets or bytes: only work that the application counts has a mix.
    let own = load.is_some_and(|load| is_own(&load.subject));
    let mix = mix(rows, costs, load).filter(|_| own).map(|ratio| (ratio - 1.0, Reason::Mix { ratio }));
    // More of each makes the load worse.
    let signed = [cores, bytes, packets, steal, heat, mix].into_iter().flatten().map(|(more, reason)| {
        let against = if more > 0.0 { Verdict::Worse } else { Verdict::Improved };
        Bias { against, reason }
    });
    let offered = offered(rows, costs).then_some(Bias { against: Verdict::Improved, reason: Reason::Offered });
    signed.chain(offered).chain(collapsed(parts)).collect()
}

/// Turns verdicts that a bias may be the cause of into open ones: of the application's own metrics, and of costs, which
/// are the machine's.
pub(super) fn apply(biases: &[Bias], rows: &mut [Row], costs: &mut [CostChange]) {
    for row in rows.iter_mut().filter(|row| row.is_own()) {
        if let Some(bias) = against(biases, row.verdict) {
            (row.verdict, row.reason) = (Verdict::Inconclusive, Some(bias.reason.clone()));
        }
    }
    for cost in costs {
        let is_other = |bias: &&Bias| !matches!(bias.reason, Reason::Mix { .. } | Reason::Offered);
        let verdict = cost.verdict();
        let bias = biases.iter().filter(is_other).find(|bias| bias.against == verdict);
        if let Some(bias) = bias {
            cost.reason = Some(bias.reason.clone());
        }
    }
}

/// What speaks against a verdict.
fn against(biases: &[Bias], verdict: Verdict) -> Option<&Bias> {
    biases.iter().find(|bias| bias.against == verdict)
}

fn mean(row: Option<super::row::Spread>) -> f64 {
    row.map_or(0.0, |spread| spread.mean)
}

fn shift(rows: &[Row], subject: &Subject, metric: &str) -> Option<f64> {
    let row = rows.iter().find(|row| row.metric.id == metric && row.subject == *subject)?;
    Some(row.after?.mean - row.before?.mean)
}

/// Processes that are there on one side only, by the one with most: those are not the load's, unless others left for
/// them. By name: what is started again may be in another control group.
fn foreign(rows: &[Row], metric: &str, load: Option<&Watch>, least: f64, absent: f64) -> Option<(Name, f64)> {
    let of_cores = metric == CORES;
    let one_sided = |(name, [before, after]): (Name, [f64; 2])| {
        let absent = if of_cores { absent.max(ABSENT_PART * before.max(after)) } else { absent };
        let stays = (of_cores && stays_at_disk(rows, &name)) || is_held(rows, &name);
        (before.min(after) <= absent && !stays).then_some((name, after - before))
    };
    let changes: Vec<(Name, f64)> = others(rows, metric, load).into_iter().filter_map(one_sided).collect();
    let sum = |sign: f64| changes.iter().map(|one| (one.1 * sign).max(0.0)).sum::<f64>();
    let (came, left) = (sum(1.0), sum(-1.0));
    let outweighs = |one: f64, other: f64| one >= least && (other < least || one >= REPLACED * other);
    let sign = match (outweighs(came, left), outweighs(left, came)) {
        (true, _) => 1.0,
        (_, true) => -1.0,
        _ => return None,
    };
    let most = changes.into_iter().max_by(|a, b| (a.1 * sign).total_cmp(&(b.1 * sign)))?;
    Some((most.0, sign * came.max(left)))
}

/// A metric of the processes of each name on both sides, without topotop, kernel threads and the load's control group.
fn others(rows: &[Row], metric: &str, load: Option<&Watch>) -> BTreeMap<Name, [f64; 2]> {
    let mut all: BTreeMap<Name, [f64; 2]> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.metric.id == metric && !row.kernel) {
        let Subject::Process { comm, cgroup } = &row.subject else { continue };
        let of_load = load.is_some_and(|load| matches!(&load.subject, Subject::Cgroup(path) if path == cgroup));
        if !of_load && !comm.starts_with("topotop") {
            let sum = all.entry(Name::clone(comm)).or_default();
            *sum = [sum[0] + mean(row.before), sum[1] + mean(row.after)];
        }
    }
    all
}

/// True of a user of disks that uses them on both sides: a bulk writer that an I/O limit holds back hardly needs a CPU any
/// more, and has not left.
fn stays_at_disk(rows: &[Row], name: &Name) -> bool {
    BYTES.iter().any(|metric| {
        let [before, after] = others(rows, metric, None).get(name).copied().unwrap_or_default();
        before.max(after) >= FOREIGN_BYTES && before.min(after) > ABSENT_BYTES
    })
}

/// True of a user of disks that does little on one side because its control group waits for them there: an I/O limit may
/// leave less than what counts.
fn is_held(rows: &[Row], name: &Name) -> bool {
    let waits = |path: &Name, after: bool| {
        let is_pressure = |row: &&Row| {
            row.metric.id == "cgroup.io_pressure" && matches!(&row.subject, Subject::Cgroup(group) if group == path)
        };
        rows.iter().find(is_pressure).is_some_and(|row| mean(if after { row.after } else { row.before }) >= HELD)
    };
    rows.iter().filter(|row| BYTES.contains(&row.metric.id)).any(|row| {
        let Subject::Process { comm, cgroup } = &row.subject else { return false };
        let (before, after) = (mean(row.before), mean(row.after));
        comm == name && before.min(after) > 0.0 && waits(cgroup, after < before)
    })
}

type Name = std::sync::Arc<str>;

/// True if somebody waited for a CPU, or one was full, on the side where another load is; or if that is unknown.
fn contended(rows: &[Row], after: bool) -> bool {
    let side = |row: &Row| if after { row.after } else { row.before };
    let level = |subject: &Subject, metric: &str| {
        let row = rows.iter().find(|row| row.metric.id == metric && row.subject == *subject)?;
        Some(side(row)?.mean)
    };
    let waited = level(&Subject::Pressure("cpu".into()), "pressure.some");
    let busiest = level(&Subject::Host, "host.busiest_cpu");
    waited.is_none_or(|waited| waited >= WAITED) || busiest.is_none_or(|busy| busy >= FULL)
}

fn of_load<'a>(rows: &'a [Row], load: Option<&Watch>) -> Option<&'a Row> {
    let load = load?;
    rows.iter().find(|row| row.metric.id == load.metric && row.subject == load.subject)
}

/// True if the load became so many times what it was, or such a fraction, at least.
fn is_larger(rows: &[Row], load: Option<&Watch>, times: f64) -> bool {
    let ratio = of_load(rows, load).and_then(|row| row.decision.as_ref()?.ratio);
    ratio.is_some_and(|[_, low, high]| low >= times || high <= 1.0 / times)
}

/// A side with hardly any load at its end: what was measured before that is not all there was.
fn collapsed(parts: &[Part<'_>; 2]) -> Vec<Bias> {
    let sides = [(false, Verdict::Worse), (true, Verdict::Improved)];
    let gone = sides.into_iter().zip(parts).filter(|(_, part)| part.window().end == End::Collapsed);
    gone.flat_map(|((after, verdict), _)| {
        [verdict, Verdict::NoChange].map(|against| Bias { against, reason: Reason::LoadGone { after } })
    })
    .collect()
}

fn foreign_bytes(rows: &[Row], load: Option<&Watch>) -> Option<(Name, f64)> {
    let total = |side: fn(&Row) -> f64| {
        let disks = rows.iter().filter(|row| matches!(row.metric.id, "disk.read_bytes" | "disk.write_bytes"));
        disks.map(side).sum::<f64>()
    };
    let total = total(|row| mean(row.before)).max(total(|row| mean(row.after)));
    let least = FOREIGN_BYTES.max(FOREIGN_BYTES_PART * total);
    BYTES.into_iter().find_map(|kind| foreign(rows, kind, load, least, ABSENT_BYTES))
}

/// The interface that only one side uses, where no other one was used instead of it.
fn foreign_packets(rows: &[Row]) -> Option<(Name, f64)> {
    let is_packets = |row: &&Row| matches!(row.metric.id, "nic.rx_packets" | "nic.tx_packets");
    let total = |side: fn(&Row) -> f64| rows.iter().filter(is_packets).map(side).sum::<f64>();
    let total = total(|row| mean(row.before)).max(total(|row| mean(row.after)));
    let least = FOREIGN_PACKETS.max(FOREIGN_BYTES_PART * total);
    let mut links: Vec<(&Name, f64, f64)> = Vec::new();
    for row in rows.iter().filter(is_packets) {
        let Subject::Nic(name) = &row.subject else { continue };
        let (before, after) = (mean(row.before), mean(row.after));
        match links.iter_mut().find(|link| link.0 == name) {
            Some(link) => (link.1, link.2) = (link.1 + before, link.2 + after),
            None => links.push((name, before, after)),
        }
    }
    let appeared = |(_, before, after): &(&Name, f64, f64)| before.min(*after) <= FOREIGN_PACKETS / 10.0;
    let mut changes = links.iter().filter(|link| appeared(link)).map(|(name, before, after)| (name, after - before));
    let (came, left): (Vec<_>, Vec<_>) =
        changes.by_ref().filter(|one| one.1.abs() >= least).partition(|one| one.1 > 0.0);
    let one = if left.is_empty() { came.first() } else { left.first().filter(|_| came.is_empty()) };
    one.map(|(name, rate)| (Name::clone(name), *rate))
}

/// The interface whose traffic moved against the work of the application: what it received more (or less) was not the
/// load's. Bytes have to move with the packets, as they do not where the same requests are only cut otherwise.
fn packets_against_work(rows: &[Row], load: Option<&Watch>) -> Option<(Name, f64)> {
    let load = load.filter(|load| is_own(&load.subject))?;
    let sign = -shift(rows, &load.subject, load.metric)?.signum();
    rows.iter().filter(|row| row.metric.id == "nic.rx_packets").find_map(|row| {
        let Subject::Nic(name) = &row.subject else { return None };
        let (before, after) = (mean(row.before), mean(row.after));
        let bytes = shift(rows, &row.subject, "nic.rx_bytes")?;
        let least = FOREIGN_PACKETS.max(FOREIGN_BYTES_PART * before.max(after));
        ((after - before) * sign >= least && bytes * sign > 0.0).then(|| (Name::clone(name), after - before))
    })
}

/// How much more often the cores were slowed down for heat, where that happened on one side only.
fn throttled(rows: &[Row]) -> Option<f64> {
    let row = rows.iter().find(|row| row.metric.id == "host.thermal_throttles")?;
    let (before, after) = (row.before?.mean, row.after?.mean);
    (before.max(after) >= THROTTLES && before.min(after) <= before.max(after) / 10.0).then_some(after - before)
}

/// Bytes per unit of work where they changed by more than other framing explains. A few bytes that are as many with more
/// work are those of others: of a login, of whoever watches.
fn mix(rows: &[Row], costs: &[CostChange], load: Option<&Watch>) -> Option<f64> {
    let network = costs.iter().find(|cost| cost.cost == Cost::NetworkBytes)?;
    let ratio = network.after / network.before;
    let work = of_load(rows, load)?;
    let [before, after] = [network.before * mean(work.before), network.after * mean(work.after)];
    if before.max(after) < MIX_BYTES && before.min(after) >= (1.0 - MIX) * before.max(after) {
        return None;
    }
    let changed = network.decision.answer == Answer::Changed && ratio.is_finite();
    (changed && !((1.0 - MIX)..=(1.0 + MIX)).contains(&ratio)).then_some(ratio)
}

/// True if nothing waited before and a unit costs as much CPU time as it did: a machine with headroom does as much as
/// it is asked for.
fn offered(rows: &[Row], costs: &[CostChange]) -> bool {
    let full = |row: &Row| {
        let least = match row.metric.id {
            "host.busiest_cpu" => FULL,
            "disk.utilisation" | "nic.utilisation" => 0.8,
            "cgroup.throttled" => WAITED,
            _ => return false,
        };
        mean(row.before) >= least
    };
    let mut pressure =
        rows.iter().filter(|row| row.metric.id == "pressure.some").filter_map(|row| row.before).peekable();
    let known = pressure.peek().is_some();
    let waited = pressure.any(|spread| spread.mean >= WAITED);
    let cpu = costs.iter().find(|cost| cost.cost == Cost::Cpu);
    let cheaper = cpu.is_some_and(|cost| cost.after <= cost.before * 0.9);
    known && !waited && !rows.iter().any(full) && cpu.is_some() && !cheaper
}
