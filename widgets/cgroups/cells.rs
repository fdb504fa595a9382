//! Cells of the group tables.

use super::Row;
use crate::parts::bar::Part;
use crate::parts::panel::Sign;
use crate::parts::units::{self, Short};
use crate::parts::{Pen, mark, names};
use crate::{Charset, Cx, Role};
use topotop_model::Known;
use topotop_model::frame::{Cgroup, CgroupMemory, PressureStall};
use topotop_model::locale::screen::cgroups as text;
use topotop_model::text::short_ids;

const MEMORY_FILE: &str = "/memory.stat";

pub(super) const SIGNS: &[Sign] = &[
    Sign { role: Role::Anon, glyph: "▇", ascii: "#", label: text::ANONYMOUS },
    Sign { role: Role::Pinned, glyph: "▆", ascii: "%", label: text::PINNED },
    Sign { role: Role::Dirty, glyph: "▄", ascii: "=", label: text::DIRTY },
    Sign { role: Role::Cache, glyph: "▂", ascii: ":", label: text::CLEAN },
    Sign { role: Role::Dim, glyph: "↑", ascii: "'", label: text::ANCESTOR_LIMIT },
    Sign { role: Role::Dim, glyph: "host", ascii: "host", label: text::NO_LIMIT },
];

/// The branch, the fold mark, the name; in a list the name and where it belongs.
pub(super) fn name(cx: &Cx<'_>, group: &Cgroup, row: Row, pen: &mut Pen<'_>) {
    if row.listed {
        pen.group(Role::Text, &names::short(group));
        let above = group.path.rsplit_once('/').map_or("", |(above, _)| names::leaf(above));
        if group.container.is_none() && pen.left() > names::width(above) && !matches!(above, "" | "/") {
            pen.skip(1).text(Role::Dim, above);
        }
        return;
    }
    let indent = row.depth.saturating_mul(2).min(pen.left() / 2);
    pen.skip(indent);
    let mark = match (row.children, row.folded) {
        (0, _) => "  ",
        (_, true) => "▸ ",
        (_, false) => "▾ ",
    };
    let mark = if cx.charset == Charset::Ascii {
        if row.folded {
            "+ "
        } else if row.children > 0 {
            "_ "
        } else {
            "  "
        }
    } else {
        mark
    };
    pen.text(Role::Dim, mark);
    let known = group.container.as_ref().map(names::container).filter(|name| !name.is_empty());
    match known {
        Some(name) => pen.group(Role::Text, &name),
        None => pen.named(if row.children > 0 { Role::Head } else { Role::Text }, &short_ids(names::leaf(&group.path))),
    };
    if row.folded {
        pen.text(Role::Dim, &format!(" +{}", row.children));
    }
}

/// The limit that binds, if it is not just the machine's memory.
pub(super) fn bound(memory: &CgroupMemory) -> Option<f64> {
    let limit = memory.effective_limit_bytes.value().filter(|&limit| limit > 0)?;
    memory.is_limited().then_some(limit as f64)
}

/// How full it is, against the limit that binds or the machine's memory.
pub(super) fn fill(memory: &CgroupMemory) -> Option<f64> {
    let limit = memory.effective_limit_bytes.value().filter(|&limit| limit > 0)?;
    Some(memory.current_bytes.value()? as f64 / limit as f64)
}

/// What groups are sorted by: how full, those without a limit of their own after all others.
pub(super) fn nearness(memory: &CgroupMemory) -> Option<f64> {
    Some(fill(memory)? + if bound(memory).is_some() { UNLIMITED } else { 0.0 })
}

/// The same of all groups: those without a share after all others, the biggest first.
pub(super) fn order(memory: &CgroupMemory) -> f64 {
    let bytes = memory.current_bytes.value().unwrap_or(0) as f64;
    nearness(memory).unwrap_or_else(|| bytes / (bytes + 1.0) - 2.0 + bytes.log2().max(0.0) / 1e3)
}

/// Above any share of the machine's memory.
const UNLIMITED: f64 = 1e6;

/// Alarm is about what cannot be given back, or about a full cache that hurts: a full cache alone is normal.
pub(super) fn alarm(group: &Cgroup, memory: &CgroupMemory) -> Role {
    let (Some(limit), Some(fill)) = (bound(memory), fill(memory)) else { return Role::Dim };
    let stuck = memory.unreclaimable_bytes.value().map(|bytes| bytes as f64 / limit);
    let stall = group.pressure.memory.and_then(|stall| stall.some_ratio).unwrap_or(0.0);
    let hurts = stall >= 0.05
        || memory.pgscan_direct_per_second.is_some_and(|rate| rate >= 5_000.0)
        || memory.refault_file_per_second.is_some_and(|rate| rate >= 500.0);
    match stuck {
        Some(share) if share >= 0.95 => Role::Critical,
        _ if fill >= 0.97 && stall >= 0.2 => Role::Critical,
        Some(share) if share >= 0.85 => Role::Warn,
        _ if fill >= 0.97 && hurts => Role::Warn,
        _ => Role::Text,
    }
}

/// The stacked bar: parts of what it uses, the whole is the limit.
pub(super) fn bar(memory: &CgroupMemory, pen: &mut Pen<'_>) {
    let width = pen.left();
    let (Some(limit), Some(current)) =
        (memory.effective_limit_bytes.value().filter(|&limit| limit > 0), memory.current_bytes.value())
    else {
        pen.unread("/memory.current");
        return;
    };
    let share = |bytes: u64| bytes as f64 / limit as f64;
    let Some(anon) = memory.anon_bytes.value() else {
        pen.stacked(width, &[Part::new(share(current), Role::Info, "▬", "=")]);
        return;
    };
    let anon = anon.min(current);
    let clean = memory.reclaimable_bytes.value().unwrap_or(0).min(current - anon);
    let dirty = memory.dirty_bytes.value().unwrap_or(0).saturating_add(memory.writeback_bytes.value().unwrap_or(0));
    let dirty = dirty.min(current - anon - clean);
    let pinned = current - anon - clean - dirty;
    pen.stacked(
        width,
        &[
            Part::new(share(anon), Role::Anon, "▇", "#"),
            Part::new(share(pinned), Role::Pinned, "▆", "%"),
            Part::new(share(dirty), Role::Dirty, "▄", "="),
            Part::new(share(clean), Role::Cache, "▂", ":"),
        ],
    );
}

pub(super) fn limit(memory: &CgroupMemory, own: &str, pen: &mut Pen<'_>) {
    match memory.effective_limit_bytes {
        Known::Value(_) if bound(memory).is_none() => pen.text(Role::Dim, "host"),
        Known::Value(limit) => {
            let above = !memory.limited_by.is_empty()
                && *memory.limited_by != *own
                && memory.limit_bytes != Known::Value(limit);
            let mark = if pen.cx().charset == Charset::Ascii { "'" } else { "↑" };
            pen.text(Role::Text, units::bytes(limit as f64).as_str()).text(Role::Dim, if above { mark } else { " " })
        }
        Known::None => pen.text(Role::Dim, "max"),
        Known::Missing => pen.unread("/memory.max"),
    };
}

pub(super) fn growth(memory: &CgroupMemory, pen: &mut Pen<'_>) {
    pen.some(memory.growth_bytes_per_second, "/memory.current", |rate| {
        (units::signed_bytes(rate), if rate.abs() < 1024.0 { Role::Dim } else { Role::Text })
    });
}

/// At its limit, where reclaim holds it: there is nothing to forecast.
fn is_full(memory: &CgroupMemory) -> bool {
    bound(memory).is_some() && fill(memory).is_some_and(|fill| fill >= 0.97)
}

/// When it would be full. What fills it may be cache that can be given back, so it is a warning at most; whether a full
/// group hurts, its share and its pressure tell.
pub(super) fn full_in(cx: &Cx<'_>, group: &Cgroup, memory: &CgroupMemory, pen: &mut Pen<'_>) {
    if is_full(memory) {
        pen.text(alarm(group, memory), &text::AT_LIMIT);
        return;
    }
    pen.value(cx.history.forecast(group), mark::dash(cx.charset), "/memory.current", |forecast| {
        until(forecast.seconds)
    });
}

/// The time until it is full, where it fills.
pub(super) fn forecast(cx: &Cx<'_>, group: &Cgroup, memory: &CgroupMemory) -> Option<(Role, Short)> {
    let forecast = cx.history.forecast(group).value().filter(|_| !is_full(memory))?;
    let (text, role) = until(forecast.seconds);
    Some((role, text))
}

fn until(seconds: f64) -> (Short, Role) {
    (units::seconds(seconds), if seconds < 600.0 { Role::Warn } else { Role::Text })
}

/// True, and a dash, for what a group of the old hierarchy cannot have; a gap is a gap there too.
fn not_in_v1(group: &Cgroup, file: &str, pen: &mut Pen<'_>) -> bool {
    let tried = matches!(mark::missing(pen.cx(), file).1, Role::Denied | Role::Stale | Role::Warn);
    let absent = group.version == 1 && !tried;
    if absent {
        pen.text(Role::Absent, mark::dash(pen.cx().charset));
    }
    absent
}

/// True for a group without a CPU controller: it has neither time nor a quota of its own.
pub(super) fn without_cpu(group: &Cgroup) -> bool {
    group.cpu.usage_cores.is_none() && group.cpu.quota_cores.is_missing()
}

/// Pressure: `18%`, or `18/6%` with room.
pub(super) fn stall(group: &Cgroup, stall: Option<PressureStall>, file: &str, both: bool, pen: &mut Pen<'_>) {
    let Some(stall) = stall else {
        if !not_in_v1(group, file, pen) {
            pen.unread(file);
        }
        return;
    };
    let role = |share: f64| match share {
        share if share >= 0.2 => Role::Critical,
        share if share >= 0.05 => Role::Warn,
        share if share >= 0.005 => Role::Text,
        _ => Role::Dim,
    };
    pen.some(stall.some_ratio, file, |share| (units::percent(share), role(share)));
    if both && stall.some_ratio.is_some() {
        pen.text(Role::Dim, "/");
        pen.some(stall.full_ratio, file, |share| (units::percent(share), role(share)));
    }
}

pub(super) fn rate(rate: Option<f64>, file: &str, warn: f64, pen: &mut Pen<'_>) {
    pen.some(rate, file, |rate| {
        let role = if rate >= warn {
            Role::Warn
        } else if rate > 0.0 {
            Role::Text
        } else {
            Role::Dim
        };
        (units::count(rate), role)
    });
}

/// Processes killed for memory: since it was made, and now.
pub(super) fn kills(memory: &CgroupMemory, pen: &mut Pen<'_>) {
    if let Some(gained) = memory.oom_kills_gained.filter(|&gained| gained > 0) {
        pen.text(Role::Critical, &format!("+{gained}"));
        return;
    }
    pen.value(memory.events.oom_kill, "—", "/memory.events", |kills| {
        (units::full(kills), if kills > 0 { Role::Warn } else { Role::Dim })
    });
}

pub(super) fn cores(group: &Cgroup, pen: &mut Pen<'_>) {
    if without_cpu(group) && not_in_v1(group, "/cpuacct.usage", pen) {
        return;
    }
    pen.some(group.cpu.usage_cores, "/cpu.stat", |cores| {
        (units::cores(cores), if cores < 0.005 { Role::Dim } else { Role::Text })
    });
}

pub(super) fn quota(group: &Cgroup, pen: &mut Pen<'_>) {
    if group.cpu.quota_cores.is_missing() && not_in_v1(group, "/cpu.cfs_quota_us", pen) {
        return;
    }
    pen.value(group.cpu.quota_cores, "max", "/cpu.max", |cores| (units::cores(cores), Role::Text));
}

pub(super) fn throttled(group: &Cgroup, pen: &mut Pen<'_>) {
    if group.cpu.throttled_ratio.is_none() && group.cpu.quota_cores == Known::None {
        pen.text(Role::Absent, mark::dash(pen.cx().charset));
        return;
    }
    if without_cpu(group) && not_in_v1(group, "/cpu.stat", pen) {
        return;
    }
    pen.some(group.cpu.throttled_ratio, "/cpu.stat", |share| {
        let role = match share {
            share if share >= 0.75 => Role::Critical,
            share if share >= 0.25 => Role::Warn,
            share if share > 0.0 => Role::Text,
            _ => Role::Dim,
        };
        (units::percent(share), role)
    });
}

pub(super) fn periods(group: &Cgroup, pen: &mut Pen<'_>) {
    if group.cpu.periods.is_none() && group.cpu.quota_cores == Known::None {
        pen.text(Role::Absent, mark::dash(pen.cx().charset));
    } else if !(without_cpu(group) && not_in_v1(group, "/cpu.stat", pen)) {
        pen.some(group.cpu.periods, "/cpu.stat", |count| (units::full(count), Role::Dim));
    }
}

/// CPU against its quota, or against the machine in a colour that does not alarm.
pub(super) fn cpu_bar(cx: &Cx<'_>, group: &Cgroup, pen: &mut Pen<'_>) {
    let width = pen.left();
    let Some(used) = group.cpu.usage_cores else {
        if !(without_cpu(group) && not_in_v1(group, "/cpuacct.usage", pen)) {
            pen.unread("/cpu.stat");
        }
        return;
    };
    match group.cpu.quota_cores.value().filter(|&quota| quota > 0.0) {
        Some(quota) => pen.bar(width, Some(used / quota)),
        None => pen.bar_as(Role::Dim, width, Some(used / cx.frame.topology.cpus_online.len().max(1) as f64)),
    };
}

/// A sum over devices.
pub(super) fn io(group: &Cgroup, of: fn(&topotop_model::frame::CgroupIoRate) -> f64) -> Option<f64> {
    (!group.io.is_empty()).then(|| group.io.iter().map(of).sum())
}

pub(super) fn io_number(
    group: &Cgroup,
    of: fn(&topotop_model::frame::CgroupIoRate) -> f64,
    format: fn(f64) -> Short,
    pen: &mut Pen<'_>,
) {
    if !group.io.is_empty() || !not_in_v1(group, "/blkio.throttle.io_service_bytes", pen) {
        number(io(group, of), "/io.stat", format, pen);
    }
}

fn number(value: Option<f64>, file: &str, format: fn(f64) -> Short, pen: &mut Pen<'_>) {
    pen.some(value, file, |value| (format(value), if value > 0.0 { Role::Text } else { Role::Dim }));
}

pub(super) fn memory_number(value: Known<u64>, pen: &mut Pen<'_>) {
    pen.value(value, "—", MEMORY_FILE, |bytes| (units::bytes(bytes as f64), Role::Text));
}
