//! Captured machines: what the program says of each against values that were counted in the files by other means.

pub(crate) mod sick;
mod silence;

use crate::common::captured;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// More captured machines than the project has itself: named by `TOPOTOP_MACHINES`, else beside the project.
pub(crate) fn folder() -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/machines");
    let folder = std::env::var_os("TOPOTOP_MACHINES").map_or_else(beside, PathBuf::from);
    folder.join("check.py").is_file().then_some(folder)
}

#[test]
fn own_captures_have_the_expected_values() {
    let mut wrong = Vec::new();
    let archives: Vec<PathBuf> =
        captured::archives().into_iter().filter(|path| path.starts_with(captured::OWN)).collect();
    assert_eq!(archives.len(), 5, "{archives:?}");
    for archive in archives {
        let name = archive.display().to_string().replace(".tar.zst", ".json");
        let text = std::fs::read_to_string(&name).expect("expected values lie beside the archive");
        let expected: BTreeMap<String, Value> = serde_json::from_str(&text).expect("an object by path");
        let document = document(&captured::top(captured::unpacked(&archive).path()));
        for (path, expected) in expected {
            let value = at(&document, &path);
            if value != expected {
                wrong.push(format!("{name}: {path} is {value}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn document(root: &Path) -> Value {
    let run = Command::new(env!("CARGO_BIN_EXE_topotop"))
        .args(["snapshot", "--format", "json", "--root"])
        .arg(root)
        .output()
        .expect("the program runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    serde_json::from_slice(&run.stdout).expect("the document is JSON")
}

/// The value of a path such as `nics name=eth0 queues #`: `key=value` selects a row, `#` counts rows, `+key` sums them.
fn at(document: &Value, path: &str) -> Value {
    let mut value = document.clone();
    for step in path.split(' ') {
        let rows = value.as_array().map_or(&[][..], Vec::as_slice);
        value = match (step.split_once('='), step.strip_prefix('+')) {
            (Some((key, wanted)), _) => {
                let is_row = |row: &&Value| {
                    row[key].as_str() == Some(wanted)
                        || matches!(&row[key], Value::Number(number) if number.to_string() == wanted)
                };
                rows.iter().find(is_row).cloned().unwrap_or_default()
            }
            (_, Some(key)) => rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>().into(),
            _ if step == "#" => rows.len().into(),
            _ => value[step].clone(),
        };
    }
    value
}

#[test]
fn every_machine_beside_the_project_is_as_expected() {
    let Some(folder) = folder() else { return };
    let check = Command::new("python3")
        .arg(folder.join("check.py"))
        .args(["--bin", env!("CARGO_BIN_EXE_topotop")])
        .arg(&folder)
        .output()
        .expect("python3 runs");
    let text = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success(), "{text}{}", String::from_utf8_lossy(&check.stderr));
}
