//! The heap of an instance, and whether its memory may be bound: bound to a node that is too small it would be killed
//! while others have memory.

use super::places::Slot;
use super::{Program, Request};
use crate::IdSet;
use crate::locale::plan as text;
use crate::rules::parts;

/// The share of its nodes' memory that an instance may use.
const SHARE: f64 = 0.8;
const MIB: u64 = 1 << 20;

/// Where an instance's memory comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) policy: &'static str,
    pub(super) nodes: IdSet,
    pub(super) why: String,
    pub(super) heap_bytes: Option<u64>,
}

pub(super) fn plan(request: &Request<'_>, slot: &Slot, notes: &mut Vec<String>) -> Memory {
    let with_memory = |id: &u32| request.frame.topology.node(*id).is_some_and(|node| node.has_memory);
    let nodes = IdSet::from_ids(slot.nodes.iter().filter(with_memory));
    if nodes.is_empty() {
        let near = nearest(request, slot);
        let why = text::WhyNoMemory { place: &slot.place }.to_string();
        return Memory { policy: "preferred", nodes: near, why, heap_bytes: request.heap_bytes };
    }
    let sharers = f64::from(slot.sharers.max(1));
    let room = |total: Option<u64>| total.map(|total| total as f64 * SHARE / sharers);
    let (most, now) = (room(total(request, &nodes)), room(free(request, &nodes)));
    let heap = heap(request, slot, now.or(most), notes);
    let need = heap.or(request.heap_bytes).or(request.program.rss_bytes);
    let (policy, why) = verdict(&slot.place, need, most, now);
    Memory { policy, nodes, why, heap_bytes: heap.or(request.heap_bytes) }
}

fn verdict(place: &str, need: Option<u64>, most: Option<f64>, now: Option<f64>) -> (&'static str, String) {
    let size = |bytes: f64| parts::bytes(Some(bytes));
    let (Some(need), Some(most)) = (need, most) else {
        return ("preferred", text::WHY_UNKNOWN.to_string());
    };
    let (need, most) = (need as f64, most);
    if need > most {
        return (
            "preferred",
            text::WhyTooLarge {
                need: &size(need),
                room: &size(most),
                share: &format_args!("{:.0}%", SHARE * 100.0),
                place: &place,
            }
            .to_string(),
        );
    }
    match now {
        Some(now) if need > now => {
            ("preferred", text::WhyNotFree { need: &size(need), place: &place, room: &size(now) }.to_string())
        }
        _ => ("bind", text::WhyFits { need: &size(need), place: &place, room: &size(now.unwrap_or(most)) }.to_string()),
    }
}

fn total(request: &Request<'_>, nodes: &IdSet) -> Option<u64> {
    let of = |id: u32| request.frame.node(id)?.memory_total_bytes.value();
    nodes.iter().map(of).try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?)))
}

/// Free memory, including page cache and the memory of the program, which stops before its instances run.
fn free(request: &Request<'_>, nodes: &IdSet) -> Option<u64> {
    let own = |id: u32| request.program.by_node.iter().find(|(node, _)| *node == id).map_or(0, |(_, bytes)| *bytes);
    let of = |id: u32| {
        let node = request.frame.node(id)?;
        let free = node.memory_free_bytes.value()?.saturating_add(node.file_bytes.value().unwrap_or(0));
        Some(free.saturating_add(own(id)).min(node.memory_total_bytes.value()?))
    };
    nodes.iter().map(of).try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?)))
}

fn nearest(request: &Request<'_>, slot: &Slot) -> IdSet {
    let topology = &request.frame.topology;
    let from = slot.nodes.first().and_then(|id| topology.node(id));
    let near = from.and_then(|from| {
        let has = |id: u32| topology.node(id).is_some_and(|node| node.has_memory);
        from.distances.iter().filter(|(id, _)| has(*id)).min_by_key(|(id, distance)| (*distance, *id))
    });
    let any = || topology.nodes.iter().find(|node| node.has_memory).map(|node| node.id);
    IdSet::from_ids(near.map(|(id, _)| *id).or_else(any))
}

/// The heap of a Java program: the current one, reduced to the usable memory.
fn heap(request: &Request<'_>, slot: &Slot, room: Option<f64>, notes: &mut Vec<String>) -> Option<u64> {
    if !is_java(request.program) {
        return None;
    }
    if request.heap_bytes.is_some() {
        return request.heap_bytes;
    }
    // The default heap is a quarter of the host's memory.
    let configured = heap_flag(request.program, "-Xmx");
    let quarter = || request.frame.memory.total_bytes.value().map(|total| total / 4);
    let old = configured.or_else(quarter)?;
    let new = room.map_or(old, |room| old.min(room as u64)).max(MIB) / MIB * MIB;
    if new < old && configured.is_some() {
        let (old, new) = (parts::bytes(Some(old as f64)), parts::bytes(Some(new as f64)));
        notes.push(
            text::HeapReduced {
                place: &slot.place,
                old: &old,
                new: &new,
                share: &format_args!("{:.0}%", SHARE * 100.0),
            }
            .to_string(),
        );
    }
    Some(new)
}

pub(super) fn is_java(program: &Program) -> bool {
    let first = program.argv.first().map_or("", String::as_str);
    first.rsplit('/').next() == Some("java") || heap_flag(program, "-Xmx").is_some()
}

/// The size behind a flag of the virtual machine; the last one counts.
pub(super) fn heap_flag(program: &Program, flag: &str) -> Option<u64> {
    program.argv.iter().rev().find_map(|word| java_size(word.strip_prefix(flag)?))
}

/// `4g`, `512M`, `1073741824`.
fn java_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text.get(digits.len()..)?.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::java_size;

    #[test]
    fn sizes_as_java_has_them() {
        for (text, bytes) in [
            ("4g", Some(4 << 30)),
            ("512M", Some(512 << 20)),
            ("77", Some(77)),
            ("k", None),
            ("4x", None),
            ("99999999999t", None),
        ] {
            assert_eq!(java_size(text), bytes, "{text}");
        }
    }
}
