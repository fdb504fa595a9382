//! What children used that no two samples saw: a process is charged with its children's time once it has waited for them
//! (fields 16 and 17 of `stat`), and with that of theirs.

use super::{Id, Pair, USER_HZ};
use crate::Table;
use crate::frame::Process;
use crate::tables::processes::Processes;
use std::collections::HashMap;

/// Ancestors that are looked at for one that both samples saw.
const MOST: usize = 64;

/// Fills in the cores of children that ended or started since the last sample.
///
/// The time of a process with all its descendants only moves within their tree when one of them ends. So what the tree gained
/// beside those that both samples saw is what the charge gained, more what new ones had used by now, less what those that
/// are gone had used before.
pub(super) fn derive(pair: Pair<'_, Processes>, ids: &[Id], processes: &mut [Process]) {
    let gained = gained(pair, ids);
    for (process, gained) in processes.iter_mut().zip(gained) {
        process.children_cores = gained.and_then(|ticks| {
            let seconds = pair.elapsed_ns() as f64 / 1e9;
            // No machine gains more in any time between two samples.
            let is_possible = ticks < 1 << 53;
            (seconds > 0.0 && is_possible).then(|| (ticks.max(0) as f64) / USER_HZ / seconds)
        });
    }
}

/// Ticks that each process was charged with and that its children used which started or ended; none where unknown.
fn gained(pair: Pair<'_, Processes>, ids: &[Id]) -> Vec<Option<i64>> {
    let now = pair.now;
    let charge = |&(_, _, slot): &Id| {
        let before = pair.before(slot)?;
        Some(charged(now, slot)?.saturating_sub(charged(before, slot)?))
    };
    let mut all: Vec<Option<i64>> = ids.iter().map(charge).collect();
    let Some(earlier) = pair.earlier() else { return all };
    let place = |pid: u32| ids.binary_search_by_key(&pid, |id| id.0).ok();
    let mut add = |at: Option<usize>, ticks: i64| {
        if let Some(Some(sum)) = at.and_then(|at| all.get_mut(at)) {
            *sum = sum.saturating_add(ticks);
        }
    };
    let is_new = |at: usize| ids.get(at).is_some_and(|id| pair.before(id.2).is_none());
    for (_, _, slot) in ids.iter().filter(|id| pair.before(id.2).is_none()) {
        let parent = |slot: usize| place(now.ppid.id(slot).value()?);
        let slot_of = |at: usize| ids.get(at).map(|id| id.2);
        let mut at = parent(*slot);
        for _ in 0..MOST {
            at = match at.filter(|at| is_new(*at)) {
                Some(new) => slot_of(new).and_then(parent),
                None => break,
            };
        }
        add(at.filter(|at| !is_new(*at)), whole(now, *slot));
    }
    let gone = |slot: &usize| !earlier.rows().same(now.rows(), *slot);
    let mut slots: HashMap<u32, usize> = HashMap::new();
    if earlier.rows().iter().any(|slot| gone(&slot)) {
        slots.extend(earlier.rows().iter().filter_map(|slot| Some((earlier.pid.id(slot).value()?, slot))));
    }
    for slot in earlier.rows().iter().filter(gone) {
        let parent = |slot: usize| slots.get(&earlier.ppid.id(slot).value()?).copied();
        let mut at = parent(slot);
        for _ in 0..MOST {
            match at.filter(gone) {
                Some(ended) => at = parent(ended),
                None => break,
            }
        }
        let survivor = at.filter(|slot| !gone(slot)).and_then(|slot| earlier.pid.id(slot).value());
        add(survivor.and_then(place), whole(earlier, slot).saturating_neg());
    }
    all
}

/// What a process was charged with for its children.
fn charged(table: &Processes, slot: usize) -> Option<i64> {
    let (user, system) = (table.children_utime.value(slot)?, table.children_stime.value(slot)?);
    Some(signed(user.saturating_add(system)))
}

/// What a process and its children used.
fn whole(table: &Processes, slot: usize) -> i64 {
    let own = [&table.utime, &table.stime].map(|column| column.value(slot).unwrap_or(0));
    signed(own[0].saturating_add(own[1])).saturating_add(charged(table, slot).unwrap_or(0))
}

fn signed(ticks: u64) -> i64 {
    i64::try_from(ticks).unwrap_or(i64::MAX)
}
