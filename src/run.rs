//! Runs the command of the command line.

use crate::args::Global;
use crate::cli::{Cli, Command, RecordCommand};
use crate::config::Config;
use crate::fix::broker::{self, Broker};
use crate::fix::order::Reach;
use crate::fix::session::MachineWriter;
use crate::fix::writer::LocalWriter;
use crate::output::broker::Places;
use crate::output::print;
use crate::privilege::{Task, has_any, restrict, restrict_to};
use crate::record::RecordArgs;
use crate::source::live::{Live, Plan};
use crate::stderr::error as fail;
use crate::{
    capture, catalogue, check, demo, diff, doctor, dump, edit, fix, help, language, manual, metrics, preflight, replay,
    report, runtime, serve, snapshot, starter, startup, starvation,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use topotop_collectors::metrics::{Metric, Source};
use topotop_collectors::{Options, Root, hwloc};
use topotop_model::locale::cli::{fix as text, parser};
use topotop_model::locale::error as errors;

/// The default time between samples.
const INTERVAL: Duration = Duration::from_secs(1);

/// The metrics that a command line and its configuration ask for.
fn asked(words: &mut dyn Iterator<Item = OsString>) -> Option<Vec<Metric>> {
    let cli = help::parse(words).ok()?;
    let config = Config::load(cli.global.config.as_deref()).ok()?;
    crate::metrics::asked(&cli.global, &config).ok()
}

/// What a broker works with, by the same command line and configuration.
fn broker_of(words: &mut dyn Iterator<Item = OsString>) -> Option<(LocalWriter, Plan)> {
    crate::units::use_local_zone();
    language::select(std::env::args_os().skip(1));
    let global = help::parse(words).ok()?.global;
    let config = Config::load(global.config.as_deref()).ok()?;
    Some((writer(&global).ok()?, plan(&global, &config).ok()?))
}

/// Reads and writes for fixes, through a root of its own, so that it never delays the sampler.
fn writer(global: &Global) -> Result<LocalWriter, String> {
    let state = topotop_collectors::state::directory(global.state_dir.as_deref());
    Ok(LocalWriter::new(Arc::new(root(global)?), state))
}

/// What this program starts of itself: not in help and completions.
fn side_process(words: &[OsString]) -> Option<ExitCode> {
    let mut arguments = words.iter().skip(1).cloned();
    if arguments.next().is_some_and(|verb| verb == hwloc::VERB) {
        let root = arguments.next().map(PathBuf::from);
        starvation::hurry();
        return Some(status(print(hwloc::child(root.as_deref()).as_bytes())));
    }
    let mut arguments = words.iter().skip(1).cloned();
    match arguments.next() {
        Some(verb) if verb == starter::VERB => {
            starvation::disinherit();
            return Some(starter::helper(arguments, asked));
        }
        Some(verb) if verb == starter::GATE => {
            starvation::disinherit();
            return Some(starter::gate(arguments));
        }
        Some(verb) if verb == broker::VERB => {
            starvation::answer_at_once();
            return Some(broker::serve(arguments, broker_of));
        }
        _ => {}
    }
    fix::deadman::verb(words.iter().skip(1).cloned())
}

/// Runs the command of a command line, which begins with the name of the program: 0 for success, 2 for an error.
pub fn run(words: &[OsString]) -> ExitCode {
    if let Some(code) = side_process(words) {
        return code;
    }
    starvation::hurry();
    crate::units::use_local_zone();
    language::select(words.iter().skip(1).cloned());
    let cli = help::parse(words.iter().cloned());
    if let Some(refusal) = cli.as_ref().ok().and_then(crate::cli::metric_refusal) {
        fail(&refusal);
        let has_command = matches!(&cli, Ok(Cli { command: Some(Command::Record(record)), .. })
            if record.args.as_ref().is_some_and(|args| !args.command.is_empty()));
        return ExitCode::from(if has_command { 125 } else { 2 });
    }
    match cli {
        Ok(Cli { command: Some(Command::Record(RecordCommand { edit: Some(edit), .. })), .. }) => {
            status(restrict(Task::Decode, edit.output()).and_then(|()| edit::run(&edit)))
        }
        Ok(Cli { command: Some(Command::Record(RecordCommand { args: Some(args), .. })), global }) => {
            record(&global, &args)
        }
        Ok(Cli { command: Some(Command::Diff(args)), global }) => compare(&global, &args),
        Ok(Cli { command: Some(Command::Check(args)), global }) => watch(&global, &args),
        Ok(Cli { command: Some(Command::Preflight(args)), global }) => before(&global, &args),
        Ok(Cli { command: Some(Command::Doctor(args)), global }) => examine(&global, &args),
        Ok(Cli { command: Some(Command::Fix(args)), global }) => cure(&global, &args),
        Ok(cli) => status(command(&cli)),
        Err(error) if !error.use_stderr() => {
            // Help and version.
            status(print(help::localised(&error.render().to_string()).as_bytes()))
        }
        Err(error) => {
            fail(&one_line(&error));
            // With a command to run, a usage error must differ from the exit status of the command.
            let mut words = words.iter().skip(1);
            ExitCode::from(if words.any(|word| word == "record") && words.any(|word| word == "--") { 125 } else { 2 })
        }
    }
}

/// The configuration; reports one that was ignored.
fn config(global: &Global) -> Result<Config, String> {
    let config = Config::load(global.config.as_deref())?;
    if let Some(refused) = &config.refused {
        fail(refused);
    }
    Ok(config)
}

fn record(global: &Global, args: &RecordArgs) -> ExitCode {
    let recorded = config(global)
        .and_then(|config| Ok((root(global)?, plan_of(global, &config, global.root.is_none())?)))
        .map_err(|error| args.failure(error))
        .and_then(|(root, plan)| crate::record::run(root, &plan, args, global.verbose));
    match recorded {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            fail(&failure.text);
            ExitCode::from(failure.status)
        }
    }
}

/// 0; with --exit-code 1 for a change, 3 where that is not decided.
fn compare(global: &Global, args: &diff::DiffArgs) -> ExitCode {
    let compared = config(global).and_then(|config| {
        restrict(Task::Decode, args.output.as_deref())?;
        diff::run(args, config.charset, &config.judge(), &report::side)
    });
    match compared {
        Ok(status) => ExitCode::from(if args.exit_code { status } else { 0 }),
        Err(error) => status(Err(error)),
    }
}

/// The worst finding decides.
fn watch(global: &Global, args: &check::CheckArgs) -> ExitCode {
    let checked = config(global).and_then(|config| {
        let plan = reading(global, &config, !args.from.is_empty(), None)?;
        check::run(global, &config, args, || root(global), &plan)
    });
    checked.map_or_else(|error| status(Err(error)), ExitCode::from)
}

/// The worst problem decides.
fn before(global: &Global, args: &preflight::PreflightArgs) -> ExitCode {
    let looked = config(global).and_then(|config| {
        let plan = reading(global, &config, args.from.is_some(), None)?;
        preflight::run(&config, args, || root(global), &plan)
    });
    looked.map_or_else(|error| status(Err(error)), ExitCode::from)
}

fn examine(global: &Global, args: &doctor::DoctorArgs) -> ExitCode {
    let looked = config(global).and_then(|config| {
        let plan = reading(global, &config, false, None)?;
        doctor::run(args, config.charset, root(global)?, &plan)
    });
    looked.map_or_else(|error| status(Err(error)), ExitCode::from)
}

/// 0 for success; 1 for a fix that was refused, failed or made things worse.
fn cure(global: &Global, args: &fix::args::FixArgs) -> ExitCode {
    // What it names is looked at as well: programs of metrics, and how many there are.
    let loaded = config(global).and_then(|config| metrics::asked(global, &config).map(|_| config));
    let loaded = loaded.or_else(|error| {
        // An applied fix can be undone whatever the configuration says.
        if args.verb.needs_findings() {
            return Err(error);
        }
        fail(&error);
        Ok(Config::default())
    });
    let done = loaded.and_then(|config| {
        let checked = root(global)?;
        let live = checked.is_live();
        let (applies, returns) = (args.verb.applies(), args.verb.returns());
        let writes = live && !global.read_only && (applies || returns);
        let sampling = plan_of(global, &config, live && args.verb.needs_findings() && args.verb.from().is_none())?;
        let asks = writes && applies && args.verb.from().is_none();
        let mut machine: Box<dyn MachineWriter> = if asks { hands(global)? } else { Box::new(writer(global)?) };
        // What takes a fix back reads nothing but the journal, and a recording is decoded on a confined thread.
        if asks || !writes {
            restrict(if live { Task::Observe } else { Task::Captured }, None)?;
        } else {
            starvation::watch();
        }
        let context = fix::command::Context {
            sampling,
            live,
            root: checked.path().to_path_buf(),
            read_only: global.read_only,
            state_dir: global.state_dir.clone(),
        };
        fix::command::run(&context, args, machine.as_mut())
    });
    done.map_or_else(|error| status(Err(error)), ExitCode::from)
}

/// An error of clap in one line, without the usage that `--help` prints.
fn one_line(error: &clap::Error) -> String {
    if let Some(own) = help::error(error) {
        return own;
    }
    let error = error.to_string();
    let lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    let text: Vec<&str> =
        lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information")).collect();
    let text = text.join(" ").replace(" tip: ", "; ");
    parser::TryHelp { error: &text.strip_prefix("error: ").unwrap_or(&text) }.to_string()
}

fn status(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            fail(&error);
            ExitCode::from(2)
        }
    }
}

fn command(cli: &Cli) -> Result<(), String> {
    let global = &cli.global;
    match &cli.command {
        Some(Command::Completions { shell }) => return print(&manual::completions(*shell)),
        Some(Command::Man) => return print(&manual::page()?),
        Some(Command::Mark(args)) => return restrict(Task::Tell, None).and_then(|()| crate::mark::run(args)),
        Some(Command::Export(args)) => {
            restrict_to(Task::Decode, args.places())?;
            return dump::run(args);
        }
        _ => {}
    }
    if global.print_config {
        return print(Config::defaults().as_bytes());
    }
    let config = config(global)?;
    match &cli.command {
        Some(Command::Snapshot(args)) => {
            let plan = reading(global, &config, args.from.is_some(), args.output.as_deref())?;
            snapshot::run(global, &config, args, || root(global), &plan)
        }
        Some(Command::Report(args)) => {
            restrict(Task::Decode, args.output.as_deref())?;
            report::run(args, &config.judge())
        }
        Some(Command::Replay(args)) => {
            restrict_to(Task::Decode, startup::places(global, None, args.format.is_none()))?;
            replay::run(global, &config, args)
        }
        Some(Command::Demo(args)) => {
            restrict_to(Task::Decode, startup::places(global, args.output.as_deref(), args.output.is_none()))?;
            demo::run(global, &config, args)
        }
        Some(Command::Rules { id }) => print(catalogue::text(id.as_deref(), &config.judge())?.as_bytes()),
        Some(Command::Plan(args)) => {
            let plan = reading(global, &config, false, None)?;
            crate::plan::run(args, || root(global), &plan)
        }
        Some(Command::Serve(args)) => {
            // Before this process gives up the right to open sockets.
            let doors = serve::open(args, global)?;
            let socket = args.socket.as_deref();
            let plan = reading(global, &config, args.from.is_some(), socket)?;
            serve::run(args, doors, || root(global), plan)
        }
        Some(Command::Capture(args)) => {
            let plan = reading(global, &config, false, Some(&args.output))?;
            capture::run(root(global)?, args, plan.interval)
        }
        _ => tui(global, &config),
    }
}

/// What to sample and how, by a process that goes on to read only.
fn reading(global: &Global, config: &Config, recorded: bool, output: Option<&Path>) -> Result<Plan, String> {
    reading_with(global, config, recorded, Places::of(output))
}

fn reading_with(global: &Global, config: &Config, recorded: bool, places: Places) -> Result<Plan, String> {
    let plan = plan_of(global, config, global.root.is_none() && !recorded)?;
    let task = match (recorded, &global.root) {
        (true, _) => Task::Decode,
        (false, Some(_)) => Task::Captured,
        (false, None) => Task::Observe,
    };
    restrict_to(task, places)?;
    Ok(plan)
}

/// What to sample and how; programs of metrics get a process that starts them.
fn plan_of(global: &Global, config: &Config, live: bool) -> Result<Plan, String> {
    let mut plan = plan(global, config)?;
    let is_program = |metric: &Metric| matches!(metric.source, Source::Command(..));
    if live && plan.options.metrics.iter().any(is_program) {
        plan.options.starter = Some(starter::spawn()?);
    }
    Ok(plan)
}

/// What to sample, and how often.
fn plan(global: &Global, config: &Config) -> Result<Plan, String> {
    let program = || std::env::current_exe().ok();
    let hwloc_program = if global.no_hwloc { None } else { program() };
    let options = Options {
        hwloc_program,
        metrics: metrics::asked(global, config)?,
        state_dir: global.state_dir.clone(),
        ..Options::default()
    };
    let interval = global.interval.or(config.interval).unwrap_or(INTERVAL);
    Ok(Plan { interval, options, settings: config.settings(), judge: config.judge() })
}

fn root(global: &Global) -> Result<Root, String> {
    match &global.root {
        None => Root::live().map_err(|error| format!("/: {error}")),
        Some(dir) => {
            let wrong = |what: &str| errors::NoDirectory { path: &dir.display(), why: &what }.to_string();
            let root = Root::at(dir).map_err(|error| wrong(&crate::trust::said(&error)))?;
            if root.exists("proc") || root.exists("sys") { Ok(root) } else { Err(wrong(&errors::NO_PROC_OR_SYS)) }
        }
    }
}

/// Whether fixes can be applied.
fn reach(global: &Global) -> Reach {
    if global.root.is_some() {
        return Reach::Read(text::CAPTURED.to_string());
    }
    if global.read_only { Reach::Read(text::READ_ONLY.to_string()) } else { Reach::Apply }
}

/// What writes for this process, which gives its rights away. Without any, a process of its own would hold no more, but for
/// those that root has over its own files without a capability.
fn hands(global: &Global) -> Result<Box<dyn MachineWriter>, String> {
    if has_any() || rustix::process::geteuid().is_root() {
        Ok(Box::new(Broker::spawn()?))
    } else {
        Ok(Box::new(writer(global)?))
    }
}

fn tui(global: &Global, config: &Config) -> Result<(), String> {
    startup::require_terminal("`topotop snapshot`")?;
    let root = root(global)?;
    let mut app = startup::app(global, config, global.interval.or(config.interval).unwrap_or(INTERVAL))?;
    app.status.reach = reach(global);
    app.layout =
        topotop_collectors::state::directory(global.state_dir.as_deref()).map(|state| crate::layout::file(&state));
    if let Some(path) = &app.layout {
        app.recall(&crate::layout::read(path));
    }
    let hands = if app.status.reach == Reach::Apply { hands(global)? } else { Box::new(writer(global)?) };
    if config.record.directory.is_none() {
        app.recordings = startup::recordings(global);
    }
    crate::stdin::hold_terminal();
    let files = app.layout.iter().cloned().collect();
    let (exports, recordings) = (app.exports.iter().cloned().collect(), vec![app.recordings.clone()]);
    let plan = reading_with(global, config, false, Places { files, exports, recordings, ..Places::default() })?;
    let newest = runtime::run(app, Some(hands), move |waker| {
        Live::start(root, plan, move || waker.wake()).map_err(|error| errors::NoSampler { error: &error }.to_string())
    })?;
    if global.verbose {
        snapshot::complain(&newest);
    }
    Ok(())
}
