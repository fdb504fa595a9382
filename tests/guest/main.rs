//! Small virtual machines that run the project's own binary: a problem is made in them, it has to be found, and
//! silence has to come back when it is over. `make guest` runs them, `make guest ARGS=NAME` some.
//!
//! A shape is a machine that is booted once and goes through its scenarios; `image.sh` fetches what machines are made
//! of. A machine that does not start or stops answering is started again, and so is one in which a scenario failed, for
//! that alone: an emulated machine may get too little of the host to show what is asked for. What was tried again is
//! told at the end, with the reason. Where figures alone are wrong again, and nothing that was done or put back, that
//! is told and does not fail: it says more of the host than of the program.
#![expect(clippy::expect_used, reason = "what fails here fails as tests do")]
#![expect(clippy::print_stdout, reason = "a test without the usual harness tells its results itself")]

mod act;
mod boot;
mod flood;
mod machine;
mod scenarios;
mod screen;
mod seen;

use machine::Shape;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

/// What `make guest` and `make test` set: without it other runs of the tests fetch nothing.
const WANTED: &str = "TOPOTOP_GUEST";
/// What `.ci/run` sets: a machine that cannot run the guests is none to judge by.
const CI: &str = "CI";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        Some("act") => act::run(rest),
        Some("shape") => boot::run(rest),
        _ if env::var_os(WANTED).is_none() => {
            println!("guest: not run: make guest");
            ExitCode::SUCCESS
        }
        _ => all(&arguments),
    }
}

/// Boots every shape that has scenarios of these names: side by side, then those that want the host to themselves.
fn all(arguments: &[String]) -> ExitCode {
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let image = match image() {
        Ok(image) => image,
        Err(reason) => {
            println!("guest: not run: {reason}");
            return if env::var_os(CI).is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    let network = network();
    let mut words = network.clone().unwrap_or_else(|reason| {
        println!("guest: without a network: {reason}");
        Vec::new()
    });
    words.push(env::current_exe().expect("an own path").display().to_string());
    let wanted = |scenario: &&&scenarios::Scenario| {
        names.is_empty() || names.iter().any(|name| scenario.name.contains(name.as_str()))
    };
    let reports = tempfile::tempdir().expect("a temporary folder");
    let mut todo: Vec<(&'static Shape, Command)> = Vec::new();
    for shape in machine::SHAPES {
        let chosen: Vec<&str> = shape.scenarios.iter().filter(wanted).map(|scenario| scenario.name).collect();
        if chosen.is_empty() {
            continue;
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.args(["shape", shape.name]).arg(&image).arg(if network.is_ok() { "tap" } else { "none" });
        command.arg(reports.path()).args(chosen);
        todo.push((shape, command));
    }
    if todo.is_empty() {
        let fails = names.is_empty() && env::var_os(CI).is_some();
        println!("guest: no machine was run");
        return if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    let (alone, beside): (Vec<_>, Vec<_>) = todo.into_iter().partition(|(shape, _)| shape.alone);
    let mut good = side_by_side(beside);
    for one in alone {
        good &= side_by_side(vec![one]);
    }
    // Whoever sees the end of what was printed alone sees what matters.
    for shape in machine::SHAPES {
        print!("{}", fs::read_to_string(reports.path().join(shape.name)).unwrap_or_default());
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs machines and waits for them; false where one failed.
fn side_by_side(machines: Vec<(&'static Shape, Command)>) -> bool {
    let start = |(shape, mut command): (&'static Shape, Command)| {
        (shape.name, command.stdin(Stdio::null()).spawn().expect("it starts"))
    };
    let children: Vec<_> = machines.into_iter().map(start).collect();
    let mut good = true;
    for (name, mut child) in children {
        let status = child.wait().expect("it ends");
        if !status.success() {
            println!("guest {name}: failed");
            good = false;
        }
    }
    good
}

/// The folder with everything that guests are made of, made if need be; or why it cannot be had.
fn image() -> Result<PathBuf, String> {
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| env::home_dir().map(|home| home.join(".cache")))
        .ok_or("no folder to keep the guests in")?
        .join("topotop-guest");
    fs::create_dir_all(&cache).map_err(|error| format!("{}: {error}", cache.display()))?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guest/image.sh");
    let output = Command::new("bash").arg(script).arg(&cache).output().map_err(|error| format!("bash: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().lines().last().unwrap_or_default().to_owned();
    if output.status.success() { Ok(PathBuf::from(text(&output.stdout))) } else { Err(text(&output.stderr)) }
}

/// What starts a program in a network of its own in which it can make a device; or why that cannot be.
fn network() -> Result<Vec<String>, String> {
    let user = rustix::process::geteuid().is_root();
    let words: Vec<String> = ["unshare", if user { "-n" } else { "-rn" }].map(str::to_owned).to_vec();
    let trial = "ip tuntap add dev tap0 mode tap multi_queue && ip link set lo up";
    let output = Command::new(&words[0]).args(&words[1..]).args(["sh", "-c", trial]).output();
    match output {
        Ok(output) if output.status.success() => Ok(words),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
        Err(error) => Err(format!("unshare: {error}")),
    }
}
