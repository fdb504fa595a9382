//! The real program in a terminal: what it shows, and that it gives the terminal back whatever happens.

use crate::common::pty::{Session, hang_up, kill};
use std::time::Duration;

const USUAL: (u16, u16) = (120, 40);

fn live() -> Session {
    let session = Session::topotop(&["--interval", "200ms"], USUAL);
    session.shows("LIVE 200ms");
    session
}

#[test]
fn every_screen_comes_and_q_leaves() {
    let mut session = live();
    for (number, panel) in (1..).zip(topotop_widgets::all()) {
        session.keys(&number.to_string());
        session.shows(&format!("{number} {}", panel.title()));
    }
    session.keys("\t\x1b[Z");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn it_fits_every_size() {
    let mut session = live();
    for (cols, rows) in [(80, 24), (200, 60), (60, 15), (20, 5), (1, 1), (120, 40)] {
        session.resize(cols, rows);
        match (cols, rows) {
            (20, 5) => session.shows("too small"),
            (1, 1) => std::thread::sleep(Duration::from_millis(300)),
            _ => session.until("a footer at the new edge", |screen| {
                screen.lines().nth(usize::from(rows) - 1).is_some_and(|line| line.contains("? help"))
            }),
        }
    }
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn pause_holds_steps_go_back_and_live_returns() {
    let mut session = live();
    std::thread::sleep(Duration::from_millis(1500));
    session.keys(" ");
    session.shows("PAUSED");
    let title = |session: &Session| session.text().lines().next().unwrap_or_default().to_owned();
    let behind = |title: &str| title.rsplit_once(" -").map(|(_, rest)| rest.trim().to_owned());
    let first = title(&session);
    session.until("sampling going on behind the picture", |screen| {
        screen.lines().next().is_some_and(|line| behind(line) != behind(&first))
    });
    let paused_at = |title: &str| title.split("PAUSED ").nth(1).and_then(|rest| rest.get(..8)).map(str::to_owned);
    for _ in 0..6 {
        session.keys("\x1b[D");
    }
    session.until("an earlier second", |screen| {
        screen.lines().next().is_some_and(|line| paused_at(line) < paused_at(&first))
    });
    for _ in 0..6 {
        session.keys("\x1b[C");
    }
    session.until("the second that was held", |screen| {
        screen.lines().next().is_some_and(|line| paused_at(line) == paused_at(&first))
    });
    session.keys("t1h\r");
    session.until("the oldest sample", |screen| {
        screen.lines().next().is_some_and(|line| paused_at(line) < paused_at(&first))
    });
    session.keys("\x1b");
    session.shows("LIVE");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn the_filter_narrows_as_it_is_typed() {
    let mut session = live();
    let processes = topotop_widgets::all().iter().position(|panel| panel.id() == "processes").expect("processes") + 1;
    session.keys(&processes.to_string());
    session.shows("topotop   ");
    session.keys("/no-such-process-anywhere");
    session.shows("filter: no-such-process-anywhere_");
    session.until("an empty table", |screen| {
        !screen.lines().skip(1).any(|line| line.contains("topotop   ") && !line.contains("filter"))
    });
    session.keys("\x1b");
    session.hides("filter:");
    session.until("the rows again", |screen| screen.lines().skip(1).any(|line| line.contains("topotop   ")));
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn findings_are_read_and_gone_to() {
    let mut session = live();
    session.keys("7");
    session.shows("rules quiet");
    session.keys("m");
    session.shows("Rules and their state");
    session.keys("/NIC-01\r");
    session.shows("Rule NIC-01");
    session.shows("Thresholds");
    session.keys("2");
    // Whatever is found or not: the line stands above the footer of every other screen.
    session.until("a line of findings", |screen| {
        let line = screen.lines().nth(38).unwrap_or_default();
        line.contains("no findings") || line.trim_start().starts_with(['▲', '△', '○'])
    });
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn help_lists_keys_and_the_mouse_turns_tabs() {
    let mut session = live();
    session.keys("?");
    session.shows("/: search, Esc: close");
    session.keys("/suspend\r");
    session.shows("suspend to the shell");
    session.hides("Legend (overview)");
    session.keys("\x1b");
    session.shows("Legend (overview)");
    session.keys("\x1b");
    session.hides("Legend (overview)");
    session.keys("M");
    session.shows("mouse off");
    session.keys("M");
    session.shows("mouse on");
    // A click on the first tab: the footer's first columns, in SGR form.
    session.hides("mouse on");
    session.keys("\x1b[<0;3;40M\x1b[<0;3;40m");
    session.keys("\x1b[<65;30;10M");
    session.keys("\x03");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn a_shell_gets_the_terminal_and_gives_it_back() {
    let mut session =
        Session::start("bash", &["--norc", "--noprofile", "-i"], USUAL, &[("PS1", "shell> "), ("TERM", "xterm")]);
    session.shows("shell> ");
    let program = crate::common::pty::TOPOTOP;
    for _ in 0..2 {
        session.keys(&format!("{program} --interval 200ms\r"));
        session.shows("LIVE 200ms");
        session.entered();
        session.keys("\x1a");
        session.shows("Stopped");
        session.restored_for_a_shell();
        session.keys("fg\r");
        session.entered();
        session.shows("LIVE 200ms");
        session.keys("q");
        session.until("the shell", |screen| screen.trim_end().ends_with("shell>"));
        session.restored_for_a_shell();
    }
    session.keys("exit\r");
    session.ends();
}

#[test]
fn stop_and_continue_by_signal() {
    let mut session =
        Session::start("bash", &["--norc", "--noprofile", "-i"], USUAL, &[("PS1", "shell> "), ("TERM", "xterm")]);
    session.shows("shell> ");
    session.keys(&format!("{} --interval 200ms\r", crate::common::pty::TOPOTOP));
    session.shows("LIVE 200ms");
    let shell = session.pid();
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).expect("children");
    let pid: i32 = children.split_whitespace().next().expect("a child").parse().expect("a pid");
    kill("TSTP", pid);
    session.shows("Stopped");
    session.restored_for_a_shell();
    session.keys("fg\r");
    session.entered();
    session.shows("LIVE 200ms");
    kill("TERM", pid);
    session.until("the shell", |screen| screen.trim_end().ends_with("shell>"));
    session.restored_for_a_shell();
    session.keys("exit\r");
    session.ends();
}

#[test]
fn without_a_shell_there_is_nothing_to_suspend_to() {
    let mut session = live();
    session.keys("\x1a");
    session.shows("no shell to suspend to");
    session.keys("q");
    assert_eq!(session.ends(), 0);
}

#[test]
fn signals_leave_in_order() {
    for signal in ["TERM", "HUP", "INT"] {
        let mut session = live();
        session.signal(signal);
        assert_eq!(session.ends(), 0, "SIG{signal}");
        session.restored();
    }
}

#[test]
fn a_panic_gives_the_terminal_back_first() {
    let size = USUAL;
    let program = crate::common::pty::TOPOTOP;
    let mut session = Session::start(program, &[], size, &[("TOPOTOP_TEST_PANIC", "1")]);
    session.shows("LIVE");
    session.keys("\x0c");
    assert_eq!(session.ends(), 101);
    session.restored();
    session.shows("TOPOTOP_TEST_PANIC is set");
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    assert!([0, 2].contains(&hang_up()));
}

#[test]
fn a_captured_machine_stands_still() {
    let dir = tempfile::tempdir().expect("a directory");
    crate::common::synthetic::Machine::SMALL.write(dir.path(), 0);
    let root = dir.path().to_str().expect("a path");
    let mut session = Session::topotop(&["--root", root], USUAL);
    session.shows("CAPTURED");
    session.shows("8 CPUs");
    session.keys("+");
    session.shows("does not change");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn nothing_hostile_reaches_the_terminal() {
    let dir = tempfile::tempdir().expect("a directory");
    crate::common::hostile_names(dir.path());
    let root = dir.path().to_str().expect("a path");
    let mut session = Session::topotop(&["--root", root], USUAL);
    session.shows("CAPTURED");
    for number in 1..=topotop_widgets::all().len() {
        session.keys(&number.to_string());
        std::thread::sleep(Duration::from_millis(100));
    }
    let raw = session.raw();
    // Its own question about the background aside.
    let text = String::from_utf8_lossy(&raw).replacen("\x1b]11;?\x1b\\", "", 1);
    assert!(text.contains("evil"), "the names were not shown at all");
    assert!(!text.contains("\u{1b}]"), "a name set the window's title");
    assert!(!text.contains("\u{1b}[31;5m"), "a name changed colours");
    assert!(!text.chars().any(|c| ('\u{202a}'..='\u{202e}').contains(&c)), "a name turned the text around");
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

#[test]
fn a_terminal_that_claims_to_be_enormous_is_drawn_in_a_corner() {
    let mut session = live();
    session.claim(u16::MAX, u16::MAX);
    std::thread::sleep(Duration::from_millis(500));
    session.resize(120, 40);
    session
        .until("a footer at the new edge", |screen| screen.lines().nth(39).is_some_and(|line| line.contains("? help")));
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}
