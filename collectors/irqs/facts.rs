//! Where interrupts may go and go: `/proc/irq/N`, in rotation, new ones at once.

use crate::files::{parse_list, parse_map};
use crate::parse::{signed, trim};
use crate::{Cx, Root};
use std::fmt::Write;
use topotop_model::tables::irqs::Irqs;
use topotop_model::{Gaps, IdSet, Reason, Section, Table};

/// A whole pass over all interrupts takes this long, in ns.
const PASS_NS: u64 = 20_000_000_000;
/// An inactive interrupt is read once in this many passes.
const STILL_PASSES: u64 = 3;
/// Interrupts read per pass at most, without new ones.
const MAX_STEP: usize = 400;

const AFFINITY: &str = "proc/irq/*/smp_affinity_list";
const EFFECTIVE: &str = "proc/irq/*/effective_affinity_list";
const NODE: &str = "proc/irq/*/node";
const DEBUG: &str = "sys/kernel/debug/irq/irqs";

/// What goes round over the interrupts.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The serial of the row last read in each slot.
    seen: Vec<u64>,
    /// Its count when it was last read.
    came: Vec<u64>,
    passes: u64,
    next: usize,
    last_ns: Option<u64>,
    path: String,
    absent: Option<Reason>,
    debug: Option<Reason>,
    pass: Gaps,
    passed: Gaps,
}

impl Facts {
    /// Looks at the interrupts whose turn it is.
    pub(super) fn update(&mut self, cx: &mut Cx<'_>, section: &mut Section<Irqs>) {
        let bound = section.data().rows().bound();
        self.seen.resize(bound, 0);
        self.came.resize(bound, 0);
        let elapsed = self.last_ns.map_or(PASS_NS, |last| cx.now_ns.saturating_sub(last)).min(PASS_NS);
        self.last_ns = Some(cx.now_ns);
        let share = (bound as u64).saturating_mul(elapsed).div_ceil(PASS_NS) as usize;
        let step = if cx.demand.complete { bound } else { share.min(MAX_STEP) };
        if self.next == 0 || cx.demand.complete {
            self.start(cx.root);
        }
        let turn = self.next..self.next.saturating_add(step).min(bound);
        let table = section.data_mut();
        if self.absent.is_none() {
            for slot in 0..bound {
                let serial = table.rows().serial(slot);
                let new = self.seen.get(slot).is_none_or(|&seen| seen != serial);
                let turn = turn.contains(&slot) && (cx.demand.complete || self.is_its_pass(slot, table));
                if serial != 0 && (new || turn) {
                    self.interrupt(cx.root, cx.buf, table, slot, new);
                }
                if let Some(seen) = self.seen.get_mut(slot) {
                    *seen = serial;
                }
            }
        }
        self.next = if turn.end >= bound { 0 } else { turn.end };
        self.passes += u64::from(self.next == 0);
        self.report(&mut section.gaps);
        if self.next == 0 {
            self.passed = std::mem::take(&mut self.pass);
        }
    }

    /// True if an interrupt came since it was last looked at; without coming it goes nowhere else (vector moves at the
    /// next interrupt), and only its mask may have been written.
    fn is_its_pass(&mut self, slot: usize, table: &Irqs) -> bool {
        let (total, Some(came)) = (table.total.value(slot).unwrap_or_default(), self.came.get_mut(slot)) else {
            return true;
        };
        let came = std::mem::replace(came, total) != total;
        // What cannot be read is counted by the pass.
        came || !self.passed.is_empty() || (self.passes + slot as u64).is_multiple_of(STILL_PASSES)
    }

    fn start(&mut self, root: &Root) {
        self.absent = (!root.exists("proc/irq")).then_some(Reason::NotFound);
        self.debug = root.list(DEBUG).err();
    }

    fn report(&self, gaps: &mut Gaps) {
        if let Some(reason) = self.absent {
            gaps.add("proc/irq", reason, "");
        }
        if let Some(reason) = self.debug.filter(|_| self.absent.is_none()) {
            gaps.add(DEBUG, reason, "root, debugfs and CONFIG_GENERIC_IRQ_DEBUGFS");
        }
        let whole = if self.passed.is_empty() || self.next == 0 { &self.pass } else { &self.passed };
        for gap in whole {
            gaps.add_many(&gap.path, gap.reason, &gap.needs, gap.count);
        }
    }

    fn interrupt(&mut self, root: &Root, buf: &mut Vec<u8>, table: &mut Irqs, slot: usize, new: bool) {
        let Some(irq) = table.irq.value(slot) else { return };
        match self.set(root, buf, irq, "smp_affinity_list", "smp_affinity", AFFINITY, "root") {
            Some(set) => table.affinity.set(slot, set),
            None => table.affinity.clear(slot),
        }
        let needs = "Linux 4.13";
        match self.set(root, buf, irq, "effective_affinity_list", "effective_affinity", EFFECTIVE, needs) {
            Some(set) => table.effective_affinity.set(slot, set),
            None => table.effective_affinity.clear(slot),
        }
        if new || table.node.get(slot).is_missing() {
            self.node(root, buf, table, slot, irq);
        }
        if new && self.debug.is_none() {
            self.path.clear();
            let _ = write!(self.path, "{DEBUG}/{irq}");
            match root.read(&self.path, buf) {
                Ok(()) => table.managed.set(slot, u64::from(managed(buf))),
                Err(_) => table.managed.clear(slot),
            }
        }
    }

    /// The node of its device: it never changes.
    fn node(&mut self, root: &Root, buf: &mut Vec<u8>, table: &mut Irqs, slot: usize, irq: u64) {
        match self.read(root, buf, irq, "node").map(|()| signed(trim(buf))) {
            Ok(Some(node)) if node < 0 => table.node.set_none(slot),
            Ok(Some(node)) => table.node.set(slot, node as u64),
            Ok(None) => {
                table.node.clear(slot);
                self.pass.add(NODE, Reason::Malformed, "");
            }
            Err(reason) => {
                table.node.clear(slot);
                self.missing(NODE, reason, "");
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one file in two spellings and how its absence is reported")]
    fn set(
        &mut self,
        root: &Root,
        buf: &mut Vec<u8>,
        irq: u64,
        list: &str,
        map: &str,
        pattern: &str,
        needs: &str,
    ) -> Option<IdSet> {
        let set = match self.read(root, buf, irq, list) {
            Ok(()) => parse_list(buf),
            Err(Reason::NotFound) if self.read(root, buf, irq, map).is_ok() => parse_map(buf),
            Err(reason) => {
                self.missing(pattern, reason, needs);
                return None;
            }
        };
        if set.is_none() {
            self.pass.add(pattern, Reason::Malformed, "");
        }
        set
    }

    fn read(&mut self, root: &Root, buf: &mut Vec<u8>, irq: u64, file: &str) -> Result<(), Reason> {
        self.path.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.path, "proc/irq/{irq}/{file}");
        root.read(&self.path, buf)
    }

    fn missing(&mut self, pattern: &str, reason: Reason, needs: &str) {
        if reason != Reason::Vanished {
            self.pass.add(pattern, reason, needs);
        }
    }
}

/// True if the kernel distributes the interrupt itself and refuses writes to its affinity.
fn managed(text: &[u8]) -> bool {
    text.windows(b"IRQD_AFFINITY_MANAGED".len()).any(|part| part == b"IRQD_AFFINITY_MANAGED")
}
