//! Boots a machine, runs scenarios in it, and judges what they sent. Each scenario has one try.

use crate::machine::{Place, SHAPES, Shape};
use crate::parts::{Parts, together};
use crate::report::Report;
use crate::samples::Samples;
use crate::scenario::{Expected, Outcome, Scenario};
use crate::{flood, payload, steps};
use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How long a machine may take to reach its first process.
const BOOT: Duration = Duration::from_mins(3);
/// How many boots in a row may fail to reach it.
const BOOTS: usize = 3;
/// A folder that keeps what the guests sent, to find the reason of a failure.
const KEEP: &str = "TOPOTOP_GUEST_KEEP";

/// `shape NAME IMAGE NETWORK REPORT SCENARIO…`, in a network namespace of its own.
pub(crate) fn run(words: &[String]) -> ExitCode {
    // It must not outlive the process that started it.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let [name, image, network, report, names @ ..] = words else { return ExitCode::FAILURE };
    let Some(shape) = SHAPES.iter().find(|shape| shape.name == name) else { return ExitCode::FAILURE };
    let mut report = Report::new(Path::new(report), shape.name);
    let missing = match shape.card_missing(Path::new(image)) {
        _ if shape.card.is_empty() => None,
        None if network != "tap" => Some(network.clone()),
        missing => missing,
    };
    let network = missing.is_none() && !shape.card.is_empty();
    if network {
        connect();
    }
    let chosen = shape.scenarios.iter().copied().filter(|scenario| names.iter().any(|name| name == scenario.name));
    let (mut todo, unable): (Vec<&Scenario>, Vec<&Scenario>) = chosen.partition(|one| network || !one.network);
    for scenario in unable {
        let why = missing.as_deref().unwrap_or("the machine has no network card");
        report.failed(scenario.name, &format!("it needs a network: {why}"), Duration::ZERO);
    }
    let mut failed_boots = 0;
    while !todo.is_empty() && failed_boots < BOOTS {
        let work = tempfile::Builder::new().prefix("topotop-guest").tempdir().expect("a temporary folder");
        let place = Place { image: Path::new(image), work: work.path(), network };
        let mut boot = Boot { shape, place: &place, report: &mut report, todo: &todo, done: 0, is_up: false, read: 0 };
        if let Err(reason) = boot.go() {
            let (done, is_up) = (boot.done, boot.is_up);
            let console = tail(&work.path().join("console"));
            println!("guest {}: {reason}\n{console}", shape.name);
            if is_up {
                report.failed(todo[done].name, &reason, Duration::ZERO);
                todo.drain(..=done);
            } else {
                failed_boots += 1;
                report.failed_boot(&reason);
            }
        } else {
            todo.clear();
        }
    }
    for scenario in todo {
        report.failed(scenario.name, "the machine does not boot", Duration::ZERO);
    }
    ExitCode::SUCCESS
}

/// Makes the device that the machine is connected to, and serves its requests for packets.
fn connect() {
    for line in [
        "link set lo up",
        "tuntap add dev tap0 mode tap multi_queue",
        "addr add 10.77.0.1/24 dev tap0",
        "link set tap0 up",
        "route add local 10.77.1.0/24 dev lo",
    ] {
        let status = Command::new("ip").args(line.split(' ')).status().expect("ip runs");
        assert!(status.success(), "ip {line}");
    }
    std::thread::spawn(flood::serve);
}

struct Boot<'a> {
    shape: &'a Shape,
    place: &'a Place<'a>,
    report: &'a mut Report,
    todo: &'a [&'a Scenario],
    /// Scenarios that have ended.
    done: usize,
    /// Whether its first process runs.
    is_up: bool,
    /// Lines of the log that were read.
    read: usize,
}

impl Boot<'_> {
    /// One boot from start to end; an error where the machine failed, and not a scenario.
    fn go(&mut self) -> Result<(), String> {
        payload::write(self.place, self.todo);
        let log = fs::File::create(self.place.work.join("qemu")).expect("a file");
        let mut command = self.shape.command(self.place);
        let mut child = command.stdout(Stdio::null()).stderr(log).spawn().expect("QEMU starts");
        let end = self.watch(&mut child);
        // Fails where the machine has powered off.
        let _ = child.kill();
        let _ = child.wait();
        end.map_err(|reason| format!("{reason} {}", tail(&self.place.work.join("qemu"))))
    }

    /// Until every scenario has ended, the machine has, or the time of what goes on is over.
    fn watch(&mut self, child: &mut Child) -> Result<(), String> {
        let mut since = Instant::now();
        loop {
            let ended = child.try_wait().map_err(|error| format!("qemu: {error}"))?;
            for line in self.lines() {
                if self.take(&line, since) {
                    since = Instant::now();
                }
            }
            let Some(scenario) = self.todo.get(self.done) else { return Ok(()) };
            if let Some(status) = ended {
                return Err(format!("the machine ended: {status}"));
            }
            let (what, limit) = if self.is_up {
                (scenario.name, Duration::from_secs(scenario.limit_seconds()))
            } else {
                ("the boot", BOOT)
            };
            if since.elapsed() > limit {
                return Err(format!("{what} took more than {} s", limit.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A line of the log; true where something new begins after it.
    fn take(&mut self, line: &str, since: Instant) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = self.todo.get(self.done).map_or("", |scenario| scenario.name);
        match words[..] {
            ["guest:", "up", kernel] => {
                self.is_up = true;
                println!("guest {}: Linux {kernel} is up after {} s", self.shape.name, since.elapsed().as_secs());
                true
            }
            ["guest:", "done", _] if !name.is_empty() => {
                self.judge(self.todo[self.done], since.elapsed());
                self.done += 1;
                true
            }
            ["guest:", "begin" | "end", ..] => false,
            _ => {
                println!("guest {}: {name}: {line}", self.shape.name);
                false
            }
        }
    }

    /// New whole lines of the log.
    fn lines(&mut self) -> Vec<String> {
        let text = fs::read(self.place.work.join("log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let new: Vec<String> = whole.lines().skip(self.read).map(|line| line.trim_end().to_owned()).collect();
        self.read += new.len();
        new
    }

    fn judge(&mut self, scenario: &Scenario, took: Duration) {
        let bytes = fs::read(self.place.work.join("out")).unwrap_or_default();
        let parts = Parts::parse(&bytes, scenario.name);
        keep(self.shape.name, scenario.name, &parts);
        match outcome(scenario, &parts) {
            Ok(shown) => self.report.passed(scenario.name, &shown, took),
            Err(why) => {
                self.report.failed(scenario.name, &why, took);
                let samples = parts.text("problem").and_then(Samples::parse).unwrap_or_default();
                for line in samples.last_findings() {
                    println!("    {line}");
                }
                for line in parts.text("errors").unwrap_or_default().lines() {
                    println!("    {line}");
                }
            }
        }
    }
}

/// Whether the problem was found, each step did what it has to, and no warning is left afterwards.
fn outcome(scenario: &Scenario, parts: &Parts) -> Outcome {
    let samples = |name: &str| parts.text(name).and_then(Samples::parse);
    let problem = match scenario.expected {
        Expected::Nothing => Ok(String::new()),
        expected => samples("problem").and_then(|samples| samples.judge(&expected)),
    };
    let afterwards = if payload::is_quiet_afterwards(scenario) {
        samples("afterwards").and_then(|samples| samples.quiet()).map_err(|why| format!("afterwards: {why}"))
    } else {
        Ok(String::new())
    };
    together([problem, steps::judge(scenario, parts), (scenario.check)(parts), afterwards])
}

/// Keeps what a scenario sent, where a folder is named.
fn keep(shape: &str, scenario: &str, parts: &Parts) {
    let Some(dir) = env::var_os(KEEP) else { return };
    fs::create_dir_all(&dir).expect("a folder");
    for (name, text) in &parts.0 {
        fs::write(Path::new(&dir).join(format!("{shape}-{scenario}.{name}")), text).expect("a file");
    }
}

/// The last lines of a file, for a message.
fn tail(path: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}
