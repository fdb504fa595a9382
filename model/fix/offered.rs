//! The fixes of a finding as lists show them: screens, documents, `check`.

use super::{Case, Offer, Plan, Refusal, Risk, Surroundings, offers};
use crate::frame::Frame;
use crate::locale::Text;
use crate::rules::Finding;
use std::collections::BTreeMap;

/// An available fix, without what only its dialog shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// `RULE/SUBJECT/FIX`.
    pub id: String,
    /// `F-CHAN`.
    pub fix: &'static str,
    /// It in one line; hostile where names are.
    pub title: String,
    /// The equivalent commands, or the advised text, of any number of lines; hostile where names are.
    pub command: String,
    /// At what risk.
    pub risk: Risk,
    /// False for advice.
    pub executable: bool,
    /// The configuration that makes it permanent.
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

    /// Its command; of several, what they do together: the first alone would be a part of it.
    pub fn line(&self) -> &str {
        let mut lines = self.command.lines();
        match (lines.next(), lines.next()) {
            (Some(only), None) => only,
            (Some(_), Some(_)) if self.executable => &self.title,
            (first, _) => first.unwrap_or_default(),
        }
    }
}

/// The equivalent commands, or the advised text.
fn command(plan: &Plan) -> String {
    if plan.commands.is_empty() {
        return plan.snippets.first().map(|snippet| snippet.text.clone()).unwrap_or_default();
    }
    plan.commands.join("\n")
}

/// A fix that answers a finding but cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `F-CHAN`.
    pub fix: &'static str,
    /// What it does.
    pub name: Text,
    /// Why not.
    pub why: String,
    /// What it requires; empty where nothing would help.
    pub needs: String,
}

/// The fixes for a finding: executable ones first, then advice; and those that were refused.
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
    // A stable sort: the rank stays within each kind.
    list.sort_by_key(|offered| !offered.executable);
    (list, refused)
}
