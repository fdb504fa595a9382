//! What `systemctl` says.

use crate::sys::child::{with_own_environment, with_own_limit};
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use topotop_model::locale::fix::machine as text;
use topotop_model::text::from_bytes;

/// The longest that systemd may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer that is taken.
const LONGEST: u64 = 64 << 10;
/// Where systemctl is.
const PLACES: [&str; 2] = ["/usr/bin/systemctl", "/bin/systemctl"];

/// Asks systemd in this process's stead.
type Delegate = fn(&[String]) -> Result<String, String>;

static DELEGATE: OnceLock<Delegate> = OnceLock::new();

/// Has somebody else ask from now on: what reads as root must not speak to services that do whatever root says.
pub fn delegate(to: Delegate) {
    // Once is enough.
    let _ = DELEGATE.set(to);
}

/// The output of systemctl, or why it failed.
pub fn systemctl(arguments: &[String]) -> Result<String, String> {
    if let Some(delegate) = DELEGATE.get() {
        return delegate(arguments);
    }
    let program = PLACES
        .iter()
        .map(Path::new)
        .find(|path| path.exists())
        .ok_or_else(|| text::NotInstalled { name: &"systemctl" }.to_string())?;
    run(program, arguments, PATIENCE)
}

/// A program with its output in a file: who inherits a pipe keeps it open.
fn run(program: &Path, arguments: &[String], patience: Duration) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    let file = || memfd_create("said", MemfdFlags::CLOEXEC).map(File::from).map_err(|errno| failed(errno.into()));
    let (out, err) = (file()?, file()?);
    let mut command = Command::new(PathBuf::from(program));
    command.args(arguments).current_dir("/").stdin(Stdio::null());
    command.stdout(out.try_clone().map_err(failed)?).stderr(err.try_clone().map_err(failed)?);
    let mut child = with_own_limit(with_own_environment(&mut command)).spawn().map_err(failed)?;
    let until = Instant::now() + patience;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if Instant::now() > until {
            // It may end at this moment by itself.
            let _ = child.kill();
            let _ = child.wait();
            return Err(text::NoAnswer { name: &program.display(), seconds: &patience.as_secs() }.to_string());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if status.success() {
        return Ok(text(out));
    }
    let said = text(err);
    let said = said.trim().lines().last().unwrap_or_default();
    Err(if said.is_empty() { format!("{}: {status}", program.display()) } else { said.to_owned() })
}

fn text(mut file: File) -> String {
    let mut bytes = Vec::new();
    // An unreadable file of our own counts as no output.
    let _ = seek(&file, SeekFrom::Start(0));
    let _ = file.by_ref().take(LONGEST).read_to_end(&mut bytes);
    from_bytes(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::run;
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn the_callers_environment_is_not_handed_on() {
        assert!(std::env::vars_os().any(|(name, _)| name == "PATH"), "there is one");
        let said = run(Path::new("/usr/bin/env"), &[], Duration::from_secs(10)).expect("it runs");
        let names: Vec<&str> = said.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(names.iter().all(|name| ["PATH", "LC_ALL", "SYSTEMD_COLORS"].contains(name)), "{names:?}");
        assert!(said.contains("PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"), "{said}");
    }

    #[test]
    fn what_a_program_says() {
        let sh = |script: &str, patience| run(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], patience);
        assert_eq!(sh("echo yes", Duration::from_secs(9)).as_deref(), Ok("yes\n"));
        assert_eq!(sh("echo no >&2; exit 1", Duration::from_secs(9)), Err("no".to_owned()));
        assert!(sh("sleep 60", Duration::from_millis(50)).is_err_and(|why| why.contains("did not answer")));
        assert!(run(Path::new("/none"), &[], Duration::from_secs(1)).is_err());
    }
}
