//! What to do about a finding: one fix a file, each making a plan from a finding and a frame without touching anything.
//! Plans are symbolic; old values are read when one is shown, and only the applier writes.

mod advice;
mod case;
mod disk;
mod group;
mod identity;
mod io_setting;
mod network;
mod offered;
mod plan;
mod processes;
pub mod shell;
mod sysctls;
mod target;
#[cfg(test)]
mod testing;
pub mod verification;

mod cache_drop_v1;
mod cache_reclaim_openeuler;
mod cgroup_move;
mod clock_source;
mod cpu_governor;
mod cpu_quota;
mod data_disk;
mod dirty_limits;
mod erlang_flags;
mod erlang_unbind;
mod io_limit;
mod io_limit_raise;
mod io_priority;
mod io_weight;
mod irq_affinity;
mod irqbalance;
mod kernel_setting;
mod kubernetes;
mod memory_high;
mod memory_limit;
mod memory_reclaim;
mod network_limits;
mod nic_channels;
mod nic_rings;
mod node_binding;
mod node_instances;
mod packet_steering;
mod page_migration;
mod publisher_confirms;
pub mod row;
mod rss_table;
mod runtime_threads;
mod thread_affinity;

pub use case::{Case, Surroundings};
pub use identity::Identity;
pub use memory_reclaim::step as reclaim_step;
pub use offered::{Offered, Refused, offered};
pub use plan::{Item, Need, Plan, Resolved, Restore, Risk, Snippet, Step, Verify};
pub use sysctls::{SYSCTLS, file as sysctl};
pub(crate) use target::is_same;
pub use target::{Target, drop_in, node_bytes, together, transient_unit};
pub use verification::{Trip, Verdict, Verification};

use crate::locale::Text;
use crate::locale::fix as shared;
use crate::rules::{Finding, RuleId, Subject};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A parameter of a fix: `--set combined=4`.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// `channels`, `bytes`, `fraction`, …
    pub unit: &'static str,
    /// Its meaning.
    pub about: Text,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The fix does not apply to this finding.
    NotForThis,
    /// The fix applies but cannot be planned.
    Refused {
        /// Why not.
        why: String,
        /// What it requires: a permission, a kernel feature, a package; empty where nothing would help.
        needs: String,
    },
}

impl Refusal {
    /// Refused; nothing would help.
    pub fn because(why: impl Into<String>) -> Self {
        Self::Refused { why: why.into(), needs: String::new() }
    }

    /// Refused until a requirement is met.
    pub fn until(why: impl Into<String>, needs: impl Into<String>) -> Self {
        Self::Refused { why: why.into(), needs: needs.into() }
    }

    /// A line; hostile where names are.
    pub fn text(self, fix: &Fix, rule: &str, subject: &Subject) -> String {
        match self {
            Self::NotForThis => shared::NotApplicable { fix: &fix.id, rule: &rule, subject: &subject }.to_string(),
            Self::Refused { why, needs } if needs.is_empty() => why,
            Self::Refused { why, needs } => shared::RefusedWithNeeds { why: &why, needs: &needs }.to_string(),
        }
    }
}

/// A fix.
pub struct Fix {
    /// `F-CHAN`: never given twice.
    pub id: &'static str,
    /// What it does, in a few words.
    pub name: Text,
    /// The rules whose findings it may answer, each with its rank there: the lowest is offered first.
    pub answers: &'static [(RuleId, u8)],
    /// False for advice: shown, never executed.
    pub executable: bool,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The plan for a finding.
    pub plan: fn(&Case<'_>) -> Result<Plan, Refusal>,
}

impl std::fmt::Debug for Fix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fix").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Fix {
    /// An error for the first parameter that it does not have.
    pub fn unknown(&self, set: &BTreeMap<String, String>) -> Option<String> {
        let name = set.keys().find(|name| !self.parameters.iter().any(|known| known.name == **name))?;
        let known: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
        Some(if known.is_empty() {
            shared::NoParameters { name: &name, fix: &self.id }.to_string()
        } else {
            shared::UnknownParameter { name: &name, fix: &self.id, parameters: &known.join(", ") }.to_string()
        })
    }

    /// `combined=4 rx=2`: a value with blanks ends at the next name.
    ///
    /// # Errors
    /// The first word that is not one of its parameters, in a line.
    pub fn parse_set(&self, text: &str) -> Result<BTreeMap<String, String>, String> {
        let mut set: BTreeMap<String, String> = BTreeMap::new();
        let mut last = None;
        for word in text.split_whitespace() {
            let pair = word
                .split_once('=')
                .filter(|(name, _)| last.is_none() || self.parameters.iter().any(|parameter| parameter.name == *name));
            match (pair, &last) {
                (Some((name, value)), _) => {
                    set.insert(name.to_owned(), value.to_owned());
                    last = Some(name.to_owned());
                }
                (None, Some(name)) => {
                    if let Some(value) = set.get_mut(name) {
                        value.push(' ');
                        value.push_str(word);
                    }
                }
                (None, None) => return Err(shared::NameValue { word: &word }.to_string()),
            }
        }
        self.unknown(&set).map_or(Ok(set), Err)
    }
}

/// An available fix: a plan, or why there is none.
#[derive(Debug)]
pub struct Offer {
    /// Which.
    pub fix: &'static Fix,
    /// What it would do.
    pub plan: Result<Plan, Refusal>,
}

/// Every fix, in the order of lists.
pub const ALL: &[&Fix] = &[
    &nic_channels::FIX,
    &nic_rings::FIX,
    &rss_table::FIX,
    &irqbalance::FIX,
    &irq_affinity::FIX,
    &packet_steering::FIX,
    &network_limits::FIX,
    &thread_affinity::FIX,
    &erlang_unbind::FIX,
    &erlang_flags::FIX,
    &node_binding::FIX,
    &page_migration::FIX,
    &memory_limit::FIX,
    &memory_reclaim::FIX,
    &memory_high::FIX,
    &cache_reclaim_openeuler::FIX,
    &cpu_quota::FIX,
    &cache_drop_v1::FIX,
    &dirty_limits::FIX,
    &io_limit::FIX,
    &io_limit_raise::FIX,
    &io_weight::FIX,
    &io_priority::FIX,
    &kernel_setting::FIX,
    &cpu_governor::FIX,
    &clock_source::FIX,
    &runtime_threads::FIX,
    &kubernetes::FIX,
    &node_instances::FIX,
    &data_disk::FIX,
    &publisher_confirms::FIX,
    &row::PIN,
    &row::NICE,
    &row::IO_CLASS,
    &cgroup_move::FIX,
    &row::STOP,
    &row::SIGNAL,
];

/// The fixes that answer a finding, the best first, without those that do not apply.
pub fn offers(case: &Case<'_>) -> Vec<Offer> {
    let offers = of_rule(&case.finding.rule.id).map(|fix| Offer { fix, plan: (fix.plan)(case) });
    offers.filter(|offer| !matches!(offer.plan, Err(Refusal::NotForThis))).collect()
}

/// `RULE/SUBJECT/FIX`, the subject percent-encoded: stable while the subject lives.
pub fn id(rule: &str, subject: &Subject, fix: &str) -> String {
    let mut id = format!("{rule}/");
    for byte in subject.to_string().bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            id.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(id, "%{byte:02X}");
        }
    }
    id + "/" + fix
}

/// The rule, subject and fix of an id; none where it is not an id.
pub fn parse_id(id: &str) -> Option<(&str, Subject, &'static Fix)> {
    let (rule, rest) = id.split_once('/')?;
    let (subject, fix) = rest.split_once('/')?;
    let fix = ALL.iter().find(|known| known.id.eq_ignore_ascii_case(fix))?;
    let mut bytes = Vec::new();
    let mut left = subject.bytes();
    while let Some(byte) = left.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => (digit(left.next())? * 16 + digit(left.next())?) as u8,
            byte => byte,
        });
    }
    Some((rule, Subject::parse(&String::from_utf8(bytes).ok()?)?, fix))
}

/// The fixes that may answer a rule's findings, the best first.
pub fn of_rule(rule: &str) -> impl Iterator<Item = &'static Fix> {
    let rank = |fix: &Fix| fix.answers.iter().find(|answer| answer.0 == rule).map(|answer| answer.1);
    let mut ranked: Vec<_> = ALL.iter().filter_map(|fix| Some((rank(fix)?, *fix))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, fix)| fix)
}

/// The finding of an id, among findings and their children.
pub fn finding<'a>(id: &str, findings: &'a [Finding]) -> Option<(&'a Finding, &'static Fix)> {
    let (rule, subject, fix) = parse_id(id)?;
    let is = |finding: &&Finding| finding.rule.id.eq_ignore_ascii_case(rule) && finding.subject == subject;
    let all = findings.iter().flat_map(|finding| std::iter::once(finding).chain(&finding.children));
    all.into_iter().find(is).map(|finding| (finding, fix))
}

#[cfg(test)]
mod tests {
    use super::{ALL, id, parse_id};
    use crate::rules::{self, Subject};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn parameters_are_pairs_of_what_it_has() {
        let fix = ALL.iter().find(|fix| fix.id == "F-CHAN").expect("a fix");
        let set = |text: &str| fix.parse_set(text).map(|set| set.into_iter().collect::<Vec<_>>());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(set(""), Ok(Vec::new()));
        assert_eq!(set(" combined=4  rx=2 "), Ok(vec![pair("combined", "4"), pair("rx", "2")]));
        assert_eq!(set("combined=4 and x=2"), Ok(vec![pair("combined", "4 and x=2")]), "a value with blanks");
        assert_eq!(set("queues=2"), Err("unknown parameter queues: F-CHAN has combined, rx, tx".to_owned()));
        assert_eq!(set("combined"), Err("invalid parameter combined: use name=value".to_owned()));
    }

    #[test]
    fn ids_are_given_once_and_answer_rules_that_there_are() {
        let ids: BTreeSet<_> = ALL.iter().map(|fix| fix.id).collect();
        assert_eq!(ids.len(), ALL.len());
        for (rule, _) in ALL.iter().flat_map(|fix| fix.answers) {
            assert!(rules::find(rule).is_some() || *rule == super::row::ID, "{rule}");
        }
    }

    proptest! {
        #[test]
        fn ids_are_read_back(name in "[^\u{0}]{1,20}", pid: u32, time: u64) {
            let subjects = [Subject::Cgroup(name.as_str().into()), Subject::Process(pid, time), Subject::Host];
            for subject in subjects {
                let id = id("NIC-01", &subject, "F-CHAN");
                let (rule, read, fix) = parse_id(&id).expect("an id");
                prop_assert_eq!((rule, &read, fix.id), ("NIC-01", &subject, "F-CHAN"));
                prop_assert!(id.bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }

        #[test]
        fn no_id_panics(text in ".{0,40}") {
            let _ = parse_id(&text);
        }
    }
}
