//! Small virtual machines that run the project's own binary: a problem is caused in them, it has to be found, fixes are
//! applied and undone, and no warning may be left afterwards. docs/testing.md has the tiers and how CI selects.
//!
//! A machine is booted by a process of its own, in a network namespace of its own, and runs its scenarios one after the
//! other. `image.sh` makes what machines consist of.
#![expect(clippy::expect_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stdout, reason = "a test without the usual harness prints its results itself")]

mod boot;
mod flood;
mod machine;
mod parts;
mod payload;
mod report;
mod samples;
mod scenario;
mod scenarios;
mod selection;
mod steps;
mod terminal;
mod workload;

use machine::Shape;
use scenario::Scenario;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Instant;
use std::{env, fs, thread};

/// Which scenarios run: `smoke`, `all`, `change` or `measured`. Without it nothing is fetched and nothing runs.
const TIER: &str = "TOPOTOP_GUEST";
/// Seconds of scenarios that one boot runs at most: several boots share the host's CPUs better than one long one.
const SECONDS_OF_A_BOOT: u64 = 300;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let first = arguments.first().map(String::as_str);
    if first == Some("shape") {
        return boot::run(arguments.get(1..).unwrap_or_default());
    }
    if let Some(status) = workload::run(&arguments) {
        return status;
    }
    let Ok(tier) = env::var(TIER) else {
        println!("guest: not run; `make guest` runs it");
        return ExitCode::SUCCESS;
    };
    let names: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let is_list = arguments.iter().any(|word| word == "--list");
    match run(&tier, &names, is_list) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            println!("guest: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Boots machines for the scenarios of a tier, or lists them only; true where all passed.
fn run(tier: &str, names: &[&str], is_list: bool) -> Result<bool, String> {
    let start = Instant::now();
    let chosen = selection::choose(tier, names)?;
    let all = machine::SHAPES.iter().map(|shape| shape.scenarios.len()).sum::<usize>();
    let count: usize = chosen.iter().map(|(_, scenarios)| scenarios.len()).sum();
    println!("guest: {count} of {all} scenarios:");
    for (shape, scenarios) in &chosen {
        for Scenario { name, proves, .. } in scenarios {
            println!("guest {}: {name}: {proves}", shape.name);
        }
    }
    if is_list {
        return Ok(true);
    }
    let image = image()?;
    println!("guest: images in {}, {} s", image.display(), start.elapsed().as_secs());
    let network = network();
    let reports = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let (measured, together): (Vec<_>, Vec<_>) = boots(&chosen).into_iter().partition(|boot| boot.shape.measured);
    let mut paths = Vec::new();
    for (boots, at_once) in [(together, cpus() + 1), (measured, 1)] {
        let commands = boots.into_iter().map(|boot| {
            let path = reports.path().join(paths.len().to_string());
            paths.push(path.clone());
            boot.command(&image, &network, &path)
        });
        side_by_side(commands.collect::<VecDeque<_>>(), at_once);
    }
    let names: Vec<&str> = chosen.iter().flat_map(|(_, scenarios)| scenarios.iter().map(|one| one.name)).collect();
    Ok(report::summary(&paths, &names, all - count, start))
}

/// One start of a machine with some of its scenarios.
struct Start {
    shape: &'static Shape,
    scenarios: Vec<&'static str>,
    seconds: u64,
}

/// What is chosen in boots of limited length, the longest first.
fn boots(chosen: &[selection::Chosen]) -> Vec<Start> {
    let mut all: Vec<Start> = Vec::new();
    for (shape, scenarios) in chosen {
        let total: u64 = scenarios.iter().map(|scenario| scenario.seconds).sum();
        let length = total.div_ceil(total.div_ceil(SECONDS_OF_A_BOOT).max(1));
        let mut boot = Start { shape, scenarios: Vec::new(), seconds: 0 };
        for scenario in scenarios {
            if boot.seconds > 0 && boot.seconds + scenario.seconds / 2 > length {
                all.push(std::mem::replace(&mut boot, Start { shape, scenarios: Vec::new(), seconds: 0 }));
            }
            boot.scenarios.push(scenario.name);
            boot.seconds += scenario.seconds;
        }
        all.push(boot);
    }
    all.sort_by_key(|boot| std::cmp::Reverse(boot.seconds));
    all
}

impl Start {
    /// The command that boots it, in a network namespace where that can be made.
    fn command(&self, image: &Path, network: &Result<Vec<String>, String>, report: &Path) -> Command {
        let own = workload::own();
        let mut command = match network {
            Ok(words) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]).arg(own);
                command
            }
            Err(_) => Command::new(own),
        };
        let network = network.as_ref().map_or_else(String::as_str, |_| "tap");
        command.args(["shape", self.shape.name]).arg(image).arg(network).arg(report).args(&self.scenarios);
        command.stdin(Stdio::null());
        command
    }
}

/// One machine more than this keeps all CPUs busy: a machine waits for samples most of the time.
fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs so many machines at once until all have ended; a scenario without a result has failed.
fn side_by_side(commands: VecDeque<Command>, at_once: usize) {
    let queue = Mutex::new(commands);
    let next = || queue.lock().expect("the queue").pop_front();
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(mut command) = next() {
                    let status = command.status().expect("a machine's process starts");
                    if !status.success() {
                        println!("guest: a machine's process ended with {status}");
                    }
                }
            });
        }
    });
}

/// The folder with what guests consist of, made where it is missing; or why it cannot be made.
fn image() -> Result<PathBuf, String> {
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .ok_or("no folder for the images of guests")?
        .join("topotop-guest");
    fs::create_dir_all(&cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest/image.sh");
    let output = Command::new("bash").arg(script).arg(&cache).output().map_err(|error| format!("bash: {error}"))?;
    let last = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().lines().last().unwrap_or_default().to_owned();
    if output.status.success() { Ok(PathBuf::from(last(&output.stdout))) } else { Err(last(&output.stderr)) }
}

/// What starts a program in a network namespace of its own with a tap device; or why that cannot be.
fn network() -> Result<Vec<String>, String> {
    let is_root = rustix::process::geteuid().is_root();
    let words: Vec<String> = ["unshare", if is_root { "-n" } else { "-rn" }].map(str::to_owned).to_vec();
    let trial = "ip tuntap add dev tap0 mode tap multi_queue && ip link set lo up";
    let output = Command::new(&words[0]).args(&words[1..]).args(["sh", "-c", trial]).output();
    match output {
        Ok(output) if output.status.success() => Ok(words),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
        Err(error) => Err(format!("unshare: {error}")),
    }
}
