//! Boots one shape, gives it its scenarios, and judges what comes out.

use crate::machine::{Place, SHAPES, Shape};
use crate::scenarios::Scenario;
use crate::seen::{MEASURED, Outcome, Parts, Seen};
use crate::{act, flood};
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// A machine that does not come up, or does not say that it is alive, for so long does not answer any more: with a thread
/// for each CPU the emulator hangs once in a while.
const PATIENCE: Duration = Duration::from_secs(90);
/// Machines that may come to nothing before that counts.
const HANGS: usize = 4;
/// How often a scenario may fail before that counts.
const TRIES: usize = 3;
/// How often only in what was measured, before that is told and does not count.
const MEASURED_TRIES: usize = 2;
/// A folder that keeps what came out of the guests, for whoever looks for the reason of a failure.
const KEEP: &str = "TOPOTOP_GUEST_KEEP";
/// The program under test.
const TOPOTOP: &str = env!("CARGO_BIN_EXE_topotop");
/// Limits that guests are too small for.
const CONFIG: &str =
    "[rules.NUMA-01]\nmemory = 50000000\n[rules.NUMA-02]\nmemory = 50000000\n[rules.NUMA-06]\nmemory = 50000000\n";

/// `shape NAME IMAGE NETWORK REPORTS SCENARIO…`, in a network of its own.
pub(crate) fn run(words: &[String]) -> ExitCode {
    // Where whoever started this ends, this ends; without it it would only be left over.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    let [name, image, network, reports, names @ ..] = words else { return ExitCode::FAILURE };
    let Some(shape) = SHAPES.iter().find(|shape| shape.name == name) else { return ExitCode::FAILURE };
    let mut network = network == "tap" && !shape.card.is_empty();
    if let Some(reason) = shape.card_missing(Path::new(image)).filter(|_| network) {
        println!("guest {}: {reason}", shape.name);
        network = false;
    }
    if network {
        connect();
    }
    let mut todo: Vec<&Scenario> =
        shape.scenarios.iter().copied().filter(|scenario| names.iter().any(|name| name == scenario.name)).collect();
    todo.retain(|scenario| {
        let able = network || !scenario.network;
        if !able {
            println!("guest {}: {}: not run: it needs a network card", shape.name, scenario.name);
        }
        able
    });
    let mut ledger = Ledger { path: Path::new(reports).join(shape.name), shape: shape.name, ..Ledger::default() };
    while !todo.is_empty() {
        let work = tempfile::Builder::new().prefix("topotop-guest").tempdir().expect("a temporary folder");
        let place = Place { image: Path::new(image), work: work.path(), network };
        let mut boot = Boot { shape, place: &place, results: BTreeMap::new(), read: 0 };
        let end = boot.go(&todo).and_then(|()| {
            let untold = todo.iter().find(|scenario| !boot.results.contains_key(scenario.name));
            untold.map_or(Ok(()), |scenario| Err(format!("it ended without {}", scenario.name)))
        });
        if let Err(reason) = end {
            println!("guest {}: {reason}\n{}", shape.name, tail(&work.path().join("console")));
            ledger.hung(&reason);
        }
        todo.retain(|scenario| {
            boot.results.get(scenario.name).is_none_or(|result| ledger.is_todo(scenario.name, result))
        });
        if ledger.is_over() {
            return ExitCode::FAILURE;
        }
        if !todo.is_empty() {
            println!("guest {}: once more: {}", shape.name, todo[0].name);
        }
    }
    ExitCode::SUCCESS
}

/// What did not come out as it should, for the end of all output, and how often.
#[derive(Default)]
struct Ledger {
    path: PathBuf,
    shape: &'static str,
    lines: Vec<String>,
    failures: BTreeMap<&'static str, usize>,
    hangs: usize,
}

impl Ledger {
    fn line(&mut self, text: &str) {
        let short: String = text.lines().next().unwrap_or_default().chars().take(240).collect();
        self.lines.push(format!("guest {}: {short}\n", self.shape));
        fs::write(&self.path, self.lines.concat()).expect("a file");
    }

    /// A machine failed, not a scenario.
    fn hung(&mut self, reason: &str) {
        self.line(&format!("the machine: {reason}"));
        self.hangs += 1;
    }

    /// Notes how a scenario came out; true where it has to be tried again.
    fn is_todo(&mut self, name: &'static str, result: &Result<(), String>) -> bool {
        let Err(why) = result else { return false };
        self.line(&format!("{name}: {why}"));
        let count = self.failures.entry(name).or_default();
        *count += 1;
        let told = *count >= MEASURED_TRIES && why.starts_with(MEASURED);
        if told {
            self.failures.remove(name);
            self.line(&format!("{name}: all else held, what was measured was not shown on this host"));
        }
        !told
    }

    /// Whether no further try would help.
    fn is_over(&mut self) -> bool {
        let over = self.hangs > HANGS || self.failures.values().any(|count| *count >= TRIES);
        if over {
            self.line("FAILED");
        }
        over
    }
}

/// Makes the device that the machine is connected to, and sends what is asked for through it.
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
    /// How scenarios came out, with the reason of what failed.
    results: BTreeMap<&'static str, Result<(), String>>,
    /// Lines of the log that were read.
    read: usize,
}

impl Boot<'_> {
    /// One boot from start to end; an error where the machine failed, not a scenario.
    fn go(&mut self, todo: &[&Scenario]) -> Result<(), String> {
        prepare(self.place, todo);
        let start = Instant::now();
        let log = fs::File::create(self.place.work.join("qemu")).expect("a file");
        let mut command = self.shape.command(self.place);
        let mut child = command.stdout(Stdio::null()).stderr(log).spawn().expect("it starts");
        let end = self.watch(&mut child, todo, start);
        // A machine that has powered off has ended already.
        let _ = child.kill();
        let _ = child.wait();
        end.map_err(|reason| format!("{reason}\n{}", tail(&self.place.work.join("qemu"))))
    }

    fn watch(&mut self, child: &mut Child, todo: &[&Scenario], start: Instant) -> Result<(), String> {
        let mut news = Instant::now();
        let mut began = (String::new(), Instant::now());
        loop {
            let ended = child.try_wait().map_err(|error| format!("qemu: {error}"))?;
            for line in self.lines() {
                let words: Vec<&str> = line.split_whitespace().collect();
                match words[..] {
                    ["guest:", "up", kernel] => {
                        news = Instant::now();
                        println!(
                            "guest {}: Linux {kernel} is up after {:.0} s",
                            self.shape.name,
                            start.elapsed().as_secs_f64()
                        );
                    }
                    ["guest:", "alive"] => news = Instant::now(),
                    ["guest:", "begin", name] => began = (name.to_owned(), Instant::now()),
                    ["guest:", "done", name] => {
                        if let Some(scenario) = todo.iter().find(|scenario| scenario.name == name) {
                            self.judge(scenario, began.1.elapsed());
                        }
                    }
                    ["guest:", "end"] => return Ok(()),
                    _ => println!("guest {}: {}: {line}", self.shape.name, began.0),
                }
            }
            if let Some(status) = ended {
                return Err(format!("the machine ended: {status}"));
            }
            if news.elapsed() > PATIENCE {
                return Err(format!("nothing came for {} s in {:?}", PATIENCE.as_secs(), began.0));
            }
            std::thread::sleep(Duration::from_millis(100));
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
        let parts = self.parts(scenario.name);
        if let Some(dir) = env::var_os(KEEP) {
            for (kind, text) in &parts {
                let path = Path::new(&dir).join(format!("{}-{}.{kind}", self.shape.name, scenario.name));
                fs::write(path, text).expect("a folder");
            }
        }
        let seen =
            |kind: &str| parts.get(kind).ok_or_else(|| format!("no {kind} came")).and_then(|text| Seen::parse(text));
        let sick = seen("sick");
        let mut outcome: Outcome = sick.as_ref().map_err(Clone::clone).and_then(scenario.sick);
        if !scenario.mend.is_empty() {
            outcome = outcome.and_then(|told| Ok(format!("{told}; {}", (scenario.mended)(&parts)?)));
        }
        if !scenario.clean.is_empty() {
            outcome = match (outcome, seen("well").and_then(|well| well.quiet())) {
                (Ok(told), Ok(after)) => Ok(format!("{told}; then {after}")),
                (Ok(_), Err(why)) => Err(format!("afterwards: {why}")),
                (Err(why), Err(after)) if why.starts_with(MEASURED) => Err(format!("afterwards: {after}; {why}")),
                (Err(why), _) => Err(why),
            };
        }
        let (shape, name, seconds) = (self.shape.name, scenario.name, took.as_secs());
        self.results.insert(scenario.name, outcome.as_ref().map(|_| ()).map_err(Clone::clone));
        match outcome {
            Ok(told) => println!("guest {shape}: {name}: ok, {seconds} s: {told}"),
            Err(why) => {
                println!("guest {shape}: {name}: FAILED, {seconds} s: {why}");
                for line in sick.iter().flat_map(Seen::last) {
                    println!("    {line}");
                }
                if let Some(text) = parts.get("errors").filter(|text| !text.is_empty()) {
                    println!("    {}", text.trim_end().replace('\n', "\n    "));
                }
            }
        }
    }

    /// What a scenario sent, by kind: `@ NAME KIND LENGTH`, a line's end and so many bytes.
    fn parts(&self, name: &str) -> Parts {
        let bytes = fs::read(self.place.work.join("out")).unwrap_or_default();
        let mut parts = BTreeMap::new();
        let mut rest = &bytes[..];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let words: Vec<&str> = head.split(' ').collect();
            let ["@", of, kind, length] = words[..] else { break };
            let Some(body) = length.parse().ok().and_then(|length: usize| rest.get(end + 1..end + 1 + length)) else {
                break;
            };
            if of == name {
                parts.insert(kind.to_owned(), String::from_utf8_lossy(body).into_owned());
            }
            rest = &rest[end + 1 + body.len()..];
        }
        parts
    }
}

/// Makes the disks of a boot.
fn prepare(place: &Place<'_>, todo: &[&Scenario]) {
    let payload = place.work.join("payload");
    fs::create_dir(&payload).expect("a folder");
    stripped(Path::new(TOPOTOP), &payload.join("topotop"));
    stripped(&act::own(), &payload.join("tool"));
    fs::write(payload.join("config.toml"), CONFIG).expect("a file");
    fs::write(payload.join("lib"), include_str!("lib")).expect("a file");
    let mut run = String::from(". /test/lib\n");
    for scenario in todo {
        let Scenario { name, inject, clean, mend, samples, interval_ms, .. } = scenario;
        let functions = format!("inject() {{\n:\n{inject}\n}}\nmend() {{\n:\n{mend}\n}}\nclean() {{\n:\n{clean}\n}}\n");
        fs::write(payload.join(name), functions).expect("a file");
        let well = if clean.is_empty() { 0 } else { 12 };
        writeln!(run, "scenario {name} {interval_ms} {samples} {well}").expect("a text");
    }
    fs::write(payload.join("run"), run).expect("a file");
    let image = |name: &str, size: &str, from: Option<&Path>| {
        let mut command = Command::new(place.image.join("mke2fs"));
        command.args(["-q", "-F", "-t", "ext4", "-O", "^has_journal", "-E", "lazy_itable_init=1", "-m", "0"]);
        if let Some(from) = from {
            command.arg("-d").arg(from);
        }
        let status = command.arg(place.work.join(name)).arg(size).stdout(Stdio::null()).status().expect("it runs");
        assert!(status.success(), "mke2fs {name}");
    };
    image("test.img", "192M", Some(&payload));
    image("data.img", "1G", None);
    image("slow.img", "256M", None);
    fs::remove_dir_all(&payload).expect("a folder");
}

/// Copies a program without what only a debugger reads, where binutils are there.
fn stripped(from: &Path, to: &Path) {
    let done = Command::new("strip").arg("-o").arg(to).arg(from).stderr(Stdio::null()).status();
    if !done.is_ok_and(|status| status.success()) {
        fs::copy(from, to).expect("a copy");
    }
}

/// The last lines of a file, for a message.
fn tail(path: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}
