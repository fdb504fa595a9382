//! Recordings that bracket a command.

use super::{Background, PATIENCE, Read, TOPOTOP, command, place, read, run, text};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use topotop_model::recording::What;

/// How the command ended; a late last sample may be reported after it.
fn exit(read: &Read) -> What {
    let mut ends = read.events.iter().map(|(_, event)| &event.what).filter(|what| matches!(what, What::Exit { .. }));
    let end = ends.next().expect("an end").clone();
    assert_eq!(ends.next(), None);
    end
}

#[test]
fn its_status_is_passed_on_and_its_end_is_in_the_recording() {
    let (_dir, path, shown) = place("a.rec");
    let output = run(&["-o", &shown, "--interval", "100ms", "--", "sh", "-c", "sleep 0.5; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let read = read(&path);
    assert!(read.closed);
    let events: Vec<&What> = read.events.iter().map(|(_, event)| &event.what).collect();
    assert!(matches!(events.first(), Some(What::Start { command }) if command.len() == 3), "{events:?}");
    assert_eq!(exit(&read), What::Exit { status: Some(7), signal: None });
    // Samples from before it began until after it ended.
    let ended = read.events.iter().find(|(_, event)| event.what == exit(&read)).expect("an end").1.mono_ns;
    let stamp = |index: usize| read.samples[index].1.stamp.mono_ns;
    assert!(stamp(0) < read.events[0].1.mono_ns && stamp(read.samples.len() - 1) >= ended - 200_000_000);
    assert!(read.samples.len() >= 2, "{:?}", read.steps());
}

#[test]
fn a_command_that_a_signal_ends_says_so() {
    let (_dir, path, shown) = place("a.rec");
    let output = run(&["-o", &shown, "--", "sh", "-c", "kill -9 $$"]);
    assert_eq!((output.status.code(), output.status.signal()), (Some(137), None));
    assert_eq!(exit(&read(&path)), What::Exit { status: None, signal: Some(9) });
}

#[test]
fn what_cannot_be_run_leaves_nothing_behind() {
    for (program, status) in [("/nonexistent", 127), ("/etc/passwd", 126)] {
        let (_dir, path, shown) = place("a.rec");
        let output = run(&["-o", &shown, "--", program]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.lines().count() == 1 && said.contains(program), "{said}");
        assert!(!path.exists(), "{program}");
    }
    for wrong in [vec!["-o", "/nonexistent/a.rec"], vec!["-o", "x", "--for", "bogus"], vec!["-o", "x", "--root", "/x"]]
    {
        let output = run(&[wrong.as_slice(), &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(125), "{wrong:?}: {}", text(&output.stderr));
    }
}

#[test]
fn its_streams_and_limits_are_its_own() {
    let (_dir, _, shown) = place("a.rec");
    let mut child = command(&["-o", &shown, "--", "sh", "-c", "cat; echo oops >&2; ulimit -n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(b"in and out\n").expect("written");
    let output = child.wait_with_output().expect("it ends");
    let limit = std::process::Command::new("sh").args(["-c", "ulimit -n"]).output().expect("sh runs").stdout;
    assert_eq!(text(&output.stdout), format!("in and out\n{}", text(&limit)));
    assert_eq!(text(&output.stderr), "oops\n");
}

#[test]
fn its_output_does_not_get_into_a_stream() {
    let output = run(&["-o", "-", "--", "echo", "hello"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), "hello\n"));
    let read = super::read_all(topotop_model::recording::Reader::open(output.stdout).expect("a stream"));
    assert!(!read.samples.is_empty());
}

/// True if this process was started with SIGHUP ignored, as its children are then.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("hexadecimal") & 1 == 1
}

#[test]
fn signals_are_passed_on_and_the_end_is_waited_for() {
    // A shell cannot trap what it was started to ignore, as below nohup.
    let ignored = ignores_hangups();
    for (signal, status) in [("TERM", 3), ("HUP", 4), ("USR1", 5)].into_iter().filter(|row| row.0 != "HUP" || !ignored)
    {
        let (dir, path, shown) = place("a.rec");
        let ready = dir.path().join("ready");
        let script = format!(
            "trap 'exit 3' TERM; trap 'exit 4' HUP; trap 'exit 5' USR1; touch {}; while :; do sleep 0.05; done",
            ready.display()
        );
        let mut recording = Background::start(&["-o", &shown, "--interval", "100ms", "--", "sh", "-c", &script]);
        let start = Instant::now();
        while !ready.exists() {
            assert!(start.elapsed() < super::PATIENCE, "the command does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        recording.signal(signal);
        assert_eq!(recording.ends(), Some(status), "SIG{signal}");
        let read = read(&path);
        assert!(read.closed);
        assert_eq!(exit(&read), What::Exit { status: Some(status), signal: None }, "SIG{signal}");
    }
}

#[test]
fn a_terminals_ctrl_c_reaches_the_command_once() {
    let (dir, path, shown) = place("a.rec");
    let count = dir.path().join("count");
    let script = format!(
        "trap 'echo x >> {}; n=1' INT; echo ready; while [ -z \"$n\" ]; do sleep 0.1; done; sleep 0.5; exit 6",
        count.display()
    );
    let arguments = ["record", "--no-hwloc", "-o", &shown, "--interval", "100ms", "--", "sh", "-c", &script];
    let mut session = crate::common::pty::Session::topotop(&arguments, (100, 24));
    session.shows("ready");
    session.keys("\x03");
    assert_eq!(session.ends(), 6);
    assert_eq!(std::fs::read_to_string(count).expect("a count"), "x\n");
    assert!(read(&path).closed);
}

#[test]
fn a_grandchild_that_stays_does_not_hold_it_up() {
    let (dir, path, shown) = place("a.rec");
    let pid = dir.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; exit 0", pid.display());
    let status = command(&["-o", &shown, "--", "sh", "-c", &script])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("it runs");
    let pid = std::fs::read_to_string(pid).expect("a pid").trim().parse().expect("a number");
    let stays = std::path::Path::new("/proc").join(format!("{pid}")).exists();
    crate::common::pty::kill("KILL", pid);
    assert_eq!(status.code(), Some(0));
    assert!(stays, "it was waited for");
    assert!(read(&path).closed);
}

#[test]
fn a_time_limit_closes_the_file_and_lets_the_command_end() {
    let (_dir, path, shown) = place("a.rec");
    let arguments = ["-o", &shown, "--for", "300ms", "--interval", "100ms", "--", "sh", "-c", "sleep 1.5; exit 9"];
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(9), "{}", text(&output.stderr));
    let read = read(&path);
    assert!(read.closed);
    assert!(read.steps().iter().sum::<f64>() < 1.2, "{:?}", read.steps());
}

/// Another user takes names of recordings: one of root's with a full queue, and one of its own for root's file.
#[test]
fn names_that_another_user_takes_keep_nobody_from_marking() {
    const SQUATTER: &str = r#"
import os, socket, sys, time
os.setgid(65534); os.setuid(65534)
held = []
for name in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX); s.bind("\0" + name); s.listen(0)
    c = socket.socket(socket.AF_UNIX); c.connect("\0" + name)
    held += [s, c]
print("ready", flush=True)
time.sleep(60)
"#;
    if !rustix::process::geteuid().is_root() {
        crate::common::not_tested("only root becomes somebody else");
        return;
    }
    let (_dir, path, shown) = place("a.rec");
    let mut recording = Background::start(&["-o", &shown, "--interval", "100ms"]);
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < PATIENCE, "no recording");
        std::thread::sleep(Duration::from_millis(50));
    }
    let facts = path.metadata().expect("a file");
    let file = format!("{}-{}", facts.dev(), facts.ino());
    let names = [format!("topotop-record/0/{file}/1"), format!("topotop-record/65534/{file}/1")];
    let mut squatter = Command::new("python3");
    let mut squatter =
        squatter.args(["-c", SQUATTER]).args(names).stdout(Stdio::piped()).spawn().expect("python3 runs");
    let mut ready = [0; 5];
    squatter.stdout.take().expect("a pipe").read_exact(&mut ready).expect("it is ready");
    let mut marked = false;
    while !marked && start.elapsed() < PATIENCE {
        let mut mark = Command::new("timeout");
        let output = mark.args(["-s", "KILL", "20", TOPOTOP, "mark", "-o", &shown, "here"]).output().expect("it runs");
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(0) || said.contains("nothing is recording to it"),
            "{:?} {said}",
            output.status
        );
        marked = output.status.success();
    }
    let _ = squatter.kill();
    let _ = squatter.wait();
    recording.signal("TERM");
    assert!(marked && recording.ends() == Some(0));
}

/// Whoever owns a file may pretend to record it; root asks him for its path.
#[test]
fn one_that_answers_byte_by_byte_is_not_waited_for() {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let (_dir, path, shown) = place("a.rec");
    std::fs::write(&path, "").expect("written");
    let facts = path.metadata().expect("a file");
    let name = format!("topotop-record/{}/{}-{}/1", facts.uid(), facts.dev(), facts.ino());
    let address = SocketAddr::from_abstract_name(name).expect("an address");
    let listener = UnixListener::bind_addr(&address).expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                while std::io::Write::write_all(&mut stream, b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(300));
                }
            });
        }
    });
    let start = Instant::now();
    let mut mark = Command::new("timeout");
    let output = mark.args(["-s", "KILL", "60", TOPOTOP, "mark", "-o", &shown, "here"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[test]
fn marks_come_from_another_process() {
    let (_dir, path, shown) = place("a.rec");
    let mark = |arguments: &[&str]| {
        let output =
            Command::new(TOPOTOP).arg("mark").args(arguments).env("LANG", "C.UTF-8").output().expect("it runs");
        (output.status.code(), text(&[output.stdout, output.stderr].concat()))
    };
    let mut recording = Background::start(&["-o", &shown, "--interval", "100ms"]);
    let start = Instant::now();
    // Other tests may record, too: the file names this one.
    while mark(&["-o", &shown, "warm-up"]).0 != Some(0) {
        assert!(start.elapsed() < PATIENCE, "{:?}", mark(&["-o", &shown, "x"]));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(mark(&["-o", &shown, "8 clients"]), (Some(0), format!("marked in {shown}\n")));
    recording.signal("TERM");
    assert_eq!(recording.ends(), Some(0));
    assert_eq!(read(&path).events.iter().filter(|event| matches!(event.1.what, What::Mark { .. })).count(), 2);
    let (status, said) = mark(&["-o", &shown, "late"]);
    assert!(status == Some(2) && said.contains("nothing is recording to it"), "{said}");
}

/// Another user takes the name of a recording before it begins; a second one goes to standard output as well.
#[test]
fn recordings_to_standard_output_are_told_apart_and_marked() {
    const SQUATTED: &str = r#"
import os, socket, sys, time
ready, taken = os.pipe()
if os.fork() == 0:
    own = os.getppid()
    if os.getuid() == 0:
        os.setgid(65534); os.setuid(65534)
    s = socket.socket(socket.AF_UNIX); s.bind("\0topotop-record/%s/0-0/%d" % (sys.argv[1], own)); s.listen(1)
    os.write(taken, b"x")
    while os.getppid() == own:
        time.sleep(0.1)
    os._exit(0)
os.read(ready, 1)
os.execv(sys.argv[2], sys.argv[2:])
"#;
    let uid = rustix::process::geteuid().as_raw().to_string();
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str| std::fs::File::create(dir.path().join(name)).expect("made");
    let record = ["record", "-o", "-", "--interval", "100ms"];
    let mut squatted = Command::new("python3");
    let squatted = squatted.args(["-c", SQUATTED, &uid, TOPOTOP]).args(record).stdout(file("a")).spawn();
    let plain = Command::new(TOPOTOP).args(record).stdout(file("b")).spawn();
    let mut both = [squatted.expect("python3 runs"), plain.expect("it runs")];
    let mark = |arguments: &[&str]| {
        let mut mark = Command::new("timeout");
        mark.args(["-s", "KILL", "60", TOPOTOP, "mark"]).args(arguments).env("LANG", "C.UTF-8");
        let output = mark.output().expect("it runs");
        (output.status.code(), text(&[output.stdout, output.stderr].concat()))
    };
    let pids = both.each_ref().map(|child| child.id().to_string());
    let start = Instant::now();
    for pid in &pids {
        while mark(&["--pid", pid, "here"]).0 != Some(0) {
            assert!(start.elapsed() < PATIENCE, "{:?}", mark(&["--pid", pid, "here"]));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let (status, said) = mark(&["here"]);
    assert!(status == Some(2) && pids.iter().all(|pid| said.contains(&format!("(PID {pid})"))), "{said}");
    for (child, name) in both.iter_mut().zip(["a", "b"]) {
        let pid = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("ended");
        assert!(child.wait().expect("ended").success());
        let read = read(&dir.path().join(name));
        let marks = read.events.iter().filter(|event| matches!(event.1.what, What::Mark { .. }));
        assert_eq!(marks.count(), 1, "{name}");
    }
}
