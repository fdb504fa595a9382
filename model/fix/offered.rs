//! The fixes of a finding as lists tell them: screens, documents, `check`.

use super::{Case, Offer, Plan, Refusal, Risk, Surroundings, offers};
use crate::frame::Frame;
use crate::rules::Finding;
use std::collections::BTreeMap;

/// A fix on offer, without what only its dialog tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// `RULE/SUBJECT/FIX`.
    pub id: String,
    /// `F-CHAN`.
    pub fix: &'static str,
    /// It in one line; hostile where names are.
    pub title: String,
    /// What somebody would type, or the text that is advised, of any number of lines; hostile where names are.
    pub command: String,
    /// At what risk.
    pub risk: Risk,
    /// False for advice.
    pub executable: bool,
    /// What would make it last.
    pub persistent: Option<String>,
}

impl Offered {
    fn of(plan: Plan) -> Self {
        Self {
            id: plan.id(),
            fix: plan.fix,
            command: command(&plan),
            risk: plan.risk,
            executable: plan.is_executable(),
            title: plan.title,
            persistent: plan.persistent.map(|snippet| snippet.text),
        }
    }

    /// The first line of what would be typed.
    pub fn line(&self) -> &str {
        self.command.lines().next().unwrap_or_default()
    }
}

/// What somebody would type: the commands, or the text that is advised.
fn command(plan: &Plan) -> String {
    if plan.commands.is_empty() {
        return plan.snippets.first().map(|snippet| snippet.text.clone()).unwrap_or_default();
    }
    plan.commands.join("\n")
}

/// A fix that would answer a finding and cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `F-CHAN`.
    pub fix: &'static str,
    /// What it does.
    pub name: &'static str,
    /// Why not.
    pub why: String,
    /// What would let it; empty where nothing would.
    pub needs: String,
}

/// What there is to do about a finding: what can be applied first, then advice; and what was refused.
pub fn offered(finding: &Finding, frame: &Frame, surroundings: &Surroundings) -> (Vec<Offered>, Vec<Refused>) {
    let set = BTreeMap::new();
    let case = Case { finding, frame, set: &set, surroundings, metric: None };
    let (mut list, mut refused) = (Vec::new(), Vec::new());
    for Offer { fix, plan } in offers(&case) {
        match plan {
            Ok(plan) => list.push(Offered::of(plan)),
            Err(Refusal::Refused { why, needs }) => refused.push(Refused { fix: fix.id, name: fix.name, why, needs }),
            Err(Refusal::NotForThis) => {}
        }
    }
    // Ranks are kept within each kind.
    list.sort_by_key(|offered| !offered.executable);
    (list, refused)
}
