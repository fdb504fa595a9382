//! Series for sparklines and heat strips: a bounded fold over frames.

mod forecast;
pub mod points;
mod share;

pub use forecast::Forecast;
pub use points::Points;
pub use share::Share;

use crate::frame::Frame;
use std::collections::VecDeque;
use std::sync::Arc;

/// Samples that are kept for drawing: ten minutes at one a second.
pub const DEPTH: usize = 600;

/// Groups whose memory is kept.
const LIMITED: usize = 16;
/// The time that growth is taken over, in ns: one burst of writing is no trend.
const TREND_NS: u64 = 30_000_000_000;

/// One sample's headline values; none where unknown. Shares are fractions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headline {
    /// Monotonic time of the sample.
    pub mono_ns: u64,
    /// Time of day of the sample, in ns since 1970.
    pub wall_ns: i64,
    /// Mean busy share of online CPUs.
    pub busy: Option<f64>,
    /// Busy share of the busiest CPU.
    pub hottest_cpu: Option<(u32, f64)>,
    /// Softirq share of the CPU with most.
    pub hottest_softirq: Option<(u32, f64)>,
    /// Mean iowait share.
    pub iowait: Option<f64>,
    /// Utilisation of the fullest disk.
    pub disk: Option<f64>,
    /// Utilisation of the fullest interface direction.
    pub nic: Option<f64>,
    /// Bytes received and sent per second over physical interfaces.
    pub nic_bytes: Option<(f64, f64)>,
    /// Memory of the fullest control group against its limit, or of the machine where that is fuller.
    pub memory: Option<f64>,
    /// Share of time in which some task waited for memory.
    pub memory_pressure: Option<f64>,
    /// Share of time in which some task waited for a disk.
    pub io_pressure: Option<f64>,
    /// Busy share of each online CPU, by ascending id; none where it was not read.
    pub cpus: Vec<Option<Share>>,
    /// The application's own number that tells of load, the first by name: its name and value.
    pub metric: Option<(Arc<str>, f64)>,
    /// Bytes that the fullest groups with a limit used, by a hash of what they are.
    pub limited: Vec<(u64, u64)>,
    /// What single disks, interfaces, queues, groups and CPUs did.
    pub points: Points,
}

impl Headline {
    /// The headline values of a frame.
    pub fn of(frame: &Frame) -> Self {
        headline(frame)
    }

    /// How hot the machine was, for a line over a whole recording: its fullest core, disk or interface, or the time lost
    /// to waiting. Memory is left out, since page cache fills what there is.
    pub fn heat(&self) -> Option<f64> {
        let shares = [
            self.hottest_cpu.map(|(_, share)| share),
            self.hottest_softirq.map(|(_, share)| share),
            self.disk,
            self.nic,
            self.memory_pressure,
            self.io_pressure,
        ];
        shares.into_iter().flatten().max_by(f64::total_cmp)
    }
}

/// The newest headlines; a copy shares them.
#[derive(Clone, Debug, Default)]
pub struct History {
    samples: VecDeque<Arc<Headline>>,
}

impl History {
    /// Takes in the next frame.
    pub fn push(&mut self, frame: &Frame) {
        if self.samples.len() == DEPTH {
            self.samples.pop_front();
        }
        self.samples.push_back(Arc::new(Headline::of(frame)));
    }

    /// The headlines, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Headline> + ExactSizeIterator {
        self.samples.iter().map(|sample| &**sample)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Only the samples up to a monotonic time: what was known when the screen is stepped back to then.
    #[must_use]
    pub fn until(&self, mono_ns: u64) -> Self {
        Self { samples: self.samples.iter().filter(|sample| sample.mono_ns <= mono_ns).cloned().collect() }
    }
}

/// Headlines that were made elsewhere, oldest first; the newest of them are kept.
impl FromIterator<Arc<Headline>> for History {
    fn from_iter<T: IntoIterator<Item = Arc<Headline>>>(headlines: T) -> Self {
        let mut samples: VecDeque<_> = headlines.into_iter().collect();
        samples.drain(..samples.len().saturating_sub(DEPTH));
        Self { samples }
    }
}

fn headline(frame: &Frame) -> Headline {
    let shares = || frame.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.shares?)));
    let count = shares().count().max(1) as f64;
    let mean = |share: fn(&crate::frame::CpuShares) -> f64| {
        shares().next().is_some().then(|| shares().map(|(_, shares)| share(&shares)).sum::<f64>() / count)
    };
    let hottest = |share: fn(&crate::frame::CpuShares) -> f64| {
        shares().map(|(id, shares)| (id, share(&shares))).max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let physical = || frame.nics.iter().filter(|nic| &*nic.kind == "physical");
    let pressure = |name| frame.pressure(name).and_then(|row| row.stall.some_ratio);
    Headline {
        mono_ns: frame.stamp.mono_ns,
        wall_ns: frame.stamp.wall_ns,
        busy: mean(|shares| shares.busy),
        hottest_cpu: hottest(|shares| shares.busy),
        hottest_softirq: hottest(|shares| shares.softirq),
        iowait: mean(|shares| shares.iowait),
        disk: frame.disks.iter().filter_map(|disk| disk.utilisation).max_by(f64::total_cmp),
        nic: frame.nics.iter().filter_map(|nic| nic.utilisation).max_by(f64::total_cmp),
        nic_bytes: physical().filter_map(|nic| Some((nic.rx.bytes_per_second?, nic.tx.bytes_per_second?))).fold(
            None,
            |sum, pair| {
                let (rx, tx) = sum.unwrap_or((0.0, 0.0));
                Some((rx + pair.0, tx + pair.1))
            },
        ),
        memory: fullest_memory(frame),
        metric: frame
            .metrics
            .iter()
            .find(|metric| metric.gates)
            .and_then(|metric| Some((Arc::clone(&metric.name), metric.value?))),
        limited: limited(frame),
        points: Points::of(frame),
        memory_pressure: pressure("memory"),
        io_pressure: pressure("io"),
        cpus: busy_of_each(frame),
    }
}

/// None of them where there is no rate yet: an unknown share is no zero.
fn busy_of_each(frame: &Frame) -> Vec<Option<Share>> {
    if frame.cpus.iter().all(|cpu| cpu.shares.is_none()) {
        return Vec::new();
    }
    frame.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.busy().map(Share::of)).collect()
}

fn fullest_memory(frame: &Frame) -> Option<f64> {
    let host = frame.memory.total_bytes.value().filter(|&total| total > 0).and_then(|total| {
        let available = frame.memory.available_bytes.value()?;
        Some(1.0 - available as f64 / total as f64)
    });
    let fill = |cgroup: &crate::frame::Cgroup| {
        let memory = cgroup.memory.as_ref().filter(|memory| memory.is_limited())?;
        let limit = memory.effective_limit_bytes.value().filter(|&limit| limit > 0)?;
        Some(memory.current_bytes.value()? as f64 / limit as f64)
    };
    frame.cgroups.iter().filter(|cgroup| &*cgroup.path != "/").filter_map(fill).chain(host).max_by(f64::total_cmp)
}

/// The groups that have a limit, the fullest first: which one, and what it uses.
fn limited(frame: &Frame) -> Vec<(u64, u64)> {
    let mut groups: Vec<(f64, u64, u64)> = frame
        .cgroups
        .iter()
        .filter_map(|cgroup| {
            let memory = cgroup.memory.as_ref().filter(|memory| memory.is_limited())?;
            let limit = memory.effective_limit_bytes.value().filter(|&limit| limit > 0)?;
            let current = memory.current_bytes.value()?;
            Some((current as f64 / limit as f64, points::group_key(cgroup), current))
        })
        .collect();
    groups.sort_by(|a, b| b.0.total_cmp(&a.0));
    groups.into_iter().take(LIMITED).map(|(_, key, current)| (key, current)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Known;
    use crate::frame::{Cgroup, CgroupMemory};

    fn frame(second: u64, used: u64, limit: Option<u64>) -> Frame {
        let memory = CgroupMemory {
            current_bytes: used.into(),
            limit_bytes: limit.map_or(Known::None, Into::into),
            effective_limit_bytes: limit.unwrap_or(1 << 40).into(),
            ..CgroupMemory::default()
        };
        let cgroup = Cgroup { path: "/a".into(), memory: Some(memory), ..Cgroup::default() };
        let mut frame = Frame { cgroups: vec![cgroup], ..Frame::default() };
        frame.stamp.mono_ns = second * 1_000_000_000;
        frame
    }

    #[test]
    fn a_forecast_is_a_trend_with_its_range_and_no_burst() {
        let limit = 1_000_000;
        let mut history = History::default();
        // 1,000 bytes a second; what is seen of it swings by half of that.
        let used = |second| 1000 * second + if second % 2 == 0 { 0 } else { 500 };
        for second in 0..60 {
            let mut now = frame(second, used(second), Some(limit));
            history.push(&now);
            history.put_forecasts(&mut now);
            let memory = now.cgroups[0].memory.as_ref().expect("memory");
            let forecast = history.forecast(&now.cgroups[0]).value();
            assert_eq!(forecast.is_some(), second >= 5, "{second}");
            let Some(forecast) = forecast else { continue };
            let (low, high) = forecast.range.expect("a range");
            let truth = (limit - used(second)) as f64 / 1000.0;
            assert!((0.85..1.15).contains(&(forecast.seconds / truth)), "{second}: {} of {truth}", forecast.seconds);
            assert!(low < truth && high.is_none_or(|high| high > truth), "{second}: {low} to {high:?} of {truth}");
            // Documents have what screens have.
            assert_eq!(memory.time_to_limit_seconds, Known::Value(forecast.seconds));
            assert_eq!(
                (memory.time_to_limit_low_seconds, memory.time_to_limit_high_seconds.value()),
                (Some(low), high)
            );
        }
        assert!(history.until(20_000_000_000).forecast(&frame(20, used(20), Some(limit)).cgroups[0]).value().is_some());
        // What only the machine limits has no forecast.
        let mut free = History::default();
        (0..20).for_each(|second| free.push(&frame(second, 1000 * second, None)));
        assert_eq!(free.forecast(&frame(19, 19_000, None).cgroups[0]), Known::None);
    }
}
