//! The real program in a terminal, with keys.

use super::{damage, recorded};
use crate::common::pty::{Session, TOPOTOP};
use std::process::{Command, Stdio};
use std::time::Duration;

const USUAL: (u16, u16) = (120, 40);

fn title(screen: &str) -> &str {
    screen.lines().next().unwrap_or_default()
}

fn at(session: &Session, time: &str) {
    session.until(time, |screen| title(screen).contains(time));
}

fn leaves(mut session: Session) {
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn keys_go_through_a_recording() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 600);
    let mut session = Session::topotop(&["replay", path.to_str().expect("a path"), "--paused"], USUAL);
    at(&session, "10:00:00 UTC");
    session.keys("\x1b[C\x1b[C\x1b[C\x1b[D");
    at(&session, "10:00:02 UTC");
    session.keys(">");
    at(&session, "10:00:50 UTC");
    session.shows("mark 1 of 6: step 1");
    session.keys("}");
    at(&session, "10:01:50 UTC");
    session.keys(">>>");
    at(&session, "10:05:50 UTC");
    session.keys("<");
    at(&session, "10:04:10 UTC");
    for (typed, time) in [
        ("50%", "10:05:00 UTC"),
        ("-30s", "10:04:30 UTC"),
        ("+2m", "10:06:30 UTC"),
        ("7m", "10:07:00 UTC"),
        ("10:08", "10:08:00 UTC"),
        ("10:08:30", "10:08:30 UTC"),
        ("2026-01-02 10:09", "10:09:00 UTC"),
    ] {
        session.keys(&format!("t{typed}\r"));
        at(&session, time);
    }
    session.keys("\x1b[F");
    at(&session, "10:09:59 UTC");
    session.keys("\x1b[C");
    session.shows("last sample");
    session.keys("\x1b[H");
    at(&session, "10:00:00 UTC");
    leaves(session);
}

#[test]
fn times_are_those_of_the_local_zone() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 600);
    let arguments = ["replay", path.to_str().expect("a path"), "--paused"];
    // A zone as POSIX writes it: no file is needed for it.
    let mut session = Session::start(TOPOTOP, &arguments, USUAL, &[("TZ", "XYZ-5:30")]);
    at(&session, "15:30:00 UTC+5:30");
    session.keys("t15:38\r");
    at(&session, "15:38:00 UTC+5:30");
    session.keys("t2026-01-02T10:09Z\r");
    at(&session, "15:39:00 UTC+5:30");
    leaves(session);
}

#[test]
fn it_plays_at_any_speed_and_loops() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 600);
    let mut session = Session::topotop(&["replay", path.to_str().expect("a path"), "--paused"], USUAL);
    at(&session, "10:00:00 UTC");
    session.keys("+++");
    at(&session, "10×");
    session.keys(" ");
    session.until("play", |screen| title(screen).contains('▶') && !title(screen).contains("10:00:00 UTC"));
    session.keys(" ");
    session.until("pause", |screen| title(screen).contains('‖'));
    // A loop of three seconds is not left.
    session.keys("t1m\r(t63s\r)t1m\r---");
    session.until("a loop", |screen| title(screen).contains("loop") && title(screen).contains(" 1× "));
    session.keys(" ");
    for _ in 0..25 {
        std::thread::sleep(Duration::from_millis(200));
        let text = session.text();
        let inside = ["10:01:00 UTC", "10:01:01 UTC", "10:01:02 UTC", "10:01:03 UTC"];
        assert!(inside.iter().any(|time| title(&text).contains(time)), "{text}");
    }
    session.keys("L");
    at(&session, "10:01:05 UTC");
    leaves(session);
}

#[test]
fn every_screen_has_the_line_and_it_is_clicked_and_dragged() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 600);
    for (cols, rows) in [(80, 24), (120, 40), (200, 60)] {
        let arguments = ["replay", path.to_str().expect("a path"), "--paused", "--from", "5m"];
        let mut session = Session::topotop(&arguments, (cols, rows));
        at(&session, "10:05:00 UTC");
        for number in 1..=topotop_widgets::all().len() {
            session.keys(&number.to_string());
            session.until("the line", |screen| {
                let line = screen.lines().nth(usize::from(rows) - 2).unwrap_or_default();
                line.contains("10:00:00 ")
                    && line.contains('┃')
                    && line.contains('◆')
                    && line.trim_end().ends_with(" 10:09:59")
            });
        }
        let row = rows - 1;
        // Its left end; then dragged to its right end, past the line.
        session.keys(&format!("\x1b[<0;11;{row}M"));
        at(&session, "10:00:00 UTC");
        session.keys(&format!("\x1b[<32;{};3M\x1b[<0;{cols};3m", cols - 1));
        at(&session, "10:09:59 UTC");
        // Without a button on it nothing is dragged.
        session.keys("\x1b[<32;20;3M");
        session.keys("?");
        session.shows("/: search, Esc: close");
        session.keys("\x1b");
        session.hides("/: search, Esc: close");
        leaves(session);
    }
}

#[test]
fn what_has_no_use_in_a_recording_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 60);
    let mut session = Session::topotop(&["replay", path.to_str().expect("a path"), "--paused"], USUAL);
    at(&session, "10:00:00 UTC");
    session.keys("R");
    session.shows("not available in a replay");
    session.keys("o");
    session.shows("only one machine");
    leaves(session);
}

#[test]
fn a_damaged_file_plays_on_and_says_where() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = recorded(dir.path(), 300);
    damage(&path, 0.5, 100);
    let arguments = ["replay", path.to_str().expect("a path"), "--speed", "20", "--from", "100s"];
    let session = Session::topotop(&arguments, USUAL);
    session.shows("damaged at byte");
    session.until("the damage on the line", |screen| screen.lines().nth(38).is_some_and(|line| line.contains('×')));
    at(&session, "10:04:59 UTC");
    leaves(session);
}

#[test]
fn a_file_that_is_being_written_is_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("growing.rec");
    let file = path.to_str().expect("a path");
    let mut recorder = Command::new(TOPOTOP)
        .args(["record", "--no-hwloc", "--interval", "200ms", "-o", file])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let begun = || std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 20_000);
    while !begun() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut session = Session::topotop(&["replay", file], USUAL);
    session.shows("at the end");
    let time = |session: &Session| title(&session.text()).split('●').nth(1).map(str::to_owned);
    let first = time(&session);
    session.until("a new sample", |screen| title(screen).split('●').nth(1).map(str::to_owned) != first);
    session.keys("\x1b[D\x1b[D");
    session.until("a step back", |screen| title(screen).contains('‖'));
    session.until("the end going on", |screen| title(screen).contains("s before the end"));
    session.keys("\x1b[F");
    session.shows("at the end");
    crate::common::pty::kill("TERM", recorder.id() as i32);
    recorder.wait().expect("a status");
    session.until("its end", |screen| title(screen).contains('‖') && !title(screen).contains("at the end"));
    leaves(session);
}

#[test]
fn a_stream_is_a_monitor_and_leaves_its_last_picture() {
    let script = format!("{TOPOTOP} record --no-hwloc --interval 200ms --for 6s -o - | {TOPOTOP} replay -");
    let mut session = Session::start("bash", &["-c", &script], USUAL, &[]);
    session.shows("at the end");
    session.keys(" ");
    session.until("pause", |screen| title(screen).contains('‖') && title(screen).contains("before the end"));
    session.keys("\x1b[D\x1b[D");
    session.keys("\x1b[F");
    session.shows("at the end");
    session.shows("the stream has ended");
    session.keys("2\x1b[D");
    session.until("a step back", |screen| title(screen).contains('‖'));
    leaves(session);
}

#[test]
fn a_keyboard_is_no_stream() {
    let mut session = Session::topotop(&["replay", "-"], USUAL);
    session.shows("standard input is a terminal");
    assert_eq!(session.ends(), 2);
    session.restored();
}

#[test]
fn two_streams_come_through_pipes() {
    let dir = tempfile::tempdir().expect("a directory");
    let pipes = ["a", "b"].map(|name| dir.path().join(name).to_str().expect("a path").to_owned());
    let record = |pipe: &str| format!("{TOPOTOP} record --no-hwloc --interval 200ms --for 8s -o - > {pipe} 2>&- &");
    let script = format!(
        "mkfifo {0} {1}; {2} {3} {TOPOTOP} replay {0} {1}",
        pipes[0],
        pipes[1],
        record(&pipes[0]),
        record(&pipes[1])
    );
    let mut session = Session::start("bash", &["-c", &script], USUAL, &[]);
    session.shows("same clock (same boot)");
    session.until("the first one", |screen| title(screen).contains("(a)  | ") && title(screen).contains("at the end"));
    session.keys("o");
    session.until("the other one", |screen| title(screen).contains("(b)  | ") && title(screen).contains("at the end"));
    session.shows("the stream has ended");
    leaves(session);
}

#[test]
fn two_machines_are_switched() {
    let dir = tempfile::tempdir().expect("a directory");
    let (server, client) = (dir.path().join("server.rec"), dir.path().join("client.rec"));
    let reel = |host| crate::common::synthetic_recording::SyntheticRecording {
        host,
        seconds: 120,
        ..crate::common::synthetic_recording::SyntheticRecording::default()
    };
    reel("server").write(&server);
    reel("client").write(&client);
    let files = [server.to_str().expect("a path"), client.to_str().expect("a path")];
    let mut session = Session::topotop(&["replay", files[0], files[1], "--paused", "--from", "1m"], USUAL);
    session.until("both names", |screen| title(screen).contains("server  | client"));
    session.shows("same boot");
    session.keys("2");
    session.keys("o");
    session.until("the other one first", |screen| title(screen).contains("client  | server"));
    at(&session, "10:01:00 UTC");
    leaves(session);
}
