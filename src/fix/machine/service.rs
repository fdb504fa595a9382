//! Starts and stops a daemon by whoever keeps it here: systemd, OpenRC, a script, or nobody. An exit status says nothing:
//! its process does.

use super::Trouble;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use topotop_collectors::Root;
use topotop_collectors::probe::{self, Unread};
use topotop_collectors::sys::child::{with_own_environment, with_own_limit};
use topotop_model::IdSet;
use topotop_model::fix::Target;
use topotop_model::locale::fix::machine as text;

/// The longest that a command may take, and that a daemon usually may take to come or go.
const COMMAND: Duration = Duration::from_secs(30);
const DAEMON: Duration = Duration::from_secs(10);
/// A daemon that is still there after this does not end at once.
const STAYS: Duration = Duration::from_millis(500);

/// Where programs and services are.
struct Place<'a> {
    root: &'a Root,
    programs: Vec<PathBuf>,
    /// `/`, below which systemd, OpenRC and scripts keep their things.
    top: PathBuf,
    /// How long a daemon may take to come or go.
    patience: Duration,
}

/// Who keeps services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeper {
    Systemd,
    Openrc,
    Script,
    Nobody,
}

/// Has a daemon run, or not: `running`, `running, banned IRQs 24,26`, `stopped`.
pub(super) fn write(root: &Root, name: &str, value: &str) -> Result<(), Trouble> {
    // A journal may name others.
    if name != DAEMON_OF_FIXES {
        return Err(Trouble::invalid(name));
    }
    let programs = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin"].map(PathBuf::from).into();
    Place { root, programs, top: PathBuf::from("/"), patience: DAEMON }.write(name, value)
}

/// The only daemon that a fix starts and stops.
const DAEMON_OF_FIXES: &str = "irqbalance";

impl Place<'_> {
    fn write(&self, name: &str, value: &str) -> Result<(), Trouble> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(is_name) || name.starts_with(['-', '.']) {
            return Err(Trouble::invalid(name));
        }
        match value.split_once(", banned IRQs ") {
            _ if value == "stopped" => self.stop(name),
            None if value == "running" => self.start(name, &IdSet::new(), value),
            Some(("running", banned)) => {
                let banned = IdSet::parse_list(banned).filter(|banned| !banned.is_empty());
                self.start(name, &banned.ok_or_else(|| Trouble::invalid(value))?, value)
            }
            _ => Err(Trouble::invalid(value)),
        }
    }

    fn keeper(&self, name: &str) -> Keeper {
        let there = |path: &str| self.top.join(path).exists();
        if there("run/systemd/system") && self.program("systemctl").is_some() {
            Keeper::Systemd
        } else if there("run/openrc/softlevel") && self.program("rc-service").is_some() {
            Keeper::Openrc
        } else if there(&format!("etc/init.d/{name}")) && self.program("service").is_some() {
            Keeper::Script
        } else {
            Keeper::Nobody
        }
    }

    fn start(&self, name: &str, banned: &IdSet, wanted: &str) -> Result<(), Trouble> {
        if self.state(name)? == wanted {
            return Ok(());
        }
        let bans: Vec<String> = banned.iter().map(|irq| format!("--banirq={irq}")).collect();
        let (keeper, runs) = (self.keeper(name), self.state(name)? != "stopped");
        if keeper == Keeper::Systemd {
            self.tell_systemd(name, &bans)?;
        } else if runs {
            self.stop(name)?;
        }
        let unit = format!("{name}.service");
        // Scripts have no option for interrupts: nothing keeps it.
        let said = match keeper {
            Keeper::Systemd => self.run("systemctl", &[if runs { "restart" } else { "start" }, &unit]),
            Keeper::Openrc if bans.is_empty() => self.run("rc-service", &[name, "start"]),
            Keeper::Script if bans.is_empty() => self.run("service", &[name, "start"]),
            _ => self.run(name, &bans.iter().map(String::as_str).collect::<Vec<_>>()),
        }?;
        self.comes_to(name, wanted, &said)?;
        // One that cannot work ends soon.
        std::thread::sleep(STAYS);
        self.comes_to(name, wanted, &said)
    }

    fn stop(&self, name: &str) -> Result<(), Trouble> {
        let unit = format!("{name}.service");
        // Who does not know it says so, and its process is ended all the same.
        let said = match self.keeper(name) {
            Keeper::Systemd => {
                let said = self.run("systemctl", &["stop", &unit]);
                self.tell_systemd(name, &[])?;
                said
            }
            Keeper::Openrc => self.run("rc-service", &[name, "stop"]),
            Keeper::Script => self.run("service", &[name, "stop"]),
            Keeper::Nobody => Ok(String::new()),
        };
        if let Some(pid) =
            probe::daemon(self.root, name).map_err(unread)?.and_then(|pid| Pid::from_raw(pid.cast_signed()))
        {
            // Held by its descriptor: the number may be another one's by the time it is signalled.
            let held = pidfd_open(pid, PidfdFlags::empty()).map_err(Trouble::errno)?;
            if probe::daemon(self.root, name).map_err(unread)? == Some(pid.as_raw_pid().cast_unsigned()) {
                pidfd_send_signal(&held, Signal::TERM).map_err(Trouble::errno)?;
            }
        }
        self.comes_to(name, "stopped", &said.unwrap_or_else(|trouble| trouble.message))
    }

    /// Gives the service arguments until the next boot, beside those that it has; none takes them back.
    fn tell_systemd(&self, name: &str, bans: &[String]) -> Result<(), Trouble> {
        let folder = self.top.join(format!("run/systemd/system/{name}.service.d"));
        let (unit, file) = (folder.join("90-topotop.conf"), self.top.join(format!("run/topotop-{name}.env")));
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| Trouble::because(format!("{path}: {error}"))
        };
        if bans.is_empty() {
            if !unit.exists() {
                return Ok(());
            }
            fs::remove_file(&unit).map_err(failed(&unit))?;
            // Others may have put something there.
            let _ = fs::remove_dir(&folder);
            let _ = fs::remove_file(&file);
        } else {
            super::own_folder(&folder).map_err(failed(&folder))?;
            let mut text = String::new();
            for variable in ["IRQBALANCE_ARGS", "OPTIONS"] {
                let own = self.configured(name, variable);
                // Only one of them is read, by the distribution's age.
                if variable == "IRQBALANCE_ARGS" || own.is_some() {
                    let own = own.map(|own| own + " ").unwrap_or_default();
                    text.extend([variable, "=\"", &own, &bans.join(" "), "\"\n"]);
                }
            }
            super::own_file(&file, &text).map_err(failed(&file))?;
            let drop_in = format!("[Service]\nEnvironmentFile={}\n", file.display());
            super::own_file(&unit, &drop_in).map_err(failed(&unit))?;
        }
        self.run("systemctl", &["daemon-reload"]).map(drop)
    }

    /// What the distribution's file says: the arguments that somebody gave it for good.
    fn configured(&self, name: &str, variable: &str) -> Option<String> {
        let files = [format!("etc/default/{name}"), format!("etc/sysconfig/{name}")];
        let text = files.iter().find_map(|file| fs::read_to_string(self.top.join(file)).ok())?;
        let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(variable)?.strip_prefix('='));
        let value = lines.next_back()?.trim().trim_matches(['"', '\'']);
        (!value.is_empty() && !value.contains(['"', '\\', '$', '`'])).then(|| value.to_owned())
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        self.programs.iter().map(|folder| folder.join(name)).find(|path| path.exists())
    }

    /// Runs a program and gives back what it said.
    fn run(&self, name: &str, arguments: &[&str]) -> Result<String, Trouble> {
        let path =
            self.program(name).ok_or_else(|| Trouble::because(text::NotInstalled { name: &name }.to_string()))?;
        let failed = |error: std::io::Error| Trouble::because(format!("{}: {error}", path.display()));
        let mut command = Command::new(&path);
        // In a file: who inherits a pipe keeps it open as long as the daemon runs.
        let said = rustix::fs::memfd_create("said", rustix::fs::MemfdFlags::CLOEXEC).map_err(Trouble::errno)?;
        let said = fs::File::from(said);
        command.args(arguments).current_dir("/").stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(said.try_clone().map_err(failed)?);
        let mut child = with_own_limit(with_own_environment(&mut command)).spawn().map_err(failed)?;
        let until = Instant::now() + COMMAND;
        while child.try_wait().map_err(failed)?.is_none() {
            if Instant::now() > until {
                // It may end at this moment by itself.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Trouble::because(text::DidNotEnd { name: &name, seconds: &COMMAND.as_secs() }.to_string()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(words(&said))
    }

    fn state(&self, name: &str) -> Result<String, Trouble> {
        let values = probe::values(self.root, &Target::Service { name: name.to_owned() }).map_err(unread)?;
        Ok(values.into_iter().next().map(|value| value.1).unwrap_or_default())
    }

    /// Waits until its process says so.
    fn comes_to(&self, name: &str, wanted: &str, message: &str) -> Result<(), Trouble> {
        let until = Instant::now() + self.patience;
        loop {
            let state = self.state(name)?;
            if state == wanted {
                return Ok(());
            }
            if Instant::now() > until {
                let words = if message.is_empty() { String::new() } else { format!(": {message}") };
                return Err(Trouble::because(
                    text::OtherState { name: &name, state: &state, wanted: &wanted }.to_string() + &words,
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn unread(unread: Unread) -> Trouble {
    Trouble::because(unread.why)
}

/// The last line of what a program said.
fn words(file: &fs::File) -> String {
    use std::os::unix::fs::FileExt as _;
    let mut bytes = vec![0; 4096];
    let length = file.read_at(&mut bytes, 0).unwrap_or_default();
    let text = topotop_model::text::from_bytes(bytes.get(..length).unwrap_or_default()).into_owned();
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::Place;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use topotop_collectors::Root;

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    /// A folder with a daemon of a name that nobody else has, which leaves its starter as daemons do.
    fn place<'a>(dir: &Path, root: &'a Root, name: &str) -> Place<'a> {
        let bin = dir.join("bin");
        script(&bin.join("stays").join(name), "while :; do sleep 0.1; done");
        let daemon = bin.join("stays").join(name);
        script(&bin.join(name), &format!("setsid {} \"$@\" < /dev/null > /dev/null 2>&1 &", daemon.display()));
        Place { root, programs: vec![bin], top: dir.to_owned(), patience: super::DAEMON }
    }

    #[test]
    fn nobody_keeps_it() {
        let (dir, root) = (tempfile::tempdir().expect("a directory"), Root::live().expect("this machine"));
        let place = place(dir.path(), &root, "tt-daemon-a");
        let state = || place.state("tt-daemon-a").expect("known");
        assert_eq!(state(), "stopped");
        for value in ["running", "running", "running, banned IRQs 5,7-8", "running", "stopped", "stopped"] {
            place.write("tt-daemon-a", value).expect("done");
            assert_eq!(state(), value);
        }
    }

    #[test]
    fn systemd_is_told_for_this_boot_only() {
        let (dir, root) = (tempfile::tempdir().expect("a directory"), Root::live().expect("this machine"));
        let place = place(dir.path(), &root, "tt-daemon-b");
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("run/systemd/system")).expect("made");
        fs::create_dir_all(at("etc/default")).expect("made");
        fs::write(at("etc/default/tt-daemon-b"), "# IRQBALANCE_ARGS=--no\nIRQBALANCE_ARGS=\"--powerthresh=1\"\n")
            .expect("written");
        // As the real one: the unit's environment is that of its files, the last of which counts.
        let top = dir.path().display();
        script(
            &at("bin/systemctl"),
            &format!(
                "echo $@ >> {top}/calls\ncase $1 in stop|restart|start) [ ! -e {top}/pid ] || kill $(cat {top}/pid); esac
            [ $1 = start ] || [ $1 = restart ] || exit 0
            . {top}/etc/default/tt-daemon-b; conf={top}/run/systemd/system/tt-daemon-b.service.d/90-topotop.conf
            [ ! -e $conf ] || . $(sed -n 's/EnvironmentFile=//p' $conf)
            setsid {top}/bin/stays/tt-daemon-b --foreground $IRQBALANCE_ARGS < /dev/null > /dev/null 2>&1 &
            echo $! > {top}/pid"
            ),
        );
        let drop_in = at("run/systemd/system/tt-daemon-b.service.d/90-topotop.conf");
        place.write("tt-daemon-b", "running, banned IRQs 24,26").expect("done");
        assert!(drop_in.exists());
        let environment = fs::read_to_string(at("run/topotop-tt-daemon-b.env")).expect("a file");
        assert_eq!(environment, "IRQBALANCE_ARGS=\"--powerthresh=1 --banirq=24 --banirq=26\"\n");
        place.write("tt-daemon-b", "stopped").expect("done");
        assert!(!drop_in.exists() && !at("run/topotop-tt-daemon-b.env").exists());
        place.write("tt-daemon-b", "running").expect("done");
        place.write("tt-daemon-b", "running, banned IRQs 5").expect("done");
        place.write("tt-daemon-b", "stopped").expect("done");
        let calls = fs::read_to_string(at("calls")).expect("calls");
        let unit = "tt-daemon-b.service";
        let expected = [
            "daemon-reload",
            "start",
            "stop",
            "daemon-reload",
            "start",
            "daemon-reload",
            "restart",
            "stop",
            "daemon-reload",
        ];
        let called =
            |verb: &str| if verb == "daemon-reload" { format!("{verb}\n") } else { format!("{verb} {unit}\n") };
        let expected: String = expected.map(called).concat();
        assert_eq!(calls, expected);
    }

    #[test]
    fn the_callers_environment_is_not_handed_on() {
        let (dir, root) = (tempfile::tempdir().expect("a directory"), Root::live().expect("this machine"));
        let place = place(dir.path(), &root, "tt-daemon-d");
        assert!(std::env::vars_os().count() > 3, "there is one");
        script(&dir.path().join("bin/tt-counts"), "env | cut -d= -f1 | sort | tr '\\n' ' ' >&2");
        let names = place.run("tt-counts", &[]).expect("it runs");
        let of_shells = ["OLDPWD", "PWD", "SHLVL", "_"];
        let names: Vec<&str> = names.split(' ').filter(|name| !of_shells.contains(name)).collect();
        assert_eq!(names, ["LC_ALL", "PATH", "SYSTEMD_COLORS"]);
    }

    #[test]
    fn an_exit_status_proves_nothing() {
        let (dir, root) = (tempfile::tempdir().expect("a directory"), Root::live().expect("this machine"));
        let mut place = place(dir.path(), &root, "tt-daemon-c");
        place.patience = std::time::Duration::from_millis(300);
        script(&dir.path().join("bin/tt-daemon-c"), "echo it is masked >&2");
        let trouble = place.write("tt-daemon-c", "running").expect_err("it never came");
        assert_eq!(trouble.message, "tt-daemon-c is stopped, not running: it is masked");
        place.programs.clear();
        assert_eq!(place.write("tt-daemon-c", "running").expect_err("none").message, "tt-daemon-c is not installed");
        for wrong in ["", "on", "running, banned IRQs", "running, banned IRQs x"] {
            assert!(place.write("tt-daemon-c", wrong).is_err(), "{wrong}");
        }
        for name in ["", "../x", "-x", "a b"] {
            assert!(place.write(name, "stopped").is_err(), "{name}");
        }
    }
}
