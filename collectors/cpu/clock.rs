//! The clock of each CPU from cpufreq: some CPUs in each sample, in turns, since each is a file of its own and some
//! drivers ask the CPU itself.

use crate::Cx;
use crate::files::{Files, note};
use crate::parse::number;
use std::fmt::Write as _;
use topotop_model::tables::cpu::CpuTimes;
use topotop_model::{Section, Table as _};

/// How many CPUs are asked in one sample: all of most machines.
const AT_ONCE: usize = 64;
/// How long a machine on which no CPU has cpufreq is left alone, in ns.
const REST_NS: u64 = 60_000_000_000;
const PATTERN: &str = "sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq";

/// Whose turn it is.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    /// The first slot of the next turn.
    next: usize,
    /// True if a CPU had cpufreq since the last turn through all of them.
    found: bool,
    rest_until_ns: u64,
    path: String,
}

impl Clocks {
    pub(super) fn read(&mut self, cx: &mut Cx<'_>, section: &mut Section<CpuTimes>) {
        let (now_ns, complete) = (cx.now_ns, cx.demand.complete);
        if now_ns < self.rest_until_ns && !complete {
            return;
        }
        let bound = section.data().rows().bound();
        let (first, most) = if complete { (0, bound) } else { (self.next, AT_ONCE) };
        let mut files = Files::new(cx);
        for slot in first..bound.min(first.saturating_add(most)) {
            if let Some(cpu) = section.data().cpu.id(slot).value() {
                let khz = self.ask(cpu, &mut files, section);
                section.data_mut().khz.set_or_clear(slot, khz);
            }
        }
        self.next = first.saturating_add(most);
        if self.next >= bound {
            self.next = 0;
            if !std::mem::take(&mut self.found) {
                self.rest_until_ns = now_ns.saturating_add(REST_NS);
            }
        }
    }

    fn ask(&mut self, cpu: u32, files: &mut Files<'_>, section: &mut Section<CpuTimes>) -> Option<u64> {
        self.path.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.path, "sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
        match files.bytes(&self.path) {
            Ok(bytes) => {
                self.found = true;
                // Drivers that do not know it say `<unknown>`, some zero.
                number(bytes).filter(|&khz| khz > 0)
            }
            Err(reason) => {
                note(&mut section.gaps, PATTERN, reason);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Demand, Options, Root, Sampler};
    use std::fs;

    #[test]
    fn clocks_where_the_driver_knows_them() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("proc")).expect("made");
        fs::write(dir.path().join("proc/stat"), "cpu0 1 2 3 4\ncpu2 1 2 3 4\ncpu5 1 2 3 4\n").expect("written");
        for (cpu, says) in [(0, "3412000\n"), (2, "<unknown>\n")] {
            let cpufreq = dir.path().join(format!("sys/devices/system/cpu/cpu{cpu}/cpufreq"));
            fs::create_dir_all(&cpufreq).expect("made");
            fs::write(cpufreq.join("scaling_cur_freq"), says).expect("written");
        }
        let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
        sampler.demand(Demand { complete: true, ..Demand::default() });
        let snapshot = sampler.sample();
        let times = snapshot.cpu_times.data();
        assert_eq!([0, 1, 2].map(|slot| times.khz.value(slot)), [Some(3_412_000), None, None]);
        assert!(!snapshot.cpu_times.gaps.iter().any(|gap| gap.path.contains("cpufreq")));
    }
}
