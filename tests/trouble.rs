//! Trouble made for real on this machine, and what `check` makes of it: Erlang nodes on one CPU, control groups of
//! version 1 at their limit. Where that cannot be made here, a line says so.

use crate::common::pty::TOPOTOP;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What was started, ended with it, and groups, removed then.
#[derive(Default)]
struct Trouble {
    children: Vec<Child>,
    groups: Vec<PathBuf>,
    directory: Option<tempfile::TempDir>,
    /// A directory in memory.
    memory: Option<tempfile::TempDir>,
}

impl Drop for Trouble {
    fn drop(&mut self) {
        for child in &mut self.children {
            // A shell's own children are in its process group.
            if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = child.wait();
        }
        self.memory = None;
        for _ in 0..100 {
            self.groups.retain(|group| std::fs::remove_dir(group).is_err());
            if self.groups.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        eprintln!("control groups could not be removed: {:?}", self.groups);
    }
}

impl Trouble {
    fn run(&mut self, program: &str, arguments: &[&str]) -> Option<u32> {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let child = command.spawn().ok()?;
        let pid = child.id();
        self.children.push(child);
        Some(pid)
    }

    /// A group of version 1 with a limit of so many MiB; none where there is none to be had.
    fn group(&mut self, name: &str, limit: u64) -> Option<PathBuf> {
        let parent = Path::new("/sys/fs/cgroup/memory");
        parent.join("memory.limit_in_bytes").exists().then_some(())?;
        let group = parent.join(format!("topotop-trouble-{}-{name}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        self.groups.push(group.clone());
        std::fs::write(group.join("memory.limit_in_bytes"), (limit << 20).to_string()).ok()?;
        Some(group)
    }

    /// A shell script in a group.
    fn in_group(&mut self, group: &Path, script: &str) {
        let enter = format!("echo $$ > {}/cgroup.procs; {script}", group.display());
        self.run("sh", &["-c", &enter]).expect("a shell");
    }

    /// Waits until a group uses so much of its limit.
    fn filled(group: &Path, share: f64) -> bool {
        let number = |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<f64>().ok();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            if number("memory.usage_in_bytes") >= number("memory.limit_in_bytes").map(|limit| limit * share) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    }
}

/// The documents of a watch of so many seconds, a second apart, and its summary.
fn watch(seconds: u64) -> (Vec<Value>, Value) {
    let time = format!("{seconds}s");
    let arguments = ["check", "--no-hwloc", "--for", &time, "--interval", "1s", "--format", "jsonl"];
    let output = Command::new(TOPOTOP).args(arguments).stdin(Stdio::null()).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let summary = lines.pop().expect("a summary");
    (lines, summary)
}

/// The findings of a rule in a document, among them those that are grouped below others by name only.
fn findings<'a>(document: &'a Value, rule: &'a str, subject: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = document["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    let about = move |finding: &&Value| finding["subject"].as_str().is_some_and(|reported| reported.contains(subject));
    all.iter().filter(move |finding| finding["rule"] == rule).filter(about)
}

fn number(finding: &Value, name: &str) -> Option<f64> {
    evidence(finding, name)?.as_f64()
}

fn evidence<'a>(finding: &'a Value, name: &str) -> Option<&'a Value> {
    let all = finding["evidence"].as_array()?;
    all.iter().find(|evidence| evidence["name"] == name).map(|evidence| &evidence["value"])
}

/// Two Erlang nodes of one scheduler with four busy processes each.
fn erlang(bind: &str) -> Option<(Trouble, [u32; 2])> {
    let mut trouble = Trouble::default();
    let work = "F = fun G() -> G() end, [spawn(F) || _ <- lists:seq(1, 4)], timer:sleep(60000).";
    let arguments = ["+S", "1:1", "+sbt", bind, "-noshell", "-noinput", "-eval", work];
    let mut start = || trouble.run("erl", &arguments);
    let pids = [start()?, start()?];
    std::thread::sleep(Duration::from_secs(2));
    Some((trouble, pids))
}

#[test]
#[ignore = "takes 30 seconds and both CPUs; make soak runs it"]
fn bound_erlang_nodes_collide() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        crate::common::not_tested("one CPU only");
        return;
    }
    let Some((trouble, pids)) = erlang("db") else {
        crate::common::not_tested("no Erlang (erlang-base)");
        return;
    };
    let (documents, _) = watch(14);
    let busy = |cpu: &Value| cpu["busy"].as_f64().unwrap_or(0.0) >= 0.5;
    let crowded = documents
        .iter()
        .filter(|document| document["cpus"].as_array().is_some_and(|cpus| cpus.iter().all(busy)))
        .count();
    if crowded > 3 {
        crate::common::not_tested(&format!("other work leaves no CPU idle ({crowded} of {} samples)", documents.len()));
        return;
    }
    let first = documents.iter().position(|document| findings(document, "BEAM-01", "").next().is_some());
    let at = first.unwrap_or_else(|| panic!("no BEAM-01 in {} samples", documents.len()));
    let finding = findings(documents.last().expect("documents"), "BEAM-01", "").next().expect("it lasts");
    assert!(at <= 12, "found in sample {at}");
    let who = evidence(finding, "who").and_then(Value::as_str).unwrap_or_default();
    assert!(pids.iter().all(|pid| who.contains(&pid.to_string())), "{finding}");
    let cpu = |name: &str| evidence(finding, name).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert!(
        !cpu("shared").is_empty() && !cpu("free_cpus").is_empty() && cpu("shared") != cpu("free_cpus"),
        "{finding}"
    );
    assert_ne!(finding["severity"], "info", "{finding}");
    drop(trouble);
    let (_trouble, _) = erlang("u").expect("Erlang");
    let (documents, summary) = watch(14);
    let reported = documents.iter().any(|document| findings(document, "BEAM-01", "").next().is_some());
    assert!(!reported, "{summary}");
}

/// Four groups at once: one full of page cache and left alone, one that reads what does not fit, one that only appends,
/// one whose shared memory grows until it is killed.
#[test]
#[ignore = "takes 45 seconds and writes 100 MB/s; make soak runs it"]
fn page_cache_is_told_from_pain() {
    let mut trouble = Trouble::default();
    let Some(still) = trouble.group("still", 64) else {
        crate::common::not_tested("no writable memory controller of version 1");
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let memory = tempfile::tempdir_in("/dev/shm").expect("memory");
    let (disk, shared) = (directory.path().display().to_string(), memory.path().display().to_string());
    (trouble.directory, trouble.memory) = (Some(directory), Some(memory));
    let group = |trouble: &mut Trouble, name: &str, limit| trouble.group(name, limit).expect("a group");
    trouble.in_group(&still, &format!("dd if=/dev/zero of={disk}/still bs=1M count=100; sleep 100"));
    let reread = group(&mut trouble, "reread", 64);
    let fill = format!("for n in 1 2 3 4; do dd if=/dev/zero of={disk}/read$n bs=1M count=50; done; sync {disk}/read1");
    let read = format!("while :; do cat {disk}/read1 {disk}/read2 {disk}/read3 {disk}/read4 > /dev/null; done");
    trouble.in_group(&reread, &format!("{fill}; ({read}) & ({read})"));
    let append = group(&mut trouble, "append", 64);
    let write = format!("dd if=/dev/zero bs=1M count=10 >> {disk}/log 2>/dev/null; sleep 0.1");
    trouble.in_group(&append, &format!("while :; do {write}; done"));
    let full = [&still, &reread, &append].iter().all(|group| Trouble::filled(group, 0.95));
    assert!(full, "the groups did not fill");
    std::thread::sleep(Duration::from_secs(3));
    // 1 MiB a second into 44 MiB: as long as the watch.
    let grow = group(&mut trouble, "grow", 44);
    let script = "while :; do dd if=/dev/zero bs=1M count=1; sleep 1; done";
    trouble.in_group(&grow, &format!("({script}) >> {shared}/grow 2>/dev/null"));
    let (documents, summary) = watch(58);
    let loud = |name: &str| -> Vec<String> {
        let all = documents.iter().flat_map(|document| document["findings"].as_array().into_iter().flatten());
        let about = all.filter(|finding| finding["subject"].as_str().is_some_and(|reported| reported.ends_with(name)));
        about.filter(|finding| finding["severity"] != "info").map(|finding| finding["title"].to_string()).collect()
    };
    assert!(loud("-still").is_empty(), "{:?}", loud("-still"));
    assert!(loud("-append").is_empty(), "{:?}", loud("-append"));
    let pain = documents.iter().any(|document| findings(document, "MEM-02", "-reread").next().is_some());
    assert!(pain, "{summary}");
    forecast(&documents, &summary);
}

/// Every forecast of the time to the limit from 20 to 120 seconds before the kill was right within a quarter.
fn forecast(documents: &[Value], summary: &Value) {
    let killed = documents.iter().position(|document| findings(document, "MEM-04", "-grow").next().is_some());
    let killed = killed.unwrap_or_else(|| panic!("nothing was killed: {summary}"));
    let mut reported = Vec::new();
    for (at, document) in documents.iter().enumerate().take(killed) {
        let left = (killed - at) as f64;
        if let Some(seconds) =
            findings(document, "MEM-03", "-grow").next().and_then(|finding| number(finding, "seconds"))
        {
            reported.push((left, seconds));
        }
    }
    eprintln!("time to the limit, real and forecast: {reported:?}");
    let early: Vec<&(f64, f64)> = reported.iter().filter(|(left, _)| (20.0..=120.0).contains(left)).collect();
    assert!(!early.is_empty(), "no forecast in time: {reported:?}, killed in sample {killed}");
    assert!(early.iter().all(|(left, seconds)| (seconds - left).abs() <= 0.25 * left), "{early:?}");
}

/// A program that rests, works at 900 and rests again, and says so once a second.
const RESTS_AND_WORKS: &str =
    "say() { for n in $(seq $2); do echo \"tps = $1 (a test)\"; sleep 1; done; }; say 900 1; say 2 24; say 900 26";

#[test]
#[ignore = "takes a minute and half of the CPUs; make soak runs it"]
fn the_same_imbalance_is_told_without_load_and_a_warning_under_load() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        crate::common::not_tested("one CPU only");
        return;
    }
    let mut trouble = Trouble::default();
    let busy = |trouble: &mut Trouble| trouble.run("taskset", &["-c", "0", "sh", "-c", "while :; do :; done"]);
    if busy(&mut trouble).and_then(|_| busy(&mut trouble)).is_none() {
        crate::common::not_tested("no taskset (util-linux)");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.rec").display().to_string();
    let record = ["record", "--no-hwloc", "--interval", "1s", "-o", &path, "--metric", "tps=/tps = ([0-9.]+)/", "--"];
    let run = Command::new(TOPOTOP).args(record).args(["sh", "-c", RESTS_AND_WORKS]).output().expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let replay = Command::new(TOPOTOP).args(["replay", &path, "--format", "jsonl"]).output().expect("it runs");
    let documents = String::from_utf8(replay.stdout).expect("text");
    let mut reported: Vec<(bool, String)> = Vec::new();
    for document in documents.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let load = document["metrics"][0]["shows_load"] == true;
        let found = findings(&document, "CPU-03", "cpu:0").next().map(|finding| finding["severity"].to_string());
        reported.extend(found.map(|severity| (load, severity)));
    }
    // The judge goes by the last ten samples: the state at the end of each part counts.
    let last_without = reported.iter().rfind(|(load, _)| !load).map(|(_, severity)| severity.as_str());
    let last_under = reported.last().filter(|(load, _)| *load).map(|(_, severity)| severity.as_str());
    assert_eq!(last_without, Some("\"info\""), "{reported:?}");
    assert!(matches!(last_under, Some("\"warning\"" | "\"critical\"")), "{reported:?}");
}
