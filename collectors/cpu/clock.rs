//! The clock of each CPU from its own files: its frequency, and how often and how long heat throttled its core or package.
//! Some CPUs in each sample, in turns, since some drivers ask the CPU itself.

use crate::Cx;
use crate::files::{Files, note};
use crate::parse::number;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use topotop_model::tables::cpu::CpuTimes;
use topotop_model::{Gaps, Num, Section, Table as _};

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
    /// True for a file of the package: read of its first CPU only.
    of_package: bool,
    /// The time from one turn through all CPUs to the next, in ns.
    period_ns: u64,
}

const FILES: [File; 5] = [
    File {
        name: "cpufreq/scaling_cur_freq",
        pattern: "sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq",
        column: |times| &mut times.khz,
        // Drivers that do not know it say `<unknown>`, some zero.
        taken: |khz| khz > 0,
        of_package: false,
        period_ns: 0,
    },
    File {
        name: "thermal_throttle/core_throttle_count",
        pattern: "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count",
        column: |times| &mut times.throttles,
        ..HEAT
    },
    File {
        name: "thermal_throttle/core_throttle_total_time_ms",
        pattern: "sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_total_time_ms",
        column: |times| &mut times.throttled_ms,
        ..HEAT
    },
    File {
        name: "thermal_throttle/package_throttle_count",
        pattern: "sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count",
        column: |times| &mut times.package_throttles,
        of_package: true,
        ..HEAT
    },
    File {
        name: "thermal_throttle/package_throttle_total_time_ms",
        pattern: "sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_total_time_ms",
        column: |times| &mut times.package_throttled_ms,
        of_package: true,
        ..HEAT
    },
];

const HEAT: File = File {
    name: "",
    pattern: "",
    column: |times| &mut times.throttles,
    taken: |_| true,
    of_package: false,
    period_ns: 10_000_000_000,
};

/// Whose turn it is, by file.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    turns: [Turn; FILES.len()],
    /// Whether a CPU is the first of its package.
    first: BTreeMap<u32, bool>,
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
                    if file.of_package && !*self.first.entry(cpu).or_insert_with(|| is_first(cpu, &mut files)) {
                        continue;
                    }
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

/// True for the first CPU of a package, and where that is not known.
fn is_first(cpu: u32, files: &mut Files<'_>) -> bool {
    let names = ["package_cpus_list", "core_siblings_list"];
    let mut lists = names.iter().map(|name| format!("sys/devices/system/cpu/cpu{cpu}/topology/{name}"));
    let cpus = lists.find_map(|path| files.list(&path, &mut Gaps::default()));
    cpus.is_none_or(|cpus| cpus.first() == Some(cpu))
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
    fn packages_are_asked_once() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir(dir.path().join("proc")).expect("made");
        fs::write(dir.path().join("proc/stat"), "cpu0 1 2 3 4\ncpu1 1 2 3 4\ncpu2 1 2 3 4\n").expect("written");
        for (cpu, package) in [(0, "0-1"), (1, "0-1"), (2, "2")] {
            let cpu = dir.path().join(format!("sys/devices/system/cpu/cpu{cpu}"));
            for (file, text) in [
                ("thermal_throttle/core_throttle_total_time_ms", "40"),
                ("thermal_throttle/package_throttle_count", "9"),
                ("thermal_throttle/package_throttle_total_time_ms", "700"),
                ("topology/core_siblings_list", package),
            ] {
                fs::create_dir_all(cpu.join(file).parent().expect("a parent")).expect("made");
                fs::write(cpu.join(file), format!("{text}\n")).expect("written");
            }
        }
        let mut sampler = Sampler::new(Root::at(dir.path()).expect("a root"), &Options::default());
        let snapshot = sampler.sample();
        let times = snapshot.cpu_times.data();
        assert_eq!([0, 1, 2].map(|slot| times.throttled_ms.value(slot)), [Some(40); 3]);
        assert_eq!([0, 1, 2].map(|slot| times.package_throttles.value(slot)), [Some(9), None, Some(9)]);
        assert_eq!([0, 1, 2].map(|slot| times.package_throttled_ms.value(slot)), [Some(700), None, Some(700)]);
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
