//! Which scenarios run: one, all, those that measure, or those that a change touches and a share of the rest.

use crate::machine::{SHAPES, Shape};
use crate::scenario::{Expected, Scenario};
use crate::steps;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Scenarios of one kind of machine.
pub(crate) type Chosen = (&'static Shape, Vec<&'static Scenario>);

/// The scenario of `make test`: one problem found, one fix applied and undone, by command and by keys.
const SMOKE: &str = "quota";
/// Seconds of scenarios that CI runs: ten minutes of three machines at once. What a change touches runs in any case.
const BUDGET_SECONDS: u64 = 3 * 10 * 60;
/// The commit that a change is compared with, where git does not show it.
const BASE: &str = "TOPOTOP_BASE";
/// Without a branch to compare with, a change is what was committed within so many seconds before its last commit.
const CHANGE_SECONDS: u64 = 12 * 3600;

/// What a changed file touches.
enum Touches {
    /// Every scenario.
    All,
    /// Scenarios that name a rule or a fix that the file names.
    Ids,
    Scenarios(&'static [&'static str]),
}
use Touches::{All, Ids, Scenarios};

/// One scenario of each kind of machine, all resources among them.
const CORE: &[&str] = &["quota", "virtio-channels", "far-memory", "shared-disk", "refault-v1", "systemd-memory"];
const NETWORK: &[&str] = &["virtio-channels", "igb-channels", "interrupts", "systemd-irqbalance", "systemd-login"];
const PLACEMENT: &[&str] =
    &["far-memory", "spread-process", "full-node", "erlang-bound", "erlang-unbound", "plan-numa"];
const MEMORY: &[&str] = &[
    "refault",
    "refault-v1",
    "cache-at-limit",
    "cache-at-limit-v1",
    "appender-at-limit",
    "shmem-to-its-end",
    "settings",
    "systemd-memory",
];
const CPU: &[&str] = &["quota", "systemd-quota", "idle", "offline-cpu", "isolated-poller"];
const DISK: &[&str] = &["shared-disk", "shared-disk-busy-cpus", "io-limit", "systemd-disk", "settings"];
const KEYS: &[&str] = &["quota", "igb-channels"];

/// What changed files touch, by the beginning of their path; the first row that fits counts. Files in no row touch `CORE`.
const TABLE: &[(&str, Touches)] = &[
    ("tests/guest/scenarios/disk.rs", Scenarios(DISK)),
    ("tests/guest/scenarios/memory.rs", Scenarios(MEMORY)),
    ("tests/guest/scenarios/network.rs", Scenarios(NETWORK)),
    ("tests/guest/scenarios/placement.rs", Scenarios(PLACEMENT)),
    ("tests/guest/scenarios/cpu.rs", Scenarios(CPU)),
    ("tests/guest/scenarios/measured.rs", Scenarios(&[])),
    ("tests/guest/scenarios/verdicts.rs", Scenarios(&[])),
    ("tests/guest/", All),
    ("tests/", Scenarios(&[])),
    ("benches/", Scenarios(&[])),
    ("docs/", Scenarios(&[])),
    ("fuzz/", Scenarios(&[])),
    ("themes/", Scenarios(&[])),
    ("README.md", Scenarios(&[])),
    ("model/rules/", Ids),
    ("model/fix/", Ids),
    ("collectors/nics", Scenarios(NETWORK)),
    ("collectors/irq", Scenarios(NETWORK)),
    ("collectors/soft", Scenarios(NETWORK)),
    ("collectors/cgroups", Scenarios(MEMORY)),
    ("collectors/cooling", Scenarios(CPU)),
    ("collectors/cpu", Scenarios(CPU)),
    ("collectors/disks", Scenarios(DISK)),
    ("collectors/memory", Scenarios(MEMORY)),
    ("collectors/resctrl", Scenarios(PLACEMENT)),
    ("collectors/shapers", Scenarios(NETWORK)),
    ("collectors/accelerators", Scenarios(PLACEMENT)),
    ("collectors/oom_kills", Scenarios(MEMORY)),
    ("collectors/node_memory", Scenarios(PLACEMENT)),
    ("collectors/processes", Scenarios(PLACEMENT)),
    ("collectors/topology", Scenarios(PLACEMENT)),
    ("src/plan", Scenarios(&["plan-numa"])),
    ("src/app", Scenarios(KEYS)),
    ("widgets/", Scenarios(KEYS)),
];

/// The scenarios of a tier; of these only the named ones, where names are given.
pub(crate) fn choose(tier: &str, names: &[&str]) -> Result<Vec<Chosen>, String> {
    check_table()?;
    let of = |measured: bool| every().filter(move |(shape, _)| shape.measured == measured);
    let in_tier: BTreeSet<&str> = match tier {
        "smoke" => BTreeSet::from([SMOKE]),
        "all" => of(false).map(|(_, scenario)| scenario.name).collect(),
        "measured" => of(true).map(|(_, scenario)| scenario.name).collect(),
        "change" => of_change(),
        _ => return Err(format!("no tier {tier:?}: smoke, all, change, measured")),
    };
    if let Some(name) = names.iter().find(|name| !in_tier.iter().any(|known| known.contains(*name))) {
        return Err(format!("no scenario of the tier {tier} contains {name:?}: {in_tier:?}"));
    }
    let is_chosen = |scenario: &Scenario| {
        in_tier.contains(scenario.name) && (names.is_empty() || names.iter().any(|name| scenario.name.contains(name)))
    };
    let chosen = |shape: &'static Shape| {
        (shape, shape.scenarios.iter().copied().filter(|scenario| is_chosen(scenario)).collect::<Vec<_>>())
    };
    Ok(SHAPES.iter().map(chosen).filter(|(_, scenarios)| !scenarios.is_empty()).collect())
}

fn every() -> impl Iterator<Item = (&'static Shape, &'static Scenario)> {
    SHAPES.iter().flat_map(|shape| shape.scenarios.iter().map(move |scenario| (shape, *scenario)))
}

/// Names are unique, and the table names scenarios and files that exist.
fn check_table() -> Result<(), String> {
    let names: Vec<&str> = every().map(|(_, scenario)| scenario.name).collect();
    let is_twice = |name: &&&str| names.iter().filter(|other| other == name).count() > 1;
    if let Some(name) = names.iter().find(is_twice) {
        return Err(format!("two scenarios are called {name}"));
    }
    let lists = TABLE.iter().filter_map(|(_, touches)| match touches {
        Scenarios(scenarios) => Some(*scenarios),
        All | Ids => None,
    });
    if let Some(name) = lists.chain([CORE, &[SMOKE]]).flatten().find(|name| !names.contains(name)) {
        return Err(format!("tests/guest/selection.rs: no scenario is called {name}"));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let exists = |prefix: &str| {
        let (folder, name) = prefix.rsplit_once('/').unwrap_or((".", prefix));
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|entry| entry.starts_with(name))
    };
    match TABLE.iter().find(|(prefix, _)| !exists(prefix)) {
        Some((prefix, _)) => Err(format!("tests/guest/selection.rs: no file begins with {prefix}")),
        None => Ok(()),
    }
}

/// What a change touches, then as many of the rest as the budget allows, from a place that moves with each commit.
fn of_change() -> BTreeSet<&'static str> {
    let functional: Vec<&'static Scenario> =
        every().filter(|(shape, _)| !shape.measured).map(|(_, scenario)| scenario).collect();
    let mut chosen = match changed() {
        Ok((base, files)) => {
            let touched = touched(&files, &functional);
            println!("guest: {} files changed since {base} touch {touched:?}", files.len());
            touched
        }
        Err(why) => {
            println!("guest: {why}: scenarios rotate only");
            BTreeSet::new()
        }
    };
    let mut seconds: u64 =
        functional.iter().filter(|one| chosen.contains(one.name)).map(|scenario| scenario.seconds).sum();
    let commits: usize = git(&["rev-list", "--count", "HEAD"]).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let start = commits % functional.len();
    for scenario in functional.iter().cycle().skip(start).take(functional.len()) {
        if !chosen.contains(scenario.name) && seconds + scenario.seconds <= BUDGET_SECONDS {
            chosen.insert(scenario.name);
            seconds += scenario.seconds;
        }
    }
    println!("guest: rotation starts at {start} of {}; {seconds} s of scenarios in all", functional.len());
    chosen
}

fn touched(files: &[String], scenarios: &[&'static Scenario]) -> BTreeSet<&'static str> {
    let mut all = BTreeSet::new();
    for file in files {
        let row = TABLE.iter().find(|(prefix, _)| file.starts_with(prefix));
        match row.map_or(&Scenarios(CORE), |(_, touches)| touches) {
            All => all.extend(scenarios.iter().map(|scenario| scenario.name)),
            Scenarios(names) => all.extend(names.iter().copied()),
            Ids => {
                // A file that is gone touches what the files touch that took its place.
                let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_default();
                let named = ids(&text);
                let touched = scenarios.iter().filter(|scenario| !ids_of(scenario).is_disjoint(&named));
                all.extend(touched.map(|scenario| scenario.name));
            }
        }
    }
    all
}

/// Rules and fixes that a scenario is about.
fn ids_of(scenario: &Scenario) -> BTreeSet<String> {
    let finding = match scenario.expected {
        Expected::Finding(finding) => [&[finding.rule], finding.groups].concat().join(" "),
        _ => String::new(),
    };
    ids(&format!("{} {finding} {}", scenario.proves, steps::script(scenario)))
}

/// Words such as NIC-01 and F-CHAN.
fn ids(text: &str) -> BTreeSet<String> {
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-');
    let is_id = |word: &&str| {
        word.split_once('-').is_some_and(|(family, rest)| {
            let is_family = !family.is_empty() && family.bytes().all(|byte| byte.is_ascii_uppercase());
            is_family && !rest.is_empty() && !rest.bytes().any(|byte| byte.is_ascii_lowercase())
        })
    };
    words.filter(is_id).map(str::to_owned).collect()
}

/// The commit that the change is compared with, and the files that differ from it.
fn changed() -> Result<(String, Vec<String>), String> {
    let head = git(&["rev-parse", "HEAD"])?;
    let base = match env::var(BASE) {
        Ok(base) => base,
        Err(_) => base(&head)?,
    };
    let files = git(&["diff", "--name-only", &base])?;
    Ok((base.chars().take(12).collect(), files.lines().map(str::to_owned).collect()))
}

/// Where the change left the main branch; else the first parent of a merge; else the last commit before a pause.
fn base(head: &str) -> Result<String, String> {
    for branch in ["origin/main", "origin/HEAD"] {
        if let Ok(base) = git(&["merge-base", "HEAD", branch])
            && base != head
        {
            return Ok(base);
        }
    }
    if git(&["rev-parse", "--verify", "--quiet", "HEAD^2"]).is_ok() {
        return git(&["rev-parse", "HEAD^1"]);
    }
    let time: u64 = git(&["log", "-1", "--format=%ct"])?.parse().map_err(|_| "a commit without a time")?;
    let before = format!("--before={}", time.saturating_sub(CHANGE_SECONDS));
    let base = git(&["rev-list", "-1", &before, "HEAD"])?;
    if base.is_empty() { Err("git has no older commit to compare with".to_owned()) } else { Ok(base) }
}

fn git(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    let output = command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Ok(output) => Err(format!("git {}: {}", arguments[0], String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("git: {error}")),
    }
}
