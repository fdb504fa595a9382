//! What the program asks its terminal and what comes of the answers: in time, late, in pieces, never; and a slow line.

use crate::common::pty::{Session, TOPOTOP, Terminal};
use crate::common::synthetic;
use std::collections::BTreeSet;
use std::time::Duration;

const SIZE: (u16, u16) = (80, 24);
const TRUE_COLOUR: (&str, &str) = ("COLORTERM", "truecolor");

/// A machine that stands still, with the whole screen drawn.
fn still(terminal: Terminal, arguments: &[&str], environment: &[(&str, &str)]) -> (Session, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a directory");
    synthetic::Machine::SMALL.write(dir.path(), 0);
    let root = dir.path().to_str().expect("a path");
    let arguments = [&["--root", root], arguments].concat();
    let session = Session::start_in(terminal, TOPOTOP, &arguments, SIZE, environment);
    // The end of the last row above the footer: its beginning alone may be half a picture.
    session.shows(" sda ");
    session.shows("r     ?");
    (session, dir)
}

fn quits(mut session: Session) {
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
}

/// What is the same wherever the machine is: the screen without its first line, and the styles on it.
fn picture(session: &Session) -> String {
    let text: Vec<String> = session.text().lines().skip(1).map(str::to_owned).collect();
    let styles: BTreeSet<String> = session.styles().into_iter().collect();
    format!("{}\n\n{}\n", text.join("\n"), styles.into_iter().collect::<Vec<_>>().join("\n"))
}

#[test]
fn without_colours() {
    let (session, _dir) = still(Terminal::default(), &[], &[("NO_COLOR", "1"), TRUE_COLOUR]);
    insta::assert_snapshot!(picture(&session));
    quits(session);
}

#[test]
fn with_sixteen_colours() {
    let (session, _dir) = still(Terminal::default(), &[], &[("TERM", "xterm")]);
    insta::assert_snapshot!(picture(&session));
    quits(session);
}

#[test]
fn in_the_c_locale() {
    let (session, _dir) = still(Terminal::default(), &[], &[("LANG", "C")]);
    assert!(session.text().is_ascii(), "{}", session.text());
    insta::assert_snapshot!(picture(&session));
    quits(session);
}

#[test]
fn where_ambiguous_characters_are_wide() {
    let terminal = Terminal { width: Some(2), reports: true, ..Terminal::default() };
    let (session, _dir) = still(terminal, &[], &[]);
    session.until("ASCII alone", str::is_ascii);
    insta::assert_snapshot!(picture(&session));
    quits(session);
}

#[test]
fn where_ambiguous_characters_are_wide_chinese_stays() {
    let terminal = Terminal { width: Some(2), reports: true, ..Terminal::default() };
    let (session, _dir) = still(terminal, &["--lang", "zh-CN"], &[]);
    let ambiguous = |c: char| {
        use unicode_width::UnicodeWidthChar as _;
        c.width() != c.width_cjk()
    };
    session.until("no character of ambiguous width", |screen| !screen.contains(ambiguous));
    insta::assert_snapshot!(picture(&session));
    quits(session);
}

#[test]
fn where_ambiguous_characters_are_narrow_nothing_changes() {
    let (silent, _one) = still(Terminal::default(), &[], &[]);
    let terminal = Terminal { width: Some(1), reports: true, ..Terminal::default() };
    let (session, _two) = still(terminal, &[], &[]);
    session.until("the same picture", |_| picture(&session) == picture(&silent));
    quits(session);
    quits(silent);
}

#[test]
fn a_light_background_is_drawn_on_with_the_light_theme() {
    let (light, _one) = still(Terminal::default(), &["--theme", "light"], &[TRUE_COLOUR]);
    let (dark, _two) = still(Terminal::default(), &[], &[TRUE_COLOUR]);
    let styles = |session: &Session| session.styles();
    assert_ne!(styles(&light), styles(&dark));
    for (background, arguments, like) in [
        ("rgb:ffff/ffff/eeee", &[][..], &light),
        ("rgb:0000/1111/1111", &[], &dark),
        // A theme that was chosen stays.
        ("rgb:ffff/ffff/ffff", &["--theme", "default"], &dark),
    ] {
        let terminal = Terminal { background: Some(background), reports: true, ..Terminal::default() };
        let (session, _dir) = still(terminal, arguments, &[TRUE_COLOUR]);
        session.until("the theme", |_| session.styles() == like.styles());
        quits(session);
    }
}

#[test]
fn late_and_split_answers_are_never_keys() {
    let (mut session, _dir) = still(Terminal::default(), &[], &[TRUE_COLOUR]);
    std::thread::sleep(Duration::from_secs(2));
    let before = (session.text(), session.styles());
    for answer in ["\x1b]11;rgb:1f1f/2f2f/0c0c\x1b\\", "\x1b]11;rgb:0/0/0\x07", "\x1b[24;80R", "\x1b[1;5R"] {
        session.keys(answer);
        for at in 1..answer.len() {
            let (one, two) = answer.split_at(at);
            session.keys(one);
            std::thread::sleep(Duration::from_millis(30));
            session.keys(two);
        }
    }
    // What has been read of them is behind what comes after.
    session.keys("?");
    session.shows("Legend");
    session.keys("?");
    session.until("the screen before", |screen| screen == before.0);
    assert_eq!(session.styles(), before.1);
    quits(session);
}

#[test]
fn a_light_background_that_is_told_late_changes_colours_only() {
    let (light, _one) = still(Terminal::default(), &["--theme", "light"], &[TRUE_COLOUR]);
    let (mut session, _two) = still(Terminal::default(), &[], &[TRUE_COLOUR]);
    std::thread::sleep(Duration::from_secs(2));
    session.keys("\x1b]11;rgb:ffff/fff");
    session.keys("f/ffff\x1b\\");
    session.until("the light theme", |_| session.styles() == light.styles());
    quits(session);
    quits(light);
}

#[test]
fn nothing_is_left_for_the_shell_to_read() {
    let terminal = Terminal {
        background: Some("rgb:0000/0000/0000"),
        width: Some(1),
        reports: true,
        pause: Duration::from_millis(20),
        ..Terminal::default()
    };
    let plain = ["--norc", "--noprofile", "-i"];
    let mut session = Session::start_in(terminal, "bash", &plain, SIZE, &[("PS1", "shell> ")]);
    session.shows("shell> ");
    for _ in 0..3 {
        session.keys(&format!("{TOPOTOP} --interval 200ms\r"));
        session.shows("LIVE 200ms");
        session.keys("2q");
        session.until("the shell", |screen| screen.trim_end().ends_with("shell>"));
    }
    session.keys("echo do''ne\r");
    session.shows("done");
    assert!(!session.text().contains("[0n"), "{}", session.text());
    session.keys("exit\r");
    session.ends();
}

/// Pictures that were begun in some bytes.
fn pictures(bytes: &[u8]) -> usize {
    bytes.windows(8).filter(|part| part == b"\x1b[?2026h").count()
}

#[test]
fn a_line_of_a_kilobyte_a_second_is_never_more_than_one_picture_behind() {
    slow(
        Terminal { width: Some(1), reports: true, pause: Duration::from_secs(1), ..Terminal::default() },
        SIZE,
        Duration::ZERO,
    );
}

#[test]
fn a_wide_terminal_on_a_slow_line_neither() {
    slow(
        Terminal { width: Some(1), reports: true, pause: Duration::from_millis(300), ..Terminal::default() },
        (120, 40),
        Duration::ZERO,
    );
}

#[test]
fn a_slow_line_that_answers_nothing_neither() {
    // What the terminal draws is known once it was full.
    slow(Terminal { pause: Duration::from_millis(300), ..Terminal::default() }, (120, 40), Duration::from_secs(20));
}

/// Does something on a slow line after a while.
fn slow(terminal: Terminal, size: (u16, u16), after: Duration) {
    let session = Session::start_in(terminal, TOPOTOP, &["--interval", "200ms"], size, &[]);
    let mut session = session.patient(Duration::from_mins(2));
    session.shows("LIVE");
    std::thread::sleep(after);
    // The picture that is on its way, then the one with what the key did.
    for (key, shown) in [("2", "Cores:"), ("?", "This screen"), ("?", "? help"), ("5", "Processes:")] {
        let before = session.raw().len();
        session.keys(key);
        session.shows(shown);
        let since = session.raw();
        assert!(pictures(&since[before..]) <= 3, "{key}: {} pictures", pictures(&since[before..]));
    }
    let before = session.raw().len();
    session.keys("q");
    assert_eq!(session.ends(), 0);
    session.restored();
    let since = session.raw();
    assert!(pictures(&since[before..]) <= 1, "{} pictures after q", pictures(&since[before..]));
}
