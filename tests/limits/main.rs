//! Real programs, each driven into one known limit, and the answer of the program's own `check` beside them. What limits
//! is not believed but tried: reliefs are applied in turn, and what raises the application's number is the limit.
//! docs/testing.md has the tier, docs/limits.md the last results.
#![expect(clippy::print_stdout, reason = "a test without the usual harness prints its results itself")]

mod answer;
mod number;
mod report;
mod run;
mod scenario;
mod shell;
mod truth;

use scenario::Scenario;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

/// Without it nothing is installed and nothing runs.
const TIER: &str = "TOPOTOP_LIMITS";
/// The program under test, where it is not the one built with this test.
const BINARY: &str = "TOPOTOP_BIN";

/// What was asked for.
struct Options {
    binary: PathBuf,
    answers_only: bool,
    keep: Option<PathBuf>,
    write_docs: bool,
}

fn main() -> ExitCode {
    if env::var_os(TIER).is_none() {
        println!("limits: not run; `make limits` runs it");
        return ExitCode::SUCCESS;
    }
    match all() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            println!("limits: FAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Runs or lists what the arguments name; true where no answer was wrong and no scenario broken.
fn all() -> Result<bool, String> {
    let start = Instant::now();
    let binary = env::var_os(BINARY).unwrap_or_else(|| env!("CARGO_BIN_EXE_topotop").into());
    let binary = fs::canonicalize(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    let mut options = Options { binary, answers_only: false, keep: None, write_docs: false };
    let (mut names, mut is_list) = (Vec::new(), false);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--list" => is_list = true,
            "--answers-only" => options.answers_only = true,
            "--write-docs" => options.write_docs = true,
            "--keep" => options.keep = Some(arguments.next().ok_or("--keep wants a folder")?.into()),
            flag if flag.starts_with('-') => return Err(format!("no option {flag}")),
            _ => names.push(argument),
        }
    }
    let scenarios = scenario::choose(&names)?;
    println!("limits: {} scenarios:", scenarios.len());
    for Scenario { name, proves, .. } in &scenarios {
        println!("limits: {name}: {proves}");
    }
    if is_list {
        return Ok(true);
    }
    if !rustix::process::geteuid().is_root() {
        return Err("control groups and network namespaces are root's: run it as root".to_owned());
    }
    if let Some(folder) = &options.keep {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    shell::install(&scenarios)?;
    let results = run::all(&scenarios, &options)?;
    Ok(report::summary(&results, &options, start))
}
