//! The application's own metrics, as the user requested them: from the output of commands, files, programs and pages.
//! Each source that may wait has a thread of its own, with one query at a time.

mod confined;
mod file;
mod http;
mod pick;
mod program;
mod source;
mod tap;

pub use http::Url;
pub use pick::{Pick, Picked, Selector};
pub use program::{OwnChild, Started, Starter, start};
pub use source::{FORMS, Metric, STALE, Source, Stream};
pub use tap::Tap;

use crate::worker::Worker;
use crate::{Collector, Cx, Options};
use file::Follow;
use pick::Work;
use std::sync::Arc;
use std::time::Duration;
use topotop_model::tables::metrics::Metrics;
use topotop_model::{Draft, Reason, Table as _};

/// How long a complete reading waits for one of them.
const PATIENCE: Duration = Duration::from_millis(300);
/// Intervals between samples after which a number is stale at the earliest.
const STALE_INTERVALS: u64 = 3;

/// A number and when it was read, or why there is none.
type Answer = Result<Option<(Picked, u64)>, Reason>;

/// Reads the numbers.
#[derive(Debug)]
pub(crate) struct MetricCollector {
    numbers: Vec<Number>,
    last_ns: u64,
}

/// What is remembered of a number.
#[derive(Debug)]
struct Number {
    metric: Metric,
    starter: Option<Arc<dyn Starter>>,
    worker: Option<Worker<(), Answer>>,
    slot: Option<usize>,
    newest: Option<(Picked, u64)>,
    rate: Option<f64>,
    peak: Option<f64>,
    failed: Option<Reason>,
}

impl MetricCollector {
    pub(crate) fn new(options: &Options) -> Self {
        let number = |metric: &Metric| Number {
            metric: metric.clone(),
            starter: options.starter.clone(),
            worker: None,
            slot: None,
            newest: None,
            rate: None,
            peak: None,
            failed: None,
        };
        Self { numbers: options.metrics.iter().map(number).collect(), last_ns: 0 }
    }
}

impl Collector for MetricCollector {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn collect(&mut self, cx: &mut Cx<'_>, draft: &mut Draft) {
        if self.numbers.is_empty() || !cx.root.is_live() {
            return;
        }
        let interval = cx.now_ns.saturating_sub(std::mem::replace(&mut self.last_ns, cx.now_ns));
        // The first sample has none before it.
        let least_ns = if interval < cx.now_ns { interval.saturating_mul(STALE_INTERVALS) } else { 0 };
        draft.metrics.begin(cx.now_ns);
        for number in &mut self.numbers {
            // What was asked with the last sample comes first: each sample asks once.
            if number.worker.is_some() {
                number.answers(Duration::ZERO);
            }
            number.ask();
        }
        for number in &mut self.numbers {
            number.answers(if cx.demand.complete { PATIENCE } else { Duration::ZERO });
            number.put(draft.metrics.data_mut(), cx.now_ns, least_ns);
            if let Some(reason) = number.gap(draft.metrics.data()) {
                let metric = &number.metric;
                draft.metrics.gaps.add(&format!("metric:{}", metric.name), reason, needs(metric, reason));
            }
        }
    }
}

/// What would fill the gap of a number.
fn needs(metric: &Metric, reason: Reason) -> &'static str {
    match (&metric.source, reason) {
        (_, Reason::Exhausted) => topotop_model::locale::needs::SHORTER_METRIC.english(),
        (Source::Stream(..), _) => topotop_model::locale::needs::RECORDED_OUTPUT.english(),
        (Source::Command(..), Reason::NotSupported) => topotop_model::locale::needs::COMMAND_SUCCEEDS.english(),
        (Source::Command(..), Reason::NotFound) => topotop_model::locale::needs::INSTALLED_PROGRAM.english(),
        (Source::Url(..), Reason::NotFound) => topotop_model::locale::needs::PAGE_LISTENER.english(),
        (Source::Url(..), Reason::NotSupported) => topotop_model::locale::needs::PAGE_200.english(),
        (Source::File(..), Reason::NotSupported) => topotop_model::locale::needs::REGULAR_FILE.english(),
        (_, Reason::PermissionDenied) => topotop_model::locale::needs::READABLE_FILE.english(),
        (_, Reason::NotFound) => topotop_model::locale::needs::EXISTING_FILE.english(),
        _ => topotop_model::locale::needs::NEW_NUMBER.english(),
    }
}

impl Number {
    /// Asks again, unless the last question has no answer yet.
    fn ask(&mut self) {
        if self.worker.is_none() {
            self.worker = spawn(&self.metric, self.starter.clone());
        }
        if let Some(worker) = self.worker.as_mut().filter(|worker| worker.pending() == 0) {
            worker.submit(());
        }
    }

    fn answers(&mut self, patience: Duration) {
        if let Source::Stream(_, tap) = &self.metric.source {
            let exhausted = tap.is_exhausted();
            let newest = tap.newest().map(|(value, at_ns)| (Picked { value, counter: false }, at_ns));
            let reason = if exhausted { Reason::Exhausted } else { Reason::NotFound };
            self.failed = newest.is_none().then_some(reason);
            return self.take(newest);
        }
        let Some(worker) = &mut self.worker else {
            self.failed = Some(Reason::Exhausted);
            return;
        };
        let answer = worker.take().or_else(|| if patience.is_zero() { None } else { worker.wait(patience) });
        match answer {
            None => {}
            Some(Err(reason)) => self.failed = Some(reason),
            Some(Ok(newest)) => {
                // It was read, and does not contain the metric.
                self.failed = newest.is_none().then_some(Reason::Malformed);
                self.take(newest);
            }
        }
    }

    fn take(&mut self, newest: Option<(Picked, u64)>) {
        let Some((picked, at_ns)) = newest.filter(|newest| self.newest != Some(*newest)) else { return };
        if let Some((before, before_ns)) = self.newest.filter(|_| picked.counter) {
            let (gained, elapsed) = (picked.value - before.value, at_ns.saturating_sub(before_ns) as f64 / 1e9);
            // A counter that restarts from zero does not show what happened in between.
            self.rate = (gained >= 0.0 && elapsed > 0.0).then_some(gained / elapsed);
        }
        self.newest = Some((picked, at_ns));
        if let Some(value) = if picked.counter { self.rate } else { Some(picked.value) } {
            self.peak = Some(self.peak.map_or(value, |peak| peak.max(value)));
        }
    }

    fn put(&mut self, table: &mut Metrics, now_ns: u64, least_ns: u64) {
        let slot = *self.slot.get_or_insert_with(|| table.insert());
        let metric = &self.metric;
        table.name.set(slot, &metric.name);
        table.unit.set(slot, &metric.unit);
        table.source.set(slot, &metric.text);
        table.gates.set(slot, u64::from(metric.gates));
        match metric.least {
            Some(least) => table.least.set_float(slot, least),
            None => table.least.set_none(slot),
        }
        if let Some(peak) = self.peak {
            table.peak.set_float(slot, peak);
        }
        let stale_ns = u64::try_from(metric.stale.as_nanos()).unwrap_or(u64::MAX).max(least_ns);
        let fresh = self.newest.filter(|(_, at_ns)| now_ns.saturating_sub(*at_ns) <= stale_ns);
        let Some((picked, at_ns)) = fresh else {
            table.value.clear(slot);
            table.rate.clear(slot);
            table.value_at_ns.clear(slot);
            return;
        };
        table.value.set_float(slot, picked.value);
        table.value_at_ns.set(slot, at_ns);
        table.counter.set(slot, u64::from(picked.counter));
        match self.rate.filter(|_| picked.counter) {
            Some(rate) => table.rate.set_float(slot, rate),
            None => table.rate.clear(slot),
        }
    }

    /// Why there is no number now.
    fn gap(&self, table: &Metrics) -> Option<Reason> {
        let there = self.slot.is_some_and(|slot| table.value.raw(slot).is_some());
        // A metric that was there and is missing now is late, whatever the last reason was.
        (!there).then(|| self.failed.or(self.newest.map(|_| Reason::TimedOut)).unwrap_or(Reason::TimedOut))
    }
}

/// The thread that asks; none for what comes by itself.
fn spawn(metric: &Metric, starter: Option<Arc<dyn Starter>>) -> Option<Worker<(), Answer>> {
    let now = crate::clock::monotonic_ns;
    let whole = move |text: Result<String, Reason>, pick: &Pick| {
        let mut work = Work::default();
        match pick.text(&text?, &mut work) {
            None if work.is_exhausted() => Err(Reason::Exhausted),
            picked => Ok(picked.map(|picked| (picked, now()))),
        }
    };
    match metric.source.clone() {
        Source::Stream(..) => None,
        Source::File(path, pick) => {
            let mut follow = Follow::new(path, pick);
            Worker::spawn("metric", move |()| follow.read(now())).ok()
        }
        Source::Command(words, pick) => {
            let name = metric.name.clone();
            let start = move |output| match &starter {
                Some(starter) => starter.start(&name, output),
                None => start(&words, output).map(|child| Box::new(child) as Box<dyn Started>),
            };
            Worker::spawn("metric", move |()| whole(program::output(&start), &pick)).ok()
        }
        Source::Url(url, pick) => {
            let mut confined = None;
            let get = move |()| {
                let confined = *confined.get_or_insert_with(|| confined::confine(url.port()));
                whole(confined.and_then(|()| url.get()), &pick)
            };
            Worker::spawn("metric", get).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Metric, MetricCollector, Stream};
    use crate::live::{Kernel, Live};
    use crate::{Collector, Cx, Demand, Options, Root};
    use std::sync::Arc;
    use topotop_model::derive::Deriver;
    use topotop_model::frame::Frame;
    use topotop_model::{Draft, Reason, Snapshot, Stamp, Window};

    struct Bench {
        root: Arc<Root>,
        collector: MetricCollector,
        draft: Draft,
    }

    impl Bench {
        fn new(metrics: Vec<Metric>) -> Self {
            let collector = MetricCollector::new(&Options { metrics, ..Options::default() });
            Self { root: Arc::new(Root::live().expect("a root")), collector, draft: Draft::default() }
        }

        fn sample(&mut self, now_ns: u64) -> Frame {
            self.demanded(now_ns, true)
        }

        fn demanded(&mut self, now_ns: u64, complete: bool) -> Frame {
            let live: Arc<dyn Live> = Arc::new(Kernel);
            let demand = Demand { complete, process: None };
            let mut buf = Vec::new();
            let mut cx = Cx { root: &self.root, live: &live, now_ns, demand: &demand, buf: &mut buf };
            self.collector.collect(&mut cx, &mut self.draft);
            let stamp = Stamp { seq: 1, wall_ns: 0, mono_ns: now_ns, boot_ns: now_ns };
            let mut window = Window::default();
            window.push(self.draft.publish(stamp, &Snapshot::default()));
            Deriver::default().frame(&window)
        }

        fn gap(&self) -> Option<Reason> {
            self.draft.metrics.gaps.iter().next().map(|gap| gap.reason)
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_number_that_stops_coming_is_a_gap() {
        let metric = Metric::parse("tps=/tps = ([0-9.]+)/").expect("a metric");
        let tap = Arc::clone(metric.tap(Stream::Output).expect("a tap"));
        assert!(metric.tap(Stream::Error).is_none());
        let mut bench = Bench::new(vec![metric]);
        assert_eq!((bench.sample(100 * SECOND).metrics[0].value, bench.gap()), (None, Some(Reason::NotFound)));
        tap.feed(b"tps = 500\ntps = 300\n", 100 * SECOND);
        let metric = &bench.sample(101 * SECOND).metrics[0];
        assert_eq!((metric.value, metric.age_seconds, metric.shows_load()), (Some(300.0), Some(1.0), Some(true)));
        assert_eq!(bench.gap(), None);
        tap.feed(b"tps = 3000\n", 102 * SECOND);
        bench.sample(102 * SECOND);
        tap.feed(b"tps = 3\n", 103 * SECOND);
        let metric = &bench.sample(103 * SECOND).metrics[0];
        assert_eq!((metric.value, metric.peak, metric.shows_load()), (Some(3.0), Some(3000.0), Some(false)));
        bench.sample(133 * SECOND);
        let metric = bench.sample(134 * SECOND).metrics.remove(0);
        assert_eq!((metric.value, metric.age_seconds, metric.shows_load()), (None, None, None));
        assert_eq!(bench.gap(), Some(Reason::TimedOut));
    }

    #[test]
    fn programs_and_files_are_asked() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        std::fs::write(&path, "queue 12\n").expect("written");
        let program = Metric::parse("n=command:echo x 41.5 y 7#/x ([0-9.]+)/").expect("a metric");
        let file = Metric::parse(&format!("q=file:{}", path.display())).expect("a metric");
        let missing = Metric::parse("z=command:/nothing/of/this/name").expect("a metric");
        let mut bench = Bench::new(vec![program, file, missing]);
        let values = |frame: Frame| frame.metrics.iter().map(|metric| metric.value).collect::<Vec<_>>();
        let now = crate::clock::monotonic_ns();
        let mut seen = values(bench.sample(now));
        // A busy machine may take longer for a program than a sample waits.
        for _ in 0..50 {
            if seen == [Some(41.5), Some(12.0), None] {
                break;
            }
            seen = values(bench.sample(crate::clock::monotonic_ns()));
        }
        assert_eq!(seen, [Some(41.5), Some(12.0), None]);
        assert_eq!(bench.gap(), Some(Reason::NotFound));
    }

    #[test]
    fn every_sample_has_a_reading_of_its_own() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page");
        let metric = Metric::parse(&format!("n=file:{}", path.display())).expect("a metric");
        let mut bench = Bench::new(vec![metric]);
        let mut tried = |from: u32| {
            let mut seen = Vec::new();
            for value in from..from + 6 {
                std::fs::write(&path, format!("{value}\n")).expect("written");
                seen.extend(bench.demanded(crate::clock::monotonic_ns(), false).metrics[0].value);
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            seen.dedup();
            seen.len()
        };
        // On a busy machine an answer comes now with its own sample, now with the next one, which then has two.
        assert!((0..10).any(|round| tried(10 * round) >= 4), "a sample without a reading");
    }

    #[test]
    fn a_counter_is_shown_by_its_rate() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page");
        std::fs::write(&path, "jobs_total 100\n").expect("written");
        let metric = Metric::parse(&format!("jobs=file:{}#jobs_total", path.display())).expect("a metric");
        let mut bench = Bench::new(vec![metric]);
        let value = |bench: &mut Bench| bench.sample(crate::clock::monotonic_ns()).metrics[0].value;
        assert_eq!(value(&mut bench), None, "one number has no rate");
        let mut rate = None;
        for total in 0..50 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            std::fs::write(&path, format!("jobs_total {}\n", 200 + total)).expect("written");
            rate = value(&mut bench);
            if rate.is_some() {
                break;
            }
        }
        assert!(rate.is_some_and(|rate| rate > 0.0), "{rate:?}");
    }
}
