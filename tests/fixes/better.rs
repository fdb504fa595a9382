//! What a group's quota held back is better by its own number once the quota is raised.

use super::everywhere::fix;
use super::worse::{Held, TRIES, document, subject};
use std::process::Output;

/// Counts loops and writes how many there were per second, twice a second, to the file `$1`.
const COUNTS: &str = r#"
echo $$ > "$0"
i=0 last=0
read t _ < /proc/uptime; t=${t%.*}${t#*.}
while :; do
    i=$((i + 1))
    [ $((i % 500)) = 0 ] || continue
    read u _ < /proc/uptime; u=${u%.*}${u#*.}
    [ $((u - t)) -ge 50 ] || continue
    echo $(((i - last) * 100 / (u - t))) > "$1.next" && mv "$1.next" "$1"
    t=$u last=$i
done
"#;

/// Raises the quota; the file of the metric while the fix is in force stays with the process.
fn raised(name: &str) -> Option<(Held, tempfile::TempDir, Output)> {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("loops");
    std::fs::write(&file, "0\n").expect("written");
    let held = Held::running(name, COUNTS, &file)?;
    let id = topotop_model::fix::id("CPU-05", &subject(&held), "F-CPUQUOTA");
    let metric = format!("loops=file:{}", file.display());
    let quick = ["--for", "15s", "--interval", "300ms", "--yes", "--set", "cores=0.6", "--metric", &metric];
    let output = fix(&[&["apply", &id, "--format", "json"], &quick[..]].concat(), &dir.path().join("state"));
    Some((held, dir, output))
}

#[test]
fn a_raised_quota_is_an_improvement_by_the_applications_own_number() {
    let Some(mut tried) = raised("better") else { return };
    for _ in 1..TRIES {
        if document(&tried.2)["verdict"] != "inconclusive" {
            break;
        }
        // Other load on the machine.
        drop(tried);
        let Some(again) = raised("better") else { return };
        tried = again;
    }
    let (held, dir, output) = tried;
    let done = document(&output);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), done["verdict"].as_str()), (Some(0), Some("improved")), "{done} {said}");
    assert!(said.contains("improved"), "{said}");
    let load = done["table"].as_array().into_iter().flatten().find(|row| row["role"] == "load").expect("a load");
    assert!(load["subject"].as_str().is_some_and(|subject| subject.contains("loops")), "{done}");
    assert!(held.quota().starts_with("60000"), "{}", held.quota());
    let undone = fix(&["undo"], &dir.path().join("state"));
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(held.quota(), held.before);
}
