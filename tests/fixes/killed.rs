//! Kill -9 and the dead-man switch, on a network namespace of our own: whatever ends when, journal and machine agree.

use rustix::process::{Pid, Signal, getpid, kill_process};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use topotop::fix::applier::{Applier, ApplyEvent, resolve};
use topotop::fix::deadman;
use topotop::fix::journal::{self, File, Ledger};
use topotop::fix::machine::{Kernel, Machine, Progress, Trouble};
use topotop_collectors::Root;
use topotop_collectors::probe::Unread;
use topotop_model::fix::{Case, Identity, Plan, Step, Surroundings, Target};
use topotop_model::journal::{Application, Entry, Journal, State};
use topotop_model::rules::{Finding, Severity, Subject};

const TOPOTOP: &str = env!("CARGO_BIN_EXE_topotop");
/// Settings that fixes change: in the namespace other files are bound to them, which are the namespace's own.
const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const RECLAIM: &str = "/proc/sys/vm/zone_reclaim_mode";
const BOUND: &str = "mount --bind /proc/sys/net/core/somaxconn /proc/sys/vm/swappiness && \
    mount --bind /proc/sys/net/ipv4/ip_forward /proc/sys/vm/zone_reclaim_mode && exec sleep 600";
/// Arguments of the program that is killed.
const WISH: &str = "TOPOTOP_TEST_WISH";

/// A network namespace with settings of its own; gone with its process.
struct Net(Child);

impl Net {
    fn new() -> Option<Self> {
        let child = Command::new("unshare").args(["-n", "-m", "sh", "-c", BOUND]).stdin(Stdio::null()).spawn().ok()?;
        let mut net = Self(child);
        for _ in 0..200 {
            let comm = std::fs::read_to_string(format!("/proc/{}/comm", net.0.id()));
            if comm.is_ok_and(|comm| comm == "sleep\n") {
                return Some(net);
            }
            if net.0.try_wait().ok().flatten().is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        crate::common::not_tested("no network namespace can be made here");
        None
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.0.id().to_string(), "-n", "-m"]).arg(program).stdin(Stdio::null());
        command
    }

    fn value(&self, path: &str) -> String {
        let read = self.command(Path::new("cat")).arg(path).output().expect("cat runs");
        String::from_utf8_lossy(&read.stdout).trim().to_owned()
    }

    fn values(&self) -> [String; 2] {
        [SWAPPINESS, RECLAIM].map(|path| self.value(path))
    }

    fn topotop(&self, arguments: &[&str], state: &Path) -> Output {
        let mut command = self.command(Path::new(TOPOTOP));
        command.args(arguments).arg("--state-dir").arg(state).output().expect("the program runs")
    }

    /// This test's own program in the namespace, doing what `wish` says.
    fn child(&self, wish: &str, state: &Path) -> Command {
        let program = std::env::current_exe().expect("this program");
        let mut command = self.command(&program);
        command.args(["--exact", "fixes::killed::somebody_else", "--nocapture"]);
        command.env(WISH, format!("{wish} {}", state.display())).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn plan() -> Plan {
    let frame = topotop_model::frame::Frame::default();
    let rule = topotop_model::rules::find("NIC-02").expect("a rule");
    let finding = Finding {
        rule,
        subject: Subject::Host,
        severity: Severity::Warning,
        confidence: 1.0,
        since: topotop_model::Stamp::default(),
        evidence: Vec::new(),
        children: Vec::new(),
    };
    let (set, surroundings) = (BTreeMap::new(), Surroundings::default());
    let case = Case { finding: &finding, frame: &frame, set: &set, surroundings: &surroundings, metric: None };
    let steps = vec![
        Step::new("backlog", Target::file(SWAPPINESS), "1234"),
        Step::new("forwarding", Target::file(RECLAIM), "1"),
    ];
    Plan { identity: vec![Identity::Host], steps, ..case.plan("F-SYSCTL", "two settings") }
}

/// Kills this program at a call.
struct Fuse(AtomicU32);

impl Fuse {
    fn burn(&self) {
        if self.0.fetch_sub(1, Ordering::Relaxed) == 1 {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
}

struct Burning(Kernel, Arc<Fuse>);

impl Machine for Burning {
    fn values(&self, target: &Target) -> Result<Vec<(String, String)>, Unread> {
        self.1.burn();
        self.0.values(target)
    }

    fn same(&self, identity: &Identity) -> Result<(), String> {
        self.0.same(identity)
    }

    fn filled(&self, identity: &Identity) -> Identity {
        self.0.filled(identity)
    }

    fn write(
        &mut self,
        target: &Target,
        key: &str,
        value: &str,
        tell: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<(), Trouble> {
        self.1.burn();
        let wrote = self.0.write(target, key, value, tell);
        self.1.burn();
        wrote
    }
}

struct Burnt(File, Arc<Fuse>);

impl Ledger for Burnt {
    fn read(&self) -> Result<Journal, String> {
        self.0.read()
    }

    fn boot_id(&self) -> &str {
        self.0.boot_id()
    }

    fn append(&mut self, number: u64, entry: &Entry, firm: bool) -> Result<(), String> {
        self.1.burn();
        let appended = self.0.append(number, entry, firm);
        self.1.burn();
        appended
    }
}

/// The program that is killed: this one, started again. Without a wish it is no test.
#[test]
fn somebody_else() {
    let Ok(wish) = std::env::var(WISH) else { return };
    let mut words = wish.splitn(3, ' ');
    let (verb, number) = (words.next().expect("a verb"), words.next().expect("a number"));
    let number: u32 = number.parse().expect("a number");
    let state = PathBuf::from(words.next().expect("a place"));
    let fuse = Arc::new(Fuse(AtomicU32::new(u32::MAX)));
    let root = Arc::new(Root::live().expect("a root"));
    let mut machine = Burning(Kernel::new(root), Arc::clone(&fuse));
    let proposal = resolve(&machine, &plan());
    let mut ledger = Burnt(File::open(&state).expect("a journal"), Arc::clone(&fuse));
    let mut tell = |reported: ApplyEvent| {
        if let (ApplyEvent::Begun(number), "armed" | "waits") = (&reported, verb) {
            deadman::arm(Path::new(TOPOTOP), &state, *number, 3).expect("armed");
        }
        ControlFlow::Continue(())
    };
    if verb == "killed" {
        fuse.0.store(number, Ordering::Relaxed);
    }
    let reverts = (verb != "killed").then_some(3);
    Applier::new(&mut machine, &mut ledger, &mut tell).apply(&proposal, "a test", reverts).expect("applied");
    drop(ledger);
    match verb {
        "killed" => {}
        "armed" => drop(kill_process(getpid(), Signal::KILL)),
        _ => std::thread::sleep(Duration::from_mins(1)),
    }
}

#[test]
fn killed_anywhere_undo_puts_back_what_was() {
    let Some(net) = Net::new() else { return };
    let before = net.values();
    let mut killed = 0;
    for at in 1..60 {
        let state = tempfile::tempdir().expect("a directory");
        let directory = state.path().join("state");
        let status = net.child(&format!("killed {at}"), &directory).status().expect("it runs");
        if status.success() {
            assert_eq!(net.values(), ["1234", "1"]);
        } else {
            killed += 1;
        }
        undone(&net, &before, &directory, &format!("at {at}"));
        if status.success() {
            assert!(killed > 12, "{killed}");
            return;
        }
    }
    panic!("it never came to its end");
}

/// Undoes what a killed program left, where it left something.
fn undone(net: &Net, before: &[String; 2], directory: &Path, killed: &str) {
    let journal = journal::read(directory).expect("a journal");
    let Some(application) = journal.applications.first() else {
        assert_eq!(net.values(), *before, "killed {killed}, before its intent");
        return;
    };
    let state = application.state();
    assert!(matches!(state, State::Interrupted | State::Applied), "killed {killed}: {state:?}");
    let undone = net.topotop(&["fix", "undo"], directory);
    assert!(undone.status.success(), "killed {killed}: {}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(net.values(), *before, "killed {killed}");
    let journal = journal::read(directory).expect("a journal");
    assert_eq!(journal.applications.first().map(Application::state), Some(State::Undone));
}

#[test]
#[ignore = "make attack"]
fn killed_at_every_system_call() {
    const CALLS: [&str; 8] = ["openat", "read", "pread64", "write", "fsync", "fallocate", "flock", "lseek"];
    let Some(net) = Net::new() else { return };
    let before = net.values();
    let mut kills = 0;
    for call in CALLS {
        for at in 1..500 {
            let state = tempfile::tempdir().expect("a directory");
            let directory = state.path().join("state");
            let mut command = net.command(Path::new("strace"));
            let inject = format!("inject={call}:signal=KILL:when={at}");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
            command.arg(std::env::current_exe().expect("this program"));
            command.args(["--exact", "fixes::killed::somebody_else"]).stdout(Stdio::null()).stderr(Stdio::null());
            command.env(WISH, format!("killed 4000000 {}", directory.display()));
            let status = command.status().expect("strace runs");
            undone(&net, &before, &directory, &format!("at {call} {at}"));
            if status.success() {
                break;
            }
            kills += 1;
        }
    }
    eprintln!("killed at every system call: {kills} kills, 0 findings");
    assert!(kills > 20, "{kills}");
}

/// Waits until it is so.
fn until(what: &str, patience: u64, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(patience), "{what} did not come");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn state_of(directory: &Path) -> Option<(State, bool)> {
    let journal = journal::read(directory).ok()?;
    journal.applications.first().map(|application| (application.state(), application.ended.is_some()))
}

#[test]
fn what_nobody_confirms_takes_itself_back_though_its_program_was_killed() {
    let Some(net) = Net::new() else { return };
    let before = net.values();
    let state = tempfile::tempdir().expect("a directory");
    let directory = state.path().join("state");
    let status = net.child("armed 0", &directory).status().expect("it runs");
    assert!(!status.success(), "it was killed");
    assert_eq!(net.values(), ["1234", "1"]);
    until("the revert", 15, || state_of(&directory) == Some((State::Reverted, true)));
    assert_eq!(net.values(), before);
    let journal = net.topotop(&["fix", "journal"], &directory);
    let text = String::from_utf8_lossy(&journal.stdout).into_owned();
    assert!(text.contains("reverted") && text.contains("not confirmed") && text.contains("a test"), "{text}");
}

#[test]
fn what_nobody_confirms_takes_itself_back_though_its_terminal_is_gone() {
    let Some(net) = Net::new() else { return };
    let before = net.values();
    let state = tempfile::tempdir().expect("a directory");
    let directory = state.path().join("state");
    let child = std::env::current_exe().expect("this program");
    let wish = format!("waits 0 {}", directory.display());
    let arguments = [
        "-t",
        &net.0.id().to_string(),
        "-n",
        "-m",
        &child.display().to_string(),
        "--exact",
        "fixes::killed::somebody_else",
    ];
    let session = crate::common::pty::Session::start("nsenter", &arguments, (80, 24), &[(WISH, wish.as_str())]);
    until("the fix", 15, || state_of(&directory) == Some((State::Applied, true)));
    // The terminal hangs up, and everything that it has is killed.
    let pid = Pid::from_raw(session.pid()).expect("a pid");
    drop(session);
    let _ = kill_process(pid, Signal::KILL);
    until("the revert", 15, || state_of(&directory) == Some((State::Reverted, true)));
    assert_eq!(net.values(), before);
}

#[test]
fn what_is_confirmed_stays() {
    let Some(net) = Net::new() else { return };
    let before = net.values();
    let state = tempfile::tempdir().expect("a directory");
    let directory = state.path().join("state");
    let status = net.child("armed 0", &directory).status().expect("it runs");
    assert!(!status.success(), "it was killed");
    let confirmed = net.topotop(&["fix", "confirm", "1"], &directory);
    assert!(confirmed.status.success(), "{}", String::from_utf8_lossy(&confirmed.stderr));
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!(net.values(), ["1234", "1"]);
    assert_eq!(state_of(&directory), Some((State::Applied, true)));
    let undone = net.topotop(&["fix", "undo", "1"], &directory);
    assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stderr));
    assert_eq!(net.values(), before);
}

#[test]
fn a_journal_without_room_stops_it_before_it_writes() {
    let Some(net) = Net::new() else { return };
    let before = net.values();
    let state = tempfile::tempdir().expect("a directory");
    let full = state.path().join("full");
    std::fs::create_dir(&full).expect("made");
    // Neither tells anybody else: the mount is of a namespace of its own.
    let line = |options: &str, fill: &str| {
        format!(
            "mount -t tmpfs -o {options} tmpfs {0} && chmod 700 {0} && {fill} && exec \"$0\" --exact fixes::killed::somebody_else --nocapture",
            full.display()
        )
    };
    let cases = [
        line("size=64k", &format!("{{ head -c 200000 /dev/zero > {}/ballast || true; }}", full.display())),
        line("size=1m", &format!("mount -o remount,ro {}", full.display())),
    ];
    for case in cases {
        let mut command = net.command(Path::new("unshare"));
        command.args(["-m", "sh", "-c", &case]).arg(std::env::current_exe().expect("this program"));
        command.env(WISH, format!("killed 4000000 {}", full.display()));
        let output = command.output().expect("it runs");
        assert!(!output.status.success(), "it is refused");
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("No space left on device") || said.contains("Read-only file system"), "{said}");
        assert_eq!(net.values(), before);
    }
}
