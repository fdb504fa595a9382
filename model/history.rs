//! Series for sparklines and heat strips: a bounded fold over frames.

use crate::frame::Frame;
use std::collections::VecDeque;
use std::sync::Arc;

/// Samples that are kept for drawing: ten minutes at one a second.
const DEPTH: usize = 600;

/// One sample's headline values; none where unknown. Shares are fractions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Headline {
    /// Monotonic time of the sample.
    pub mono_ns: u64,
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
    /// Memory of the fullest control group against its effective limit.
    pub memory: Option<f64>,
    /// Share of time in which some task waited for memory.
    pub memory_pressure: Option<f64>,
    /// Share of time in which some task waited for a disk.
    pub io_pressure: Option<f64>,
    /// Busy share of each online CPU, by ascending id, in 1/255.
    pub cpus: Vec<u8>,
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
        self.samples.push_back(Arc::new(headline(frame)));
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
        memory_pressure: pressure("memory"),
        io_pressure: pressure("io"),
        cpus: frame.cpus.iter().filter(|cpu| cpu.online).map(|cpu| (cpu.busy().unwrap_or(0.0) * 255.0) as u8).collect(),
    }
}

fn fullest_memory(frame: &Frame) -> Option<f64> {
    let fill = |cgroup: &crate::frame::Cgroup| {
        let memory = cgroup.memory.as_ref()?;
        let limit = memory.effective_limit_bytes.value().filter(|&limit| limit > 0)?;
        Some(memory.current_bytes.value()? as f64 / limit as f64)
    };
    frame.cgroups.iter().filter(|cgroup| &*cgroup.path != "/").filter_map(fill).max_by(f64::total_cmp)
}
