//! The program in a terminal of a guest: keys are pressed, the screen is read, as somebody would who sits there.

#[expect(dead_code, reason = "the other tests use the rest")]
#[path = "../common/pty.rs"]
mod pty;

use pty::Session;
use std::time::Duration;

/// How long anything may take: a verdict takes two windows, and the machine is a slow one.
const PATIENCE: Duration = Duration::from_secs(150);

/// What somebody wants of the program.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wish<'a> {
    /// A rule that is found, and is looked for.
    pub(crate) rule: &'a str,
    /// What is done about it.
    pub(crate) fix: &'a str,
    /// Parameters, as they are typed.
    pub(crate) set: &'a str,
    /// A login, as `SSH_CONNECTION` has it, which may have come in by what is changed.
    pub(crate) login: Option<&'a str>,
    /// Whether the verdict is waited for.
    pub(crate) verdict: bool,
}

/// Mends what was found: `f`, the plan, the yes, the verdict, the undo. Prints what stood there.
pub(crate) fn mend(wish: &Wish<'_>) {
    let flags = ["--config", "/test/config.toml", "--interval", "700ms", "--state-dir", "/tmp/by-hand"];
    let environment: Vec<_> = wish.login.map(|login| ("SSH_CONNECTION", login)).into_iter().collect();
    let mut session = Session::start("/test/topotop", &flags, (120, 40), &environment).patient(PATIENCE);
    session.shows("LIVE");
    find(&mut session, wish);
    plan(&mut session, wish);
    apply(&mut session, wish);
    if wish.verdict {
        session.shows("Verdict: ");
        show("verdict", &session);
    }
    session.keys("U");
    session.shows("undone: everything that can be restored reads as before");
    show("undone", &session);
    session.keys("\x1b");
    session.hides("undone: everything");
    session.keys("1");
    session.shows("fix undone");
    show("timeline", &session);
    session.keys("q");
    assert_eq!(session.ends(), 0, "its exit status");
    session.restored();
    println!("== done");
}

fn find(session: &mut Session, &Wish { rule, verdict, .. }: &Wish<'_>) {
    session.keys("7");
    session.keys(&format!("/{rule}\r"));
    let found =
        |line: &str| line.contains(rule) && ["critical", "warning", "info"].iter().any(|word| line.contains(word));
    session.until("the finding", |screen| screen.lines().any(found));
    if verdict {
        // The window before fills.
        std::thread::sleep(Duration::from_secs(15));
    }
    show("finding", session);
}

fn plan(session: &mut Session, &Wish { rule, fix, set, .. }: &Wish<'_>) {
    session.keys("f");
    let heads = [format!("What to do: {rule}"), format!("{fix}: {rule}")];
    session.until("the dialog", |screen| heads.iter().any(|head| screen.contains(head)));
    let listed = choose(session, fix);
    if !set.is_empty() {
        session.keys("e");
        session.shows("plan it so");
        session.keys(&format!("{set}\r"));
    } else if listed {
        session.keys("\r");
    }
    session.until("the plan", |screen| screen.contains("▶[ Cancel ]") && !screen.contains("plan it so"));
    show("plan", session);
}

fn apply(session: &mut Session, wish: &Wish<'_>) {
    session.keys("\x1b[D");
    session.shows("▶[ Apply ]");
    session.keys("\r");
    session.until("a yes", |screen| screen.contains(" and Enter to apply") || screen.contains("(journal"));
    let asked = session.text();
    let name = asked.split(": type ").nth(1).and_then(|rest| rest.split(" and Enter to apply").next());
    if let Some(name) = name {
        session.keys(&format!("{name}\r"));
    }
    session.shows("applied, and read back as it should be");
    show("applied", session);
    if wish.login.is_some() {
        session.shows("takes itself back in");
        session.keys("K");
        session.hides("takes itself back in");
        show("kept", session);
    }
}

/// Goes down a list of fixes to one; false where there is no list, since there is one only.
fn choose(session: &mut Session, fix: &str) -> bool {
    for _ in 0..16 {
        let screen = session.text();
        if !screen.contains("What to do: ") {
            return false;
        }
        if screen.lines().any(|line| line.contains(&format!("▶ {fix} "))) {
            return true;
        }
        session.keys("\x1b[B");
        // What is behind the list changes meanwhile.
        let marked = |screen: &str| Some(screen.split_once("▶ F-")?.1.split_whitespace().next()?.to_owned());
        let was = marked(&screen);
        session.until("the next one", |next| marked(next) != was || !next.contains("What to do: "));
    }
    unreachable!("{fix} is not offered:\n{}", session.text());
}

fn show(what: &str, session: &Session) {
    println!("== {what}\n{}", session.text());
}
