//! The program in a terminal of a guest: keys are pressed, the screen is read, as somebody would who sits there.

#[expect(dead_code, reason = "the other tests use the rest")]
#[path = "../common/pty.rs"]
mod pty;

use pty::Session;
use std::time::Duration;

/// How long anything may take: a verdict takes two windows, and the machine is a slow one.
const PATIENCE: Duration = Duration::from_secs(150);

/// Mends an interface that runs one queue: `f`, the plan, the yes, the verdict, the undo. Prints what stood there.
pub(crate) fn channels() {
    let flags = ["--config", "/test/config.toml", "--interval", "700ms", "--state-dir", "/tmp/by-hand"];
    let mut session = Session::start("/test/topotop", &flags, (120, 40), &[]).patient(PATIENCE);
    session.shows("LIVE");
    session.keys("7");
    session.until("the finding", |screen| screen.contains("NIC-01") && screen.contains("ethtool -L eth0"));
    // The window before fills.
    std::thread::sleep(Duration::from_secs(15));
    show("finding", &session);
    session.keys("/combined channels\r");
    session.keys("f");
    session.until("the dialog", |screen| screen.contains("What to do: NIC-01") || screen.contains("F-CHAN: NIC-01"));
    if session.text().contains("What to do: NIC-01") {
        session.keys("\r");
    }
    session
        .until("the old value and the new one", |screen| screen.contains("channels of eth0: combined 1 → combined "));
    session.shows("▶[ Cancel ]");
    show("plan", &session);
    session.keys("\x1b[D");
    session.shows("▶[ Apply ]");
    session.keys("\r");
    session.until("a yes", |screen| screen.contains("type eth0 and Enter") || screen.contains("(journal"));
    if session.text().contains("type eth0 and Enter") {
        session.keys("eth0\r");
    }
    session.shows("applied, and read back as it should be");
    show("applied", &session);
    if session.text().contains("takes itself back") {
        session.keys("K");
        session.hides("takes itself back");
    }
    session.shows("Verdict: ");
    show("verdict", &session);
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

fn show(what: &str, session: &Session) {
    println!("== {what}\n{}", session.text());
}
