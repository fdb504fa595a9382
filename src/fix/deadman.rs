//! The automatic rollback of a fix that may have disconnected its user: a separate process that survives the terminal, the
//! session and this program. Confirming the fix in time cancels it.

use super::applier::{Applier, Refused};
use super::journal::{self, File};
use super::machine::Kernel;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use topotop_collectors::sys::child::with_own_environment;
use topotop_collectors::{Root, now};
use topotop_model::journal::Because;
use topotop_model::locale::Text;
use topotop_model::locale::cli::fix as text;

/// Reverts one application now, unless it was confirmed.
pub const REVERT: &str = "__fix-revert";
/// Waits, then reverts.
pub const GUARD: &str = "__fix-guard";
/// Seconds to confirm in.
pub const SECONDS: u32 = 60;
/// Where systemd-run is.
const PLACES: [&str; 2] = ["/usr/bin/systemd-run", "/bin/systemd-run"];
/// The line that the guard prints once it is detached.
const READY: &str = "ready";

/// The agent of the automatic rollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Armed {
    /// A timer of systemd.
    Timer,
    /// A process of its own.
    Process,
}

impl Armed {
    /// Its name in a sentence.
    pub fn label(self) -> Text {
        match self {
            Self::Timer => text::AGENT_TIMER,
            Self::Process => text::AGENT_PROCESS,
        }
    }
}

/// Arms the automatic rollback of an application after some seconds unless confirmed. `program` is this one.
pub fn arm(program: &Path, directory: &Path, number: u64, seconds: u32) -> Result<Armed, String> {
    let directory = std::path::absolute(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    if rustix::process::geteuid().is_root() && Path::new("/run/systemd/system").is_dir() {
        // A process of this login would end with it where systemd ends all of a login's.
        if timer(program, &directory, number, seconds) {
            return Ok(Armed::Timer);
        }
    }
    guard(program, &directory, number, seconds).map(|()| Armed::Process)
}

/// The same with this program's own file.
pub(crate) fn arm_this(directory: &Path, number: u64, seconds: u32) -> Result<Armed, String> {
    let program = std::env::current_exe().map_err(|error| text::OwnFile { error: &error }.to_string())?;
    arm(&program, directory, number, seconds)
}

fn timer(program: &Path, directory: &Path, number: u64, seconds: u32) -> bool {
    // From fixed folders: PATH is the caller's.
    let runner = PLACES.iter().map(Path::new).find(|path| path.exists());
    runner.is_some_and(|runner| timer_by(runner, program, directory, number, seconds))
}

fn timer_by(runner: &Path, program: &Path, directory: &Path, number: u64, seconds: u32) -> bool {
    let mut command = Command::new(runner);
    command.args(["--quiet", "--collect", "--timer-property=AccuracySec=100ms"]);
    command.arg(format!("--on-active={seconds}")).arg(format!("--unit=topotop-revert-{number}-{}", std::process::id()));
    command.arg(program).args([OsStr::new(REVERT), OsStr::new(&number.to_string()), directory.as_os_str()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    with_own_environment(&mut command).status().is_ok_and(|status| status.success())
}

/// Starts a process that starts the guard and exits, so that the guard is detached.
fn guard(program: &Path, directory: &Path, number: u64, seconds: u32) -> Result<(), String> {
    let wrong = |error: std::io::Error| text::GuardFailed { error: &error }.to_string();
    let deadline = now().boot_ns.saturating_add(u64::from(seconds) * 1_000_000_000);
    let mut command = Command::new(program);
    command.args([GUARD, "first", &number.to_string(), &deadline.to_string()]).arg(directory);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(wrong)?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(wrong)?;
    }
    let _ = child.wait();
    if line.trim() == READY { Ok(()) } else { Err(text::GUARD_SILENT.to_string()) }
}

/// Runs a hidden verb; none where the arguments are none of them.
pub fn verb(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let verb = arguments.next()?;
    let mut text = || arguments.next().and_then(|word| word.into_string().ok());
    if verb == REVERT {
        let number = text().and_then(|number| number.parse().ok());
        let directory = arguments.next().map(PathBuf::from);
        return Some(number.zip(directory).map_or(ExitCode::from(2), |(number, directory)| revert(number, &directory)));
    }
    if verb != GUARD {
        return None;
    }
    let (stage, number, deadline) = (text(), text(), text());
    let directory = arguments.next().map(PathBuf::from);
    let number = number.and_then(|number| number.parse().ok());
    let deadline = deadline.and_then(|deadline| deadline.parse().ok());
    let (Some(stage), Some(number), Some(deadline), Some(directory)) = (stage, number, deadline, directory) else {
        return Some(ExitCode::from(2));
    };
    Some(if stage == "first" { first(number, deadline, &directory) } else { wait(number, deadline, &directory) })
}

/// A session of its own without a terminal; its leader exits, so that no process in it can acquire one.
fn first(number: u64, deadline: u64, directory: &Path) -> ExitCode {
    let (Ok(_), Ok(program)) = (rustix::process::setsid(), std::env::current_exe()) else { return ExitCode::from(2) };
    let mut command = Command::new(program);
    command.args([GUARD, "second", &number.to_string(), &deadline.to_string()]).arg(directory);
    ExitCode::from(if command.spawn().is_ok() { 0 } else { 2 })
}

fn wait(number: u64, deadline: u64, directory: &Path) -> ExitCode {
    let written = writeln!(std::io::stdout(), "{READY}").and_then(|()| std::io::stdout().flush());
    // Whoever waits for that line sees its end.
    let closed = std::fs::OpenOptions::new().write(true).open("/dev/null");
    let closed = closed.is_ok_and(|null| rustix::stdio::dup2_stdout(null.as_fd()).is_ok());
    if written.is_err() || !closed {
        return ExitCode::from(2);
    }
    while now().boot_ns < deadline {
        std::thread::sleep(Duration::from_millis(200));
        if is_settled(number, directory) {
            return ExitCode::SUCCESS;
        }
    }
    revert(number, directory)
}

/// True where the journal says that it was confirmed or taken back. What cannot be read says neither.
fn is_settled(number: u64, directory: &Path) -> bool {
    journal::read(directory).is_ok_and(|journal| {
        let application = journal.applications.iter().find(|application| application.number == number);
        application.is_some_and(|application| !application.waits_for_confirmation())
    })
}

/// Rolls it back unless it is confirmed or undone already. Retries while another process holds the journal.
fn revert(number: u64, directory: &Path) -> ExitCode {
    for _ in 0..30 {
        match try_revert(number, directory) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(why) => crate::stderr::warn(&text::RollbackFailed { number: &number, why: &why }.to_string()),
        }
        std::thread::sleep(Duration::from_secs(2));
    }
    ExitCode::from(1)
}

fn try_revert(number: u64, directory: &Path) -> Result<(), String> {
    use super::journal::Ledger as _;
    let mut ledger = File::open(directory)?;
    let journal = ledger.read()?;
    let application = journal.applications.iter().find(|application| application.number == number);
    let Some(application) = application.filter(|application| application.waits_for_confirmation()) else {
        return Ok(());
    };
    let root = Root::live().map_err(|error| format!("/: {error}"))?;
    let mut machine = Kernel::new(Arc::new(root));
    let mut tell = |_| ControlFlow::Continue(());
    let returned = Applier::new(&mut machine, &mut ledger, &mut tell).undo(application, &Because::NotConfirmed, false);
    let returned = returned.map_err(|Refused(why)| why)?;
    let failed = returned.outcomes.iter().find_map(|outcome| outcome.error.clone());
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::{is_settled, timer_by};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    #[test]
    fn systemd_is_asked_without_the_callers_environment() {
        let dir = tempfile::tempdir().expect("a directory");
        let (runner, said) = (dir.path().join("runner"), dir.path().join("said"));
        let script = format!("#!/bin/sh\nenv > {0}\necho \"$@\" >> {0}\n", said.display());
        std::fs::write(&runner, script).expect("written");
        std::fs::set_permissions(&runner, std::fs::Permissions::from_mode(0o755)).expect("executable");
        assert!(timer_by(&runner, Path::new("/p"), Path::new("/d"), 7, 60));
        let said = std::fs::read_to_string(said).expect("it ran");
        assert!(said.ends_with("/p __fix-revert 7 /d\n") && said.contains("--on-active=60 "), "{said}");
        let known = ["PATH=", "LC_ALL=", "SYSTEMD_COLORS=", "PWD=", "OLDPWD=", "SHLVL=", "_=", "--quiet"];
        assert!(said.lines().all(|line| known.iter().any(|name| line.starts_with(name))), "{said}");
    }

    #[test]
    fn what_cannot_be_read_is_not_confirmed() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(!is_settled(1, &dir.path().join("gone")));
        assert!(!is_settled(1, dir.path()), "nothing says so");
        std::fs::write(dir.path().join("journal.jsonl"), [0xff; 64]).expect("written");
        assert!(!is_settled(1, dir.path()));
    }
}
