//! The clock of each CPU from its own files: its frequency, and how often its core was throttled for heat.
//! Some CPUs in each sample, in turns, since some drivers ask the CPU itself.

use crate::Cx;
use crate::files::{Files, note};
use crate::parse::number;
use std::fmt::Write as _;
use topotop_model::tables::cpu::CpuTimes;
use topotop_model::{Num, Section, Table as _};

/// CPUs read per sample: all of most machines.
const AT_ONCE: usize = 64;
/// How long a machine on which no CPU has such a file is left alone, in ns.
const REST_NS: u64 = 60_000_000_000;

/// A file that every CPU may have, and the column for its value.
struct File {
    name: &'static str,
    pattern: &'static str,
    column: fn(&mut CpuTimes) -> &mut Num,
    taken: fn(u64) -> bool,
    /// The time from one turn through all CPUs to the next, in ns.
    period_ns: u64,
}

const FILES: [File; 2] = [
    File {
        name: "cpufreq/scaling_cur_freq",
        pattern: "sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
        column: |times| &mut times.khz,
        // Drivers that do not know it say `<unknown>`, some zero.
        taken: |khz| khz > 0,
        period_ns: 0,
    },
    File {
        name: "thermal_throttle/core_throttle_count",
        pattern: "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
        column: |times| &mut times.throttles,
        taken: |_| true,
        period_ns: 10_000_000_000,
    },
];

/// Whose turn it is, by file.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    turns: [Turn; FILES.len()],
    path: String,
}

#[derive(Debug, Default)]
struct Turn {
    /// The next slot to read.
    next: usize,
    /// True if a CPU had the file since this turn began.
    found: bool,
    /// When the next turn may begin.
    due_ns: u64,
}

impl Clocks {
    pub(super) fn read(&mut self, cx: &mut Cx<'_>, section: &mut Section<CpuTimes>) {
        let (now_ns, complete) = (cx.now_ns, cx.demand.complete);
        let mut files = Files::new(cx);
        for (file, turn) in FILES.iter().zip(&mut self.turns) {
            if turn.next == 0 && now_ns < turn.due_ns && !complete {
                continue;
            }
            let bound = section.data().rows().bound();
            let (first, most) = if complete { (0, bound) } else { (turn.next, AT_ONCE) };
            for slot in first..bound.min(first.saturating_add(most)) {
                if let Some(cpu) = section.data().cpu.id(slot).value() {
                    let value = ask(file, cpu, &mut self.path, &mut files, section, &mut turn.found);
                    (file.column)(section.data_mut()).set_or_clear(slot, value);
                }
            }
            turn.next = first.saturating_add(most);
            if turn.next >= bound {
                let rest = if std::mem::take(&mut turn.found) { file.period_ns } else { REST_NS };
                (turn.next, turn.due_ns) = (0, now_ns.saturating_add(rest));
            }
        }
    }
}

fn ask(
    file: &File,
    cpu: u32,
    path: &mut String,
    files: &mut Files<'_>,
    section: &mut Section<CpuTimes>,
    found: &mut bool,
) -> Option<u64> {
    path.clear();
    // Writing to a String cannot fail.
    let _ = write!(path, "sys/devices/system/cpu/cpu{cpu}/{}", file.name);
    match files.bytes(path) {
        Ok(bytes) => {
            *found = true;
            number(bytes).filter(|&value| (file.taken)(value))
        }
        Err(reason) => {
            note(&mut section.gaps, file.pattern, reason);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Clocks;
    use crate::live::{Kernel, Live};
    use crate::{Cx, Demand, Options, Root, Sampler};
    use std::fs;
    use std::sync::Arc;
    use topotop_model::tables::cpu::CpuTimes;
    use topotop_model::{Section, Table as _};

    #[test]
    fn heat_is_asked_for_now_and_then_and_clocks_each_time() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let cpu = dir.path().join("sys/devices/system/cpu/cpu3");
        for folder in ["cpufreq", "thermal_throttle"] {
            fs::create_dir_all(cpu.join(folder)).expect("made");
        }
        let root = Arc::new(Root::at(dir.path()).expect("a root"));
        let live: Arc<dyn Live> = Arc::new(Kernel);
        let (mut clocks, mut section) = (Clocks::default(), Section::<CpuTimes>::default());
        let slot = section.data_mut().insert();
        section.data_mut().cpu.set(slot, 3);
        let mut read = |second: u64| {
            fs::write(cpu.join("cpufreq/scaling_cur_freq"), format!("{}\n", 1000 + second)).expect("written");
            fs::write(cpu.join("thermal_throttle/core_throttle_count"), format!("{second}\n")).expect("written");
            let (demand, now_ns) = (Demand::default(), second * 1_000_000_000);
            let mut cx = Cx { root: &root, live: &live, now_ns, demand: &demand, buf: &mut Vec::new() };
            clocks.read(&mut cx, &mut section);
            (section.data().khz.value(slot), section.data().throttles.value(slot))
        };
        assert_eq!(read(1), (Some(1001), Some(1)));
        assert_eq!(read(2), (Some(1002), Some(1)));
        assert_eq!(read(11), (Some(1011), Some(11)));
    }

    #[test]
    fn clocks_where_the_driver_knows_them() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("proc")).expect("made");
        fs::write(dir.path().join("proc/stat"), "cpu0 1 2 3 4\ncpu2 1 2 3 4\ncpu5 1 2 3 4\n").expect("written");
        for (cpu, says) in [(0, "3412000\n"), (2, "<unknown>\n")] {
            let cpu = dir.path().join(format!("sys/devices/system/cpu/cpu{cpu}"));
            fs::create_dir_all(cpu.join("cpufreq")).expect("made");
            fs::write(cpu.join("cpufreq/scaling_cur_freq"), says).expect("written");
            fs::create_dir_all(cpu.join("thermal_throttle")).expect("made");
            fs::write(cpu.join("thermal_throttle/core_throttle_count"), "7\n").expect("written");
        }
        let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
        sampler.demand(Demand { complete: true, ..Demand::default() });
        let snapshot = sampler.sample();
        let times = snapshot.cpu_times.data();
        assert_eq!([0, 1, 2].map(|slot| times.khz.value(slot)), [Some(3_412_000), None, None]);
        assert_eq!([0, 1, 2].map(|slot| times.throttles.value(slot)), [Some(7), Some(7), None]);
        assert!(!snapshot.cpu_times.gaps.iter().any(|gap| gap.path.contains("cpu*")));
    }
}
