//! Processes that hold a device open, and what their descriptors say of it (the kernel's drm-usage-stats).

use crate::Cx;
use crate::parse::{fields, lines, number, text};
use crate::rights::{self, Needs};
use std::collections::{BTreeMap, HashMap, HashSet};
use topotop_model::tables::accelerators::AcceleratorClients;
use topotop_model::{Draft, Reason, Slots, State, Table as _};

/// Processes looked through in one reading beside those that hold a device, and such ones at most.
const LOOKED: usize = 128;
const HOLDERS: usize = 256;
/// Descriptors of a process that are looked at, those that are read, and rows at most.
const DESCRIPTORS: usize = 4096;
const READ: usize = 64;
const ROWS: usize = 1024;
/// Engines of one client at most.
const ENGINES: usize = 16;

/// What a client did on an engine.
#[derive(Debug, Default, PartialEq, Eq)]
struct Engine {
    busy_ns: Option<u64>,
    cycles: Option<u64>,
    total_cycles: Option<u64>,
    capacity: Option<u64>,
}

/// What a descriptor says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Usage {
    client: Option<u64>,
    address: String,
    engines: BTreeMap<String, Engine>,
    /// Memory of the device.
    memory: Option<u64>,
}

/// Device, client (or, where the driver does not say, process) and engine.
type Key = (String, bool, u64, String);

/// Finds clients.
#[derive(Debug, Default)]
pub(super) struct Clients {
    holders: HashSet<u32>,
    /// The last process that was looked through.
    last: u32,
    slots: Slots<Key>,
}

impl Clients {
    pub(super) fn collect(&mut self, cx: &mut Cx<'_>, names: &HashMap<String, String>, draft: &mut Draft) {
        let section = &mut draft.accelerator_clients;
        section.begin(cx.now_ns);
        section.state = if names.is_empty() { State::Missing } else { section.state };
        let mut seen = HashSet::new();
        self.slots.begin();
        let processes = draft.processes.data();
        let mut pids: Vec<u32> = Vec::new();
        if !names.is_empty() {
            let pid = |slot| processes.pid.id(slot).value();
            pids.extend(processes.rows().iter().filter_map(pid));
        }
        for pid in self.turn(pids, cx.demand.complete) {
            let mut held = Vec::new();
            let result = cx.root.links_of(pid, DESCRIPTORS, |fd, link| {
                let name = names.get(link).filter(|_| held.len() < READ);
                held.extend(name.map(|name| (fd.to_owned(), name.clone())));
                name.is_some()
            });
            if result == Err(Reason::PermissionDenied) {
                section.gaps.add("proc/*/fd", Reason::PermissionDenied, &rights::needs(cx.root, Needs::PtraceAndFiles));
            }
            if held.is_empty() {
                self.holders.remove(&pid);
            } else if self.holders.len() < HOLDERS {
                self.holders.insert(pid);
            }
            for (fd, name) in held {
                let usage = match cx.root.read(format!("proc/{pid}/fdinfo/{fd}"), cx.buf) {
                    Ok(()) => usage(cx.buf),
                    Err(_) => Usage::default(),
                };
                let name = names.get(&usage.address).cloned().unwrap_or(name);
                let key = (name, usage.client.is_some(), usage.client.unwrap_or(u64::from(pid)));
                if seen.len() < ROWS && seen.insert(key.clone()) {
                    rows(&mut self.slots, section.data_mut(), pid, &key, usage);
                }
            }
        }
        self.slots.finish(section.data_mut(), |_, _| {});
    }

    /// Those that hold a device, then the next ones in the order of their pids.
    fn turn(&mut self, mut pids: Vec<u32>, complete: bool) -> Vec<u32> {
        pids.sort_unstable();
        self.holders.retain(|pid| pids.binary_search(pid).is_ok());
        let start = pids.partition_point(|pid| *pid <= self.last);
        pids.rotate_left(start);
        pids.retain(|pid| !self.holders.contains(pid));
        pids.truncate(if complete { usize::MAX } else { LOOKED });
        self.last = pids.last().copied().unwrap_or_default();
        let mut all: Vec<u32> = self.holders.iter().copied().collect();
        all.sort_unstable();
        all.extend(pids);
        all
    }
}

fn rows(
    slots: &mut Slots<Key>,
    table: &mut AcceleratorClients,
    pid: u32,
    (name, is_client, client): &(String, bool, u64),
    mut usage: Usage,
) {
    if usage.engines.is_empty() {
        usage.engines.insert(String::new(), Engine::default());
    }
    for (engine, of) in usage.engines {
        let (slot, _) = slots.slot(table, &(name.clone(), *is_client, *client, engine.clone()));
        table.device.set(slot, name);
        table.pid.set(slot, u64::from(pid));
        table.client.set(slot, *client);
        table.engine.set(slot, &engine);
        table.busy_ns.set_or_clear(slot, of.busy_ns);
        table.cycles.set_or_clear(slot, of.cycles);
        table.total_cycles.set_or_clear(slot, of.total_cycles);
        table.capacity.set_or_clear(slot, of.capacity);
        table.memory_bytes.set_or_clear(slot, usage.memory);
    }
}

/// Reads `drm-*` lines.
fn usage(bytes: &[u8]) -> Usage {
    let mut usage = Usage::default();
    let mut regions: BTreeMap<&[u8], u64> = BTreeMap::new();
    for line in lines(bytes) {
        let Some(line) = line.strip_prefix(b"drm-") else { continue };
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (key, rest) = (line.get(..colon).unwrap_or_default(), line.get(colon + 1..).unwrap_or_default());
        let mut parts = fields(rest);
        let Some(first) = parts.next() else { continue };
        let value = number(first).filter(|value| *value != topotop_model::NONE);
        match key {
            b"client-id" => usage.client = value,
            b"pdev" => usage.address = text(first).into_owned(),
            _ => {}
        }
        let memory = [&b"resident-"[..], b"memory-"].iter().find_map(|prefix| key.strip_prefix(*prefix));
        if let Some(region) = memory.filter(|name| name.starts_with(b"vram") || name.starts_with(b"local")) {
            let Some(size) = value.and_then(|value| value.checked_mul(unit(parts.next())?)) else { continue };
            let most = regions.entry(region).or_default();
            *most = size.max(*most);
            continue;
        }
        let mut set = |prefix: &[u8], column: fn(&mut Engine) -> &mut Option<u64>| {
            let Some(name) = key.strip_prefix(prefix).filter(|name| !name.is_empty() && name.len() <= 32) else {
                return false;
            };
            let name = text(name).into_owned();
            if usage.engines.contains_key(&name) || usage.engines.len() < ENGINES {
                *column(usage.engines.entry(name).or_default()) = value;
            }
            true
        };
        // The longer keys first: they begin like the shorter ones.
        let _ = set(b"engine-capacity-", |engine| &mut engine.capacity)
            || set(b"engine-", |engine| &mut engine.busy_ns)
            || set(b"total-cycles-", |engine| &mut engine.total_cycles)
            || set(b"cycles-", |engine| &mut engine.cycles);
    }
    let sum = regions.values().try_fold(0_u64, |sum, size| sum.checked_add(*size));
    usage.memory = sum.filter(|_| !regions.is_empty());
    usage
}

fn unit(unit: Option<&[u8]>) -> Option<u64> {
    match unit {
        None => Some(1),
        Some(b"KiB") => Some(1 << 10),
        Some(b"MiB") => Some(1 << 20),
        Some(_) => None,
    }
}
