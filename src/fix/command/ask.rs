//! Confirmation on the terminal: anything but an explicit yes cancels.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use topotop_model::fix::{Plan, Risk};
use topotop_model::locale::cli::fix as text;
use topotop_model::text::printable;

/// True with a terminal to confirm on.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal()
}

/// Asks for confirmation; discards input typed before the question.
pub(super) fn yes(plan: &Plan) -> bool {
    let name = plan.name();
    let question = if plan.risk == Risk::Dangerous {
        format!("{}: ", text::AskDangerous { name: &printable(&name) })
    } else {
        format!("{}: ", text::ASK)
    };
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    let _ = write!(io::stderr(), "{question}").and_then(|()| io::stderr().flush());
    let mut answer = String::new();
    if io::stdin().read_line(&mut answer).is_err() {
        return false;
    }
    is_yes(plan, answer.trim_end_matches(['\n', '\r']))
}

fn is_yes(plan: &Plan, answer: &str) -> bool {
    if plan.risk == Risk::Dangerous { is_name(plan, answer) } else { answer.trim().eq_ignore_ascii_case("yes") }
}

/// Whether a name confirms a dangerous plan, raw or as displayed.
pub(super) fn is_name(plan: &Plan, name: &str) -> bool {
    let own = plan.name();
    !own.is_empty() && (name == own || name == printable(&own))
}

/// Asks a question whose answer a signal may replace: anything but a yes is a no.
pub(super) fn agreed(question: &str, stop: &AtomicBool) -> bool {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    let _ = write!(io::stderr(), "{question}: ").and_then(|()| io::stderr().flush());
    let stdin = io::stdin();
    let wait = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    while !stop.load(Ordering::Relaxed) {
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut polled, Some(&wait)).is_ok_and(|ready| ready > 0) {
            let mut answer = String::new();
            return stdin.read_line(&mut answer).is_ok() && answer.trim().eq_ignore_ascii_case("yes");
        }
    }
    false
}

/// True where a line with yes has arrived.
pub(super) fn has_confirmed() -> bool {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    if !can_ask() || !poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
        return false;
    }
    let mut answer = String::new();
    stdin.read_line(&mut answer).is_ok_and(|bytes| bytes > 0) && answer.trim().eq_ignore_ascii_case("yes")
}

#[cfg(test)]
mod tests {
    use super::{is_name, is_yes};
    use topotop_model::fix::{Plan, Risk};
    use topotop_model::rules::Subject;

    #[test]
    fn only_a_yes_is_one_and_dangerous_ones_are_typed() {
        let mut plan = Plan { subject: Subject::Cgroup("/a\u{1b}[2J".into()), ..crate::fix::applier::empty() };
        for answer in ["", "n", "y", "no", "yes please"] {
            assert!(!is_yes(&plan, answer), "{answer}");
        }
        assert!(is_yes(&plan, "yes") && is_yes(&plan, " YES "));
        plan.risk = Risk::Dangerous;
        assert!(!is_yes(&plan, "yes") && !is_yes(&plan, ""));
        assert!(is_yes(&plan, "/a\\x1b[2J") && is_name(&plan, "/a\u{1b}[2J") && !is_name(&plan, "/a"));
    }
}
