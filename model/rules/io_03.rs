//! IO-03: CPUs are idle for a disk.

use super::{Finding, Hit, Input, Look, Pace, Rule, Severity, Subject, Threshold, parts};

pub(super) const RULE: Rule = Rule {
    id: "IO-03",
    name: "CPUs wait for disks",
    why: "Idle time with a request outstanding is counted as iowait. It hides when CPUs have other work, so its absence proves nothing.",
    reads: &[Input::CpuTimes, Input::Disks],
    looks_at: &["/proc/stat", "/proc/pressure/io"],
    thresholds: &[
        Threshold { name: "cpus", value: 0.5, unit: "cores", about: "iowait, summed over CPUs" },
        Threshold { name: "exit", value: 0.3, unit: "cores", about: "over below this" },
        Threshold { name: "pressure", value: 0.1, unit: "fraction", about: "of the time that some task waited for I/O" },
    ],
    guards: &["without a saturated disk or pressure it is no finding", "never required: CPUs with other work show no iowait"],
    advice: &["See the disk: IO-01"],
    references: &["proc(5)", "Documentation/accounting/psi.rst"],
    pace: Pace::USUAL,
    judge,
    title,
    ..Rule::BASE
};

fn judge(look: &mut Look<'_>) {
    let frame = look.frame();
    let waiting: f64 = look.cpus().map(|(_, shares)| shares.iowait).sum();
    if waiting < look.limit("exit") {
        return;
    }
    let pressure = frame.pressure("io").and_then(|row| row.stall.some_ratio);
    let saturated = frame.disks.iter().filter(|disk| parts::is_judged(disk)).any(|disk| parts::disk_pain(look, disk).0);
    let felt = pressure.is_some_and(|ratio| ratio >= look.limit("pressure"));
    if !saturated && !felt {
        return;
    }
    let hit = Hit::new(Subject::Host, 0.7)
        .enters(waiting >= look.limit("cpus"))
        .severity(if saturated { Severity::Warning } else { Severity::Info })
        .number("iowait", waiting, "cores", "/proc/stat")
        .known("pressure", pressure, "fraction", "/proc/pressure/io");
    look.hit(hit);
}

fn title(finding: &Finding) -> String {
    format!("{} cores are idle for disks", parts::count(finding.number("iowait")))
}
