//! Runs the collectors that are due and publishes what they wrote.

use crate::calm::Calm;
use crate::live::{Captured, Kernel, Live};
use crate::{Collector, Cx, Demand, Root, all};
use rustix::time::{ClockId, clock_gettime};
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use topotop_model::{Draft, Snapshot, Stamp, Table};

/// What to read and with what.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program that answers the hidden verb for libhwloc; none switches libhwloc off.
    pub hwloc_program: Option<PathBuf>,
    /// Share of one core that asking for memory by node may cost; zero means 1 %.
    pub memory_budget: f64,
    /// Where the journal of fixes is, if not in the usual place.
    pub state_dir: Option<PathBuf>,
    /// The application's own numbers.
    pub metrics: Vec<crate::metrics::Metric>,
    /// Starts their programs; without it this process does, with the rights that it has.
    pub starter: Option<Arc<dyn crate::metrics::Starter>>,
}

/// Takes samples of one machine.
pub struct Sampler {
    root: Arc<Root>,
    live: Arc<dyn Live>,
    collectors: Vec<Scheduled>,
    draft: Draft,
    last: Snapshot,
    older: Snapshot,
    seq: u64,
    demand: Demand,
    buf: Vec<u8>,
    statm: Option<std::fs::File>,
    calm: Calm,
}

struct Scheduled {
    collector: Box<dyn Collector>,
    last_ns: Option<u64>,
    cost_slot: Option<usize>,
    cpu_ns: u64,
    runs: u64,
    /// The longest of the readings whose cost is not written yet.
    longest_ns: u64,
    written_ns: u64,
}

/// The costs of the collectors are written so often: they are noise in every sample, and would be most of a recording.
const COST_PERIOD_NS: u64 = 10_000_000_000;
/// Costs are kept in steps of 2^12 ns, 4 µs.
const COST_STEP: u64 = !0xfff;

/// Time that passed, and time that this thread had of it.
struct Spent {
    wall_ns: u64,
    cpu_ns: u64,
}

impl Spent {
    fn now() -> Self {
        Self { wall_ns: nanoseconds(ClockId::Monotonic), cpu_ns: nanoseconds(ClockId::ThreadCPUTime) }
    }
}

impl Sampler {
    /// A sampler below a root.
    pub fn new(root: Root, options: &Options) -> Self {
        let root = Arc::new(root);
        let live: Arc<dyn Live> =
            if root.is_live() { Arc::new(Kernel) } else { Arc::new(Captured { root: Arc::clone(&root) }) };
        let schedule = |collector| Scheduled {
            collector,
            last_ns: None,
            cost_slot: None,
            cpu_ns: 0,
            runs: 0,
            longest_ns: 0,
            written_ns: 0,
        };
        Self {
            root,
            live,
            collectors: all(options).into_iter().map(schedule).collect(),
            draft: Draft::default(),
            last: Snapshot::default(),
            older: Snapshot::default(),
            seq: 0,
            demand: Demand::default(),
            buf: Vec::with_capacity(64 << 10),
            statm: None,
            calm: Calm::default(),
        }
    }

    /// The root that it reads below.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Changes what is wanted from the next sample on.
    pub fn demand(&mut self, demand: Demand) {
        self.demand = demand;
    }

    /// Takes one sample.
    pub fn sample(&mut self) -> Snapshot {
        self.seq += 1;
        let Some(stamp) = self.next_stamp() else { return self.last.clone() };
        let started = nanoseconds(ClockId::Monotonic);
        // Cost is of now, also where the sample is of another time.
        self.draft.cost.begin(started);
        let mut spent = Spent::now();
        for index in 0..self.collectors.len() {
            self.run(index, stamp.mono_ns, &mut spent);
        }
        self.total_cost(nanoseconds(ClockId::Monotonic).saturating_sub(started));
        let next = self.draft.publish(stamp, &self.last);
        // Consumers hold the last sample for a tick; the one before it is free by now, so its buffers serve again.
        let older = std::mem::replace(&mut self.older, std::mem::replace(&mut self.last, next.clone()));
        self.draft.retire(older);
        next
    }

    /// When the sample is of: now, or when the captured tree was taken; none after its last sample.
    fn next_stamp(&self) -> Option<Stamp> {
        let taken = self.root.stamps();
        if taken.is_empty() {
            return Some(stamp(self.seq));
        }
        let index = usize::try_from(self.seq).ok()?.checked_sub(1)?;
        let next = taken.get(index).copied();
        if next.is_some() {
            self.root.turn_to(index);
        }
        next
    }

    /// Runs a collector that is due; `spent` is of the end of the one before it.
    fn run(&mut self, index: usize, now_ns: u64, spent: &mut Spent) {
        let Some(entry) = self.collectors.get_mut(index) else { return };
        let mut period_ns = entry.collector.period_ns();
        // Rates are there from the second reading on.
        if entry.runs > 1 && entry.collector.calm_period_ns() > period_ns {
            let times = &self.draft.cpu_times;
            let calm = times.read_at_ns == now_ns && self.calm.look(times.data(), now_ns);
            period_ns = if calm { entry.collector.calm_period_ns() } else { period_ns };
        }
        let due = entry.last_ns.is_none_or(|last| now_ns.saturating_sub(last) + 1_000_000 >= period_ns);
        if !due && !self.demand.complete {
            return;
        }
        let mut cx = Cx { root: &self.root, live: &self.live, now_ns, demand: &self.demand, buf: &mut self.buf };
        let draft = &mut self.draft;
        // A collector that panics costs its own section, never the sample.
        let ran = catch_unwind(AssertUnwindSafe(|| entry.collector.collect(&mut cx, draft)));
        entry.last_ns = Some(now_ns);
        let before = std::mem::replace(spent, Spent::now());
        entry.cpu_ns += spent.cpu_ns.saturating_sub(before.cpu_ns);
        let took = spent.wall_ns.saturating_sub(before.wall_ns);
        let cost = &mut self.draft.cost;
        if ran.is_err() {
            let name = entry.collector.name();
            cost.gaps.add(name, topotop_model::Reason::Malformed, topotop_model::locale::needs::BUG_REPORT.english());
        }
        entry.longest_ns = entry.longest_ns.max(took);
        entry.runs += 1;
        // The first reading costs most and is reported at once; the second one corrects it.
        if entry.runs > 2 && now_ns.saturating_sub(entry.written_ns) < COST_PERIOD_NS {
            return;
        }
        let slot = *entry.cost_slot.get_or_insert_with(|| cost.data_mut().insert());
        let table = cost.data_mut();
        table.collector.set(slot, entry.collector.name());
        table.took_ns.set(slot, entry.longest_ns & COST_STEP);
        table.cpu_ns.set(slot, entry.cpu_ns & COST_STEP);
        (entry.longest_ns, entry.written_ns) = (0, now_ns);
    }

    fn total_cost(&mut self, took_ns: u64) {
        let table = self.draft.cost.data_mut();
        let found = table.rows().iter().find(|&slot| table.collector.get(slot).is_some_and(|name| &**name == "total"));
        let slot = found.unwrap_or_else(|| table.insert());
        table.collector.set(slot, "total");
        table.backend.set(slot, "file");
        table.took_ns.set(slot, took_ns & COST_STEP);
        // A captured machine is read faster than its clock runs: a share of its time says nothing.
        if self.root.is_live() {
            let table = self.draft.cost.data_mut();
            table.cpu_ns.set(slot, nanoseconds(ClockId::ProcessCPUTime) & COST_STEP);
        }
        if let Some(pages) = self.resident_pages() {
            let table = self.draft.cost.data_mut();
            table.rss_bytes.set(slot, pages * rustix::param::page_size() as u64);
        }
    }

    /// Resident pages of this process.
    fn resident_pages(&mut self) -> Option<u64> {
        if self.statm.is_none() {
            self.statm = std::fs::File::open("/proc/self/statm").ok();
        }
        let mut text = [0; 128];
        let read = self.statm.as_ref().and_then(|file| file.read_at(&mut text, 0).ok())?;
        crate::parse::number(crate::parse::fields(text.get(..read)?).nth(1)?)
    }
}

/// The three clocks now.
pub(crate) fn stamp(seq: u64) -> Stamp {
    Stamp {
        seq,
        wall_ns: nanoseconds(ClockId::Realtime) as i64,
        mono_ns: nanoseconds(ClockId::Monotonic),
        boot_ns: nanoseconds(ClockId::Boottime),
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
