//! One side of a comparison: frames folded one at a time into bounded series.

mod entry;
mod worth;

pub(super) use entry::{Entry, Kind};

use super::facts::Settings;
use super::metric::{Absent, Metric, Read};
use super::metrics;
use super::outcome::Watch;
use super::series::{Clock, Series};
use super::subject::{Names, Subject};
use crate::Stamp;
use crate::frame::{Frame, Topology};
use std::collections::HashMap;
use std::sync::Arc;
use worth::{group_matters, process_matters};

/// Readings of one time, by how far their times may be apart.
const SAME_READING_MS: u64 = 2;
/// The first reading may be older than an interval by this factor; what is older is of before.
const LATE: f64 = 3.0;

/// Everything that is kept of a recording, or of a span of one: its room does not grow with its length.
#[derive(Debug, Default)]
pub struct Side {
    pub(super) clock: Clock,
    pub(super) entries: Vec<Entry>,
    pub(super) index: HashMap<Subject, usize>,
    /// By kind: the samples in which who was not there used nothing.
    read: [Series; metrics::ALL.len()],
    counts: [usize; metrics::ALL.len()],
    touched: Vec<usize>,
    /// When the reading that was taken in last was made, CLOCK_MONOTONIC in ms, by metric of the application.
    readings: HashMap<Arc<str>, u64>,
    names: Names,
    left_out: u64,
    first: Option<Stamp>,
    last: Option<Stamp>,
    settings: Option<(Settings, Settings)>,
    boot_id: Arc<str>,
    topology: Arc<Topology>,
    memory_bytes: f64,
    /// True where also what hardly does anything is followed.
    whole: bool,
    /// True for the mean of two sides: no trend leads from it to what is between them.
    pub(super) between: bool,
}

impl Side {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing yet, for frames of which every row matters.
    pub fn of_few() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// Takes in the next frame.
    pub fn push(&mut self, frame: &Frame) {
        let (block, fold) = self.clock.tick();
        if fold {
            let series = self.entries.iter_mut().flat_map(|entry| &mut entry.series).chain(&mut self.read);
            series.for_each(Series::fold);
        }
        self.note_what_was_read(frame, block);
        self.machine(frame);
        self.network(frame);
        self.groups(frame);
        for at in std::mem::take(&mut self.touched) {
            if let Some(entry) = self.entries.get_mut(at) {
                entry.finish(block);
            }
        }
        self.first.get_or_insert(frame.stamp);
        self.last = Some(frame.stamp);
        self.boot_id = Arc::clone(&frame.host.boot_id);
        self.topology = Arc::clone(&frame.topology);
        if let Some(total) = frame.memory.total_bytes.value() {
            self.memory_bytes = total as f64;
        }
    }

    /// Notes the settings of a frame: for the first and the last one of a side.
    pub fn note_settings(&mut self, frame: &Frame) {
        let here = Settings::of(frame);
        let first = self.settings.take().map_or_else(|| here.clone(), |ends| ends.0);
        self.settings = Some((first, here));
    }

    /// Samples taken in.
    pub fn samples(&self) -> u64 {
        self.clock.samples
    }

    /// Samples of a block: what a spread is the spread of.
    pub fn block(&self) -> u64 {
        self.clock.block
    }

    /// Subjects that were left out because there were too many.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The stamps of its first and last sample.
    pub fn span(&self) -> Option<(Stamp, Stamp)> {
        Some((self.first?, self.last?))
    }

    /// Its topology as it was last.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// What a subject is called here: control groups by the names that outlive them.
    pub fn called(&self, subject: &Subject) -> Subject {
        let group = |path: &Arc<str>| self.names.known(path);
        match subject {
            Subject::Cgroup(path) => Subject::Cgroup(group(path)),
            Subject::Process { comm, cgroup } => Subject::Process { comm: Arc::clone(comm), cgroup: group(cgroup) },
            other => other.clone(),
        }
    }

    /// True where a metric was measured at all.
    pub fn measures(&self, watch: &Watch) -> bool {
        let known = Watch { subject: self.called(&watch.subject), metric: watch.metric };
        self.by_block(&known).iter().flatten().next().is_some()
    }

    /// The mean of two sides, block by block, weighted by how near each is to `middle`: what drifts in a straight line
    /// through both and what is between them is the same in the mean.
    #[must_use]
    pub fn around(mut self, later: &Self, middle: &Self) -> Self {
        let weight = self.weight(later, middle).unwrap_or(0.5);
        for entry in &mut self.entries {
            let other = later.index.get(&entry.subject).and_then(|at| later.entries.get(*at));
            for (at, series) in entry.series.iter_mut().enumerate() {
                if let Some(other) = other.and_then(|other| other.series.get(at)) {
                    *series = series.between(other, weight);
                }
            }
        }
        self.between = true;
        self
    }

    /// How much this side weighs beside a later one, seen from between them.
    fn weight(&self, later: &Self, middle: &Self) -> Option<f64> {
        let time =
            |side: &Self| side.span().map(|(first, last)| f64::midpoint(first.mono_ns as f64, last.mono_ns as f64));
        let (one, between, other) = (time(self)?, time(middle)?, time(later)?);
        (other > one).then(|| ((other - between) / (other - one)).clamp(0.0, 1.0))
    }

    /// The newest value of a metric, where its sample had one.
    pub(super) fn newest(&self, watch: &Watch) -> Option<f64> {
        let entry = self.entries.get(*self.index.get(&self.called(&watch.subject))?)?;
        let at = entry.kind.table().iter().position(|metric| metric.id == watch.metric)?;
        entry.series.get(at)?.means().last().copied()
    }

    /// The settings of its first and last sample, where they were noted.
    pub(super) fn settings(&self) -> Option<&(Settings, Settings)> {
        self.settings.as_ref()
    }

    /// The boot of its samples; empty when unread.
    pub(super) fn boot_id(&self) -> &str {
        &self.boot_id
    }

    /// The machine's memory.
    pub(super) fn memory_bytes(&self) -> f64 {
        self.memory_bytes
    }

    /// A metric of a subject, as that is called here, block by block; nothing where it is not known.
    pub(super) fn by_block(&self, watch: &Watch) -> Vec<Option<f64>> {
        let entry = self.index.get(&watch.subject).and_then(|at| self.entries.get(*at));
        let Some(entry) = entry else { return Vec::new() };
        let mut metrics = entry.kind.table().iter().enumerate();
        let Some((at, metric)) = metrics.find(|(_, metric)| metric.id == watch.metric) else { return Vec::new() };
        self.series(Some(entry), entry.kind, at, metric).by_block().collect()
    }

    /// A metric of a subject, where who is not there may count as zero.
    pub(super) fn series(&self, entry: Option<&Entry>, kind: Kind, at: usize, metric: &Metric) -> Series {
        let series = entry.and_then(|entry| entry.series.get(at)).cloned().unwrap_or_default();
        match metric.absent {
            Absent::Unknown => series,
            // Nobody's value was ever read: that is no zero.
            Absent::Zero if entry.is_some() && series.samples() == 0 => Series::default(),
            Absent::Zero => {
                let read = self.read.get(kind as usize).cloned().unwrap_or_default();
                series.or_zero(&read)
            }
        }
    }

    fn note_what_was_read(&mut self, frame: &Frame, block: usize) {
        if frame.interval_seconds.is_none() {
            return;
        }
        let sections = &frame.sections;
        let read = [
            (Kind::Irq, sections.irqs.is_read() || !frame.irqs.is_empty()),
            (Kind::Queue, sections.nic_queues.is_read() || frame.nics.iter().any(|nic| !nic.queues.is_empty())),
            (Kind::Cgroup, sections.cgroups.is_read() || !frame.cgroups.is_empty()),
            (Kind::Process, sections.processes.is_read() || !frame.processes.is_empty()),
        ];
        for (kind, read) in read {
            if let Some(series) = self.read.get_mut(kind as usize).filter(|_| read) {
                series.add(block, 0.0);
            }
        }
    }

    /// True if a reading has not been taken in: files and pages are read beside the sampling and arrive a sample or two
    /// late, and a reading that is shown again is no new sample.
    fn is_new(&mut self, number: &crate::frame::Metric, frame: &Frame) -> bool {
        let Some(age) = number.age_seconds else { return true };
        let at_ms = (frame.stamp.mono_ns as f64 / 1e6 - age * 1e3).max(0.0) as u64;
        match self.readings.insert(Arc::clone(&number.name), at_ms) {
            Some(known) => known.abs_diff(at_ms) > SAME_READING_MS,
            None => frame.interval_seconds.is_none_or(|interval| age < LATE * interval),
        }
    }

    fn machine(&mut self, frame: &Frame) {
        self.take(Kind::Host, Subject::Host, true, |read| match read {
            Read::Host(value) => value(frame),
            _ => None,
        });
        for number in &frame.metrics {
            if !self.is_new(number, frame) {
                continue;
            }
            let at = self.take(Kind::Metric, Subject::Metric(Arc::clone(&number.name)), true, |read| match read {
                Read::Metric(value) => value(number),
                _ => None,
            });
            if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)).filter(|_| !number.unit.is_empty()) {
                entry.unit = Arc::clone(&number.unit);
            }
        }
        for cpu in frame.cpus.iter().filter(|cpu| cpu.online) {
            self.take(Kind::Cpu, Subject::Cpu(cpu.id), true, |read| match read {
                Read::Cpu(value) => value(cpu),
                _ => None,
            });
        }
        for row in &frame.softnet {
            self.take(Kind::Cpu, Subject::Cpu(row.cpu), false, |read| match read {
                Read::Softnet(value) => value(row),
                _ => None,
            });
        }
        for node in &frame.nodes {
            self.take(Kind::Node, Subject::Node(node.id), true, |read| match read {
                Read::Node(value) => value(node),
                _ => None,
            });
        }
        for row in &frame.pressure {
            self.take(Kind::Pressure, Subject::Pressure(Arc::clone(&row.resource)), true, |read| match read {
                Read::Pressure(value) => value(&row.stall),
                _ => None,
            });
        }
        for disk in &frame.disks {
            self.take(Kind::Disk, Subject::Disk(Arc::clone(&disk.name)), true, |read| match read {
                Read::Disk(value) => value(disk),
                _ => None,
            });
        }
    }

    fn network(&mut self, frame: &Frame) {
        for nic in &frame.nics {
            self.take(Kind::Nic, Subject::Nic(Arc::clone(&nic.name)), true, |read| match read {
                Read::Nic(value) => value(nic),
                _ => None,
            });
            for queue in &nic.queues {
                let (name, direction) = (Arc::clone(&nic.name), Arc::clone(&queue.direction));
                let subject = Subject::Queue { nic: name, direction, queue: queue.queue };
                let worth = queue.packets_per_second >= Some(10.0) || queue.per_second >= Some(10.0);
                self.take(Kind::Queue, subject, worth, |read| match read {
                    Read::Queue(value) => value(queue),
                    _ => None,
                });
            }
        }
        for irq in &frame.irqs {
            let worth = irq.per_second >= Some(10.0);
            let at = self.take(Kind::Irq, Subject::Irq(Arc::clone(&irq.name)), worth, |read| match read {
                Read::Irq(value) => value(irq),
                _ => None,
            });
            if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)).filter(|entry| entry.owner.is_none()) {
                entry.owner = frame.nic(&irq.device).map(|nic| Subject::Nic(Arc::clone(&nic.name)));
            }
        }
        for row in &frame.softirqs {
            self.take(Kind::Softirq, Subject::Softirq(Arc::clone(&row.name)), true, |read| match read {
                Read::Softirq(value) => value(row),
                _ => None,
            });
        }
    }

    fn groups(&mut self, frame: &Frame) {
        self.names.learn(frame);
        for group in &frame.cgroups {
            let subject = Subject::Cgroup(self.names.group(&group.path));
            self.take(Kind::Cgroup, subject, group_matters(group), |read| match read {
                Read::Cgroup(value) => value(group),
                _ => None,
            });
        }
        for process in &frame.processes {
            let (comm, matters) = (Names::comm(&process.comm, process.kernel), process_matters(process));
            let subject = Subject::Process { comm, cgroup: self.names.group(&process.cgroup) };
            let at = self.take(Kind::Process, subject, matters, |read| match read {
                Read::Process(value) => value(process),
                _ => None,
            });
            if let Some(entry) = at.and_then(|at| self.entries.get_mut(at)) {
                entry.kernel = process.kernel;
            }
        }
    }

    /// Adds a row of a frame to a subject, which is followed from when it is first `worth` it.
    fn take(
        &mut self,
        kind: Kind,
        subject: Subject,
        worth: bool,
        value: impl Fn(&Read) -> Option<f64>,
    ) -> Option<usize> {
        let at = match self.index.get(&subject) {
            Some(&at) => at,
            None if worth || self.whole => self.admit(kind, subject)?,
            None => return None,
        };
        let entry = self.entries.get_mut(at)?;
        for (metric, now) in entry.kind.table().iter().zip(&mut entry.now) {
            if let Some(value) = value(&metric.read) {
                now.0 += value;
                now.1 += 1;
            }
        }
        if self.touched.last() != Some(&at) {
            self.touched.push(at);
        }
        Some(at)
    }

    fn admit(&mut self, kind: Kind, subject: Subject) -> Option<usize> {
        let count = self.counts.get_mut(kind as usize)?;
        if *count >= kind.most() {
            self.left_out += 1;
            return None;
        }
        *count += 1;
        let at = self.entries.len();
        self.index.insert(subject.clone(), at);
        self.entries.push(Entry::new(kind, subject));
        Some(at)
    }
}

/// What a metric is in a frame; none where it was not read.
pub fn reading(frame: &Frame, watch: &Watch) -> Option<f64> {
    let mut side = Side::of_few();
    side.push(frame);
    side.newest(watch)
}
