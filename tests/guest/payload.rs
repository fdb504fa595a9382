//! The disks of one boot: the programs, the scenarios as shell functions, and disks to work on.

use crate::machine::Place;
use crate::scenario::{Expected, Scenario};
use crate::{steps, workload};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The program under test.
const TOPOTOP: &str = env!("CARGO_BIN_EXE_topotop");
/// Thresholds for machines as small as guests.
const CONFIG: &str =
    "[rules.NUMA-01]\nmemory = 50000000\n[rules.NUMA-02]\nmemory = 50000000\n[rules.NUMA-06]\nmemory = 50000000\n";
/// Samples that have to be free of warnings once a problem is over.
const AFTERWARDS: u32 = 12;

/// Makes the disks.
pub(crate) fn write(place: &Place<'_>, scenarios: &[&Scenario]) {
    let payload = place.work.join("payload");
    fs::create_dir(&payload).expect("a folder");
    copy_stripped(Path::new(TOPOTOP), &payload.join("topotop"));
    copy_stripped(&workload::own(), &payload.join("tool"));
    fs::write(payload.join("config.toml"), CONFIG).expect("a file");
    fs::write(payload.join("lib.sh"), include_str!("lib.sh")).expect("a file");
    let mut run = String::from(". /test/lib.sh\n");
    for scenario in scenarios {
        let Scenario { name, inject, clean, samples, interval_ms, .. } = scenario;
        let steps = steps::script(scenario);
        let functions =
            format!("inject() {{\n:\n{inject}\n}}\nsteps() {{\n:\n{steps}\n}}\nclean() {{\n:\n{clean}\n}}\n");
        fs::write(payload.join(name), functions).expect("a file");
        let samples = if matches!(scenario.expected, Expected::Nothing) { 0 } else { *samples };
        let afterwards = if is_quiet_afterwards(scenario) { AFTERWARDS } else { 0 };
        writeln!(run, "run_scenario {name} {interval_ms} {samples} {afterwards}").expect("a text");
    }
    fs::write(payload.join("run"), run).expect("a file");
    image(place, "test.img", "192M", Some(&payload));
    image(place, "data.img", "1G", None);
    image(place, "slow.img", "256M", None);
    fs::remove_dir_all(&payload).expect("a folder");
}

/// Whether a machine is watched once more when a problem is over.
pub(crate) fn is_quiet_afterwards(scenario: &Scenario) -> bool {
    !scenario.clean.is_empty() && !matches!(scenario.expected, Expected::Nothing)
}

fn image(place: &Place<'_>, name: &str, size: &str, from: Option<&Path>) {
    let mut command = Command::new(place.image.join("mke2fs"));
    command.args(["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1", "-m", "0"]);
    if let Some(from) = from {
        command.arg("-d").arg(from);
    }
    let status = command.arg(place.work.join(name)).arg(size).stdout(Stdio::null()).status().expect("mke2fs runs");
    assert!(status.success(), "mke2fs {name}");
}

/// Copies a program without debugging information, where binutils are installed.
fn copy_stripped(from: &Path, to: &Path) {
    let done = Command::new("strip").arg("-o").arg(to).arg(from).stderr(Stdio::null()).status();
    if !done.is_ok_and(|status| status.success()) {
        fs::copy(from, to).expect("a copy");
    }
}
