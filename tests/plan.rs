//! `topotop plan numa`: a program with four ports of which one target is taken, started as the plan says.

use crate::common::pty::TOPOTOP;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Ends a child whatever happens.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn plan(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(TOPOTOP).args(["plan", "numa"]).args(arguments).output().expect("it runs");
    (status.code(), String::from_utf8(stdout).expect("text"), String::from_utf8(stderr).expect("text"))
}

fn json(arguments: &[&str]) -> Value {
    let (status, text, error) = plan(&[&["--format", "json"], arguments].concat());
    assert_eq!(status, Some(0), "{error}");
    serde_json::from_str(&text).expect("JSON")
}

/// The program: listens on every number of its arguments until its parent ends.
#[test]
#[ignore = "the program that another test plans for"]
fn listens_at_the_given_address() {
    let ports: Vec<u16> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    if ports.is_empty() {
        return;
    }
    let kept: Vec<TcpListener> =
        ports.iter().map(|port| TcpListener::bind(("127.0.0.1", *port)).expect("a free port")).collect();
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).expect("set");
    #[expect(clippy::print_stdout, reason = "whoever started it waits for this line")]
    {
        println!("listening");
    }
    std::thread::sleep(Duration::from_mins(2));
    drop(kept);
}

/// Four ports with a taken one behind the first, all of them below those of connections.
fn free_ports() -> (Vec<u16>, TcpListener) {
    let bind = |port| TcpListener::bind(("127.0.0.1", port));
    let start = 20_000 + (std::process::id() % 1000) as u16 * 10;
    for base in (start..32_000).step_by(50) {
        let ports = vec![base, base + 10, base + 20, base + 30];
        let all = || ports.iter().flat_map(|port| [*port, port + 1, port + 2, port + 3]);
        if all().all(|port| bind(port).is_ok())
            && let Ok(taken) = bind(base + 1)
        {
            return (ports, taken);
        }
    }
    panic!("no ports are free");
}

fn listener(ports: &[u16], directory: &Path) -> Ended {
    let mut command = Command::new(std::env::current_exe().expect("an own path"));
    command.args(["--ignored", "--nocapture", "--test-threads=1", "listens_at_the_given_address"]);
    command.args(ports.iter().map(u16::to_string)).current_dir(directory).stdout(Stdio::piped());
    started(command)
}

/// Waits until it listens.
fn started(mut command: Command) -> Ended {
    let mut child = Ended(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts"));
    let lines = BufReader::new(child.0.stdout.take().expect("its output")).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line.contains("listening")), "it listens");
    child
}

fn numbers(plan: &Value, instance: usize) -> Vec<u16> {
    let of = |port: &&Value| port["instance"] == instance;
    let ports = plan["ports"].as_array().expect("ports").iter().filter(of);
    ports.map(|port| u16::try_from(port["new"].as_u64().expect("a port")).expect("a port")).collect()
}

#[test]
fn instances_start_beside_the_program_as_the_plan_says() {
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let home = dir.path().join("four's home");
    std::fs::create_dir(&home).expect("made");
    let (ports, taken) = free_ports();
    let program = listener(&ports, &home);
    let pid = program.0.id().to_string();
    let plan = json(&["--pid", &pid, "--instances", "2"]);
    assert_eq!(numbers(&plan, 0), [ports[0] + 2, ports[1] + 1, ports[2] + 1, ports[3] + 1]);
    assert_eq!(numbers(&plan, 1), [ports[0] + 3, ports[1] + 2, ports[2] + 2, ports[3] + 2]);
    let why = plan["ports"][0]["skipped"][0].as_str().expect("a reason");
    assert!(
        why.starts_with(&format!("{} is ", ports[0] + 1)) && why.contains(&format!("({})", std::process::id())),
        "{why}"
    );
    for line in plan["prepare"].as_array().expect("lines") {
        let line = line.as_str().expect("a line");
        assert!(line.contains(dir.path().to_str().expect("a path")), "{line}");
        assert!(Command::new("sh").args(["-c", line]).status().expect("sh runs").success(), "{line}");
    }
    let mut cpus = Vec::new();
    for instance in plan["instances"].as_array().expect("instances") {
        let mut command = Command::new("sh");
        let start = instance["start"].as_str().expect("a line");
        command.args(["-c", &start.replacen("&& ", "&& exec ", 1)]).stdout(Stdio::piped());
        let child = started(command);
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.0.id())).expect("a status");
        let list =
            status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list").trim().to_owned();
        assert_eq!(list, instance["cpus"].as_str().expect("a list"));
        let cwd = std::fs::read_link(format!("/proc/{}/cwd", child.0.id())).expect("a directory");
        assert_eq!(cwd.to_str(), instance["directory"].as_str());
        assert_ne!(cwd, home);
        cpus.push(list);
    }
    cpus.dedup();
    assert_eq!(cpus.len(), 2, "each on CPUs of its own");
    drop(taken);
}

#[test]
fn what_cannot_be_planned_is_said_in_a_line() {
    let cases: [&[&str]; 7] = [
        &["--pid", "4294967290"],
        &["4294967290"],
        &["1", "--pid", "1"],
        &[],
        &["--pid", "1", "--", "sleep", "1"],
        &["--instances", "0", "--", "sleep", "1"],
        &["--per", "core", "--", "sleep", "1"],
    ];
    for arguments in cases {
        let (status, text, error) = plan(arguments);
        assert_eq!((status, text.as_str(), error.lines().count()), (Some(2), "", 1), "{arguments:?}: {error}");
    }
}

#[test]
fn a_command_that_does_not_run_yet_is_planned_without_ports() {
    let plan = json(&["--instances", "1", "--heap", "16M", "--", "sleep", "100"]);
    assert_eq!(plan["ports"].as_array().map(Vec::len), Some(0));
    let start = plan["instances"][0]["start"].as_str().expect("a line");
    assert!(start.ends_with("sleep 100"), "{start}");
    let notes = plan["notes"].to_string();
    assert!(notes.contains("give a PID to reassign them"), "{notes}");
}

#[test]
fn a_running_process_is_planned() {
    let pid = std::process::id().to_string();
    let (status, text, error) = plan(&[&pid, "--instances", "1"]);
    assert_eq!(status, Some(0), "{error}");
    assert!(text.contains("topotop executes none of this"), "{text}");
}
