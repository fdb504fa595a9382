//! Which processes to query next: big or busy ones whose figures are old, within the CPU budget.

use super::ask::{Target, What};
use super::{
    ASKED_INTERVAL_NS, EXACT_PER_GIB, GUESS, INTERVAL_NS, Known, LINE, MemoryByNode, PF_KTHREAD, POLICY_INTERVAL_NS,
    REFUSED_NS, SMALL, WALK_INTERVAL_NS,
};
use crate::Cx;
use topotop_model::Table;
use topotop_model::tables::processes::Processes;

/// A candidate.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f64,
    target: Target,
    cost: f64,
}

impl MemoryByNode {
    /// The processes to query next. Only the selected one when all memory is on one node.
    pub(super) fn choose(&mut self, cx: &Cx<'_>, processes: &Processes) -> Vec<Target> {
        let room = LINE.saturating_sub(self.line.len());
        if (self.purse <= 0.0 || room == 0) && !cx.demand.complete {
            return Vec::new();
        }
        let slots = processes.rows().iter();
        let mut candidates: Vec<Candidate> = slots.filter_map(|slot| self.candidate(cx, processes, slot)).collect();
        candidates.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.target.pid.cmp(&b.target.pid)));
        if cx.demand.complete {
            return candidates.iter().map(|candidate| candidate.target).collect();
        }
        // One always, so that no process is too dear for ever: the purse is empty for long afterwards.
        let mut left = self.purse;
        let affordable = candidates.iter().take(room).enumerate().take_while(|(index, candidate)| {
            left -= candidate.cost;
            left >= 0.0 || *index == 0
        });
        affordable.map(|(_, candidate)| candidate.target).collect()
    }

    fn candidate(&mut self, cx: &Cx<'_>, processes: &Processes, slot: usize) -> Option<Candidate> {
        let pid = processes.pid.id(slot).value()?;
        let exact = cx.demand.process == Some(pid);
        let kernel = processes.flags.value(slot).is_some_and(|flags| flags & PF_KTHREAD != 0);
        if kernel || self.one_node && !exact && cx.root.is_live() {
            return None;
        }
        let starttime = processes.starttime.value(slot).unwrap_or_default();
        let known = self.known.entry(pid).or_insert_with(|| Known { starttime, seen: true, ..Known::default() });
        let ticks = processes.utime.value(slot).unwrap_or(0).saturating_add(processes.stime.value(slot).unwrap_or(0));
        let used = ticks.saturating_sub(std::mem::replace(&mut known.ticks, ticks)) as f64;
        let what = match (exact, known.by_cgroup) {
            (true, _) => What::Exact,
            // Without files of processes there is nothing to ask.
            (false, true) if !cx.root.is_live() => return None,
            (false, true) => What::Policy,
            (false, false) => What::Cheap,
        };
        if self.line.iter().any(|entry| entry.0.pid == pid) {
            return None;
        }
        let interval = match (known.refused, what) {
            (Some(_), _) => REFUSED_NS,
            (None, What::Policy) => POLICY_INTERVAL_NS,
            (None, What::Exact) => ASKED_INTERVAL_NS,
            (None, What::Cheap) if known.walked => WALK_INTERVAL_NS,
            (None, What::Cheap) => INTERVAL_NS,
        };
        let age = cx.now_ns.saturating_sub(known.asked_at_ns);
        if known.asked_at_ns > 0 && age < interval && !cx.demand.complete {
            return None;
        }
        let bytes = processes.rss_bytes.value(slot).unwrap_or(0);
        let worth = bytes as f64 / SMALL as f64 + used / 10.0 + if exact { 1e9 } else { 0.01 };
        let guess = if exact { GUESS.saturating_add((bytes >> 30).saturating_mul(EXACT_PER_GIB)) } else { GUESS };
        let cost = if known.cost_ns > 0 && !exact { known.cost_ns } else { known.cost_ns.max(guess) };
        Some(Candidate { score: worth * age as f64, target: Target { pid, starttime, what }, cost: cost as f64 })
    }
}
