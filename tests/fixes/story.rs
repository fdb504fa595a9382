//! The whole story in a terminal, with keys only and with the mouse only: start, read the answer, open the finding, open
//! the process, apply, verify, undo, export, quit.

use super::{ALONE, Full, LIMIT};
use crate::common::pty::{Session, TOPOTOP, Terminal};
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;
use topotop_model::locale::dialog::fix as dialog;
use topotop_model::locale::{self, Language, action, chrome, help};

/// What is on the screen where a click or a look is due, in the language of the session.
struct Words {
    language: &'static Language,
}

impl Words {
    fn of(&self, text: topotop_model::locale::Text) -> String {
        locale::with(self.language, || text.to_string())
    }
}

/// How the program is operated.
trait Hand: Sync {
    /// What it works with.
    const NAME: &str;
    /// Goes to the screen of a number.
    fn screen(&self, session: &mut Session, number: u8);
    /// Opens the row with a text, by a filter or where its cells are, until it is shown.
    fn open(&self, session: &mut Session, text: &str, row: &str, is_open: &dyn Fn(&str) -> bool);
    /// Asks for a command.
    fn command(&self, session: &mut Session, key: &str, name: &str);
    /// Chooses a line of a list.
    fn choose(&self, session: &mut Session, key: &str, line: &str);
    /// Presses a button or a hint of the dialog.
    fn press(&self, session: &mut Session, keys: &str, button: &str);
}

struct Keys;

impl Hand for Keys {
    const NAME: &str = "keys";

    fn screen(&self, session: &mut Session, number: u8) {
        session.keys(&number.to_string());
    }

    fn open(&self, session: &mut Session, text: &str, row: &str, is_open: &dyn Fn(&str) -> bool) {
        // In place of what was typed before.
        session.keys(&format!("/{}{text}\r", "\x7f".repeat(40)));
        let (typed, quoted) = (format!("{text}_"), format!("\"{text}\""));
        let is_row = |line: &str| line.contains(row) && !line.contains(&typed) && !line.contains(&quoted);
        session.until(row, |screen| screen.lines().any(is_row));
        session.keys("g\r");
        session.until("what was opened", is_open);
    }

    fn command(&self, session: &mut Session, key: &str, _: &str) {
        session.keys(key);
    }

    fn choose(&self, session: &mut Session, key: &str, line: &str) {
        session.shows(line);
        session.keys(key);
    }

    fn press(&self, session: &mut Session, keys: &str, button: &str) {
        session.shows(button);
        session.keys(keys);
    }
}

/// With the list of keys, where every command can be clicked on.
struct Mouse;

impl Hand for Mouse {
    const NAME: &str = "mouse";

    fn screen(&self, session: &mut Session, number: u8) {
        session.click(&format!(" {number} "));
    }

    fn open(&self, session: &mut Session, _: &str, row: &str, is_open: &dyn Fn(&str) -> bool) {
        // Rows change places: a click may hit another one, which is closed again.
        for _ in 0..20 {
            session.wheel_to(row);
            session.click_row(row);
            session.click_row(row);
            for _ in 0..100 {
                if is_open(&session.text()) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            session.keys("\x1b[<2;5;10M\x1b[<2;5;10m");
        }
        panic!("{row} is not opened:\n{}", session.text());
    }

    fn command(&self, session: &mut Session, _: &str, name: &str) {
        session.click("? ");
        let titles = locale::LANGUAGES.iter().map(|language| locale::with(language, || help::TITLE.to_string()));
        let titles: Vec<String> = titles.collect();
        // The wheel turns what lies above.
        session.until("the keys", |screen| titles.iter().any(|title| screen.contains(title)));
        session.wheel_to(name);
        session.click(name);
        session.hides(name);
    }

    fn choose(&self, session: &mut Session, _: &str, line: &str) {
        session.click(line);
    }

    fn press(&self, session: &mut Session, _: &str, button: &str) {
        // The dialog grows and shrinks with what is measured: a click may miss.
        for _ in 0..20 {
            session.click(button);
            for _ in 0..100 {
                if !session.text().contains(button) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("{button} does nothing:\n{}", session.text());
    }
}

fn eventually(what: &str, is: impl Fn() -> bool) {
    for _ in 0..3000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what} did not come");
}

impl Full {
    /// The process that keeps the memory.
    fn keeper(&self) -> Option<String> {
        let pids = std::fs::read_to_string(self.group.join("cgroup.procs")).ok()?;
        let keeps =
            |pid: &&str| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == "tail");
        pids.lines().find(keeps).map(str::to_owned)
    }
}

fn exported(state: &Path) -> Option<String> {
    let file = std::fs::read_dir(state.join("exports")).ok()?.flatten().next()?;
    std::fs::read_to_string(file.path()).ok().filter(|text| !text.is_empty())
}

/// How the plan shows the limit.
const CHANGE: &str = "67108864 → ";

/// How the answer begins, in either language.
const ANSWERS: [&str; 10] = [
    "limited by",
    "nothing at its limit",
    "idle",
    "imbalance",
    "inconclusive",
    "瓶颈：",
    "未见瓶颈",
    "空载",
    "负载不均：",
    "无法判定：",
];

fn story<H: Hand>(hand: &H, size: (u16, u16), code: &str) {
    let Some(full) = Full::new(&format!("{}-{}-{code}", H::NAME, size.0)) else { return };
    let language = locale::LANGUAGES.iter().find(|language| language.code == code).expect("a language");
    let words = Words { language };
    let dir = tempfile::tempdir().expect("a directory");
    let state = dir.path().join("state");
    let place = state.display().to_string();
    let terminal = Terminal { width: Some(1), reports: true, ..Terminal::default() };
    let arguments = ["--interval", "500ms", "--state-dir", &place, "--lang", code];
    let mut session = Session::start_in(terminal, TOPOTOP, &arguments, size, &[]).patient(Duration::from_mins(2));
    session.until("the answer", |screen| {
        let line = screen.lines().nth(1).unwrap_or_default().to_lowercase();
        ANSWERS.iter().any(|answer| line.contains(answer))
    });
    open(hand, &mut session, &full);
    // A verdict takes more than half a minute: it is waited for where all of the dialog is on the screen.
    apply_and_undo(hand, &mut session, &full, &words, size.0 >= 120);
    // The view as a file.
    hand.command(&mut session, "e", &words.of(action::EXPORT));
    session.shows(&words.of(chrome::PICK_FORMAT));
    hand.choose(&mut session, "j", "json");
    eventually("the file", || exported(&state).is_some());
    assert!(exported(&state).is_some_and(|text| text.contains("MEM-01")), "the finding is not in the file");
    // A notice that comes just then takes the place of the hint, and a click clears it.
    let quit = format!("q {}", words.of(action::HINT_QUIT));
    for _ in 0..3 {
        hand.press(&mut session, "q", &quit);
        if session.ends_within(Duration::from_secs(10)) {
            break;
        }
    }
    assert_eq!(session.ends(), 0);
    session.restored();
}

/// The process, then the finding with its evidence.
fn open<H: Hand>(hand: &H, session: &mut Session, full: &Full) {
    eventually("who keeps the memory", || full.keeper().is_some());
    let pid = full.keeper().expect("it is there");
    hand.screen(session, 5);
    let title = format!("─ {pid} tail ");
    hand.open(session, &pid, &format!("{pid} tail"), &|screen| screen.contains(&title));
    hand.screen(session, 7);
    // Its evidence, or the page of its rule where it is opened once more.
    hand.open(session, &full.name(), &full.name(), &|screen| {
        // The limit's file has a name in each version of cgroups.
        let shown = ["F-LIMIT", "memory.max", "memory.limit_in_bytes"];
        screen.contains("MEM-01") && shown.iter().any(|text| screen.contains(text))
    });
}

/// The plan of the finding that is meant: rows change places while another test has findings, and a click may have opened
/// one of those.
fn plan<H: Hand>(hand: &H, session: &mut Session, full: &Full, words: &Words) {
    let review = format!("Enter {}", words.of(dialog::REVIEW));
    let choice = format!("{:<13} {}", "F-LIMIT", words.of(topotop_model::fix::Risk::Safe.label()));
    let button = format!("[ {} ]", words.of(dialog::BUTTON_APPLY));
    // A path may be wrapped.
    let is_meant = |screen: &str| {
        let text: String = screen.chars().filter(|c| !c.is_whitespace() && *c != '│').collect();
        text.contains(&format!("{}/memory.", full.name()))
    };
    let advice = words.of(dialog::ADVICE_ALONE);
    for _ in 0..5 {
        hand.command(session, "f", &words.of(action::FIX));
        session.until("the choices or the plan", |screen| {
            [CHANGE, &review, &button, &advice].iter().any(|text| screen.contains(*text))
        });
        if !session.text().contains(CHANGE) && session.text().contains(&choice) {
            hand.choose(session, "\r", &choice);
            session.shows(CHANGE);
        }
        let screen = session.text();
        if screen.contains(CHANGE) && is_meant(&screen) {
            return;
        }
        for _ in 0..2 {
            session.keys("\x1b");
            std::thread::sleep(Duration::from_millis(500));
        }
        open(hand, session, full);
    }
    panic!("no plan for {}:\n{}", full.name(), session.text());
}

/// Any verdict, on the screen.
fn verdict(session: &Session, words: &Words) {
    let verdicts: Vec<String> = locale::with(words.language, || {
        let label = |name| topotop_model::fix::verification::label(name, None);
        let mut labels: Vec<String> = ["improved", "worse", "no_change", "inconclusive"].map(label).to_vec();
        // Up to the number in it.
        let bounded = locale::fix::verification::NoLarger { bound: &'\0' }.to_string();
        labels.extend(bounded.split('\0').next().map(|start| start.trim_end().to_owned()));
        labels.iter().map(|label| dialog::Verdict { verdict: label }.to_string()).collect()
    });
    session.until("a verdict", |screen| verdicts.iter().any(|verdict| screen.contains(verdict)));
}

fn apply_and_undo<H: Hand>(hand: &H, session: &mut Session, full: &Full, words: &Words, measured: bool) {
    plan(hand, session, full, words);
    let apply = format!("[ {} ]", words.of(dialog::BUTTON_APPLY));
    hand.press(session, "\x1b[D\r", &apply);
    eventually("the limit", || full.limit() != LIMIT);
    session.shows(&words.of(dialog::STATE_APPLIED));
    if measured {
        verdict(session, words);
    }
    // What got worse is undone by itself, and where an undo decides the verdict its hint says so.
    let (undone, undo) = (words.of(dialog::UNDONE), format!("U {}", words.of(dialog::UNDO)));
    let compare = format!("U {}", words.of(dialog::UNDO_COMPARE));
    session.until("an undo", |screen| [&undone, &undo, &compare].iter().any(|text| screen.contains(*text)));
    let screen = session.text();
    if !screen.contains(&undone) {
        hand.press(session, "U", if screen.contains(&compare) { &compare } else { &undo });
    }
    eventually("the limit of before", || full.limit() == LIMIT);
    session.shows(&words.of(dialog::UNDONE));
    hand.press(session, "\x1b", &format!("Esc {}", words.of(dialog::CLOSE)));
    session.hides(&words.of(dialog::UNDONE));
}

/// All at once: each waits most of the time, and has a group of its own.
fn in_every_size_and_language<H: Hand>(hand: &H) {
    let _alone = ALONE.read().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for size in [(80, 24), (120, 40)] {
            for code in ["en", "zh-CN"] {
                scope.spawn(move || story(hand, size, code));
            }
        }
    });
}

#[test]
fn the_story_with_keys_only() {
    in_every_size_and_language(&Keys);
}

#[test]
fn the_story_with_the_mouse_only() {
    in_every_size_and_language(&Mouse);
}
