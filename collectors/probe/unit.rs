//! A property of a systemd unit, in the words that `systemctl set-property` takes.

use super::Unread;
use crate::Root;
use crate::sys::child::{with_own_environment, with_own_limit};
use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use topotop_model::Reason;
use topotop_model::locale::fix::machine as text;
use topotop_model::text::from_bytes;

/// The longest that systemd may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer that is taken.
const LONGEST: u64 = 64 << 10;
/// Where systemctl is.
const PLACES: [&str; 2] = ["/usr/bin/systemctl", "/bin/systemctl"];

/// The value now; nothing where the unit has none.
pub(super) fn value(root: &Root, unit: &str, property: &str) -> Result<String, Unread> {
    if !root.is_live() {
        return Err(Unread::because(text::CAPTURE_SYSTEMD));
    }
    let shown = if property == "CPUQuota" { "CPUQuotaPerSecUSec" } else { property };
    let arguments =
        ["show".to_owned(), format!("--property={shown}"), "--value".to_owned(), "--".to_owned(), unit.to_owned()];
    let said = systemctl(&arguments).map_err(|why| Unread { why, needs: "systemd as pid 1".to_owned() })?;
    words(property, &said).ok_or_else(|| {
        Unread::because(text::UnitFormat { property: &property, unit: &unit, value: &said.trim() }.to_string())
    })
}

/// The text of the drop-in of a property; nothing where there is none.
pub(super) fn drop_in(root: &Root, unit: &str, property: &str) -> Result<String, Unread> {
    let path = topotop_model::fix::drop_in(unit, property);
    match root.read_text(&path) {
        Ok(text) => Ok(text),
        Err(Reason::NotFound) => Ok(String::new()),
        Err(reason) => Err(Unread::file(&path, reason)),
    }
}

/// A value of `systemctl show` as `systemctl set-property` takes it: lists with ` ; ` between, nothing where there is none.
fn words(property: &str, said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match (property, lines.as_slice()) {
        ("CPUQuota", [] | ["infinity"]) => Some(String::new()),
        ("CPUQuota", [span]) => Some(format!("{}%", percent(span)?)),
        (_, [] | ["[not set]"]) => Some(String::new()),
        (_, lines) => Some(lines.join(" ; ")),
    }
}

/// CPU time a second as a share: `1.500s`, `500ms`, `1min 30s`; to a hundredth of a percent.
fn percent(span: &str) -> Option<String> {
    let mut micros = 0.0;
    for word in span.split_whitespace() {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        let unit = match word.strip_prefix(digits)? {
            "us" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            "min" => 6e7,
            "h" => 3.6e9,
            _ => return None,
        };
        micros += digits.parse::<f64>().ok()? * unit;
    }
    let hundredths = (micros / 100.0).round() / 100.0;
    (micros > 0.0 && hundredths.is_finite()).then(|| hundredths.to_string())
}

/// The output of systemctl, or why it failed.
pub fn systemctl(arguments: &[String]) -> Result<String, String> {
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
    use super::{percent, run, words};
    use proptest::prelude::*;
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
    fn in_the_words_that_it_takes() {
        let cases = [
            ("MemoryMax", "4294967296\n", "4294967296"),
            ("MemoryHigh", "infinity\n", "infinity"),
            ("CPUQuota", "2s\n", "200%"),
            ("CPUQuota", "1.500s\n", "150%"),
            ("CPUQuota", "1min 4s\n", "6400%"),
            ("CPUQuota", "333.333ms\n", "33.33%"),
            ("CPUQuota", "infinity\n", ""),
            ("IOWeight", "[not set]\n", ""),
            ("IOWriteIOPSMax", "/dev/sdb 30\n/dev/sdc 9\n", "/dev/sdb 30 ; /dev/sdc 9"),
            ("IOWriteIOPSMax", "\n", ""),
        ];
        for (property, said, value) in cases {
            assert_eq!(words(property, said).as_deref(), Some(value), "{property} {said}");
        }
        assert_eq!(words("CPUQuota", "soon"), None);
    }

    #[test]
    fn what_a_program_says() {
        let sh = |script: &str, patience| run(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], patience);
        assert_eq!(sh("echo yes", Duration::from_secs(9)).as_deref(), Ok("yes\n"));
        assert_eq!(sh("echo no >&2; exit 1", Duration::from_secs(9)), Err("no".to_owned()));
        assert!(sh("sleep 60", Duration::from_millis(50)).is_err_and(|why| why.contains("did not answer")));
        assert!(run(Path::new("/none"), &[], Duration::from_secs(1)).is_err());
    }

    proptest! {
        #[test]
        fn no_answer_panics(property in "(CPUQuota|MemoryMax)", said in ".{0,30}") {
            let _ = (words(&property, &said), percent(&said));
        }
    }
}
