//! The staves of the barrel: whichever is the shortest holds everything up.

use crate::parts::{Pen, names, number};
use crate::{Charset, Cx, Role};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use topotop_model::Known;
use topotop_model::frame::{Cgroup, Nic, Process};

/// How full something is, and what it is about.
struct Stave<'a> {
    name: &'static str,
    /// How full; none where there is nothing to fill.
    share: Known<f64>,
    what: What<'a>,
}

enum What<'a> {
    Nothing,
    Cpu(u32),
    Text(&'a str),
    Process(&'a str, u32),
    Directions(&'a Nic),
    Throttled(&'a str, f64),
}

/// The width that a stave needs to say something.
const WIDTH: u16 = 19;

/// How many stand side by side.
fn columns(width: u16) -> u16 {
    match width / WIDTH {
        0 | 1 => 1,
        2 | 3 => 2,
        4..=9 => 4,
        _ => 8,
    }
}

/// The rows that they take at a width.
pub(super) fn rows(width: u16) -> u16 {
    8_u16.div_ceil(columns(width).min(4))
}

/// The widths of the names where four stand side by side: what is above one another lines up.
const NAMES: [u16; 8] = [8, 7, 5, 7, 8, 7, 5, 7];

/// Where a column begins. Of four, the first is for CPUs, whose names are short, and the others are for longer ones.
fn edge(width: u16, columns: u16, column: u16) -> u16 {
    let share = |parts: u16, all: u16| (u32::from(width) * u32::from(parts) / u32::from(all)) as u16;
    match (columns, column) {
        (4, 0) => 0,
        (4, column) => share([19, 39, 60].get(usize::from(column) - 1).copied().unwrap_or(80), 80),
        (columns, column) => share(column, columns),
    }
}

pub(super) fn draw(cx: &Cx<'_>, area: Rect, buf: &mut Buffer) {
    let staves = all(cx);
    let columns = columns(area.width).min(4);
    let widths: [u16; 8] = if columns == 4 { NAMES } else { [8; 8] };
    let shortest = staves.iter().filter_map(|stave| stave.share.value()).max_by(f64::total_cmp).unwrap_or(0.0);
    for (at, stave) in staves.iter().enumerate() {
        let (column, row) = (at as u16 % columns, at as u16 / columns);
        let (from, to) = (edge(area.width, columns, column), edge(area.width, columns, column + 1));
        let place = Rect { x: area.x + from, width: (to - from).saturating_sub(1), ..area };
        let guilty = shortest >= 0.8 && stave.share.value() == Some(shortest);
        let name = widths.get(at).copied().unwrap_or(8);
        one(&mut Pen::new(cx, place, row, buf), name, stave, guilty);
    }
}

/// True where there is one sample of something whose rate fills a stave: the second one tells it.
fn waits_for_rates(cx: &Cx<'_>, name: &str) -> bool {
    let frame = cx.frame;
    let is_there = match name {
        "core" | "softirq" => !frame.cpus.is_empty(),
        "thread" | "remote" => !frame.processes.is_empty(),
        "disk" => !frame.disks.is_empty(),
        "nic" => !frame.nics.is_empty(),
        "quota" => !frame.cgroups.is_empty(),
        _ => false,
    };
    frame.interval_seconds.is_none() && is_there
}

fn one(pen: &mut Pen<'_>, name: u16, stave: &Stave<'_>, guilty: bool) {
    let width = pen.left();
    pen.field(if guilty { Role::Title } else { Role::Dim }, name, stave.name);
    match stave.share {
        Known::Value(share) => {
            let bar = width.saturating_sub(name + 5 + 15).min(16);
            if bar >= 5 {
                pen.meter(bar, Some(share)).skip(1);
            } else if width >= 24 {
                pen.heat(Some(share)).skip(1);
            }
            // Where there is room for nothing else, the number stands for the glyph.
            pen.share(4, Some(share)).skip(1);
            what(pen, &stave.what);
        }
        Known::None => {
            pen.text(Role::Absent, if pen.cx().charset == Charset::Ascii { "- " } else { "— " });
            what(pen, &stave.what);
        }
        Known::Missing => {
            let short = width < 26 && !matches!(stave.what, What::Nothing);
            if waits_for_rates(pen.cx(), stave.name) {
                pen.text(Role::Absent, "no rate");
                return;
            }
            pen.text(Role::Absent, if short { "? " } else { "unknown " });
            what(pen, &stave.what);
        }
    }
}

/// A name; of one that is too long both ends, since the end tells one of many from the others.
fn named(pen: &mut Pen<'_>, name: &str) {
    let (left, width) = (usize::from(pen.left()), usize::from(names::width(name)));
    if width <= left || left < 5 || !name.is_ascii() {
        pen.text(Role::Text, name);
        return;
    }
    let tail = (left - 1) / 2;
    let (head, tail) = (name.get(..left - 1 - tail), name.get(name.len() - tail..));
    let mark = if pen.cx().charset == Charset::Ascii { "~" } else { "…" };
    pen.text(Role::Text, head.unwrap_or_default()).text(Role::Text, mark).text(Role::Text, tail.unwrap_or_default());
}

fn what(pen: &mut Pen<'_>, what: &What<'_>) {
    match what {
        What::Nothing => {}
        What::Cpu(id) => {
            pen.text(Role::Text, "c").text(Role::Text, number::id(*id).as_str());
        }
        What::Text(text) => {
            named(pen, text);
        }
        What::Process(comm, pid) => {
            let pid = number::id(*pid);
            pen.text(Role::Text, comm);
            // Part of a number would be another one.
            if pen.left() > pid.width() {
                pen.skip(1).text(Role::Dim, pid.as_str());
            }
        }
        What::Directions(nic) => {
            let (rx, tx) = if pen.cx().charset == Charset::Ascii { ("in", "out") } else { ("↓", "↑") };
            for (arrow, rate) in [(rx, nic.rx.bytes_per_second), (tx, nic.tx.bytes_per_second)] {
                let text = match (share_of(nic, rate), rate) {
                    (Some(share), _) => number::percent(share),
                    (None, Some(rate)) => number::bytes(rate),
                    (None, None) => number::Short::from_display(format_args!("?")),
                };
                pen.text(Role::Dim, arrow).text(Role::Text, text.as_str()).skip(1);
            }
            pen.text(Role::Dim, &nic.name);
        }
        What::Throttled(name, ratio) => {
            named(pen, name);
            if *ratio > 0.0 && pen.left() >= 9 {
                pen.text(Role::Dim, " held ").text(Role::Text, number::percent(*ratio).as_str());
            }
        }
    }
}

fn all<'a>(cx: &Cx<'a>) -> [Stave<'a>; 8] {
    let frame = cx.frame;
    let rates = frame.interval_seconds.is_some();
    let hottest = |of: fn(&topotop_model::frame::CpuShares) -> f64| {
        frame.cpus.iter().filter_map(|cpu| Some((cpu.id, of(&cpu.shares?)))).max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let of_cpu = |name, hottest: Option<(u32, f64)>| match hottest {
        Some((id, share)) => Stave { name, share: share.into(), what: What::Cpu(id) },
        None => Stave { name, share: Known::Missing, what: What::Nothing },
    };
    [
        of_cpu("core", hottest(|shares| shares.busy)),
        thread(cx),
        disk(cx),
        memory(cx),
        of_cpu("softirq", hottest(|shares| shares.softirq)),
        remote(cx),
        nic(cx),
        quota(cx, rates),
    ]
}

fn thread<'a>(cx: &Cx<'a>) -> Stave<'a> {
    let looked_at = cx.frame.threads.iter().filter_map(|thread| Some((thread.cpu_cores?, &*thread.comm, thread.tid)));
    // A process of one thread is a thread, looked at or not.
    let single = cx
        .frame
        .processes
        .iter()
        .filter(|process| process.threads.value() == Some(1))
        .filter_map(|process| Some((process.cpu_cores?, &*process.comm, process.pid)));
    let hottest = looked_at.chain(single).max_by(|a, b| a.0.total_cmp(&b.0));
    match hottest {
        Some((cores, comm, tid)) => {
            Stave { name: "thread", share: cores.min(1.0).into(), what: What::Process(comm, tid) }
        }
        None => Stave { name: "thread", share: Known::Missing, what: What::Nothing },
    }
}

fn disk<'a>(cx: &Cx<'a>) -> Stave<'a> {
    let busiest = cx
        .frame
        .disks
        .iter()
        .filter_map(|disk| Some((disk.utilisation?, &*disk.name)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match busiest {
        Some((share, name)) => Stave { name: "disk", share: share.into(), what: What::Text(name) },
        None => Stave { name: "disk", share: Known::Missing, what: What::Nothing },
    }
}

/// A direction's share of the capacity.
fn share_of(nic: &Nic, bytes_per_second: Option<f64>) -> Option<f64> {
    let capacity = nic.capacity_mbps.value().filter(|&mbps| mbps > 0)? as f64 * 1e6 / 8.0;
    Some(bytes_per_second? / capacity)
}

/// The fullest interface; unknown while one carries traffic whose capacity nobody knows, unless another one is full.
fn nic<'a>(cx: &Cx<'a>) -> Stave<'a> {
    let up = || cx.frame.nics.iter().filter(|nic| &*nic.kind == "physical" && nic.carrier != Known::Value(false));
    let fullest = up()
        .filter_map(|nic| {
            let (rx, tx) = (share_of(nic, nic.rx.bytes_per_second), share_of(nic, nic.tx.bytes_per_second));
            Some((rx.into_iter().chain(tx).max_by(f64::total_cmp)?, nic))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let bytes = |nic: &Nic| nic.rx.bytes_per_second.unwrap_or(0.0) + nic.tx.bytes_per_second.unwrap_or(0.0);
    let unknown = up().filter(|nic| nic.capacity_mbps.value().is_none()).max_by(|a, b| bytes(a).total_cmp(&bytes(b)));
    match (fullest, unknown) {
        (Some((share, nic)), unknown) if share >= 0.8 || unknown.is_none() => {
            Stave { name: "nic", share: share.into(), what: What::Directions(nic) }
        }
        (_, Some(nic)) => Stave { name: "nic", share: Known::Missing, what: What::Directions(nic) },
        (_, None) => Stave { name: "nic", share: Known::Missing, what: What::Nothing },
    }
}

/// What people call a group: its container, pod, or the end of its path.
fn group_name(cgroup: &Cgroup) -> &str {
    let container = cgroup.container.as_ref();
    let named = container.into_iter().flat_map(|container| [&container.pod_name, &container.container_name]);
    named
        .map(|name| &**name)
        .find(|name| !name.is_empty())
        .unwrap_or_else(|| cgroup.path.rsplit('/').next().unwrap_or(&cgroup.path))
}

fn quota<'a>(cx: &Cx<'a>, rates: bool) -> Stave<'a> {
    let full = |cgroup: &Cgroup| {
        let quota = cgroup.cpu.quota_cores.value().filter(|&quota| quota > 0.0)?;
        let used = cgroup.cpu.usage_cores? / quota;
        // A group that was throttled in most periods is full, however little it used between.
        Some(used.max(cgroup.cpu.throttled_ratio.unwrap_or(0.0)).min(1.0))
    };
    let throttled = |cgroup: &Cgroup| cgroup.cpu.throttled_ratio.unwrap_or(0.0);
    let fullest = cx
        .frame
        .cgroups
        .iter()
        .filter_map(|cgroup| Some((full(cgroup)?, cgroup)))
        .max_by(|a, b| a.0.total_cmp(&b.0).then(throttled(a.1).total_cmp(&throttled(b.1))));
    let unlimited = rates
        && cx.frame.cgroups.iter().any(|cgroup| cgroup.cpu.quota_cores == Known::None)
        && !cx.frame.cgroups.iter().any(|cgroup| cgroup.cpu.quota_cores.value().is_some());
    match fullest {
        Some((share, cgroup)) => {
            Stave { name: "quota", share: share.into(), what: What::Throttled(group_name(cgroup), throttled(cgroup)) }
        }
        None if unlimited => Stave { name: "quota", share: Known::None, what: What::Text("no quota") },
        None => Stave { name: "quota", share: Known::Missing, what: What::Nothing },
    }
}

fn memory<'a>(cx: &Cx<'a>) -> Stave<'a> {
    let fill = |cgroup: &Cgroup| {
        // Against the machine's memory only the machine counts: a group's page cache is nobody's limit there.
        let memory = cgroup.memory.as_ref().filter(|memory| memory.is_limited())?;
        let limit = memory.effective_limit_bytes.value().filter(|&limit| limit > 0)?;
        Some(memory.current_bytes.value()? as f64 / limit as f64)
    };
    let host = cx.frame.memory.total_bytes.value().filter(|&total| total > 0).and_then(|total| {
        let available = cx.frame.memory.available_bytes.value()?;
        Some((1.0 - available as f64 / total as f64, "host"))
    });
    let groups = cx.frame.cgroups.iter().filter(|cgroup| &*cgroup.path != "/");
    let fullest = groups
        .filter_map(|cgroup| Some((fill(cgroup)?, group_name(cgroup))))
        .chain(host)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match fullest {
        Some((share, name)) => Stave { name: "memory", share: share.into(), what: What::Text(name) },
        None => Stave { name: "memory", share: Known::Missing, what: What::Nothing },
    }
}

/// Processes that use less than this are not worth moving.
const WORTH_CORES: f64 = 0.1;

fn remote<'a>(cx: &Cx<'a>) -> Stave<'a> {
    if cx.frame.topology.nodes.len() == 1 {
        return Stave { name: "remote", share: Known::None, what: What::Text("one node") };
    }
    let ratio = |process: &'a Process| {
        let worth = process.cpu_cores.is_some_and(|cores| cores >= WORTH_CORES);
        Some((process.memory.as_ref()?.remote_ratio.filter(|_| worth)?, process))
    };
    match cx.frame.processes.iter().filter_map(ratio).max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((share, process)) => {
            Stave { name: "remote", share: share.into(), what: What::Process(&process.comm, process.pid) }
        }
        None if waits_for_rates(cx, "remote") => Stave { name: "remote", share: Known::Missing, what: What::Nothing },
        None if cx.frame.processes.iter().any(|process| process.memory.is_some()) => {
            Stave { name: "remote", share: Known::None, what: What::Text("none busy") }
        }
        None => Stave { name: "remote", share: Known::Missing, what: What::Nothing },
    }
}
