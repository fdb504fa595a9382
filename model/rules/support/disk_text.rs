//! Common evidence of the disk rules: writers, waiting processes, masked iowait.

use crate::frame::{Disk, Frame, Process, WriterId};
use crate::locale::{evidence, in_english, writers as text};
use crate::rules::{Cell, Grid, Hit, RuleContext, Subject, parts};

/// A service that writes to a disk, with all its processes and control groups.
#[derive(Clone, Debug, Default)]
pub(in crate::rules) struct Service {
    /// Its name.
    pub(in crate::rules) name: String,
    /// True for a latency-sensitive service.
    pub(in crate::rules) delicate: bool,
    /// The larger of its shares of bytes and of writes.
    pub(in crate::rules) share: f64,
    bytes_share: Option<f64>,
    ops_share: Option<f64>,
    bytes_per_second: f64,
    /// Share of time in which some task of it waits for disks.
    pub(in crate::rules) waits: Option<f64>,
}

/// The services that write at least a share to a disk, sorted by name.
pub(in crate::rules) fn services(frame: &Frame, disk: &Disk, least: f64) -> Vec<Service> {
    let mut all: Vec<Service> = Vec::new();
    for writer in &disk.writers {
        let Some(mut service) = service(frame, &writer.who) else { continue };
        service.share = writer.bytes_share.into_iter().chain(writer.ops_share).fold(0.0, f64::max);
        if service.share < least {
            continue;
        }
        let add = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b).or(a).or(b);
        if let Some(known) = all.iter_mut().find(|known| known.name == service.name) {
            known.share += service.share;
            known.bytes_share = add(known.bytes_share, writer.bytes_share);
            known.ops_share = add(known.ops_share, writer.ops_share);
            known.bytes_per_second += writer.bytes_per_second;
        } else {
            service.bytes_share = writer.bytes_share;
            service.ops_share = writer.ops_share;
            service.bytes_per_second = writer.bytes_per_second;
            all.push(service);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Samples over which tasks that wait for disks are counted where nobody measures how long they wait.
const COUNTED: usize = 10;
/// Share of the written bytes from which a process is no victim: it waits for its own requests.
const WRITES_MUCH: f64 = 0.15;

/// Services that wait for disks and hardly write to this one, the longest wait first. A service that nobody measures the
/// wait of counts by how often its tasks were found waiting.
pub(in crate::rules) fn starved(context: &mut RuleContext<'_>, disk: &Disk, most: f64, least: f64) -> Vec<Service> {
    let key = |service: &Service| Subject::Disk(format!("{}//{}", disk.name, service.name).into());
    let mut long: Vec<Service> = Vec::new();
    for mut service in light(context.frame(), disk, most) {
        let key = key(&service);
        // A service is tracked from its first wait on.
        if service.waits.is_none_or(|waits| waits <= 0.0) && context.recall(&key).is_none() {
            continue;
        }
        let waits = context.remember_newest(&key, service.waits.unwrap_or(0.0), COUNTED);
        let mean = waits.iter().map(|(_, value)| value).sum::<f64>() / waits.len().max(1) as f64;
        service.waits = Some(mean);
        if mean >= least && waits.len() >= COUNTED / 2 {
            long.push(service);
        }
    }
    long.sort_by(|a, b| b.waits.unwrap_or(0.0).total_cmp(&a.waits.unwrap_or(0.0)).then_with(|| a.name.cmp(&b.name)));
    long
}

/// The services that write less than a share to a disk or not at all, with how long they wait now.
fn light(frame: &Frame, disk: &Disk, most: f64) -> Vec<Service> {
    let written = disk.write_bytes_per_second.unwrap_or(0.0);
    let (heavy, mut all): (Vec<Service>, Vec<Service>) =
        services(frame, disk, 0.0).into_iter().partition(|service| service.share >= most);
    let measured: Vec<String> = all.iter().filter(|one| one.waits.is_some()).map(|one| one.name.clone()).collect();
    for process in frame.processes.iter().filter(|process| !process.kernel) {
        let writes = process.write_bytes_per_second.unwrap_or(0.0);
        let Some(service) = service(frame, &WriterId::Process(process.pid)).filter(|_| writes <= WRITES_MUCH * written)
        else {
            continue;
        };
        let owner = container_or_path(frame, process.io_group());
        let is_of = |name: &str| name == service.name || owner.as_ref().is_some_and(|owner| name.starts_with(&**owner));
        if heavy.iter().any(|one| is_of(&one.name)) || measured.iter().any(|name| is_of(name)) {
            continue;
        }
        let blocked = f64::from(u8::from(process.blocked_threads > 0));
        let waits = process.io_delay_cores.map_or(blocked, |cores| cores.min(1.0));
        match all.iter_mut().find(|known| known.name == service.name) {
            Some(known) => known.waits = Some(known.waits.unwrap_or(0.0).max(waits)),
            None => all.push(Service { waits: Some(waits), ..service }),
        }
    }
    all
}

/// What the name of a service of a control group starts with; none for the top.
fn container_or_path(frame: &Frame, path: &str) -> Option<String> {
    let cgroup = frame.cgroup(path).filter(|cgroup| &*cgroup.path != "/")?;
    Some(parts::container_name(cgroup).unwrap_or_else(|| cgroup.path.to_string()))
}

/// The service of a writer: its control group with its largest writer, or process and control group where the kernel
/// counts by process. None for kernel writeback that belongs to no service.
fn service(frame: &Frame, who: &WriterId) -> Option<Service> {
    match who {
        WriterId::Cgroup(path) if &**path == "/" => None,
        WriterId::Cgroup(path) => {
            let cgroup = frame.cgroup(path);
            let writes = |process: &&Process| process.io_group() == path && !process.kernel;
            let most = frame.processes.iter().filter(writes).max_by(|a, b| {
                let rate = |process: &Process| process.write_bytes_per_second.unwrap_or(0.0);
                rate(a).total_cmp(&rate(b))
            });
            let container = &cgroup.and_then(parts::container_name).unwrap_or_else(|| path.to_string());
            let name = most.map_or_else(
                || container.clone(),
                |process| text::Container { container, process: &process.comm }.to_string(),
            );
            let delicate = parts::is_delicate(&name) || parts::is_delicate(path);
            let waits = cgroup.and_then(|cgroup| cgroup.pressure.io?.some_ratio);
            Some(Service { name, delicate, waits, ..Service::default() })
        }
        WriterId::Process(pid) => {
            let process = frame.process(*pid).filter(|process| !process.kernel)?;
            let group = process.cgroup.rsplit('/').next().unwrap_or_default();
            let name = match &group {
                &"" => process.comm.to_string(),
                group => text::Process { process: &process.comm, group }.to_string(),
            };
            let delicate = parts::is_delicate(&name) || parts::is_delicate(&process.cgroup);
            Some(Service { name, delicate, ..Service::default() })
        }
    }
}

/// Who a service of such a name is: its control group, else a process. Names of evidence are English.
pub(crate) fn writer(frame: &Frame, name: &str) -> Option<WriterId> {
    let groups = frame.cgroups.iter().map(|group| WriterId::Cgroup(group.path.clone()));
    let processes = frame.processes.iter().map(|process| WriterId::Process(process.pid));
    let is_it = |who: &WriterId| service(frame, who).is_some_and(|service| service.name == name);
    in_english(|| groups.chain(processes).find(is_it))
}

/// The writers of a disk that are not a group's own, each with at least a share: a process where its group is everybody's.
pub(in crate::rules) fn other_writers(
    frame: &Frame,
    disk: &Disk,
    least: f64,
    is_own: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let is_much = |share: Option<f64>| share.is_some_and(|share| share >= least);
    let mut names = Vec::new();
    for writer in disk.writers.iter().filter(|writer| is_much(writer.bytes_share) || is_much(writer.ops_share)) {
        let group = match &writer.who {
            WriterId::Cgroup(path) => Some(path),
            WriterId::Process(pid) => frame.process(*pid).map(Process::io_group),
        };
        if group.is_none_or(|path| is_own(path)) {
            continue;
        }
        names.extend(match &writer.who {
            WriterId::Cgroup(path) if &**path == "/" => of_everybody(frame),
            who => service(frame, who).map(|service| service.name),
        });
    }
    names
}

/// The largest writer of the top group.
fn of_everybody(frame: &Frame) -> Option<String> {
    let rate = |process: &Process| process.write_bytes_per_second.unwrap_or(0.0);
    let inside = frame.processes.iter().filter(|process| !process.kernel && **process.io_group() == *"/");
    let most = inside.filter(|process| rate(process) > 0.0).max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    service(frame, &WriterId::Process(most.pid)).map(|service| service.name)
}

/// Services as a table.
pub(in crate::rules) fn table(services: &[Service]) -> Grid {
    let mut grid = Grid::new([
        (text::COLUMN_BYTES.as_str(), "fraction"),
        (text::COLUMN_WRITES.as_str(), "fraction"),
        (text::COLUMN_WRITTEN.as_str(), "bytes/s"),
        (text::COLUMN_WAIT.as_str(), "fraction"),
        (text::COLUMN_SENSITIVE.as_str(), ""),
    ]);
    for service in services {
        grid.push(
            service.name.clone(),
            [
                Cell::of(service.bytes_share),
                Cell::of(service.ops_share),
                Cell::Number(service.bytes_per_second),
                Cell::of(service.waits),
                Cell::text(if service.delicate { text::SENSITIVE.as_str() } else { text::UNKNOWN.as_str() }),
            ],
        );
    }
    grid
}

/// Names with their shares in one line.
pub(in crate::rules) fn names(services: &[Service]) -> String {
    parts::list(services.iter().map(|service| format!("{} {}", service.name, parts::percent(Some(service.share)))), 6)
}

/// Names of services that wait, with the share of time in which they do.
pub(in crate::rules) fn waiting(services: &[Service]) -> String {
    parts::list(services.iter().map(|service| format!("{} {}", service.name, parts::percent(service.waits))), 4)
}

/// Adds mounts, flushes, waiting processes and iowait of a disk.
pub(in crate::rules) fn details(hit: Hit, context: &RuleContext<'_>, disk: &Disk) -> Hit {
    let frame = context.frame();
    let mounts = disk.mounts.iter().map(|mount| text::Mount { path: &mount.path, disk: &disk.name }.to_string());
    let hit = hit
        .known(evidence::FLUSHES, disk.flushes_per_second, "1/s", "/proc/diskstats")
        .text(evidence::MOUNTS, parts::list(mounts, 3), "/proc/self/mountinfo")
        .known(evidence::BLOCKED, frame.host.blocked.value().map(|count| count as f64), "", "/proc/stat procs_blocked");
    let waiting = frame.processes.iter().filter(|process| process.state == 'D' && !process.kernel);
    let waiting = parts::list(waiting.map(|process| format!("{} ({})", process.comm, process.pid)), 6);
    let hit = if waiting.is_empty() { hit } else { hit.text(evidence::WAITING, waiting, "/proc/PID/stat state D") };
    let (mut iowait, mut busy, mut count) = (0.0, 0.0, 0u32);
    for (_, shares) in context.cpus() {
        (iowait, busy, count) = (iowait + shares.iowait, busy + shares.busy, count + 1);
    }
    if count == 0 {
        return hit;
    }
    let busy = busy / f64::from(count);
    let hit = hit.number(evidence::IOWAIT, iowait, "cores", "/proc/stat");
    if busy >= 0.7 && iowait < 0.5 {
        let masked = text::IowaitMasked { busy: &parts::percent(Some(busy)) }.to_string();
        return hit.text(evidence::MASKED, masked, "/proc/stat");
    }
    hit
}
