//! Groups findings below their causes.

use crate::rules::RuleId;
use crate::rules::{Finding, Subject};
use std::collections::BTreeSet;

/// A finding and the keys of those grouped below it.
type Covering<'a> = (Finding, &'a [(RuleId, Subject)]);

/// Groups each finding, with those that it covers itself, below the first one that covers it; sorted by rule and subject.
pub(super) fn under_causes(open: Vec<Covering<'_>>) -> Vec<Finding> {
    let place = |(rule, subject): &(RuleId, Subject)| {
        open.binary_search_by(|(other, _)| other.rule.id.cmp(rule).then_with(|| other.subject.cmp(subject))).ok()
    };
    let mut covers: Vec<Vec<usize>> =
        open.iter().map(|(_, covers)| covers.iter().filter_map(place).collect()).collect();
    let mut causes: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); open.len()];
    for (cause, covered) in covers.iter().enumerate() {
        for &effect in covered.iter().filter(|effect| **effect != cause) {
            if let Some(causes) = causes.get_mut(effect) {
                causes.insert(cause);
            }
        }
    }
    let mut findings: Vec<Option<Finding>> = open.into_iter().map(|(finding, _)| Some(finding)).collect();
    let caused = causes.iter().enumerate().filter(|(_, causes)| !causes.is_empty());
    let mut left: BTreeSet<usize> = caused.map(|(at, _)| at).collect();
    while let Some(at) = left.pop_first() {
        let Some(parent) = causes.get(at).and_then(|causes| causes.first().copied()) else { continue };
        let Some(mut child) = findings.get_mut(at).and_then(Option::take) else { continue };
        if let Some(Some(finding)) = findings.get_mut(parent) {
            finding.severity = finding.severity.max(child.severity);
            // One level deep: its own effects become its siblings.
            let below = std::mem::take(&mut child.children);
            finding.children.push(child);
            finding.children.extend(below);
        }
        // Its effects move to its own cause.
        let inherited = covers.get_mut(at).map(std::mem::take).unwrap_or_default();
        for &effect in &inherited {
            let Some(of_effect) = causes.get_mut(effect) else { continue };
            of_effect.remove(&at);
            if effect != parent {
                of_effect.insert(parent);
            }
            if of_effect.is_empty() || findings.get(effect).is_none_or(Option::is_none) {
                left.remove(&effect);
            } else {
                left.insert(effect);
            }
        }
        if let Some(covers) = covers.get_mut(parent) {
            covers.extend(inherited);
        }
    }
    let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
    for finding in &mut findings {
        finding.children.sort_by(|a, b| a.rule.id.cmp(&b.rule.id).then_with(|| a.subject.cmp(&b.subject)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::under_causes;
    use crate::Stamp;
    use crate::rules::{Finding, Rule, RuleId, Severity, Subject};
    use proptest::prelude::*;

    static RULES: [Rule; 4] = [
        Rule { id: RuleId::new("TEST-00"), ..Rule::BASE },
        Rule { id: RuleId::new("TEST-01"), ..Rule::BASE },
        Rule { id: RuleId::new("TEST-02"), ..Rule::BASE },
        Rule { id: RuleId::new("TEST-03"), ..Rule::BASE },
    ];

    fn key(at: usize) -> (RuleId, Subject) {
        (RULES[at / 4].id, Subject::Cpu(at as u32 % 4))
    }

    /// Sixteen findings at most, some of which cover others; as the tree they form.
    fn fold(there: &[usize], covers: &[(usize, usize)]) -> Vec<Finding> {
        let covered: Vec<Vec<_>> = there
            .iter()
            .map(|at| covers.iter().filter(|(cause, _)| cause == at).map(|(_, effect)| key(*effect)).collect())
            .collect();
        let finding = |at: usize| Finding {
            rule: &RULES[at / 4],
            subject: key(at).1,
            severity: if at == 15 { Severity::Critical } else { Severity::Warning },
            confidence: 0.9,
            since: Stamp::default(),
            evidence: Vec::new(),
            children: Vec::new(),
        };
        let open = there.iter().zip(&covered).map(|(at, covers)| (finding(*at), &**covers)).collect();
        under_causes(open)
    }

    fn tree(findings: &[Finding]) -> String {
        let one = |finding: &Finding| {
            let at = RULES.iter().position(|rule| rule.id == finding.rule.id).expect("a rule") * 4;
            let Subject::Cpu(cpu) = finding.subject else { return String::new() };
            let below = tree(&finding.children);
            let name = format!("{}", at + cpu as usize);
            if below.is_empty() { name } else { format!("{name}({below})") }
        };
        findings.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn effects_of_effects_are_grouped_below_the_first_cause() {
        assert_eq!(tree(&fold(&[0, 1, 2], &[])), "0 1 2");
        assert_eq!(tree(&fold(&[0, 1, 2], &[(1, 0)])), "1(0) 2");
        assert_eq!(tree(&fold(&[0, 1, 2], &[(0, 1), (1, 2)])), "0(1 2)");
        assert_eq!(tree(&fold(&[0, 1, 2, 3], &[(2, 1), (1, 0), (3, 2)])), "3(0 1 2)");
        assert_eq!(tree(&fold(&[0, 1, 2], &[(0, 2), (1, 2)])), "0(2) 1", "two causes: grouped once");
        assert_eq!(tree(&fold(&[0, 2], &[(0, 1), (1, 2)])), "0 2", "an absent finding causes nothing");
    }

    #[test]
    fn a_cause_is_as_severe_as_its_effects() {
        let findings = fold(&[0, 15], &[(0, 15)]);
        assert_eq!((tree(&findings).as_str(), findings[0].severity), ("0(15)", Severity::Critical));
    }

    #[test]
    fn cycles_keep_their_findings() {
        assert_eq!(tree(&fold(&[0], &[(0, 0)])), "0");
        assert_eq!(tree(&fold(&[0, 1], &[(0, 1), (1, 0)])).matches(char::is_numeric).count(), 2);
    }

    proptest! {
        #[test]
        fn every_finding_appears_once_and_one_level_deep(
            covers in proptest::collection::vec((0usize..16, 0usize..16), 0..40),
            there in proptest::sample::subsequence((0..16).collect::<Vec<usize>>(), 0..16),
        ) {
            let findings = fold(&there, &covers);
            let mut all: Vec<_> = findings
                .iter()
                .flat_map(|finding| std::iter::once(finding).chain(&finding.children))
                .map(|finding| (finding.rule.id, finding.subject.clone()))
                .collect();
            all.sort();
            prop_assert_eq!(all, there.iter().map(|at| key(*at)).collect::<Vec<_>>());
            prop_assert!(findings.iter().flat_map(|finding| &finding.children).all(|child| child.children.is_empty()));
        }
    }
}
