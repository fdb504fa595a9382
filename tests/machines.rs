//! Captured real machines, where they lie beside the project: what the program says of each against expected values.

pub(crate) mod sick;
mod silence;

use std::path::PathBuf;
use std::process::Command;

/// The folder of captured machines, if there is one: named by `TOPOTOP_MACHINES`, else beside the project.
pub(crate) fn folder() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/machines");
    let folder = std::env::var_os("TOPOTOP_MACHINES").map_or_else(beside, PathBuf::from);
    folder.join("check.py").is_file().then_some(folder)
}

#[test]
fn every_captured_machine_is_as_expected() {
    let Some(folder) = folder() else {
        eprintln!("skipped: no captured machines beside the project (set TOPOTOP_MACHINES to their folder)");
        return;
    };
    let check = Command::new("python3")
        .arg(folder.join("check.py"))
        .args(["--bin", env!("CARGO_BIN_EXE_topotop")])
        .arg(&folder)
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success(), "{text}{}", String::from_utf8_lossy(&check.stderr));
}
