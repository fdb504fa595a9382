//! A fix on the interface that the login comes in by, through the program in a terminal: an interface of a namespace of
//! our own, with a login that is said to come in by it.

use super::everywhere::{offered, subject};
use super::made::{self, On};
use crate::common::pty::Session;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use topotop_model::journal::State;

/// A network namespace with a pair of interfaces, the first with one channel of four, and a /sys that shows it.
pub(super) struct Pair(Child);

const MADE: &str = "mount -t sysfs sysfs /sys && ip link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1 \
    && ethtool -L v0 rx 1 tx 1 && ip addr add 10.9.9.1/24 dev v0 && ip link set v0 up && ip link set v1 up \
    && echo made && exec sleep 600";
/// As sshd tells it: they came to the first interface's address.
const LOGIN: (&str, &str) = ("SSH_CONNECTION", "10.9.9.2 4711 10.9.9.1 22");

impl Pair {
    /// None where that cannot be made.
    pub(super) fn new() -> Option<Self> {
        let mut command = Command::new("unshare");
        command.args(["-n", "-m", "sh", "-c", MADE]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let mut said = String::new();
        let stdout = child.stdout.take()?;
        let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said);
        let pair = Self(child);
        if said.trim() == "made" {
            return Some(pair);
        }
        crate::common::not_tested("no pair of interfaces can be made in a network namespace here");
        None
    }

    /// What comes before a program that is to run there.
    fn inside(&self) -> Vec<String> {
        vec!["-t".to_owned(), self.0.id().to_string(), "-n".to_owned(), "-m".to_owned()]
    }

    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("nsenter");
        command.args(self.inside()).arg(program).args(arguments).stdin(Stdio::null());
        command.output().expect("nsenter runs")
    }

    fn said(&self, program: &str, arguments: &[&str]) -> String {
        String::from_utf8_lossy(&self.run(program, arguments).stdout).trim().to_owned()
    }

    fn index(&self) -> u32 {
        self.said("cat", &["/sys/class/net/v0/ifindex"]).parse().expect("an index")
    }

    /// Receive and send channels that it has.
    pub(super) fn channels(&self) -> (String, String) {
        let text = self.said("ethtool", &["-l", "v0"]);
        let now = text.split("Current hardware settings:").nth(1).expect("channels").to_owned();
        let value = |name: &str| {
            let line = now.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default();
            line.trim().to_owned()
        };
        (value("RX:"), value("TX:"))
    }

    /// Begins to raise the channels, and waits for the question.
    pub(super) fn asked(&self, dir: &Path, environment: &[(&str, &str)], more: &[&str]) -> Session {
        let made = made::ALL.iter().find(|made| made.fix == "F-CHAN").expect("a fix");
        let recording = dir.join("chan.ttr");
        made.record(&On { nic: ("v0".to_owned(), self.index()), splits: true, ..On::default() }, &recording);
        let recording = recording.display().to_string();
        let state = dir.join("state").display().to_string();
        let id = offered(made, &recording, &dir.join("other")).expect("an offer");
        assert_eq!(subject(&id), "v0");
        let topotop = env!("CARGO_BIN_EXE_topotop");
        let apply = [topotop, "fix", "apply", &id, "--from", &recording, "--state-dir", &state];
        let inside = self.inside();
        let arguments = inside.iter().map(String::as_str).chain(apply).chain(more.iter().copied());
        let arguments: Vec<&str> = arguments.collect();
        let session = Session::start("nsenter", &arguments, (160, 60), environment).patient(Duration::from_secs(40));
        session.until("the question", |screen| screen.contains("Apply? Type yes") || screen.contains("Type v0"));
        session
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn state_of(dir: &Path) -> Option<State> {
    let journal = topotop::fix::journal::read(&dir.join("state")).ok()?;
    journal.applications.first().map(topotop_model::journal::Application::state)
}

/// Waits until it is so.
fn until(what: &str, patience: u64, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(patience), "{what} did not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Every process of a session, by its leader.
fn of_session(leader: i32) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
    let session = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(3)?.parse::<i32>().ok()
    };
    pids.filter(|pid| session(*pid) == Some(leader)).collect()
}

/// It is dangerous: a yes is not enough, its name is.
fn confirmed(pair: &Pair, dir: &Path, more: &[&str]) -> Session {
    let mut session = pair.asked(dir, &[LOGIN], more);
    session.shows("your SSH session uses it");
    session.shows("Dangerous fix. Type v0 to apply");
    session.keys("v0\r");
    session.shows("automatic rollback in 60 s by a background process unless you run: topotop fix confirm 1");
    assert_eq!(pair.channels(), ("4".to_owned(), "4".to_owned()));
    session
}

#[test]
fn what_cuts_the_login_off_takes_itself_back_though_the_whole_session_is_killed() {
    let Some(pair) = Pair::new() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let before = pair.channels();
    let session = confirmed(&pair, dir.path(), &[]);
    session.shows("Still connected? Type yes to cancel the automatic rollback");
    // The login ends, and everything that belongs to it is killed.
    let leader = session.pid();
    let all = of_session(leader);
    assert!(all.contains(&leader), "{all:?}");
    drop(session);
    for pid in all {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).stderr(Stdio::null()).status();
    }
    assert_eq!(of_session(leader), Vec::<i32>::new());
    assert_eq!((state_of(dir.path()), pair.channels()), (Some(State::Applied), ("4".to_owned(), "4".to_owned())));
    until("the revert", 100, || state_of(dir.path()) == Some(State::Reverted));
    assert_eq!(pair.channels(), before);
    let journal = topotop::fix::journal::read(&dir.path().join("state")).expect("a journal");
    let application = journal.applications.first().expect("an application");
    let time = |at: &str| at.parse::<jiff::Timestamp>().expect("a time");
    let undone = application.undo.as_ref().expect("an undo");
    assert!(time(&undone.at).duration_since(time(&application.at)).as_secs() >= 59, "{} {}", application.at, undone.at);
}

#[test]
fn what_cuts_the_login_off_stays_once_it_is_confirmed() {
    let Some(pair) = Pair::new() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let before = pair.channels();
    let mut session = confirmed(&pair, dir.path(), &["--no-wait"]);
    assert_eq!(session.ends(), 0);
    let state = dir.path().join("state").display().to_string();
    let topotop = |arguments: &[&str]| {
        let output = pair.run(env!("CARGO_BIN_EXE_topotop"), &[&["fix"], arguments, &["--state-dir", &state]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    topotop(&["confirm", "1"]);
    std::thread::sleep(Duration::from_secs(63));
    assert_eq!((state_of(dir.path()), pair.channels()), (Some(State::Applied), ("4".to_owned(), "4".to_owned())));
    topotop(&["undo", "1"]);
    assert_eq!(pair.channels(), before);
}

#[test]
fn an_interface_that_went_while_it_was_asked_about_is_missed() {
    let Some(pair) = Pair::new() else { return };
    let gone: [(&[&[&str]], &str); 2] = [
        (
            &[&["link", "del", "v0"], &["link", "add", "v0", "type", "veth", "peer", "name", "v1"]],
            "v0 is a different interface now",
        ),
        (&[&["link", "del", "v0"]], "v0 is gone"),
    ];
    for (commands, why) in gone {
        let dir = tempfile::tempdir().expect("a directory");
        let mut session = pair.asked(dir.path(), &[], &[]);
        session.shows("Apply? Type yes");
        for command in commands {
            assert!(pair.run("ip", command).status.success(), "{command:?}");
        }
        session.keys("yes\r");
        assert_eq!(session.ends(), 1, "{}", session.text());
        session.shows(why);
        assert_eq!(state_of(dir.path()), None);
    }
}

/// A name that is not its own confirms nothing, neither does a yes.
#[test]
fn what_is_dangerous_is_confirmed_by_its_name_alone() {
    let Some(pair) = Pair::new() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let before = pair.channels();
    for answer in ["\r", "yes\r", "v1\r"] {
        let mut session = pair.asked(dir.path(), &[LOGIN], &[]);
        session.keys(answer);
        assert_eq!(session.ends(), 1, "{}", session.text());
    }
    let recording = dir.path().join("chan.ttr").display().to_string();
    let state = dir.path().join("state").display().to_string();
    let made = made::ALL.iter().find(|made| made.fix == "F-CHAN").expect("a fix");
    let id = offered(made, &recording, &dir.path().join("other")).expect("an offer");
    let login = format!("{}={}", LOGIN.0, LOGIN.1);
    let apply = |more: &[&str]| {
        let first = [login.as_str(), env!("CARGO_BIN_EXE_topotop"), "fix", "apply", &id, "--from", &recording];
        let last = ["--yes", "--no-wait", "--state-dir", &state];
        let output = pair.run("env", &[&first[..], &last, more].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = apply(&[]);
    assert!(code == Some(1) && said.contains("dangerous fix: --yes requires --confirm-subject v0"), "{said}");
    let (code, said) = apply(&["--confirm-subject", "v1"]);
    assert!(code == Some(1) && said.contains("--confirm-subject v1: the subject is v0"), "{said}");
    assert_eq!((state_of(dir.path()), pair.channels()), (None, before.clone()));
    let (code, said) = apply(&["--confirm-subject", "v0"]);
    assert_eq!(code, Some(0), "{said}");
    let undone = pair.run(env!("CARGO_BIN_EXE_topotop"), &["fix", "undo", "--state-dir", &state]);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(pair.channels(), before);
}
