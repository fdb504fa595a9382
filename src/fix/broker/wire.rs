//! What goes between the screen and the broker: a JSON document a line, of bounded length.

use super::super::deadman::Armed;
use super::super::machine::Progress;
use super::super::order::Reply;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};
use topotop_model::fix::{
    Identity, Item, Need, Plan, Resolved, Restore, Risk, Snippet, Step, Surroundings, Target, Verdict,
};
use topotop_model::journal::{Applied, Because, Measured, Outcome};
use topotop_model::locale::fix::apply as text;
use topotop_model::recording::RecordedFinding;

/// The longest line.
const LONGEST: u64 = 32 << 20;

/// What the screen may ask for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Look,
    Resolve(Resolve),
    Apply,
    Abort,
    Confirm(u64),
    Verdict { number: u64, name: String, why: String, table: Vec<Measured> },
    Undo(u64, Because),
    Ask(u64),
}

/// A fix by its id and parameters, and the numbers of the finding that it answers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Resolve {
    pub(super) id: String,
    pub(super) set: BTreeMap<String, String>,
    /// The finding, then those below it.
    pub(super) findings: Vec<RecordedFinding>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Surroundings(Box<Surroundings>),
    Resolved(Box<Planned>, Option<String>),
    Far { done: u64, of: u64, unit: String },
    Armed(Armed),
    Wrote(Outcome),
    PutBack(Outcome),
    Applied { number: u64, state: Applied, mono_ns: u64, revert_after_seconds: Option<u32>, trouble: Option<String> },
    Refused(String),
    Undone { number: u64, why: Because, whole: bool, items: Vec<Outcome> },
    Trouble(String),
    Done(Option<String>),
}

impl Answer {
    /// An answer of the machine's writer.
    pub(super) fn of(reply: Reply) -> Self {
        match reply {
            Reply::Resolved(resolved, refused, _) => Self::Resolved(Box::new(Planned::of(*resolved)), refused),
            Reply::Far(Progress { done, of, unit }) => Self::Far { done, of, unit: unit.to_owned() },
            Reply::Armed(armed) => Self::Armed(armed),
            Reply::Wrote(outcome) => Self::Wrote(outcome),
            Reply::PutBack(outcome) => Self::PutBack(outcome),
            Reply::Applied { number, state, mono_ns, revert_after_seconds, trouble } => {
                Self::Applied { number, state, mono_ns, revert_after_seconds, trouble }
            }
            Reply::Refused(why) => Self::Refused(why),
            Reply::Undone { number, why, whole, items } => Self::Undone { number, why, whole, items },
            Reply::Trouble(why) => Self::Trouble(why),
            Reply::Surroundings(surroundings) => Self::Surroundings(surroundings),
            Reply::Before(_) | Reply::Confirmed(_) => Self::Done(None),
        }
    }

    /// It for the dialog.
    pub(super) fn reply(self) -> Reply {
        match self {
            Self::Far { done, of, unit } => {
                let unit = ["pages", "bytes"].into_iter().find(|known| *known == unit).unwrap_or_default();
                Reply::Far(Progress { done, of, unit })
            }
            Self::Armed(armed) => Reply::Armed(armed),
            Self::Wrote(outcome) => Reply::Wrote(outcome),
            Self::PutBack(outcome) => Reply::PutBack(outcome),
            Self::Applied { number, state, mono_ns, revert_after_seconds, trouble } => {
                Reply::Applied { number, state, mono_ns, revert_after_seconds, trouble }
            }
            Self::Refused(why) => Reply::Refused(why),
            Self::Undone { number, why, whole, items } => Reply::Undone { number, why, whole, items },
            Self::Trouble(why) => Reply::Trouble(why),
            Self::Surroundings(_) | Self::Resolved(..) | Self::Done(_) => {
                Reply::Trouble(text::BROKER_ENDED.to_string())
            }
        }
    }
}

/// What the broker will do: all of its plan but how the effect is measured, which the screen does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Planned {
    title: String,
    identity: Vec<Identity>,
    steps: Vec<(String, Target, String, Restore, bool)>,
    kept: Vec<Target>,
    commands: Vec<String>,
    snippets: Vec<(String, String)>,
    risk: Risk,
    breaks: Vec<String>,
    cuts_off: Vec<String>,
    needs: Vec<Need>,
    undo: String,
    lost: Vec<String>,
    reverters: Vec<String>,
    persistent: Option<(String, String)>,
    items: Vec<Vec<Item>>,
    kept_items: Vec<Vec<Item>>,
    unread: Vec<(usize, String)>,
}

impl Planned {
    pub(super) fn of(resolved: Resolved) -> Self {
        let Resolved { plan, items, kept: kept_items, unread } = resolved;
        let pair = |snippet: Snippet| (snippet.place, snippet.text);
        let step = |step: Step| (step.what, step.target, step.new, step.restore, step.essential);
        Self {
            title: plan.title,
            identity: plan.identity,
            steps: plan.steps.into_iter().map(step).collect(),
            kept: plan.kept,
            commands: plan.commands,
            snippets: plan.snippets.into_iter().map(pair).collect(),
            risk: plan.risk,
            breaks: plan.breaks,
            cuts_off: plan.cuts_off,
            needs: plan.needs,
            undo: plan.undo,
            lost: plan.lost,
            reverters: plan.reverters,
            persistent: plan.persistent.map(pair),
            items,
            kept_items,
            unread,
        }
    }

    /// In place of what the screen planned of the same fix.
    pub(super) fn onto(self, shown: Plan) -> Resolved {
        let snippet = |(place, text)| Snippet { place, text };
        let step = |(what, target, new, restore, essential)| Step { what, target, new, restore, essential };
        let plan = Plan {
            title: self.title,
            identity: self.identity,
            steps: self.steps.into_iter().map(step).collect(),
            kept: self.kept,
            commands: self.commands,
            snippets: self.snippets.into_iter().map(snippet).collect(),
            risk: self.risk,
            breaks: self.breaks,
            cuts_off: self.cuts_off,
            needs: self.needs,
            undo: self.undo,
            lost: self.lost,
            reverters: self.reverters,
            persistent: self.persistent.map(snippet),
            ..shown
        };
        Resolved { plan, items: self.items, kept: self.kept_items, unread: self.unread }
    }
}

/// The longest reason of a verdict in bytes, and the most rows of its table.
const MOST_TEXT: usize = 16 << 10;
const MOST_ROWS: usize = 1024;

/// A verdict whose name is one that there is.
pub(super) fn verdict(name: &str, why: String, table: Vec<Measured>) -> Option<Verdict> {
    let known = ["improved", "no_change", "worse", "inconclusive"].into_iter().find(|known| *known == name)?;
    // The journal has room for what a comparison says, not for what somebody else might.
    let is_sane = why.len() <= MOST_TEXT && table.len() <= MOST_ROWS;
    is_sane.then(|| Verdict { name: known, table, ..Verdict::unmeasured(why) })
}

pub(super) fn line(document: &impl Serialize) -> Result<Vec<u8>, String> {
    let mut line = serde_json::to_vec(document).map_err(|error| error.to_string())?;
    line.push(b'\n');
    Ok(line)
}

/// The next document; none at the end, or where the other side does not keep to the protocol.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> Option<T> {
    let mut line = Vec::new();
    from.take(LONGEST).read_until(b'\n', &mut line).ok()?;
    if line.pop() == Some(b'\n') { serde_json::from_slice(&line).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::{Planned, Request, line, read};
    use topotop_model::fix::{Item, Need, Resolved, Snippet, Step, Target};

    #[test]
    fn a_plan_arrives_as_it_was_made() {
        let shown = crate::fix::applier::empty();
        let mut plan = shown.clone();
        plan.title = "another \u{1b}[2J".to_owned();
        plan.commands = vec!["ethtool -L eth0 combined 3".to_owned()];
        plan.steps = vec![Step::new("channels", Target::Channels { nic: "eth0".to_owned() }, "combined 3")];
        plan.kept = vec![Target::Rings { nic: "eth0".to_owned() }];
        plan.snippets = vec![Snippet { place: "a".to_owned(), text: "b\nc".to_owned() }];
        plan.persistent = plan.snippets.first().cloned();
        plan.needs = vec![Need { capability: "CAP_NET_ADMIN".to_owned(), what: String::new() }];
        (plan.breaks, plan.cuts_off, plan.lost) = (vec!["b".to_owned()], vec!["c".to_owned()], vec!["l".to_owned()]);
        (plan.undo, plan.reverters) = ("u".to_owned(), vec!["r".to_owned()]);
        let item = Item { key: String::new(), old: Some("combined 1".to_owned()), new: "combined 3".to_owned() };
        let resolved = Resolved {
            plan,
            items: vec![vec![item.clone()]],
            kept: vec![vec![item]],
            unread: vec![(0, "why".to_owned())],
        };
        let bytes = line(&Planned::of(resolved.clone())).expect("a line");
        let arrived: Planned = read(&mut bytes.as_slice()).expect("a plan");
        assert_eq!(arrived.onto(shown), resolved);
    }

    #[test]
    fn what_is_no_request_ends_the_talk() {
        for bytes in [&b""[..], b"\n", b"{\"Apply\":1}\n", b"\"Apply\"", b"\"Write\"\n", b"\xff\xfe\n"] {
            assert!(read::<Request>(&mut &*bytes).is_none(), "{bytes:?}");
        }
        assert!(matches!(read(&mut &b"\"Apply\"\n"[..]), Some(Request::Apply)));
    }
}
