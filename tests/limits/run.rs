//! One scenario after the other: load, answer, reliefs.

use crate::Options;
use crate::answer::{self, Answer};
use crate::number::Meter;
use crate::report;
use crate::scenario::Scenario;
use crate::shell::{self, Shell};
use crate::truth::{self, Truth, Window};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// Seconds before `check`.
const WARM: Duration = Duration::from_secs(3);
/// Seconds of numbers under a relief.
const RELIEF: Duration = Duration::from_millis(4100);

/// `check` has to be through by then.
const LATEST: Duration = Duration::from_secs(40);

/// How a scenario came out.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) proves: String,
    pub(crate) nothing: bool,
    /// None with answers only.
    pub(crate) truth: Option<Truth>,
    pub(crate) answer: Option<Answer>,
    /// Why there is no answer.
    pub(crate) failed: Option<String>,
    pub(crate) seconds: u64,
}

/// Runs them.
pub(crate) fn all(scenarios: &[Scenario], options: &Options) -> Result<Vec<Outcome>, String> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| error.to_string())?;
    let lock = File::create(env::temp_dir().join("topotop-limits.lock")).map_err(|error| error.to_string())?;
    lock.try_lock().map_err(|_| "another run of limits goes on")?;
    shell::refuse_left_overs()?;
    shell::end_with_signals()?;
    let cache = tempfile::Builder::new().prefix("topotop-limits-cache-").tempdir();
    let cache = cache.map_err(|error| format!("a temporary folder: {error}"))?;
    shell::open(cache.path())?;
    let mut all = Vec::new();
    for scenario in scenarios {
        if shell::is_stopped() {
            return Err("stopped".to_owned());
        }
        let mut outcome = timed(scenario, cache.path(), options);
        if outcome.truth.as_ref().is_some_and(|truth| truth.is_void) {
            report::one(&outcome);
            println!("limits: {}: repeated, the number moved by itself", scenario.name);
            outcome = timed(scenario, cache.path(), options);
        }
        report::one(&outcome);
        all.push(outcome);
    }
    Ok(all)
}

fn timed(scenario: &Scenario, cache: &Path, options: &Options) -> Outcome {
    let start = Instant::now();
    let (truth, answer, failed) = match run(scenario, cache, options) {
        Ok((truth, answer)) => (truth, Some(answer), None),
        Err(why) => (None, None, Some(why)),
    };
    let Scenario { name, proves, nothing, .. } = scenario;
    let seconds = start.elapsed().as_secs();
    Outcome { name: name.clone(), proves: proves.clone(), nothing: *nothing, truth, answer, failed, seconds }
}

fn run(scenario: &Scenario, cache: &Path, options: &Options) -> Result<(Option<Truth>, Answer), String> {
    let shell = Shell::new(scenario, cache)?;
    let with_words = |why: String| format!("{why}; {}", shell.last_words());
    shell.run(&scenario.load).map_err(with_words)?;
    let mut meter = match &scenario.number {
        Some(number) if !options.answers_only => Some(Meter::new(number, &shell)?),
        _ => None,
    };
    wait(meter.as_mut(), WARM);
    let start = Instant::now();
    let answer = ask(scenario, options, &shell, meter.as_mut()).map_err(with_words)?;
    let truth = match meter {
        Some(meter) if !scenario.relief.is_empty() => {
            Some(reliefs(scenario, &shell, meter, start).map_err(with_words)?)
        }
        _ => None,
    };
    Ok((truth, answer))
}

/// Runs `check` beside the load, and a recording where one is kept.
fn ask(
    scenario: &Scenario,
    options: &Options,
    shell: &Shell,
    mut meter: Option<&mut Meter<'_>>,
) -> Result<Answer, String> {
    let recording = match &options.keep {
        Some(folder) => Some(record(options, &folder.join(&scenario.name))?),
        None => None,
    };
    let path = shell.output();
    let file = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut child = answer::start(options, file)?;
    let start = Instant::now();
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if start.elapsed() > LATEST || shell::is_stopped() {
            let _ = child.kill();
        }
        wait(meter.as_deref_mut(), Duration::from_millis(500));
    }
    if let Some(mut child) = recording
        && !child.wait().map_err(|error| error.to_string())?.success()
    {
        return Err("not recorded".to_owned());
    }
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    answer::judge(scenario, &text)
}

/// Applies each relief and takes it back.
fn reliefs(scenario: &Scenario, shell: &Shell, mut meter: Meter<'_>, start: Instant) -> Result<Truth, String> {
    let before = Window { samples: meter.between(start, Instant::now()) };
    let mut windows = Vec::new();
    for relief in &scenario.relief {
        if shell::is_stopped() {
            return Err("stopped".to_owned());
        }
        shell.run(&relief.apply)?;
        wait(Some(&mut meter), Duration::from_secs(relief.settle.unwrap_or(scenario.settle)));
        let start = Instant::now();
        wait(Some(&mut meter), RELIEF);
        windows.push(Window { samples: meter.between(start, Instant::now()) });
        shell.run(&relief.undo)?;
    }
    wait(Some(&mut meter), Duration::from_secs(scenario.settle));
    let start = Instant::now();
    wait(Some(&mut meter), RELIEF);
    let after = Window { samples: meter.between(start, Instant::now()) };
    Ok(truth::judge(scenario, &before, &after, &windows))
}

fn wait(meter: Option<&mut Meter<'_>>, time: Duration) {
    match meter {
        _ if shell::is_stopped() => {}
        Some(meter) => meter.until(Instant::now() + time),
        None => thread::sleep(time),
    }
}

/// Records the same time.
fn record(options: &Options, path: &Path) -> Result<std::process::Child, String> {
    let path = path.with_extension("rec");
    if path.exists() {
        fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut command = Command::new(&options.binary);
    command.args(["record", "--for", "18s", "--interval", "1s", "-o"]).arg(path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| format!("{}: {error}", options.binary.display()))
}
